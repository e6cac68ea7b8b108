//! The demo: one object on stdout, every field of it, and every promise about any seed.

use std::net::TcpStream;
use std::time::Duration;

use cambist_strategies::Promise;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Folder, Program, process, until};

type Kind = fn(&Value) -> bool;

/// Fields of the object, dotted, with their kind.
const FIELDS: [(&str, Kind); 40] = [
    ("seed", Value::is_u64),
    ("duration_s", Value::is_number),
    ("orders.submitted", Value::is_u64),
    ("orders.acknowledged", Value::is_u64),
    ("orders.cancelled", Value::is_u64),
    ("orders.filled", Value::is_u64),
    ("orders.refused", is_counts),
    ("orders.unknown_left", Value::is_u64),
    ("fills", Value::is_u64),
    ("swaps", Value::is_u64),
    ("quoted_both_sides_ratio", Value::is_number),
    ("inventory.ETH", is_units),
    ("inventory.USDC", is_units),
    ("pnl_quote.spread", Value::is_number),
    ("pnl_quote.inventory", Value::is_number),
    ("pnl_quote.fees", Value::is_number),
    ("pnl_quote.pool", Value::is_number),
    ("pnl_quote.total", Value::is_number),
    ("ack_ms.p50", Value::is_number),
    ("ack_ms.p99", Value::is_number),
    ("requests.sent", Value::is_u64),
    ("requests.allowed", Value::is_u64),
    ("requests.http_429", Value::is_u64),
    ("resting_after", Value::is_u64),
    ("residual_units.ETH", is_units),
    ("residual_units.USDC", is_units),
    ("replay_equal", Value::is_boolean),
    ("orders", Value::is_object),
    ("requests", Value::is_object),
    ("pnl_quote", Value::is_object),
    ("ack_ms", Value::is_object),
    ("crash", Value::is_object),
    ("crash.at_s", Value::is_number),
    ("crash.mid_submit", Value::is_boolean),
    ("crash.open", Value::is_u64),
    ("crash.unknown", Value::is_array),
    ("crash.recovery_s", Value::is_number),
    ("crash.recovery_max_s", Value::is_number),
    ("crash.doubled", Value::is_u64),
    ("crash.forgotten", Value::is_u64),
];

/// What the object itself holds, and nothing else.
const TOP: [&str; 18] = [
    "ack_ms",
    "crash",
    "duration_s",
    "faults",
    "fills",
    "inventory",
    "orders",
    "pnl",
    "pnl_quote",
    "pools",
    "quoted_both_sides_ratio",
    "replay_equal",
    "requests",
    "residual_units",
    "resting_after",
    "scenario",
    "seed",
    "swaps",
];

/// Exact profit and loss in one quote token.
const PNL: [&str; 6] = ["fees", "holdings", "pool", "quote", "spread", "total"];

fn is_counts(value: &Value) -> bool {
    value.as_object().is_some_and(|counts| {
        counts
            .iter()
            .all(|(code, n)| code.bytes().all(|b| b.is_ascii_digit()) && n.is_u64())
    })
}

fn is_units(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| text.parse::<i128>().is_ok_and(|n| n.to_string() == text))
}

fn field<'a>(object: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(object, |at, key| &at[key])
}

/// The same demo, with the daemon on Kraken's interface.
#[test]
fn the_demo_on_krakens_interface_passes_through_a_kill() {
    let (out, log) = demo_run("demo-kraken", &["--venue", "kraken", "--duration", "45s"]);
    let object: Value = serde_json::from_str(&out).unwrap();
    for (key, wanted) in [("doubled", 0), ("forgotten", 0)] {
        assert_eq!(object["crash"][key], wanted, "{object}\n{log}");
    }
    assert_eq!(object["crash"]["mid_submit"], true, "{object}");
    assert_eq!(object["resting_after"], 0, "{object}");
    assert_eq!(object["replay_equal"], true, "{object}");
    assert!(
        object["orders"]["acknowledged"].as_u64() > Some(3),
        "{object}"
    );
    // In calls, of which a key has a burst of eighteen and one a second.
    let requests = object["requests"]["allowed"].as_u64();
    assert!(requests < Some(200), "{object}");
    let residual = object["residual_units"].as_object().unwrap();
    assert!(residual.values().all(|units| units == "0"), "{object}");
}

/// Runs a demo that succeeds: what it prints, and its log.
#[track_caller]
fn demo_run(name: &str, options: &[&str]) -> (String, String) {
    let folder = Folder::new(name);
    let args = [&["demo", "--json"], options].concat();
    let (code, out, log) = process::run(folder.path(), "demo", &args, Duration::from_secs(100));
    assert_eq!(code, 0, "{out}\n{log}");
    (out, log)
}

