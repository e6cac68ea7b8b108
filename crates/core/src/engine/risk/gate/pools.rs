//! The gate for joins and exits: the controls of orders that apply, and those of pools.

use crate::config::PoolConfig;
use crate::fence;
use crate::market::{MarketSpec, Price, Qty, Side};
use crate::notification::{Control, Withheld};
use crate::order::{ClientOrderId, StrategyId};
use crate::pool::{PoolBalances, PoolSpec, PoolTransactionKind};
use crate::shares::{self, Limits};
use crate::strategy::Owed;
use crate::token::{AMOUNT_MAX, Amount};
use crate::withheld::{Compared, Unit};

use super::{Approved, OrderCandidate, RiskContext};
use crate::engine::intents::pool_transactions::TrackedPoolTransaction;
use crate::engine::risk::controls::{READY, not_above_gross, not_below_band};

/// The inputs for joins and exits of a pool, besides the context of its market.
pub(crate) struct PoolSituation<'a> {
    pub(crate) spec: &'a PoolSpec,
    pub(crate) config: &'a PoolConfig,
    /// Index of the base token among the pooled ones.
    pub(crate) base_at: usize,
    /// Balances, known and fresh.
    pub(crate) balances: PoolBalances,
    /// What is owed to our shares, if it is known since the last transaction with the pool ended.
    pub(crate) owed: Option<Owed>,
    /// Our shares.
    pub(crate) held: Amount,
    /// The balances were read after the last transaction with the pool ended.
    pub(crate) is_read_since_last: bool,
    /// Swaps created within the last minute.
    pub(crate) swaps: u32,
}

impl PoolSituation<'_> {
    /// Base and quote that the pool's price and its swaps follow from.
    pub(crate) fn reserves(&self) -> (Amount, Amount) {
        let reserves = self.balances.reserves;
        (reserves[self.base_at], reserves[1 - self.base_at])
    }

    /// Whether shares are due nothing of a token because the price is outside of their range. Any other pool that holds
    /// nothing of a token has no price.
    fn is_without(&self, at: usize) -> bool {
        let balances = &self.balances;
        self.spec.in_range && balances.pooled[at] == 0 && balances.reserves[at] > 0
    }

    /// Whether the pool is open for swaps.
    pub(crate) fn takes_swaps(&self) -> Result<(), Withheld> {
        if self.spec.swaps {
            Ok(())
        } else {
            Err(Control::Permission.into())
        }
    }

    fn takes(&self, kind: PoolTransactionKind) -> Result<(), Withheld> {
        let open = match kind {
            PoolTransactionKind::Join => self.spec.joins,
            PoolTransactionKind::Exit => self.spec.exits,
        };
        if open {
            Ok(())
        } else {
            Err(Control::Permission.into())
        }
    }
}

/// A new join or exit before it has ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proposed {
    pub(crate) kind: PoolTransactionKind,
    pub(crate) limits: Limits,
    /// Amounts due to an exit at the current balances; zeros for a join.
    pub(crate) due: [Amount; 2],
    /// Amounts that an exit may receive: those due, and those owed as far as they are known; zeros for a join.
    pub(crate) coming: [Amount; 2],
    /// Shares held afterwards if it succeeds.
    pub(crate) after: Amount,
}

