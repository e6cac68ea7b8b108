//! The operator's listener: on loopback, disabled unless configured, authorised by a bearer token. `table` lists the
//! requests, `request_fields` parses them, `responses` and `log_view` format the answers.
//!
//! `POST /admin/v1/NAME` changes something, `GET /admin/v1/NAME` reads. Bodies are JSON objects; answers are JSON,
//! refusals the interface's `resultInfo`. None of this is reachable through the exchange's own address.

pub(crate) mod log_view;
mod metrics;
pub(crate) mod request_fields;
pub(crate) mod requests;
pub(crate) mod responses;
mod table;
mod withdrawals;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use cambist_listener::{BindError, Listener};

use crate::config::ConnectionLimits;
use crate::in_process::InProcess;

pub use table::{Field, FieldKind, OPERATOR_REQUESTS, OperatorRequest, find};

/// Prefix of the operator's paths.
pub const PREFIX: &str = "/admin/v1/";

/// Fewest characters of a token, so that it cannot be guessed.
pub const TOKEN_BYTES_MIN: usize = 32;

/// Most connections at a time. One more evicts a waiting connection, unauthenticated ones first.
const CONNECTIONS_MAX: usize = 16;

/// Configuration of the operator's listener. `Debug` does not show the token.
#[derive(Clone)]
pub struct AdminConfig {
    /// Address to bind: loopback only.
    pub listen: SocketAddr,
    /// The bearer token.
    pub token: String,
}

impl std::fmt::Debug for AdminConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdminConfig")
            .field("listen", &self.listen)
            .finish_non_exhaustive()
    }
}

/// Why the operator's listener was not started.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// Other machines could connect to the address.
    #[error(
        "the operator's address {0} is not a loopback address; the listener speaks plain HTTP and must not be reachable from other machines"
    )]
    NotLoopback(SocketAddr),
    /// The token is too short.
    #[error(
        "the operator's token has fewer than {TOKEN_BYTES_MIN} characters, so it could be guessed"
    )]
    ShortToken,
    /// The address cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
}

/// The operator's listener, not serving yet.
pub struct AdminServer {
    listener: Listener,
    api: Arc<requests::AdminApi>,
}

impl AdminServer {
    /// Binds the address, for the exchange of `handle`.
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
        let api = requests::AdminApi::new(handle.shell(), listener.address(), &config.token);
        Ok(Self {
            api: Arc::new(api),
            listener,
        })
    }

    /// The bound address.
    pub const fn local_addr(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Serves until `shutdown` ends.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> std::io::Result<()> {
        tracing::info!(address = %self.listener.address(), "operator listener started");
        self.listener
            .serve(requests::router(self.api), shutdown)
            .await
    }
}
