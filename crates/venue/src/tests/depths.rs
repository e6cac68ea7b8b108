//! Depth: version, aggregation, bounds.

use cambist_core::{OrderKind, Price, Reason, Side, VenueTime};

use crate::testing::*;
use crate::{Caller, DepthRow, Request};

/// R-DEP-01
#[test]
fn the_version_rises_exactly_when_the_content_changes() {
    let mut world = World::new();
    let mut seen = world.depth(0, None);
    let mut changed = |world: &mut World| {
        let now = world.depth(0, None);
        let same = (&now.bids, &now.asks) == (&seen.bids, &seen.asks);
        assert!(now.version >= seen.version);
        assert_eq!(now.version > seen.version, !same, "{now:?}");
        seen = now;
        !same
    };
    let (hash, _) = world.place(ALICE, Side::Buy, 250_000, ONE);
    assert!(changed(&mut world));
    let refused = world.order(ALICE, Side::Buy, 250_000, 1);
    world.submit_refused(&refused);
    assert!(!changed(&mut world));
    let mut order = world.order(BOB, Side::Sell, 250_001, ONE);
    order.kind = OrderKind::TakerOnly;
    world.submit(&order);
    assert!(!changed(&mut world), "neither took nor rests");
    world.place(BOB, Side::Sell, 250_000, ONE / 2);
    assert!(changed(&mut world));
    world.cancel(ALICE, hash).unwrap();
    assert!(changed(&mut world));
    let mut order = world.order(ALICE, Side::Buy, 250_000, ONE);
    order.valid_until_s = START_S + 1;
    world.submit(&order);
    assert!(changed(&mut world));
    world.now = world.now.plus_ms(1_000);
    assert!(changed(&mut world), "expired");
    let mut other = world.order(ALICE, Side::Sell, 250_000, ONE);
    other.sell_token = OTHER;
    world.submit(&other);
    assert!(!changed(&mut world), "another market");
}

/// R-DEP-02, R-DEP-06
#[test]
fn a_level_is_one_decimal_coarser_and_never_shows_a_better_price() {
    let mut world = World::new();
    for (side, ticks) in [
        (Side::Buy, 249_999),
        (Side::Buy, 249_991),
        (Side::Buy, 249_990),
        (Side::Sell, 250_001),
        (Side::Sell, 250_010),
        (Side::Sell, 250_011),
    ] {
        world.place(ALICE, side, ticks, ONE);
    }
    let row = |price, base: u128, volume, count| DepthRow {
        price: Price(price),
        size: base * ONE,
        volume,
        count,
    };
    let fine = world.depth(0, None);
    assert_eq!(fine.bids[0], row(249_999, 1, 2_499_990_000, 1));
    assert_eq!(fine.asks[0], row(250_001, 1, 2_500_010_000, 1));
    assert_eq!((fine.bids.len(), fine.asks.len()), (3, 3));
    let coarse = world.depth(1, None);
    assert_eq!(coarse.bids, [row(249_990, 3, 7_499_800_000, 3)]);
    assert_eq!(
        coarse.asks,
        [
            row(250_010, 2, 5_000_110_000, 2),
            row(250_020, 1, 2_500_110_000, 1)
        ]
    );
    assert_eq!(world.depth(3, None).bids[0].price, Price(249_000));
    // At the third aggregation level a bid below ten quote has no price.
    world.place(ALICE, Side::Buy, 900, ONE);
    assert_eq!(world.depth(3, None).bids.len(), 1);
    assert_eq!(world.depth(2, None).bids.len(), 2);
}

/// R-DEP-03
#[test]
fn unknown_markets_and_levels_beyond_the_last_are_refused() {
    let mut world = World::new();
    for (market, level, reason) in [
        ("AAA-XXX", 0, Reason::UnsupportedDepthMarket),
        ("AAA-QQQ", 4, Reason::UnsupportedDepthLevel),
        ("AAA-QQQ", u64::MAX, Reason::UnsupportedDepthLevel),
    ] {
        let request = Request::Depth {
            market: market.to_owned(),
            level,
            limit: None,
        };
        assert_eq!(world.refused(&Caller::Public, &request), reason);
    }
    assert_eq!(world.depth(3, None).market, "AAA-QQQ");
}

/// R-DEP-04, R-DEP-05
#[test]
fn depth_has_50_levels_by_default_a_cap_and_the_time_of_the_request() {
    let mut config = config();
    config.limits.open_orders_max = 100;
    config.limits.depth_levels_max = 60;
    let mut world = World::with(config);
    for ticks in 0..70 {
        world.place(ALICE, Side::Buy, 250_000 - ticks, ONE);
    }
    world.now = world.now.plus_ms(1_234);
    for (limit, rows) in [(None, 50), (Some(5), 5), (Some(0), 1), (Some(1_000), 60)] {
        assert_eq!(world.depth(0, limit).bids.len(), rows);
    }
    let depth = world.depth(0, Some(1));
    assert_eq!(depth.bids[0].price, Price(250_000), "best first");
    assert_eq!(depth.timestamp, world.now);
    assert_eq!(depth.changed, VenueTime::from_s(START_S));
}
