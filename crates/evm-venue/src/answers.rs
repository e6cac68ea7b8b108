//! The engine's requests, answered from the facts of nodes and from what the account has settled.
//!
//! Facts about the account are those of the finalized block, public data is that of the newest block that every node
//! has, and every node must state the same of both: a price that one node alone states would decide what is signed. Where the facts come from is the caller's ([`ChainReader`]): nodes over HTTP, or
//! a model of a chain.

use std::fmt;

use cambist_core::pool::{PoolBalances, PoolListed};
use cambist_core::request::{
    Balance, ChargedBalances, Depth, Listed, OrdersPage, Outcome, Query, Reply, UnknownCause,
};
use cambist_core::{Hash, MarketId, PoolSpec, TokenSpec, VenueTime};
use cambist_evm::abi::one_number;
use cambist_evm::block::{Block, BlockTag};
use cambist_evm::call::{self, Call, amount};
use cambist_evm::pair::supply_with_fee;
use cambist_evm::rpc::{Ask, BalanceAt, BlockAt, CallAt, NonceAt, ReceiptOf};
use cambist_evm::{Address, Hash32, Malformed};

use crate::account::{Account, AccountError};
use crate::depth;
use crate::range_answers::{curve, liquidity_held, owed, price};
use crate::rules;

/// What nodes state about a chain.
pub trait ChainReader: Sync {
    /// A fact that does not change: about a finalized block by its number, or about a transaction in one. Every node
    /// states the same.
    fn fact<A>(&self, ask: &A) -> impl Future<Output = Result<A::Answer, NoAnswer>> + Send
    where
        A: Ask + Sync,
        A::Answer: PartialEq + Send;

    /// The newest block that every node has.
    fn newest(&self) -> impl Future<Output = Result<Block, NoAnswer>> + Send;

    /// The newest block that every node has finalized.
    fn finalized(&self) -> impl Future<Output = Result<Block, NoAnswer>> + Send;
}

/// Why there is no answer, as an outcome with a detail for logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAnswer {
    /// What the engine gets.
    pub outcome: Box<Outcome>,
    /// Why, for logs.
    pub detail: String,
    /// One of two nodes does not confirm what the other states: it states something else, or nothing.
    pub is_doubt: bool,
}

impl NoAnswer {
    /// Nothing follows from what the nodes state.
    pub fn unknown(detail: &dyn fmt::Display) -> Self {
        Self {
            outcome: Box::new(Outcome::Unknown(UnknownCause::Undecodable)),
            detail: detail.to_string(),
            is_doubt: false,
        }
    }

    /// A block that must be there is not.
    pub fn missing() -> Self {
        Self::unknown(&"a block is missing")
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

/// Answers a poll: the reply, and the venue's time if the answer states one.
///
/// # Errors
/// [`NoAnswer`].
pub async fn answer<R: ChainReader>(
    reader: &R,
    account: &mut Account,
    query: &Query,
) -> Result<Answer, NoAnswer> {
    let of = Answers { reader };
    let answered = of.reply(account, query).await;
    match &answered {
        Err(why) if why.is_doubt => account.doubts(query.endpoint(), true),
        Err(_) => {}
        Ok(_) => account.doubts(query.endpoint(), false),
    }
    let (reply, time) = answered?;
    Ok((reply, time.or_else(|| account.venue_time())))
}

struct Answers<'a, R> {
    reader: &'a R,
}

impl<R: ChainReader> Answers<'_, R> {
    async fn reply(&self, account: &mut Account, query: &Query) -> Result<Answer, NoAnswer> {
        match query {
            Query::Depth(market) => self.depth(account, *market).await,
            Query::PoolBalance(market) => self.pool_balance(account, *market).await,
            Query::Balances => self.balances(account).await,
            Query::Orders(page) => self.orders(account, page).await,
            Query::PoolTransactions(page) => self.pool_transactions(account, page).await,
            Query::Order(hash) => self.order(account, *hash).await,
            // Nothing rests at a pool.
            Query::Cancel(_) | Query::Amend(_) => Err(NoAnswer {
                outcome: Box::new(Outcome::Refused(rules::NOT_FOUND)),
                detail: "nothing rests".to_owned(),
                is_doubt: false,
            }),
            Query::Tokens => self.tokens(account).await,
            Query::Markets => Ok((
                Reply::Markets {
                    listed: markets(account),
                },
                None,
            )),
            Query::Pools => Ok((Reply::Pools(pools(account)), None)),
            Query::Account => Ok((Reply::Account { frozen: false }, None)),
        }
    }

