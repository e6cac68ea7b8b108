//! JSON-RPC nodes of EVM chains over HTTP: one request, one of four outcomes; and two nodes that must agree.
//!
//! No retries, no batches, no subscriptions. The URL of a node is a secret: providers put their key into its path. It is
//! in no error and has no `Debug`.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

use cambist_core::request::UnknownCause;
use cambist_evm::Hash32;
use cambist_evm::block::{Block, BlockTag};
use cambist_evm::rpc::{self, Ask, BlockAt, CallAt, SendRaw};
use cambist_protocol::number::quoted;
use reqwest::{Method, Url};
use secrecy::{ExposeSecret, SecretString};

use crate::config::ClientConfig;
use crate::error::SetupError;
use crate::public::PublicUrl;
use crate::transport::{Exchange, Headers, Outgoing, Transport, Whole};

/// Most characters of a detail.
const DETAIL_MAX: usize = 240;
/// Bytes of a part of a URL that may be a key.
const KEY_MIN: usize = 8;

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
            Exchange::Whole(mut whole) => {
                let answer = classify(ask, id, &whole);
                if matches!(answer.outcome, NodeOutcome::Reply(_)) {
                    return answer;
                }
                // A refusal may repeat what was asked for, with the key of a provider in it. Hidden before texts are
                // shortened: a part of a key is no less a secret.
                self.hide_url(&mut whole.body);
                classify(ask, id, &whole)
            }
        }
    }

    /// Hides the path, the query, and each of their parts that is as long as a key.
    fn hide_url(&self, body: &mut Vec<u8>) {
        let whole = [Some(self.url.path()), self.url.query()];
        let whole = whole.into_iter().flatten().filter(|part| part.len() > 1);
        let segments = self.url.path_segments().into_iter().flatten();
        let values = self.url.query().into_iter();
        let values = values.flat_map(|query| query.split(['&', '=']));
        let parts = segments.chain(values).filter(|part| part.len() >= KEY_MIN);
        let mut text = String::from_utf8_lossy(body).into_owned();
        for secret in whole.chain(parts) {
            text = text.replace(secret, "(hidden)");
        }
        *body = text.into_bytes();
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

/// Which of the nodes. URLs are secrets, so that nodes are named by their place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The only one.
    Only,
    /// The first of two.
    First,
    /// The second of two.
    Second,
}

impl Place {
    /// One word for status pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Only => "only",
            Self::First => "first",
            Self::Second => "second",
        }
    }

    /// The key that names the node's file.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Only | Self::First => "venue.node_file",
            Self::Second => "venue.second_node_file",
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Only => write!(f, "the node"),
            Self::First | Self::Second => {
                write!(f, "the {} node ({})", self.name(), self.key())
            }
        }
    }
}

/// Why nodes gave no fact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFact {
    /// One of them refused.
    #[error("{}", refused(*.0, .1))]
    Refused(Place, NodeRefusal),
    /// One of them was not reached.
    #[error("{0} was not reached")]
    NotSent(Place),
    /// One of them gave no usable answer, with what is known of why.
    #[error("{}", unusable(*.0, .2.as_deref()))]
    Unknown(Place, UnknownCause, Option<String>),
    /// It has another block of a number than a moment before.
    #[error("{0} has another block of the finalized number than a moment before")]
    Changed(Place),
    /// A block that must be there is not.
    #[error("{0} lacks a block")]
    Missing(Place),
    /// One of them is behind the other by more than is usual.
    #[error("{place} is {by_s} s behind the other: its newest block is {newest}")]
    Lags {
        /// Which one.
        place: Place,
        /// Time of the other's newest block less the time of its own.
        by_s: u64,
        /// Its newest block.
        newest: u64,
    },
    /// They answered differently: one of them lags, follows another chain or is wrong. Nothing follows from either.
    #[error(
        "the nodes disagree: one of them lags, follows another chain or is wrong ({method}: {} states {}, {} states {})",
        Place::First, .stated[0], Place::Second, .stated[1]
    )]
    Disagree {
        /// What was asked.
        method: &'static str,
        /// What each states, shortened.
        stated: [String; 2],
    },
}

fn unusable(place: Place, detail: Option<&str>) -> String {
    let what = format!("{place} gave no usable answer");
    detail.map_or_else(|| what.clone(), |detail| format!("{what}: {detail}"))
}

fn refused(place: Place, refusal: &NodeRefusal) -> String {
    match refusal {
        NodeRefusal::Error(error) => {
            let text = quoted(&error.message, DETAIL_MAX);
            match place {
                Place::Only => text,
                Place::First | Place::Second => format!("{place}: {text}"),
            }
        }
        NodeRefusal::RateLimited { .. } => format!("{place}: too many requests"),
        NodeRefusal::Keys => format!("{place} refuses this client: see {}", place.key()),
    }
}

