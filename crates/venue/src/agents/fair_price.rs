//! The fair price: a diffusion with jumps, whose behaviour switches between regimes. Only informed traders, liquidity
//! providers and noise traders know it.
//!
//! A model, so it may use floating point, through `libm`, so that all platforms agree to the bit.

use serde::{Deserialize, Serialize};

use crate::agents::config::AgentsConfig;
use crate::random::Random;

/// Longest time of one step: after a pause the price does not jump.
const STEP_MAX_S: f64 = 5.0;

/// Bound of the fair price, as a factor from its start.
const RANGE: f64 = 8.0;

/// Regime of the fair price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Regime {
    /// Diffusion only.
    #[default]
    Calm,
    /// Diffusion with a drift.
    Trending,
    /// Diffusion with a higher volatility.
    Volatile,
}

impl Regime {
    /// Every regime.
    pub const ALL: [Self; 3] = [Self::Calm, Self::Trending, Self::Volatile];
}

/// Parameters of the regimes: a Markov chain in continuous time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Regimes {
    /// The first regime.
    pub first: Regime,
    /// Mean duration in seconds, in the order of [`Regime::ALL`]. A regime with 0 is never entered at random; if the
    /// timeline enters it, it does not end at random.
    pub stay_s: [f64; 3],
    /// Drift while trending; its direction is drawn on entry.
    pub trend_bps_per_minute: f64,
    /// Factor of the volatility while volatile.
    pub volatile_factor: f64,
}

impl Regimes {
    /// Always calm.
    pub const CALM: Self = Self {
        first: Regime::Calm,
        stay_s: [0.0; 3],
        trend_bps_per_minute: 15.0,
        volatile_factor: 4.0,
    };
}

/// The process and its random generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FairPrice {
    /// In ticks, not rounded.
    pub price: f64,
    start: f64,
    volatility_bps_per_sqrt_s: f64,
    jumps_per_hour: f64,
    jump_bps: f64,
    regimes: Regimes,
    pub regime: Regime,
    /// Direction of the trend.
    up: bool,
    random: Random,
}

impl FairPrice {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a model's price needs no 64 bits"
    )]
    pub fn new(config: &AgentsConfig, random: Random) -> Self {
        let start = config.start_price.0 as f64;
        let mut fair = Self {
            price: start,
            start,
            volatility_bps_per_sqrt_s: config.volatility_bps_per_sqrt_s,
            jumps_per_hour: config.jumps_per_hour,
            jump_bps: config.jump_bps,
            regimes: config.regimes,
            regime: Regime::Calm,
            up: true,
            random,
        };
        fair.enter(config.regimes.first, None);
        fair
    }

    /// Changes the regime; without a direction, the direction of a trend is drawn.
    pub fn enter(&mut self, regime: Regime, up: Option<bool>) {
        self.regime = regime;
        if regime == Regime::Trending {
            self.up = up.unwrap_or_else(|| self.random.chance(1, 2));
        }
    }

    /// Moves the price by a jump.
    pub fn jump(&mut self, bps: f64) {
        self.price =
            (self.price * (1.0 + bps / 10_000.0)).clamp(self.start / RANGE, self.start * RANGE);
    }

    /// Advances by `seconds`.
    pub fn advance(&mut self, seconds: f64) {
        let seconds = seconds.clamp(0.0, STEP_MAX_S);
        self.switch(seconds);
        let (factor, drift_bps) = match (self.regime, self.up) {
            (Regime::Calm, _) => (1.0, 0.0),
            (Regime::Trending, true) => (1.0, self.regimes.trend_bps_per_minute),
            (Regime::Trending, false) => (1.0, -self.regimes.trend_bps_per_minute),
            (Regime::Volatile, _) => (self.regimes.volatile_factor, 0.0),
        };
        let volatility = factor * self.volatility_bps_per_sqrt_s;
        let mut move_bps =
            volatility * libm::sqrt(seconds) * gauss(&mut self.random) + drift_bps * seconds / 60.0;
        if self.random.unit() < self.jumps_per_hour * seconds / 3_600.0 {
            let size = self.jump_bps * (0.5 + self.random.unit());
            move_bps += if self.random.chance(1, 2) {
                size
            } else {
                -size
            };
        }
        self.price = (self.price * libm::exp(move_bps / 10_000.0))
            .clamp(self.start / RANGE, self.start * RANGE);
    }

    /// Leaves the regime with the probability of its mean duration, for any other regime with a duration.
    fn switch(&mut self, seconds: f64) {
        let stays = self.regimes.stay_s;
        let stay = |regime: Regime| stays[regime as usize];
        let present = self.regime;
        let others = || {
            Regime::ALL
                .into_iter()
                .filter(|regime| *regime != present && stay(*regime) > 0.0)
        };
        let ways = others().count() as u64;
        if stay(present) <= 0.0 || ways == 0 {
            return;
        }
        if self.random.unit() < 1.0 - libm::exp(-seconds / stay(present)) {
            let chosen = usize::try_from(self.random.below(ways)).unwrap_or(0);
            if let Some(next) = others().nth(chosen) {
                self.enter(next, None);
            }
        }
    }
}

