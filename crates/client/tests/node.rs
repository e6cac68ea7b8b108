//! A node of an EVM chain that misbehaves: every answer becomes one of the four outcomes, and of two nodes that differ
//! nothing follows.
#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

#[allow(dead_code, reason = "shared with the tests of the other client")]
mod server;

use cambist_client::{
    ClientConfig, NoFact, Node, NodeOutcome, NodeRefusal, Nodes, Place, SecretString,
};
use cambist_core::request::UnknownCause;
use cambist_evm::block::BlockTag;
use cambist_evm::call::Call;
use cambist_evm::rpc::{CallAt, ChainId, NonceAt};
use cambist_evm::{Address, Hash32, keccak256};
use server::{Server, Step, answer, json};

fn config() -> ClientConfig {
    ClientConfig {
        timeout_ms: 1_000,
        connect_timeout_ms: 500,
        body_max_bytes: 4_096,
        ..ClientConfig::new("")
    }
}

fn node(url: &str) -> Node {
    Node::new(&config(), &SecretString::from(url)).unwrap()
}

fn result(id: u64, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn error(id: u64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"{message}"}}}}"#)
}

async fn chain_id(steps: Vec<Step>) -> NodeOutcome<u64> {
    let server = Server::start(vec![steps]).await;
    let path = format!("{}/v3/canaryKey", server.url());
    let answered = node(&path).ask(&ChainId).await;
    let detail = answered.detail.unwrap_or_default();
    assert!(!detail.contains("canaryKey"), "{detail}");
    assert!(server.connections() <= 1, "nothing is sent twice");
    answered.outcome
}

