//! Faults that the operator injects, so that every answer and every late failure can be provoked.

use cambist_core::Reason;
use serde::{Deserialize, Serialize};

use crate::request::RequestKind;

/// Faults waiting at once, at most.
pub const FAULTS_MAX: usize = 64;

/// What goes wrong next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// The next requests of a kind are refused with this code and change nothing.
    Answer {
        /// Which kind.
        kind: RequestKind,
        /// With what.
        reason: Reason,
        /// How many.
        count: u32,
    },
    /// The next requests of a kind are taken and fail later: submit, transfer, withdraw, join, exit.
    FailLate {
        /// Which kind.
        kind: RequestKind,
        /// How long after they were taken.
        after_ms: u64,
        /// How many.
        count: u32,
    },
    /// Forget all faults that wait.
    Clear,
}
