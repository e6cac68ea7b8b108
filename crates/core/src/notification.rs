//! What the engine tells. Logs, metrics, the store and reports are all made from this one stream, so
//! they cannot disagree.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::books::Difference;
use crate::event::{Amounts, Filter, Pause, TradingState};
use crate::market::{MarketId, Price, Qty, Side};
use crate::order::{ClientOrderId, Hash, OrderStatus};
use crate::pool::{PoolBalances, PoolTransactionAmounts, PoolTransactionKind};
use crate::reason::Reason;
use crate::request::{Endpoint, UnknownCause};
use crate::time::{Time, VenueTime};
use crate::token::{Amount, TokenId};

pub use crate::control::Control;
pub use crate::withheld::Withheld;

/// How an order came to its proven end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum End {
    /// Completely filled.
    Filled,
    /// Cancelled, perhaps after partial fills.
    Cancelled,
    /// Ran out of validity.
    Expired,
    /// Failed after acceptance.
    FailedLate,
    /// Refused, and every transmission was refused for a reason that proves it.
    Refused,
    /// Never left: sealed, but the level, expiry or risk forbade the first transmission.
    NeverSent,
    /// Never shown by the venue, and the fence has passed.
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

    /// Whether we concluded it without the venue's word. Such an order must never be seen open again.
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

/// Why a depth snapshot was not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DepthFault {
    /// The version went backwards, or repeated with other content.
    Version,
    /// Bids reach asks.
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
    /// Fee in this increment, in the bought token.
    pub fee: Amount,
    /// Mid in half ticks when it was learnt, if one was known.
    pub mid: Option<u64>,
}

/// State of one market as decisions see it, for people and metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarketStatus {
    /// Mid in half ticks (best bid + best ask, own orders removed), if known.
    pub mid: Option<u64>,
    /// Our highest bid that may be resting, or is about to.
    pub bid: Option<Price>,
    /// Our lowest ask that may be resting, or is about to.
    pub ask: Option<Price>,
    /// Live orders per side, buy then sell.
    pub live: [u32; 2],
    /// Orders being sealed, or sent and not yet answered.
    pub in_flight: u32,
    /// Orders whose state is unknown.
    pub unknown: u32,
    /// Orders being cancelled.
    pub cancelling: u32,
    /// Why a side has no quotes, buy then sell; `None` while one is alive or on its way.
    pub withheld: [Option<Withheld>; 2],
    /// Venue time of the newest accepted depth.
    pub depth_time: Option<VenueTime>,
    /// How much of a limit is used, in ten-thousandths of it, for the limits that fill up.
    pub used: Vec<(Control, u64)>,
}

/// One settled join or exit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTransactionSettlement {
    /// Our id of it.
    pub order: ClientOrderId,
    /// Market whose pool it is.
    pub market: MarketId,
    /// Join or exit.
    pub kind: PoolTransactionKind,
    /// The pooled tokens in the pool's order.
    pub pooled: [TokenId; 2],
    /// Token of the shares.
    pub lp: TokenId,
    /// What changed hands.
    pub amounts: PoolTransactionAmounts,
    /// Mid in half ticks when it was learnt, if one was known.
    pub mid: Option<u64>,
}

/// State of the pool beside a market as decisions see it, for people and metrics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolStatus {
    /// The market.
    pub market: MarketId,
    /// What the pool held when last asked, if it ever said.
    pub balances: Option<PoolBalances>,
    /// Our shares by the ledger.
    pub held: Amount,
    /// Worth of our shares in quote units at the mid, rounded down, if both are known.
    pub value: Option<Amount>,
    /// Price of the pool over the mid, less one, in ten-thousandths; if both are known.
    pub divergence_bps: Option<i64>,
    /// A join or an exit is under way.
    pub moving: bool,
    /// ... and what came of it is not known.
    pub unknown: bool,
    /// Milliseconds since the pool was asked.
    pub age_ms: Option<u64>,
    /// Why a wanted join or exit was not made, if the last decision wanted one.
    pub withheld: Option<Withheld>,
}

/// An order of another instance of cambist that may be alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherOrder {
    /// The id that it bears.
    pub order: ClientOrderId,
    /// Side.
    pub side: Side,
    /// End of its validity.
    pub valid_until_s: u32,
}

/// Why a difference between ledger and venue holds everything back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum BooksHold {
    /// It was there at the first reconciliation of a start.
    Start,
    /// It is worth more than `risk.mismatch_max`, or cannot be valued.
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

/// Whether the ledger is what the venue holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BooksStatus {
    /// They were compared since the start.
    pub confirmed: bool,
    /// Tokens of which they differed at the newest reconciliation, less what was explained since.
    pub differences: BTreeMap<TokenId, Difference>,
    /// They differ by this at least: fills keep the exact amount from being known.
    pub at_least: bool,
    /// Since when they differ.
    pub since: Option<Time>,
    /// Worth of what differs by quote token, whichever way it goes; tokens without a price are left out.
    pub worth: Amounts,
    /// Why everything is held back because of it; nothing while it is not.
    pub hold: Option<BooksHold>,
}

/// State of everything, at most a few times a second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// By market, in configuration order.
    pub markets: Vec<MarketStatus>,
    /// By pool, in configuration order.
    pub pools: Vec<PoolStatus>,
    /// Ledger totals by token (opening plus booked fills).
    pub ledger: Amounts,
    /// Venue totals as last polled.
    pub venue: Amounts,
    /// Whether they agree.
    pub books: BooksStatus,
    /// The level that decisions obey.
    pub level: TradingState,
    /// Parts that are held back.
    pub pauses: Vec<Pause>,
    /// Past recovery.
    pub ready: bool,
    /// Draining.
    pub draining: bool,
    /// As in a market, of limits over everything.
    pub used: Vec<(Control, u64)>,
    /// Share of full size that is quoted, in ten-thousandths.
    pub ramp_bps: u32,
    /// Whole tokens left in the common bucket, and in each endpoint's.
    pub tokens: (u32, Vec<(Endpoint, u32)>),
    /// Requests sent so far.
    pub sent: u64,
    /// Requests the budget would have allowed so far.
    pub allowed: u64,
    /// When the oldest unknown order became unknown.
    pub unknown_since: Option<Time>,
    /// Orders of other instances that may be alive, the longest-lived first; twenty at most.
    pub others: Vec<OtherOrder>,
}

