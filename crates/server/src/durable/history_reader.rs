//! Everything a data folder remembers, told again: the oldest state that can still be read, every input
//! since then with the answer that it led to, and the state at the end.
//!
//! For whoever wants to check the books with a program of his own. Changes nothing; what lines are made
//! of it is the caller's.

use std::path::Path;

use cambist_core::VenueTime;
use cambist_venue::{Caller, Refusal, Request, Response, Venue};

use crate::durable::disk::Disk;
use crate::durable::files::Files;
use crate::durable::history::History;
use crate::durable::log_reader::walk;
use crate::durable::recover::replay;
use crate::durable::{DataError, MissingInputs, RecoveryFacts, snapshot};

/// One thing that a data folder tells.
#[derive(Debug)]
pub enum Told<'a> {
    /// First: how everything stood before the inputs that follow.
    Opening {
        /// Inputs before that.
        position: u64,
        /// The machine.
        venue: &'a Venue,
    },
    /// Somebody, background traders included, asked for something that may have changed the state.
    Asked {
        /// When.
        now: VenueTime,
        /// Who.
        caller: &'a Caller,
        /// What.
        request: &'a Request,
        /// What came of it.
        answer: &'a Result<Response, Refusal>,
    },
    /// Last: how everything stands, its own audit passed.
    Closing {
        /// Inputs in all.
        position: u64,
        /// The machine.
        venue: &'a Venue,
    },
}

/// Tells what is in the folder of an exchange that does not run, or in a copy, with the archives inside;
/// or what is in several folders and archives of one exchange, as one history from the oldest on.
pub fn tell(data: &[&Path], mut hear: impl FnMut(Told<'_>)) -> Result<RecoveryFacts, DataError> {
    let disk = History::open(data)?;
    let files = Files::of(&disk)?;
    let mut facts = RecoveryFacts::default();
    let mut found = None;
    let mut problem = None;
    for position in files.snapshots.iter().copied() {
        match snapshot::read(&disk, position) {
            Ok(read) => {
                found = Some(read);
                break;
            }
            Err(damage @ DataError::Damaged { .. }) => {
                facts.damaged_snapshots += 1;
                problem = Some(damage);
            }
            Err(error) => return Err(error),
        }
    }
    let Some((opened, _, mut state)) = found else {
        return Err(problem.unwrap_or_else(|| DataError::Empty {
            folder: disk.name(),
        }));
    };
    facts.snapshot_position = opened.place.position;
    if disk.from() < opened.place.position {
        facts.missing.push(MissingInputs {
            from: disk.from(),
            to: opened.place.position,
        });
    }
    hear(Told::Opening {
        position: opened.place.position,
        venue: &state.venue,
    });
    let walked = walk(&disk, &files, opened.folder, opened.place, None, |met| {
        let mut tell = |now, caller: &Caller, request: &Request, answer: &Result<_, _>| {
            hear(Told::Asked {
                now,
                caller,
                request,
                answer,
            });
        };
        replay(&disk, met, &mut state, &mut facts, &mut tell)
    })?;
    facts.position = walked.place.position;
    facts.frames = walked.frames;
    facts.log_bytes = walked.bytes;
    facts.torn_bytes = walked.last.torn_bytes as u64;
    state.venue.audit().map_err(DataError::Audit)?;
    hear(Told::Closing {
        position: facts.position,
        venue: &state.venue,
    });
    Ok(facts)
}
