//! Starts on a chain, a node or a key that is not what the file states: refused with the reason, or waited for with it.
//! Nothing is signed in any of them.

use serde_json::{Value, json};

use super::chain::Chain;
use super::contracts::{Keeps, OTHERS, PAIR, Router, TOKENS};
use super::node::Bad;
use super::stage::{SOON, Stage, account, private};
use crate::support::{Edit, Program, until};

/// Every answer that is no answer, and what a start that waits shows of it.
pub fn no_answers() -> Vec<(Bad, &'static str)> {
    let unusable = "the node gave no usable answer";
    vec![
        (Bad::Html(200), unusable),
        (Bad::Html(502), unusable),
        (Bad::Html(404), unusable),
        (Bad::Redirect, unusable),
        (Bad::Endless, unusable),
        (Bad::WrongId, unusable),
        (Bad::Cut, unusable),
        (Bad::Closed, unusable),
        (Bad::Silent, unusable),
        (Bad::Garbage, unusable),
        (Bad::Result(json!([])), unusable),
        (Bad::Result(json!("0x0")), ""),
        (Bad::Result(Value::Null), ""),
        (Bad::Error(-32_000, "header not found"), "header not found"),
        (
            Bad::Error(-32_601, "the method does not exist"),
            "does not exist",
        ),
        (Bad::Html(429), "too many requests"),
    ]
}

/// The end of a start: exit code and log. Nothing was signed.
#[track_caller]
fn refused(stage: &Stage) -> (i32, String) {
    let before = stage.node.chain(|chain| chain.sent.len());
    let journal = std::fs::read(stage.path("state/transactions")).unwrap_or_default();
    let mut daemon = stage.run();
    let code = daemon.end(SOON);
    assert_eq!(
        stage.node.chain(|chain| chain.sent.len()),
        before,
        "nothing is sent"
    );
    let after = std::fs::read(stage.path("state/transactions")).unwrap_or_default();
    assert!(after == journal, "nothing is signed");
    (code, daemon.stderr())
}

#[test]
fn a_chain_that_is_not_the_files_is_refused() {
    type Change = fn(&mut Chain);
    let changes: [(Change, &str); 8] = [
        (
            |chain| chain.id = 1,
            "the node is of chain 1, and venue.chain_id is 31337",
        ),
        (
            |chain| chain.finality = 9,
            "orders.grace_s = 4 has to cover that",
        ),
        (
            |chain| chain.change(|world| world.missing.push(TOKENS[1])),
            "TWO: there is no contract at 0x2222",
        ),
        (
            |chain| chain.change(|world| world.factory_of_router = OTHERS),
            "the router belongs to another factory than venue.factory",
        ),
        (
            |chain| chain.change(|world| world.router_is = Router::Reverting),
            "venue.router: the contract at 0x4040404040404040404040404040404040404040 has no usable factory() (execution reverted), so that it is no router of Uniswap V2",
        ),
        (
            |chain| chain.change(|world| world.router_is = Router::Silent),
            "has no usable factory() (",
        ),
        (
            |chain| chain.change(|world| world.token(TOKENS[0]).decimals = 6),
            "only 6 decimals",
        ),
        (
            |chain| chain.change(|world| world.coin.clear()),
            "has no coin to pay for gas",
        ),
    ];
    for (change, reason) in changes {
        let stage = Stage::open("evm-other-chain");
        stage.node.chain(change);
        let (code, log) = refused(&stage);
        assert_eq!(code, 77, "{reason}\n{log}");
        assert!(log.contains(reason), "{reason}\n{log}");
        let (code, out, log) = stage.command("check --online");
        assert_eq!(code, 77, "{reason}\n{out}{log}");
        assert!(log.contains(reason), "{reason}\n{out}{log}");
    }
}

/// The addresses of the two tokens are each other's: the price is the inverse, and nothing would be done with the pool.
#[test]
fn a_pool_whose_price_is_outside_of_the_band_is_found_by_the_check() {
    let stage = Stage::with("evm-swapped-tokens", |file| {
        for (symbol, address) in ["TWO", "ONE"].into_iter().zip(TOKENS) {
            file.put(&format!("venue.tokens.{symbol}"), address.to_hex());
        }
        file.put("market.0.price_decimals", 4);
    });
    let (code, out, log) = stage.command("check --online");
    assert_eq!(code, 1, "{out}{log}");
    for part in [
        "the pool's price is 0.000",
        "are 500 TWO to 20000 TWO",
        "[venue.tokens]",
    ] {
        assert!(out.contains(part), "no {part} in {out}{log}");
    }
}

