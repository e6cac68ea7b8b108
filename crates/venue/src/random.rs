//! A small seeded generator (SplitMix64), which gives the same numbers on every platform.
//!
//! Not suitable for secrets: keys are inputs.

use serde::{Deserialize, Serialize};

/// The generator; its state is one number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Random(u64);

impl Random {
    /// Creates a generator; every seed is valid, 0 included.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`; 0 when the bound is 0. The bias is below 2^-64 · bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.next_u64()) * u128::from(bound);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// A number in `low..=high`; `low` when the range is empty.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// True with probability `parts` / `of`.
    pub fn chance(&mut self, parts: u64, of: u64) -> bool {
        self.below(of) < parts
    }

    /// Uniform in the open interval (0, 1), with 53 bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }

    /// An independent generator, so that additional draws in one part do not change another.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(self.next_u64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_equals_the_published_one() {
        // First outputs of SplitMix64 for seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = Random::new(7);
        for _ in 0..1_000 {
            assert!(random.below(10) < 10);
            assert!((5..=6).contains(&random.between(5, 6)));
            let unit = random.unit();
            assert!(unit > 0.0 && unit < 1.0);
        }
        assert_eq!(random.below(0), 0);
        assert_eq!(random.between(9, 3), 9);
    }

    /// The generator's output is 0 where its state becomes 0.
    #[test]
    fn the_least_unit_is_above_zero() {
        let mut random = Random::new(0_u64.wrapping_sub(0x9e37_79b9_7f4a_7c15));
        assert_eq!(random.clone().next_u64(), 0);
        assert!(random.unit() > 0.0);
    }
}
