//! Profit and loss of fills: cash and inventory, lots, and components of the profit. Generic over
//! [`Number`]:
//! with [`Exact`](crate::number::Exact) every identity holds to the last digit.
//!
//! `total = cash + inventory · mid = realised + unrealised = spread + inventory − fees`, whatever the
//! method of the lots. Fees are taken from base or quote; a fee in base is valued at the mid of its
//! fill.
//!
//! Sources: the identities are those of double entry, derived here; spreads and markouts
//! after Huang & Stoll 1996.

mod attribution;
mod lots;
mod markout;
#[cfg(test)]
mod tests;

pub use attribution::{Account, Attribution, account};
pub use lots::{AverageCost, Fifo, Lot};
pub use markout::{Markout, MarkoutTotals, markouts, totals};

use crate::error::{Error, Result, require};
use crate::number::Number;

/// The direction of a fill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Base received.
    Buy,
    /// Base paid.
    Sell,
}

/// The token a fee is taken from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fee<N> {
    /// Base units.
    Base(N),
    /// Quote units.
    Quote(N),
}

/// One fill.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fill<N> {
    /// Time, in the unit of the mids' times.
    pub time: i64,
    /// Direction.
    pub side: Side,
    /// Base traded, above 0.
    pub quantity: N,
    /// Quote for each base, above 0.
    pub price: N,
    /// The fee; negative is a rebate.
    pub fee: Fee<N>,
}

impl<N: Number> Fill<N> {
    /// 1 for a buy, −1 for a sale, times a value.
    fn signed(&self, value: N) -> N {
        match self.side {
            Side::Buy => value,
            Side::Sell => -value,
        }
    }

    /// `quantity · price`.
    fn notional(&self) -> N {
        self.quantity.clone() * self.price.clone()
    }

    /// The changes of base and quote, fees included.
    fn changes(&self) -> (N, N) {
        let base = self.signed(self.quantity.clone());
        let quote = -self.signed(self.notional());
        match &self.fee {
            Fee::Base(fee) => (base - fee.clone(), quote),
            Fee::Quote(fee) => (base, quote - fee.clone()),
        }
    }

    fn check(&self) -> Result<()> {
        let above = |value: &N| value.is_finite() && *value > N::zero();
        require(
            above(&self.quantity) && above(&self.price),
            "fill",
            "with a finite quantity and price above 0",
        )?;
        let (Fee::Base(fee) | Fee::Quote(fee)) = &self.fee;
        require(fee.is_finite(), "fee", "a finite number")?;
        let (base, _) = self.changes();
        require(
            self.signed(base) > N::zero(),
            "fee",
            "less than what is traded",
        )
    }
}

/// Mids in the order of time: the mid at a time is the last one not after it.
#[derive(Clone, Copy, Debug)]
pub struct Mids<'a, N>(&'a [(i64, N)]);

impl<'a, N: Number> Mids<'a, N> {
    /// Mids with their times, the times not falling.
    pub fn new(mids: &'a [(i64, N)]) -> Result<Self> {
        if mids.is_empty() {
            return Err(Error::TooFew {
                name: "mids",
                needed: 1,
                given: 0,
            });
        }
        let sound = |(_, mid): &(i64, N)| mid.is_finite() && *mid > N::zero();
        require(mids.iter().all(sound), "mids", "finite numbers above 0")?;
        require(
            mids.windows(2).all(|pair| pair[0].0 <= pair[1].0),
            "mids",
            "in the order of time",
        )?;
        Ok(Self(mids))
    }

    /// The mid at a time; `None` before the first.
    pub fn at(&self, time: i64) -> Option<&'a N> {
        let after = self.0.partition_point(|(at, _)| *at <= time);
        after.checked_sub(1).map(|index| &self.0[index].1)
    }

    /// The last mid.
    pub fn last(&self) -> &'a N {
        &self.0[self.0.len() - 1].1
    }

    /// The time of the last mid.
    pub fn end(&self) -> i64 {
        self.0[self.0.len() - 1].0
    }
}

/// Checks fills against mids: in the order of time, none before the first mid.
fn checked<N: Number>(fills: &[Fill<N>], mids: &Mids<'_, N>) -> Result<()> {
    for fill in fills {
        fill.check()?;
        require(
            mids.at(fill.time).is_some(),
            "fill",
            "not before the first mid",
        )?;
    }
    require(
        fills.windows(2).all(|pair| pair[0].time <= pair[1].time),
        "fills",
        "in the order of time",
    )
}
