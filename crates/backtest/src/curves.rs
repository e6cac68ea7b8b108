//! Series of a run for charts, in bounded memory: samples and fills, decimated as they grow.

use cambist_core::{Amount, MarketId, Price, Side};
use cambist_market_data::Timestamp;

use crate::sink::{FillRow, SampleRow};

/// Most points kept of one series; more than a chart can show.
const POINTS_MAX: usize = 2_048;

/// A series that is decimated evenly: when it is full, every second value is dropped. The newest value is kept as well.
#[derive(Clone, Debug)]
pub struct Thinned<T> {
    kept: Vec<T>,
    /// The newest value, where it is not among those.
    newest: Option<T>,
    every: u64,
    count: u64,
}

impl<T> Default for Thinned<T> {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            newest: None,
            every: 1,
            count: 0,
        }
    }
}

impl<T> Thinned<T> {
    /// Adds a value.
    pub fn push(&mut self, value: T) {
        let is_kept = self.count.is_multiple_of(self.every);
        self.count += 1;
        self.newest = None;
        if !is_kept {
            self.newest = Some(value);
            return;
        }
        if self.kept.len() == POINTS_MAX {
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every *= 2;
            if !(self.count - 1).is_multiple_of(self.every) {
                self.newest = Some(value);
                return;
            }
        }
        self.kept.push(value);
    }

    /// The remaining values, in order.
    pub fn kept(&self) -> impl Iterator<Item = &T> + Clone {
        self.kept.iter().chain(&self.newest)
    }

    /// The number of values that were added.
    pub const fn count(&self) -> u64 {
        self.count
    }
}

/// The account at one time, in quote units; a value is missing while a mid is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EquityPoint {
    pub time: Timestamp,
    /// Value of all holdings.
    pub equity: Option<Amount>,
    /// Value of the initial balances at the same mids.
    pub holding: Option<Amount>,
}

impl EquityPoint {
    /// What trading has added: equity less the value of the initial balances.
    pub fn excess(&self) -> Option<i128> {
        let signed = |units: Option<Amount>| i128::try_from(units?).ok();
        signed(self.equity)?.checked_sub(signed(self.holding)?)
    }
}

/// The values of one market at one time.
#[derive(Clone, Copy, Debug)]
pub struct MarketPoint {
    pub time: Timestamp,
    pub mid: Option<u64>,
    pub quotes: [Option<Price>; 2],
    pub base: Amount,
}

/// A fill.
#[derive(Clone, Copy, Debug)]
pub struct FillPoint {
    pub time: Timestamp,
    pub side: Side,
    pub price: Price,
}

/// The series of one market.
#[derive(Clone, Debug, Default)]
pub struct MarketCurves {
    pub points: Thinned<MarketPoint>,
    pub fills: Thinned<FillPoint>,
}

/// The series of a run.
#[derive(Clone, Debug, Default)]
pub struct Curves {
    pub equity: Thinned<EquityPoint>,
    pub markets: Vec<MarketCurves>,
}

impl Curves {
    pub fn new(markets: usize) -> Self {
        Self {
            equity: Thinned::default(),
            markets: vec![MarketCurves::default(); markets],
        }
    }

    fn market(&mut self, id: MarketId) -> Option<&mut MarketCurves> {
        self.markets.get_mut(usize::from(id.0))
    }

    pub fn sample(&mut self, row: &SampleRow) {
        if row.market == MarketId(0) {
            self.equity.push(EquityPoint {
                time: row.time,
                equity: row.equity,
                holding: row.holding,
            });
        }
        if let Some(market) = self.market(row.market) {
            market.points.push(MarketPoint {
                time: row.time,
                mid: row.mid,
                quotes: row.quotes,
                base: row.base,
            });
        }
    }

    pub fn fill(&mut self, row: &FillRow) {
        if let Some(market) = self.market(row.market) {
            market.fills.push(FillPoint {
                time: row.time,
                side: row.side,
                price: row.price,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_stay_bounded_and_even_and_end_with_the_newest_value() {
        let mut thinned = Thinned::default();
        for value in 0..100_000_u64 {
            thinned.push(value);
            assert!(thinned.kept().count() <= POINTS_MAX + 1);
            assert_eq!(thinned.kept().last(), Some(&value));
        }
        assert_eq!(thinned.count(), 100_000);
        let kept: Vec<_> = thinned.kept().copied().collect();
        assert!(kept.len() > POINTS_MAX / 2, "{}", kept.len());
        let step = kept[1] - kept[0];
        let even = &kept[..kept.len() - 1];
        assert!(
            even.windows(2).all(|pair| pair[1] - pair[0] == step),
            "evenly, every {step}"
        );
        let mut few = Thinned::default();
        (0..10).for_each(|value| few.push(value));
        assert_eq!(few.kept().count(), 10);
    }

    #[test]
    fn an_excess_needs_both_values_and_may_be_negative() {
        let excess = |equity, holding| {
            let time = Timestamp(0);
            EquityPoint {
                time,
                equity,
                holding,
            }
            .excess()
        };
        assert_eq!(excess(Some(7), Some(9)), Some(-2));
        assert_eq!((excess(None, Some(9)), excess(Some(7), None)), (None, None));
    }
}
