//! What holds for every strategy of the registry: its declaration is sound and none of it is idle.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::Side::{Buy, Sell};
use cambist_core::control::Control;
use toml::{Table, Value};

use super::*;
use crate::parameter::Kind;
use crate::testing::{Random, Scene, market, pool, text};

/// A table that uses everything, and for every parameter another value.
struct Sample {
    strategy: &'static str,
    table: &'static str,
    /// `key` or `list.key`, which is changed in the list's first table.
    changes: &'static [(&'static str, &'static str)],
}

const SAMPLES: &[Sample] = &[
    Sample {
        strategy: "bands",
        table: "dust_cutoff = 0.1\nbuy_price_max = 2499\nsell_price_min = 2501\n\
                moving_band_bps = 1\n\
                [[buy_bands]]\nmin_margin_bps = 10\navg_margin_bps = 20\nmax_margin_bps = 50\n\
                min_amount = 1\navg_amount = 2\nmax_amount = 3\n\
                [[sell_bands]]\nmin_margin_bps = 10\navg_margin_bps = 20\nmax_margin_bps = 50\n\
                min_amount = 1\navg_amount = 2\nmax_amount = 3\n",
        changes: &[
            ("buy_bands", "[]"),
            ("sell_bands", "[]"),
            ("dust_cutoff", "3"),
            ("fee_bps", "20"),
            ("price_floor", "2600"),
            ("price_ceiling", "2400"),
            ("buy_price_max", "2400"),
            ("sell_price_min", "2600"),
            ("depeg_bps", "1"),
            ("moving_band_bps", "10000"),
            ("moving_band_s", "10"),
            ("buy_bands.min_margin_bps", "20"),
            ("buy_bands.avg_margin_bps", "21"),
            ("buy_bands.max_margin_bps", "30"),
            ("buy_bands.min_amount", "1.5"),
            ("buy_bands.avg_amount", "2.5"),
            ("buy_bands.max_amount", "2"),
        ],
    },
    Sample {
        strategy: "glft",
        table: "order_amount = 1\norder_levels = 2\nvolatility_bps = 1\nintensity_per_s = 0.1\n\
                decay_per_bps = 0.1\nfee_bps = 2\nvolatility_window_s = 60\nhorizon_s = 600\n\
                buy_price_max = 2499\nsell_price_min = 2501\nmoving_band_bps = 1\n",
        changes: &[
            ("model", "\"avellaneda_stoikov\""),
            ("order_amount", "1.1"),
            ("order_levels", "1"),
            ("inventory_target_base_bps", "4900"),
            ("inventory_bound", "2"),
            ("risk_aversion", "0.02"),
            ("volatility_bps", "1.5"),
            ("intensity_per_s", "0.2"),
            ("decay_per_bps", "0.2"),
            ("estimate_range", "1"),
            ("volatility_window_s", "600"),
            ("intensity_half_life_s", "60"),
            ("fee_bps", "3"),
            ("impact_bps", "2"),
            ("drift_bps_per_s", "0.01"),
            ("horizon_s", "0"),
            ("minimum_spread_bps", "30"),
            ("order_refresh_tolerance_bps", "20"),
            ("price_floor", "2600"),
            ("price_ceiling", "2400"),
            ("buy_price_max", "2400"),
            ("sell_price_min", "2600"),
            ("depeg_bps", "1"),
            ("moving_band_bps", "10000"),
            ("moving_band_s", "10"),
        ],
    },
    Sample {
        strategy: "ladder",
        table: "bid_spread_bps = 20\nask_spread_bps = 20\nminimum_spread_bps = 10\n\
                order_amount = 1\norder_levels = 2\norder_level_spread_bps = 10\n\
                order_level_amount = 0.5\ninventory_skew_enabled = true\n\
                inventory_target_base_bps = 5000\ninventory_range_multiplier = 2\n\
                order_refresh_tolerance_bps = 2\nfilled_order_delay_ms = 5000\n\
                order_optimization_enabled = true\nbuy_price_max = 2495.2\n\
                sell_price_min = 2504.8\nmoving_band_bps = 1\n\
                price_floor = 2000\nprice_ceiling = 3000\n",
        changes: &[
            ("bid_spread_bps", "21"),
            ("ask_spread_bps", "21"),
            ("minimum_spread_bps", "20"),
            ("order_amount", "1.1"),
            ("order_levels", "1"),
            ("order_level_spread_bps", "11"),
            ("order_level_amount", "0.6"),
            ("inventory_skew_enabled", "false"),
            ("inventory_target_base_bps", "4900"),
            ("inventory_range_multiplier", "2.1"),
            ("order_refresh_tolerance_bps", "0"),
            ("filled_order_delay_ms", "1000"),
            ("price_floor", "2600"),
            ("price_ceiling", "2400"),
            ("buy_price_max", "2400"),
            ("sell_price_min", "2600"),
            ("depeg_bps", "1"),
            ("moving_band_bps", "10000"),
            ("moving_band_s", "10"),
            ("fee_bps", "10"),
            ("bid_levels", "[{ spread_bps = 15, amount = 1 }]"),
            ("ask_levels", "[{ spread_bps = 30, amount = 0.5 }]"),
            ("hanging_orders_cancel_bps", "200"),
            ("order_optimization_enabled", "false"),
            ("order_optimization_depth", "2"),
        ],
    },
    Sample {
        strategy: "ladder",
        table: "bid_levels = [{ spread_bps = 20, amount = 1 }]\n\
                ask_levels = [{ spread_bps = 22, amount = 0.4 }]\n",
        changes: &[
            ("bid_levels", "[{ spread_bps = 21, amount = 1 }]"),
            ("ask_levels.spread_bps", "33"),
            ("ask_levels.amount", "0.7"),
        ],
    },
    Sample {
        strategy: "bands",
        table: "reference = [{ source = \"depth\", amount = 0.5 }, { source = \"fixed\", price = 2500.4, weight = 2 }, { source = \"pool\" }]\nreference_sources_min = 2\nreference_rule = \"weighted\"\n\
                [[buy_bands]]\nmin_margin_bps = 10\navg_margin_bps = 20\nmax_margin_bps = 50\n\
                min_amount = 1\navg_amount = 2\nmax_amount = 3\n",
        changes: &[
            (
                "reference",
                "[{ source = \"mid\" }, { source = \"fixed\", price = 2501 }]",
            ),
            ("reference.source", "\"pool\""),
            ("reference.weight", "5"),
            ("reference.amount", "5"),
            ("reference.price", "2530"),
            ("reference_rule", "\"median\""),
            ("reference_sources_min", "3"),
            ("reference_divergence_bps", "1"),
        ],
    },
    Sample {
        strategy: "glft",
        table: "reference = [{ source = \"depth\", amount = 0.5 }, { source = \"fixed\", price = 2500.4, weight = 2 }, { source = \"pool\" }]\nreference_sources_min = 2\nreference_rule = \"weighted\"\n\
                order_amount = 1\nvolatility_bps = 1\nintensity_per_s = 0.1\ndecay_per_bps = 0.1\nfee_bps = 2\n",
        changes: &[
            (
                "reference",
                "[{ source = \"mid\" }, { source = \"fixed\", price = 2501 }]",
            ),
            ("reference.source", "\"pool\""),
            ("reference.weight", "5"),
            ("reference.amount", "5"),
            ("reference.price", "2530"),
            ("reference_rule", "\"median\""),
            ("reference_sources_min", "3"),
            ("reference_divergence_bps", "1"),
        ],
    },
    Sample {
        strategy: "ladder",
        table: "reference = [{ source = \"depth\", amount = 0.5 }, { source = \"fixed\", price = 2500.4, weight = 2 }, { source = \"pool\" }]\nreference_sources_min = 2\nreference_rule = \"weighted\"\n\
                bid_spread_bps = 20\nask_spread_bps = 20\norder_amount = 1\n",
        changes: &[
            (
                "reference",
                "[{ source = \"mid\" }, { source = \"fixed\", price = 2501 }]",
            ),
            ("reference.source", "\"pool\""),
            ("reference.weight", "5"),
            ("reference.amount", "5"),
            ("reference.price", "2530"),
            ("reference_rule", "\"median\""),
            ("reference_sources_min", "3"),
            ("reference_divergence_bps", "1"),
        ],
    },
    Sample {
        strategy: "lp_manager",
        table: "target_share_bps = 2000\nenter_below_bps = 1500\nleave_above_bps = 2500\n\
                cool_down_s = 60\npause_above_bps = 50\nstep_value = 9000\n",
        changes: &[
            ("target_share_bps", "2100"),
            ("enter_below_bps", "1000"),
            ("leave_above_bps", "3000"),
            ("cool_down_s", "5"),
            ("pause_above_bps", "200"),
            ("step_value", "2000"),
        ],
    },
];

