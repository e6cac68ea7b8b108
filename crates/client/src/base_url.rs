//! A venue's base URL: scheme, host, port and prefix, checked once.
//!
//! Plain HTTP is accepted for the same machine only: keys and orders must not cross a network unencrypted.

use std::fmt;

use cambist_protocol::Endpoint;
use cambist_protocol::number::quoted;
use reqwest::Url;

use crate::error::SetupError;

/// A checked base URL without a trailing slash. Request signatures cover its text.
#[derive(Clone)]
pub struct BaseUrl {
    url: Url,
    text: String,
}

impl BaseUrl {
    /// Scheme, host and port.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Checks a base URL: `https`, or `http` to a loopback host; an optional path prefix; no user, query or fragment.
    pub fn parse(text: &str) -> Result<Self, SetupError> {
        // A user or password would be a secret: the URL is part of the message only if it has neither.
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
        if url.query().is_some() || url.fragment().is_some() {
            return Err(bad("must not have a query or fragment"));
        }
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(&url) => {}
            "http" => {
                return Err(bad(
                    "plain http is only allowed to the same machine; use https",
                ));
            }
            _ => return Err(bad("scheme must be https, or http to the same machine")),
        }
        // Both schemes have a host: a URL without one is not parsed.
        if url.path().contains('%') {
            return Err(bad("the prefix must not need escapes"));
        }
        let text = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { url, text })
    }

    /// `scheme://host[:port][/prefix]`
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether TLS is used.
    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// URL of an endpoint with an encoded query string.
    pub(crate) fn endpoint(&self, endpoint: Endpoint, query: &str) -> Url {
        self.join(endpoint.path(), query)
    }

    /// URL of a path below this one with an encoded query string.
    pub(crate) fn join(&self, path: &str, query: &str) -> Url {
        let mut url = self.url.clone();
        let prefix = self.url.path().trim_end_matches('/');
        url.set_path(&format!("{prefix}{path}"));
        if !query.is_empty() {
            url.set_query(Some(query));
        }
        url
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn signatures_cover_the_text_of_the_url() {
        for (written, text) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
            ("http://localhost:3000/", "http://localhost:3000"),
            ("http://[::1]:9", "http://[::1]:9"),
            ("https://EXAMPLE.org/", "https://example.org"),
            ("https://example.org:443", "https://example.org"),
            ("https://example.org/a/b//", "https://example.org/a/b"),
        ] {
            assert_eq!(BaseUrl::parse(written).unwrap().as_str(), text);
        }
        for base in ["https://example.org/a/", "https://example.org/a"] {
            let base = BaseUrl::parse(base).unwrap();
            let url = |query| base.endpoint(Endpoint::GetOrder, query).to_string();
            let bare = "https://example.org/a/api/v3/order";
            assert_eq!(url("accountId=1"), format!("{bare}?accountId=1"));
            assert_eq!(url(""), bare);
            assert!(base.is_https());
        }
        let plain = BaseUrl::parse("http://127.0.0.1:8080").unwrap();
        assert!(!plain.is_https());
        assert_eq!(
            plain.endpoint(Endpoint::GetOrder, "").as_str(),
            "http://127.0.0.1:8080/api/v3/order"
        );
    }

    #[test]
    fn unsafe_or_ambiguous_urls_are_refused() {
        for bad in [
            "",
            "https://",
            "http:///",
            "example.org",
            "https://user@example.org",
            "https://:secret@example.org",
            "ftp://127.0.0.1",
            "http://example.org",
            "http://10.0.0.1",
            "http://127.0.0.1.example.org",
            "http://localhost.example.org",
            "https://user:secret@example.org",
            "https://example.org/?a=b",
            "https://example.org/#a",
            "https://example.org/a%20b",
            "unix:/run/socket",
        ] {
            assert!(BaseUrl::parse(bad).is_err(), "{bad}");
        }
        let shown = |text| BaseUrl::parse(text).unwrap_err().to_string();
        assert!(!shown("https://user:secret@example.org").contains("secret"));
        assert_eq!(
            shown("ftp://127.0.0.1"),
            "base_url ftp://127.0.0.1: scheme must be https, or http to the same machine"
        );
        assert!(shown("http://example.org").ends_with("use https"));
        let long = format!("ftp://{}", "x".repeat(300));
        assert_eq!(shown(&long).matches('x').count(), 200 - "ftp://".len());
    }
}
