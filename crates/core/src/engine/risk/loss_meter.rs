//! Profit and loss of a market in integers: everything held and traded, at the mid.
//!
//! The unit of every value here is `1 / (2 · lot)` quote base units, in which base units times half ticks are whole
//! numbers: nothing is rounded. A base token is carried by the first market that trades it, so that its balance counts
//! once; trades of it at other markets count there. Shares of the pool beside a market are valued at the amounts of
//! both tokens that they are due, rounded down: a join or an exit costs its fee and its slippage, and nothing else.

use serde::{Deserialize, Serialize};

use crate::books::{Baselines, DAY_MS, Position, value_at};
use crate::config::LossConfig;
use crate::control::Control;
use crate::event::{LossBaseline, Rate};
use crate::market::{MarketSpec, Side};
use crate::postings::Postings;
use crate::time::{Time, VenueTime};
use crate::token::{Amount, TokenId};

use crate::engine::intents::registry::Increment;
use crate::engine::risk::loss_baselines::{ByLimit, Kept, LossBaselines};
use crate::engine::risk::markout::Markouts;

/// A loss counts if this many measurements in a row show it: one wrong snapshot is no loss.
const MEASUREMENTS: u8 = 2;

/// Base and quote due to shares of the pool.
pub(crate) type Due = (Amount, Amount);

/// The meter of one market.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LossMeter {
    /// Base units held here, and quote units that flowed; `None` before the opening.
    traded: Option<(i128, i128)>,
    /// Base and quote due to our shares of the pool; nothing is measured before they are known.
    pooled: Option<Due>,
    /// The first known amounts due are not a gain.
    pool_is_new: bool,
    pub(crate) baselines: LossBaselines,
    breaches_in_a_row: u8,
    /// The last measured mid.
    mid: Option<u64>,
    /// The mid of the last measurement of all runs, and the value of pool shares at it, in quote units.
    stated: Option<(Rate, Option<i128>)>,
    pub(crate) markouts: Markouts,
    /// There was a measurement since this flag was last reset.
    #[serde(rename = "looked")]
    pub(crate) measured_since_written: bool,
    /// A sum overflowed.
    pub(crate) uncountable: bool,
}

impl LossMeter {
    /// A meter that continues with the position of earlier runs, or with their losses from a store before version 5.
    /// `has_pool` is whether a pool is configured beside the market.
    pub(crate) fn resume(
        spec: &MarketSpec,
        position: Option<&Position>,
        lost: Option<LossBaseline>,
        has_pool: bool,
    ) -> Self {
        let Some(position) = position else {
            return Self {
                baselines: lost.map(LossBaselines::carry).unwrap_or_default(),
                ..Self::default()
            };
        };
        let mut meter = Self {
            traded: Some((position.base, position.cash)),
            ..Self::default()
        };
        let Some(baselines) = &position.baselines else {
            meter.baselines = lost.map(LossBaselines::carry).unwrap_or_default();
            return meter;
        };
        let unit = scaled(spec, 1);
        let value = |units: i128| units.saturating_mul(unit);
        let kept = Kept {
            day: baselines.day,
            day_open: value(baselines.day_open),
            total: value(baselines.total),
            peak: value(baselines.peak),
        };
        let hour = baselines.hour.iter();
        let hour = hour.map(|(seen, high)| (*seen, value(*high))).collect();
        meter.baselines = LossBaselines::resume(kept, hour);
        meter.stated = Some((baselines.mid, baselines.pooled.filter(|_| has_pool)));
        match (baselines.pooled, has_pool) {
            (Some(pooled), false) => meter.baselines.explain(value(pooled).saturating_neg()),
            (None, true) => meter.pool_is_new = true,
            (Some(_), true) | (None, false) => {}
        }
        meter
    }

    /// Starts with the base that the market carries, if earlier runs left no position.
    pub(crate) fn open(&mut self, base: Amount) {
        if self.traded.is_none() {
            self.traded = Some((0, 0));
            self.flow(i128::try_from(base).ok(), Some(0));
        }
    }

    /// Resets losses.
    pub(crate) fn reset(&mut self) {
        self.breaches_in_a_row = 0;
        self.baselines.reset();
    }

    fn flow(&mut self, base: Option<i128>, cash: Option<i128>) {
        let Some(traded) = &mut self.traded else {
            return;
        };
        match (|| Some((traded.0.checked_add(base?)?, traded.1.checked_add(cash?)?)))() {
            Some(sums) => *traded = sums,
            None => self.uncountable = true,
        }
    }

    /// Books the changes by a trade, a join or an exit; shares themselves count where they are valued.
    pub(crate) fn post(&mut self, spec: &MarketSpec, postings: &Postings) {
        self.flow(
            Some(postings.of(spec.base.id)),
            Some(postings.of(spec.quote.id)),
        );
    }

