//! The engine's requests to an EVM chain with Uniswap V2 pools. Each is answered from nodes and from what the account
//! has settled; what is signed is sent as the stored bytes.
//!
//! Facts about the account are those of the finalized block, and every node must state the same. Public data is that of
//! the newest block of the first node.

use std::fmt;
use std::sync::Arc;

use cambist_core::pool::{PoolBalances, PoolListed};
use cambist_core::request::{
    Balance, ChargedBalances, Depth, Listed, OrdersPage, Outcome, Query, Reply, UnknownCause,
};
use cambist_core::{Hash, MarketId, PoolSpec, Reason, TokenSpec, VenueTime};
use cambist_evm::abi::one_number;
use cambist_evm::block::{Block, BlockTag};
use cambist_evm::call::{self, Call, amount};
use cambist_evm::pair::supply_with_fee;
use cambist_evm::rpc::{BalanceAt, BlockAt, CallAt, Message, NonceAt, ReceiptOf};
use cambist_evm::transaction::Signed;
use cambist_evm::{Address, Hash32, Malformed, U256};
use cambist_evm_venue::account::{Account, AccountError};
use cambist_evm_venue::bundle;
use cambist_evm_venue::depth;
use cambist_evm_venue::rules::{self, Sent};
use tokio::sync::Mutex;

use crate::client::Answered;
use crate::node::{NoFact, NodeAnswer, NodeOutcome, NodeRefusal, Nodes};

/// A client of pools on a chain, cheap to clone. The account is shared with what seals its transactions.
#[derive(Clone)]
pub struct EvmPools {
    nodes: Arc<Nodes>,
    account: Arc<Mutex<Account>>,
}

impl fmt::Debug for EvmPools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvmPools").finish_non_exhaustive()
    }
}

/// Why there is no answer, as an outcome with a detail for logs.
struct NoAnswer {
    outcome: Box<Outcome>,
    detail: String,
}

impl NoAnswer {
    fn unknown(detail: &dyn std::fmt::Display) -> Self {
        Self {
            outcome: Box::new(Outcome::Unknown(UnknownCause::Undecodable)),
            detail: detail.to_string(),
        }
    }
}

impl From<NoFact> for NoAnswer {
    fn from(why: NoFact) -> Self {
        let outcome = match why {
            NoFact::Refused(NodeRefusal::RateLimited { .. }) => {
                Outcome::Refused(Reason::RateLimited)
            }
            NoFact::Refused(NodeRefusal::Keys) => Outcome::Refused(rules::KEYS),
            NoFact::NotSent => Outcome::NotSent,
            NoFact::Unknown(cause) => Outcome::Unknown(cause),
            NoFact::Refused(NodeRefusal::Error(_)) | NoFact::Missing | NoFact::Disagree => {
                Outcome::Unknown(UnknownCause::Undecodable)
            }
        };
        let detail = match &why {
            NoFact::Refused(NodeRefusal::Error(refusal)) => refusal.message.clone(),
            NoFact::Disagree => "the nodes disagree".to_owned(),
            NoFact::Missing => "a block is missing".to_owned(),
            _ => "a node gave no answer".to_owned(),
        };
        Self {
            outcome: Box::new(outcome),
            detail,
        }
    }
}

impl From<AccountError> for NoAnswer {
    fn from(error: AccountError) -> Self {
        Self::unknown(&error)
    }
}

impl From<Malformed> for NoAnswer {
    fn from(error: Malformed) -> Self {
        Self::unknown(&error)
    }
}

/// What the chain states now.
struct Seen {
    spent_below: u64,
    finalized: Block,
    latest: Block,
}

impl EvmPools {
    /// A client of an account behind these nodes.
    pub fn new(nodes: impl Into<Arc<Nodes>>, account: Account) -> Self {
        Self {
            nodes: nodes.into(),
            account: Arc::new(Mutex::new(account)),
        }
    }

    /// The account, which seals.
    pub const fn account(&self) -> &Arc<Mutex<Account>> {
        &self.account
    }

