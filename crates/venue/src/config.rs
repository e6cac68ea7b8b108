//! What a venue is made from: tokens, markets, limits. Checked once, before anything trades.
//!
//! How it is written in a file belongs to the program.

use std::collections::BTreeSet;

use cambist_core::token::AMOUNT_MAX;
use cambist_core::{Amount, TokenId, TokenSpec};
use serde::{Deserialize, Serialize};

use crate::account::{AccountId, Address};
use crate::band::PriceBand;
use crate::mode::{AccountOpening, Delays, FeeSchedule};
use crate::pool::PoolConfig;
use crate::scale::Scale;

/// Whether a token is the chain's own coin or a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenKind {
    /// The chain's own coin.
    Eth,
    /// A token contract.
    Erc20,
}

/// A token as listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenConfig {
    /// Id, symbol, decimals, precision, order amounts, enabled.
    pub spec: TokenSpec,
    /// Full name.
    pub name: String,
    /// Contract address, zero for the chain's own coin.
    pub address: Address,
    /// Coin or contract.
    pub kind: TokenKind,
    /// Most of one fast withdrawal, in base units.
    pub fast_withdraw_limit: Amount,
}

/// A market as listed.
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
    /// Whether orders are taken.
    pub enabled: bool,
    /// Fee of the resting side in ten-thousandths of what it receives.
    pub maker_fee_bips: u8,
    /// Fee of the incoming side in ten-thousandths of what it receives.
    pub taker_fee_bips: u8,
    /// How far from a reference orders may be willing to trade; anywhere without one.
    pub price_band: Option<PriceBand>,
}

/// Bounds on what one account or one request may occupy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Most open orders of one account.
    pub open_orders_max: u32,
    /// Finished orders kept per account; the oldest ends first. Open orders are always kept.
    pub history_orders_max: u32,
    /// As above for background traders, who never ask for their history.
    pub internal_history_orders_max: u32,
    /// Entries of a page of the orders list when no limit is given.
    pub orders_page: u32,
    /// Most entries of a page of the orders list; larger limits are cut to it.
    pub orders_page_max: u32,
    /// Levels per side of a depth when no limit is given.
    pub depth_levels: u32,
    /// Most levels per side of a depth; larger limits are cut to it.
    pub depth_levels_max: u32,
    /// Most submissions of one account that are not settled, pending withdrawals included.
    pub open_submissions_max: u32,
    /// Finished submissions kept per account; the oldest ends first.
    pub history_submissions_max: u32,
    /// Most accounts; transfers to new addresses are refused beyond.
    pub accounts_max: u32,
    /// Entries of the operator's log.
    pub log_max: u32,
    /// Most approved hashes that wait for their request.
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

/// Which clients the codes are meant for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compat {
    /// Clients written from the interface text and the public SDK both work.
    #[default]
    Both,
    /// Only codes that the interface lists for the endpoint.
    Strict,
}

/// Everything a venue is told once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VenueConfig {
    /// Network id.
    pub chain_id: u64,
    /// Exchange contract; orders must name it.
    pub exchange: Address,
    /// Deposit contract.
    pub deposit: Address,
    /// Listed tokens.
    pub tokens: Vec<TokenConfig>,
    /// Listed markets.
    pub markets: Vec<MarketConfig>,
    /// Listed pools.
    pub pools: Vec<PoolConfig>,
    /// What transfers, withdrawals and key updates cost.
    pub fees: FeeSchedule,
    /// What a transfer that opens an account must bring.
    pub opening: AccountOpening,
    /// How long things take.
    pub delays: Delays,
    /// Bounds.
    pub limits: Limits,
    /// The account that receives fees; made with the venue.
    pub fee_collector: AccountId,
    /// Owner address of the fee account.
    pub fee_collector_owner: Address,
    /// Account ids are given out from here on.
    pub first_account: AccountId,
    /// Which clients the codes are meant for.
    pub compat: Compat,
}

/// An exchange without tokens, to be filled in: what has a usual value has it.
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

/// Why a configuration cannot be a venue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A token that cannot be traded as described.
    #[error("token {symbol}: {problem}")]
    Token {
        /// Its symbol.
        symbol: String,
        /// What is wrong.
        problem: String,
    },
    /// A market that cannot be traded as described.
    #[error("market {market}: {problem}")]
    Market {
        /// Its name.
        market: String,
        /// What is wrong.
        problem: String,
    },
    /// A pool that cannot be what is described.
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
    /// More than all fail late.
    #[error("{permille} of a thousand cannot fail late")]
    LateFailures {
        /// The number.
        permille: u16,
    },
    /// A limit that would make the venue useless.
    #[error("limit {name} must not be 0")]
    Limit {
        /// Its name.
        name: &'static str,
    },
}

impl VenueConfig {
    /// Checks that everything fits together.
    pub fn check(&self) -> Result<(), ConfigError> {
        let mut ids = BTreeSet::new();
        for token in &self.tokens {
            token_problem(token, &mut ids).map_or(Ok(()), |problem| {
                Err(ConfigError::Token {
                    symbol: token.spec.symbol.clone(),
                    problem,
                })
            })?;
        }
        let mut names = BTreeSet::new();
        let mut pairs = BTreeSet::new();
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
        .then(|| "decimals are beyond what can be counted".to_owned())
    }
}

fn token_problem(token: &TokenConfig, ids: &mut BTreeSet<TokenId>) -> Option<String> {
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
    (spec.dust > spec.minimum).then(|| "dust above minimum would close new orders".to_owned())
}
