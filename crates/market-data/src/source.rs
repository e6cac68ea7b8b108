//! Sources of market data: events or snapshots for backtests, live snapshots for paper trading.

use cambist_core::reference::ReferenceReading;

use crate::defect::Result;
use crate::event::Event;
use crate::grid::Grid;
use crate::report::Report;
use crate::snapshot::Snapshot;
use crate::time::Timestamp;

/// A stream of events in order of their times (see [`crate::event::Visibility`]).
pub trait EventSource {
    /// The next event, valid until the next call; `None` at the end and in all calls after the end or an error.
    fn next_event(&mut self) -> Result<Option<&Event>>;

    /// Replaces events by the next ones, as many as there are without reading more than [`Self::next_event`] would for
    /// the first of them; by none at the end and in all calls after the end or an error.
    fn next_events(&mut self, events: &mut Vec<Event>) -> Result<()> {
        events.clear();
        events.extend(self.next_event()?);
        Ok(())
    }

    /// Tick and lot of its prices and quantities.
    fn grid(&self) -> Grid;

    /// Rows read and skipped so far.
    fn report(&self) -> &Report;
}

/// A stream of snapshots in order of their times.
pub trait SnapshotSource {
    /// The next snapshot, valid until the next call; `None` at the end and in all calls after the end or an error.
    fn next_snapshot(&mut self) -> Result<Option<&Snapshot>>;

    /// Tick and lot of its prices and quantities.
    fn grid(&self) -> Grid;

    /// Rows read and skipped so far.
    fn report(&self) -> &Report;
}

/// A row of a live source.
#[derive(Clone, Copy, Debug)]
pub enum LiveRow<'a> {
    /// A snapshot. Its local time is its arrival; its exchange time is not later.
    Snapshot(&'a Snapshot),
    /// A trade that became known, at its local time.
    Trade(&'a Event),
    /// A price of another place, at its arrival.
    Reference(ReferenceReading, Timestamp),
    /// Nothing has arrived until this time.
    Idle(Timestamp),
}

/// Snapshots as they arrive, in order of local time. Waits for the next one.
pub trait LiveSource {
    /// The next row, valid until the next call; `None` at the end.
    fn next_row(&mut self) -> Result<Option<LiveRow<'_>>>;

    /// Tick and lot of its prices and quantities.
    fn grid(&self) -> Grid;

    /// Rows that arrived and rows left out so far.
    fn report(&self) -> &Report;
}
