//! A start whose venue does not answer: it waits as a running daemon does, shows it, and accepts commands.

use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cambist_core::Side;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::http::{body, metric, page};
use crate::support::process::CAMBIST;
use crate::support::stage::quick;
use crate::support::{Edit, Program, Proxy, Stage, until};

const SOON: Duration = Duration::from_secs(40);

/// The notifications to the service manager, read as they arrive.
#[derive(Clone)]
pub struct Manager(Arc<Mutex<Vec<String>>>);

impl Manager {
    pub fn listen(stage: &Stage) -> Self {
        let socket = UnixDatagram::bind(stage.path("notify")).unwrap();
        let manager = Self(Arc::default());
        let lines = Arc::clone(&manager.0);
        std::thread::spawn(move || {
            let mut message = [0; 4_096];
            while let Ok(length) = socket.recv(&mut message) {
                let text = String::from_utf8(message[..length].to_vec()).unwrap();
                lines
                    .lock()
                    .unwrap()
                    .extend(text.lines().map(str::to_owned));
            }
        });
        manager
    }

    /// Lines so far with this prefix.
    pub fn lines(&self, begin: &str) -> usize {
        let lines = self.0.lock().unwrap();
        lines.iter().filter(|line| line.starts_with(begin)).count()
    }

    /// The last status line.
    pub fn status(&self) -> Option<String> {
        let lines = self.0.lock().unwrap();
        let mut statuses = lines.iter().filter_map(|line| line.strip_prefix("STATUS="));
        statuses.next_back().map(str::to_owned)
    }

    /// Runs the daemon with the file of this name.
    pub fn run(stage: &Stage, name: &str) -> Program {
        let mut command = Command::new(CAMBIST);
        command
            .args(["run", "--json", "--until-stdin-closes", "--config"])
            .arg(stage.path(&format!("{name}.toml")))
            .env("NOTIFY_SOCKET", stage.path("notify"));
        Program::spawn(stage.folder.path(), name, command)
    }
}

/// An exchange behind a proxy that refuses connections, and the configuration of a daemon for it.
fn away(name: &str, edit: impl FnOnce(&mut toml::Table)) -> (Stage, Proxy) {
    let stage = Stage::open(name, |_| {});
    let proxy = Proxy::start(&stage.address);
    proxy.close();
    stage.daemon("daemon", &proxy.url, |file| {
        quick(file);
        edit(file);
    });
    (stage, proxy)
}

fn status(stage: &Stage) -> Value {
    let (code, page, log) = stage.command("status");
    assert_eq!(code, 0, "{log}");
    page
}

fn waits(stage: &Stage, daemon: &mut Program) -> Value {
    until(SOON, "a start that waits", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (_, page, _) = stage.command("status");
        page["waiting"].is_object().then_some(page)
    })
}

#[test]
fn a_start_waits_for_its_venue_as_a_running_daemon_does() {
    let (stage, proxy) = away("waiting", |_| {});
    let manager = Manager::listen(&stage);
    let mut daemon = Manager::run(&stage, "daemon");
    let address = stage.pages("daemon", &mut daemon);
    // Longer than the nine seconds after which a start once gave up.
    let shown = until(SOON, "a long wait", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let page = status(&stage);
        (page["waiting"]["for_s"].as_u64()? >= 12).then_some(page)
    });
    assert_eq!(shown["state"], "starting");
    assert_eq!(shown["earlier_run"]["not_proven_gone"], 0);
    assert!(
        shown["waiting"]["cause"]
            .as_str()
            .unwrap()
            .contains("refused"),
        "{shown}"
    );
    let since = shown["waiting"]["since"].as_str().unwrap();
    assert!(body(&address, "/healthz").is_some());
    let (head, text) = page(&address, "/readyz").unwrap();
    assert!(
        head.contains(" 503 ") && text.contains(since),
        "{head}{text}"
    );
    let metrics = body(&address, "/metrics").unwrap();
    assert!(
        metric(
            &metrics,
            "cambist_start_waiting_since_timestamp_seconds",
            &[]
        ) > 0.0
    );
    assert!(metric(&metrics, "cambist_up_state", &["starting"]) > 0.0);
    assert!(manager.lines(&format!("STATUS=waiting for the venue since {since}")) > 0);
    assert!(manager.lines("EXTEND_TIMEOUT_USEC=") >= 10);
    assert_eq!(manager.lines("READY=1"), 0);
    // What makes no sense yet is refused with the reason; what holds back is durable.
    let (code, refused, _) = stage.command("pause --reason lunch");
    assert_eq!(code, 1);
    assert!(
        refused["error"].as_str().unwrap().contains(since),
        "{refused}"
    );
    let (code, held, _) = stage.command("kill --cancel-only --reason look");
    assert_eq!((code, &held["durable"]), (0, &true.into()), "{held}");

    proxy.open();
    until(SOON, "READY", || {
        (manager.lines("READY=1") == 1).then_some(())
    });
    assert!(daemon.stderr().contains("the venue answers, after"));
    let shown = status(&stage);
    assert_eq!(
        (&shown["level"], &shown["waiting"]),
        (&"cancel_only".into(), &Value::Null)
    );
    assert_eq!(stage.books().orders.len(), 0);
    assert_eq!(stage.command("resume --reason checked").0, 0);
    until(SOON, "quotes", || (stage.books().open() > 0).then_some(()));
    let metrics = body(&address, "/metrics").unwrap();
    let waiting = metric(
        &metrics,
        "cambist_start_waiting_since_timestamp_seconds",
        &[],
    );
    assert!(waiting.abs() < f64::EPSILON);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.books().assert_ledger(&daemon.stdout());
    stage.close();
}

