//! What the last decision of a market meant for each of its orders, and why.
//!
//! Kept for the next inspection only: it follows from the inputs, so that neither snapshots nor tapes hold it.

use crate::inspection::{CancelCause, OrderDecision};
use crate::market::Side;
use crate::notification::Withheld;
use crate::order::ClientOrderId;
use crate::strategy::Quote;

use crate::engine::orders::diff::{Tolerance, Working, WorkingState};

/// The decisions about the orders of a market.
///
/// Comparisons are kept as they were, and explained on demand: nearly all of them are forgotten before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decisions {
    /// Decisions that are known; they replace what a comparison decided about the same order.
    recorded: Vec<(ClientOrderId, OrderDecision)>,
    /// The first of them are comparisons of the last decision, the others are buffers.
    comparisons: Vec<Comparison>,
    compared: usize,
}

/// The comparison of a strategy's quotes with its orders.
#[derive(Clone, Debug)]
struct Comparison {
    quotes: Vec<Quote>,
    working: Vec<Working>,
    cancelled: Vec<ClientOrderId>,
    tolerance: Tolerance,
    /// Why a side has no quotes.
    because: [Withheld; 2],
}

impl Comparison {
    /// The decision about one of its orders; `None` about one that was being cancelled before.
    fn explain(&self, order: &Working) -> Option<OrderDecision> {
        let is_cancelled = self.cancelled.contains(&order.id);
        let because = |side: Side| self.because[side as usize];
        explain(&self.quotes, order, self.tolerance, is_cancelled, because)
    }
}

impl Decisions {
    /// A decision begins: of the ones before, those about orders that are still being cancelled remain.
    pub(crate) fn begin(&mut self, is_alive: impl Fn(ClientOrderId) -> bool) {
        for comparison in &self.comparisons[..self.compared] {
            let cancelled = |order: &&Working| comparison.cancelled.contains(&order.id);
            for order in comparison.working.iter().filter(cancelled) {
                let is_known = self.recorded.iter().any(|(known, _)| *known == order.id);
                if let Some(decision) = comparison.explain(order).filter(|_| !is_known) {
                    self.recorded.push((order.id, decision));
                }
            }
        }
        self.compared = 0;
        self.recorded.retain(|(order, decision)| {
            matches!(decision, OrderDecision::Cancelled(_)) && is_alive(*order)
        });
    }

    /// Records a comparison; `because` is why a side has no quotes.
    pub(crate) fn compare(
        &mut self,
        quotes: &[Quote],
        working: &[Working],
        (tolerance, because): (Tolerance, [Withheld; 2]),
        cancelled: &[ClientOrderId],
    ) {
        let is_explained = |id: ClientOrderId| {
            let mut of = working.iter().filter(|order| order.id == id);
            of.any(|order| order.state != WorkingState::Cancelling)
        };
        self.recorded.retain(|(known, _)| !is_explained(*known));
        if self.compared == self.comparisons.len() {
            self.comparisons.push(Comparison {
                quotes: Vec::new(),
                working: Vec::new(),
                cancelled: Vec::new(),
                tolerance,
                because,
            });
        }
        let comparison = &mut self.comparisons[self.compared];
        comparison.quotes.clear();
        comparison.quotes.extend_from_slice(quotes);
        comparison.working.clear();
        comparison.working.extend_from_slice(working);
        comparison.cancelled.clear();
        comparison.cancelled.extend_from_slice(cancelled);
        (comparison.tolerance, comparison.because) = (tolerance, because);
        self.compared += 1;
    }

    /// Records the decision about an order.
    pub(crate) fn record(&mut self, order: ClientOrderId, decision: OrderDecision) {
        self.recorded.retain(|(known, _)| *known != order);
        self.recorded.push((order, decision));
    }

    /// The last decision about an order.
    pub(crate) fn of(&self, order: ClientOrderId) -> Option<OrderDecision> {
        let mut recorded = self.recorded.iter();
        if let Some((_, decision)) = recorded.find(|(known, _)| *known == order) {
            return Some(*decision);
        }
        self.comparisons[..self.compared]
            .iter()
            .find_map(|comparison| {
                let mut working = comparison.working.iter();
                comparison.explain(working.find(|working| working.id == order)?)
            })
    }
}

