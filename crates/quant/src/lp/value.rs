//! The value of a position and its derivatives, without fees: `V = 2L√P`, `L = √(xy)`.

use crate::error::{Result, positive, require, solved};

/// A share of a pool when it was entered.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Position {
    /// The pool's base.
    pub reserve_base: f64,
    /// The pool's quote.
    pub reserve_quote: f64,
    /// Our share, above 0, at most 1.
    pub share: f64,
}

/// A position at a price. Quote, unless stated otherwise.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Valued {
    /// Our part of the pool's `L = √(xy)`.
    pub liquidity: f64,
    /// Value at entry.
    pub value_at_entry: f64,
    /// Value now.
    pub value: f64,
    /// Value now of what was contributed.
    pub value_if_held: f64,
    /// Value now against what was contributed, −1: impermanent loss, 0 or below.
    pub loss: f64,
    /// Impermanent loss from the ratio r of the prices: `2√r/(1+r) − 1`.
    pub loss_by_ratio: f64,
    /// Base due.
    pub base: f64,
    /// Quote due.
    pub quote: f64,
    /// `dV/dP = L/√P`: the base to sell short as a hedge.
    pub delta: f64,
    /// `d²V/dP² = −L/(2P^1.5)`; base for each unit of price.
    pub gamma: f64,
}

/// A position at a price, once others have traded the pool to it.
///
/// The algebra of constant-product pools: Angeris, Kao, Chiang, Noyes & Chitra, "An analysis of
/// Uniswap markets" (2019); the loss's table: Pintail, "Uniswap: a good deal for liquidity
/// providers?" (2019).
pub fn value(position: &Position, price: f64) -> Result<Valued> {
    let x = positive("base reserve", position.reserve_base)?;
    let y = positive("quote reserve", position.reserve_quote)?;
    let share = positive("share", position.share)?;
    require(share <= 1.0, "share", "at most 1")?;
    let price = positive("price", price)?;
    let liquidity = positive("liquidity", libm::sqrt(x) * libm::sqrt(y))?;
    let root = libm::sqrt(price);
    let own = liquidity * share;
    let value = solved("value", 2.0 * own * root)?;
    let held = share * (x * price + y);
    Ok(Valued {
        liquidity: own,
        value_at_entry: 2.0 * share * y,
        value,
        value_if_held: solved("value", held)?,
        loss: loss(x * price, y),
        loss_by_ratio: impermanent_loss(price * x / y)?,
        base: own / root,
        quote: own * root,
        delta: own / root,
        gamma: solved("gamma", -own / (2.0 * price * root))?,
    })
}

/// `2√(ab)/(a + b) − 1 = −(√a − √b)²/(a + b)`: the second form does not cancel.
fn loss(a: f64, b: f64) -> f64 {
    let off = (a - b) / (libm::sqrt(a) + libm::sqrt(b));
    -off * off / (a + b)
}

/// The value of a position against holding what was contributed, −1, when the price has changed by
/// the ratio r: `2√r/(1+r) − 1`, 0 or below.
///
/// Pintail, "Uniswap: a good deal for liquidity providers?" (2019).
pub fn impermanent_loss(ratio: f64) -> Result<f64> {
    Ok(loss(positive("ratio of prices", ratio)?, 1.0))
}
