//! Acceptance and cancellation of orders: what the exchange may accept, what that locks, and that every order ends
//! once.

use crate::invariants::table::Invariant;
use cambist_core::{Hash, OrderStatus, Price, Side, VenueTime};
use cambist_venue::{AccountId, Executed, NewOrder, Response, Submitted, Venue};

use crate::oracle::matching::ReportedTrades;
use crate::oracle::order::{Order, side_of};
use crate::oracle::own_orders::Known;
use crate::oracle::probe::Probe;
use crate::oracle::{Broken, Oracle, unlike};

impl Oracle {
    /// The exchange accepted an order.
    pub(super) fn submit(
        &mut self,
        order_request: &NewOrder,
        answer: &Response,
        reported: &mut ReportedTrades<'_>,
        probe: &mut Probe<'_>,
    ) -> Result<(), Broken> {
        let Response::Submitted(taken) = answer else {
            return Err(unread("a submit's answer"));
        };
        if taken.hash != order_request.hash {
            return Err(refused(
                order_request.hash,
                "it was acknowledged by another hash",
            ));
        }
        if taken.idempotent {
            let waits = self
                .by_hash
                .get(&order_request.hash)
                .map(|n| &self.orders[n]);
            return match waits {
                Some(order) if order.status == OrderStatus::Waiting => Ok(()),
                _ => Err(refused(order_request.hash, "it was called undecided")),
            };
        }
        let number = self.admit(order_request)?;
        let mark = reported.mark();
        if self.delays.order_ms > 0 {
            let dice = self.delays.late_failures_permille > 0;
            self.order_mut(number)?.may_fail = dice;
            self.schedule(number, self.delays.order_ms)?;
        } else {
            self.meet(number, reported, probe)?;
        }
        self.acknowledged((order_request, number), taken, reported.since(mark))
    }

    /// The acknowledged order: its state and trades.
    fn acknowledged(
        &self,
        (order_request, number): (&NewOrder, u64),
        taken: &Submitted,
        trades: &[Executed],
    ) -> Result<(), Broken> {
        let shown = taken.trades.iter();
        let same = shown.eq(trades.iter().map(|executed| &executed.trade));
        // A swap trades with no order: its effect is checked in the pool.
        if !same && order_request.pool.is_none() {
            let detail = format!("{}: other trades acknowledged than made", taken.hash);
            return Err((Invariant::OracleTrade, detail));
        }
        // The interface has no `waiting` among the states of an acknowledgement.
        match self.orders.get(&number).map(|order| order.status) {
            Some(OrderStatus::Waiting | OrderStatus::Processing) => {
                (taken.status == OrderStatus::Processing).then_some(())
            }
            Some(_) => None,
            None => taken.status.is_final().then_some(()),
        }
        .ok_or_else(|| unlike(taken.hash, OrderStatus::Other, taken.status))
    }

    /// Whether the exchange may accept an order; locks its funds.
    fn admit(&mut self, order_request: &NewOrder) -> Result<u64, Broken> {
        let hash = order_request.hash;
        let ours = order_request.account == self.own && self.ours.0.contains_key(&hash);
        if ours || self.by_hash.contains_key(&hash) {
            return Err(refused(hash, "it was taken before"));
        }
        let mut markets = self.markets.iter().enumerate();
        let market =
            markets.find(|(_, market)| market.listed && side_of(order_request, market).is_some());
        let market = market.ok_or_else(|| refused(hash, "no market trades its tokens"))?;
        let mut pools = self.pools.iter();
        let pool = match order_request.pool {
            Some(address) => Some(
                pools
                    .position(|pool| pool.address == address)
                    .ok_or_else(|| refused(hash, "no such pool"))?,
            ),
            None => None,
        };
        let order = Order::new(order_request, market, pool)
            .ok_or_else(|| refused(hash, "its amounts make no order"))?;
        if VenueTime::from_s(order.valid_until_s) <= self.now {
            return Err(refused(hash, "it has expired"));
        }
        if !self.lets_in(&order) {
            return Err(refused(hash, "nothing lets it in now"));
        }
        let (sell, _) = self.tokens_of(&order);
        let (account, id) = (order.account, order.storage_id);
        let before = self.slots.last(account, sell, id).map_err(|used| {
            refused(
                hash,
                &format!("storage id {id} is behind {used} of its slot"),
            )
        })?;
        if let Some(older) = before.filter(|older| self.orders.contains_key(older)) {
            self.close(older, OrderStatus::Cancelled)?;
        }
        self.money.lock(account, sell, order.bound())?;
        let number = self.next;
        self.next += 1;
        self.slots.spend(account, sell, id, number);
        self.by_hash.insert(hash, number);
        self.by_end.insert((order.valid_until_s, number));
        if account == self.own {
            let known = Known {
                id: order_request.client_id.clone(),
                status: order.status,
                filled: (0, 0, 0),
            };
            self.ours.0.insert(hash, known);
        }
        self.orders.insert(number, order);
        Ok(number)
    }

