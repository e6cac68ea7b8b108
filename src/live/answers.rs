//! What people are answered, and when: what has to be durable is answered when it is.
//!
//! Level and pauses are written together, at most one write at a time, so an answer about them waits until
//! nothing of them is left to be written. Flows are written one by one, and an answer waits for its own.

use cambist_core::event::Command;
use cambist_core::note::Note;
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// Answers that may wait for the disk.
const WAITING_MAX: usize = 64;

/// Where an answer goes. Whoever asked may be gone.
pub type Answer = oneshot::Sender<Value>;

/// What an answer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    /// Level and pauses.
    Levels,
    /// So many flows since the start.
    Flow(u64),
}

/// The wish being obeyed.
#[derive(Default)]
struct Present {
    answer: Option<Answer>,
    verdict: Option<Result<String, String>>,
    /// It is about level or pauses.
    levels: bool,
    /// The flow it booked, if it could be told to the store.
    flow: Option<Result<u64, ()>>,
    /// It is answered with what the run comes to.
    at_end: bool,
    /// What it is about, said before what the engine says.
    about: Option<String>,
}

/// Answers, given or waiting.
#[derive(Default)]
pub struct Answers {
    present: Present,
    waiting: Vec<(For, Option<Answer>, String)>,
    /// Those who wait for what the run comes to.
    at_end: Vec<Answer>,
    flows_told: u64,
    flows_stored: u64,
}

impl Answers {
    /// Somebody wants something, to be answered at once or at the end of the run.
    pub fn begin(&mut self, answer: Option<Answer>, command: &Command, at_end: bool) {
        let levels = match command {
            Command::Raise { .. }
            | Command::Lower { .. }
            | Command::Pause { .. }
            | Command::Unpause { .. } => true,
            Command::Drain
            | Command::Leave
            | Command::Adopt { .. }
            | Command::AdoptInstance { .. }
            | Command::Reconfigure { .. } => false,
        };
        self.present = Present {
            answer,
            levels,
            at_end,
            ..Present::default()
        };
    }

    /// What the present wish is about, for its answer.
    pub fn about(&mut self, about: Option<String>) {
        self.present.about = about;
    }

    /// What the engine says while it obeys.
    pub fn note(&mut self, note: &Note) {
        if let Note::CommandTaken { detail, .. } = note {
            self.present.verdict = Some(Ok(detail.clone()));
        } else if let Note::CommandRefused { why, .. } = note {
            self.present.verdict = Some(Err(why.clone()));
        }
    }

    /// A flow is on its way to the disk, or cannot be.
    pub fn flow_told(&mut self, told: bool) {
        self.flows_told += u64::from(told);
        self.present.flow = Some(if told { Ok(self.flows_told) } else { Err(()) });
    }

    /// The engine has heard the wish. True if it has taken it.
    pub fn end(&mut self, levels_are_pending: bool) -> bool {
        let present = std::mem::take(&mut self.present);
        let detail = match present.verdict {
            Some(Ok(detail)) => match present.about {
                Some(about) => format!("{about}; {detail}"),
                None => detail,
            },
            Some(Err(why)) => {
                give(present.answer, refused(&why));
                return false;
            }
            None => {
                give(present.answer, refused("the daemon is ending"));
                return false;
            }
        };
        if present.at_end && self.at_end.len() < WAITING_MAX {
            self.at_end.extend(present.answer);
            return true;
        }
        let what = match present.flow {
            Some(Ok(number)) => Some(For::Flow(number)),
            Some(Err(())) => {
                give(present.answer, done(&detail, Some(false)));
                return true;
            }
            None => (present.levels && levels_are_pending).then_some(For::Levels),
        };
        match what {
            None => give(present.answer, done(&detail, None)),
            Some(what) if self.waiting.len() < WAITING_MAX => {
                self.waiting.push((what, present.answer, detail));
            }
            // A disk that so many wait for has stored nothing for long.
            Some(_) => give(present.answer, done(&detail, Some(false))),
        }
        true
    }

    /// Nothing is left to be written of level and pauses, or it could not be written.
    pub fn levels_stored(&mut self, durable: bool) {
        self.answer(durable, |what| what == For::Levels);
    }

    /// The oldest flow on its way to the disk is there, or could not be written.
    pub fn flow_stored(&mut self, durable: bool) {
        self.flows_stored += 1;
        let stored = For::Flow(self.flows_stored);
        self.answer(durable, |what| what == stored);
    }

