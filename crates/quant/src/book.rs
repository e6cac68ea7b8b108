//! Price signals of an order book: mids, imbalances, averages over levels.
//!
//! Sources: the hftbacktest notebook "Market Making with Alpha – Order Book Imbalance", Stoikov's
//! "The micro-price" (2018) for the weighted mid. Generic over [`Number`]: floats live, exact
//! rationals where every digit matters. Callers remove their own orders first. A missing side, a
//! NaN, a size that is not above 0 or a crossed book gives an error, never a neutral value.

use crate::error::{Error, Result, require};
use crate::number::{Number, least, sum};

/// A price and the quantity that rests at it.
#[derive(Clone, PartialEq, Debug)]
pub struct Level<N> {
    /// Price.
    pub price: N,
    /// Quantity, above 0.
    pub quantity: N,
}

/// Both sides, best first; each has at least one level and the bids are below the asks.
#[derive(Clone, Copy, Debug)]
pub struct Book<'a, N> {
    bids: &'a [Level<N>],
    asks: &'a [Level<N>],
}

impl<'a, N: Number> Book<'a, N> {
    /// A book of the levels of both sides. An error if a side is missing or unordered, or the sides
    /// cross.
    pub fn new(bids: &'a [Level<N>], asks: &'a [Level<N>]) -> Result<Self> {
        for (name, side) in [("bids", bids), ("asks", asks)] {
            if side.is_empty() {
                return Err(Error::TooFew {
                    name,
                    needed: 1,
                    given: 0,
                });
            }
            let sound = |level: &Level<N>| {
                level.price.is_finite()
                    && level.price > N::zero()
                    && level.quantity.is_finite()
                    && level.quantity > N::zero()
            };
            require(
                side.iter().all(sound),
                name,
                "prices and quantities above 0",
            )?;
        }
        let falls = |pair: &[Level<N>]| pair[1].price < pair[0].price;
        let rises = |pair: &[Level<N>]| pair[1].price > pair[0].price;
        require(bids.windows(2).all(falls), "bids", "ordered, best first")?;
        require(asks.windows(2).all(rises), "asks", "ordered, best first")?;
        require(bids[0].price < asks[0].price, "book", "not crossed")?;
        Ok(Self { bids, asks })
    }

    /// The mean of the best prices.
    pub fn mid(&self) -> N {
        half(self.bids[0].price.clone() + self.asks[0].price.clone())
    }

    /// Best ask − best bid.
    pub fn spread(&self) -> N {
        self.asks[0].price.clone() - self.bids[0].price.clone()
    }

    /// `Q_bid/(Q_bid + Q_ask)` over the best `levels` of each side: 0 to 1, high when bids weigh more.
    pub fn imbalance(&self, levels: usize) -> Result<N> {
        let (bid, ask) = self.quantities(levels)?;
        Ok(bid.clone() / (bid + ask))
    }

    /// `(Q_bid − Q_ask)/(Q_bid + Q_ask)` over the best `levels` of each side: −1 to 1.
    pub fn signed_imbalance(&self, levels: usize) -> Result<N> {
        let (bid, ask) = self.quantities(levels)?;
        Ok((bid.clone() - ask.clone()) / (bid + ask))
    }

    /// `P_ask·I + P_bid·(1 − I)` with the imbalance of the best level (Stoikov 2018, section 2).
    pub fn weighted_mid(&self) -> N {
        let (bid, ask) = (&self.bids[0], &self.asks[0]);
        (ask.price.clone() * bid.quantity.clone() + bid.price.clone() * ask.quantity.clone())
            / (bid.quantity.clone() + ask.quantity.clone())
    }

    /// Volume-adjusted mid: prices of levels, each weighted with the quantity of the level across,
    /// over as many of the best `levels` as both sides have.
    pub fn vamp(&self, levels: usize) -> Result<N> {
        let pairs = || self.bids.iter().zip(self.asks).take(levels);
        require(levels > 0, "levels", "at least 1")?;
        let prices = sum(pairs().map(|(bid, ask)| {
            bid.price.clone() * ask.quantity.clone() + ask.price.clone() * bid.quantity.clone()
        }));
        let quantities = sum(pairs().map(|(bid, ask)| bid.quantity.clone() + ask.quantity.clone()));
        Ok(prices / quantities)
    }

