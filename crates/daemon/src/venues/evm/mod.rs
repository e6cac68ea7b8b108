//! Uniswap V2 pools and ranges of V3 pools on an EVM chain: nodes and key, the questions of a start, what seals joins and
//! exits.
//!
//! A start compares the chain with the file: its id, the code of every contract, the factory that the router and every
//! pair belong to, decimals, and how far finality lags behind, which `orders.grace_s` has to cover.

pub mod access;
mod account_watch;
mod final_block;
mod holdings;
pub mod journal;
mod ranges;
pub mod seal;
mod token_probe;

use std::collections::BTreeMap;
use std::sync::Arc;

use cambist_client::{EvmPools, Nodes};
use cambist_core::event::Start;
use cambist_core::sorted_map::SortedMap;
use cambist_core::venue::FeeToken;
use cambist_core::{MarketSpec, TokenId, TokenSpec, VenueTime};
use cambist_evm::abi::one_address;
use cambist_evm::block::BlockTag;
use cambist_evm::call::{self, Call};
use cambist_evm::rpc::{BalanceAt, BlockAt, CallAt, ChainId, CodeAt, NonceAt};
use cambist_evm::{Address, Malformed, U256};
use cambist_evm_venue::account::{Account, READS_ONLY};
use cambist_evm_venue::chain::Chain;
use cambist_evm_venue::range::PoolRange;
use cambist_evm_venue::resume::first_nonce;
use cambist_host::clock::Clock;
use cambist_host::exit::{Exit, Failure};

use super::{AccountReader, Trading, VenueListing};
use crate::config::pool::{EXITS, JOINS, ListedPool, SWAPS};
use crate::config::venue::evm::{COIN_ID, EvmLink, FEE_BIPS};
use crate::config::{Bound, Daemon, Listed};
use crate::live::start_retry::StartRetry;
use access::{EvmAccess, link};
use account_watch::{AccountWatch, GUIDE};
use final_block::FinalBlock;
pub use holdings::holdings_reader;
use seal::EvmSealer;

/// An account on a chain that was compared with the configuration.
pub struct Session {
    access: EvmAccess,
    link: EvmLink,
    grace_ms: u64,
    /// The account's nonce in the finalized block.
    spent_below: u64,
    /// The account's nonce behind everything that waits at the node for a block.
    waiting_below: u64,
    /// By symbol.
    tokens: BTreeMap<String, (TokenId, Address)>,
    /// Ranges of V3 pools with the account's positions, by market.
    ranges: BTreeMap<String, PoolRange>,
}

/// A pool that a start found.
struct Found {
    address: Address,
    shares: TokenSpec,
    fee_bips: u16,
    range: Option<PoolRange>,
}

/// How often a node is asked for what waits: some never state it.
const PENDING_TRIES: usize = 3;

/// The name of the chain's coin among the numbers of tokens.
const COIN: &str = "coin";

fn refused(what: String) -> anyhow::Error {
    Failure::new(Exit::Refused, what).into()
}