/// Decisions of one strategy over a few moments: empty, resting, one fill, three seconds later.
fn decisions(strategy: &str, table: &Table) -> String {
    let mut built = find(strategy)
        .unwrap()
        .build_from(table, &market())
        .unwrap();
    let empty = Scene::new(249_900, 250_100, 11, 26_000);
    let resting = empty
        .clone()
        .with_own(Buy, 249_510, 9_000)
        .with_own(Buy, 249_260, 11_000)
        .with_own(Buy, 249_000, 6_000)
        .with_own(Sell, 250_490, 9_000);
    let mut two = empty.clone().with_own(Buy, 249_510, 7_000);
    two = two.with_own(Buy, 249_260, 5_000);
    let filled = empty.clone().with_fill(Buy);
    let mut later = empty.clone();
    later.now = later.now.plus_ms(3_000);
    let beside = |held| {
        let mut scene = empty.clone();
        scene.pool = Some(pool(held));
        scene
    };
    let (mut rests, mut dear) = (beside(0), beside(0));
    if let Some(pool) = &mut rests.pool {
        pool.moved = Some(rests.now.minus_ms(30_000));
    }
    if let Some(pool) = &mut dear.pool {
        pool.quote += pool.quote / 100;
    }
    let pools = [beside(0), beside(15), beside(40), rests, dear];
    // Minutes of a mid that moves, own orders that rest, and a fill of the first.
    let minutes = (0..150_u64).map(|second| {
        let mut scene = empty.clone();
        scene.now = later.now.plus_ms(second * 1_000);
        let moved = (second * second * 21) % 183;
        scene.bids[0].price.0 += moved;
        scene.asks[0].price.0 += moved;
        scene.mid += 2 * moved;
        scene = scene.with_own(Buy, 249_510, 9_000);
        scene = scene.with_own(Sell, 250_490, 9_000);
        if second == 20 {
            scene = scene.with_fill(Buy);
            scene.fills[0].order.number = 77;
        }
        scene
    });
    let wide = Scene::new(249_000, 251_000, 11, 26_000);
    [empty.clone(), wide, two, resting, filled, later.clone()]
        .into_iter()
        .chain(pools)
        .chain(minutes)
        .collect::<Vec<_>>()
        .iter()
        .map(|scene| text(&scene.decide(built.as_mut())) + "\n")
        .collect()
}