impl Proposed {
    /// The join or exit from `held` to `shares`; `None` if they are equal.
    pub(crate) fn between(
        pool: &PoolSituation<'_>,
        shares: Amount,
    ) -> Result<Option<Self>, Withheld> {
        let slippage_bps = pool.config.slippage_bps;
        let difference = shares.abs_diff(pool.held);
        if difference == 0 {
            return Ok(None);
        }
        let kind = if shares > pool.held {
            PoolTransactionKind::Join
        } else {
            PoolTransactionKind::Exit
        };
        let (limits, due) = match kind {
            PoolTransactionKind::Join => (
                shares::join(&pool.balances, difference, slippage_bps),
                Some([0, 0]),
            ),
            PoolTransactionKind::Exit => (
                shares::exit(&pool.balances, difference, slippage_bps),
                shares::due(&pool.balances, difference),
            ),
        };
        let (limits, due) = limits.zip(due).ok_or(Control::OrderAmount)?;
        let owed = pool
            .balances
            .owed
            .filter(|_| kind == PoolTransactionKind::Exit);
        let owed = owed.unwrap_or_default();
        Ok(Some(Self {
            kind,
            limits,
            due,
            coming: [0, 1].map(|at| due[at].saturating_add(owed[at])),
            after: shares,
        }))
    }

    /// Whether it may state 0 of a token: where the shares of a range have none of it, and for an exit of a range near
    /// its end, which has so little of it that slippage may take all.
    fn may_be_without(&self, pool: &PoolSituation<'_>, at: usize) -> bool {
        let is_exit = self.kind == PoolTransactionKind::Exit;
        pool.is_without(at) || (is_exit && pool.spec.in_range)
    }

    /// Whether it collects what is owed: an exit of one base unit of shares while enough is owed. Such an exit states no
    /// least amounts. What one unit of shares is due is all that it may miss, and so little that it changes with every
    /// price.
    fn is_collecting(&self, pool: &PoolSituation<'_>, market: &MarketSpec, mid: u64) -> bool {
        let is_least = self.kind == PoolTransactionKind::Exit && self.limits.lp == 1;
        is_least && pool.owed.is_some_and(|owed| owed.is_collected(market, mid))
    }
}