    /// How well a charge can be valued: 0 at a mid of this run, 1 at one of earlier runs, 2 not at all.
    pub(crate) const fn rank_for_charges(&self) -> u8 {
        match (self.mid, &self.stated) {
            (Some(_), _) => 0,
            (None, Some(_)) => 1,
            (None, None) => 2,
        }
    }

    /// A charge in another token that is worth so much of a token of the market, of which nothing moves: a loss in quote
    /// units at the last mid, rounded up. Before the first mid nothing was measured, and what was charged until then is in
    /// what losses are measured from.
    pub(crate) fn charge(&mut self, spec: &MarketSpec, (token, amount): (TokenId, Amount)) {
        let worth = |amount: i128| match (self.mid, self.stated) {
            _ if token == spec.quote.id => Some(Some(amount)),
            (Some(mid), _) => Some(value(spec, amount, 0, mid).map(|worth| units(spec, worth))),
            (None, Some((mid, _))) => {
                Some(in_unit(spec, amount, 0, mid).map(|worth| units(spec, worth)))
            }
            (None, None) => None,
        };
        let lost = i128::try_from(amount).ok();
        if let Some(lost) = lost.map_or(Some(None), worth) {
            self.flow(Some(0), lost.map(i128::saturating_neg));
        }
    }

    /// Records a fill for its markout.
    pub(crate) fn filled(&mut self, now: Time, side: Side, step: Increment) {
        if self.traded.is_some() {
            self.markouts.fill(now, side, step);
        }
    }

    /// An external flow of base: neither gain nor loss at the mid.
    pub(crate) fn adopt(&mut self, spec: &MarketSpec, base: i128) {
        self.flow(Some(base), Some(0));
        self.explain(spec, base, 0);
    }

    /// An external flow of shares; `due` are the amounts due to those held now.
    pub(crate) fn adopt_shares(&mut self, spec: &MarketSpec, due: Option<Due>) {
        let before = std::mem::replace(&mut self.pooled, due);
        if let (Some(due), Some(before)) = (due.and_then(signed), before.and_then(signed)) {
            self.explain(spec, due.0 - before.0, due.1 - before.1);
        } else {
            // They count from when their amounts due are known; the old ones are removed until then.
            if let Some((base, quote)) = before.and_then(signed) {
                self.explain(spec, -base, -quote);
            }
            self.pool_is_new = true;
        }
    }

    /// Shifts all baselines by an explained amount, at the last known mid. Before the first mid nothing was measured.
    fn explain(&mut self, spec: &MarketSpec, base: i128, quote: i128) {
        let worth = match (self.mid, self.stated) {
            (Some(mid), _) => value(spec, base, quote, mid),
            (None, Some((mid, _))) => in_unit(spec, base, quote, mid),
            (None, None) => return,
        };
        match worth {
            Some(worth) => self.baselines.explain(worth),
            None => self.uncountable = true,
        }
    }

    /// Measures the value at a mid; `due` are the amounts due to our shares, if known. Returns the limits that are
    /// exceeded for the second time in a row.
    pub(crate) fn measure(
        &mut self,
        at: (Time, VenueTime),
        spec: &MarketSpec,
        (mid, due): (u64, Option<Due>),
        limits: &LossConfig,
    ) -> Vec<Control> {
        self.pooled = due.or(self.pooled);
        if self.traded.is_none() || self.pooled.is_none() {
            return Vec::new();
        }
        if std::mem::take(&mut self.pool_is_new) {
            let worth = self.pooled.and_then(signed);
            let worth = worth.and_then(|(base, quote)| value(spec, base, quote, mid));
            match worth {
                Some(worth) => self.baselines.explain(worth),
                None => self.uncountable = true,
            }
        }
        let worth = self.worth(spec, mid);
        let last_mid = match (self.stated, self.baselines.carried()) {
            (Some((mid, _)), _) => Some(mid),
            (None, Some(lost)) => lost.mid,
            (None, None) => None,
        };
        let then = last_mid.map_or(worth, |last_mid| {
            let (base, cash) = self.held()?;
            in_unit(spec, base, cash, last_mid)
        });
        let (Some(worth), Some(then)) = (worth, then) else {
            self.uncountable = true;
            return Vec::new();
        };
        self.mid = Some(mid);
        self.measured_since_written = true;
        self.baselines.measure(at, worth, then, scaled(spec, 1));
        self.stated = self
            .last_mid(spec)
            .map(|rate| (rate, self.pool_worth(spec, mid)));
        let over: Vec<_> = self
            .exceeded(spec, limits)
            .map(|(control, ..)| control)
            .collect();
        self.breaches_in_a_row = if over.is_empty() {
            0
        } else {
            self.breaches_in_a_row + 1
        };
        if self.breaches_in_a_row < MEASUREMENTS {
            return Vec::new();
        }
        self.breaches_in_a_row = 0;
        over
    }

