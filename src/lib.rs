//! The rooms of the program: command line, configuration, secrets, store, telemetry.
//!
//! Everything that trades lives in the pure rooms below this one. Here is what a process needs around
//! them: files, sockets, clocks and people. The binary is a thin shell over this library, so that
//! tests reach every room.

pub mod address;
pub mod backtest;
pub mod cli;
pub mod commands;
pub mod config;
pub mod demo;
pub mod dry_run;
pub mod exchange;
pub mod exit;
pub mod feeds;
pub mod live;
pub mod notify;
pub mod observe;
pub mod panic;
pub mod paper;
pub mod recording;
pub mod replay;
pub mod revision;
pub mod simulation;
pub mod telemetry;

#[cfg(test)]
mod testing;
