//! Price limits alone: both sides of every limit.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::Side::{Buy, Sell};

use super::*;
use crate::testing::{Scene, market};

fn limits(table: &str) -> Result<PriceLimits, ParamError> {
    let params = Params::read(&PARAMETERS, &table.parse().unwrap())?;
    PriceLimits::new(&params, &market())
}

/// Why bids and asks are blocked at a mid in half ticks, by the key's last word and the limit.
fn blocked(limits: &PriceLimits, mid: u64) -> [Option<(&'static str, i128)>; 2] {
    Side::BOTH.map(|side| {
        let why = limits.blocked(mid, side)?;
        assert_eq!(
            (why.control, why.value),
            (Control::StrategyPrice, Some(mid.into()))
        );
        let key = why.key()?.strip_prefix("market.strategy.params.")?;
        Some((key, why.limit?))
    })
}

const PEG: &str = "buy_price_max = 0.99\nsell_price_min = 1.01\ndepeg_bps = 500\n";

#[test]
fn the_depeg_stop_stops_both_sides_beyond_it_and_not_at_it() {
    // The peg is 1.00, 200 half ticks: 5 % of it are 10.
    let limits = limits(PEG).unwrap();
    for mid in [190, 200, 210] {
        assert_eq!(blocked(&limits, mid), [None, None], "{mid}");
    }
    assert_eq!(blocked(&limits, 189), [Some(("depeg_bps", 190)); 2]);
    assert_eq!(blocked(&limits, 211), [Some(("depeg_bps", 210)); 2]);
}

#[test]
fn no_bid_is_above_its_limit_and_no_ask_below_its_limit() {
    let limits = limits("buy_price_max = 0.999\nsell_price_min = 1.011\n").unwrap();
    for (side, price, limit) in [
        (Buy, 98, 98),
        (Buy, 99, 99),
        (Buy, 100, 99),
        (Sell, 103, 103),
        (Sell, 102, 102),
        (Sell, 101, 102),
    ] {
        assert_eq!(
            limits.limit(side, Price(price)),
            Price(limit),
            "{side:?} {price}"
        );
        assert_eq!(limits.allows(side, Price(price)), price == limit);
    }
}

#[test]
fn floor_and_ceiling_stop_one_side() {
    let limits = limits("price_floor = 0.9\nprice_ceiling = 1.1\n").unwrap();
    assert_eq!(blocked(&limits, 179), [None, Some(("price_floor", 180))]);
    assert_eq!(blocked(&limits, 180), [None, None]);
    assert_eq!(blocked(&limits, 220), [None, None]);
    assert_eq!(blocked(&limits, 221), [Some(("price_ceiling", 220)), None]);
}

#[test]
fn the_moving_band_moves_when_it_is_due_and_not_before() {
    let mut limits = limits("moving_band_bps = 1000\nmoving_band_s = 60\n").unwrap();
    let mut scene = Scene::new(999, 1_001, 1, 1);
    let mut at = |ms: u64, mid: u64| {
        scene.now = Time::from_ms(ms);
        scene.mid = mid;
        limits.observe(&scene.view());
        blocked(&limits, mid)
    };
    assert_eq!(at(1_000, 2_000), [None, None]);
    assert_eq!(at(2_000, 2_200), [None, None]);
    assert_eq!(at(3_000, 2_201), [Some(("moving_band_bps", 2_200)), None]);
    assert_eq!(at(4_000, 1_799), [None, Some(("moving_band_bps", 1_800))]);
    assert_eq!(at(60_999, 2_201), [Some(("moving_band_bps", 2_200)), None]);
    // Set to this mid, which is the middle from now on.
    assert_eq!(at(61_000, 2_201), [None, None]);
    assert_eq!(at(61_001, 1_980), [None, Some(("moving_band_bps", 1_981))]);
    // A clock of another origin sets it at once.
    assert_eq!(at(5, 1_980), [None, None]);
    let saved = limits.save();
    let before = limits.band();
    limits.set_band(None);
    assert!(limits.restore(&saved));
    assert_eq!((limits.band(), limits.band().is_some()), (before, true));
    assert!(!limits.restore(&[7, 7]) && limits.band().is_none());
    assert!(limits.restore(&[]));
}

#[test]
fn limits_that_contradict_each_other_are_refused_by_name() {
    for (table, message) in [
        (
            "price_floor = 2\nprice_ceiling = 2\n",
            "price_ceiling: must be above price_floor, or 0 for off",
        ),
        (
            "buy_price_max = 1\nsell_price_min = 1\n",
            "sell_price_min: must be above buy_price_max",
        ),
        (
            "buy_price_max = 1\ndepeg_bps = 1\n",
            "depeg_bps: needs buy_price_max and sell_price_min: the peg is their middle",
        ),
    ] {
        assert_eq!(limits(table).err().unwrap().to_string(), message);
    }
}
