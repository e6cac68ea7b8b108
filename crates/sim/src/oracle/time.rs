//! Time: changes without a request, each at its own millisecond, expiry first (R-DLY-01, R-STA-02).

use cambist_core::{OrderKind, OrderStatus, VenueTime};
use cambist_venue::ExchangeMode;

use super::matching::ReportedTrades;
use super::order::Order;
use super::{Broken, Oracle, unlike};
use crate::oracle::probe::Probe;

impl Oracle {
    /// Advances the time.
    pub(super) fn pass(
        &mut self,
        to: VenueTime,
        reported: &mut ReportedTrades<'_>,
        probe: &mut Probe<'_>,
    ) -> Result<(), Broken> {
        let to = self.now.max(to);
        loop {
            let expiry = self.by_end.first().copied();
            let ends = expiry.map(|(second, number)| (VenueTime::from_s(second), number));
            let due = self.due.first().copied();
            match (ends, due) {
                (Some((at, number)), due) if at <= to && due.is_none_or(|(then, _)| at <= then) => {
                    self.now = self.now.max(at);
                    self.close(number, OrderStatus::Expired)?;
                }
                (_, Some((at, number))) if at <= to => {
                    self.now = self.now.max(at);
                    self.due.remove(&(at, number));
                    self.wake(number, reported, probe)?;
                }
                (_, _) => break,
            }
        }
        self.now = to;
        Ok(())
    }

    fn wake(
        &mut self,
        number: u64,
        reported: &mut ReportedTrades<'_>,
        probe: &mut Probe<'_>,
    ) -> Result<(), Broken> {
        let Some(order) = self.orders.get_mut(&number) else {
            return self.go_on(number, probe);
        };
        order.due = None;
        if order.status == OrderStatus::Cancelling {
            return self.close(number, OrderStatus::Cancelled);
        }
        self.meet(number, reported, probe)
    }

    /// An order meets its book or pool, unless it has ended before.
    pub(super) fn meet(
        &mut self,
        number: u64,
        reported: &mut ReportedTrades<'_>,
        probe: &mut Probe<'_>,
    ) -> Result<(), Broken> {
        let order = &self.orders[&number];
        let (account, hash, may_fail) = (order.account, order.hash, order.may_fail);
        let must = !self.lets_in(order);
        // Only a waiting order can have failed: the answer to a submit contains the rest.
        let fails = (must || may_fail) && probe.order_failed(account, hash);
        if must && !fails {
            return Err(unlike(hash, OrderStatus::Failed, OrderStatus::Processing));
        }
        if fails {
            return self.close(number, OrderStatus::Failed);
        }
        self.order_mut(number)?.status = OrderStatus::Processing;
        self.note_own(number);
        if self.orders[&number].pool.is_some() {
            self.swap(number)
        } else {
            self.match_up(number, reported)
        }
    }

    /// Whether an order may meet its book or pool now (R-DLY-05, R-MOD-01).
    pub(super) fn lets_in(&self, order: &Order) -> bool {
        let market = &self.markets[order.market];
        let takes = self.would_take(order);
        let open = market.listed && market.open;
        let here = match (self.mode, order.pool) {
            (ExchangeMode::Open, Some(_)) => true,
            (ExchangeMode::Open, None) => open && !(takes && order.kind == OrderKind::MakerOnly),
            (ExchangeMode::PostOnly, None) => open && !takes && order.kind != OrderKind::TakerOnly,
            (ExchangeMode::PostOnly, Some(_))
            | (ExchangeMode::CancelOnly | ExchangeMode::Halted, _) => false,
        };
        here && !self.frozen.contains(&order.account)
    }

    /// Whether an order would trade with its book at once.
    pub(super) fn would_take(&self, order: &Order) -> bool {
        let opposite = order.side.opposite();
        let line = self.markets[order.market].line(opposite);
        let best = line.first_key_value();
        best.is_some_and(|(place, _)| order.reaches(super::market::price(opposite, *place)))
    }
}
