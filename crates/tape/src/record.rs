//! What is on a tape: a header, perhaps a snapshot, then what was heard and done, in turns.

use cambist_core::action::Action;
use cambist_core::event::Event;
use cambist_core::{MarketId, Time};
use serde::{Deserialize, Serialize};

/// A strategy as configured, so that a replay builds the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrategyText {
    /// Its name in the registry.
    pub name: String,
    /// The market it quotes.
    pub market: MarketId,
    /// Its parameters as TOML text.
    pub parameters: String,
}

/// What a replay must know before the first event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the program that wrote the tape.
    pub program: String,
    /// The configuration's text as it was in force, without what it refers to.
    pub config: String,
    /// Hash of the configuration, as the program shows it.
    pub config_hash: String,
    /// Strategies in the order of their ids.
    pub strategies: Vec<StrategyText>,
}

/// One record as it is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Record {
    Header(Header),
    Snapshot(Vec<u8>),
    Heard { now: Time, event: Event },
    Did { actions: Vec<Action> },
}

/// One record as it is written: the same encoding, borrowed.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) enum RecordRef<'a> {
    Header(&'a Header),
    Snapshot(&'a [u8]),
    Heard { now: Time, event: &'a Event },
    Did { actions: &'a [Action] },
}
