//! What a market has earned or lost, in integers: everything held and traded at the mid.
//!
//! The unit of every value here is `1 / (2 · lot)` quote base units, in which base units times half
//! ticks are whole numbers: nothing is rounded. A base token is carried by the first market that trades
//! it, so that its holding counts once; what others trade of it counts where it was traded. Shares of the
//! pool beside a market are worth what they are due of both tokens, rounded down: a join or an exit costs
//! its fee and what it slipped, and nothing else.

use serde::{Deserialize, Serialize};

use crate::config::LossConfig;
use crate::control::Control;
use crate::event::{Lost, Rate};
use crate::market::{MarketSpec, Side};
use crate::math::{mul_div_ceil, mul_div_floor};
use crate::pool::MoveKind;
use crate::time::{Time, VenueTime};
use crate::token::Amount;

use super::markout::Markouts;
use super::marks::{ByLimit, Marks};
use super::orders::Increment;

/// A loss counts when so many looks in a row show it: one strange snapshot is no loss.
const LOOKS: u8 = 2;

/// What shares of a pool are due: base and quote.
pub(crate) type Due = (Amount, Amount);

/// The meter of one market.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Meter {
    open: bool,
    /// Base units held here.
    base: i128,
    /// Quote units that flowed.
    cash: i128,
    /// Base and quote that our shares of the pool are due; what is not known yet counts as nothing.
    pooled: Option<Due>,
    pub(crate) marks: Marks,
    over: u8,
    /// The last mid that was looked at.
    mid: Option<u64>,
    pub(crate) markouts: Markouts,
    /// A sum did not fit.
    pub(crate) uncountable: bool,
}

impl Meter {
    /// Begins with the base that the market carries.
    pub(crate) fn open(&mut self, base: Amount) {
        self.open = true;
        self.flow(i128::try_from(base).ok(), Some(0));
    }

    /// Forgets what was lost.
    pub(crate) fn begin_anew(&mut self) {
        self.over = 0;
        self.marks.begin_anew();
    }

    fn flow(&mut self, base: Option<i128>, cash: Option<i128>) {
        let sums = (|| Some((self.base.checked_add(base?)?, self.cash.checked_add(cash?)?)))();
        match sums {
            Some((base, cash)) => (self.base, self.cash) = (base, cash),
            None => self.uncountable = true,
        }
    }

    /// Books a fill.
    pub(crate) fn fill(&mut self, now: Time, side: Side, step: Increment) {
        if !self.open {
            return;
        }
        let signed = |amount: Amount| i128::try_from(amount).ok();
        let (base, quote, fee) = (signed(step.base), signed(step.quote), signed(step.fee));
        match side {
            Side::Buy => self.flow(
                base.zip(fee).and_then(|(b, f)| b.checked_sub(f)),
                quote.map(|q| -q),
            ),
            Side::Sell => self.flow(
                base.map(|b| -b),
                quote.zip(fee).and_then(|(q, f)| q.checked_sub(f)),
            ),
        }
        self.markouts.fill(now, side, step);
    }

    /// Books what a join paid or an exit brought, and its fee; the shares themselves are counted where
    /// they are valued.
    pub(crate) fn moved(&mut self, kind: MoveKind, (base, quote): Due, fee: Due) {
        if !self.open {
            return;
        }
        let net = |amount: Amount, fee: Amount| {
            let (amount, fee) = (i128::try_from(amount).ok()?, i128::try_from(fee).ok()?);
            match kind {
                MoveKind::Join => 0_i128.checked_sub(amount)?.checked_sub(fee),
                MoveKind::Exit => amount.checked_sub(fee),
            }
        };
        self.flow(net(base, fee.0), net(quote, fee.1));
    }

    /// Base that came or went without a trade: no gain and no loss at the mid.
    pub(crate) fn adopt(&mut self, spec: &MarketSpec, base: i128) {
        self.flow(Some(base), Some(0));
        self.explain(self.mid.and_then(|mid| value(spec, base, 0, mid)));
    }

    /// Shares came or went without a join or an exit; `due` is what those held now are due.
    pub(crate) fn adopt_shares(&mut self, spec: &MarketSpec, due: Option<Due>) {
        let worth = |due: Option<Due>, mid| {
            let (base, quote) = signed(due.unwrap_or_default())?;
            value(spec, base, quote, mid)
        };
        let before = std::mem::replace(&mut self.pooled, due);
        self.explain(
            self.mid
                .and_then(|mid| worth(due, mid)?.checked_sub(worth(before, mid)?)),
        );
    }

