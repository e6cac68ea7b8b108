//! The account for a command that shows everything that it holds: its tokens, and its shares of the pools of the file, which
//! are read from the chain.

use std::collections::BTreeMap;
use std::sync::Arc;

use cambist_core::pool::PoolSpec;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{MarketId, TokenSpec};

use super::access::{EvmAccess, link};
use super::{AccountReader, Session, account_reader, reader, refused, token};
use crate::config::Daemon;
use crate::config::market::Market;
use crate::live::start_retry::StartRetry;
use crate::venues::token_ids::TokenIds;
use cambist_evm_venue::chain::Chain;

/// The account with its shares. Without pools in the file nothing is asked.
pub async fn holdings_reader(access: &EvmAccess, daemon: &Daemon) -> anyhow::Result<AccountReader> {
    let without = account_reader(access, daemon)?;
    if daemon.markets.iter().all(|market| market.pool.is_none()) {
        return Ok(without);
    }
    let reading = EvmAccess {
        nodes: Arc::clone(&access.nodes),
        key: None,
        ids: TokenIds::unsaved(),
        journal: None,
        finalized: None,
    };
    let mut session = Session {
        access: reading,
        grace_ms: daemon.engine.grace_ms,
        spent_below: 0,
        waiting_below: 0,
        tokens: BTreeMap::new(),
        ranges: BTreeMap::new(),
        link: link(daemon)?.clone(),
    };
    session.number_tokens()?;
    // A token of no market has no decimals in the file.
    let numbered = session.tokens.iter().filter_map(|(symbol, (id, _))| {
        let decimals = daemon.decimals_of(symbol)?;
        Some(token(*id, symbol, decimals, None))
    });
    let mut tokens: Vec<TokenSpec> = numbered.collect();
    let known: Vec<_> = tokens.iter().map(|token| token.id).collect();
    tokens.push(session.link.coin());
    let mut chain = Chain {
        id: session.link.chain_id,
        account: session.link.account,
        router: session.link.router,
        coin: session.link.coin().id,
        tokens: session.tokens.values().copied().collect(),
        pools: Vec::new(),
        ranges: SortedMap::new(),
        slippage_bps: 0,
        gas: session.link.gas(),
    };
    chain.tokens.retain(|id, _| known.contains(id));
    for (id, market) in (0..).map(MarketId).zip(&daemon.markets) {
        let Some(pool) = session.pool_of(id, market).await? else {
            continue;
        };
        let range = session.ranges.get(&market.name.value);
        chain.ranges.extend(range.map(|range| (id, *range)));
        tokens.push(pool.lp.clone());
        chain.pools.push(pool);
    }
    let client = reader(access, chain, Vec::new(), daemon.engine.grace_ms);
    Ok(AccountReader {
        client: client.into(),
        tokens: Some(tokens),
        ..without
    })
}

impl Session {
    /// The pool beside a market, as its contracts state it, if the file has one. A range of it is kept.
    async fn pool_of(&mut self, id: MarketId, market: &Market) -> anyhow::Result<Option<PoolSpec>> {
        let Some(pool) = &market.pool else {
            return Ok(None);
        };
        let name = &market.name.value;
        let traded = [&market.base, &market.quote].map(|symbol| self.tokens.get(symbol).copied());
        let [Some(base), Some(quote)] = traded else {
            return Err(refused(format!(
                "{name}: [venue.tokens] needs the contracts of both of its tokens"
            )));
        };
        let mut pooled = [base, quote];
        pooled.sort_by_key(|(_, address)| *address);
        let retry = StartRetry::none();
        let found = match &pool.range {
            Some(range) => self.ranged(name, pooled, &range.value, retry).await?,
            None => self.pair(name, pooled, retry).await?,
        };
        let in_range = found.range.is_some();
        if let Some(range) = found.range {
            self.ranges.insert(name.clone(), range);
        }
        Ok(Some(PoolSpec {
            market: id,
            name: pool.name.value.clone(),
            address: found.address.0,
            pooled: pooled.map(|(id, _)| id),
            lp: found.shares,
            joins: true,
            exits: true,
            swaps: !in_range,
            fee_bips: found.fee_bips,
            in_range,
        }))
    }
}
