//! Destination of result rows: they are written while a backtest runs, which keeps none of them.

use std::io;

use cambist_core::{Amount, MarketId, Price, Side};
use cambist_fill_model::Liquidity;
use cambist_market_data::Timestamp;

/// A fill of one of our orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FillRow {
    /// Time at the exchange.
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

/// The values of one market at one time.
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
    /// Quote units held; shared by all markets of one quote token.
    pub quote: Amount,
    /// Value of all holdings at the mids, in quote units; missing while a mid is.
    pub equity: Option<Amount>,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Rows read.
    pub rows: u64,
    /// Time of the recording.
    pub time: Timestamp,
    /// Fills of our orders so far.
    pub fills: u64,
}

/// Receives result rows.
pub trait Sink {
    /// A fill of one of our orders, in the order of time.
    fn fill(&mut self, row: &FillRow) -> io::Result<()>;

    /// A sample, market by market, at equal intervals.
    fn sample(&mut self, row: &SampleRow) -> io::Result<()>;

    /// Progress, at intervals.
    fn progress(&mut self, _progress: Progress) {}
}

/// Discards all rows.
impl Sink for () {
    fn fill(&mut self, _: &FillRow) -> io::Result<()> {
        Ok(())
    }

    fn sample(&mut self, _: &SampleRow) -> io::Result<()> {
        Ok(())
    }
}
