//! Destination of result rows: they are written while a backtest runs, which keeps none of them.

use std::io;

use cambist_core::{Amount, ClientOrderId, MarketId, Price, Qty, Side, VenueTime};
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
    /// Value of the initial balances at the same mids, in quote units: equity had nothing been traded.
    pub holding: Option<Amount>,
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

/// One of our orders that rests at the simulated exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOrderRow {
    /// Id of the order.
    pub order: ClientOrderId,
    /// The market.
    pub market: MarketId,
    /// Side.
    pub side: Side,
    /// Price in ticks.
    pub price: Price,
    /// Lots that rest.
    pub remaining: Qty,
    /// Base units filled so far.
    pub base_filled: Amount,
    /// Lots of others in front of it at its price, exact or estimated; `None` while the recorded depth does not reach
    /// its price.
    pub in_front: Option<Qty>,
    /// When the exchange accepted it.
    pub created: VenueTime,
    /// When it expires.
    pub expires: VenueTime,
}

/// Receives result rows.
pub trait Sink {
    /// A fill of one of our orders, in the order of time.
    fn fill(&mut self, row: &FillRow) -> io::Result<()>;

    /// A sample, market by market, at equal intervals.
    fn sample(&mut self, row: &SampleRow) -> io::Result<()>;

    /// Whether [`Sink::open_orders`] is called.
    fn wants_open_orders(&self) -> bool {
        false
    }

    /// All orders that rest, oldest first, after every sample.
    fn open_orders(&mut self, _rows: &[OpenOrderRow]) -> io::Result<()> {
        Ok(())
    }

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