    /// Limits that are exceeded at the last measurement: which, the loss, and the limit's value.
    pub(crate) fn exceeded(
        &self,
        spec: &MarketSpec,
        limits: &LossConfig,
    ) -> impl Iterator<Item = (Control, i128, i128)> {
        let against = self.against(spec, limits).into_iter();
        against.filter(|(_, lost, most)| lost > most)
    }

    /// A value as text, rounded up to a quote unit; `no limit` for one that cannot be reached.
    pub(crate) fn shown(spec: &MarketSpec, value: i128) -> String {
        if value == i128::MAX {
            return "no limit".to_owned();
        }
        spec.quote.show(units(spec, value))
    }

    fn held(&self) -> Option<(i128, i128)> {
        let (base, cash) = self.traded?;
        let pooled = signed(self.pooled.unwrap_or_default())?;
        Some((base.checked_add(pooled.0)?, cash.checked_add(pooled.1)?))
    }

    fn worth(&self, spec: &MarketSpec, mid: u64) -> Option<i128> {
        let (base, cash) = self.held()?;
        value(spec, base, cash, mid)
    }

    /// Value of the pool shares in quote units, rounded up.
    fn pool_worth(&self, spec: &MarketSpec, mid: u64) -> Option<i128> {
        let (base, quote) = signed(self.pooled?)?;
        Some(units(spec, value(spec, base, quote, mid)?))
    }

    /// The last measured mid.
    fn last_mid(&self, spec: &MarketSpec) -> Option<Rate> {
        Some(Rate {
            quote: spec.quote_per_lot_tick.checked_mul(self.mid?.into())?,
            base: spec.lot.checked_mul(2)?,
        })
    }

    /// Whether the day, its first value, the first of all and the peak are those that were booked.
    pub(crate) fn keeps(&self, spec: &MarketSpec, booked: &Baselines) -> bool {
        let measured = self.baselines.kept().filter(|_| self.stated.is_some());
        measured.is_some_and(|kept| {
            let values = [kept.day_open, kept.total, kept.peak].map(|value| units(spec, value));
            kept.day == booked.day && values == [booked.day_open, booked.total, booked.peak]
        })
    }

    /// The state that a start continues from; `None` before the opening. Baselines are rounded up to quote units.
    pub(crate) fn position(
        &self,
        spec: &MarketSpec,
        at: (Time, VenueTime),
        has_pool: bool,
    ) -> Option<Position> {
        let baselines = || {
            let (kept, (mid, pooled)) = self.baselines.kept().zip(self.stated)?;
            let hour = self.baselines.hour(at).into_iter();
            Some(Baselines {
                day: kept.day,
                day_open: units(spec, kept.day_open),
                total: units(spec, kept.total),
                peak: units(spec, kept.peak),
                hour: hour.map(|(seen, high)| (seen, units(spec, high))).collect(),
                mid,
                pooled: pooled.filter(|_| has_pool),
            })
        };
        self.traded.map(|(base, cash)| Position {
            base,
            cash,
            baselines: baselines(),
        })
    }

    /// What was lost since midnight of the venue, in quote units, negative for a gain; rounded up. `None` before the
    /// first measurement of all runs. Before the first one of this run it is what the position is worth at the last mid
    /// of earlier runs, and before the first one of a day nothing.
    pub(crate) fn lost_today(&self, spec: &MarketSpec, at: (Time, VenueTime)) -> Option<i128> {
        if self.mid.is_none() {
            let losses = self.position(spec, at, true)?.lost(at.1)?;
            let mut losses = losses.into_iter();
            return losses
                .find_map(|(control, lost)| (control == Control::LossDay).then_some(lost));
        }
        if self.baselines.kept()?.day != at.1.0 / DAY_MS {
            return Some(0);
        }
        let unit = i128::try_from(spec.lot.checked_mul(2)?).ok()?;
        let day = self.baselines.lost().day;
        Some(day.div_euclid(unit) + i128::from(day.rem_euclid(unit) > 0))
    }

    /// Every loss with its limit, in the unit above.
    pub(crate) fn against(
        &self,
        spec: &MarketSpec,
        limits: &LossConfig,
    ) -> [(Control, i128, i128); 4] {
        let most = |max: Amount| scaled(spec, max);
        let ByLimit {
            hour,
            day,
            total,
            drawdown,
        } = self.baselines.lost();
        [
            (Control::LossHour, hour.max(0), most(limits.hour_max)),
            (Control::LossDay, day.max(0), most(limits.day_max)),
            (Control::LossTotal, total.max(0), most(limits.total_max)),
            (
                Control::Drawdown,
                drawdown.max(0),
                most(limits.drawdown_max),
            ),
        ]
    }
}

