//! What a population of background traders is made from.

use cambist_core::{Amount, MarketId, Price};
use serde::{Deserialize, Serialize};

use super::timeline::Moment;
use crate::account::{AccountId, Address};
use crate::agents::fair_price::Regimes;

/// The pool that a population trades with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolSeat {
    /// Its address.
    pub pool: Address,
    /// Who holds the shares of its opening liquidity.
    pub founder: AccountId,
}

/// The population of one market.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentsConfig {
    /// Same seed, same traders.
    pub seed: u64,
    /// Where they trade.
    pub market: MarketId,
    /// The fair price at the start, in ticks.
    pub start_price: Price,
    /// Spread of the fair price's moves.
    pub volatility_bps_per_sqrt_s: f64,
    /// How often the fair price jumps.
    pub jumps_per_hour: f64,
    /// How far it jumps, give or take a half.
    pub jump_bps: f64,
    /// How its behaviour changes by itself.
    pub regimes: Regimes,
    /// Traders without an opinion.
    pub noise_traders: u32,
    /// Orders per minute of each of them.
    pub noise_orders_per_minute: f64,
    /// How many of a hundred of their orders take; the others rest.
    pub noise_taker_percent: u32,
    /// Traders that know the fair price.
    pub informed_traders: u32,
    /// How often per minute each of them looks.
    pub informed_looks_per_minute: f64,
    /// They trade when the book is off by more than this.
    pub informed_threshold_bps: f64,
    /// Traders that keep a bid and an ask around the fair price.
    pub passive_traders: u32,
    /// Distance of the nearest of them from the fair price.
    pub passive_half_spread_bps: f64,
    /// How much farther each next one stands.
    pub passive_step_bps: f64,
    /// How often each of them looks at its quotes.
    pub passive_refresh_ms: u64,
    /// How far both quotes of one that holds ten usual orders too much move down (too little: up); at
    /// most as far as its distance from the fair price.
    pub passive_skew_bps: f64,
    /// Traders that follow the middle of the book.
    pub momentum_traders: u32,
    /// How often per minute each of them looks.
    pub momentum_looks_per_minute: f64,
    /// They follow when the middle is off its own average by more than this.
    pub momentum_threshold_bps: f64,
    /// Length of that average, seconds.
    pub momentum_window_s: f64,
    /// The pool, if there is one for this market.
    pub pool: Option<PoolSeat>,
    /// Traders that close gaps between book and pool.
    pub arbitrageurs: u32,
    /// How often per minute each of them looks.
    pub arbitrage_looks_per_minute: f64,
    /// Traders that swap with the pool for no reason.
    pub swappers: u32,
    /// Swaps per minute of each of them.
    pub swaps_per_minute: f64,
    /// A usual order, in base units.
    pub size_base: Amount,
    /// What happens when, in the order of time; one moment a step.
    pub timeline: Vec<Moment>,
}

impl AgentsConfig {
    /// A calm market without a pool: a spread of some 45 bps, about one taking order a second.
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

    /// How many accounts the population needs.
    pub const fn accounts(&self) -> usize {
        (self.noise_traders
            + self.informed_traders
            + self.passive_traders
            + self.momentum_traders
            + self.arbitrageurs
            + self.swappers) as usize
    }
}
