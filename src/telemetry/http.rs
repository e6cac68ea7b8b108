//! `/metrics`, `/healthz`, `/readyz`, `/status`, and `/` that lists them: read only, and only for this
//! machine by default.
//!
//! Answers come from what was observed; the decision loop is never asked.

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::{Telemetry, TelemetryError};

/// A bound address that is not served yet.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    listen: SocketAddr,
}

impl Listener {
    /// Takes the address, so that a busy one is told before anything else begins.
    pub fn bind(listen: SocketAddr) -> Result<Self, TelemetryError> {
        let failed = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::AddrInUse => TelemetryError::Busy { listen },
            _ => TelemetryError::Listen { listen, source },
        };
        let socket = TcpListener::bind(listen).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let listen = socket.local_addr().map_err(failed)?;
        Ok(Self { socket, listen })
    }

    /// The address, with the port the system chose if port 0 was asked for.
    pub const fn address(&self) -> SocketAddr {
        self.listen
    }

    /// Serves until `stop` is done.
    pub async fn serve(
        self,
        telemetry: Arc<Telemetry>,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        let socket = tokio::net::TcpListener::from_std(self.socket)?;
        let local = self.listen.ip().is_loopback();
        axum::serve(socket, routes(telemetry, local))
            .with_graceful_shutdown(stop)
            .await
    }
}

/// What there is.
const INDEX: &str = "\
cambist
  /metrics  everything, for Prometheus
  /status   everything that is known now, as JSON
  /healthz  200 while decisions go on, 503 otherwise
  /readyz   200 while trading on fresh data, 503 otherwise
";

fn routes(telemetry: Arc<Telemetry>, local: bool) -> Router {
    let routes = Router::new()
        .route("/", get(async || INDEX))
        .route("/metrics", get(metrics))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/status", get(status))
        .with_state(telemetry);
    if local {
        routes.layer(middleware::from_fn(only_local_names))
    } else {
        routes
    }
}

/// A page of the web that had its name pointed at this machine is not this machine's.
async fn only_local_names(request: Request, next: Next) -> Response {
    let host = request
        .headers()
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let name = host.map(|host| host.rsplit_once(':').map_or(host, |(name, _)| name));
    match name {
        Some("localhost" | "127.0.0.1" | "[::1]") => next.run(request).await,
        Some(other)
            if other
                .parse::<std::net::IpAddr>()
                .is_ok_and(|ip| ip.is_loopback()) =>
        {
            next.run(request).await
        }
        Some(_) | None => {
            (StatusCode::FORBIDDEN, "this answers to local names only\n").into_response()
        }
    }
}

async fn metrics(State(telemetry): State<Arc<Telemetry>>) -> Response {
    match telemetry.render() {
        Ok(text) => {
            let kind = [(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)];
            (kind, text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn healthz(State(telemetry): State<Arc<Telemetry>>) -> Response {
    verdict(
        telemetry.health().alive,
        "alive\n",
        "the decision loop is silent\n",
    )
}

async fn readyz(State(telemetry): State<Arc<Telemetry>>) -> Response {
    verdict(
        telemetry.health().ready,
        "ready\n",
        "not trading on fresh data; see /status\n",
    )
}

async fn status(State(telemetry): State<Arc<Telemetry>>) -> Response {
    axum::Json(telemetry.status()).into_response()
}

fn verdict(good: bool, yes: &'static str, no: &'static str) -> Response {
    if good {
        yes.into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, no).into_response()
    }
}
