//! Tapes: recordings of the engine's events, with times, and of its actions.
//!
//! A tape is enough to run the same engine again and to compare every action. This crate defines the format, writes it
//! in bounded segments, reads tapes that a crash has cut off, and compares. It does not depend on the engine (replay
//! takes a function) or on a clock, and uses of the file system only one folder of segments. Events and actions carry
//! no secrets, so a tape holds none.

pub mod reader;
pub mod record;
pub mod replay;
pub mod segments;
pub mod writer;

mod frame;
pub mod versions;

#[cfg(test)]
mod testing;

pub use frame::UNTYPED;
pub use reader::{Entry, ReadError, Reader, Tail, empty_at};
pub use record::{Header, StrategyText};
pub use replay::{Difference, Replay, compare, first_difference};
pub use segments::{Folder, Limits, Segment, SegmentError, Segments, Shelf};
pub use writer::{WriteError, Writer};
