//! Rate counters: one for each key, and one for each account and pair. A counter rises by the cost of a request and
//! falls with time; what would lift it above its maximum is refused. Cancels are never refused, they only count.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use cambist_core::MarketId;
use cambist_venue::AccountId;

use super::config::Tier;

/// Millionths of a count.
const ONE: u64 = 1_000_000;

/// Cost of a cancel by the age of its order: below so many seconds, so much.
const CANCEL: [(u64, u32); 6] = [(5, 8), (10, 6), (15, 5), (45, 4), (90, 2), (300, 1)];
/// What an amend costs in addition to 1.
const AMEND: [(u64, u32); 3] = [(5, 3), (10, 2), (15, 1)];

/// Maximum, and decay in thousandths a second.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    most: u64,
    decay_milli_per_s: u64,
}

impl Tier {
    const fn calls(self) -> Bounds {
        let (most, decay_milli_per_s) = match self {
            Self::Starter => (15, 333),
            Self::Intermediate => (20, 500),
            Self::Pro => (20, 1_000),
        };
        Bounds {
            most,
            decay_milli_per_s,
        }
    }

    const fn trading(self) -> Bounds {
        let (most, decay_milli_per_s) = match self {
            Self::Starter => (60, 1_000),
            Self::Intermediate => (125, 2_340),
            Self::Pro => (180, 3_750),
        };
        Bounds {
            most,
            decay_milli_per_s,
        }
    }
}

/// What is counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Counted {
    Key(String),
    Pair(AccountId, MarketId),
}

#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    millionths: u64,
    at_ms: u64,
}

impl Counter {
    /// So many thousandths a second are so many millionths a millisecond: nothing is rounded.
    fn decay(&mut self, bounds: Bounds, now_ms: u64) {
        let elapsed_ms = now_ms.saturating_sub(self.at_ms);
        let fallen = elapsed_ms.saturating_mul(bounds.decay_milli_per_s);
        self.millionths = self.millionths.saturating_sub(fallen);
        self.at_ms = self.at_ms.max(now_ms);
    }
}

/// All counters. Keys and accounts are those of the configuration, so their number is bounded.
#[derive(Debug)]
pub(super) struct Counters {
    tier: Tier,
    counters: Mutex<HashMap<Counted, Counter>>,
}

impl Counters {
    pub fn new(tier: Tier) -> Self {
        Self {
            tier,
            counters: Mutex::default(),
        }
    }

    /// Counts a request of a key; whether it is within the maximum.
    pub fn call(&self, api_key: &str, cost: u32, now_ms: u64) -> bool {
        let counted = Counted::Key(api_key.to_owned());
        self.add(counted, self.tier.calls(), cost, now_ms, false)
    }

    /// Counts orders or an amend; whether they are within the maximum.
    pub fn trade(&self, account: AccountId, market: MarketId, cost: u32, now_ms: u64) -> bool {
        let counted = Counted::Pair(account, market);
        self.add(counted, self.tier.trading(), cost, now_ms, false)
    }

    /// Counts a cancel of an order of this age.
    pub fn cancel(&self, account: AccountId, market: MarketId, age_ms: u64, now_ms: u64) {
        let counted = Counted::Pair(account, market);
        let cost = by_age(&CANCEL, age_ms);
        self.add(counted, self.tier.trading(), cost, now_ms, true);
    }

    fn add(&self, counted: Counted, bounds: Bounds, cost: u32, now_ms: u64, always: bool) -> bool {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let counter = counters.entry(counted).or_default();
        counter.decay(bounds, now_ms);
        let lifted = counter.millionths + u64::from(cost) * ONE;
        let most = bounds.most * ONE;
        if lifted > most && !always && cost > 0 {
            return false;
        }
        // A flood of cancels does not lock the pair for longer than a full counter does.
        counter.millionths = lifted.min(counter.millionths.max(most));
        true
    }
}

/// Cost of an amend of an order of this age.
pub(super) fn amend_cost(age_ms: u64) -> u32 {
    1 + by_age(&AMEND, age_ms)
}

fn by_age(table: &[(u64, u32)], age_ms: u64) -> u32 {
    let mut rows = table.iter();
    let row = rows.find(|(below_s, _)| age_ms < below_s * 1_000);
    row.map_or(0, |(_, cost)| *cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKET: MarketId = MarketId(0);
    const ACCOUNT: AccountId = AccountId(7);

    #[test]
    fn a_key_has_its_maximum_and_falls_back() {
        let counters = Counters::new(Tier::Starter);
        for _ in 0..7 {
            assert!(counters.call("k", 2, 0));
        }
        assert!(counters.call("k", 1, 0));
        assert!(!counters.call("k", 1, 0), "15 is the maximum");
        assert!(counters.call("other", 1, 0));
        assert!(
            counters.call("k", 0, 0),
            "what costs nothing is never refused"
        );
        assert!(
            !counters.call("k", 1, 3_003),
            "999,999 millionths have fallen"
        );
        assert!(counters.call("k", 1, 3_004));
    }

    #[test]
    fn small_steps_of_time_decay_as_one_large_step() {
        let [often, once] = [Counters::new(Tier::Starter), Counters::new(Tier::Starter)];
        for counters in [&often, &once] {
            assert!(counters.call("k", 15, 0));
        }
        for ms in 1..=3_003 {
            assert!(!often.call("k", 1, ms));
        }
        assert!(once.call("k", 1, 3_004) && often.call("k", 1, 3_004));
    }

    #[test]
    fn cancels_count_by_age_and_are_never_refused() {
        let counters = Counters::new(Tier::Starter);
        for (age_ms, cost) in [(0, 8), (4_999, 8), (5_000, 6), (299_999, 1), (300_000, 0)] {
            assert_eq!(by_age(&CANCEL, age_ms), cost, "{age_ms}");
        }
        for _ in 0..100 {
            counters.cancel(ACCOUNT, MARKET, 0, 0);
        }
        assert!(!counters.trade(ACCOUNT, MARKET, 1, 0));
        assert!(counters.trade(ACCOUNT, MarketId(1), 1, 0), "another pair");
        assert!(!counters.trade(ACCOUNT, MARKET, 1, 999));
        assert!(counters.trade(ACCOUNT, MARKET, 1, 1_000));
        assert_eq!(
            (amend_cost(0), amend_cost(14_999), amend_cost(15_000)),
            (4, 2, 1)
        );
    }
}
