//! The text that is signed in the header `X-API-SIG`. (Clause: X-API-SIG, exact canonicalisation.)
//!
//! The text is METHOD & encoded URL & encoded parameters. Public clients differ in the encoding; all forms here are
//! sent by some of them. They agree when parameters are sorted and contain only `A-Z a-z 0-9 - _ .`. The caller
//! supplies the base URL that the client may have used (scheme, host, port, prefix; no trailing slash).

use ark_ff::PrimeField;
use sha2::{Digest, Sha256};

use crate::field::{Field, Fq};

/// A query parameter: name and value, both decoded.
pub type Param<'a> = (&'a str, &'a str);

/// The message to sign for a canonical text: its SHA-256 digest as a big-endian number modulo p.
pub fn message(canonical: &str) -> Field {
    Field::from(Fq::from_be_bytes_mod_order(&Sha256::digest(
        canonical.as_bytes(),
    )))
}

/// The form of the JavaScript client for requests without a body: empty values dropped, names sorted the way a
/// dictionary does, everything encoded once, except that commas end up encoded twice.
pub fn sdk_form(method: &str, base_url: &str, path: &str, params: &[Param<'_>]) -> String {
    let mut params: Vec<Param<'_>> = params
        .iter()
        .copied()
        .filter(|(_, value)| !value.is_empty())
        .collect();
    params.sort_by_key(|(name, _)| dictionary_key(name));
    let once = encode(&joined(&params, str::to_owned), JAVASCRIPT).replace("%2C", "%252C");
    canonical(method, &encode(&url(base_url, path), JAVASCRIPT), &once)
}

/// The form of the published text for requests without a body: names sorted, values encoded, the whole encoded again.
pub fn docs_form(method: &str, base_url: &str, path: &str, params: &[Param<'_>]) -> String {
    let mut params = params.to_vec();
    params.sort_unstable();
    docs_form_in_order(method, base_url, path, &params)
}

/// The form of the JavaScript client for requests with a body: the body as sent, `! ' ( )` encoded too.
pub fn sdk_body_form(method: &str, base_url: &str, path: &str, body: &str) -> String {
    canonical(
        method,
        &encode(&url(base_url, path), JAVASCRIPT),
        &encode(body, JAVASCRIPT_BODY),
    )
}

/// The form of the published text for requests with a body.
pub fn docs_body_form(method: &str, base_url: &str, path: &str, body: &str) -> String {
    canonical(
        method,
        &encode(&url(base_url, path), RFC3986),
        &encode(body, RFC3986),
    )
}

/// The texts that a venue tries in order, without duplicates.
///
/// For GET and DELETE: the published form, the JavaScript client's, the published form in the order received, and the
/// parameters encoded once in the order received (in both alphabets, and with `+` for a space). Equal parameters sent
/// twice count once. For other methods: the body as received and without white space, in both alphabets and form-encoded.
pub fn candidates(
    method: &str,
    base_url: &str,
    path: &str,
    params: &[Param<'_>],
    body: &str,
) -> Vec<String> {
    let mut out = Vec::new();
    let mut offer = |candidate: String| {
        if !out.contains(&candidate) {
            out.push(candidate);
        }
    };
    if is_without_body(method) {
        let mut once: Vec<Param<'_>> = Vec::with_capacity(params.len());
        for param in params {
            if !once.contains(param) {
                once.push(*param);
            }
        }
        offer(docs_form(method, base_url, path, &once));
        offer(sdk_form(method, base_url, path, &once));
        offer(docs_form_in_order(method, base_url, path, &once));
        let plain = joined(&once, str::to_owned);
        for alphabet in [RFC3986, JAVASCRIPT, FORM] {
            offer(canonical(
                method,
                &encode(&url(base_url, path), alphabet),
                &encode(&plain, alphabet),
            ));
        }
    } else {
        for body in [body, &without_white_space(body)] {
            offer(docs_body_form(method, base_url, path, body));
            offer(sdk_body_form(method, base_url, path, body));
            offer(canonical(
                method,
                &encode(&url(base_url, path), FORM),
                &encode(body, FORM),
            ));
        }
    }
    out
}

/// Whether requests of this method have their parameters in the query.
pub(crate) fn is_without_body(method: &str) -> bool {
    ["GET", "DELETE"]
        .iter()
        .any(|known| method.eq_ignore_ascii_case(known))
}

fn docs_form_in_order(method: &str, base_url: &str, path: &str, params: &[Param<'_>]) -> String {
    let encoded = joined(params, |value| encode(value, RFC3986));
    canonical(
        method,
        &encode(&url(base_url, path), RFC3986),
        &encode(&encoded, RFC3986),
    )
}

fn canonical(method: &str, encoded_url: &str, encoded_params: &str) -> String {
    format!(
        "{}&{encoded_url}&{encoded_params}",
        method.to_ascii_uppercase()
    )
}

fn url(base_url: &str, path: &str) -> String {
    format!("{base_url}{path}")
}

fn joined(params: &[Param<'_>], value_form: impl Fn(&str) -> String) -> String {
    let pairs: Vec<String> = params
        .iter()
        .map(|(name, value)| format!("{name}={}", value_form(value)))
        .collect();
    pairs.join("&")
}

/// Sorts like JavaScript's `localeCompare`: by letters first, then lower case before upper case.
fn dictionary_key(name: &str) -> (String, String) {
    let swapped = name.chars().map(|c| {
        if c.is_ascii_uppercase() {
            c.to_ascii_lowercase()
        } else {
            c.to_ascii_uppercase()
        }
    });
    (name.to_ascii_lowercase(), swapped.collect())
}

/// The bytes that are not encoded, besides letters and digits, and whether a space becomes `+`.
#[derive(Clone, Copy)]
struct Alphabet {
    kept: &'static [u8],
    space_as_plus: bool,
}

const RFC3986: Alphabet = Alphabet {
    kept: b"-_.~",
    space_as_plus: false,
};
const JAVASCRIPT: Alphabet = Alphabet {
    kept: b"-_.~!*'()",
    space_as_plus: false,
};
const JAVASCRIPT_BODY: Alphabet = Alphabet {
    kept: b"-_.~*",
    space_as_plus: false,
};
const FORM: Alphabet = Alphabet {
    kept: b"-_.*",
    space_as_plus: true,
};

fn encode(text: &str, alphabet: Alphabet) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || alphabet.kept.contains(&byte) {
            out.push(char::from(byte));
        } else if byte == b' ' && alphabet.space_as_plus {
            out.push('+');
        } else {
            out.push('%');
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 0xf)]));
        }
    }
    out
}

