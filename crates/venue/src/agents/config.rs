//! Configuration of the simulated traders of one market.

use cambist_core::{Amount, MarketId, Price};
use serde::{Deserialize, Serialize};

use super::timeline::TimedEvent;
use crate::account::{AccountId, Address};
use crate::agents::fair_price::Regimes;

/// The pool that the simulated traders use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolSeat {
    /// Its address.
    pub pool: Address,
    /// The account that holds the shares of its opening liquidity.
    pub founder: AccountId,
}

/// The simulated traders of one market.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentsConfig {
    /// Seed; equal seeds give equal traders.
    pub seed: u64,
    /// The market.
    pub market: MarketId,
    /// The fair price at the start, in ticks.
    pub start_price: Price,
    /// Volatility of the fair price, in bps per square root of a second.
    pub volatility_bps_per_sqrt_s: f64,
    /// Mean number of jumps of the fair price per hour.
    pub jumps_per_hour: f64,
    /// Mean size of a jump; sizes vary by half of it.
    pub jump_bps: f64,
    /// Regimes of the fair price.
    pub regimes: Regimes,
    /// Number of noise traders, whose orders have no information.
    pub noise_traders: u32,
    /// Orders per minute of each noise trader.
    pub noise_orders_per_minute: f64,
    /// Percentage of noise orders that take; the others rest.
    pub noise_taker_percent: u32,
    /// Number of informed traders, who know the fair price.
    pub informed_traders: u32,
    /// How often per minute each of them compares the book with the fair price.
    pub informed_looks_per_minute: f64,
    /// They trade if the book differs from the fair price by more than this.
    pub informed_threshold_bps: f64,
    /// Number of liquidity providers, who keep a bid and an ask around the fair price.
    pub passive_traders: u32,
    /// Distance of the nearest provider from the fair price.
    pub passive_half_spread_bps: f64,
    /// Additional distance of each further provider.
    pub passive_step_bps: f64,
    /// Interval at which each provider updates its quotes.
    pub passive_refresh_ms: u64,
    /// How far a provider that holds ten standard orders too much moves both quotes down (too little: up); at most its
    /// distance from the fair price.
    pub passive_skew_bps: f64,
    /// Number of momentum traders, who follow the mid of the book.
    pub momentum_traders: u32,
    /// How often per minute each of them reads the book.
    pub momentum_looks_per_minute: f64,
    /// They follow if the mid differs from its own average by more than this.
    pub momentum_threshold_bps: f64,
    /// Time constant of that average in seconds.
    pub momentum_window_s: f64,
    /// The pool, if there is one for this market.
    pub pool: Option<PoolSeat>,
    /// Number of arbitrageurs, who close gaps between book and pool.
    pub arbitrageurs: u32,
    /// How often per minute each of them compares book and pool.
    pub arbitrage_looks_per_minute: f64,
    /// Number of traders who swap with the pool at random.
    pub swappers: u32,
    /// Swaps per minute of each of them.
    pub swaps_per_minute: f64,
    /// A standard order, in base units.
    pub size_base: Amount,
    /// Timed events, in order of time; at most one per step.
    pub timeline: Vec<TimedEvent>,
}

impl AgentsConfig {
    /// A calm market without a pool: a spread of about 45 bps, about one taking order per second.
    pub const fn calm(seed: u64, market: MarketId, start_price: Price, size_base: Amount) -> Self {
        Self {
            seed,
            market,
            start_price,
            volatility_bps_per_sqrt_s: 2.0,
            jumps_per_hour: 6.0,
            jump_bps: 30.0,
            regimes: Regimes::CALM,
            noise_traders: 6,
            noise_orders_per_minute: 16.0,
            noise_taker_percent: 70,
            informed_traders: 2,
            informed_looks_per_minute: 40.0,
            informed_threshold_bps: 8.0,
            passive_traders: 4,
            passive_half_spread_bps: 22.0,
            passive_step_bps: 11.0,
            passive_refresh_ms: 2_000,
            passive_skew_bps: 0.0,
            momentum_traders: 0,
            momentum_looks_per_minute: 30.0,
            momentum_threshold_bps: 12.0,
            momentum_window_s: 20.0,
            pool: None,
            arbitrageurs: 0,
            arbitrage_looks_per_minute: 60.0,
            swappers: 0,
            swaps_per_minute: 6.0,
            size_base,
            timeline: Vec::new(),
        }
    }

    /// Number of accounts that the traders need.
    pub const fn accounts(&self) -> usize {
        (self.noise_traders
            + self.informed_traders
            + self.passive_traders
            + self.momentum_traders
            + self.arbitrageurs
            + self.swappers) as usize
    }
}
