//! Prices and sizes of the curve, its use of the holdings, and that no fill loses.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::Side::{Buy, Sell};

use super::*;
use crate::testing::{Random, Sample, Scene, market, text};

/// With 10 ETH and 25,000 USDC held: reserves of 1,000 ETH and 2,500,000 USDC.
const VIRTUAL: &str = "virtual_base = 990\nvirtual_quote = 2475000\n";

fn curve(more: &str) -> Curve {
    let table = format!("{VIRTUAL}{more}").parse().unwrap();
    Curve::new(&Params::read(INFO.parameters, &table).unwrap(), &market()).unwrap()
}

fn scene() -> Scene {
    Scene::new(249_900, 250_100, 10, 25_000)
}

/// A step of 10 bps from 2500 to 2502.50 sells 1000·(1 − √(2500/2502.5)) = 0.499625 ETH, at 2502.50 and
/// 5 bps more; the next to 2505 sells 1000·(√(2500/2502.5) − √(2500/2505)) = 0.498877.
#[test]
fn levels_sell_and_buy_what_the_curve_does() {
    assert_eq!(
        text(&scene().decide(&mut curve("order_levels = 2\n"))),
        "buy 249625 x 5003 @0\nbuy 249375 x 5011 @1\nsell 250376 x 4996 @0\nsell 250626 x 4988 @1\n"
    );
    let near = scene().with_own(Buy, 249_610, 5_003);
    let kept = near.decide(&mut curve(
        "order_levels = 1\norder_refresh_tolerance_bps = 1\n",
    ));
    assert_eq!(kept.quotes()[0].price, Price(249_610));
    let moved = near.decide(&mut curve(
        "order_levels = 1\norder_refresh_tolerance_bps = 0\n",
    ));
    assert_eq!(moved.quotes()[0].price, Price(249_625));
}

/// The amounts remain those of the steps: moved away, a fill earns more than the curve asks for.
#[test]
fn levels_move_in_front_of_the_others_where_that_is_further_away() {
    let wide = Scene::new(249_000, 251_000, 10, 25_000);
    assert_eq!(
        text(&wide.decide(&mut curve(
            "order_levels = 2\norder_optimization_enabled = true\n"
        ))),
        "buy 249001 x 5003 @0\nbuy 248751 x 5011 @1\nsell 250999 x 4996 @0\nsell 251249 x 4988 @1\n"
    );
}

#[test]
fn a_curve_far_from_the_market_is_not_quoted() {
    let why = |scene: &Scene| {
        let targets = scene.decide(&mut curve("divergence_max_bps = 100\n"));
        targets.withheld(Buy).map(|why| (why.control, why.value))
    };
    let at = |mid: u64| {
        let mut scene = scene();
        scene.mid = mid;
        why(&scene)
    };
    assert_eq!(at(500_000), None);
    assert_eq!(at(495_050), None);
    assert_eq!(at(495_049), Some((Control::NoFairPrice, Some(500_000))));
    assert_eq!(at(505_051), Some((Control::NoFairPrice, Some(500_000))));
    let none = |table: &str| {
        let params = Params::read(INFO.parameters, &table.parse().unwrap()).unwrap();
        let mut bare = Curve::new(&params, &market()).unwrap();
        let targets = Scene::new(249_900, 250_100, 0, 0).decide(&mut bare);
        Side::BOTH.map(|side| targets.withheld(side).unwrap().control)
    };
    assert_eq!(none(""), [Control::StrategyFunds; 2]);
    assert_eq!(none(VIRTUAL), [Control::StrategyFunds; 2]);
}

/// Fills in any order, whole or in part, never reduce base times quote, virtual amounts included.
#[test]
fn no_fill_lets_the_product_of_the_reserves_fall() {
    let mut fills = 0;
    for seed in 0..200 {
        let mut random = Random(seed);
        let mut strategy =
            curve("spread_bps = 0\norder_levels = 4\norder_refresh_tolerance_bps = 0\n");
        let mut scene = scene();
        for _ in 0..40 {
            scene.bids.clear();
            scene.asks.clear();
            let product = |scene: &Scene| {
                let base = scene.holdings.base + strategy.virtual_base;
                // Lots and quote units: far below 2^128.
                (base / scene.market.lot) * (scene.holdings.quote + strategy.virtual_quote)
            };
            let before = product(&scene);
            let targets = scene.decide(&mut strategy);
            let side = if random.chance(5) { Buy } else { Sell };
            let quotes = targets.quotes().iter().filter(|quote| quote.side == side);
            // Fills from the nearest level on, the last one in part.
            let count = 1 + random.below(4);
            for (index, quote) in (1..).zip(quotes).take_while(|(index, _)| *index <= count) {
                let part = if index == count {
                    random.below(quote.qty.0 + 1)
                } else {
                    quote.qty.0
                };
                let base = scene.market.base_amount(Qty(part)).unwrap();
                let cost = scene.market.quote_amount(quote.price, Qty(part)).unwrap();
                match side {
                    Buy => {
                        scene.holdings.base += base;
                        scene.holdings.quote -= cost;
                    }
                    Sell => {
                        scene.holdings.base -= base;
                        scene.holdings.quote += cost;
                    }
                }
                fills += u32::from(part > 0);
            }
            let after = {
                let base = scene.holdings.base + strategy.virtual_base;
                (base / scene.market.lot) * (scene.holdings.quote + strategy.virtual_quote)
            };
            assert!(after >= before, "seed {seed}: {before} {after}");
            let base = scene.holdings.base + strategy.virtual_base;
            let quote = scene.holdings.quote + strategy.virtual_quote;
            // The market follows the curve.
            let ticks = quote / scene.market.quote_per_lot_tick / (base / scene.market.lot);
            scene.mid = 2 * u64::try_from(ticks).unwrap();
        }
    }
    assert!(fills > 3_000, "only {fills} fills");
}

/// Samples for the tests of the registry: each parameter must change a decision.
pub(crate) const SAMPLES: &[Sample] = &[Sample {
    table: "order_optimization_enabled = true\nvirtual_base = 990\nvirtual_quote = 2477500\nbuy_price_max = 2499\nsell_price_min = 2501\n\
            moving_band_bps = 1\n",
    changes: &[
        ("virtual_base", "995"),
        ("virtual_quote", "2480000"),
        ("order_levels", "2"),
        ("order_optimization_enabled", "false"),
        ("order_optimization_depth", "2"),
        ("step_bps", "11"),
        ("spread_bps", "6"),
        ("divergence_max_bps", "1"),
        ("order_refresh_tolerance_bps", "20"),
        ("price_floor", "2600"),
        ("price_ceiling", "2400"),
        ("buy_price_max", "2400"),
        ("sell_price_min", "2600"),
        ("depeg_bps", "1"),
        ("moving_band_bps", "10000"),
        ("moving_band_s", "10"),
    ],
    reasons: &["no_fair_price", "strategy_price"],
}];

/// The moving band of the price limits is where the last run had set it.
#[test]
fn the_moving_band_is_that_of_the_last_run() {
    const MOVING: &str = "moving_band_bps = 200\nmoving_band_s = 3600\n";
    let (mut before, mut after) = (curve(MOVING), curve(MOVING));
    assert_eq!(before.save(), after.save());
    scene().decide(&mut before);
    let saved = before.save();
    assert_ne!(saved, after.save());
    assert!(after.restore(&saved));
    assert_eq!(after.save(), saved);
}
