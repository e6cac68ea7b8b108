//! Public market data beside the interface: trades, tickers, candles and streams of the books, at `/api/ext/v1`.
//!
//! Collected from what the venue executes, kept in memory within bounds, and not part of the exchange's state: after a
//! restart trades and candles begin again. Numbers of trades rise over restarts. Swaps with pools are not trades of a
//! book.

mod candles;
mod query;
mod shapes;
mod stream;

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, MarketId, Price, Reason, Side, VenueTime};
use cambist_venue::{Executed, Venue};

use crate::error_response::ErrorResponse;
use crate::state_machine::Machine;
pub(crate) use candles::Candle;
use candles::{Candles, Interval};
use query::Query;
pub(crate) use stream::{Streams, open as open_stream};

/// Most trades kept for each market.
const TRADES_MAX: usize = 10_000;
/// Trades of an answer, by default and at most.
const TRADES_SHOWN: (usize, usize) = (100, 1_000);
/// Candles of an answer, by default and at most.
const CANDLES_SHOWN: (usize, usize) = (500, candles::CANDLES_MAX);
/// The period of a ticker.
const DAY_MS: u64 = 86_400_000;
/// Trades that one millisecond can have before their numbers could meet those of a later start.
const NUMBERS_PER_MS: u64 = 1_000;

/// A trade of a book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicTrade {
    /// Rises with every trade of the exchange, over restarts.
    pub id: u64,
    pub at: VenueTime,
    /// The incoming order's side.
    pub taker_side: Side,
    pub price: Price,
    pub base: Amount,
    pub quote: Amount,
    /// Whether the incoming order was a market order.
    pub is_market_order: bool,
}

/// What is kept of one market.
#[derive(Debug, Default)]
struct Market {
    trades: VecDeque<PublicTrade>,
    candles: Candles,
}

/// Everything that is kept.
#[derive(Debug)]
pub(crate) struct MarketData {
    kept: Mutex<Kept>,
    pub streams: Streams,
}

#[derive(Debug)]
struct Kept {
    markets: SortedMap<MarketId, Market>,
    next_id: u64,
}

/// What can be requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Trades,
    Ticker,
    Candles,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Trades, Self::Ticker, Self::Candles];

    pub const fn path(self) -> &'static str {
        match self {
            Self::Trades => "/api/ext/v1/trades",
            Self::Ticker => "/api/ext/v1/ticker",
            Self::Candles => "/api/ext/v1/candles",
        }
    }
}

/// The path of the stream.
pub(crate) const STREAM_PATH: &str = "/api/ext/v1/stream";

impl MarketData {
    /// Nothing yet; `now` is the venue's time.
    pub fn new(now: VenueTime, streams: Streams) -> Self {
        Self {
            kept: Mutex::new(Kept {
                markets: SortedMap::new(),
                next_id: now.0.saturating_mul(NUMBERS_PER_MS),
            }),
            streams,
        }
    }

    /// Takes in what was executed, in order.
    pub fn add(&self, executed: Vec<Executed>) {
        if executed.is_empty() {
            return;
        }
        let mut kept = self.kept();
        for one in executed {
            let trade = PublicTrade {
                id: kept.next_id,
                at: one.at,
                taker_side: one.trade.taker_side,
                price: one.trade.price,
                base: one.trade.base,
                quote: one.trade.quote,
                is_market_order: one.is_market_order,
            };
            kept.next_id += 1;
            let market = kept.markets.entry(one.market).or_default();
            market.candles.add(&trade);
            if market.trades.len() == TRADES_MAX {
                market.trades.pop_front();
            }
            market.trades.push_back(trade);
        }
    }

    /// Trades of a market after a number, oldest first, and whether earlier ones are no longer kept.
    fn after(&self, market: MarketId, id: u64) -> (Vec<PublicTrade>, bool) {
        let kept = self.kept();
        let Some(market) = kept.markets.get(&market) else {
            return (Vec::new(), false);
        };
        let begin = market.trades.partition_point(|trade| trade.id <= id);
        let is_cut = begin == 0 && market.trades.len() == TRADES_MAX;
        (market.trades.range(begin..).cloned().collect(), is_cut)
    }

    /// The number before the next trade's.
    fn newest(&self) -> u64 {
        self.kept().next_id.saturating_sub(1)
    }

    /// All trades of a market that are kept, oldest first.
    pub fn recent(&self, market: MarketId) -> Vec<PublicTrade> {
        let kept = self.kept();
        let trades = kept.markets.get(&market).map(|market| &market.trades);
        trades.into_iter().flatten().cloned().collect()
    }

    /// All candles of a market of so many minutes, oldest first; `None` if there are none of that length.
    pub fn candles_of(&self, market: MarketId, minutes: u64) -> Option<Vec<Candle>> {
        let interval = Interval::of_minutes(minutes)?;
        let kept = self.kept();
        let candles = kept
            .markets
            .get(&market)
            .map(|market| market.candles.of(interval));
        Some(candles.into_iter().flatten().cloned().collect())
    }

    /// All trades of the last `period_ms`, to the minute; `None` if there were none.
    pub fn period(&self, market: MarketId, now: VenueTime, period_ms: u64) -> Option<Candle> {
        self.kept()
            .markets
            .get(&market)?
            .candles
            .day(now, period_ms)
    }

