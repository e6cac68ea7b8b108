//! The inputs of the engine. Closed: a new input is a new variant.

use serde::{Deserialize, Serialize};

use crate::books::Books;
use crate::elsewhere::MarketElsewhere;
use crate::intent::RecoveredPoolTransaction;
use crate::market::{MarketId, MarketSpec};
use crate::order::{ClientOrderId, Hash, StrategyId, UnsignedOrder};
use crate::pool::PoolSpec;
use crate::portfolio::Portfolio;
use crate::reference::{ReferencePrice, ReferenceSource};
use crate::request::{Outcome, RequestId};
use crate::sorted_map::SortedMap;
use crate::strategy::{ProcessMessage, Traded};
use crate::time::VenueTime;
use crate::token::{Amount, TokenId};
use crate::venue::VenueRules;

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
    /// Fee already booked, base units of the market's fee token
    /// ([`MarketSpec::fee_token`](crate::MarketSpec::fee_token)).
    pub fee: Amount,
}

/// The first event of a run: all data from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The checked configuration.
    pub config: crate::config::EngineConfig,
    /// Markets, in the order of the configuration.
    pub markets: Vec<MarketSpec>,
    /// Pools beside those markets, in the order of the configuration; at most one for each market.
    pub pools: Vec<PoolSpec>,
    /// Strategies and the market each one quotes.
    pub strategies: Vec<(StrategyId, crate::MarketId)>,
    /// What each of them remembered at the end of an earlier run, in the same order; nothing for one that is
    /// new. Shorter than the list if the rest are.
    pub memories: Vec<Vec<u8>>,
    /// What each of them traded in earlier runs, in the same order; nothing for the rest if it is shorter.
    pub traded: Vec<Traded>,
    /// Seed of the engine's generator.
    pub seed: u64,
    /// Random number of the store.
    pub instance: u32,
    /// Next number of an intent.
    pub next_number: u64,
    /// Tokens of the common budget that are left, by what is known of the venue's own count. `None` if nothing is: the budget
    /// is then empty after earlier runs, and full without.
    pub budget_left: Option<u32>,
    /// Next slot number by row: neither it nor any above it was used. Absent rows begin at 0.
    pub next_slots: SortedMap<TokenId, u32>,
    /// Intents that may still be alive.
    pub open: Vec<RecoveredOrder>,
    /// Joins and exits that may be undecided.
    pub open_pool_transactions: Vec<RecoveredPoolTransaction>,
    /// Base units of every order of earlier runs whose fence may not have passed, whatever the venue reported of it, by
    /// base token and the last second at which it can have an effect.
    pub signed: Vec<(TokenId, u32, Amount)>,
    /// The durable trading state and pauses.
    pub restrictions: Restrictions,
    /// The durable books of the account, fitted to the markets above.
    pub books: Books,
    /// Losses of markets from a store before version 5; for markets without baselines.
    pub lost: SortedMap<MarketId, LossBaseline>,
    /// A lower bound of the venue's clock now, from an answer before the start.
    pub venue_time: VenueTime,
    /// Fee rates of the account in bips with which the fees of fills are compared.
    pub maker_fee_bips: u16,
    /// As above for taking orders.
    pub taker_fee_bips: u16,
    /// What the venue guarantees.
    pub venue: VenueRules,
    /// Sources of reference prices.
    pub references: Vec<ReferenceSource>,
}

/// Why a batch could not be made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SealFailure {
    /// The store refused or failed; nothing further may be sealed in this process.
    Store,
    /// Signing or its verification failed.
    Signature,
}

