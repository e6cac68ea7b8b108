//! A daemon with two nodes: what it does while they agree, and that nothing is concluded or signed on the word of one.

use serde_json::{Value, json};
use toml::Table;

use cambist_evm::call::Call;
use cambist_evm::wire::data;

use super::contracts::PAIR;
use super::node::{Bad, Node};
use super::stage::{SOON, Stage, private};
use crate::support::{Edit, Program, until};

const FIRST: &str = "the first node (venue.node_file)";
const SECOND: &str = "the second node (venue.second_node_file)";

/// Joins again and again in small steps, so that there is always something that would be signed.
fn steps(file: &mut Table) {
    file.put("market.0.strategy.0.params.step_value", 50_000)
        .put("market.0.strategy.0.params.cool_down_s", 1);
}

fn sent(stage: &Stage) -> usize {
    stage.node.chain(|chain| chain.sent.len())
}

fn status(stage: &Stage) -> Value {
    let (_, out, _) = stage.command("status --json");
    serde_json::from_str(&out).unwrap_or_default()
}

/// Waits until a poll has no usable answer for this cause.
#[track_caller]
fn until_unanswered(stage: &Stage, daemon: &mut Program, cause: &str) {
    until(SOON, &format!("status with: {cause}"), || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let page = status(stage);
        let unanswered = page["unanswered"].as_object()?;
        let is_cause = |text: &Value| text.as_str().is_some_and(|text| text.contains(cause));
        unanswered.values().any(is_cause).then_some(())
    });
}

/// Transactions that the running daemon has signed: the lines of its journal. They are sent one after the other, at
/// any time until they end, so that what is sent does not state when it was signed.
fn signed(stage: &Stage) -> usize {
    let journal = std::fs::read_to_string(stage.path("state/transactions"));
    journal.map_or(0, |journal| journal.lines().count())
}

/// Waits until a transaction more is signed.
#[track_caller]
fn until_signs(stage: &Stage, daemon: &mut Program) {
    let before = signed(stage);
    until(SOON, "another transaction", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (signed(stage) > before).then_some(())
    });
}

/// While blocks pass in which others would have been signed, nothing is.
#[track_caller]
fn signs_nothing(stage: &Stage, daemon: &mut Program) {
    // What was decided before is still signed.
    let before = until(SOON, "a block without another transaction", || {
        let before = signed(stage);
        stage.blocks(1);
        (signed(stage) == before).then_some(before)
    });
    stage.blocks(6);
    assert!(daemon.ended().is_none(), "{}", daemon.last_words());
    assert!(before > 0, "nothing was signed before");
    assert_eq!(signed(stage), before, "{}", daemon.last_words());
}

#[track_caller]
fn ends_well(stage: &Stage, mut daemon: Program) {
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert!(!daemon.stderr().contains("secret-of-the-provider"));
}

#[test]
fn both_get_every_transaction_and_are_shown_by_their_place() {
    let stage = Stage::with_two("evm-two", |_| {});
    let (code, out, log) = stage.command("check --online");
    assert_eq!(code, 0, "{out}{log}");
    let mut daemon = stage.run();
    stage.until_shares(&mut daemon, true);
    let submits = |node: &Node| node.asked("eth_sendRawTransaction");
    assert!(submits(&stage.node) > 0);
    assert_eq!(submits(&stage.node), submits(stage.second()));
    let page = until(SOON, "nodes in status", || {
        let page = status(&stage);
        page["nodes"][1]["finalized_block"].is_u64().then_some(page)
    });
    let places = [&page["nodes"][0], &page["nodes"][1]].map(|node| node["node"].clone());
    assert_eq!(places, [json!("first"), json!("second")]);
    assert!(!page.to_string().contains("secret-of-the-provider"));
    ends_well(&stage, daemon);
}

#[test]
fn a_start_waits_for_each_of_its_nodes() {
    let stage = Stage::with_two("evm-two-away", |_| {});
    stage.second().closes();
    let mut daemon = stage.run();
    stage.until_waits(&mut daemon, &format!("{SECOND} was not reached"));
    stage.second().opens();
    stage.node.answers(None, Bad::Html(502));
    stage.until_waits(&mut daemon, &format!("{FIRST} gave no usable answer"));
    stage.node.recovers();
    stage.second().lags(9);
    stage.until_waits(&mut daemon, &format!("{SECOND} is "));
    assert_eq!(sent(&stage), 0);
    stage.second().recovers();
    stage.until_shares(&mut daemon, true);
    ends_well(&stage, daemon);
}

#[test]
fn a_second_node_of_another_chain_is_refused_by_its_place() {
    let stage = Stage::with_two("evm-two-chains", |_| {});
    stage.second().alters("eth_chainId", |_, _| json!("0x1"));
    let mut daemon = stage.run();
    assert_eq!(daemon.end(SOON), 77, "{}", daemon.last_words());
    let reason = format!("{SECOND} is of chain 1, and venue.chain_id is 31337");
    assert!(daemon.stderr().contains(&reason), "{}", daemon.stderr());
    assert_eq!(sent(&stage), 0);
}

/// Two files with one address would be no protection.
#[test]
fn one_node_as_both_is_refused() {
    let stage = Stage::with_two("evm-same-node", |_| {});
    private(&stage.path("second"), &stage.node.url());
    let mut daemon = stage.run();
    assert_eq!(daemon.end(SOON), 77, "{}", daemon.last_words());
    let log = daemon.stderr();
    assert!(log.contains("venue.second_node_file"), "{log}");
    assert!(!log.contains("secret-of-the-provider"), "{log}");
    assert_eq!(sent(&stage), 0);
}

