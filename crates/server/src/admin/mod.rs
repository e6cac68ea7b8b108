//! The operator's own door: a listener of its own on loopback, opened only where it is asked for, behind
//! a bearer token. What can be asked is in `table`, how it is read in `read`, what is shown in `shown`.
//!
//! `POST /admin/v1/NAME` asks for something, `GET /admin/v1/NAME` looks. Bodies are JSON objects; answers
//! are JSON, refusals the interface's `resultInfo`. Nothing of this is reachable through the exchange's
//! own address.

pub(crate) mod log_view;
mod metrics;
pub(crate) mod request_fields;
pub(crate) mod requests;
pub(crate) mod responses;
mod table;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use cambist_listener::{BindError, Listener};

use crate::config::ConnectionLimits;
use crate::in_process::InProcess;

pub use table::{Field, FieldKind, OperatorRequest, WISHES, find};

/// Where the operator's paths begin.
pub const PREFIX: &str = "/admin/v1/";

/// Shortest token: one that nobody guesses.
pub const TOKEN_BYTES_MIN: usize = 32;

/// Connections at a time: one more takes the place of one that waits, first of one that has not shown the
/// token.
const CONNECTIONS_MAX: usize = 16;

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
    listener: Listener,
    door: Arc<requests::AdminApi>,
}

impl AdminServer {
    /// Takes the address, for the exchange of `handle`.
    pub fn bind(config: &AdminConfig, handle: &InProcess) -> Result<Self, AdminError> {
        let address = config.listen;
        if !address.ip().is_loopback() {
            return Err(AdminError::NotLoopback(address));
        }
        if config.token.len() < TOKEN_BYTES_MIN {
            return Err(AdminError::ShortToken);
        }
        let bounds = ConnectionLimits {
            connections_max: CONNECTIONS_MAX,
            connections_per_address_max: CONNECTIONS_MAX,
            ..ConnectionLimits::default()
        };
        let listener = Listener::bind(address, bounds.listener())?;
        let door = requests::AdminApi::new(handle.shell(), listener.address(), &config.token);
        Ok(Self {
            door: Arc::new(door),
            listener,
        })
    }

    /// Where it listens.
    pub const fn local_addr(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Serves until `shutdown` ends.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> std::io::Result<()> {
        tracing::info!(address = %self.listener.address(), "the operator's door is open");
        self.listener
            .serve(requests::router(self.door), shutdown)
            .await
    }
}
