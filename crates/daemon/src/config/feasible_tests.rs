#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::PathBuf;

use super::*;
use crate::config::reader::Source;

fn example(name: &str) -> Source {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    Source::read(&root.join("config").join(name)).unwrap()
}

/// The demo's file with changed lines, and the strategies of its market.
fn changed(lines: &[(&str, &str)], strategy: Option<&str>) -> Daemon {
    let mut source = example("demo.toml");
    let mut text: Vec<_> = source.text.lines().map(str::to_owned).collect();
    for (key, to) in lines {
        let is_key = |line: &String| line.split(" = ").next() == Some(key) && line.contains(" = ");
        let at = text.iter().position(is_key).unwrap();
        (*to).clone_into(&mut text[at]);
    }
    source.text = text.join("\n");
    if let Some(strategy) = strategy {
        let (before, _) = source.text.split_once("[[market.strategy]]").unwrap();
        source.text = format!("{before}{strategy}");
    }
    Daemon::parse(&source).unwrap()
}

fn found(daemon: &Daemon) -> Vec<(usize, String)> {
    let bound = daemon.bind_expected().unwrap().unwrap();
    let problems = never_quoted(daemon, &bound);
    problems.into_iter().map(|p| (p.at.line, p.what)).collect()
}

/// The line of a key in the demo's file.
fn line(daemon: &Daemon, key: &str) -> usize {
    let start = format!("{key} = ");
    1 + daemon
        .source
        .text
        .lines()
        .position(|line| line.starts_with(&start))
        .unwrap()
}

#[test]
fn the_examples_can_quote() {
    for name in ["demo.toml", "cambist.toml"] {
        let daemon = Daemon::parse(&example(name)).unwrap();
        if let Some(bound) = daemon.bind_expected() {
            let problems = never_quoted(&daemon, &bound.unwrap());
            assert_eq!(problems.len(), 0, "{name}: {}", problems[0].what);
        }
    }
}

/// What is held in a pool is not known before a run: no price without it is not a mistake of the file.
#[test]
fn a_strategy_that_hedges_pool_shares_is_not_refused_beside_its_pool() {
    let hedged = "[[market.strategy]]\nname = \"hedged_lp\"\n[market.strategy.params]\ntarget_base = 20\n\
                  inventory_bound = 10\nskew_bps = 10\nspread_bps = 8\norder_amount = 0.5\n";
    let manager = "[[market.strategy]]\nname = \"lp_manager\"\n";
    let daemon = changed(&[], Some(&format!("{hedged}{manager}")));
    assert_eq!(found(&daemon), []);
    // An order above the limit is still found for other strategies beside a pool.
    let dear = [("order_value_max", "order_value_max = \"5 USDC\"")];
    assert_eq!(found(&changed(&dear, None)).len(), 1);
}

#[test]
fn what_can_never_quote_is_named_with_key_and_numbers() {
    // The smallest order is 0.6 ETH, and no price is below 1000.
    let daemon = changed(&[("order_value_max", "order_value_max = \"5 USDC\"")], None);
    let problems = found(&daemon);
    assert_eq!(problems.len(), 1, "{problems:?}");
    let (at, what) = &problems[0];
    assert_eq!(*at, line(&daemon, "order_value_max"));
    for part in [
        "ETH-USDC: neither side",
        "against 5 USDC (market.order_value_max)",
        "(order_value)",
    ] {
        assert!(what.contains(part), "no {part} in {what}");
    }
    // At 1000 it is worth 600: quoted at the lower end of the band.
    let low = changed(
        &[("order_value_max", "order_value_max = \"650 USDC\"")],
        None,
    );
    assert_eq!(found(&low), []);
    let daemon = changed(&[("order_qty_max", "order_qty_max = \"0.1 ETH\"")], None);
    let problems = found(&daemon);
    assert_eq!(
        problems[0].0,
        line(&daemon, "order_qty_max"),
        "{problems:?}"
    );
    // Orders are at least 9 ten-thousandths from the mid.
    let collar = |bps: u32| {
        found(&changed(
            &[("collar_bps", &format!("collar_bps = {bps}"))],
            None,
        ))
    };
    assert!(
        collar(8)[0].1.contains("market.collar_bps"),
        "{:?}",
        collar(8)
    );
    assert_eq!(collar(10), []);
    // 0.6 ETH do not fit into a band of 0.5, but a smaller order with less quote does.
    let daemon = changed(&[("inventory_max", "inventory_max = \"0.5 ETH\"")], None);
    let problems = found(&daemon);
    assert_eq!(problems, []);
}

