//! JSON-RPC nodes of EVM chains over HTTP: one request, one of four outcomes; and two nodes that must agree.
//!
//! No retries, no batches, no subscriptions. The URL of a node is a secret: providers put their key into its path. It is
//! in no error and has no `Debug`.

use std::sync::atomic::{AtomicU64, Ordering};

use cambist_core::request::UnknownCause;
use cambist_evm::Hash32;
use cambist_evm::block::{Block, BlockTag};
use cambist_evm::rpc::{self, Ask, BlockAt, SendRaw};
use cambist_protocol::number::quoted;
use reqwest::{Method, Url};
use secrecy::{ExposeSecret, SecretString};

use crate::config::ClientConfig;
use crate::error::SetupError;
use crate::public::PublicUrl;
use crate::transport::{Exchange, Headers, Outgoing, Transport, Whole};

/// Most characters of a detail.
const DETAIL_MAX: usize = 240;

/// Why a node refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeRefusal {
    /// Its JSON-RPC error.
    Error(rpc::Refusal),
    /// Too many requests (HTTP 429): this one was not processed.
    RateLimited {
        /// The pause that it asks for.
        retry_after_ms: Option<u64>,
    },
    /// It does not accept this client (HTTP 401, 403).
    Keys,
}

/// The outcome of one request to one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeOutcome<T> {
    /// The node answered.
    Reply(T),
    /// The node refused.
    Refused(NodeRefusal),
    /// Provably no byte left.
    NotSent,
    /// Unknown: the node may or may not have processed it.
    Unknown(UnknownCause),
}

/// What one request to one node came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAnswer<T> {
    /// The outcome.
    pub outcome: NodeOutcome<T>,
    /// HTTP status, if a response head was received.
    pub http_status: Option<u16>,
    /// For logs: bounded and escaped, without secrets, never part of a decision.
    pub detail: Option<String>,
}

/// One node.
pub struct Node {
    transport: Transport,
    url: Url,
    body_max_bytes: usize,
    next_id: AtomicU64,
}

impl Node {
    /// A node at a URL: `https`, or `http` to the same machine. Timeouts and body limits come from `config`; its base
    /// URL is not used.
    ///
    /// # Errors
    /// [`SetupError`], without the URL.
    pub fn new(config: &ClientConfig, url: &SecretString) -> Result<Self, SetupError> {
        let hidden = |error: SetupError| {
            match error {
            SetupError::BaseUrl { .. } => SetupError::BaseUrl {
                url: "(hidden)".to_owned(),
                problem: "a node needs an https URL, or http to the same machine, without user and fragment"
                    .to_owned(),
            },
            other => other,
        }
        };
        let url = PublicUrl::parse(url.expose_secret())
            .map_err(hidden)?
            .into_url();
        Ok(Self {
            transport: Transport::with_tls(config, url.scheme() == "https")?,
            url,
            body_max_bytes: config.body_max_bytes,
            next_id: AtomicU64::new(1),
        })
    }

    /// Sends one request.
    pub async fn ask<A: Ask>(&self, ask: &A) -> NodeAnswer<A::Answer> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let outgoing = Outgoing {
            method: Method::POST,
            url: self.url.clone(),
            headers: Headers::EXCHANGE,
            api_key: None,
            signature: None,
            body: Some(rpc::request(ask, id)),
            body_max_bytes: self.body_max_bytes,
        };
        match self.transport.exchange(outgoing).await {
            Exchange::NotSent(detail) => NodeAnswer {
                outcome: NodeOutcome::NotSent,
                http_status: None,
                detail: Some(detail),
            },
            Exchange::Broken {
                cause,
                status,
                detail,
            } => NodeAnswer {
                outcome: NodeOutcome::Unknown(cause),
                http_status: status,
                detail: Some(detail),
            },
            Exchange::Whole(whole) => classify(ask, id, &whole),
        }
    }
}