/// A node whose answers take so long that a poll takes longer than its interval: the status and the log name the poll and
/// the key, and the start goes on when answers are quick again.
#[test]
fn a_start_with_a_slow_node_names_the_poll_and_its_key() {
    let stage = Stage::open("evm-slow-node");
    for method in ["eth_getBlockByNumber", "eth_call"] {
        stage.node.alters(method, |_, answer| {
            std::thread::sleep(std::time::Duration::from_millis(60));
            answer
        });
    }
    let mut daemon = stage.run();
    until(SOON, "slow polls", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (_, out, _) = stage.command("status --json");
        let page: Value = serde_json::from_str(&out).ok()?;
        let slow = page["slow_polls"]["balances"].as_str()?;
        slow.contains("poll.balances_ms is 300").then_some(())
    });
    until(SOON, "a line of the log", || {
        let log = daemon.stderr();
        log.contains("polls take longer than their interval")
            .then_some(())
    });
    stage.node.recovers();
    stage.until_shares(&mut daemon, true);
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
}

/// Both tokens, and what a start finds of them before anything is signed.
#[test]
fn a_token_that_does_not_move_what_it_is_asked_to_is_refused() {
    type Change = fn(&mut Chain, usize);
    let keeps = "the token keeps a part of transfers";
    let untried = "venue.accept_unprobed_tokens = true";
    let changes: [(Change, &str); 5] = [
        (
            |chain, at| {
                let keeps = Keeps {
                    bps: 1,
                    is_hidden: false,
                };
                chain.change(|world| world.token(TOKENS[at]).keeps = keeps);
            },
            keeps,
        ),
        (
            |chain, at| {
                let keeps = Keeps {
                    bps: 500,
                    is_hidden: true,
                };
                chain.change(|world| world.token(TOKENS[at]).keeps = keeps);
            },
            keeps,
        ),
        (
            |chain, at| {
                chain.change(|world| {
                    let token = world.token(TOKENS[at]);
                    let less = token.of(PAIR) - cambist_evm::U256::from(1);
                    token.rebase(PAIR, less);
                });
            },
            "balances of this token change by themselves",
        ),
        (
            |chain, at| chain.change(|world| world.token(TOKENS[at]).is_frozen = true),
            untried,
        ),
        (|chain, _| chain.runs_other_code = false, untried),
    ];
    for (change, reason) in changes {
        for at in [0, 1] {
            let stage = Stage::open("evm-token");
            stage.node.chain(|chain| change(chain, at));
            let (code, log) = refused(&stage);
            assert_eq!(code, 77, "{reason}\n{log}");
            assert!(log.contains(reason), "{reason}\n{log}");
            let (code, out, log) = stage.command("check --online");
            assert_eq!(code, 77, "{reason}\n{out}{log}");
            assert!(log.contains(reason), "{reason}\n{out}{log}");
        }
    }
}

/// An operator who has read the contracts goes on with a node that cannot try them, and is reminded of it.
#[test]
fn a_token_that_could_not_be_tried_is_traded_if_that_is_accepted() {
    let stage = Stage::with("evm-untried", |file| {
        file.put("venue.accept_unprobed_tokens", true);
    });
    stage.node.chain(|chain| chain.runs_other_code = false);
    let mut daemon = stage.run();
    stage.until_shares(&mut daemon, true);
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let reminder = "what a transfer moves could not be tried";
    assert!(daemon.stderr().contains(reminder), "{}", daemon.stderr());
}

#[test]
fn a_key_that_is_not_the_accounts_is_refused_before_anything_is_asked() {
    let stage = Stage::open("evm-other-key");
    private(&stage.path("key"), "0x5");
    let (code, log) = refused(&stage);
    assert_eq!(code, 77, "{log}");
    assert!(log.contains("and venue.account is 0x70997970"), "{log}");
    private(&stage.path("key"), "no key");
    let (code, log) = refused(&stage);
    assert_eq!(code, 77, "{log}");
    assert!(!log.contains("no key\""), "{log}");
    assert_eq!(stage.node.asked("eth_chainId"), 0);
}