/// Each of them goes away, lags, and comes back.
#[test]
fn nothing_is_signed_while_one_of_them_is_away_or_lags() {
    let stage = Stage::with_two("evm-two-gone", steps);
    let mut daemon = stage.run();
    until_signs(&stage, &mut daemon);
    for (node, place) in [(&stage.node, FIRST), (stage.second(), SECOND)] {
        node.closes();
        // Connections of before end with their next request.
        until_unanswered(&stage, &mut daemon, place);
        signs_nothing(&stage, &mut daemon);
        node.opens();
        until_signs(&stage, &mut daemon);
        // As far behind as a block is on its way changes nothing.
        node.lags(1);
        until_signs(&stage, &mut daemon);
        node.lags(12);
        until_unanswered(&stage, &mut daemon, &format!("{place} is "));
        signs_nothing(&stage, &mut daemon);
        node.recovers();
        until_signs(&stage, &mut daemon);
    }
    ends_well(&stage, daemon);
}

/// Whether a call is of this function.
fn is_call(params: &[Value], call: &Call) -> bool {
    let input = params[0]["input"].as_str().unwrap_or_default();
    data(input).is_ok_and(|input| input.get(..4) == call.encode().get(..4))
}

type Wrong = fn(&Node);

/// One of them states another receipt, balance, nonce or reserve than the chain has.
#[test]
fn nothing_is_signed_while_one_of_them_answers_wrongly() {
    let stage = Stage::with_two("evm-two-wrong", steps);
    let mut daemon = stage.run();
    until_signs(&stage, &mut daemon);
    let wrong_answers: [Wrong; 6] = [
        |node| {
            node.alters("eth_getTransactionReceipt", |_, mut receipt| {
                if !receipt.is_null() {
                    receipt["gasUsed"] = "0x5208".into();
                }
                receipt
            });
        },
        |node| node.alters("eth_getTransactionReceipt", |_, _| Value::Null),
        |node| node.alters("eth_getBalance", |_, _| json!("0x5")),
        |node| node.alters("eth_getTransactionCount", |_, _| json!("0x5000")),
        |node| {
            node.alters("eth_call", |params, result| {
                let owner = super::stage::account();
                if is_call(params, &Call::BalanceOf { owner }) {
                    return json!(format!("0x{:064x}", 5));
                }
                result
            });
        },
        |node| {
            node.alters("eth_call", |params, result| {
                if !is_call(params, &Call::GetReserves {}) {
                    return result;
                }
                // A price at half of the true one.
                let words = [1_u128 << 80, 1 << 80, 1];
                let words = words.map(|word| format!("{word:064x}"));
                json!(format!("0x{}", words.concat()))
            });
        },
    ];
    for (at, wrong) in wrong_answers.into_iter().enumerate() {
        let node = if at % 2 == 0 {
            stage.second()
        } else {
            &stage.node
        };
        wrong(node);
        until_unanswered(&stage, &mut daemon, "the nodes disagree");
        signs_nothing(&stage, &mut daemon);
        node.recovers();
        until_signs(&stage, &mut daemon);
        assert!(
            daemon.ended().is_none(),
            "answer {at}: {}",
            daemon.last_words()
        );
    }
    assert!(!daemon.stderr().contains("the account stopped"));
    ends_well(&stage, daemon);
}

/// One of them follows other blocks, also over a kill. The account does not stop: which of them is right is not known,
/// and nothing was concluded from either.
#[test]
fn nothing_is_signed_while_one_of_them_has_other_blocks() {
    let stage = Stage::with_two("evm-two-forks", steps);
    let mut daemon = stage.run();
    until_signs(&stage, &mut daemon);
    stage.blocks(12);
    stage.second().departs(8);
    until_unanswered(&stage, &mut daemon, &format!("{SECOND} states block"));
    signs_nothing(&stage, &mut daemon);
    daemon.kill();
    let before = sent(&stage);
    let mut daemon = stage.run();
    stage.until_waits(&mut daemon, "the nodes disagree");
    stage.blocks(6);
    assert_eq!(sent(&stage), before);
    stage.second().rejoins(&stage.node);
    until_signs(&stage, &mut daemon);
    ends_well(&stage, daemon);
}

/// One refuses the bytes of a join and the other takes them; killed as soon as they are on disk, in half of the cases.
#[test]
fn a_transaction_that_one_of_them_refuses_is_mined_by_the_other() {
    for (is_second, is_killed) in [(false, false), (true, false), (false, true), (true, true)] {
        let stage = Stage::with_two("evm-two-refuses", |_| {});
        let node = if is_second {
            stage.second()
        } else {
            &stage.node
        };
        let refuses = Bad::Refuses(-32_000, "transaction underpriced");
        node.answers(Some("eth_sendRawTransaction"), refuses);
        let mut daemon = stage.run();
        if is_killed {
            let journal = stage.path("state/transactions");
            until(SOON, "a sealed join", || {
                assert!(daemon.ended().is_none(), "{}", daemon.last_words());
                (std::fs::metadata(&journal).ok()?.len() > 0).then_some(())
            });
            daemon.kill();
            daemon = stage.run();
        }
        stage.until_shares(&mut daemon, true);
        stage.blocks(4);
        let joined = stage.held(PAIR);
        ends_well(&stage, daemon);
        assert_eq!(stage.held(PAIR), joined, "booked once");
    }
}
