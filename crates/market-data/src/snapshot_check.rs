//! Checks between consecutive snapshots: times, versions, gaps, units, order of levels.

use cambist_core::Side;

use crate::check::{EARLIEST, EventCheckResult, crossed, gap, units_of_time};
use crate::defect::Defect;
use crate::grid::Step;
use crate::snapshot::Snapshot;

/// Checks snapshots: order of both times and of versions, consistent units, order of levels.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotCheck {
    last: Snapshot,
    any: bool,
    max_gap: i64,
    tick: Step,
}

impl SnapshotCheck {
    pub fn new(max_gap: i64, tick: Step) -> Self {
        Self {
            last: Snapshot::default(),
            any: false,
            max_gap,
            tick,
        }
    }

    pub fn check(&mut self, snapshot: &Snapshot) -> EventCheckResult {
        if let Some(defect) = self.defect(snapshot) {
            return EventCheckResult::Drop(defect);
        }
        let since = self.last.local_time;
        let late = self.any && snapshot.local_time.nanos_since(since) > self.max_gap;
        self.last.copy_from(snapshot);
        self.any = true;
        if late {
            EventCheckResult::Keep(gap(since, snapshot.local_time, self.max_gap))
        } else {
            EventCheckResult::Good
        }
    }

    fn defect(&self, snapshot: &Snapshot) -> Option<Defect> {
        if let Some((side, at)) = snapshot.disorder() {
            let level = at + 1;
            return Some(Defect::Unsorted { side, level });
        }
        if let Some((bid, ask)) = snapshot.crossing() {
            return Some(crossed(self.tick, bid, ask));
        }
        let (exchange, local) = (snapshot.exchange_time, snapshot.local_time);
        if !self.any {
            for (clock, time) in [("exchange", exchange), ("local", local)] {
                if time < EARLIEST {
                    let of_nanos = false;
                    return Some(Defect::TooEarly {
                        clock,
                        time,
                        of_nanos,
                    });
                }
            }
        }
        if local < exchange {
            return Some(Defect::NegativeLatency { exchange, local });
        }
        if !self.any {
            return None;
        }
        let last = &self.last;
        for (clock, time, previous) in [
            ("exchange", exchange, last.exchange_time),
            ("local", local, last.local_time),
        ] {
            if let Some(defect) = units_of_time(time, previous) {
                return Some(defect);
            }
            if time < previous {
                return Some(Defect::BackwardTime {
                    clock,
                    time,
                    previous,
                });
            }
        }
        if snapshot.sequence < last.sequence {
            return Some(Defect::BackwardSequence {
                sequence: snapshot.sequence,
                previous: last.sequence,
            });
        }
        // Two books of one time are two states within it.
        if local == last.local_time && snapshot.bids == last.bids && snapshot.asks == last.asks {
            return Some(Defect::Duplicate { time: local });
        }
        units_of_price(snapshot, last)
    }
}