fn demo(seed: &str, strategy: &str) {
    let name = strategy.rsplit('/').next().unwrap();
    let (out, log) = demo_run(
        &format!("demo-{name}"),
        &["--duration", "25s", "--seed", seed, "--strategy", strategy],
    );

    let mut values = serde_json::Deserializer::from_str(&out).into_iter::<Value>();
    let object = values.next().unwrap().unwrap();
    assert!(
        values.next().is_none(),
        "more than one value on stdout: {out}"
    );
    let keys = |value: &Value| -> Vec<String> {
        let mut keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(&object), TOP);
    for (path, is_right) in FIELDS {
        assert!(is_right(field(&object, path)), "{path} in {out}");
    }
    let orders = [
        "acknowledged",
        "cancelled",
        "filled",
        "refused",
        "submitted",
        "unknown_left",
    ];
    assert_eq!(keys(&object["orders"]), orders);
    assert_eq!(
        keys(&object["pnl_quote"]),
        ["fees", "inventory", "pool", "spread", "total"]
    );
    assert_eq!(keys(&object["ack_ms"]), ["p50", "p99"]);
    assert_eq!(keys(&object["requests"]), ["allowed", "http_429", "sent"]);

    let number = |path: &str| field(&object, path).as_u64().unwrap();
    assert_eq!(object["seed"].to_string(), seed);
    assert!(number("orders.submitted") >= 20, "{out}");
    assert!(number("fills") >= 1, "{out}");
    // The kill has a limit of its own, which is long if an order that was never sent has to pass its fence.
    let seconds = |path: &str| field(&object, path).as_f64().unwrap();
    let recovery = seconds("crash.recovery_s");
    assert!(recovery <= seconds("crash.recovery_max_s"), "{out}");
    let lasted = seconds("duration_s").max(seconds("crash.at_s") + recovery);
    let quoted = seconds("quoted_both_sides_ratio") * lasted;
    assert!(quoted >= 0.8 * (lasted - recovery), "{out}");
    assert_eq!(number("requests.http_429"), 0, "{out}");
    assert!(
        number("requests.sent") <= number("requests.allowed"),
        "{out}"
    );
    assert_eq!(number("resting_after"), 0, "{out}");
    assert_eq!(number("orders.unknown_left"), 0, "{out}");
    for token in ["ETH", "USDC"] {
        assert_eq!(object["residual_units"][token], "0", "{out}");
    }
    assert_eq!(object["replay_equal"], true, "{out}");
    let duration = object["duration_s"].as_f64().unwrap();
    assert!((25.0..60.0).contains(&duration), "{out}");
    let pnl = |part: &str| object["pnl_quote"][part].as_f64().unwrap();
    let parts = pnl("spread") + pnl("inventory") + pnl("fees") + pnl("pool");
    assert!(
        (parts - pnl("total")).abs() < 1e-6,
        "the parts are the whole: {out}"
    );
    let exact = &object["pnl"][0];
    assert_eq!(keys(exact), PNL, "{out}");
    let named = ["fee_income", "impermanent_loss", "move_costs", "total"];
    assert_eq!(keys(&exact["pool"]), named, "{out}");
    let total: f64 = exact["total"].as_str().unwrap().parse().unwrap();
    assert!((total - pnl("total")).abs() < 1e-9, "{out}");
    assert!(
        log.contains("/metrics"),
        "the address of the metrics is logged: {log}"
    );
    killed(&object["crash"], &out);
}

/// A program of one's own quotes like any strategy of the registry.
#[test]
fn the_example_in_python_passes_the_demo() {
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/strategies/examples/join_best.py"
    );
    let text = std::fs::read_to_string(example).unwrap();
    assert!(text.lines().count() < 60);
    demo("11", example);
}

/// At two thirds of its time the demo has killed its daemon in the middle of a submit.
fn killed(crash: &Value, out: &str) {
    assert_eq!(crash["mid_submit"], true, "{out}");
    let at_s = crash["at_s"].as_f64().unwrap();
    assert!((16.0..25.0).contains(&at_s), "{out}");
    assert_eq!(
        (&crash["doubled"], &crash["forgotten"]),
        (&0.into(), &0.into())
    );
    let unknown = crash["unknown"].as_array().unwrap();
    assert!(!unknown.is_empty(), "{out}");
    assert!(
        crash["open"].as_u64().unwrap() >= unknown.len() as u64,
        "{out}"
    );
    for order in unknown {
        let text = |key: &str| order[key].as_str().unwrap();
        assert!(text("client_order_id").starts_with('c'), "{out}");
        assert!(["buy", "sell"].contains(&text("side")), "{out}");
        assert!(!text("evidence").is_empty(), "{out}");
        assert!(order["evidence_after_s"].is_number(), "{out}");
    }
    let unheard = unknown
        .iter()
        .any(|one| one["exchange_had_answered"].is_string());
    assert!(unheard, "an answer was on its way: {out}");
    let seconds = |key: &str| crash[key].as_f64().unwrap();
    assert!(seconds("recovery_s") <= seconds("recovery_max_s"), "{out}");
}

