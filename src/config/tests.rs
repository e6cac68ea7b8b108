//! Examples load and explain every key; mistakes are named where they stand.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cambist_core::config::EmptyBook;
use cambist_core::{MarketId, Price, TokenId, TokenSpec};

use super::pool::ListedPool;
use super::reader::Source;
use super::{Daemon, Exchange, Listed, meaning};

fn example(name: &str) -> Source {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "config", name]
        .iter()
        .collect();
    Source::read(&path).unwrap()
}

/// Every key must stand in the text, alone or commented out, under a comment that explains it.
fn explains(source: &Source, keys: &BTreeSet<String>) {
    let lines: Vec<&str> = source.text.lines().collect();
    for key in keys {
        let last = key.rsplit('.').next().unwrap();
        let is_key = |line: &str| {
            let bare = line.trim_start_matches("# ");
            bare.split(" = ").next() == Some(last) && bare.contains(" = ")
                || bare.trim_matches(['[', ']']).rsplit('.').next() == Some(last)
                    && bare.starts_with('[')
        };
        let at = lines.iter().position(|line| is_key(line));
        let at = at.unwrap_or_else(|| panic!("{}: {key} is not shown", source.path.display()));
        if lines[at].trim_start_matches("# ").starts_with('[') {
            continue;
        }
        let above = lines[..at].iter().rev();
        let explained = above
            .take_while(|line| !line.is_empty())
            .any(|line| line.starts_with("# "));
        assert!(
            explained,
            "{}: {key} is not explained",
            source.path.display()
        );
    }
}

#[test]
fn the_daemons_examples_load_and_explain_every_key() {
    for name in ["demo.toml", "cambist.toml"] {
        let source = example(name);
        let mut keys = BTreeSet::new();
        let daemon = Daemon::parse_noting_keys(&source, &mut keys).unwrap();
        assert!(keys.len() > 60, "{name} knows {} keys", keys.len());
        explains(&source, &keys);
        let bound = daemon
            .bind_expected()
            .expect("decimals are stated")
            .unwrap();
        assert!(!bound.strategies.is_empty());
    }
}

#[test]
fn the_exchanges_example_loads_and_explains_every_key() {
    let source = example("venue.toml");
    let mut keys = BTreeSet::new();
    Exchange::parse(&source, &mut keys).unwrap();
    explains(&source, &keys);
}

/// Two terminals: the daemon's example must fit the exchange's, and the demo's own promise must hold.
#[test]
fn the_demo_fits_its_exchange() {
    let exchange = Exchange::parse(&example("venue.toml"), &mut BTreeSet::new()).unwrap();
    let demo = Daemon::parse(&example("demo.toml")).unwrap();
    let (orders, dead) = (&demo.orders, demo.dead_after_s());
    assert_eq!(
        (orders.ttl_s, orders.refresh_before_s, orders.grace_s),
        (10, 4, 3)
    );
    assert!(
        dead < 15,
        "an unknown order must be proven gone within 15 s"
    );
    assert_eq!(demo.venue.account_id, exchange.maker.account_id);
    assert_eq!(demo.venue.owner, exchange.maker.owner);
    assert_eq!(
        demo.venue.exchange.as_deref(),
        Some(exchange.address.as_str())
    );
    let super::daemon::Keys::Files { api_key, eddsa_key } = &demo.keys else {
        panic!("the demo's keys are files");
    };
    assert_eq!(*api_key, exchange.maker.keys_dir.join("api_key"));
    assert_eq!(*eddsa_key, exchange.maker.keys_dir.join("eddsa_key"));
    let listed: Vec<_> = exchange
        .markets
        .iter()
        .map(|market| Listed {
            name: market.name.clone(),
            base: market.base.id,
            quote: market.quote.id,
            price_decimals: market.price_decimals,
            enabled: true,
        })
        .collect();
    let pools: Vec<_> = exchange
        .pools
        .iter()
        .map(|pool| ListedPool {
            name: pool.name.clone(),
            address: cambist_signing::Address::from_hex(&pool.address).unwrap().0,
            pooled: exchange
                .markets
                .iter()
                .flat_map(|market| [market.base.id, market.quote.id])
                .collect(),
            lp: pool.lp,
            status: 3,
        })
        .collect();
    let bound = demo.bind(&exchange.tokens, &listed, &pools).unwrap();
    assert_eq!(bound.engine.ttl_ms, 10_000);
    assert_eq!(
        bound.engine.markets[0].empty,
        EmptyBook::Seed(Price(250_000))
    );
    let held = exchange.maker.funds[&TokenId(0)];
    assert!(bound.engine.markets[0].inventory_max > held);
    // Our bucket fits into the exchange's, so our own budget never causes a 429.
    assert!(demo.budget.endpoint_per_s <= exchange.bounds.rates.key_and_endpoint.per_s);
    assert!(demo.budget.endpoint_burst <= exchange.bounds.rates.key_and_endpoint.burst);
    assert!(bound.load.refresh_share_bps <= 5_000);
}

