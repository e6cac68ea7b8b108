//! Replays the history of a data folder: the oldest readable state, every input since then with its answer, and the
//! final state.
//!
//! Basis of `venue export`. Changes nothing; the caller formats the lines.

use std::path::Path;

use cambist_core::VenueTime;
use cambist_venue::{Caller, Refusal, Request, Response, Venue};

use crate::durable::disk::Disk;
use crate::durable::files::Files;
use crate::durable::history::History;
use crate::durable::log_reader::read_frames;
use crate::durable::recover::replay;
use crate::durable::{DataError, MissingInputs, RecoveryFacts, snapshot};

/// One item of the history.
#[derive(Debug)]
pub enum HistoryRecord<'a> {
    /// First: the state before the inputs that follow.
    Opening {
        /// Inputs before that state.
        position: u64,
        /// The venue in that state.
        venue: &'a Venue,
    },
    /// A request, of simulated traders too, that may have changed the state.
    Asked {
        /// The venue's time.
        now: VenueTime,
        /// The caller.
        caller: &'a Caller,
        /// The request.
        request: &'a Request,
        /// The answer.
        answer: &'a Result<Response, Refusal>,
        /// The venue after it.
        venue: &'a Venue,
    },
    /// Last: the final state, which has passed its audit.
    Closing {
        /// Number of all inputs.
        position: u64,
        /// The venue in that state.
        venue: &'a Venue,
    },
}

/// Reads the history of a stopped exchange, or of a copy, with its archives; or of several folders and archives of one
/// exchange, as one history from the oldest input on.
pub fn read_history(
    data: &[&Path],
    mut on_record: impl FnMut(HistoryRecord<'_>),
) -> Result<RecoveryFacts, DataError> {
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
    on_record(HistoryRecord::Opening {
        position: opened.place.position,
        venue: &state.venue,
    });
    let log_end = read_frames(&disk, &files, opened.folder, opened.place, None, |met| {
        let mut read_history =
            |now, caller: &Caller, request: &Request, answer: &Result<_, _>, venue: &Venue| {
                on_record(HistoryRecord::Asked {
                    now,
                    caller,
                    request,
                    answer,
                    venue,
                });
            };
        replay(&disk, met, &mut state, &mut facts, &mut read_history)
    })?;
    facts.position = log_end.place.position;
    facts.frames = log_end.frames;
    facts.log_bytes = log_end.bytes;
    facts.torn_bytes = log_end.last.torn_bytes as u64;
    state.venue.audit().map_err(DataError::Audit)?;
    on_record(HistoryRecord::Closing {
        position: facts.position,
        venue: &state.venue,
    });
    Ok(facts)
}
