//! A daemon whose key a signer holds: it trades, does without the signer for a while, and cannot do more.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use toml::Table;

use super::Signer;
use crate::support::http::{body, metric};
use crate::support::process::{SIGNER, run};
use crate::support::stage::{quick, with_pool};
use crate::support::{Edit, Program, Stage, until};

const SOON: Duration = Duration::from_mins(1);

/// An exchange, and the files of a daemon and of its signer, whose key is that of the exchange's market maker.
fn staged(name: &str, daemon: fn(&mut Table), signer: impl FnOnce(&mut Table)) -> (Stage, PathBuf) {
    let stage = Stage::open(name, |_| {});
    let config = stage.daemon("daemon", &stage.url(), daemon);
    let args = ["signer-config", "--config", &config.display().to_string()];
    let (code, text, log) = run(stage.folder.path(), "signer-config", &args, SOON);
    assert_eq!(code, 0, "{log}");
    let mut file: Table = text.parse().unwrap();
    file.put("signer.socket", "signer.sock")
        .put("signer.state_dir", "signed")
        .put("signer.users", Vec::<toml::Value>::new())
        .put("keys.credentials", false)
        .put("keys.eddsa_key_file", "keys/eddsa_key");
    signer(&mut file);
    let path = stage.path("signer.toml");
    std::fs::write(&path, file.to_string()).unwrap();
    stage.daemon("daemon", &stage.url(), |file| {
        daemon(file);
        let keys = file["keys"].as_table_mut().unwrap();
        keys.remove("eddsa_key_file");
        keys.insert("signer".to_owned(), "unix:signer.sock".into());
    });
    (stage, path)
}

fn signer(stage: &Stage, config: PathBuf) -> Signer {
    Signer::start(&stage.folder, config, stage.path("signer.sock"))
}

fn again(stage: &Stage, signer: &Signer) -> Signer {
    let config = signer.config.clone();
    Signer::again(&stage.folder, config, signer.socket.clone())
}

#[track_caller]
fn quotes(stage: &Stage, daemon: &mut Program) {
    until(SOON, "quotes at the exchange", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (stage.books().open() >= 2).then_some(())
    });
}

fn refused(address: &str, cause: &str) -> f64 {
    let page = body(address, "/metrics").unwrap_or_default();
    let cause = format!("cause=\"{cause}\"");
    metric(&page, "cambist_signatures_refused_total", &[&cause])
}

#[test]
fn a_daemon_trades_without_the_key_and_goes_on_when_its_signer_is_back() {
    let (stage, config) = staged("signer-trades", quick, |_| {});
    let mut signer = signer(&stage, config);
    let (code, text, log) = stage.prose("check");
    assert_eq!(code, 0, "{log}");
    assert!(
        text.contains("The signing key is held by the signer at"),
        "{text}"
    );
    assert!(!text.contains("the signer would refuse"), "{text}");
    // The daemon's process cannot read the key.
    let key = stage.path("keys/eddsa_key");
    let kept = stage.path("elsewhere");
    std::fs::rename(&key, &kept).unwrap();
    let mut daemon = stage.run("daemon");
    let address = stage.metrics("daemon", &mut daemon);
    std::fs::rename(&kept, &key).unwrap();
    quotes(&stage, &mut daemon);

    signer.program.kill();
    until(SOON, "refused signatures", || {
        (refused(&address, "unavailable") > 0.0).then_some(())
    });
    // Nothing new is signed, and cancels are not either: what rests expires.
    until(SOON, "an empty book", || {
        (stage.books().open() == 0).then_some(())
    });
    let status = stage.command("status").1;
    assert_eq!(status["level"], "trading", "{status}");
    assert!(
        daemon.stderr().contains("the signer does not answer"),
        "{}",
        daemon.last_words()
    );

    signer = again(&stage, &signer);
    quotes(&stage, &mut daemon);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let books = stage.books();
    assert_eq!(books.open(), 0);
    books.assert_ledger(&daemon.stdout());
    signer.program.signal(Signal::TERM);
    assert_eq!(
        signer.program.end(SOON),
        0,
        "{}",
        signer.program.last_words()
    );
    stage.close();
}

#[test]
fn a_start_waits_for_its_signer() {
    let (stage, config) = staged("signer-away", quick, |_| {});
    let (code, text, _) = stage.prose("check");
    assert!(
        code == 0 && text.contains("warning: the signer does not answer"),
        "{text}"
    );
    let mut daemon = stage.run("daemon");
    let waits = until(SOON, "a start that waits", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (_, page, _) = stage.command("status");
        page["waiting"].is_object().then(|| page["waiting"].clone())
    });
    assert!(
        waits["cause"].as_str().unwrap().contains("signer"),
        "{waits}"
    );
    let _signer = signer(&stage, config);
    quotes(&stage, &mut daemon);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}

#[test]
fn a_signer_of_another_account_or_venue_ends_the_start() {
    for (key, value, what) in [
        (
            "account.account_id",
            toml::Value::from(10_777),
            "account 10777",
        ),
        (
            "account.base_url",
            "https://other.example".into(),
            "https://other.example",
        ),
        ("account.chain_id", 5.into(), "on chain 5"),
    ] {
        let (stage, config) = staged("signer-other", quick, |file| {
            file.put(key, value);
        });
        let _signer = signer(&stage, config);
        if key != "account.chain_id" {
            // Known without asking the venue.
            let (code, _, error) = stage.prose("check");
            assert_eq!(code, 77, "{error}");
            assert!(error.contains(what), "{error}");
        }
        let mut daemon = stage.run("daemon");
        assert_eq!(daemon.end(SOON), 77, "{}", daemon.last_words());
        assert!(daemon.stderr().contains(what), "{}", daemon.last_words());
    }
}

