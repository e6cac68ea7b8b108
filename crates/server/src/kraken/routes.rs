//! Paths, bodies and answers.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, Request, Response};
use axum::routing::any;
use cambist_kraken::parameters::Parameters;
use cambist_listener::Peer;

use super::Kraken;
use super::fault::Fault;
use super::methods::{Private, Public};
use super::private::{self, Signed};
use super::public;
use super::shapes::Answer;
use crate::config::ConnectionLimits;
use crate::dispatch::Dispatch;
use crate::router::read_body;

const API_KEY: HeaderName = HeaderName::from_static("api-key");
const API_SIGN: HeaderName = HeaderName::from_static("api-sign");

/// Prefixes of the paths.
const PUBLIC: &str = "/0/public/";
const PRIVATE: &str = "/0/private/";

/// An answer of a request that was not refused.
#[derive(serde::Serialize)]
struct Success {
    error: [(); 0],
    result: Answer,
}

/// Adds the routes of this interface.
pub(crate) fn add_routes(
    router: Router,
    shell: &Arc<Dispatch>,
    kraken: Kraken,
    limits: ConnectionLimits,
    respond: impl Fn(Result<Vec<u8>, (u16, Vec<u8>)>) -> Response<Body> + Clone + Send + Sync + 'static,
) -> Router {
    let kraken = Arc::new(kraken);
    let answer = {
        let shell = Arc::clone(shell);
        move |request: Request<Body>| {
            let (shell, kraken, respond) =
                (Arc::clone(&shell), Arc::clone(&kraken), respond.clone());
            async move {
                let answer = serve(&shell, &kraken, limits, request).await;
                respond(match answer {
                    Ok(result) => serde_json::to_vec(&Success { error: [], result })
                        .map_err(|_| (500, Fault::internal().body())),
                    Err(fault) => Err((fault.status, fault.body())),
                })
            }
        }
    };
    // Longer paths too: methods that are not served have some, and their refusal is one of this interface.
    let paths = [
        "/0/public/",
        "/0/public/{*method}",
        "/0/private/",
        "/0/private/{*method}",
    ];
    let routes = paths.into_iter();
    routes.fold(router, |router, path| {
        router.route(path, any(answer.clone()))
    })
}

async fn serve(
    shell: &Dispatch,
    kraken: &Kraken,
    limits: ConnectionLimits,
    request: Request<Body>,
) -> Result<Answer, Fault> {
    let peer = request.extensions().get::<Peer>().cloned();
    let peer = peer.ok_or(Fault::internal())?;
    shell
        .limiter
        .take(
            crate::limits::Use::Address(peer.address().into()),
            shell.clock.monotonic_ms(),
        )
        .map_err(Fault::from)?;
    let (head, body) = request.into_parts();
    if !matches!(head.method, Method::GET | Method::POST) {
        return Err(Fault {
            status: 405,
            ..Fault::unknown_method()
        });
    }
    let body = read_body(body, &limits).await.map_err(|error| Fault {
        text: Cow::Borrowed("EGeneral:Invalid arguments"),
        status: error.status,
    })?;
    let path = head.uri.path();
    let answered = catch_unwind(AssertUnwindSafe(|| {
        if let Some(name) = path.strip_prefix(PUBLIC) {
            let method = Public::parse(name).ok_or(Fault::unknown_method())?;
            // Clients send parameters of public methods in the query or as a form.
            let query = head.uri.query().unwrap_or_default();
            let text = if query.is_empty() {
                &body
            } else {
                query.as_bytes()
            };
            public::answer(shell, method, &Parameters::form(text)?).map(Answer::Value)
        } else if let Some(name) = path
            .strip_prefix(PRIVATE)
            .filter(|_| head.method == Method::POST)
        {
            let signed = Signed {
                path,
                api_key: text(&head.headers, &API_KEY),
                signature: text(&head.headers, &API_SIGN),
                is_json: is_json(&head.headers),
                body: &body,
            };
            private::answer(shell, kraken, &peer, Private::parse(name), &signed)
        } else {
            Err(Fault::unknown_method())
        }
    }));
    let answered = answered.unwrap_or_else(|_| {
        tracing::error!(path, "a request panicked");
        shell.machine.report_if_broken();
        Err(Fault::internal())
    });
    // Refusals depend on the state too.
    shell.machine.settled().await?;
    if let Err(fault) = &answered {
        tracing::debug!(path, peer = %peer.address(), error = %fault.text, "refused");
    }
    answered
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let mut parts = kind.unwrap_or_default().split(|byte| *byte == b';');
    let essence = parts.next().unwrap_or_default().trim_ascii();
    essence.eq_ignore_ascii_case(b"application/json")
}

/// A header that occurs once, as text.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    values.next().is_none().then(|| value.to_str().ok())?
}
