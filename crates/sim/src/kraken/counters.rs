//! The venue's own counters, which share nothing with the engine's: calls of the key, and orders and cancels by pair.

use std::collections::BTreeMap;

use cambist_core::{Amount, Hash, TokenId, VenueTime};
use cambist_venue::{NewOrder, Request};

use cambist_kraken_venue::rules::{CALL, START_CALLS};

use crate::config::KrakenConfig;

/// Millionths of a count.
const ONE: u64 = 1_000_000;

/// Calls of an earlier process that are counted in its file and have not arrived.
const IN_FLIGHT: u64 = 3;
/// Calls by which a daemon stays below the maximum.
const MARGIN: u64 = 2;

/// A counter that falls with time.
#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    parts: u64,
    at: VenueTime,
    /// When it last counted from nothing.
    empty_at: VenueTime,
}

impl Counter {
    /// Adds `cost`, unless that is above the maximum and `is_bounded`.
    fn add(
        &mut self,
        now: VenueTime,
        (most, milli_per_s): (u64, u64),
        cost: u64,
        is_bounded: bool,
    ) -> bool {
        let fallen = now.ms_since(self.at).saturating_mul(milli_per_s);
        self.parts = self.parts.saturating_sub(fallen);
        self.at = now;
        if self.parts == 0 {
            self.empty_at = now;
        }
        let after = self.parts + cost * ONE;
        let is_allowed = !is_bounded || after <= most * ONE;
        if is_allowed {
            self.parts = after;
        }
        is_allowed
    }
}

/// Orders with new trades that one page of the ledger shows: it has 50 entries, and two of each trade.
const ORDERS_PER_PAGE: usize = 25;

/// What the client asked the ledger beside a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LedgerQuestions {
    /// Calls that they added to the counter.
    pub(crate) calls: u32,
    /// Whether trades are missing after them, so that the request has no result.
    pub(crate) is_unfinished: bool,
}

/// A pair, by its tokens.
type Pair = (TokenId, TokenId);

/// All counters of an account.
#[derive(Debug)]
pub(super) struct Counters {
    account: KrakenConfig,
    calls: Counter,
    pairs: BTreeMap<Pair, Counter>,
    /// The pair of every order, and when it was created.
    created: BTreeMap<Hash, (Pair, VenueTime)>,
    /// What the present daemon knows of the fills of each order: a start knows nothing.
    shown: BTreeMap<Hash, Amount>,
    /// Questions to the ledger since they were taken.
    ledger: LedgerQuestions,
    /// Since when the counter that refused last had counted.
    refused_since: VenueTime,
}

impl Counters {
    pub(super) fn new(account: KrakenConfig) -> Self {
        Self {
            account,
            calls: Counter::default(),
            pairs: BTreeMap::new(),
            created: BTreeMap::new(),
            shown: BTreeMap::new(),
            ledger: LedgerQuestions::default(),
            refused_since: VenueTime(0),
        }
    }

    /// Counts a call of the key; false if there are too many.
    pub(super) fn call(&mut self, now: VenueTime, asked: &Request) -> bool {
        let cost = match asked {
            Request::Balances { .. } | Request::Orders(_) | Request::Account(_) => 1,
            // Among the open orders, then among the closed ones.
            Request::Order { .. } => 2,
            _ => return true,
        };
        let is_allowed = self.calls.add(now, self.account.calls, cost, true);
        if !is_allowed {
            self.refused_since = self.calls.empty_at;
        }
        is_allowed
    }

    /// A daemon begins, and knows what the counter holds: the tokens that are left behind its questions. It is taken to wait
    /// with them until the counter has room; it then begins without a token.
    pub(super) fn starts(&mut self, now: VenueTime) -> u32 {
        self.shown.clear();
        let (most, _) = self.account.calls;
        let (held, at) = (self.calls.parts, self.calls.at);
        let fallen = now.ms_since(at).saturating_mul(self.account.calls.1);
        let held = held.saturating_sub(fallen).div_ceil(ONE);
        let asked = u64::from(START_CALLS);
        let left = most.checked_sub(held + IN_FLIGHT + asked + MARGIN);
        let Some(left) = left else { return 0 };
        self.calls.add(now, self.account.calls, asked, false);
        u32::try_from(left).unwrap_or(u32::MAX).saturating_mul(CALL)
    }

    /// Since when the counter that refused last had counted: what was before it had forgotten.
    pub(super) const fn refused_since(&self) -> VenueTime {
        self.refused_since
    }

    /// Orders are shown, with what they bought or sold: the ledger is asked one question about trades that are not known.
    pub(super) fn shows(
        &mut self,
        now: VenueTime,
        orders: impl IntoIterator<Item = (Hash, Amount)>,
    ) {
        let mut found = 0;
        for (order, filled) in orders {
            let known = self.shown.get(&order).copied().unwrap_or(0);
            if known >= filled {
                continue;
            }
            if found == ORDERS_PER_PAGE {
                self.ledger.is_unfinished = true;
                break;
            }
            found += 1;
            self.shown.insert(order, filled);
        }
        if found > 0 {
            self.calls.add(now, self.account.calls, 2, false);
            self.ledger.calls += 2;
        }
    }