#[test]
fn a_demo_without_a_crash_logs_it_and_reports_null() {
    let folder = Folder::new("demo-without-crash");
    for (more, why) in [
        (&["--duration", "20s", "--no-crash"][..], "--no-crash"),
        (&["--duration", "3s"][..], "shorter than 20 s"),
    ] {
        let args = [&["demo", "--json"][..], more].concat();
        let limit = Duration::from_secs(100);
        let (code, out, log) = process::run(folder.path(), more[1], &args, limit);
        assert_eq!(code, 0, "{out}\n{log}");
        let object: Value = serde_json::from_str(&out).unwrap();
        assert!(object["crash"].is_null(), "{out}");
        assert!(
            log.contains(&format!("the daemon is not killed: {why}")),
            "{log}"
        );
    }
}

/// Every registered strategy passes the demo: quoting ones that have no test of their own are played here, and all others
/// have to have one.
#[test]
fn every_other_quoting_strategy_makes_a_market() {
    for info in cambist_strategies::all() {
        if info.promise == Promise::Quotes {
            if !QUOTING.contains(&info.name) {
                demo("12", info.name);
            }
        } else {
            let pair = (info.name, info.promise);
            assert!(PLAYED.contains(&pair), "{pair:?}: a test belongs here");
        }
    }
}

/// Strategies with a test of their own that judges what they promise: below, and of `hedge`, which needs several venues, in
/// `over_venues`.
const PLAYED: [(&str, Promise); 6] = [
    (POOLING, Promise::PoolShares),
    ("pool_arb", Promise::Swaps),
    ("pool_maker", Promise::Swaps),
    ("twap", Promise::Total),
    ("rebalance", Promise::Weight),
    ("hedge", Promise::Hedge),
];

/// The demo judges it by its total, through a kill in the middle.
#[test]
fn a_total_is_not_exceeded_through_a_kill() {
    let (out, _) = demo_run(
        "demo-total",
        &["--duration", "30s", "--seed", "5", "--strategy", "twap"],
    );
    let object: Value = serde_json::from_str(&out).unwrap();
    assert!(object["fills"].as_u64().unwrap() > 0, "{out}");
    assert!(!object["crash"].is_null(), "{out}");
    // That no more than the total was sold, and nothing bought, is part of exit code 0: the demo adds up the store.
    assert!(object["orders"]["filled"].as_u64().unwrap() > 0, "{out}");
    assert_eq!(object["replay_equal"], true, "{out}");
}

/// Both legs of a strategy of rounds, through a kill: that both ways were traded, and that no more than one leg is open at
/// the end, is part of exit code 0.
fn plays_rounds(name: &str, strategy: &str) {
    let args = ["--duration", "30s", "--seed", "2", "--strategy", strategy];
    let (out, log) = demo_run(name, &args);
    let object: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(object["scenario"]["name"], "swapped", "{out}");
    assert!(object["fills"].as_u64().unwrap() > 3, "{out}");
    assert_eq!(object["orders"]["unknown_left"], 0, "{out}");
    assert_eq!(object["replay_equal"], true, "{out}");
    assert!(!object["crash"].is_null(), "{log}");
    for token in ["ETH", "USDC"] {
        assert_eq!(object["residual_units"][token], "0", "{out}");
    }
}

#[test]
fn rounds_with_the_pool_are_closed_through_a_kill() {
    plays_rounds("demo-rounds", "pool_arb");
}

#[test]
fn fills_are_hedged_with_the_pool_through_a_kill() {
    plays_rounds("demo-hedges", "pool_maker");
}

/// Half of what is held is base, and 60 % are wanted: trades on the book and swaps lead there, through a kill. That the
/// share ends within its band is part of exit code 0.
#[test]
fn a_share_of_base_is_reached_through_a_kill() {
    let args = [
        "--duration",
        "30s",
        "--seed",
        "4",
        "--strategy",
        "rebalance",
    ];
    let (out, log) = demo_run("demo-share", &args);
    let object: Value = serde_json::from_str(&out).unwrap();
    assert!(object["fills"].as_u64().unwrap() > 3, "{out}");
    assert_eq!(object["orders"]["unknown_left"], 0, "{out}");
    assert_eq!(object["replay_equal"], true, "{out}");
    assert!(!object["crash"].is_null(), "{log}");
    for token in ["ETH", "USDC"] {
        assert_eq!(object["residual_units"][token], "0", "{out}");
    }
}

