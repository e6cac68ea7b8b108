//! The most that a market can lose after all control was lost: a bound, in integers.
//!
//! From the moment at which nothing new leaves until everything that rests is dead (ttl + grace), only
//! orders that passed the gate can fill. Let `b` be what is held then. The gate has seen to it that
//! every bid filling leaves `b + buys ≤ inventory_max` and every ask filling leaves
//! `b − sells ≥ inventory_min`; so `buys + sells ≤ inventory_max − inventory_min`, and also no more than
//! all open orders at their largest. Value is counted at the mid `p`. If it jumps by no more than `g`:
//!
//! - what is held afterwards is at most `inventory_max`, and loses at most `inventory_max · p · g`;
//! - what filled was at most `s` worse than the mid before the jump (the collar; for orders that may
//!   only rest, half the widest book, if that is less), and loses at most `(buys + sells) · p · s`;
//! - its fees are at most what was signed.

use serde::{Deserialize, Serialize};

use crate::config::{EngineConfig, MarketConfig};
use crate::market::{MarketSpec, Price};
use crate::token::Amount;

const WHOLE_BPS: u128 = 10_000;

/// The bound and its parts. Losses are quote units, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossBound {
    /// The price it is stated at.
    pub price: Price,
    /// The jump it is stated for.
    pub gap_bps: u32,
    /// Milliseconds from losing all control to the last order's death.
    pub dead_after_ms: u64,
    /// Most base units held.
    pub held: Amount,
    /// Most base units that can still fill, both sides together.
    pub fillable: Amount,
    /// Lost by the jump.
    pub by_gap: Amount,
    /// Lost by fills at their worst price.
    pub by_fills: Amount,
    /// Fees of those fills.
    pub by_fees: Amount,
}

impl LossBound {
    /// All parts.
    pub const fn total(&self) -> Amount {
        self.by_gap
            .saturating_add(self.by_fills)
            .saturating_add(self.by_fees)
    }
}

/// The bound of a market at a price, for a jump of `gap_bps`. `None` if it cannot be counted.
pub fn loss_bound(
    spec: &MarketSpec,
    config: &EngineConfig,
    limits: &MarketConfig,
    price: Price,
    gap_bps: u32,
) -> Option<LossBound> {
    let away = u128::from(price.0).checked_mul(u128::from(limits.collar_bps))? / WHOLE_BPS;
    let least = u64::try_from(u128::from(price.0).saturating_sub(away)).ok()?;
    let least = Price(least.max(limits.price_min.0).max(1));
    let per_order = spec
        .lots_affordable(limits.order_value_max, least)
        .min(limits.order_qty_max);
    let orders = Amount::from(limits.open_orders_max).checked_mul(2)?;
    let width = limits.inventory_max.checked_sub(limits.inventory_min)?;
    let resting = spec.base_amount(per_order)?.checked_mul(orders)?;
    let fillable = resting.min(width);
    let held = limits.inventory_max;
    let slip_bps = if config.maker_only {
        limits.collar_bps.min(limits.spread_max_bps.div_ceil(2))
    } else {
        limits.collar_bps
    };
    let share = |base: Amount, bps: u32| {
        // base units · quote units per lot and tick · ticks / base units per lot · bps
        let value = base
            .checked_mul(spec.quote_per_lot_tick)?
            .checked_mul(Amount::from(price.0))?
            .div_ceil(spec.lot);
        Some(value.checked_mul(Amount::from(bps))?.div_ceil(WHOLE_BPS))
    };
    Some(LossBound {
        price,
        gap_bps,
        dead_after_ms: config.ttl_ms.saturating_add(config.grace_ms),
        held,
        fillable,
        by_gap: share(held, gap_bps)?,
        by_fills: share(fillable, slip_bps)?,
        by_fees: share(fillable, u32::from(config.max_fee_bips))?,
    })
}
