//! Faults that the operator injects, so that clients can be tested against every answer and every late failure.

use cambist_core::Reason;
use serde::{Deserialize, Serialize};

use crate::request::{Caller, RequestKind};
use crate::response::Refusal;
use crate::venue::Venue;

/// Most faults waiting at a time.
pub const FAULTS_MAX: usize = 64;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// The next requests of a kind are refused with this code and change nothing.
    Answer {
        /// Kind of requests.
        kind: RequestKind,
        /// Code of the refusal.
        reason: Reason,
        /// Number of requests.
        count: u32,
    },
    /// The next requests of a kind are accepted and fail later: submit, transfer, withdraw, join, exit.
    FailLate {
        /// Kind of requests.
        kind: RequestKind,
        /// Milliseconds from acceptance to failure.
        after_ms: u64,
        /// Number of requests.
        count: u32,
    },
    /// Removes all waiting faults.
    Clear,
}

impl Venue {
    /// Adds a fault.
    pub(crate) fn inject(&mut self, fault: Fault) -> Result<(), Refusal> {
        match fault {
            Fault::Clear => self.faults.clear(),
            Fault::Answer { .. } | Fault::FailLate { .. } if self.faults.len() >= FAULTS_MAX => {
                return Err(Refusal::new(
                    Reason::InvalidArgument,
                    "too many faults are waiting",
                ));
            }
            Fault::Answer { .. } | Fault::FailLate { .. } => self.faults.push(fault),
        }
        Ok(())
    }

    /// Whether faults are waiting: then even a request that only reads may change the state.
    pub fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    /// The injected refusal of this kind of request. The operator and simulated traders are not affected.
    pub(crate) fn check_faults(
        &mut self,
        caller: &Caller,
        kind: RequestKind,
    ) -> Result<(), Refusal> {
        match caller {
            Caller::Operator | Caller::Internal { .. } => return Ok(()),
            Caller::Public | Caller::Account { .. } => {}
        }
        let injected = self.next_fault(|fault| match fault {
            Fault::Answer {
                kind: of,
                reason,
                count,
            } if *of == kind => Some((*reason, count)),
            Fault::Answer { .. } | Fault::FailLate { .. } | Fault::Clear => None,
        });
        injected.map_or(Ok(()), |reason| {
            Err(Refusal::new(reason, "injected by the operator"))
        })
    }

    /// Delay after which the accepted request fails, if a fault sets one.
    pub(crate) fn late_failure(&mut self, kind: RequestKind) -> Option<u64> {
        self.next_fault(|fault| match fault {
            Fault::FailLate {
                kind: of,
                after_ms,
                count,
            } if *of == kind => Some((*after_ms, count)),
            Fault::Answer { .. } | Fault::FailLate { .. } | Fault::Clear => None,
        })
    }

    /// Consumes one request of the first matching fault.
    fn next_fault<T>(&mut self, meant: impl Fn(&mut Fault) -> Option<(T, &mut u32)>) -> Option<T> {
        let mut found = None;
        for fault in &mut self.faults {
            if let Some((value, count)) = meant(fault)
                && *count > 0
            {
                *count -= 1;
                found = Some(value);
                break;
            }
        }
        self.faults.retain(|fault| match fault {
            Fault::Answer { count, .. } | Fault::FailLate { count, .. } => *count > 0,
            Fault::Clear => false,
        });
        found
    }
}
