//! The engine's requests to an EVM chain with Uniswap V2 pools. Each is answered from nodes and from what the account
//! has settled ([`answers`]); what is signed is sent as the stored bytes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use cambist_core::Reason;
use cambist_core::request::{Outcome, Query, UnknownCause};
use cambist_evm::block::{Block, BlockTag};
use cambist_evm::rpc::{Ask, NonceAt};
use cambist_evm::transaction::Signed;
use cambist_evm::{Address, Hash32};
use cambist_evm_venue::account::Account;
use cambist_evm_venue::answers::{self, ChainReader, NoAnswer};
use cambist_evm_venue::bundle;
use cambist_evm_venue::rules::{self, Sent};
use tokio::sync::Mutex;

use crate::client::Answered;
use crate::node::{NoFact, NodeAnswer, NodeOutcome, NodeRefusal, Nodes};

/// A client of pools on a chain, cheap to clone. The account is shared with what seals its transactions.
#[derive(Clone)]
pub struct EvmPools {
    nodes: Arc<Nodes>,
    account: Arc<Mutex<Account>>,
    unanswered: Arc<std::sync::Mutex<BTreeMap<&'static str, String>>>,
    took: Arc<std::sync::Mutex<BTreeMap<&'static str, Duration>>>,
    stopwatch: Stopwatch,
}

/// A time that rises; only differences have a meaning.
pub type Stopwatch = Arc<dyn Fn() -> Duration + Send + Sync>;

/// What has to be known of the account to send bytes.
struct Known {
    chain: u64,
    address: Address,
    /// The finalized block that the account knows.
    number: Option<u64>,
}

impl fmt::Debug for EvmPools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvmPools").finish_non_exhaustive()
    }
}

impl From<NoFact> for NoAnswer {
    fn from(why: NoFact) -> Self {
        let outcome = match &why {
            NoFact::Refused(_, NodeRefusal::RateLimited { .. }) => {
                Outcome::Refused(Reason::RateLimited)
            }
            NoFact::NotSent(_) => Outcome::NotSent,
            NoFact::Unknown(_, cause, _) => Outcome::Unknown(*cause),
            // A node that refuses this client states nothing about the account and its key.
            NoFact::Refused(_, NodeRefusal::Keys | NodeRefusal::Error(_))
            | NoFact::Changed(_)
            | NoFact::Missing(_)
            | NoFact::Lags { .. }
            | NoFact::Disagree { .. } => Outcome::Unknown(UnknownCause::Undecodable),
        };
        Self {
            outcome: Box::new(outcome),
            detail: why.to_string(),
            is_doubt: why.is_doubt(),
        }
    }
}

impl ChainReader for Nodes {
    async fn fact<A>(&self, ask: &A) -> Result<A::Answer, NoAnswer>
    where
        A: Ask + Sync,
        A::Answer: PartialEq + Send,
    {
        Ok(Self::fact(self, ask).await?)
    }

    async fn newest(&self) -> Result<Block, NoAnswer> {
        Ok(Self::newest(self).await?)
    }

    async fn finalized(&self) -> Result<Block, NoAnswer> {
        Ok(Self::finalized(self).await?)
    }
}

impl EvmPools {
    /// A client of an account behind these nodes.
    pub fn new(nodes: impl Into<Arc<Nodes>>, account: Account) -> Self {
        Self {
            nodes: nodes.into(),
            account: Arc::new(Mutex::new(account)),
            unanswered: Arc::default(),
            took: Arc::default(),
            stopwatch: Arc::new(|| Duration::ZERO),
        }
    }

    /// Measures with this how long polls take; without it they take no time.
    #[must_use]
    pub fn timed(self, stopwatch: Stopwatch) -> Self {
        Self { stopwatch, ..self }
    }

