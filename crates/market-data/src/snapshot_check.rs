//! Checks between consecutive snapshots: times, versions, gaps, units, order of levels.

use cambist_core::Price;

use crate::check::{EARLIEST, EventCheckResult, crossed, gap, price_text, too_late, units_of_time};
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
    prices: PriceCheck,
}

impl SnapshotCheck {
    /// A longer time than `max_gap` without a row is a defect, and so is a jump of the prices by about `factor`.
    pub fn new(max_gap: i64, tick: Step, factor: Option<u32>) -> Self {
        Self {
            last: Snapshot::default(),
            any: false,
            max_gap,
            tick,
            prices: PriceCheck::new(tick, factor),
        }
    }

    pub fn check(&mut self, snapshot: &Snapshot) -> EventCheckResult {
        let (since, time) = (self.last.local_time, snapshot.local_time);
        let late = self.any && time.nanos_since(since) > self.max_gap;
        let mut defect = self.defect(snapshot);
        if late && defect.is_none() {
            defect = too_late("local", since, time);
        }
        if let Some(defect) = defect.or_else(|| self.prices.check(snapshot, late)) {
            return EventCheckResult::Drop(defect);
        }
        self.last.copy_from(snapshot);
        self.any = true;
        if late {
            EventCheckResult::Keep(gap(since, time, self.max_gap))
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
        None
    }
}

/// The best prices of the last good snapshots. Rows without levels of a side leave its price as it was, so that they
/// do not hide a jump.
#[derive(Clone, Debug)]
pub(crate) struct PriceCheck {
    tick: Step,
    /// The factor from which on a jump is implausible; `None` if only powers of ten are.
    factor: Option<u32>,
    /// By side, bids first; `None` as long as no row had one.
    known: [Option<Price>; 2],
}

impl PriceCheck {
    pub const fn new(tick: Step, factor: Option<u32>) -> Self {
        Self {
            tick,
            factor,
            known: [None, None],
        }
    }

    /// The next snapshot is compared with nothing.
    pub const fn forget(&mut self) {
        self.known = [None, None];
    }

    /// Compares the best prices with the last known ones, and keeps them if they have no defect. Behind a gap a price
    /// may be any, and only a power of ten is one.
    #[inline]
    pub fn check(&mut self, snapshot: &Snapshot, is_behind_gap: bool) -> Option<Defect> {
        let best = [&snapshot.bids, &snapshot.asks].map(|side| Some(side.first()?.price));
        // Most prices hardly move, and need no division.
        let is_near = best.iter().zip(self.known).all(|pair| match pair {
            (Some(price), Some(known)) => price.0.abs_diff(known.0) < known.0 / 4,
            (Some(_), None) => false,
            (None, _) => true,
        });
        if !is_near && let Some(defect) = self.defect(best, is_behind_gap) {
            return Some(defect);
        }
        for (known, price) in self.known.iter_mut().zip(best) {
            *known = price.or(*known);
        }
        None
    }

    #[cold]
    fn defect(&self, best: [Option<Price>; 2], is_behind_gap: bool) -> Option<Defect> {
        let [bid, ask] = self.known;
        let known = [bid.or(ask), ask.or(bid)];
        let mixed = |at: usize, what| units_of_price(best[at]?, known[at]?, what);
        let mixed = mixed(0, "the bid price").or_else(|| mixed(1, "the ask price"));
        if mixed.is_some() || is_behind_gap {
            return mixed;
        }
        let factor = self.factor?;
        // Every side that is there: one side alone may be thin.
        let all_are = |far: fn(Price, Price, u32) -> bool| {
            let mut pairs = best
                .into_iter()
                .zip(known)
                .filter_map(|(price, known)| price.zip(known))
                .peekable();
            pairs.peek().is_some() && pairs.all(|(price, known)| far(price, known, factor))
        };
        let is_far =
            all_are(is_times) || all_are(|price, known, factor| is_times(known, price, factor));
        is_far.then(|| Defect::PriceJump {
            book: self.book_text(best),
            before: self.book_text(self.known),
            factor,
        })
    }

