//! Messages to the service manager (systemd). Ignored if `NOTIFY_SOCKET` is not set.
//!
//! Only event loops send watchdog messages, so that a process whose loop hangs is killed; and a start that waits after
//! READY, which other venues of the process have reached: all of them run on one thread.
//!
//! A process with several venues is one service: what its venues report becomes one state ([`Parts`]).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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
fn stopping(longest: Duration, status: &str) {
    let micros = u32::try_from(longest.as_micros()).unwrap_or(u32::MAX);
    send(&[
        NotifyState::Stopping,
        NotifyState::ExtendTimeoutUsec(micros),
        NotifyState::Status(status),
    ]);
}

/// The start continues; must be sent more often than every [`START_EXTENSION`].
fn still_starting() {
    let micros = u32::try_from(START_EXTENSION.as_micros()).unwrap_or(u32::MAX);
    send(&[NotifyState::ExtendTimeoutUsec(micros)]);
}

/// How far a venue of the process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Its start goes on, and has no cause to wait that is shown.
    Starting,
    /// Its start waits for the venue; the status line has the cause.
    Waiting,
    /// Its start is complete.
    Trading,
    /// It is being drained, which may take so long.
    Draining(Duration),
    /// It has ended; the status line has the reason.
    Ended,
}

/// A venue of the process.
#[derive(Clone, Debug)]
struct Part {
    /// Empty for the only one.
    name: String,
    phase: Phase,
    line: String,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Message {
    Ready(String),
    Status(String),
    StillStarting,
    Watchdog,
    Stopping(Duration, String),
}

/// What the venues of the process report, as one service: it is ready when one of them trades and the others do, or wait
/// with a cause, or have ended; and it stops when all of them do.
#[derive(Debug)]
struct Parts {
    venues: Vec<Part>,
    is_ready: bool,
    is_stopping: bool,
}

impl Parts {
    fn new(names: impl Iterator<Item = String>) -> Self {
        let part = |name| Part {
            name,
            phase: Phase::Starting,
            line: "starting".to_owned(),
        };
        Self {
            venues: names.map(part).collect(),
            is_ready: false,
            is_stopping: false,
        }
    }

    /// A venue reports a phase, if it has changed, and a line: the messages that follow.
    fn report(&mut self, index: usize, phase: Option<Phase>, line: &str) -> Vec<Message> {
        let part = &mut self.venues[index];
        part.phase = phase.unwrap_or(part.phase);
        line.clone_into(&mut part.line);
        let phases = self.venues.iter().map(|part| part.phase);
        let longest = phases.clone().filter_map(|phase| match phase {
            Phase::Draining(longest) => Some(longest),
            _ => None,
        });
        let ends = |phase| matches!(phase, Phase::Draining(_) | Phase::Ended);
        if let Some(longest) = longest.max()
            && phases.clone().all(ends)
            && !std::mem::replace(&mut self.is_stopping, true)
        {
            return vec![Message::Stopping(longest, self.line())];
        }
        let mut phases_left = phases.clone();
        let is_shown = !phases_left.any(|phase| phase == Phase::Starting);
        let mut phases = phases;
        if is_shown
            && phases.any(|phase| phase == Phase::Trading)
            && !std::mem::replace(&mut self.is_ready, true)
        {
            return vec![Message::Ready(self.line())];
        }
        vec![Message::Status(self.line())]
    }

    /// The start of a venue goes on.
    fn starting(&mut self, index: usize, waits: bool, line: &str) -> Vec<Message> {
        let phase = if waits {
            Phase::Waiting
        } else {
            Phase::Starting
        };
        let mut messages = self.report(index, Some(phase), line);
        messages.extend(self.still_starting());
        if self.is_ready {
            messages.push(Message::Watchdog);
        }
        messages
    }

    /// A start goes on; nothing after READY.
    fn still_starting(&self) -> Option<Message> {
        (!self.is_ready).then_some(Message::StillStarting)
    }

    /// The status line of the service.
    fn line(&self) -> String {
        let each = self.venues.iter().map(|part| match part.name.as_str() {
            "" => part.line.clone(),
            name => format!("{name}: {}", part.line),
        });
        each.collect::<Vec<_>>().join("; ")
    }
}

/// The part of one venue in the messages to the service manager.
#[derive(Clone, Debug)]
pub struct Notifier {
    parts: Arc<Mutex<Parts>>,
    index: usize,
}

impl Notifier {
    /// The only venue of the process.
    pub fn alone() -> Self {
        Self {
            parts: Arc::new(Mutex::new(Parts::new(std::iter::once(String::new())))),
            index: 0,
        }
    }

    /// The venues of the process, by their names.
    pub fn of_each(names: impl Iterator<Item = String>) -> Vec<Self> {
        let parts = Parts::new(names);
        let count = parts.venues.len();
        let parts = Arc::new(Mutex::new(parts));
        let part = |index| Self {
            parts: Arc::clone(&parts),
            index,
        };
        (0..count).map(part).collect()
    }

