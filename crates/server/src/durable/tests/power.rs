//! Thousands of runs on a disk that loses unsynced data: everything acknowledged is recovered, and nothing that was not
//! sent.

use std::sync::Arc;

use cambist_venue::Random;

use super::history::{Happening, Source, crowded, happen, same, venue};
use super::model::{Fault, Model};
use crate::durable::data_folder::{DataFolder, Ready};
use crate::durable::log_format::Batch;
use crate::durable::{DataError, Retention, snapshotter};
use crate::state::State;

const SEEDS: u64 = 3_000;
const LIVES: u64 = 4;
const BATCHES_MAX: u64 = 10;

/// State of one seed.
struct World {
    disk: Model,
    folder: DataFolder,
    random: Random,
    source: Source,
    /// The state after each input that was sent, preceded by the initial state.
    states: Vec<State>,
    acknowledged: usize,
    /// Whether the creation of the exchange was acknowledged.
    founded: bool,
}

impl World {
    fn new(seed: u64) -> Self {
        let disk = Model::default();
        let mut random = Random::new(seed);
        let source = Source::new(random.fork());
        let many = random.chance(1, 10);
        let first = if many {
            crowded(seed)
        } else {
            State::new(venue(), Vec::new())
        };
        let blocks = usize::try_from(random.between(3, 12)).unwrap();
        let folder = DataFolder::on(Arc::new(disk.clone()), blocks * 4_096);
        Self {
            disk,
            folder,
            random,
            source,
            states: vec![first],
            acknowledged: 0,
            founded: false,
        }
    }

    /// One run, from a start to any kind of end.
    fn live(&mut self) -> Result<(), DataError> {
        let operations = self.random.below(60);
        let fault = match self.random.below(4) {
            0 => Fault::Broken,
            _ => Fault::End,
        };
        self.disk.fail_after(operations, fault);
        let mut ready = if let Some(ready) = self.folder.resume()? {
            ready
        } else {
            assert!(!self.founded, "an acknowledged exchange was lost");
            self.folder.create(self.states[0].clone())?
        };
        self.founded = true;
        self.check(&ready);
        self.acknowledged = self.states.len() - 1;
        for _ in 0..self.random.below(BATCHES_MAX) {
            self.batch(&mut ready)?;
        }
        Ok(())
    }

    fn check(&mut self, ready: &Ready) {
        let position = usize::try_from(ready.writer.place().position).unwrap();
        assert!(
            position >= self.acknowledged,
            "{position} recovered of {} acknowledged",
            self.acknowledged
        );
        assert!(position < self.states.len(), "more recovered than was sent");
        self.states.truncate(position + 1);
        assert!(same(&ready.state, &self.states[position]), "another state");
        assert_eq!(ready.facts.steps_changed, 0);
        ready.state.venue.audit().unwrap();
    }

    fn batch(&mut self, ready: &mut Ready) -> Result<(), DataError> {
        let mut batch = Batch::default();
        let wanted = self.random.between(1, 8);
        while u64::from(batch.count) < wanted {
            let (now, happening): (_, Happening) = self.source.next();
            if let Some((entry, answers)) = happen(&mut ready.state, now, &happening) {
                batch.push(&entry, answers).unwrap();
                self.states.push(ready.state.clone());
            }
        }
        let before = ready.writer.place().position;
        let began = ready
            .writer
            .write(&batch)
            .map_err(|error| DataError::io("write", error))?;
        self.acknowledged = self.states.len() - 1;
        if began {
            snapshotter::keep(&self.disk, Retention::default(), before)?;
        }
        Ok(())
    }
}

#[test]
fn everything_acknowledged_survives_any_end_and_nothing_else_appears() {
    let (mut ends, mut recovered) = (0_u64, 0_usize);
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        for _ in 0..LIVES {
            let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.live()));
            match lived.unwrap_or_else(|_| panic!("seed {seed}")) {
                Ok(()) => {}
                Err(DataError::Io { .. }) => ends += 1,
                Err(error) => panic!("seed {seed}: {error}"),
            }
            if world.random.chance(2, 3) {
                world.disk.power_cut(&mut world.random);
            } else {
                world.disk.restart();
            }
        }
        // Finally a run without faults.
        if world.founded {
            let ready = world
                .folder
                .resume()
                .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            world.check(&ready.unwrap());
        }
        recovered += world.states.len() - 1;
    }
    assert!(ends > SEEDS / 2, "the disk failed only {ends} times");
    assert!(recovered > 0);
}