/// An operator's command. Each is answered by
/// [`Notification::CommandAccepted`](crate::notification::Notification::CommandTaken) or
/// [`Notification::CommandRefused`](crate::notification::Notification::CommandRefused) among the actions of its own
/// event. An effect that must be durable is in force when
/// [`Notification::TradingStateChanged`](crate::notification::Notification::TradingStateChanged),
/// [`Notification::Paused`](crate::notification::Notification::Paused) or
/// [`Notification::Unpaused`](crate::notification::Notification::Unpaused) is emitted. Repeating a command changes
/// nothing. Reasons are for the record; a command that allows trading again needs one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Stop quoting, cancel everything, prove it, then finish.
    Drain,
    /// Stop quoting and finish without cancelling: resting orders expire.
    /// [`Notification::Left`](crate::notification::Notification::Left) reports unknown orders, and until when they may
    /// be alive.
    Leave,
    /// Raise the trading state. A lower one than the present is refused.
    Raise {
        /// To what.
        level: TradingState,
        /// Why.
        reason: String,
    },
    /// Lower the trading state, and adopt the venue's balances where they differ and stop trading. It is lower once
    /// that is durable. Refused by a halted engine, which is ending; and while a loss limit is exceeded, unless losses
    /// are reset.
    Lower {
        /// To what.
        level: TradingState,
        /// Why.
        reason: String,
        /// Whether losses are reset.
        forget_losses: bool,
    },
    /// Pause a part until an operator lifts it: its orders are cancelled, none are placed.
    Pause {
        /// The part.
        filter: Filter,
        /// Reason.
        reason: String,
    },
    /// Lift every pause of a part, including those that controls engaged.
    Unpause {
        /// The part; pauses of wider parts remain.
        filter: Filter,
        /// Reason.
        reason: String,
    },
    /// Book a flow that is not from our intents: a deposit, a withdrawal, a manual trade.
    Adopt {
        /// Token.
        token: TokenId,
        /// Base units, negative for an outflow.
        amount: i128,
        /// Why.
        reason: String,
    },
    /// Adopt the orders of another instance, which is gone for good. They count, and are cancelled.
    AdoptInstance {
        /// Its number.
        instance: u32,
        /// Why.
        reason: String,
    },
    /// Announce a flow that a request beside the engine may cause: a difference that is exactly this amount, or the sum
    /// of several, is booked as explained when it is found. Not durable: the next run needs it again.
    Expect {
        /// Token.
        token: TokenId,
        /// Base units, negative for an outflow.
        amount: i128,
        /// What it is; identifies the flow.
        reason: String,
    },
    /// The announced flow of this reason will not happen.
    ExpectNoMore {
        /// Its reason.
        reason: String,
    },
    /// Take a slot number of a token for a request beside the engine. The reply's detail is the number; it is durable
    /// with the booking of the same event.
    TakeSlot {
        /// The sold token.
        token: TokenId,
    },
    /// Use other limits, polling parameters and parameters of strategies, all or none of them. Markets, tokens and
    /// strategies remain.
    Reconfigure {
        /// The whole configuration.
        config: Box<crate::config::EngineConfig>,
        /// The strategies that get other parameters.
        parameters: Vec<StrategyParameters>,
        /// Why, if an operator set single parameters; empty for a configuration that was read again.
        reason: String,
        /// Whether limits and parameters may become looser.
        allow_loosening: bool,
    },
}

/// All parameters of a strategy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrategyParameters {
    /// Which strategy.
    pub strategy: StrategyId,
    /// The text that it is built from.
    pub text: String,
}

impl Command {
    /// The label used in notifications, logs and metrics.
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
            Self::Expect { .. } => "expect",
            Self::ExpectNoMore { .. } => "expect_no_more",
            Self::TakeSlot { .. } => "take_slot",
            Self::Reconfigure { .. } => "reconfigure",
        }
    }
}

/// An input of the engine.
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
        /// The venue's clock in the answer, if it had one.
        venue_time: Option<VenueTime>,
        /// Retry-after of the venue, if it refused because of its rate limit and sent one.
        retry_after_ms: Option<u64>,
        /// What the requests behind it cost beyond what its endpoint costs, in tokens of the common budget.
        cost_beyond: u32,
    },
    /// A batch is hashed, signed, verified and durable.
    Sealed {
        /// Which batch.
        batch: BatchId,
        /// Hash of every intent in it that was signed. What holds the key refused the others: they are not stored, and
        /// never sent.
        hashes: Vec<(ClientOrderId, Hash)>,
    },
    /// A batch was not made durable: nothing of it may be sent.
    SealFailed {
        /// Which batch.
        batch: BatchId,
        /// Why.
        cause: SealFailure,
    },
    /// Trading state and pauses are durable and in force.
    RestrictionsStored(Restrictions),
    /// Trading state and pauses could not be made durable. Restrictions apply all the same, what they allow does not,
    /// and the engine stores them again.
    RestrictionsFailed(Restrictions),
    /// An operator's command.
    Operator(Command),
    /// Something happened to the process behind a strategy.
    Process {
        /// Which strategy.
        strategy: StrategyId,
        /// What.
        message: ProcessMessage,
    },
    /// The time of `next_wakeup` has come.
    Wake,
    /// A source of reference prices has a price.
    Reference(ReferencePrice),
    /// What other venues may hold, and the limits over all of them.
    Portfolio(Portfolio),
    /// Markets of other venues that strategies read, as they are now; those that are absent have not changed.
    Elsewhere(Vec<MarketElsewhere>),
}

/// Amounts by token, ordered so that iteration does not depend on a hasher.
pub type Amounts = SortedMap<TokenId, Amount>;

/// Amounts of the ledger in base units, by token. Below zero while a sale is booked and the earlier purchase is not:
/// fills of an earlier run are found in the order of the venue's list.
pub type Totals = SortedMap<TokenId, i128>;
