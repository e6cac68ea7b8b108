//! Snapshots that the caller makes or reads, with the checks that recorded files get.

use std::collections::VecDeque;

use crate::check::EventCheckResult;
use crate::defect::{Defect, Place, Result};
use crate::event::{Event, Update, Visibility};
use crate::grid::Grid;
use crate::report::{Inspector, Report};
use crate::segment::ReadOptions;
use crate::snapshot::Snapshot;
use crate::snapshot_check::SnapshotCheck;
use crate::source::{LiveRow, LiveSource, SnapshotSource};

/// Where supplied snapshots come from.
pub trait Supply {
    /// Fills the next snapshot in, and returns its row in the file, counted from 0; `None` at the end.
    fn next(&mut self, row: &mut Snapshot) -> std::result::Result<Option<u64>, Defect>;

    /// The file that is read now, for messages.
    fn file(&self) -> String;

    /// Files so far that end within a record.
    fn unfinished(&self) -> u64 {
        0
    }

    /// Trades that are known to have happened between the last two snapshots.
    fn take_trades(&mut self) -> Vec<Update> {
        Vec::new()
    }
}

/// Supplied snapshots, checked like those of files.
pub struct Supplied<S> {
    supply: S,
    grid: Grid,
    row: Snapshot,
    number: u64,
    check: SnapshotCheck,
    inspector: Inspector,
    ended: bool,
    /// Trades before the row, which is returned after them.
    trades: VecDeque<Update>,
    trade: Event,
    row_is_due: bool,
}

impl<S: Supply> Supplied<S> {
    /// Snapshots in ticks and lots of a grid, with the checks that the options select.
    pub fn new(supply: S, grid: Grid, options: ReadOptions) -> Self {
        Self {
            inspector: Inspector::new(supply.file(), options.tolerance),
            supply,
            grid,
            row: Snapshot::default(),
            number: 0,
            check: SnapshotCheck::new(options.max_gap_nanos, grid.tick, options.price_factor),
            ended: false,
            trades: VecDeque::new(),
            trade: Event::NONE,
            row_is_due: false,
        }
    }

    fn advance(&mut self) -> Result<bool> {
        loop {
            let next = self.supply.next(&mut self.row);
            self.inspector.file = self.supply.file();
            self.inspector.report.unfinished = self.supply.unfinished();
            match next {
                Ok(None) => return Ok(false),
                Ok(Some(number)) => self.number = number,
                Err(defect) => {
                    self.inspector.defect(Place::Row(self.number), defect)?;
                    // What can be skipped of a file that is damaged or cut off is its rest.
                    continue;
                }
            }
            self.inspector.report.rows += 1;
            let place = Place::Row(self.number);
            match self.check.check(&self.row) {
                EventCheckResult::Good => {}
                EventCheckResult::Keep(defect) => self.inspector.defect(place, defect)?,
                EventCheckResult::Drop(defect) => {
                    self.inspector.defect(place, defect)?;
                    continue;
                }
            }
            let time = self.row.exchange_time;
            self.inspector.report.snapshot(&self.row, time);
            return Ok(true);
        }
    }
}

impl<S: Supply> SnapshotSource for Supplied<S> {
    fn next_snapshot(&mut self) -> Result<Option<&Snapshot>> {
        if self.ended {
            return Ok(None);
        }
        match self.advance() {
            Ok(true) => Ok(Some(&self.row)),
            Ok(false) => {
                self.ended = true;
                Ok(None)
            }
            Err(error) => {
                self.ended = true;
                Err(error)
            }
        }
    }

    fn grid(&self) -> Grid {
        self.grid
    }

    fn report(&self) -> &Report {
        &self.inspector.report
    }
}

