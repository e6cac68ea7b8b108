//! Token buckets in a bounded map: whether a request is allowed now, and how long to wait if not.
//!
//! Time is an argument. The meaning of requests and the form of refusals are not known here.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use cambist_protocol::Endpoint;
use cambist_venue::AccountId;

use crate::config::{Rate, RateLimits};

/// Shortest pause between two sweeps of a full map, so that a flood of new addresses stays cheap.
const SWEEP_MS: u64 = 1_000;

/// The purpose of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Use {
    /// All requests of an address.
    Address(Network),
    /// A request without a valid key.
    Keyless(Network, Endpoint),
    /// A request for market data beside the interface.
    MarketData(Network),
    /// Requests of an account.
    Key(AccountId, Endpoint),
    /// Wrong signatures of an account.
    FailedByKey(AccountId),
    /// Wrong signatures where there is no key.
    FailedByAddress(Network),
}

impl Use {
    const fn rate(self, limits: &RateLimits) -> Rate {
        match self {
            Self::Address(_) => limits.address,
            Self::Keyless(..) => limits.keyless_and_endpoint,
            Self::MarketData(_) => limits.market_data,
            Self::Key(..) => limits.key_and_endpoint,
            Self::FailedByKey(_) | Self::FailedByAddress(_) => limits.failed_signatures,
        }
    }
}

/// The part of an address that belongs to one customer: all of IPv4, the first 64 bits of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Network(u64, bool);

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self(u64::from(v4.to_bits()), false),
            // The shift leaves 64 bits.
            IpAddr::V6(v6) => Self((v6.to_bits() >> 64) as u64, true),
        }
    }
}

/// The rate was exceeded; try again after this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub ms: u64,
}

impl Wait {
    /// Whole seconds for `Retry-After`, rounded up.
    pub const fn s(self) -> u64 {
        self.ms.div_ceil(1_000)
    }
}

/// A bucket: thousandths of a token, and the time at which they were computed.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    level: u64,
    counted_ms: u64,
    rate: Rate,
}

impl Bucket {
    fn full(rate: Rate, now_ms: u64) -> Self {
        let rate = Rate {
            per_s: rate.per_s.max(1),
            burst: rate.burst.max(1),
        };
        Self {
            level: u64::from(rate.burst) * 1_000,
            counted_ms: now_ms,
            rate,
        }
    }

    fn refill(&mut self, now_ms: u64) {
        let elapsed_ms = now_ms.saturating_sub(self.counted_ms);
        self.level = self
            .level
            .saturating_add(elapsed_ms.saturating_mul(u64::from(self.rate.per_s)))
            .min(u64::from(self.rate.burst) * 1_000);
        self.counted_ms = self.counted_ms.max(now_ms);
    }

    fn peek(&mut self, now_ms: u64) -> Result<(), Wait> {
        self.refill(now_ms);
        let missing = 1_000u64.saturating_sub(self.level);
        if missing == 0 {
            return Ok(());
        }
        Err(Wait {
            ms: missing.div_ceil(u64::from(self.rate.per_s)),
        })
    }

    fn take(&mut self, now_ms: u64) -> Result<(), Wait> {
        self.peek(now_ms)?;
        self.level -= 1_000;
        Ok(())
    }

    fn is_rested(&self, now_ms: u64) -> bool {
        let mut later = *self;
        later.refill(now_ms);
        later.level == u64::from(self.rate.burst) * 1_000
    }
}

/// All buckets.
#[derive(Debug)]
pub(crate) struct Limiter {
    limits: RateLimits,
    buckets: Mutex<Buckets>,
}

#[derive(Debug, Default)]
struct Buckets {
    by_use: HashMap<Use, Bucket>,
    /// Buckets shared by all uses that do not fit into the full map, one for each kind of use.
    overflow: HashMap<std::mem::Discriminant<Use>, Bucket>,
    swept_ms: Option<u64>,
}

impl Limiter {
    pub fn new(limits: RateLimits) -> Self {
        Self {
            limits,
            buckets: Mutex::default(),
        }
    }

    /// Takes a token.
    pub fn take(&self, what: Use, now_ms: u64) -> Result<(), Wait> {
        self.with(what, now_ms, |bucket| bucket.take(now_ms))
    }

