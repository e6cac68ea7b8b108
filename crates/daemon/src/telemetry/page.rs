//! The status page: embedded, read only, updated by server-sent events. It shows observed data; the event loop is never
//! queried, and supplies its orders and books only while the page is open.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use cambist_core::Time;
use cambist_core::inspection::{Inspection, MarketInspection, OrderInspection};
use cambist_core::notification::Control;
use cambist_core::strategy::BookLevel;
use cambist_page::{HTML_TYPE, SCRIPT_TYPE, STYLE_TYPE};
use http_body::Frame;
use serde_json::{Map, Value, json};
use tokio::time::{Interval, MissedTickBehavior};

use super::http::Pages;
use super::{About, Telemetry};
use cambist_config::money::{price, quantity};

/// The page.
pub const HTML: &str = include_str!("page/page.html");
/// Its style.
pub const STYLE: &str = include_str!("page/page.css");
/// Its script.
const SCRIPT: &str = include_str!("page/page.js");
/// The script of its timeline.
const TIMELINE: &str = include_str!("page/timeline.js");

/// How long the loop supplies books and orders after the last request.
const WATCHED_MS: u64 = 10_000;
/// Time between two events.
const EVENT_EVERY: Duration = Duration::from_secs(1);
/// Most points of equity; their distance doubles whenever there are more.
const POINTS_MAX: usize = 720;

/// Routes of the page.
pub(super) fn routes() -> Router<Pages> {
    files()
        .route("/page", get(html))
        .route("/page.css", get(async || file(STYLE_TYPE, STYLE)))
        .route("/timeline/{from}", get(timeline))
        .route("/timeline/why/{number}", get(timeline_why))
        .route("/page.json", get(page_json))
        .route("/events", get(events))
}

/// Routes of the files that the demo's page has too.
pub fn files<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let files = [
        ("/shared.css", STYLE_TYPE, cambist_page::STYLE),
        ("/shared.js", SCRIPT_TYPE, cambist_page::SCRIPT),
        ("/page.js", SCRIPT_TYPE, SCRIPT),
        ("/timeline.js", SCRIPT_TYPE, TIMELINE),
    ];
    files
        .into_iter()
        .fold(Router::new(), |router, (path, kind, text)| {
            router.route(path, get(async move || file(kind, text)))
        })
}

/// The HTML of the page.
pub(super) async fn html() -> Response {
    file(HTML_TYPE, HTML)
}

/// A file of a page, with the headers that every file of a page has.
pub fn file(kind: &'static str, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    let headers = response.headers_mut();
    let kind = [(header::CONTENT_TYPE.as_str(), kind)];
    for (name, value) in kind.into_iter().chain(cambist_page::HEADERS) {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn page_json(State(pages): State<Pages>) -> Response {
    fresh(&pages.now().page())
}

async fn timeline(State(pages): State<Pages>, Path(from): Path<u64>) -> Response {
    fresh(&pages.now().timeline(from))
}

async fn timeline_why(State(pages): State<Pages>, Path(number): Path<u64>) -> Response {
    match pages.now().timeline_why(number) {
        Some(why) => fresh(&why),
        None => (StatusCode::NOT_FOUND, "no longer kept\n").into_response(),
    }
}

fn fresh(value: &Value) -> Response {
    let headers = [(header::CACHE_CONTROL, "no-store")];
    (headers, axum::Json(value)).into_response()
}

async fn events(State(pages): State<Pages>) -> Response {
    let mut tick = tokio::time::interval(EVENT_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, Body::new(Events { pages, tick })).into_response()
}

/// Sends the page's data once a second, until the connection ends.
struct Events {
    pages: Pages,
    tick: Interval,
}

impl HttpBody for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.tick.poll_tick(context).map(|_| {
            let text = format!("data: {}\n\n", self.pages.now().page());
            Some(Ok(Frame::data(Bytes::from(text))))
        })
    }
}

/// Data that is kept only while the page is open.
#[derive(Debug, Default)]
pub(super) struct Watch(Mutex<Watched>);

#[derive(Debug, Default)]
struct Watched {
    /// Time of the last request.
    requested_at: Option<Time>,
    inspection: Option<Arc<Inspection>>,
}

impl Watch {
    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Equity over time in a bounded number of points.
#[derive(Debug, Default)]
pub(super) struct EquityHistory {
    /// Seconds since the Unix epoch, and the value.
    points: VecDeque<(f64, f64)>,
    spacing_s: f64,
}

impl EquityHistory {
    pub(super) fn push(&mut self, unix_s: f64, equity: f64) {
        let last = self.points.back().map(|(at, _)| *at);
        if last.is_some_and(|at| unix_s < at + self.spacing_s) {
            return;
        }
        self.points.push_back((unix_s, equity));
        if self.points.len() > POINTS_MAX {
            let kept = std::mem::take(&mut self.points).into_iter().step_by(2);
            self.points = kept.collect();
            self.spacing_s = (self.spacing_s * 2.0).max(2.0);
        }
    }
}

impl Telemetry {
    /// Whether the page is open.
    pub fn is_watched(&self) -> bool {
        let requested_at = self.watch.lock().requested_at;
        requested_at
            .is_some_and(|requested_at| self.clock.now().ms_since(requested_at) <= WATCHED_MS)
    }

