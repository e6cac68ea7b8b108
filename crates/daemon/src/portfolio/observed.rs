//! What accounts hold now against the limits over all venues, without a daemon: for checks of a file at its venues.

use std::collections::BTreeSet;

use cambist_core::market::value_at;
use cambist_core::portfolio::Exposure;
use cambist_core::request::Balance;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{MarketId, MarketSpec, PoolSpec, TokenId};
use cambist_host::clock::Clock;

use super::board::Board;
use super::file::PortfolioFile;
use crate::config::Daemon;
use crate::telemetry::portfolio::LimitUse;

/// What a venue answered.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Its markets.
    pub markets: Vec<MarketSpec>,
    /// The pools beside them.
    pub pools: Vec<PoolSpec>,
    /// What the account holds.
    pub balances: Vec<Balance>,
    /// Middles of books in half ticks.
    pub mids: SortedMap<MarketId, u64>,
}

impl Observed {
    /// What is held of a token.
    fn held(&self, token: TokenId) -> u128 {
        let mut balances = self.balances.iter();
        let found = balances.find(|balance| balance.token == token);
        found.map_or(0, |balance| balance.total)
    }

    /// Holdings as an engine would state them, without open orders. Where pool shares are held, what those are due is not
    /// known here.
    fn exposure(&self) -> Exposure {
        let mut exposure = Exposure::default();
        let mut counted = BTreeSet::new();
        for market in &self.markets {
            let (base, quote) = (market.base.id, market.quote.id);
            let held = self.held(base);
            let mut pools = self.pools.iter();
            let has_shares =
                pools.any(|pool| pool.market == market.id && self.held(pool.lp.id) > 0);
            let known = (!has_shares).then_some(held);
            let of = exposure.tokens.entry(base).or_insert(Some(held));
            *of = known.and(*of);
            let mid = self.mids.get(&market.id).copied();
            let worth = match held {
                0 => Some(0),
                held => mid.and_then(|mid| value_at(market, held, mid)),
            };
            let worth = if counted.insert((quote, base)) {
                worth
            } else {
                Some(0)
            };
            let gross = exposure.gross.entry(quote).or_insert(Some(0));
            *gross = known
                .and(*gross)
                .zip(worth)
                .and_then(|(gross, worth)| gross.checked_add(worth));
            exposure.mids.insert(market.id, mid.map(|mid| (mid, 0)));
        }
        exposure
    }
}

/// The use of the limits on what is held, if the accounts of the venues hold this; `None` for a venue that gave no answer.
/// Losses are known to a daemon only.
///
/// # Errors
/// A sentence, if the markets of a venue do not fit the file.
pub fn held_of_limits(
    file: &PortfolioFile,
    daemons: &[Daemon],
    observed: &[Option<Observed>],
) -> Result<Vec<LimitUse>, String> {
    let file = PortfolioFile {
        loss_day_max: None,
        ..file.clone()
    };
    let board = Board::new(file, daemons, Clock::of_engine());
    for (index, observed) in observed.iter().enumerate() {
        if let Some(observed) = observed {
            let mut engine = board.engine_mut();
            engine.begin(index, &observed.markets, &[])?;
            engine.state(index, board.clock.now(), Some(observed.exposure()));
        }
    }
    Ok(board.used())
}

#[cfg(test)]
#[path = "observed_tests.rs"]
mod tests;
