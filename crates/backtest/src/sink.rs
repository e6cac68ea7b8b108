//! Where rows of results go while a backtest runs: it keeps none of them.

use std::io;

use cambist_core::{Amount, MarketId, Price, Side};
use cambist_fill_model::Liquidity;
use cambist_market_data::Timestamp;

/// A trade of an order of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FillRow {
    /// When it happened at the exchange.
    pub time: Timestamp,
    /// Number of the order.
    pub order: u64,
    /// The market.
    pub market: MarketId,
    /// Side of our order.
    pub side: Side,
    /// Price in ticks.
    pub price: Price,
    /// Lots.
    pub lots: u64,
    /// Base units.
    pub base: Amount,
    /// Quote units.
    pub quote: Amount,
    /// Fee, in units of the bought token.
    pub fee: Amount,
    /// Whether the order rested or took.
    pub liquidity: Liquidity,
    /// Mid of the recorded market at that time, in half ticks.
    pub mid: Option<u64>,
}

/// One market at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleRow {
    /// The time.
    pub time: Timestamp,
    /// The market.
    pub market: MarketId,
    /// Mid of the recorded market in half ticks.
    pub mid: Option<u64>,
    /// Our best bid and our best ask at the exchange, in ticks.
    pub quotes: [Option<Price>; 2],
    /// Base units held.
    pub base: Amount,
    /// Quote units held; one account, so that markets of one quote token show the same.
    pub quote: Amount,
    /// Everything held, at the mids, in quote units; missing while a mid is.
    pub equity: Option<Amount>,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Rows read.
    pub rows: u64,
    /// Time of the recording.
    pub time: Timestamp,
    /// Trades of our orders so far.
    pub fills: u64,
}

/// Takes rows of results.
pub trait Sink {
    /// A trade of an order of ours, in the order of time.
    fn fill(&mut self, row: &FillRow) -> io::Result<()>;

    /// A sample, market by market, at equal distances of time.
    fn sample(&mut self, row: &SampleRow) -> io::Result<()>;

    /// Told now and then.
    fn progress(&mut self, _progress: Progress) {}
}

/// Takes nothing.
impl Sink for () {
    fn fill(&mut self, _: &FillRow) -> io::Result<()> {
        Ok(())
    }

    fn sample(&mut self, _: &SampleRow) -> io::Result<()> {
        Ok(())
    }
}
