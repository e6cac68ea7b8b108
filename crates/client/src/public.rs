//! Reads public pages of any exchange without an account. Sends GET only.
//!
//! There are no keys and no request bodies here, so the holder of a [`PublicReader`] cannot trade.

use cambist_protocol::number::quoted;
use reqwest::{Method, Url};

use crate::base_url::is_loopback;
use crate::config::ClientConfig;
use crate::error::SetupError;
use crate::transport::{Exchange, Headers, Outgoing, Transport};

/// Most characters of an unexpected body in an error.
const SHOWN_MAX: usize = 200;

/// A URL to read: `https`, or `http` to the same machine; no user and no fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(Url);

impl PublicUrl {
    /// Checks a URL.
    pub fn parse(text: &str) -> Result<Self, SetupError> {
        let bad = |problem: &str| SetupError::BaseUrl {
            url: if text.contains('@') {
                "(hidden)".to_owned()
            } else {
                quoted(text, 200)
            },
            problem: problem.to_owned(),
        };
        let url = Url::parse(text).map_err(|error| bad(&error.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad("must not carry a user or password"));
        }
        if url.fragment().is_some() {
            return Err(bad("must not have a fragment"));
        }
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(&url) => {}
            _ => return Err(bad("must be https, or http to the same machine")),
        }
        // Both schemes have a host: a URL without one is not parsed.
        Ok(Self(url))
    }

    /// The URL's text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn into_url(self) -> Url {
        self.0
    }
}

/// Why a page could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublicError {
    /// The server limits the rate of requests.
    #[error("it answers too many requests (429)")]
    RateLimited {
        /// The server's `Retry-After`, if it sent one.
        retry_after_ms: Option<u64>,
    },
    /// A status other than success.
    #[error("it answers {status}: {body}")]
    Status {
        /// HTTP status.
        status: u16,
        /// Beginning of the body.
        body: String,
    },
    /// No complete answer.
    #[error("{0}")]
    Failed(String),
}

/// Reads public pages of one exchange.
#[derive(Clone)]
pub struct PublicReader {
    transport: Transport,
    url: PublicUrl,
    body_max_bytes: usize,
}

impl PublicReader {
    /// A reader of one URL. Timeouts and body limits come from `config`; its base URL is not used.
    pub fn new(config: &ClientConfig, url: PublicUrl) -> Result<Self, SetupError> {
        Ok(Self {
            transport: Transport::with_tls(config, url.0.scheme() == "https")?,
            url,
            body_max_bytes: config.list_body_max_bytes,
        })
    }

    /// Fetches the page.
    pub async fn get(&self) -> Result<Vec<u8>, PublicError> {
        let outgoing = Outgoing {
            method: Method::GET,
            url: self.url.0.clone(),
            headers: Headers::EXCHANGE,
            api_key: None,
            signature: None,
            body: None,
            body_max_bytes: self.body_max_bytes,
        };
        match self.transport.exchange(outgoing).await {
            Exchange::Whole(whole) => match whole.status {
                200 => Ok(whole.body),
                429 => Err(PublicError::RateLimited {
                    retry_after_ms: whole.retry_after_ms,
                }),
                status @ 300..400 => Err(PublicError::Status {
                    status,
                    body: "redirects are not followed".to_owned(),
                }),
                status => Err(PublicError::Status {
                    status,
                    body: quoted(&String::from_utf8_lossy(&whole.body), SHOWN_MAX),
                }),
            },
            Exchange::NotSent(detail) | Exchange::Broken { detail, .. } => {
                Err(PublicError::Failed(detail))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn only_safe_urls_are_read() {
        for good in [
            "https://api.example.org/depth?symbol=ETHUSDC&limit=100",
            "http://127.0.0.1:8080/book",
        ] {
            assert_eq!(
                PublicUrl::parse(good).map(|url| url.as_str() == good),
                Ok(true)
            );
        }
        for bad in [
            "http://api.example.org/depth",
            "https://user:pass@example.org/",
            "https://user@example.org/",
            "https://:pass@example.org/",
            "https://",
            "ftp://example.org/",
            "https://example.org/#part",
            "depth",
        ] {
            assert!(PublicUrl::parse(bad).is_err(), "{bad}");
        }
        let shown = |text| PublicUrl::parse(text).unwrap_err().to_string();
        assert!(!shown("https://user:pass@example.org/").contains("user:"));
        assert!(shown("ftp://example.org/").contains("ftp://example.org/"));
        let long = format!("ftp://{}", "x".repeat(300));
        assert_eq!(shown(&long).matches('x').count(), 200 - "ftp://".len());
    }
}