    /// The questions to the ledger since the last call.
    pub(super) fn take_ledger(&mut self) -> LedgerQuestions {
        std::mem::take(&mut self.ledger)
    }

    /// Counts an order; false if there are too many.
    pub(super) fn order(&mut self, now: VenueTime, order: &NewOrder) -> bool {
        let counter = self.pairs.entry(pair(order)).or_default();
        let is_allowed = counter.add(now, self.account.trading, 1, true);
        if !is_allowed {
            self.refused_since = counter.empty_at;
        }
        is_allowed
    }

    /// The matching took an order.
    pub(super) fn taken(&mut self, now: VenueTime, order: &NewOrder) {
        self.created.insert(order.hash, (pair(order), now));
    }

    /// Counts an amend; false if there are too many.
    pub(super) fn amend(&mut self, now: VenueTime, order: Hash) -> bool {
        let Some((pair, created)) = self.created.get(&order).copied() else {
            return false;
        };
        let cost = match now.ms_since(created) / 1_000 {
            0..5 => 4,
            5..10 => 3,
            10..15 => 2,
            _ => 1,
        };
        let counter = self.pairs.entry(pair).or_default();
        let is_allowed = counter.add(now, self.account.trading, cost, true);
        if !is_allowed {
            self.refused_since = counter.empty_at;
        }
        is_allowed
    }

    /// A cancel is accepted: the younger the order, the more it counts.
    pub(super) fn cancelled(&mut self, now: VenueTime, order: Option<Hash>) {
        let known = order.and_then(|order| self.created.get(&order).copied());
        let Some((pair, created)) = known else { return };
        let cost = match now.ms_since(created) / 1_000 {
            0..5 => 8,
            5..10 => 6,
            10..15 => 5,
            15..45 => 4,
            45..90 => 2,
            90..300 => 1,
            _ => 0,
        };
        let counter = self.pairs.entry(pair).or_default();
        counter.add(now, self.account.trading, cost, false);
    }
}

fn pair(order: &NewOrder) -> Pair {
    let tokens = (order.sell_token, order.buy_token);
    (tokens.0.min(tokens.1), tokens.0.max(tokens.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_falls_with_time_and_refuses_what_is_above_its_maximum() {
        let (rate, mut counter) = ((3, 500), Counter::default());
        let added = (0..4).map(|_| counter.add(VenueTime(10_000), rate, 1, true));
        assert_eq!(added.collect::<Vec<_>>(), [true, true, true, false]);
        assert!(!counter.add(VenueTime(11_999), rate, 1, true));
        assert!(counter.add(VenueTime(12_000), rate, 1, true));
        assert!(
            counter.add(VenueTime(12_000), rate, 8, false),
            "cancels always are"
        );
        assert_eq!(counter.parts, 11 * ONE);
        assert_eq!(counter.empty_at, VenueTime(10_000));
        assert!(counter.add(VenueTime(33_999), rate, 1, true));
        assert_eq!(counter.empty_at, VenueTime(10_000));
        assert!(counter.add(VenueTime(36_000), rate, 1, true));
        assert_eq!(counter.empty_at, VenueTime(36_000));
    }

    /// What a start knows to be left, with the margin and what is in flight, is never refused.
    #[test]
    fn a_start_leaves_what_the_counter_still_takes() {
        let calls = (20, 1_000);
        let account = KrakenConfig {
            calls,
            ..KrakenConfig::default()
        };
        for made in 0..20 {
            let mut counters = Counters::new(account);
            let now = VenueTime(50_000);
            assert!(counters.calls.add(now, calls, made, true));
            let left = u64::from(counters.starts(now) / CALL);
            let room = 20 - MARGIN - IN_FLIGHT - u64::from(START_CALLS);
            assert_eq!(left, room.saturating_sub(made), "{made}");
            let taken = counters.calls.add(now, calls, left + IN_FLIGHT, true);
            assert!(taken || left == 0, "{made}");
        }
    }

    #[test]
    fn one_question_shows_the_trades_of_a_page_and_a_start_knows_none() {
        let orders = (0..60).map(|number| (Hash([number; 32]), 1));
        let mut counters = Counters::new(KrakenConfig::default());
        let ask = |counters: &mut Counters| {
            counters.shows(VenueTime(1_000), orders.clone());
            let LedgerQuestions {
                calls,
                is_unfinished,
            } = counters.take_ledger();
            (calls, is_unfinished)
        };
        let whole = [(2, true), (2, true), (2, false), (0, false)];
        for _ in 0..2 {
            for expected in whole {
                assert_eq!(ask(&mut counters), expected);
            }
            counters.starts(VenueTime(1_000));
        }
    }
}
