//! Faults of a node and of its chain while the daemon runs and while it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cambist_evm::U256;
use serde_json::{Value, json};

use super::contracts::{Keeps, PAIR, TOKENS};
use super::node::Bad;
use super::stage::{SOON, Stage, account};
use super::starts::no_answers;
use crate::support::http::metric;
use crate::support::{Edit, Program, until};

/// A daemon that holds shares and has booked them.
fn holding(name: &str) -> (Stage, Program) {
    let stage = Stage::open(name);
    let mut daemon = stage.run();
    stage.until_shares(&mut daemon, true);
    stage.blocks(3);
    (stage, daemon)
}

/// No answer of a node stops a daemon, makes it sign, or changes its books.
#[test]
fn no_answers_are_survived_and_nothing_is_signed_meanwhile() {
    let (stage, mut daemon) = holding("evm-survives");
    let sent = stage.node.chain(|chain| chain.sent.len());
    // A node that refuses the client while it runs is away: it states nothing about the account and its key.
    let refusals = [401, 403].map(|status| (Bad::Html(status), ""));
    for (bad, _) in no_answers().into_iter().chain(refusals) {
        stage.node.recovers();
        stage.node.answers(None, bad.clone());
        let asked = stage.node.asked("eth_getBlockByNumber");
        until(SOON, &format!("requests that got {bad:?}"), || {
            assert!(daemon.ended().is_none(), "{bad:?}\n{}", daemon.last_words());
            (stage.node.asked("eth_getBlockByNumber") >= asked + 2).then_some(())
        });
    }
    stage.node.recovers();
    assert_eq!(stage.node.chain(|chain| chain.sent.len()), sent);
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
}

/// The answer to every submit is lost: whether the bytes were taken is not known, and the chain decides.
#[test]
fn answers_to_submits_that_are_lost_prove_nothing() {
    let faults = [
        Bad::Closed,
        Bad::Html(502),
        Bad::Error(-32_000, "nonce too low"),
        Bad::Error(-32_000, "already known"),
        Bad::Error(-32_000, "insufficient funds for gas * price + value"),
        Bad::Error(-32_000, "a text that no node has"),
        Bad::Result(json!("0x1234")),
    ];
    for bad in faults {
        let stage = Stage::open("evm-submits");
        stage
            .node
            .answers(Some("eth_sendRawTransaction"), bad.clone());
        let mut daemon = stage.run();
        stage.until_shares(&mut daemon, true);
        stage.blocks(3);
        assert_eq!(daemon.drain(SOON), 0, "{bad:?}\n{}", daemon.last_words());
    }
}

/// A node that takes bytes and forgets them: the join is dead behind its deadline, and the next one replaces it.
#[test]
fn a_join_that_the_node_forgets_is_dead_behind_its_deadline() {
    let stage = Stage::open("evm-forgets");
    stage.node.chain(|chain| chain.is_forgetful = true);
    let mut daemon = stage.run();
    until(SOON, "a join that was sent", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (stage.node.asked("eth_sendRawTransaction") > 0).then_some(())
    });
    stage.blocks(2);
    stage.node.chain(|chain| chain.is_forgetful = false);
    stage.until_shares(&mut daemon, true);
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
}

#[test]
fn newest_blocks_that_are_replaced_take_nothing_back() {
    let (stage, mut daemon) = holding("evm-reorganised");
    stage.node.chain(|chain| chain.finality = 3);
    stage.blocks(4);
    for _ in 0..3 {
        stage.node.chain(|chain| chain.fork(2));
        stage.blocks(1);
    }
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
}

#[test]
fn a_chain_without_new_blocks_is_waited_for() {
    let (stage, mut daemon) = holding("evm-stalled");
    let sent = stage.node.chain(|chain| {
        chain.is_stalled = true;
        chain.sent.len()
    });
    std::thread::sleep(std::time::Duration::from_secs(7));
    assert!(daemon.ended().is_none(), "{}", daemon.last_words());
    stage.node.chain(|chain| chain.is_stalled = false);
    stage.blocks(3);
    assert_eq!(stage.node.chain(|chain| chain.sent.len()), sent);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
}

