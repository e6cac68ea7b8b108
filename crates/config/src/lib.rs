//! Configuration files: positions of keys, ranges, exact money. Also scenario files, which several crates read.
//!
//! A file is accepted as a whole or not at all: every function here returns either one complete, checked value or every
//! error found, each with file, line and column. The keys of the daemon and of the exchange are defined elsewhere. There
//! are no secrets, no clocks and no writing here.

mod keys;
pub mod log;
pub mod money;
pub mod reader;
pub mod scenario;
mod source;
pub mod traders;
mod value;

pub use keys::{KnownKey, KnownKeys, Shape};
pub use money::{Money, MoneyError};
pub use reader::{At, ConfigError, Place, Problem, Read, Reader, Section, Source};
pub use scenario::Scenario;
pub use source::{Kind, short_digest};
pub use value::{CONFIG_VERSION, is_address, small, version};
