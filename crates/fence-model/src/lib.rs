//! An exhaustive model of the fence: two orders, two crashes, a network that loses, repeats, delays and reorders
//! messages, a venue that lists orders late and may refuse at any time, and a clock.
//!
//! A model checker visits every state that any order of events leads to. The decisions about evidence are not
//! reimplemented here: they are `cambist_core::fence` and `Reason::refusal`, the code that the engine runs.
//! `engine` keeps only the state that they need. `wrong` holds rules that other programs use, or that an error would
//! turn ours into; a property finds each of them and prints its history.
//!
//! README.md lists the abstractions and the number of states.

pub mod engine;
pub mod model;
pub mod venue;
pub mod wrong;

pub use model::{Action, Fence, World};
pub use wrong::Wrong;

/// How long an order rests after the time at which its bytes are last accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rests {
    /// No longer: one time for both.
    #[default]
    WhileAccepted,
    /// A tick longer.
    Longer,
    /// Until it is filled or cancelled.
    Endless,
}

impl Rests {
    /// The last tick at which an order can fill whose bytes are accepted until then.
    pub const fn until(self, accepted_until: u8) -> Option<u8> {
        match self {
            Self::WhileAccepted => Some(accepted_until),
            Self::Longer => Some(accepted_until + 1),
            Self::Endless => None,
        }
    }
}

/// How the venue takes numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Numbers {
    /// Each by itself, as storage ids are. Both orders are for one quote.
    #[default]
    Apart,
    /// Only above every number that it has seen, whatever it answered. The orders are for two quotes: an unknown one
    /// does not hold the other back, so that a later number is taken while an earlier order is unknown.
    Rising,
}

/// Number of orders, all for the same quote.
pub const ORDERS: usize = 2;
/// Transmissions of one order.
pub const COPIES: usize = 2;
/// Most crashes.
pub const CRASHES: u8 = 2;
/// Most wrong pages of lists.
pub const WRONG_PAGES: u8 = 1;
/// Most rounds of one scan.
pub const ROUNDS: u8 = 3;
/// Life of an order in ticks of the venue's clock.
pub const LIFE: u8 = 1;
/// Time after expiry within which an order may fill or be listed for the first time, in ticks.
pub const GRACE: u8 = 1;
/// The clock stops here: room for two lives with their fences, one after the other.
pub const HORIZON: u8 = 2 * (LIFE + GRACE + 1);
/// How far the local clock is ahead, in ticks.
pub const SKEW: u8 = 2;
/// Milliseconds of a tick.
pub const TICK_MS: u64 = 1_000;
