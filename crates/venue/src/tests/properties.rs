//! Invariants of every history: the books balance, no book is crossed, the queue is fair.

use cambist_core::{Hash, OrderKind, OrderStatus, Side};

use super::random_history::{COARSE, DUSTY, FINE, QUOTE_FEES, ROUGH, RandomHistory, Style};
use crate::{NewOrder, Request, Response, Venue};

/// Counts of what a history contained, so that an empty history does not pass.
#[derive(Debug, Default)]
struct Seen {
    trades: u32,
    expired: u32,
    refusals: u32,
    cancels: u32,
    unpriceable: u32,
}

/// Orders that an incoming one may trade with, in the required order.
fn queue(venue: &Venue, order: &NewOrder) -> Vec<Hash> {
    let Some((market, side)) = venue.market_of_pair(order.sell_token, order.buy_token) else {
        return Vec::new();
    };
    let mut resting: Vec<_> = venue
        .orders
        .iter()
        .map(|(_, order)| order)
        .filter(|other| other.is_open() && other.market == market && other.side != side)
        .collect();
    resting.sort_by_key(|other| match side {
        Side::Buy => (other.level.0, other.sequence),
        Side::Sell => (u64::MAX - other.level.0, other.sequence),
    });
    resting.iter().map(|other| other.hash).collect()
}

fn history(style: Style, seed: u64, requests: u32, seen: &mut Seen) {
    let mut world = style.world();
    let mut history = RandomHistory::new(style, seed);
    for _ in 0..requests {
        let (caller, request) = history.next(&mut world);
        let open = |venue: &Venue| venue.expiries.len();
        let before = open(&world.venue);
        world.venue.advance(world.now);
        seen.expired += u32::try_from(before - open(&world.venue)).unwrap();
        let expected = match &request {
            Request::Submit(order) => queue(&world.venue, order),
            _ => Vec::new(),
        };
        // `ask` audits: conservation, locks, levels, never crossed.
        match world.ask(&caller, &request) {
            Ok(Response::Submitted(made)) => {
                let kind = match &request {
                    Request::Submit(order) => Some(order.kind),
                    _ => None,
                };
                assert!(kind != Some(OrderKind::MakerOnly) || made.trades.is_empty());
                seen.trades += u32::try_from(made.trades.len()).unwrap();
                let mut expected = expected.into_iter();
                let mut last = None;
                for trade in &made.trades {
                    if last == Some(trade.maker) {
                        continue;
                    }
                    last = Some(trade.maker);
                    // An order that was passed over was closed because no amount of it could be priced.
                    for passed in expected.by_ref().take_while(|hash| *hash != trade.maker) {
                        assert!(!world.venue.is_open(&passed), "seed {seed}: passed over");
                    }
                }
            }
            Ok(Response::Cancelled(done)) => {
                assert_eq!(done.status, OrderStatus::Cancelled);
                seen.cancels += 1;
            }
            Ok(_) => {}
            Err(_) => seen.refusals += 1,
        }
    }
    // Without dust, an order that is processed and not full was too small to be priced.
    let unpriceable = |order: &crate::orders::Order| {
        order.status == OrderStatus::Processed
            && order.limited_by_base()
            && order.base_filled < order.base
    };
    let orders = world.venue.orders.iter();
    seen.unpriceable +=
        u32::try_from(orders.filter(|(_, order)| unpriceable(order)).count()).unwrap();
}

/// R-GEN-04, R-MAT-01, R-MAT-05, R-FIL-05, R-ORD-23
#[test]
fn every_history_balances_and_every_queue_is_fair() {
    for style in [FINE, ROUGH, DUSTY, QUOTE_FEES, COARSE] {
        let mut seen = Seen::default();
        for seed in 0..6 {
            history(style, seed, 700, &mut seen);
        }
        let lively =
            seen.trades > 300 && seen.expired > 100 && seen.refusals > 300 && seen.cancels > 100;
        assert!(lively, "{style:?}: {seen:?}");
        if style.base_decimals == 6 && style.dust == 0 {
            assert!(seen.unpriceable > 0, "{style:?}: {seen:?}");
        }
    }
}

/// R-GEN-03
#[test]
fn a_refusal_changes_nothing_but_time() {
    let mut world = ROUGH.world();
    let mut history = RandomHistory::new(ROUGH, 99);
    let mut refusals = 0;
    for _ in 0..600 {
        let (caller, request) = history.next(&mut world);
        world.venue.advance(world.now);
        let before = world.venue.clone();
        if world.ask(&caller, &request).is_err() {
            assert!(world.venue == before, "{request:?}");
            refusals += 1;
        }
    }
    assert!(refusals > 50);
}
