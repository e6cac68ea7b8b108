//! An exchange that does not answer a running daemon, at all or where its end waits: status, readiness and page state it
//! with its time, and no longer than it lasts.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::http::{body, page};
use crate::support::stage::{lively, quick};
use crate::support::{Edit, Fault, Program, Proxy, Stage, until};

const SOON: Duration = Duration::from_secs(40);

/// Beyond shutdown.deadline_s: an order that was on its way when the exchange went may rest until it expires, and a drain
/// waits for that.
const DRAINED: Duration = Duration::from_secs(100);

/// The status with an outage, once the book is too old as well.
fn outage(stage: &Stage, daemon: &mut Program) -> Value {
    until(SOON, "an outage with an old book", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (_, status, _) = stage.command("status");
        let is_old = status["markets"][0]["depth_stale"] == true;
        (is_old && status["outage"].is_object()).then_some(status)
    })
}

/// Waits until nothing states an outage any more and quotes are back.
fn over(stage: &Stage, daemon: &mut Program, address: &str) {
    let status = until(SOON, "quotes after the outage", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (_, status, _) = stage.command("status");
        (status["outage"].is_null() && status["ready"] == true).then_some(status)
    });
    assert_eq!(status["markets"][0]["depth_stale"], false, "{status}");
    // One lost request is an outage for a moment, which a busy machine may have.
    until(SOON, "text without an outage", || {
        let (_, text, _) = stage.prose("status");
        text.contains("\noutage: -\n").then_some(())
    });
    until(SOON, "readiness without an outage", || {
        let text = body(address, "/readyz")?;
        (!text.contains("not answered")).then_some(())
    });
}

#[test]
fn a_venue_that_does_not_answer_is_stated_with_its_age_everywhere_until_it_answers() {
    let stage = Stage::open("outage", lively);
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, |file| {
        quick(file);
        file.put("orders.ttl_s", 60).put("shutdown.deadline_s", 90);
    });
    let mut daemon = stage.run("daemon");
    let address = stage.metrics("daemon", &mut daemon);
    over(&stage, &mut daemon, &address);
    let orders = stage.books().orders;
    let resting = orders.iter().filter(|order| !order.status.is_final());
    let last_s = resting.map(|order| order.valid_until_s).max().unwrap();

    stage.venue.signal(Signal::STOP);
    let status = outage(&stage, &mut daemon);
    let shown = &status["outage"];
    assert_eq!(shown["venue"], proxy.url.as_str());
    assert!(shown["cause"].as_str().unwrap().contains("timed out"));
    // Older than the depth may be, which is two seconds; the request ended 700 ms after it was sent.
    let age_ms = status["markets"][0]["depth_age_ms"].as_u64().unwrap();
    let (waited_ms, answer_ms) = (shown["for_ms"].as_u64(), shown["last_answer_ms"].as_u64());
    assert!(age_ms > 2_000 && answer_ms >= waited_ms, "{status}");
    assert!(shown["orders"].as_u64().unwrap() > 0, "{status}");
    // A second of grace; one that was sent since may expire later.
    let until_s = shown["alive_until_s"].as_u64().unwrap();
    assert!(until_s > u64::from(last_s), "{status}");
    let since = shown["since"].as_str().unwrap();
    let until_text = shown["alive_until"].as_str().unwrap();
    let stated = format!("the venue {} has not answered for ", proxy.url);
    let parts = [
        &stated,
        since,
        "the book of ETH-USDC is ",
        &format!("the last until {until_text} (expiry plus grace)"),
    ];
    let (code, text, _) = stage.prose("status");
    assert_eq!(code, 0);
    assert!(text.starts_with(&stated), "{text}");
    let (head, readyz) = page(&address, "/readyz").unwrap();
    assert!(head.contains(" 503 "), "{head}");
    let data = body(&address, "/page.json").unwrap();
    let data: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(data["markets"][0]["depth_stale"], true);
    let on_page = data["status"]["outage"]["text"].as_str().unwrap();
    let (_, top, _) = stage.prose("top --once");
    assert!(top.contains(&stated), "{top}");
    for part in parts {
        for shown in [text.as_str(), &readyz, on_page] {
            assert!(shown.contains(part), "no {part} in {shown}");
        }
    }
    stage.venue.signal(Signal::CONT);
    over(&stage, &mut daemon, &address);

    proxy.close();
    let status = outage(&stage, &mut daemon);
    let cause = status["outage"]["cause"].as_str().unwrap();
    assert!(!cause.contains("timed out"), "{cause}");
    proxy.open();
    over(&stage, &mut daemon, &address);
    assert_eq!(daemon.drain(DRAINED), 0, "{}", daemon.last_words());
    stage.books().assert_ledger(&daemon.stdout());
    stage.close();
}

#[test]
fn a_drain_shows_that_it_waits_for_balances_and_until_when() {
    let stage = Stage::open("outage-drain", |_| {});
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, |file| {
        quick(file);
        file.put("shutdown.deadline_s", 60);
    });
    let mut daemon = stage.run("daemon");
    let address = stage.metrics("daemon", &mut daemon);
    over(&stage, &mut daemon, &address);
    let (_, status, _) = stage.command("status");
    assert!(status["drain"].is_null(), "{status}");
    proxy.plan(|seen| {
        if seen.is_read_of("user/balances") {
            Fault::LoseRequest
        } else {
            Fault::Pass
        }
    });
    let (code, _, log) = stage.command("drain");
    assert_eq!(code, 0, "{log}");
    let status = until(SOON, "a drain that waits for balances", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (_, status, _) = stage.command("status");
        (status["drain"]["waits_for"] == "balances").then_some(status)
    });
    assert_eq!(stage.books().open(), 0);
    let left_ms = status["drain"]["left_ms"].as_u64().unwrap();
    assert!((1..60_000).contains(&left_ms), "{status}");
    let until_text = status["drain"]["until"].as_str().unwrap();
    let stated = format!(
        "draining: waits for balances of the venue, which are compared with the books; at {until_text} the run ends without proof\n"
    );
    let (_, text, _) = stage.prose("status");
    let (_, readyz) = page(&address, "/readyz").unwrap();
    assert!(text.contains(&stated), "{text}");
    assert!(readyz.contains(&stated), "{readyz}");
    proxy.plan(|_| Fault::Pass);
    assert_eq!(daemon.end(SOON), 0, "{}", daemon.last_words());
    stage.books().assert_ledger(&daemon.stdout());
    stage.close();
}