fn names(parameters: &[Parameter]) -> Vec<String> {
    let mut all = Vec::new();
    for parameter in parameters {
        all.push(parameter.name.to_owned());
        if let Kind::Tables { fields, .. } = parameter.kind {
            let inner = names(fields);
            all.extend(
                inner
                    .iter()
                    .map(|name| format!("{}.{name}", parameter.name)),
            );
        }
    }
    all
}

fn changed(table: &Table, key: &str, value: &str) -> Table {
    let value: Table = format!("value = {value}").parse().unwrap();
    let value = value["value"].clone();
    let mut table = table.clone();
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value);
        }
        Some((list, inner)) => {
            let Some(Value::Array(tables)) = table.get_mut(list) else {
                panic!("{list} is not a list");
            };
            // In the first table that has it.
            let has = |table: &Value| table.get(inner).is_some();
            let at = tables.iter().position(has).unwrap_or(0);
            let first = tables[at].as_table_mut().unwrap();
            first.insert(inner.to_owned(), value);
        }
    }
    table
}

#[test]
fn every_parameter_changes_a_decision() {
    for info in all() {
        let samples = SAMPLES.iter();
        let samples: Vec<_> = samples
            .filter(|sample| sample.strategy == info.name)
            .collect();
        for sample in &samples {
            let table: Table = sample.table.parse().unwrap();
            let before = decisions(info.name, &table);
            for &(key, value) in sample.changes {
                let after = decisions(info.name, &changed(&table, key, value));
                assert!(
                    before != after,
                    "{} {key} = {value} changes nothing",
                    info.name
                );
            }
        }
        for name in names(info.parameters) {
            // The two sides of bands and of levels share one declaration.
            let tried = name
                .replace("sell_bands.", "buy_bands.")
                .replace("bid_levels.", "ask_levels.");
            assert!(
                samples
                    .iter()
                    .any(|sample| sample.changes.iter().any(|(key, _)| *key == tried)),
                "{} {name} is not tried",
                info.name
            );
        }
    }
}

