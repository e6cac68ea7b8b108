//! Configuration of a venue: tokens, markets, pools, limits. Checked once, before anything trades.
//!
//! The program parses configuration files.

use cambist_core::sorted_set::SortedSet;
use cambist_core::token::AMOUNT_MAX;
use cambist_core::venue::FeeToken;
use cambist_core::{Amount, TokenId, TokenSpec};
use serde::{Deserialize, Serialize};

use crate::account::{AccountId, Address};
use crate::band::PriceBand;
use crate::mode::{AccountOpening, Delays, FeeSchedule};
use crate::pool::PoolConfig;
use crate::scale::Scale;

/// Native coin or token contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenKind {
    /// The chain's native coin.
    Eth,
    /// A token contract.
    Erc20,
}

/// A listed token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenConfig {
    /// Id, symbol, decimals, precision, order amounts, enabled.
    pub spec: TokenSpec,
    /// Full name.
    pub name: String,
    /// Contract address, zero for the chain's native coin.
    pub address: Address,
    /// Coin or contract.
    pub kind: TokenKind,
    /// Largest fast withdrawal, in base units.
    pub fast_withdraw_limit: Amount,
}

/// A listed market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarketConfig {
    /// `BASE-QUOTE`.
    pub name: String,
    /// Base token.
    pub base: TokenId,
    /// Quote token.
    pub quote: TokenId,
    /// Decimals of the price (interface: `precisionForPrice`).
    pub price_decimals: u8,
    /// Coarsest aggregation level of depth (interface: `orderbookAggLevels`).
    pub aggregation_levels: u8,
    /// Whether orders are accepted.
    pub enabled: bool,
    /// Maker fee in ten-thousandths of the amount in the fee token.
    pub maker_fee_bips: u8,
    /// Taker fee in ten-thousandths of the amount in the fee token.
    pub taker_fee_bips: u8,
    /// Price band of the market; `None` for no bound.
    pub price_band: Option<PriceBand>,
    /// Which token fees are taken in; the interface knows the bought one only.
    #[serde(default)]
    pub fee_in: FeeToken,
}

/// Bounds on the resources of one account or one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Most open orders of one account.
    pub open_orders_max: u32,
    /// Finished orders kept per account; the oldest are dropped first. Open orders are always kept.
    pub history_orders_max: u32,
    /// As above for simulated traders, which never read their history.
    pub internal_history_orders_max: u32,
    /// Default entries on a page of the orders list.
    pub orders_page: u32,
    /// Most entries on a page of the orders list; larger limits are reduced to it.
    pub orders_page_max: u32,
    /// Default levels per side of a depth.
    pub depth_levels: u32,
    /// Most levels per side of a depth; larger limits are reduced to it.
    pub depth_levels_max: u32,
    /// Most unsettled submissions of one account, pending withdrawals included.
    pub open_submissions_max: u32,
    /// Finished submissions kept per account; the oldest are dropped first.
    pub history_submissions_max: u32,
    /// Most accounts; beyond that transfers to new addresses are refused.
    pub accounts_max: u32,
    /// Most entries of the operator's log.
    pub log_max: u32,
    /// Most approved hashes that were not used yet.
    pub approved_hashes_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            open_orders_max: 1_024,
            history_orders_max: 5_000,
            internal_history_orders_max: 200,
            orders_page: 50,
            orders_page_max: 500,
            depth_levels: 50,
            depth_levels_max: 500,
            open_submissions_max: 256,
            history_submissions_max: 1_000,
            accounts_max: 100_000,
            log_max: 10_000,
            approved_hashes_max: 10_000,
        }
    }
}

/// The clients that the codes are compatible with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compat {
    /// Clients written from the interface's text and the public SDK.
    #[default]
    Both,
    /// Only codes that the interface lists for the endpoint.
    Strict,
}

