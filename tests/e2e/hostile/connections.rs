//! Faults beyond single answers: unreachable or foreign servers, hanging processes, and an answer after which the venue
//! is not trusted.

use std::net::TcpListener;
use std::time::Duration;

use rustix::process::Signal;

use super::table::{GATEWAY, HTML, JSON, instead};
use super::{SOON, assert_whole};
use crate::support::conditions::assert_same_bytes;
use crate::support::http::body;
use crate::support::stage::{lively, quick};
use crate::support::{Fault, Proxy, Stage, until};

/// The answer to a submit, about another order.
fn another_hash(body: &str) -> String {
    const BEFORE: &str = "\"hash\":\"0x";
    let Some(at) = body.find(BEFORE) else {
        return body.to_owned();
    };
    let at = at + BEFORE.len() + 40;
    let digit = if body[at..].starts_with('0') {
        "1"
    } else {
        "0"
    };
    format!("{}{digit}{}", &body[..at], &body[at + 1..])
}

/// The answer contradicts the interface, so that an operator has to intervene.
#[test]
fn an_acknowledgement_of_another_order_stops_trading() {
    let stage = Stage::open_kept("another-hash", lively);
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, quick);
    let mut daemon = stage.run("daemon");
    let address = stage.metrics("daemon", &mut daemon);
    until(SOON, "orders", || (stage.books().open() > 0).then_some(()));
    proxy.plan(|seen| {
        if seen.is_submit() {
            Fault::Mangle(another_hash)
        } else {
            Fault::Pass
        }
    });
    until(SOON, "the end of trading", || {
        let stopped = body(&address, "/status")?.contains("cancel_only");
        (stopped && stage.books().open() == 0).then_some(())
    });
    assert!(daemon.stderr().contains("\"submit_answer\""));
    assert_eq!(daemon.drain(SOON), 79, "{}", daemon.last_words());
    assert_whole(&stage, &daemon, "another hash");
    stage.close_audited(&daemon);
}

#[test]
fn a_start_survives_a_network_that_is_not_well_yet() {
    let stage = Stage::open_kept("bad-start", lively);
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, quick);
    proxy.plan(|seen| match (seen.path.ends_with("/order"), seen.nth) {
        (false, 0) => instead(true, "502 Bad Gateway", HTML, "", GATEWAY),
        (false, 1) => Fault::Truncate,
        _ => Fault::Pass,
    });
    let mut daemon = stage.run("daemon");
    stage.metrics("daemon", &mut daemon);
    until(SOON, "orders", || (stage.books().open() > 0).then_some(()));
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert_whole(&stage, &daemon, "bad start");
    stage.close_audited(&daemon);
}

#[test]
fn either_side_may_stand_still_for_a_while() {
    let stage = Stage::open_kept("pause", lively);
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, quick);
    let mut daemon = stage.run("daemon");
    stage.metrics("daemon", &mut daemon);
    let quoting = || {
        let submits = proxy.submits().len();
        until(SOON, "new orders", || {
            (proxy.submits().len() > submits).then_some(())
        });
    };
    quoting();
    // The exchange for longer than answers are waited for, the daemon for longer than its orders live.
    stage.venue.signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(2_500));
    stage.venue.signal(Signal::CONT);
    quoting();
    daemon.signal(Signal::STOP);
    until(SOON, "no order left", || {
        (stage.books().open() == 0).then_some(())
    });
    daemon.signal(Signal::CONT);
    quoting();
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert_whole(&stage, &daemon, "pause");
    assert_same_bytes(&proxy.submits());
    stage.close_audited(&daemon);
}

/// Three times the venue refuses connections for longer than a request's time limit.
#[test]
fn connections_are_refused_in_bursts() {
    let stage = Stage::open_kept("refused", lively);
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, quick);
    let mut daemon = stage.run("daemon");
    stage.metrics("daemon", &mut daemon);
    for _ in 0..3 {
        let submits = proxy.submits().len();
        until(SOON, "new orders", || {
            (proxy.submits().len() > submits).then_some(())
        });
        proxy.close();
        std::thread::sleep(Duration::from_millis(1_200));
        proxy.open();
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
    }
    let submits = proxy.submits().len();
    until(SOON, "orders after all that", || {
        (proxy.submits().len() > submits).then_some(())
    });
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert_whole(&stage, &daemon, "refused");
    assert_same_bytes(&proxy.submits());
    stage.close_audited(&daemon);
}

/// Keys and signed orders must not be sent to the target of a redirect.
#[test]
fn redirects_are_not_followed() {
    let stage = Stage::open_kept("elsewhere", lively);
    let proxy = Proxy::start(&stage.address);
    let elsewhere = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, quick);
    let mut daemon = stage.run("daemon");
    stage.metrics("daemon", &mut daemon);
    until(SOON, "orders", || (stage.books().open() > 0).then_some(()));
    let url = elsewhere.url.clone();
    proxy.plan(move |seen| {
        if seen.nth.is_multiple_of(2) {
            return Fault::Pass;
        }
        let status = [
            "307 Temporary Redirect",
            "308 Permanent Redirect",
            "302 Found",
        ];
        let status = status[usize::try_from(seen.nth).unwrap() % status.len()];
        let to = format!("Location: {url}{}\r\n", seen.path);
        instead(false, status, JSON, &to, "")
    });
    until(SOON, "redirects", || (proxy.faults() >= 20).then_some(()));
    proxy.plan(|_| Fault::Pass);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert_eq!(elsewhere.connections(), 0);
    assert_whole(&stage, &daemon, "elsewhere");
    stage.close_audited(&daemon);
}

/// A venue that cannot be reached is waited for, the error is logged, and nothing is started.
#[test]
fn names_and_certificates_that_are_no_good() {
    let stage = Stage::open("no-good", |_| {});
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap().to_string();
    for (name, url) in [
        ("dns", "https://no-such-venue.invalid".to_owned()),
        ("plain-behind-https", format!("https://{}", stage.address)),
        ("silent-behind-https", format!("https://{silent}")),
    ] {
        stage.daemon(name, &url, quick);
        let mut daemon = stage.run(name);
        until(SOON, "the error in the log", || {
            assert!(daemon.ended().is_none(), "{}", daemon.last_words());
            daemon
                .stderr()
                .contains("the venue is not ready (")
                .then_some(())
        });
        assert_eq!(daemon.drain(SOON), 0, "{name}: {}", daemon.last_words());
        assert!(!stage.path(&format!("{name}-tape")).exists());
    }
    assert_eq!(stage.books().orders.len(), 0);
    stage.close();
}