    /// The nodes.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// The polls whose last answer was none, with the cause.
    pub fn unanswered(&self) -> BTreeMap<&'static str, String> {
        self.causes().clone()
    }

    /// How long the last poll of each kind took: all of its requests to the nodes, and the polls that it waited for.
    pub fn took(&self) -> BTreeMap<&'static str, Duration> {
        let took = self.took.lock().unwrap_or_else(PoisonError::into_inner);
        took.clone()
    }

    fn causes(&self) -> std::sync::MutexGuard<'_, BTreeMap<&'static str, String>> {
        self.unanswered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The account, which seals.
    pub const fn account(&self) -> &Arc<Mutex<Account>> {
        &self.account
    }

    /// Answers a poll.
    pub async fn query(&self, query: &Query) -> Answered {
        let began = (self.stopwatch)();
        let mut account = self.account.lock().await;
        let answer = answers::answer(self.nodes.as_ref(), &mut account, query).await;
        let name = query.endpoint().name();
        let took = (self.stopwatch)().saturating_sub(began);
        self.took
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name, took);
        match answer {
            Ok((reply, time)) => {
                self.causes().remove(name);
                Answered {
                    outcome: Outcome::Reply(reply),
                    venue_time: time,
                    http_status: None,
                    retry_after_ms: None,
                    cost_beyond: 0,
                    detail: None,
                }
            }
            Err(NoAnswer {
                outcome, detail, ..
            }) => {
                // What is not known at a finalized block is an answer.
                if *outcome != Outcome::Refused(rules::NOT_FOUND) {
                    self.causes().insert(name, detail.clone());
                }
                Answered {
                    outcome: *outcome,
                    venue_time: None,
                    http_status: None,
                    retry_after_ms: None,
                    cost_beyond: 0,
                    detail: Some(detail),
                }
            }
        }
    }

    /// Sends the stored bundle of an intent to every node, its transactions in their order. The outcome is that of the last
    /// one, which is the intent's: nothing proves that those before it were not taken.
    pub async fn submit_bundle(&self, bytes: &[u8]) -> Answered {
        let Some(transactions) = bundle::transactions(bytes) else {
            return not_sent("the stored bytes are no transactions");
        };
        // The account is read once: polls hold it while they wait for a node, and a bundle that waited for one of them
        // before each transaction would need a part of its lifetime.
        let known = match self.known().await {
            Ok(known) => known,
            Err(why) => return not_sent(&why),
        };
        let mut answers = Vec::new();
        for transaction in transactions {
            answers.push(self.transmit(transaction, &known).await);
        }
        of_bundle(answers)
    }

    /// Sends the stored bytes of an intent to every node. What a node answers is the outcome of that node; one that
    /// keeps the bytes counts before one that refuses them.
    pub async fn submit(&self, bytes: &[u8]) -> Answered {
        match self.known().await {
            Ok(known) => self.transmit(bytes, &known).await,
            Err(why) => not_sent(&why),
        }
    }

    /// What has to be known to send, or why nothing is sent: the account has stopped.
    async fn known(&self) -> Result<Known, String> {
        let account = self.account.lock().await;
        match account.stopped() {
            Some(why) => Err(why.to_string()),
            None => Ok(Known {
                chain: account.chain().id,
                address: account.chain().account,
                number: account.known_number(),
            }),
        }
    }

    async fn transmit(&self, bytes: &[u8], known: &Known) -> Answered {
        let nonce = match Signed::read(bytes, known.chain) {
            Ok(signed) => signed.transaction().nonce,
            Err(error) => return not_sent(&error.to_string()),
        };
        let answers = self.nodes.submit(bytes).await;
        let is_low = |answer: &NodeAnswer<Hash32>| meant(answer) == Ok(Sent::NonceTooLow);
        let spent_below = match known.number {
            Some(number) if answers.iter().any(is_low) => {
                let at = BlockTag::Number(number);
                let ask = NonceAt {
                    account: known.address,
                    at,
                };
                self.nodes.fact(&ask).await.ok()
            }
            _ => None,
        };
        let outcomes = answers.into_iter().map(|answer| {
            let outcome = match meant(&answer) {
                Ok(sent) => rules::outcome(sent, nonce, spent_below),
                Err(outcome) => *outcome,
            };
            Answered {
                outcome,
                venue_time: None,
                http_status: answer.http_status,
                retry_after_ms: match answer.outcome {
                    NodeOutcome::Refused(NodeRefusal::RateLimited { retry_after_ms }) => {
                        retry_after_ms
                    }
                    _ => None,
                },
                cost_beyond: 0,
                detail: answer.detail,
            }
        });
        // What may have reached the chain outweighs what did not.
        let rank = |answered: &Answered| match answered.outcome {
            Outcome::Unknown(_) | Outcome::Reply(_) => 2,
            Outcome::Refused(_) => 1,
            Outcome::NotSent => 0,
        };
        outcomes
            .max_by_key(rank)
            .unwrap_or_else(|| not_sent("no node"))
    }
}

