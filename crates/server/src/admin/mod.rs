//! The operator's own door: a listener of its own on loopback, opened only where it is asked for, behind
//! a bearer token. What can be asked is in `table`, how it is read in `read`, what is shown in `shown`.
//!
//! `POST /admin/v1/NAME` asks for something, `GET /admin/v1/NAME` looks. Bodies are JSON objects; answers
//! are JSON, refusals the interface's `resultInfo`. Nothing of this is reachable through the exchange's
//! own address.

mod read;
mod serve;
mod shown;
mod table;

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::config::ConnectionLimits;
use crate::connection::{self, Peers};
use crate::handle::Handle;
use crate::server::BindError;

pub use table::{Field, FieldKind, WISHES, Wish, find};

/// Where the operator's paths begin.
pub const PREFIX: &str = "/admin/v1/";

/// Shortest token: one that nobody guesses.
pub const TOKEN_BYTES_MIN: usize = 32;

/// Connections at a time.
const CONNECTIONS_MAX: usize = 16;

/// Pause after the system could not hand out a connection.
const ACCEPT_PAUSE_MS: u64 = 100;

/// How the operator's door is opened. Does not show the token in `Debug`.
#[derive(Clone)]
pub struct AdminConfig {
    /// Where to listen: a loopback address.
    pub listen: SocketAddr,
    /// What must be known.
    pub token: String,
}

impl std::fmt::Debug for AdminConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdminConfig")
            .field("listen", &self.listen)
            .finish_non_exhaustive()
    }
}

/// Why the operator's door stays shut.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// Other machines could reach it.
    #[error(
        "the operator's address {0} is not on loopback: it speaks plain HTTP and must stay local"
    )]
    NotLoopback(SocketAddr),
    /// A token that can be guessed.
    #[error("the operator's token has fewer than {TOKEN_BYTES_MIN} characters")]
    ShortToken,
    /// The address cannot be had.
    #[error(transparent)]
    Bind(#[from] BindError),
}

/// The operator's listener, not yet serving.
pub struct AdminServer {
    listener: TcpListener,
    address: SocketAddr,
    door: Arc<serve::Door>,
}

impl AdminServer {
    /// Takes the address, for the exchange of `handle`.
    pub fn bind(config: &AdminConfig, handle: &Handle) -> Result<Self, AdminError> {
        let address = config.listen;
        if !address.ip().is_loopback() {
            return Err(AdminError::NotLoopback(address));
        }
        if config.token.len() < TOKEN_BYTES_MIN {
            return Err(AdminError::ShortToken);
        }
        let failed = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::AddrInUse => BindError::InUse { address },
            _ => BindError::Other { address, source },
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            door: Arc::new(serve::Door::new(handle.shell(), address, &config.token)),
            listener,
            address,
        })
    }

    /// Where it listens.
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown` ends.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> std::io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let limits = ConnectionLimits::default();
        let router = serve::router(self.door);
        let (stop, stopping) = watch::channel(false);
        let peers = Peers::default();
        let mut connections = JoinSet::new();
        let mut shutdown = pin!(shutdown);
        tracing::info!(address = %self.address, "the operator's door is open");
        loop {
            tokio::select! {
                () = shutdown.as_mut() => break,
                Some(_) = connections.join_next() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => {
                        let place = (connections.len() < CONNECTIONS_MAX)
                            .then(|| peers.enter(peer.ip(), CONNECTIONS_MAX, &[]))
                            .flatten();
                        if let Some(place) = place {
                            connections.spawn(connection::serve(
                                stream, place, router.clone(), limits, stopping.clone(),
                            ));
                        }
                    }
                    Err(error) => {
                        tracing::warn!(%error, "no connection of the operator accepted");
                        tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
                    }
                },
            }
        }
        // Receivers that are gone need no word.
        let _ = stop.send(true);
        let drained = async { while connections.join_next().await.is_some() {} };
        // What is under way is finished, but a door does not hold up the house.
        let _ = tokio::time::timeout(Duration::from_millis(limits.shutdown_ms), drained).await;
        connections.shutdown().await;
        Ok(())
    }
}
