//! Serves `/metrics`, `/healthz`, `/readyz`, `/status`, and `/` with a list of them: read only, and by default for this
//! machine only.
//!
//! Answers come from observed data; the event loop is never queried. A thread of its own serves a bounded number of
//! connections, so that a flood of requests takes neither the loop's time nor its file descriptors.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use cambist_listener::{BindError, Limits};
use serde_json::{Value, json};

use super::page;
use super::recording::RecordingStatus;
use super::starting::Starting;
use super::{Telemetry, TelemetryError};

/// Limits of the listener: sufficient for scrapers, too small to affect trading.
const LIMITS: Limits = Limits {
    connections_max: 64,
    connections_per_address_max: 64,
    head_timeout_ms: 10_000,
    stall_timeout_ms: 10_000,
    head_bytes_max: 8_192,
    connection_age_max_ms: 600_000,
    shutdown_ms: 1_000,
};

/// What is served: a start, then the running daemon, and its end if the process goes on.
#[derive(Clone)]
pub enum Shown {
    /// A start in progress.
    Starting(Arc<Starting>),
    /// A daemon.
    Running(Arc<Telemetry>),
    /// A recording of depth.
    Recording(Arc<RecordingStatus>),
    /// A venue's part of a portfolio that has ended, while the process goes on for the others.
    Ended(Arc<Ended>),
}

/// What a part showed last, and the status of its end.
pub struct Ended {
    last: Shown,
    end: Value,
}

impl Ended {
    /// How it ended, in a sentence.
    fn text(&self) -> &str {
        self.end["end"]["text"].as_str().unwrap_or_default()
    }

    /// What was known last, as that of a part that has ended.
    fn status(&self) -> Value {
        let mut page = self.last.status();
        for key in ["state", "end"] {
            page[key] = self.end[key].clone();
        }
        page["line"] = self.text().into();
        for key in ["alive", "ready"] {
            page[key] = false.into();
        }
        // Nothing is asked or waited for any more.
        for key in ["drain", "outage"] {
            page[key] = Value::Null;
        }
        page
    }
}

impl Shown {
    fn metrics(&self) -> Result<String, TelemetryError> {
        match self {
            Self::Starting(starting) => starting.telemetry.render(),
            Self::Running(telemetry) => telemetry.render(),
            Self::Recording(recording) => recording.render(),
            Self::Ended(ended) => ended.last.metrics(),
        }
    }

    /// Whether decisions go on, and why not.
    fn health(&self) -> (bool, String) {
        let alive = match self {
            Self::Starting(starting) => starting.telemetry.health().alive,
            Self::Running(telemetry) => telemetry.health().alive,
            // An error of one market ends the process.
            Self::Recording(_) => true,
            Self::Ended(ended) => return (false, format!("{}\n", ended.text())),
        };
        let text = if alive {
            "alive\n"
        } else {
            "the event loop does not respond\n"
        };
        (alive, text.to_owned())
    }

    fn begin_timeline(&self) {
        if let Self::Running(telemetry) = self {
            telemetry.begin_timeline();
        }
    }

    fn readiness(&self) -> (bool, String) {
        match self {
            Self::Starting(starting) => (false, starting.line() + "\n"),
            Self::Running(telemetry) => telemetry.readiness(),
            Self::Recording(recording) => recording.readiness(),
            Self::Ended(ended) => {
                let exit = &ended.end["end"]["exit"];
                let text = format!("not ready: {} (exit code {exit})\n", ended.text());
                (false, text)
            }
        }
    }

    /// The data of the page.
    pub(super) fn page(&self) -> Value {
        match self {
            Self::Starting(starting) => {
                json!({"status": starting.status(), "markets": []})
            }
            Self::Running(telemetry) => telemetry.page(),
            Self::Recording(recording) => {
                json!({"status": recording.status(), "markets": []})
            }
            // Books and orders of before its end are no state of now.
            Self::Ended(ended) => json!({"status": ended.status(), "markets": []}),
        }
    }

    /// The marks of the timeline from a number on.
    pub(super) fn timeline(&self, from: u64) -> Value {
        match self {
            Self::Starting(_) | Self::Recording(_) => json!({"next": 0, "marks": []}),
            Self::Running(telemetry) => telemetry.timeline(from),
            Self::Ended(ended) => ended.last.timeline(from),
        }
    }

    /// Why an entry of the timeline happened, if it is kept.
    pub(super) fn timeline_why(&self, number: u64) -> Option<Value> {
        match self {
            Self::Starting(_) | Self::Recording(_) => None,
            Self::Running(telemetry) => telemetry.timeline_why(number),
            Self::Ended(ended) => ended.last.timeline_why(number),
        }
    }

    /// Everything known, as JSON.
    pub(crate) fn status(&self) -> Value {
        match self {
            Self::Starting(starting) => starting.status(),
            Self::Running(telemetry) => telemetry.status(),
            Self::Recording(recording) => recording.status(),
            Self::Ended(ended) => ended.status(),
        }
    }
}