    /// Answers a poll.
    pub async fn query(&self, query: &Query) -> Answered {
        let mut account = self.account.lock().await;
        let answer = match query {
            Query::Depth(market) => self.depth(&account, *market).await,
            Query::PoolBalance(market) => self.pool_balance(&account, *market).await,
            Query::Balances => self.balances(&mut account).await,
            Query::Orders(page) => self.orders(&mut account, page).await,
            Query::PoolTransactions(page) => self.pool_transactions(&mut account, page).await,
            Query::Order(hash) => self.order(&mut account, *hash).await,
            // Nothing rests at a pool.
            Query::Cancel(_) => Err(NoAnswer {
                outcome: Box::new(Outcome::Refused(rules::NOT_FOUND)),
                detail: "nothing rests".to_owned(),
            }),
            Query::Tokens => self.tokens(&account).await,
            Query::Markets => Ok((
                Reply::Markets {
                    listed: markets(&account),
                },
                None,
            )),
            Query::Pools => Ok((Reply::Pools(pools(&account)), None)),
            Query::Account => Ok((Reply::Account { frozen: false }, None)),
        };
        match answer {
            Ok((reply, time)) => Answered {
                outcome: Outcome::Reply(reply),
                venue_time: time.or_else(|| account.venue_time()),
                http_status: None,
                retry_after_ms: None,
                detail: None,
            },
            Err(NoAnswer { outcome, detail }) => Answered {
                outcome: *outcome,
                venue_time: None,
                http_status: None,
                retry_after_ms: None,
                detail: Some(detail),
            },
        }
    }

    /// Sends the stored bundle of an intent to every node, its transactions in their order. The outcome is that of the last
    /// one, which is the intent's: nothing proves that those before it were not taken.
    pub async fn submit_bundle(&self, bytes: &[u8]) -> Answered {
        let Some(transactions) = bundle::transactions(bytes) else {
            return not_sent("the stored bytes are no transactions");
        };
        let mut outcome = not_sent("no transaction");
        let mut any_left = false;
        for transaction in transactions {
            outcome = self.submit(transaction).await;
            any_left |= outcome.outcome != Outcome::NotSent;
        }
        if any_left && outcome.outcome == Outcome::NotSent {
            outcome.outcome = Outcome::Unknown(UnknownCause::Transport);
        }
        outcome
    }

