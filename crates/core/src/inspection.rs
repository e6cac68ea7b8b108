//! The state and decisions of an engine at one moment, for an operator.
//!
//! [`Engine::inspect`](crate::Engine::inspect) creates it and changes nothing. It is not part of the engine's outputs:
//! it is never stored and never on a tape.

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
    /// Lower bound of the exchange's clock.
    pub venue_time: VenueTime,
    /// As in status notifications, with the usage of every limit that fills up.
    pub status: Status,
    /// By market, in configuration order.
    pub markets: Vec<MarketInspection>,
}

/// A drain that has not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draining {
    /// What it waits for.
    pub waits_for: DrainWait,
    /// When the run ends without it.
    pub deadline: Time,
}

/// What a drain waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DrainWait {
    /// Answers to what was sent about orders that are left at the venue.
    Answers,
    /// The proven end of every own order, join, exit and swap that may be alive.
    Orders,
    /// A complete list that shows none of them.
    List,
    /// Balances that the venue states after that list.
    Balances,
    /// A list which confirms that these balances can be compared with the books.
    Confirmation,
}

impl DrainWait {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::Orders => "orders",
            Self::List => "list",
            Self::Balances => "balances",
            Self::Confirmation => "confirmation",
        }
    }
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
    /// The mid to quote from, in half ticks, or why nothing is quoted.
    pub quoting_mid: Result<u64, Withheld>,
    /// Time of the accepted depth by the exchange's clock; `None` before the first.
    pub depth_time: Option<VenueTime>,
    /// Age of the accepted depth in milliseconds at most, by the engine's clock.
    pub depth_age_ms: Option<u64>,
    /// Targets of each strategy of the market at this moment.
    pub strategies: Vec<StrategyInspection>,
    /// Own orders that may be alive, oldest first.
    pub orders: Vec<OrderInspection>,
    /// Controls that refused something in the last decision.
    pub refused_by: Vec<Control>,
}

/// Targets of one strategy.
#[derive(Clone, Debug)]
pub struct StrategyInspection {
    /// Its number.
    pub strategy: StrategyId,
    /// Quotes at full size, before ramp, pauses and controls; none while nothing may be quoted, because the strategy is
    /// not asked then.
    pub quotes: Vec<Quote>,
    /// The strategy's reasons for no quote on a side, buy then sell.
    pub withheld: [Option<Withheld>; 2],
    /// Target of pool shares, if it states one.
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
    /// State.
    pub state: OrderState,
    /// Whether a cancel was decided.
    pub cancelling: bool,
    /// What the last decision about it was, and why; `None` before the first.
    pub decision: Option<OrderDecision>,
    /// Expiry.
    pub valid_until: VenueTime,
}

/// State of an order in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderState {
    /// Being signed and stored; not sent.
    Sealing,
    /// Stored and never sent.
    Sealed,
    /// Sent, without an answer yet.
    InFlight,
    /// Sent, with unknown result.
    Unknown,
    /// Accepted by the exchange.
    Live,
}

impl OrderState {
    /// Its name in text and JSON.
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

/// What a decision meant for an own order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderDecision {
    /// It was made for a quote that had no order.
    Placed {
        /// The quote.
        wanted: Quote,
        /// The mid in half ticks.
        mid: Option<u64>,
        /// The order close to its expiry that it replaces.
        replaces: Option<ClientOrderId>,
    },
    /// It stays: within the tolerances of a quote.
    Kept {
        /// The quote.
        wanted: Quote,
    },
    /// It is moved to the price of a quote.
    Amended {
        /// The quote.
        wanted: Quote,
    },
    /// It is close to its expiry, and stays until the order that replaces it rests.
    Expiring {
        /// The quote.
        wanted: Quote,
    },
    /// It is not wanted any more, and cannot be cancelled before the venue has answered its transmission.
    Awaited(CancelCause),
    /// It is not wanted any more, and its cancel waits for room in the venue's counter of orders and young cancels, or in the
    /// budget of requests.
    Held(CancelCause),
    /// It is cancelled.
    Cancelled(CancelCause),
}

/// Why an order is not wanted any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelCause {
    /// Its side has no quotes.
    NotQuoted(Withheld),
    /// No quote of its side is within the tolerances; the nearest one.
    Moved {
        /// The nearest quote.
        wanted: Quote,
    },
    /// It was close to its expiry, and its replacement rests.
    Replaced,
    /// The quotes of its side have other orders.
    Surplus,
    /// No strategy that quotes the market made it.
    NoStrategy,
    /// There is no room for it and its replacement at once: what refused the replacement.
    NoRoom(Control),
}

impl OrderDecision {
    /// Its name in text and JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Placed { .. } => "placed",
            Self::Kept { .. } => "kept",
            Self::Amended { .. } => "amended",
            Self::Expiring { .. } => "expiring",
            Self::Awaited(_) => "awaited",
            Self::Held(_) => "held",
            Self::Cancelled(_) => "cancelled",
        }
    }

    /// Why it is not wanted any more, if it is not.
    pub const fn cause(&self) -> Option<CancelCause> {
        match self {
            Self::Placed { .. }
            | Self::Kept { .. }
            | Self::Amended { .. }
            | Self::Expiring { .. } => None,
            Self::Awaited(cause) | Self::Held(cause) | Self::Cancelled(cause) => Some(*cause),
        }
    }

    /// The quote that it is for, or the nearest one.
    pub const fn wanted(&self) -> Option<Quote> {
        match self {
            Self::Placed { wanted, .. }
            | Self::Kept { wanted }
            | Self::Amended { wanted }
            | Self::Expiring { wanted }
            | Self::Awaited(CancelCause::Moved { wanted })
            | Self::Held(CancelCause::Moved { wanted })
            | Self::Cancelled(CancelCause::Moved { wanted }) => Some(*wanted),
            Self::Awaited(_) | Self::Held(_) | Self::Cancelled(_) => None,
        }
    }
}

impl CancelCause {
    /// Its name in text and JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NotQuoted(_) => "not_quoted",
            Self::Moved { .. } => "moved",
            Self::Replaced => "replaced",
            Self::Surplus => "surplus",
            Self::NoStrategy => "no_strategy",
            Self::NoRoom(_) => "no_room",
        }
    }
}