/// What the demo's file says with the line of one key changed, and where that line is.
fn refused(key: &str, to: &str) -> (usize, String) {
    let mut source = example("demo.toml");
    let mut lines: Vec<_> = source.text.lines().map(str::to_owned).collect();
    let is_key = |line: &String| line.split(" = ").next() == Some(key) && line.contains(" = ");
    let at = lines.iter().position(is_key);
    let at = at.unwrap_or_else(|| panic!("{key} is not in the example"));
    to.clone_into(&mut lines[at]);
    source.text = lines.join("\n");
    source.path = "f.toml".into();
    let error = match Daemon::parse(&source) {
        Err(error) => error,
        Ok(daemon) => daemon.bind_expected().unwrap().expect_err(to),
    };
    (at + 1, error.to_string())
}

/// Mistakes in one value are named at its line.
#[test]
fn mistakes_are_named_where_they_stand() {
    for (key, to, message) in [
        (
            "config_version",
            "config_version = 2",
            "config_version = 2 is not known",
        ),
        (
            "ttl_s",
            "tll_s = 10",
            "unknown key orders.tll_s; did you mean orders.ttl_s?",
        ),
        (
            "refresh_before_s",
            "refresh_before_s = 10",
            "must be less than orders.ttl_s = 10",
        ),
        ("max_fee_bips", "max_fee_bips = 64", "is outside 1 to 63"),
        (
            "depth_age_max_ms",
            "depth_age_max_ms = 100",
            "must exceed poll.depth_ms",
        ),
        (
            "cancel_reserve",
            "cancel_reserve = 9999",
            "nothing but cancels could ever be sent",
        ),
        (
            "deadline_s",
            "deadline_s = 13",
            "must exceed orders.ttl_s + orders.grace_s = 13",
        ),
        (
            "listen",
            "listen = \"0.0.0.0:9464\"",
            "is reachable from other machines",
        ),
        (
            "base_url",
            "base_url = \"http://venue.example\"",
            "http only for this machine",
        ),
        (
            "base_url",
            "base_url = \"http://127.0.0.1.evil.example\"",
            "http only for this machine",
        ),
        (
            "base_url",
            "base_url = \"https://me:secret@venue.example\"",
            "must not carry user names",
        ),
        (
            "owner",
            "owner = \"1x00\"",
            "venue.owner must be an address",
        ),
        ("name", "name = \"ETHUSDC\"", "must be BASE-QUOTE"),
        (
            "price_ceiling",
            "price_ceiling = \"0.01\"",
            "must be above market.price_floor",
        ),
        (
            "inventory_max",
            "inventory_max = \"0 ETH\"",
            "must be above market.inventory_min",
        ),
        (
            "inventory_max",
            "inventory_max = \"80 USDC\"",
            "is in USDC, but this key is in ETH",
        ),
        (
            "inventory_max",
            "inventory_max = 80",
            "must be an amount in quotes",
        ),
        (
            "price_floor",
            "price_floor = \"1000.001\"",
            "more than the 2 decimals of the price of ETH-USDC",
        ),
        (
            "eddsa_key_file",
            "eddsa_key = \"hunter2\"",
            "secrets never stand in the configuration",
        ),
    ] {
        let (line, got) = refused(key, to);
        assert!(got.contains(message), "{to}: {got}");
        assert!(
            got.contains(&format!("f.toml:{line}:")),
            "{to} is at line {line}: {got}"
        );
        assert!(!got.contains("hunter2"), "{got}");
    }
}

