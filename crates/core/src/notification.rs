//! Notifications of the engine. Logs, metrics, the store and reports are all derived from this one stream, so that they
//! cannot disagree.

use serde::{Deserialize, Serialize};

use crate::books::Difference;
use crate::event::{Amounts, Filter, Pause, TradingState};
use crate::market::{MarketId, Price, Qty, Side};
use crate::order::{ClientOrderId, Hash, OrderStatus, StrategyId};
use crate::pool::{PoolBalances, PoolTransactionAmounts, PoolTransactionKind};
use crate::reason::Reason;
use crate::reference::ReferenceStatus;
use crate::request::{Endpoint, UnknownCause};
use crate::sorted_map::SortedMap;
use crate::time::{Time, VenueTime};
use crate::token::{Amount, TokenId};

pub use crate::control::Control;
pub use crate::withheld::Withheld;

/// The cause of the trading state that an engine begins with: an engine is not given why an earlier run changed it.
pub const AS_STORED: &str = "as stored";

/// How an order ended, proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum End {
    /// Completely filled.
    Filled,
    /// Cancelled, perhaps after partial fills.
    Cancelled,
    /// Reached its expiry.
    Expired,
    /// Failed after acceptance.
    FailedLate,
    /// Refused, and every transmission was refused for a reason that proves it.
    Refused,
    /// Never sent: sealed, but trading state, expiry or risk forbade the first transmission.
    NeverSent,
    /// Never listed by the venue, and the fence has passed.
    Fenced,
}

impl End {
    /// Every end, for metrics that exist from the start.
    pub const ALL: [Self; 7] = [
        Self::Filled,
        Self::Cancelled,
        Self::Expired,
        Self::FailedLate,
        Self::Refused,
        Self::NeverSent,
        Self::Fenced,
    ];

    /// Whether the end was concluded without a report of the venue. Such an order must never be seen open again.
    pub const fn is_concluded(self) -> bool {
        match self {
            Self::Filled | Self::Cancelled | Self::Expired | Self::FailedLate => false,
            Self::Refused | Self::NeverSent | Self::Fenced => true,
        }
    }

    /// The label used in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Filled => "filled",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::FailedLate => "failed_late",
            Self::Refused => "rejected",
            Self::NeverSent => "never_sent",
            Self::Fenced => "fenced",
        }
    }
}

/// Why a depth snapshot was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DepthFault {
    /// The version decreased, or repeated with other content.
    Version,
    /// Best bid at or above best ask.
    Crossed,
    /// Levels out of order, repeated, or of size zero; or a time that the venue's clock cannot show yet.
    Malformed,
}

impl DepthFault {
    /// Every fault, for metrics that exist from the start.
    pub const ALL: [Self; 3] = [Self::Version, Self::Crossed, Self::Malformed];

    /// The label used in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Version => "version_backwards",
            Self::Crossed => "crossed",
            Self::Malformed => "malformed",
        }
    }
}

/// One increment of an order's filled amounts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// The order.
    pub order: ClientOrderId,
    /// Market.
    pub market: MarketId,
    /// Side of our order.
    pub side: Side,
    /// Base units in this increment.
    pub base: Amount,
    /// Quote units in this increment.
    pub quote: Amount,
    /// Fee in this increment, base units of the market's fee token
    /// ([`MarketSpec::fee_token`](crate::MarketSpec::fee_token)).
    pub fee: Amount,
    /// Mid in half ticks when the fill was detected, if there was one.
    pub mid: Option<u64>,
}

/// State of one market as used in decisions, for status and metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarketStatus {
    /// Mid in half ticks (best bid + best ask, own orders removed), if known.
    pub mid: Option<u64>,
    /// Highest own bid that may rest or is being sent.
    pub bid: Option<Price>,
    /// Lowest own ask that may rest or is being sent.
    pub ask: Option<Price>,
    /// Live orders per side, buy then sell.
    pub live: [u32; 2],
    /// Orders being sealed, or sent without an answer yet.
    pub in_flight: u32,
    /// Orders whose state is unknown.
    pub unknown: u32,
    /// Orders being cancelled.
    pub cancelling: u32,
    /// Why a side has no quotes, buy then sell; `None` while a quote is alive or being sent.
    pub withheld: [Option<Withheld>; 2],
    /// Venue time of the newest accepted depth.
    pub depth_time: Option<VenueTime>,
    /// Usage of limits that fill up, in ten-thousandths.
    pub used: Vec<(Control, u64)>,
}

