//! Cross-origin headers for web pages (CORS), for one origin or for all, if configured. Authorisation is the same for
//! pages as for other clients.

use axum::body::Body;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Response};

/// The origin whose pages may send requests.
#[derive(Clone, Debug)]
pub(crate) struct Browsers {
    origin: Option<HeaderValue>,
}

const PREFLIGHT: [(HeaderName, &str); 3] = [
    (
        header::ACCESS_CONTROL_ALLOW_METHODS,
        "GET, HEAD, POST, DELETE",
    ),
    (
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        "content-type, x-api-key, x-api-sig",
    ),
    (header::ACCESS_CONTROL_MAX_AGE, "600"),
];

impl Browsers {
    /// `origin` as a browser writes it, or `*`; ignored if it is not a valid header value.
    pub fn new(origin: Option<&str>) -> Self {
        Self {
            origin: origin.and_then(|origin| HeaderValue::from_str(origin).ok()),
        }
    }

    /// Marks an answer as readable by pages.
    pub fn mark(&self, headers: &mut HeaderMap) {
        let Some(origin) = &self.origin else { return };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("date, retry-after"),
        );
    }

    /// Whether any origin is allowed.
    pub const fn any(&self) -> bool {
        self.origin.is_some()
    }

    /// Turns an empty answer into the answer of a preflight request.
    pub fn allow(response: &mut Response<Body>) {
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_TYPE);
        for (name, value) in PREFLIGHT {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}