/// What a node answered about bytes, or the outcome if that is none of the chain's.
fn meant(answer: &NodeAnswer<Hash32>) -> Result<Sent, Box<Outcome>> {
    match &answer.outcome {
        NodeOutcome::Reply(_) => Ok(Sent::Kept),
        NodeOutcome::Refused(NodeRefusal::Error(refusal)) => {
            Ok(rules::sent::<Hash32>(&Err(refusal.clone())))
        }
        NodeOutcome::Refused(NodeRefusal::RateLimited { .. }) => {
            Err(Box::new(Outcome::Refused(Reason::RateLimited)))
        }
        NodeOutcome::Refused(NodeRefusal::Keys) => Err(Box::new(Outcome::Refused(rules::KEYS))),
        NodeOutcome::NotSent => Err(Box::new(Outcome::NotSent)),
        NodeOutcome::Unknown(cause) => Err(Box::new(Outcome::Unknown(*cause))),
    }
}

/// The outcome of a bundle: that of its last transaction, which is unknown if only others have left.
fn of_bundle(answers: Vec<Answered>) -> Answered {
    let has_left = |answer: &Answered| answer.outcome != Outcome::NotSent;
    let any_left = answers.iter().any(has_left);
    let last = answers.into_iter().next_back();
    let mut last = last.unwrap_or_else(|| not_sent("no transaction"));
    if any_left && !has_left(&last) {
        last.outcome = Outcome::Unknown(UnknownCause::Transport);
    }
    last
}

fn not_sent(detail: &str) -> Answered {
    Answered {
        outcome: Outcome::NotSent,
        venue_time: None,
        http_status: None,
        retry_after_ms: None,
        cost_beyond: 0,
        detail: Some(detail.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use cambist_core::TokenId;
    use cambist_core::sorted_map::SortedMap;
    use cambist_evm_venue::chain::{Chain, GasLimits};

    use crate::{ClientConfig, Node, SecretString};

    /// A client of an account without pools, behind a node that is not there.
    fn client() -> EvmPools {
        let chain = Chain {
            id: 1,
            account: Address([1; 20]),
            router: Address([2; 20]),
            coin: TokenId(0),
            tokens: SortedMap::new(),
            pools: Vec::new(),
            ranges: SortedMap::new(),
            slippage_bps: 0,
            gas: GasLimits {
                join: 1,
                exit: 1,
                swap: 1,
                approve: 1,
            },
        };
        let url = SecretString::from("http://127.0.0.1:9/");
        let node = Node::new(&ClientConfig::new(""), &url).unwrap();
        let account = Account::new(chain, Vec::new(), 0, 1, 0);
        EvmPools::new(Nodes::new(node, None), account)
    }

    /// That nothing rests is known without a node.
    #[tokio::test]
    async fn a_poll_is_unanswered_unless_the_answer_is_that_there_is_no_such_order() {
        let client = client();
        let nothing = client.query(&Query::Cancel(cambist_core::Hash([1; 32])));
        assert_eq!(nothing.await.outcome, Outcome::Refused(rules::NOT_FOUND));
        assert_eq!(client.unanswered(), BTreeMap::new());
        let away = client.query(&Query::Balances).await;
        assert_eq!(away.outcome, Outcome::NotSent);
        let name = Query::Balances.endpoint().name();
        let cause = (name, away.detail.unwrap());
        assert_eq!(client.unanswered(), BTreeMap::from([cause]));
    }

    #[test]
    fn a_bundle_did_not_leave_if_none_of_its_transactions_did() {
        let refused = Outcome::Refused(Reason::RateLimited);
        let unknown = Outcome::Unknown(UnknownCause::Timeout);
        let of = |outcomes: &[&Outcome]| {
            let answers = outcomes.iter().map(|outcome| Answered {
                outcome: (*outcome).clone(),
                ..not_sent("")
            });
            of_bundle(answers.collect()).outcome
        };
        let transport = Outcome::Unknown(UnknownCause::Transport);
        assert_eq!(of(&[]), Outcome::NotSent);
        assert_eq!(
            of(&[&Outcome::NotSent, &Outcome::NotSent]),
            Outcome::NotSent
        );
        assert_eq!(of(&[&refused, &Outcome::NotSent]), transport);
        assert_eq!(of(&[&unknown, &Outcome::NotSent]), transport);
        assert_eq!(of(&[&Outcome::NotSent, &refused]), refused);
        assert_eq!(of(&[&refused, &unknown]), unknown);
    }
}
