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
    /// When the last accepted depth was generated, by market.
    depths: BTreeMap<MarketId, VenueTime>,
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
    pub(crate) fn depth(&mut self, market: MarketId, drawn: VenueTime) {
        self.depths.insert(market, drawn);
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
                self.depths.get(&market).copied(),
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
