#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
//! Every built-in scenario parses, runs with balanced books and is deterministic; errors name their line.

use std::collections::BTreeSet;

use cambist_core::{MarketId, TokenId, TokenSpec, VenueTime};
use cambist_venue::agents::{Agents, PoolSeat, found};
use cambist_venue::{
    AccountId, Caller, MarketConfig, PoolConfig, PoolStatus, TokenConfig, TokenKind, Venue,
    VenueConfig,
};

use super::*;

const POOL: [u8; 20] = [0xaa; 20];
const RUN: Run = Run {
    seed: 5,
    duration_ms: 60_000,
};

fn token(id: u16, symbol: &str, decimals: u8) -> TokenConfig {
    TokenConfig {
        spec: TokenSpec {
            id: TokenId(id),
            symbol: symbol.to_owned(),
            decimals,
            precision: decimals,
            minimum: 1_000,
            maximum: 1 << 95,
            dust: 0,
            enabled: true,
        },
        name: symbol.to_owned(),
        address: [u8::try_from(id).unwrap(); 20],
        kind: TokenKind::Erc20,
        fast_withdraw_limit: 0,
    }
}

fn tokens() -> [TokenConfig; 3] {
    [token(0, "ETH", 18), token(1, "USDC", 6), token(2, "LP", 8)]
}

fn spec() -> MarketSpec {
    let [base, quote, _] = tokens().map(|token| token.spec);
    MarketSpec::new(MarketId(0), "ETH-USDC", base, quote, 2, true).unwrap()
}

fn parse(source: &Source) -> Result<Scenario, ConfigError> {
    Scenario::parse(source, &[spec()], RUN)
}

/// An exchange for a scenario to run on.
fn stage(scenario: &Scenario) -> (Venue, Agents) {
    let pool = PoolConfig {
        name: "AMM-ETH-USDC".to_owned(),
        address: POOL,
        pooled: [TokenId(0), TokenId(1)],
        lp: TokenId(2),
        fee_bips: 20,
        price_precision: 6,
        amount_precision: 6,
        status: PoolStatus::OPEN,
        join_fee: 0,
        exit_fee: 0,
    };
    let mut venue = Venue::new(VenueConfig {
        tokens: tokens().into(),
        markets: vec![MarketConfig {
            name: "ETH-USDC".to_owned(),
            base: TokenId(0),
            quote: TokenId(1),
            price_decimals: 2,
            aggregation_levels: 3,
            enabled: true,
            maker_fee_bips: 0,
            taker_fee_bips: 10,
            price_band: None,
            fee_in: cambist_core::venue::FeeToken::Bought,
        }],
        pools: vec![pool.clone()],
        ..VenueConfig::default()
    })
    .unwrap();
    let traders = &scenario.traders[0];
    let founder = AccountId(99);
    let mut agents = traders.agents.clone();
    agents.pool = Some(PoolSeat {
        pool: POOL,
        founder,
    });
    let accounts: Vec<_> = (100..).take(agents.accounts()).map(AccountId).collect();
    let mut requests = traders
        .pool
        .map_or_else(Vec::new, |amounts| found(founder, &pool, amounts));
    requests.extend(Agents::setup(&agents, &accounts, &venue));
    for request in requests {
        venue
            .handle(VenueTime(0), &Caller::Operator, &request)
            .unwrap();
    }
    (venue, Agents::new(agents, &accounts))
}

/// Runs the scenario for a minute, auditing the books after every step.
fn played(scenario: &Scenario) -> (Venue, Agents) {
    let (mut venue, mut agents) = stage(scenario);
    for step in 0..620 {
        let now = VenueTime(1_700_000_000_000 + step * 100);
        venue.advance(now);
        for (caller, request) in agents.step(now, &venue) {
            let _ = venue.handle(now, &caller, &request);
        }
        assert_eq!(venue.audit(), Ok(()), "step {step}");
    }
    (venue, agents)
}

#[test]
fn every_built_in_scenario_is_played_with_books_that_add_up_and_repeats_itself() {
    for (name, _) in BUILT_IN {
        let scenario = parse(&built_in(name).unwrap()).unwrap();
        let one = played(&scenario);
        assert!(one == played(&scenario), "{name} repeats itself");
        let before = scenario.traders[0].agents.start_price.0;
        let moved = one.1.fair_price().0.abs_diff(before) * 10_000 / before;
        match name {
            "calm" | "thin" | "pool-drained" | "swapped" => {
                assert!(moved < 150, "{name}: {moved} bps");
            }
            "crash" => assert!((250..550).contains(&moved), "{moved} bps"),
            _ => assert!(moved < 600, "{name}: {moved} bps"),
        }
        let ([base, _], shares) = one.0.pool_reserves(&POOL).unwrap();
        let [opened, _] = scenario.traders[0].pool.unwrap();
        let left = base * 100 / opened;
        if name == "pool-drained" {
            assert!((7..14).contains(&left), "{left} % left");
        } else {
            assert!((80..125).contains(&left), "{name}: {left} % left");
        }
        assert!(shares > 0);
        assert!(one.0.open_orders() > 0, "{name} goes on");
    }
}

