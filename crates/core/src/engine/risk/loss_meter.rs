//! What a market has earned or lost, in integers: everything held and traded at the mid.
//!
//! The unit of every value here is `1 / (2 · lot)` quote base units, in which base units times half
//! ticks are whole numbers: nothing is rounded. A base token is carried by the first market that trades
//! it, so that its holding counts once; what others trade of it counts where it was traded. Shares of the
//! pool beside a market are worth what they are due of both tokens, rounded down: a join or an exit costs
//! its fee and what it slipped, and nothing else.

use serde::{Deserialize, Serialize};

use crate::books::{Baselines, Position, value_at};
use crate::config::LossConfig;
use crate::control::Control;
use crate::event::{LossBaseline, Rate};
use crate::market::{MarketSpec, Side};
use crate::postings::Postings;
use crate::time::{Time, VenueTime};
use crate::token::Amount;

use crate::engine::intents::registry::Increment;
use crate::engine::risk::loss_baselines::{ByLimit, Kept, LossBaselines};
use crate::engine::risk::markout::Markouts;

/// A loss counts when so many looks in a row show it: one strange snapshot is no loss.
const LOOKS: u8 = 2;

/// What shares of a pool are due: base and quote.
pub(crate) type Due = (Amount, Amount);

/// The meter of one market.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LossMeter {
    /// Base units held here, and quote units that flowed; nothing before the opening.
    traded: Option<(i128, i128)>,
    /// Base and quote that our shares of the pool are due; nothing is measured before it is known.
    pooled: Option<Due>,
    /// What they are due enters as no gain when it is known.
    pool_is_new: bool,
    pub(crate) baselines: LossBaselines,
    breaches_in_a_row: u8,
    /// The last mid that was looked at.
    mid: Option<u64>,
    /// The mid of the last look of all runs, and what shares of the pool were worth at it, in quote units.
    stated: Option<(Rate, Option<i128>)>,
    pub(crate) markouts: Markouts,
    /// There was a look since this was last taken back.
    pub(crate) looked: bool,
    /// A sum did not fit.
    pub(crate) uncountable: bool,
}

impl LossMeter {
    /// A meter that goes on with what earlier runs left, or with what they lost by the word of a store
    /// before version 5. `has_pool` says whether a pool is configured beside the market.
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

    /// Begins with the base that the market carries, if earlier runs left nothing.
    pub(crate) fn open(&mut self, base: Amount) {
        if self.traded.is_none() {
            self.traded = Some((0, 0));
            self.flow(i128::try_from(base).ok(), Some(0));
        }
    }

    /// Forgets what was lost.
    pub(crate) fn begin_anew(&mut self) {
        self.breaches_in_a_row = 0;
        self.baselines.begin_anew();
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

    /// Books what a trade, a join or an exit changed; shares themselves are counted where they are
    /// valued.
    pub(crate) fn post(&mut self, spec: &MarketSpec, postings: &Postings) {
        self.flow(
            Some(postings.of(spec.base.id)),
            Some(postings.of(spec.quote.id)),
        );
    }

    /// A fill, to be measured against the mid a while later.
    pub(crate) fn filled(&mut self, now: Time, side: Side, step: Increment) {
        if self.traded.is_some() {
            self.markouts.fill(now, side, step);
        }
    }

    /// Base that came or went without a trade: no gain and no loss at the mid.
    pub(crate) fn adopt(&mut self, spec: &MarketSpec, base: i128) {
        self.flow(Some(base), Some(0));
        self.explain(spec, base, 0);
    }

    /// Shares came or went without a join or an exit; `due` is what those held now are due.
    pub(crate) fn adopt_shares(&mut self, spec: &MarketSpec, due: Option<Due>) {
        let before = std::mem::replace(&mut self.pooled, due);
        if let (Some(due), Some(before)) = (due.and_then(signed), before.and_then(signed)) {
            self.explain(spec, due.0 - before.0, due.1 - before.1);
        } else {
            // They enter when it is known what they are due, and what was there goes until then.
            if let Some((base, quote)) = before.and_then(signed) {
                self.explain(spec, -base, -quote);
            }
            self.pool_is_new = true;
        }
    }

    /// Moves everything that is compared with by what is explained, at the last mid that is known. Before
    /// the first one nothing was measured.
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

    /// Looks at the value at a mid; `due` is what our shares are due, if that is known. Returns the
    /// limits that are exceeded for the second time in a row.
    pub(crate) fn look(
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
        self.looked = true;
        self.baselines.look(at, worth, then, scaled(spec, 1));
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
        if self.breaches_in_a_row < LOOKS {
            return Vec::new();
        }
        self.breaches_in_a_row = 0;
        over
    }

    /// Limits that are exceeded at the last look: which, what was lost, and how much may be.
    pub(crate) fn exceeded(
        &self,
        spec: &MarketSpec,
        limits: &LossConfig,
    ) -> impl Iterator<Item = (Control, i128, i128)> {
        let against = self.against(spec, limits).into_iter();
        against.filter(|(_, lost, most)| lost > most)
    }

    /// A value for people, rounded up to a whole quote unit; `no limit` for one that nothing reaches.
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

    /// What shares of the pool are worth in quote units, rounded up.
    fn pool_worth(&self, spec: &MarketSpec, mid: u64) -> Option<i128> {
        let (base, quote) = signed(self.pooled?)?;
        Some(units(spec, value(spec, base, quote, mid)?))
    }

    /// The last mid that was looked at.
    fn last_mid(&self, spec: &MarketSpec) -> Option<Rate> {
        Some(Rate {
            quote: spec.quote_per_lot_tick.checked_mul(self.mid?.into())?,
            base: spec.lot.checked_mul(2)?,
        })
    }

    /// Everything that a start needs to go on; nothing before the opening. What is compared with is rounded
    /// up to whole quote units.
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

    /// Every loss beside its limit, in the unit above.
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

/// Quote units in the unit above; as many as fit.
fn scaled(spec: &MarketSpec, quote: Amount) -> i128 {
    let scaled = quote.saturating_mul(2).saturating_mul(spec.lot);
    i128::try_from(scaled).unwrap_or(i128::MAX)
}

/// Value of base at a mid in half ticks, and of quote. `None` if it cannot be counted.
pub(crate) fn value(spec: &MarketSpec, base: i128, quote: i128, mid: u64) -> Option<i128> {
    let per_half_tick = i128::try_from(spec.quote_per_lot_tick).ok()?;
    let scale = i128::try_from(spec.lot.checked_mul(2)?).ok()?;
    base.checked_mul(per_half_tick)?
        .checked_mul(i128::from(mid))?
        .checked_add(quote.checked_mul(scale)?)
}

/// As above at a price that was known earlier, perhaps in other lots and ticks; rounded up to a whole
/// quote unit.
fn in_unit(spec: &MarketSpec, base: i128, quote: i128, mid: Rate) -> Option<i128> {
    value_at(base, quote, mid)?.checked_mul(scaled(spec, 1))
}

/// Whole quote units of a value, rounded up.
fn units(spec: &MarketSpec, value: i128) -> i128 {
    value
        .saturating_neg()
        .div_euclid(scaled(spec, 1))
        .saturating_neg()
}

fn signed((base, quote): Due) -> Option<(i128, i128)> {
    Some((i128::try_from(base).ok()?, i128::try_from(quote).ok()?))
}
