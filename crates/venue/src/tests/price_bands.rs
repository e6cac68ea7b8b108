//! Price bands: the distance from a market's reference within which orders may trade.

use cambist_core::{OrderStatus, Price, Reason, Side};

use super::support::*;
use crate::testing::*;
use crate::{Delays, Operator, PriceBand, Request};

/// 10 % around 2,500.00, updated every minute: asks from 225,000 and bids up to 275,000 ticks.
const BAND: PriceBand = PriceBand {
    bips: 1_000,
    window_s: 60,
    reference: Price(250_000),
};

fn set(world: &mut World, band: Option<PriceBand>) {
    let market = "AAA-QQQ".to_owned();
    let holds = false;
    world.operate(Operator::SetPriceBand {
        market,
        band,
        holds,
    });
}

fn banded() -> World {
    let mut world = filled(with_pool());
    set(&mut world, Some(BAND));
    world
}

fn is_taken(world: &mut World, side: Side, ticks: u64) -> bool {
    let order = world.order(ALICE, side, ticks, ONE);
    let request = Request::Submit(Box::new(order.clone()));
    match world.ask(&signed(ALICE), &request) {
        Ok(_) => {
            world.cancel(ALICE, order.hash).unwrap();
            true
        }
        Err(refusal) => {
            assert_eq!(refusal.reason, Reason::IllegalRate);
            assert!(refusal.detail.contains("price band"), "{refusal}");
            false
        }
    }
}

/// R-BND-01
#[test]
fn an_order_trades_within_the_band_or_not_at_all() {
    let mut world = banded();
    let edges = [
        (Side::Sell, 224_999, false),
        (Side::Sell, 225_000, true),
        (Side::Buy, 275_000, true),
        (Side::Buy, 275_001, false),
        // Far on the harmless side.
        (Side::Sell, 1_000_000, true),
        (Side::Buy, 100, true),
    ];
    for (side, ticks, taken) in edges {
        assert_eq!(is_taken(&mut world, side, ticks), taken, "{side:?} {ticks}");
    }
    let mut order = world.order(ALICE, Side::Sell, 224_999, ONE);
    order.kind = cambist_core::OrderKind::TakerOnly;
    assert_eq!(world.submit_refused(&order), Reason::IllegalRate);
    // A thief and an accomplice: all funds for almost nothing.
    let bid = world.order(BOB, Side::Buy, 1, 100 * ONE);
    world.submit(&bid);
    let ask = world.order(ALICE, Side::Sell, 1, 100 * ONE);
    assert_eq!(world.submit_refused(&ask), Reason::IllegalRate);
    set(&mut world, None);
    assert_eq!(world.submit(&ask).trades.len(), 1, "without a band");
}

/// R-BND-01
#[test]
fn a_swap_outside_the_band_is_refused() {
    let mut world = banded();
    let least = 2_250 * UNIT;
    let cheap = world.swap_order(ALICE, Side::Sell, ONE, least - 1_000_000);
    assert_eq!(world.submit_refused(&cheap), Reason::IllegalRate);
    let fair = world.swap_order(ALICE, Side::Sell, ONE, least);
    assert_eq!(world.submit(&fair).status, OrderStatus::Processed);
    let dear = world.swap_order(ALICE, Side::Buy, 2_760 * UNIT, ONE);
    assert_eq!(world.submit_refused(&dear), Reason::IllegalRate);
    // A ratio beyond every level, and one below a tick, which is harmless.
    let beyond = world.swap_order(ALICE, Side::Buy, 100_000 * UNIT, ONE / 1_000);
    assert_eq!(world.submit_refused(&beyond), Reason::IllegalRate);
    let below = world.swap_order(ALICE, Side::Buy, UNIT, 1_000 * ONE);
    assert_eq!(world.submit(&below).status, OrderStatus::Cancelled);
}

