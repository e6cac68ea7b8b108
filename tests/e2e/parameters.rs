//! Parameters of a running strategy: what is set takes effect at the exchange, survives a kill at any moment, is
//! replayed, and is restored from the file on request.

use std::time::Duration;

use cambist_core::Side;
use cambist_store::{SetParameter, Store};
use serde_json::Value;

use crate::support::stage::{lively, quick};
use crate::support::{Edit, Program, Stage, until};

const SOON: Duration = Duration::from_secs(40);

fn open(stage: &Stage, side: Side) -> usize {
    let books = stage.books();
    let open = books.orders.iter().filter(|order| !order.status.is_final());
    open.filter(|order| order.side == side).count()
}

/// Runs the daemon until these sides, bids and asks, have orders and the others have none.
fn quoting(stage: &Stage, daemon: &mut Program, sides: [bool; 2]) {
    until(SOON, "the quotes at the exchange", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let open = [Side::Buy, Side::Sell].map(|side| open(stage, side) > 0);
        (open == sides).then_some(())
    });
}

fn trading(name: &str) -> (Stage, Program) {
    let stage = Stage::open(name, lively);
    stage.daemon("daemon", &stage.url(), quick);
    let mut daemon = stage.run("daemon");
    quoting(&stage, &mut daemon, [true, true]);
    (stage, daemon)
}

#[track_caller]
fn taken(stage: &Stage, line: &str) -> Value {
    let (code, object, log) = stage.command(line);
    assert_eq!(code, 0, "{line}: {object} {log}");
    object
}

#[track_caller]
fn refused(stage: &Stage, line: &str, reported: &str) {
    let (code, object, log) = stage.command(line);
    assert_ne!(code, 0, "{line}: {object}");
    assert!(log.contains(reported), "{line}: no {reported} in {log}");
}

#[test]
fn what_is_set_takes_effect_survives_a_kill_and_a_reload_and_is_restored() {
    let (stage, mut daemon) = trading("parameters-set");
    assert_eq!(taken(&stage, "status")["parameters"], Value::Array(vec![]));
    let answer = taken(&stage, "set --reason calm ladder.price_ceiling=1");
    assert_eq!(answer["durable"], true, "{answer}");
    let detail = answer["detail"].as_str().unwrap();
    assert!(
        detail.contains("ETH-USDC ladder.price_ceiling 0 → 1"),
        "{detail}"
    );
    quoting(&stage, &mut daemon, [false, true]);
    let shown = |page: &Value| {
        let set = &page["parameters"][0];
        assert_eq!(page["parameters"].as_array().unwrap().len(), 1, "{page}");
        assert_eq!(set["parameter"], "ladder.price_ceiling");
        assert_eq!((&set["set"], &set["reason"]), (&"1".into(), &"calm".into()));
        assert_eq!(set["file"], "0");
        assert!(set["operator"].as_str().unwrap().contains("uid"), "{set}");
        assert_eq!(set["applies"], true);
    };
    shown(&taken(&stage, "status"));
    let (_, text, _) = stage.prose("status");
    assert!(text.contains("parameter: ladder.price_ceiling\n"), "{text}");
    // A reload of the file leaves it in place, also when the file changes beside it.
    stage.daemon("daemon", &stage.url(), |file| {
        quick(file);
        file.put("market.0.strategy.0.params.bid_spread_bps", 7);
    });
    let answer = taken(&stage, "reload");
    let detail = answer["detail"].as_str().unwrap();
    assert!(detail.contains("ladder.bid_spread_bps 6 → 7"), "{detail}");
    shown(&taken(&stage, "status"));
    daemon.kill();
    let (code, page, _) = stage.command("status");
    assert_eq!((code, &page["state"]), (1, &"stopped".into()));
    shown(&page);
    daemon = stage.run("daemon");
    until(SOON, "it trades", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (code, page, _) = stage.command("status");
        (code == 0 && page["state"] == "active").then_some(())
    });
    quoting(&stage, &mut daemon, [false, true]);
    shown(&taken(&stage, "status"));
    let line = "set --reset --reason volatile ladder.price_ceiling";
    refused(&stage, line, "--allow-loosening");
    taken(&stage, &format!("{line} --allow-loosening"));
    quoting(&stage, &mut daemon, [true, true]);
    assert_eq!(taken(&stage, "status")["parameters"], Value::Array(vec![]));
    let (_, changes, _) = stage.command("history parameters");
    let changes = changes.as_array().unwrap();
    let values: Vec<_> = changes.iter().map(|one| &one["value"]).collect();
    assert_eq!(values, ["as in the file", "1"]);
    assert_eq!(changes[0]["reason"], "volatile");
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.books().assert_ledger(&daemon.stdout());
    // The tape has every change: the strategies of both runs decide as they did.
    let (code, replayed, log) = stage.command("replay");
    assert_eq!(code, 0, "{replayed} {log}");
    stage.close();
}