/// A jump of a side's best price by a power of ten: of one side, or of both and with them of the mid.
fn units_of_price(snapshot: &Snapshot, previous: &Snapshot) -> Option<Defect> {
    [Side::Buy, Side::Sell].into_iter().find_map(|side| {
        let best = |of: &Snapshot| of.side(side).first().map(|level| level.price.0);
        #[expect(clippy::cast_precision_loss, reason = "a ratio for display")]
        let ratio = best(snapshot)? as f64 / best(previous)? as f64;
        let power = ratio.log10().round();
        let near = power.abs() >= 1.0 && (ratio / 10_f64.powf(power) - 1.0).abs() < 0.05;
        near.then(|| Defect::MixedUnits {
            what: match side {
                Side::Buy => "the bid price",
                Side::Sell => "the ask price",
            },
            factor: 10_f64.powf(power).to_string(),
        })
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use cambist_core::{Price, Qty};

    use super::*;
    use crate::defect::DefectKind;
    use crate::snapshot::Level;
    use crate::time::Timestamp;

    const SECOND: i64 = 1_000_000_000;
    /// 2024-08-08, in seconds.
    const BEGIN: i64 = 1_723_161_256;

    fn snapshot(second: i64, bid: u64) -> Snapshot {
        let level = |price| Level {
            price: Price(price),
            qty: Qty(1),
        };
        Snapshot {
            exchange_time: Timestamp((BEGIN + second) * SECOND),
            local_time: Timestamp((BEGIN + second) * SECOND),
            sequence: 0,
            bids: vec![level(bid), level(bid - 2)],
            asks: vec![level(bid + 1)],
        }
    }

    fn kind(result: &EventCheckResult) -> Option<(DefectKind, bool)> {
        match result {
            EventCheckResult::Good => None,
            EventCheckResult::Keep(defect) => defect.kind().map(|kind| (kind, true)),
            EventCheckResult::Drop(defect) => defect.kind().map(|kind| (kind, false)),
        }
    }

    #[test]
    fn a_recording_in_the_wrong_unit_is_refused_at_its_first_row() {
        let mut first = snapshot(0, 1_000);
        first.exchange_time.0 /= 1_000;
        first.local_time.0 /= 1_000;
        let mut check = SnapshotCheck::new(60 * SECOND, Step::new(1, 2).unwrap());
        let EventCheckResult::Drop(defect) = check.check(&first) else {
            panic!("it is accepted");
        };
        let text = defect.to_string();
        assert!(
            text.contains("1000 times as long it is 2024-08-08T23:54:16Z"),
            "{text}"
        );
        assert_eq!(kind(&check.check(&snapshot(0, 1_000))), None);
    }

    #[test]
    fn snapshots_are_compared_with_the_last_good_one() {
        let mut check = SnapshotCheck::new(60 * SECOND, Step::new(1, 2).unwrap());
        let mut see = |s: &Snapshot| kind(&check.check(s));
        assert_eq!(see(&snapshot(0, 1_000)), None);
        assert_eq!(
            see(&snapshot(0, 1_000)),
            Some((DefectKind::Duplicate, false))
        );
        assert_eq!(see(&snapshot(60, 1_001)), None, "exactly the allowed gap");
        assert_eq!(
            see(&snapshot(59, 1_001)),
            Some((DefectKind::Backward, false))
        );
        assert_eq!(
            see(&snapshot(61, 10_010)),
            Some((DefectKind::MixedUnits, false))
        );
        assert_eq!(
            see(&snapshot(61, 101)),
            Some((DefectKind::MixedUnits, false))
        );
        // One side alone, above and below the bound of 5 % around a power of ten.
        let wide = |factor: u64| {
            let mut wide = snapshot(61, 1_001);
            for ask in &mut wide.asks {
                ask.price.0 = ask.price.0 * factor / 100;
            }
            wide
        };
        assert_eq!(see(&wide(1_000)), Some((DefectKind::MixedUnits, false)));
        assert_eq!(see(&wide(1_049)), Some((DefectKind::MixedUnits, false)));
        assert_eq!(see(&wide(1_051)), None, "a thin side is no unit");
        assert_eq!(see(&snapshot(61, 700)), None, "a crash is no unit");
        assert_eq!(see(&snapshot(122, 700)), Some((DefectKind::Gap, true)));
        let mut crossed = snapshot(123, 700);
        crossed.asks[0].price = Price(700);
        assert_eq!(see(&crossed), Some((DefectKind::Crossed, false)));
        let mut unsorted = snapshot(123, 700);
        unsorted.bids.swap(0, 1);
        assert_eq!(see(&unsorted), Some((DefectKind::Unsorted, false)));
        let mut milliseconds = snapshot(123, 700);
        milliseconds.exchange_time.0 /= 1_000;
        milliseconds.local_time.0 /= 1_000;
        assert_eq!(see(&milliseconds), Some((DefectKind::MixedUnits, false)));
        let mut early = snapshot(123, 700);
        early.local_time.0 -= 1;
        assert_eq!(see(&early), Some((DefectKind::NegativeLatency, false)));
        let mut numbered = snapshot(123, 700);
        numbered.sequence = 9;
        assert_eq!(see(&numbered), None);
        assert_eq!(
            see(&snapshot(124, 700)),
            Some((DefectKind::Backward, false))
        );
    }
}
