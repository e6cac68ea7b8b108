//! Our own orders against recorded market data: queue positions, fills and fees.
//!
//! [`FillSimulator`] is the exchange's side of a backtest or of paper trading. Its inputs are the events of the
//! recorded market ([`FillSimulator::apply_event`], [`FillSimulator::apply_snapshot`]) and requests for our orders
//! ([`FillSimulator::submit`], [`FillSimulator::cancel`]); its output is execution reports. Prices are ticks,
//! quantities lots, fees exact; only queue positions are estimates. Clocks and latencies are left to the caller.
//!
//! # Assumptions
//!
//! - The recorded market does not react to our orders.
//! - A resting order joins behind everything at its level when it arrives, and moves forward by its queue model
//!   ([`QueueModel`]).
//! - It fills when trades at its price exceed the quantity in front of it, when a trade went through its price, or when
//!   the other side of the book reached its price: always at its own price.
//! - How much fills is determined by a separate rule ([`FillRule`]).

mod by_order;
mod depth;
mod events;
pub mod fees;
pub mod options;
pub mod order;
mod resting;
mod simulator;
mod snapshots;
mod trade_sides;
mod traded;

pub use fees::{Fee, FeeAsset, FeeRate, Fees};
pub use options::{FillRule, Options, OptionsError, QueueModel};
pub use order::{
    ExecutionReport, Fill, Liquidity, NewOrder, OrderId, Outcome, RejectReason, TimeInForce,
};
pub use simulator::FillSimulator;
pub use trade_sides::TradeSides;