/// Configuration of a venue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VenueConfig {
    /// Chain id.
    pub chain_id: u64,
    /// Address of the exchange contract, which orders must name.
    pub exchange: Address,
    /// Address of the deposit contract.
    pub deposit: Address,
    /// Listed tokens.
    pub tokens: Vec<TokenConfig>,
    /// Listed markets.
    pub markets: Vec<MarketConfig>,
    /// Listed pools.
    pub pools: Vec<PoolConfig>,
    /// Fees of transfers, withdrawals and key updates.
    pub fees: FeeSchedule,
    /// Minimum of a transfer that opens an account.
    pub opening: AccountOpening,
    /// Delays.
    pub delays: Delays,
    /// Limits.
    pub limits: Limits,
    /// The account that receives fees, created with the venue.
    pub fee_collector: AccountId,
    /// Owner address of the fee account.
    pub fee_collector_owner: Address,
    /// First account id.
    pub first_account: AccountId,
    /// The clients that the codes are compatible with.
    pub compat: Compat,
}

/// An exchange without tokens and with usual values, to be completed.
impl Default for VenueConfig {
    fn default() -> Self {
        Self {
            chain_id: 1,
            exchange: [0; 20],
            deposit: [0; 20],
            tokens: Vec::new(),
            markets: Vec::new(),
            pools: Vec::new(),
            fees: FeeSchedule::default(),
            opening: AccountOpening::default(),
            delays: Delays::default(),
            limits: Limits::default(),
            fee_collector: AccountId(0),
            fee_collector_owner: [0xfe; 20],
            first_account: AccountId(1),
            compat: Compat::Both,
        }
    }
}

/// Why a configuration is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// An invalid token.
    #[error("token {symbol}: {problem}")]
    Token {
        /// Its symbol.
        symbol: String,
        /// What is wrong.
        problem: String,
    },
    /// An invalid market.
    #[error("market {market}: {problem}")]
    Market {
        /// Its name.
        market: String,
        /// What is wrong.
        problem: String,
    },
    /// An invalid pool.
    #[error("pool {pool}: {problem}")]
    Pool {
        /// Its name.
        pool: String,
        /// What is wrong.
        problem: String,
    },
    /// A fee in a token that is not listed, or beyond 96 bits.
    #[error("a fee in token {token} that is not listed, or beyond 96 bits")]
    Fee {
        /// The token.
        token: u16,
    },
    /// The share of late failures exceeds 1000 permille.
    #[error("late_failures_permille is {permille}, above 1000")]
    LateFailures {
        /// The number.
        permille: u16,
    },
    /// A limit of zero that would make the venue unusable.
    #[error("limit {name} must not be 0")]
    Limit {
        /// Its name.
        name: &'static str,
    },
}

impl VenueConfig {
    /// Checks that the configuration is consistent.
    pub fn check(&self) -> Result<(), ConfigError> {
        let mut ids = SortedSet::new();
        for token in &self.tokens {
            token_problem(token, &mut ids).map_or(Ok(()), |problem| {
                Err(ConfigError::Token {
                    symbol: token.spec.symbol.clone(),
                    problem,
                })
            })?;
        }
        let mut names = SortedSet::new();
        let mut pairs = SortedSet::new();
        for market in &self.markets {
            let repeated = !names.insert(market.name.as_str())
                || !pairs.insert((market.base, market.quote))
                || pairs.contains(&(market.quote, market.base));
            self.market_problem(market, repeated)
                .map_or(Ok(()), |problem| {
                    Err(ConfigError::Market {
                        market: market.name.clone(),
                        problem,
                    })
                })?;
        }
        for (index, pool) in self.pools.iter().enumerate() {
            self.pool_problem(pool, &self.pools[..index])
                .map_or(Ok(()), |problem| {
                    Err(ConfigError::Pool {
                        pool: pool.name.clone(),
                        problem,
                    })
                })?;
        }
        let fees = &self.fees;
        let tables = [
            &fees.transfer,
            &fees.withdrawal,
            &fees.update,
            &self.opening.fee,
        ];
        for (token, fee) in tables.into_iter().flatten() {
            if !ids.contains(token) || *fee > AMOUNT_MAX {
                return Err(ConfigError::Fee { token: token.0 });
            }
        }
        let permille = self.delays.late_failures_permille;
        if permille > 1_000 {
            return Err(ConfigError::LateFailures { permille });
        }
        self.check_limits()
    }

