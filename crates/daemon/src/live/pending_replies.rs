//! Replies to operator requests: one that must be durable is sent when it is.
//!
//! The trading state and the pauses are written together, at most one write at a time, so a reply about them waits
//! until none of them remains to be written. Bookings are written one by one, and a reply waits for its own.

use cambist_core::event::Command;
use cambist_core::notification::Notification;
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// Most replies that may wait for the disk.
const WAITING_MAX: usize = 64;

/// A reply channel. The client may have disconnected.
pub type Reply = oneshot::Sender<Value>;

/// A reply, and what it waits for.
struct Waiting {
    /// The trading state and the pauses.
    restrictions: bool,
    /// This booking, counted from the start.
    booking: Option<u64>,
    /// Whether everything so far is durable.
    durable: bool,
    answer: Option<Reply>,
    detail: String,
}

/// The current request.
#[derive(Default)]
struct CurrentRequest {
    answer: Option<Reply>,
    outcome: Option<Result<String, String>>,
    /// Whether it concerns the trading state or the pauses.
    restrictions: bool,
    /// Its booking, if it was passed to the store.
    booking: Option<Result<u64, ()>>,
    /// Whether its reply is the result of the run.
    at_end: bool,
    /// A text before the engine's.
    about: Option<String>,
    /// Whether what it changes was stored before.
    stored: bool,
}

/// Sent and waiting replies.
#[derive(Default)]
pub struct PendingReplies {
    current: CurrentRequest,
    waiting: Vec<Waiting>,
    /// Replies that wait for the result of the run.
    at_end: Vec<Reply>,
    bookings_passed: u64,
    bookings_stored: u64,
}

impl PendingReplies {
    /// Starts a request, to be answered immediately or at the end of the run.
    pub fn begin(&mut self, answer: Option<Reply>, command: &Command, at_end: bool) {
        let restrictions = match command {
            Command::Raise { .. }
            | Command::Lower { .. }
            | Command::Pause { .. }
            | Command::Unpause { .. } => true,
            Command::Drain
            | Command::Leave
            | Command::Adopt { .. }
            | Command::AdoptInstance { .. }
            | Command::Expect { .. }
            | Command::ExpectNoMore { .. }
            | Command::TakeSlot { .. }
            | Command::Reconfigure { .. } => false,
        };
        self.current = CurrentRequest {
            answer,
            restrictions,
            at_end,
            ..CurrentRequest::default()
        };
    }

    /// Sets a text for the current reply.
    pub fn about(&mut self, about: Option<String>) {
        self.current.about = about;
    }

    /// What the current request changes was stored before.
    pub fn stored(&mut self) {
        self.current.stored = true;
    }

    /// Takes in a notification of the engine while it executes the request.
    pub fn handle_notification(&mut self, notification: &Notification) {
        if let Notification::CommandAccepted { detail, .. } = notification {
            self.current.outcome = Some(Ok(detail.clone()));
        } else if let Notification::CommandRefused { why, .. } = notification {
            self.current.outcome = Some(Err(why.clone()));
        }
    }

    /// A booking that a request waits for was passed to the store, or could not be.
    pub fn booking_passed(&mut self, passed: bool) {
        self.bookings_passed += u64::from(passed);
        self.current.booking = Some(if passed {
            Ok(self.bookings_passed)
        } else {
            Err(())
        });
    }

    /// The engine has executed the request. True if it accepted it.
    pub fn end(&mut self, restrictions_are_pending: bool) -> bool {
        let current = std::mem::take(&mut self.current);
        let detail = match current.outcome {
            Some(Ok(detail)) => match current.about {
                Some(about) => format!("{about}; {detail}"),
                None => detail,
            },
            Some(Err(why)) if current.stored => {
                let why = format!("it is stored, and applies from the next start; now {why}");
                send_reply(current.answer, refused(&why));
                return false;
            }
            None if current.stored => {
                let detail = "stored; the daemon is ending, and its next start uses it";
                send_reply(current.answer, done(detail, Some(true)));
                return false;
            }
            Some(Err(why)) => {
                send_reply(current.answer, refused(&why));
                return false;
            }
            None => {
                send_reply(current.answer, refused("the daemon is ending"));
                return false;
            }
        };
        if current.at_end && self.at_end.len() < WAITING_MAX {
            self.at_end.extend(current.answer);
            return true;
        }
        let restrictions = current.restrictions && restrictions_are_pending;
        let (booking, durable) = match current.booking {
            Some(Ok(number)) => (Some(number), true),
            Some(Err(())) => (None, false),
            None => (None, true),
        };
        let waits = durable && (restrictions || booking.is_some());
        if waits && self.waiting.len() < WAITING_MAX {
            self.waiting.push(Waiting {
                restrictions,
                booking,
                durable,
                answer: current.answer,
                detail,
            });
        } else {
            // A disk that so many replies wait for has stored nothing for a long time.
            let stored = if waits || !durable {
                Some(false)
            } else {
                current.stored.then_some(true)
            };
            send_reply(current.answer, done(&detail, stored));
        }
        true
    }

