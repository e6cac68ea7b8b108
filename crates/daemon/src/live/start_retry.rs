//! Retries of queries during a start.

use std::time::Duration;

use cambist_client::{CallError, Client};
use cambist_core::VenueTime;
use cambist_core::request::{Outcome, Query, Reply};

use crate::adapter::RequestRefusal;
use crate::telemetry::starting::Starting;

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_secs(1);
/// Longest pause, if the venue asks for one.
const PAUSE_MAX_MS: u64 = 60_000;

/// Repeats a query until there is a usable answer, and reports the wait.
#[derive(Clone, Copy)]
pub struct StartRetry<'a> {
    starting: Option<&'a Starting>,
}

impl<'a> StartRetry<'a> {
    /// Reports waits as those of this start.
    pub const fn new(starting: &'a Starting) -> Self {
        Self {
            starting: Some(starting),
        }
    }

    /// A single attempt, for interactive commands.
    pub const fn none() -> Self {
        Self { starting: None }
    }

    /// The answer, or a refusal that a retry cannot change.
    pub async fn ask<T, F>(self, call: impl Fn() -> F) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, CallError>>,
    {
        loop {
            let error = match call().await {
                Ok(answer) => {
                    if let Some(starting) = self.starting {
                        starting.goes_on();
                    }
                    return Ok(answer);
                }
                Err(error) if !may_pass(&error) => return Err(error),
                Err(error) => error,
            };
            let Some(starting) = self.starting else {
                return Err(error);
            };
            starting.waits(&error.to_string());
            tokio::time::sleep(pause(&error)).await;
        }
    }

    /// As `ask`, for queries of the engine: the answer and the venue's time in it.
    pub async fn query(
        self,
        client: &Client,
        query: &Query,
    ) -> Result<(Reply, Option<VenueTime>), CallError> {
        self.ask(async || {
            let call = query.endpoint().name();
            let answered = client.query(query, &[]).await;
            let detail = answered.detail.unwrap_or_default();
            match answered.outcome {
                Outcome::Reply(reply) => Ok((reply, answered.venue_time)),
                Outcome::Refused(reason) => Err(CallError::Refused {
                    call,
                    reason,
                    detail,
                    retry_after_ms: answered.retry_after_ms,
                }),
                Outcome::NotSent => Err(CallError::NotSent { call, detail }),
                Outcome::Unknown(cause) => Err(CallError::Unknown {
                    call,
                    cause,
                    detail,
                }),
            }
        })
        .await
    }
}

/// Whether a later attempt may succeed. Refusals about keys, account and arguments are permanent.
fn may_pass(error: &CallError) -> bool {
    match error {
        CallError::NotSent { .. } | CallError::Unknown { .. } => true,
        CallError::Refused { reason, .. } => RequestRefusal::of(*reason).may_pass(),
        CallError::NoCredentials { .. } | CallError::Sign { .. } => false,
    }
}

fn pause(error: &CallError) -> Duration {
    let wanted_ms = match error {
        CallError::Refused { retry_after_ms, .. } => retry_after_ms.unwrap_or(0),
        _ => 0,
    };
    PAUSE.max(Duration::from_millis(wanted_ms.min(PAUSE_MAX_MS)))
}
