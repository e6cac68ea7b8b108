//! Others who trade with a V3 pool: around a price that wanders between bounds on both sides of the configured range, so
//! that the pool's price leaves it and comes back.

use cambist_evm::U256;
use cambist_venue::Random;

use crate::chain::contracts::State;
use crate::chain::positions::Ranges;
use crate::chain::range_pool::part_of;
use crate::chain::traders::{PARTS, Traders, WHOLE};

/// How far from the wandering price the pool's price goes at most, in ten-thousandths of it.
const APART: u128 = 300;

impl State {
    /// What others do within one block.
    pub(crate) fn trade(&mut self, traders: &mut Traders, random: &mut Random) {
        match &mut self.range {
            Some(ranges) => ranges.trade(&mut traders.fair, random),
            None => traders.trade(&mut self.pair, random),
        }
    }
}

impl Ranges {
    fn trade(&mut self, fair: &mut u128, random: &mut Random) {
        let step = *fair * u128::from(random.below(1 + 12 * self.speed)) / WHOLE;
        let away = PARTS * self.reach / WHOLE;
        *fair = if random.chance(1, 2) {
            (*fair + step).min(PARTS + away)
        } else {
            (*fair - step).max(PARTS - away)
        };
        if random.chance(2, 5) {
            return;
        }
        let root = |parts: u128| part_of(self.opening, parts, PARTS);
        let towards = usize::from(self.pool.sqrt_price < root(*fair));
        // Some trade against the price.
        let sold_at = if random.chance(1, 5) {
            1 - towards
        } else {
            towards
        };
        let most = if random.chance(1, 300) {
            100
        } else {
            12 * self.speed
        };
        let part = U256::from(random.between(1, most));
        let sold = self.pool.virtual_reserves()[sold_at] * part / U256::from(WHOLE);
        let limit = if sold_at == 0 {
            root(*fair * (WHOLE - APART) / WHOLE)
        } else {
            root(*fair * (WHOLE + APART) / WHOLE)
        };
        self.pool.swap(sold_at, sold, limit);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::config::{Before, RangeConfig};
    use crate::workload::pool::LIQUIDITY;

    /// Within an hour of blocks the price is below the range, in it and above it, more than once.
    #[test]
    fn the_price_leaves_a_range_on_both_sides_and_comes_back() {
        let config = RangeConfig {
            fee: 3_000,
            spacing: 60,
            ticks: [-198_120, -198_000],
            reach_bps: 150,
            speed: 3,
            before: Before::Nothing,
        };
        let mut ranges = Ranges::founded(&config, LIQUIDITY).unwrap();
        let (mut fair, mut random) = (PARTS, Random::new(7));
        let (mut sides, mut changes, mut last) = ([0_u32; 3], 0, 1);
        for _ in 0..1_800 {
            ranges.trade(&mut fair, &mut random);
            let tick = ranges.pool.tick;
            let side = usize::from(tick >= config.ticks[0]) + usize::from(tick >= config.ticks[1]);
            sides[side] += 1;
            changes += u32::from(side != last);
            last = side;
        }
        assert!(sides.iter().all(|count| *count > 100), "{sides:?}");
        assert!(changes > 10, "{changes}");
    }
}
