//! HTTP routing: routes from the endpoint table, bodies with a size limit and a deadline, response headers.

use std::future::ready;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Request, Response, StatusCode};
use axum::routing::{MethodFilter, MethodRouter, on};
use cambist_core::VenueTime;
use cambist_listener::Peer;
use cambist_protocol::endpoint::{Row, TABLE};
use cambist_protocol::{Endpoint, Method, openapi};
use http_body_util::BodyExt;

use crate::browsers::Browsers;
use crate::clock_watch::AHEAD_MS;
use crate::config::ConnectionLimits;
use crate::dispatch::{Call, Dispatch};
use crate::error_response::ErrorResponse;
use crate::kraken::{Kraken, add_routes};
use crate::limits::Use;
use crate::market_data::{self, STREAM_PATH};
use crate::page;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const SIGNATURE: HeaderName = HeaderName::from_static("x-api-sig");

/// Most bytes of a host name.
const HOST_MAX: usize = 255;

/// Shared state of the handlers.
#[derive(Clone)]
struct Context {
    shell: Arc<Dispatch>,
    limits: ConnectionLimits,
    browsers: Browsers,
}

/// The routes of the endpoint table.
pub(crate) fn router(
    shell: Arc<Dispatch>,
    limits: ConnectionLimits,
    browsers: Browsers,
    kraken: Option<Kraken>,
) -> Router {
    let context = Context {
        shell,
        limits,
        browsers,
    };
    let mut router = Router::new();
    for row in &TABLE {
        router = router.route(row.path, route(row, &context));
    }
    let has_market_data = context.shell.machine.market_data.is_some();
    if has_market_data {
        router = with_page(with_market_data(router, &context), &context);
    }
    if let Some(kraken) = kraken {
        let of = context.clone();
        let respond = move |answer: Result<Vec<u8>, (u16, Vec<u8>)>| {
            let (status, body) = answer.map_or_else(|refused| refused, |body| (200, body));
            let mut response = respond(&of, Ok(body));
            *response.status_mut() =
                StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            response
        };
        router = add_routes(router, &context.shell, kraken, limits, respond);
    }
    let (unknown, wrong_method, health) = (context.clone(), context.clone(), context.clone());
    let text = Bytes::from(openapi::bytes(
        context.shell.public_url.as_deref(),
        has_market_data,
    ));
    router
        .route(
            "/openapi.json",
            on(MethodFilter::GET, move |request: Request<Body>| {
                ready(described(&context, &request, &text))
            }),
        )
        .route(
            "/health",
            on(MethodFilter::GET, move |request: Request<Body>| {
                ready(alive(&health, &request))
            }),
        )
        .method_not_allowed_fallback(move |request: Request<Body>| {
            if request.method() == axum::http::Method::OPTIONS && wrong_method.browsers.any() {
                return ready(preflight(&wrong_method, &request));
            }
            let error =
                ErrorResponse::transport(405, format!("{} is not served here", request.method()));
            ready(refused(&wrong_method, &request, error))
        })
        .fallback(move |request: Request<Body>| {
            let error = ErrorResponse::transport(404, "no such path");
            ready(refused(&unknown, &request, error))
        })
}

/// The routes of the market data beside the interface.
fn with_market_data(mut router: Router, context: &Context) -> Router {
    for kind in market_data::Kind::ALL {
        let context = context.clone();
        let answer = move |request: Request<Body>| {
            let context = context.clone();
            let admitted = admit_to_market_data(&context, &request);
            let query = request.uri().query().unwrap_or_default().to_owned();
            async move {
                let result = match admitted {
                    Ok(_) => market_data(&context, kind, &query).await,
                    Err(error) => Err(error),
                };
                respond(&context, result)
            }
        };
        router = router.route(kind.path(), on(MethodFilter::GET, answer));
    }
    let context = context.clone();
    let answer = move |request: Request<Body>| ready(stream(&context, &request));
    router.route(STREAM_PATH, on(MethodFilter::GET, answer))
}

/// The routes of the page, which shows that data.
fn with_page(mut router: Router, context: &Context) -> Router {
    for file in page::FILES {
        let context = context.clone();
        let answer = move |request: Request<Body>| {
            let text = || Ok(file.text.as_bytes().to_vec());
            let mut response = public_answer(&context, &request, text);
            if response.status() == StatusCode::OK {
                file.mark(&mut response);
            }
            ready(response)
        };
        router = router.route(file.path, on(MethodFilter::GET, answer));
    }
    router
}

