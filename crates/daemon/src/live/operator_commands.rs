//! Operator requests to a running daemon, handled one after the other. The engine defines their meaning,
//! `pending_replies` when they are answered.

use std::path::{Path, PathBuf};

use cambist_core::TokenId;
use cambist_core::config::EngineConfig;
use cambist_core::event::Command;
use cambist_core::notification::Notification;
use tokio::sync::mpsc;

use crate::config::Daemon;
use crate::config::daemon::OnShutdown;
use crate::live::control_requests::{Names, RequestJson};
use crate::live::pending_replies::{PendingReplies, Reply, refused, send_reply};
use crate::live::reload::Reload;
use crate::live::signals::{SignalAction, Signals};
use crate::notify;
use crate::telemetry::Telemetry;

/// Most requests that may wait.
pub const REQUESTS_MAX: usize = 16;
/// A parsed request.
#[derive(Debug)]
pub enum ControlRequest {
    /// Show the status.
    Status,
    /// A command for the engine.
    Command(Command),
    /// A flow for the engine, if it explains a difference of the books.
    Adopt {
        /// Token.
        token: TokenId,
        /// Base units, negative for outflows.
        amount: i128,
        /// The reason.
        reason: String,
        /// Whether it is booked even if it explains nothing.
        force: bool,
    },
    /// Reload the configuration.
    Reload {
        /// The requested file; `None` for a signal.
        named: Option<PathBuf>,
        /// Whether limits may become looser.
        allow_loosening: bool,
    },
}

/// A request and its reply channel.
#[derive(Debug)]
pub struct PendingRequest {
    /// The request.
    pub what: ControlRequest,
    /// `None` for a signal.
    pub answer: Option<Reply>,
    /// Whether the reply is the result of the run.
    pub at_end: bool,
}

/// A request of the control socket in its JSON form, and its reply channel.
#[derive(Debug)]
pub struct Request {
    /// The request.
    pub json: RequestJson,
    /// The reply channel.
    pub answer: Reply,
}

/// All sources of operator requests.
pub struct OperatorCommands {
    signals: Signals,
    requests: mpsc::Receiver<Request>,
    names: Names,
    reload: Reload,
    /// The command for SIGTERM.
    at_end: Command,
    answers: PendingReplies,
    /// The configuration that applies if the current request is accepted.
    config: Option<Box<Daemon>>,
}

impl OperatorCommands {
    /// Receives signals and requests of the control socket; `names` translates names to ids.
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

    /// The next request.
    pub async fn next(&mut self) -> PendingRequest {
        let signal = loop {
            let Request { json, answer } = tokio::select! {
                signal = self.signals.next() => break signal,
                Some(request) = self.requests.recv() => request,
            };
            let at_end = json.waits_for_the_end();
            match self.names.resolve(json) {
                Ok(what) => {
                    return PendingRequest {
                        what,
                        answer: Some(answer),
                        at_end,
                    };
                }
                Err(why) => send_reply(Some(answer), refused(&why)),
            }
        };
        let what = match signal {
            SignalAction::Command(Command::Drain) => ControlRequest::Command(self.at_end.clone()),
            SignalAction::Command(command) => ControlRequest::Command(command),
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

    /// The command for the engine; `None` if the request is answered without it.
    pub fn begin(&mut self, pending: PendingRequest, telemetry: &Telemetry) -> Option<Command> {
        let PendingRequest {
            what,
            answer,
            at_end,
        } = pending;
        let (command, config, file) = match what {
            ControlRequest::Status => {
                send_reply(answer, telemetry.status());
                return None;
            }
            ControlRequest::Command(command) => (command, None, None),
            ControlRequest::Adopt {
                token,
                amount,
                reason,
                force,
            } => {
                if !force && let Err(why) = self.explains(token, amount, telemetry) {
                    send_reply(answer, refused(&why));
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
            } => match self.read_again(named.as_deref()) {
                Ok((config, engine)) => {
                    let command = Command::Reconfigure {
                        config: Box::new(engine),
                        allow_loosening,
                    };
                    let file = config.source.path.display().to_string();
                    (command, Some(Box::new(config)), Some(file))
                }
                Err(why) => {
                    tracing::error!(%why, "the configuration was not reloaded");
                    notify::reloaded();
                    send_reply(answer, refused(&why));
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

    /// Reads the configuration file; from here until [`notify::reloaded`] the service manager sees a reload.
    fn read_again(&self, named: Option<&Path>) -> Result<(Daemon, EngineConfig), String> {
        notify::reloading();
        self.reload.read(named)
    }

    /// Whether a flow explains a difference of the last reconciliation.
    fn explains(&self, token: TokenId, amount: i128, telemetry: &Telemetry) -> Result<(), String> {
        let books = telemetry.books();
        if !books.confirmed {
            return Err(
                "ledger and venue have not been compared yet; try again after the first reconciliation (see status)".to_owned(),
            );
        }
        let difference = books.differences.get(&token).copied();
        self.names
            .explains(token, amount, difference)
            .map_err(|why| {
                format!(
                    "{why}. If the flow is very recent, wait until status shows the difference; --force books it in any case"
                )
            })
    }

    /// Replies that wait for the result of the run.
    pub fn take_waiting_for_the_end(&mut self) -> Vec<Reply> {
        self.answers.take_waiting_for_the_end()
    }

    /// Takes in a notification of the engine while it executes the request.
    pub fn handle_notification(&mut self, notification: &Notification) {
        self.answers.handle_notification(notification);
    }

    /// The engine has executed the request: replies, or waits until it is durable. `restrictions_are_pending` states whether
    /// the trading state or the pauses are not durable yet.
    pub fn end(&mut self, restrictions_are_pending: bool) {
        let config = self.config.take();
        let accepted = self.answers.end(restrictions_are_pending);
        let Some(config) = config else { return };
        if accepted {
            self.reload.set_current(*config);
        }
        notify::reloaded();
    }

    /// The trading state and pauses are durable, or could not be written.
    pub fn restrictions_stored(&mut self, durable: bool) {
        self.answers.restrictions_stored(durable);
    }

    /// A booking that a request waits for was passed to the store, or could not be.
    pub fn booking_passed(&mut self, passed: bool) {
        self.answers.booking_passed(passed);
    }

    /// The oldest such booking is on disk, or could not be written.
    pub fn booked(&mut self, durable: bool) {
        self.answers.booked(durable);
    }
}