    /// Shares were held before it was known what they are due: they were worth that at the last mid of
    /// earlier runs, as everything else.
    fn know_shares(&mut self, spec: &MarketSpec, due: Due) {
        self.pooled = Some(due);
        let mid = self.marks.carried().mid;
        let worth = signed(due).and_then(|(base, quote)| match mid {
            Some(mid) => value_at(spec, base, quote, mid),
            None => value(spec, base, quote, self.mid?),
        });
        self.explain(worth);
    }

    /// Moves everything that is compared with by what is explained. Before the first mid nothing was
    /// measured.
    fn explain(&mut self, moved: Option<i128>) {
        match moved {
            Some(moved) => self.marks.explain(moved),
            None => self.uncountable |= self.mid.is_some(),
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
        if !self.open {
            return Vec::new();
        }
        match (self.pooled, due) {
            (None, Some(due)) => self.know_shares(spec, due),
            (Some(_), Some(_)) => self.pooled = due,
            (_, None) => {}
        }
        let worth = self.worth(spec, mid);
        let last_mid = self.marks.carried().mid;
        let then = last_mid.map_or(worth, |last_mid| self.worth_at(spec, last_mid));
        let (Some(worth), Some(then)) = (worth, then) else {
            self.uncountable = true;
            return Vec::new();
        };
        self.mid = Some(mid);
        self.marks.look(at, worth, then, scaled(spec, 1));
        let over: Vec<_> = self
            .against(spec, limits)
            .into_iter()
            .filter(|(_, lost, most)| lost > most)
            .map(|(control, ..)| control)
            .collect();
        self.over = if over.is_empty() { 0 } else { self.over + 1 };
        if self.over < LOOKS {
            return Vec::new();
        }
        self.over = 0;
        over
    }

    fn held(&self) -> Option<(i128, i128)> {
        let (base, quote) = signed(self.pooled.unwrap_or_default())?;
        Some((self.base.checked_add(base)?, self.cash.checked_add(quote)?))
    }

    fn worth(&self, spec: &MarketSpec, mid: u64) -> Option<i128> {
        let (base, cash) = self.held()?;
        value(spec, base, cash, mid)
    }

    fn worth_at(&self, spec: &MarketSpec, mid: Rate) -> Option<i128> {
        let (base, cash) = self.held()?;
        value_at(spec, base, cash, mid)
    }

    /// The last mid that was looked at.
    pub(crate) fn last_mid(&self, spec: &MarketSpec) -> Option<Rate> {
        Some(Rate {
            quote: spec.quote_per_lot_tick.checked_mul(self.mid?.into())?,
            base: spec.lot.checked_mul(2)?,
        })
    }

    /// What is lost at a mid by what is held now, in quote units rounded up; nothing before the first
    /// look.
    pub(crate) fn lost_at(&self, spec: &MarketSpec, mid: Rate, now: VenueTime) -> Option<Lost> {
        let (today, lost) = self.marks.lost_at(self.worth_at(spec, mid)?)?;
        let unit = scaled(spec, 1);
        let units = |lost: i128| lost.saturating_neg().div_euclid(unit).saturating_neg();
        Some(Lost {
            day: today,
            today: units(lost.day),
            total: units(lost.total),
            drawdown: units(lost.drawdown),
            hour: units(lost.hour),
            hour_at: now,
            mid: Some(mid),
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
        } = self.marks.lost();
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
fn value_at(spec: &MarketSpec, base: i128, quote: i128, mid: Rate) -> Option<i128> {
    let of = base.unsigned_abs();
    let worth = if base < 0 {
        i128::try_from(mul_div_floor(of, mid.quote, mid.base)?)
            .ok()?
            .checked_neg()?
    } else {
        i128::try_from(mul_div_ceil(of, mid.quote, mid.base)?).ok()?
    };
    worth.checked_add(quote)?.checked_mul(scaled(spec, 1))
}

fn signed((base, quote): Due) -> Option<(i128, i128)> {
    Some((i128::try_from(base).ok()?, i128::try_from(quote).ok()?))
}