/// A daemon whose account stopped shows it at once: error log, metric, status, and cancel-only until an operator resumes.
#[track_caller]
fn stops(stage: &Stage, daemon: &mut Program, cause: &str, reason: &str) {
    until(SOON, "an account that stopped", || {
        let page = stage.metrics(daemon);
        let label = format!("cause=\"{cause}\"");
        (metric(&page, "cambist_account_stopped", &[&label]) > 0.0).then_some(())
    });
    let sent = stage.node.chain(|chain| chain.sent.len());
    until(SOON, "cancel-only", || {
        let (code, out, _) = stage.command("status");
        (code == 0 && out.contains("cancel_only")).then_some(())
    });
    let (_, out, _) = stage.command("status");
    assert!(out.contains(reason), "{reason}\n{out}");
    let log = daemon.stderr();
    let errors = log.lines().filter(|line| {
        line.contains("\"ERROR\",\"message\":\"the account stopped") && line.contains(reason)
    });
    assert_eq!(errors.count(), 1, "{log}");
    assert!(log.contains("docs/evm-pools.md"), "{log}");
    assert_eq!(
        stage.node.chain(|chain| chain.sent.len()),
        sent,
        "nothing is signed"
    );
    // Nothing is proven any more, and the end states that.
    assert_ne!(daemon.drain(SOON), 0, "{}", daemon.last_words());
}

#[test]
fn a_finalized_block_that_is_replaced_stops_the_account() {
    let (stage, mut daemon) = holding("evm-forks");
    stage.node.chain(|chain| chain.fork(3));
    stops(
        &stage,
        &mut daemon,
        "fork",
        "a finalized block was replaced",
    );
}

/// One wrong answer about a block of before is asked again.
#[test]
fn a_block_that_is_stated_wrong_once_stops_nothing() {
    let (stage, mut daemon) = holding("evm-one-lie");
    let (asked, wrong) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (counted, stated) = (Arc::clone(&asked), Arc::clone(&wrong));
    stage
        .node
        .alters("eth_getBlockByNumber", move |asked, mut block| {
            let is_number = asked[0].as_str().is_some_and(|at| at.starts_with("0x"));
            // Every second answer, twenty times: the same question is answered right behind it.
            if is_number
                && counted.fetch_add(1, Ordering::Relaxed) % 2 == 1
                && stated.load(Ordering::Relaxed) < 20
            {
                stated.fetch_add(1, Ordering::Relaxed);
                block["hash"] = format!("0x{}", "5a".repeat(32)).into();
            }
            block
        });
    until(SOON, "wrong answers", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (wrong.load(Ordering::Relaxed) == 20).then_some(())
    });
    stage.blocks(4);
    let page = stage.metrics(&mut daemon);
    let stopped = page
        .lines()
        .filter(|line| line.starts_with("cambist_account_stopped") && !line.ends_with(" 0"));
    assert_eq!(stopped.count(), 0, "{}", daemon.stderr());
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
}

/// Times of all blocks that are an hour ahead for seconds, while a join waits for its block: nothing is concluded from
/// them, and the join is booked as soon as the times are right again, without a restart.
#[test]
fn false_times_of_blocks_conclude_nothing_and_are_over_with_their_cause() {
    let stage = Stage::open("evm-false-times");
    stage.node.chain(|chain| chain.is_full = true);
    let mut daemon = stage.run();
    until(SOON, "a join that was sent", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (stage.node.asked("eth_sendRawTransaction") > 0).then_some(())
    });
    stage.node.alters("eth_getBlockByNumber", |_, mut block| {
        let stated = block["timestamp"].as_str().unwrap_or("0x0");
        let time_s = u64::from_str_radix(stated.trim_start_matches("0x"), 16).unwrap();
        block["timestamp"] = format!("{:#x}", time_s + 3_600).into();
        block
    });
    until(SOON, "a cause", || {
        let (_, out, _) = stage.command("status --json");
        out.contains("states another time of block").then_some(())
    });
    stage.node.chain(|chain| chain.is_full = false);
    stage.until_shares(&mut daemon, true);
    stage.blocks(3);
    stage.node.recovers();
    until(SOON, "answers", || {
        let (_, out, _) = stage.command("status --json");
        let page: Value = serde_json::from_str(&out).ok()?;
        (page["unanswered"] == json!({})).then_some(())
    });
    stage.blocks(3);
    let log = daemon.stderr();
    assert!(!log.contains("fenced"), "{log}");
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
}

