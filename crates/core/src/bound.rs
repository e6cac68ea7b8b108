//! A bound on the loss of a market after all control is lost, in integers.
//!
//! From the moment nothing new is sent until the last order is dead (time to live + grace), only orders that passed the
//! gate can fill. Let `b` be the base held then. The gate ensures that filling all bids leaves `b + buys ≤
//! inventory_max` and filling all asks leaves `b − sells ≥ inventory_min`; so `buys + sells ≤ inventory_max −
//! inventory_min`, and also at most all open orders at their largest. Values are at the mid `p`. If it jumps by at most
//! `g`:
//!
//! - the base held afterwards is at most `inventory_max`, and loses at most `inventory_max · p · g`;
//! - fills were at most `s` worse than the mid before the jump (the collar; for orders that may only rest, half the
//!   widest book, if that is less), and lose at most `(buys + sells) · p · s`;
//! - their fees are at most the signed fees;
//! - shares of a pool worth `V` at the mid are worth at least `V · √(1 − g)` when others have traded the pool to the
//!   new price (the amounts due are then worth `2√(x·y·p)`, and the product does not fall); an undecided join or exit
//!   yields at most its signed slippage less, and costs its fee. Shares that are liquidity in a range of prices keep at
//!   least `V · (1 − g)`: their value is a concave function of the price that begins at 0, and at the lower end of the
//!   range they are base alone;
//! - of swaps with the pool at most one is undecided, of at most `swap_value_max`: the worst price that its amounts
//!   allow is within the collar, and its fee is at most the signed one. The base that it may still receive counts in
//!   `inventory_max` like that of a bid; what a pool pays beyond that costs nothing.
//!
//! All of this trusts the venue about the end of an order. If it keeps orders that it reported as cancelled, filled or
//! refused, everything signed whose fence has not passed can fill: at most the cap `K` of both sides together. Let `p`
//! be the highest mid since the oldest of these orders was signed, and let no mid since be lower than `p · (1 − g)`.
//! Then at most `inventory_max + K` is held; a bid was signed at a price of at most `p · (1 + c)` (`c`: the collar; the
//! order type is not signed), and an ask at no less than `p · (1 − g) · (1 − c)`; so the loss is at most
//! `(inventory_max + K) · p · g + K · p · c` and the fees. Reported fills and balances are trusted here as well: a
//! venue that invents them holds the money.
//!
//! `K` is finite because signatures lapse. Where an order rests until it is cancelled ([`Resting::UntilCancelled`]),
//! everything that was ever signed can fill at a venue that keeps ended orders, in both directions, again and again: the
//! figure is what the account holds of the two tokens, and no limit of the engine makes it smaller
//! ([`KeptLoss::Holdings`]). For the same reason nothing bounds the time until the last order is dead.

use serde::{Deserialize, Serialize};

use crate::config::{EngineConfig, MarketConfig, PoolConfig};
use crate::market::{MarketSpec, Price};
use crate::math::{mul_div_ceil, mul_div_floor};
use crate::token::Amount;
use crate::venue::{LifetimeRule, Resting};

const WHOLE_BPS: u128 = 10_000;
/// Precision of a root of ten-thousandths, in parts of one.
const PARTS: u128 = 1_000_000;

/// The bound and its parts. Losses are quote units, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossBound {
    /// The price it is stated at.
    pub price: Price,
    /// The jump it is stated for.
    pub gap_bps: u32,
    /// Milliseconds from the loss of control to the death of the last order; `None` where orders have no end of their
    /// own, and rest until they are filled or cancelled.
    pub dead_after_ms: Option<u64>,
    /// Most base units held.
    pub held: Amount,
    /// Most base units that can still fill, both sides together.
    pub fillable: Amount,
    /// Loss from the jump.
    pub by_gap: Amount,
    /// Loss from fills at their worst price.
    pub by_fills: Amount,
    /// Fees of those fills.
    pub by_fees: Amount,
    /// Loss in the pool beside it, if there is one: from the jump, and from an undecided join or exit.
    pub by_pool: Amount,
    /// Loss from an undecided swap at its worst price, and its fee.
    pub by_swap: Amount,
}

