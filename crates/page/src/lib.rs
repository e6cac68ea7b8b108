//! What the web pages of daemon, demo and exchange have in common: their style, helpers of their scripts, and the headers
//! of their files. The pages themselves belong to their programs.

/// The style, before that of a page.
pub const STYLE: &str = include_str!("shared.css");
/// The script, before that of a page.
pub const SCRIPT: &str = include_str!("shared.js");

/// Headers of every file: only the page's own files (no other origin, no inline script, no frames), and no old copy,
/// because a newer program may have another page.
pub const HEADERS: [(&str, &str); 4] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-cache"),
];

/// Content types of the files.
pub const HTML_TYPE: &str = "text/html; charset=utf-8";
/// See [`HTML_TYPE`].
pub const STYLE_TYPE: &str = "text/css; charset=utf-8";
/// See [`HTML_TYPE`].
pub const SCRIPT_TYPE: &str = "text/javascript; charset=utf-8";

/// What a file of a page must not have: other hosts, inline code and style, text read as markup. Empty if it has none.
pub fn forbidden(text: &str) -> Vec<&'static str> {
    // The only URL is the name of a format.
    let text = text.replace("http://www.w3.org/2000/svg", "");
    let parts = [
        "http://",
        "https://",
        "//cdn",
        "@import",
        "innerHTML",
        "style=",
        "<style",
        "onclick=\"",
    ];
    parts
        .into_iter()
        .filter(|part| text.contains(part))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_files_have_nothing_that_is_forbidden() {
        assert!(forbidden(STYLE).is_empty() && forbidden(SCRIPT).is_empty());
        assert_eq!(forbidden("<p style=\"\">"), ["style="]);
        assert_eq!(forbidden("fetch('https://example.org')"), ["https://"]);
    }
}
