//! Runs an engine over a tape and compares what it does with what was done.

use std::fmt;
use std::io::Read;

use cambist_core::Time;
use cambist_core::action::Action;
use cambist_core::event::Event;

use crate::reader::{Entry, ReadError, Reader, Tail};

/// Most characters of a difference's two texts.
const TEXT_MAX: usize = 2_000;

/// The first place where the engine did something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the event on this tape, from 0.
    pub event_number: u64,
    /// When it was heard.
    pub now: Time,
    /// What was heard.
    pub event: String,
    /// Index of the action after that event.
    pub action_number: usize,
    /// The action on tape, or `nothing`.
    pub expected: String,
    /// The action now, or `nothing`.
    pub got: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "event {} at {} us, action {}:",
            self.event_number, self.now.0, self.action_number
        )?;
        writeln!(f, "  heard    {}", self.event)?;
        writeln!(f, "  on tape  {}", self.expected)?;
        write!(f, "  now      {}", self.got)
    }
}

/// What a replay found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Events compared.
    pub events: u64,
    /// Actions compared.
    pub actions: u64,
    /// The first difference; nothing after it was compared.
    pub first_difference: Option<Difference>,
    /// How the tape ended, if it was read to its end.
    pub tail: Option<Tail>,
}

impl Replay {
    /// Whether every action was the same.
    pub const fn is_equal(&self) -> bool {
        self.first_difference.is_none()
    }
}

/// Gives every event to `engine` and compares its actions, up to the first difference.
///
/// Where the tape has a snapshot, the caller has restored it (see [`Reader::snapshot`]). An event whose
/// actions were torn off is not given to the engine.
pub fn compare<R: Read>(
    reader: &mut Reader<R>,
    mut engine: impl FnMut(Time, &Event, &mut Vec<Action>),
) -> Result<Replay, ReadError> {
    let mut replay = Replay {
        events: 0,
        actions: 0,
        first_difference: None,
        tail: None,
    };
    let mut heard = None;
    let mut got = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        match entry {
            Entry::Heard { now, event } => heard = Some((now, event)),
            Entry::Did { actions } => {
                let Some((now, event)) = heard.take() else {
                    continue;
                };
                got.clear();
                engine(now, &event, &mut got);
                if let Some(index) = first_difference(&actions, &got) {
                    replay.first_difference = Some(Difference {
                        event_number: replay.events,
                        now,
                        event: capped(&event),
                        action_number: index,
                        expected: described(actions.get(index)),
                        got: described(got.get(index)),
                    });
                    return Ok(replay);
                }
                replay.events += 1;
                replay.actions += actions.len() as u64;
            }
        }
    }
    replay.tail = reader.tail();
    Ok(replay)
}

fn first_difference(expected: &[Action], got: &[Action]) -> Option<usize> {
    let common = expected.iter().zip(got).take_while(|(one, two)| one == two);
    let common = common.count();
    (common < expected.len().max(got.len())).then_some(common)
}

fn described(action: Option<&Action>) -> String {
    action.map_or_else(|| "nothing".to_owned(), capped)
}

fn capped(value: &impl fmt::Debug) -> String {
    let text = format!("{value:?}");
    match text.char_indices().nth(TEXT_MAX) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