#[test]
fn a_reload_begins_and_ends_for_the_service_manager() {
    let stage = Stage::open("waiting-reload", |_| {});
    stage.daemon("daemon", &stage.url(), quick);
    let manager = Manager::listen(&stage);
    let mut daemon = Manager::run(&stage, "daemon");
    until(SOON, "READY", || {
        (manager.lines("READY=1") == 1).then_some(())
    });
    daemon.signal(Signal::HUP);
    until(SOON, "the end of a reload", || {
        (manager.lines("READY=1") == 2).then_some(())
    });
    let messages = manager.0.lock().unwrap().clone();
    let begun = messages.iter().position(|line| line == "RELOADING=1");
    let begun = begun.unwrap();
    assert!(messages[begun + 1].starts_with("MONOTONIC_USEC="));
    let ended = messages.iter().rposition(|line| line == "READY=1");
    assert!(begun < ended.unwrap(), "{messages:?}");

    // A file that is refused ends the reload as well.
    std::fs::write(stage.path("daemon.toml"), "config_version = 2\n").unwrap();
    daemon.signal(Signal::HUP);
    until(SOON, "the end of a refused reload", || {
        (manager.lines("READY=1") == 3).then_some(())
    });
    assert!(
        daemon
            .stderr()
            .contains("the configuration was not reloaded")
    );
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}

#[test]
fn a_waiting_start_ends_at_once_on_a_signal() {
    let (stage, _proxy) = away("waiting-signal", |_| {});
    let mut daemon = stage.run("daemon");
    waits(&stage, &mut daemon);
    assert_eq!(
        daemon.drain(Duration::from_secs(5)),
        0,
        "{}",
        daemon.last_words()
    );
    let summary: Value = serde_json::from_str(&daemon.stdout()).unwrap();
    assert_eq!(summary["started"], false, "{summary}");

    let mut daemon = stage.run("daemon");
    waits(&stage, &mut daemon);
    let (code, reply, log) = stage.command("drain");
    assert_eq!((code, &reply["done"]), (0, &true.into()), "{log}");
    assert_eq!(daemon.end(SOON), 0, "{}", daemon.last_words());

    let mut daemon = stage.run("daemon");
    waits(&stage, &mut daemon);
    let (code, reply, log) = stage.command("kill --reason holidays");
    assert_eq!((code, &reply["durable"]), (0, &true.into()), "{log}");
    assert_eq!(daemon.end(SOON), 78, "{}", daemon.last_words());
    assert!(daemon.stderr().contains("holidays"));
    let mut refused = stage.run("daemon");
    assert_eq!(refused.end(SOON), 78);
    assert_eq!(stage.command("resume --reason back").0, 0);

    // The latch is honoured, whatever raised it.
    let mut daemon = stage.run("daemon");
    waits(&stage, &mut daemon);
    std::fs::write(stage.path("daemon-state/latch"), "by hand").unwrap();
    assert_eq!(daemon.end(SOON), 78, "{}", daemon.last_words());
    assert_eq!(stage.books().orders.len(), 0);
    stage.close();
}

#[test]
fn a_start_that_waits_shows_what_an_earlier_run_left() {
    let stage = Stage::open("waiting-earlier", |_| {});
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, |file| {
        quick(file);
        file.put("orders.ttl_s", 60).put("shutdown.deadline_s", 90);
    });
    let mut daemon = stage.run("daemon");
    until(SOON, "both sides", || {
        let books = stage.books();
        let open: Vec<_> = books
            .orders
            .iter()
            .filter(|order| !order.status.is_final())
            .collect();
        Side::BOTH
            .iter()
            .all(|side| open.iter().any(|order| order.side == *side))
            .then_some(())
    });
    daemon.kill();
    let last = stage
        .books()
        .orders
        .iter()
        .map(|order| order.valid_until_s)
        .max()
        .unwrap();
    proxy.close();
    let mut daemon = stage.run("daemon");
    let shown = waits(&stage, &mut daemon);
    let left = &shown["earlier_run"];
    assert!(left["not_proven_gone"].as_u64().unwrap() >= 2, "{shown}");
    // Expiry and a second of grace; one that never arrived may expire later.
    assert!(
        left["alive_until_s"].as_u64().unwrap() > u64::from(last),
        "{shown}"
    );
    let until_text = left["alive_until"].as_str().unwrap();
    assert!(
        shown["line"].as_str().unwrap().contains(until_text),
        "{shown}"
    );
    assert!(daemon.stderr().contains("may be alive"));
    daemon.signal(Signal::TERM);
    assert_eq!(
        daemon.end(Duration::from_secs(5)),
        1,
        "{}",
        daemon.last_words()
    );
    assert!(
        daemon.stderr().contains(until_text),
        "{}",
        daemon.last_words()
    );
    // Nothing of that was in the way of the next start.
    proxy.open();
    let mut daemon = stage.run("daemon");
    until(SOON, "it trades", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (code, page, _) = stage.command("status");
        (code == 0 && page["state"] == "active").then_some(())
    });
    // An order that was on its way when the program was killed may rest until it expires.
    let beyond_deadline = Duration::from_secs(100);
    assert_eq!(daemon.drain(beyond_deadline), 0, "{}", daemon.last_words());
    stage.books().assert_ledger(&daemon.stdout());
    stage.close();
}

#[test]
fn what_asking_again_cannot_change_ends_a_start_that_has_waited() {
    let (stage, proxy) = away("waiting-refused", |file| {
        file.put("venue.chain_id", 5);
    });
    let mut daemon = stage.run("daemon");
    waits(&stage, &mut daemon);
    proxy.open();
    assert_eq!(daemon.end(SOON), 77, "{}", daemon.last_words());
    assert!(daemon.stderr().contains("venue.chain_id = 5"));
    assert_eq!(stage.books().orders.len(), 0);
    stage.close();
}
