//! What people want of a running daemon, one wish after the other. What a wish means is the engine's;
//! when it is answered, `answers` knows.

use std::path::PathBuf;

use cambist_core::TokenId;
use cambist_core::event::Command;
use cambist_core::notification::Notification;
use tokio::sync::mpsc;

use crate::config::Daemon;
use crate::config::daemon::OnShutdown;
use crate::live::control_requests::{Names, RequestJson};
use crate::live::pending_replies::{PendingReplies, Reply, give, refused};
use crate::live::reload::Reload;
use crate::live::signals::{SignalAction, Signals};
use crate::telemetry::Telemetry;

/// Requests that may wait.
pub const REQUESTS_MAX: usize = 16;
/// What is wanted.
#[derive(Debug)]
pub enum ControlRequest {
    /// To know how things stand.
    Status,
    /// The engine has to hear this.
    Tell(Command),
    /// The engine has to hear of a flow, if it explains a difference of the books.
    Adopt {
        /// Token.
        token: TokenId,
        /// Base units, negative for what left.
        amount: i128,
        /// Why.
        reason: String,
        /// It is booked even where it explains nothing.
        force: bool,
    },
    /// The file is to be read again.
    Reload {
        /// The file that was named; nothing of a signal, which names none.
        named: Option<PathBuf>,
        /// Whether limits may become looser.
        allow_loosening: bool,
    },
}

/// A wish and who waits for its answer.
#[derive(Debug)]
pub struct PendingRequest {
    /// What.
    pub what: ControlRequest,
    /// Nobody waits for an answer to a signal.
    pub answer: Option<Reply>,
    /// The answer is what the run comes to.
    pub at_end: bool,
}

/// A request of the control socket, as it is written, and who waits for its reply.
#[derive(Debug)]
pub struct Request {
    /// What.
    pub written: RequestJson,
    /// Where the reply goes.
    pub answer: Reply,
}

/// Everybody who may want something.
pub struct OperatorCommands {
    signals: Signals,
    requests: mpsc::Receiver<Request>,
    names: Names,
    reload: Reload,
    /// What the end of the service means.
    at_end: Command,
    answers: PendingReplies,
    /// What is configured if the present wish is taken.
    config: Option<Box<Daemon>>,
}

impl OperatorCommands {
    /// Listens to signals and to the control socket, whose names mean what `names` says.
    pub fn new(
        signals: Signals,
        requests: mpsc::Receiver<Request>,
        names: Names,
        reload: Reload,
    ) -> Self {
        let at_end = match reload.now().on_shutdown {
            OnShutdown::Cancel => Command::Drain,
            OnShutdown::Leave => Command::Leave,
        };
        Self {
            at_end,
            signals,
            requests,
            names,
            reload,
            answers: PendingReplies::default(),
            config: None,
        }
    }

    /// The next wish.
    pub async fn next(&mut self) -> PendingRequest {
        let said = loop {
            let Request { written, answer } = tokio::select! {
                said = self.signals.next() => break said,
                Some(request) = self.requests.recv() => request,
            };
            let at_end = written.waits_for_the_end();
            match self.names.meaning(written) {
                Ok(what) => {
                    return PendingRequest {
                        what,
                        answer: Some(answer),
                        at_end,
                    };
                }
                Err(why) => give(Some(answer), refused(&why)),
            }
        };
        let what = match said {
            SignalAction::Tell(Command::Drain) => ControlRequest::Tell(self.at_end.clone()),
            SignalAction::Tell(command) => ControlRequest::Tell(command),
            SignalAction::Reload => ControlRequest::Reload {
                named: None,
                allow_loosening: false,
            },
        };
        PendingRequest {
            what,
            answer: None,
            at_end: false,
        }
    }

    /// What the engine has to hear; nothing if the wish is answered without it.
    pub fn begin(&mut self, wish: PendingRequest, telemetry: &Telemetry) -> Option<Command> {
        let PendingRequest {
            what,
            answer,
            at_end,
        } = wish;
        let (command, config, file) = match what {
            ControlRequest::Status => {
                give(answer, telemetry.status());
                return None;
            }
            ControlRequest::Tell(command) => (command, None, None),
            ControlRequest::Adopt {
                token,
                amount,
                reason,
                force,
            } => {
                if !force && let Err(why) = self.explains(token, amount, telemetry) {
                    give(answer, refused(&why));
                    return None;
                }
                let command = Command::Adopt {
                    token,
                    amount,
                    reason,
                };
                (command, None, None)
            }
            ControlRequest::Reload {
                named,
                allow_loosening,
            } => match self.reload.read(named.as_deref()) {
                Ok((config, engine)) => {
                    let command = Command::Reconfigure {
                        config: Box::new(engine),
                        allow_loosening,
                    };
                    let file = config.source.path.display().to_string();
                    (command, Some(Box::new(config)), Some(file))
                }
                Err(why) => {
                    tracing::error!(%why, "nothing was reloaded");
                    give(answer, refused(&why));
                    return None;
                }
            },
        };
        let about = match &command {
            Command::Adopt { token, amount, .. } => {
                Some(format!("{} adopted", self.names.flow_text(*token, *amount)))
            }
            _ => file.map(|file| format!("{file} was read")),
        };
        if matches!(command, Command::Raise { .. }) {
            telemetry.operator_asked();
        }
        self.config = config;
        self.answers.begin(answer, &command, at_end);
        self.answers.about(about);
        Some(command)
    }

    /// Whether a flow explains a difference of the books, as they were last compared.
    fn explains(&self, token: TokenId, amount: i128, telemetry: &Telemetry) -> Result<(), String> {
        let books = telemetry.books();
        if !books.confirmed {
            return Err(
                "ledger and venue are not compared yet; ask again when status says so".to_owned(),
            );
        }
        let difference = books.differences.get(&token).copied();
        self.names
            .explains(token, amount, difference)
            .map_err(|why| {
                format!(
                    "{why}. If it has only just come or gone, wait until status names it; --force books it whatever the venue has"
                )
            })
    }

    /// Those who wait for what the run comes to.
    pub fn take_waiting_for_the_end(&mut self) -> Vec<Reply> {
        self.answers.take_waiting_for_the_end()
    }

    /// What the engine says while it obeys.
    pub fn note(&mut self, note: &Notification) {
        self.answers.note(note);
    }

    /// The engine has heard the wish: answers it, or has the answer wait for the disk.
    /// `levels_are_pending` says whether level or pauses are not durable yet.
    pub fn end(&mut self, levels_are_pending: bool) {
        let config = self.config.take();
        let taken = self.answers.end(levels_are_pending);
        if let Some(config) = config.filter(|_| taken) {
            self.reload.taken(*config);
        }
    }

    /// Level and pauses are durable as everybody wanted them, or could not be written.
    pub fn levels_stored(&mut self, durable: bool) {
        self.answers.levels_stored(durable);
    }

    /// A booking that somebody waits for is on its way to the disk, or cannot be.
    pub fn booking_told(&mut self, told: bool) {
        self.answers.booking_told(told);
    }

    /// The oldest such booking on its way to the disk is there, or could not be written.
    pub fn booked(&mut self, durable: bool) {
        self.answers.booked(durable);
    }
}
