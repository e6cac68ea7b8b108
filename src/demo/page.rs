//! The demo's page: the daemon's, with buttons for faults. It is served by the demo, so that it stays while the daemon's
//! process ends and another begins; a daemon has neither the buttons nor their requests.
//!
//! A press needs the token that is in the page, which no page of another origin can read.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use cambist_daemon::telemetry::http::guarded;
use cambist_daemon::telemetry::page::{self, HTML, STYLE, file};
use cambist_listener::{Limits, Listener};
use cambist_page::{HTML_TYPE, SCRIPT_TYPE, STYLE_TYPE};
use http_body::Frame;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::demo::faults::{Fault, Faults};
use crate::local_page;

/// The buttons, and what fills them.
const SECTION: &str = include_str!("page/faults.html");
const FAULTS_STYLE: &str = include_str!("page/faults.css");
const FAULTS_SCRIPT: &str = include_str!("page/faults.js");

/// Header with the token of a press.
const TOKEN: &str = "x-cambist-token";
/// Time between two events.
const EVENT_EVERY: Duration = Duration::from_millis(500);
/// Timeout of a request to the daemon.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout of a press.
const PRESS_TIMEOUT: Duration = Duration::from_secs(10);
/// Presses that wait.
const PRESSES_MAX: usize = 16;

const LIMITS: Limits = Limits {
    connections_max: 64,
    connections_per_address_max: 64,
    head_timeout_ms: 10_000,
    stall_timeout_ms: 10_000,
    head_bytes_max: 8_192,
    connection_age_max_ms: 600_000,
    shutdown_ms: 1_000,
};

/// A press of a button.
pub struct Press {
    /// Its fault, which begins or ends.
    pub fault: Fault,
    /// Why nothing happens, if so.
    pub answer: oneshot::Sender<Result<(), String>>,
}

/// What the page shows.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<Shown>>);

struct Shown {
    faults: Faults,
    /// The address of the daemon's listener; none while no daemon runs.
    daemon: Option<String>,
}

