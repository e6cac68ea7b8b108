//! Runs an engine over a tape and compares its actions with the recorded ones.

use std::fmt;
use std::io::Read;

use cambist_core::Time;
use cambist_core::action::Action;
use cambist_core::event::Event;

use crate::reader::{Entry, ReadError, Reader, Tail};

/// Most characters of each text in a difference.
const TEXT_MAX: usize = 2_000;

/// The first action that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the event on this tape, from 0.
    pub event_number: u64,
    /// Time of the event.
    pub now: Time,
    /// The event.
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
        writeln!(f, "  event    {}", self.event)?;
        writeln!(f, "  on tape  {}", self.expected)?;
        write!(f, "  now      {}", self.got)
    }
}

/// The result of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Events compared.
    pub events: u64,
    /// Actions compared.
    pub actions: u64,
    /// The first difference; the comparison ends there.
    pub first_difference: Option<Difference>,
    /// How the tape ended, if it was read to its end.
    pub tail: Option<Tail>,
}

impl Replay {
    /// Whether all actions were equal.
    pub const fn is_equal(&self) -> bool {
        self.first_difference.is_none()
    }
}

/// Passes every event to `engine` and compares its actions, up to the first difference.
///
/// If the tape has a snapshot, the caller must have restored it (see [`Reader::snapshot`]). An event whose actions are
/// cut off is not passed to the engine.
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
    let mut recorded = None;
    let mut got = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        match entry {
            Entry::Event { now, event } => recorded = Some((now, event)),
            Entry::Actions { actions } => {
                let Some((now, event)) = recorded.take() else {
                    continue;
                };
                got.clear();
                engine(now, &event, &mut got);
                let recorded = (now, &event);
                replay.first_difference = first_difference(replay.events, recorded, &actions, &got);
                if replay.first_difference.is_some() {
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

/// The first of an event's actions that is not the recorded one. `number` is that of the event on its tape.
pub fn first_difference(
    number: u64,
    (now, event): (Time, &Event),
    expected: &[Action],
    got: &[Action],
) -> Option<Difference> {
    let common = expected.iter().zip(got).take_while(|(one, two)| one == two);
    let common = common.count();
    (common < expected.len().max(got.len())).then(|| Difference {
        event_number: number,
        now,
        event: capped(event),
        action_number: common,
        expected: described(expected.get(common)),
        got: described(got.get(common)),
    })
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use cambist_core::event::TradingState;
    use cambist_core::notification::Notification;

    use super::*;
    use crate::testing::{Random, turns, written};

    /// The engine of these tests is a script: one list of actions for each event.
    fn replay(tape: &[u8], script: &[Vec<Action>]) -> Replay {
        let mut answers = script.iter();
        compare(&mut Reader::open(tape).unwrap(), |_, _, actions| {
            actions.extend(answers.next().into_iter().flatten().cloned());
        })
        .unwrap()
    }

    #[test]
    fn the_same_engine_is_equal() {
        let turns = turns(&mut Random(3), 40);
        let script: Vec<_> = turns.iter().map(|turn| turn.2.clone()).collect();
        let found = replay(&written(&turns, None), &script);
        assert!(found.is_equal());
        assert_eq!(found.events, 40);
        let actions: usize = script.iter().map(Vec::len).sum();
        assert_eq!(found.actions, actions as u64);
        assert_eq!(found.tail, Some(Tail::Clean));
    }

    #[test]
    fn a_changed_action_is_reported_at_its_place() {
        let mut turns = turns(&mut Random(4), 10);
        let raised = |level| {
            let cause = "test".to_owned();
            Action::Notify(Notification::TradingStateChanged { level, cause })
        };
        turns[6].2 = vec![
            raised(TradingState::Active),
            raised(TradingState::CancelOnly),
        ];
        let script: Vec<_> = turns.iter().map(|turn| turn.2.clone()).collect();
        let tape = written(&turns, None);

        let mut other = script.clone();
        other[6][1] = raised(TradingState::Halted);
        let found = replay(&tape, &other).first_difference.unwrap();
        assert_eq!((found.event_number, found.action_number), (6, 1));
        assert_eq!(found.now, turns[6].0);
        assert!(found.expected.contains("CancelOnly"), "{found}");
        assert!(found.got.contains("Halted"), "{found}");

        let mut fewer = script.clone();
        fewer[6].pop();
        let found = replay(&tape, &fewer).first_difference.unwrap();
        assert_eq!((found.action_number, found.got.as_str()), (1, "nothing"));

        let mut more = script;
        more[6].push(raised(TradingState::Halted));
        let found = replay(&tape, &more).first_difference.unwrap();
        assert_eq!(
            (found.action_number, found.expected.as_str()),
            (2, "nothing")
        );
    }

    #[test]
    fn an_event_without_its_actions_is_not_compared() {
        let turns = turns(&mut Random(5), 3);
        let script: Vec<_> = turns.iter().map(|turn| turn.2.clone()).collect();
        let mut tape = written(&turns, None);
        tape.pop();
        let found = replay(&tape, &script);
        assert!(found.is_equal());
        assert_eq!(found.events, 2);
        assert!(matches!(found.tail, Some(Tail::Torn { .. })));
    }

    #[test]
    fn differences_of_any_size_have_a_bounded_text() {
        assert!(capped(&"ä".repeat(10_000)).chars().count() <= TEXT_MAX + 1);
    }
}
