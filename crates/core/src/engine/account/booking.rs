//! The changes of orders and books by one event, collected until its step ends: they leave as one booking, durable as a
//! whole or not at all.
//!
//! The ledger changes with every trade and is booked with it. Loss baselines also change with the price, many times a
//! second: they are booked with every other booking, and by themselves at intervals. A run that is killed in between
//! has observed the price for a little less long; no trade is ever missing.

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::books::{Baselines, Booking, Entry, Position};
use crate::market::MarketId;
use crate::postings::Postings;
use crate::sorted_map::SortedMap;
use crate::sorted_set::SortedSet;
use crate::time::Time;
use crate::token::TokenId;

use crate::engine::state::State;

/// A new peak, or a new day, is booked within this time; a new high of the hour and the last mid take longer.
const PEAK_MS: u64 = 1_000;
const HOUR_MS: u64 = 10_000;
const MID_MS: u64 = 60_000;

/// Changes that wait for the end of the step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pending {
    entries: Vec<Entry>,
    tokens: SortedSet<TokenId>,
    markets: SortedSet<MarketId>,
    opens: bool,
    differences: bool,
    charges: bool,
    /// What was last booked, and when.
    booked: SortedMap<MarketId, (Time, Option<Baselines>)>,
}

impl Pending {
    /// The state after the bookings of earlier runs.
    pub(crate) fn after(now: Time, positions: &SortedMap<MarketId, Position>) -> Self {
        let booked = positions.iter();
        let booked = booked.map(|(id, position)| (*id, (now, position.baselines.clone())));
        Self {
            booked: booked.collect(),
            ..Self::default()
        }
    }

    /// Fills that wait to be booked.
    pub(crate) fn fills(&self) -> usize {
        let fills = self.entries.iter();
        fills
            .filter(|entry| matches!(entry, Entry::Fill(_)))
            .count()
    }

    /// Whether nothing changed since the last booking.
    fn is_nothing(&self) -> bool {
        let unchanged = self.tokens.is_empty() && self.markets.is_empty();
        self.entries.is_empty() && unchanged && !self.opens && !self.differences
    }

    /// Adds an entry.
    pub(crate) fn entry(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Marks tokens and a market's position as changed by postings.
    pub(crate) fn posted(&mut self, market: Option<MarketId>, postings: &Postings) {
        self.tokens.extend(postings.iter().map(|(token, _)| token));
        self.markets.extend(market);
    }

    /// Marks a market's position as changed otherwise.
    pub(crate) fn moved(&mut self, market: MarketId) {
        self.markets.insert(market);
    }

    /// Marks the opening balances as taken.
    pub(crate) fn opens(&mut self) {
        self.opens = true;
    }

    /// Marks the number of the next charge as changed.
    pub(crate) fn charged(&mut self) {
        self.charges = true;
    }

    /// Marks the differences as changed.
    pub(crate) fn differs(&mut self) {
        self.differences = true;
    }
}

/// The high values of the hour.
fn highs(of: &Baselines) -> impl Iterator<Item = i128> {
    of.hour.iter().map(|(_, high)| *high)
}

/// How long values that differ from the booked ones may wait.
fn may_wait_ms(booked: Option<&Baselines>, now: Option<&Baselines>) -> Option<u64> {
    let (Some(booked), Some(now)) = (booked, now) else {
        return (booked != now).then_some(0);
    };
    let kept = |of: &Baselines| (of.day, of.day_open, of.total, of.peak);
    if kept(booked) != kept(now) {
        Some(PEAK_MS)
    } else if highs(booked).ne(highs(now)) {
        Some(HOUR_MS)
    } else {
        (booked.mid != now.mid).then_some(MID_MS)
    }
}

impl State {
    /// Books opening balances before anything is decided by them. An order that was sealed first could be filled before
    /// they are durable: a run after a kill would take the opening balances again, and the fill for a part of them.
    pub(crate) fn book_opening(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.pending.opens {
            self.book_pending(now, actions);
        }
    }

