//! Arbitrage between a pool and the levels of a book, with divisible amounts: the optimum in closed
//! form, level by level, and the profit of any amount.
//!
//! Buying from the pool stops at a level with net price `b = p·(1 − t)` at
//! `D = (1 − s)·(x − √(xy/(φ(1 − s)b)))` of base received; selling to it, at `a = p/(1 − t)`, at
//! `D = (√(φ(1 − s)xy/a) − x)/φ` of base paid in. t is the book's fee, s that of the order to the pool,
//! both taken from what is received. Derived here.

use num_traits::{One, Zero};

use super::{Amount, Convention, Fee, exact};
use crate::error::{Result, require};
use crate::number::{Exact, Number};

/// The side of the book that the levels belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BookSide {
    /// Bids: an arbitrage buys base from the pool and sells it to them.
    Bids,
    /// Asks: an arbitrage buys base from them and sells it to the pool.
    Asks,
}

/// A level of the book.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Level {
    /// Quote units for each base unit, above 0.
    pub price: Exact,
    /// Base units.
    pub quantity: Amount,
}

/// A pool, one side of a book, and the costs of trading.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Market {
    /// Side of the book that the levels belong to.
    pub side: BookSide,
    /// The pool's base.
    pub reserve_base: Amount,
    /// The pool's quote.
    pub reserve_quote: Amount,
    /// The pool's fee, on what is paid in.
    pub pool_fee: Fee,
    /// The rounding convention of the pool.
    pub convention: Convention,
    /// Levels, best first: bids or asks.
    pub levels: Vec<Level>,
    /// The book's fee, from what is received.
    pub book_fee: Fee,
    /// The fee of the order to the pool, from what is received.
    pub order_fee: Fee,
}

/// The optimum for divisible amounts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Divisible {
    /// Base passed from one leg to the other, net of the first leg's fee; base units.
    pub base: f64,
    /// Quote paid for it.
    pub cost: f64,
    /// Quote received for it.
    pub revenue: f64,
}

impl Divisible {
    /// Revenue − cost, quote units.
    pub fn profit(&self) -> f64 {
        self.revenue - self.cost
    }
}

impl Market {
    /// An error if the reserves or levels are invalid.
    pub(super) fn check(&self) -> Result<()> {
        require(
            !self.reserve_base.is_zero() && !self.reserve_quote.is_zero(),
            "reserves",
            "above 0",
        )?;
        require(
            self.levels
                .iter()
                .all(|level| level.price > Exact::zero() && !level.quantity.is_zero()),
            "levels",
            "prices and quantities above 0",
        )?;
        let ordered = |pair: &[Level]| match self.side {
            BookSide::Bids => pair[0].price >= pair[1].price,
            BookSide::Asks => pair[0].price <= pair[1].price,
        };
        require(
            self.levels.windows(2).all(ordered),
            "levels",
            "ordered, best first",
        )
    }

    /// The optimum, level by level.
    pub fn optimum(&self) -> Result<Divisible> {
        self.check()?;
        let mut base = 0.0;
        for level in &self.levels {
            let limit = self.limit(&level.price);
            if limit <= base {
                break;
            }
            let available = base + self.net_quantity(level).to_f64();
            if limit <= available {
                base = limit;
                break;
            }
            base = available;
        }
        Ok(self.of(base))
    }

    /// The part of a level's quantity that reaches the other leg.
    fn net_quantity(&self, level: &Level) -> Exact {
        match self.side {
            BookSide::Bids => exact(&level.quantity),
            BookSide::Asks => exact(&level.quantity) * self.book_fee.left(),
        }
    }

    /// The base at which the pool's marginal price is that of a level.
    fn limit(&self, price: &Exact) -> f64 {
        match self.side {
            BookSide::Bids => self.bought_until(&(price * self.book_fee.left())),
            BookSide::Asks => self.sold_until(&(price / self.book_fee.left())),
        }
    }

    /// The base, after the order's fee, that the pool sells below a marginal price; below 0 where
    /// its price is above that from the start. Terms that cancel are computed exactly.
    pub(super) fn bought_until(&self, price: &Exact) -> f64 {
        // x − √(x·y/c) = x·(x − y/c)/(x + √(x·y/c)).
        let (x, y) = (exact(&self.reserve_base), exact(&self.reserve_quote));
        let worth = y / (self.pool_fee.left() * self.order_fee.left() * price);
        let root = libm::sqrt(x.to_f64() * worth.to_f64());
        let off = (x.clone() - worth).to_f64();
        self.order_fee.left().to_f64() * off * (x.to_f64() / (x.to_f64() + root))
    }

    /// The base that the pool buys above a marginal price after the order's fee; below 0 where its
    /// price is below that from the start.
    pub(super) fn sold_until(&self, price: &Exact) -> f64 {
        // √(x·z) − x = x·(z − x)/(√(x·z) + x).
        let (x, y) = (exact(&self.reserve_base), exact(&self.reserve_quote));
        let worth = self.pool_fee.left() * self.order_fee.left() * y / price;
        let root = libm::sqrt(x.to_f64() * worth.to_f64());
        let off = (worth - x.clone()).to_f64();
        off * (x.to_f64() / (root + x.to_f64())) / self.pool_fee.left().to_f64()
    }

    /// Cost and revenue of passing `base` from leg to leg. Base that the book does not take or the
    /// pool does not hold has no revenue and an infinite cost.
    pub(super) fn of(&self, base: f64) -> Divisible {
        let (x, y) = (
            exact(&self.reserve_base).to_f64(),
            exact(&self.reserve_quote).to_f64(),
        );
        let phi = self.pool_fee.left().to_f64();
        let order = self.order_fee.left().to_f64();
        let (gross, net) = self.on_book(base);
        match self.side {
            BookSide::Bids => {
                let received = base / order;
                let cost = if received < x {
                    y * received / (phi * (x - received))
                } else {
                    f64::INFINITY
                };
                Divisible {
                    base,
                    cost,
                    revenue: gross * net,
                }
            }
            BookSide::Asks => Divisible {
                base,
                cost: gross,
                revenue: order * y * phi * base / (x + phi * base),
            },
        }
    }

    /// The book's quote for `base`, and the fraction of it that is left after the fee.
    fn on_book(&self, base: f64) -> (f64, f64) {
        let mut left = base;
        let mut quote = 0.0;
        for level in &self.levels {
            let available = self.net_quantity(level).to_f64();
            let taken = left.min(available);
            let gross = taken / available * exact(&level.quantity).to_f64();
            quote += gross * level.price.to_f64();
            left -= taken;
            if left <= 0.0 {
                break;
            }
        }
        let net = match self.side {
            BookSide::Bids => self.book_fee.left(),
            BookSide::Asks => Exact::one(),
        };
        (quote, net.to_f64())
    }
}