/// What is served now. Clones share it.
#[derive(Clone)]
pub struct Pages(Arc<Mutex<Shown>>);

impl Pages {
    /// Pages of this process.
    pub fn new(shown: Shown) -> Self {
        shown.begin_timeline();
        Self(Arc::new(Mutex::new(shown)))
    }

    /// Replaces what is served.
    pub fn show(&self, shown: Shown) {
        shown.begin_timeline();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = shown;
    }

    /// What is served is that of a part that has ended from now on. `end` is the status of its end.
    pub fn end(&self, end: Value) {
        let last = self.now();
        self.show(Shown::Ended(Arc::new(Ended { last, end })));
    }

    pub(super) fn now(&self) -> Shown {
        let shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown.clone()
    }
}

/// A bound address, not served yet.
#[derive(Debug)]
pub struct Listener(cambist_listener::Listener);

impl Listener {
    /// Binds the address early, so that an address in use is reported before anything else starts. `reserve`
    /// descriptors are left for the rest of the process.
    pub fn bind(listen: SocketAddr, reserve: u64) -> Result<Self, TelemetryError> {
        let fitting = cambist_listener::descriptors::connections_fitting;
        let limits = Limits {
            connections_max: fitting(LIMITS.connections_max, reserve),
            ..LIMITS
        };
        let bound = cambist_listener::Listener::bind(listen, limits);
        bound.map(Self).map_err(|error| match error {
            BindError::InUse { address } => TelemetryError::Busy { listen: address },
            BindError::Other { address, source } => TelemetryError::Listen {
                listen: address,
                source,
            },
        })
    }

    /// The bound address, with the port that the system chose for port 0.
    pub const fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Serves from a thread of its own until the program ends.
    pub fn spawn(self, pages: Pages) -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let span = tracing::Span::current();
        let serve = move || {
            let _of_venue = span.entered();
            let served = runtime.block_on(self.serve(pages, std::future::pending()));
            if let Err(error) = served {
                tracing::error!(%error, "the metrics listener failed; metrics are no longer served");
            }
        };
        let thread = std::thread::Builder::new().name("metrics".to_owned());
        thread.spawn(serve).map(drop)
    }

    /// Serves until `stop` completes.
    pub async fn serve(self, pages: Pages, stop: impl Future<Output = ()>) -> std::io::Result<()> {
        let local = self.address().ip().is_loopback();
        self.0.serve(routes(pages, local), stop).await
    }
}

/// The list of paths.
const INDEX: &str = "\
cambist
  /metrics  everything, for Prometheus
  /status   everything that is known now, as JSON
  /page     the same as a web page, live; also here, for browsers
  /healthz  200 while decisions go on, 503 otherwise
  /readyz   200 while every market is quoted from fresh data, 503 otherwise, and why
";

fn routes(pages: Pages, local: bool) -> Router {
    let routes = Router::new()
        .route("/", get(index))
        .merge(page::routes())
        .route("/metrics", get(metrics))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/status", get(status))
        .with_state(pages);
    guarded(routes, local)
}

/// Refuses requests of other web pages, and on an address of this machine also those under another host name.
pub fn guarded(routes: Router, local: bool) -> Router {
    let routes = routes.layer(middleware::from_fn(no_other_origins));
    if local {
        routes.layer(middleware::from_fn(only_local_names))
    } else {
        routes
    }
}

/// The page for browsers, the list for other clients.
async fn index(headers: HeaderMap) -> Response {
    let accepts = headers
        .get(header::ACCEPT)
        .and_then(|accepts| accepts.to_str().ok());
    if accepts.is_some_and(|accepts| accepts.contains("text/html")) {
        page::html().await
    } else {
        INDEX.into_response()
    }
}

/// Other web pages may link here, but their requests are refused.
async fn no_other_origins(request: Request, next: Next) -> Response {
    if is_for_another_page(request.headers()) {
        return (
            StatusCode::FORBIDDEN,
            "refused: requests from other web pages are not allowed\n",
        )
            .into_response();
    }
    next.run(request).await
}

fn is_for_another_page(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_foreign =
        text("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none"));
    let is_link =
        text("sec-fetch-mode") == Some("navigate") && text("sec-fetch-dest") == Some("document");
    is_foreign && !is_link
}

/// A web page whose host name was pointed at this machine is not local.
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
        Some(_) | None => (
            StatusCode::FORBIDDEN,
            "refused: the header Host is not a local name\n",
        )
            .into_response(),
    }
}

async fn metrics(State(pages): State<Pages>) -> Response {
    match pages.now().metrics() {
        Ok(text) => {
            let kind = [(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)];
            (kind, text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn healthz(State(pages): State<Pages>) -> Response {
    health_response(pages.now().health())
}

async fn readyz(State(pages): State<Pages>) -> Response {
    health_response(pages.now().readiness())
}

async fn status(State(pages): State<Pages>) -> Response {
    axum::Json(pages.now().status()).into_response()
}

fn health_response((good, text): (bool, String)) -> Response {
    if good {
        text.into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
    }
}