/// Where two values disagree, the message names both.
#[test]
fn disagreements_name_both_sides() {
    for (key, to, message) in [
        (
            "max_fee_bips",
            "max_fee_bips = 5",
            "above orders.max_fee_bips = 5",
        ),
        ("per_s", "per_s = 5", "but budget.per_s = 5"),
        (
            "refresh_before_s",
            "refresh_before_s = 9",
            "refreshing alone takes",
        ),
        ("account_id", "", "venue.account_id is missing"),
        ("config_version", "", "it must be 1, the version"),
        (
            "empty_book",
            "empty_book = \"no-quote\"",
            "seed_price has no effect",
        ),
        ("seed_price", "", "needs market.seed_price"),
        ("eddsa_key_file", "", "must both be given"),
        (
            "eddsa_key_file",
            "credentials = true",
            "takes the keys from the service manager",
        ),
    ] {
        let (_, got) = refused(key, to);
        assert!(got.contains(message), "{to}: {got}");
    }
}

/// One mistake is one message, at its own line.
#[test]
fn one_mistake_is_told_once() {
    for (key, to, message) in [
        ("account_id", "account_id = -1", "found -1"),
        ("base_url", "base_url = 5", "found a whole number"),
        ("api_key_file", "api_key_file = 5", "found a whole number"),
        ("seed_price", "seed_price = 5", "must be an amount"),
        ("name", "name = \"ETH-DAI\"", "its amounts are in USDC"),
        ("name", "name = \"BTC-USDC\"", "its amounts are in ETH"),
    ] {
        let (line, got) = refused(key, to);
        assert!(got.contains(message), "{to}: {got}");
        assert_eq!(got.lines().count(), 1, "{to}: {got}");
        assert!(got.starts_with(&format!("f.toml:{line}:")), "{to}: {got}");
    }
}

#[test]
fn a_misspelled_section_is_one_mistake() {
    let text = example("demo.toml").text;
    for (from, to) in [
        ("[venue]", "[venu]"),
        ("[keys]", "[kyes]"),
        ("[store]", "[stor]"),
        ("[[market]]", "[[markets]]"),
        ("[[market.strategy]]", "[[market.stratgy]]"),
    ] {
        // Parameters belong to the section before them: of strategies all are renamed.
        let count = if to.contains("stratgy") {
            usize::MAX
        } else {
            1
        };
        let mut text = text.replacen(from, to, count);
        if to == "[[markets]]" {
            text = text.replace("[[market.", "[[markets.");
            text = text.replace("[market.", "[markets.");
        }
        text = text.replace("[market.strategy.params]", "[market.stratgy.params]");
        if !to.contains("stratgy") {
            text = text.replace("[market.stratgy.params]", "[market.strategy.params]");
        }
        let path = "f.toml".into();
        let got = Daemon::parse(&Source { path, text }).unwrap_err();
        let got = got.to_string();
        assert_eq!(got.lines().count(), 1, "{to}: {got}");
        assert!(got.contains("did you mean"), "{to}: {got}");
    }
}

#[test]
fn a_missing_section_is_named() {
    let text = example("demo.toml").text.replace("[store]\n", "");
    let path = "f.toml".into();
    let got = Daemon::parse(&Source { path, text }).unwrap_err();
    let got = got.to_string();
    assert!(
        got.contains("store.dir is missing ([store] is not in the file)"),
        "{got}"
    );
}

/// A key that is not there is told at the section that lacks it.
#[test]
fn a_missing_key_is_told_at_its_section() {
    for (key, section) in [
        ("owner = ", "[venue]"),
        ("price_floor = ", "[[market]]"),
        ("dir = \"../target/two-terminals/tape", "[tape]"),
    ] {
        let mut source = example("demo.toml");
        let line = |text: &str, start: &str| {
            let at = text.lines().position(|line| line.starts_with(start));
            at.unwrap()
        };
        let mut lines: Vec<_> = source.text.lines().collect();
        lines.remove(line(&source.text, key));
        source.text = lines.join("\n");
        source.path = "f.toml".into();
        let got = Daemon::parse(&source).unwrap_err().to_string();
        let section = 1 + line(&source.text, section);
        assert!(
            got.starts_with(&format!("f.toml:{section}:")),
            "{key}: {got}"
        );
    }
}