async fn market_data(
    context: &Context,
    kind: market_data::Kind,
    query: &str,
) -> Result<Vec<u8>, ErrorResponse> {
    let machine = &context.shell.machine;
    let Some(data) = &machine.market_data else {
        return Err(ErrorResponse::internal());
    };
    let result = data.answer(machine, kind, query);
    // What is shown may not be durable yet.
    machine.settled().await?;
    result
}

/// Checks the rates of an address, and returns it.
fn admit_to_market_data(
    context: &Context,
    request: &Request<Body>,
) -> Result<IpAddr, ErrorResponse> {
    let peer = request.extensions().get::<Peer>();
    let address = peer.ok_or_else(ErrorResponse::internal)?.address();
    let shell = &context.shell;
    shell.check_address_rate(address)?;
    let now_ms = shell.clock.monotonic_ms();
    shell
        .limiter
        .take(Use::MarketData(address.into()), now_ms)?;
    Ok(address)
}

/// GET stream: an answer that goes on.
fn stream(context: &Context, request: &Request<Body>) -> Response<Body> {
    let opened = admit_to_market_data(context, request).and_then(|address| {
        let query = request.uri().query().unwrap_or_default();
        let last = text(request.headers(), &LAST_EVENT_ID);
        market_data::open_stream(&context.shell, address, query, last.as_deref())
    });
    match opened {
        Ok(body) => {
            let mut response = respond(context, Ok(Vec::new()));
            let kind = HeaderValue::from_static("text/event-stream");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            *response.body_mut() = body;
            response
        }
        Err(error) => respond(context, Err(error)),
    }
}

/// The OpenAPI document, which is the same for all clients.
fn described(context: &Context, request: &Request<Body>, text: &Bytes) -> Response<Body> {
    public_answer(context, request, || Ok(text.to_vec()))
}

/// GET /health: whether the exchange works, and its time's lead over the system clock.
fn alive(context: &Context, request: &Request<Body>) -> Response<Body> {
    public_answer(context, request, || {
        if context.shell.machine.is_broken() {
            return Err(ErrorResponse::internal());
        }
        let reading = context.shell.clock.reading();
        let status = if reading.ahead_ms < AHEAD_MS {
            "ok"
        } else {
            "clock_ahead"
        };
        let (time, ahead_ms) = (reading.now.0, reading.ahead_ms);
        let text = format!(r#"{{"status":"{status}","time":{time},"clockAheadMs":{ahead_ms}}}"#);
        Ok(text.into_bytes())
    })
}

/// A browser's preflight request.
fn preflight(context: &Context, request: &Request<Body>) -> Response<Body> {
    let mut response = public_answer(context, request, || Ok(Vec::new()));
    if response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::NO_CONTENT;
        Browsers::allow(&mut response);
    }
    response
}

fn public_answer(
    context: &Context,
    request: &Request<Body>,
    answer: impl FnOnce() -> Result<Vec<u8>, ErrorResponse>,
) -> Response<Body> {
    let peer = request.extensions().get::<Peer>();
    let result = peer
        .map_or(Ok(()), |peer| {
            context.shell.check_address_rate(peer.address())
        })
        .and_then(|()| answer());
    respond(context, result)
}

fn route(row: &Row, context: &Context) -> MethodRouter {
    let filter = match row.method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Delete => MethodFilter::DELETE,
    };
    let (endpoint, context) = (row.endpoint, context.clone());
    on(filter, move |request: Request<Body>| {
        serve(context.clone(), endpoint, request)
    })
}

async fn serve(context: Context, endpoint: Endpoint, request: Request<Body>) -> Response<Body> {
    let peer = request.extensions().get::<Peer>().cloned();
    let address = peer.as_ref().map(Peer::address);
    let result = answer(&context, endpoint, peer, request).await;
    let result = if context.shell.strict {
        result.map_err(|error| error.listed(endpoint.row()))
    } else {
        result
    };
    if let Err(error) = &result {
        tracing::debug!(
            method = endpoint.method().name(),
            path = endpoint.path(),
            peer = address.map(tracing::field::display),
            code = cambist_protocol::code::number(error.reason),
            status = error.status,
            detail = %error.detail,
            "refused"
        );
    }
    respond(&context, result)
}

