//! What the operating system and people tell a running daemon.

use std::io::IsTerminal;

use cambist_core::event::{Command, TradingState};
use tokio::io::AsyncReadExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::latch::Latch;

/// What was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignalAction {
    /// Something for the engine.
    Tell(Command),
    /// The file is to be read again.
    Reload,
}

/// SIGTERM, SIGINT, SIGHUP and SIGUSR1, and optionally the end of standard input.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// The terminal is gone; without one, the file has changed.
    hangup: Signal,
    has_terminal: bool,
    user: Signal,
    stdin: Option<tokio::io::Stdin>,
    latch: Option<Latch>,
}

impl Signals {
    /// Listens from now on. With `until_stdin_closes` the end of standard input means draining: a
    /// parent that dies takes its daemon's quotes with it.
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

    /// Watches the latch of a state folder too.
    pub fn watch(&mut self, latch: Latch) {
        self.latch = Some(latch);
    }

    /// Until somebody wants the end. Nothing else means anything to a caller of this.
    pub async fn end(&mut self) {
        while self.next().await != SignalAction::Tell(Command::Drain) {}
    }

    /// What is said next.
    pub async fn next(&mut self) -> SignalAction {
        SignalAction::Tell(tokio::select! {
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

/// Ends when standard input does; never without one.
async fn closed(stdin: &mut Option<tokio::io::Stdin>) {
    let Some(stdin) = stdin else {
        return std::future::pending().await;
    };
    let mut ignored = [0; 256];
    while let Ok(1..) = stdin.read(&mut ignored).await {}
}

/// The reason of the latch when it is raised; never without one.
async fn raised(latch: Option<&Latch>) -> String {
    match latch {
        Some(latch) => latch.watch().await,
        None => std::future::pending().await,
    }
}