/// `config/strategies` explains every key of a strategy, with a value that can be pasted.
#[test]
fn the_sample_files_set_every_parameter() {
    for (name, file) in [
        ("bands", include_str!("../../config/strategies/bands.toml")),
        ("glft", include_str!("../../config/strategies/glft.toml")),
        (
            "ladder",
            include_str!("../../config/strategies/ladder.toml"),
        ),
    ] {
        let info = find(name).unwrap();
        let table: Table = file.parse().unwrap();
        let choice = &table["market"]["strategy"][0];
        assert_eq!(choice["name"].as_str(), Some(name));
        let params = choice["params"].as_table().unwrap();
        // Prices of four decimals need a market that has them.
        let mut market = market();
        market.price_decimals = 4;
        info.build_from(params, &market).unwrap();
        for parameter in info.parameters {
            assert!(
                params.contains_key(parameter.name),
                "{name} {}",
                parameter.name
            );
        }
    }
}

#[test]
fn every_declaration_is_sound() {
    fn sound(parameters: &'static [Parameter]) {
        for parameter in parameters {
            assert!(parameter.meaning.ends_with('.'), "{}", parameter.name);
            assert!(!parameter.kind.range().is_empty());
            assert!(!parameter.kind.name().is_empty());
            if let Some(default) = parameter.default {
                // A default must pass its own gate: alone in a declaration, it needs no table.
                let alone = std::slice::from_ref(parameter);
                let read = Params::read(alone, &Table::new());
                assert!(read.is_ok(), "{} = {default}: {read:?}", parameter.name);
            }
            if let Kind::Tables { fields, .. } = parameter.kind {
                sound(fields);
            }
        }
    }
    for info in all() {
        sound(info.parameters);
        assert_eq!(find(info.name).unwrap().name, info.name);
        assert!(info.summary.ends_with('.'), "{}", info.name);
    }
    assert!(find("nothing").is_none());
    assert_eq!(nearest("bnads"), Some("bands"));
    assert_eq!(nearest("twap"), None);
}