    /// Sends the stored bytes of an intent to every node. What a node answers is the outcome of that node; one that
    /// keeps the bytes counts before one that refuses them.
    pub async fn submit(&self, bytes: &[u8]) -> Answered {
        let account = self.account.lock().await;
        let read = Signed::read(bytes, account.chain().id);
        let nonce = match (account.stopped(), read) {
            (Some(why), _) => return not_sent(&why.to_string()),
            (None, Err(error)) => return not_sent(&error.to_string()),
            (None, Ok(signed)) => signed.transaction().nonce,
        };
        let number = account.known_number();
        let address = account.chain().account;
        drop(account);
        let answers = self.nodes.submit(bytes).await;
        let is_low = |answer: &NodeAnswer<Hash32>| meant(answer) == Ok(Sent::NonceTooLow);
        let spent_below = match number {
            Some(number) if answers.iter().any(is_low) => {
                let at = BlockTag::Number(number);
                let ask = NonceAt {
                    account: address,
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

    /// Follows the chain and settles everything that has become final.
    async fn settled(&self, account: &mut Account) -> Result<Seen, NoAnswer> {
        let latest = self.nodes.first(&BlockAt(BlockTag::Latest)).await?;
        let latest = latest.ok_or(NoFact::Missing)?;
        let finalized = self.nodes.finalized().await?;
        let known = match account.known_number() {
            Some(number) => self.nodes.fact(&BlockAt(BlockTag::Number(number))).await?,
            None => None,
        };
        account.follow(latest, finalized, known.as_ref())?;
        let at = BlockTag::Number(finalized.number);
        let nonce_at = NonceAt {
            account: account.chain().account,
            at,
        };
        let spent_below = self.nodes.fact(&nonce_at).await?;
        while let Some(due) = account.due(spent_below) {
            let mut receipts = Vec::with_capacity(due.hashes.len());
            let mut block = None;
            for hash in due.hashes {
                let receipt = self.nodes.fact(&ReceiptOf(Hash32(hash.0))).await?;
                if let Some(receipt) = &receipt {
                    let of_receipt = BlockAt(BlockTag::Number(receipt.block_number));
                    block = self.nodes.fact(&of_receipt).await?;
                }
                receipts.push((hash, receipt));
            }
            account.settle(spent_below, &receipts, block.as_ref())?;
        }
        Ok(Seen {
            spent_below,
            finalized,
            latest,
        })
    }

    async fn balances(&self, account: &mut Account) -> Result<Answer, NoAnswer> {
        let seen = self.settled(account).await?;
        let at = BlockTag::Number(seen.finalized.number);
        let chain = account.chain();
        let of_pools = chain.pools.iter().map(|pool| pool.lp.id);
        let tokens: Vec<_> = chain.tokens.keys().copied().chain(of_pools).collect();
        let owner = chain.account;
        let mut held = Vec::with_capacity(tokens.len());
        let mut allowed = Vec::with_capacity(tokens.len());
        for token in tokens {
            let contract = chain.contract(token);
            let contract =
                contract.ok_or_else(|| NoAnswer::unknown(&"a token without a contract"))?;
            let ask = calls(contract, &Call::BalanceOf { owner }, at);
            let returned = self.nodes.fact(&ask).await?;
            held.push(Balance {
                token,
                total: amount(one_number(&returned)?)?,
                locked: 0,
            });
            let call = Call::Allowance {
                owner,
                spender: chain.router,
            };
            let returned = self.nodes.fact(&calls(contract, &call, at)).await?;
            allowed.push((token, one_number(&returned)?));
        }
        let coin = BalanceAt { account: owner, at };
        held.push(Balance {
            token: chain.coin,
            total: amount(self.nodes.fact(&coin).await?)?,
            locked: 0,
        });
        for (token, amount) in allowed {
            account.allows(token, amount);
        }
        let reply = Reply::ChargedBalances(ChargedBalances {
            balances: held,
            charges: account.charges().copied().collect(),
            charged_below: account.settled_below(),
        });
        Ok((reply, Some(time_of(&seen.latest))))
    }

    async fn orders(&self, account: &mut Account, page: &OrdersPage) -> Result<Answer, NoAnswer> {
        let seen = self.settled(account).await?;
        let reply = account.orders(seen.spent_below, page);
        listed(reply, &seen)
    }

    async fn pool_transactions(
        &self,
        account: &mut Account,
        page: &OrdersPage,
    ) -> Result<Answer, NoAnswer> {
        let seen = self.settled(account).await?;
        let reply = account.pool_transactions(seen.spent_below, page);
        listed(reply, &seen)
    }

    async fn order(&self, account: &mut Account, hash: Hash) -> Result<Answer, NoAnswer> {
        let seen = self.settled(account).await?;
        match account.order(hash) {
            Some(report) => Ok((Reply::Order(report.clone()), Some(time_of(&seen.latest)))),
            None => Err(NoAnswer {
                outcome: Box::new(Outcome::Refused(rules::NOT_FOUND)),
                detail: "in no finalized block".to_owned(),
            }),
        }
    }

    async fn depth(&self, account: &Account, market: MarketId) -> Result<Answer, NoAnswer> {
        let spec = account.markets().iter().find(|spec| spec.id == market);
        let (spec, pool) = spec.zip(account.chain().pool(market)).ok_or_else(no_pool)?;
        let (block, balances) = self.reserves(pool).await?;
        let base_at = usize::from(pool.pooled[0] != spec.base.id);
        let (base, quote) = (balances.pooled[base_at], balances.pooled[1 - base_at]);
        let levels = depth::levels(spec, base, quote, pool.fee_bips);
        let (bids, asks) = levels.ok_or_else(|| NoAnswer::unknown(&"the pool has no price"))?;
        let timestamp = time_of(&block);
        let depth = Depth {
            market,
            version: block.number,
            timestamp,
            bids,
            asks,
        };
        Ok((Reply::Depth(depth), Some(timestamp)))
    }

    async fn pool_balance(&self, account: &Account, market: MarketId) -> Result<Answer, NoAnswer> {
        let pool = account.chain().pool(market).ok_or_else(no_pool)?;
        let (block, balances) = self.reserves(pool).await?;
        Ok((Reply::PoolBalance(balances), Some(time_of(&block))))
    }

    /// What a pool holds in the newest block, with the shares of a protocol fee that is due.
    async fn reserves(&self, pool: &PoolSpec) -> Result<(Block, PoolBalances), NoAnswer> {
        let block = self.nodes.first(&BlockAt(BlockTag::Latest)).await?;
        let block = block.ok_or(NoFact::Missing)?;
        let (pair, at) = (Address(pool.address), BlockTag::Number(block.number));
        let ask = async |call: &Call| self.nodes.first(&calls(pair, call, at)).await;
        let pooled = call::reserves(&ask(&Call::GetReserves {}).await?)?.amounts;
        let supply = one_number(&ask(&Call::TotalSupply {}).await?)?;
        let k_last = one_number(&ask(&Call::KLast {}).await?)?;
        let supply = amount(supply_with_fee(supply, pooled, k_last)?)?;
        Ok((block, PoolBalances { pooled, supply }))
    }

    /// The configured tokens with the decimals that their contracts state.
    async fn tokens(&self, account: &Account) -> Result<Answer, NoAnswer> {
        let markets = account.markets().iter();
        let traded = markets.flat_map(|market| [&market.base, &market.quote]);
        let shares = account.chain().pools.iter().map(|pool| &pool.lp);
        let mut listed: Vec<TokenSpec> = Vec::new();
        for spec in traded.chain(shares) {
            if listed.iter().any(|known| known.id == spec.id) {
                continue;
            }
            let contract = account.chain().contract(spec.id).ok_or_else(no_pool)?;
            let ask = calls(contract, &Call::Decimals {}, BlockTag::Latest);
            let decimals = call::decimals(&self.nodes.first(&ask).await?)?;
            listed.push(TokenSpec {
                decimals,
                ..spec.clone()
            });
        }
        Ok((Reply::Tokens(listed), None))
    }
}

/// An answer and the venue's time, if it states one.
type Answer = (Reply, Option<VenueTime>);

fn listed(reply: Option<Reply>, seen: &Seen) -> Result<Answer, NoAnswer> {
    match reply {
        Some(reply) => Ok((reply, Some(time_of(&seen.latest)))),
        None => Err(NoAnswer::unknown(
            &"the finalized block proves no list of this window",
        )),
    }
}

fn no_pool() -> NoAnswer {
    NoAnswer {
        outcome: Box::new(Outcome::NotSent),
        detail: "no such market, pool or token is configured".to_owned(),
    }
}

fn markets(account: &Account) -> Vec<Listed> {
    let each = account.markets().iter().map(|market| Listed {
        name: market.name.clone(),
        base: market.base.id,
        quote: market.quote.id,
        price_decimals: market.price_decimals,
        enabled: market.enabled,
    });
    each.collect()
}

fn pools(account: &Account) -> Vec<PoolListed> {
    let each = account.chain().pools.iter().map(|pool| PoolListed {
        market: pool.market,
        joins: pool.joins,
        exits: pool.exits,
        swaps: pool.swaps,
        fee_bips: pool.fee_bips,
    });
    each.collect()
}

const fn time_of(block: &Block) -> VenueTime {
    VenueTime::from_s(block.timestamp_s)
}

fn calls(contract: Address, call: &Call, at: BlockTag) -> CallAt {
    CallAt {
        message: Message {
            from: None,
            to: Some(contract),
            value: U256::ZERO,
            data: call.encode(),
        },
        at,
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

fn not_sent(detail: &str) -> Answered {
    Answered {
        outcome: Outcome::NotSent,
        venue_time: None,
        http_status: None,
        retry_after_ms: None,
        detail: Some(detail.to_owned()),
    }
}