/// What the exchange's file says with one text of it changed.
fn exchange_refused(from: &str, to: &str) -> String {
    let text = example("venue.toml").text;
    assert!(text.contains(from), "{from} is in the example");
    let path = "f.toml".into();
    let source = Source {
        path,
        text: text.replacen(from, to, 1),
    };
    let error = Exchange::parse(&source, &mut BTreeSet::new()).expect_err(to);
    error.to_string()
}

#[test]
fn mistakes_of_the_exchanges_file_are_named() {
    for (from, to, message) in [
        (
            "fair_price = \"2500 USDC\"",
            "fair_price = \"0 USDC\"",
            "traders.fair_price must be above 0",
        ),
        (
            "order_size = \"0.25 ETH\"",
            "order_size = \"0 ETH\"",
            "traders.order_size must be above 0",
        ),
        (
            "account_id = 10000",
            "account_id = 1000000",
            "maker.account_id = 1000000 is outside 2 to 19999",
        ),
        (
            "symbol = \"USDC\"",
            "symbol = \"ETH\"",
            "token ETH (id 1) is listed twice",
        ),
        (
            "\nid = 1\n",
            "\nid = 0\n",
            "token USDC (id 0) is listed twice",
        ),
        (
            "name = \"ETH-USDC\"",
            "name = \"ETH-DAI\"",
            "no [[token]] is \"DAI\"",
        ),
        ("[maker]", "[makr]", "unknown key makr; did you mean maker?"),
        (
            "# play = \"crash\"",
            "play = \"crash\"",
            "[[traders]] and scenario.play exclude each other",
        ),
        (
            "\"AMM-ETH-USDC\"",
            "\"AMM-ETH-DAI\"",
            "pool.name = \"AMM-ETH-DAI\" must be AMM- and the name of a listed market",
        ),
        (
            "lp_id = 2",
            "lp_id = 1",
            "lp token LP-ETH-USDC (id 1): a listed token has this symbol or id",
        ),
        (
            "quote_liquidity = \"500000 USDC\"",
            "",
            "pool.base_liquidity and pool.quote_liquidity are given together or not at all",
        ),
        (
            "quote_liquidity = \"500000 USDC\"",
            "quote_liquidity = \"0 USDC\"",
            "a pool's liquidity must be above 0 on both sides",
        ),
        (
            "join_fee = \"0 USDC\"",
            "join_fee = \"0 ETH\"",
            "is in ETH, but this key is in USDC",
        ),
        (
            "# ETH = \"0.001\"",
            "DAI = \"0.001\"",
            "fees.withdrawal names a token that is not listed",
        ),
        (
            "late_failures_permille = 0",
            "late_failures_permille = 1001",
            "delays.late_failures_permille = 1001 is outside 0 to 1000",
        ),
    ] {
        let got = exchange_refused(from, to);
        assert!(got.contains(message), "{to}: {got}");
        assert!(got.starts_with("f.toml:"), "{to}: {got}");
        if to != "[makr]" {
            assert_eq!(got.lines().count(), 1, "{to}: {got}");
        }
    }
}

#[test]
fn a_file_of_the_other_program_is_named_as_such() {
    let daemon = Daemon::parse(&example("venue.toml"))
        .unwrap_err()
        .to_string();
    assert!(
        daemon.contains("this is an exchange's file: cambist venue --config"),
        "{daemon}"
    );
    let exchange = Exchange::parse(&example("demo.toml"), &mut BTreeSet::new());
    let exchange = exchange.unwrap_err().to_string();
    assert!(
        exchange.contains("this is a daemon's file: cambist run --config"),
        "{exchange}"
    );
}

#[test]
fn a_strategy_is_checked_by_its_registry() {
    let text = example("demo.toml").text;
    for (from, to, message) in [
        ("name = \"bands\"", "name = \"band\"", "did you mean bands?"),
        (
            "min_margin_bps",
            "min_margin_bsp",
            "buy_bands[0].min_margin_bsp: unknown parameter",
        ),
    ] {
        let source = Source {
            path: "f.toml".into(),
            text: text.replacen(from, to, 1),
        };
        let daemon = Daemon::parse(&source).unwrap();
        let got = daemon.bind_expected().unwrap().unwrap_err().to_string();
        let line = 1 + source
            .text
            .lines()
            .position(|line| line.contains(to))
            .unwrap();
        assert!(
            got.contains(message) && got.contains(&format!("f.toml:{line}:")),
            "{got}"
        );
    }
}

