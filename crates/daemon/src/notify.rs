//! Messages to the service manager (systemd). Ignored if `NOTIFY_SOCKET` is not set.
//!
//! Only the event loop sends watchdog messages, so that a process whose loop hangs is killed.

use std::time::Duration;

use sd_notify::NotifyState;

/// Additional start-up time that is requested.
const START_EXTENSION: Duration = Duration::from_mins(1);

/// The start is complete; orders may be sent from now on.
pub fn ready(status: &str) {
    send(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// A status line for the service manager.
pub fn status(status: &str) {
    send(&[NotifyState::Status(status)]);
}

/// The event loop is alive.
pub fn watchdog() {
    send(&[NotifyState::Watchdog]);
}

/// Draining began; requests `longest` for it.
pub fn stopping(longest: Duration) {
    let micros = u32::try_from(longest.as_micros()).unwrap_or(u32::MAX);
    send(&[
        NotifyState::Stopping,
        NotifyState::ExtendTimeoutUsec(micros),
        NotifyState::Status("draining"),
    ]);
}

/// The start continues; must be sent more often than every [`START_EXTENSION`].
pub fn starting(status: &str) {
    let micros = u32::try_from(START_EXTENSION.as_micros()).unwrap_or(u32::MAX);
    send(&[
        NotifyState::ExtendTimeoutUsec(micros),
        NotifyState::Status(status),
    ]);
}

/// As [`starting`], without changing the status line.
pub fn still_starting() {
    let micros = u32::try_from(START_EXTENSION.as_micros()).unwrap_or(u32::MAX);
    send(&[NotifyState::ExtendTimeoutUsec(micros)]);
}

/// Interval of watchdog messages: half of the service manager's timeout.
pub fn watchdog_every() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|allowed| allowed / 2)
}

fn send(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        // A lost message must not stop trading; the service manager applies its timeouts.
        tracing::warn!(%error, "cannot send a message to the service manager");
    }
}