/// Quote units in the unit above; saturates.
fn scaled(spec: &MarketSpec, quote: Amount) -> i128 {
    let scaled = quote.saturating_mul(2).saturating_mul(spec.lot);
    i128::try_from(scaled).unwrap_or(i128::MAX)
}

/// Value of base at a mid in half ticks, and of quote. `None` on overflow.
pub(crate) fn value(spec: &MarketSpec, base: i128, quote: i128, mid: u64) -> Option<i128> {
    let per_half_tick = i128::try_from(spec.quote_per_lot_tick).ok()?;
    let scale = i128::try_from(spec.lot.checked_mul(2)?).ok()?;
    base.checked_mul(per_half_tick)?
        .checked_mul(i128::from(mid))?
        .checked_add(quote.checked_mul(scale)?)
}

/// As above at an earlier price, possibly in other lots and ticks; rounded up to a quote unit.
fn in_unit(spec: &MarketSpec, base: i128, quote: i128, mid: Rate) -> Option<i128> {
    value_at(base, quote, mid)?.checked_mul(scaled(spec, 1))
}

/// A value in quote units, rounded up.
fn units(spec: &MarketSpec, value: i128) -> i128 {
    value
        .saturating_neg()
        .div_euclid(scaled(spec, 1))
        .saturating_neg()
}

fn signed((base, quote): Due) -> Option<(i128, i128)> {
    Some((i128::try_from(base).ok()?, i128::try_from(quote).ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::MarketId;
    use crate::token::tests::token;

    const NO_LIMIT: LossConfig = LossConfig {
        hour_max: Amount::MAX,
        day_max: Amount::MAX,
        total_max: Amount::MAX,
        drawdown_max: Amount::MAX,
    };

    fn market() -> MarketSpec {
        MarketSpec::new(MarketId(0), "A-B", token(0), token(1), 2, true).unwrap()
    }

    /// The loss of a day at each moment of a start: from the store, from this run's mids, and across midnight.
    #[test]
    fn a_loss_of_the_day_is_known_before_the_first_mid_and_ends_with_the_day() {
        let spec = market();
        let at = |ms: u64| (Time::from_ms(ms), VenueTime(ms));
        let mut first = LossMeter::resume(&spec, None, None, false);
        first.open(0);
        assert_eq!(first.lost_today(&spec, at(1)), None, "never measured");
        assert_eq!(first.rank_for_charges(), 2);
        let position = Position {
            base: 0,
            cash: 300,
            baselines: Some(Baselines {
                day: 0,
                day_open: 1_000,
                mid: Rate { quote: 1, base: 1 },
                ..Baselines::default()
            }),
        };
        let mut meter = LossMeter::resume(&spec, Some(&position), None, false);
        assert_eq!(meter.rank_for_charges(), 1);
        assert_eq!(meter.lost_today(&spec, at(1)), Some(700));
        assert_eq!(meter.lost_today(&spec, at(DAY_MS - 1)), Some(700));
        assert_eq!(meter.lost_today(&spec, at(DAY_MS)), Some(0));
        meter.pooled = Some((0, 0));
        meter.measure(at(1), &spec, (20_000, None), &NO_LIMIT);
        assert_eq!(meter.rank_for_charges(), 0);
        assert_eq!(meter.lost_today(&spec, at(DAY_MS - 1)), Some(700));
        assert_eq!(meter.lost_today(&spec, at(DAY_MS)), Some(0));
    }

    /// Each of the four values, and only those.
    #[test]
    fn a_meter_keeps_the_baselines_that_were_booked() {
        let spec = market();
        let at = (Time::from_ms(1), VenueTime(DAY_MS + 1));
        let mut meter = LossMeter::resume(&spec, None, None, false);
        meter.open(3);
        let never = Baselines::default();
        assert!(!meter.keeps(&spec, &never), "never measured");
        meter.pooled = Some((0, 0));
        meter.measure(at, &spec, (20_000, None), &NO_LIMIT);
        let position = meter.position(&spec, at, false).unwrap();
        let booked = position.baselines.unwrap();
        assert_eq!(booked.day, 1);
        assert!(meter.keeps(&spec, &booked));
        let changes: [fn(&mut Baselines); 4] = [
            |of| of.day -= 1,
            |of| of.day_open += 1,
            |of| of.total += 1,
            |of| of.peak += 1,
        ];
        for change in changes {
            let mut other = booked.clone();
            change(&mut other);
            assert!(!meter.keeps(&spec, &other), "{other:?}");
        }
    }
}
