//! Worlds of pool arbitrage and of making markets around a pool's price: others swap with the pool, and its price
//! returns to that of the book by own rounds alone.

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
        let parameters =
            format!("round_amount_max = {ROUND}\nprofit_min_bps = 1\nunwind_bps = 100");
        self.with_two_legs(cambist_strategies::pool_arb::INFO.name, &parameters)
    }

    /// The same world in which the only strategy quotes the first market around the price of the pool, and hedges fills
    /// by swaps. Its open leg is as large as a round of the other.
    #[must_use]
    pub fn with_pool_maker(self) -> Self {
        let parameters = format!(
            "open_amount_max = {ROUND}\norder_amount = 0.1\norder_levels = 2\nprofit_min_bps = 1\n\
             hedge_slippage_bps = 50\nunwind_bps = 200"
        );
        let mut config = self.with_two_legs(cambist_strategies::pool_maker::INFO.name, &parameters);
        config.engine.maker_only = true;
        config
    }

    /// A strategy that trades the difference from its `base_target`, which is what is held, alone at the first market.
    fn with_two_legs(self, strategy: &str, parameters: &str) -> Self {
        let mut config = self.with_swaps();
        let Some(base) = config.venue.markets.first().map(|market| market.base) else {
            return config;
        };
        let held = config.funds.get(&base).copied().unwrap_or(0) / 10u128.pow(18);
        config.seats = vec![SeatConfig {
            strategy: strategy.to_owned(),
            parameters: format!("base_target = {held}\n{parameters}"),
            market: MarketId(0),
            order_base: 0,
            reads: Vec::new(),
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
