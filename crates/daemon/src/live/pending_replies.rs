//! What people are answered, and when: what has to be durable is answered when it is.
//!
//! Level and pauses are written together, at most one write at a time, so an answer about them waits until
//! nothing of them is left to be written. Bookings are written one by one, and an answer waits for its own.

use cambist_core::event::Command;
use cambist_core::notification::Notification;
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// Answers that may wait for the disk.
const WAITING_MAX: usize = 64;

/// Where an answer goes. Whoever asked may be gone.
pub type Reply = oneshot::Sender<Value>;

/// An answer, and what it waits for.
struct Waiting {
    /// Level and pauses.
    levels: bool,
    /// So many bookings that somebody waits for, since the start.
    booking: Option<u64>,
    /// What it waited for so far is on disk.
    durable: bool,
    answer: Option<Reply>,
    detail: String,
}

/// The wish being obeyed.
#[derive(Default)]
struct Present {
    answer: Option<Reply>,
    verdict: Option<Result<String, String>>,
    /// It is about level or pauses.
    levels: bool,
    /// What it booked, if it could be told to the store.
    booking: Option<Result<u64, ()>>,
    /// It is answered with what the run comes to.
    at_end: bool,
    /// What it is about, said before what the engine says.
    about: Option<String>,
}

/// Answers, given or waiting.
#[derive(Default)]
pub struct PendingReplies {
    present: Present,
    waiting: Vec<Waiting>,
    /// Those who wait for what the run comes to.
    at_end: Vec<Reply>,
    bookings_told: u64,
    bookings_stored: u64,
}

impl PendingReplies {
    /// Somebody wants something, to be answered at once or at the end of the run.
    pub fn begin(&mut self, answer: Option<Reply>, command: &Command, at_end: bool) {
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
    pub fn note(&mut self, note: &Notification) {
        if let Notification::CommandTaken { detail, .. } = note {
            self.present.verdict = Some(Ok(detail.clone()));
        } else if let Notification::CommandRefused { why, .. } = note {
            self.present.verdict = Some(Err(why.clone()));
        }
    }

    /// A booking that somebody waits for is on its way to the disk, or cannot be.
    pub fn booking_told(&mut self, told: bool) {
        self.bookings_told += u64::from(told);
        self.present.booking = Some(if told {
            Ok(self.bookings_told)
        } else {
            Err(())
        });
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
        let levels = present.levels && levels_are_pending;
        let (booking, durable) = match present.booking {
            Some(Ok(number)) => (Some(number), true),
            Some(Err(())) => (None, false),
            None => (None, true),
        };
        let waits = durable && (levels || booking.is_some());
        if waits && self.waiting.len() < WAITING_MAX {
            self.waiting.push(Waiting {
                levels,
                booking,
                durable,
                answer: present.answer,
                detail,
            });
        } else {
            // A disk that so many wait for has stored nothing for long.
            let stored = (waits || !durable).then_some(false);
            give(present.answer, done(&detail, stored));
        }
        true
    }

    /// Nothing is left to be written of level and pauses, or it could not be written.
    pub fn levels_stored(&mut self, durable: bool) {
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.levels) {
            waiting.levels = false;
            waiting.durable &= durable;
        }
        self.answer();
    }

    /// The oldest such booking on its way to the disk is there, or could not be written.
    pub fn booked(&mut self, durable: bool) {
        self.bookings_stored += 1;
        let stored = Some(self.bookings_stored);
        for waiting in self.waiting.iter_mut().filter(|w| w.booking == stored) {
            waiting.booking = None;
            waiting.durable &= durable;
        }
        self.answer();
    }

    /// Those who wait for what the run comes to.
    pub fn take_waiting_for_the_end(&mut self) -> Vec<Reply> {
        std::mem::take(&mut self.at_end)
    }

    fn answer(&mut self) {
        let ready = |waiting: &mut Waiting| !waiting.levels && waiting.booking.is_none();
        for waiting in self.waiting.extract_if(.., ready) {
            give(waiting.answer, done(&waiting.detail, Some(waiting.durable)));
        }
    }
}

/// Gives an answer to whoever still waits for it.
pub fn give(answer: Option<Reply>, value: Value) {
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
    use cambist_core::event::TradingState;

    fn raise() -> Command {
        Command::Raise {
            level: TradingState::CancelOnly,
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
    fn taken(
        answers: &mut PendingReplies,
        command: &Command,
        pending: bool,
    ) -> oneshot::Receiver<Value> {
        let (answer, heard) = oneshot::channel();
        answers.begin(Some(answer), command, false);
        if matches!(command, Command::Adopt { .. }) {
            answers.booking_told(true);
        }
        answers.note(&Notification::CommandTaken {
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
        let mut answers = PendingReplies::default();
        let mut first = taken(&mut answers, &raise(), true);
        let mut second = taken(&mut answers, &raise(), true);
        assert_eq!((durable(&mut first), durable(&mut second)), (None, None));
        answers.booked(true);
        assert_eq!(durable(&mut first), None, "that was something else");
        answers.levels_stored(true);
        let both = (durable(&mut first), durable(&mut second));
        assert_eq!(both, (Some(json!(true)), Some(json!(true))));
    }

    #[test]
    fn what_changes_nothing_on_disk_is_answered_at_once() {
        let mut answers = PendingReplies::default();
        let mut raised = taken(&mut answers, &raise(), false);
        assert_eq!(durable(&mut raised), Some(Value::Null));
        let mut drained = taken(&mut answers, &Command::Drain, true);
        assert_eq!(durable(&mut drained), Some(Value::Null));
    }

    #[test]
    fn every_flow_is_answered_with_its_own_write() {
        let mut answers = PendingReplies::default();
        // One that nobody asked for.
        answers.booking_told(true);
        let mut first = taken(&mut answers, &adopt(), true);
        let mut second = taken(&mut answers, &adopt(), false);
        answers.levels_stored(true);
        answers.booked(true);
        assert_eq!((durable(&mut first), durable(&mut second)), (None, None));
        answers.booked(true);
        assert_eq!(durable(&mut first), Some(json!(true)));
        assert_eq!(durable(&mut second), None);
        answers.booked(false);
        assert_eq!(durable(&mut second), Some(json!(false)));
    }

    #[test]
    fn what_is_booked_and_lowered_waits_for_both() {
        for (booked, lowered) in [(true, true), (false, true), (true, false)] {
            let mut answers = PendingReplies::default();
            let (answer, mut heard) = oneshot::channel();
            let command = Command::Lower {
                level: TradingState::Active,
                reason: "x".into(),
                forget_losses: true,
            };
            answers.begin(Some(answer), &command, false);
            answers.booking_told(true);
            answers.note(&Notification::CommandTaken {
                command: command.name().to_owned(),
                detail: String::new(),
            });
            assert!(answers.end(true));
            answers.booked(booked);
            assert_eq!(durable(&mut heard), None);
            answers.levels_stored(lowered);
            assert_eq!(durable(&mut heard), Some(json!(booked && lowered)));
        }
    }

    #[test]
    fn a_disk_that_stands_still_leaves_nobody_waiting_without_end() {
        let mut answers = PendingReplies::default();
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
