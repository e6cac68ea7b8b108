//! The server's life: bind, accept, let the venue's time pass, stop.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use cambist_venue::Venue;
use cambist_venue::agents::Agents;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::browsers::Browsers;
use crate::config::{ConnectionLimits, ServerConfig};
use crate::connection::{self, Peers};
use crate::durable::{Durable, Log};
use crate::handle::Handle;
use crate::machine::MachineError;
use crate::router::router;
use crate::shell::Shell;
use crate::state::State;

/// Longest pause between two looks at the venue's clock: the step of background traders.
const TICK_MS: u64 = 100;

/// Pause after the system could not hand out a connection (no file handles are left, for instance).
const ACCEPT_PAUSE_MS: u64 = 100;

/// Why no server stands at an address.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another program listens there.
    #[error(
        "address {address} is in use: end the program that listens there, or choose another port (port 0 takes a free one)"
    )]
    InUse {
        /// The address.
        address: SocketAddr,
    },
    /// Anything else.
    #[error("cannot listen on {address}: {source}")]
    Other {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// Why a server ended before it was told to.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A request panicked inside the machine: its books can no longer be trusted.
    #[error("the exchange stopped after an internal failure")]
    Broken,
    /// The log cannot be written: what is answered now could be lost.
    #[error(
        "the exchange stopped because its log cannot be written; see the disk, then start again"
    )]
    NotDurable,
    /// The listening socket could not be used.
    #[error("the listening socket failed: {0}")]
    Listener(#[from] io::Error),
}

impl From<MachineError> for RunError {
    fn from(error: MachineError) -> Self {
        match error {
            MachineError::NotDurable => Self::NotDurable,
            MachineError::Broken
            | MachineError::Busy
            | MachineError::Refused(_)
            | MachineError::Audit(_) => Self::Broken,
        }
    }
}

/// A venue at an address, not yet serving.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    limits: ConnectionLimits,
    browsers: Browsers,
    proxies: Vec<IpAddr>,
    shell: Arc<Shell>,
}

impl Server {
    /// Takes the address. Connections wait until [`Server::run`]. `agents` trade in the venue while it
    /// runs; their accounts are opened before (`Agents::setup`).
    pub fn bind(
        config: &ServerConfig,
        venue: Venue,
        agents: Vec<Agents>,
    ) -> Result<Self, BindError> {
        Self::bind_state(config, State::new(venue, agents), None)
    }

    /// As [`Server::bind`], with an exchange whose every input is written before it is answered.
    pub fn bind_durable(config: &ServerConfig, exchange: Durable) -> Result<Self, BindError> {
        Self::bind_state(config, exchange.state, Some(exchange.log))
    }

    fn bind_state(
        config: &ServerConfig,
        state: State,
        log: Option<Log>,
    ) -> Result<Self, BindError> {
        let address = config.listen;
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::InUse { address },
            _ => BindError::Other { address, source },
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            listener,
            address,
            limits: config.connections,
            proxies: config.trusted_proxies.clone(),
            browsers: Browsers::new(config.cors_origin.as_deref()),
            shell: Arc::new(Shell::new(config, state, log)),
        })
    }

    /// Where it listens.
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The way to the venue from inside this process.
    pub fn handle(&self) -> Handle {
        Handle::new(Arc::clone(&self.shell))
    }

    /// Serves until `shutdown` ends, then lets requests under way finish within the deadline.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), RunError> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let router = router(Arc::clone(&self.shell), self.limits, self.browsers);
        let (stop, stopping) = watch::channel(false);
        let peers = Peers::default();
        let mut connections = JoinSet::new();
        let mut shutdown = pin!(shutdown);
        let mut passing = pin!(let_time_pass(&self.shell));
        tracing::info!(address = %self.address, "listening");
        let ended = loop {
            tokio::select! {
                () = shutdown.as_mut() => break Ok(()),
                why = self.shell.machine.broken() => break Err(why.into()),
                () = passing.as_mut() => break Err(self.shell.machine.why_broken().into()),
                Some(_) = connections.join_next() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => {
                        let max = self.limits.connections_per_address_max;
                        let place = (connections.len() < self.limits.connections_max)
                            .then(|| peers.enter(peer.ip(), max, &self.proxies))
                            .flatten();
                        let Some(place) = place else {
                            tracing::debug!(%peer, "too many connections");
                            continue;
                        };
                        // Answers are small and must not wait for more.
                        let _ = stream.set_nodelay(true);
                        connections.spawn(connection::serve(
                            stream,
                            place,
                            router.clone(),
                            self.limits,
                            stopping.clone(),
                        ));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "no connection accepted");
                        tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
                    }
                },
            }
        };
        drop(listener);
        // Receivers that are gone need no word.
        let _ = stop.send(true);
        let drained = async { while connections.join_next().await.is_some() {} };
        let deadline = Duration::from_millis(self.limits.shutdown_ms);
        if tokio::time::timeout(deadline, drained).await.is_err() {
            tracing::warn!("connections were cut at the deadline");
        }
        connections.shutdown().await;
        ended
    }
}

/// Wakes the venue when something is due; ends only when the machine is broken.
async fn let_time_pass(shell: &Shell) {
    loop {
        let ticked = catch_unwind(AssertUnwindSafe(|| shell.machine.tick()));
        if ticked.is_err() || shell.machine.is_broken() {
            tracing::error!("the venue broke while time passed");
            return;
        }
        let pause_ms = shell
            .machine
            .next_wakeup_ms()
            .map_or(TICK_MS, |ms| ms.clamp(1, TICK_MS));
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
    }
}
