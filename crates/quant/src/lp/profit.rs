//! The profit of a position in a pool: the price change of what was contributed, impermanent loss,
//! fees. Their sum is the change of its value, whatever the prices of pool and book at the end.

use crate::error::{Result, positive, require, solved};

/// A pool at one moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Snapshot {
    /// The pool's base.
    pub reserve_base: f64,
    /// The pool's quote.
    pub reserve_quote: f64,
    /// LP units in existence.
    pub supply: f64,
    /// The book's mid, quote for each base.
    pub mid: f64,
}

/// The components of the change of a position's value; quote.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Split {
    /// Change of the value of what was contributed, by the move of the mid.
    pub price: f64,
    /// Loss against holding what was contributed: 0 or below where the pool follows the mid.
    pub impermanent: f64,
    /// Growth of `√(xy)` for each LP unit: fees, and remainders of other holders' exits.
    pub fees: f64,
    /// Value at the start, at the mid.
    pub value_start: f64,
    /// Value at the end, at the mid.
    pub value_end: f64,
}

impl Split {
    /// The change of the value: the sum of the three parts.
    pub fn total(&self) -> f64 {
        self.value_end - self.value_start
    }
}

impl Snapshot {
    fn check(&self) -> Result<()> {
        for (name, value) in [
            ("base reserve", self.reserve_base),
            ("quote reserve", self.reserve_quote),
            ("LP supply", self.supply),
            ("mid", self.mid),
        ] {
            positive(name, value)?;
        }
        Ok(())
    }

    /// `√(xy)` for each LP unit.
    fn liquidity(&self) -> f64 {
        libm::sqrt(self.reserve_base) * libm::sqrt(self.reserve_quote) / self.supply
    }

    /// Value of the reserves behind one LP unit at a mid.
    fn worth(&self, mid: f64) -> f64 {
        (self.reserve_base * mid + self.reserve_quote) / self.supply
    }
}

/// The components for `held` LP units between two snapshots of a pool without a join or exit of our
/// own in between; with some, split each interval.
///
/// Fees as growth of `√(xy)/S`: Uniswap v2's protocol fee ("Uniswap v2 Core", 2020, section 2.4).
pub fn split(held: f64, start: &Snapshot, end: &Snapshot) -> Result<Split> {
    positive("LP units", held)?;
    start.check()?;
    end.check()?;
    require(
        held <= start.supply * (1.0 + 1e-9) && held <= end.supply * (1.0 + 1e-9),
        "LP units",
        "at most the supply",
    )?;
    // The value of a unit of √(xy) at the end: P/√p + √p, p the pool's price.
    let root = libm::sqrt(end.reserve_quote / end.reserve_base);
    let each = end.mid / root + root;
    let (before, after) = (start.liquidity(), end.liquidity());
    let held_through = start.worth(end.mid);
    Ok(Split {
        price: solved(
            "price",
            held * start.reserve_base / start.supply * (end.mid - start.mid),
        )?,
        impermanent: solved("impermanent loss", held * (before * each - held_through))?,
        fees: solved("fees", held * (after - before) * each)?,
        value_start: held * start.worth(start.mid),
        value_end: held * end.worth(end.mid),
    })
}