    /// The volume-adjusted mid of the sides' average prices: `(P_b·Q_a + P_a·Q_b)/(Q_a + Q_b)` over
    /// the best `levels` of each.
    pub fn effective_vamp(&self, levels: usize) -> Result<N> {
        let (bid, ask) = self.quantities(levels)?;
        let bid_price = notional(self.bids, levels) / bid.clone();
        let ask_price = notional(self.asks, levels) / ask.clone();
        Ok((bid_price * ask.clone() + ask_price * bid.clone()) / (bid + ask))
    }

    /// The average price of everything that rests in the best `levels` of both sides.
    pub fn weighted_depth_price(&self, levels: usize) -> Result<N> {
        let (bid, ask) = self.quantities(levels)?;
        Ok((notional(self.bids, levels) + notional(self.asks, levels)) / (bid + ask))
    }

    /// The average price of selling `quantity` into the bids; `None` when they hold less.
    pub fn bid_price_for(&self, quantity: &N) -> Result<Option<N>> {
        price_for(self.bids, quantity)
    }

    /// The average price of buying `quantity` from the asks; `None` when they hold less.
    pub fn ask_price_for(&self, quantity: &N) -> Result<Option<N>> {
        price_for(self.asks, quantity)
    }

    /// The mean of both; `None` when one side holds less.
    pub fn mid_for(&self, quantity: &N) -> Result<Option<N>> {
        let (bid, ask) = (self.bid_price_for(quantity)?, self.ask_price_for(quantity)?);
        Ok(bid.zip(ask).map(|(bid, ask)| half(bid + ask)))
    }

    /// Quantity of the bids less quantity of the asks within `width` of the mid, both ends
    /// included: the input of [`Standardised`].
    pub fn depth_difference(&self, width: &N) -> Result<N> {
        require(
            width.is_finite() && *width >= N::zero(),
            "width",
            "a finite number from 0",
        )?;
        let mid = self.mid();
        let (low, high) = (mid.clone() - width.clone(), mid + width.clone());
        let within = |side: &[Level<N>], inside: &dyn Fn(&N) -> bool| {
            sum(side
                .iter()
                .filter(|level| inside(&level.price))
                .map(|level| level.quantity.clone()))
        };
        Ok(within(self.bids, &|price| *price >= low) - within(self.asks, &|price| *price <= high))
    }

    fn quantities(&self, levels: usize) -> Result<(N, N)> {
        require(levels > 0, "levels", "at least 1")?;
        let side =
            |side: &[Level<N>]| sum(side.iter().take(levels).map(|level| level.quantity.clone()));
        Ok((side(self.bids), side(self.asks)))
    }
}

fn half<N: Number>(value: N) -> N {
    value / N::whole(2)
}

fn notional<N: Number>(side: &[Level<N>], levels: usize) -> N {
    sum(side
        .iter()
        .take(levels)
        .map(|level| level.price.clone() * level.quantity.clone()))
}

fn price_for<N: Number>(side: &[Level<N>], quantity: &N) -> Result<Option<N>> {
    require(
        quantity.is_finite() && *quantity > N::zero(),
        "quantity",
        "a finite number above 0",
    )?;
    let (mut left, mut paid) = (quantity.clone(), N::zero());
    for level in side {
        let taken = least(left.clone(), level.quantity.clone());
        paid = paid + taken.clone() * level.price.clone();
        left = left - taken;
        if left <= N::zero() {
            return Ok(Some(paid / quantity.clone()));
        }
    }
    Ok(None)
}

/// A signal relative to its recent past: `(x − mean)/sd` over a window of the last values,
/// including this one, as hftbacktest's imbalance notebook standardises [`Book::depth_difference`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Standardised {
    window: usize,
    values: std::collections::VecDeque<f64>,
}

impl Standardised {
    /// A window of `window` values, from 2 to 100,000.
    pub fn new(window: usize) -> Result<Self> {
        require(
            (2..=100_000).contains(&window),
            "window",
            "from 2 to 100000 values",
        )?;
        Ok(Self {
            window,
            values: std::collections::VecDeque::new(),
        })
    }