impl RiskContext<'_> {
    /// Judges a new join or exit by all controls.
    pub(crate) fn approve_pool_transaction(
        &self,
        pool: &PoolSituation<'_>,
        strategy: StrategyId,
        mut new: Proposed,
    ) -> Result<Approved<Proposed>, Withheld> {
        self.may_transact(strategy)?;
        pool.takes(new.kind)?;
        let mid = self.price_is_shared(pool)?;
        let is_collecting = new.is_collecting(pool, self.spec, mid);
        if is_collecting {
            new.limits.amounts = [0, 0];
        }
        let sane = |amount: Amount| amount > 0 && amount <= AMOUNT_MAX;
        let Limits { amounts, lp } = new.limits;
        let is_sane =
            |at: usize| sane(amounts[at]) || (amounts[at] == 0 && new.may_be_without(pool, at));
        let are_sane = is_sane(0) && is_sane(1) && amounts != [0, 0];
        if !(are_sane || is_collecting) || !sane(lp) {
            return Err(Control::OrderAmount.into());
        }
        let value = |pooled: [Amount; 2]| {
            let base = shares::quote_value(self.spec, pooled[pool.base_at], mid)?;
            base.checked_add(pooled[1 - pool.base_at])
        };
        let (moved, grows) = match new.kind {
            PoolTransactionKind::Join => (amounts, true),
            PoolTransactionKind::Exit => (new.due, false),
        };
        let worth = value(moved).ok_or(Control::OrderValue)?;
        let after = shares::due(&pool.balances, new.after).and_then(value);
        let too_much = |key, value: Option<Amount>, most: Amount| {
            let compared = Compared::of(Unit::Quote, key, value, most);
            Err(Withheld::compared(Control::OrderValue, compared))
        };
        if worth > pool.config.move_value_max {
            let most = pool.config.move_value_max;
            return too_much("market.pool.move_value_max", Some(worth), most);
        }
        if grows && after.is_none_or(|after| after > pool.config.value_max) {
            return too_much("market.pool.value_max", after, pool.config.value_max);
        }
        match new.kind {
            PoolTransactionKind::Join => self.join_is_covered(pool, amounts)?,
            PoolTransactionKind::Exit => self.exit_is_covered(pool, &new)?,
        }
        Ok(Approved(new))
    }

    /// Judges a sealed join or exit again immediately before its bytes are sent. Its amounts are already reserved; what
    /// may have changed is whether the pool's price is still acceptable.
    pub(crate) fn approve_pool_transaction_transmission(
        &self,
        pool: &PoolSituation<'_>,
        tracked: &TrackedPoolTransaction,
    ) -> Result<Approved<ClientOrderId>, Withheld> {
        self.may_transact(tracked.wanted.client_id.strategy)?;
        pool.takes(tracked.wanted.kind)?;
        self.price_is_shared(pool)?;
        let margin_ms = self.config.resend_margin_ms;
        if !fence::is_in_time(
            self.venue_now,
            tracked.lifecycle.lifetime.accepted_until,
            margin_ms,
        ) {
            let left_ms = tracked
                .lifecycle
                .lifetime
                .accepted_until
                .ms_since(self.venue_now);
            let key = "orders.resend_margin_ms";
            let compared = Compared::new(Unit::Ms, key, left_ms, margin_ms);
            return Err(Withheld::compared(Control::StaleData, compared));
        }
        Ok(Approved(tracked.wanted.client_id))
    }

    /// A join, an exit or a swap trades both tokens: a restriction of either side of the market forbids it.
    pub(crate) fn may_transact(&self, strategy: StrategyId) -> Result<(), Withheld> {
        let candidate = |side| OrderCandidate {
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
            on_book: false,
        };
        let mut sides = Side::BOTH.map(candidate).into_iter();
        sides.try_for_each(|side| READY.iter().try_for_each(|rule| self.ask(rule, &side)))
    }

    /// A pool whose price differs from the market's will be arbitraged, or its data are wrong: both are losses for a
    /// join or an exit now.
    fn price_is_shared(&self, pool: &PoolSituation<'_>) -> Result<u64, Withheld> {
        let mid = self.mid?;
        let (base, quote) = pool.reserves();
        let away = shares::divergence_bps(self.spec, base, quote, mid);
        let away = away.map(i64::unsigned_abs);
        let most = pool.config.divergence_max_bps;
        if away.is_some_and(|away| away <= u64::from(most)) {
            return Ok(mid);
        }
        let key = "market.pool.divergence_max_bps";
        let compared = Compared::of(Unit::Bps, key, away, most);
        Err(Withheld::compared(Control::PoolDivergence, compared))
    }

    fn join_is_covered(
        &self,
        pool: &PoolSituation<'_>,
        amounts: [Amount; 2],
    ) -> Result<(), Withheld> {
        let fees = [0, pool.config.fee_max];
        for at in 0..2 {
            let token = pool.spec.pooled[at];
            let unit = [Unit::Base, Unit::Quote][usize::from(at != pool.base_at)];
            let (needed, free) = (amounts[at].saturating_add(fees[at]), self.free(token));
            if needed > free {
                let compared = Compared::new(unit, "", needed, free);
                return Err(Withheld::compared(Control::Balance, compared));
            }
        }
        // Base counts where it is held; quote becomes part of the exposure.
        let after = self
            .gross
            .and_then(|g| g.checked_add(amounts[1 - pool.base_at]));
        not_above_gross(self, after)
            .map_err(|compared| Withheld::compared(Control::GrossExposure, compared))?;
        if let Some(shared) = self.shared {
            let kept = shared.keeps_exposure(after);
            kept.map_err(|compared| Withheld::compared(Control::PortfolioExposure, compared))?;
        }
        self.leaves_band(amounts[pool.base_at])
    }

    fn exit_is_covered(&self, pool: &PoolSituation<'_>, new: &Proposed) -> Result<(), Withheld> {
        let lp = pool.spec.lp.id;
        if new.limits.lp > self.free(lp) {
            return Err(Control::Balance.into());
        }
        // The fee is taken from the last token and must not consume what the exit yields.
        if pool.config.fee_max > new.limits.amounts[1] {
            let (fee, out) = (pool.config.fee_max, new.limits.amounts[1]);
            let unit = [Unit::Quote, Unit::Base][pool.base_at];
            let compared = Compared::new(unit, "market.pool.max_fee", fee, out);
            return Err(Withheld::compared(Control::OrderAmount, compared));
        }
        let token = self.spec.base.id;
        let (_, most) = self.ledger.bounds(token);
        let coming = self.orders.incoming(token);
        let coming = coming.saturating_add(new.coming[pool.base_at]);
        let (after, limit) = (most.saturating_add(coming), self.limits.inventory_max);
        if after > limit {
            let compared = Compared::new(Unit::Base, "market.inventory_max", after, limit);
            return Err(Withheld::compared(Control::InventoryBand, compared));
        }
        Ok(())
    }

    /// Whether the band holds after base has moved into the pool.
    fn leaves_band(&self, base: Amount) -> Result<(), Withheld> {
        let token = self.spec.base.id;
        let (least, _) = self.ledger.bounds(token);
        let leaving = self.orders.reserved(token).saturating_add(base);
        not_below_band(self, least, leaving)
            .map_err(|compared| Withheld::compared(Control::InventoryBand, compared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::pool::PoolSpec;
    use crate::{MarketId, TokenId, TokenSpec};

    /// From a holding of a hundred shares to each target: nothing, or the difference to the unit.
    #[test]
    fn a_difference_of_one_share_is_proposed_and_none_is_not() {
        let token = |id| TokenSpec {
            id: TokenId(id),
            symbol: format!("T{id}"),
            decimals: 0,
            precision: 0,
            minimum: 1,
            maximum: 1 << 60,
            dust: 0,
            enabled: true,
        };
        let spec = PoolSpec {
            market: MarketId(0),
            name: String::new(),
            address: [0; 20],
            pooled: [TokenId(0), TokenId(1)],
            lp: token(2),
            joins: true,
            exits: true,
            swaps: false,
            fee_bips: 0,
            in_range: false,
        };
        let config = PoolConfig {
            poll_ms: 1,
            age_max_ms: 1,
            slippage_bps: 0,
            divergence_max_bps: 1,
            move_value_max: 1,
            value_max: 1,
            fee_max: 0,
            swap_value_max: 0,
            collect_value: 0,
            swaps_per_min: 0,
        };
        let pool = PoolSituation {
            spec: &spec,
            config: &config,
            base_at: 0,
            balances: PoolBalances {
                owed: Some([7, 8]),
                ..PoolBalances::constant_product([1_000, 2_000], 1_000)
            },
            owed: None,
            held: 100,
            swaps: 0,
            is_read_since_last: true,
        };
        for (shares, kind, lp, due) in [
            (99, Some(PoolTransactionKind::Exit), 1, [1, 2]),
            (100, None, 0, [0, 0]),
            (101, Some(PoolTransactionKind::Join), 1, [0, 0]),
            (0, Some(PoolTransactionKind::Exit), 100, [100, 200]),
        ] {
            let proposed = Proposed::between(&pool, shares).expect("it is computable");
            assert_eq!(proposed.map(|new| new.kind), kind, "{shares}");
            let lots = proposed.map_or(0, |new| new.limits.lp);
            assert_eq!(lots, lp, "{shares}");
            assert_eq!(proposed.map_or(due, |new| new.due), due, "{shares}");
            // An exit pays out what is owed as well.
            let owed = if kind == Some(PoolTransactionKind::Exit) {
                [7, 8]
            } else {
                [0, 0]
            };
            let coming = [due[0] + owed[0], due[1] + owed[1]];
            assert_eq!(
                proposed.map_or(coming, |new| new.coming),
                coming,
                "{shares}"
            );
            assert_eq!(proposed.map_or(shares, |new| new.after), shares);
        }
    }
}