async fn answer(
    context: &Context,
    endpoint: Endpoint,
    peer: Option<Peer>,
    request: Request<Body>,
) -> Result<Vec<u8>, ErrorResponse> {
    let Some(peer) = peer else {
        tracing::error!("internal error: a request has no peer address");
        return Err(ErrorResponse::internal());
    };
    context.shell.check_address_rate(peer.address())?;
    let (head, body) = request.into_parts();
    let body = match endpoint.method() {
        Method::Post => read_body(body, &context.limits).await?,
        // Public clients send a body with GET; it is ignored.
        Method::Get | Method::Delete => Vec::new(),
    };
    let call = Call {
        endpoint,
        peer,
        api_key: text(&head.headers, &API_KEY),
        signature: text(&head.headers, &SIGNATURE),
        host: text(&head.headers, &header::HOST).filter(|host| host.len() <= HOST_MAX),
        query: head.uri.query().unwrap_or_default().to_owned(),
        body,
    };
    let result =
        catch_unwind(AssertUnwindSafe(|| context.shell.answer(&call))).unwrap_or_else(|_| {
            let (method, path) = (endpoint.method().name(), endpoint.path());
            tracing::error!(method, path, "a request panicked");
            context.shell.machine.report_if_broken();
            Err(ErrorResponse::internal())
        });
    // Refusals depend on the state too.
    context.shell.machine.settled().await?;
    result
}

fn refused(context: &Context, request: &Request<Body>, error: ErrorResponse) -> Response<Body> {
    public_answer(context, request, || Err(error))
}

/// A header as text. An empty header counts as absent; one that is not text, or that occurs twice with different
/// values, becomes a value that is never a valid key or signature.
fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    let same = values.all(|other| other == value);
    let text = value.to_str().ok().filter(|_| same);
    let text = text.unwrap_or("\u{fffd}").trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Reads a body within its limits.
pub(crate) async fn read_body(
    mut body: Body,
    limits: &ConnectionLimits,
) -> Result<Vec<u8>, ErrorResponse> {
    let most = limits.body_bytes_max;
    let oversized = |found: String| {
        let problem = format!("{found}; the exchange reads at most {most} bytes");
        ErrorResponse::transport(413, problem).closing()
    };
    // An announced length is refused before anything of the body is awaited: it may never come.
    let announced = body.size_hint().lower();
    if announced > most as u64 {
        return Err(oversized(format!("the body has {announced} bytes")));
    }
    let read = async {
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| {
                ErrorResponse::transport(400, "the body is shorter than announced").closing()
            })?;
            // Trailers are ignored.
            if let Ok(data) = frame.into_data() {
                if bytes.len() + data.len() > most {
                    return Err(oversized("the body is longer than allowed".to_owned()));
                }
                bytes.extend_from_slice(&data);
            }
        }
        Ok(bytes)
    };
    tokio::time::timeout(Duration::from_millis(limits.body_timeout_ms), read)
        .await
        .unwrap_or_else(|_| {
            let problem = format!("the body took more than {} ms", limits.body_timeout_ms);
            Err(ErrorResponse::transport(408, problem).closing())
        })
}

fn respond(context: &Context, result: Result<Vec<u8>, ErrorResponse>) -> Response<Body> {
    let (status, body, retry_after_s, close) = match result {
        Ok(body) => (200, body, None, false),
        Err(error) => (error.status, error.body(), error.retry_after_s, error.close),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    // Answers change and may contain secrets.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    context.browsers.mark(headers);
    if let Some(date) = date(context.shell.clock.now()) {
        headers.insert(header::DATE, date);
    }
    if let Some(after_s) = retry_after_s {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(after_s));
    }
    if close {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The venue's own time, so that the header is never ahead of the time by which orders expire.
fn date(now: VenueTime) -> Option<HeaderValue> {
    let date = UNIX_EPOCH.checked_add(Duration::from_secs(now.as_s()))?;
    // The format has four digits for the year.
    (now.as_s() < 253_402_300_800)
        .then(|| HeaderValue::from_str(&httpdate::fmt_http_date(date)).ok())?
}
