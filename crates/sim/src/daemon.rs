//! The daemon of a world: the engine, its clock, and what its shell remembers. A crash drops it whole.

use std::collections::{BTreeMap, BTreeSet};

use cambist_core::event::TradingState;
use cambist_core::notification::BooksHold;
use cambist_core::order::UnsignedOrder;
use cambist_core::pool::UnsignedPoolTransaction;
use cambist_core::request::RequestId;
use cambist_core::{ClientOrderId, Engine, Hash, Time};

use crate::world::SnapshotReplica;

/// A running daemon.
pub(crate) struct Daemon {
    pub(crate) engine: Engine,
    /// Which start this is.
    pub(crate) incarnation: u32,
    /// Requests without an answer.
    pub(crate) waiting: BTreeSet<RequestId>,
    /// Orders whose bytes are in hand.
    pub(crate) sealed: BTreeMap<ClientOrderId, (UnsignedOrder, Hash)>,
    /// Joins and exits whose bytes are in hand.
    pub(crate) moves: BTreeMap<ClientOrderId, (UnsignedPoolTransaction, Hash)>,
    /// The wake that is planned.
    pub(crate) wake: Option<Time>,
    pub(crate) clock: Monotonic,
    /// The level that it last told.
    pub(crate) level: TradingState,
    /// A second engine that is told the same, now and then.
    pub(crate) twin: Option<SnapshotReplica>,
    /// Nothing it writes reaches the disk any more.
    pub(crate) store_failed: bool,
    /// Why its books hold everything back.
    pub(crate) hold: Option<BooksHold>,
    /// By how much the books differ exactly is not known yet.
    pub(crate) at_least: bool,
}

/// The engine's clock: its own origin, a little fast or slow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Monotonic {
    born: Time,
    origin: Time,
    drift_ppm: i32,
}

impl Monotonic {
    pub(crate) const fn new(born: Time, origin: Time, drift_ppm: i32) -> Self {
        Self {
            born,
            origin,
            drift_ppm,
        }
    }

    /// The host sleeps for so long, and the clock with it.
    pub(crate) const fn sleep(&mut self, length_ms: u64) {
        self.born = self.born.plus_ms(length_ms);
    }

    /// What it shows at a time of the world.
    pub(crate) fn at(self, now: Time) -> Time {
        let passed = now.micros_since(self.born);
        let drift = i128::from(passed) * i128::from(self.drift_ppm) / 1_000_000;
        let shown = i128::from(self.origin.0) + i128::from(passed) + drift;
        Time(u64::try_from(shown).unwrap_or(0))
    }

    /// The first time of the world at which it shows at least `shown`.
    pub(crate) fn when(self, shown: Time) -> Time {
        let wanted = u128::from(shown.micros_since(self.origin));
        let rate = u128::try_from(1_000_000 + i64::from(self.drift_ppm)).unwrap_or(1);
        let passed = u64::try_from(wanted * 1_000_000 / rate).unwrap_or(u64::MAX);
        let mut at = Time(self.born.0.saturating_add(passed.saturating_sub(1)));
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
    fn a_clock_comes_back_to_the_first_moment_that_shows_a_time() {
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