/// Whatever the market: a strategy that wants nothing of a side says why, and names a key of its own.
#[test]
fn every_strategy_says_why_it_wants_nothing() {
    let mut said = std::collections::BTreeSet::new();
    for sample in SAMPLES {
        let info = find(sample.strategy).unwrap();
        let table: Table = sample.table.parse().unwrap();
        let mut strategy = info.build_from(&table, &market()).unwrap();
        for seed in 0..2_000 {
            let mut scene = Random(seed).scene();
            scene.now = scene.now.plus_ms(seed * 500);
            let targets = scene.decide(strategy.as_mut());
            for side in [Buy, Sell] {
                if targets.quotes().iter().any(|quote| quote.side == side) {
                    continue;
                }
                let why = targets.withheld(side);
                let why = why.unwrap_or_else(|| panic!("{} {side:?} {seed}: {scene:?}", info.name));
                said.insert((info.name, why.control.name()));
                let key = why.key().unwrap_or("market.strategy.params");
                let name = key.strip_prefix("market.strategy.params").unwrap();
                let name = name.trim_start_matches('.');
                let own = info.parameters.iter().any(|known| known.name == name);
                assert!(own || name.is_empty(), "{} names {key}", info.name);
            }
        }
    }
    let said: Vec<_> = said.into_iter().collect();
    assert_eq!(
        said,
        [
            ("bands", "no_fair_price"),
            ("bands", "no_passive_price"),
            ("bands", "not_configured"),
            ("bands", "strategy_funds"),
            ("bands", "strategy_price"),
            ("glft", "no_fair_price"),
            ("glft", "strategy_funds"),
            ("glft", "strategy_price"),
            ("glft", "strategy_skew"),
            ("ladder", "fill_delay"),
            ("ladder", "no_fair_price"),
            ("ladder", "strategy_funds"),
            ("ladder", "strategy_price"),
            ("ladder", "strategy_skew"),
            ("lp_manager", "not_configured"),
        ]
    );
}

#[test]
fn what_a_strategy_says_holds_the_numbers_it_compared() {
    let why = |strategy: &str, table: &str, scene: &Scene, side| {
        let table: Table = table.parse().unwrap();
        let mut built = find(strategy)
            .unwrap()
            .build_from(&table, &market())
            .unwrap();
        let why = scene.decide(built.as_mut()).withheld(side).unwrap();
        (why.control, why.value, why.limit, why.key())
    };
    let ladder = "bid_spread_bps = 10\nask_spread_bps = 10\norder_amount = 2\n";
    let scene = Scene::new(249_900, 250_100, 1, 3_000);
    let floor = format!("{ladder}price_floor = 2600");
    let key = Some("market.strategy.params.price_floor");
    assert_eq!(
        why("ladder", &floor, &scene, Sell),
        (Control::StrategyPrice, Some(500_000), Some(520_000), key)
    );
    let ceiling = format!("{ladder}price_ceiling = 2400");
    let key = Some("market.strategy.params.price_ceiling");
    assert_eq!(
        why("ladder", &ceiling, &scene, Buy),
        (Control::StrategyPrice, Some(500_000), Some(480_000), key)
    );
    // Nothing is held of either token: a lot of 0.0001 ETH needs that, or 0.24975 USDC.
    let poor = Scene::new(249_900, 250_100, 0, 0);
    let key = Some("market.strategy.params");
    assert_eq!(
        why("ladder", ladder, &poor, Sell),
        (Control::StrategyFunds, Some(0), Some(10_i128.pow(14)), key)
    );
    assert_eq!(
        why("ladder", ladder, &poor, Buy),
        (Control::StrategyFunds, Some(0), Some(249_750), key)
    );
    // The venue takes no order below 3 ETH.
    let mut large = scene.clone();
    large.market.base.minimum = 3 * 10_u128.pow(18);
    assert_eq!(
        why("ladder", ladder, &large, Sell),
        (Control::OrderAmount, Some(20_000), Some(30_000), key)
    );
    let bands = "[[buy_bands]]\nmin_margin_bps = 5\navg_margin_bps = 10\nmax_margin_bps = 20\n\
                 min_amount = 1\navg_amount = 2\nmax_amount = 3\n";
    assert_eq!(
        why("bands", bands, &scene, Sell),
        (Control::NotConfigured, None, None, None)
    );
    assert_eq!(
        why("bands", bands, &poor, Buy),
        (Control::StrategyFunds, Some(0), Some(249_750), key)
    );
    let dust = format!("dust_cutoff = 1\n{bands}");
    let little = Scene::new(249_900, 250_100, 0, 1_000);
    assert_eq!(
        why("bands", &dust, &little, Buy),
        (
            Control::StrategyFunds,
            Some(1_000_000_000),
            Some(2_497_500_000),
            key
        )
    );
}
