//! The program: its command line, and what is only a command's: requests about the account, demo, paper trading, observing, shadows, backtests, replay,
//! panic.
//!
//! The daemon (`crates/daemon`) and the exchange (`crates/server`, `crates/exchange`) are crates of their own. The
//! binary is a thin shell over this library, so that tests reach every part.

pub mod account;
pub mod backtest;
pub mod cli;
pub mod commands;
pub mod demo;
pub mod exit;
pub mod interrupt;
pub mod launcher;
mod local_page;
pub mod observe;
pub mod panic;
pub mod paper;
pub mod replay;
pub mod revision;
pub mod schema;
pub mod shadow;
pub mod shard;
pub mod simulator;
pub mod sweep;
pub mod worker_pool;

#[cfg(test)]
#[path = "../crates/host/src/testing.rs"]
mod testing;
