//! A bound address and its accept loop.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::time::Duration;

use http_body::Body;
use hyper::{Request, Response};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tower_service::Service;

use crate::connection::{self, Phase};
use crate::table::{Admission, Place, Table, TableLimits};
use crate::{Limits, RequestBody};

/// Pause after a failed accept (no file descriptors are left, for instance).
const ACCEPT_PAUSE_MS: u64 = 100;

/// Why an address cannot be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another program listens on it.
    #[error(
        "address {address} is in use: end the program that listens there, or choose another port (port 0 takes a free one)"
    )]
    InUse {
        /// The address.
        address: SocketAddr,
    },
    /// Any other error.
    #[error("cannot listen on {address}: {source}")]
    Other {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl BindError {
    fn of(address: SocketAddr, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::AddrInUse => Self::InUse { address },
            _ => Self::Other { address, source },
        }
    }
}

/// Refuses an address that cannot be bound now: for what a program would leave behind before it binds the address.
pub fn check_address(address: SocketAddr) -> Result<(), BindError> {
    TcpListener::bind(address)
        .map(drop)
        .map_err(|source| BindError::of(address, source))
}

/// A bound address that is not served yet; connections wait in the backlog.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    limits: Limits,
    proxies: Vec<IpAddr>,
}

impl Listener {
    /// Binds the address; port 0 chooses a free port.
    pub fn bind(address: SocketAddr, limits: Limits) -> Result<Self, BindError> {
        let failed = |source| BindError::of(address, source);
        let socket = TcpListener::bind(address).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Self {
            socket,
            address,
            limits,
            proxies: Vec::new(),
        })
    }

    /// The same listener with these trusted proxies: their `X-Forwarded-For` is used.
    #[must_use]
    pub fn with_trusted_proxies(mut self, proxies: Vec<IpAddr>) -> Self {
        self.proxies = proxies;
        self
    }

    /// The bound address.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves requests with `service` until `stop` completes, then lets answers in progress finish within the bound.
    /// Every request carries a [`crate::Peer`] in its extensions. All connections are closed when this future
    /// completes.
    pub async fn serve<S, B>(self, service: S, stop: impl Future<Output = ()>) -> io::Result<()>
    where
        S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send,
        B: Body + Send + Unpin + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let socket = tokio::net::TcpListener::from_std(self.socket)?;
        let limits = self.limits;
        let table = Table::new(TableLimits {
            total_max: limits.connections_max,
            per_address_max: limits.connections_per_address_max,
            proxies: self.proxies,
        });
        let (phase, phases) = watch::channel(Phase::Open);
        let accepting = async {
            loop {
                let (stream, place) = accepted(&socket, &table).await;
                // Answers are small: disable Nagle's algorithm.
                let _ = stream.set_nodelay(true);
                tokio::spawn(connection::serve(
                    stream,
                    place,
                    service.clone(),
                    limits,
                    phases.clone(),
                ));
            }
        };
        tokio::select! {
            () = stop => {}
            () = accepting => {}
        }
        drop(socket);
        phase.send_replace(Phase::Closing);
        let deadline = Duration::from_millis(limits.shutdown_ms);
        if tokio::time::timeout(deadline, emptied(&table))
            .await
            .is_err()
        {
            tracing::warn!(address = %self.address, "stopping: connections with unfinished answers were closed at the deadline");
            phase.send_replace(Phase::Closed);
            emptied(&table).await;
        }
        Ok(())
    }
}

/// Accepts the next connection that is admitted.
async fn accepted(socket: &tokio::net::TcpListener, table: &Table) -> (TcpStream, Place) {
    loop {
        let (stream, peer) = match socket.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed; trying again");
                tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
                continue;
            }
        };
        loop {
            match table.admit(peer.ip()) {
                Admission::Admitted(place) => return (stream, place),
                // No further connection is accepted meanwhile, which bounds the descriptors.
                Admission::Wait => table.freed().await,
                Admission::Full => {
                    tracing::debug!(%peer, "connection refused: too many connections");
                    break;
                }
            }
        }
    }
}

async fn emptied(table: &Table) {
    while !table.is_empty() {
        table.freed().await;
    }
}
