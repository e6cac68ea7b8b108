//! Baselines of losses: the highest value of the hour, the first of the day, the first of all runs, the peak. Values
//! are integers in the meter's unit; how they are computed is not known here.
//!
//! They are absolute, and the store keeps them with the position ([`crate::books::Position`]): a run continues with the
//! values of the previous one, and fills and price changes in between, or before a kill, are part of the position.

use serde::{Deserialize, Serialize};

use crate::books::{DAY_MS, HOUR_MS, counts_at};
use crate::event::LossBaseline;
use crate::time::{Time, VenueTime};

use crate::engine::risk::sliding_window::Extremes;

/// A store before version 5 did not record when within a quarter of an hour the highest value was observed.
const QUARTER_MS: u64 = HOUR_MS / 4;

/// By limit: baselines, or losses measured from them, negative for a gain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ByLimit {
    pub(crate) hour: i128,
    pub(crate) day: i128,
    pub(crate) total: i128,
    pub(crate) drawdown: i128,
}

impl ByLimit {
    fn map(self, change: impl Fn(i128) -> i128) -> Self {
        Self {
            hour: change(self.hour),
            day: change(self.day),
            total: change(self.total),
            drawdown: change(self.drawdown),
        }
    }
}

/// Values that outlive the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// The day of venue time of `day_open`.
    pub(crate) day: u64,
    pub(crate) day_open: i128,
    /// The value that the loss since the start is measured from.
    pub(crate) total: i128,
    /// The highest value since.
    pub(crate) peak: i128,
}

/// The baselines of one market.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LossBaselines {
    /// Since the first measurement of all runs.
    kept: Option<Kept>,
    /// Losses of earlier runs in a store before version 5; until the first measurement.
    carried: Option<LossBaseline>,
    /// The last value of this run.
    worth: Option<i128>,
    last_hour: Extremes,
    /// High values of the last hour of earlier runs.
    earlier_hour: Vec<(VenueTime, i128)>,
    /// The highest value of the hour at the last measurement.
    high: i128,
}

impl LossBaselines {
    /// Continues with the values of earlier runs.
    pub(crate) fn resume(kept: Kept, before: Vec<(VenueTime, i128)>) -> Self {
        Self {
            kept: Some(kept),
            earlier_hour: before,
            ..Self::default()
        }
    }

    /// Continues from the losses of earlier runs.
    pub(crate) fn carry(lost: LossBaseline) -> Self {
        Self {
            carried: Some(lost),
            ..Self::default()
        }
    }

    /// The mid of the losses of earlier runs, if nothing else is known of them.
    pub(crate) fn carried(&self) -> Option<&LossBaseline> {
        self.carried.as_ref()
    }

    /// The values that outlive the run, if there was a measurement.
    pub(crate) const fn kept(&self) -> Option<Kept> {
        self.kept
    }

    /// Whether this run has measured.
    pub(crate) const fn has_measured(&self) -> bool {
        self.worth.is_some()
    }

    /// High values of the last hour, each higher than all later ones.
    pub(crate) fn hour(&self, (now, venue_now): (Time, VenueTime)) -> Vec<(VenueTime, i128)> {
        let this_run = self.last_hour.highs().map(|(begun, high)| {
            let seen = venue_now.minus_ms(now.ms_since(begun));
            (seen, high)
        });
        let before = self.earlier_hour.iter().copied();
        // Newest first: what a later value reached does not count.
        let (mut highs, mut highest) = (Vec::new(), None);
        for (seen, high) in before.chain(this_run).rev() {
            if counts_at(seen, venue_now) && highest.is_none_or(|highest| high > highest) {
                highs.push((seen, high));
                highest = Some(high);
            }
        }
        highs.reverse();
        highs
    }

    /// Resets losses: the baselines become the last measured value.
    pub(crate) fn reset(&mut self) {
        self.carried = None;
        self.reset_hour();
        // Without a measurement there is nothing to compare with before the next one.
        self.kept = self.kept.zip(self.worth).map(|(kept, worth)| Kept {
            day: kept.day,
            day_open: worth,
            total: worth,
            peak: worth,
        });
    }

    /// Resets the losses of the hour.
    pub(crate) fn reset_hour(&mut self) {
        self.last_hour.clear();
        self.earlier_hour.clear();
        self.high = self.worth.unwrap_or(self.high);
    }

    /// Shifts every baseline by an explained amount.
    pub(crate) fn explain(&mut self, moved: i128) {
        let shift = |at: &mut i128| *at = at.saturating_add(moved);
        if let Some(kept) = &mut self.kept {
            let values = [&mut kept.day_open, &mut kept.total, &mut kept.peak];
            values.into_iter().for_each(shift);
        }
        self.worth.iter_mut().for_each(shift);
        self.earlier_hour
            .iter_mut()
            .for_each(|(_, high)| shift(high));
        self.last_hour.shift(moved);
        shift(&mut self.high);
    }

