//! Failures: those that our venue writes, and all forms that a client may receive.
//!
//! What a refusal proves is decided elsewhere.

use std::collections::BTreeMap;

use cambist_core::Reason;
use serde::Serialize;

use crate::code;
use crate::json::{self, Json};
use crate::number::quoted;

/// Most characters of a failure's text.
const MESSAGE_MAX: usize = 240;

/// `{"resultInfo":{"code":102011,"message":"…"}}`: the body of every refusal of our venue. A success never has
/// `resultInfo`, which public clients take for a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    result_info: ResultInfo,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ResultInfo {
    code: u32,
    message: String,
}

impl ErrorBody {
    /// The body of a refusal, with the code's text and the detail.
    pub fn new(reason: Reason, detail: Option<&str>) -> Self {
        let text = code::message(reason);
        let message = match detail {
            None => text.to_owned(),
            Some(detail) if has_complete_detail(reason) => detail.to_owned(),
            Some(detail) => format!("{text}: {detail}"),
        };
        Self {
            result_info: ResultInfo {
                code: code::number(reason),
                message,
            },
        }
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        // A struct of a number and a string always serialises.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Whether the detail contains everything that the code's description requires.
const fn has_complete_detail(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::UnknownError
            | Reason::NothingToCancel
            | Reason::EmptyApiKey
            | Reason::InvalidApiKey
            | Reason::OrderNotFound
    )
}

/// A failure, read from any of the forms that services of this interface send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The code, if there is one.
    pub reason: Option<Reason>,
    /// Text for logs: truncated, control characters escaped. Never part of a decision.
    pub message: String,
}

impl Failure {
    /// Reads a failure: `{resultInfo:{code, message|msg}}`, flat `{code, message|msg}`, a map of field names to texts
    /// (refused by a gateway before processing), an empty body, or anything else.
    pub fn read(body: &[u8]) -> Self {
        let Ok(json) = json::parse(body) else {
            let text = String::from_utf8_lossy(body);
            return Self {
                reason: None,
                message: quoted(&text, MESSAGE_MAX),
            };
        };
        let Ok(object) = json.object() else {
            return Self {
                reason: None,
                message: json.to_string(),
            };
        };
        let info = match object.get("resultInfo") {
            Some(Json::Object(fields)) => Some(fields),
            _ => None,
        };
        if let Some(reason) = code_of(info.unwrap_or(object.0)) {
            return Self {
                reason: Some(reason),
                message: message_of(info.unwrap_or(object.0)),
            };
        }
        if !object.0.is_empty() && object.0.values().all(is_list_of_texts) {
            return Self {
                reason: Some(Reason::InvalidArgument),
                message: fields_message(object.0),
            };
        }
        Self {
            reason: None,
            message: message_of(info.unwrap_or(object.0)),
        }
    }

    /// Reads a failure in a body with a success status: `resultInfo` with a code other than zero, or a flat failure.
    pub fn in_success(json: &Json) -> Option<Self> {
        let object = json.object().ok()?;
        let fields = match object.get("resultInfo") {
            Some(Json::Object(fields)) => fields,
            Some(_) => {
                return Some(Self {
                    reason: None,
                    message: "resultInfo is not an object".to_owned(),
                });
            }
            None if object.get("code").is_some()
                && (object.get("msg").is_some() || object.get("message").is_some()) =>
            {
                object.0
            }
            None => return None,
        };
        if matches!(fields.get("code"), Some(Json::Integer(0))) {
            return None;
        }
        Some(Self {
            reason: code_of(fields),
            message: message_of(fields),
        })
    }
}

fn code_of(fields: &BTreeMap<String, Json>) -> Option<Reason> {
    json::integer(fields.get("code")?).ok().map(code::reason)
}

fn message_of(fields: &BTreeMap<String, Json>) -> String {
    let text = [fields.get("message"), fields.get("msg")]
        .into_iter()
        .flatten()
        .find_map(|json| match json {
            Json::Text(text) => Some(text.as_str()),
            _ => None,
        });
    quoted(text.unwrap_or_default(), MESSAGE_MAX)
}

