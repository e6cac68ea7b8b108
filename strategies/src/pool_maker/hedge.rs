//! What closing a leg with the pool costs at most, and the swap that does. Integers throughout; every rounding is
//! against us.
//!
//! Fills come in parts, and each part is hedged for itself. The amounts here hold for any number of parts: a pool with
//! reserves `x` of what is sold and `y`, which keeps its fee, pays the least for the same amount when that comes in
//! infinitely many parts, `y·(1 − r^g)` with `r = x/(x+s)` and `g = 1 − fee`. That is concave in `g`, so it is at least
//! `g·y·(1 − r)`: the fee taken from what is paid instead of what is sold. Buying `w` base costs at most
//! `y·((1+u)^(1/g) − 1)` with `u = w/(x−w)`, and by Bernoulli's inequality `(1+u)^e ≤ 1 + e·u` for `e = 1/g − 1 ≤ 1`
//! that is at most `y·u·(1 + e·(1+u))`.

use cambist_core::math::{mul_div_ceil, mul_div_floor};
use cambist_core::strategy::{PoolView, View, WantedSwap};
use cambist_core::swap::{cost_of, least, paid_for};
use cambist_core::{Amount, Price, Side};

const WHOLE: Amount = 10_000;

/// Fees above this have no bound here, because `e` would be above 1.
const FEE_MAX: Amount = WHOLE / 2;

fn part(amount: Amount, bips: Amount) -> Option<Amount> {
    mul_div_ceil(amount, bips, WHOLE)
}

/// Least quote, after all fees, for selling `base` in any number of parts. `None` for an empty pool, and on overflow.
pub(super) fn revenue(pool: &PoolView, base: Amount) -> Option<Amount> {
    let all = mul_div_floor(pool.quote, base, pool.base.checked_add(base)?)?;
    let paid = all.checked_sub(part(all, pool.swap.fee_bips.into())?)?;
    paid.checked_sub(part(paid, pool.swap.taker_fee_bips.into())?)
}

/// Most quote, with all fees, for `base` to arrive in any number of parts. `None` if the pool does not hold it, for a
/// fee above a half, and on overflow.
pub(super) fn cost(pool: &PoolView, base: Amount) -> Option<Amount> {
    let bought = with_fee(pool, base)?;
    let left = pool.base.checked_sub(bought).filter(|left| *left > 0)?;
    let fee_bips = Amount::from(pool.swap.fee_bips);
    if fee_bips > FEE_MAX {
        return None;
    }
    let net = mul_div_ceil(pool.quote, bought, left)?;
    let fee = mul_div_ceil(net, fee_bips, WHOLE - fee_bips)?;
    let on_fee = mul_div_ceil(fee, bought, left)?;
    net.checked_add(fee)?.checked_add(on_fee)
}

/// What has to be bought for `base` to be left after the venue's fee.
fn with_fee(pool: &PoolView, base: Amount) -> Option<Amount> {
    let kept = WHOLE.checked_sub(pool.swap.taker_fee_bips.into())?;
    mul_div_ceil(base, WHOLE, kept)
}

/// Most base of one swap: what its value may be, at the mid and at the pool's price.
pub(super) fn base_max(view: &View<'_>, pool: &PoolView) -> Amount {
    let terms = pool.swap;
    // The engine values a swap at its most: with its slippage, and with the fees.
    let fees = Amount::from(terms.fee_bips) + 2 * Amount::from(terms.taker_fee_bips);
    let more = WHOLE + Amount::from(terms.slippage_bps) + fees + 1;
    let value = mul_div_floor(terms.value_max, WHOLE, more).unwrap_or(0);
    let lots = view
        .market
        .lots_affordable(value, Price(view.mid.div_ceil(2)));
    let at_mid = view.market.base_amount(lots).unwrap_or(Amount::MAX);
    let in_pool = mul_div_floor(value, pool.base, pool.quote.saturating_add(value));
    at_mid.min(in_pool.unwrap_or(0))
}

/// Why a leg is not closed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    /// It is smaller than what the venue takes, or funds are missing.
    Small,
    /// The pool's price is this much beyond the mid, basis points.
    Away(Amount),
}

/// The swap that moves the holdings by `due` towards the target. It accepts `slippage_bps` less than the pool pays now,
/// within what the engine accepts, and no price further than `unwind_bps` beyond the mid.
pub(super) fn swap(
    view: &View<'_>,
    pool: &PoolView,
    (side, due): (Side, Amount),
    (slippage_bps, unwind_bps): (u32, u32),
) -> Result<WantedSwap, Open> {
    let base = due.min(base_max(view, pool));
    if base < view.market.lot || base < view.market.base.minimum {
        return Err(Open::Small);
    }
    let swap = wanted(
        view,
        pool,
        (side, base),
        slippage_bps.min(pool.swap.slippage_bps),
    );
    let (mut swap, paid) = swap.ok_or(Open::Small)?;
    let (sold, bought) = match side {
        Side::Sell => (view.holdings.base, view.market.quote.minimum),
        Side::Buy => (view.holdings.quote, view.market.base.minimum),
    };
    if swap.sell > sold || paid < bought {
        return Err(Open::Small);
    }
    let (floor, away) = within(view, &swap, paid, unwind_bps).ok_or(Open::Small)?;
    if floor > paid {
        return Err(Open::Away(away));
    }
    swap.least = swap.least.max(floor);
    Ok(swap)
}

/// The swap of so much base, and what the pool pays at the balances last read.
fn wanted(
    view: &View<'_>,
    pool: &PoolView,
    (side, base): (Side, Amount),
    slippage_bps: u32,
) -> Option<(WantedSwap, Amount)> {
    let fee_bips = pool.swap.fee_bips;
    let (sell, paid) = match side {
        Side::Sell => (base, paid_for(base, pool.base, pool.quote, fee_bips)?),
        Side::Buy => {
            let bought = with_fee(pool, base)?;
            let sell = cost_of(bought, pool.quote, pool.base, fee_bips)?;
            // Not more than is held: what is left is bought later.
            let sell = sell.min(view.holdings.quote);
            (sell, paid_for(sell, pool.quote, pool.base, fee_bips)?)
        }
    };
    let least = least(paid, slippage_bps)?.max(1);
    Some((WantedSwap { side, sell, least }, paid))
}

/// The least of a swap at a price `unwind_bps` beyond the mid, and how far beyond the mid the pool's price is, basis
/// points rounded up.
fn within(
    view: &View<'_>,
    swap: &WantedSwap,
    paid: Amount,
    unwind_bps: u32,
) -> Option<(Amount, Amount)> {
    let unwind = Amount::from(unwind_bps);
    // Quote of a base unit at the mid is `tick / lot`.
    let lot = view.market.lot.checked_mul(2)?;
    let tick = view
        .market
        .quote_per_lot_tick
        .checked_mul(view.mid.into())?;
    match swap.side {
        Side::Sell => {
            let worth = mul_div_ceil(swap.sell, tick, lot)?;
            let floor = mul_div_ceil(worth, WHOLE.saturating_sub(unwind), WHOLE)?;
            let share = mul_div_floor(paid, WHOLE, worth.max(1))?;
            Some((floor, WHOLE.saturating_sub(share)))
        }
        Side::Buy => {
            let worth = mul_div_ceil(swap.sell, lot, tick)?;
            let floor = mul_div_ceil(worth, WHOLE, WHOLE.checked_add(unwind)?)?;
            let share = mul_div_ceil(worth, WHOLE, paid.max(1))?;
            Some((floor, share.saturating_sub(WHOLE)))
        }
    }
}