/// What an operator resumes in the same run signs nothing: the cause is stated again.
#[test]
fn an_account_that_stopped_is_not_resumed_in_its_run() {
    let (stage, mut daemon) = holding("evm-resumed");
    stage.node.chain(|chain| chain.fork(3));
    let stopped = |daemon: &mut Program, times: usize| {
        until(SOON, "cancel-only", || {
            assert!(daemon.ended().is_none(), "{}", daemon.last_words());
            let log = daemon.stderr();
            let count = log
                .matches("\"ERROR\",\"message\":\"the account stopped")
                .count();
            let (_, out, _) = stage.command("status");
            (count == times && out.contains("cancel_only")).then_some(())
        });
    };
    stopped(&mut daemon, 1);
    let sent = stage.node.chain(|chain| chain.sent.len());
    let (code, out, log) = stage.command("resume --reason again");
    assert_eq!(code, 0, "{out} {log}");
    stopped(&mut daemon, 2);
    assert_eq!(stage.node.chain(|chain| chain.sent.len()), sent);
    assert_ne!(daemon.drain(SOON), 0, "{}", daemon.last_words());
}

#[test]
fn the_balances_of_an_account_are_those_of_all_tokens() {
    let (stage, mut daemon) = holding("evm-balances");
    let (code, out, log) = stage.command("account balances --json");
    assert_eq!(code, 0, "{out} {log}");
    for symbol in ["ETH", "ONE", "TWO"] {
        assert!(out.contains(&format!("\"{symbol}\"")), "{symbol}: {out}");
    }
    for token in TOKENS {
        let held = stage.held(token).to_string();
        assert!(out.contains(&held), "{held}: {out}");
    }
    let shares = stage.held(PAIR);
    assert!(shares > U256::ZERO, "a part of the account is in the pool");
    let shape: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(shape["LP-ONE-TWO"]["units"], shares.to_string(), "{out}");
    let (code, out, log) = stage.command("account balances");
    assert!(code == 0 && out.contains("LP-ONE-TWO"), "{out} {log}");
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
}

#[test]
fn a_node_that_comes_back_with_an_older_chain_stops_the_account() {
    let (stage, mut daemon) = holding("evm-back");
    stage.node.closes();
    stage.node.chain(|chain| chain.rewind(4));
    stage.blocks(1);
    stage.node.opens();
    stops(
        &stage,
        &mut daemon,
        "fork",
        "a finalized block was replaced",
    );
}

#[test]
fn a_nonce_of_another_holder_of_the_key_stops_the_account() {
    let (stage, mut daemon) = holding("evm-spent");
    stage.node.chain(|chain| {
        chain.change(|world| *world.nonces.entry(account()).or_default() += 1);
    });
    stops(
        &stage,
        &mut daemon,
        "nonce",
        "was spent by a transaction that was not signed here",
    );
}

#[test]
fn a_token_that_keeps_a_part_of_transfers_stops_the_account_at_its_first_receipt() {
    for is_hidden in [false, true] {
        let stage = Stage::with("evm-keeps", |file| {
            file.put("venue.accept_unprobed_tokens", true);
        });
        stage.node.chain(|chain| {
            // Otherwise the start finds it.
            chain.runs_other_code = false;
            let keeps = Keeps { bps: 5, is_hidden };
            chain.change(|world| world.token(TOKENS[0]).keeps = keeps);
        });
        let mut daemon = stage.run();
        let reason = "a token keeps a part of what is transferred";
        stops(&stage, &mut daemon, "receipt", reason);
    }
}

#[test]
fn a_receipt_that_is_not_the_transactions_stops_the_account() {
    let stage = Stage::open("evm-receipts");
    stage
        .node
        .alters("eth_getTransactionReceipt", |_, mut receipt| {
            if receipt["logs"]
                .as_array()
                .is_some_and(|logs| logs.len() > 3)
            {
                receipt["logs"].as_array_mut().unwrap().pop();
            }
            receipt
        });
    let mut daemon = stage.run();
    stops(
        &stage,
        &mut daemon,
        "receipt",
        "the logs are not those of the intent",
    );
}

/// A balance that changes by itself is a difference of the books, which stops trading.
#[test]
fn a_balance_that_changes_by_itself_stops_trading() {
    let (stage, mut daemon) = holding("evm-rebase");
    stage.node.chain(|chain| {
        chain.change(|world| {
            let token = world.token(TOKENS[1]);
            let more = token.of(account()) * U256::from(2);
            token.rebase(account(), more);
        });
    });
    until(SOON, "books that differ", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (_, out, _) = stage.command("status --json");
        let page: Value = serde_json::from_str(&out).ok()?;
        page.to_string().contains("TWO").then_some(())?;
        (stage.metrics(&mut daemon).lines())
            .any(|line| line.starts_with("cambist_books_hold") && line.ends_with(" 1"))
            .then_some(())
    });
    assert_ne!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert!(stage.held(PAIR) > U256::ZERO);
}