impl Session {
    /// Compares the chain, the contracts and the account with the file.
    pub async fn open(
        access: EvmAccess,
        daemon: &Daemon,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<Self> {
        let link = link(daemon)?.clone();
        for (place, found) in access.each(&ChainId, retry).await? {
            if found != link.chain_id {
                return Err(refused(format!(
                    "{place} is of chain {found}, and venue.chain_id is {}",
                    link.chain_id
                )));
            }
        }
        let contracts = [
            (link.called(), link.router),
            ("venue.factory", link.factory),
        ];
        let tokens = link.tokens.iter();
        let tokens = tokens.map(|(symbol, address)| (symbol.as_str(), *address));
        for (name, address) in contracts.into_iter().chain(tokens) {
            let at = BlockTag::Latest;
            let code = access
                .fact(
                    &CodeAt {
                        contract: address,
                        at,
                    },
                    retry,
                )
                .await?;
            if code.is_empty() {
                return Err(refused(format!(
                    "{name}: there is no contract at {} on this chain",
                    address.to_hex()
                )));
            }
        }
        let mut session = Self {
            access,
            grace_ms: daemon.engine.grace_ms,
            spent_below: 0,
            waiting_below: 0,
            tokens: BTreeMap::new(),
            ranges: BTreeMap::new(),
            link,
        };
        let (router, call) = (session.link.router, Call::Factory {});
        let factory = session.ask(router, &call, retry).await?;
        let factory = one_address(&factory).map_err(|error| {
            session.other_contract(router, call.signature(), &error.to_string())
        })?;
        if factory != session.link.factory {
            let called = if session.link.in_ranges {
                "position manager"
            } else {
                "router"
            };
            return Err(refused(format!(
                "the {called} belongs to another factory than venue.factory"
            )));
        }
        session.check_account(retry).await?;
        session.number_tokens()?;
        Ok(session)
    }

    /// Gives every token of the file its number.
    fn number_tokens(&mut self) -> anyhow::Result<()> {
        let names: Vec<String> = self.link.tokens.values().map(Address::to_hex).collect();
        let names = [COIN].into_iter().chain(names.iter().map(String::as_str));
        let ids = self.access.ids.of(names)?;
        let each = self.link.tokens.iter();
        let numbered = each.filter_map(|(symbol, address)| {
            let id = ids.get(&address.to_hex())?;
            Some((symbol.clone(), (*id, *address)))
        });
        self.tokens = numbered.collect();
        Ok(())
    }

    /// Finality, the account's nonce and its coin.
    async fn check_account(&mut self, retry: StartRetry<'_>) -> anyhow::Result<()> {
        let [latest, finalized] = self.access.blocks(retry).await?;
        let lag_s = latest.timestamp_s.saturating_sub(finalized.timestamp_s);
        if lag_s.saturating_mul(1_000) > self.grace_ms {
            return Err(refused(format!(
                "the finalized block is {lag_s} s older than the newest one, and orders.grace_s = {} has to cover that: nothing could be proven dead",
                self.grace_ms / 1_000
            )));
        }
        self.check_finalized(retry).await?;
        let account = self.link.account;
        let at = BlockTag::Number(finalized.number);
        self.spent_below = self.access.fact(&NonceAt { account, at }, retry).await?;
        let at = BlockTag::Pending;
        self.waiting_below = self.spent_below;
        for (place, node) in self.access.nodes.all() {
            let mut stated = Nodes::at(place, node, &NonceAt { account, at }).await;
            for _ in 1..PENDING_TRIES {
                if stated.is_err() {
                    stated = Nodes::at(place, node, &NonceAt { account, at }).await;
                }
            }
            match stated {
                Ok(waiting) => self.waiting_below = self.waiting_below.max(waiting),
                Err(why) => tracing::warn!(
                    "it is not known whether transactions of the account wait for a block: {why}; one that was not signed here stops the account when it is mined"
                ),
            }
        }
        let at = BlockTag::Number(latest.number);
        let held = self.access.fact(&BalanceAt { account, at }, retry).await?;
        let needed = U256::from(self.link.fee_max) * U256::from(self.link.gas().join);
        if held == U256::ZERO {
            return Err(refused(format!(
                "the account {} has no coin to pay for gas",
                account.to_hex()
            )));
        }
        if held < needed {
            tracing::warn!(
                "the account cannot pay for the gas of one join at venue.fee_max_gwei: nodes may refuse its transactions"
            );
        }
        Ok(())
    }

    /// The finalized block that the last run saw is still the chain's.
    async fn check_finalized(&self, retry: StartRetry<'_>) -> anyhow::Result<()> {
        let known = self.access.finalized.as_ref();
        let Some((number, hash)) = known.and_then(FinalBlock::known) else {
            return Ok(());
        };
        let at = BlockAt(BlockTag::Number(number));
        match self.access.fact(&at, retry).await? {
            Some(block) if block.hash == hash => Ok(()),
            found => {
                let now = if found.is_some() {
                    "another one"
                } else {
                    "not there"
                };
                Err(refused(format!(
                    "block {number} was final in the last run and is {now}: the node lags, or follows another chain; see {GUIDE}"
                )))
            }
        }
    }

    async fn ask(
        &self,
        contract: Address,
        call: &Call,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<Vec<u8>> {
        let ask = CallAt::view(contract, call, BlockTag::Latest);
        self.view(contract, call.signature(), &ask, retry).await
    }

    /// What a view of a contract returns. One that the contract reverts at every node would be asked for ever: it is
    /// another contract.
    async fn view(
        &self,
        contract: Address,
        function: &str,
        ask: &CallAt,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<Vec<u8>> {
        let answer = self.access.view(ask, retry).await?;
        answer.map_err(|text| self.other_contract(contract, function, &text))
    }

    /// The refusal of a contract that is not what the file means.
    fn other_contract(&self, contract: Address, function: &str, found: &str) -> anyhow::Error {
        let (key, kind) = self.meant(contract);
        refused(format!(
            "{key}: the contract at {} has no usable {function} ({found}), so that it is no {kind}: compare the address with the one that the deployment publishes for this chain",
            contract.to_hex()
        ))
    }

    /// The key that names a contract, and what it is to be.
    fn meant(&self, contract: Address) -> (String, &'static str) {
        let mut tokens = self.link.tokens.iter();
        if contract == self.link.router {
            let kind = if self.link.in_ranges {
                "position manager of Uniswap V3"
            } else {
                "router of Uniswap V2"
            };
            (self.link.called().to_owned(), kind)
        } else if contract == self.link.factory {
            let kind = if self.link.in_ranges {
                "factory of Uniswap V3"
            } else {
                "factory of Uniswap V2"
            };
            ("venue.factory".to_owned(), kind)
        } else if let Some((symbol, _)) = tokens.find(|(_, address)| **address == contract) {
            (
                format!("venue.tokens.{symbol}"),
                "ERC-20 token with decimals",
            )
        } else {
            ("the pool of venue.factory".to_owned(), "pool of this kind")
        }
    }

    /// The tokens, markets and pools of the file, as their contracts state them.
    pub async fn listing(
        &mut self,
        daemon: &Daemon,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<VenueListing> {
        let mut listing = VenueListing::default();
        listing.tokens.push(self.link.coin());
        for (symbol, (id, address)) in &self.tokens {
            let decimals = self.ask(*address, &Call::Decimals {}, retry).await?;
            let decimals = call::decimals(&decimals).map_err(of_answer)?;
            let precision = precision(daemon, symbol);
            listing.tokens.push(token(*id, symbol, decimals, precision));
        }
        for market in &daemon.markets {
            let name = &market.name.value;
            let traded =
                [&market.base, &market.quote].map(|symbol| self.tokens.get(symbol).copied());
            let [Some(base), Some(quote)] = traded else {
                return Err(refused(format!(
                    "{name}: [venue.tokens] needs the contracts of both of its tokens"
                )));
            };
            let mut pooled = [base, quote];
            pooled.sort_by_key(|(_, address)| *address);
            let range = market.pool.as_ref().and_then(|pool| pool.range.as_ref());
            let found = match range {
                Some(range) => self.ranged(name, pooled, &range.value, retry).await?,
                None => self.pair(name, pooled, retry).await?,
            };
            let holder = (found.address, range.is_some());
            token_probe::check(&self.access, &self.link, holder, pooled, retry).await?;
            listing.markets.push(Listed {
                name: name.clone(),
                base: base.0,
                quote: quote.0,
                price_decimals: market
                    .expected
                    .price_decimals
                    .as_ref()
                    .map_or(0, |at| at.value),
                fee_in: FeeToken::Bought,
                enabled: true,
            });
            if let Some(pool) = &market.pool {
                listing.pools.push(ListedPool {
                    name: pool.name.value.clone(),
                    address: found.address.0,
                    pooled: pooled.map(|(id, _)| id).to_vec(),
                    lp: found.shares.id,
                    status: JOINS | EXITS | if range.is_some() { 0 } else { SWAPS },
                    fee_bips: found.fee_bips,
                    in_range: range.is_some(),
                });
            }
            if let Some(range) = found.range {
                self.ranges.insert(name.clone(), range);
            }
            listing.tokens.push(found.shares);
        }
        Ok(listing)
    }

    /// The pair of two tokens in its order, and its shares.
    async fn pair(
        &mut self,
        market: &str,
        [first, second]: [(TokenId, Address); 2],
        retry: StartRetry<'_>,
    ) -> anyhow::Result<Found> {
        let call = Call::GetPair {
            token_a: first.1,
            token_b: second.1,
        };
        let pair = self.ask(self.link.factory, &call, retry).await?;
        let pair = one_address(&pair).map_err(of_answer)?;
        if pair == Address::ZERO {
            return Err(refused(format!(
                "{market}: the factory has no pair of these tokens"
            )));
        }
        self.check_tokens(market, pair, [first, second], retry)
            .await?;
        let decimals = self.ask(pair, &Call::Decimals {}, retry).await?;
        let decimals = call::decimals(&decimals).map_err(of_answer)?;
        Ok(Found {
            address: pair,
            shares: self.shares(market, &pair.to_hex(), decimals)?,
            fee_bips: FEE_BIPS,
            range: None,
        })
    }

    /// The pool's tokens are these, in this order.
    async fn check_tokens(
        &self,
        market: &str,
        pool: Address,
        [first, second]: [(TokenId, Address); 2],
        retry: StartRetry<'_>,
    ) -> anyhow::Result<()> {
        for (call, token) in [(Call::Token0 {}, first.1), (Call::Token1 {}, second.1)] {
            let stated = self.ask(pool, &call, retry).await?;
            if one_address(&stated).map_err(of_answer)? != token {
                return Err(refused(format!("{market}: the pool has other tokens")));
            }
        }
        Ok(())
    }

    /// The token of a pool's shares, numbered by a name.
    fn shares(&mut self, market: &str, name: &str, decimals: u8) -> anyhow::Result<TokenSpec> {
        let id = self.access.ids.of([name])?.get(name).copied();
        let id = id.ok_or_else(|| refused(format!("{market}: too many tokens")))?;
        Ok(token(id, &format!("LP-{market}"), decimals, None))
    }

    /// A time that the venue's clock has passed.
    pub async fn time(&self, retry: StartRetry<'_>) -> anyhow::Result<VenueTime> {
        let [latest, _] = self.access.blocks(retry).await?;
        Ok(VenueTime::from_s(latest.timestamp_s))
    }

    /// A client that reads; what it settles is nothing.
    pub fn client(&self, bound: &Bound) -> EvmPools {
        let chain = self.chain(bound, 0);
        reader(&self.access, chain, bound.markets.clone(), self.grace_ms)
    }

    fn chain(&self, bound: &Bound, slippage_bps: u32) -> Chain {
        let ranges = bound.markets.iter().filter_map(|market| {
            let range = self.ranges.get(&market.name)?;
            Some((market.id, *range))
        });
        Chain {
            id: self.link.chain_id,
            account: self.link.account,
            router: self.link.router,
            coin: COIN_ID,
            tokens: self.tokens.values().copied().collect(),
            pools: bound.pools.clone(),
            ranges: ranges.collect(),
            slippage_bps,
            gas: self.link.gas(),
        }
    }

    /// What trading needs. Everything that was signed and is not booked is taken up again.
    pub fn trading(self, bound: &Bound, start: &Start) -> anyhow::Result<Trading> {
        let slippage = bound.engine.pools.iter().map(|pool| pool.slippage_bps);
        let chain = self.chain(bound, slippage.min().unwrap_or(0));
        let unfit = |error: &dyn std::fmt::Display| refused(error.to_string());
        chain.check().map_err(|error| unfit(&error))?;
        let access = self.access;
        let (Some(key), Some(mut journal), Some(finalized)) =
            (access.key, access.journal, access.finalized)
        else {
            return Err(refused("there is no key that signs".to_owned()));
        };
        let signed = journal.signed().iter();
        let signed = signed.map(|signed| (signed.nonce, &signed.wanted));
        let first = first_nonce(start, signed, self.spent_below);
        let is_signed = |nonce| journal.signed().iter().any(|signed| signed.nonce == nonce);
        check_nonces(first, self.spent_below, self.waiting_below, is_signed).map_err(refused)?;
        journal.keep_from(first)?;
        let markets = bound.markets.clone();
        let account = Account::new(chain, markets, self.grace_ms, self.link.fee_max, first);
        let final_before = finalized.known().map_or(0, |(number, _)| number);
        let account = account.with_final(final_before);
        let mut account = account.with_ttl_ms(bound.engine.ttl_ms);
        for signed in journal.signed() {
            let bytes = signed.bytes().unwrap_or_default();
            let recovered = account.recover(signed.wanted.clone(), &bytes);
            recovered.map_err(|error| {
                refused(format!(
                    "nonce {} of the journal of transactions: {error}",
                    signed.nonce
                ))
            })?;
        }
        let clock = Clock::new();
        let stopwatch = Arc::new(move || clock.since_boot());
        let pools = EvmPools::new(access.nodes, account).timed(stopwatch);
        Ok(Trading {
            client: pools.clone().into(),
            sealer: Box::new(EvmSealer {
                pools: pools.clone(),
                key,
                priority_fee: self.link.priority_fee,
                journal,
            }),
            switch: None,
            watch: Some(Box::new(AccountWatch::new(
                pools,
                finalized,
                &bound.engine.poll,
            ))),
        })
    }
}

/// Whether a run may begin: nonces from `first` on are this run's to settle, the finalized block has spent those below
/// `spent_below`, and below `waiting_below` transactions wait at the node.
fn check_nonces(
    first: u64,
    spent_below: u64,
    waiting_below: u64,
    is_signed: impl Fn(u64) -> bool,
) -> Result<(), String> {
    if spent_below < first {
        return Err(format!(
            "the finalized block has spent the account's nonces below {spent_below} only, and those below {first} are booked: the node lags, or follows another chain; see {GUIDE}"
        ));
    }
    let unsigned = |from: u64, below: u64| (from..below).find(|nonce| !is_signed(*nonce));
    if let Some(nonce) = unsigned(first, spent_below) {
        return Err(format!(
            "nonce {nonce} was spent by a transaction that was not signed here: another holder of the key, or an older copy of the state folder; see {GUIDE}"
        ));
    }
    if let Some(nonce) = unsigned(spent_below, waiting_below) {
        return Err(format!(
            "a transaction of nonce {nonce} that was not signed here waits for a block: another holder of the key, or an older copy of the state folder; see {GUIDE}"
        ));
    }
    Ok(())
}

/// The account for commands that read. It knows no transaction: what it proves, it proves by time.
pub fn account_reader(access: &EvmAccess, daemon: &Daemon) -> anyhow::Result<AccountReader> {
    use cambist_core::request::OrderList;
    let link = link(daemon)?;
    let (mut tokens, mut contracts) = (vec![link.coin()], SortedMap::new());
    // Numbers of this command alone. A token of no market has no decimals in the file.
    for (number, (symbol, contract)) in (COIN_ID.0 + 1..).zip(&link.tokens) {
        if let Some(decimals) = daemon.decimals_of(symbol) {
            let id = TokenId(number);
            tokens.push(TokenSpec {
                id,
                symbol: symbol.clone(),
                decimals,
                precision: decimals,
                ..link.coin()
            });
            contracts.insert(id, *contract);
        }
    }
    let chain = Chain {
        id: link.chain_id,
        account: link.account,
        router: link.router,
        coin: COIN_ID,
        tokens: contracts,
        pools: Vec::new(),
        ranges: SortedMap::new(),
        slippage_bps: 0,
        gas: link.gas(),
    };
    Ok(AccountReader {
        client: reader(access, chain, Vec::new(), daemon.engine.grace_ms).into(),
        resting: OrderList::All,
        lists: vec![OrderList::All],
        has_pools: true,
        pace: std::time::Duration::ZERO,
        tokens: Some(tokens),
    })
}

/// A client of an account of which nothing is settled.
fn reader(access: &EvmAccess, chain: Chain, markets: Vec<MarketSpec>, grace_ms: u64) -> EvmPools {
    let account = Account::new(chain, markets, grace_ms, 0, READS_ONLY);
    EvmPools::new(access.nodes.clone(), account)
}

fn of_answer(error: Malformed) -> anyhow::Error {
    refused(format!("a contract's answer: {error}"))
}

/// The accepted decimals of a token in the file, if a market states them.
fn precision(daemon: &Daemon, symbol: &str) -> Option<u8> {
    daemon.markets.iter().find_map(|market| {
        let expected = &market.expected;
        let stated = if market.base == symbol {
            &expected.base_precision
        } else if market.quote == symbol {
            &expected.quote_precision
        } else {
            return None;
        };
        stated.as_ref().map(|at| at.value)
    })
}

fn token(id: TokenId, symbol: &str, decimals: u8, precision: Option<u8>) -> TokenSpec {
    TokenSpec {
        id,
        symbol: symbol.to_owned(),
        decimals,
        precision: precision.unwrap_or(decimals),
        minimum: 1,
        maximum: cambist_core::token::AMOUNT_MAX,
        dust: 0,
        enabled: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_begins_only_with_nonces_that_were_signed_here() {
        let signed = |nonces: &'static [u64]| move |nonce| nonces.contains(&nonce);
        assert_eq!(check_nonces(7, 7, 7, signed(&[])), Ok(()));
        assert_eq!(check_nonces(7, 9, 10, signed(&[7, 8, 9])), Ok(()));
        // What waits may have been forgotten by the node.
        assert_eq!(check_nonces(7, 9, 9, signed(&[7, 8, 9])), Ok(()));
        assert_eq!(check_nonces(7, 9, 0, signed(&[7, 8])), Ok(()));
        let refusals = [
            (check_nonces(7, 6, 6, signed(&[])), "below 6 only"),
            (check_nonces(7, 8, 8, signed(&[])), "nonce 7 was spent"),
            (check_nonces(7, 9, 9, signed(&[7])), "nonce 8 was spent"),
            (
                check_nonces(7, 7, 8, signed(&[])),
                "nonce 7 that was not signed here waits",
            ),
        ];
        for (refused, text) in refusals {
            assert!(
                refused.is_err_and(|why| why.contains(text) && why.contains(GUIDE)),
                "{text}"
            );
        }
    }
}
