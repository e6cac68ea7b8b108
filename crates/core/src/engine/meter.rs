//! What a market has earned or lost, in integers: everything held and traded at the mid.
//!
//! The unit of every value here is `1 / (2 · lot)` quote base units, in which base units times half
//! ticks are whole numbers: nothing is rounded. A base token is carried by the first market that trades
//! it, so that its holding counts once; what others trade of it counts where it was traded. Shares of the
//! pool beside a market are worth what they are due of both tokens, rounded down: a join or an exit costs
//! its fee and what it slipped, and nothing else.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::config::{LossConfig, RiskConfig};
use crate::control::Control;
use crate::event::Lost;
use crate::market::{MarketSpec, Side};
use crate::pool::MoveKind;
use crate::time::{Time, VenueTime};
use crate::token::Amount;

use super::orders::Increment;
use super::window::Extremes;

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 86_400_000;
/// A loss counts when so many looks in a row show it: one strange snapshot is no loss.
const LOOKS: u8 = 2;
/// Fills that wait for their markout.
const WAITING_MAX: usize = 256;

/// A fill whose markout is not known yet.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Waiting {
    learnt: Time,
    side: Side,
    base: Amount,
    quote: Amount,
}

/// Losses by limit, in the unit above; 0 where there is a gain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Losses {
    pub(crate) hour: i128,
    pub(crate) day: i128,
    pub(crate) total: i128,
    pub(crate) drawdown: i128,
}

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
    /// What earlier runs lost.
    carried: Lost,
    /// Value at the first mid.
    start: Option<i128>,
    /// Day of venue time and value at its first mid.
    day: Option<(u64, i128)>,
    peak: i128,
    lately: Extremes,
    pub(crate) losses: Losses,
    over: u8,
    /// The last mid that was looked at.
    mid: Option<u64>,
    waiting: VecDeque<Waiting>,
    streak: u32,
    /// A sum did not fit.
    pub(crate) uncountable: bool,
}

impl Meter {
    /// Begins with the base that the market carries.
    pub(crate) fn open(&mut self, base: Amount) {
        self.open = true;
        self.flow(i128::try_from(base).ok(), Some(0));
    }

    /// Forgets what was lost: what is held is worth what the last look said.
    pub(crate) fn begin_anew(&mut self, spec: &MarketSpec) {
        self.carried = Lost::default();
        self.losses = Losses::default();
        self.over = 0;
        self.lately.clear();
        if let Some(worth) = self.mid.and_then(|mid| self.worth(spec, mid)) {
            self.start.iter_mut().for_each(|at| *at = worth);
            self.day.iter_mut().for_each(|(_, at)| *at = worth);
            self.peak = worth;
        }
    }

