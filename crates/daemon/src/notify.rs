//! Messages to the service manager (systemd). Ignored if `NOTIFY_SOCKET` is not set.
//!
//! Only the event loop sends watchdog messages, so that a process whose loop hangs is killed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sd_notify::NotifyState;

/// Additional start-up time that is requested.
const START_EXTENSION: Duration = Duration::from_mins(1);

/// Whether READY was sent: a reload before it must not end with READY.
static IS_READY: AtomicBool = AtomicBool::new(false);

/// The start is complete; orders may be sent from now on.
pub fn ready(status: &str) {
    IS_READY.store(true, Ordering::Relaxed);
    send(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// A status line for the service manager.
pub fn status(status: &str) {
    send(&[NotifyState::Status(status)]);
}

/// The configuration is being read again (RELOADING, with the monotonic time that `Type=notify-reload` asks
/// for). Nothing before [`ready`].
pub fn reloading() {
    if !IS_READY.load(Ordering::Relaxed) {
        return;
    }
    match NotifyState::monotonic_usec_now() {
        Ok(now) => send(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "the service manager is not notified of the reload"),
    }
}

/// The reload is over, whether anything was taken over or not. Nothing before [`ready`].
pub fn reloaded() {
    if IS_READY.load(Ordering::Relaxed) {
        send(&[NotifyState::Ready]);
    }
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
