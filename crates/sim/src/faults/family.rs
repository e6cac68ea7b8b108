//! Fault families: each can be turned off without changing the random draws of the others.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::config::{ChainFaultsConfig, CrashConfig, WorldConfig};
use crate::faults::kinds::FaultKind;
use crate::profiles::control_loss::ControlLossConfig;

/// What ends the process of the daemon.
const ENDING: [FaultKind; 3] = [
    FaultKind::Drained,
    FaultKind::KeyRefused,
    FaultKind::StoreFailed,
];

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
    /// Everything that ends the process: deaths, drains, refused keys, a store that fails. A world without it is one
    /// run of the daemon.
    Restart,
}

/// A word that is not a fault family.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is no family of faults; there are {all}", all = Family::names())]
pub struct NoFamily {
    word: String,
}

impl Family {
    /// Every family.
    pub const ALL: [Self; 8] = [
        Self::Network,
        Self::Venue,
        Self::Disk,
        Self::Clock,
        Self::Operator,
        Self::Limits,
        Self::Crash,
        Self::Restart,
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
            Self::Restart => "restart",
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
            Self::Limits => (config.tight, config.portfolio) = (false, false),
            Self::Crash => {
                config.crash = CrashConfig::default();
                config.falls = ControlLossConfig::default();
            }
            Self::Restart => {
                Self::Crash.remove(config);
                config
                    .fault_kinds
                    .kinds
                    .retain(|kind| !ENDING.contains(kind));
            }
            Self::Venue | Self::Disk | Self::Clock | Self::Operator => {
                if let (Self::Venue, Some(chain)) = (self, &mut config.chain) {
                    chain.faults = ChainFaultsConfig::default();
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SeedRun, SimulatedVenue};

    /// As `cambist sim --help` states.
    #[test]
    fn every_venue_has_worlds_of_every_family() {
        let venues = [
            SimulatedVenue::Exchange,
            SimulatedVenue::Sequenced,
            SimulatedVenue::Kraken,
            SimulatedVenue::EvmPools,
        ];
        for venue in venues {
            for family in Family::ALL {
                let differs = |seed| {
                    let whole = SeedRun {
                        venue,
                        ..SeedRun::new(seed, 1)
                    };
                    let mut without = whole.clone();
                    without.without.insert(family);
                    format!("{:?}", whole.config()) != format!("{:?}", without.config())
                };
                assert!((1..100).any(differs), "{family} at {venue}");
            }
        }
    }

    #[test]
    fn a_world_without_restarts_keeps_every_other_fault() {
        let mut ended = 0;
        for seed in 1..200 {
            let whole = WorldConfig::drawn(seed);
            let mut config = whole.clone();
            Family::Restart.remove(&mut config);
            assert_eq!((config.crash.mean_ms, config.falls.mean_ms), (0, 0));
            let kinds = whole.fault_kinds.kinds.iter().copied();
            let (ending, left): (Vec<FaultKind>, Vec<FaultKind>) =
                kinds.partition(|kind| ENDING.contains(kind));
            assert_eq!(
                config.fault_kinds.kinds.iter().copied().collect::<Vec<_>>(),
                left
            );
            ended += ending.len();
        }
        assert!(ended > 100, "{ended}");
    }
}
