//! Retries of queries during a start.

use std::io::Write;
use std::time::Duration;

use cambist_client::{CallError, VenueClient};
use cambist_core::request::{Outcome, Query, Reply};
use cambist_core::{MarketSpec, VenueTime};

use crate::adapter::{self, RequestRefusal};
use crate::telemetry::starting::Starting;

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_secs(1);
/// How often the pause doubles: to 16 s.
const DOUBLED_MAX: u32 = 4;
/// Longest pause, if the venue asks for one.
const PAUSE_MAX_MS: u64 = 60_000;

/// How long a command waits for one answer of a venue that limits the rate.
const COMMAND_WAITS_MAX: Duration = Duration::from_mins(1);

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

    /// A single attempt, for interactive commands; more only while the venue limits the rate, for a minute at most.
    pub const fn none() -> Self {
        Self { starting: None }
    }

    /// The answer, or a refusal that a retry cannot change.
    pub async fn ask<T, F>(self, call: impl Fn() -> F) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, CallError>>,
    {
        let mut limited = 0;
        let mut waited = Duration::ZERO;
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
            let pause = pause(&error, &mut limited);
            match self.starting {
                Some(starting) => starting.waits(&error.to_string()),
                None if limited == 0 || waited + pause > COMMAND_WAITS_MAX => return Err(error),
                None => {
                    let what = format!("{error}; trying again in {} s", pause.as_secs());
                    // Where it cannot be written the wait is the same.
                    let _ = writeln!(std::io::stderr().lock(), "{what}");
                }
            }
            waited += pause;
            tokio::time::sleep(pause).await;
        }
    }

    /// Waits, and states why.
    pub async fn wait(self, pause: Duration, cause: &str) {
        if pause.is_zero() {
            return;
        }
        if let Some(starting) = self.starting {
            starting.waits(cause);
        } else {
            let what = format!("{cause}; going on in {} s", pause.as_secs() + 1);
            // Where it cannot be written the wait is the same.
            let _ = writeln!(std::io::stderr().lock(), "{what}");
        }
        tokio::time::sleep(pause).await;
    }

    /// As `ask`, for queries of the engine: the answer and the venue's time in it. A depth is one of `markets`.
    pub async fn query(
        self,
        client: &VenueClient,
        query: &Query,
        markets: &[MarketSpec],
    ) -> Result<(Reply, Option<VenueTime>), CallError> {
        self.ask(async || {
            let call = query.endpoint().name();
            let answered = client.query(query, markets).await;
            let detail = answered.detail.unwrap_or_default();
            match answered.outcome {
                Outcome::Reply(reply) => Ok((reply, answered.venue_time)),
                Outcome::Refused(reason) => Err(CallError::Refused {
                    call,
                    reason,
                    is_numbered: matches!(client, VenueClient::Exchange(_)),
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

/// The pause after an error. While a rate limit refuses it doubles, because a venue may count refused requests too;
/// `limited` is how often that was in a row.
fn pause(error: &CallError, limited: &mut u32) -> Duration {
    let CallError::Refused {
        reason,
        retry_after_ms,
        ..
    } = error
    else {
        *limited = 0;
        return PAUSE;
    };
    let wanted_ms = retry_after_ms.unwrap_or(0).min(PAUSE_MAX_MS);
    let usual = if adapter::is_rate_limited(*reason) {
        let usual = PAUSE * (1 << (*limited).min(DOUBLED_MAX));
        *limited += 1;
        usual
    } else {
        *limited = 0;
        PAUSE
    };
    usual.max(Duration::from_millis(wanted_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(reason: cambist_core::Reason, retry_after_ms: Option<u64>) -> CallError {
        CallError::Refused {
            call: "tokens",
            reason,
            is_numbered: true,
            detail: String::new(),
            retry_after_ms,
        }
    }

    fn not_sent() -> CallError {
        CallError::NotSent {
            call: "tokens",
            detail: String::new(),
        }
    }

    #[test]
    fn a_pause_is_what_the_venue_asks_for_from_a_second_to_a_minute() {
        use cambist_core::Reason;
        for (wanted_ms, paused_ms) in [
            (None, 1_000),
            (Some(0), 1_000),
            (Some(999), 1_000),
            (Some(1_001), 1_001),
            (Some(60_000), 60_000),
            (Some(60_001), 60_000),
        ] {
            let error = refused(Reason::RateLimited, wanted_ms);
            assert_eq!(
                pause(&error, &mut 0),
                Duration::from_millis(paused_ms),
                "{wanted_ms:?}"
            );
        }
        assert_eq!(pause(&not_sent(), &mut 0), Duration::from_secs(1));
    }

    #[test]
    fn a_pause_doubles_while_the_venue_limits_the_rate() {
        use cambist_core::Reason;
        let limit = || refused(Reason::RateLimited, None);
        let mut limited = 0;
        let seconds: Vec<_> = [
            limit(),
            limit(),
            limit(),
            not_sent(),
            limit(),
            limit(),
            refused(Reason::UnknownError, None),
            limit(),
        ]
        .iter()
        .map(|error| pause(error, &mut limited).as_secs())
        .collect();
        assert_eq!(seconds, [1, 2, 4, 1, 1, 2, 1, 1]);
        let longest = (0..10)
            .map(|_| pause(&limit(), &mut limited).as_secs())
            .last();
        assert_eq!(longest, Some(16));
    }

    #[test]
    fn silence_and_passing_refusals_may_pass() {
        use cambist_core::Reason;
        let unknown = CallError::Unknown {
            call: "tokens",
            cause: cambist_core::request::UnknownCause::Timeout,
            detail: String::new(),
        };
        let without = CallError::NoCredentials { call: "tokens" };
        for (error, passes) in [
            (not_sent(), true),
            (unknown, true),
            (refused(Reason::RateLimited, None), true),
            (refused(Reason::InvalidApiKey, None), false),
            (refused(Reason::InvalidArgument, None), false),
            (without, false),
        ] {
            assert_eq!(may_pass(&error), passes, "{error}");
        }
    }

    /// A key of few calls: a command waits for them to be forgotten, and not for ever.
    #[tokio::test(start_paused = true)]
    async fn a_command_waits_while_the_rate_is_limited_for_a_minute_at_most() {
        let limit = || refused(cambist_core::Reason::RateLimited, None);
        let attempts = std::cell::Cell::new(0);
        let ask = async |refusals: u32| {
            attempts.set(0);
            StartRetry::none()
                .ask(async || {
                    attempts.set(attempts.get() + 1);
                    if attempts.get() > refusals {
                        Ok(())
                    } else {
                        Err(limit())
                    }
                })
                .await
        };
        // 1 + 2 + 4 + 8 + 16 + 16 s.
        assert_eq!(ask(6).await, Ok(()));
        let began = tokio::time::Instant::now();
        assert_eq!(ask(7).await, Err(limit()));
        assert_eq!((attempts.get(), began.elapsed().as_secs()), (7, 47));
    }

    /// A single attempt of a command, and its error.
    #[tokio::test]
    async fn without_a_start_nothing_is_repeated() {
        let attempts = std::cell::Cell::new(0);
        let once: Result<(), _> = StartRetry::none()
            .ask(async || {
                attempts.set(attempts.get() + 1);
                Err(not_sent())
            })
            .await;
        assert_eq!((once, attempts.get()), (Err(not_sent()), 1));
    }
}
