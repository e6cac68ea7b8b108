//! A trial: the world of a seed, less what was taken away from it. What a command line says of it is
//! all there is to say, so that one command shows it again.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::campaign::outcome::Outcome;
use crate::config::{WorldConfig, WorldError};
use crate::faults::family::Family;
use crate::world::World;

/// Milliseconds of an hour.
const HOUR_MS: u64 = 3_600_000;

/// Which world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedRun {
    /// Its seed.
    pub seed: u64,
    /// Market making for this long, before the ending.
    pub duration_ms: u64,
    /// Families of faults that are turned off.
    pub without: BTreeSet<Family>,
    /// Only so many of its strategies take part.
    pub seats_max: Option<usize>,
}

impl SeedRun {
    /// The whole world of a seed.
    pub const fn new(seed: u64, duration_ms: u64) -> Self {
        Self {
            seed,
            duration_ms,
            without: BTreeSet::new(),
            seats_max: None,
        }
    }

    /// The world.
    pub fn config(&self) -> WorldConfig {
        let mut config = WorldConfig::drawn(self.seed);
        config.duration_ms = self.duration_ms;
        for family in &self.without {
            family.remove(&mut config);
        }
        if let Some(most) = self.seats_max {
            config.seats.truncate(most.max(1));
        }
        config
    }

    /// Runs it from beginning to end.
    pub fn run(&self) -> Result<Outcome, WorldError> {
        let mut world = self.world()?;
        let proven = world.play();
        Ok(world.outcome(proven))
    }

    /// Its world at the beginning.
    pub fn world(&self) -> Result<World, WorldError> {
        World::new(self.config())
    }
}

/// The arguments that show it again.
impl fmt::Display for SeedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--seeds 1 --seed {}", self.seed)?;
        if self.duration_ms != HOUR_MS {
            write!(f, " --hours {}", hours(self.duration_ms))?;
        }
        if !self.without.is_empty() {
            let names: Vec<_> = self.without.iter().map(|family| family.name()).collect();
            write!(f, " --without {}", names.join(","))?;
        }
        if let Some(most) = self.seats_max {
            write!(f, " --strategies {most}")?;
        }
        Ok(())
    }
}

/// A duration in hours, exact to the millisecond, without trailing zeros.
fn hours(duration_ms: u64) -> String {
    // A millisecond is 1/3,600,000 of an hour: nine decimals tell any two of them apart.
    let whole = duration_ms / HOUR_MS;
    let rest = u128::from(duration_ms % HOUR_MS) * 1_000_000_000 / u128::from(HOUR_MS);
    let text = format!("{whole}.{rest:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_says_what_was_taken_away() {
        let mut trial = SeedRun::new(7, HOUR_MS);
        assert_eq!(trial.to_string(), "--seeds 1 --seed 7");
        trial.duration_ms = 450_000;
        trial.without = BTreeSet::from([Family::Crash, Family::Network]);
        trial.seats_max = Some(1);
        assert_eq!(
            trial.to_string(),
            "--seeds 1 --seed 7 --hours 0.125 --without network,crash --strategies 1"
        );
    }
}
