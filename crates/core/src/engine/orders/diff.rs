//! Comparison of targets with working orders: which orders stay, which are cancelled, and which quotes need an order.
//!
//! A pure function. An order close to its expiry does not satisfy a quote, but rests until its replacement is live,
//! unless funds require the opposite order.

use crate::market::{Price, Qty, Side};
use crate::order::ClientOrderId;
use crate::strategy::Quote;

/// One of our orders in the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Working {
    pub(crate) id: ClientOrderId,
    pub(crate) side: Side,
    pub(crate) price: Price,
    pub(crate) remaining: Qty,
    pub(crate) state: WorkingState,
    pub(crate) expiring: bool,
}

/// State of an order in the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkingState {
    /// Resting, as far as is known.
    Live,
    /// A transmission is in flight: counts for its quote, cannot be cancelled before the answer.
    InFlight,
    /// Not sent yet, or to be sent again: counts for its quote, and is dropped as soon as the quote is not a target any
    /// more, so that nothing is sent at an old price.
    Pending,
    /// Unknown: does not count for a quote, may be cancelled.
    Unknown,
    /// Being cancelled: does not count, and needs no action.
    Cancelling,
}

/// How far an order may differ from its quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tolerance {
    pub(crate) price_bps: u32,
    pub(crate) qty_bps: u32,
}

impl Tolerance {
    pub(crate) fn accepts(self, quote: &Quote, order: &Working) -> bool {
        let within = |targets: u64, has: u64, bps: u32| {
            u128::from(targets.abs_diff(has)) * 10_000 <= u128::from(targets) * u128::from(bps)
        };
        order.side == quote.side
            && within(quote.price.0, order.price.0, self.price_bps)
            && within(quote.qty.0, order.remaining.0, self.qty_bps)
    }
}

/// A quote without an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) quote: Quote,
    /// The expiring order that it replaces.
    pub(crate) replaces: Option<ClientOrderId>,
}

/// The outcome of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Diff {
    /// Orders to cancel.
    pub(crate) cancel: Vec<ClientOrderId>,
    /// Quotes to place, nearest level first.
    pub(crate) place: Vec<Missing>,
}