    /// Follows the chain and settles everything that has become final.
    async fn settled(&self, account: &mut Account) -> Result<Seen, NoAnswer> {
        let latest = self.reader.newest().await?;
        let finalized = self.reader.finalized().await?;
        let known = match account.known_number() {
            Some(number) => self.known(account, number).await?,
            None => None,
        };
        account.follow(latest, finalized, known.as_ref())?;
        let at = BlockTag::Number(finalized.number);
        let nonce_at = NonceAt {
            account: account.chain().account,
            at,
        };
        let spent_below = self.reader.fact(&nonce_at).await?;
        while let Some(due) = account.due(spent_below)? {
            let mut receipts = Vec::with_capacity(due.hashes.len());
            let mut block = None;
            for hash in due.hashes {
                let receipt = self.reader.fact(&ReceiptOf(Hash32(hash.0))).await?;
                if let Some(receipt) = &receipt {
                    let of_receipt = BlockAt(BlockTag::Number(receipt.block_number));
                    block = self.reader.fact(&of_receipt).await?;
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

    /// The block that the node now has at the number of the finalized one of before. Another block stops the account, so
    /// that one answer alone does not state it.
    async fn known(&self, account: &Account, number: u64) -> Result<Option<Block>, NoAnswer> {
        let ask = BlockAt(BlockTag::Number(number));
        let stated = self.reader.fact(&ask).await?;
        let is_other = |block: &Block| account.known_hash() != Some(block.hash);
        if stated.as_ref().is_some_and(is_other) && self.reader.fact(&ask).await? != stated {
            return Err(NoAnswer::unknown(
                &"a node states different blocks of one number",
            ));
        }
        Ok(stated)
    }

    async fn balances(&self, account: &mut Account) -> Result<Answer, NoAnswer> {
        let seen = self.settled(account).await?;
        let at = BlockTag::Number(seen.finalized.number);
        let chain = account.chain();
        let of_pools = chain.pairs().map(|pool| pool.lp.id);
        let tokens: Vec<_> = chain.tokens.keys().copied().chain(of_pools).collect();
        let owner = chain.account;
        let mut held = Vec::with_capacity(tokens.len());
        let mut allowed = Vec::with_capacity(tokens.len());
        for token in tokens {
            let contract = chain.contract(token);
            let contract =
                contract.ok_or_else(|| NoAnswer::unknown(&"a token without a contract"))?;
            let ask = CallAt::view(contract, &Call::BalanceOf { owner }, at);
            let returned = self.reader.fact(&ask).await?;
            held.push(Balance {
                token,
                total: amount(one_number(&returned)?)?,
                locked: 0,
            });
            let call = Call::Allowance {
                owner,
                spender: chain.router,
            };
            let returned = self.reader.fact(&CallAt::view(contract, &call, at)).await?;
            allowed.push((token, one_number(&returned)?));
        }
        for pool in &chain.pools {
            if let Some(range) = chain.ranges.get(&pool.market) {
                held.push(Balance {
                    token: pool.lp.id,
                    total: liquidity_held(self.reader, chain, pool, range, at).await?,
                    locked: 0,
                });
            }
        }
        let coin = BalanceAt { account: owner, at };
        held.push(Balance {
            token: chain.coin,
            total: amount(self.reader.fact(&coin).await?)?,
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
        let found = account.order(hash);
        match found.map_err(|forgotten| NoAnswer::unknown(&forgotten))? {
            Some(report) => Ok((Reply::Order(report.clone()), Some(time_of(&seen.latest)))),
            None => Err(NoAnswer {
                outcome: Box::new(Outcome::Refused(rules::NOT_FOUND)),
                detail: "in no finalized block".to_owned(),
                is_doubt: false,
            }),
        }
    }

    async fn depth(&self, account: &Account, market: MarketId) -> Result<Answer, NoAnswer> {
        let spec = account.markets().iter().find(|spec| spec.id == market);
        let (spec, pool) = spec.zip(account.chain().pool(market)).ok_or_else(no_pool)?;
        let (block, balances) = self.reserves(account, pool).await?;
        let base_at = usize::from(pool.pooled[0] != spec.base.id);
        let (base, quote) = (balances.reserves[base_at], balances.reserves[1 - base_at]);
        let levels = match account.chain().ranges.get(&market) {
            Some(range) => {
                let at = BlockTag::Number(block.number);
                let curve = curve(self.reader, pool, range, at).await?;
                depth::levels_of_curve(spec, &curve, (base, quote), base_at, pool.fee_bips)
            }
            None => depth::levels(spec, base, quote, pool.fee_bips),
        };
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
        let (block, mut balances) = self.reserves(account, pool).await?;
        if let Some(range) = account.chain().ranges.get(&market) {
            let at = BlockTag::Number(block.number);
            balances.owed = owed(self.reader, account.chain(), range, at).await?;
        }
        Ok((Reply::PoolBalance(balances), Some(time_of(&block))))
    }

    /// What a pool holds in the newest block, with the shares of a protocol fee that is due; of a range, what liquidity in
    /// it is due.
    async fn reserves(
        &self,
        account: &Account,
        pool: &PoolSpec,
    ) -> Result<(Block, PoolBalances), NoAnswer> {
        let block = self.reader.newest().await?;
        if let Some(range) = account.chain().ranges.get(&pool.market) {
            let price = price(self.reader, pool, BlockTag::Number(block.number)).await?;
            return Ok((block, range.balances(price.sqrt)?));
        }
        let (pair, at) = (Address(pool.address), BlockTag::Number(block.number));
        let ask = async |call: &Call| self.reader.fact(&CallAt::view(pair, call, at)).await;
        let pooled = call::reserves(&ask(&Call::GetReserves {}).await?)?.amounts;
        let supply = one_number(&ask(&Call::TotalSupply {}).await?)?;
        let k_last = one_number(&ask(&Call::KLast {}).await?)?;
        let supply = amount(supply_with_fee(supply, pooled, k_last)?)?;
        Ok((block, PoolBalances::constant_product(pooled, supply)))
    }

    /// The configured tokens with the decimals that their contracts state.
    async fn tokens(&self, account: &Account) -> Result<Answer, NoAnswer> {
        let markets = account.markets().iter();
        let traded = markets.flat_map(|market| [&market.base, &market.quote]);
        let shares = account.chain().pairs().map(|pool| &pool.lp);
        let mut listed: Vec<TokenSpec> = Vec::new();
        for spec in traded.chain(shares) {
            if listed.iter().any(|known| known.id == spec.id) {
                continue;
            }
            let contract = account.chain().contract(spec.id).ok_or_else(no_pool)?;
            let ask = CallAt::view(contract, &Call::Decimals {}, BlockTag::Latest);
            let decimals = call::decimals(&self.reader.fact(&ask).await?)?;
            listed.push(TokenSpec {
                decimals,
                ..spec.clone()
            });
        }
        // Liquidity has no contract that states its decimals.
        let chain = account.chain();
        let in_ranges = chain.pools.iter().filter(|pool| pool.in_range);
        listed.extend(in_ranges.map(|pool| pool.lp.clone()));
        Ok((Reply::Tokens(listed), None))
    }
}

/// An answer and the venue's time, if it states one.
pub type Answer = (Reply, Option<VenueTime>);

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
        is_doubt: false,
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