/// From a complete HTTP answer to an outcome. Nodes send JSON-RPC errors with any status of 4xx or 5xx; a result counts
/// with 2xx only.
fn classify<A: Ask>(ask: &A, id: u64, whole: &Whole) -> NodeAnswer<A::Answer> {
    let answered = |outcome, detail: Option<&str>| NodeAnswer {
        outcome,
        http_status: Some(whole.status),
        detail: detail.map(|text| quoted(text, DETAIL_MAX)),
    };
    let unknown = |cause, detail| answered(NodeOutcome::Unknown(cause), Some(detail));
    match whole.status {
        429 => {
            let retry_after_ms = whole.retry_after_ms;
            let refusal = NodeRefusal::RateLimited { retry_after_ms };
            return answered(NodeOutcome::Refused(refusal), None);
        }
        401 | 403 => return answered(NodeOutcome::Refused(NodeRefusal::Keys), None),
        300..=399 => return unknown(UnknownCause::Redirect, "a redirect"),
        _ => {}
    }
    let is_success = (200..=299).contains(&whole.status);
    let without_answer = if whole.status >= 500 {
        UnknownCause::ServerError
    } else {
        UnknownCause::Undecodable
    };
    if !whole.is_json {
        return unknown(without_answer, "the answer is not JSON");
    }
    match rpc::answer(ask, id, &whole.body) {
        Ok(Ok(reply)) if is_success => answered(NodeOutcome::Reply(reply), None),
        Ok(Ok(_)) => unknown(without_answer, "a result with a status of failure"),
        Ok(Err(refusal)) => {
            let text = refusal.message.clone();
            let outcome = NodeOutcome::Refused(NodeRefusal::Error(refusal));
            answered(outcome, Some(&text))
        }
        Err(malformed) => unknown(without_answer, &malformed.to_string()),
    }
}

/// Why nodes gave no fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoFact {
    /// One of them refused.
    Refused(NodeRefusal),
    /// One of them was not reached.
    NotSent,
    /// One of them gave no usable answer.
    Unknown(UnknownCause),
    /// A block that must be there is not.
    Missing,
    /// They answered differently: one of them lags, follows another chain or is wrong. Nothing follows from either.
    Disagree,
}

/// One node, or two that must agree on every fact.
pub struct Nodes {
    first: Node,
    second: Option<Node>,
}

impl Nodes {
    /// One node, or two.
    pub const fn new(first: Node, second: Option<Node>) -> Self {
        Self { first, second }
    }

    /// The nodes.
    pub fn all(&self) -> impl Iterator<Item = &Node> {
        [Some(&self.first), self.second.as_ref()]
            .into_iter()
            .flatten()
    }

    /// What the first node states about its newest block.
    ///
    /// # Errors
    /// [`NoFact`].
    pub async fn first<A: Ask>(&self, ask: &A) -> Result<A::Answer, NoFact> {
        reply(self.first.ask(ask).await)
    }

    /// Sends a signed transaction to every node, and what each answered. The same bytes can be mined once only.
    pub async fn submit(&self, bytes: &[u8]) -> Vec<NodeAnswer<Hash32>> {
        let ask = SendRaw(bytes.to_vec());
        let mut answers = Vec::with_capacity(2);
        for node in self.all() {
            answers.push(node.ask(&ask).await);
        }
        answers
    }

    /// A fact that does not change: about a finalized block by its number, or about a transaction in one.
    ///
    /// # Errors
    /// [`NoFact`].
    pub async fn fact<A: Ask>(&self, ask: &A) -> Result<A::Answer, NoFact>
    where
        A::Answer: PartialEq,
    {
        let mut agreed: Option<A::Answer> = None;
        for node in self.all() {
            let answer = reply(node.ask(ask).await)?;
            match &agreed {
                Some(before) if *before != answer => return Err(NoFact::Disagree),
                _ => agreed = Some(answer),
            }
        }
        agreed.ok_or(NoFact::Missing)
    }

    /// The newest block that is finalized at every node, and that every node has alike.
    ///
    /// # Errors
    /// [`NoFact`]; [`NoFact::Disagree`] if two nodes have different blocks of that number.
    pub async fn finalized(&self) -> Result<Block, NoFact> {
        let mut lowest: Option<Block> = None;
        for node in self.all() {
            let answer = node.ask(&BlockAt(BlockTag::Finalized)).await;
            let block = reply(answer)?.ok_or(NoFact::Missing)?;
            lowest = match lowest {
                Some(other) if other.number <= block.number => Some(other),
                _ => Some(block),
            };
        }
        let block = lowest.ok_or(NoFact::Missing)?;
        let at_number = BlockAt(BlockTag::Number(block.number));
        let everywhere = self.fact(&at_number).await?.ok_or(NoFact::Missing)?;
        if everywhere == block {
            Ok(block)
        } else {
            Err(NoFact::Disagree)
        }
    }
}

fn reply<T>(answer: NodeAnswer<T>) -> Result<T, NoFact> {
    match answer.outcome {
        NodeOutcome::Reply(reply) => Ok(reply),
        NodeOutcome::Refused(refusal) => Err(NoFact::Refused(refusal)),
        NodeOutcome::NotSent => Err(NoFact::NotSent),
        NodeOutcome::Unknown(cause) => Err(NoFact::Unknown(cause)),
    }
}