/// What the guide states for a node that was wrong: with the right one the same state folder goes on.
#[test]
fn with_a_node_of_the_right_chain_the_same_folder_goes_on() {
    let (stage, mut daemon) = holding("evm-right-node");
    stage.blocks(6);
    let right = stage.node.chain(|chain| chain.clone());
    stage.node.chain(|chain| chain.fork(5));
    stops(
        &stage,
        &mut daemon,
        "fork",
        "a finalized block was replaced",
    );
    // Nothing trades with the right one before an operator resumes.
    stage.node.chain(|chain| *chain = right);
    stage.blocks(3);
    let mut daemon = stage.run();
    until(SOON, "a start that is over", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        daemon.stderr().contains("\"ready: ").then_some(())
    });
    let (_, out, _) = stage.command("status");
    assert!(out.contains("cancel_only"), "{out}");
    let (code, _, log) = stage.command("resume --reason tested");
    assert_eq!(code, 0, "{log}");
    stage.blocks(6);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
}

/// What the guide states for a nonce of another holder of the key: a new state folder begins with what the chain holds.
#[test]
fn a_new_state_folder_goes_on_with_the_same_account() {
    let (stage, mut daemon) = holding("evm-new-folder");
    stage.node.chain(|chain| {
        chain.change(|world| *world.nonces.entry(account()).or_default() += 1);
    });
    stops(&stage, &mut daemon, "nonce", "was spent by a transaction");
    let (code, out, log) = stage.command("panic --yes --reason tested");
    assert_eq!(code, 0, "{out}{log}");
    std::fs::rename(stage.path("state"), stage.path("evidence")).unwrap();
    let held = stage.held(PAIR);
    let mut daemon = stage.run();
    stage.blocks(6);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert_eq!(
        stage.held(PAIR),
        held,
        "the shares were in the opening balances"
    );
}

#[test]
fn an_end_without_a_node_is_not_proven_and_the_next_one_is() {
    for bad in [Bad::Closed, Bad::Html(200), Bad::Silent] {
        let stage = Stage::with("evm-drain", |file| {
            let shutdown: toml::Table = "deadline_s = 11".parse().unwrap();
            file.insert("shutdown".to_owned(), shutdown.into());
        });
        // A join that is undecided.
        stage.node.chain(|chain| chain.is_full = true);
        let mut daemon = stage.run();
        until(SOON, "a join that was sent", || {
            assert!(daemon.ended().is_none(), "{}", daemon.last_words());
            (stage.node.asked("eth_sendRawTransaction") > 0).then_some(())
        });
        stage.node.answers(None, bad.clone());
        let code = daemon.drain(SOON);
        assert_ne!(code, 0, "{bad:?}: {}", daemon.last_words());
        stage.node.recovers();
        stage.node.chain(|chain| chain.is_full = false);
        let (code, out, log) = stage.command("panic --yes --reason tested");
        assert_eq!(code, 0, "{bad:?}: {out}{log}");
        let (code, _, log) = stage.command("resume --reason tested");
        assert_eq!(code, 0, "{bad:?}: {log}");
        let mut daemon = stage.run();
        stage.until_shares(&mut daemon, true);
        stage.blocks(3);
        assert_eq!(daemon.drain(SOON), 0, "{bad:?}: {}", daemon.last_words());
    }
}

#[test]
fn panic_without_a_usable_node_proves_nothing() {
    let (stage, mut daemon) = holding("evm-panic");
    for bad in [
        Bad::Html(200),
        Bad::WrongId,
        Bad::Error(-32_000, "header not found"),
    ] {
        stage.node.recovers();
        stage.node.answers(None, bad.clone());
        let (code, out, log) = stage.command("panic --yes --reason tested --within 3s");
        assert_ne!(code, 0, "{bad:?}: {out}{log}");
        assert!(!log.contains("secret-of-the-provider"), "{log}");
    }
    stage.node.recovers();
    let (code, out, log) = stage.command("panic --yes --reason tested");
    assert_eq!(code, 0, "{out}{log}");
    assert_eq!(daemon.end(SOON), 78, "{}", daemon.last_words());
    let sent = stage.node.chain(|chain| chain.sent.len());
    let mut refused = stage.run();
    assert_eq!(refused.end(SOON), 78, "{}", refused.last_words());
    assert_eq!(stage.node.chain(|chain| chain.sent.len()), sent);
}
