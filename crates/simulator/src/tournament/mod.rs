//! The tournament: contestants, markets and network as configured, results in a file, the comparison as a table.
//!
//! A game itself is played by [`cambist_sim::tournament`]. Here is what it is played with (`contestants.rs`,
//! `setting.rs`), which games there are (`plan.rs`), where their results are kept (`results.rs`), and what they come to
//! (`comparison.rs`, `text.rs`). Games are independent of each other: threads and interruptions change no byte.

pub mod comparison;
pub mod contestants;
pub mod plan;
pub mod results;
pub mod setting;
pub mod text;