/// Played by the tests that are named after them,
const QUOTING: [&str; 5] = ["bands", "ladder", "glft", "curve", "hedged_lp"];
/// and by `a_pool_is_joined_and_left_and_nothing_is_lost`.
const POOLING: &str = "lp_manager";

#[test]
fn a_pool_is_joined_and_left_and_nothing_is_lost() {
    let (out, _) = demo_run(
        "demo-pool",
        &["--duration", "25s", "--seed", "3", "--strategy", POOLING],
    );
    let object: Value = serde_json::from_str(&out).unwrap();
    let pool = &object["pools"][0];
    let number = |key: &str| pool[key].as_u64().unwrap();
    assert!(number("joins") >= 3 && number("exits") >= 1, "{out}");
    for token in ["ETH", "USDC", "LP-ETH-USDC"] {
        assert_eq!(object["residual_units"][token], "0", "{out}");
    }
    assert_eq!(
        (&object["resting_after"], &object["replay_equal"]),
        (&0.into(), &true.into())
    );
    assert_eq!(object["orders"]["submitted"], 0, "it quotes nothing: {out}");
    let crash = &object["crash"];
    assert_eq!(
        (&crash["doubled"], &crash["forgotten"]),
        (&0.into(), &0.into()),
        "{out}"
    );
    for unknown in crash["unknown"].as_array().unwrap() {
        assert!(
            ["join", "exit"].contains(&unknown["side"].as_str().unwrap()),
            "{out}"
        );
        assert!(unknown["evidence"].is_string(), "{out}");
    }
}

#[test]
fn bands_make_a_market() {
    demo("11", QUOTING[0]);
}

#[test]
fn a_ladder_makes_a_market() {
    demo("4242", QUOTING[1]);
}

#[test]
fn glft_makes_a_market() {
    demo("7", QUOTING[2]);
}

#[test]
fn a_curve_makes_a_market() {
    demo("21", QUOTING[3]);
}

#[test]
fn a_hedged_pool_makes_a_market() {
    demo("31", QUOTING[4]);
}

/// The exchange halts, opens, fails every request and recovers: the end is still proven, and the events are reported.
#[test]
fn an_outage_is_survived_and_reported() {
    let (out, log) = demo_run(
        "demo-outage",
        &["--duration", "30s", "--seed", "8", "--scenario", "outage"],
    );
    let object: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(object["scenario"]["name"], "outage");
    let events = object["scenario"]["events"].as_array().unwrap();
    assert_eq!(events.len(), 5, "{out}");
    assert_eq!(events[0]["at_s"], 6.0);
    for event in events {
        let what = event["what"].as_str().unwrap();
        assert!(log.contains(&format!(" s | {what}")), "{what}: {log}");
    }
    let refused = object["orders"]["refused"].as_object().unwrap();
    assert!(refused.contains_key("102027"), "halted: {out}");
    assert_eq!(object["resting_after"], 0, "{out}");
    assert_eq!(object["orders"]["unknown_left"], 0, "{out}");
    assert_eq!(object["replay_equal"], true, "{out}");
}

/// Starts a demo without an end and waits until it shows that it trades.
fn begun(folder: &Folder) -> (Program, String) {
    let demo = Program::start(
        folder.path(),
        "demo",
        &["demo", "--forever", "--json", "--seed", "5"],
    );
    until(Duration::from_secs(40), "a line", || {
        demo.stderr().contains(" s | ").then_some(())
    });
    let log = demo.stderr();
    let address = log.split("exchange at http://").nth(1).unwrap();
    let address = address.split([',', ' ']).next().unwrap().to_owned();
    (demo, address)
}

#[test]
fn an_interrupt_ends_it_with_a_proof() {
    let folder = Folder::new("demo-interrupt");
    let (mut demo, address) = begun(&folder);
    demo.signal(Signal::INT);
    assert_eq!(
        demo.end(Duration::from_secs(45)),
        0,
        "{}",
        demo.last_words()
    );
    let object: Value = serde_json::from_str(&demo.stdout()).unwrap();
    assert_eq!(object["resting_after"], 0);
    assert_eq!(object["replay_equal"], true);
    assert!(
        TcpStream::connect(address).is_err(),
        "the exchange outlived its demo"
    );
}

#[test]
fn nothing_outlives_a_demo_that_was_killed() {
    let folder = Folder::new("demo-killed");
    let (mut demo, address) = begun(&folder);
    let metrics = demo.stderr().split("http://").nth(2).unwrap().to_owned();
    let metrics = metrics.split('/').next().unwrap().to_owned();
    assert!(TcpStream::connect(&metrics).is_ok() && TcpStream::connect(&address).is_ok());
    demo.kill();
    until(Duration::from_secs(45), "the end of both", || {
        let gone = |address: &str| TcpStream::connect(address).is_err();
        (gone(&metrics) && gone(&address)).then_some(())
    });
}