fn is_list_of_texts(json: &Json) -> bool {
    matches!(json, Json::List(items)
        if !items.is_empty() && items.iter().all(|item| matches!(item, Json::Text(_))))
}

fn fields_message(fields: &BTreeMap<String, Json>) -> String {
    let mut out = String::new();
    for (field, problems) in fields {
        if let Json::List(problems) = problems {
            for problem in problems {
                if let Json::Text(problem) = problem {
                    if !out.is_empty() {
                        out.push_str("; ");
                    }
                    out.push_str(field);
                    out.push_str(": ");
                    out.push_str(problem);
                }
            }
        }
    }
    quoted(&out, MESSAGE_MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn refusals_of_our_venue_read_back() {
        let body = ErrorBody::new(Reason::InsufficientBalance, Some("needs 5"));
        assert_eq!(
            String::from_utf8(body.to_bytes()).unwrap(),
            r#"{"resultInfo":{"code":102011,"message":"insufficient balance: needs 5"}}"#
        );
        let body = ErrorBody::new(Reason::OrderNotFound, Some("no such order"));
        let read = Failure::read(&body.to_bytes());
        assert_eq!(read.message, "no such order", "not twice");
        for reason in Reason::LISTED {
            let read = Failure::read(&ErrorBody::new(reason, None).to_bytes());
            assert_eq!(read.reason, Some(reason));
            assert_eq!(read.message, code::message(reason));
        }
    }

    #[test]
    fn every_known_shape_of_failure_is_read() {
        let reason = |body: &str| Failure::read(body.as_bytes()).reason;
        assert_eq!(
            reason(r#"{"resultInfo":{"code":101002,"msg":"account not found"}}"#),
            Some(Reason::UserNotFound)
        );
        assert_eq!(
            reason(r#"{"code":102117,"msg":"x"}"#),
            Some(Reason::NothingToCancel)
        );
        assert_eq!(reason(r#"{"code":"104002"}"#), Some(Reason::InvalidApiKey));
        assert_eq!(
            reason(r#"{"resultInfo":{"code":109999}}"#),
            Some(Reason::Unlisted(109_999))
        );
        let gateway = Failure::read(br#"{"exchange":["Must satisfy 0x[0-9a-fA-F]{40}"]}"#);
        assert_eq!(gateway.reason, Some(Reason::InvalidArgument));
        assert_eq!(gateway.message, "exchange: Must satisfy 0x[0-9a-fA-F]{40}");
        for nothing in [
            "",
            "{}",
            r#"{"a":[]}"#,
            "[]",
            "null",
            "<html>\u{1b}[2J",
            r#"{"code":-1}"#,
            r#"{"code":1.5}"#,
        ] {
            assert_eq!(reason(nothing), None, "{nothing}");
        }
        assert!(!Failure::read(b"<html>\x1b[2J").message.contains('\u{1b}'));
        assert!(Failure::read(&vec![b'x'; 10_000]).message.chars().count() <= MESSAGE_MAX + 1);
    }

    #[test]
    fn a_failure_hidden_in_a_success_is_found() {
        let found = |body: &str| Failure::in_success(&json::parse(body.as_bytes()).unwrap());
        assert_eq!(
            found(r#"{"resultInfo":{"code":102007,"message":"m"}}"#)
                .unwrap()
                .reason,
            Some(Reason::OrderExists)
        );
        assert_eq!(
            found(r#"{"code":102007,"msg":"m"}"#).unwrap().reason,
            Some(Reason::OrderExists)
        );
        assert_eq!(found(r#"{"resultInfo":{"code":0},"hash":"0x1"}"#), None);
        assert_eq!(found(r#"{"hash":"0x1"}"#), None);
        assert_eq!(found("[]"), None);
        assert_eq!(found(r#"{"resultInfo":7}"#).unwrap().reason, None);
    }
}
