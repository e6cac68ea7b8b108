//! Operator requests to a running daemon, handled one after the other. The engine defines their meaning,
//! `pending_replies` when they are answered.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cambist_core::TokenId;
use cambist_core::event::Command;
use cambist_core::notification::Notification;
use cambist_host::clock::Clock;
use cambist_store::SetParameter;
use tokio::sync::mpsc;

use crate::config::Daemon;
use crate::config::daemon::OnShutdown;
use crate::config::parameters::Assignment;
use crate::live::account_requests::is_of_a_request;
use crate::live::control_requests::{Names, RequestJson};
use crate::live::pending_replies::{PendingReplies, Reply, done, ending, refused, send_reply};
use crate::live::reload::{Prepared, Reload};
use crate::live::signals::{SignalAction, Signals};
use crate::notify;
use crate::telemetry::Telemetry;
use crate::telemetry::parameters::ParameterDifference;

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
    /// Set parameters of strategies.
    Set {
        /// Which, and their values.
        assignments: Vec<Assignment>,
        /// The reason.
        reason: String,
        /// Whether they may bear more risk.
        allow_loosening: bool,
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
    /// Who asks.
    pub operator: String,
}

/// What a request leads to.
#[derive(Debug)]
pub enum Begun {
    /// It is answered.
    Answered,
    /// A command for the engine.
    Command(Command),
    /// A command that the engine judges now and executes once the parameters in it are stored.
    Parameters(Command),
}

/// A request of the control socket in its JSON form, and its reply channel.
#[derive(Debug)]
pub struct Request {
    /// The request.
    pub json: RequestJson,
    /// The reply channel.
    pub answer: Reply,
    /// The user at the other end.
    pub operator: String,
}

/// Parameters that are being stored.
struct Setting {
    prepared: Box<Prepared>,
    rows: Vec<SetParameter>,
    command: Command,
    answer: Option<Reply>,
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
    prepared: Option<Box<Prepared>>,
    /// Whether the current request reads the file.
    is_reload: bool,
    /// Parameters that are being stored.
    setting: Option<Setting>,
    clock: Clock,
    /// Reasons of the flows of requests (`account_requests`) that were booked.
    booked_requests: BTreeSet<String>,
}

