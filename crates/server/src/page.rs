//! The exchange's page at `/`: books, trades, candles, pools, and how to connect. Embedded and read only; its data is the
//! public interface and the market data beside it, so it shows nothing that a client cannot read.

use axum::body::Body;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Response};

/// Only the page's own files: no other origin, no inline script, no frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageFile {
    /// Where it is served.
    pub path: &'static str,
    kind: &'static str,
    pub text: &'static str,
}

/// All files. The page is also at the path of the daemon's.
pub(crate) const FILES: [PageFile; 4] = [
    html("/"),
    html("/page"),
    PageFile {
        path: "/page.css",
        kind: "text/css; charset=utf-8",
        text: include_str!("page/page.css"),
    },
    PageFile {
        path: "/page.js",
        kind: "text/javascript; charset=utf-8",
        text: include_str!("page/page.js"),
    },
];

const fn html(path: &'static str) -> PageFile {
    PageFile {
        path,
        kind: "text/html; charset=utf-8",
        text: include_str!("page/page.html"),
    }
}

impl PageFile {
    /// Turns an answer with this file's text into the file.
    pub fn mark(&self, response: &mut Response<Body>) {
        let headers: &mut HeaderMap = response.headers_mut();
        let values: [(HeaderName, &'static str); 5] = [
            (header::CONTENT_TYPE, self.kind),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            // A newer exchange may have another page.
            (header::CACHE_CONTROL, "no-cache"),
        ];
        for (name, value) in values {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small_and_names_no_other_host() {
        let bytes: usize = FILES[1..].iter().map(|file| file.text.len()).sum();
        assert!(bytes < 150_000, "{bytes}");
        for file in FILES {
            let text = file.text.replace("http://www.w3.org/2000/svg", "");
            for outside in [
                "http://",
                "https://",
                "//cdn",
                "@import",
                "innerHTML",
                "style=",
            ] {
                assert!(!text.contains(outside), "{}: {outside}", file.path);
            }
        }
    }
}
