//! Fault families: each can be turned off without changing the random draws of the others.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::config::{CrashConfig, WorldConfig};
use crate::profiles::control_loss::ControlLossConfig;

/// One family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Messages are lost, repeated, reordered, garbled, refused.
    Network,
    /// The exchange changes its mode, freezes accounts, hides orders, is slow or unreachable.
    Venue,
    /// The store fails or is slow.
    Disk,
    /// The host is suspended, answers carry wrong times.
    Clock,
    /// Operators: trading states, drains, deposits, withdrawals, foreign orders.
    Operator,
    /// Tight limits, reloaded at intervals.
    Limits,
    /// The daemon crashes before any action, and writes that were not synced are lost.
    Crash,
}

/// A word that is not a fault family.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is no family of faults; there are {all}", all = Family::names())]
pub struct NoFamily {
    word: String,
}

impl Family {
    /// Every family.
    pub const ALL: [Self; 7] = [
        Self::Network,
        Self::Venue,
        Self::Disk,
        Self::Clock,
        Self::Operator,
        Self::Limits,
        Self::Crash,
    ];

    /// Its name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Venue => "venue",
            Self::Disk => "disk",
            Self::Clock => "clock",
            Self::Operator => "operator",
            Self::Limits => "limits",
            Self::Crash => "crash",
        }
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// Removes this family from a configuration.
    pub(crate) fn remove(self, config: &mut WorldConfig) {
        match self {
            Self::Network => {
                config.network = config.network.calm();
                config
                    .fault_kinds
                    .kinds
                    .retain(|kind| kind.family() != self);
            }
            Self::Limits => config.tight = false,
            Self::Crash => {
                config.crash = CrashConfig::default();
                config.falls = ControlLossConfig::default();
            }
            Self::Venue | Self::Disk | Self::Clock | Self::Operator => {
                config
                    .fault_kinds
                    .kinds
                    .retain(|kind| kind.family() != self);
            }
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Family {
    type Err = NoFamily;

    fn from_str(word: &str) -> Result<Self, NoFamily> {
        let found = Self::ALL.into_iter().find(|family| family.name() == word);
        found.ok_or_else(|| NoFamily {
            word: word.to_owned(),
        })
    }
}
