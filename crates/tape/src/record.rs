//! Records of a tape: a header, optionally a snapshot, then events and actions, alternating.

use cambist_core::action::Action;
use cambist_core::event::Event;
use cambist_core::{MarketId, Time};
use serde::{Deserialize, Serialize};

/// A configured strategy, so that a replay builds the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrategyText {
    /// Its name in the registry.
    pub name: String,
    /// The market it quotes.
    pub market: MarketId,
    /// Its parameters as TOML text.
    pub parameters: String,
}

/// What a replay needs before the first event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the program that wrote the tape.
    pub program: String,
    /// The text of the configuration in force, without the files it refers to.
    pub config: String,
    /// Hash of the configuration, as the program reports it.
    pub config_hash: String,
    /// Strategies in the order of their ids.
    pub strategies: Vec<StrategyText>,
}

/// A record as it is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Record {
    Header(Header),
    Snapshot(Vec<u8>),
    #[serde(rename = "Heard")]
    Event {
        now: Time,
        event: Event,
    },
    #[serde(rename = "Did")]
    Actions {
        actions: Vec<Action>,
    },
}

/// A record as it is written: the same encoding, borrowed.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) enum RecordRef<'a> {
    Header(&'a Header),
    Snapshot(&'a [u8]),
    #[serde(rename = "Heard")]
    Event {
        now: Time,
        event: &'a Event,
    },
    #[serde(rename = "Did")]
    Actions {
        actions: &'a [Action],
    },
}