/// JSON text without white space between its tokens, as clients that print compactly sign it.
fn without_white_space(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let kept = json.chars().filter(|c| {
        if in_string {
            in_string = escaped || *c != '"';
            escaped = !escaped && *c == '\\';
            return true;
        }
        in_string = *c == '"';
        !matches!(c, ' ' | '\t' | '\r' | '\n')
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "https://api.example.com";

    #[test]
    fn all_forms_coincide_for_plain_values_in_order() {
        let params = [
            ("accountId", "1"),
            ("clientOrderId", "abc-1_2.3"),
            ("orderHash", "0xab"),
        ];
        let texts = candidates("delete", BASE, "/api/v3/order", &params, "");
        assert_eq!(texts.len(), 1);
        let url = "https%3A%2F%2Fapi.example.com%2Fapi%2Fv3%2Forder";
        let expected =
            format!("DELETE&{url}&accountId%3D1%26clientOrderId%3Dabc-1_2.3%26orderHash%3D0xab");
        assert_eq!(texts[0], expected);
    }

    #[test]
    fn order_case_repetition_and_emptiness() {
        let params = [("b", "2"), ("B", "3"), ("a", "1"), ("b", "2"), ("c", "")];
        let sdk = sdk_form("GET", BASE, "/x", &params[..3]);
        assert!(sdk.ends_with("&a%3D1%26b%3D2%26B%3D3"), "{sdk}");
        let docs = docs_form("GET", BASE, "/x", &params[..3]);
        assert!(docs.ends_with("&B%3D3%26a%3D1%26b%3D2"), "{docs}");
        let texts = candidates("GET", BASE, "/x", &params, "");
        assert!(
            texts.contains(&sdk),
            "repeated and empty parameters do not count in this form"
        );
        assert!(
            texts
                .iter()
                .any(|text| text.ends_with("&b%3D2%26B%3D3%26a%3D1%26c%3D"))
        );
    }

    #[test]
    fn awkward_values_differ_as_known() {
        let params = [("id", "a,b c~!")];
        assert!(sdk_form("GET", BASE, "/x", &params).ends_with("&id%3Da%252Cb%20c~!"));
        assert!(docs_form("GET", BASE, "/x", &params).ends_with("&id%3Da%252Cb%2520c~%2521"));
        let texts = candidates("GET", BASE, "/x", &params, "");
        assert!(
            texts
                .iter()
                .any(|text| text.ends_with("&id%3Da%2Cb+c%7E%21"))
        );
        assert!(
            texts
                .iter()
                .any(|text| text.ends_with("&id%3Da%2Cb%20c~%21"))
        );
    }

    #[test]
    fn bodies_are_tried_as_sent_and_compact() {
        let body = "{ \"accountId\": 1,\n \"memo\": \"a \\\" b\" }";
        let texts = candidates("POST", BASE, "/x", &[], body);
        let compact = encode("{\"accountId\":1,\"memo\":\"a \\\" b\"}", RFC3986);
        assert!(texts[0].ends_with(&encode(body, RFC3986)));
        assert!(texts.iter().any(|text| text.ends_with(&compact)));
        let quotes = sdk_body_form("POST", BASE, "/x", "{\"a\":\"(*)\"}");
        assert!(
            quotes.ends_with("%7B%22a%22%3A%22%28*%29%22%7D"),
            "{quotes}"
        );
    }
}