    /// Whether a token is available.
    pub fn peek(&self, what: Use, now_ms: u64) -> Result<(), Wait> {
        self.with(what, now_ms, |bucket| bucket.peek(now_ms))
    }

    fn with<T>(&self, what: Use, now_ms: u64, act: impl FnOnce(&mut Bucket) -> T) -> T {
        // A panic while the lock is held cannot leave a bucket inconsistent.
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let rate = what.rate(&self.limits);
        if !buckets.by_use.contains_key(&what) && !buckets.has_room(&self.limits, now_ms) {
            let shared = std::mem::discriminant(&what);
            let bucket = buckets
                .overflow
                .entry(shared)
                .or_insert_with(|| Bucket::full(rate, now_ms));
            return act(bucket);
        }
        act(buckets
            .by_use
            .entry(what)
            .or_insert_with(|| Bucket::full(rate, now_ms)))
    }
}

impl Buckets {
    fn has_room(&mut self, limits: &RateLimits, now_ms: u64) -> bool {
        if self.by_use.len() < limits.buckets_max {
            return true;
        }
        let due = self
            .swept_ms
            .is_none_or(|swept_ms| now_ms.saturating_sub(swept_ms) >= SWEEP_MS);
        if due {
            self.swept_ms = Some(now_ms);
            // A full bucket equals a new one, so it can be dropped.
            self.by_use.retain(|_, bucket| !bucket.is_rested(now_ms));
        }
        self.by_use.len() < limits.buckets_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(number: u32) -> Use {
        Use::Key(AccountId(number), Endpoint::SubmitOrder)
    }

    fn limiter(buckets_max: usize) -> Limiter {
        Limiter::new(RateLimits {
            buckets_max,
            ..RateLimits::default()
        })
    }

    #[test]
    fn a_burst_passes_then_the_rate_rules() {
        let limiter = limiter(100);
        for _ in 0..5 {
            assert_eq!(limiter.take(account(1), 0), Ok(()));
        }
        assert_eq!(limiter.take(account(1), 0), Err(Wait { ms: 200 }));
        assert_eq!(limiter.take(account(1), 150), Err(Wait { ms: 50 }));
        assert_eq!(limiter.take(account(1), 200), Ok(()));
        assert_eq!(limiter.peek(account(1), 200), Err(Wait { ms: 200 }));
        assert_eq!(limiter.take(account(2), 200), Ok(()), "another key");
        let other = Use::Key(AccountId(1), Endpoint::CancelOrder);
        assert_eq!(limiter.take(other, 200), Ok(()), "another endpoint");
        assert_eq!(Wait { ms: 200 }.s(), 1, "Retry-After is never 0");
    }

    #[test]
    fn time_that_runs_backwards_neither_fills_nor_freezes() {
        let limiter = limiter(100);
        for _ in 0..5 {
            assert_eq!(limiter.take(account(1), 10_000), Ok(()));
        }
        assert!(limiter.take(account(1), 5_000).is_err());
        assert_eq!(limiter.take(account(1), 10_200), Ok(()));
    }

    #[test]
    fn memory_is_bounded_and_unknown_clients_share_the_rest() {
        let limiter = limiter(3);
        for number in 0..3 {
            assert_eq!(limiter.take(account(number), 0), Ok(()));
        }
        let passed = (3..100)
            .filter(|number| limiter.take(account(*number), 0).is_ok())
            .count();
        assert_eq!(passed, 5, "all of them together have one bucket");
        assert_eq!(
            limiter.take(account(0), 0),
            Ok(()),
            "a known one has its own"
        );
        // Once the buckets are full again, they are dropped and there is room.
        assert_eq!(limiter.take(account(100), 60_000), Ok(()));
        let buckets = limiter
            .buckets
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        assert_eq!(buckets.by_use.len(), 1);
    }

    #[test]
    fn an_ipv6_address_counts_by_its_first_64_bits() {
        let network = |text: &str| text.parse::<IpAddr>().ok().map(Network::from);
        assert_eq!(network("10.0.0.1"), network("::ffff:10.0.0.1"));
        assert_ne!(network("10.0.0.1"), network("10.0.0.2"));
        assert_eq!(network("2001:db8::1"), network("2001:db8::2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_ne!(network("::1"), network("0.0.0.0"));
    }
}
