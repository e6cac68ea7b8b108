//! Status of a start: since when it waits for its venue, and the open orders of earlier runs. Shown in the log, to the
//! service manager, on the pages and on the control socket.

use std::sync::{Mutex, MutexGuard, PoisonError};

use cambist_core::Time;
use serde_json::{Value, json};

use super::{About, Telemetry, TelemetryError};
use crate::live::earlier_runs::EarlierRuns;
use crate::notify::Notifier;
use cambist_host::clock::Clock;
use cambist_host::times;

/// Most causes logged of one wait.
const CAUSES_MAX: usize = 8;

/// A wait goes on to be logged so often.
const LOGGED_EVERY_MS: u64 = 600_000;

/// Status of a start.
pub struct Starting {
    /// The telemetry of any process.
    pub telemetry: Telemetry,
    clock: Clock,
    earlier: EarlierRuns,
    notifier: Notifier,
    waiting: Mutex<Option<Waiting>>,
}

/// A wait for the venue.
struct Waiting {
    since: Time,
    since_unix_s: u64,
    /// The last one is the current one.
    causes: Vec<String>,
    /// When the wait was last logged.
    logged: Time,
}

impl Starting {
    /// A start that does not wait. `about` needs no markets.
    pub fn new(
        about: About,
        clock: Clock,
        earlier: EarlierRuns,
        notifier: Notifier,
    ) -> Result<Self, TelemetryError> {
        Ok(Self {
            notifier,
            telemetry: Telemetry::new(about, clock)?,
            clock,
            earlier,
            waiting: Mutex::new(None),
        })
    }

    /// Open orders of earlier runs.
    pub const fn earlier(&self) -> EarlierRuns {
        self.earlier
    }

    /// Updates the status: called about every second.
    pub fn tick(&self) {
        self.telemetry.tick(0);
        let waits = self.waiting().is_some();
        self.notifier.starting(waits, &self.line());
    }

    /// The venue gave no usable answer.
    pub fn waits(&self, cause: &str) {
        let mut waiting = self.waiting();
        let now_unix_s = self.clock.unix_micros() / 1_000_000;
        let wait = waiting.get_or_insert_with(|| Waiting {
            since: self.clock.now(),
            since_unix_s: now_unix_s,
            causes: Vec::new(),
            logged: self.clock.now(),
        });
        self.telemetry.start_waits_since(wait.since_unix_s);
        match wait.causes.iter().position(|known| known == cause) {
            Some(known) => {
                let present = wait.causes.remove(known);
                wait.causes.push(present);
            }
            None if wait.causes.len() < CAUSES_MAX => {
                let since = times::iso(wait.since_unix_s);
                tracing::warn!("the venue is not ready ({cause}); waiting for it since {since}");
                wait.causes.push(cause.to_owned());
            }
            None => {}
        }
        let now = self.clock.now();
        if now.ms_since(wait.logged) >= LOGGED_EVERY_MS {
            wait.logged = now;
            let waited = times::span(now.ms_since(wait.since) / 1_000);
            tracing::warn!(
                "the venue is not ready since {waited} ({cause}); cambist doctor compares the file with the venue"
            );
        }
    }

    /// The venue answered.
    pub fn goes_on(&self) {
        if let Some(wait) = self.waiting().take() {
            let waited = times::span(self.clock.now().ms_since(wait.since).div_ceil(1_000));
            tracing::info!("the venue answers, after {waited}");
            self.telemetry.start_waits_since(0);
        }
    }

    /// The status in one line.
    pub fn line(&self) -> String {
        let waiting = match &*self.waiting() {
            Some(wait) => format!(
                "waiting for the venue since {} ({})",
                times::iso(wait.since_unix_s),
                wait.causes.last().map_or("no answer", String::as_str)
            ),
            None => "starting: querying the venue".to_owned(),
        };
        let earlier = self.earlier.text();
        earlier.map_or_else(
            || waiting.clone(),
            |earlier| format!("{waiting}; {earlier}"),
        )
    }

    /// The status as in `/status`.
    pub fn status(&self) -> Value {
        let mut page = self.telemetry.status();
        page["state"] = json!("starting");
        page["line"] = json!(self.line());
        page["waiting"] = self.waiting().as_ref().map_or(Value::Null, |wait| {
            json!({
                "for": "venue",
                "since": times::iso(wait.since_unix_s),
                "for_s": self.clock.now().ms_since(wait.since) / 1_000,
                "cause": wait.causes.last(),
            })
        });
        page["earlier_run"] = json!({
            "not_proven_gone": self.earlier.count,
            "alive_until": (self.earlier.count > 0).then(|| times::iso(self.earlier.until_s)),
            "alive_until_s": (self.earlier.count > 0).then_some(self.earlier.until_s),
        });
        page
    }

    fn waiting(&self) -> MutexGuard<'_, Option<Waiting>> {
        // A panic ends the process, so a poisoned lock occurs in tests only.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
