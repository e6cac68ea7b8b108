//! What the value of a market is compared with: the highest of the hour, the first of the day, the first
//! of all runs, the peak. Values are integers of the meter's unit; it does not know how they came about.
//!
//! A run begins where the one before stood: what is held is compared with what it was worth at the last
//! mid that was stored, so that what the price did meanwhile is lost as if somebody had looked on.

use serde::{Deserialize, Serialize};

use crate::event::Lost;
use crate::time::{Time, VenueTime};

use super::window::Extremes;

const HOUR_MS: u64 = 3_600_000;
/// What is stored of the hour is no older than this.
pub(crate) const QUARTER_MS: u64 = HOUR_MS / 4;
const DAY_MS: u64 = 86_400_000;

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

/// The marks of one market.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Marks {
    /// What earlier runs lost.
    carried: Lost,
    /// Since the first look: the day of venue time, the marks, and the last value.
    known: Option<(u64, ByLimit, i128)>,
    lately: Extremes,
    /// The highest value of earlier runs' last hour, and until when it counts.
    before: Option<(VenueTime, i128)>,
}

impl Marks {
    /// Goes on from what earlier runs lost.
    pub(crate) fn carry(&mut self, lost: Lost) {
        self.carried = lost;
    }

    /// What earlier runs lost, and the mid at which they did.
    pub(crate) fn carried(&self) -> &Lost {
        &self.carried
    }

    /// Forgets what was lost: what is held is worth what the last look said.
    pub(crate) fn begin_anew(&mut self) {
        self.carried = Lost::default();
        self.forget_hour();
        if let Some((_, marks, worth)) = &mut self.known {
            *marks = marks.map(|_| *worth);
        }
    }

    /// Forgets what was lost within the hour.
    pub(crate) fn forget_hour(&mut self) {
        self.lately.clear();
        self.before = None;
        if let Some((_, marks, worth)) = &mut self.known {
            marks.hour = *worth;
        }
    }

    /// Moves every mark by what is explained. Before the first look there is none.
    pub(crate) fn explain(&mut self, moved: i128) {
        let shift = |at: i128| at.saturating_add(moved);
        if let Some((_, marks, worth)) = &mut self.known {
            (*marks, *worth) = (marks.map(shift), shift(*worth));
        }
        if let Some((_, high)) = &mut self.before {
            *high = shift(*high);
        }
        self.lately.shift(moved);
    }

    /// Takes in a value. `then` is what is held at the last mid of earlier runs, and `unit` one quote
    /// unit.
    pub(crate) fn look(
        &mut self,
        (now, venue_now): (Time, VenueTime),
        worth: i128,
        then: i128,
        unit: i128,
    ) {
        let today = venue_now.0 / DAY_MS;
        let (day, mut marks, _) = match self.known {
            Some(known) => known,
            None => (today, self.go_on(venue_now, worth, then, unit), worth),
        };
        if day != today {
            marks.day = worth;
        }
        marks.drawdown = marks.drawdown.max(worth);
        let (_, high) = self.lately.take(now, worth, HOUR_MS);
        self.before = self.before.filter(|(until, _)| venue_now < *until);
        marks.hour = self.before.map_or(high, |(_, before)| before.max(high));
        self.known = Some((today, marks, worth));
    }

    /// The marks of a run's first look.
    fn go_on(&mut self, venue_now: VenueTime, worth: i128, then: i128, unit: i128) -> ByLimit {
        let above = |lost: i128| then.saturating_add(lost.saturating_mul(unit));
        let Lost {
            day,
            today,
            total,
            drawdown,
            hour,
            hour_at,
            mid: _,
        } = self.carried;
        // Its highest value may have come so much later.
        let until = hour_at.plus_ms(HOUR_MS + QUARTER_MS);
        self.before = (venue_now < until).then(|| (until, above(hour)));
        let same_day = day == venue_now.0 / DAY_MS;
        ByLimit {
            hour: worth,
            // On another day the price may have moved since its beginning.
            day: if same_day {
                above(today)
            } else {
                then.max(worth)
            },
            total: above(total),
            drawdown: above(drawdown),
        }
    }

    /// The day of the last look, and what is lost at a value; nothing before the first look.
    pub(crate) fn lost_at(&self, worth: i128) -> Option<(u64, ByLimit)> {
        let (day, marks, _) = self.known?;
        Some((day, marks.map(|at| at.saturating_sub(worth))))
    }

    /// What is lost at the value last looked at.
    pub(crate) fn lost(&self) -> ByLimit {
        let lost =
            |(_, marks, worth): (u64, ByLimit, i128)| marks.map(|at| at.saturating_sub(worth));
        self.known.map(lost).unwrap_or_default()
    }
}