impl LossBound {
    /// Sum of all parts.
    pub const fn total(&self) -> Amount {
        self.by_gap
            .saturating_add(self.by_fills)
            .saturating_add(self.by_fees)
            .saturating_add(self.by_pool)
            .saturating_add(self.by_swap)
    }

    /// Adds the pool beside the market, with shares of the highest value that a join may reach.
    /// `collar_bps` and `max_fee_bips` are those that swaps sign.
    /// `in_range`: shares are liquidity in a range of prices.
    pub fn with_pool(
        self,
        pool: &PoolConfig,
        in_range: bool,
        collar_bps: u32,
        max_fee_bips: u8,
    ) -> Option<Self> {
        let left = WHOLE_BPS.saturating_sub(self.gap_bps.into());
        let kept = if in_range {
            mul_div_floor(pool.value_max, left, WHOLE_BPS)?
        } else {
            let root = (left * WHOLE_BPS * PARTS * PARTS).isqrt();
            mul_div_floor(pool.value_max, root, WHOLE_BPS * PARTS)?
        };
        let slipped = mul_div_ceil(pool.move_value_max, pool.slippage_bps.into(), WHOLE_BPS)?;
        let lost = pool.value_max - kept;
        let by_pool = lost.checked_add(slipped)?.checked_add(pool.fee_max)?;
        Self { by_pool, ..self }.with_swaps(pool, collar_bps, max_fee_bips)
    }

    /// Adds an undecided swap with the pool beside the market, without the shares.
    pub fn with_swaps(self, pool: &PoolConfig, collar_bps: u32, max_fee_bips: u8) -> Option<Self> {
        let worse_bps = Amount::from(collar_bps).checked_add(max_fee_bips.into())?;
        let by_swap = mul_div_ceil(pool.swap_value_max, worse_bps, WHOLE_BPS)?;
        Some(Self { by_swap, ..self })
    }
}

/// What a venue that keeps ended orders can cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeptLoss {
    /// At most this, because signatures lapse.
    Bounded(LossBound),
    /// All that the account holds of both tokens: no order ends by itself.
    Holdings,
}

impl KeptLoss {
    /// The bound, if there is one below what is held.
    pub const fn bound(&self) -> Option<&LossBound> {
        match self {
            Self::Bounded(bound) => Some(bound),
            Self::Holdings => None,
        }
    }
}

/// The bound of a market at a price, for a jump of `gap_bps`. `None` on overflow.
pub fn loss_bound(
    spec: &MarketSpec,
    (config, lifetime): (&EngineConfig, &LifetimeRule),
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
    let terms = (config, lifetime);
    bounded(spec, terms, (price, gap_bps), (held, fillable), slip_bps)
}

/// As [`loss_bound`], with a venue that keeps every signed order until its expiry and grace, or forever if it has no
/// expiry, whatever it reports about it. Without the pool part: joins and exits are few, and count there until their
/// end.
pub fn loss_bound_if_kept(
    spec: &MarketSpec,
    (config, lifetime): (&EngineConfig, &LifetimeRule),
    limits: &MarketConfig,
    price: Price,
    gap_bps: u32,
) -> Option<KeptLoss> {
    match lifetime.resting {
        Resting::WhileAccepted | Resting::UntilExpiry => {}
        Resting::UntilCancelled => return Some(KeptLoss::Holdings),
    }
    let fillable = limits.signed_unexpired_max;
    let held = limits.inventory_max.checked_add(fillable)?;
    let (terms, slip_bps) = ((config, lifetime), limits.collar_bps);
    bounded(spec, terms, (price, gap_bps), (held, fillable), slip_bps).map(KeptLoss::Bounded)
}

/// Loss of `held` through the jump, and of `filled` at that distance from the mid.
fn bounded(
    spec: &MarketSpec,
    (config, lifetime): (&EngineConfig, &LifetimeRule),
    (price, gap_bps): (Price, u32),
    (held, fillable): (Amount, Amount),
    slip_bps: u32,
) -> Option<LossBound> {
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
        dead_after_ms: lifetime.dead_after_ms(config.ttl_ms, config.grace_ms),
        held,
        fillable,
        by_gap: share(held, gap_bps)?,
        by_fills: share(fillable, slip_bps)?,
        by_fees: share(fillable, u32::from(config.max_fee_bips))?,
        by_pool: 0,
        by_swap: 0,
    })
}
