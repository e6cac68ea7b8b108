//! What an engine knows and wants at one moment, for people who ask why it did what it did.
//!
//! [`Engine::inspect`](crate::Engine::inspect) makes it and changes nothing. It is no part of what the
//! engine does: it is never stored and never taped.

use crate::market::{MarketId, MarketSpec, Price, Qty, Side};
use crate::notification::{Control, Status, Withheld};
use crate::order::{ClientOrderId, StrategyId};
use crate::strategy::{BookLevel, Quote};
use crate::time::{Time, VenueTime};
use crate::token::Amount;

/// An engine at one moment.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The moment on the engine's clock.
    pub now: Time,
    /// What the exchange's clock showed at least.
    pub venue_time: VenueTime,
    /// As it is notified, with the use of every limit that fills up.
    pub status: Status,
    /// By market, in configuration order.
    pub markets: Vec<MarketInspection>,
}

/// One market at one moment.
#[derive(Clone, Debug)]
pub struct MarketInspection {
    /// The market.
    pub market: MarketSpec,
    /// Accepted bids less own orders, best first.
    pub bids: Vec<BookLevel>,
    /// Accepted asks less own orders, best first.
    pub asks: Vec<BookLevel>,
    /// Mid of both in half ticks, if both have a level.
    pub mid: Option<u64>,
    /// The mid that is quoted from, in half ticks, or what forbids all quoting.
    pub quoting_mid: Result<u64, Withheld>,
    /// Time of the accepted depth by the exchange's clock; `None` before the first.
    pub depth_time: Option<VenueTime>,
    /// Age of the accepted depth in milliseconds, as the engine counts it.
    pub depth_age_ms: Option<u64>,
    /// What each strategy of the market wants, asked at this moment.
    pub strategies: Vec<StrategyInspection>,
    /// Own orders that may be alive, oldest first.
    pub orders: Vec<OrderInspection>,
    /// Controls that refused something in the last decision.
    pub refused_by: Vec<Control>,
}

/// What one strategy wants.
#[derive(Clone, Debug)]
pub struct StrategyInspection {
    /// Its number.
    pub strategy: StrategyId,
    /// Quotes at full size, before ramp, pauses and controls; none while nothing may be quoted, because it
    /// is not asked then.
    pub quotes: Vec<Quote>,
    /// Why it wants none on a side, buy then sell, if it says so.
    pub withheld: [Option<Withheld>; 2],
    /// Pool shares it wants to hold, if it says so.
    pub shares: Option<Amount>,
}

/// An own order that may be alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderInspection {
    /// Its id.
    pub id: ClientOrderId,
    /// Its market.
    pub market: MarketId,
    /// Side.
    pub side: Side,
    /// Limit price.
    pub price: Price,
    /// Signed quantity.
    pub qty: Qty,
    /// Lots that may still trade, rounded down.
    pub remaining: Qty,
    /// How far it has come.
    pub state: OrderState,
    /// A cancel was decided.
    pub cancelling: bool,
    /// End of its validity.
    pub valid_until: VenueTime,
}

/// How far an order has come, as the engine knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderState {
    /// Being signed and stored; nothing has left.
    Sealing,
    /// Stored, and never sent.
    Sealed,
    /// Sent, without an answer so far.
    InFlight,
    /// Sent, and what came of it is not known.
    Unknown,
    /// Taken by the exchange.
    Live,
}

impl OrderState {
    /// Its name in texts and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sealing => "sealing",
            Self::Sealed => "sealed",
            Self::InFlight => "in_flight",
            Self::Unknown => "unknown",
            Self::Live => "live",
        }
    }
}
