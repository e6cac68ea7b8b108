//! Everything the engine can hear. Closed: a new input is a new variant.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::books::Books;
use crate::intent::RecoveredPoolTransaction;
use crate::market::{MarketId, MarketSpec};
use crate::order::{ClientOrderId, Hash, StrategyId, UnsignedOrder};
use crate::pool::PoolSpec;
use crate::request::{Outcome, RequestId};
use crate::time::VenueTime;
use crate::token::{Amount, TokenId};

pub use crate::level::{Filter, LossBaseline, Pause, Rate, Restrictions, TradingState};

/// Number of one batch of intents.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct BatchId(pub u64);

/// An intent found in the store whose end was never proven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveredOrder {
    /// The order as sealed.
    pub order: UnsignedOrder,
    /// Its hash.
    pub hash: Hash,
    /// Base units already booked as filled.
    pub base_filled: Amount,
    /// Quote units already booked as filled.
    pub quote_filled: Amount,
    /// Fee already booked, in the bought token.
    pub fee: Amount,
}

/// First event of a run: everything that comes from outside the engine's own inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The checked configuration.
    pub config: crate::config::EngineConfig,
    /// Markets, in the order of the configuration.
    pub markets: Vec<MarketSpec>,
    /// Pools beside those markets, in the order of the configuration; at most one a market.
    pub pools: Vec<PoolSpec>,
    /// Strategies and the market each one quotes.
    pub strategies: Vec<(StrategyId, crate::MarketId)>,
    /// Seed of the engine's generator.
    pub seed: u64,
    /// Random number of the store.
    pub instance: u32,
    /// Next number of an order or a move.
    pub next_number: u64,
    /// Next even storage id per token: neither it nor any above it was used. Absent tokens begin at 0.
    pub next_storage: BTreeMap<TokenId, u32>,
    /// Intents that may still be alive.
    pub open: Vec<RecoveredOrder>,
    /// Moves that may still be undecided.
    pub open_pool_transactions: Vec<RecoveredPoolTransaction>,
    /// Base units of every order of earlier runs that may not be behind its fence, whatever became of it, by
    /// base token and the second in which they expire.
    pub signed: Vec<(TokenId, u32, Amount)>,
    /// The durable level and pauses.
    pub restrictions: Restrictions,
    /// The durable books of the account, fitted to the markets above.
    pub books: Books,
    /// What markets had lost, as a store before version 5 knew it; for markets without baselines.
    pub lost: BTreeMap<MarketId, LossBaseline>,
    /// A venue time heard before the start, a lower bound of its clock now.
    pub venue_time: VenueTime,
    /// Fee rates of the account in bips that fills are checked against.
    pub maker_fee_bips: u16,
    /// As above for taking orders.
    pub taker_fee_bips: u16,
}

/// Why a batch could not be made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SealFailure {
    /// The store refused or failed; nothing further may be sealed in this process.
    Store,
    /// Signing or its verification failed.
    Signature,
}

/// A person's wish. Every one is answered by [`Notification::CommandTaken`](crate::notification::Notification::CommandTaken) or
/// [`Notification::CommandRefused`](crate::notification::Notification::CommandRefused) among the actions of its own event; what
/// has to be durable is in force when [`Notification::TradingStateChanged`](crate::notification::Notification::TradingStateChanged),
/// [`Notification::Paused`](crate::notification::Notification::Paused) or [`Notification::Unpaused`](crate::notification::Notification::Unpaused) is told.
/// Saying something again changes nothing. Reasons are for the record and must not be empty where
/// something is allowed again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Stop quoting, cancel everything, prove it, then finish.
    Drain,
    /// Stop quoting and finish without cancelling: what rests runs out by itself. What is unknown, and
    /// until when it may live, is told by [`Notification::Left`](crate::notification::Notification::Left).
    Leave,
    /// Raise the level. A lower one than the present is refused.
    Raise {
        /// To what.
        level: TradingState,
        /// Why.
        reason: String,
    },
    /// Lower the level, and take the venue's books over where they differ and hold trading back. The level
    /// is lower once that is durable. Refused by a halted engine, which is ending; and while a limit of
    /// losses is exceeded, unless they are forgotten.
    Lower {
        /// To what.
        level: TradingState,
        /// Why.
        reason: String,
        /// Losses are counted anew.
        forget_losses: bool,
    },
    /// Hold a part back until a person lifts it: its orders are cancelled, none are made.
    Pause {
        /// What.
        filter: Filter,
        /// Why.
        reason: String,
    },
    /// Lift every pause of a part, the ones that controls engaged included.
    Unpause {
        /// What; pauses of wider parts stay.
        filter: Filter,
        /// Why.
        reason: String,
    },
    /// Book a flow that did not come from our orders: a deposit, a withdrawal, a manual trade.
    Adopt {
        /// Token.
        token: TokenId,
        /// Base units, negative for what left.
        amount: i128,
        /// Why.
        reason: String,
    },
    /// Orders of another instance of cambist are ours: it is gone for good, and left them. They count, and
    /// are cancelled.
    AdoptInstance {
        /// Its number.
        instance: u32,
        /// Why.
        reason: String,
    },
    /// Take over limits and poll numbers. Markets, tokens and strategies stay.
    Reconfigure {
        /// The whole configuration.
        config: Box<crate::config::EngineConfig>,
        /// Whether limits may become looser.
        allow_loosening: bool,
    },
}

impl Command {
    /// The label used in notes, logs and metrics.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Leave => "leave",
            Self::Raise { .. } => "raise",
            Self::Lower { .. } => "lower",
            Self::Pause { .. } => "pause",
            Self::Unpause { .. } => "unpause",
            Self::Adopt { .. } => "adopt",
            Self::AdoptInstance { .. } => "adopt_instance",
            Self::Reconfigure { .. } => "reconfigure",
        }
    }
}

/// Everything the engine can hear.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The first event.
    Start(Box<Start>),
    /// A request ended.
    Answer {
        /// Which request.
        request: RequestId,
        /// How.
        outcome: Outcome,
        /// The venue's clock as read from the answer, if it carried one.
        venue_time: Option<VenueTime>,
        /// How long the venue asks to be left alone, if it refused for too many requests and said so.
        retry_after_ms: Option<u64>,
    },
    /// A batch is hashed, signed, verified and durable.
    Sealed {
        /// Which batch.
        batch: BatchId,
        /// Hash of every intent in it.
        hashes: Vec<(ClientOrderId, Hash)>,
    },
    /// A batch was not made durable: nothing of it may be sent.
    SealFailed {
        /// Which batch.
        batch: BatchId,
        /// Why.
        cause: SealFailure,
    },
    /// Level and pauses are durable and take effect.
    RestrictionsStored(Restrictions),
    /// Level and pauses could not be made durable. What they forbid is in force all the same; what they
    /// allow is not, and the engine asks again.
    RestrictionsFailed(Restrictions),
    /// A person's wish.
    Operator(Command),
    /// The deadline of `next_wakeup` has come.
    Wake,
}

/// Amounts by token, ordered: iteration must not depend on a hasher.
pub type Amounts = BTreeMap<TokenId, Amount>;

/// Base units that the ledger holds, by token. Below zero while a sale is booked and the purchase that
/// brought what it sold is not yet: fills of an earlier run are found in the order of the venue's list.
pub type Totals = BTreeMap<TokenId, i128>;
