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
    /// An order in flight is not wanted, or one rests until its replacement does: the answer about an order changes
    /// this. Every other acceptance of an order leaves it as it is.
    pub(crate) awaits_acceptance: bool,
}

/// Compares targets with working orders.
pub(crate) fn diff(quotes: &[Quote], working: &[Working], tolerance: Tolerance) -> Diff {
    let mut targets: Vec<&Quote> = quotes.iter().collect();
    targets.sort_by_key(|quote| quote.level);
    let fresh = assign(&targets, working, false, tolerance);
    // Most of the time none expires.
    let any_expires = working.iter().any(|order| order.expiring);
    let old = any_expires.then(|| assign(&targets, working, true, tolerance));
    let old = |quote: usize| old.as_ref().and_then(|old| old[quote]);
    let mut result = Diff::default();
    let mut held_back = Vec::new();
    for (at, (quote, fresh)) in targets.into_iter().zip(&fresh).enumerate() {
        let old = old(at).map(|at| working[at].id);
        let Some(fresh) = *fresh else {
            held_back.extend(old);
            result.place.push(Missing {
                quote: *quote,
                replaces: old,
            });
            continue;
        };
        if working[fresh].state != WorkingState::Live {
            held_back.extend(old);
        }
    }
    for (at, order) in working.iter().enumerate() {
        let surplus = if order.expiring {
            !held_back.contains(&order.id)
        } else {
            !fresh.contains(&Some(at))
        };
        let can_cancel = matches!(
            order.state,
            WorkingState::Live | WorkingState::Pending | WorkingState::Unknown
        );
        if surplus && can_cancel {
            result.cancel.push(order.id);
        }
        result.awaits_acceptance |= surplus && order.state == WorkingState::InFlight;
    }
    result.awaits_acceptance |= !held_back.is_empty();
    result
}

/// The order that each quote has, by its place in `working`: as many quotes as possible have one, and among such
/// assignments the one with the smallest sum of distances. A quote whose order ended therefore never takes that of a
/// level nearby, which would be made a second time at the same price.
fn assign(
    quotes: &[&Quote],
    working: &[Working],
    expiring: bool,
    tolerance: Tolerance,
) -> Vec<Option<usize>> {
    let counts = |order: &Working| {
        let state = order.state;
        order.expiring == expiring
            && matches!(
                state,
                WorkingState::Live | WorkingState::InFlight | WorkingState::Pending
            )
    };
    let mut assigned = vec![None; quotes.len()];
    let mut is_contested = false;
    for (at, order) in working
        .iter()
        .enumerate()
        .filter(|(_, order)| counts(order))
    {
        let mut accepting = 0;
        for (quote, assigned) in quotes.iter().zip(&mut assigned) {
            if tolerance.accepts(quote, order) {
                accepting += 1;
                is_contested |= assigned.is_some() || accepting > 1;
                *assigned = Some(at);
            }
        }
    }
    if !is_contested {
        return assigned;
    }
    assigned.fill(None);
    for side in Side::BOTH {
        let mut rows: Vec<usize> = (0..quotes.len())
            .filter(|at| quotes[*at].side == side)
            .collect();
        rows.sort_by_key(|at| (quotes[*at].price, quotes[*at].level));
        let mut columns: Vec<usize> = (0..working.len())
            .filter(|at| working[*at].side == side && counts(&working[*at]))
            .collect();
        columns.sort_by_key(|at| (working[*at].price, working[*at].id));
        align(&rows, &columns, &mut assigned, |quote, order| {
            let (quote, order) = (quotes[quote], &working[order]);
            let distance = quote.price.0.abs_diff(order.price.0);
            tolerance.accepts(quote, order).then_some(distance)
        });
    }
    assigned
}