/// A signer that signs no sales: the daemon buys, stays active, and states why one side has no quotes.
#[test]
fn what_a_signer_refuses_is_never_sent_and_stops_nothing_else() {
    let (stage, config) = staged("signer-refuses", quick, |file| {
        let tokens = file["token"].as_array_mut().unwrap();
        let of = |token: &&mut toml::Value| token["symbol"].as_str() == Some("ETH");
        let eth = tokens.iter_mut().find(of).unwrap().as_table_mut().unwrap();
        eth.insert("signed_unexpired_max".to_owned(), "0.000001".into());
    });
    let _signer = signer(&stage, config);
    let (code, text, _) = stage.prose("check");
    assert!(
        code == 0 && text.contains("the signer would refuse orders"),
        "{text}"
    );
    let (_, findings, _) = stage.command("doctor");
    let findings = findings["findings"].as_array().unwrap();
    let about = |one: &&Value| one["check"] == "signer" && one["verdict"] == "warning";
    assert!(findings.iter().any(|one| about(&one)), "{findings:?}");
    let mut daemon = stage.run("daemon");
    let address = stage.metrics("daemon", &mut daemon);
    quotes(&stage, &mut daemon);
    until(SOON, "refusals", || {
        (refused(&address, "refused") > 0.0).then_some(())
    });
    let open = stage.books().orders.into_iter();
    let sides: Vec<_> = open
        .filter(|order| !order.status.is_final())
        .map(|order| order.side)
        .collect();
    assert!(
        sides.iter().all(|side| *side == cambist_core::Side::Buy),
        "{sides:?}"
    );
    let reason = until(SOON, "the reason", || {
        let page = stage.command("status").1.to_string();
        page.contains("\"signer\"").then_some(page)
    });
    assert!(
        reason.contains("the signer of the key refused the last order"),
        "{reason}"
    );
    assert!(
        daemon.stderr().contains("unexpired: "),
        "{}",
        daemon.last_words()
    );
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}

#[test]
fn joins_are_signed_and_requests_that_move_funds_or_keys_are_not() {
    let (stage, config) = staged("signer-account", with_pool, |_| {});
    let _signer = signer(&stage, config);
    let mut daemon = stage.run("daemon");
    until(SOON, "shares of the pool", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (!stage.moves().is_empty()).then_some(())
    });
    // By hand as well, beside the daemon: for as long as the signer signs for, without being asked to.
    let joins = stage.moves().len();
    let (code, page, log) = stage.command("account join --market ETH-USDC --shares 1 --yes");
    assert_eq!(code, 0, "{page} {log}");
    assert!(stage.moves().len() > joins, "{page}");
    for line in [
        "account withdraw --token ETH --amount 0.1 --owner-key wallet --yes",
        "account transfer --to 0x2222222222222222222222222222222222222222 --token ETH --amount 0.1 --owner-key wallet --yes",
        "account update-key --owner-key wallet --yes",
        "account rotate-api-key --yes",
    ] {
        let (code, _, log) = stage.command(line);
        assert!(code == 77, "{line}: {code} {log}");
        assert!(log.contains("keys.eddsa_key_file"), "{line}: {log}");
    }
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}

#[test]
fn panic_cancels_with_the_signer() {
    let (stage, config) = staged("signer-panic", quick, |_| {});
    let _signer = signer(&stage, config.clone());
    let mut daemon = stage.run("daemon");
    quotes(&stage, &mut daemon);
    daemon.kill();
    let daemon_file = stage.path("daemon.toml").display().to_string();
    let args = ["panic", "--yes", "--config", &daemon_file];
    let (code, out, log) = run(stage.folder.path(), "panic", &args, SOON);
    assert_eq!(code, 0, "{out}{log}");
    assert_eq!(stage.books().open(), 0);
    let status = Command::new(SIGNER)
        .args(["status", "--json", "--config"])
        .arg(config)
        .output()
        .unwrap();
    let page: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert!(page["tokens"][0]["window"] != "0", "{page}");
    stage.close();
}

/// Without the signer nothing is cancelled, and that is what is reported: the orders end by their expiry.
#[test]
fn panic_without_its_signer_counts_no_cancel() {
    let (stage, config) = staged("signer-panic-alone", quick, |_| {});
    let mut signer = signer(&stage, config);
    let mut daemon = stage.run("daemon");
    quotes(&stage, &mut daemon);
    daemon.kill();
    signer.program.kill();
    let daemon_file = stage.path("daemon.toml").display().to_string();
    let args = ["panic", "--yes", "--json", "--config", &daemon_file];
    let (code, out, log) = run(stage.folder.path(), "panic", &args, SOON);
    assert_eq!(code, 0, "{out}{log}");
    let page: Value = serde_json::from_str(&out).unwrap();
    assert!(page["found"].as_u64().unwrap() > 0, "{page}");
    assert_eq!(page["cancels"], 0, "{page}");
    assert!(page["cancels_not_sent"].as_u64().unwrap() > 0, "{page}");
    let why = page["cancels_not_sent_why"].as_str().unwrap();
    assert!(why.contains("signer"), "{page}");
    stage.close();
}
