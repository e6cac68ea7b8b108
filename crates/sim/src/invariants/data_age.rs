//! What the daemon can know of the exchange at best, kept beside it from true times: how old each thing is
//! that it was told last, and a time that the exchange's clock had certainly passed.
//!
//! The daemon reckons all this from its own clock and the times in answers; whatever it believes, it may
//! not act on things that are older than this says, nor as if less time had passed.

use std::collections::BTreeMap;

use cambist_core::config::PollConfig;
use cambist_core::request::Endpoint;
use cambist_core::{MarketId, Time, VenueTime};

/// Clocks drift by less than this in the time that anything may be old.
const DRIFT_MS: u64 = 20;

/// What one incarnation was told, in true times.
#[derive(Debug, Default)]
pub(crate) struct DataAge {
    /// When the newest answer was drawn up, by endpoint.
    drawn: BTreeMap<Endpoint, VenueTime>,
    /// When the depth that was accepted last was drawn up, by market.
    depths: BTreeMap<MarketId, VenueTime>,
    /// A true time of the exchange that it was told, and what its own clock showed then.
    told: Option<(VenueTime, Time)>,
}

impl DataAge {
    /// It was told a time that the exchange's clock has passed.
    pub(crate) fn time(&mut self, shown: Time, told: VenueTime) {
        if self.passed(shown).is_none_or(|known| told > known) {
            self.told = Some((told, shown));
        }
    }

    /// It got an answer that was drawn up then.
    pub(crate) fn answer(&mut self, endpoint: Endpoint, drawn: VenueTime) {
        let known = self.drawn.entry(endpoint).or_default();
        *known = (*known).max(drawn);
    }

    /// It accepted a depth.
    pub(crate) fn depth(&mut self, market: MarketId, drawn: VenueTime) {
        self.depths.insert(market, drawn);
    }

    /// What the exchange's clock had passed for all it was told, carried by its own clock less a part in
    /// a thousand for drift.
    pub(crate) fn passed(&self, shown: Time) -> Option<VenueTime> {
        let (told, then) = self.told?;
        let carried = shown.ms_since(then);
        Some(told.plus_ms(carried - carried.div_ceil(1_000)))
    }

    /// What an order at a market stands on that is too old for it, and its age by all that it was told.
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
