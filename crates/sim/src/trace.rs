//! A running hash over all events and actions of the engine: equal hashes mean equal runs.

use std::fmt;

use cambist_core::Time;
use cambist_core::action::Action;
use cambist_core::event::Event;
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// The hash of a complete run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TraceHash(pub [u8; 32]);

impl TraceHash {
    /// The hash of two runs, in this order.
    pub(crate) fn with(self, other: Self) -> Self {
        let both = Sha256::new().chain_update(self.0).chain_update(other.0);
        Self(both.finalize().into())
    }
}

impl fmt::Display for TraceHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TraceHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for TraceHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The hash of events and actions so far.
#[derive(Default)]
pub(crate) struct Trace {
    digest: Sha256,
    bytes: Vec<u8>,
}

impl Trace {
    /// Adds one step of the engine.
    pub(crate) fn take(&mut self, at: Time, event: &Event, actions: &[Action]) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        // Serialisation to memory: postcard refuses only sequences of unknown length, and there are none.
        self.bytes = postcard::to_extend(&(at, event, actions), bytes)
            .expect("events and actions are plain data");
        self.digest.update(&self.bytes);
    }

    /// The hash so far.
    pub(crate) fn hash(&self) -> TraceHash {
        TraceHash(self.digest.clone().finalize().into())
    }
}
