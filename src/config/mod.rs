//! Configuration: as written (TOML with places), as checked (plain values), as bound to what the venue
//! publishes (integers for the engine).
//!
//! Bad configuration changes nothing: every function here either returns one complete, checked value
//! or every mistake it found, each with file, line and column.

pub mod bind;
pub mod bounds;
pub mod daemon;
pub mod market;
pub mod meaning;
pub mod money;
pub mod reader;
mod sections;
mod source;
mod value;
pub mod venue;

pub use bind::{Bound, Listed};
pub use daemon::Daemon;
pub use reader::{At, ConfigError, Place, Problem};
pub use source::Kind;
pub use venue::Exchange;

/// The only version of the file format so far.
pub const CONFIG_VERSION: u64 = 1;

#[cfg(test)]
mod tests;
