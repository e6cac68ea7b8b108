//! Strategies in a process, with a real daemon and exchange: one that behaves, dies, falls silent and talks
//! nonsense; what it may read; and what the tape keeps of it.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use toml::Table;

use crate::support::process::run;
use crate::support::stage::quick;
use crate::support::{Edit, Program, Stage, until};

const SOON: Duration = Duration::from_secs(40);

/// Does what the file `mode` requests at each view.
const MOODY: &str = r#"
import json, sys, time

for line in sys.stdin:
    view = json.loads(line)
    mode = open("mode").read()
    if mode == "die":
        sys.exit(3)
    if mode == "silent":
        continue
    if mode == "slow":
        time.sleep(0.5)
    mid = view["mid_half_ticks"]
    quotes = [
        {"side": "buy", "price": mid * 9990 // 20000, "qty": 200},
        {"side": "sell", "price": -(-mid * 10010 // 20000), "qty": 200},
    ]
    target = {"v": 1, "view_seq": view["view_seq"], "quotes": quotes, "state": {"views": view["view_seq"]}}
    if mode == "nan":
        quotes[0]["price"] = float("nan")
    if mode == "huge":
        quotes[0]["price"] = 10**400
    if mode == "version":
        target["v"] = 2
    if mode == "unknown":
        target["ttl"] = 5
    # A swap that a control refuses is dropped: it is asked for until its fill is shown.
    swapped = (view["state"] or {}).get("swapped", False)
    swapped = swapped or any(fill["side"] == "sell" and fill["base"] == "0.05" for fill in view["fills"])
    if mode == "swap" and not swapped and view.get("pool", {}).get("possible"):
        base, quote = float(view["pool"]["base"]), float(view["pool"]["quote"])
        target["swap"] = {"side": "sell", "sell": "0.05", "least": "%.6f" % (0.05 * quote / base * 0.99)}
    target["state"]["swapped"] = swapped
    print(json.dumps(target), flush=True)
"#;

fn process(file: &mut Table, keys: &str) {
    quick(file);
    let mut strategy: Table =
        "kind = 'process'\nname = 'moody'\ncommand = ['python3', 'moody.py']\ntimeout_ms = 700"
            .parse()
            .unwrap();
    strategy.extend(keys.parse::<Table>().unwrap());
    file.put("market.0.strategy", vec![toml::Value::Table(strategy)]);
}

fn stage(name: &str) -> Stage {
    let stage = Stage::open(name, |_| {});
    std::fs::write(stage.path("moody.py"), MOODY).unwrap();
    set(&stage, "quote");
    stage
}

fn set(stage: &Stage, mode: &str) {
    std::fs::write(stage.path("mode"), mode).unwrap();
}

/// Waits until the exchange has so many open orders, and status gives one of these reasons for both sides.
fn settles(stage: &Stage, daemon: &mut Program, quoted: bool, reasons: &[&str]) {
    until(SOON, &format!("quotes: {quoted} {reasons:?}"), || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let orders = stage.books().orders;
        let open = orders
            .iter()
            .filter(|order| !order.status.is_final())
            .count();
        let (_, page, _) = stage.command("status");
        let is_right = ["buy", "sell"].iter().all(|side| {
            let reason = &page["markets"][0]["withheld"][side]["reason"];
            match reason.as_str() {
                Some(reason) => reasons.contains(&reason),
                None => quoted,
            }
        });
        (is_right && (open > 0) == quoted).then_some(())
    });
}

#[test]
fn a_process_quotes_and_whatever_else_it_does_quotes_nothing() {
    let stage = stage("process-moody");
    stage.daemon("daemon", &stage.url(), |file| {
        process(file, "read = ['mode']");
    });
    let mut daemon = stage.run("daemon");
    settles(&stage, &mut daemon, true, &[]);
    for (mode, reasons) in [
        ("die", &["process_down", "process_stale"][..]),
        ("silent", &["process_down", "process_stale"]),
        ("nan", &["process_answer"]),
        ("huge", &["process_answer"]),
        ("version", &["process_answer"]),
        ("unknown", &["process_answer"]),
    ] {
        set(&stage, mode);
        settles(&stage, &mut daemon, false, reasons);
        set(&stage, "quote");
        settles(&stage, &mut daemon, true, &[]);
    }
    let log = daemon.stderr();
    for words in [
        "ended with exit status: 3",
        "did not answer for 700 ms",
        "no target of version 1: expected value",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    // What it wanted to be kept is there for the next start, under its name.
    let kept = std::fs::read_to_string(stage.path("daemon-state/memories.json")).unwrap();
    assert!(kept.contains("\"strategy\":\"moody\""), "{kept}");
    // The tape has what it answered: replayed without it, every action is the same.
    let (code, replayed, log) = stage.command("replay");
    assert_eq!(code, 0, "{replayed} {log}");
    stage.close();
}

/// Nothing was sent to the process while the daemon was stopped, and what it had answered waited in its pipe.
#[test]
fn a_daemon_that_was_stopped_does_not_blame_the_process() {
    let stage = stage("process-frozen");
    set(&stage, "slow");
    stage.daemon("daemon", &stage.url(), |file| {
        process(file, "read = ['mode']");
        file.put("market.0.strategy.0.timeout_ms", 2_000);
    });
    let mut daemon = stage.run("daemon");
    settles(&stage, &mut daemon, true, &[]);
    let before = daemon.stderr().len();
    for gap in 1..=3 {
        daemon.signal(Signal::STOP);
        // Longer than what the engine takes for a gap, and than the process may take.
        std::thread::sleep(Duration::from_millis(5_500));
        daemon.signal(Signal::CONT);
        until(SOON, "the gap in the log", || {
            let log = daemon.stderr();
            (log[before..].matches("the clock jumped").count() == gap).then_some(())
        });
        settles(&stage, &mut daemon, true, &[]);
    }
    let log = daemon.stderr();
    for blame in [
        "did not answer",
        "has not answered",
        "ended with",
        "its quotes are cancelled",
    ] {
        assert!(
            !log[before..].contains(blame),
            "{blame}: {}",
            &log[before..]
        );
    }
    // One that does not answer is still found.
    set(&stage, "silent");
    settles(
        &stage,
        &mut daemon,
        false,
        &["process_down", "process_stale"],
    );
    until(SOON, "the end of a silent process", || {
        let log = daemon.stderr();
        log[before..]
            .contains("did not answer for 2000 ms")
            .then_some(())
    });
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}

#[test]
fn what_would_show_keys_or_state_to_a_process_is_refused() {
    let stage = stage("process-refused");
    let check = |name: &str| -> (i32, Value, String) {
        let config: PathBuf = stage.path(&format!("{name}.toml"));
        let config = config.display().to_string();
        let args = ["check", "--json", "--config", &config];
        let (code, out, log) = run(stage.folder.path(), &format!("check-{name}"), &args, SOON);
        (code, serde_json::from_str(&out).unwrap_or(Value::Null), log)
    };
    for (name, keys, words) in [
        ("keys", "read = ['keys']", "could read"),
        ("key", "read = ['keys/eddsa_key']", "could read"),
        ("above", "read = ['.']", "could read"),
        ("state", "read = ['state-state']", "could read"),
        ("name", "[params]\nspread = inf", "not a finite number"),
        ("long", "timeout_ms = 1", "timeout_ms"),
    ] {
        stage.daemon(name, &stage.url(), |file| process(file, keys));
        let (code, object, log) = check(name);
        assert_eq!(code, 77, "{name}: {object} {log}");
        assert!(
            log.contains(words) && log.contains(&format!("{name}.toml:")),
            "{log}"
        );
    }
    stage.daemon("good", &stage.url(), |file| {
        process(file, "read = ['mode']");
    });
    let (code, object, log) = check("good");
    assert_eq!(code, 0, "{object} {log}");
    // The trial at the venue starts no process, and does not report it as broken.
    let config = stage.path("good.toml").display().to_string();
    for command in [&["check", "--online"][..], &["doctor"]] {
        let args = [command, &["--config", &config]].concat();
        let name = format!("tried-{}", command[0]);
        let (code, text, log) = run(stage.folder.path(), &name, &args, SOON);
        assert_eq!(code, 0, "{text} {log}");
        let untried = "not tried: this command does not start the process";
        assert_eq!(text.matches(untried).count(), 2, "{text}");
    }
    stage.close();
}

/// A process asks for one swap: it is made once, shown as what it is, and not repeated by a daemon that was killed.
#[test]
fn a_process_swaps_once_through_a_kill() {
    let stage = stage("process-swap");
    set(&stage, "swap");
    stage.daemon("daemon", &stage.url(), |file| {
        process(file, "read = ['mode']\nswaps = true");
        file.put("market.0.pool.swap_value_max", "500 USDC")
            .put("market.0.pool.slippage_bps", 200)
            .put("market.0.pool.poll_ms", 200);
    });
    let swaps = || {
        let (code, rows, log) = stage.command("history orders --limit 100000");
        assert_eq!(code, 0, "{log}");
        let rows = rows.as_array().unwrap().iter();
        let swaps = rows.filter(|row| row["kind"] == "swap").cloned();
        swaps.collect::<Vec<Value>>()
    };
    let mut daemon = stage.run("daemon");
    let swap = until(SOON, "the swap", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (code, ..) = stage.command("status");
        let swaps = if code == 0 { swaps() } else { Vec::new() };
        swaps.into_iter().find(|swap| swap["state"] == "filled")
    });
    assert_eq!(
        (&swap["side"], &swap["filled"], &swap["strategy"]),
        (&"sell".into(), &"0.05".into(), &"moody".into())
    );
    // The state of a process is written at most once a second: a kill before that loses it.
    until(SOON, "the state of the process on disk", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let text = std::fs::read_to_string(stage.path("daemon-state/memories.json")).ok()?;
        let file: Value = serde_json::from_str(&text).ok()?;
        let memory: Vec<u8> =
            serde_json::from_value(file["strategies"][0]["memory"].clone()).ok()?;
        let memory = String::from_utf8_lossy(&memory).into_owned();
        memory
            .replace(' ', "")
            .contains("\"swapped\":true")
            .then_some(())
    });
    daemon.kill();
    daemon.end(SOON);
    // Both runs write to one log.
    let runs = |daemon: &Program| daemon.stderr().matches("ready: the state").count();
    let before = runs(&daemon);
    let mut again = stage.run("daemon");
    // Until then the orders of the first run rest.
    until(SOON, "a second run that is ready", || {
        assert!(again.ended().is_none(), "{}", again.last_words());
        (runs(&again) > before).then_some(())
    });
    settles(&stage, &mut again, true, &[]);
    assert_eq!(swaps().len(), 1);
    assert_eq!(again.drain(SOON), 0, "{}", again.last_words());
    assert_eq!(swaps().len(), 1);
    stage.close();
}
