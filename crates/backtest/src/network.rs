//! Network between engine and exchange: latencies, and the exchange's rate limit.

use cambist_core::request::Endpoint;
use cambist_core::sorted_map::SortedMap;
use cambist_market_data::Timestamp;

use crate::assumptions::{LatencyRange, RateLimit};

/// Latencies drawn from a seed.
#[derive(Clone, Debug)]
pub struct Random(cambist_quant::simulation::Random);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(cambist_quant::simulation::Random::new(seed))
    }

    /// Nanoseconds drawn from a range. A range of one value draws nothing.
    pub fn latency_nanos(&mut self, range: LatencyRange) -> i64 {
        let width = range.max_us.saturating_sub(range.min_us);
        let drawn = if width == 0 {
            0
        } else {
            // The high half of the product is uniform up to one part in 2^64 of the width.
            let wide = u128::from(self.0.bits()) * (u128::from(width) + 1);
            u64::try_from(wide >> 64).unwrap_or(width)
        };
        nanos(range.min_us.saturating_add(drawn))
    }
}

/// Microseconds as nanoseconds.
pub fn nanos(us: u64) -> i64 {
    i64::try_from(us.saturating_mul(1_000)).unwrap_or(i64::MAX)
}

/// Token buckets by endpoint, stored as the times at which they are full again (generic cell rate algorithm).
#[derive(Debug)]
pub struct RateLimiter {
    /// Nanoseconds per request, and of a full bucket.
    interval: i64,
    burst: i64,
    full_at: SortedMap<Endpoint, Timestamp>,
    refused: u64,
}

impl RateLimiter {
    pub fn new(limit: RateLimit) -> Self {
        let interval = 1_000_000_000 / i64::from(limit.per_s.max(1));
        Self {
            interval,
            burst: interval.saturating_mul(i64::from(limit.burst)),
            full_at: SortedMap::new(),
            refused: 0,
        }
    }

    /// Takes a token; false if the request is refused.
    pub fn take(&mut self, now: Timestamp, endpoint: Endpoint) -> bool {
        let full_at = self.full_at.entry(endpoint).or_insert(now);
        let after = (*full_at).max(now).plus_nanos(self.interval);
        let accepted = after.nanos_since(now) <= self.burst;
        if accepted {
            *full_at = after;
        } else {
            self.refused += 1;
        }
        accepted
    }

    /// Number of refused requests.
    pub const fn refused(&self) -> u64 {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_drawn_between_both_ends() {
        let mut random = Random::new(7);
        let range = LatencyRange {
            min_us: 3,
            max_us: 5,
        };
        let drawn: std::collections::BTreeSet<_> =
            (0..200).map(|_| random.latency_nanos(range)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [3_000, 4_000, 5_000]);
        assert_eq!(random.latency_nanos(LatencyRange::fixed_ms(2)), 2_000_000);
    }

    #[test]
    fn a_bucket_lets_its_burst_through_and_then_its_rate() {
        let limit = RateLimit { per_s: 4, burst: 2 };
        let mut limiter = RateLimiter::new(limit);
        let mut accepted = |ms: i64, endpoint| limiter.take(Timestamp(ms * 1_000_000), endpoint);
        assert!(accepted(0, Endpoint::Depth) && accepted(0, Endpoint::Depth));
        assert!(!accepted(0, Endpoint::Depth) && !accepted(249, Endpoint::Depth));
        assert!(accepted(249, Endpoint::Orders), "another endpoint");
        assert!(accepted(250, Endpoint::Depth) && !accepted(250, Endpoint::Depth));
        assert!(accepted(10_000, Endpoint::Depth) && accepted(10_000, Endpoint::Depth));
        assert!(!accepted(10_000, Endpoint::Depth));
        assert_eq!(limiter.refused(), 4);
    }
}
