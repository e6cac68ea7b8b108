//! Orders of our own against recorded market data: where they are in the queue, when they fill, what it
//! costs.
//!
//! [`FillSimulator`] is the exchange's side of a backtest or of paper trading: it is told what the
//! recorded market did ([`FillSimulator::apply_event`], [`FillSimulator::apply_snapshot`]) and what our
//! orders ask for ([`FillSimulator::submit`], [`FillSimulator::cancel`]), and reports executions. Prices
//! are ticks, quantities lots, fees exact; only places in queues are estimates. Clocks and latencies are
//! the caller's.
//!
//! # What is assumed
//!
//! - The recorded market does not react to our orders.
//! - A resting order joins behind everything that its level shows when it arrives, and moves forward as
//!   its queue model says ([`QueueModel`]).
//! - It fills when a trade at its price has gone beyond what was in front of it, when a trade went through
//!   its price, or when the other side of the book reached its price: always at its own price.
//! - How much then fills is a rule of its own ([`FillRule`]).

mod by_order;
mod depth;
mod events;
pub mod fees;
pub mod options;
pub mod order;
mod resting;
mod simulator;
mod snapshots;

pub use fees::{Fee, FeeAsset, FeeRate, Fees};
pub use options::{FillRule, Options, OptionsError, QueueModel};
pub use order::{
    ExecutionReport, Fill, Liquidity, NewOrder, OrderId, Outcome, RejectReason, TimeInForce,
};
pub use simulator::FillSimulator;