/// The same rows, and trades: each has the time of the snapshot that follows it.
impl<S: Supply> LiveSource for Supplied<S> {
    fn next_row(&mut self) -> Result<Option<LiveRow<'_>>> {
        if self.ended {
            return Ok(None);
        }
        if !self.row_is_due {
            match self.advance() {
                Ok(true) => {
                    self.row_is_due = true;
                    self.trades.extend(self.supply.take_trades());
                }
                Ok(false) => {
                    self.ended = true;
                    return Ok(None);
                }
                Err(error) => {
                    self.ended = true;
                    return Err(error);
                }
            }
        }
        if let Some(update) = self.trades.pop_front() {
            self.trade = Event {
                exchange_time: self.row.exchange_time,
                local_time: self.row.local_time,
                visibility: Visibility::Both,
                update,
            };
            return Ok(Some(LiveRow::Trade(&self.trade)));
        }
        self.row_is_due = false;
        Ok(Some(LiveRow::Snapshot(&self.row)))
    }

    fn grid(&self) -> Grid {
        self.grid
    }

    fn report(&self) -> &Report {
        &self.inspector.report
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use cambist_core::{Price, Qty};

    use super::*;
    use crate::grid::Step;
    use crate::report::Tolerance;
    use crate::snapshot::Level;
    use crate::time::Timestamp;

    /// 2024-08-08, in seconds.
    const BEGIN: i64 = 1_723_075_200;

    /// Best bid and best ask a second apart; `None` is a file that ends too early.
    struct Rows(Vec<Option<(u64, u64)>>, usize);

    impl Supply for Rows {
        fn next(&mut self, row: &mut Snapshot) -> std::result::Result<Option<u64>, Defect> {
            let Some(next) = self.0.get(self.1) else {
                return Ok(None);
            };
            self.1 += 1;
            let Some((bid, ask)) = *next else {
                let what = "half a row".to_owned();
                return Err(Defect::Truncated { what });
            };
            let level = |price| {
                vec![Level {
                    price: Price(price),
                    qty: Qty(1),
                }]
            };
            let number = self.1 as u64 - 1;
            let time = Timestamp((BEGIN + i64::try_from(number).unwrap()) * 1_000_000_000);
            (row.exchange_time, row.local_time) = (time, time);
            (row.bids, row.asks) = (level(bid), level(ask));
            Ok(Some(number))
        }

        fn file(&self) -> String {
            "rows".to_owned()
        }
    }

    fn read(rows: &[Option<(u64, u64)>], skip: &str) -> (usize, Option<String>, Report) {
        let step = Step::new(1, 2).unwrap();
        let grid = Grid {
            tick: step,
            lot: step,
        };
        let tolerance = Tolerance::parse(skip).unwrap();
        let rows = Rows(rows.to_vec(), 0);
        let mut source = Supplied::new(
            rows,
            grid,
            ReadOptions {
                tolerance,
                max_gap_nanos: 1_500_000_000,
                ..ReadOptions::default()
            },
        );
        let mut kept = 0;
        loop {
            match source.next_snapshot() {
                Ok(Some(_)) => kept += 1,
                Ok(None) => return (kept, None, SnapshotSource::report(&source).clone()),
                Err(error) => {
                    let error = error.to_string();
                    assert!(source.next_snapshot().unwrap().is_none());
                    return (kept, Some(error), SnapshotSource::report(&source).clone());
                }
            }
        }
    }

    #[test]
    fn defects_are_named_with_their_row_or_skipped_and_counted() {
        let rows = [
            Some((10, 11)),
            Some((12, 11)),
            Some((10, 12)),
            None,
            Some((10, 11)),
        ];
        let (kept, error, _) = read(&rows, "");
        let error = error.unwrap();
        assert_eq!(kept, 1);
        assert!(
            error.contains("rows: row 1:") && error.contains("crossed"),
            "{error}"
        );
        let (kept, error, _) = read(&rows, "crossed,gap");
        assert_eq!(kept, 2);
        assert!(error.unwrap().contains("ends too early"));
        let (kept, error, report) = read(&rows, "crossed,gap,truncated");
        assert_eq!((kept, error), (3, None));
        assert_eq!((report.rows, report.kept), (4, 3));
        assert_eq!(report.skipped.len(), 3, "{report:?}");
    }

    #[test]
    fn trades_come_before_the_snapshot_after_them() {
        struct Traded(Rows);
        impl Supply for Traded {
            fn next(&mut self, row: &mut Snapshot) -> std::result::Result<Option<u64>, Defect> {
                self.0.next(row)
            }
            fn file(&self) -> String {
                self.0.file()
            }
            fn take_trades(&mut self) -> Vec<Update> {
                let trade = Update::Trade {
                    aggressor: cambist_core::Side::Buy,
                    price: Price(11),
                    qty: Qty(self.0.1 as u64),
                };
                vec![trade; self.0.1 - 1]
            }
        }
        let step = Step::new(1, 2).unwrap();
        let grid = Grid {
            tick: step,
            lot: step,
        };
        let rows = Rows(vec![Some((10, 11)); 3], 0);
        let mut source = Supplied::new(Traded(rows), grid, ReadOptions::default());
        let mut seen = Vec::new();
        while let Some(row) = source.next_row().unwrap() {
            seen.push(match row {
                LiveRow::Snapshot(row) => ('S', row.local_time.0 / 1_000_000_000 - BEGIN),
                LiveRow::Trade(trade) => ('T', trade.local_time.0 / 1_000_000_000 - BEGIN),
                LiveRow::Reference(_, time) => ('R', time.0),
                LiveRow::Idle(time) => ('I', time.0),
            });
        }
        let expected = [('S', 0), ('T', 1), ('S', 1), ('T', 2), ('T', 2), ('S', 2)];
        assert_eq!(seen, expected);
        assert_eq!(LiveSource::report(&source).kept, 3);
    }
}