    /// No change of the trading state or the pauses remains to be written, or a write failed.
    pub fn restrictions_stored(&mut self, durable: bool) {
        for waiting in self
            .waiting
            .iter_mut()
            .filter(|waiting| waiting.restrictions)
        {
            waiting.restrictions = false;
            waiting.durable &= durable;
        }
        self.answer();
    }

    /// The oldest such booking is on disk, or could not be written.
    pub fn booked(&mut self, durable: bool) {
        self.bookings_stored += 1;
        let stored = Some(self.bookings_stored);
        for waiting in self.waiting.iter_mut().filter(|w| w.booking == stored) {
            waiting.booking = None;
            waiting.durable &= durable;
        }
        self.answer();
    }

    /// Replies that wait for the result of the run.
    pub fn take_waiting_for_the_end(&mut self) -> Vec<Reply> {
        std::mem::take(&mut self.at_end)
    }

    fn answer(&mut self) {
        let ready = |waiting: &mut Waiting| !waiting.restrictions && waiting.booking.is_none();
        for waiting in self.waiting.extract_if(.., ready) {
            send_reply(waiting.answer, done(&waiting.detail, Some(waiting.durable)));
        }
    }
}

/// Sends a reply, if the client still waits.
pub fn send_reply(answer: Option<Reply>, value: Value) {
    if let Some(answer) = answer {
        // A disconnected client needs no reply.
        let _ = answer.send(value);
    }
}

/// `durable` is null if nothing had to be stored.
pub fn done(detail: &str, durable: Option<bool>) -> Value {
    json!({"done": true, "detail": detail, "durable": durable})
}

/// A refusal with a reason.
pub fn refused(why: &str) -> Value {
    json!({"done": false, "error": why})
}