#[test]
fn limits_of_the_strategy_are_tried_where_it_quotes() {
    let ladder = |params: &str| {
        let text = format!(
            "[[market.strategy]]\nname = \"ladder\"\n[market.strategy.params]\nbid_spread_bps = 10\n\
             ask_spread_bps = 10\norder_amount = 0.5\n{params}"
        );
        let daemon = changed(&[], Some(&text));
        let at = |key| line(&daemon, key);
        let found = found(&daemon);
        (
            found,
            ["price_floor", "price_ceiling"].map(|key| {
                let last = daemon
                    .source
                    .text
                    .lines()
                    .filter(|l| l.starts_with(key))
                    .count();
                (last > 1).then(|| at("order_amount") + 1)
            }),
        )
    };
    // No price above 5000 is allowed: nothing is ever offered above 6000.
    let (problems, [at, _]) = ladder("price_floor = 6000\n");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].1.contains("no ask"), "{problems:?}");
    assert_eq!(Some(problems[0].0), at);
    // Asks only above 3333.33, bids only below 3333.35: a window of one cent is found.
    let (problems, _) = ladder("price_floor = 3333.33\nprice_ceiling = 3333.34\n");
    assert_eq!(problems, []);
    let (problems, _) = ladder("inventory_skew_enabled = true\ninventory_target_base_bps = 0\n");
    assert_eq!(problems, []);
}

/// A splitmix generator; a failing seed is printed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// A configuration that quotes somewhere is never refused: the result agrees with random prices and holdings.
#[test]
fn what_quotes_anywhere_is_never_refused() {
    let mut refused = 0;
    for seed in 0..30 {
        let mut random = Random(seed);
        let mut pick = |from: &[&'static str]| {
            let at = random.below(from.len() as u64);
            from[usize::try_from(at).unwrap()]
        };
        let ladder = format!(
            "[[market.strategy]]\nname = \"ladder\"\n[market.strategy.params]\nbid_spread_bps = {}\n\
             ask_spread_bps = {}\norder_amount = {}\norder_levels = {}\nprice_floor = {}\n\
             price_ceiling = {}\ninventory_skew_enabled = {}\ninventory_target_base_bps = {}\n",
            pick(&["5", "40", "400"]),
            pick(&["5", "40", "400"]),
            pick(&["0.0001", "0.5", "3", "30"]),
            pick(&["1", "3"]),
            pick(&["0", "1200", "4900"]),
            pick(&["0", "4950", "5100"]),
            pick(&["false", "true"]),
            pick(&["0", "5000", "9000"]),
        );
        let lines = [
            (
                "collar_bps",
                format!("collar_bps = {}", pick(&["20", "200", "1000"])),
            ),
            (
                "order_value_max",
                format!("order_value_max = \"{} USDC\"", pick(&["1", "600", "5000"])),
            ),
            (
                "order_qty_max",
                format!("order_qty_max = \"{} ETH\"", pick(&["0.3", "5"])),
            ),
            (
                "inventory_max",
                format!("inventory_max = \"{} ETH\"", pick(&["0.4", "2", "40"])),
            ),
        ];
        let lines: Vec<_> = lines.iter().map(|(key, to)| (*key, to.as_str())).collect();
        let daemon = changed(&lines, Some(&ladder));
        let Some(Ok(bound)) = daemon.bind_expected() else {
            continue;
        };
        let never = Trials::of(&bound, 0).never();
        refused += never.iter().flatten().count();
        let trials = Trials::of(&bound, 0);
        let (least, most) = (100_000, 500_000);
        let mut quoted = [0; 2];
        for _ in 0..100 {
            let limits = trials.limits();
            let share = Amount::from(random.below(1_001));
            let mid = (2 * least + random.below(2 * (most - least))) | 1;
            let lots = trials.spec.lots_floor(limits.inventory_max);
            let worth = trials.spec.quote_amount(Price(mid / 2), lots).unwrap();
            let funds = Funds::ALL[usize::try_from(random.below(3)).unwrap()];
            let trial = Trial {
                mid,
                base: limits.inventory_max / 1_000 * share,
                quote: funds.of(worth),
                funds,
            };
            for (count, here) in quoted.iter_mut().zip(trials.judge(trial)) {
                *count += u32::from(here.is_none());
            }
        }
        // Sizes that a skew happens to make small enough do not count.
        for (never, quoted) in never.iter().zip(quoted) {
            assert!(
                never.is_none() || quoted < 3,
                "seed {seed}: {never:?}, quoted {quoted}\n{ladder}"
            );
        }
    }
    assert!(
        refused > 5,
        "{refused}: the draws refuse too little to show anything"
    );
}

