//! Snapshots that the caller makes or reads, with the checks that recorded files get.

use crate::check::EventCheckResult;
use crate::defect::{Defect, Place, Result};
use crate::grid::Grid;
use crate::report::{Inspector, Report, Tolerance};
use crate::snapshot::Snapshot;
use crate::snapshot_check::SnapshotCheck;
use crate::source::SnapshotSource;

/// Where supplied snapshots come from.
pub trait Supply {
    /// Fills the next snapshot in, and returns its row in the file, counted from 0; `None` at the end.
    fn next(&mut self, row: &mut Snapshot) -> std::result::Result<Option<u64>, Defect>;

    /// The file that is read now, for messages.
    fn file(&self) -> String;
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
}

impl<S: Supply> Supplied<S> {
    /// Snapshots in ticks and lots of a grid. `tolerance` selects which defects are skipped; a longer time than
    /// `max_gap_nanos` without a row is one.
    pub fn new(supply: S, grid: Grid, tolerance: Tolerance, max_gap_nanos: i64) -> Self {
        Self {
            inspector: Inspector::new(supply.file(), tolerance),
            supply,
            grid,
            row: Snapshot::default(),
            number: 0,
            check: SnapshotCheck::new(max_gap_nanos),
            ended: false,
        }
    }

    fn advance(&mut self) -> Result<bool> {
        loop {
            let next = self.supply.next(&mut self.row);
            self.inspector.file = self.supply.file();
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
            self.inspector.report.keep(self.row.exchange_time);
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use cambist_core::{Price, Qty};

    use super::*;
    use crate::grid::Step;
    use crate::snapshot::Level;
    use crate::time::Timestamp;

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
            let time = Timestamp(i64::try_from(number).unwrap() * 1_000_000_000);
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
        let mut source = Supplied::new(rows, grid, tolerance, 1_500_000_000);
        let mut kept = 0;
        loop {
            match source.next_snapshot() {
                Ok(Some(_)) => kept += 1,
                Ok(None) => return (kept, None, source.report().clone()),
                Err(error) => {
                    let error = error.to_string();
                    assert!(source.next_snapshot().unwrap().is_none());
                    return (kept, Some(error), source.report().clone());
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
}