    /// Adds a value and returns its standard score; `None` until the window is full, and while all
    /// values in it are equal.
    pub fn push(&mut self, value: f64) -> Result<Option<f64>> {
        let value = crate::error::finite("signal", value)?;
        if self.values.len() >= self.window {
            self.values.pop_front();
        }
        self.values.push_back(value);
        if self.values.len() < self.window {
            return Ok(None);
        }
        let n = self.values.len() as f64;
        let mean = self.values.iter().sum::<f64>() / n;
        let squares: f64 = self.values.iter().map(|x| (x - mean) * (x - mean)).sum();
        let sd = libm::sqrt(squares / n);
        Ok((sd > 0.0).then(|| (value - mean) / sd))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;

    fn side(levels: &[(f64, f64)]) -> Vec<Level<f64>> {
        let level = |&(price, quantity): &(f64, f64)| Level { price, quantity };
        levels.iter().map(level).collect()
    }

    /// Printed rows of BAC on 2011-03-01 in the notebook of the paper's author
    /// (sstoikov/microprice).
    #[test]
    fn rows_match_the_notebook() {
        for (bid, ask, imbalance, weighted) in [
            (20.0, 471.0, 0.040_733, 14.330_407),
            (25.0, 148.0, 0.144_509, 14.331_445),
            (31.0, 95.0, 0.246_032, 14.332_460),
            (29.0, 92.0, 0.239_669, 14.332_397),
            (21.0, 65.0, 0.244_186, 14.332_442),
        ] {
            let (bids, asks) = (side(&[(14.33, bid)]), side(&[(14.34, ask)]));
            let book = Book::new(&bids, &asks).unwrap();
            assert!((book.imbalance(1).unwrap() - imbalance).abs() < 5e-7);
            assert!((book.weighted_mid() - weighted).abs() < 5e-7);
            assert!((book.vamp(1).unwrap() - weighted).abs() < 5e-7);
        }
    }

    #[test]
    fn averages_over_levels() {
        let bids = side(&[(99.0, 2.0), (98.0, 2.0), (90.0, 1.0)]);
        let asks = side(&[(101.0, 1.0), (103.0, 3.0)]);
        let book = Book::new(&bids, &asks).unwrap();
        assert!((book.mid() - 100.0).abs() < 1e-12);
        assert!((book.bid_price_for(&3.0).unwrap().unwrap() - (198.0 + 98.0) / 3.0).abs() < 1e-12);
        assert_eq!(book.bid_price_for(&5.5).unwrap(), None);
        assert_eq!(book.mid_for(&4.5).unwrap(), None);
        assert!((book.imbalance(9).unwrap() - 5.0 / 9.0).abs() < 1e-12);
        assert!((book.depth_difference(&2.0).unwrap() - 3.0).abs() < 1e-12);
        assert!((book.signed_imbalance(1).unwrap() - 1.0 / 3.0).abs() < 1e-12);
        for bad in [0.0, -1.0, f64::NAN] {
            assert!(book.bid_price_for(&bad).is_err());
        }
        assert!(book.vamp(0).is_err() && book.imbalance(0).is_err());
        assert!(book.depth_difference(&f64::NAN).is_err());
    }

    #[test]
    fn invalid_books_are_refused() {
        let (bids, asks) = (side(&[(99.0, 2.0)]), side(&[(101.0, 1.0)]));
        assert!(Book::new(&bids, &[]).is_err() && Book::new(&[], &asks).is_err());
        assert!(Book::new(&asks, &bids).is_err());
        for bad in [
            side(&[(99.0, 0.0)]),
            side(&[(f64::NAN, 1.0)]),
            side(&[(99.0, f64::INFINITY)]),
            side(&[(98.0, 1.0), (99.0, 1.0)]),
        ] {
            assert!(Book::new(&bad, &asks).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_standardised_signal_waits_for_its_window() {
        let mut signal = Standardised::new(4).unwrap();
        for value in [1.0, 1.0, 1.0] {
            assert_eq!(signal.push(value).unwrap(), None);
        }
        assert_eq!(signal.push(1.0).unwrap(), None, "nothing varies");
        let last = signal.push(5.0).unwrap().unwrap();
        assert!((last - 3.0 / libm::sqrt(3.0)).abs() < 1e-12);
        assert!(signal.push(f64::NAN).is_err());
        assert!(Standardised::new(1).is_err());
    }
}