/// A strategy whose fair price is the pool's, or a fixed one: no trial has either, the market may.
#[test]
fn a_reference_price_that_no_trial_has_is_no_mistake() {
    let strategy = |reference: &str| {
        format!(
            "[[market.strategy]]\nname = \"ladder\"\n[market.strategy.params]\nbid_spread_bps = 10\n\
             ask_spread_bps = 10\norder_amount = 0.5\n{reference}"
        )
    };
    let sources = "reference = [{ source = \"pool\" }, { source = \"depth\", amount = 1 }]\n";
    let daemon = changed(&[], Some(&strategy(sources)));
    assert_eq!(found(&daemon), []);
    // The number of requests of its orders is checked nevertheless.
    let quotes = |reference: &str| {
        let daemon = changed(&[], Some(&strategy(reference)));
        let bound = daemon.bind_expected().unwrap().unwrap();
        let (_, _, choice) = &bound.strategies[0];
        let (spec, config) = (&bound.markets[0], &bound.engine.markets[0]);
        let mut built = resolve::build(choice, spec).ok().unwrap();
        let base = config.inventory_min.midpoint(config.inventory_max);
        resolve::quiet(built.as_mut(), spec, &bound.markets, config, base).len()
    };
    assert_eq!((quotes(""), quotes(sources)), (2, 2));
}

/// Grid lines keep their prices, so that they are within the collar of a few mids only; and nearly everything in base
/// is held with little of the quote token only.
#[test]
fn quotes_at_few_prices_or_holdings_are_found() {
    let grid = "[[market.strategy]]\nname = \"grid\"\n[market.strategy.params]\nprice_low = 2400\nstart_price = 2500\n\
                price_high = 2600\ngrid_lines = 81\norder_amount = 1.9\n";
    let wide = [("order_value_max", "order_value_max = \"5000 USDC\"")];
    for (floor, ceiling) in [("1000", "5000"), ("2000", "3000"), ("1500", "4000")] {
        let floor = format!("price_floor = \"{floor} USDC\"");
        let ceiling = format!("price_ceiling = \"{ceiling} USDC\"");
        let lines = [
            wide[0],
            ("price_floor", floor.as_str()),
            ("price_ceiling", ceiling.as_str()),
        ];
        assert_eq!(found(&changed(&lines, Some(grid))), [], "{floor} {ceiling}");
    }
    let glft = include_str!("../../../../config/strategies/glft.toml");
    let (_, glft) = glft.split_once("[[market.strategy]]").unwrap();
    let glft = format!("[[market.strategy]]{glft}");
    let key = "inventory_target_base_bps = ";
    let from = glft.find(key).unwrap();
    let end = from + glft[from..].find('\n').unwrap();
    let most = format!("{}{key}9000{}", &glft[..from], &glft[end..]);
    assert_eq!(found(&changed(&[], Some(&most))), []);
}
