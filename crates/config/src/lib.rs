//! Files as people write them: keys with their places, ranges, exact money; and the files that several
//! rooms read, which are the scenarios.
//!
//! Bad files change nothing: every function here either returns one complete, checked value or every
//! mistake it found, each with file, line and column. Absent on purpose: what the daemon's and the
//! exchange's own files say; secrets; clocks; writing.

pub mod crowd;
pub mod log;
pub mod money;
pub mod reader;
pub mod scenario;
mod source;
mod value;

pub use money::{Money, MoneyError};
pub use reader::{At, ConfigError, Place, Problem, Read, Reader, Section, Source};
pub use scenario::Scenario;
pub use source::Kind;
pub use value::{CONFIG_VERSION, is_address, small, version};
