//! The fence as a small exhaustive model: two orders, two crashes, a network that loses, repeats, delays
//! and reorders, a venue that shows orders late and refuses as it likes, and a clock.
//!
//! A model checker visits every state that any order of events leads to. The decisions about evidence
//! are not written again here: they are `cambist_core::fence` and `Reason::proves_submit_dead`, the code
//! that the engine runs. Around them, `engine` keeps only what they need. `wrong` holds rules that other
//! programs use, or that a slip would make of ours; each is found by a property, with its history.
//!
//! What is abstracted, and how many states there are: README.md.

pub mod engine;
pub mod model;
pub mod venue;
pub mod wrong;

pub use model::{Action, Fence, World};
pub use wrong::Wrong;

/// Orders that are ever made, all for the same quote.
pub const ORDERS: usize = 2;
/// Transmissions of one order.
pub const COPIES: usize = 2;
/// Crashes.
pub const CRASHES: u8 = 2;
/// Pages of lists that are wrong.
pub const LIES: u8 = 1;
/// Rounds of one reading of a list.
pub const ROUNDS: u8 = 3;
/// Life of an order in ticks of the venue's clock.
pub const LIFE: u8 = 1;
/// How long after its expiry an order may fill or show up for the first time, in ticks.
pub const GRACE: u8 = 1;
/// The clock stops here: room for two lives with their fences, one after the other.
pub const HORIZON: u8 = 2 * (LIFE + GRACE + 1);
/// How far the machine's own clock is ahead, in ticks.
pub const SKEW: u8 = 2;
/// Milliseconds of a tick.
pub const TICK_MS: u64 = 1_000;
