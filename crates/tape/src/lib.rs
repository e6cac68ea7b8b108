//! Recordings: what the engine heard, with times, and what it did.
//!
//! A tape is enough to run the same engine again and to compare every action. This room knows the
//! format, how to write it in bounded segments, how to read what a crash has left, and how to compare;
//! it does not know the engine (replay takes a function), a clock, or where tapes are kept beyond one
//! folder. No secret is on a tape, because events and actions carry none.

pub mod reader;
pub mod record;
pub mod replay;
pub mod segments;
pub mod writer;

mod frame;
mod versions;

#[cfg(test)]
mod testing;

pub use frame::UNTYPED;
pub use reader::{Entry, ReadError, Reader, Tail};
pub use record::{Header, StrategyText};
pub use replay::{Difference, Replay, compare, first_difference};
pub use segments::{Folder, Limits, Segment, SegmentError, Segments, Shelf};
pub use writer::{WriteError, Writer};
