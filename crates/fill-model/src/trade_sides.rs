//! At which side of the book trades are: a taker that buys trades at the asks.

use cambist_core::{Price, Side};
use cambist_market_data::Book;

/// Trades at a best price of the recorded book or beyond it. Those between the best prices are of neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TradeSides {
    /// On the other side than the taker's, as they must be.
    pub opposite: u64,
    /// On the side of the taker, such as a buy at the best bid: the book was late, or the recorded side is that of the
    /// order that rested.
    pub same: u64,
}

impl TradeSides {
    #[inline]
    pub(crate) fn add(&mut self, book: &Book, taker: Side, price: Price) {
        let reaches = |side: Side| {
            book.best(side).is_some_and(|best| match side {
                Side::Buy => price <= best,
                Side::Sell => price >= best,
            })
        };
        self.opposite += u64::from(reaches(taker.opposite()));
        self.same += u64::from(reaches(taker));
    }
}
