//! Serves status and operator requests while a start queries its venue.

use std::time::Duration;

use anyhow::Context;
use cambist_core::event::{Command, Restrictions, TradingState};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::config::Daemon;
use crate::live::control_requests::RequestJson;
use crate::live::earlier_runs::EarlierRuns;
use crate::live::latch::Latch;
use crate::live::operator_commands::Request;
use crate::live::pending_replies::{refused, send_reply};
use crate::live::signals::{SignalAction, Signals};
use crate::live::start;
use crate::portfolio::Membership;
use crate::telemetry::starting::Starting;
use cambist_host::exit::Exit;
use cambist_store::Store;

/// Interval at which the start's status is updated.
const TICK: Duration = Duration::from_secs(1);

/// What is needed to serve requests during a start.
pub struct StartService<'a> {
    /// The configuration.
    pub daemon: &'a Daemon,
    /// Status of the start.
    pub starting: &'a Starting,
    /// The open store.
    pub store: &'a mut Store,
    /// Trading state and pauses of the store.
    pub restrictions: &'a mut Restrictions,
    /// Signals and the latch.
    pub signals: &'a mut Signals,
    /// The control socket.
    pub requests: &'a mut mpsc::Receiver<Request>,
    /// The part in a portfolio of venues.
    pub member: Option<&'a Membership>,
}

/// How the queries ended.
pub enum Queried<T> {
    /// The venue has answered all queries.
    Everything(T),
    /// The operator stopped the start.
    Stopped,
}

/// The reply to a request that stops the start. A client that waits for the end learns whether orders may be alive.
pub fn stopped(earlier: EarlierRuns, waits_for_the_end: bool) -> Value {
    let detail = "the start ends; nothing was sent";
    match earlier.text() {
        Some(earlier) if waits_for_the_end => {
            let mut reply = refused(&format!("{detail}; {earlier}"));
            reply["exit"] = json!(Exit::CheckFailed.code());
            reply
        }
        earlier => {
            let earlier = earlier.map_or_else(String::new, |earlier| format!("; {earlier}"));
            json!({"done": true, "detail": format!("{detail}{earlier}"), "durable": null})
        }
    }
}

impl StartService<'_> {
    /// Waits for the venue's answers. A latch that is set meanwhile ends the start with its error.
    pub async fn wait<T>(
        mut self,
        queries: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<Queried<T>> {
        let mut queries = std::pin::pin!(queries);
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                queried = queries.as_mut() => return queried.map(Queried::Everything),
                signal = self.signals.next() => match signal {
                    SignalAction::Command(Command::Raise { level: TradingState::Halted, reason }) => {
                        return Err(start::halted(self.daemon, &reason).into());
                    }
                    SignalAction::Command(Command::Raise { level, reason }) => self.raise(level, &reason)?,
                    SignalAction::Command(_) => return Ok(Queried::Stopped),
                    SignalAction::Reload => tracing::warn!(
                        "the configuration cannot be reloaded during a start; restart the daemon instead"
                    ),
                },
                Some(Request { json, answer, .. }) = self.requests.recv() => {
                    let done = self.execute(&json);
                    let (reply, stops) = done.unwrap_or_else(|error| (refused(&error.to_string()), false));
                    send_reply(Some(answer), reply);
                    if stops {
                        return self.stopped();
                    }
                }
                _ = tick.tick() => self.tick(),
            }
        }
    }

    fn tick(&self) {
        self.starting.tick();
        if let Some(member) = self.member {
            self.starting.telemetry.portfolio(member.status(|_| None));
        }
    }

    /// A stopped start allows the next one, unless the latch is set.
    fn stopped<T>(&self) -> anyhow::Result<Queried<T>> {
        match Latch::of(&self.daemon.store.dir).raised() {
            Some(reason) => Err(start::halted(self.daemon, &reason).into()),
            None => Ok(Queried::Stopped),
        }
    }

    /// The reply, and whether the start ends.
    fn execute(&mut self, json: &RequestJson) -> anyhow::Result<(Value, bool)> {
        let done = |detail: &str, durable: Option<bool>| json!({"done": true, "detail": detail, "durable": durable});
        Ok(match json {
            RequestJson::Status => (self.starting.status(), false),
            RequestJson::Kill {
                cancel_only: true,
                reason,
            } => {
                self.raise(TradingState::CancelOnly, reason)?;
                let detail = "the trading state is cancel-only: after the start everything is cancelled and no orders are placed";
                (done(detail, Some(true)), false)
            }
            RequestJson::Kill { reason, .. } => {
                let latch = Latch::of(&self.daemon.store.dir);
                latch
                    .raise(reason)
                    .with_context(|| latch.file().display().to_string())?;
                let detail = "the start ends, and no other is possible until 'cambist resume'; nothing was sent";
                (done(detail, Some(true)), true)
            }
            RequestJson::Drain { .. } | RequestJson::Leave { .. } => {
                let reply = stopped(self.starting.earlier(), json.waits_for_the_end());
                (reply, true)
            }
            RequestJson::Pause { .. }
            | RequestJson::Unpause { .. }
            | RequestJson::Lower { .. }
            | RequestJson::Reload { .. }
            | RequestJson::Set { .. }
            | RequestJson::Adopt { .. }
            | RequestJson::TakeSlot { .. }
            | RequestJson::Expect { .. }
            | RequestJson::ExpectNoMore { .. }
            | RequestJson::AdoptOrders { .. } => {
                let what = format!(
                    "the daemon is still starting ({}); try again when it trades, or stop it with drain or kill",
                    self.starting.line()
                );
                (refused(&what), false)
            }
        })
    }

    /// Sets the trading state, durable when this returns.
    fn raise(&mut self, level: TradingState, reason: &str) -> anyhow::Result<()> {
        if self.restrictions.state >= level {
            return Ok(());
        }
        let mut restrictions = self.restrictions.clone();
        restrictions.state = level;
        self.store.set_restrictions(&restrictions, reason, false)?;
        tracing::warn!(
            state = level.name(),
            reason,
            "trading state restricted during the start"
        );
        *self.restrictions = restrictions;
        let telemetry = &self.starting.telemetry;
        telemetry.restricted_before(level, reason);
        Ok(())
    }
}
