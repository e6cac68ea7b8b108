//! Worlds of a chain whose pool is a V3 pool: a third of all of them.

use cambist_core::TokenId;
use cambist_venue::{PoolStatus, Random};

use crate::chain::range_pool::{root_of, tick_at};
use crate::config::{Before, RangeConfig, WorldConfig};
use crate::profiles::sampling::choose;
use crate::workload::pool::LIQUIDITY;

/// Fee tiers in millionths, each with its tick spacing.
const TIERS: [(u32, i32); 3] = [(500, 10), (3_000, 60), (10_000, 200)];
/// Makes the streams of this file; such that worlds of findings before there were ranges keep their pair.
const STREAM: u64 = 0x7261_6e67_6573_0d21;
/// Decimals of liquidity: half of those of both tokens.
const DECIMALS: u8 = 12;

impl WorldConfig {
    /// In two thirds of the worlds without swaps the pool is a V3 pool. From a stream of its own, so that all others stay
    /// as they are.
    pub(crate) fn with_drawn_range(self) -> Self {
        let mut random = Random::new(self.seed.rotate_left(40) ^ STREAM);
        if random.chance(2, 3) {
            self.with_range(&mut random)
        } else {
            self
        }
    }

    /// The same world on a chain, whose pool is a V3 pool with a range that the seed decides.
    #[must_use]
    pub fn in_range(self) -> Self {
        let mut random = Random::new(self.seed.rotate_left(48) ^ STREAM);
        self.with_range(&mut random)
    }

    fn with_range(mut self, random: &mut Random) -> Self {
        self.rules.compares_shares = true;
        let (fee, spacing) = *choose(random, &TIERS);
        // Half of the range in ticks, each about a hundredth of a per cent of the price.
        let half = *choose(random, &[60, 120, 300, 1_000]);
        let now = tick_at(root_of(LIQUIDITY));
        // It may begin near an end of the range, or outside of it.
        let middle =
            now + half * *choose(random, &[0, 0, 0, -3, 3]) / 4 * *choose(random, &[1, 1, 2]);
        let lower = (middle - half).div_euclid(spacing) * spacing;
        let upper = (middle + half).div_euclid(spacing) * spacing + spacing;
        let farthest = (now - lower).max(upper - now).unsigned_abs();
        let range = RangeConfig {
            fee,
            spacing,
            ticks: [lower, upper],
            reach_bps: farthest + farthest / 4,
            speed: *choose(random, &[1, 3]),
            before: *choose(
                random,
                &[
                    Before::Nothing,
                    Before::Nothing,
                    Before::Empty,
                    Before::Filled,
                ],
            ),
        };
        if let Some(chain) = &mut self.chain {
            chain.range = Some(range);
        }
        for pool in &mut self.engine.pools {
            pool.slippage_bps = *choose(random, &[300, 1_000, 5_000]);
            // Of what is owed, in half of these worlds.
            pool.collect_value = *choose(random, &[0, 3]) * 10u128.pow(6);
        }
        // Outside of its range a position is one token alone: joins take more of it than of a pair's.
        for limits in &mut self.engine.markets {
            limits.inventory_min = limits.inventory_min.min(2 * 10u128.pow(18));
            limits.inventory_max = limits.inventory_max.max(20 * 10u128.pow(18));
        }
        let mut shares: Vec<TokenId> = Vec::new();
        for pool in &mut self.venue.pools {
            pool.fee_bips = u16::try_from(fee / 100).unwrap_or(u16::MAX);
            pool.status.0 &= !PoolStatus::SWAP;
            shares.push(pool.lp);
        }
        for token in &mut self.venue.tokens {
            if shares.contains(&token.spec.id) {
                (token.spec.decimals, token.spec.precision) = (DECIMALS, DECIMALS);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything else is drawn as it would be without ranges.
    #[test]
    fn a_third_of_the_worlds_has_a_range_and_none_that_swaps() {
        let mut ranged = 0;
        for seed in 1..=300 {
            let config = WorldConfig::drawn(seed).evm_pools();
            let swaps = config.engine.pools.iter().any(|of| of.swap_value_max > 0);
            let range = config.chain.and_then(|of| of.range);
            assert!(!swaps || range.is_none(), "{seed}");
            if let Some(of) = range {
                let [lower, upper] = of.ticks;
                assert!(lower < upper && lower % of.spacing == 0 && upper % of.spacing == 0);
                ranged += 1;
            }
        }
        assert!((75..=125).contains(&ranged), "{ranged}");
    }
}
