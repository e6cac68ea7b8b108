//! What a backtest reads: events or snapshots, one after the other.

use crate::defect::Result;
use crate::event::Event;
use crate::grid::Grid;
use crate::report::Report;
use crate::snapshot::Snapshot;

/// A stream of events in order of their times (see [`crate::event::Visibility`]).
pub trait EventSource {
    /// The next event, valid until the next call; `None` at the end, and for ever after an end or an
    /// error.
    fn next_event(&mut self) -> Result<Option<&Event>>;

    /// Tick and lot of its prices and quantities.
    fn grid(&self) -> Grid;

    /// What was read and skipped so far.
    fn report(&self) -> &Report;
}

/// A stream of snapshots in order of their times.
pub trait SnapshotSource {
    /// The next snapshot, valid until the next call; `None` at the end, and for ever after an end or an
    /// error.
    fn next_snapshot(&mut self) -> Result<Option<&Snapshot>>;

    /// Tick and lot of its prices and quantities.
    fn grid(&self) -> Grid;

    /// What was read and skipped so far.
    fn report(&self) -> &Report;
}