/// What a node stated last about its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Its newest block.
    pub newest: Option<u64>,
    /// The newest one that it calls final.
    pub finalized: Option<u64>,
}

/// One node, or two that must agree on every fact.
pub struct Nodes {
    first: Node,
    second: Option<Node>,
    lag_max_s: u64,
    heads: Mutex<[Head; 2]>,
}

impl Nodes {
    /// One node, or two.
    pub const fn new(first: Node, second: Option<Node>) -> Self {
        Self {
            first,
            second,
            lag_max_s: u64::MAX,
            heads: Mutex::new(
                [Head {
                    newest: None,
                    finalized: None,
                }; 2],
            ),
        }
    }

    /// By how much the newest blocks of two nodes may differ. What is newest at a node that lags is an earlier time, and
    /// deadlines that are reckoned from it have passed.
    #[must_use]
    pub const fn with_lag_max_s(mut self, lag_max_s: u64) -> Self {
        self.lag_max_s = lag_max_s;
        self
    }

    /// The nodes with their places.
    pub fn all(&self) -> impl Iterator<Item = (Place, &Node)> {
        let first = match self.second {
            Some(_) => Place::First,
            None => Place::Only,
        };
        let second = self.second.as_ref().map(|node| (Place::Second, node));
        [Some((first, &self.first)), second].into_iter().flatten()
    }

    /// What each node stated last about its blocks.
    pub fn heads(&self) -> Vec<(Place, Head)> {
        let heads = *self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        self.all().map(|(place, _)| place).zip(heads).collect()
    }

    /// What one node states.
    ///
    /// # Errors
    /// [`NoFact`].
    pub async fn at<A: Ask>(place: Place, node: &Node, ask: &A) -> Result<A::Answer, NoFact> {
        reply(place, node.ask(ask).await)
    }

    /// Sends a signed transaction to every node at the same time, and what each answered. The same bytes can be mined
    /// once only.
    pub async fn submit(&self, bytes: &[u8]) -> Vec<NodeAnswer<Hash32>> {
        let ask = SendRaw(bytes.to_vec());
        match &self.second {
            None => vec![self.first.ask(&ask).await],
            Some(second) => both(self.first.ask(&ask), second.ask(&ask)).await.into(),
        }
    }

    /// A fact that every node states alike: about a block by its number, about a transaction in one, or about what no
    /// block changes.
    ///
    /// # Errors
    /// [`NoFact`].
    pub async fn fact<A: Ask>(&self, ask: &A) -> Result<A::Answer, NoFact>
    where
        A::Answer: PartialEq,
    {
        let Some(second) = &self.second else {
            return reply(Place::Only, self.first.ask(ask).await);
        };
        let [of_first, of_second] = both(self.first.ask(ask), second.ask(ask)).await;
        let of_first = reply(Place::First, of_first)?;
        let of_second = reply(Place::Second, of_second)?;
        if of_first == of_second {
            return Ok(of_first);
        }
        Err(NoFact::Disagree {
            method: A::METHOD,
            stated: A::texts([&of_first, &of_second]),
        })
    }

    /// What a view of a contract returns at every node; the node's text if the contract reverts it at every one, which
    /// no later question changes.
    ///
    /// # Errors
    /// [`NoFact`]; [`NoFact::Disagree`] if it is reverted at one of two nodes.
    pub async fn view(&self, ask: &CallAt) -> Result<Result<Vec<u8>, String>, NoFact> {
        let Some(second) = &self.second else {
            return viewed(Place::Only, self.first.ask(ask).await);
        };
        let [of_first, of_second] = both(self.first.ask(ask), second.ask(ask)).await;
        let of_first = viewed(Place::First, of_first)?;
        let of_second = viewed(Place::Second, of_second)?;
        match (of_first, of_second) {
            (Ok(first), Ok(second)) if first == second => Ok(Ok(first)),
            (Err(text), Err(_)) => Ok(Err(text)),
            differing => {
                let stated = <[_; 2]>::from(differing);
                Err(NoFact::Disagree {
                    method: CallAt::METHOD,
                    stated: stated.map(|answer| match answer {
                        Ok(data) => CallAt::text(&data),
                        Err(text) => text,
                    }),
                })
            }
        }
    }

    /// The newest block that every node has, and has alike.
    ///
    /// # Errors
    /// [`NoFact`]; [`NoFact::Disagree`] if two nodes have different blocks of that number.
    pub async fn newest(&self) -> Result<Block, NoFact> {
        let block = self.lowest(BlockTag::Latest).await?;
        if self.second.is_none() {
            return Ok(block);
        }
        let at_number = BlockAt(BlockTag::Number(block.number));
        self.fact(&at_number)
            .await?
            .ok_or(NoFact::Missing(Place::First))
    }