impl Shared {
    /// The state of a demo with a daemon at this address.
    pub fn new(faults: Faults, daemon: String) -> Self {
        Self(Arc::new(Mutex::new(Shown {
            faults,
            daemon: Some(daemon),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Shown> {
        // A panic ends the whole program.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads or changes the faults.
    pub fn faults<T>(&self, with: impl FnOnce(&mut Faults) -> T) -> T {
        with(&mut self.lock().faults)
    }

    /// The address of the daemon's listener from now on.
    pub fn set_daemon(&self, address: Option<String>) {
        self.lock().daemon = address;
    }

    fn daemon(&self) -> Option<String> {
        self.lock().daemon.clone()
    }

    /// The daemon's data with the buttons.
    async fn page(&self) -> Value {
        let page = match self.daemon() {
            Some(address) => local_page::fetch(&address, "/page.json", TIMEOUT)
                .await
                .ok(),
            None => None,
        };
        let away = || {
            let line = "The daemon's process has ended; the demo starts it again.";
            json!({"status": {"state": "down", "ready": false, "line": line}, "markets": []})
        };
        let mut page = page.unwrap_or_else(away);
        page["faults"] = self.faults(|faults| faults.page(Instant::now()));
        page
    }
}

/// The page's server; it ends on drop.
pub struct Page {
    address: SocketAddr,
    /// The presses.
    pub presses: mpsc::Receiver<Press>,
    task: tokio::task::JoinHandle<()>,
}

impl Page {
    /// Serves the page on a free port of this machine.
    pub fn serve(shared: Shared) -> anyhow::Result<Self> {
        let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0)), LIMITS)
            .context("the address of the demo's page")?;
        let address = listener.address();
        let token = [(); 4]
            .iter()
            .map(|()| Ok(format!("{:016x}", getrandom::u64()?)))
            .collect::<Result<String, getrandom::Error>>()
            .context("random number of the system")?;
        let (sender, presses) = mpsc::channel(PRESSES_MAX);
        let site = Site {
            shared,
            presses: sender,
            token: token.into(),
        };
        let serve = listener.serve(routes(site), std::future::pending());
        let task = tokio::spawn(async move {
            // The demo goes on without its page.
            let _ = serve.await;
        });
        Ok(Self {
            address,
            presses,
            task,
        })
    }

    /// Where the page is.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Clone)]
struct Site {
    shared: Shared,
    presses: mpsc::Sender<Press>,
    token: Arc<str>,
}

fn routes(site: Site) -> Router {
    let style = format!("{STYLE}{FAULTS_STYLE}");
    let routes = page::files()
        .route("/", get(html))
        .route("/page", get(html))
        .route(
            "/page.css",
            get(async move || file(STYLE_TYPE, style.clone())),
        )
        .route("/faults.js", get(async || file(SCRIPT_TYPE, FAULTS_SCRIPT)))
        .route("/page.json", get(page_json))
        .route("/events", get(events))
        .route("/faults", get(buttons))
        .route("/faults/{name}", post(press))
        .fallback(get(relay))
        .with_state(site);
    guarded(routes, true)
}

/// The daemon's page with the buttons and the token.
fn with_buttons(token: &str) -> String {
    let section = SECTION.replace("{token}", token);
    let script = "<script src=\"faults.js\"></script>\n</body>";
    HTML.replacen("<main", &format!("{section}<main"), 1)
        .replacen("<footer>Read only. ", "<footer>", 1)
        .replacen("</body>", script, 1)
}

async fn html(State(site): State<Site>) -> Response {
    file(HTML_TYPE, with_buttons(&site.token))
}

async fn page_json(State(site): State<Site>) -> Response {
    fresh(&site.shared.page().await)
}

async fn buttons(State(site): State<Site>) -> Response {
    fresh(&site.shared.faults(|faults| faults.page(Instant::now())))
}

fn fresh(value: &Value) -> Response {
    let headers = [(header::CACHE_CONTROL, "no-store")];
    (headers, axum::Json(value)).into_response()
}

/// Begins a fault, or ends one that is in effect.
async fn press(State(site): State<Site>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    if let Err(why) = admit(&headers, &site.token) {
        return (StatusCode::FORBIDDEN, format!("refused: {why}\n")).into_response();
    }
    let Some(fault) = site.shared.faults(|faults| faults.named(&name)) else {
        let what = "there is no such fault; GET /faults lists them\n";
        return (StatusCode::NOT_FOUND, what).into_response();
    };
    match pressed(&site, fault).await {
        Ok(()) => fresh(&site.shared.faults(|faults| faults.page(Instant::now()))),
        Err(why) => (StatusCode::CONFLICT, format!("{why}\n")).into_response(),
    }
}

async fn pressed(site: &Site, fault: Fault) -> Result<(), String> {
    if let Some(busy) = site.shared.faults(|faults| faults.busy) {
        return Err(busy.to_owned());
    }
    let (answer, answered) = oneshot::channel();
    let press = Press { fault, answer };
    let ended = || "the demo is ending".to_owned();
    site.presses.try_send(press).map_err(|_| ended())?;
    match tokio::time::timeout(PRESS_TIMEOUT, answered).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(ended()),
        Err(_) => Err("the demo did not answer in time".to_owned()),
    }
}

/// Only the page itself presses its buttons.
fn admit(headers: &HeaderMap, token: &str) -> Result<(), &'static str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = text("host").map(|host| format!("http://{host}"));
    if text("origin").is_some_and(|given| Some(given) != origin.as_deref()) {
        return Err("requests from other web pages are not allowed");
    }
    if text(TOKEN) != Some(token) {
        return Err("the header X-Cambist-Token does not have the token of the page");
    }
    Ok(())
}

/// What the daemon serves beside its page.
async fn relay(State(site): State<Site>, uri: Uri) -> Response {
    let path = uri.path();
    let known = ["/metrics", "/status", "/healthz", "/readyz"];
    let known = known.contains(&path) || path.starts_with("/timeline/");
    let Some(address) = site.shared.daemon().filter(|_| known) else {
        let (status, what) = if known {
            (StatusCode::SERVICE_UNAVAILABLE, "no daemon runs now\n")
        } else {
            (StatusCode::NOT_FOUND, "no such path\n")
        };
        return (status, what).into_response();
    };
    match local_page::answer(&address, path, TIMEOUT).await {
        Ok(answer) => answer.map(Body::from),
        Err(error) => (StatusCode::BAD_GATEWAY, format!("{error:#}\n")).into_response(),
    }
}

async fn events(State(site): State<Site>) -> Response {
    let (sender, receiver) = mpsc::channel(1);
    // Ends with the connection: its receiver is dropped.
    tokio::spawn(async move {
        loop {
            let text = format!("retry: 1000\ndata: {}\n\n", site.shared.page().await);
            if sender.send(Bytes::from(text)).await.is_err() {
                return;
            }
            tokio::time::sleep(EVENT_EVERY).await;
        }
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, Body::new(Events(receiver))).into_response()
}

/// Events of one connection.
struct Events(mpsc::Receiver<Bytes>);

impl HttpBody for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let polled = self.0.poll_recv(context);
        polled.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn the_page_has_the_buttons_once_and_is_small() {
        let page = with_buttons("secret");
        assert_eq!(page.matches("secret").count(), 1);
        assert_eq!(page.matches("id=\"faults\"").count(), 1);
        assert_eq!(page.matches("<script").count(), 4);
        assert!(HTML.contains("Read only") && !page.contains("Read only"));
        for text in [&page, FAULTS_STYLE, FAULTS_SCRIPT] {
            assert_eq!(cambist_page::forbidden(text), [""; 0]);
        }
        assert!(!HTML.contains("faults"), "the daemon's page has none");
    }

    #[test]
    fn only_the_page_itself_with_its_token_presses() {
        let admitted = |pairs: &[(&'static str, &'static str)]| {
            let headers = pairs.iter().map(|(name, value)| {
                let name = axum::http::HeaderName::from_static(name);
                (name, axum::http::HeaderValue::from_static(value))
            });
            admit(&headers.collect(), "secret").is_ok()
        };
        let host = ("host", "127.0.0.1:4000");
        let token = (TOKEN, "secret");
        assert!(admitted(&[host, token]));
        assert!(admitted(&[
            host,
            token,
            ("origin", "http://127.0.0.1:4000")
        ]));
        assert!(!admitted(&[
            host,
            token,
            ("origin", "http://127.0.0.1:4001")
        ]));
        assert!(!admitted(&[host, token, ("origin", "null")]));
        assert!(!admitted(&[token, ("origin", "http://127.0.0.1:4000")]));
        assert!(!admitted(&[host]) && !admitted(&[host, (TOKEN, "secre")]));
    }
}
