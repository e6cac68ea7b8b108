//! One HTTP request and its answer, with the library's automatic behaviour switched off.
//!
//! Handles bytes, statuses and headers; `classify` interprets them.

use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use cambist_core::VenueTime;
use cambist_core::request::UnknownCause;
use cambist_protocol::number::quoted;
use reqwest::header::{
    AGE, CONTENT_ENCODING, CONTENT_TYPE, DATE, HeaderMap, HeaderValue, RETRY_AFTER,
};
use reqwest::{Method, Response, Url};

use crate::base_url::BaseUrl;
use crate::config::ClientConfig;
use crate::error::SetupError;

/// Most characters of a detail for logs.
const DETAIL_MAX: usize = 240;

/// Longest `Retry-After` that is respected: one hour.
const RETRY_AFTER_MAX_MS: u64 = 3_600_000;

/// A complete answer. Has no `Debug`, because the body may hold a new API key.
pub(crate) struct Whole {
    pub status: u16,
    /// The venue's clock at the answer in whole seconds, rounded down: a lower bound.
    pub date: Option<VenueTime>,
    pub retry_after_ms: Option<u64>,
    /// Whether the content type, if there is one, is JSON, and no content coding is applied.
    pub is_json: bool,
    pub body: Vec<u8>,
}

/// Result of sending one request.
pub(crate) enum Exchange {
    Whole(Whole),
    /// The request was not sent: no byte left.
    NotSent(String),
    /// Bytes may have left, and no complete answer was received.
    Broken {
        cause: UnknownCause,
        status: Option<u16>,
        detail: String,
    },
}

/// Names of the headers with key and signature, and the type of bodies.
pub(crate) struct Headers {
    api_key: &'static str,
    signature: &'static str,
    content_type: &'static str,
}

impl Headers {
    /// Those of the exchange interface.
    pub const EXCHANGE: &'static Self = &Self {
        api_key: "X-API-KEY",
        signature: "X-API-SIG",
        content_type: "application/json",
    };
    /// Those of Kraken's interface.
    pub const KRAKEN: &'static Self = &Self {
        api_key: "API-Key",
        signature: "API-Sign",
        content_type: "application/x-www-form-urlencoded",
    };
}

/// One request to send.
pub(crate) struct Outgoing<'a> {
    pub method: Method,
    pub url: Url,
    pub headers: &'static Headers,
    pub api_key: Option<&'a HeaderValue>,
    pub signature: Option<HeaderValue>,
    pub body: Option<Vec<u8>>,
    pub body_max_bytes: usize,
}

/// The HTTP client, without redirects, retries, proxies and decompression.
#[derive(Clone)]
pub(crate) struct Transport {
    http: reqwest::Client,
    /// The address of the venue, for errors; empty where it may be a secret.
    address: String,
}

impl Transport {
    pub fn new(config: &ClientConfig, base: &BaseUrl) -> Result<Self, SetupError> {
        Ok(Self {
            address: format!("{}: ", base.origin()),
            ..Self::with_tls(config, base.is_https())?
        })
    }

    /// A transport to an address that errors do not state.
    pub fn with_tls(config: &ClientConfig, is_https: bool) -> Result<Self, SetupError> {
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(is_https)?)
            .http1_only()
            // A redirect would send keys and signed bodies to another address.
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            // The engine decides whether to send again.
            .retry(reqwest::retry::never())
            .timeout(Duration::from_millis(config.timeout_ms))
            .connect_timeout(Duration::from_millis(config.connect_timeout_ms))
            .pool_idle_timeout(Duration::from_millis(config.idle_ms))
            .pool_max_idle_per_host(config.idle_connections)
            .user_agent(concat!("cambist/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| SetupError::Http(chain(&error)))?;
        Ok(Self {
            http,
            address: String::new(),
        })
    }

    pub async fn exchange(&self, outgoing: Outgoing<'_>) -> Exchange {
        let headers = outgoing.headers;
        let mut request = self.http.request(outgoing.method, outgoing.url);
        if let Some(key) = outgoing.api_key {
            request = request.header(headers.api_key, key);
        }
        if let Some(signature) = outgoing.signature {
            request = request.header(headers.signature, signature);
        }
        if let Some(body) = outgoing.body {
            request = request
                .header(CONTENT_TYPE, HeaderValue::from_static(headers.content_type))
                .body(body);
        }
        match request.send().await {
            Ok(response) => read(response, outgoing.body_max_bytes).await,
            // Connection timeouts included: the request is not written before the connection is established.
            Err(error) if error.is_connect() => {
                let why = chain(&error.without_url());
                Exchange::NotSent(format!("{}{why}", self.address))
            }
            Err(error) => broken(error, None),
        }
    }
}

async fn read(mut response: Response, max_bytes: usize) -> Exchange {
    let status = response.status().as_u16();
    let headers = response.headers();
    let (date, retry_after_ms, is_json) =
        (date(headers), retry_after_ms(headers), is_json(headers));
    let too_large = || Exchange::Broken {
        cause: UnknownCause::Undecodable,
        status: Some(status),
        detail: format!("body larger than {max_bytes} bytes"),
    };
    let announced = response.content_length();
    let most = u64::try_from(max_bytes).unwrap_or(u64::MAX);
    if announced.is_some_and(|bytes| bytes > most) {
        return too_large();
    }
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > max_bytes => return too_large(),
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => break,
            Err(error) => return broken(error, Some(status)),
        }
    }
    Exchange::Whole(Whole {
        status,
        date,
        retry_after_ms,
        is_json,
        body,
    })
}