/// Something the engine tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notification {
    /// Recovery finished: every order of an earlier run is accounted for, opening balances are taken.
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
    /// The same bytes again.
    Resent {
        /// The order.
        order: ClientOrderId,
        /// Which transmission this is, from 2.
        attempt: u8,
    },
    /// The venue took the order.
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
    /// An answer was lost or could not be understood.
    Unknown {
        /// Endpoint.
        endpoint: Endpoint,
        /// The order, for submits and cancels.
        order: Option<ClientOrderId>,
        /// Why.
        cause: UnknownCause,
    },
    /// A request ended, whatever came of it.
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
    /// An unknown order was seen again.
    Resolved {
        /// The order.
        order: ClientOrderId,
        /// As what.
        status: OrderStatus,
    },
    /// The first transmission of a join or an exit.
    PoolTransactionSubmitted {
        /// Our id of it.
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
    /// What a join or an exit moved was booked.
    PoolTransactionSettled(PoolTransactionSettlement),
    /// The end of a join or an exit is proven.
    PoolTransactionEnded {
        /// Our id of it.
        order: ClientOrderId,
        /// Market whose pool it is.
        market: MarketId,
        /// Join or exit.
        kind: PoolTransactionKind,
        /// How: `Filled` is processed, `FailedLate` is cancelled by the venue.
        end: End,
    },
    /// A join or an exit on the account that is not ours.
    ForeignPoolTransaction {
        /// Its hash.
        hash: Hash,
        /// Join or exit.
        kind: PoolTransactionKind,
    },
    /// A fill increment was booked.
    Filled(Fill),
    /// A depth snapshot was taken in.
    DepthTaken {
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
    /// A wanted order or move was not sent. Told once per change, counted every time.
    RiskRefused {
        /// Market.
        market: MarketId,
        /// Which control.
        control: Control,
    },
    /// The reason for which a side has no quotes is another one than before, or there is none any more.
    Withheld {
        /// Market.
        market: MarketId,
        /// Side.
        side: Side,
        /// Why it has none; nothing while a quote is alive or on its way.
        withheld: Option<Withheld>,
    },
    /// A request was put off for want of budget.
    BudgetDenied {
        /// Endpoint.
        endpoint: Endpoint,
    },
    /// An order on the account that is not ours.
    Foreign {
        /// Its hash.
        hash: Hash,
    },
    /// An order of another instance of cambist on the account: one that trades beside this one, or that an
    /// earlier state folder left. Nothing new is ordered.
    OtherInstance {
        /// The id that it bears.
        order: ClientOrderId,
        /// Its hash.
        hash: Hash,
        /// When it is certainly dead, venue time.
        until: VenueTime,
        /// It was created after this daemon began: somebody trades now.
        later: bool,
    },
    /// A complete pass over the orders list.
    Reconciled {
        /// Orders it showed.
        orders: u32,
    },
    /// Ledger and venue differ at a consistent cut.
    Mismatch {
        /// Token.
        token: TokenId,
        /// What the ledger says.
        ledger: i128,
        /// What the venue says.
        venue: Amount,
    },
    /// Ledger and venue agree at a consistent cut.
    Balanced,
    /// What differs between ledger and venue is something else than before, or holds trading back now, or
    /// does not any more.
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
    /// The level changed and is in force.
    TradingStateChanged {
        /// The new level.
        level: TradingState,
        /// Why.
        cause: String,
    },
    /// A part is held back, and that is in force.
    Paused(Pause),
    /// A part is not held back any more: a person lifted it, or its time has passed.
    Unpaused {
        /// What.
        filter: Filter,
        /// Why.
        cause: String,
    },
    /// Level and pauses could not be made durable. They forbid all the same.
    RestrictionsNotStored,
    /// A person's wish was taken.
    CommandTaken {
        /// Name of the command.
        command: String,
        /// The reason given, or what it means.
        detail: String,
    },
    /// A person's wish was refused and changed nothing.
    CommandRefused {
        /// Name of the command.
        command: String,
        /// Why, in a sentence.
        why: String,
    },
    /// A flow that did not come from our orders was booked.
    Adopted {
        /// Token.
        token: TokenId,
        /// Base units, negative for what left.
        amount: i128,
        /// Why.
        reason: String,
    },
    /// Somebody else's order on the account is managed from now on: it counts, and is cancelled.
    ForeignAdopted {
        /// Its hash.
        hash: Hash,
    },
    /// An order was replaced by breaking before making: its side was dark meanwhile.
    Dark {
        /// Market.
        market: MarketId,
        /// Side.
        side: Side,
        /// For so long.
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
    /// Time made a jump: nothing was heard or decided for so long.
    Slept {
        /// Milliseconds.
        ms: u64,
    },
    /// A rule that must always hold did not.
    InvariantFailed {
        /// Stable name.
        name: String,
        /// What was seen.
        detail: String,
    },
    /// A market has both sides live, or stopped having them.
    BothSides {
        /// Market.
        market: MarketId,
        /// Now quoted on both sides.
        both: bool,
    },
    /// Draining began.
    Draining,
    /// State of everything.
    Status(Box<Status>),
}
