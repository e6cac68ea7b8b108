//! Data ages from true times: the age of the last data of each kind that the daemon received, and a lower bound of the
//! exchange's clock that it could know.
//!
//! The daemon computes these from its own clock and the times in answers. Whatever its result, it may not act on data
//! that are older than this, nor as if more time had passed.

use std::collections::BTreeMap;

use cambist_core::config::PollConfig;
use cambist_core::request::Endpoint;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{MarketId, Time, VenueTime};

/// Bound on clock drift over the largest allowed age.
const DRIFT_MS: u64 = 20;
/// A time that is further than this ahead of what is known is used once another answer agrees, within the same, that is
/// at least so much later.
const LEAP_MS: u64 = 5_000;
const AGAIN_MS: u64 = 1_000;

/// Data received by one start of the daemon, in true times.
#[derive(Debug, Default)]
pub(crate) struct DataAge {
    /// When the newest answer was generated, by endpoint.
    drawn: BTreeMap<Endpoint, VenueTime>,
    /// When the last accepted depth was generated, by market, and its mid in half ticks.
    depths: SortedMap<MarketId, (VenueTime, Option<u64>)>,
    /// A true time of the exchange in an answer, and the daemon's clock then.
    lower_bound: Option<(VenueTime, Time)>,
    /// A time that leaps, of one answer, and the daemon's clock then.
    leap: Option<(VenueTime, Time)>,
}

impl DataAge {
    /// It received a time that the exchange's clock has passed. A single answer that leaps may be a wrong one, which the
    /// daemon cannot know: on a chain whose newest block is the clock, the first answers after an outage may be ahead by
    /// the time of a block.
    pub(crate) fn time(&mut self, shown: Time, lower_bound: VenueTime) {
        let known = self.passed(shown);
        if known.is_some_and(|known| lower_bound.ms_since(known) > LEAP_MS) {
            let again = self
                .leap
                .filter(|(_, then)| shown.ms_since(*then) >= AGAIN_MS);
            let is_confirmed = again.is_some_and(|(before, then)| {
                let apart = lower_bound.ms_since(before);
                lower_bound >= before && apart.abs_diff(shown.ms_since(then)) <= LEAP_MS
            });
            if !is_confirmed {
                if self.leap.is_none() || again.is_some() {
                    self.leap = Some((lower_bound, shown));
                }
                return;
            }
        }
        self.leap = None;
        if known.is_none_or(|known| lower_bound > known) {
            self.lower_bound = Some((lower_bound, shown));
        }
    }

    /// It received an answer that was generated then.
    pub(crate) fn answer(&mut self, endpoint: Endpoint, drawn: VenueTime) {
        let known = self.drawn.entry(endpoint).or_default();
        *known = (*known).max(drawn);
    }

    /// It accepted a depth.
    pub(crate) fn depth(&mut self, market: MarketId, drawn: VenueTime, mid: Option<u64>) {
        self.depths.insert(market, (drawn, mid));
    }

    /// Why `mid` is not what a strategy of another market has to see of this one: the newest depth has another.
    pub(crate) fn other_mid(&self, market: MarketId, mid: u64) -> Option<String> {
        let newest = self.depths.get(&market).and_then(|(_, mid)| *mid);
        (newest != Some(mid)).then(|| format!("the newest mid is {newest:?}, not {mid}"))
    }

    /// The age of a market's depth, if nothing may be ordered any more by what it shows.
    pub(crate) fn too_old(&self, market: MarketId, shown: Time, poll: &PollConfig) -> Option<u64> {
        let (drawn, _) = self.depths.get(&market)?;
        let age = self.passed(shown)?.ms_since(*drawn);
        (age > poll.depth_age_max_ms.saturating_add(DRIFT_MS)).then_some(age)
    }

    /// Lower bound of the exchange's clock from received times, advanced by the daemon's own clock less one part in a
    /// thousand for drift.
    pub(crate) fn passed(&self, shown: Time) -> Option<VenueTime> {
        let (lower_bound, then) = self.lower_bound?;
        let carried = shown.ms_since(then);
        Some(lower_bound.plus_ms(carried - carried.div_ceil(1_000)))
    }

    /// The input of an order at a market that is too old, and its true age.
    pub(crate) fn stale(
        &self,
        market: MarketId,
        shown: Time,
        poll: &PollConfig,
    ) -> Option<(&'static str, u64)> {
        let now = self.passed(shown)?;
        let of = |endpoint| self.drawn.get(&endpoint).copied();
        let kinds = [
            (
                "depth",
                self.depths.get(&market).map(|(drawn, _)| *drawn),
                poll.depth_age_max_ms,
            ),
            ("balances", of(Endpoint::Balances), poll.balances_age_max_ms),
            ("orders", of(Endpoint::Orders), poll.orders_age_max_ms),
        ];
        kinds.into_iter().find_map(|(name, drawn, most)| {
            let age = drawn.map_or(u64::MAX, |drawn| now.ms_since(drawn));
            (age > most.saturating_add(DRIFT_MS)).then_some((name, age))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: VenueTime = VenueTime(1_700_000_000_000);

    #[test]
    fn a_time_that_leaps_counts_once_a_later_answer_agrees() {
        let at = |ms: u64| (Time::from_ms(ms), ORIGIN.plus_ms(ms));
        let mut ages = DataAge::default();
        ages.time(at(0).0, at(0).1);
        let known = |ages: &DataAge, ms: u64| ages.passed(at(ms).0).map(|of| of.ms_since(ORIGIN));
        assert_eq!(known(&ages, 50_000), Some(49_950));
        // Ten seconds ahead: a block that is new, where the one before was read late.
        ages.time(at(50_000).0, at(60_000).1);
        assert_eq!(known(&ages, 50_000), Some(49_950), "alone");
        ages.time(at(50_900).0, at(60_000).1);
        assert_eq!(known(&ages, 50_900), Some(50_849), "too soon after it");
        ages.time(at(51_000).0, at(60_000).1);
        assert_eq!(known(&ages, 51_000), Some(60_000));
        // A little ahead counts at once.
        ages.time(at(51_000).0, at(65_000).1);
        assert_eq!(known(&ages, 51_000), Some(65_000));
        // What is not ahead ends the leap of another answer.
        ages.time(at(52_000).0, at(90_000).1);
        ages.time(at(52_500).0, at(60_000).1);
        ages.time(at(53_500).0, at(91_500).1);
        assert_eq!(known(&ages, 53_500), Some(67_497));
    }
}
