//! Slots: numbers that make the same bytes count once.

use serde::{Deserialize, Serialize};

use crate::token::TokenId;

/// Slots per account and token of the exchange interface.
pub const EXCHANGE_SLOTS: u32 = 1 << 14;

/// Which numbers intents get, and when a number may be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SlotRule {
    /// A row of rising numbers for each sold token. Number `n` uses slot `n mod slots`, which takes larger
    /// numbers only: a number is never used twice, and never one whose slot holds something alive. Orders have
    /// even numbers, joins and exits odd ones.
    Strided {
        /// How many slots a token has.
        slots: u32,
    },
    /// One row for the account. The venue takes number `n` only after all below it: a gap holds back what comes
    /// after it, so that a number that was never spent is used again, the lowest first. A refusal spends none.
    Consecutive {
        /// The token under whose name the row is counted, in the store and in [`Start`](crate::event::Start).
        row: TokenId,
    },
    /// One row for the account. The venue takes number `n` only if it is above every number that it has looked at, and
    /// then it is spent, whatever the answer: gaps are allowed, and no number is ever used again. Once a later number
    /// has left, bytes of an earlier one are not sent again, because the venue may refuse them for that alone.
    Rising {
        /// The token under whose name the row is counted, in the store and in [`Start`](crate::event::Start).
        row: TokenId,
    },
}

impl SlotRule {
    /// Whether numbers have to arrive in their order, so that one at a time is given out.
    pub const fn is_in_turn(&self) -> bool {
        match self {
            Self::Strided { .. } => false,
            Self::Consecutive { .. } | Self::Rising { .. } => true,
        }
    }

    /// The row that an intent's number belongs to.
    pub const fn row(&self, sold: TokenId) -> TokenId {
        match self {
            Self::Strided { .. } => sold,
            Self::Consecutive { row } | Self::Rising { row } => *row,
        }
    }
}

/// Whether a number that becomes free was used up at the venue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spent {
    /// The venue took what bears it, or said that the number is used.
    Yes,
    /// Nothing that bears it was ever taken, and nothing can be.
    No,
}
