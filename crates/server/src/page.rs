//! The exchange's page at `/`: books, trades, candles, pools, and how to connect. Embedded and read only; its data is the
//! public interface and the market data beside it, so it shows nothing that a client cannot read.

use axum::body::Body;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Response};
use cambist_page::{HTML_TYPE, SCRIPT_TYPE, STYLE_TYPE};

/// A file of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageFile {
    /// Where it is served.
    pub path: &'static str,
    kind: &'static str,
    pub text: &'static str,
}

/// All files. The page is also at the path of the daemon's.
pub(crate) const FILES: [PageFile; 6] = [
    file("/", HTML_TYPE, include_str!("page/page.html")),
    file("/page", HTML_TYPE, include_str!("page/page.html")),
    file("/shared.css", STYLE_TYPE, cambist_page::STYLE),
    file("/shared.js", SCRIPT_TYPE, cambist_page::SCRIPT),
    file("/page.css", STYLE_TYPE, include_str!("page/page.css")),
    file("/page.js", SCRIPT_TYPE, include_str!("page/page.js")),
];

const fn file(path: &'static str, kind: &'static str, text: &'static str) -> PageFile {
    PageFile { path, kind, text }
}

impl PageFile {
    /// Turns an answer with this file's text into the file.
    pub fn mark(&self, response: &mut Response<Body>) {
        let headers: &mut HeaderMap = response.headers_mut();
        let kind = HeaderValue::from_static(self.kind);
        headers.insert(header::CONTENT_TYPE, kind);
        for (name, value) in cambist_page::HEADERS {
            let name = HeaderName::from_static(name);
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
            assert_eq!(cambist_page::forbidden(file.text), [""; 0], "{}", file.path);
        }
    }
}