    /// Best prices as the file has them.
    fn book_text(&self, [bid, ask]: [Option<Price>; 2]) -> String {
        let text = |price| price_text(self.tick, price);
        match (bid, ask) {
            (Some(bid), Some(ask)) => format!("{} bid and {} ask", text(bid), text(ask)),
            (Some(bid), None) => format!("{} bid", text(bid)),
            (None, Some(ask)) => format!("{} ask", text(ask)),
            (None, None) => "nothing".to_owned(),
        }
    }
}

/// Whether a price is at least about a factor, within 5 %, times another one.
fn is_times(price: Price, other: Price, factor: u32) -> bool {
    u128::from(price.0) * 20 >= u128::from(other.0) * u128::from(factor) * 19
}

/// A jump of a side's best price by a power of ten.
fn units_of_price(price: Price, previous: Price, what: &'static str) -> Option<Defect> {
    power_of_ten(price, previous).map(|factor| Defect::MixedUnits {
        what,
        factor: factor.to_string(),
    })
}

/// The power of ten, other than one, that a price is within 5 % of as a multiple of another: probably it is in another
/// unit.
pub fn power_of_ten(price: Price, other: Price) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a ratio within 5 %")]
    let ratio = price.0 as f64 / other.0 as f64;
    let power = ratio.log10().round();
    let near = power.abs() >= 1.0 && (ratio / 10_f64.powf(power) - 1.0).abs() < 0.05;
    near.then(|| 10_f64.powf(power))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use cambist_core::Qty;

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
        let mut check = SnapshotCheck::new(60 * SECOND, Step::new(1, 2).unwrap(), Some(2));
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
        let mut check = SnapshotCheck::new(60 * SECOND, Step::new(1, 2).unwrap(), Some(2));
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
        let months = 92 * 86_400;
        assert_eq!(
            see(&snapshot(62 + months, 7_000)),
            Some((DefectKind::BadValue, false)),
            "more than three months later is no gap, and its prices are compared with nothing"
        );
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

    /// A snapshot of these best prices, without levels of the sides that have none.
    fn book(second: i64, bid: Option<u64>, ask: Option<u64>) -> Snapshot {
        let level = |price| Level {
            price: Price(price),
            qty: Qty(1),
        };
        Snapshot {
            bids: bid.map(level).into_iter().collect(),
            asks: ask.map(level).into_iter().collect(),
            ..snapshot(second, 1_000)
        }
    }

    #[test]
    fn rows_without_a_side_hide_no_jump() {
        let units = Some((DefectKind::MixedUnits, false));
        let mut check = SnapshotCheck::new(600 * SECOND, Step::new(1, 2).unwrap(), None);
        let mut see = |s: &Snapshot| kind(&check.check(s));
        assert_eq!(see(&book(0, Some(1_000), Some(1_001))), None);
        assert_eq!(see(&book(1, None, None)), None);
        assert_eq!(see(&book(2, Some(10_000), Some(10_010))), units);
        assert_eq!(see(&book(3, None, Some(1_002))), None);
        assert_eq!(see(&book(4, Some(10_000), None)), units, "its own last bid");
        assert_eq!(see(&book(5, Some(1_001), None)), None);
        let mut one = SnapshotCheck::new(600 * SECOND, Step::new(1, 2).unwrap(), None);
        let mut see = |s: &Snapshot| kind(&one.check(s));
        assert_eq!(see(&book(0, Some(1_000), None)), None);
        assert_eq!(see(&book(1, None, Some(10_010))), units, "the other side");
        assert_eq!(see(&book(2, None, Some(1_001))), None);
    }

    #[test]
    fn a_jump_of_every_side_by_the_factor_is_implausible() {
        let step = Step::new(1, 2).unwrap();
        let far = Some((DefectKind::ImplausiblePrice, false));
        for (factor, bid, ask, expected) in [
            (Some(2), Some(1_900), Some(1_902), far),
            (Some(2), Some(1_899), Some(1_902), None),
            (Some(2), Some(1_900), Some(1_901), None),
            (Some(2), Some(526), Some(526), far),
            (Some(2), Some(527), Some(528), None),
            (Some(2), Some(2_000), None, far),
            (Some(2), None, Some(500), far),
            (Some(2), Some(400), Some(3_000), None),
            (Some(2), Some(999), Some(3_000), None),
            (Some(20), Some(19_000), Some(19_019), far),
            (Some(20), Some(18_999), Some(19_019), None),
            (None, Some(3_000), Some(3_003), None),
            (Some(2), Some(u64::MAX - 1), Some(u64::MAX), far),
        ] {
            let mut check = SnapshotCheck::new(60 * SECOND, step, factor);
            assert_eq!(kind(&check.check(&book(0, Some(1_000), Some(1_001)))), None);
            let bid = bid.map(|bid| bid.min(ask.map_or(u64::MAX, |ask| ask - 1)));
            let found = kind(&check.check(&book(1, bid, ask)));
            assert_eq!(found, expected, "{factor:?} {bid:?} {ask:?}");
            // What was left out is not compared with.
            let next = kind(&check.check(&book(2, Some(1_001), Some(1_002))));
            if expected.is_some() {
                assert_eq!(next, None, "{factor:?} {bid:?} {ask:?}");
            }
        }
        // Behind a gap the price may be another one.
        let mut check = SnapshotCheck::new(60 * SECOND, step, Some(2));
        assert_eq!(kind(&check.check(&book(0, Some(1_000), Some(1_001)))), None);
        let behind = kind(&check.check(&book(61, Some(3_000), Some(3_001))));
        assert_eq!(behind, Some((DefectKind::Gap, true)));
        let EventCheckResult::Drop(defect) = check.check(&book(62, Some(9_000), Some(9_003)))
        else {
            panic!("it is accepted");
        };
        assert_eq!(
            defect.to_string(),
            "a book of 90 bid and 90.03 ask is implausible after one of 30 bid and 30.01 ask: every price is about 2 times as high or as low, or further away"
        );
    }
}