/// A value that the strategy takes, and with which no control lets an order pass.
#[test]
fn values_that_are_never_quoted_are_warned_of() {
    let stage = Stage::open("parameters-never", lively);
    stage.daemon("daemon", &stage.url(), |file| {
        quick(file);
        file.put("market.0.base_decimals", 18);
        file.put("market.0.quote_decimals", 6);
        file.put("market.0.price_decimals", 2);
    });
    let mut daemon = stage.run("daemon");
    quoting(&stage, &mut daemon, [true, true]);
    let answer = taken(&stage, "set --reason calm ladder.bid_spread_bps=7");
    assert!(answer.get("warnings").is_none(), "{answer}");
    let line = "set --reason x ladder.bid_spread_bps=300 ladder.ask_spread_bps=300";
    let answer = taken(&stage, line);
    let warnings = answer["warnings"].as_array().unwrap();
    let first = warnings[0].as_str().unwrap();
    assert!(first.contains("neither side would be quoted"), "{first}");
    let (code, text, log) = stage.prose("reload");
    assert_eq!(code, 0, "{text} {log}");
    assert!(
        log.contains("warning: market ETH-USDC: neither side"),
        "{log}"
    );
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}

#[test]
fn a_value_that_is_refused_changes_and_stores_nothing() {
    let (stage, mut daemon) = trading("parameters-refused");
    for (line, reported) in [
        ("set --reason x bands.dust_cutoff=5", "no strategy"),
        (
            "set --reason x ladder.bid_spread=5",
            "ladder.bid_spread: unknown parameter, did you mean bid_spread_bps?",
        ),
        ("set --reason x ladder.bid_spread_bps=-1", "out of range"),
        (
            "set --reason x ladder.bid_spread_bps=much",
            "a whole number",
        ),
        ("set --reason x ladder.bid_levels[0].amount=1", "bid_levels"),
        // Contradicts another value.
        (
            "set --reason x ladder.price_floor=3000 ladder.price_ceiling=2900",
            "ladder.price_ceiling: must be above price_floor",
        ),
        (
            "set --reason x ladder.bid_spread_bps=5",
            "ladder.bid_spread_bps 6 → 5 would become looser",
        ),
        // The first alone would be taken.
        (
            "set --reason x ladder.price_ceiling=1 ladder.order_levels=0",
            "out of range",
        ),
        (
            "set --market BTC-USDC --reason x ladder.price_ceiling=1",
            "BTC-USDC",
        ),
        ("set --reset --reason x ladder.price_ceiling", "was not set"),
        (
            "set --reason x ladder.price_ceiling",
            "STRATEGY.PARAMETER=VALUE",
        ),
        ("set --reason x price_ceiling=1", "begins with the strategy"),
    ] {
        refused(&stage, line, reported);
    }
    assert_eq!(taken(&stage, "status")["parameters"], Value::Array(vec![]));
    quoting(&stage, &mut daemon, [true, true]);
    daemon.kill();
    let stored = cambist_store::parameters::changes(&stage.path("daemon-state"));
    assert_eq!(stored.unwrap(), []);
    refused(
        &stage,
        "set --reason x ladder.price_ceiling=1",
        "no daemon runs",
    );
    stage.close();
}

#[test]
fn a_kill_between_the_write_and_its_effect_leaves_what_was_written() {
    let (stage, mut daemon) = trading("parameters-kill");
    daemon.kill();
    // What the disk has when the daemon is killed after the write and before the engine takes the value.
    let row = |key: &str, value: Option<&str>| SetParameter {
        market: "ETH-USDC".to_owned(),
        strategy: "ladder".to_owned(),
        key: key.to_owned(),
        value: value.map(ToOwned::to_owned),
        operator: "alice".to_owned(),
        reason: "calm".to_owned(),
        at_us: 1,
    };
    let write = |rows: &[SetParameter]| {
        let mut store = Store::open(&stage.path("daemon-state")).unwrap();
        store.set_parameters(rows).unwrap();
    };
    write(&[row("price_ceiling", Some("1"))]);
    daemon = stage.run("daemon");
    quoting(&stage, &mut daemon, [false, true]);
    assert!(
        daemon
            .stderr()
            .contains("parameter ladder.price_ceiling = 1 was set"),
        "{}",
        daemon.stderr()
    );
    daemon.kill();
    // The file has changed so that the value does not fit any more: nothing is quoted otherwise than was set.
    write(&[row("order_levels", Some("0"))]);
    let mut second = stage.run("daemon");
    assert_eq!(second.end(SOON), 77, "{}", second.last_words());
    let why = second.stderr();
    assert!(
        why.contains("ladder.order_levels = 0 was set by alice") && why.contains("--reset"),
        "{why}"
    );
    // Without a daemon the file's values are restored for the next start.
    taken(
        &stage,
        "set --reset --reason wrong ladder.order_levels ladder.price_ceiling",
    );
    daemon = stage.run("daemon");
    quoting(&stage, &mut daemon, [true, true]);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.books().assert_ledger(&daemon.stdout());
    stage.close();
}
