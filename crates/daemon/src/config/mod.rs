//! The daemon's configuration: as written (TOML with places), as checked (plain values), as bound to what the venue
//! publishes (integers for the engine).
//!
//! A file is accepted as a whole or not at all: every function here returns either one complete, checked value or every
//! error found, each with file, line and column.

pub mod daemon;
pub mod exposure;
pub mod feasible;
pub mod feed;
pub mod limits;
pub mod located;
pub mod market;
pub mod messages;
pub mod mode;
pub mod paper;
pub mod parameters;
pub mod pool;
pub mod process;
pub(crate) mod reads;
pub mod resolve;
pub mod risk;
mod sections;
pub mod shadow;
pub mod signed;
mod tolerance;
pub mod venue;

pub use cambist_config::{CONFIG_VERSION, Kind, money, reader};

pub use crate::config::resolve::{Bound, Listed};
pub use daemon::{Daemon, USUAL_PORT};
pub use located::{Located, OfAccount};
pub use mode::Mode;
pub use reader::{At, ConfigError, Place, Problem};

#[cfg(test)]
mod tests;
