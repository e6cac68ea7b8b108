//! The gate for joins and exits: the same questions as for orders, and those of pools.

use crate::config::PoolConfig;
use crate::fence;
use crate::market::{Price, Qty, Side};
use crate::note::Control;
use crate::order::{ClientOrderId, StrategyId};
use crate::planted::{self, Defect};
use crate::pool::{MoveKind, PoolBalances, PoolSpec};
use crate::shares::{self, Limits};
use crate::token::{AMOUNT_MAX, Amount};

use super::super::pool_moves::TrackedMove;
use super::super::rules::READY;
use super::{Approved, Candidate, Situation};

/// What moves of a pool are judged from, beside the situation of its market.
pub(crate) struct PoolSituation<'a> {
    pub(crate) spec: &'a PoolSpec,
    pub(crate) config: &'a PoolConfig,
    /// Where the base token stands among the pooled ones.
    pub(crate) base_at: usize,
    /// What it holds, known and fresh.
    pub(crate) balances: PoolBalances,
    /// Our shares.
    pub(crate) held: Amount,
}

impl PoolSituation<'_> {
    fn takes(&self, kind: MoveKind) -> Result<(), Control> {
        let open = match kind {
            MoveKind::Join => self.spec.joins,
            MoveKind::Exit => self.spec.exits,
        };
        if open {
            Ok(())
        } else {
            Err(Control::Permission)
        }
    }
}

/// A new move before it has ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) kind: MoveKind,
    pub(crate) limits: Limits,
    /// What an exit brings in the pool as it is; zeros for a join.
    pub(crate) due: [Amount; 2],
    /// Shares held afterwards, if all goes as wanted.
    pub(crate) after: Amount,
}

impl Wanted {
    /// The move from what is held to `shares`; `None` if that is the same.
    pub(crate) fn between(
        pool: &PoolSituation<'_>,
        shares: Amount,
    ) -> Result<Option<Self>, Control> {
        let slippage_bps = pool.config.slippage_bps;
        let difference = shares.abs_diff(pool.held);
        if difference == 0 {
            return Ok(None);
        }
        let kind = if shares > pool.held {
            MoveKind::Join
        } else {
            MoveKind::Exit
        };
        let (limits, due) = match kind {
            MoveKind::Join => (
                shares::join(&pool.balances, difference, slippage_bps),
                Some([0, 0]),
            ),
            MoveKind::Exit => (
                shares::exit(&pool.balances, difference, slippage_bps),
                shares::due(&pool.balances, difference),
            ),
        };
        let (limits, due) = limits.zip(due).ok_or(Control::OrderAmount)?;
        Ok(Some(Self {
            kind,
            limits,
            due,
            after: shares,
        }))
    }
}