    /// The newest block that is finalized at every node, and that every node has alike.
    ///
    /// # Errors
    /// [`NoFact`]; [`NoFact::Disagree`] if two nodes have different blocks of that number.
    pub async fn finalized(&self) -> Result<Block, NoFact> {
        let block = self.lowest(BlockTag::Finalized).await?;
        let at_number = BlockAt(BlockTag::Number(block.number));
        let place = match self.second {
            Some(_) => Place::First,
            None => Place::Only,
        };
        let everywhere = self.fact(&at_number).await?;
        let everywhere = everywhere.ok_or(NoFact::Missing(place))?;
        if everywhere == block {
            return Ok(block);
        }
        if self.second.is_none() {
            return Err(NoFact::Changed(place));
        }
        Err(NoFact::Disagree {
            method: BlockAt::METHOD,
            stated: BlockAt::texts([&Some(everywhere), &Some(block)]),
        })
    }

    /// The block of this tag at the node that is behind.
    async fn lowest(&self, tag: BlockTag) -> Result<Block, NoFact> {
        let ask = BlockAt(tag);
        let answers = match &self.second {
            None => vec![self.first.ask(&ask).await],
            Some(second) => both(self.first.ask(&ask), second.ask(&ask)).await.into(),
        };
        let places = self.all().map(|(place, _)| place);
        let blocks: Vec<_> = places
            .zip(answers)
            .map(|(place, answer)| reply(place, answer)?.ok_or(NoFact::Missing(place)))
            .collect();
        {
            let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
            for (head, block) in heads.iter_mut().zip(&blocks) {
                let number = block.as_ref().ok().map(|block| block.number);
                match tag {
                    BlockTag::Finalized => head.finalized = number,
                    _ => head.newest = number,
                }
            }
        }
        let blocks: Vec<Block> = blocks.into_iter().collect::<Result<_, _>>()?;
        let lowest = blocks.iter().min_by_key(|block| block.number);
        let lowest = *lowest.ok_or(NoFact::Missing(Place::Only))?;
        if tag == BlockTag::Latest
            && let [first, second] = blocks.as_slice()
        {
            let (place, by_s) = if first.timestamp_s < second.timestamp_s {
                (Place::First, second.timestamp_s - first.timestamp_s)
            } else {
                (Place::Second, first.timestamp_s - second.timestamp_s)
            };
            if by_s > self.lag_max_s {
                let newest = lowest.number;
                return Err(NoFact::Lags {
                    place,
                    by_s,
                    newest,
                });
            }
        }
        Ok(lowest)
    }
}

impl NoFact {
    /// Whether one of two nodes leaves it open whether the other is right.
    pub const fn is_doubt(&self) -> bool {
        match self {
            Self::Refused(place, _)
            | Self::NotSent(place)
            | Self::Unknown(place, ..)
            | Self::Changed(place)
            | Self::Missing(place) => !matches!(place, Place::Only),
            Self::Lags { .. } | Self::Disagree { .. } => true,
        }
    }
}

/// Waits for both at the same time.
async fn both<T>(first: impl Future<Output = T>, second: impl Future<Output = T>) -> [T; 2] {
    let (mut first, mut second) = (pin!(first), pin!(second));
    let (mut of_first, mut of_second) = (None, None);
    poll_fn(move |context| {
        if of_first.is_none()
            && let Poll::Ready(answer) = first.as_mut().poll(context)
        {
            of_first = Some(answer);
        }
        if of_second.is_none()
            && let Poll::Ready(answer) = second.as_mut().poll(context)
        {
            of_second = Some(answer);
        }
        match (of_first.take(), of_second.take()) {
            (Some(first), Some(second)) => Poll::Ready([first, second]),
            (first, second) => {
                (of_first, of_second) = (first, second);
                Poll::Pending
            }
        }
    })
    .await
}

/// As [`reply`], with the text of a call that the contract reverted.
fn viewed(place: Place, answer: NodeAnswer<Vec<u8>>) -> Result<Result<Vec<u8>, String>, NoFact> {
    match reply(place, answer) {
        Ok(data) => Ok(Ok(data)),
        Err(NoFact::Refused(_, NodeRefusal::Error(error))) if error.is_revert() => {
            Ok(Err(quoted(&error.message, DETAIL_MAX)))
        }
        Err(why) => Err(why),
    }
}

fn reply<T>(place: Place, answer: NodeAnswer<T>) -> Result<T, NoFact> {
    match answer.outcome {
        NodeOutcome::Reply(reply) => Ok(reply),
        NodeOutcome::Refused(refusal) => Err(NoFact::Refused(place, refusal)),
        NodeOutcome::NotSent => Err(NoFact::NotSent(place)),
        NodeOutcome::Unknown(cause) => Err(NoFact::Unknown(place, cause, answer.detail)),
    }
}
