//! A seed run: the world of a seed, without what shrinking has removed. Its command line describes it completely, so
//! that one command reproduces it.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::campaign::outcome::Outcome;
use crate::config::{WorldConfig, WorldError};
use crate::faults::family::Family;
use crate::portfolio::{PortfolioWorld, VENUES};
use crate::world::{Tap, World};

/// Makes the seed of the second venue of a portfolio.
const SECOND_SEED: u64 = 0x7365_636f_6e64;
/// Milliseconds of an hour.
const HOUR_MS: u64 = 3_600_000;

/// Which venue a world trades on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SimulatedVenue {
    /// The exchange that this program serves.
    #[default]
    Exchange,
    /// Its matching behind consecutive numbers, deadlines, and orders without an end of their own
    /// ([`sequenced`](crate::sequenced)).
    Sequenced,
    /// Its matching behind rising nonces, deadlines, expiries and counters ([`kraken`](crate::kraken)).
    Kraken,
    /// A model of an EVM chain with a Uniswap pool, V2 or V3 ([`chain`](crate::chain)).
    EvmPools,
    /// Two of these at once, the exchange and Kraken's interface or the chain ([`portfolio`](crate::portfolio)).
    Portfolio,
}

impl fmt::Display for SimulatedVenue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exchange => "exchange",
            Self::Sequenced => "sequenced",
            Self::Kraken => "kraken",
            Self::EvmPools => "evm-pools",
            Self::Portfolio => "portfolio",
        })
    }
}

/// The world to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedRun {
    /// Its seed.
    pub seed: u64,
    /// Duration of market making, milliseconds.
    pub duration_ms: u64,
    /// Fault families that are turned off.
    pub without: BTreeSet<Family>,
    /// Only the first `seats_max` strategies run.
    pub seats_max: Option<usize>,
    /// Which venue it trades on.
    #[serde(default)]
    pub venue: SimulatedVenue,
}

impl SeedRun {
    /// The complete world of a seed.
    pub const fn new(seed: u64, duration_ms: u64) -> Self {
        Self {
            seed,
            duration_ms,
            without: BTreeSet::new(),
            seats_max: None,
            venue: SimulatedVenue::Exchange,
        }
    }

    /// Its configuration; of several venues, that of the first.
    pub fn config(&self) -> WorldConfig {
        self.drawn(self.seed, self.venue)
    }

    fn drawn(&self, seed: u64, venue: SimulatedVenue) -> WorldConfig {
        let mut config = WorldConfig::drawn(seed);
        config.duration_ms = self.duration_ms;
        config = match venue {
            SimulatedVenue::Exchange | SimulatedVenue::Portfolio => config,
            SimulatedVenue::Sequenced => config.sequenced(),
            SimulatedVenue::Kraken => config.kraken(),
            SimulatedVenue::EvmPools => config.evm_pools(),
        };
        for family in &self.without {
            family.remove(&mut config);
        }
        if let Some(most) = self.seats_max {
            config.seats.truncate(most.max(1));
        }
        config
    }

    /// Runs it to the end.
    pub fn run(&self) -> Result<Outcome, WorldError> {
        self.play(None)
    }

    /// The same, observed.
    pub fn run_watched(&self, watch: &Watch) -> Result<Outcome, WorldError> {
        self.play(Some(watch))
    }

    fn play(&self, watch: Option<&Watch>) -> Result<Outcome, WorldError> {
        if self.venue == SimulatedVenue::Portfolio {
            let mut both = PortfolioWorld::new(self.seed, self.configs())?;
            for (world, name) in both.worlds().iter_mut().zip(VENUES) {
                watch.inspect(|watch| watch.begin(world, name));
            }
            return Ok(both.play());
        }
        let mut world = self.world()?;
        watch.inspect(|watch| watch.begin(&mut world, ""));
        let proven = world.play();
        Ok(world.outcome(proven))
    }

    /// Its world before the first event; of several venues, that of the first alone.
    pub fn world(&self) -> Result<World, WorldError> {
        World::new(self.config())
    }

    /// The worlds of a portfolio: the exchange, and another venue with a seed of its own.
    fn configs(&self) -> [WorldConfig; 2] {
        let other = match self.seed % 3 {
            0 => SimulatedVenue::EvmPools,
            1 => SimulatedVenue::Exchange,
            _ => SimulatedVenue::Kraken,
        };
        let second = self.seed ^ SECOND_SEED;
        [self.config(), self.drawn(second, other)]
    }
}

/// Observes every step of the engines.
pub struct Watch {
    /// What observes the steps of a venue, by its name in a portfolio.
    pub tap: Box<dyn Fn(&'static str) -> Tap>,
    /// Only up to the first violation at that venue.
    pub until_violation: bool,
}

impl Watch {
    fn begin(&self, world: &mut World, name: &'static str) {
        let tap = (self.tap)(name);
        if self.until_violation {
            world.watch_until_violation(tap);
        } else {
            world.watch(tap);
        }
    }
}

/// The arguments that reproduce it.
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
        if self.venue != SimulatedVenue::Exchange {
            write!(f, " --venue {}", self.venue)?;
        }
        Ok(())
    }
}

/// A duration in hours, exact to the millisecond, without trailing zeros.
fn hours(duration_ms: u64) -> String {
    // A millisecond is 1/3,600,000 of an hour: nine decimals distinguish any two.
    let whole = duration_ms / HOUR_MS;
    let rest = u128::from(duration_ms % HOUR_MS) * 1_000_000_000 / u128::from(HOUR_MS);
    let text = format!("{whole}.{rest:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_run_has_arguments_for_what_was_removed() {
        let mut trial = SeedRun::new(7, HOUR_MS);
        assert_eq!(trial.to_string(), "--seeds 1 --seed 7");
        trial.duration_ms = 450_000;
        trial.without = BTreeSet::from([Family::Crash, Family::Network]);
        trial.seats_max = Some(1);
        assert_eq!(
            trial.to_string(),
            "--seeds 1 --seed 7 --hours 0.125 --without network,crash --strategies 1"
        );
        let mut sequenced = SeedRun::new(7, HOUR_MS);
        sequenced.venue = SimulatedVenue::Sequenced;
        assert_eq!(
            sequenced.to_string(),
            "--seeds 1 --seed 7 --venue sequenced"
        );
    }
}