    /// Takes in books and orders for the page.
    pub fn watched(&self, inspection: Inspection) {
        self.watch.lock().inspection = Some(Arc::new(inspection));
    }

    /// The page's data as JSON.
    pub fn page(&self) -> Value {
        let inspection = {
            let mut watch = self.watch.lock();
            let was_watched = watch
                .requested_at
                .is_some_and(|requested_at| self.clock.now().ms_since(requested_at) <= WATCHED_MS);
            watch.requested_at = Some(self.clock.now());
            // Data from before the page was opened is old.
            watch.inspection.clone().filter(|_| was_watched)
        };
        let mut status = self.status();
        let markets = status.get_mut("markets").map(Value::take);
        let markets = markets.unwrap_or_else(|| json!([]));
        let mut page = json!({"status": status, "markets": markets, "equity": [], "budget": {}});
        let last = self.last();
        page["equity"] = last
            .equity
            .points
            .iter()
            .map(|(at, value)| json!([at, value]))
            .collect();
        page["equity_symbol"] = json!(
            self.about
                .markets
                .first()
                .map(|market| &market.quote.symbol)
        );
        if let Some((_, status)) = &last.status {
            let [common, each] = self.about.bursts;
            let mut budget = Map::new();
            let [left, most] =
                [status.tokens.0, common].map(|part| self.about.requests(part.into()));
            budget.insert("all".to_owned(), json!([left, most]));
            for (endpoint, left) in &status.tokens.1 {
                budget.insert(endpoint.name().to_owned(), json!([left, each]));
            }
            page["budget"] = budget.into();
            page["limits_used_bps"] = used(&status.used);
            for (at, market) in status.markets.iter().enumerate() {
                if let Some(fields) = market_fields(&mut page, at) {
                    fields["limits_used_bps"] = used(&market.used);
                }
            }
        }
        drop(last);
        for at in 0..self.about.markets.len() {
            let market = inspection
                .as_ref()
                .and_then(|inspection| inspection.markets.get(at));
            if let Some(fields) = market_fields(&mut page, at) {
                add_market(&self.about, fields, inspection.as_deref(), market);
            }
        }
        page["venue_ms"] = json!(inspection.map(|inspection| inspection.venue_time.0));
        page
    }
}

/// The fields of a market; none before the first status, when the list is empty.
fn market_fields(page: &mut Value, at: usize) -> Option<&mut Value> {
    let fields = page.get_mut("markets")?.get_mut(at)?;
    fields.is_object().then_some(fields)
}

fn used(limits: &[(Control, u64)]) -> Value {
    let each = limits.iter();
    let each = each.map(|(control, bps)| (control.name().to_owned(), json!(bps)));
    Value::Object(each.collect())
}

/// Adds the book and the own orders.
fn add_market(
    about: &About,
    fields: &mut Value,
    inspection: Option<&Inspection>,
    market: Option<&MarketInspection>,
) {
    let levels = |levels: &[BookLevel], market: &MarketInspection| -> Value {
        let spec = &market.market;
        levels
            .iter()
            .map(|level| json!({"price": price(spec, level.price), "quantity": quantity(spec, level.qty)}))
            .collect()
    };
    let (Some(inspection), Some(market)) = (inspection, market) else {
        for list in ["bids", "asks", "orders"] {
            fields[list] = json!([]);
        }
        return;
    };
    fields["bids"] = levels(&market.bids, market);
    fields["asks"] = levels(&market.asks, market);
    let order = |order: &OrderInspection| {
        let left_ms = order.valid_until.0.saturating_sub(inspection.venue_time.0);
        json!({
            "id": order.id.to_string(),
            "side": order.side.name(),
            "price": price(&market.market, order.price),
            "remaining": quantity(&market.market, order.remaining),
            "state": order.state.name(),
            "cancelling": order.cancelling,
            "decision": order.decision.map(|decision| decision.name()),
            "cause": order.decision.and_then(|decision| decision.cause()).map(|cause| cause.name()),
            "valid_until_ms": order.valid_until.0,
            "age_ms": about.ttl_ms.saturating_sub(left_ms),
        })
    };
    fields["orders"] = market.orders.iter().map(order).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small_and_loads_nothing_from_elsewhere() {
        let shared = [cambist_page::STYLE, cambist_page::SCRIPT];
        let files = [HTML, STYLE, SCRIPT, TIMELINE];
        let bytes: usize = files.iter().chain(&shared).map(|text| text.len()).sum();
        assert!(bytes <= 150_000, "{bytes}");
        for text in files {
            assert_eq!(cambist_page::forbidden(text), [""; 0]);
        }
    }

    #[test]
    fn equity_keeps_its_span_in_bounded_points() {
        let mut history = EquityHistory::default();
        for second in 0..100_000_u32 {
            history.push(second.into(), f64::from(second));
            assert!(history.points.len() <= POINTS_MAX);
        }
        assert_eq!(history.points.front().map(|(at, _)| *at < 1.0), Some(true));
        assert!(history.points.back().is_some_and(|(at, _)| *at > 99_000.0));
        assert!(history.points.len() > POINTS_MAX / 3);
    }
}