/// One settled join or exit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTransactionSettlement {
    /// Its client order id.
    pub order: ClientOrderId,
    /// Market whose pool it is.
    pub market: MarketId,
    /// Join or exit.
    pub kind: PoolTransactionKind,
    /// The pooled tokens in the pool's order.
    pub pooled: [TokenId; 2],
    /// Token of the shares.
    pub lp: TokenId,
    /// The amounts moved.
    pub amounts: PoolTransactionAmounts,
    /// Mid in half ticks when it was reported, if there was one.
    pub mid: Option<u64>,
}

/// State of the pool beside a market as used in decisions, for status and metrics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolStatus {
    /// The market.
    pub market: MarketId,
    /// Balances of the pool when last polled; `None` before the first answer.
    pub balances: Option<PoolBalances>,
    /// Our shares by the ledger.
    pub held: Amount,
    /// Value of our shares in quote units at the mid, rounded down; `None` if balances or mid are unknown.
    pub value: Option<Amount>,
    /// Price of the pool over the mid, minus 1, in ten-thousandths; `None` if either is unknown.
    pub divergence_bps: Option<i64>,
    /// A join or an exit is undecided ...
    pub moving: bool,
    /// ... and its result is unknown.
    pub unknown: bool,
    /// Milliseconds since the last poll.
    pub age_ms: Option<u64>,
    /// Why a needed join or exit was not made in the last decision.
    pub withheld: Option<Withheld>,
}

/// An order of another instance of cambist that may be alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherOrder {
    /// Its client order id.
    pub order: ClientOrderId,
    /// Side.
    pub side: Side,
    /// Expiry.
    pub valid_until_s: u32,
}

/// Why a difference between ledger and venue stops new orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum BooksHold {
    /// It was found at the first reconciliation of a start.
    Start,
    /// Its value exceeds `risk.mismatch_max`, or is unknown.
    Limit,
    /// It has lasted for five minutes.
    Lasting,
}

impl BooksHold {
    /// Every cause, for metrics that exist from the start.
    pub const ALL: [Self; 3] = [Self::Start, Self::Limit, Self::Lasting];

    /// The label used in metrics and on pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Limit => "limit",
            Self::Lasting => "lasting",
        }
    }
}

/// Comparison of ledger and venue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BooksStatus {
    /// Whether they were compared since the start.
    pub confirmed: bool,
    /// Differences at the newest reconciliation, less what was explained since.
    pub differences: SortedMap<TokenId, Difference>,
    /// Whether they are lower bounds: exact amounts are unknown while fills come.
    pub at_least: bool,
    /// Since when they differ.
    pub since: Option<Time>,
    /// Absolute value of the differences by quote token, without tokens that have no price.
    pub worth: Amounts,
    /// Why the differences stop new orders; `None` while they do not.
    pub hold: Option<BooksHold>,
}

/// The complete status, at most a few times a second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// By market, in configuration order.
    pub markets: Vec<MarketStatus>,
    /// By pool, in configuration order.
    pub pools: Vec<PoolStatus>,
    /// By source of reference prices, in configuration order.
    pub references: Vec<ReferenceStatus>,
    /// Ledger totals by token (opening plus booked fills).
    pub ledger: Amounts,
    /// Venue totals as last polled.
    pub venue: Amounts,
    /// Comparison of the two.
    pub books: BooksStatus,
    /// The trading state that decisions obey.
    pub level: TradingState,
    /// Paused parts.
    pub pauses: Vec<Pause>,
    /// Whether recovery is complete.
    pub ready: bool,
    /// Whether it drains.
    pub draining: bool,
    /// Usage of limits over all markets, as in a market's status.
    pub used: Vec<(Control, u64)>,
    /// Share of full size that is quoted, in ten-thousandths.
    pub ramp_bps: u32,
    /// Tokens left in the common bucket, and in each endpoint's.
    pub tokens: (u32, Vec<(Endpoint, u32)>),
    /// Requests sent so far.
    pub sent: u64,
    /// Requests the budget would have allowed so far.
    pub allowed: u64,
    /// When the oldest unknown order became unknown.
    pub unknown_since: Option<Time>,
    /// Orders of other instances that may be alive, last expiry first; at most twenty.
    pub others: Vec<OtherOrder>,
}