/// A standard normal number (Box–Muller).
pub(super) fn gauss(random: &mut Random) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(random.unit()));
    radius * libm::cos(std::f64::consts::TAU * random.unit())
}

#[cfg(test)]
mod tests {
    use cambist_core::{MarketId, Price};

    use super::*;

    fn fair(seed: u64, change: impl FnOnce(&mut AgentsConfig)) -> FairPrice {
        let mut config = AgentsConfig::calm(seed, MarketId(0), Price(1_000_000), 1);
        (config.volatility_bps_per_sqrt_s, config.jumps_per_hour) = (0.0, 0.0);
        change(&mut config);
        FairPrice::new(&config, Random::new(seed))
    }

    fn moved_bps(fair: &FairPrice) -> f64 {
        libm::log(fair.price / 1e6) * 10_000.0
    }

    /// Root mean square of the moves per minute in a regime.
    fn deviation(regime: Regime) -> f64 {
        let mut sum = 0.0;
        for seed in 0..400 {
            let mut fair = fair(seed, |config| {
                config.volatility_bps_per_sqrt_s = 3.0;
                config.regimes.first = regime;
            });
            for _ in 0..100 {
                fair.advance(0.25);
            }
            sum += moved_bps(&fair) * moved_bps(&fair);
        }
        libm::sqrt(sum / 400.0)
    }

    #[test]
    fn moves_have_the_configured_volatility() {
        let calm = deviation(Regime::Calm);
        assert!((13.0..17.0).contains(&calm), "{calm} for 15");
        let volatile = deviation(Regime::Volatile);
        assert!((52.0..68.0).contains(&volatile), "{volatile} for 60");
    }

    #[test]
    fn jumps_occur_at_the_configured_rate_and_the_range_holds() {
        let mut rare = fair(3, |config| {
            (config.jumps_per_hour, config.jump_bps) = (360.0, 100.0);
        });
        let mut jumps = 0;
        for _ in 0..36_000 {
            let before = rare.price;
            rare.advance(0.1);
            jumps += u32::from((rare.price - before).abs() > 1.0);
        }
        assert!((280..440).contains(&jumps), "{jumps} for 360");
        let mut wild = fair(3, |config| config.volatility_bps_per_sqrt_s = 1_000.0);
        for _ in 0..10_000 {
            wild.advance(1.0);
            wild.jump(-50.0);
            assert!((1e6 / RANGE..=1e6 * RANGE).contains(&wild.price));
        }
    }

    /// R-AGT-06
    #[test]
    fn a_trend_drifts_by_its_rate_in_either_direction() {
        let mut ups = 0;
        for seed in 0..40 {
            let mut fair = fair(seed, |config| config.regimes.first = Regime::Trending);
            (0..240).for_each(|_| fair.advance(0.5));
            let moved = moved_bps(&fair);
            assert!((moved.abs() - 30.0).abs() < 0.01, "{moved} for 30");
            ups += u32::from(moved > 0.0);
        }
        assert!((10..=30).contains(&ups), "{ups} of 40 up");
        let mut down = fair(1, |_| ());
        down.enter(Regime::Trending, Some(false));
        down.advance(4.0);
        assert!((moved_bps(&down) + 1.0).abs() < 0.01);
    }

    /// R-AGT-06
    #[test]
    fn regimes_last_their_mean_duration_and_one_without_a_duration_is_not_entered() {
        let mut fair = fair(9, |config| config.regimes.stay_s = [30.0, 10.0, 0.0]);
        let (mut seconds, mut entries) = ([0.0; 3], [0u32; 3]);
        for _ in 0..400_000 {
            let before = fair.regime;
            fair.advance(0.1);
            seconds[before as usize] += 0.1;
            if fair.regime != before {
                entries[fair.regime as usize] += 1;
            }
        }
        assert_eq!(entries[2], 0, "never volatile");
        for (index, mean) in [(0, 30.0), (1, 10.0)] {
            let stay = seconds[index] / f64::from(entries[index]);
            assert!((0.85..1.15).contains(&(stay / mean)), "{stay} for {mean}");
        }
        fair.enter(Regime::Volatile, None);
        (0..1_000).for_each(|_| fair.advance(5.0));
        assert_eq!(fair.regime, Regime::Volatile, "not left by chance");
    }
}
