//! Effects of a report about an order: its fills are booked once, its end is applied, and contradictions are reported.

use crate::action::Action;
use crate::books::Entry;
use crate::notification::{End, Fill, Notification};
use crate::order::{ClientOrderId, OrderReport, OrderStatus, UnsignedOrder};
use crate::postings::{Postings, Traded};
use crate::time::Time;

use crate::engine::intents::lifecycle::Phase;
use crate::engine::intents::registry::Increment;
use crate::engine::state::State;

/// Number of unrecognised own orders that are remembered: the first one stops trading.
const UNRECOGNISED_IDS_MAX: usize = 1_024;

/// Fills kept for a strategy that is not asked; older ones are part of its holdings anyway.
const FILLS_KEPT: usize = 256;

impl State {
    /// Handles a report about one order.
    pub(crate) fn observe(&mut self, now: Time, report: &OrderReport, actions: &mut Vec<Action>) {
        let Some(id) = self.orders.id_of(report.hash) else {
            self.observe_other(now, report, actions);
            return;
        };
        let Some(tracked) = self.orders.get_mut(id) else {
            return;
        };
        let (market, side) = (tracked.order.market, tracked.order.side);
        tracked.read_wanted = false;
        let new = tracked.lifecycle.phase != Phase::Live;
        if tracked.lifecycle.shown(now) {
            let status = report.status;
            actions.push(Action::Notify(Notification::Resolved { order: id, status }));
        }
        self.markets[usize::from(market.0)].decision_due |= new;
        self.follow_price(now, report, id);
        let Some(tracked) = self.orders.get_mut(id) else {
            return;
        };
        let known = (tracked.base_filled, tracked.quote_filled, tracked.fee);
        if let Some(step) = Increment::between(known, report) {
            tracked.base_filled += step.base;
            tracked.quote_filled += step.quote;
            tracked.fee += step.fee;
            let (over, on_book) = (tracked.is_overfilled(), !tracked.is_swap());
            let whole = tracked.level_whole();
            if on_book {
                self.market_mut(market).book.part(now, id, whole);
            }
            self.book(now, (id, market, side), step, actions);
            if over {
                self.violated(
                    "overfill",
                    format!("order {id} filled otherwise than its amounts allow"),
                    actions,
                );
            }
        }
        if report.status.is_final() {
            let cancel = self
                .orders
                .get(id)
                .and_then(|t| t.lifecycle.cancel)
                .map(|c| c.decided);
            let end = match report.status {
                OrderStatus::Processed => End::Filled,
                OrderStatus::Expired => End::Expired,
                OrderStatus::Failed => End::FailedLate,
                OrderStatus::Cancelled
                | OrderStatus::Waiting
                | OrderStatus::Processing
                | OrderStatus::Cancelling
                | OrderStatus::Other => End::Cancelled,
            };
            let cancel_micros = cancel.map(|decided| now.micros_since(decided));
            self.end_with(now, id, end, cancel_micros, actions);
            if end == End::Filled {
                self.counters.filled.add(now);
                self.latch_if_wild(now, actions);
            }
        }
    }

    /// Handles a report about an order that is not among those that may be alive.
    fn observe_other(&mut self, now: Time, report: &OrderReport, actions: &mut Vec<Action>) {
        if let Some(ended) = self.orders.ended_mut(report.hash) {
            let known = (ended.base_filled, ended.quote_filled, ended.fee);
            let (id, market, side) = (ended.id, ended.market, ended.side);
            if let Some(step) = Increment::between(known, report) {
                ended.base_filled += step.base;
                ended.quote_filled += step.quote;
                ended.fee += step.fee;
                // The fill is booked in any case, and then reported as a failed invariant.
                self.book(now, (id, market, side), step, actions);
                let detail = format!("order {id} filled after its end");
                self.violated("fill_after_end", detail, actions);
            } else if ended.concluded && !report.status.is_final() {
                // An older page may list an order that has ended since; a concluded end must never be contradicted.
                ended.concluded = false;
                let detail = format!("order {id} is open after it was concluded to be dead");
                self.violated("alive_after_end", detail, actions);
            }
            return;
        }
        let ours = report.client_id.filter(|id| id.instance == self.instance);
        let Some(id) = ours else {
            return match report.client_id {
                Some(id) => self.observe_instance(now, id, report, actions),
                None => self.observe_foreign(now, report, actions),
            };
        };
        if report.status.is_final() {
            return;
        }
        if self.unrecognised_own_ids.len() < UNRECOGNISED_IDS_MAX
            && self.unrecognised_own_ids.insert(report.hash)
        {
            let detail = format!(
                "order {id} is open at the venue and not in the store: a daemon may run on another copy of this state folder, or this folder is an older copy"
            );
            self.violated("forgotten_order", detail, actions);
        }
    }