fn broken(error: reqwest::Error, status: Option<u16>) -> Exchange {
    let cause = if error.is_timeout() {
        UnknownCause::Timeout
    } else {
        UnknownCause::Transport
    };
    Exchange::Broken {
        cause,
        status,
        detail: chain(&error.without_url()),
    }
}

/// The time of a cached answer is when it was made, which is still a lower bound. An answer with an `Age` header does
/// not come from the venue itself.
fn date(headers: &HeaderMap) -> Option<VenueTime> {
    if headers.contains_key(AGE) {
        return None;
    }
    Some(VenueTime::from_s(http_date_s(headers.get(DATE)?)?))
}

/// Seconds since 1970 of a date as headers have it.
fn http_date_s(value: &HeaderValue) -> Option<u64> {
    let time = httpdate::parse_http_date(value.to_str().ok()?).ok()?;
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    Some(since.as_secs())
}

/// A number of seconds, or a date (RFC 9110, section 10.2.3), which is compared with that of the answer.
fn retry_after_ms(headers: &HeaderMap) -> Option<u64> {
    let value = headers.get(RETRY_AFTER)?;
    let seconds: Option<u64> = cambist_protocol::number::bounded(value.to_str().ok()?).ok();
    let until = || Some(http_date_s(value)?.saturating_sub(http_date_s(headers.get(DATE)?)?));
    let seconds = seconds.or_else(until)?;
    Some(seconds.saturating_mul(1_000).min(RETRY_AFTER_MAX_MS))
}

fn is_json(headers: &HeaderMap) -> bool {
    let named = match headers.get(CONTENT_TYPE).map(HeaderValue::to_str) {
        None => true,
        Some(Ok(kind)) => kind.to_ascii_lowercase().contains("json"),
        Some(Err(_)) => false,
    };
    let plain = headers
        .get(CONTENT_ENCODING)
        .is_none_or(|coding| coding.as_bytes() == b"identity");
    named && plain
}

/// The chain of causes in one line.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    quoted(&text, DETAIL_MAX)
}

fn tls(is_https: bool) -> Result<rustls::ClientConfig, SetupError> {
    let error = |error: rustls::Error| SetupError::Tls(error.to_string());
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(error)?;
    if is_https {
        use rustls_platform_verifier::BuilderVerifierExt as _;
        Ok(builder
            .with_platform_verifier()
            .map_err(error)?
            .with_no_client_auth())
    } else {
        // No root certificates: TLS is not used here, and plain HTTP to loopback must work on machines without any.
        Ok(builder
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(
            reqwest::header::HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )])
    }

    #[test]
    fn headers_are_read_strictly() {
        let date_of = |value| date(&headers("date", value));
        assert_eq!(
            date_of("Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(VenueTime::from_s(784_111_777))
        );
        assert_eq!(date_of("yesterday"), None);
        let mut cached = headers("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        cached.insert(AGE, HeaderValue::from_static("3"));
        assert_eq!(date(&cached), None);
        let wait = |value| retry_after_ms(&headers("retry-after", value));
        assert_eq!(wait("2"), Some(2_000));
        assert_eq!(wait("-2"), None);
        assert_eq!(wait("3599"), Some(3_599_000));
        assert_eq!(wait("3600"), Some(3_600_000));
        assert_eq!(wait("3601"), Some(3_600_000), "an hour at most");
        let until = "Sun, 06 Nov 1994 08:49:57 GMT";
        assert_eq!(wait(until), None, "an answer without its own date");
        let mut dated = headers("retry-after", until);
        dated.insert(
            DATE,
            HeaderValue::from_static("Sun, 06 Nov 1994 08:49:37 GMT"),
        );
        assert_eq!(retry_after_ms(&dated), Some(20_000));
        dated.insert(
            DATE,
            HeaderValue::from_static("Sun, 06 Nov 1994 08:50:37 GMT"),
        );
        assert_eq!(retry_after_ms(&dated), Some(0), "past");
        assert_eq!(retry_after_ms(&HeaderMap::new()), None);
        let json = |value| is_json(&headers("content-type", value));
        assert!(json("application/json; charset=utf-8"));
        assert!(json("Application/JSON"));
        let latin = HeaderValue::from_bytes(b"application/json \xe4").ok();
        let mut unreadable = HeaderMap::new();
        unreadable.extend(latin.map(|kind| (CONTENT_TYPE, kind)));
        assert!(!is_json(&unreadable) && !unreadable.is_empty());
        assert!(!json("text/html"));
        assert!(is_json(&HeaderMap::new()));
        assert!(!is_json(&headers("content-encoding", "gzip")));
        assert!(is_json(&headers("content-encoding", "identity")));
        let mut packed = headers("content-encoding", "gzip");
        packed.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        assert!(!is_json(&packed));
    }

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Nested {
        text: String,
        #[source]
        cause: Option<Box<Self>>,
    }

    fn nested(text: &str, cause: Option<Nested>) -> Nested {
        Nested {
            text: text.to_owned(),
            cause: cause.map(Box::new),
        }
    }

    #[test]
    fn an_error_is_shown_with_its_causes_within_bounds() {
        let error = nested("a", Some(nested("b", Some(nested("c\n", None)))));
        assert_eq!(chain(&error), "a: b: c\\n");
        let long = nested("a", Some(nested(&"b".repeat(500), None)));
        assert_eq!(chain(&long), format!("a: {}…", "b".repeat(237)));
    }

    #[test]
    fn https_uses_the_certificates_of_the_machine() {
        // Without any certificates the client reports an error instead of trusting none.
        assert!(tls(true).is_ok() || matches!(tls(true), Err(SetupError::Tls(_))));
    }
}
