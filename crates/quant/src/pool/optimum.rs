//! Arbitrage between a pool and the levels of a book in whole units: the most profitable amount
//! with every rounding of both legs.
//!
//! Rounding makes the profit rugged within a few units of that of divisible amounts, which is
//! concave. Amounts whose divisible profit is further below the best than rounding can add are
//! skipped. The rest are tried one by one if they are not too many.
//!
//! Source: derived here; checked against exhaustion.

use num_traits::Zero;

use super::ladder::{BookSide, Divisible, Level, Market};
use super::{Amount, Swap, exact};
use crate::error::{Result, require};
use crate::number::{Exact, Number};

/// The two legs of an amount.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Legs {
    /// Base traded on the book, before its fee.
    pub base_on_book: Amount,
    /// Paid to the pool: quote or base.
    pub pool_in: Amount,
    /// Received from the pool, before the order's fee.
    pub pool_out: Amount,
    /// Quote paid.
    pub cost: Amount,
    /// Quote received, after fees.
    pub revenue: Amount,
}

impl Legs {
    /// Revenue − cost if that is above 0; quote units.
    pub fn profit(&self) -> Option<Amount> {
        (self.revenue > self.cost).then(|| &self.revenue - &self.cost)
    }
}

/// The best amount.
#[derive(Clone, PartialEq, Debug)]
pub struct Optimum {
    /// Its legs; all 0 if no amount is profitable.
    pub legs: Legs,
    /// Whether every amount that could be more profitable was tried. Otherwise this is the best of
    /// a sample around the optimum for divisible amounts.
    pub is_proven: bool,
    /// Bound on the additional profit of a better amount, quote units: 0 if proven.
    pub shortfall: f64,
}

/// An amount on the book after its fee.
#[derive(Clone, Debug, Default)]
pub(super) struct BookLeg {
    /// Quote paid for asks, or received from bids.
    pub quote: Amount,
    /// Base received from asks, or paid to bids.
    pub base: Amount,
}

/// `⌈a·b⌉` or `⌊a·b⌋` of a price and an amount.
fn quote_for(price: &Exact, amount: &Amount, up: bool) -> Amount {
    let (numerator, denominator) = (price.numer().magnitude(), price.denom().magnitude());
    let product = amount * numerator;
    if up {
        (product + denominator - 1_u8) / denominator
    } else {
        product / denominator
    }
}

impl Market {
    /// The legs of an arbitrage with `base` on the book; `None` if the book or the pool does not hold
    /// as much.
    ///
    /// Each level is rounded as the venue's own fills are: a sale yields `⌊p·fill⌋` less
    /// `⌊quote·fee⌋`, a purchase costs `⌈p·fill⌉` and yields `fill − ⌊fill·fee⌋`. The pool leg uses
    /// the smallest input that gives the required output.
    pub fn legs(&self, base: &Amount) -> Option<Legs> {
        let book = self.book_leg(base)?;
        Some(match self.side {
            BookSide::Bids => {
                let (pool_in, pool_out) = self.buy_from_pool(base)?;
                Legs {
                    base_on_book: base.clone(),
                    cost: pool_in.clone(),
                    pool_in,
                    pool_out,
                    revenue: book.quote,
                }
            }
            BookSide::Asks => {
                let (pool_out, revenue) = self.sell_to_pool(&book.base)?;
                Legs {
                    base_on_book: base.clone(),
                    pool_in: book.base,
                    pool_out,
                    revenue,
                    cost: book.quote,
                }
            }
        })
    }

    /// `base` traded on the book, level by level; `None` if it does not hold as much.
    pub(super) fn book_leg(&self, base: &Amount) -> Option<BookLeg> {
        let mut left = base.clone();
        let mut leg = BookLeg::default();
        for level in &self.levels {
            if left.is_zero() {
                break;
            }
            let fill = left.clone().min(level.quantity.clone());
            match self.side {
                BookSide::Bids => {
                    let gross = quote_for(&level.price, &fill, false);
                    leg.quote += &gross - self.book_fee.taken(&gross);
                    leg.base += &fill;
                }
                BookSide::Asks => {
                    leg.quote += quote_for(&level.price, &fill, true);
                    leg.base += &fill - self.book_fee.taken(&fill);
                }
            }
            left -= fill;
        }
        left.is_zero().then_some(leg)
    }

    /// Quote paid to the pool for `net` base after the order's fee, and base before it.
    pub(super) fn buy_from_pool(&self, net: &Amount) -> Option<(Amount, Amount)> {
        let gross = self.before_order_fee(net);
        let swap = self.swap(&self.reserve_quote, &self.reserve_base)?;
        Some((swap.least_input(&gross)?, gross))
    }

    /// Quote received from the pool for base, before and after the order's fee.
    pub(super) fn sell_to_pool(&self, base: &Amount) -> Option<(Amount, Amount)> {
        let swap = self.swap(&self.reserve_base, &self.reserve_quote)?;
        let gross = swap.out(base);
        let net = &gross - self.order_fee.taken(&gross);
        Some((gross, net))
    }

    fn swap(&self, reserve_in: &Amount, reserve_out: &Amount) -> Option<Swap> {
        let (reserve_in, reserve_out) = (reserve_in.clone(), reserve_out.clone());
        Swap::new(reserve_in, reserve_out, self.pool_fee, self.convention).ok()
    }

    /// The smallest amount that leaves `net` after the order's fee.
    fn before_order_fee(&self, net: &Amount) -> Amount {
        let fee = self.order_fee;
        let mut gross = net * fee.of() / fee.kept();
        // Because of two roundings it may be one or two short, never more.
        while &gross - fee.taken(&gross) < *net {
            gross += 1_u8;
        }
        while !gross.is_zero() {
            let less = &gross - 1_u8;
            if &less - fee.taken(&less) < *net {
                break;
            }
            gross = less;
        }
        gross
    }

