//! Accepts orders: checks, admission, matching.

use cambist_core::{MarketId, OrderKind, OrderStatus, Reason, Side, TokenId};

use crate::checks::{Placement, client_id};
use crate::orders::{Order, OrderKey};
use crate::request::{Caller, NewOrder, RequestKind};
use crate::response::{Refusal, Submitted, Trade};
use crate::venue::Venue;

impl Venue {
    pub(crate) fn submit(
        &mut self,
        caller: &Caller,
        order: &NewOrder,
    ) -> Result<Submitted, Refusal> {
        self.check_submitter(caller, order.account)?;
        let placement = self.place(order)?;
        self.check_signature(caller, order.account, Some(Reason::MissingSignature))?;
        if let Some(again) = self.still_waiting(order) {
            return Ok(again);
        }
        let replaced = self.check_business(order, &placement)?;
        self.renew_reference(placement.market);
        if let Some(older) = replaced {
            self.close(older, OrderStatus::Cancelled);
        }
        let key = self.admit(order, &placement);
        let injected = match caller {
            Caller::Public | Caller::Account { .. } => self.late_failure(RequestKind::Submit),
            Caller::Internal { .. } | Caller::Operator => None,
        };
        let trades = self.begin(key, injected);
        Ok(self.submitted(key, trades, false))
    }

    /// Matches an admitted order, now or after its delay. With `injected` it fails after so many milliseconds.
    pub(crate) fn begin(&mut self, key: OrderKey, injected: Option<u64>) -> Vec<Trade> {
        let delay_ms = injected.unwrap_or(self.config.delays.order_ms);
        let fails = injected.is_some() || delay_ms > 0 && self.draws_late_failure();
        self.orders.get_mut(key).fails = fails;
        if delay_ms > 0 {
            self.schedule_order(key, delay_ms);
            Vec::new()
        } else {
            self.activate(key)
        }
    }

    /// The same request while the first one is still delayed.
    fn still_waiting(&self, order: &NewOrder) -> Option<Submitted> {
        let key = self.find_hash(order.account, order.hash)?;
        let known = self.orders.get(key);
        let pool = order.pool.map(|pool| self.find_pool(&pool));
        let same = known.status == OrderStatus::Waiting
            && known.client_id.as_deref() == client_id(order)
            && known.pool == pool.flatten()
            && (known.kind == order.kind || known.pool.is_some());
        same.then(|| self.submitted(key, Vec::new(), true))
    }

    fn submitted(&self, key: OrderKey, trades: Vec<Trade>, idempotent: bool) -> Submitted {
        let order = self.orders.get(key);
        Submitted {
            hash: order.hash,
            client_id: order.shown_client_id(),
            // Acknowledgements of the interface have no status `waiting`.
            status: match order.status {
                OrderStatus::Waiting => OrderStatus::Processing,
                status => status,
            },
            idempotent,
            trades,
        }
    }

    /// Stores the order, locks its funds and uses its slot. It does not rest yet.
    pub(crate) fn admit(&mut self, order: &NewOrder, placement: &Placement) -> OrderKey {
        let client_id = client_id(order).map(str::to_owned);
        let key = self.orders.insert(Order {
            sequence: self.sequence,
            hash: order.hash,
            client_id: client_id.clone(),
            account: order.account,
            market: placement.market,
            side: placement.side,
            kind: if placement.pool.is_some() {
                OrderKind::TakerOnly
            } else {
                order.kind
            },
            fill_by: order.fill_by,
            base: placement.base,
            quote: placement.quote,
            level: placement.level,
            storage_id: placement.storage_id,
            valid_until_s: placement.valid_until_s,
            max_fee_bips: placement.max_fee_bips,
            created: self.now,
            updated: self.now,
            status: OrderStatus::Waiting,
            base_filled: 0,
            quote_filled: 0,
            fee: 0,
            fee_in: placement.fee_in,
            rest: 0,
            before: None,
            after: None,
            pool: placement.pool,
            due: None,
            fails: false,
        });
        let locked = self.orders.get(key).locked();
        let account = self
            .accounts
            .get_mut(&order.account)
            .expect("checked before admission");
        account.lock(order.sell_token, locked);
        account
            .slots
            .entry(order.sell_token)
            .or_default()
            .take(placement.storage_id, key);
        account.orders.insert(self.sequence, key);
        if let Some(id) = client_id {
            account.client_ids.insert(id, key);
        }
        account.open_orders += 1;
        self.by_hash.insert(order.hash, key);
        self.expiries.insert((placement.valid_until_s, key));
        self.sequence += 1;
        key
    }

    /// The market of a pair of tokens, and the side of an order that sells the first.
    pub(crate) fn market_of_pair(&self, sell: TokenId, buy: TokenId) -> Option<(MarketId, Side)> {
        self.markets.iter().enumerate().find_map(|(index, market)| {
            let id = MarketId(u16::try_from(index).ok()?);
            let (base, quote) = (market.config.base, market.config.quote);
            if !market.listed {
                None
            } else if (sell, buy) == (base, quote) {
                Some((id, Side::Sell))
            } else if (sell, buy) == (quote, base) {
                Some((id, Side::Buy))
            } else {
                None
            }
        })
    }
}