/// Compares targets with working orders.
pub(crate) fn diff(quotes: &[Quote], working: &[Working], tolerance: Tolerance) -> Diff {
    let mut targets: Vec<&Quote> = quotes.iter().collect();
    targets.sort_by_key(|quote| quote.level);
    let mut used = vec![false; working.len()];
    let mut claim = |quote: &Quote, expiring: bool| {
        let found = working
            .iter()
            .enumerate()
            .filter(|(i, order)| {
                let counts = matches!(
                    order.state,
                    WorkingState::Live | WorkingState::InFlight | WorkingState::Pending
                );
                !used[*i] && counts && order.expiring == expiring && tolerance.accepts(quote, order)
            })
            .min_by_key(|(_, order)| (order.price.0.abs_diff(quote.price.0), order.id))?
            .0;
        used[found] = true;
        Some(&working[found])
    };
    let mut result = Diff::default();
    let mut held_back = Vec::new();
    for quote in targets {
        let fresh = claim(quote, false);
        let old = claim(quote, true);
        match (fresh, old) {
            (None, old) => {
                held_back.extend(old.map(|order| order.id));
                result.place.push(Missing {
                    quote: *quote,
                    replaces: old.map(|order| order.id),
                });
            }
            (Some(fresh), Some(old)) if fresh.state != WorkingState::Live => held_back.push(old.id),
            (Some(_), _) => {}
        }
    }
    for (order, used) in working.iter().zip(used) {
        let surplus = if order.expiring {
            !held_back.contains(&order.id)
        } else {
            !used
        };
        let can_cancel = matches!(
            order.state,
            WorkingState::Live | WorkingState::Pending | WorkingState::Unknown
        );
        if surplus && can_cancel {
            result.cancel.push(order.id);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::StrategyId;

    const EXACT: Tolerance = Tolerance {
        price_bps: 10,
        qty_bps: 1_000,
    };

    fn id(number: u64) -> ClientOrderId {
        ClientOrderId {
            instance: 1,
            strategy: StrategyId(0),
            number,
        }
    }

    fn bid(number: u64, price: u64, state: WorkingState, expiring: bool) -> Working {
        Working {
            id: id(number),
            side: Side::Buy,
            price: Price(price),
            remaining: Qty(100),
            state,
            expiring,
        }
    }

    fn want(price: u64) -> Quote {
        Quote {
            side: Side::Buy,
            price: Price(price),
            qty: Qty(100),
            level: 0,
        }
    }

    #[test]
    fn an_order_within_tolerance_stays_and_one_outside_is_replaced() {
        let kept = diff(
            &[want(10_000)],
            &[bid(1, 10_010, WorkingState::Live, false)],
            EXACT,
        );
        assert_eq!(kept, Diff::default());
        let moved = diff(
            &[want(10_000)],
            &[bid(1, 10_011, WorkingState::Live, false)],
            EXACT,
        );
        assert_eq!(moved.cancel, [id(1)]);
        assert_eq!(
            moved.place,
            [Missing {
                quote: want(10_000),
                replaces: None
            }]
        );
    }

    #[test]
    fn remaining_quantity_counts_not_the_original_one() {
        let mut order = bid(1, 10_000, WorkingState::Live, false);
        order.remaining = Qty(90);
        assert_eq!(diff(&[want(10_000)], &[order], EXACT), Diff::default());
        order.remaining = Qty(89);
        assert_eq!(diff(&[want(10_000)], &[order], EXACT).cancel, [id(1)]);
    }

    #[test]
    fn one_order_cannot_serve_two_quotes() {
        let quotes = [want(10_000), want(10_000)];
        let result = diff(&quotes, &[bid(1, 10_000, WorkingState::Live, false)], EXACT);
        assert_eq!((result.cancel.len(), result.place.len()), (0, 1));
    }

    #[test]
    fn an_expiring_order_rests_until_its_replacement_is_live() {
        let old = bid(1, 10_000, WorkingState::Live, true);
        let first = diff(&[want(10_000)], &[old], EXACT);
        assert_eq!(first.cancel, []);
        assert_eq!(
            first.place,
            [Missing {
                quote: want(10_000),
                replaces: Some(id(1))
            }]
        );
        let coming = diff(
            &[want(10_000)],
            &[old, bid(2, 10_000, WorkingState::InFlight, false)],
            EXACT,
        );
        assert_eq!(coming, Diff::default());
        let live = diff(
            &[want(10_000)],
            &[old, bid(2, 10_000, WorkingState::Live, false)],
            EXACT,
        );
        assert_eq!((live.cancel, live.place.len()), (vec![id(1)], 0));
    }

    #[test]
    fn unknown_orders_do_not_count_and_orders_being_cancelled_need_no_action() {
        let orders = [
            bid(1, 10_000, WorkingState::Unknown, false),
            bid(2, 10_000, WorkingState::Cancelling, false),
        ];
        let result = diff(&[want(10_000)], &orders, EXACT);
        assert_eq!(result.cancel, [id(1)]);
        assert_eq!(result.place.len(), 1);
    }

    #[test]
    fn unsent_orders_count_and_are_dropped_with_their_quote() {
        let pending = bid(1, 10_000, WorkingState::Pending, false);
        assert_eq!(diff(&[want(10_000)], &[pending], EXACT), Diff::default());
        let moved = diff(&[want(9_000)], &[pending], EXACT);
        assert_eq!((moved.cancel, moved.place.len()), (vec![id(1)], 1));
    }

    #[test]
    fn orders_in_flight_are_never_cancelled_before_their_answer() {
        assert_eq!(
            diff(&[], &[bid(1, 10_000, WorkingState::InFlight, false)], EXACT),
            Diff::default()
        );
    }
}
