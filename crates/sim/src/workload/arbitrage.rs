//! A world of pool arbitrage: others swap with the pool, and its price returns to that of the book by own rounds alone.

use cambist_core::{Amount, MarketId};
use cambist_venue::AccountId;
use cambist_venue::agents::PoolSeat;

use crate::config::{SeatConfig, WorldConfig};
use crate::workload::pool::{FIRST_FOUNDER, POOL};

/// The largest round: a quarter of a base token, and whole.
const ROUND: &str = "0.25";
const ROUND_UNITS: Amount = 250_000_000_000_000_000;

impl WorldConfig {
    /// The same world in which the only strategy trades between the pool and the book of the first market.
    #[must_use]
    pub fn with_arbitrage(self) -> Self {
        let mut config = self.with_swaps();
        let Some(base) = config.venue.markets.first().map(|market| market.base) else {
            return config;
        };
        let held = config.funds.get(&base).copied().unwrap_or(0) / 10u128.pow(18);
        config.seats = vec![SeatConfig {
            strategy: cambist_strategies::pool_arb::INFO.name.to_owned(),
            parameters: format!(
                "base_target = {held}\nround_amount_max = {ROUND}\nprofit_min_bps = 1\nunwind_bps = 100"
            ),
            market: MarketId(0),
            order_base: 0,
        }];
        // A pool pays more than was read where others have swapped meanwhile: by much less than the leg itself.
        config.open_leg_max = Some(ROUND_UNITS + ROUND_UNITS / 10);
        config.engine.maker_only = false;
        for pool in &mut config.engine.pools {
            pool.swap_value_max = 1_000 * 10u128.pow(6);
        }
        for agents in config
            .agents
            .iter_mut()
            .filter(|agents| agents.market.0 == 0)
        {
            agents.pool = Some(PoolSeat {
                pool: POOL,
                founder: AccountId(FIRST_FOUNDER),
            });
            (agents.swappers, agents.swaps_per_minute) = (3, 20.0);
            agents.arbitrageurs = 0;
        }
        config
    }
}