#[test]
fn a_venue_that_publishes_something_else_is_refused() {
    let demo = Daemon::parse(&example("demo.toml")).unwrap();
    let token = |id: u16, symbol: &str, decimals: u8| TokenSpec {
        id: TokenId(id),
        symbol: symbol.to_owned(),
        decimals,
        precision: 6,
        minimum: 1,
        maximum: 1 << 90,
        dust: 0,
        enabled: true,
    };
    let listed = |name: &str| Listed {
        name: name.to_owned(),
        base: TokenId(0),
        quote: TokenId(1),
        price_decimals: 2,
        enabled: true,
    };
    let pool = ListedPool {
        name: "AMM-ETH-USDC".to_owned(),
        address: [1; 20],
        pooled: vec![TokenId(0), TokenId(1)],
        lp: TokenId(2),
        status: 3,
    };
    let pools = std::slice::from_ref(&pool);
    let right = [
        token(0, "ETH", 18),
        token(1, "USDC", 6),
        token(2, "LP-ETH-USDC", 8),
    ];
    let bound = demo.bind(&right, &[listed("ETH-USDC")], pools).unwrap();
    assert_eq!(bound.markets[0].id, MarketId(0));
    let refused = |tokens: &[TokenSpec], name: &str| {
        demo.bind(tokens, &[listed(name)], pools)
            .unwrap_err()
            .to_string()
    };
    let decimals = refused(&[token(0, "ETH", 8), token(1, "USDC", 6)], "ETH-USDC");
    assert!(
        decimals.contains("base_decimals = 18 but the venue publishes 8"),
        "{decimals}"
    );
    let symbol = refused(&[token(0, "ETC", 18), token(1, "USDC", 6)], "ETH-USDC");
    assert!(symbol.contains("is called ETC by the venue"), "{symbol}");
    let market = refused(&right, "ETH-USDT");
    assert!(market.contains("did you mean ETH-USDT?"), "{market}");
    let missing = refused(&right[..1], "ETH-USDC");
    assert!(missing.contains("no token 1"), "{missing}");
}

#[test]
fn paths_are_taken_from_the_files_folder() {
    let demo = Daemon::parse(&example("demo.toml")).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
    assert_eq!(demo.store.dir, folder.join("../target/two-terminals/state"));
    let service = Daemon::parse(&example("cambist.toml")).unwrap();
    assert_eq!(service.store.dir, Path::new("/var/lib/cambist/state"));
}

#[test]
fn the_worst_case_is_what_the_formula_says() {
    let service = Daemon::parse(&example("cambist.toml")).unwrap();
    let risk = meaning::risk(&service.markets[0]);
    // 4 orders of 2000 at 1500 would be 5.33; the band leaves room for 5. (6 + 5) x 2500.
    assert_eq!(risk.fillable.to_string(), "5");
    assert_eq!(risk.worst_case.unwrap().to_string(), "27500");
    let load = meaning::load(&service, None);
    // 8 orders every 100 s against 3 submits a second.
    assert_eq!(
        (
            load.orders_max,
            load.refresh_milli_per_s,
            load.refresh_share_bps
        ),
        (8, 160, 267)
    );
}

/// What the exchange's file says with a scenario in place of its traders.
fn played(play: &str) -> Result<Exchange, super::ConfigError> {
    let mut source = example("venue.toml");
    let start = source.text.find("[[traders]]").unwrap();
    let end = source.text.find("[scenario]").unwrap();
    source.text.replace_range(start..end, "");
    source.text = source.text.replace("# play = \"crash\"", play);
    Exchange::parse(&source, &mut BTreeSet::new())
}