    fn check_limits(&self) -> Result<(), ConfigError> {
        for (name, value) in [
            ("open_orders_max", self.limits.open_orders_max),
            ("history_orders_max", self.limits.history_orders_max),
            (
                "internal_history_orders_max",
                self.limits.internal_history_orders_max,
            ),
            ("orders_page", self.limits.orders_page),
            ("orders_page_max", self.limits.orders_page_max),
            ("depth_levels", self.limits.depth_levels),
            ("depth_levels_max", self.limits.depth_levels_max),
            ("open_submissions_max", self.limits.open_submissions_max),
            (
                "history_submissions_max",
                self.limits.history_submissions_max,
            ),
            ("accounts_max", self.limits.accounts_max),
            ("log_max", self.limits.log_max),
            ("approved_hashes_max", self.limits.approved_hashes_max),
        ] {
            if value == 0 {
                return Err(ConfigError::Limit { name });
            }
        }
        Ok(())
    }

    fn pool_problem(&self, pool: &PoolConfig, others: &[PoolConfig]) -> Option<String> {
        let token = |id| self.tokens.iter().find(|token| token.spec.id == id);
        let [base, quote] = pool.pooled;
        let is_pair = |market: &MarketConfig| market.base == base && market.quote == quote;
        let taken = |other: &PoolConfig| {
            other.name == pool.name || other.address == pool.address || other.lp == pool.lp
        };
        let problem = if !self.markets.iter().any(is_pair) {
            "no market has its tokens in this order"
        } else if token(pool.lp).is_none() {
            "its lp token is not listed"
        } else if self
            .markets
            .iter()
            .any(|market| [market.base, market.quote].contains(&pool.lp))
        {
            "its lp token is traded in a market"
        } else if others.iter().any(taken) {
            "name, address or lp token is taken"
        } else if !pool.name.starts_with("AMM-")
            || self.markets.iter().any(|market| market.name == pool.name)
        {
            "a pool is called AMM-BASE-QUOTE, as no market is"
        } else if pool.fee_bips >= 10_000 {
            "a fee of the whole amount"
        } else if pool.join_fee > AMOUNT_MAX || pool.exit_fee > AMOUNT_MAX {
            "a fee beyond 96 bits"
        } else {
            return None;
        };
        Some(problem.to_owned())
    }

    fn market_problem(&self, market: &MarketConfig, repeated: bool) -> Option<String> {
        let token = |id| self.tokens.iter().find(|token| token.spec.id == id);
        let (Some(base), Some(quote)) = (token(market.base), token(market.quote)) else {
            return Some(format!(
                "tokens {} and {} are not both listed",
                market.base.0, market.quote.0
            ));
        };
        if repeated || market.base == market.quote {
            return Some("name or token pair is listed twice".to_owned());
        }
        if self.markets.len() > usize::from(u16::MAX) {
            return Some("too many markets".to_owned());
        }
        if market.aggregation_levels > 18 || market.price_decimals > 18 {
            return Some("more than 18 aggregation levels or price decimals".to_owned());
        }
        if let Some(problem) = market.price_band.and_then(|band| band.problem()) {
            return Some(problem.to_owned());
        }
        if market.maker_fee_bips > 63 || market.taker_fee_bips > 63 {
            return Some("a fee above 63 bips could never be accepted by an order".to_owned());
        }
        Scale::new(
            base.spec.decimals,
            quote.spec.decimals,
            market.price_decimals,
        )
        .is_none()
        .then(|| "the decimals are too large for exact prices".to_owned())
    }
}

fn token_problem(token: &TokenConfig, ids: &mut SortedSet<TokenId>) -> Option<String> {
    let spec = &token.spec;
    if !ids.insert(spec.id) {
        return Some(format!("id {} is listed twice", spec.id.0));
    }
    if spec.decimals > 27 || spec.precision > spec.decimals {
        return Some(format!(
            "{} decimals with precision {}",
            spec.decimals, spec.precision
        ));
    }
    if spec.minimum == 0 || spec.minimum > spec.maximum || spec.maximum > AMOUNT_MAX {
        return Some("order amounts must be 0 < minimum <= maximum < 2^96".to_owned());
    }
    (spec.dust > spec.minimum)
        .then(|| "dust above the minimum would end new orders immediately".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_numbered_after_the_one_that_receives_fees() {
        let usual = VenueConfig::default();
        assert_eq!((usual.chain_id, usual.fee_collector.0), (1, 0));
        assert_eq!(usual.first_account.0, usual.fee_collector.0 + 1);
    }
}