/// One start goes through everything that a node can answer instead of an answer, shows each, and trades when it ends.
#[test]
fn a_start_waits_while_its_node_gives_no_answer() {
    let stage = Stage::open("evm-no-answer");
    let mut daemon: Option<Program> = None;
    for (bad, shown) in no_answers() {
        if matches!(bad, Bad::Result(_)) {
            continue;
        }
        stage.node.recovers();
        stage.node.answers(None, bad.clone());
        let daemon = daemon.get_or_insert_with(|| stage.run());
        stage.until_waits(daemon, shown);
    }
    assert!(stage.node.chain(|chain| chain.sent.is_empty()));
    stage.node.recovers();
    let mut daemon = daemon.unwrap();
    stage.until_shares(&mut daemon, true);
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert!(!daemon.stderr().contains("secret-of-the-provider"));
}

#[test]
fn a_start_waits_for_a_node_that_is_away() {
    let stage = Stage::open("evm-away");
    stage.node.closes();
    let mut daemon = stage.run();
    stage.until_waits(&mut daemon, "not reached");
    stage.node.opens();
    stage.until_shares(&mut daemon, true);
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
}

#[test]
fn a_node_that_refuses_the_client_ends_the_start() {
    let stage = Stage::open("evm-forbidden");
    stage.node.answers(None, Bad::Html(403));
    let (code, log) = refused(&stage);
    assert_eq!(code, 77, "{log}");
    assert!(log.contains("venue.node_file"), "{log}");
    assert!(!log.contains("secret-of-the-provider"), "{log}");
}

/// A daemon that holds shares has ended.
fn held(name: &str) -> Stage {
    let stage = Stage::open(name);
    let mut daemon = stage.run();
    stage.until_shares(&mut daemon, true);
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage
}

#[test]
fn a_node_with_an_older_chain_is_refused() {
    let stage = held("evm-older");
    stage.node.chain(|chain| {
        chain.is_stalled = true;
        let depth = chain.latest().number - 15;
        chain.rewind(depth);
    });
    assert_eq!(stage.nonce(), 0);
    let (code, log) = refused(&stage);
    assert_eq!(code, 77, "{log}");
    assert!(log.contains("lags, or follows another chain"), "{log}");
}

#[test]
fn a_chain_whose_finalized_blocks_were_replaced_meanwhile_is_refused() {
    let stage = Stage::open("evm-replaced");
    let mut daemon = stage.run();
    stage.until_shares(&mut daemon, true);
    // The finalized block is written every few seconds.
    stage.blocks(12);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let spent = stage.nonce();
    stage.node.chain(|chain| chain.fork(10));
    assert_eq!(
        stage.nonce(),
        spent,
        "the same transactions on another chain"
    );
    let (code, log) = refused(&stage);
    assert_eq!(code, 77, "{log}");
    assert!(log.contains("follows another chain"), "{log}");
}

#[test]
fn a_nonce_that_another_holder_of_the_key_spent_meanwhile_is_refused() {
    let stage = held("evm-foreign");
    stage.node.chain(|chain| {
        chain.change(|world| *world.nonces.entry(account()).or_default() += 1);
    });
    stage.blocks(2);
    let (code, log) = refused(&stage);
    assert_eq!(code, 77, "{log}");
    assert!(log.contains("was not signed here"), "{log}");
    assert!(log.contains("docs/evm-pools.md"), "{log}");
}

#[test]
fn a_state_folder_without_its_transactions_is_refused() {
    let stage = Stage::with("evm-no-journal", |file| {
        file.put("orders.ttl_s", 30);
    });
    let mut daemon = stage.run();
    stage.until_shares(&mut daemon, true);
    daemon.kill();
    std::fs::remove_file(stage.path("state/transactions")).unwrap();
    stage.blocks(2);
    let (code, log) = refused(&stage);
    assert_eq!(code, 77, "{log}");
    assert!(log.contains("was not signed here"), "{log}");
    assert!(stage.held(PAIR) > cambist_evm::U256::ZERO);
}