    /// The amount on the book, a multiple of `step` (the lot, above 0), with the highest profit;
    /// the smallest of those. At most `tries` amounts (16 or more) are tried.
    ///
    /// Exhaustive where that is possible, see [`Optimum::is_proven`]; the bound that makes it possible
    /// is derived here.
    pub fn whole_optimum(&self, step: &Amount, tries: usize) -> Result<Optimum> {
        require(!step.is_zero(), "step", "above 0")?;
        require(tries >= 16, "tries", "at least 16")?;
        let divisible = self.optimum()?;
        let total: Amount = self.levels.iter().map(|level| &level.quantity).sum();
        let last = &total / step;
        let centre = self.steps(&divisible, step).min(last.clone());
        let mut best = Legs::default();
        let near = Amount::from(tries as u64 / 4);
        let from = if centre > near {
            &centre - &near
        } else {
            Amount::zero()
        };
        let until = (&centre + &near).min(last.clone());
        self.try_all(from, &until, step, &mut best);
        let slack = self.slack(&divisible);
        let floor = best.profit().map_or(0.0, |profit| exact_f64(&profit)) - slack;
        let low = self.edge(&centre, &Amount::zero(), step, floor);
        let high = self.edge(&centre, &last, step, floor);
        let is_proven = &high - &low < Amount::from(tries as u64);
        if is_proven {
            best = Legs::default();
            self.try_all(low, &high, step, &mut best);
        } else {
            self.sample(&low, &high, step, tries / 2, &mut best);
        }
        let most = divisible.profit().max(0.0) + slack;
        let reached = best.profit().map_or(0.0, |profit| exact_f64(&profit));
        Ok(Optimum {
            legs: best,
            is_proven,
            shortfall: if is_proven {
                0.0
            } else {
                (most - reached).max(0.0)
            },
        })
    }

    /// Steps on the book of a divisible amount.
    fn steps(&self, divisible: &Divisible, step: &Amount) -> Amount {
        let gross = match self.side {
            BookSide::Bids => divisible.base,
            BookSide::Asks => divisible.base / self.book_fee.left().to_f64(),
        };
        let whole = Exact::from_float(gross.max(0.0)).map(|gross| gross.floor().to_integer());
        let whole = whole.and_then(|gross| gross.to_biguint());
        whole.unwrap_or_default() / step
    }

    /// Tries all amounts from `low` to `high` steps; of equal ones the first stays.
    fn try_all(&self, low: Amount, high: &Amount, step: &Amount, best: &mut Legs) {
        let mut at = low;
        while at <= *high {
            self.try_one(&(&at * step), best);
            at += 1_u8;
        }
    }

    fn try_one(&self, base: &Amount, best: &mut Legs) {
        let Some(legs) = self.legs(base) else { return };
        let more = match (legs.profit(), best.profit()) {
            (Some(one), Some(other)) => {
                one > other || (one == other && legs.base_on_book < best.base_on_book)
            }
            (Some(_), None) => true,
            (None, _) => false,
        };
        if more {
            *best = legs;
        }
    }

    /// Tries an even sample between `low` and `high`, and the amounts at which levels end.
    fn sample(&self, low: &Amount, high: &Amount, step: &Amount, tries: usize, best: &mut Legs) {
        let width = high - low;
        for i in 0..=tries {
            let at = low + &width * i as u64 / tries as u64;
            self.try_one(&(at * step), best);
        }
        let mut end = Amount::zero();
        for Level { quantity, .. } in self.levels.iter().take(tries) {
            end += quantity;
            let at = &end / step;
            for at in [at.clone(), at + 1_u8] {
                if at >= *low && at <= *high {
                    self.try_one(&(at * step), best);
                }
            }
        }
    }

    /// The step farthest from `centre` towards `end` at which a divisible amount has a profit of at
    /// least `floor`; the profit decreases in that direction.
    fn edge(&self, centre: &Amount, end: &Amount, step: &Amount, floor: f64) -> Amount {
        let earns = |at: &Amount| {
            let gross = exact_f64(&(at * step));
            let base = match self.side {
                BookSide::Bids => gross,
                BookSide::Asks => gross * self.book_fee.left().to_f64(),
            };
            self.of(base).profit() >= floor
        };
        let (mut near, mut far) = (centre.clone(), end.clone());
        if earns(&far) {
            return far;
        }
        loop {
            let middle = (&near + &far) >> 1_u8;
            if middle == near || middle == far {
                return far;
            }
            if earns(&middle) {
                near = middle;
            } else {
                far = middle;
            }
        }
    }

    /// By how much rounding can lift a profit above that of the divisible amount, and the error of
    /// floats; quote units.
    fn slack(&self, divisible: &Divisible) -> f64 {
        let prices = self.levels.iter().map(|level| level.price.to_f64());
        let dearest = prices.fold(0.0, f64::max);
        let spot = exact_f64(&self.reserve_quote) / exact_f64(&self.reserve_base);
        let unit = 1.0 + dearest.max(spot) * 2.0;
        // A unit for each level's fee, the order's, and the pool's input; the circuit's quotient of
        // 18 decimals is off by one part in 10¹⁸ of the output.
        let levels = self.levels.len() as f64 + 3.0;
        let quotient =
            (exact_f64(&self.reserve_quote) + exact_f64(&self.reserve_base) * unit) / 1e18;
        let floats = (divisible.cost + divisible.revenue) * 1e-12;
        levels * unit + 4.0 * quotient + floats
    }
}

fn exact_f64(amount: &Amount) -> f64 {
    exact(amount).to_f64()
}
