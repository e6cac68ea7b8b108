//! The frame of every answer: HTTP status, the list `error`, the result. Refusals come with status 200.

use cambist_core::Reason;
use cambist_core::request::UnknownCause;
use cambist_protocol::number::quoted;

use crate::json::{self, DecodeError, Json};
use crate::reasons::{Meaning, meaning_of_all};

/// Most characters of a detail for logs.
const DETAIL_MAX: usize = 240;
/// Most errors of an answer, and bytes of one.
const ERRORS_MAX: usize = 16;
const ERROR_BYTES_MAX: usize = 512;

/// An answer that is no success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoResult {
    /// The venue refused.
    Refused {
        /// The engine's reason.
        reason: Reason,
        /// The venue's texts, bounded and escaped.
        texts: String,
    },
    /// The answer proves nothing.
    Unknown {
        /// The cause.
        cause: UnknownCause,
        /// For logs, bounded and escaped.
        detail: String,
    },
}

impl NoResult {
    /// An answer that is not what the documents describe.
    pub fn undecodable(problem: &str) -> Self {
        Self::unknown(UnknownCause::Undecodable, problem)
    }

    fn unknown(cause: UnknownCause, detail: &str) -> Self {
        Self::Unknown {
            cause,
            detail: detail.chars().take(DETAIL_MAX).collect(),
        }
    }
}

impl From<DecodeError> for NoResult {
    fn from(error: DecodeError) -> Self {
        Self::undecodable(&error.to_string())
    }
}

/// The result of a complete HTTP answer. `is_json` is what its headers claim: the body of any other answer is not
/// read.
pub fn result(status: u16, is_json: bool, body: &[u8]) -> Result<Json, NoResult> {
    match status {
        200..=299 => {}
        300..=399 => {
            let detail = format!("redirect {status} not followed");
            return Err(NoResult::unknown(UnknownCause::Redirect, &detail));
        }
        500..=599 => {
            let detail = format!("HTTP status {status}: {}", beginning(body));
            return Err(NoResult::unknown(UnknownCause::ServerError, &detail));
        }
        429 => {
            return Err(NoResult::Refused {
                reason: Reason::RateLimited,
                texts: format!("HTTP status 429: {}", beginning(body)),
            });
        }
        400..=499 => {
            // A gateway that answers for the venue has no list of errors.
            let envelope = if is_json { envelope(body).ok() } else { None };
            return Err(match envelope {
                Some((errors, None)) if !errors.is_empty() => refused(&errors),
                _ => {
                    let detail = format!("HTTP status {status}: {}", beginning(body));
                    NoResult::undecodable(&detail)
                }
            });
        }
        _ => return Err(NoResult::undecodable(&format!("HTTP status {status}"))),
    }
    if !is_json {
        return Err(NoResult::undecodable(
            "the answer's Content-Type is not JSON",
        ));
    }
    match envelope(body)? {
        (errors, Some(result)) if errors.is_empty() => Ok(result),
        (errors, None) if errors.is_empty() => {
            Err(NoResult::undecodable("neither an error nor a result"))
        }
        (errors, None) => Err(refused(&errors)),
        (_, Some(_)) => Err(NoResult::undecodable("errors and a result at once")),
    }
}

/// Errors without warnings, and the result if there is one. An empty result beside errors is none.
fn envelope(body: &[u8]) -> Result<(Vec<String>, Option<Json>), DecodeError> {
    let json = json::parse(body)?;
    let fields = json.object()?;
    let errors = fields.required("error", |errors| {
        let errors = errors.list()?;
        if errors.len() > ERRORS_MAX {
            return Err(DecodeError::new(format!("has {} entries", errors.len())));
        }
        let texts = errors.iter().map(|error| error.text(ERROR_BYTES_MAX));
        texts.collect::<Result<Vec<_>, _>>()
    })?;
    let errors = errors.into_iter().filter(|text| !text.starts_with('W'));
    let errors: Vec<_> = errors.map(str::to_owned).collect();
    let result = fields.get("result").filter(|result| {
        let is_empty = matches!(result, Json::Object(entries) if entries.is_empty())
            || matches!(result, Json::List(items) if items.is_empty());
        errors.is_empty() || !is_empty
    });
    Ok((errors, result.cloned()))
}

fn refused(errors: &[String]) -> NoResult {
    let texts = quoted(&errors.join(", "), DETAIL_MAX);
    match meaning_of_all(errors.iter().map(String::as_str)) {
        Meaning::Refused(reason) => NoResult::Refused { reason, texts },
        Meaning::Unfinished => NoResult::unknown(UnknownCause::ServerError, &texts),
    }
}

