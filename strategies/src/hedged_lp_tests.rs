//! Quotes against what wallet and pool hold together.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::Side::{Buy, Sell};

use cambist_core::strategy::PoolView;

use super::*;
use crate::testing::{REFERENCE_CHANGES, Random, Sample, Scene, market, pool, text};

/// 10 ETH in the wallet and 20 of 1,000 shares of a pool with 100 ETH: 12 ETH together.
fn scene() -> Scene {
    let mut scene = Scene::new(249_990, 250_010, 10, 25_000);
    scene.pool = Some(pool(20));
    scene
}

fn decide(table: &str, scene: &Scene) -> Targets {
    let mut strategy = INFO.build_from(&table.parse().unwrap(), &market()).unwrap();
    scene.decide(strategy.as_mut())
}

const PLAIN: &str = "inventory_bound = 4\nskew_bps = 20\nspread_bps = 10\norder_amount = 0.5\n";

fn quoted(target: &str, scene: &Scene) -> String {
    text(&decide(&format!("target_base = {target}\n{PLAIN}"), scene))
}

#[test]
fn quotes_move_against_the_difference_from_the_target() {
    // At the target: 10 bps of 2,500 on each side.
    let even = "buy 249750 x 5000 @0\nsell 250250 x 5000 @0\n";
    assert_eq!(quoted("12", &scene()), even);
    // 2 ETH too much, half of the bound: both sides 10 bps lower.
    let low = "buy 249500 x 5000 @0\nsell 250000 x 5000 @0\n";
    assert_eq!(quoted("10", &scene()), low);
    // 2 ETH too little: both sides 10 bps higher.
    let high = "buy 249999 x 5000 @0\nsell 250501 x 5000 @0\n";
    assert_eq!(quoted("14", &scene()), high);
}

#[test]
fn levels_move_in_front_of_the_others_where_that_is_further_away() {
    let mut wide = scene();
    wide.bids[0].price = Price(249_000);
    wide.asks[0].price = Price(250_200);
    let optimised =
        format!("target_base = 12\n{PLAIN}order_optimization_enabled = true\norder_levels = 2\n");
    // The mid of the scene stays: only the bids have room, and the second moves as far as the first.
    assert_eq!(
        text(&decide(&optimised, &wide)),
        "buy 249001 x 5000 @0\nbuy 248751 x 5000 @1\nsell 250250 x 5000 @0\nsell 250500 x 5000 @1\n"
    );
}

#[test]
fn what_the_pool_sells_is_bought_on_the_book() {
    // Others trade the pool to another price: of its base it holds a tenth less.
    let mut rising = scene();
    rising.pool = rising.pool.map(|pool| PoolView {
        base: pool.base * 9 / 10,
        quote: pool.quote * 10 / 9,
        ..pool
    });
    // 0.2 ETH too little: 1 bp higher.
    let higher = "buy 249774 x 5000 @0\nsell 250276 x 5000 @0\n";
    assert_eq!(quoted("12", &rising), higher);
    // Fills that buy it bring the quotes back.
    rising.holdings.base += 2 * 10u128.pow(17);
    assert_eq!(
        quoted("12", &rising),
        "buy 249750 x 5000 @0\nsell 250250 x 5000 @0\n"
    );
}

#[test]
fn beyond_the_bound_only_the_side_that_leads_back_is_quoted() {
    let one_side = |target: &str, side: Side| {
        let targets = decide(&format!("target_base = {target}\n{PLAIN}"), &scene());
        let sides: Vec<_> = targets.quotes().iter().map(|quote| quote.side).collect();
        let why = targets.withheld(side.opposite()).map(|why| why.control);
        (sides, why)
    };
    let both = vec![Buy, Sell];
    assert_eq!(one_side("8.0001", Sell), (both.clone(), None));
    let withheld = Some(Control::StrategySkew);
    assert_eq!(one_side("8", Sell), (vec![Sell], withheld));
    assert_eq!(one_side("15.9999", Buy), (both, None));
    assert_eq!(one_side("16", Buy), (vec![Buy], withheld));
}

