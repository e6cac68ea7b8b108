//! The exchange as a pure state machine, and its simulated traders.
//!
//! [`Venue::handle`] is the single entry for requests: time, caller and request in, answer out. Only it and
//! [`Venue::advance`] change the state. The rules are in `docs/venue-rules.md`, each with a test. There is no JSON,
//! HTTP, signature, strategy, clock or file here. Random values (new API keys) are part of a request, so that the
//! inputs are the whole history.

mod account;
mod accounts;
pub mod agents;
mod audit;
pub(crate) mod authorisation;
mod band;
pub mod book;
mod cancel;
mod checks;
mod config;
mod depth;
mod fault;
mod fill;
mod kraken;
mod listing;
mod matching;
mod mode;
mod offchain;
mod operator;
mod orders;
mod pool;
mod random;
mod reprice;
mod request;
mod response;
mod scale;
mod schedule;
mod slots;
mod submit;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod venue;

use cambist_core::math;

pub use crate::authorisation::Proof;
pub use account::{Account, AccountId, Address, ApiKeyDigest, Balance, KeyEpoch, PublicKey};
pub use band::PriceBand;
pub use checks::{CLIENT_ID_MAX_BYTES, MAX_FEE_BIPS};
pub use config::{Compat, ConfigError, Limits, MarketConfig, TokenConfig, TokenKind, VenueConfig};
pub use fault::{FAULTS_MAX, Fault};
pub use kraken::{
    CANCEL_AFTER_MAX_S, DEADLINE_MAX_MS, EXPIRY_MS, KrakenAction, KrakenAdded, KrakenAmend,
    KrakenCall, KrakenError, KrakenOrderType, KrakenOrderView, KrakenReply, KrakenRules,
    KrakenStatus, KrakenTrade, LedgerCause, LedgerEntry, NewKrakenOrder, OrderRef, kraken_hash,
};
pub use mode::{AccountOpening, Delays, ExchangeMode, FeeSchedule};
pub use offchain::{
    Moved, NewExit, NewJoin, NewKey, NewTransfer, NewWithdrawal, Progress, SubmissionRecord,
    TokenAmount,
};
pub use operator::{LogEntry, Operator};
pub use orders::OrderKey;
pub use pool::{
    Layer, POOL_VERSION, PoolConfig, PoolListing, PoolStatus, PoolTransactionsQuery, PoolTxKind,
    PoolTxStatus,
};
pub use random::Random;
pub use request::{AccountQuery, Caller, NewOrder, OrdersQuery, Request, RequestKind};
pub use response::{
    AccountView, BalanceView, Cancelled, DepthRow, DepthView, ExchangeView, Executed, OrderView,
    OrdersView, PoolBalanceView, PoolTransactionView, PoolTransactionsView, PoolTransferView,
    Refusal, Response, SubmissionStatus, SubmissionView, Submitted, Trade,
};
pub use scale::Scale;
pub use slots::SLOTS;
pub use venue::Venue;