    /// Goes on from what earlier runs lost.
    pub(crate) fn carry(&mut self, lost: Lost) {
        self.carried = lost;
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
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Waiting {
            learnt: now,
            side,
            base: step.base,
            quote: step.quote,
        });
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
            let (base, quote) = due.unwrap_or_default();
            value(
                spec,
                i128::try_from(base).ok()?,
                i128::try_from(quote).ok()?,
                mid,
            )
        };
        let before = std::mem::replace(&mut self.pooled, due);
        self.explain(
            self.mid
                .and_then(|mid| worth(due, mid)?.checked_sub(worth(before, mid)?)),
        );
    }

    /// Moves everything that is compared with by what is explained. Before the first mid nothing was
    /// measured.
    fn explain(&mut self, moved: Option<i128>) {
        let Some(moved) = moved else {
            self.uncountable |= self.mid.is_some();
            return;
        };
        let shift = |at: &mut i128| *at = at.saturating_add(moved);
        self.start.iter_mut().for_each(shift);
        self.day.iter_mut().for_each(|(_, at)| shift(at));
        shift(&mut self.peak);
        self.lately.clear();
    }

    /// Looks at the value at a mid; `due` is what our shares are due, if that is known. Returns the limits that are exceeded for the second time in a row.
    pub(crate) fn look(
        &mut self,
        (now, venue_now): (Time, VenueTime),
        spec: &MarketSpec,
        (mid, due): (u64, Option<Due>),
        limits: &LossConfig,
    ) -> Vec<Control> {
        if !self.open {
            return Vec::new();
        }
        match (self.pooled, due) {
            // They were held before it was known what they are worth.
            (None, Some(_)) => self.adopt_shares(spec, due),
            (Some(_), Some(_)) => self.pooled = due,
            (_, None) => {}
        }
        let Some(worth) = self.worth(spec, mid) else {
            self.uncountable = true;
            return Vec::new();
        };
        self.mid = Some(mid);
        let today = venue_now.0 / DAY_MS;
        if self.start.is_none() {
            let above = |lost: Amount| worth.saturating_add(scaled(spec, lost));
            self.peak = above(self.carried.drawdown);
            self.start = Some(above(self.carried.total));
            self.day = Some((self.carried.day, above(self.carried.today)));
        }
        let start = *self.start.get_or_insert(worth);
        let day = match self.day {
            Some((day, at)) if day == today => at,
            Some(_) | None => worth,
        };
        self.day = Some((today, day));
        self.peak = self.peak.max(worth);
        let (_, high) = self.lately.take(now, worth, HOUR_MS);
        let lost = |from: i128| from.saturating_sub(worth).max(0);
        self.losses = Losses {
            hour: lost(high),
            day: lost(day),
            total: lost(start),
            drawdown: lost(self.peak),
        };
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

    fn worth(&self, spec: &MarketSpec, mid: u64) -> Option<i128> {
        let (base, quote) = self.pooled.unwrap_or_default();
        let base = self.base.checked_add(i128::try_from(base).ok()?)?;
        let cash = self.cash.checked_add(i128::try_from(quote).ok()?)?;
        value(spec, base, cash, mid)
    }

    /// What is lost, in quote units rounded up; nothing before the first look.
    pub(crate) fn lost(&self, spec: &MarketSpec) -> Option<Lost> {
        let (day, _) = self.day?;
        let unit = spec.lot.saturating_mul(2).max(1);
        let units = |lost: i128| u128::try_from(lost).unwrap_or(0).div_ceil(unit);
        Some(Lost {
            day,
            today: units(self.losses.day),
            total: units(self.losses.total),
            drawdown: units(self.losses.drawdown),
        })
    }

    /// Every loss beside its limit, in the unit above.
    pub(crate) fn against(
        &self,
        spec: &MarketSpec,
        limits: &LossConfig,
    ) -> [(Control, i128, i128); 4] {
        let most = |max: Amount| scaled(spec, max);
        let Losses {
            hour,
            day,
            total,
            drawdown,
        } = self.losses;
        [
            (Control::LossHour, hour, most(limits.hour_max)),
            (Control::LossDay, day, most(limits.day_max)),
            (Control::LossTotal, total, most(limits.total_max)),
            (Control::Drawdown, drawdown, most(limits.drawdown_max)),
        ]
    }

    /// Measures fills whose time has come against the mid. True if too many in a row went against us.
    pub(crate) fn mark(
        &mut self,
        now: Time,
        spec: &MarketSpec,
        mid: u64,
        risk: &RiskConfig,
    ) -> bool {
        while let Some(fill) = self.waiting.front().copied()
            && now.ms_since(fill.learnt) >= risk.streak_ms
        {
            self.waiting.pop_front();
            if fill.is_against(spec, mid, risk.streak_bps) {
                self.streak += 1;
            } else {
                self.streak = 0;
            }
        }
        let too_many = risk.streak_fills > 0 && self.streak >= risk.streak_fills;
        if too_many {
            self.streak = 0;
        }
        too_many
    }
}

impl Waiting {
    /// Whether the mid is worse than the price of the fill by so much.
    fn is_against(&self, spec: &MarketSpec, mid: u64, bps: u32) -> bool {
        let (Ok(base), Ok(quote)) = (i128::try_from(self.base), i128::try_from(self.quote)) else {
            return true;
        };
        let (at_mid, paid) = (value(spec, base, 0, mid), value(spec, 0, quote, mid));
        let (Some(at_mid), Some(paid)) = (at_mid, paid) else {
            return true;
        };
        let lost = match self.side {
            Side::Buy => paid.saturating_sub(at_mid),
            Side::Sell => at_mid.saturating_sub(paid),
        };
        lost > 0 && lost.saturating_mul(10_000) >= paid.saturating_mul(i128::from(bps))
    }
}

/// Quote units in the unit above; as many as fit.
fn scaled(spec: &MarketSpec, quote: Amount) -> i128 {
    let scaled = quote.saturating_mul(2).saturating_mul(spec.lot);
    i128::try_from(scaled).unwrap_or(i128::MAX)
}

/// Value of base at a mid in half ticks, and of quote. `None` if it cannot be counted.
fn value(spec: &MarketSpec, base: i128, quote: i128, mid: u64) -> Option<i128> {
    let per_half_tick = i128::try_from(spec.quote_per_lot_tick).ok()?;
    let scale = i128::try_from(spec.lot.checked_mul(2)?).ok()?;
    base.checked_mul(per_half_tick)?
        .checked_mul(i128::from(mid))?
        .checked_add(quote.checked_mul(scale)?)
}