#[test]
fn without_data_of_the_pool_nothing_is_quoted() {
    let mut scene = scene();
    scene.pool = None;
    let targets = decide(&format!("target_base = 12\n{PLAIN}"), &scene);
    assert!(targets.quotes().is_empty());
    let why = Side::BOTH.map(|side| targets.withheld(side).unwrap().control);
    assert_eq!(why, [Control::NoFairPrice; 2]);
    // A pool of which no share is held, even an empty one, hedges nothing.
    scene.pool = Some(PoolView {
        base: 0,
        quote: 0,
        supply: 0,
        ..pool(0)
    });
    assert_eq!(
        quoted("10", &scene),
        "buy 249750 x 5000 @0\nsell 250250 x 5000 @0\n"
    );
}

#[test]
fn a_fill_always_earns_its_fee_and_resting_targets_stay() {
    let table = format!("target_base = 12\n{PLAIN}fee_bps = 5\norder_levels = 3\n");
    for seed in 0..2_000 {
        let mut strategy = INFO.build_from(&table.parse().unwrap(), &market()).unwrap();
        let mut random = Random(seed);
        let mut scene = random.scene();
        scene.pool = Some(pool(random.below(1_000).into()));
        let targets = scene.decide(strategy.as_mut());
        for quote in targets.quotes() {
            assert!(at_least(quote.side, quote.price, scene.mid, 5), "{seed}");
        }
        let again = scene.resting(&targets).decide(strategy.as_mut());
        assert_eq!(text(&again), text(&targets), "{seed}");
    }
}

#[test]
fn a_bound_or_a_size_of_nothing_is_refused() {
    let refused = |table: &str| {
        let table = format!("target_base = 12\n{table}").parse().unwrap();
        INFO.build_from(&table, &market()).err().unwrap().key
    };
    assert_eq!(
        refused("inventory_bound = 0\norder_amount = 1"),
        "inventory_bound"
    );
    assert_eq!(
        refused("inventory_bound = 1\norder_amount = 0"),
        "order_amount"
    );
}

/// Samples for the tests of the registry: each parameter must change a decision.
pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
        table: "order_optimization_enabled = true\ntarget_base = 12\ninventory_bound = 4\norder_amount = 0.5\norder_levels = 2\n\
                buy_price_max = 2499\nsell_price_min = 2501\nmoving_band_bps = 1\n",
        changes: &[
            ("target_base", "12.5"),
            ("inventory_bound", "5"),
            ("skew_bps", "100"),
            ("spread_bps", "11"),
            ("fee_bps", "50"),
            ("order_amount", "0.6"),
            ("order_optimization_enabled", "false"),
            ("order_optimization_depth", "2"),
            ("order_levels", "1"),
            ("order_level_spread_bps", "11"),
            ("order_refresh_tolerance_bps", "20"),
            ("price_floor", "2600"),
            ("price_ceiling", "2400"),
            ("buy_price_max", "2400"),
            ("sell_price_min", "2600"),
            ("depeg_bps", "1"),
            ("moving_band_bps", "10000"),
            ("moving_band_s", "10"),
        ],
        reasons: &["no_fair_price"],
    },
    Sample {
        table: "reference = [{ source = \"micro_price\" }, { source = \"depth\", amount = 0.5 }, { source = \"fixed\", price = 2500.4, weight = 2 }, { source = \"pool\" }, { source = \"feed\", feed = \"elsewhere\" }, { source = \"market\", market = \"ETH-BTC\", via = \"BTC-USDC\" }]\nreference_sources_min = 2\nreference_rule = \"weighted\"\n\
                target_base = 12\ninventory_bound = 4\norder_amount = 0.5\n",
        changes: REFERENCE_CHANGES,
        reasons: &["no_fair_price"],
    },
];