#[test]
fn a_built_in_scenario_is_known_by_the_name_of_its_file() {
    assert!(built_in("crush").is_none());
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/scenarios");
    let files = std::fs::read_dir(folder).unwrap();
    let files: BTreeSet<_> = files
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let known: BTreeSet<_> = BUILT_IN
        .iter()
        .map(|(name, _)| format!("{name}.toml"))
        .collect();
    assert_eq!(files, known);
}

#[test]
fn one_file_explains_every_key() {
    let source = built_in("crash").unwrap();
    let mut keys = crate::KnownKeys::default();
    source
        .read_with(|reader, root| {
            let scenario = read(root, &[spec()], RUN);
            keys = reader.keys();
            scenario
        })
        .unwrap();
    assert!(keys.0.len() > 45, "{}", keys.0.len());
    for key in keys.0.into_keys() {
        let last = key.rsplit('.').next().unwrap();
        let shown = source.text.lines().any(|line| {
            let bare = line.trim_start_matches("# ");
            bare.starts_with(&format!("{last} = ")) || bare.trim_matches(['[', ']']) == last
        });
        assert!(shown, "{key} is not shown");
    }
}

#[test]
fn times_are_seconds_or_shares_and_what_ends_is_undone() {
    let scenario = parse(&built_in("outage").unwrap()).unwrap();
    let shown: Vec<_> = scenario
        .events
        .iter()
        .map(|event| (event.at_ms, event.text.as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            (
                12_000,
                "the exchange is halted: requests are answered only if they read"
            ),
            (18_000, "the exchange is open again"),
            (27_000, "the exchange fails every request"),
            (30_000, "the price falls by 1.00 % at once"),
            (33_000, "the exchange answers again"),
        ]
    );
    let moments = &scenario.traders[0].agents.timeline;
    assert_eq!(moments.len(), shown.len());
    assert!(
        moments
            .iter()
            .zip(&shown)
            .all(|(moment, (at_ms, _))| moment.at_ms == *at_ms)
    );
    let mut source = built_in("outage").unwrap();
    source.text = source.text.replace("at_percent = 20", "at_s = 7");
    let scenario = parse(&source).unwrap();
    assert_eq!(scenario.events[0].at_ms, 7_000);
    let hour = Run {
        duration_ms: 3_600_000,
        ..RUN
    };
    let scenario = Scenario::parse(&built_in("outage").unwrap(), &[spec()], hour).unwrap();
    assert_eq!(scenario.events[0].at_ms, 720_000);
}

#[test]
fn mistakes_are_named_where_they_stand() {
    for (from, to, message) in [
        (
            "jump_bps = -400",
            "jump_bps = -9001",
            "event.jump_bps = -9001 is outside -9000 to 90000",
        ),
        (
            "jump_bps = -400",
            "jump_pbs = -400",
            "unknown key event.jump_pbs; did you mean event.jump_bps?",
        ),
        (
            "jump_bps = -400",
            "drain_percent = 101",
            "event.drain_percent = 101 is outside 0 to 100",
        ),
        (
            "jump_bps = -400",
            "mode = \"halted\"",
            "event.for_s or event.for_percent is missing",
        ),
        (
            "jump_bps = -400",
            "regime = \"wild\"",
            "event.regime must be one of \"calm\", \"trending\", \"volatile\"",
        ),
        (
            "jump_bps = -400",
            "jump_bps = -400\nrefuse = true",
            "an event has exactly one of jump_bps, regime",
        ),
        (
            "# at_s = 24",
            "at_s = 24",
            "at_s and at_percent exclude each other",
        ),
        (
            "at_percent = 40\n# market",
            "# market",
            "event.at_s or event.at_percent is missing",
        ),
        (
            "# market = \"ETH-USDC\"",
            "market = \"ETH-DAI\"",
            "event.market has no [[traders]] in this file",
        ),
        (
            "market = \"ETH-USDC\"\n# Initial",
            "market = \"ETH-DAI\"\n# Initial",
            "traders.market must be one of the listed markets",
        ),
        (
            "both_sides_min_percent = 60",
            "both_sides_min_percent = 101",
            "is outside 0 to 100",
        ),
        (
            "fair_price = \"2500\"",
            "fair_price = \"2500.001\"",
            "this price: 2500.001 has more than the 2 decimals",
        ),
        (
            "about = ",
            "abuot = ",
            "unknown key abuot; did you mean about?",
        ),
        (
            "momentum = 2",
            "momentum = 2000",
            "traders.momentum = 2000 is outside 0 to 1000",
        ),
    ] {
        let mut source = built_in("crash").unwrap();
        assert!(source.text.contains(from), "{from}");
        source.text = source.text.replacen(from, to, 1);
        let error = parse(&source).unwrap_err().to_string();
        assert!(error.contains(message), "{to}: {error}");
        assert!(error.starts_with("config/scenarios/crash.toml:"), "{error}");
    }
}
