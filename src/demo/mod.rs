//! The demo: an exchange and a daemon as its client, two processes, watched by this one.
//!
//! At two thirds of its time it kills the daemon in the middle of a submit and starts it again.
//! What the daemon says at its end is not believed: its orders and balances are asked for at the
//! exchange once more, and its tape is replayed.

pub mod audit;
pub mod child;
pub mod crash_test;
pub mod deduplicate;
pub mod end_checks;
pub mod expectations;
pub mod files;
pub mod progress_line;
pub mod recording_proxy;
pub mod scenario_player;
pub mod status;