    fn book(
        &mut self,
        now: Time,
        (id, market, side): (ClientOrderId, crate::MarketId, crate::Side),
        step: Increment,
        actions: &mut Vec<Action>,
    ) {
        let mid = self.prices(market).mid;
        self.book_flow(now, market, side, step);
        let Increment { base, quote, fee } = step;
        let charged = if self.market(market).spec.fee_in.is_base(side) {
            base
        } else {
            quote
        };
        let bips = self.maker_fee_bips.max(self.taker_fee_bips);
        let expected = charged.saturating_mul(u128::from(bips)) / 10_000;
        let fill = Fill {
            order: id,
            market,
            side,
            base,
            quote,
            fee,
            mid,
        };
        for seat in &mut self.slots {
            if seat.strategy == id.strategy && seat.market == market {
                seat.traded.add(side, base);
                if seat.fills.len() >= FILLS_KEPT {
                    seat.fills.remove(0);
                }
                seat.fills.push(fill.clone());
            }
        }
        self.pending.entry(Entry::Fill(fill.clone()));
        actions.push(Action::Notify(Notification::Filled(fill)));
        if fee > expected {
            actions.push(Action::Notify(Notification::FeeAbove {
                order: id,
                fee,
                expected,
            }));
        }
        self.market_mut(market).decision_due = true;
    }

    /// Books a trade. The ledger may be below zero after it, because a list shows a sale before the purchase of what it
    /// sold; the next comparison judges that, and follows soon.
    pub(crate) fn book_flow(
        &mut self,
        now: Time,
        market: crate::MarketId,
        side: crate::Side,
        step: Increment,
    ) {
        self.counters.fills.add(now);
        let Increment { base, quote, fee } = step;
        let market = &mut self.markets[usize::from(market.0)];
        let postings = Postings::of_trade(&market.spec, side, Traded { base, quote, fee });
        market.losses.post(&market.spec, &postings);
        market.losses.filled(now, side, step);
        self.pending.posted(Some(market.spec.id), &postings);
        if !self.ledger.book(&market.spec, side, step) {
            self.polls.balances_soon();
        }
    }

    /// Ends an intent: the only way in which it stops being alive.
    pub(crate) fn end(
        &mut self,
        now: Time,
        id: ClientOrderId,
        end: End,
        actions: &mut Vec<Action>,
    ) {
        if self.orders.pool_transactions.get(id).is_some() {
            self.end_pool_transaction(now, id, end, actions);
        } else {
            self.end_with(now, id, end, None, actions);
        }
    }

    fn end_with(
        &mut self,
        now: Time,
        id: ClientOrderId,
        end: End,
        cancel_micros: Option<u64>,
        actions: &mut Vec<Action>,
    ) {
        let Some(tracked) = self.orders.end(now, id, end.is_concluded()) else {
            return;
        };
        let (sold, number) = (tracked.order.sell_token, tracked.order.slot);
        // A run that was cut off may have given the number on and forgotten that this order had ended.
        let rule = self.venue.slots;
        let same = |other: &UnsignedOrder| {
            other.slot == number && rule.row(other.sell_token) == rule.row(sold)
        };
        let shared = self.orders.iter().any(|other| same(&other.order));
        if !shared {
            self.slot_numbers
                .free(sold, number, tracked.lifecycle.spent());
        }
        let market = tracked.order.market;
        if tracked.is_swap() {
            self.swap_ended(now, market);
        } else if tracked.may_have_left() {
            let shown = tracked.level_whole();
            self.market_mut(market).book.part(now, id, shown);
        }
        self.market_mut(market).decision_due = true;
        self.pending.entry(Entry::Ended(id, end));
        actions.push(Action::Notify(Notification::Ended {
            order: id,
            market,
            end,
            cancel_micros,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::state::StrategySlot;
    use crate::engine::testing::{id, state};
    use crate::strategy;
    use crate::{MarketId, Side};

    /// A market may not be quoted for hours, and all the while its strategy is not asked.
    #[test]
    fn the_last_fills_are_kept_for_a_strategy_that_is_not_asked() {
        let now = Time::from_ms(1_000);
        let mut state = state(now);
        state.slots.push(StrategySlot {
            strategy: id(0).strategy,
            market: MarketId(0),
            fills: Vec::new(),
            parameters: None,
            traded: strategy::Traded::default(),
            reads: Vec::new(),
        });
        let step = Increment {
            base: 1,
            quote: 1,
            fee: 0,
        };
        let of = (MarketId(0), Side::Buy);
        for number in 1..=300 {
            let order = (id(number), of.0, of.1);
            state.book(now, order, step, &mut Vec::new());
        }
        let kept = state.slots[0].fills.iter().map(|fill| fill.order.number);
        assert!(kept.eq(45..=300), "the last 256");
    }
}
