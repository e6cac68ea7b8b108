//! Signals of the operating system and the latch, as commands to a running daemon.

use std::io::IsTerminal;

use cambist_core::event::{Command, TradingState};
use tokio::io::AsyncReadExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::latch::Latch;

/// Meaning of a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignalAction {
    /// A command for the engine.
    Command(Command),
    /// Reload the configuration.
    Reload,
}

/// SIGTERM, SIGINT, SIGHUP and SIGUSR1, and optionally the end of standard input.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// The terminal was closed; without a terminal: reload the configuration.
    hangup: Signal,
    has_terminal: bool,
    user: Signal,
    stdin: Option<tokio::io::Stdin>,
    latch: Option<Latch>,
}

impl Signals {
    /// Installs the handlers. With `until_stdin_closes` the end of standard input means draining, so that a daemon does
    /// not outlive its parent.
    pub fn listen(until_stdin_closes: bool) -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            has_terminal: std::io::stdin().is_terminal(),
            user: signal(SignalKind::user_defined1())?,
            stdin: until_stdin_closes.then(tokio::io::stdin),
            latch: None,
        })
    }

    /// Also watches the latch of a state folder.
    pub fn watch(&mut self, latch: Latch) {
        self.latch = Some(latch);
    }

    /// Completes at the first signal that means the end; others are ignored.
    pub async fn end(&mut self) {
        while self.next().await != SignalAction::Command(Command::Drain) {}
    }

    /// The next signal.
    pub async fn next(&mut self) -> SignalAction {
        SignalAction::Command(tokio::select! {
            _ = self.terminate.recv() => Command::Drain,
            _ = self.interrupt.recv() => Command::Drain,
            _ = self.hangup.recv() => if self.has_terminal {
                Command::Drain
            } else {
                return SignalAction::Reload;
            },
            _ = self.user.recv() => Command::Raise {
                level: TradingState::CancelOnly,
                reason: "signal".to_owned(),
            },
            () = closed(&mut self.stdin) => {
                self.stdin = None;
                Command::Drain
            }
            reason = raised(self.latch.as_ref()) => {
                self.latch = None;
                Command::Raise {
                    level: TradingState::Halted,
                    reason,
                }
            }
        })
    }
}

/// Completes when standard input ends; never without it.
async fn closed(stdin: &mut Option<tokio::io::Stdin>) {
    let Some(stdin) = stdin else {
        return std::future::pending().await;
    };
    let mut ignored = [0; 256];
    while let Ok(1..) = stdin.read(&mut ignored).await {}
}

/// Completes when the latch is set, with its reason; never without a latch.
async fn raised(latch: Option<&Latch>) -> String {
    match latch {
        Some(latch) => latch.watch().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use rustix::process::{Signal, getpid, kill_process};

    use super::*;

    /// One test, because signals are those of the process.
    #[tokio::test]
    async fn signals_and_the_latch_are_commands() {
        let folder = crate::testing::private_folder();
        let mut signals = Signals::listen(false).unwrap();
        signals.has_terminal = false;
        let command = SignalAction::Command;
        let raise = |level, reason: &str| {
            command(Command::Raise {
                level,
                reason: reason.to_owned(),
            })
        };
        let send = |signal| kill_process(getpid(), signal).unwrap();
        for (signal, action) in [
            (Signal::TERM, command(Command::Drain)),
            (Signal::INT, command(Command::Drain)),
            (Signal::USR1, raise(TradingState::CancelOnly, "signal")),
            (Signal::HUP, SignalAction::Reload),
        ] {
            send(signal);
            assert_eq!(signals.next().await, action, "{signal:?}");
        }
        signals.has_terminal = true;
        send(Signal::HUP);
        assert_eq!(
            signals.next().await,
            command(Command::Drain),
            "its terminal was closed"
        );
        let latch = Latch::of(folder.path());
        signals.watch(latch.clone());
        latch.raise("by hand").unwrap();
        let halted = raise(TradingState::Halted, "by hand");
        assert_eq!(signals.next().await, halted);
        // It is reported once; only a signal that means the end is one.
        send(Signal::USR1);
        let end = signals.end();
        let other = async {
            tokio::task::yield_now().await;
            send(Signal::TERM);
        };
        tokio::join!(end, other);
    }
}