    /// Those who wait for what the run comes to.
    pub fn take_waiting_for_the_end(&mut self) -> Vec<Answer> {
        std::mem::take(&mut self.at_end)
    }

    fn answer(&mut self, durable: bool, ready: impl Fn(For) -> bool) {
        for (_, answer, detail) in self.waiting.extract_if(.., |(what, _, _)| ready(*what)) {
            give(answer, done(&detail, Some(durable)));
        }
    }
}

/// Gives an answer to whoever still waits for it.
pub fn give(answer: Option<Answer>, value: Value) {
    if let Some(answer) = answer {
        // Whoever does not wait any more does not need it.
        let _ = answer.send(value);
    }
}

/// `durable` is null where nothing had to be stored.
fn done(detail: &str, durable: Option<bool>) -> Value {
    json!({"done": true, "detail": detail, "durable": durable})
}

/// An answer that says why not.
pub fn refused(why: &str) -> Value {
    json!({"done": false, "error": why})
}

/// An answer that says why not any more: whoever wanted the end has it.
pub fn ending(why: &str) -> Value {
    json!({"done": false, "error": why, "ending": true})
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use cambist_core::TokenId;
    use cambist_core::event::Level;

    fn raise() -> Command {
        Command::Raise {
            level: Level::CancelOnly,
            reason: "x".into(),
        }
    }

    fn adopt() -> Command {
        Command::Adopt {
            token: TokenId(0),
            amount: 1,
            reason: "x".into(),
        }
    }

    /// A wish that the engine takes; its flow told to the store, if it is one.
    fn taken(answers: &mut Answers, command: &Command, pending: bool) -> oneshot::Receiver<Value> {
        let (answer, heard) = oneshot::channel();
        answers.begin(Some(answer), command, false);
        if matches!(command, Command::Adopt { .. }) {
            answers.flow_told(true);
        }
        answers.note(&Note::CommandTaken {
            command: command.name().to_owned(),
            detail: "so it is".to_owned(),
        });
        assert!(answers.end(pending));
        heard
    }

    fn durable(heard: &mut oneshot::Receiver<Value>) -> Option<Value> {
        heard.try_recv().ok().map(|value| value["durable"].clone())
    }

    #[test]
    fn what_is_not_durable_yet_is_not_answered() {
        let mut answers = Answers::default();
        let mut first = taken(&mut answers, &raise(), true);
        let mut second = taken(&mut answers, &raise(), true);
        assert_eq!((durable(&mut first), durable(&mut second)), (None, None));
        answers.flow_stored(true);
        assert_eq!(durable(&mut first), None, "that was something else");
        answers.levels_stored(true);
        let both = (durable(&mut first), durable(&mut second));
        assert_eq!(both, (Some(json!(true)), Some(json!(true))));
    }

    #[test]
    fn what_changes_nothing_on_disk_is_answered_at_once() {
        let mut answers = Answers::default();
        let mut raised = taken(&mut answers, &raise(), false);
        assert_eq!(durable(&mut raised), Some(Value::Null));
        let mut drained = taken(&mut answers, &Command::Drain, true);
        assert_eq!(durable(&mut drained), Some(Value::Null));
    }

    #[test]
    fn every_flow_is_answered_with_its_own_write() {
        let mut answers = Answers::default();
        // One that nobody asked for.
        answers.flow_told(true);
        let mut first = taken(&mut answers, &adopt(), true);
        let mut second = taken(&mut answers, &adopt(), false);
        answers.levels_stored(true);
        answers.flow_stored(true);
        assert_eq!((durable(&mut first), durable(&mut second)), (None, None));
        answers.flow_stored(true);
        assert_eq!(durable(&mut first), Some(json!(true)));
        assert_eq!(durable(&mut second), None);
        answers.flow_stored(false);
        assert_eq!(durable(&mut second), Some(json!(false)));
    }

    #[test]
    fn a_disk_that_stands_still_leaves_nobody_waiting_without_end() {
        let mut answers = Answers::default();
        let waiting: Vec<_> = (0..WAITING_MAX)
            .map(|_| taken(&mut answers, &raise(), true))
            .collect();
        let mut one_more = taken(&mut answers, &raise(), true);
        assert_eq!(durable(&mut one_more), Some(json!(false)));
        answers.levels_stored(false);
        for mut heard in waiting {
            assert_eq!(durable(&mut heard), Some(json!(false)));
        }
    }
}
