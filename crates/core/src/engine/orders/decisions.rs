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
#[derive(Clone, Debug, Default)]
pub(crate) struct Decisions(Vec<(ClientOrderId, OrderDecision)>);

impl Decisions {
    /// A decision begins: of the ones before, those about orders that are still being cancelled remain.
    pub(crate) fn begin(&mut self, is_alive: impl Fn(ClientOrderId) -> bool) {
        self.0.retain(|(order, decision)| {
            matches!(decision, OrderDecision::Cancelled(_)) && is_alive(*order)
        });
    }

    /// Records the decision about an order.
    pub(crate) fn record(&mut self, order: ClientOrderId, decision: OrderDecision) {
        self.0.retain(|(known, _)| *known != order);
        self.0.push((order, decision));
    }

    /// The last decision about an order.
    pub(crate) fn of(&self, order: ClientOrderId) -> Option<OrderDecision> {
        let mut known = self.0.iter();
        known
            .find(|(known, _)| *known == order)
            .map(|(_, decision)| *decision)
    }
}

/// Explains the comparison of the quotes of a strategy with one of its orders; `None` for one that is being cancelled.
/// `because` is the reason of a side without quotes.
pub(crate) fn explain(
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
    fn every_order_has_a_decision_with_its_cause() {
        use CancelCause::{Moved, NotQuoted, Replaced, Surplus};
        use OrderDecision::{Awaited, Cancelled, Expiring, Kept};
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
