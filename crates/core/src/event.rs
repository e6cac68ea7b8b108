//! Everything the engine can hear. Closed: a new input is a new variant.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::market::MarketSpec;
use crate::order::{ClientOrderId, Hash, StrategyId, UnsignedOrder};
use crate::request::{Outcome, RequestId};
use crate::time::VenueTime;
use crate::token::{Amount, TokenId};

/// How much trading is allowed. Ordered: a higher level allows less.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Level {
    /// Everything.
    #[default]
    Trading,
    /// No new orders; own orders are cancelled.
    CancelOnly,
    /// As cancel-only, and the program ends; survives restarts until a person lowers it.
    Halted,
}

impl Level {
    /// The label used in metrics, logs and the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trading => "trading",
            Self::CancelOnly => "cancel_only",
            Self::Halted => "halted",
        }
    }
}

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
    /// Strategies and the market each one quotes.
    pub strategies: Vec<(StrategyId, crate::MarketId)>,
    /// Seed of the engine's generator.
    pub seed: u64,
    /// Random number of the store.
    pub instance: u32,
    /// Next client order number.
    pub next_number: u64,
    /// Next even storage id per sell token; absent tokens begin at 0.
    pub next_storage: BTreeMap<TokenId, u32>,
    /// Intents that may still be alive.
    pub open: Vec<RecoveredOrder>,
    /// The durable level.
    pub level: Level,
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
    /// The store refused or failed; no further order may be sealed in this process.
    Store,
    /// Signing or its verification failed.
    Signature,
}

/// An operator's wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Stop quoting, cancel everything, prove it, then finish.
    Drain,
    /// Raise the level.
    Raise(Level),
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
    },
    /// A batch is hashed, signed, verified and durable.
    Sealed {
        /// Which batch.
        batch: BatchId,
        /// Hash of every order in it.
        hashes: Vec<(ClientOrderId, Hash)>,
    },
    /// A batch was not made durable: none of its orders may be sent.
    SealFailed {
        /// Which batch.
        batch: BatchId,
        /// Why.
        cause: SealFailure,
    },
    /// The level is durable and takes effect.
    LevelStored(Level),
    /// An operator's wish.
    Operator(Command),
    /// The deadline of `next_wakeup` has come.
    Wake,
}

/// Amounts by token, ordered: iteration must not depend on a hasher.
pub type Amounts = BTreeMap<TokenId, Amount>;
