//! Checks of every strategy in the registry: its declaration is valid and every parameter has an effect.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::Side::{Buy, Sell};
use cambist_core::control::Control;
use cambist_core::reference::Reference;
use toml::{Table, Value};

use super::*;
use crate::parameter::Kind;
use crate::testing::{Random, Sample, Scene, market, other_markets, pool, text, there};

/// Every strategy with its samples; includes the template that `cambist strategy new` copies.
fn samples() -> Vec<(&'static StrategyInfo, &'static [Sample])> {
    let all = all().iter().zip(crate::SAMPLES.iter().copied());
    let template = (&crate::template::INFO, crate::template::tests::SAMPLES);
    all.chain([template]).collect()
}

/// Decisions of one strategy at several moments: no orders, resting orders, one fill, three seconds later.
fn decisions(info: &StrategyInfo, table: &Table) -> String {
    let mut built = info.build_from(table, &market()).unwrap();
    let mut empty = Scene::new(249_900, 250_100, 11, 26_000);
    empty.references = [("elsewhere", Some(500_300)), ("nowhere", None)]
        .map(|(name, mid)| Reference { name, mid })
        .to_vec();
    empty.markets = other_markets();
    empty.elsewhere = vec![there()];
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
    let mut thin = beside(15);
    thin.bids[0].qty.0 = 1_000;
    let pools = [beside(0), beside(15), beside(40), rests, dear, thin];
    // Minutes of a moving mid, own orders that rest, and a fill of the first.
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
    // A pool that earns, then one of which shares are held and that earns nothing, then one at another price.
    let beside_a_pool = (150..450_u64).map(|second| {
        let mut scene = empty
            .clone()
            .with_own(Buy, 249_510, 9_000)
            .with_own(Buy, 249_260, 9_000)
            .with_own(Sell, 250_490, 9_000)
            .with_own(Sell, 250_740, 9_000);
        scene.now = later.now.plus_ms(second * 1_000);
        let dear = if second < 400 { 0 } else { 50_000 };
        let moved = dear + (second * second * 21) % 183;
        scene.bids[0].price.0 += moved;
        scene.asks[0].price.0 += moved;
        scene.mid += 2 * moved;
        let mut pool = pool(if second < 300 { 0 } else { 20 });
        let fees = u128::from(second.min(300)) * 2;
        pool.base += pool.base * fees / 1_000_000;
        pool.quote += pool.quote * fees / 1_000_000;
        if dear > 0 {
            // By the root of the price's ratio.
            pool.base = pool.base * 10_000 / 10_954;
            pool.quote = pool.quote * 10_954 / 10_000;
        }
        scene.pool = Some(pool);
        scene
    });
    let wide = Scene::new(249_000, 251_000, 11, 26_000);
    [empty.clone(), wide, two, resting, filled, later.clone()]
        .into_iter()
        .chain(pools)
        .chain(minutes)
        .chain(beside_a_pool)
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
            // The first table that has the key.
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
    for (info, samples) in samples() {
        for sample in samples {
            let table: Table = sample.table.parse().unwrap();
            let before = decisions(info, &table);
            for &(key, value) in sample.changes {
                let after = decisions(info, &changed(&table, key, value));
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

/// `config/strategies` explains every key of a strategy, with a value to copy.
#[test]
fn the_sample_files_set_every_parameter() {
    for (name, file) in [
        ("bands", include_str!("../../config/strategies/bands.toml")),
        ("curve", include_str!("../../config/strategies/curve.toml")),
        ("glft", include_str!("../../config/strategies/glft.toml")),
        ("grid", include_str!("../../config/strategies/grid.toml")),
        ("hedge", include_str!("../../config/strategies/hedge.toml")),
        (
            "hedged_lp",
            include_str!("../../config/strategies/hedged_lp.toml"),
        ),
        (
            "ladder",
            include_str!("../../config/strategies/ladder.toml"),
        ),
        (
            "lp_manager",
            include_str!("../../config/strategies/lp_manager.toml"),
        ),
        (
            "pool_arb",
            include_str!("../../config/strategies/pool_arb.toml"),
        ),
        (
            "pool_maker",
            include_str!("../../config/strategies/pool_maker.toml"),
        ),
        (
            "rebalance",
            include_str!("../../config/strategies/rebalance.toml"),
        ),
        ("twap", include_str!("../../config/strategies/twap.toml")),
    ] {
        let info = find(name).unwrap();
        let table: Table = file.parse().unwrap();
        let choice = &table["market"]["strategy"][0];
        assert_eq!(choice["name"].as_str(), Some(name));
        let params = choice["params"].as_table().unwrap();
        // Prices with four decimals need a market that has them.
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
                // A default must be in its own range: declared alone, it needs no table.
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
    assert_eq!(nearest("vwap_pov"), None);
}

/// In any market: a side without targets has a reason, and that reason names one of the strategy's own keys.
#[test]
fn every_strategy_states_why_a_side_has_no_target() {
    for (info, sample) in samples()
        .into_iter()
        .flat_map(|(info, samples)| samples.iter().map(move |sample| (info, sample)))
    {
        let mut stated = std::collections::BTreeSet::new();
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
                stated.insert(why.control.name());
                let key = why.key().unwrap_or("market.strategy.params");
                let name = key.strip_prefix("market.strategy.params").unwrap();
                let name = name.trim_start_matches('.');
                let own = info.parameters.iter().any(|known| known.name == name);
                assert!(own || name.is_empty(), "{} names {key}", info.name);
            }
        }
        let stated: Vec<_> = stated.into_iter().collect();
        assert_eq!(stated, sample.reasons, "{} {}", info.name, sample.table);
    }
}

#[test]
fn reasons_hold_the_numbers_that_were_compared() {
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
    // No holdings of either token: a lot needs 0.0001 ETH, or 0.24975 USDC.
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
    // The venue accepts no order below 3 ETH.
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

/// What `cambist check` asks for beside each strategy is stated by it.
#[test]
fn what_a_strategy_needs_beside_its_section_is_stated() {
    let needs = |name: &str| find(name).unwrap().needs().join("; ");
    assert_eq!(needs("ladder"), "");
    assert_eq!(needs("lp_manager"), "a [market.pool]");
    for name in ["pool_arb", "pool_maker"] {
        let needs = needs(name);
        assert!(needs.contains("swap_value_max above 0"), "{name}: {needs}");
        assert!(
            needs.contains("without other strategies"),
            "{name}: {needs}"
        );
    }
    let takes = "maker_only = false";
    assert!(needs("pool_arb").contains(takes) && needs("rebalance").contains(takes));
    assert!(!needs("pool_maker").contains(takes));
}

/// Speaks with a process.
struct Speaker;

impl Strategy for Speaker {
    fn decide(&mut self, _: &View<'_>, _: &mut Targets) {}

    fn view_seq(&self) -> u64 {
        3
    }

    fn take_view(&mut self) -> Option<String> {
        Some("a view".to_owned())
    }

    fn receive(&mut self, now: Time, message: &ProcessMessage) -> Result<(), String> {
        Err(format!("{message:?} at {}", now.as_ms()))
    }
}

#[test]
fn views_and_messages_of_a_process_are_those_of_its_strategy() {
    let info = StrategyInfo {
        name: "speaker",
        summary: "",
        promise: Promise::Total,
        two_legs: None,
        parameters: &[],
        build: |_, _| Ok(Box::new(Speaker)),
    };
    let mut built = info.build_from(&Table::new(), &market()).unwrap();
    assert_eq!(built.view_seq(), 3);
    assert_eq!(built.take_view().as_deref(), Some("a view"));
    let answer = built.receive(Time::from_ms(7), &ProcessMessage::Ended);
    assert_eq!(answer, Err("Ended at 7".to_owned()));
}
