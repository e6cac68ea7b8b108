//! A feed as a live source of market data, with arrival times and exchange times; invalid answers are left out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use cambist_core::Time;
use cambist_market_data::{Event, Grid, LiveRow, LiveSource, Report, Snapshot, Timestamp};

use super::error::{FeedError, FeedErrorKind};
use super::freshness::Freshness;
use super::poll::{Arrival, Arrivals, BookArrival};
use super::price_level::PriceLevel;
use super::run_time::{RunTime, wall};
use crate::telemetry::feeds::FeedSeries;

/// Step of the time while nothing arrives.
const STEP: Duration = Duration::from_millis(100);

/// So many new books in a row end a time of books that are too old.
const NEW_AFTER: u32 = 10;

/// A feed of one market.
pub struct LiveFeed {
    name: String,
    arrivals: Receiver<Arrival>,
    series: Option<FeedSeries>,
    stop: Arc<AtomicBool>,
    time: RunTime,
    /// Whether rows have times of the wall clock, as far as these rise, instead of those of the run.
    follows_wall: bool,
    grid: Grid,
    report: Report,
    snapshot: Snapshot,
    trade: Option<Event>,
    /// Local time of the last row, and when it was given.
    last: (Timestamp, Time),
    /// Whether a first book has arrived.
    begun: bool,
    freshness: Freshness,
    price_level: PriceLevel,
    /// A book that is older by its own time is left out.
    age_max_ms: u64,
    /// Whether that was logged, and how many books in a row were new since.
    stale: Option<u32>,
}

impl LiveFeed {
    /// Receives a market's arrivals until `stop`, and leaves out books that are older than `age_max_ms` by their own
    /// times. Rows have times of the run, whatever the wall clock does.
    pub fn new(
        name: &str,
        grid: Grid,
        arrivals: Arrivals,
        stop: Arc<AtomicBool>,
        (time, age_max_ms): (RunTime, u64),
    ) -> Self {
        Self {
            name: name.to_owned(),
            arrivals: arrivals.received,
            series: arrivals.series,
            stop,
            time,
            follows_wall: false,
            grid,
            report: Report::default(),
            snapshot: Snapshot::default(),
            trade: None,
            last: (Timestamp(0), Time(0)),
            begun: false,
            freshness: Freshness::default(),
            price_level: PriceLevel::default(),
            age_max_ms,
            stale: None,
        }
    }

    /// Rows have times of the wall clock: those of a recording, which may go on for longer than a clock that was wrong
    /// at its beginning stays wrong. Times still rise when it is set back.
    #[must_use]
    pub const fn following_the_wall_clock(mut self) -> Self {
        self.follows_wall = true;
        self
    }

    /// Applies an arrival to the snapshot; false if it is left out.
    fn take(&mut self, arrival: BookArrival) -> bool {
        self.report.rows += 1;
        let (times, sent) = ((arrival.received, arrival.arrived), arrival.sent);
        let judged = arrival.book.and_then(|book| {
            let behind_us = self.freshness.judge(&self.name, &book, times)?;
            self.check_age(behind_us)?;
            self.price_level.judge(&self.name, &book)?;
            Ok((book, behind_us))
        });
        match judged {
            Ok((book, behind_us)) => {
                // It is as old as its request at least, whatever the clocks show.
                let asked_us = times.0.micros_since(sent);
                let age_nanos = i64::try_from(behind_us.max(asked_us).saturating_mul(1_000));
                let arrived = if self.follows_wall {
                    arrival.arrived
                } else {
                    self.time.at(arrival.received)
                };
                let arrived = self.later(arrived);
                let observed_at =
                    arrived.plus_nanos(age_nanos.unwrap_or(i64::MAX).saturating_neg());
                self.snapshot.exchange_time = observed_at.max(self.snapshot.exchange_time);
                self.snapshot.local_time = arrived;
                self.snapshot.sequence = book.sequence.unwrap_or(0);
                self.snapshot.bids = book.bids;
                self.snapshot.asks = book.asks;
                self.report.keep(arrived);
                if let Some(series) = &self.series {
                    series.book(arrival.arrived);
                }
                true
            }
            Err(FeedError { kind, what }) => {
                if let Some(series) = &self.series {
                    series.error(kind);
                }
                let name = &self.name;
                self.report
                    .skip(kind.defect(), || format!("{name}: {what}"));
                false
            }
        }
    }

    /// Refuses a book that is too old by its own time.
    fn check_age(&mut self, behind_us: u64) -> Result<(), FeedError> {
        let age_ms = behind_us / 1_000;
        if age_ms <= self.age_max_ms {
            // Of several servers one may lag: it is logged once.
            self.stale = self.stale.map(|new| new + 1).filter(|new| *new < NEW_AFTER);
            return Ok(());
        }
        if self.stale.replace(0).is_none() {
            let (market, age_max_ms) = (&self.name, self.age_max_ms);
            tracing::warn!(
                market,
                age_ms,
                age_max_ms,
                "the books of the feed are too old by their own times, and are left out: it lags, repeats a book, or its clock was set back, which a restart accepts"
            );
        }
        let what = format!("{age_ms} ms old by its own time");
        Err(FeedError::new(FeedErrorKind::Stale, what))
    }

    /// A time after the last one. Times go on from there at the speed of the monotonic clock when the wall clock was set
    /// back: without that books would have one time until it has caught up, and none would be recorded.
    fn later(&mut self, time: Timestamp) -> Timestamp {
        let (last, at) = self.last;
        let now = self.time.clock().now();
        let time = if time > last {
            time
        } else {
            let passed = now.micros_since(at).saturating_mul(1_000);
            last.plus_nanos(i64::try_from(passed).unwrap_or(i64::MAX).max(1))
        };
        self.last = (time, now);
        time
    }
}

impl LiveSource for LiveFeed {
    fn next_row(&mut self) -> cambist_market_data::Result<Option<LiveRow<'_>>> {
        loop {
            if self.stop.load(Ordering::Acquire) {
                return Ok(None);
            }
            match self.arrivals.recv_timeout(STEP) {
                Ok(Arrival::Trade(mut trade)) => {
                    // Before the first book there is nothing that it could fill.
                    if !self.begun {
                        continue;
                    }
                    let arrived = self.later(trade.local_time);
                    (trade.exchange_time, trade.local_time) = (arrived, arrived);
                    self.trade = Some(trade);
                    return Ok(self.trade.as_ref().map(LiveRow::Trade));
                }
                Ok(Arrival::Reference(price, arrived)) => {
                    // Nothing is decided before the first book.
                    if !self.begun {
                        continue;
                    }
                    let time = self.later(arrived);
                    return Ok(Some(LiveRow::Reference(price, time)));
                }
                Ok(Arrival::Book(arrival)) => {
                    if self.take(arrival) {
                        self.begun = true;
                        return Ok(Some(LiveRow::Snapshot(&self.snapshot)));
                    }
                }
                // Nothing to report before the first book.
                Err(RecvTimeoutError::Timeout) if !self.begun => {}
                Err(RecvTimeoutError::Timeout) => {
                    let now = if self.follows_wall {
                        wall(self.time.clock())
                    } else {
                        self.time.now()
                    };
                    let now = self.later(now);
                    return Ok(Some(LiveRow::Idle(now)));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    fn grid(&self) -> Grid {
        self.grid
    }

    fn report(&self) -> &Report {
        &self.report
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