    /// The body of an answer.
    pub fn answer(
        &self,
        machine: &Machine,
        kind: Kind,
        text: &str,
    ) -> Result<Vec<u8>, ErrorResponse> {
        let query = Query::parse(text)?;
        // Requests for the exchange wait while it is read: answers are made afterwards.
        let named = |name: &str| machine.read(|venue| market(venue, name))?;
        let shown = match kind {
            Kind::Trades => {
                let (id, spec) = named(query.need("market")?)?;
                let limit = query.limit(TRADES_SHOWN)?;
                let before = query.number("before")?.unwrap_or(u64::MAX);
                let kept = self.kept();
                let trades = kept.markets.get(&id).map(|market| &market.trades);
                let trades = trades.into_iter().flatten().rev();
                let trades = trades.filter(|trade| trade.id < before).take(limit);
                shapes::trades(&spec, trades)
            }
            Kind::Ticker => {
                let one = query.get("market").map(&named).transpose()?;
                let one = one.as_ref().map(|(id, _)| *id);
                let now = machine.now();
                let markets = machine.read(|venue| {
                    let shown = markets(venue).filter(|(id, _)| one.is_none_or(|one| one == *id));
                    let best = |id| Side::BOTH.map(|side| venue.best(id, side));
                    let shown = shown.map(|(id, spec)| (id, spec, best(id)));
                    shown.collect::<Vec<_>>()
                })?;
                let kept = self.kept();
                let none = Market::default();
                let tickers = markets.into_iter().map(|(id, spec, best)| {
                    let market = kept.markets.get(&id).unwrap_or(&none);
                    let day = market.candles.day(now, DAY_MS);
                    shapes::ticker(&spec, now, best, market.trades.back(), day.as_ref())
                });
                serde_json::json!({"tickers": tickers.collect::<Vec<_>>()})
            }
            Kind::Candles => {
                let (id, spec) = named(query.need("market")?)?;
                let interval = Interval::parse(query.get("interval").unwrap_or("1m"))?;
                let limit = query.limit(CANDLES_SHOWN)?;
                let from = query.number("from")?.unwrap_or(0);
                let to = query.number("to")?.unwrap_or(u64::MAX);
                let kept = self.kept();
                let market = kept.markets.get(&id);
                let candles = market.map(|market| market.candles.of(interval));
                let within = |candle: &&Candle| from <= candle.start_ms && candle.start_ms < to;
                let candles = candles.into_iter().flatten().filter(within);
                let newest: Vec<_> = candles.rev().take(limit).collect();
                shapes::candles(&spec, interval, newest.into_iter().rev())
            }
        };
        serde_json::to_vec(&shown).map_err(|_| ErrorResponse::internal())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A panic while the lock is held cannot leave a trade half added that a later one would not follow.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A market as it is shown.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    name: String,
    price_decimals: u8,
}

/// A listed market by its name.
fn market(venue: &Venue, name: &str) -> Result<(MarketId, Shown), ErrorResponse> {
    let found = markets(venue).find(|(_, shown)| shown.name == name);
    found.ok_or_else(|| {
        let what =
            format!("market: {name:?} is not listed; GET /api/v3/exchange/markets lists all");
        ErrorResponse::new(Reason::InvalidArgument, what)
    })
}

fn markets(venue: &Venue) -> impl Iterator<Item = (MarketId, Shown)> {
    let configured = venue.config().markets.iter();
    configured.filter_map(|config| {
        let id = venue.market_id(&config.name)?;
        let config = venue.market(id)?;
        let shown = Shown {
            name: config.name.clone(),
            price_decimals: config.price_decimals,
        };
        Some((id, shown))
    })
}

#[cfg(test)]
mod tests {
    use cambist_core::Hash;
    use cambist_venue::{AccountId, Trade};

    use super::*;

    fn executed(market: u16, at_ms: u64, price: u64) -> Executed {
        Executed {
            at: VenueTime(at_ms),
            market: MarketId(market),
            taker: Hash([1; 32]),
            taker_account: AccountId(1),
            is_market_order: false,
            trade: Trade {
                maker: Hash([2; 32]),
                maker_account: AccountId(2),
                taker_side: Side::Buy,
                price: Price(price),
                base: 10,
                quote: 20,
                maker_fee: 0,
                taker_fee: 0,
            },
        }
    }

    #[test]
    fn memory_is_bounded_and_a_reader_that_fell_behind_learns_it() {
        let data = MarketData::new(VenueTime(5), Streams::new(1, 1, 30_000));
        let first = data.newest() + 1;
        assert_eq!(first, 5_000);
        let many = (0..TRADES_MAX as u64 + 3).map(|n| executed(0, n, 7));
        data.add(many.collect());
        data.add(vec![executed(1, 9, 8)]);
        let (trades, is_cut) = data.after(MarketId(0), first);
        assert_eq!((trades.len(), is_cut), (TRADES_MAX, true));
        let (trades, is_cut) = data.after(MarketId(0), first + 10);
        assert_eq!((trades.len(), is_cut), (TRADES_MAX - 8, false));
        assert_eq!(trades[0].id, first + 11);
        assert_eq!(data.after(MarketId(1), first).0.len(), 1);
        assert_eq!(data.after(MarketId(2), 0), (Vec::new(), false));
    }
}