fn beginning(body: &[u8]) -> String {
    let begin = body.get(..DETAIL_MAX).unwrap_or(body);
    quoted(&String::from_utf8_lossy(begin), DETAIL_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> Result<Json, NoResult> {
        result(status, true, body.as_bytes())
    }

    fn reason(answer: &Result<Json, NoResult>) -> Option<Reason> {
        match answer {
            Err(NoResult::Refused { reason, .. }) => Some(*reason),
            _ => None,
        }
    }

    fn cause(answer: &Result<Json, NoResult>) -> Option<UnknownCause> {
        match answer {
            Err(NoResult::Unknown { cause, .. }) => Some(*cause),
            _ => None,
        }
    }

    #[test]
    fn a_success_has_no_error_and_a_result() {
        let good = r#"{"error":[],"result":{"a":1}}"#;
        assert!(of(200, good).is_ok());
        assert!(of(200, r#"{"error":["WGeneral:Something"],"result":{}}"#).is_ok());
        assert!(of(200, r#"{"result":[],"error":[],"more":{}}"#).is_ok());
        let undecodable = Some(UnknownCause::Undecodable);
        assert_eq!(cause(&result(200, false, good.as_bytes())), undecodable);
        for body in [
            "",
            "{}",
            "[]",
            "null",
            "<html><body>502</body></html>",
            &good[..good.len() - 1],
            r#"{"error":[]}"#,
            r#"{"error":[],"result":null}"#,
            r#"{"error":{},"result":{}}"#,
            r#"{"error":"EAPI:Invalid key"}"#,
            r#"{"error":[7]}"#,
            r#"{"error":null,"result":{"a":1}}"#,
            r#"{"result":{"a":1}}"#,
            r#"{"error":[],"error":[],"result":{}}"#,
            r#"{"error":["EAPI:Invalid nonce"],"result":{"txid":["O"]}}"#,
        ] {
            assert_eq!(cause(&of(200, body)), undecodable, "{body}");
        }
    }

    #[test]
    fn a_refusal_has_a_reason_whatever_its_status_below_500() {
        let body = r#"{"error":["EAPI:Invalid nonce"]}"#;
        for status in [200, 400, 403] {
            assert_eq!(
                reason(&of(status, body)),
                Some(Reason::InvalidNonce),
                "{status}"
            );
        }
        assert_eq!(
            reason(&of(
                200,
                r#"{"error":["EOrder:Insufficient funds"],"result":{}}"#
            )),
            Some(Reason::InsufficientBalance)
        );
        assert_eq!(reason(&of(429, "")), Some(Reason::RateLimited));
        // Who answered is not known.
        assert_eq!(cause(&of(500, body)), Some(UnknownCause::ServerError));
        assert_eq!(cause(&of(520, "<html>")), Some(UnknownCause::ServerError));
        assert_eq!(cause(&of(403, "<html>")), Some(UnknownCause::Undecodable));
        // Without an error nothing was refused.
        for empty in [r#"{"error":[],"result":{}}"#, r#"{"error":[]}"#] {
            assert_eq!(
                cause(&of(404, empty)),
                Some(UnknownCause::Undecodable),
                "{empty}"
            );
        }
        assert_eq!(
            cause(&result(400, false, body.as_bytes())),
            Some(UnknownCause::Undecodable)
        );
        assert_eq!(cause(&of(302, body)), Some(UnknownCause::Redirect));
        assert_eq!(cause(&of(101, body)), Some(UnknownCause::Undecodable));
        assert_eq!(
            cause(&of(200, r#"{"error":["EService:Timeout"]}"#)),
            Some(UnknownCause::ServerError)
        );
    }

    #[test]
    fn details_are_bounded_and_escaped() {
        let long = format!(r#"{{"error":["EOrder:\u001b[2J{}"]}}"#, "x".repeat(400));
        let Err(NoResult::Refused { texts, .. }) = of(200, &long) else {
            panic!("a refusal");
        };
        assert!(texts.starts_with("EOrder:\\u{1b}[2J") && texts.chars().count() <= 260);
        let page = "<\u{1b}".repeat(1_000);
        let Err(NoResult::Unknown { detail, .. }) = of(502, &page) else {
            panic!("unknown");
        };
        assert!(detail.chars().count() <= DETAIL_MAX && !detail.contains('\u{1b}'));
        let many = format!(r#"{{"error":[{}"E"]}}"#, r#""E","#.repeat(16));
        assert_eq!(cause(&of(200, &many)), Some(UnknownCause::Undecodable));
    }
}