#[test]
fn a_scenario_takes_the_place_of_traders_and_fills_the_pool() {
    let exchange = played("play = \"pool-drained\"").unwrap();
    assert_eq!(exchange.traders[0].timeline.len(), 1);
    assert_eq!(exchange.traders[0].timeline[0].at_ms, 18_000);
    assert_eq!(
        exchange.pools[0].liquidity,
        Some([200 * 10u128.pow(18), 500_000 * 10u128.pow(6)])
    );
    let thin = played("play = \"scenarios/thin.toml\"").unwrap();
    assert_eq!(thin.pools[0].liquidity.unwrap()[0], 20 * 10u128.pow(18));
    assert!(played("").unwrap().traders.is_empty());
    let unknown = played("play = \"crush\"").unwrap_err().to_string();
    assert!(
        unknown.contains("\"crush\" is neither one of calm, trending, volatile, crash"),
        "{unknown}"
    );
    let missing = played("play = \"no.toml\"").unwrap_err().to_string();
    assert!(missing.ends_with("no.toml: no such file"), "{missing}");
}

#[test]
fn the_latch_lies_above_what_the_budget_allows() {
    let daemon = Daemon::parse(&example("demo.toml")).unwrap();
    // 4 a second and a burst of 4 are 244 a minute, and half more is 366.
    assert_eq!(super::risk::allowed_per_min(&daemon.budget), 244);
    assert_eq!(super::risk::executions_least(&daemon.budget), 366);
    assert_eq!(daemon.risk.limits.executions_per_min, 366);
}

#[test]
fn losses_follow_from_the_worst_case_where_the_file_is_silent() {
    let mut source = example("demo.toml");
    let written = |line: &&str| line.starts_with("loss_") || line.starts_with("drawdown_");
    let silent: Vec<_> = source.text.lines().filter(|line| !written(line)).collect();
    source.text = silent.join("\n");
    let daemon = Daemon::parse(&source).unwrap();
    let bound = daemon.bind_expected().unwrap().unwrap();
    let worst = super::risk::bounds(&bound.engine, &bound.markets)[0].unwrap();
    let loss = bound.engine.markets[0].loss;
    assert_eq!(loss.total_max, worst.total());
    assert_eq!(
        (loss.hour_max, loss.day_max),
        (worst.total() / 4, worst.total() / 2)
    );
    let gross = bound.engine.risk.gross_max[&bound.markets[0].quote.id];
    assert!(
        gross >= 200_000_000_000,
        "the whole band at the ceiling, at least"
    );
}

#[test]
fn limits_that_contradict_each_other_are_named() {
    for (key, to, message) in [
        (
            "executions_per_min",
            "executions_per_min = 365",
            "must be at least 366, one and a half times the 244",
        ),
        ("ttl_max_s", "ttl_max_s = 9", "every order would be refused"),
        (
            "fee_max_bips",
            "fee_max_bips = 62",
            "every order would be refused",
        ),
        (
            "duplicate_ms",
            "duplicate_ms = 500",
            "must be less than poll.depth_ms = 500",
        ),
        (
            "foreign_orders",
            "foreign_orders = \"ignore\"",
            "risk.foreign_orders",
        ),
        (
            "loss_day_max",
            "loss_day_max = \"1 ETH\"",
            "is in ETH, but this key is in USDC",
        ),
    ] {
        let (line, got) = refused(key, to);
        assert!(got.contains(message), "{to}: {got}");
        assert!(got.contains(&format!("f.toml:{line}:")), "{to}: {got}");
    }
}

#[test]
fn a_tolerance_that_reaches_over_the_quotes_is_warned_of() {
    let warned = |tolerance: &str, maker_only: bool| {
        let mut source = example("demo.toml");
        let lines = source.text.lines();
        let others = lines.filter(|line| !line.starts_with("price_tolerance_bps"));
        let text: Vec<_> = others.collect();
        source.text = text.join("\n");
        source.text = source.text.replacen(
            "inventory_max",
            &format!("price_tolerance_bps = {tolerance}\ninventory_max"),
            1,
        );
        let mut daemon = Daemon::parse(&source).unwrap();
        daemon.orders.maker_only = maker_only;
        daemon.bind_expected().unwrap().unwrap().warnings
    };
    let none: [&str; 0] = [];
    assert_eq!(warned("1", true), none);
    let found = warned("1000", true);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("102120"), "{}", found[0]);
    assert_eq!(
        warned("1000", false),
        none,
        "nothing is refused for crossing"
    );
}
