//! What people want of a running daemon, one wish after the other, and what they are answered.
//!
//! A wish that has to be durable is answered when it is. What a wish means is the engine's.

use cambist_core::event::Command;
use cambist_core::note::Note;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::reload::Reload;
use super::signals::{Said, Signals};
use crate::config::Daemon;
use crate::config::daemon::OnShutdown;
use crate::telemetry::Telemetry;

/// Wishes that may wait.
pub const WISHES_MAX: usize = 16;
/// Answers that wait for the disk.
const UNSTORED_MAX: usize = 64;

/// Where an answer goes. Whoever asked may be gone.
pub type Answer = oneshot::Sender<Value>;

/// What is wanted.
#[derive(Debug)]
pub enum What {
    /// To know how things stand.
    Status,
    /// The engine has to hear this.
    Tell(Command),
    /// The file is to be read again.
    Reload {
        /// Whether limits may become looser.
        allow_loosening: bool,
    },
}

/// A wish and who waits for its answer.
#[derive(Debug)]
pub struct Wish {
    /// What.
    pub what: What,
    /// Nobody waits for an answer to a signal.
    pub answer: Option<Answer>,
}

/// The wish being obeyed.
#[derive(Default)]
struct Present {
    answer: Option<Answer>,
    verdict: Option<Result<String, String>>,
    /// It has to be durable before it is answered.
    stores: bool,
    /// What is configured if it is taken.
    config: Option<Box<Daemon>>,
}

/// Everybody who may want something.
pub struct People {
    signals: Signals,
    wishes: mpsc::Receiver<Wish>,
    reload: Reload,
    /// What the end of the service means.
    at_end: Command,
    present: Present,
    unstored: Vec<(Option<Answer>, String)>,
}

impl People {
    /// Listens to signals and to whoever holds the sender.
    pub fn new(signals: Signals, wishes: mpsc::Receiver<Wish>, reload: Reload) -> Self {
        let at_end = match reload.now().on_shutdown {
            OnShutdown::Cancel => Command::Drain,
            OnShutdown::Leave => Command::Leave,
        };
        Self {
            at_end,
            signals,
            wishes,
            reload,
            present: Present::default(),
            unstored: Vec::new(),
        }
    }

    /// The next wish.
    pub async fn next(&mut self) -> Wish {
        let said = tokio::select! {
            said = self.signals.next() => said,
            Some(wish) = self.wishes.recv() => return wish,
        };
        let what = match said {
            Said::Tell(Command::Drain) => What::Tell(self.at_end.clone()),
            Said::Tell(command) => What::Tell(command),
            Said::Reload => What::Reload {
                allow_loosening: false,
            },
        };
        Wish { what, answer: None }
    }

    /// What the engine has to hear; nothing if the wish is answered without it.
    pub fn begin(&mut self, wish: Wish, telemetry: &Telemetry) -> Option<Command> {
        let Wish { what, answer } = wish;
        let (command, config) = match what {
            What::Status => {
                give(answer, telemetry.status());
                return None;
            }
            What::Tell(command) => (command, None),
            What::Reload { allow_loosening } => match self.reload.read() {
                Ok((config, engine)) => {
                    let command = Command::Reconfigure {
                        config: Box::new(engine),
                        allow_loosening,
                    };
                    (command, Some(Box::new(config)))
                }
                Err(why) => {
                    tracing::error!(%why, "nothing was reloaded");
                    give(answer, refused(&why));
                    return None;
                }
            },
        };
        if matches!(command, Command::Raise { .. }) {
            telemetry.operator_asked();
        }
        self.present = Present {
            answer,
            config,
            ..Present::default()
        };
        Some(command)
    }

    /// What the engine says while it obeys.
    pub fn note(&mut self, note: &Note) {
        if let Note::CommandTaken { detail, .. } = note {
            self.present.verdict = Some(Ok(detail.clone()));
        } else if let Note::CommandRefused { why, .. } = note {
            self.present.verdict = Some(Err(why.clone()));
        }
    }

    /// Something is on its way to the disk.
    pub fn stores(&mut self) {
        self.present.stores = true;
    }

    /// The engine has heard the wish: answers it, or has the answer wait for the disk.
    pub fn end(&mut self) {
        let present = std::mem::take(&mut self.present);
        match present.verdict {
            Some(Ok(detail)) => {
                if let Some(config) = present.config {
                    self.reload.taken(*config);
                }
                if present.stores && self.unstored.len() < UNSTORED_MAX {
                    self.unstored.push((present.answer, detail));
                } else {
                    give(present.answer, done(&detail, None));
                }
            }
            Some(Err(why)) => give(present.answer, refused(&why)),
            None => give(present.answer, refused("the daemon is ending")),
        }
    }

    /// What was on its way to the disk is there, or could not be written.
    pub fn stored(&mut self, durable: bool) {
        for (answer, detail) in self.unstored.drain(..) {
            give(answer, done(&detail, Some(durable)));
        }
        self.present.stores = false;
    }
}

fn give(answer: Option<Answer>, value: Value) {
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
