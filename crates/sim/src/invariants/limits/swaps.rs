//! Checks of a swap that is handed over for sealing: what the strategy asked for, its limits, and one at a time.

use cambist_core::config::{EngineConfig, PoolConfig};
use cambist_core::order::UnsignedOrder;
use cambist_core::strategy::{PoolView, WantedSwap};
use cambist_core::{Amount, MarketSpec, Side, Time};

use crate::invariants::limits::recent::MINUTE_MS;
use crate::invariants::limits::{Limits, StrategyCall, WHOLE_BPS};
use crate::invariants::sending::Broken;
use crate::invariants::table::Invariant;

impl Limits {
    /// Checks one swap, which has been counted among what may be alive. `share_bps` is what the ramp allows.
    pub(crate) fn check_swap(
        &self,
        shown: Time,
        order: &UnsignedOrder,
        call: Option<&StrategyCall>,
        (spec, engine): (&MarketSpec, &EngineConfig),
        broken: &mut Vec<Broken>,
    ) {
        let (id, market) = (order.client_id, order.market);
        let beside = self.alive.values().map(|alive| &alive.order);
        let mut beside = beside.filter(|o| o.is_swap() && o.market == market && o.client_id != id);
        if beside.next().is_some() || self.pool_transactions.values().any(|of| *of == market) {
            let detail = format!("{id} beside another transaction of its pool");
            broken.push((Invariant::SwapBeside, detail));
        }
        let ended = self.pool_ended.get(&market);
        if ended.is_some_and(|ended| self.pool_read.is_none_or(|read| read <= *ended)) {
            let detail = format!(
                "{id} on a pool read at {:?}, before {ended:?}",
                self.pool_read
            );
            broken.push((Invariant::SwapBeside, detail));
        }
        let Some((wanted, pool)) = call.and_then(|call| call.swap.zip(call.pool)) else {
            return broken.push((Invariant::Unwanted, format!("{id} swaps unasked")));
        };
        let share_bps = self.share_bps(shown, engine);
        if !is_within(order, &wanted, share_bps) {
            let detail = format!("{id}: {} for {}", order.sell_amount, order.buy_amount);
            broken.push((Invariant::Unwanted, detail));
        }
        let Some(config) = engine.pools.first() else {
            return broken.push((Invariant::Swap, format!("{id} without a pool")));
        };
        let made = self.swaps.count(shown, MINUTE_MS);
        if made >= config.swaps_per_min.into() {
            broken.push((Invariant::MessageRate, format!("{id} after {made} swaps")));
        }
        let mid = call.map_or(0, |call| call.mid);
        if let Some(what) = exceeds(order, (spec, config), &pool, mid) {
            broken.push((Invariant::Swap, format!("{id} {what}")));
        }
    }
}

/// Whether it sells no more than was wanted, in its direction, for no less at the same share of it.
fn is_within(order: &UnsignedOrder, wanted: &WantedSwap, share_bps: u128) -> bool {
    let sells = order.sell_amount * WHOLE_BPS <= wanted.sell * share_bps;
    // The least falls with the share, and never below it.
    let least = order.buy_amount * WHOLE_BPS >= wanted.least * share_bps
        || order.buy_amount * wanted.sell >= wanted.least * order.sell_amount;
    order.side == wanted.side && sells && least
}

/// The limit that it exceeds: direction of its tokens, least amount, value.
fn exceeds(
    order: &UnsignedOrder,
    (spec, config): (&MarketSpec, &PoolConfig),
    pool: &PoolView,
    mid: u64,
) -> Option<String> {
    let (sold, bought, tokens) = match order.side {
        Side::Buy => (pool.quote, pool.base, (spec.quote.id, spec.base.id)),
        Side::Sell => (pool.base, pool.quote, (spec.base.id, spec.quote.id)),
    };
    if (order.sell_token, order.buy_token) != tokens {
        return Some("sells another token".to_owned());
    }
    let kept = order.sell_amount * (WHOLE_BPS - u128::from(pool.swap.fee_bips));
    let paid = bought * kept / (sold * WHOLE_BPS + kept);
    let slippage = u128::from(config.slippage_bps);
    if order.buy_amount * WHOLE_BPS < paid * (WHOLE_BPS - slippage) {
        return Some(format!("accepts {} where {paid} is paid", order.buy_amount));
    }
    let most = order.most_bought();
    if most < order.buy_amount || most * WHOLE_BPS < paid * (WHOLE_BPS + slippage) {
        return Some(format!("reckons with {most} where {paid} is paid"));
    }
    let (base, quote): (Amount, Amount) = match order.side {
        Side::Buy => (most, order.sell_amount),
        Side::Sell => (order.sell_amount, most),
    };
    let worth = base * spec.quote_per_lot_tick * u128::from(mid) / (2 * spec.lot);
    let value = worth.max(quote);
    (value > config.swap_value_max).then(|| format!("is worth {value}"))
}
