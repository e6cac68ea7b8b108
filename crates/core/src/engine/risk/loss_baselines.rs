//! What the value of a market is compared with: the highest of the hour, the first of the day, the first
//! of all runs, the peak. Values are integers of the meter's unit; it does not know how they came about.
//!
//! They are absolute, and the store keeps them beside what is held ([`crate::books::Position`]): a run
//! goes on with the values of the one before, and what fills and the price did in between, or before a
//! kill, is in what is held by now.

use serde::{Deserialize, Serialize};

use crate::books::{DAY_MS, HOUR_MS, counts_at};
use crate::event::LossBaseline;
use crate::time::{Time, VenueTime};

use crate::engine::risk::sliding_window::Extremes;

/// A store before version 5 did not say when within a quarter of an hour the highest value was.
const QUARTER_MS: u64 = HOUR_MS / 4;

/// By limit: values to compare with, or what is lost against them, less than nothing where there is a
/// gain.
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
    /// The day of venue time that `day_open` is of.
    pub(crate) day: u64,
    pub(crate) day_open: i128,
    pub(crate) total: i128,
    pub(crate) peak: i128,
}

/// The marks of one market.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LossBaselines {
    /// Since the first look of all runs.
    kept: Option<Kept>,
    /// What earlier runs lost, as a store before version 5 has it: until the first look.
    carried: Option<LossBaseline>,
    /// The last value of this run.
    worth: Option<i128>,
    last_hour: Extremes,
    /// High values of earlier runs' last hour.
    earlier_hour: Vec<(VenueTime, i128)>,
    /// The highest of the hour at the last look.
    high: i128,
}

impl LossBaselines {
    /// Goes on with what earlier runs kept.
    pub(crate) fn resume(kept: Kept, before: Vec<(VenueTime, i128)>) -> Self {
        Self {
            kept: Some(kept),
            earlier_hour: before,
            ..Self::default()
        }
    }

    /// Goes on from what earlier runs lost.
    pub(crate) fn carry(lost: LossBaseline) -> Self {
        Self {
            carried: Some(lost),
            ..Self::default()
        }
    }

    /// The mid at which earlier runs lost what they did, if that is all that is known of them.
    pub(crate) fn carried(&self) -> Option<&LossBaseline> {
        self.carried.as_ref()
    }

    /// What outlives the run, if there was a look.
    pub(crate) const fn kept(&self) -> Option<Kept> {
        self.kept
    }

    /// Whether this run has looked.
    pub(crate) const fn has_looked(&self) -> bool {
        self.worth.is_some()
    }

    /// High values of the last hour, each higher than all after it.
    pub(crate) fn hour(&self, (now, venue_now): (Time, VenueTime)) -> Vec<(VenueTime, i128)> {
        let lately = self.last_hour.highs().map(|(begun, high)| {
            let seen = venue_now.minus_ms(now.ms_since(begun));
            (seen, high)
        });
        let before = self.earlier_hour.iter().copied();
        let mut highs: Vec<(VenueTime, i128)> = Vec::new();
        for (seen, high) in before.chain(lately) {
            if counts_at(seen, venue_now) {
                highs.retain(|(_, earlier)| *earlier > high);
                highs.push((seen, high));
            }
        }
        highs
    }

    /// Forgets what was lost: what is held is worth what the last look said.
    pub(crate) fn begin_anew(&mut self) {
        self.carried = None;
        self.forget_hour();
        // Without a look there is nothing to compare with before the next one.
        self.kept = self.kept.zip(self.worth).map(|(kept, worth)| Kept {
            day: kept.day,
            day_open: worth,
            total: worth,
            peak: worth,
        });
    }

    /// Forgets what was lost within the hour.
    pub(crate) fn forget_hour(&mut self) {
        self.last_hour.clear();
        self.earlier_hour.clear();
        self.high = self.worth.unwrap_or(self.high);
    }

    /// Moves every mark by what is explained.
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

    /// Takes in a value. `then` is what is held now at the last mid of earlier runs, and `unit` one quote
    /// unit.
    pub(crate) fn look(
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
            // What the price did since the last run may have been today's.
            kept.day_open = if self.has_looked() {
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

    /// The marks that follow from what earlier runs lost.
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

    /// What is lost at the value last looked at; nothing before the first look.
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
