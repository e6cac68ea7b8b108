//! The market of a world: the speed of its traders, the behaviour of its price, other participants.

use cambist_core::MarketId;
use cambist_venue::agents::{AgentsConfig, PoolSeat, Regime};
use cambist_venue::{AccountId, Random};

use crate::config::WorldConfig;
use crate::profiles::sampling::choose;
use crate::workload::pool::FIRST_FOUNDER;

impl WorldConfig {
    /// The pool beside a market of the venue, for its simulated traders.
    pub fn pool_seat(&self, market: MarketId) -> Option<PoolSeat> {
        let market = self.venue.markets.get(usize::from(market.0))?;
        let mut pools = (FIRST_FOUNDER..).zip(&self.venue.pools);
        let (founder, pool) = pools.find(|(_, pool)| pool.pooled == [market.base, market.quote])?;
        Some(PoolSeat {
            pool: pool.address,
            founder: AccountId(founder),
        })
    }

    /// The same world with other traders for every market; with arbitrage between book and pool where there is one.
    #[must_use]
    pub(crate) fn among_drawn_traders(mut self, random: &mut Random) -> Self {
        let seat = self.pool_seat(MarketId(0));
        for agents in &mut self.agents {
            draw(random, agents);
            if agents.market.0 == 0 && seat.is_some() && random.chance(1, 2) {
                agents.pool = seat;
                agents.arbitrageurs = 1;
                agents.swappers = 1;
            }
        }
        self
    }
}

fn draw(random: &mut Random, agents: &mut AgentsConfig) {
    // Market makers and takers are fast or slow together: a book that is consumed faster than it is filled has no price
    // to quote around.
    let (refresh_ms, noise, samples) = *choose(
        random,
        &[(2_000, 16.0, 40.0), (3_000, 10.0, 27.0), (5_000, 6.0, 16.0)],
    );
    agents.passive_refresh_ms = refresh_ms;
    agents.noise_orders_per_minute = noise;
    agents.informed_looks_per_minute = samples;
    agents.volatility_bps_per_sqrt_s = *choose(random, &[0.5, 1.0, 2.0]);
    agents.jumps_per_hour = *choose(random, &[0.0, 6.0, 12.0]);
    if random.chance(1, 4) {
        agents.momentum_traders = 2;
    }
    if random.chance(1, 4) {
        agents.passive_skew_bps = 5.0;
    }
    if random.chance(1, 12) {
        // Thin: few market makers, and few takers.
        agents.passive_traders = 3;
        agents.noise_traders = 3;
    }
    let regimes = &mut agents.regimes;
    match random.below(8) {
        0 => {
            regimes.first = Regime::Trending;
            regimes.stay_s = [600.0, 200.0, 0.0];
        }
        1 => regimes.stay_s = [900.0, 60.0, 20.0],
        _ => {}
    }
}