    /// Adds a value. `then` is the value of the current holdings at the last mid of earlier runs, `unit` one quote
    /// unit.
    pub(crate) fn measure(
        &mut self,
        (now, venue_now): (Time, VenueTime),
        worth: i128,
        then: i128,
        unit: i128,
    ) {
        let today = venue_now.0 / DAY_MS;
        let mut kept = match (self.kept, self.carried.take()) {
            (Some(kept), _) => kept,
            (None, Some(lost)) => self.go_on(&lost, then, unit),
            (None, None) => Kept {
                day: today,
                day_open: worth,
                total: worth,
                peak: worth,
            },
        };
        if kept.day != today {
            // Price changes since the last run may have been of today.
            kept.day_open = if self.has_measured() {
                worth
            } else {
                then.max(worth)
            };
            kept.day = today;
        }
        kept.peak = kept.peak.max(worth);
        let (_, high) = self.last_hour.take(now, worth, HOUR_MS);
        self.earlier_hour
            .retain(|(seen, _)| counts_at(*seen, venue_now));
        let before = self.earlier_hour.iter().map(|(_, high)| *high);
        self.high = before.fold(high, i128::max);
        (self.kept, self.worth) = (Some(kept), Some(worth));
    }

    /// The baselines that follow from the losses of earlier runs.
    fn go_on(&mut self, lost: &LossBaseline, then: i128, unit: i128) -> Kept {
        let above = |lost: i128| then.saturating_add(lost.saturating_mul(unit));
        self.earlier_hour = vec![(lost.hour_at.plus_ms(QUARTER_MS), above(lost.hour))];
        Kept {
            day: lost.day,
            day_open: above(lost.today),
            total: above(lost.total),
            peak: above(lost.drawdown),
        }
    }

    /// Losses at the last measured value; all zero before the first one.
    pub(crate) fn lost(&self) -> ByLimit {
        let Some((kept, worth)) = self.kept.zip(self.worth) else {
            return ByLimit::default();
        };
        let marks = ByLimit {
            hour: self.high,
            day: kept.day_open,
            total: kept.total,
            drawdown: kept.peak,
        };
        marks.map(|at| at.saturating_sub(worth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value of this run is dated by the venue's clock when it was observed, however long the run already lasts.
    #[test]
    fn highs_of_the_hour_are_dated_when_they_were_observed() {
        let origin = VenueTime(1_700_000_000_000);
        let at = |minutes: u64| {
            let ms = minutes * 60_000;
            (Time::from_ms(ms), origin.plus_ms(ms))
        };
        let mut baselines = LossBaselines {
            earlier_hour: vec![(origin.minus_ms(60_000), 200)],
            ..LossBaselines::default()
        };
        for (minute, worth) in [(0, 100), (10, 90), (20, 95), (30, 80)] {
            baselines.measure(at(minute), worth, worth, 1);
        }
        let mut highs = baselines.hour(at(40));
        let (seen, first) = highs.remove(0);
        assert_eq!((seen, first), (origin.minus_ms(60_000), 200));
        // The meter keeps them by intervals: each is dated within one of them.
        for ((seen, high), (minute, worth)) in highs.iter().zip([(0, 100), (20, 95), (30, 80)]) {
            let apart_ms = seen.0.abs_diff(at(minute).1.0);
            assert!(
                *high == worth && apart_ms <= 2 * 60_000,
                "{high} of {seen:?}"
            );
        }
        assert_eq!(highs.len(), 3, "{highs:?}");
        assert_eq!(baselines.hour(at(91)), [], "nothing of the last hour");
    }

    /// What was explained is neither a gain nor a loss, of any of the four.
    #[test]
    fn an_explained_amount_changes_no_loss() {
        let at = |minutes: u64| {
            let ms = minutes * 60_000;
            (Time::from_ms(ms), VenueTime(1_700_000_000_000 + ms))
        };
        let mut baselines = LossBaselines::default();
        for (minute, worth) in [(0, 100), (10, 130), (20, 90)] {
            baselines.measure(at(minute), worth, worth, 1);
        }
        let lost = baselines.lost();
        assert_eq!(
            [lost.hour, lost.day, lost.total, lost.drawdown],
            [40, 10, 10, 40]
        );
        for moved in [-25, 60] {
            baselines.explain(moved);
            assert_eq!(baselines.lost(), lost, "{moved}");
        }
        // The next measurement compares with what was shifted: 90 - 25 + 60.
        baselines.measure(at(21), 125, 125, 1);
        assert_eq!(baselines.lost(), lost);
    }

    /// Values of earlier runs count in the hour as well, until it is reset.
    #[test]
    fn a_reset_of_the_hour_forgets_earlier_runs() {
        let at = |ms| (Time::from_ms(ms), VenueTime(1_700_000_000_000 + ms));
        let mut baselines = LossBaselines {
            earlier_hour: vec![(VenueTime(1_700_000_000_000), 500)],
            ..LossBaselines::default()
        };
        baselines.measure(at(1_000), 100, 100, 1);
        assert_eq!(baselines.lost().hour, 400);
        baselines.reset_hour();
        assert_eq!(baselines.lost().hour, 0);
        baselines.measure(at(2_000), 90, 90, 1);
        assert_eq!(baselines.lost().hour, 0, "the hour begins with this");
        assert_eq!(
            baselines.hour(at(2_000)).first().map(|(_, high)| *high),
            Some(90)
        );
    }

    /// Each value of the hour is higher than all later ones: of equal ones the last counts for longest.
    #[test]
    fn of_equal_highs_of_the_hour_the_last_is_kept() {
        let origin = VenueTime(1_700_000_000_000);
        let mut baselines = LossBaselines {
            earlier_hour: vec![(origin.minus_ms(1_800_000), 200)],
            ..LossBaselines::default()
        };
        baselines.measure((Time(0), origin), 200, 200, 1);
        let highs = baselines.hour((Time(0), origin));
        assert_eq!(highs, [(origin, 200)]);
    }
}