/// A refusal because the daemon is ending.
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

    /// A request that the engine accepts; a flow is passed to the store.
    fn accepted_request(
        answers: &mut PendingReplies,
        command: &Command,
        pending: bool,
    ) -> oneshot::Receiver<Value> {
        let (answer, reply) = oneshot::channel();
        answers.begin(Some(answer), command, false);
        if matches!(command, Command::Adopt { .. }) {
            answers.booking_passed(true);
        }
        answers.handle_notification(&Notification::CommandAccepted {
            command: command.name().to_owned(),
            detail: "so it is".to_owned(),
        });
        assert!(answers.end(pending));
        reply
    }

    fn durable(reply: &mut oneshot::Receiver<Value>) -> Option<Value> {
        reply.try_recv().ok().map(|value| value["durable"].clone())
    }

    #[test]
    fn what_is_not_durable_yet_is_not_answered() {
        let mut answers = PendingReplies::default();
        let mut first = accepted_request(&mut answers, &raise(), true);
        let mut second = accepted_request(&mut answers, &raise(), true);
        assert_eq!((durable(&mut first), durable(&mut second)), (None, None));
        answers.booked(true);
        assert_eq!(durable(&mut first), None, "that was something else");
        answers.restrictions_stored(true);
        let both = (durable(&mut first), durable(&mut second));
        assert_eq!(both, (Some(json!(true)), Some(json!(true))));
    }

    #[test]
    fn what_changes_nothing_on_disk_is_answered_at_once() {
        let mut answers = PendingReplies::default();
        let mut raised = accepted_request(&mut answers, &raise(), false);
        assert_eq!(durable(&mut raised), Some(Value::Null));
        let mut drained = accepted_request(&mut answers, &Command::Drain, true);
        assert_eq!(durable(&mut drained), Some(Value::Null));
    }

    #[test]
    fn every_flow_is_answered_with_its_own_write() {
        let mut answers = PendingReplies::default();
        // A booking without a request.
        answers.booking_passed(true);
        let mut first = accepted_request(&mut answers, &adopt(), true);
        let mut second = accepted_request(&mut answers, &adopt(), false);
        answers.restrictions_stored(true);
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
            let (answer, mut reply) = oneshot::channel();
            let command = Command::Lower {
                level: TradingState::Active,
                reason: "x".into(),
                forget_losses: true,
            };
            answers.begin(Some(answer), &command, false);
            answers.booking_passed(true);
            answers.handle_notification(&Notification::CommandAccepted {
                command: command.name().to_owned(),
                detail: String::new(),
            });
            assert!(answers.end(true));
            answers.booked(booked);
            assert_eq!(durable(&mut reply), None);
            answers.restrictions_stored(lowered);
            assert_eq!(durable(&mut reply), Some(json!(booked && lowered)));
        }
    }

    /// A request that the engine refuses, or does not answer because it is ending.
    fn unanswered(stored: bool, refused: bool) -> Value {
        let mut answers = PendingReplies::default();
        let (answer, mut reply) = oneshot::channel();
        answers.begin(Some(answer), &raise(), false);
        if stored {
            answers.stored();
        }
        if refused {
            answers.handle_notification(&Notification::CommandRefused {
                command: "raise".to_owned(),
                why: "not now".to_owned(),
            });
        }
        assert!(!answers.end(true));
        reply.try_recv().unwrap()
    }

    #[test]
    fn what_the_engine_does_not_take_is_refused_unless_it_is_stored() {
        assert_eq!(
            unanswered(false, true),
            json!({"done": false, "error": "not now"})
        );
        let ending = json!({"done": false, "error": "the daemon is ending"});
        assert_eq!(unanswered(false, false), ending);
        let later = "it is stored, and applies from the next start; now not now";
        assert_eq!(
            unanswered(true, true),
            json!({"done": false, "error": later})
        );
        let next = unanswered(true, false);
        assert_eq!(
            (&next["done"], &next["durable"]),
            (&json!(true), &json!(true))
        );
    }

    #[test]
    fn a_text_of_the_request_precedes_the_engines() {
        for (about, detail) in [(None, "so it is"), (Some("read"), "read; so it is")] {
            let mut answers = PendingReplies::default();
            let (answer, mut reply) = oneshot::channel();
            answers.begin(Some(answer), &Command::Drain, false);
            answers.about(about.map(str::to_owned));
            if about.is_some() {
                answers.stored();
            }
            answers.handle_notification(&Notification::CommandAccepted {
                command: "drain".to_owned(),
                detail: "so it is".to_owned(),
            });
            assert!(answers.end(false));
            let reply = reply.try_recv().unwrap();
            assert_eq!(reply["detail"], detail);
            let durable = if about.is_some() {
                json!(true)
            } else {
                Value::Null
            };
            assert_eq!(reply["durable"], durable, "stored before");
        }
    }

    /// Every command with a write of the trading state waits for it, and no other.
    #[test]
    fn restrictions_are_what_four_commands_write() {
        let filter = cambist_core::event::Filter::default;
        let reason = || "x".to_owned();
        let (token, amount) = (TokenId(0), 1);
        for (command, waits) in [
            (raise(), true),
            (
                Command::Pause {
                    filter: filter(),
                    reason: reason(),
                },
                true,
            ),
            (
                Command::Unpause {
                    filter: filter(),
                    reason: reason(),
                },
                true,
            ),
            (Command::Drain, false),
            (Command::Leave, false),
            (Command::TakeSlot { token }, false),
            (
                Command::Expect {
                    token,
                    amount,
                    reason: reason(),
                },
                false,
            ),
            (Command::ExpectNoMore { reason: reason() }, false),
            (
                Command::AdoptInstance {
                    instance: 1,
                    reason: reason(),
                },
                false,
            ),
        ] {
            let mut answers = PendingReplies::default();
            let mut reply = accepted_request(&mut answers, &command, true);
            assert_eq!(durable(&mut reply).is_none(), waits, "{command:?}");
        }
    }

    /// A booking that the store did not take is not durable, and nothing waits for it.
    #[test]
    fn a_booking_that_was_not_passed_is_answered_at_once() {
        let mut answers = PendingReplies::default();
        let (answer, mut reply) = oneshot::channel();
        answers.begin(Some(answer), &adopt(), false);
        answers.booking_passed(false);
        answers.handle_notification(&Notification::CommandAccepted {
            command: "adopt".to_owned(),
            detail: String::new(),
        });
        assert!(answers.end(false));
        assert_eq!(durable(&mut reply), Some(json!(false)));
        let mut next = accepted_request(&mut answers, &adopt(), false);
        answers.booked(true);
        assert_eq!(durable(&mut next), Some(json!(true)), "it was not counted");
    }

    #[test]
    fn clients_that_wait_for_the_end_are_answered_then_up_to_a_bound() {
        let mut answers = PendingReplies::default();
        let mut begin = || {
            let (answer, reply) = oneshot::channel();
            answers.begin(Some(answer), &Command::Drain, true);
            answers.handle_notification(&Notification::CommandAccepted {
                command: "drain".to_owned(),
                detail: String::new(),
            });
            assert!(answers.end(true));
            reply
        };
        let mut waiting: Vec<_> = (0..64).map(|_| begin()).collect();
        let mut one_more = begin();
        assert_eq!(durable(&mut one_more), Some(Value::Null));
        assert!(waiting.iter_mut().all(|reply| durable(reply).is_none()));
        let replies = answers.take_waiting_for_the_end();
        assert_eq!(replies.len(), 64);
        for reply in replies {
            send_reply(Some(reply), done("at the end", None));
        }
        assert!(waiting.iter_mut().all(|reply| durable(reply).is_some()));
        assert!(answers.take_waiting_for_the_end().is_empty());
    }

    #[test]
    fn a_disk_that_stores_nothing_leaves_no_client_waiting_without_end() {
        let mut answers = PendingReplies::default();
        let waiting: Vec<_> = (0..64)
            .map(|_| accepted_request(&mut answers, &raise(), true))
            .collect();
        let mut one_more = accepted_request(&mut answers, &raise(), true);
        assert_eq!(durable(&mut one_more), Some(json!(false)));
        answers.restrictions_stored(false);
        for mut reply in waiting {
            assert_eq!(durable(&mut reply), Some(json!(false)));
        }
    }
}
