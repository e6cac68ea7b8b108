//! Buying or selling an amount of base at the best price: split between a pool and the levels of a
//! book, both legs in whole units.
//!
//! Both are used until their marginal prices after fees meet: the condition of an optimal split
//! (Lagrange). Rounding is that of [`Market::legs`].

use num_traits::Zero;

use super::ladder::{BookSide, Market};
use super::{Amount, exact};
use crate::error::{Result, non_negative, positive, require, solved};
use crate::number::{Exact, Number};

/// One split of an amount.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// Base traded on the book, before its fee.
    pub base_on_book: Amount,
    /// Base bought from the pool after the order's fee, or sold to it.
    pub base_in_pool: Amount,
    /// Paid to the pool: quote for base that is bought, base that is sold.
    pub pool_in: Amount,
    /// Received from the pool, before the order's fee.
    pub pool_out: Amount,
    /// Quote paid for all, or received for all.
    pub quote: Amount,
}

/// Amounts tried around the optimum for divisible amounts.
const NEIGHBOURS: u8 = 3;

impl Market {
    /// The best split found to buy `base` (levels are asks; received after fees) or to sell it
    /// (levels are bids), with a multiple of `step` (the lot, above 0) on the book: least quote
    /// paid, or most received; of equals the one with less on the book. Never worse than the book
    /// alone or the pool alone where one of them suffices; `None` if both together do not.
    ///
    /// Optimal split of an order over venues by marginal prices; within the roundings of a step.
    pub fn route(&self, base: &Amount, step: &Amount) -> Result<Option<Route>> {
        self.check()?;
        require(!step.is_zero(), "step", "above 0")?;
        require(!base.is_zero(), "base", "above 0")?;
        let total: Amount = self.levels.iter().map(|level| &level.quantity).sum();
        let most = self.on_book_for(base).min(total) / step;
        let centre = self.split(base, step).min(most.clone());
        let mut candidates = vec![Amount::zero(), most.clone()];
        for near in 0..=NEIGHBOURS {
            candidates.push((&centre + near).min(most.clone()));
            if centre >= Amount::from(near) {
                candidates.push(&centre - near);
            }
        }
        candidates.sort();
        candidates.dedup();
        let routes = candidates
            .iter()
            .filter_map(|steps| self.routed(base, &(steps * step)));
        Ok(routes.reduce(|best, other| {
            let better = match self.side {
                BookSide::Asks => other.quote < best.quote,
                BookSide::Bids => other.quote > best.quote,
            };
            if better { other } else { best }
        }))
    }

    /// The amount on the book that trades `base` without the pool.
    fn on_book_for(&self, base: &Amount) -> Amount {
        match self.side {
            BookSide::Bids => base.clone(),
            BookSide::Asks => {
                let gross = (exact(base) / self.book_fee.left()).ceil().to_integer();
                // Fees are rounded down at every level: one unit more covers none of them.
                gross.to_biguint().unwrap_or_default()
            }
        }
    }

    /// Steps on the book where marginal prices meet.
    fn split(&self, base: &Amount, step: &Amount) -> Amount {
        let target = exact(base).to_f64();
        let net = match self.side {
            BookSide::Bids => 1.0,
            BookSide::Asks => self.book_fee.left().to_f64(),
        };
        let mut on_book = 0.0;
        for level in &self.levels {
            let in_pool = match self.side {
                BookSide::Asks => self.bought_until(&(&level.price / self.book_fee.left())),
                BookSide::Bids => self.sold_until(&(&level.price * self.book_fee.left())),
            }
            .max(0.0);
            if on_book + in_pool >= target {
                break;
            }
            let available = exact(&level.quantity).to_f64() * net;
            on_book += available.min(target - in_pool - on_book);
        }
        let gross = Exact::from_float((on_book / net).max(0.0));
        let whole = gross.and_then(|gross| gross.floor().to_integer().to_biguint());
        whole.unwrap_or_default() / step
    }

    /// The route with `on_book` on the book; `None` if the pool does not hold the rest.
    fn routed(&self, base: &Amount, on_book: &Amount) -> Option<Route> {
        let book = self.book_leg(on_book)?;
        let rest = if book.base < *base {
            base - &book.base
        } else {
            Amount::zero()
        };
        let route = |pool_in, pool_out, quote| Route {
            base_on_book: on_book.clone(),
            base_in_pool: rest.clone(),
            pool_in,
            pool_out,
            quote,
        };
        if rest.is_zero() {
            return Some(route(Amount::zero(), Amount::zero(), book.quote));
        }
        match self.side {
            BookSide::Asks => {
                let (paid, gross) = self.buy_from_pool(&rest)?;
                Some(route(paid.clone(), gross, book.quote + paid))
            }
            BookSide::Bids => {
                let (gross, net) = self.sell_to_pool(&rest)?;
                Some(route(rest.clone(), gross, book.quote + net))
            }
        }
    }
}

/// The possible loss when the second leg of `base` follows `seconds` after the first, at `z`
/// standard deviations: `z·σ·√seconds·base·price`, quote units; σ relative, 1/√s.
///
/// Standard deviation of a Brownian price: an arbitrage has to earn more than this.
pub fn leg_risk(base: &Amount, price: f64, sigma: f64, seconds: f64, z: f64) -> Result<f64> {
    let worth = positive("price", price)? * exact(base).to_f64();
    let move_ = non_negative("sigma", sigma)? * libm::sqrt(non_negative("seconds", seconds)?);
    solved(
        "leg risk",
        non_negative("standard deviations", z)? * move_ * worth,
    )
}