    /// The start goes on; `waits` if the line has a cause for which it waits. Must be called more often than every minute.
    pub fn starting(&self, waits: bool, line: &str) {
        self.send(|parts, index| parts.starting(index, waits, line));
    }

    /// As `starting`, without another line.
    pub fn still_starting(&self) {
        self.send(|parts, _| parts.still_starting().into_iter().collect());
    }

    /// The start is complete; orders may be sent from now on.
    pub fn trading(&self) {
        self.send(|parts, index| parts.report(index, Some(Phase::Trading), "trading"));
    }

    /// A status line.
    pub fn status(&self, line: &str) {
        self.send(|parts, index| parts.report(index, None, line));
    }

    /// Draining began; requests `longest` for it.
    pub fn draining(&self, longest: Duration) {
        let phase = Phase::Draining(longest);
        self.send(|parts, index| parts.report(index, Some(phase), "draining"));
    }

    /// The venue's part of the process has ended.
    pub fn ended(&self, line: &str) {
        self.send(|parts, index| parts.report(index, Some(Phase::Ended), line));
    }

    /// What it reported last.
    pub fn line(&self) -> String {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.venues[self.index].line.clone()
    }

    fn send(&self, report: impl FnOnce(&mut Parts, usize) -> Vec<Message>) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        for message in report(&mut parts, self.index) {
            match message {
                Message::Ready(line) => ready(&line),
                Message::Status(line) => send(&[NotifyState::Status(&line)]),
                Message::StillStarting => still_starting(),
                Message::Watchdog => watchdog(),
                Message::Stopping(longest, line) => stopping(longest, &line),
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Parts {
        Parts::new(["own", "kraken"].map(str::to_owned).into_iter())
    }

    fn is_ready(messages: &[Message]) -> bool {
        let mut messages = messages.iter();
        messages.any(|message| matches!(message, Message::Ready(_)))
    }

    #[test]
    fn the_only_venue_is_ready_when_it_trades() {
        let mut parts = Parts::new(std::iter::once(String::new()));
        let line = |text: &str| text.to_owned();
        assert_eq!(
            parts.starting(0, true, "waiting"),
            [Message::Status(line("waiting")), Message::StillStarting]
        );
        let trading = Some(Phase::Trading);
        assert_eq!(
            parts.report(0, trading, "trading"),
            [Message::Ready(line("trading"))]
        );
        assert_eq!(
            parts.report(0, None, "7 orders"),
            [Message::Status(line("7 orders"))]
        );
        let longest = Duration::from_secs(30);
        let draining = Some(Phase::Draining(longest));
        assert_eq!(
            parts.report(0, draining, "draining"),
            [Message::Stopping(longest, line("draining"))]
        );
        assert_eq!(
            parts.report(0, Some(Phase::Ended), "ended"),
            [Message::Status(line("ended"))]
        );
    }

    #[test]
    fn several_venues_are_ready_when_each_trades_waits_or_has_ended() {
        let mut parts = two();
        let trading = Some(Phase::Trading);
        let messages = parts.report(0, trading, "trading");
        assert!(!is_ready(&messages), "the other one has no result yet");
        assert!(!is_ready(&parts.starting(1, false, "querying")));
        let messages = parts.starting(1, true, "waiting (refused)");
        let line = "own: trading; kraken: waiting (refused)".to_owned();
        assert_eq!(messages, [Message::Ready(line), Message::Watchdog]);
        let messages = parts.starting(1, false, "querying");
        assert!(!is_ready(&messages), "once");
        assert!(messages.contains(&Message::Watchdog));
        assert_eq!(parts.still_starting(), None);
        assert!(!is_ready(&parts.report(1, trading, "trading")), "once");

        // None trades: the start goes on, as with one venue.
        let mut parts = two();
        for index in [0, 1] {
            let messages = parts.starting(index, true, "waiting");
            assert!(!is_ready(&messages) && messages.contains(&Message::StillStarting));
        }
        assert!(is_ready(&parts.report(1, trading, "trading")));

        let mut parts = two();
        parts.report(0, Some(Phase::Ended), "refused");
        assert!(is_ready(&parts.report(1, trading, "trading")));
    }

    #[test]
    fn the_service_stops_when_its_last_venue_does() {
        let mut parts = two();
        let draining = |s| Some(Phase::Draining(Duration::from_secs(s)));
        parts.report(1, Some(Phase::Trading), "trading");
        let messages = parts.report(0, draining(20), "draining");
        assert!(is_ready(&messages), "{messages:?}");
        let messages = parts.report(1, draining(10), "draining");
        let line = "own: draining; kraken: draining".to_owned();
        let longest = Duration::from_secs(20);
        assert_eq!(messages, [Message::Stopping(longest, line)]);
        // One that has ended by itself stops nothing.
        let mut parts = two();
        parts.report(0, Some(Phase::Ended), "ended");
        let messages = parts.report(1, Some(Phase::Ended), "ended");
        assert!(matches!(&messages[..], [Message::Status(_)]));
    }
}