/// Assigns columns to rows, both in order of prices, without crossings: by dynamic programming over the best assignment
/// of every two heads of the lists. Among equal ones it takes the earliest columns, which are the older orders.
fn align(
    rows: &[usize],
    columns: &[usize],
    assigned: &mut [Option<usize>],
    distance: impl Fn(usize, usize) -> Option<u64>,
) {
    // Rows without a column, then the sum of distances: the smaller is the better.
    type Cost = (usize, u128);
    let width = columns.len() + 1;
    let mut best: Vec<Cost> = vec![(0, 0); (rows.len() + 1) * width];
    let joined = |best: &[Cost], row: usize, column: usize| {
        let (missing, sum) = best[row * width + column];
        let distance = distance(rows[row], columns[column])?;
        Some((missing, sum + u128::from(distance)))
    };
    for row in 0..rows.len() {
        let above = best[row * width];
        best[(row + 1) * width] = (above.0 + 1, above.1);
        for column in 0..columns.len() {
            let (missing, sum) = best[row * width + column + 1];
            let skipped = (missing + 1, sum).min(best[(row + 1) * width + column]);
            let pair = joined(&best, row, column);
            best[(row + 1) * width + column + 1] = pair.map_or(skipped, |pair| pair.min(skipped));
        }
    }
    let (mut row, mut column) = (rows.len(), columns.len());
    while row > 0 && column > 0 {
        let here = best[row * width + column];
        if here == best[row * width + column - 1] {
            column -= 1;
        } else if joined(&best, row - 1, column - 1) == Some(here) {
            (row, column) = (row - 1, column - 1);
            assigned[rows[row]] = Some(columns[column]);
        } else {
            row -= 1;
        }
    }
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
        let awaits = Diff {
            awaits_acceptance: true,
            ..Diff::default()
        };
        assert_eq!(coming, awaits);
        let live = diff(
            &[want(10_000)],
            &[old, bid(2, 10_000, WorkingState::Live, false)],
            EXACT,
        );
        assert_eq!((live.cancel, live.place.len()), (vec![id(1)], 0));
    }

    /// An acceptance changes the comparison only where an order in flight is not wanted, or where one rests until its
    /// replacement does.
    #[test]
    fn an_acceptance_is_awaited_where_it_changes_what_is_done() {
        let awaits = |orders: &[Working]| diff(&[want(10_000)], orders, EXACT).awaits_acceptance;
        let wanted = |state| bid(1, 10_000, state, false);
        let unwanted = |state| bid(2, 11_000, state, false);
        let old = bid(3, 10_000, WorkingState::Live, true);
        let (live, in_flight) = (WorkingState::Live, WorkingState::InFlight);
        assert!(!awaits(&[]));
        assert!(!awaits(&[wanted(in_flight)]));
        assert!(!awaits(&[wanted(in_flight), unwanted(live)]));
        assert!(awaits(&[wanted(live), unwanted(in_flight)]));
        assert!(awaits(&[old]), "its replacement is only placed now");
        assert!(awaits(&[old, wanted(in_flight)]));
        assert!(!awaits(&[old, wanted(live)]), "it is cancelled");
    }

    /// The order of the nearest level has to be renewed, and that of the next level is within the tolerance of it.
    #[test]
    fn a_level_whose_order_ended_does_not_take_that_of_its_neighbour() {
        let quotes = [want(10_000), want(10_009)];
        let next = bid(2, 10_009, WorkingState::Live, false);
        let missing = |replaces| Missing {
            quote: want(10_000),
            replaces,
        };
        for orders in [
            vec![next],
            vec![next, bid(1, 10_000, WorkingState::Cancelling, false)],
        ] {
            let result = diff(&quotes, &orders, EXACT);
            assert_eq!((result.cancel, result.place), (vec![], vec![missing(None)]));
        }
        let old = bid(1, 10_000, WorkingState::Live, true);
        let result = diff(&quotes, &[next, old], EXACT);
        assert_eq!(result.place, [missing(Some(id(1)))]);
        assert_eq!(result.cancel, []);
    }

    /// Every level moved towards the next one's order, and no order has to move.
    #[test]
    fn levels_that_moved_together_keep_their_own_orders() {
        let orders = [
            bid(1, 10_000, WorkingState::Live, false),
            bid(2, 10_004, WorkingState::Live, false),
            bid(3, 10_008, WorkingState::Live, false),
        ];
        let quotes = [want(10_009), want(10_013), want(10_017)];
        assert_eq!(diff(&quotes, &orders, EXACT), Diff::default());
        let beyond = [want(10_012), want(10_016), want(10_020)];
        let result = diff(&beyond, &orders, EXACT);
        assert_eq!(result.cancel, [id(1)]);
        assert_eq!(result.place.len(), 1);
    }

    /// Against every assignment of up to four quotes to up to four orders: none gives more quotes an order, nor as many
    /// with a smaller sum of distances, and no order has two quotes.
    #[test]
    fn assignments_are_the_best_of_all() {
        fn all(
            quotes: &[&Quote],
            orders: &[Working],
            free: &mut Vec<bool>,
            tolerance: Tolerance,
        ) -> (usize, u64) {
            let Some((quote, rest)) = quotes.split_first() else {
                return (0, 0);
            };
            let (missing, sum) = all(rest, orders, free, tolerance);
            let mut best = (missing + 1, sum);
            for at in 0..orders.len() {
                if free[at] && tolerance.accepts(quote, &orders[at]) {
                    free[at] = false;
                    let (missing, sum) = all(rest, orders, free, tolerance);
                    free[at] = true;
                    let distance = quote.price.0.abs_diff(orders[at].price.0);
                    best = best.min((missing, sum + distance));
                }
            }
            best
        }
        let mut number = 7_u64;
        let mut drawn = |most: u64| {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (number >> 33) % most
        };
        for _ in 0..3_000 {
            let quotes: Vec<Quote> = (0..drawn(5)).map(|_| want(10_000 + drawn(40))).collect();
            let orders: Vec<Working> = (0..drawn(5))
                .map(|at| bid(at, 10_000 + drawn(40), WorkingState::Live, false))
                .collect();
            let quotes: Vec<&Quote> = quotes.iter().collect();
            let assigned = assign(&quotes, &orders, false, EXACT);
            let mut used = vec![false; orders.len()];
            let mut found = (0, 0);
            for (quote, assigned) in quotes.iter().zip(&assigned) {
                let Some(at) = assigned else {
                    found.0 += 1;
                    continue;
                };
                assert!(!used[*at] && EXACT.accepts(quote, &orders[*at]));
                used[*at] = true;
                found.1 += quote.price.0.abs_diff(orders[*at].price.0);
            }
            let best = all(&quotes, &orders, &mut vec![true; orders.len()], EXACT);
            assert_eq!(found, best, "{quotes:?} {orders:?}");
        }
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
        let unwanted = diff(&[], &[bid(1, 10_000, WorkingState::InFlight, false)], EXACT);
        assert_eq!((unwanted.cancel, unwanted.place), (vec![], vec![]));
        assert!(unwanted.awaits_acceptance);
    }
}
