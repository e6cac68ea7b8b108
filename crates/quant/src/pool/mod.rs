//! Constant-product pools in whole units: swaps, shares and arbitrage, each by a named rounding
//! convention.
//!
//! With reserves x and y, a fee f and `φ = 1 − f`, an input a brings `y·φa/(x + φa)`, and the whole
//! input stays in the pool. Conventions differ in where they round; amounts here are exact at any
//! size. Which convention applies is a property of the venue.
//!
//! Sources: "Uniswap v2 Core" (2020) and its contracts; the circuits and contracts of Loopring/protocols.

pub mod arbitrage;
pub mod ladder;
pub mod optimum;
pub mod route;
pub mod shares;
#[cfg(test)]
mod tests;

use num_bigint::{BigInt, BigUint};
use num_traits::{One, Zero};

use crate::error::{Result, require};
use crate::number::Exact;

/// An amount in base units, of any size.
pub type Amount = BigUint;

/// A fee as parts of a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fee {
    parts: u64,
    of: u64,
}

impl Fee {
    /// `parts` of `of`; an error unless less than the whole.
    pub fn new(parts: u64, of: u64) -> Result<Self> {
        require(parts < of, "fee", "less than the whole")?;
        Ok(Self { parts, of })
    }

    /// Parts of ten thousand.
    pub fn bips(bips: u64) -> Result<Self> {
        Self::new(bips, 10_000)
    }

    /// What is left of the whole, in parts.
    pub(crate) fn kept(self) -> u64 {
        self.of - self.parts
    }

    /// The whole, in parts.
    pub(crate) fn of(self) -> u64 {
        self.of
    }

    /// The fee on an amount, rounded down.
    pub fn taken(self, amount: &Amount) -> Amount {
        amount * self.parts / self.of
    }

    /// The fraction that is left after the fee.
    pub fn left(self) -> Exact {
        Exact::new(self.kept().into(), self.of.into())
    }
}

/// Where results are rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Convention {
    /// The exact result, rounded down once (Uniswap v2: `UniswapV2Library.getAmountOut`).
    Floor,
    /// Fee and quotient are rounded before they are used (Loopring's layer-2 circuit,
    /// `MatchingGadgets.h`): `fee = ⌊a·f⌋`, `y = ⌊x·10¹⁸/(x + a − fee)⌋`, `out = ⌊Y·(10¹⁸ − y)/10¹⁸⌋`.
    Circuit,
}

/// One direction of a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Swap {
    reserve_in: Amount,
    reserve_out: Amount,
    fee: Fee,
    convention: Convention,
}

/// The circuit's unit.
fn unit() -> Amount {
    Amount::from(1_000_000_000_000_000_000_u64)
}

pub(crate) fn exact(amount: &Amount) -> Exact {
    Exact::from_integer(BigInt::from(amount.clone()))
}

impl Swap {
    /// A pool that takes in one token and pays the other; both reserves are above 0.
    pub fn new(
        reserve_in: Amount,
        reserve_out: Amount,
        fee: Fee,
        convention: Convention,
    ) -> Result<Self> {
        require(
            !reserve_in.is_zero() && !reserve_out.is_zero(),
            "reserves",
            "above 0",
        )?;
        Ok(Self {
            reserve_in,
            reserve_out,
            fee,
            convention,
        })
    }

    /// The output for an input; less than the reserve. Base units.
    pub fn out(&self, amount: &Amount) -> Amount {
        match self.convention {
            Convention::Floor => {
                let paid = amount * self.fee.kept();
                &self.reserve_out * &paid / (&self.reserve_in * self.fee.of + paid)
            }
            Convention::Circuit => {
                let worked = amount - self.fee.taken(amount);
                let rest = &self.reserve_in * unit() / (&self.reserve_in + worked);
                &self.reserve_out * (unit() - rest) / unit()
            }
        }
    }

    /// The output for an input without rounding.
    pub fn exact_out(&self, amount: &Amount) -> Exact {
        let paid = amount * self.fee.kept();
        let whole = &self.reserve_in * self.fee.of + &paid;
        exact(&(&self.reserve_out * paid)) / exact(&whole)
    }

    /// The smallest input that gives at least `output_min`; `None` if no input does.
    pub fn least_input(&self, output_min: &Amount) -> Option<Amount> {
        if output_min >= &self.reserve_out {
            return None;
        }
        let mut high = self.formula_input(output_min)?;
        // The circuit's rounding may need a little more; an output it cannot pay has no input at
        // all.
        let ceiling = &high * unit() + unit();
        while self.out(&high) < *output_min {
            high *= 2_u8;
            if high > ceiling {
                return None;
            }
        }
        let mut low = Amount::zero();
        while low < high {
            let middle = (&low + &high) >> 1_u8;
            if self.out(&middle) >= *output_min {
                high = middle;
            } else {
                low = middle + 1_u8;
            }
        }
        Some(low)
    }

    /// An input that gives at least `output_min` under [`Convention::Floor`], as the contracts compute
    /// it: `⌊x·out·d/((Y − out)(d − f))⌋ + 1` (`UniswapV2Library.getAmountIn`); it may be one too
    /// many. `None` if the pool holds no more than that.
    pub fn formula_input(&self, output_min: &Amount) -> Option<Amount> {
        if output_min >= &self.reserve_out {
            return None;
        }
        let left = (&self.reserve_out - output_min) * self.fee.kept();
        Some(&self.reserve_in * output_min * self.fee.of / left + Amount::one())
    }

    /// Output for each unit of input at the margin, without the fee: `Y/x`.
    pub fn spot(&self) -> Exact {
        exact(&self.reserve_out) / exact(&self.reserve_in)
    }

    /// Output for each unit of input at the margin, with the fee: `φ·Y/x`.
    pub fn marginal(&self) -> Exact {
        self.spot() * self.fee.left()
    }

    /// `1 − (out/in)/(Y/x)` of a swap: its cost relative to the spot price, fee included; `None`
    /// without an input.
    pub fn price_impact(&self, amount: &Amount, out: &Amount) -> Option<Exact> {
        if amount.is_zero() {
            return None;
        }
        Some(Exact::one() - exact(out) / exact(amount) / self.spot())
    }

    /// The pool after a swap; `None` if it does not hold `out`.
    pub fn after(&self, amount: &Amount, out: &Amount) -> Option<Self> {
        (out < &self.reserve_out).then(|| Self {
            reserve_in: &self.reserve_in + amount,
            reserve_out: &self.reserve_out - out,
            ..*self
        })
    }

    /// Whether a layer-2 circuit accepts a fill against this pool: the output is at most that of
    /// its own arithmetic, and the spot price (`⌊x·10¹⁸/Y⌋`) does not fall.
    ///
    /// Loopring/protocols, circuit/test/MatchingTests.cpp, `RequireAMMFills`.
    pub fn accepts(&self, amount: &Amount, out: &Amount) -> bool {
        let circuit = Self {
            convention: Convention::Circuit,
            ..self.clone()
        };
        let price = |swap: &Self| &swap.reserve_in * unit() / &swap.reserve_out;
        *out <= circuit.out(amount)
            && self
                .after(amount, out)
                .is_some_and(|after| price(&after) >= price(self))
    }

    /// Reserve of the token that is paid in.
    pub fn reserve_in(&self) -> &Amount {
        &self.reserve_in
    }

    /// Reserve of the token that is paid out.
    pub fn reserve_out(&self) -> &Amount {
        &self.reserve_out
    }
}
