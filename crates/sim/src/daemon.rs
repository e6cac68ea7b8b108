//! The daemon of a world: the engine, its clock, and the state of its shell. A crash drops all of it.

use std::collections::BTreeMap;

use cambist_core::event::TradingState;
use cambist_core::notification::BooksHold;
use cambist_core::order::UnsignedOrder;
use cambist_core::pool::UnsignedPoolTransaction;
use cambist_core::portfolio::VenueEngine;
use cambist_core::request::RequestId;
use cambist_core::{ClientOrderId, Hash, Time};

use crate::world::SnapshotReplica;

/// A running daemon.
pub(crate) struct Daemon {
    pub(crate) engine: VenueEngine,
    /// Number of this start.
    pub(crate) incarnation: u32,
    /// Requests without an answer, and what each cost so far beyond its endpoint.
    pub(crate) waiting: BTreeMap<RequestId, u32>,
    /// Orders whose bytes are available.
    pub(crate) sealed: BTreeMap<ClientOrderId, (UnsignedOrder, Hash)>,
    /// Joins and exits whose bytes are available.
    pub(crate) moves: BTreeMap<ClientOrderId, (UnsignedPoolTransaction, Hash)>,
    /// The planned wake-up.
    pub(crate) wake: Option<Time>,
    pub(crate) clock: Monotonic,
    /// The last reported trading state.
    pub(crate) level: TradingState,
    /// A second engine that handles the same events, at intervals.
    pub(crate) replica: Option<SnapshotReplica>,
    /// Whether the store has failed: nothing more becomes durable.
    pub(crate) store_failed: bool,
    /// Why its books stop new orders.
    pub(crate) hold: Option<BooksHold>,
    /// Whether the exact differences of the books are not known yet.
    pub(crate) at_least: bool,
}

/// The engine's clock: its own origin, and a rate that is slightly off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Monotonic {
    started_at: Time,
    origin: Time,
    drift_ppm: i32,
}

impl Monotonic {
    pub(crate) const fn new(started_at: Time, origin: Time, drift_ppm: i32) -> Self {
        Self {
            started_at,
            origin,
            drift_ppm,
        }
    }

    /// The host is suspended for this long, and the clock stops.
    pub(crate) const fn sleep(&mut self, length_ms: u64) {
        self.started_at = self.started_at.plus_ms(length_ms);
    }

    /// Its value at a simulated time.
    pub(crate) fn at(self, now: Time) -> Time {
        let passed = now.micros_since(self.started_at);
        let drift = i128::from(passed) * i128::from(self.drift_ppm) / 1_000_000;
        let shown = i128::from(self.origin.0) + i128::from(passed) + drift;
        Time(u64::try_from(shown).unwrap_or(0))
    }

    /// The first simulated time at which its value is at least `shown`.
    pub(crate) fn when(self, shown: Time) -> Time {
        let wanted = u128::from(shown.micros_since(self.origin));
        let rate = u128::try_from(1_000_000 + i64::from(self.drift_ppm)).unwrap_or(1);
        let passed = u64::try_from(wanted * 1_000_000 / rate).unwrap_or(u64::MAX);
        let mut at = Time(self.started_at.0.saturating_add(passed.saturating_sub(1)));
        while self.at(at) < shown {
            at = Time(at.0 + 1);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_returns_the_first_moment_of_a_time() {
        for drift_ppm in [-200, 0, 50, 731] {
            let clock = Monotonic::new(Time(5_000), Time(77), drift_ppm);
            for shown in [77, 78, 1_000, 123_456_789, 3_600_000_000] {
                let at = clock.when(Time(shown));
                assert!(clock.at(at) >= Time(shown), "{drift_ppm} {shown}");
                assert!(
                    at == Time(5_000) || clock.at(Time(at.0 - 1)) < Time(shown),
                    "{drift_ppm} {shown}"
                );
            }
        }
    }
}