/// Explains the comparison of the quotes of a strategy with one of its orders; `None` for one that is being cancelled.
/// `because` is the reason of a side without quotes.
fn explain(
    quotes: &[Quote],
    order: &Working,
    tolerance: Tolerance,
    is_cancelled: bool,
    because: impl Fn(Side) -> Withheld,
) -> Option<OrderDecision> {
    if order.state == WorkingState::Cancelling {
        return None;
    }
    let distance = |quote: &&Quote| quote.price.0.abs_diff(order.price.0);
    let of_side = quotes.iter().filter(|quote| quote.side == order.side);
    let fits = |quote: &&Quote| tolerance.accepts(quote, order);
    let fitting = of_side.clone().filter(fits).min_by_key(distance).copied();
    let nearest = of_side.min_by_key(distance).copied();
    let cause = match (nearest, fitting) {
        (None, _) => CancelCause::NotQuoted(because(order.side)),
        (Some(wanted), None) => CancelCause::Moved { wanted },
        (Some(_), Some(_)) if order.expiring => CancelCause::Replaced,
        (Some(_), Some(_)) => CancelCause::Surplus,
    };
    Some(match fitting {
        _ if is_cancelled => OrderDecision::Cancelled(cause),
        None if order.state == WorkingState::Live => OrderDecision::Held(cause),
        None => OrderDecision::Awaited(cause),
        Some(wanted) if order.expiring => OrderDecision::Expiring { wanted },
        Some(wanted) => OrderDecision::Kept { wanted },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::market::{Price, Qty};
    use crate::order::StrategyId;

    const TOLERANCE: Tolerance = Tolerance {
        price_bps: 10,
        qty_bps: 1_000,
    };

    fn order(price: u64, state: WorkingState, expiring: bool) -> Working {
        Working {
            id: ClientOrderId {
                instance: 1,
                strategy: StrategyId(0),
                number: 1,
            },
            side: Side::Buy,
            price: Price(price),
            remaining: Qty(100),
            state,
            expiring,
        }
    }

    fn quote(side: Side, price: u64) -> Quote {
        Quote {
            side,
            price: Price(price),
            qty: Qty(100),
            level: 0,
        }
    }

    #[test]
    fn a_comparison_is_explained_until_the_next_decision_and_cancels_until_their_order_ends() {
        use CancelCause::{Moved, NoRoom};
        use OrderDecision::{Cancelled, Kept};
        let numbered = |number, price, state| {
            let mut order = order(price, state, false);
            order.id.number = number;
            order
        };
        let near = quote(Side::Buy, 10_000);
        let working = [
            numbered(1, 10_000, WorkingState::Live),
            numbered(2, 10_500, WorkingState::Live),
            numbered(3, 10_000, WorkingState::Live),
        ];
        let [kept, moved, pushed] = working.map(|order| order.id);
        let because = [Withheld::from(Control::StaleData); 2];
        let mut decisions = Decisions::default();
        decisions.begin(|_| true);
        let how = (TOLERANCE, because);
        decisions.compare(&[near], &working, how, &[moved]);
        // What is decided afterwards replaces what the comparison decided.
        decisions.record(pushed, Cancelled(NoRoom(Control::Balance)));
        let expected = [
            Some(Kept { wanted: near }),
            Some(Cancelled(Moved { wanted: near })),
            Some(Cancelled(NoRoom(Control::Balance))),
        ];
        assert_eq!([kept, moved, pushed].map(|id| decisions.of(id)), expected);
        decisions.begin(|id| id != pushed);
        let expected = [None, expected[1], None];
        assert_eq!([kept, moved, pushed].map(|id| decisions.of(id)), expected);
        // One that is being cancelled keeps its decision through the next comparison.
        let cancelling = numbered(2, 10_500, WorkingState::Cancelling);
        decisions.compare(&[near], &[working[0], cancelling], how, &[]);
        let expected = [Some(Kept { wanted: near }), expected[1], None];
        assert_eq!([kept, moved, pushed].map(|id| decisions.of(id)), expected);
    }

    #[test]
    fn every_order_has_a_decision_with_its_cause() {
        use CancelCause::{Moved, NotQuoted, Replaced, Surplus};
        use OrderDecision::{Awaited, Cancelled, Expiring, Held, Kept};
        let near = quote(Side::Buy, 10_000);
        let far = quote(Side::Buy, 9_900);
        let ask = quote(Side::Sell, 10_100);
        let live = |price| order(price, WorkingState::Live, false);
        let stale = Withheld::from(Control::StaleData);
        let explained = |quotes: &[Quote], order: &Working, is_cancelled| {
            explain(quotes, order, TOLERANCE, is_cancelled, |_| stale)
        };
        let all = [near, far, ask];
        for (quotes, order, is_cancelled, decision) in [
            (&all[..], live(10_010), false, Some(Kept { wanted: near })),
            (&all[..], live(9_905), false, Some(Kept { wanted: far })),
            (
                &all[..],
                live(10_011),
                true,
                Some(Cancelled(Moved { wanted: near })),
            ),
            (&all[..], live(10_000), true, Some(Cancelled(Surplus))),
            (
                &all[2..],
                live(10_000),
                true,
                Some(Cancelled(NotQuoted(stale))),
            ),
            (
                &all[..],
                order(10_000, WorkingState::Live, true),
                false,
                Some(Expiring { wanted: near }),
            ),
            (
                &all[..],
                order(10_000, WorkingState::Live, true),
                true,
                Some(Cancelled(Replaced)),
            ),
            (
                &all[..],
                order(10_020, WorkingState::InFlight, false),
                false,
                Some(Awaited(Moved { wanted: near })),
            ),
            (
                &all[..],
                live(10_020),
                false,
                Some(Held(Moved { wanted: near })),
            ),
            (
                &all[..],
                order(10_000, WorkingState::Cancelling, false),
                false,
                None,
            ),
        ] {
            assert_eq!(
                explained(quotes, &order, is_cancelled),
                decision,
                "{order:?}"
            );
        }
    }
}