impl OperatorCommands {
    /// Receives signals and requests of the control socket; `names` translates names to ids.
    pub fn new(
        signals: Signals,
        requests: mpsc::Receiver<Request>,
        names: Names,
        reload: Reload,
        booked_requests: BTreeSet<String>,
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
            prepared: None,
            is_reload: false,
            setting: None,
            clock: Clock::new(),
            booked_requests,
        }
    }

    /// The next request.
    pub async fn next(&mut self) -> PendingRequest {
        let signal = loop {
            let Request {
                json,
                answer,
                operator,
            } = tokio::select! {
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
                        operator,
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
            operator: "a signal".to_owned(),
        }
    }

    /// Begins a request.
    pub fn begin(&mut self, pending: PendingRequest, telemetry: &Telemetry) -> Begun {
        let PendingRequest {
            what,
            answer,
            at_end,
            operator,
        } = pending;
        let (command, about) = match what {
            ControlRequest::Status => {
                send_reply(answer, telemetry.status());
                return Begun::Answered;
            }
            ControlRequest::Command(Command::Expect { reason, .. })
                if self.booked_requests.contains(&reason) =>
            {
                send_reply(answer, done("the flow was booked", None));
                return Begun::Answered;
            }
            // Nothing is quoted before the next start, which reads what the store has then.
            ControlRequest::Command(Command::Lower { .. } | Command::Unpause { .. })
                if telemetry.is_draining() =>
            {
                let why = "the daemon is ending; resume when it has ended, for its next start";
                send_reply(answer, ending(why));
                return Begun::Answered;
            }
            ControlRequest::Command(command) => (command, None),
            ControlRequest::Adopt {
                token,
                amount,
                reason,
                force,
            } => {
                if !force && let Err(why) = self.explains(token, amount, telemetry) {
                    send_reply(answer, refused(&why));
                    return Begun::Answered;
                }
                let about = format!("{} adopted", self.names.flow_text(token, amount));
                let command = Command::Adopt {
                    token,
                    amount,
                    reason,
                };
                (command, Some(about))
            }
            ControlRequest::Set {
                assignments,
                reason,
                allow_loosening,
            } => {
                let set = self.set(&assignments, &operator, reason, allow_loosening);
                return match set {
                    Ok(setting) => {
                        let command = setting.command.clone();
                        self.setting = Some(Setting { answer, ..setting });
                        Begun::Parameters(command)
                    }
                    Err(why) => {
                        send_reply(answer, refused(&why));
                        Begun::Answered
                    }
                };
            }
            ControlRequest::Reload {
                named,
                allow_loosening,
            } => match self.read_again(named.as_deref()) {
                Ok(prepared) => {
                    let about = self.reload.about();
                    let command = reconfigure(&prepared, String::new(), allow_loosening);
                    self.prepared = Some(Box::new(prepared));
                    self.is_reload = true;
                    (command, Some(about))
                }
                Err(why) => {
                    tracing::error!(%why, "the configuration was not reloaded");
                    notify::reloaded();
                    send_reply(answer, refused(&why));
                    return Begun::Answered;
                }
            },
        };
        if matches!(command, Command::Raise { .. }) {
            telemetry.operator_asked();
        }
        self.answers.begin(answer, &command, at_end);
        self.answers.about(about);
        Begun::Command(command)
    }

    /// Reads the configuration file; from here until [`notify::reloaded`] the service manager sees a reload.
    fn read_again(&self, named: Option<&Path>) -> Result<Prepared, String> {
        notify::reloading();
        self.is_free()?;
        self.reload.read(named)
    }

    /// Checks parameters that an operator sets.
    fn set(
        &self,
        assignments: &[Assignment],
        operator: &str,
        reason: String,
        allow_loosening: bool,
    ) -> Result<Setting, String> {
        self.is_free()?;
        let at_us = self.clock.unix_micros();
        let (prepared, rows) = self.reload.assign(assignments, operator, &reason, at_us)?;
        Ok(Setting {
            command: reconfigure(&prepared, reason, allow_loosening),
            prepared: Box::new(prepared),
            rows,
            answer: None,
        })
    }

    /// A configuration is made from the one before it, so that two cannot be made at a time.
    fn is_free(&self) -> Result<(), String> {
        match self.setting {
            Some(_) => Err("other parameters are being stored; try again".to_owned()),
            None => Ok(()),
        }
    }

    /// The engine has judged the parameters of [`Begun::Parameters`]. What has to be stored, if it takes them.
    pub fn judged(&mut self, judged: Result<String, String>) -> Option<Vec<SetParameter>> {
        if let Err(why) = judged {
            let setting = self.setting.take();
            send_reply(setting.and_then(|setting| setting.answer), refused(&why));
        }
        self.setting.as_ref().map(|setting| setting.rows.clone())
    }

    /// The parameters are on disk, or could not be written. The command that uses them.
    pub fn parameters_stored(&mut self, durable: bool) -> Option<Command> {
        let Setting {
            prepared,
            rows,
            command,
            answer,
        } = self.setting.take()?;
        if !durable {
            let why = "the store could not be written; nothing was changed";
            send_reply(answer, refused(why));
            return None;
        }
        for one in rows {
            let SetParameter {
                market,
                strategy,
                key,
                value,
                operator,
                reason,
                ..
            } = one;
            let value = value.unwrap_or_else(|| "as in the file".to_owned());
            tracing::info!(
                market,
                operator,
                reason,
                "parameter {strategy}.{key} was set: {value}"
            );
        }
        self.answers.begin(answer, &command, false);
        self.answers.stored();
        self.prepared = Some(prepared);
        Some(command)
    }

    /// The parameters that operators set, with the file's values.
    pub fn differences(&self) -> Vec<ParameterDifference> {
        self.reload.differences()
    }

    /// The current configuration: the file's with the parameters that operators set.
    pub const fn configuration(&self) -> &Daemon {
        self.reload.now()
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
        if let Notification::Adopted { reason, .. } = notification
            && is_of_a_request(reason)
        {
            self.booked_requests.insert(reason.clone());
        }
    }

    /// The engine has executed the request: replies, or waits until it is durable. `restrictions_are_pending` states whether
    /// the trading state or the pauses are not durable yet.
    pub fn end(&mut self, restrictions_are_pending: bool) {
        let prepared = self.prepared.take();
        let accepted = self.answers.end(restrictions_are_pending);
        if let Some(prepared) = prepared.filter(|_| accepted) {
            self.reload.accept(*prepared);
        }
        if std::mem::take(&mut self.is_reload) {
            notify::reloaded();
        }
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

fn reconfigure(prepared: &Prepared, reason: String, allow_loosening: bool) -> Command {
    Command::Reconfigure {
        config: Box::new(prepared.engine.clone()),
        parameters: prepared.parameters.clone(),
        reason,
        allow_loosening,
    }
}
