//! Data ages from true times: the age of the last data of each kind that the daemon received, and a lower bound of the
//! exchange's clock that it could know.
//!
//! The daemon computes these from its own clock and the times in answers. Whatever its result, it may not act on data
//! that are older than this, nor as if more time had passed.

use std::collections::BTreeMap;

use cambist_core::config::PollConfig;
use cambist_core::request::Endpoint;
use cambist_core::{MarketId, Time, VenueTime};

/// Bound on clock drift over the largest allowed age.
const DRIFT_MS: u64 = 20;

/// Data received by one start of the daemon, in true times.
#[derive(Debug, Default)]
pub(crate) struct DataAge {
    /// When the newest answer was generated, by endpoint.
    drawn: BTreeMap<Endpoint, VenueTime>,
    /// When the last accepted depth was generated, by market, and its mid in half ticks.
    depths: BTreeMap<MarketId, (VenueTime, Option<u64>)>,
    /// A true time of the exchange in an answer, and the daemon's clock then.
    lower_bound: Option<(VenueTime, Time)>,
}

impl DataAge {
    /// It received a time that the exchange's clock has passed.
    pub(crate) fn time(&mut self, shown: Time, lower_bound: VenueTime) {
        if self.passed(shown).is_none_or(|known| lower_bound > known) {
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
