//! The daemon: around the engine, what a process needs to trade with it, and to record and show what it does.
//!
//! [`live`] is the event loop with its workers, the control socket and starts and ends; [`config`] the daemon's file;
//! [`venues`] what belongs to one venue; [`telemetry`] log, metrics and pages; [`recording`] tapes; [`feeds`] public
//! market data for modes that do not trade; [`portfolio`] several venues in one process. The program (`src/`) has the command line and the modes. There is no decision here: an `if` about prices,
//! orders or balances is a bug.

pub mod adapter;
pub mod address;
pub mod config;
pub mod dry_run;
pub mod error_exit;
pub mod feeds;
pub mod live;
pub mod notify;
pub mod portfolio;
mod real_path;
pub mod recording;
pub mod telemetry;
pub mod venues;
mod whole_file;

#[cfg(test)]
#[path = "../../host/src/testing.rs"]
mod testing;