    /// The exchange accepted a cancel.
    pub(super) fn cancel(
        &mut self,
        account: AccountId,
        hash: Option<Hash>,
        answer: &Response,
    ) -> Result<(), Broken> {
        let Response::Cancelled(taken) = answer else {
            return Err(unread("a cancel's answer"));
        };
        let number = self.by_hash.get(&taken.hash).copied();
        let order = number.and_then(|number| Some((number, self.orders.get(&number)?)));
        let Some((number, order)) = order else {
            let detail = format!("{} was cancelled and had ended", taken.hash);
            return Err((Invariant::OracleState, detail));
        };
        if order.account != account || hash.is_some_and(|hash| hash != taken.hash) {
            let detail = format!("{} was cancelled and not meant", taken.hash);
            return Err((Invariant::OracleState, detail));
        }
        let again = order.status == OrderStatus::Cancelling;
        let status = if self.delays.cancel_ms == 0 {
            self.close(number, OrderStatus::Cancelled)?;
            OrderStatus::Cancelled
        } else {
            if !again {
                self.order_mut(number)?.status = OrderStatus::Cancelling;
                self.schedule(number, self.delays.cancel_ms)?;
                self.note_own(number);
            }
            OrderStatus::Cancelling
        };
        if taken.status == status {
            Ok(())
        } else {
            Err(unlike(taken.hash, status, taken.status))
        }
    }

    /// The exchange moved a resting order of ours to another price: behind all others there, with a lock of its new amount.
    fn moved(&mut self, hash: Hash, price: u64) -> Result<(), Broken> {
        let wrong = |why: &str| {
            (
                Invariant::OracleState,
                format!("{hash} was moved, and {why}"),
            )
        };
        let number = self.by_hash.get(&hash).copied();
        let number = number.ok_or_else(|| wrong("had ended"))?;
        let order = self.order_mut(number)?;
        let place = order.place.ok_or_else(|| wrong("did not rest"))?;
        if order.status != OrderStatus::Processing {
            return Err(wrong("was not open"));
        }
        let (market, side, rest) = (order.market, order.side, order.rest);
        let (account, before) = (order.account, order.bound());
        let scale = &self.markets[market];
        let value = match side {
            Side::Buy => scale.value_up(rest, price),
            Side::Sell => scale.value_down(rest, price),
        };
        let ratio = scale.ratio(price);
        let value = value.ok_or_else(|| wrong("its value overflows"))?;
        let order = self.order_mut(number)?;
        order.level = price;
        order.quote = order.quote_filled + value;
        order.ratio = ratio;
        order.place = None;
        let (after, sell) = (order.bound(), self.tokens_of(&self.orders[&number]).0);
        self.markets[market].line_mut(side).remove(&place);
        self.money.unlock(account, sell, before)?;
        self.money.lock(account, sell, after)?;
        self.join_book(number, rest)
    }

    /// Time has passed, and a resting order of ours was moved.
    pub(crate) fn handle_move(
        &mut self,
        at: VenueTime,
        (hash, price): (Hash, Price),
        trades: &[Executed],
        venue: &mut Venue,
    ) {
        self.handle_event(at, None, trades, venue);
        if self.over {
            return;
        }
        if let Err(broken) = self.moved(hash, price.0) {
            self.found.push(broken);
            self.over = true;
        }
    }

    /// An order ends, once: it leaves the book, and its lock is released.
    pub(super) fn close(&mut self, number: u64, status: OrderStatus) -> Result<(), Broken> {
        self.unschedule(number)?;
        self.order_mut(number)?.status = status;
        self.note_own(number);
        let Some(order) = self.orders.remove(&number) else {
            return Err(unread("an order"));
        };
        if let Some(place) = order.place {
            let line = self.markets[order.market].line_mut(order.side);
            line.remove(&place);
        }
        self.by_hash.remove(&order.hash);
        self.by_end.remove(&(order.valid_until_s, number));
        let (sell, _) = self.tokens_of(&order);
        self.money.unlock(order.account, sell, order.bound())
    }

    pub(super) fn schedule(&mut self, number: u64, after_ms: u64) -> Result<(), Broken> {
        self.unschedule(number)?;
        let at = self.now.plus_ms(after_ms);
        self.order_mut(number)?.due = Some(at);
        self.due.insert((at, number));
        Ok(())
    }

    fn unschedule(&mut self, number: u64) -> Result<(), Broken> {
        if let Some(at) = self.order_mut(number)?.due.take() {
            self.due.remove(&(at, number));
        }
        Ok(())
    }

    pub(super) fn order_mut(&mut self, number: u64) -> Result<&mut Order, Broken> {
        let found = self.orders.get_mut(&number);
        found.ok_or_else(|| {
            (
                Invariant::OracleState,
                format!("order {number} ended before"),
            )
        })
    }

    /// Keeps the end of one of our orders.
    pub(super) fn note_own(&mut self, number: u64) {
        let order = self.orders.get(&number);
        let Some(order) = order.filter(|order| order.account == self.own) else {
            return;
        };
        if let Some(known) = self.ours.0.get_mut(&order.hash) {
            known.status = order.status;
            known.filled = (order.base_filled, order.quote_filled, order.fee);
        }
    }
}

fn refused(hash: Hash, why: &str) -> Broken {
    (
        Invariant::OracleTaken,
        format!("{hash} was taken, and {why}"),
    )
}

/// An error for something that the oracle cannot interpret; it is never ignored.
pub(super) fn unread(what: &str) -> Broken {
    (Invariant::OracleUnread, format!("{what} is not understood"))
}