    /// Emits a booking of everything that changed since the last one.
    pub(crate) fn book_pending(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.take_new_baselines(now);
        if self.pending.is_nothing() {
            return;
        }
        let pending = &mut self.pending;
        let entries = std::mem::take(&mut pending.entries);
        let tokens = std::mem::take(&mut pending.tokens);
        let markets = std::mem::take(&mut pending.markets);
        let opens = std::mem::take(&mut pending.opens);
        let differences = std::mem::take(&mut pending.differences);
        let charges = std::mem::take(&mut pending.charges);
        let ledger = if opens {
            self.ledger.all_booked()
        } else {
            let open = tokens.into_iter().filter(|_| self.ledger.is_open());
            open.map(|token| (token, self.ledger.booked(token)))
                .collect()
        };
        let mut positions = SortedMap::new();
        for market in markets {
            if let Some(position) = self.position(now, market) {
                let booked = (now, position.baselines.clone());
                self.pending.booked.insert(market, booked);
                positions.insert(market, position);
            }
        }
        let booking = Booking {
            entries,
            opens,
            ledger,
            positions,
            differences: differences.then(|| self.ledger.differing().clone()),
            charged_below: charges.then(|| self.ledger.charged_below()),
        };
        if booking != Booking::default() {
            actions.push(Action::Book(Box::new(booking)));
        }
    }

    fn position(&self, now: Time, id: MarketId) -> Option<Position> {
        let market = self.market(id);
        let at = (now, self.clock.at_least(now));
        market
            .losses
            .position(&market.spec, at, market.pool.is_some())
    }

    /// Adds the markets whose baselines may not wait any longer.
    fn take_new_baselines(&mut self, now: Time) {
        for index in 0..self.markets.len() {
            let id = self.markets[index].spec.id;
            let booked = self.pending.booked.get(&id);
            let waited_ms = booked.map_or(u64::MAX, |(at, _)| now.ms_since(*at));
            let meter = &mut self.markets[index].losses;
            if waited_ms < PEAK_MS || !std::mem::take(&mut meter.measured_since_written) {
                continue;
            }
            let booked = self.pending.booked.get(&id);
            let known = booked.and_then(|(_, baselines)| baselines.as_ref());
            let market = &self.markets[index];
            if waited_ms < HOUR_MS && known.is_some_and(|k| market.losses.keeps(&market.spec, k)) {
                continue;
            }
            let position = self.position(now, id);
            let found = position.as_ref().and_then(|p| p.baselines.as_ref());
            if may_wait_ms(known, found).is_some_and(|ms| waited_ms >= ms) {
                self.pending.moved(id);
            }
        }
    }

    /// Books the current loss baselines of all markets.
    pub(crate) fn book_all_positions(&mut self) {
        let open = self.ledger.is_open();
        let markets = self.markets.iter().map(|market| market.spec.id);
        self.pending.markets.extend(markets.filter(|_| open));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::config::LossConfig;
    use crate::engine::testing::state;
    use crate::time::VenueTime;

    /// A change, and how long it may wait.
    type Case = (fn(&mut Baselines), Option<u64>);

    /// A new peak or day a second, a new high of the hour ten, the last mid a minute; what was never booked not at all.
    #[test]
    fn a_change_of_baselines_waits_the_longer_the_less_it_matters() {
        let booked = Baselines {
            hour: vec![(VenueTime(1), 10)],
            ..Baselines::default()
        };
        let cases: [Case; 8] = [
            (|_| {}, None),
            (|of| of.day += 1, Some(1_000)),
            (|of| of.day_open += 1, Some(1_000)),
            (|of| of.total += 1, Some(1_000)),
            (|of| of.peak += 1, Some(1_000)),
            (|of| of.hour[0].1 += 1, Some(10_000)),
            (|of| of.hour[0].0 = VenueTime(2), None),
            (|of| of.mid.quote += 1, Some(60_000)),
        ];
        for (change, waits_ms) in cases {
            let mut now = booked.clone();
            change(&mut now);
            assert_eq!(may_wait_ms(Some(&booked), Some(&now)), waits_ms, "{now:?}");
        }
        assert_eq!(may_wait_ms(None, Some(&booked)), Some(0));
        assert_eq!(may_wait_ms(None, None), None);
    }

    /// The price is measured many times a second.
    #[test]
    fn baselines_alone_are_booked_once_a_second_at_most() {
        let opened = Time::from_ms(1_000);
        let mut state = state(opened);
        let id = MarketId(0);
        state.markets[0].losses.open(0);
        state.pending.booked.insert(id, (opened, None));
        let spec = state.markets[0].spec.clone();
        let at = (opened.plus_ms(10), VenueTime(10));
        let (mid, limits) = ((20_000, Some((0, 0))), LossConfig::UNLIMITED);
        state.markets[0].losses.measure(at, &spec, mid, &limits);
        let mut booked = |after_ms: u64| {
            let mut actions = Vec::new();
            state.book_pending(opened.plus_ms(after_ms), &mut actions);
            actions.len()
        };
        assert_eq!(booked(999), 0);
        assert_eq!(booked(1_000), 1);
        assert_eq!(booked(2_000), 0, "nothing was measured since");
    }
}
