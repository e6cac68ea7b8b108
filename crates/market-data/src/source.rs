//! What a backtest reads: events or snapshots, one after the other; and what paper trading reads while it
//! happens.

use crate::defect::Result;
use crate::event::Event;
use crate::grid::Grid;
use crate::report::Report;
use crate::snapshot::Snapshot;
use crate::time::Timestamp;

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

/// What a live source has next.
#[derive(Clone, Copy, Debug)]
pub enum LiveRow<'a> {
    /// A snapshot. Its local time is when it arrived; its exchange time, which is no later, when it was so.
    Snapshot(&'a Snapshot),
    /// Nothing has arrived until this time.
    Idle(Timestamp),
}

/// Snapshots as they arrive, in order of their local times. It waits for the next one.
pub trait LiveSource {
    /// The next row, valid until the next call; `None` at the end.
    fn next_row(&mut self) -> Result<Option<LiveRow<'_>>>;

    /// Tick and lot of its prices and quantities.
    fn grid(&self) -> Grid;

    /// What arrived and was left out so far.
    fn report(&self) -> &Report;
}