#[tokio::test]
async fn a_request_goes_out_once_and_its_result_comes_back() {
    let server = Server::start(vec![
        vec![Step::Send(json(200, "", &result(1, "\"0x7a69\"")))],
        vec![Step::Send(json(200, "", &result(2, "\"0x7a69\"")))],
    ])
    .await;
    let node = node(&format!("{}/v3/canaryKey?x=1", server.url()));
    for _ in 0..2 {
        assert_eq!(node.ask(&ChainId).await.outcome, NodeOutcome::Reply(31_337));
    }
    let requests = server.requests();
    assert!(requests[0].starts_with("POST /v3/canaryKey?x=1 HTTP/1.1\r\n"));
    assert!(
        requests[0].ends_with(r#"{"id":1,"jsonrpc":"2.0","method":"eth_chainId","params":[]}"#)
    );
    assert!(requests[1].contains(r#""id":2"#));
}

#[tokio::test]
async fn every_answer_is_one_of_four_outcomes() {
    let send = |bytes| vec![Step::Send(bytes)];
    let refused = |status| json(status, "", &error(1, "nonce too low"));
    for status in [200, 400, 500, 503] {
        let outcome = chain_id(send(refused(status))).await;
        let NodeOutcome::Refused(NodeRefusal::Error(refusal)) = outcome else {
            panic!("{status}: {outcome:?}")
        };
        assert_eq!(refusal.message, "nonce too low");
    }
    let limited = json(429, "Retry-After: 2\r\n", &error(1, "slow"));
    let expected = NodeRefusal::RateLimited {
        retry_after_ms: Some(2_000),
    };
    assert_eq!(
        chain_id(send(limited)).await,
        NodeOutcome::Refused(expected)
    );
    // A provider's key is hidden alone as well, and before the text is shortened.
    for before in [0, 232, 236, 506, 510] {
        let echo = format!("{} canaryKey", "x".repeat(before));
        let outcome = chain_id(send(json(400, "", &error(1, &echo)))).await;
        let NodeOutcome::Refused(NodeRefusal::Error(refusal)) = outcome else {
            panic!("{outcome:?}")
        };
        let text = NoFact::Refused(Place::Only, NodeRefusal::Error(refusal.clone())).to_string();
        for shown in [refusal.message, text] {
            assert!(!shown.contains("cana"), "{before}: {shown}");
        }
    }
    for status in [401, 403] {
        let outcome = chain_id(send(answer(status, "", "no"))).await;
        assert_eq!(outcome, NodeOutcome::Refused(NodeRefusal::Keys));
    }
    let good = result(1, "\"0x1\"");
    let undecodable = NodeOutcome::Unknown(UnknownCause::Undecodable);
    for bytes in [
        json(200, "", &result(2, "\"0x1\"")),
        json(200, "", &result(1, "1")),
        json(200, "", ""),
        json(400, "", &good),
        answer(200, "Content-Type: text/html\r\n", &good),
        json(200, "Content-Encoding: gzip\r\n", &good),
        json(200, "", &" ".repeat(4_097)),
        json(404, "", "{}"),
    ] {
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        assert_eq!(chain_id(send(bytes)).await, undecodable, "{shown}");
    }
    for bytes in [
        json(502, "", "{}"),
        answer(503, "", "busy"),
        json(500, "", &good),
    ] {
        let outcome = chain_id(send(bytes)).await;
        assert_eq!(outcome, NodeOutcome::Unknown(UnknownCause::ServerError));
    }
    let elsewhere = answer(307, "Location: http://127.0.0.1:9/\r\n", "");
    assert_eq!(
        chain_id(send(elsewhere)).await,
        NodeOutcome::Unknown(UnknownCause::Redirect)
    );
    assert_eq!(
        chain_id(vec![Step::Reset]).await,
        NodeOutcome::Unknown(UnknownCause::Transport)
    );
    assert_eq!(
        chain_id(vec![Step::Silence]).await,
        NodeOutcome::Unknown(UnknownCause::Timeout)
    );
}

#[tokio::test]
async fn a_node_that_is_not_there_got_nothing() {
    let answered = node("http://127.0.0.1:9/").ask(&ChainId).await;
    assert_eq!(answered.outcome, NodeOutcome::NotSent);
}

#[test]
fn urls_are_secrets() {
    for bad in [
        "http://node.example/v3/canaryKey",
        "https://user:canaryKey@node.example/",
        "wss://node.example/canaryKey",
        "canaryKey",
    ] {
        let error = Node::new(&config(), &SecretString::from(bad))
            .err()
            .unwrap();
        assert!(!error.to_string().contains("canaryKey"), "{error}");
    }
}

fn block(number: u64, branch: u8) -> String {
    let hash = format!("0x{}", format!("{branch:02x}").repeat(32));
    format!(
        r#"{{"number":"0x{number:x}","hash":"{hash}","parentHash":"{hash}","timestamp":"0x{:x}","baseFeePerGas":"0x7"}}"#,
        1_000 + number
    )
}

/// Two nodes that answer their requests with these results.
async fn two(first: &[String], second: &[String]) -> Nodes {
    let mut nodes = Vec::new();
    for results in [first, second] {
        let script = |(at, text): (usize, &String)| {
            vec![Step::Send(json(200, "", &result(at as u64 + 1, text)))]
        };
        let server = Server::start(results.iter().enumerate().map(script).collect()).await;
        nodes.push(node(&server.url()));
    }
    let second = nodes.pop();
    Nodes::new(nodes.remove(0), second)
}

#[tokio::test]
async fn two_nodes_agree_or_nothing_is_known() {
    let ask = NonceAt {
        account: Address::ZERO,
        at: BlockTag::Number(4),
    };
    let five = || ["\"0x5\"".to_owned()];
    let agreed = two(&five(), &five()).await.fact(&ask).await;
    assert_eq!(agreed, Ok(5));
    let differ = two(&five(), &["\"0x6\"".to_owned()]).await;
    let stated = ["5", "6"].map(str::to_owned);
    let method = "eth_getTransactionCount";
    let differ = differ.fact(&ask).await;
    assert_eq!(differ, Err(NoFact::Disagree { method, stated }));
    let text = differ.unwrap_err().to_string();
    assert!(
        text.contains("the first node (venue.node_file) states 5, the second node (venue.second_node_file) states 6"),
        "{text}"
    );
    let malformed = two(&five(), &["6".to_owned()]).await;
    assert_eq!(
        malformed.fact(&ask).await,
        Err(NoFact::Unknown(
            Place::Second,
            UnknownCause::Undecodable,
            Some("JSON-RPC: not an answer of the method's type".to_owned())
        ))
    );
}

/// A call that the contract reverts at every node has an answer. At one of two, or for another refusal, it has none.
#[tokio::test]
async fn a_view_that_every_node_reverts_has_an_answer() {
    let ask = CallAt::view(Address::ZERO, &Call::Factory {}, BlockTag::Latest);
    let reverted = error(1, "execution reverted");
    let other = error(1, "header not found");
    let data = result(1, "\"0x01\"");
    let node_of = async |body: &str| {
        let server = Server::start(vec![vec![Step::Send(json(200, "", body))]]).await;
        node(&server.url())
    };
    let view = async |first: &str, second: Option<&str>| {
        let second = match second {
            Some(second) => Some(node_of(second).await),
            None => None,
        };
        Nodes::new(node_of(first).await, second).view(&ask).await
    };
    let text = Ok(Err("execution reverted".to_owned()));
    assert_eq!(view(&reverted, None).await, text);
    assert_eq!(view(&reverted, Some(&reverted)).await, text);
    assert_eq!(view(&data, None).await, Ok(Ok(vec![1])));
    assert_eq!(view(&data, Some(&data)).await, Ok(Ok(vec![1])));
    for (first, second) in [(&data, &reverted), (&reverted, &data)] {
        let differ = view(first, Some(second)).await;
        assert!(matches!(differ, Err(NoFact::Disagree { .. })), "{differ:?}");
    }
    for (first, second) in [(&other, None), (&reverted, Some(other.as_str()))] {
        let refused = view(first, second).await;
        assert!(
            matches!(refused, Err(NoFact::Refused(_, NodeRefusal::Error(_)))),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn the_finalized_block_is_the_older_one_of_two_nodes() {
    // The second lags by two blocks; both have its block.
    let nodes = two(&[block(9, 9), block(7, 7)], &[block(7, 7), block(7, 7)]).await;
    assert_eq!(nodes.finalized().await.map(|block| block.number), Ok(7));
    let forked = two(&[block(9, 9), block(7, 7)], &[block(7, 8), block(7, 8)]).await;
    let forked = forked.finalized().await.unwrap_err();
    assert!(matches!(forked, NoFact::Disagree { .. }), "{forked:?}");
    let without = two(&["null".to_owned()], &[block(7, 7)]).await;
    assert_eq!(
        without.finalized().await,
        Err(NoFact::Missing(Place::First))
    );
}

#[tokio::test]
async fn the_newest_block_is_one_that_both_nodes_have() {
    let nodes = two(&[block(9, 9), block(8, 8)], &[block(8, 8), block(8, 8)]).await;
    assert_eq!(nodes.newest().await.map(|block| block.number), Ok(8));
    let heads: Vec<_> = nodes
        .heads()
        .into_iter()
        .map(|(_, head)| head.newest)
        .collect();
    assert_eq!(heads, [Some(9), Some(8)]);
    let forked = two(&[block(9, 9), block(8, 7)], &[block(8, 8), block(8, 8)]).await;
    let forked = forked.newest().await.unwrap_err();
    assert!(matches!(forked, NoFact::Disagree { .. }), "{forked:?}");
    // One that is behind by more than it may be is named.
    let lags = two(&[block(9, 9)], &[block(7, 7)]).await.with_lag_max_s(1);
    let text = lags.newest().await.unwrap_err().to_string();
    assert_eq!(
        text,
        "the second node (venue.second_node_file) is 2 s behind the other: its newest block is 7"
    );
    let first = two(&[block(7, 7)], &[block(9, 9)]).await.with_lag_max_s(1);
    let text = first.newest().await.unwrap_err().to_string();
    assert_eq!(
        text,
        "the first node (venue.node_file) is 2 s behind the other: its newest block is 7"
    );
    let within = two(&[block(9, 9), block(7, 7)], &[block(7, 7), block(7, 7)]).await;
    assert!(within.with_lag_max_s(2).newest().await.is_ok());
    // What the second does not answer is not concluded from the first.
    let away = two(&[block(9, 9)], &["5".to_owned()]).await;
    let unknown = away.newest().await.unwrap_err();
    assert!(
        matches!(
            unknown,
            NoFact::Unknown(Place::Second, UnknownCause::Undecodable, _)
        ),
        "{unknown:?}"
    );
    // One node alone that changes its mind is no disagreement.
    let server = Server::start(vec![
        vec![Step::Send(json(200, "", &result(1, &block(7, 7))))],
        vec![Step::Send(json(200, "", &result(2, &block(7, 8))))],
    ])
    .await;
    let alone = Nodes::new(node(&server.url()), None);
    assert_eq!(alone.finalized().await, Err(NoFact::Changed(Place::Only)));
}

#[tokio::test]
async fn every_node_gets_the_same_bytes() {
    let bytes = [2, 0xc0];
    let hash = Hash32(keccak256(&[&bytes]));
    let accepted = format!("\"{}\"", hash.to_hex());
    let other = format!("\"{}\"", Hash32([1; 32]).to_hex());
    let answers = two(&[accepted], &[other]).await.submit(&bytes).await;
    let outcomes: Vec<_> = answers.into_iter().map(|of| of.outcome).collect();
    let unknown = NodeOutcome::Unknown(UnknownCause::Undecodable);
    assert_eq!(outcomes, [NodeOutcome::Reply(hash), unknown]);
}

#[test]
fn an_unusable_answer_is_reported_with_its_node_and_what_is_known_of_it() {
    let text = |place, detail: Option<&str>| {
        let detail = detail.map(str::to_owned);
        NoFact::Unknown(place, UnknownCause::Undecodable, detail).to_string()
    };
    assert_eq!(
        text(Place::Second, None),
        "the second node (venue.second_node_file) gave no usable answer"
    );
    assert_eq!(
        text(Place::Only, Some("no JSON")),
        "the node gave no usable answer: no JSON"
    );
}
