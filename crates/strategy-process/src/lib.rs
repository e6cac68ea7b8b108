//! Strategies that run in a process, in any language: the lines they exchange with the daemon, and their
//! side in the engine.
//!
//! Pure: no process, clock, file or socket. A process is given a [`view`] as one line of JSON and answers
//! with a [`target`] as one line of JSON. [`ProcessStrategy`] makes the views and takes the answers in as
//! events of the engine, so that live trading, replay and simulation decide alike. Who runs the process is
//! `crates/sandbox`; what its authors need is `docs/process-strategies.md`.

pub mod model;
pub mod settings;
pub mod target;
pub mod view;

mod remembered;
mod strategy;

pub use settings::{ProcessSettings, SettingsError};
pub use strategy::ProcessStrategy;

/// Version of the lines. Views say it, and every target repeats it.
pub const VERSION: u32 = 1;

/// Most bytes of an answer, without the end of its line.
pub const LINE_MAX: usize = 64 * 1024;

/// Most bytes of the state that a process has kept for it, as JSON.
pub const STATE_MAX: usize = 16 * 1024;

/// Most price levels of a side in a view.
pub const LEVELS_MAX: usize = 50;

/// Most fills in a view; older ones are dropped.
pub const FILLS_MAX: usize = 100;

/// Least time between two views of a process.
pub const VIEW_INTERVAL_MS: u64 = 50;

#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod tests;
