//! Which games there are, by their numbers: every contestant at every market, each with every seed.

use cambist::exit::{Exit, Failure};
use cambist_config::reader::Source;
use cambist_sim::tournament::{Played, play};

use crate::tournament::contestants::Contestant;
use crate::tournament::setting::{Market, Pairing};

/// A game by its place: market, contestant and seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Index of the market.
    pub market: usize,
    /// Index of the contestant.
    pub contestant: usize,
    /// The seed.
    pub seed: u64,
}

/// All games.
pub struct Plan {
    /// Where.
    pub markets: Vec<Market>,
    /// Who; the reference first.
    pub contestants: Vec<Contestant>,
    /// The first seed.
    pub first: u64,
    /// Number of seeds.
    pub seeds: u64,
    pairings: Vec<Pairing>,
}

impl Plan {
    /// Prepares all games.
    pub fn new(
        markets: Vec<Market>,
        contestants: Vec<Contestant>,
        (first, seeds): (u64, u64),
        daemon: &Source,
    ) -> anyhow::Result<Self> {
        let mut pairings = Vec::new();
        for market in &markets {
            for contestant in &contestants {
                pairings.push(Pairing::new(market, contestant, daemon)?);
            }
        }
        Ok(Self {
            markets,
            contestants,
            first,
            seeds,
            pairings,
        })
    }

    /// Every game, seeds outermost: an interrupted tournament has the same seeds of all.
    pub fn places(&self) -> impl Iterator<Item = Place> + '_ {
        (0..self.seeds).flat_map(move |place| {
            let seed = self.first + place;
            (0..self.markets.len()).flat_map(move |market| {
                (0..self.contestants.len()).map(move |contestant| Place {
                    market,
                    contestant,
                    seed,
                })
            })
        })
    }

    /// What a game is played with.
    pub fn pairing(&self, place: Place) -> &Pairing {
        &self.pairings[place.market * self.contestants.len() + place.contestant]
    }

    /// Plays a game.
    pub fn play(&self, place: Place) -> anyhow::Result<Played> {
        let named = |error: anyhow::Error| {
            let (market, contestant) = (
                &self.markets[place.market],
                &self.contestants[place.contestant],
            );
            let what = format!(
                "{} at {}, seed {}: {error:#}",
                contestant.name, market.name, place.seed
            );
            anyhow::Error::from(Failure::new(Exit::Invariant, what))
        };
        let game = self.pairing(place).game(place.seed)?;
        play(&game).map_err(|error| named(error.into()))
    }
}
