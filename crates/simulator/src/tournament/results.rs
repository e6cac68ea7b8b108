//! The file of results: one line of JSON for each game. A tournament that was interrupted goes on where its file ends.
//! Lines of another program, or of games that were played with something else, are left where they are and not used.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist::exit::{Exit, Failure};
use cambist_sim::tournament::Played;
use serde::{Deserialize, Serialize};

use crate::results_file;
use crate::tournament::plan::{Place, Plan};

/// A line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Which build played it: the first half of the hash of the program file.
    pub build: String,
    /// Hash of scenario, configuration, exchange and network.
    pub inputs: String,
    /// Name of the market.
    pub scenario: String,
    /// Name of the contestant.
    pub contestant: String,
    /// The seed.
    pub seed: u64,
    /// The result.
    pub played: Played,
}

/// Games by their places.
pub type Games = BTreeMap<Place, Played>;

/// The file, open for more lines and locked against other processes.
pub struct Results {
    path: PathBuf,
    file: File,
    build: String,
    /// Lines that belong to other tournaments.
    pub others: u64,
}

impl Results {
    /// Opens or begins a file, and returns the games of the plan that it has. A last line that an interruption cut short
    /// is removed. Two results of one game are refused unless they are equal.
    pub fn open(path: &Path, build: &str, plan: &Plan) -> anyhow::Result<(Self, Games)> {
        let name = || format!("results file {}", path.display());
        let file = results_file::open(path)?;
        let known: BTreeMap<_, _> = plan
            .places()
            .map(|place| {
                let market = plan.markets[place.market].name.as_str();
                let contestant = plan.contestants[place.contestant].name;
                let inputs = plan.pairing(place).inputs.as_str();
                ((inputs, market, contestant, place.seed), place)
            })
            .collect();
        let (mut games, mut others, mut whole) = (Games::new(), 0, 0);
        let mut reader = BufReader::new(&file);
        for number in 1_u64.. {
            let mut text = String::new();
            let read = reader.read_line(&mut text).with_context(name)?;
            if read == 0 || !text.ends_with('\n') {
                break;
            }
            whole += read as u64;
            let at = || format!("{}, line {number}", path.display());
            let line: Line = serde_json::from_str(&text).with_context(at)?;
            let key = (
                line.inputs.as_str(),
                line.scenario.as_str(),
                line.contestant.as_str(),
                line.seed,
            );
            let place = known.get(&key).filter(|_| line.build == build);
            let Some(place) = place else {
                others += 1;
                continue;
            };
            let before = games.insert(*place, line.played);
            if before.is_some_and(|before| before != line.played) {
                let what = format!(
                    "{}: {} at {}, seed {}, has another result than in an earlier line: one of them is not of this program",
                    at(),
                    line.contestant,
                    line.scenario,
                    line.seed
                );
                return Err(Failure::new(Exit::CheckFailed, what).into());
            }
        }
        drop(reader);
        file.set_len(whole).with_context(name)?;
        let results = Self {
            path: path.to_owned(),
            file,
            build: build.to_owned(),
            others,
        };
        Ok((results, games))
    }

    /// Adds a line. It may be lost with the machine, and the game is then played again.
    pub fn add(&mut self, plan: &Plan, place: Place, played: Played) -> anyhow::Result<()> {
        let line = Line {
            build: self.build.clone(),
            inputs: plan.pairing(place).inputs.clone(),
            scenario: plan.markets[place.market].name.clone(),
            contestant: plan.contestants[place.contestant].name.to_owned(),
            seed: place.seed,
            played,
        };
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        // In one piece, so that an interruption cuts the last line and no other.
        let written = self.file.write_all(&text);
        written.with_context(|| format!("results file {}", self.path.display()))
    }

    /// Makes all lines durable.
    pub fn close(self) -> anyhow::Result<()> {
        let synced = self.file.sync_all();
        synced.with_context(|| format!("results file {}", self.path.display()))
    }
}

#[cfg(test)]
#[path = "results_tests.rs"]
mod results_tests;
