//! Messages to the service manager. Without one (`NOTIFY_SOCKET` unset) they go nowhere.
//!
//! The watchdog is to be fed by the decision loop only: a process whose loop hangs must die.

use std::time::Duration;

use sd_notify::NotifyState;

/// A start that is not heard of for so long has failed.
const START_EXTENSION: Duration = Duration::from_mins(1);

/// Start-up reconciliation is over; orders may be sent from now on.
pub fn ready(status: &str) {
    send(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// A line for people who ask the service manager.
pub fn status(status: &str) {
    send(&[NotifyState::Status(status)]);
}

/// The decision loop has ticked.
pub fn watchdog() {
    send(&[NotifyState::Watchdog]);
}

/// Draining began; the service manager should allow `longest` for it.
pub fn stopping(longest: Duration) {
    let micros = u32::try_from(longest.as_micros()).unwrap_or(u32::MAX);
    send(&[
        NotifyState::Stopping,
        NotifyState::ExtendTimeoutUsec(micros),
        NotifyState::Status("draining"),
    ]);
}

/// The start goes on; to be said more often than every [`START_EXTENSION`].
pub fn starting(status: &str) {
    let micros = u32::try_from(START_EXTENSION.as_micros()).unwrap_or(u32::MAX);
    send(&[
        NotifyState::ExtendTimeoutUsec(micros),
        NotifyState::Status(status),
    ]);
}

/// As [`starting`], while the daemon's own line is the status.
pub fn still_starting() {
    let micros = u32::try_from(START_EXTENSION.as_micros()).unwrap_or(u32::MAX);
    send(&[NotifyState::ExtendTimeoutUsec(micros)]);
}

/// How often the watchdog wants to be fed: half of what the service manager allows.
pub fn watchdog_every() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|allowed| allowed / 2)
}

fn send(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        // Losing a message must not stop trading; the manager will act on its own time-outs.
        tracing::warn!(%error, "service manager not reached");
    }
}