impl Situation<'_> {
    /// Judges a new move against everything.
    pub(crate) fn approve_move(
        &self,
        pool: &PoolSituation<'_>,
        strategy: StrategyId,
        new: Wanted,
    ) -> Result<Approved<Wanted>, Control> {
        self.may_move(strategy)?;
        pool.takes(new.kind)?;
        let mid = self.price_is_shared(pool)?;
        let sane = |amount: Amount| amount > 0 && amount <= AMOUNT_MAX;
        let Limits { amounts, lp } = new.limits;
        if !sane(amounts[0]) || !sane(amounts[1]) || !sane(lp) {
            return Err(Control::OrderAmount);
        }
        let value = |pooled: [Amount; 2]| {
            let base = shares::quote_value(self.spec, pooled[pool.base_at], mid)?;
            base.checked_add(pooled[1 - pool.base_at])
        };
        let (moved, grows) = match new.kind {
            MoveKind::Join => (amounts, true),
            MoveKind::Exit => (new.due, false),
        };
        let worth = value(moved).ok_or(Control::OrderValue)?;
        let after = shares::due(&pool.balances, new.after).and_then(value);
        let fits = after.is_some_and(|after| after <= pool.config.value_max);
        if worth > pool.config.move_value_max || (grows && !fits) {
            return Err(Control::OrderValue);
        }
        match new.kind {
            MoveKind::Join => self.join_is_covered(pool, amounts)?,
            MoveKind::Exit => self.exit_is_covered(pool, &new)?,
        }
        Ok(Approved(new))
    }

    /// Judges a sealed move again at the last moment before its bytes leave. What it binds is already
    /// reserved; what may have changed is whether the pool is still worth trading with.
    pub(crate) fn approve_move_transmission(
        &self,
        pool: &PoolSituation<'_>,
        tracked: &TrackedMove,
    ) -> Result<Approved<ClientOrderId>, Control> {
        self.may_move(tracked.wanted.client_id.strategy)?;
        pool.takes(tracked.wanted.kind)?;
        self.price_is_shared(pool)?;
        let margin_ms = self.config.resend_margin_ms;
        if !fence::is_in_time(self.venue_now, tracked.life.valid_until, margin_ms) {
            return Err(Control::StaleData);
        }
        Ok(Approved(tracked.wanted.client_id))
    }

    /// A move trades both tokens: what forbids either side of the market forbids it.
    fn may_move(&self, strategy: StrategyId) -> Result<(), Control> {
        let candidate = |side| Candidate {
            strategy,
            side,
            price: Price(0),
            qty: Qty(0),
            base: 0,
            quote: 0,
            max_fee_bips: 0,
            life_ms: 0,
            sealed: None,
            alike: 0,
        };
        if planted::armed(Defect::MovesUnpaused) {
            return Ok(());
        }
        let mut sides = Side::BOTH.map(candidate).into_iter();
        sides.try_for_each(|side| {
            let refuses = READY.iter().find(|rule| !(rule.passes)(self, &side));
            refuses.map_or(Ok(()), |rule| Err(rule.control))
        })
    }

    /// A pool whose price is not the market's is about to be traded against, or lies: both are losses to
    /// whoever joins or leaves meanwhile.
    fn price_is_shared(&self, pool: &PoolSituation<'_>) -> Result<u64, Control> {
        let mid = self.mid?;
        let [base, quote] = [
            pool.balances.pooled[pool.base_at],
            pool.balances.pooled[1 - pool.base_at],
        ];
        let away = shares::divergence_bps(self.spec, base, quote, mid);
        let away = away.ok_or(Control::PoolDivergence)?.unsigned_abs();
        if away > u64::from(pool.config.divergence_max_bps) {
            return Err(Control::PoolDivergence);
        }
        Ok(mid)
    }

    fn join_is_covered(
        &self,
        pool: &PoolSituation<'_>,
        amounts: [Amount; 2],
    ) -> Result<(), Control> {
        let fees = [0, pool.config.fee_max];
        for at in 0..2 {
            let token = pool.spec.pooled[at];
            if amounts[at].saturating_add(fees[at]) > self.free(token) {
                return Err(Control::Balance);
            }
        }
        // The base is counted where it is held; the quote becomes a part of the exposure.
        let most = self.config.risk.gross_max.get(&self.spec.quote.id).copied();
        let after = self
            .gross
            .and_then(|g| g.checked_add(amounts[1 - pool.base_at]));
        if after.zip(most).is_none_or(|(after, most)| after > most) {
            return Err(Control::GrossExposure);
        }
        self.leaves_band(amounts[pool.base_at])
    }

    fn exit_is_covered(&self, pool: &PoolSituation<'_>, new: &Wanted) -> Result<(), Control> {
        let lp = pool.spec.lp.id;
        if new.limits.lp > self.free(lp) {
            return Err(Control::Balance);
        }
        // A fee must not eat what the exit is for: it comes out of the last token.
        if pool.config.fee_max > new.limits.amounts[1] {
            return Err(Control::OrderAmount);
        }
        let token = self.spec.base.id;
        let (_, most) = self.ledger.bounds(token);
        let coming = self.orders.incoming(token);
        let coming = coming.saturating_add(new.due[pool.base_at]);
        if most.saturating_add(coming) > self.limits.inventory_max {
            return Err(Control::InventoryBand);
        }
        Ok(())
    }

    /// Whether the band is whole after base went into the pool.
    fn leaves_band(&self, base: Amount) -> Result<(), Control> {
        let token = self.spec.base.id;
        let (least, _) = self.ledger.bounds(token);
        let leaving = self.orders.reserved(token).saturating_add(base);
        match least.checked_sub(leaving) {
            Some(left) if left >= self.limits.inventory_min => Ok(()),
            Some(_) | None => Err(Control::InventoryBand),
        }
    }
}
