//! A pool's curve as levels of a book: the amounts it would sell and buy between prices, so that a
//! quoter can offer the same on the book.

use crate::error::{Error, Result, fraction, positive, require, solved};

/// A constant-product curve, whole or between two prices.
///
/// A position of Uniswap v3 ("Uniswap v3 Core", 2021, section 6.2) behaves between its prices like
/// a whole pool with the same liquidity, and has one token outside.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Curve {
    liquidity: f64,
    low: f64,
    high: f64,
}

/// The amounts due to a position at a price.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Due {
    /// Base.
    pub base: f64,
    /// Quote.
    pub quote: f64,
}

/// One step of the curve as an order.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rung {
    /// The price of the order, ticks: at the far end of its step, so that it is never better than
    /// the curve, and moved out by the fee.
    pub price: i64,
    /// Base that the curve trades within the step.
    pub quantity: f64,
}

/// Most levels of one side.
const LEVELS_MAX: usize = 10_000;

impl Curve {
    /// A whole pool with `liquidity = √(base·quote)`.
    pub fn whole(liquidity: f64) -> Result<Self> {
        Ok(Self {
            liquidity: positive("liquidity", liquidity)?,
            low: 0.0,
            high: f64::INFINITY,
        })
    }

    /// Liquidity between two prices only.
    pub fn between(liquidity: f64, low: f64, high: f64) -> Result<Self> {
        let low = positive("low price", low)?;
        let high = positive("high price", high)?;
        require(low < high, "low price", "below the high price")?;
        Ok(Self {
            liquidity: positive("liquidity", liquidity)?,
            low,
            high,
        })
    }

    /// What is due at a price: `L(1/√P − 1/√high)` base and `L(√P − √low)` quote, the price moved
    /// into the range.
    pub fn due(&self, price: f64) -> Result<Due> {
        let price = positive("price", price)?.clamp(self.low, self.high);
        Ok(Due {
            base: self.base_between(price, self.high),
            quote: solved(
                "quote",
                self.liquidity * (libm::sqrt(price) - libm::sqrt(self.low)),
            )?,
        })
    }

    /// The derivative of the position's value by the price, base: the amount a hedge sells short.
    pub fn delta(&self, price: f64) -> Result<f64> {
        self.due(price).map(|due| due.base)
    }

    /// Base that the curve sells on the way from one price up to another, both inside the range:
    /// `L(1/√P − 1/√P')`, in a form without cancellation.
    fn base_between(&self, low: f64, high: f64) -> f64 {
        if high.is_infinite() {
            return self.liquidity / libm::sqrt(low);
        }
        let (a, b) = (libm::sqrt(low), libm::sqrt(high));
        self.liquidity * (high - low) / (a * b * (a + b))
    }

    /// Orders that follow the curve upwards from a price (asks): a step is `step` ticks wide and sold
    /// at its upper end, the price divided by `1 − fee` and rounded up. Prices in ticks, the
    /// liquidity in base·√(ticks). Steps outside the range are left out.
    ///
    /// Range orders as levels ("Uniswap v3 Core", section 6.2).
    pub fn asks(&self, price: f64, step: u32, levels: usize, fee: f64) -> Result<Vec<Rung>> {
        let (price, kept) = checked(price, step, levels, fee)?;
        let mut made = Vec::new();
        for level in 0..levels {
            let at = |i: usize| price + i as f64 * f64::from(step);
            let (low, high) = (at(level).max(self.low), at(level + 1).min(self.high));
            if high <= low {
                continue;
            }
            made.push(Rung {
                price: whole(libm::ceil(high / kept))?,
                quantity: solved("quantity", self.base_between(low, high))?,
            });
        }
        Ok(made)
    }

    /// Orders that follow the curve downwards from a price (bids): each step bought at its lower end,
    /// the price times `1 − fee` and rounded down; none below one tick.
    ///
    /// As [`Curve::asks`].
    pub fn bids(&self, price: f64, step: u32, levels: usize, fee: f64) -> Result<Vec<Rung>> {
        let (price, kept) = checked(price, step, levels, fee)?;
        let mut made = Vec::new();
        for level in 0..levels {
            let at = |i: usize| price - i as f64 * f64::from(step);
            let (low, high) = (at(level + 1).max(self.low), at(level).min(self.high));
            if low * kept < 1.0 {
                break;
            }
            if high <= low {
                continue;
            }
            made.push(Rung {
                price: whole(libm::floor(low * kept))?,
                quantity: solved("quantity", self.base_between(low, high))?,
            });
        }
        Ok(made)
    }
}

/// The price, and `1 − fee`.
fn checked(price: f64, step: u32, levels: usize, fee: f64) -> Result<(f64, f64)> {
    require(step >= 1, "step", "at least 1 tick")?;
    require(levels <= LEVELS_MAX, "levels", "at most 10000")?;
    let fee = fraction("fee", fee)?;
    Ok((positive("price", price)?, 1.0 - fee))
}

/// A whole number of ticks.
fn whole(price: f64) -> Result<i64> {
    use crate::number::Number;
    price
        .floor_to_i64()
        .ok_or(Error::NoSolution { name: "price" })
}