/// R-BND-02
#[test]
fn the_reference_follows_the_book_by_at_most_a_band_per_window() {
    let mut world = banded();
    // A one-sided book does not change the reference.
    world.place(BOB, Side::Sell, 290_000, ONE);
    world.pass(60_000);
    assert!(!is_taken(&mut world, Side::Buy, 275_001));
    // Both sides: the mid is 282,500, and the reference moves by at most 10 % at a time.
    world.place(CAROL, Side::Buy, 275_000, ONE);
    assert!(is_taken(&mut world, Side::Buy, 275_001));
    assert!(
        is_taken(&mut world, Side::Buy, 302_500 - 12_501),
        "below the ask"
    );
    assert!(!is_taken(&mut world, Side::Sell, 247_499));
    assert!(is_taken(&mut world, Side::Sell, 275_001));
    // The next update is after the window, and reaches the mid.
    world.pass(59_999);
    let edge = world.order(ALICE, Side::Sell, 254_249, ONE / 1_000);
    world.submit(&edge);
    world.pass(1);
    let order = world.order(ALICE, Side::Sell, 254_249, ONE / 1_000);
    assert_eq!(world.submit_refused(&order), Reason::IllegalRate);
    assert!(is_taken(&mut world, Side::Sell, 290_000));
}

/// R-BND-02
#[test]
fn a_new_band_starts_at_its_own_reference_and_resting_orders_stay() {
    let mut world = banded();
    let (low, _) = world.place(BOB, Side::Buy, 240_000, ONE);
    let moved = PriceBand {
        reference: Price(500_000),
        ..BAND
    };
    set(&mut world, Some(moved));
    assert!(!is_taken(&mut world, Side::Sell, 449_999));
    assert_eq!(world.status(BOB, low), OrderStatus::Processing);
    for band in [
        PriceBand { bips: 0, ..BAND },
        PriceBand {
            bips: 10_000,
            ..BAND
        },
        PriceBand {
            window_s: 0,
            ..BAND
        },
        PriceBand {
            reference: Price(0),
            ..BAND
        },
    ] {
        let market = "AAA-QQQ".to_owned();
        let input = Operator::SetPriceBand {
            market,
            band: Some(band),
            holds: true,
        };
        let reason = world.refused(&crate::Caller::Operator, &Request::Operator(input));
        assert_eq!(reason, Reason::InvalidArgument);
        let mut config = config();
        config.markets[0].price_band = Some(band);
        assert!(crate::Venue::new(config).is_err());
    }
}

/// R-BND-02
#[test]
fn a_reference_that_the_operator_sets_stays_for_a_window() {
    let mut world = banded();
    world.place(BOB, Side::Sell, 252_000, ONE);
    world.place(CAROL, Side::Buy, 248_000, ONE);
    let moved = PriceBand {
        reference: Price(400_000),
        ..BAND
    };
    world.operate(Operator::SetPriceBand {
        market: "AAA-QQQ".to_owned(),
        band: Some(moved),
        holds: true,
    });
    world.pass(59_999);
    assert!(!is_taken(&mut world, Side::Sell, 359_999));
    assert!(is_taken(&mut world, Side::Sell, 360_000));
    // Then it follows the book: by a tenth at most.
    world.pass(1);
    assert!(is_taken(&mut world, Side::Sell, 324_000));
    assert!(!is_taken(&mut world, Side::Sell, 323_999));
}

/// R-BND-01, R-DLY-05
#[test]
fn a_delayed_order_fails_if_it_is_outside_the_band_when_matched() {
    let mut config = with_pool();
    config.delays = Delays {
        order_ms: 100,
        ..Delays::default()
    };
    config.markets[0].price_band = Some(BAND);
    let mut world = filled(config);
    let (order, _) = world.place(ALICE, Side::Sell, 230_000, ONE);
    let moved = PriceBand {
        reference: Price(300_000),
        ..BAND
    };
    set(&mut world, Some(moved));
    world.pass(100);
    assert_eq!(world.status(ALICE, order), OrderStatus::Failed);
    assert_eq!(world.held(ALICE, BASE).1, 0);
}