/// A notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notification {
    /// Recovery finished: every order of an earlier run is accounted for, the opening balances are known.
    Ready {
        /// Opening totals by token.
        opening: Amounts,
        /// Orders found in the store at start.
        recovered: u32,
    },
    /// An order's first transmission.
    Submitted {
        /// The order.
        order: ClientOrderId,
        /// Market.
        market: MarketId,
        /// Side.
        side: Side,
        /// Ticks.
        price: Price,
        /// Lots.
        qty: Qty,
        /// Expiry.
        valid_until_s: u32,
    },
    /// A swap's first transmission.
    SwapSubmitted {
        /// The order.
        order: ClientOrderId,
        /// Market beside the pool.
        market: MarketId,
        /// `Sell` sells base to the pool.
        side: Side,
        /// Base units sold.
        sell: Amount,
        /// Least base units bought.
        least: Amount,
        /// Expiry.
        valid_until_s: u32,
    },
    /// The same bytes again.
    Resent {
        /// The order.
        order: ClientOrderId,
        /// Number of this transmission, from 2.
        attempt: u8,
    },
    /// The venue accepted the order.
    Acknowledged {
        /// The order.
        order: ClientOrderId,
        /// Its hash.
        hash: Hash,
        /// Microseconds from the transmission to the answer.
        micros: u64,
    },
    /// The venue refused a request.
    Refused {
        /// Endpoint.
        endpoint: Endpoint,
        /// The order, for submits and cancels.
        order: Option<ClientOrderId>,
        /// Why.
        reason: Reason,
    },
    /// An answer was lost or could not be decoded.
    Unknown {
        /// Endpoint.
        endpoint: Endpoint,
        /// The order, for submits and cancels.
        order: Option<ClientOrderId>,
        /// Why.
        cause: UnknownCause,
    },
    /// A request ended, with any result.
    Answered {
        /// Endpoint.
        endpoint: Endpoint,
        /// Microseconds from sending.
        micros: u64,
    },
    /// A cancel was sent.
    CancelSent {
        /// The order.
        order: ClientOrderId,
    },
    /// An order is moved to another price, at most as good as the one that was signed.
    AmendSent {
        /// The order.
        order: ClientOrderId,
        /// Market.
        market: MarketId,
        /// The new price in ticks.
        price: Price,
    },
    /// The result of an amend is known, or the request ended without one.
    AmendEnded {
        /// The order.
        order: ClientOrderId,
        /// Market.
        market: MarketId,
        /// The price in ticks if the order has it now. Otherwise nothing was changed, or that is not known and the order
        /// is cancelled.
        price: Option<Price>,
    },
    /// An order's end is proven.
    Ended {
        /// The order.
        order: ClientOrderId,
        /// Market.
        market: MarketId,
        /// How.
        end: End,
        /// Microseconds from the first cancel, if there was one.
        cancel_micros: Option<u64>,
    },
    /// An unknown order was listed or found again.
    Resolved {
        /// The order.
        order: ClientOrderId,
        /// Its status.
        status: OrderStatus,
    },
    /// The first transmission of a join or an exit.
    PoolTransactionSubmitted {
        /// Its client order id.
        order: ClientOrderId,
        /// Market whose pool it is.
        market: MarketId,
        /// Join or exit.
        kind: PoolTransactionKind,
        /// Most paid by a join, least received by an exit; in the pool's order of tokens.
        amounts: [Amount; 2],
        /// Least minted by a join, burned by an exit.
        lp: Amount,
        /// Expiry.
        valid_until_s: u32,
    },
    /// The amounts of a join or an exit were booked.
    PoolTransactionSettled(PoolTransactionSettlement),
    /// The end of a join or an exit is proven.
    PoolTransactionEnded {
        /// Its client order id.
        order: ClientOrderId,
        /// Market whose pool it is.
        market: MarketId,
        /// Join or exit.
        kind: PoolTransactionKind,
        /// How it ended: `Filled` means processed, `FailedLate` cancelled by the venue.
        end: End,
    },
    /// A foreign join or exit on the account.
    ForeignPoolTransaction {
        /// Its hash.
        hash: Hash,
        /// Join or exit.
        kind: PoolTransactionKind,
    },
    /// A fill increment was booked.
    Filled(Fill),
    /// A depth snapshot was accepted.
    #[serde(rename = "DepthTaken")]
    DepthAccepted {
        /// Market.
        market: MarketId,
        /// Mid in half ticks with own orders removed.
        mid: Option<u64>,
        /// Venue time.
        timestamp: VenueTime,
    },
    /// A depth snapshot was refused.
    DepthRefused {
        /// Market.
        market: MarketId,
        /// Why.
        fault: DepthFault,
    },
    /// An intent was refused. Emitted once per change, counted every time.
    RiskRefused {
        /// Market.
        market: MarketId,
        /// The control.
        control: Control,
    },
    /// The reason for which a side has no quotes has changed, or there is none any more.
    Withheld {
        /// Market.
        market: MarketId,
        /// Side.
        side: Side,
        /// The reason; `None` while a quote is alive or being sent.
        withheld: Option<Withheld>,
    },
    /// A request was postponed because of the budget.
    BudgetDenied {
        /// Endpoint.
        endpoint: Endpoint,
    },
    /// A foreign order on the account.
    Foreign {
        /// Its hash.
        hash: Hash,
    },
    /// An order of another instance on the account: of a daemon that is trading, or left by an earlier state folder. No
    /// new orders.
    OtherInstance {
        /// Its client order id.
        order: ClientOrderId,
        /// Its hash.
        hash: Hash,
        /// When it is certainly dead, venue time.
        until: VenueTime,
        /// Whether it was created after this daemon's start: the other daemon is trading.
        later: bool,
    },
    /// A complete scan of orders ended.
    Reconciled {
        /// Number of orders in it.
        orders: u32,
    },
    /// Ledger and venue differ at a cut.
    Mismatch {
        /// Token.
        token: TokenId,
        /// Amount in the ledger.
        ledger: i128,
        /// Amount at the venue.
        venue: Amount,
    },
    /// Ledger and venue agree at a cut.
    Balanced,
    /// The differences between ledger and venue have changed, or whether they stop new orders.
    Books(Box<BooksStatus>),
    /// The reported fee exceeds the configured rate.
    FeeAbove {
        /// The order.
        order: ClientOrderId,
        /// Fee reported for the increment.
        fee: Amount,
        /// Most that the configured rate allows.
        expected: Amount,
    },
    /// The trading state changed and is in force.
    TradingStateChanged {
        /// The new state.
        level: TradingState,
        /// Why.
        cause: String,
    },
    /// A pause is in force.
    Paused(Pause),
    /// A pause has ended: an operator lifted it, or its time is over.
    Unpaused {
        /// The part.
        filter: Filter,
        /// Cause.
        cause: String,
    },
    /// Trading state and pauses could not be made durable. Their restrictions apply all the same.
    RestrictionsNotStored,
    /// A command was accepted.
    #[serde(rename = "CommandTaken")]
    CommandAccepted {
        /// Name of the command.
        command: String,
        /// Its reason, or its effect.
        detail: String,
    },
    /// A command was refused and changed nothing.
    CommandRefused {
        /// Name of the command.
        command: String,
        /// Why, as a sentence.
        why: String,
    },
    /// A flow that is not from our intents was booked.
    Adopted {
        /// Token.
        token: TokenId,
        /// Base units, negative for an outflow.
        amount: i128,
        /// Reason.
        reason: String,
    },
    /// A foreign order on the account is managed from now on: it counts, and is cancelled.
    ForeignAdopted {
        /// Its hash.
        hash: Hash,
    },
    /// A side had no order between the end of one and its replacement.
    #[serde(rename = "Dark")]
    SideEmpty {
        /// Market.
        market: MarketId,
        /// Side.
        side: Side,
        /// Length of that time in milliseconds.
        ms: u64,
    },
    /// The engine ends without cancelling.
    Left {
        /// Orders that may rest.
        orders: u32,
        /// Of these, orders whose state is unknown.
        unknown: u32,
        /// When the last of them is certainly dead, venue time.
        until: VenueTime,
    },
    /// A gap in time: nothing was handled or decided.
    Slept {
        /// Milliseconds.
        ms: u64,
    },
    /// An invariant failed.
    InvariantFailed {
        /// Stable name.
        name: String,
        /// What was observed.
        detail: String,
    },
    /// A strategy does not understand what it remembered of an earlier run, and begins without memory.
    MemoryRefused {
        /// Which strategy.
        strategy: StrategyId,
    },
    /// What the process behind a strategy answered was refused. Its quotes end.
    ProcessAnswerRefused {
        /// Which strategy.
        strategy: StrategyId,
        /// What is wrong with it.
        why: String,
    },
    /// Whether a market has live quotes on both sides has changed.
    BothSides {
        /// Market.
        market: MarketId,
        /// The new state.
        both: bool,
    },
    /// Draining began.
    Draining,
    /// The complete status.
    Status(Box<Status>),
}

impl Notification {
    /// The order, join or exit that it is about, if it is about one of ours.
    pub fn order(&self) -> Option<ClientOrderId> {
        match self {
            Self::Submitted { order, .. }
            | Self::Resent { order, .. }
            | Self::Acknowledged { order, .. }
            | Self::CancelSent { order }
            | Self::AmendSent { order, .. }
            | Self::AmendEnded { order, .. }
            | Self::Ended { order, .. }
            | Self::Resolved { order, .. }
            | Self::PoolTransactionSubmitted { order, .. }
            | Self::PoolTransactionEnded { order, .. }
            | Self::FeeAbove { order, .. } => Some(*order),
            Self::PoolTransactionSettled(settled) => Some(settled.order),
            Self::Filled(fill) => Some(fill.order),
            Self::Refused { order, .. } | Self::Unknown { order, .. } => *order,
            _ => None,
        }
    }
}
