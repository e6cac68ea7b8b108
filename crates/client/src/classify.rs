//! From a complete HTTP answer to one of the four outcomes. Pure, so that simulators use it too.
//!
//! What an outcome proves about an order is decided in `cambist_core`.

use cambist_core::request::{Outcome, Query, Reply, UnknownCause};
use cambist_core::{Reason, VenueTime};
use cambist_protocol::decode::{self, Context};
use cambist_protocol::decode_pool;
use cambist_protocol::number::quoted;
use cambist_protocol::wire::Failure;
use cambist_protocol::{Json, WireError};

/// Most characters of a detail.
const DETAIL_MAX: usize = 240;

/// What an answer contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassifiedAnswer<T> {
    /// The decoded success, or why there is none.
    pub result: Result<T, NoAnswer>,
    /// For logs: the venue's own text or what is wrong with the answer; bounded and escaped.
    pub detail: Option<String>,
}

/// An answer that is not a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// The venue refused with this reason.
    Refused(Reason),
    /// The answer proves nothing.
    Unknown(UnknownCause),
}

/// The outcome of a poll or cancel, and the venue's time if the answer carries it.
pub fn classify_query(
    query: &Query,
    status: u16,
    is_json: bool,
    body: &[u8],
    context: Context<'_>,
) -> (Outcome, Option<VenueTime>, Option<String>) {
    if let (Query::Depth(market), 200..=299, true) = (query, status, is_json)
        && let Some(spec) = context.markets.iter().find(|spec| spec.id == *market)
        && let Some(depth) = decode::plain_depth(body, spec)
    {
        let time = depth.timestamp;
        return (Outcome::Reply(Reply::Depth(depth)), Some(time), None);
    }
    outcome(classify(status, is_json, body, |json| {
        decode::reply(query, json, context)
    }))
}

/// The outcome of a submit.
pub fn classify_submit(
    status: u16,
    is_json: bool,
    body: &[u8],
) -> (Outcome, Option<VenueTime>, Option<String>) {
    outcome(classify(status, is_json, body, decode::submitted))
}

/// The outcome of a join or an exit.
pub fn classify_move(
    status: u16,
    is_json: bool,
    body: &[u8],
) -> (Outcome, Option<VenueTime>, Option<String>) {
    outcome(classify(status, is_json, body, decode_pool::submission))
}

fn outcome(answer: ClassifiedAnswer<Reply>) -> (Outcome, Option<VenueTime>, Option<String>) {
    let (outcome, time) = match answer.result {
        Ok(reply) => {
            let time = match &reply {
                Reply::Depth(depth) => Some(depth.timestamp),
                Reply::Balances(_)
                | Reply::ChargedBalances(_)
                | Reply::Orders { .. }
                | Reply::OrdersUntil { .. }
                | Reply::Order(_)
                | Reply::Submitted { .. }
                | Reply::CancelTaken { .. }
                | Reply::Amended
                | Reply::Markets { .. }
                | Reply::Tokens(_)
                | Reply::Account { .. }
                | Reply::Pools(_)
                | Reply::PoolBalance(_)
                | Reply::PoolTransactions { .. } => None,
            };
            (Outcome::Reply(reply), time)
        }
        Err(NoAnswer::Refused(reason)) => (Outcome::Refused(reason), None),
        Err(NoAnswer::Unknown(cause)) => (Outcome::Unknown(cause), None),
    };
    (outcome, time, answer.detail)
}

/// Reads an answer. `is_json` is what its headers claim; a body that is not JSON by its headers is not read for a
/// success or a code.
pub(crate) fn classify<T>(
    status: u16,
    is_json: bool,
    body: &[u8],
    read: impl FnOnce(&Json) -> Result<T, WireError>,
) -> ClassifiedAnswer<T> {
    match status {
        200..=299 => success(is_json, body, read),
        300..=399 => silent(
            NoAnswer::Unknown(UnknownCause::Redirect),
            &format!("redirect {status} not followed"),
        ),
        // A 429 proves that the request was not processed, whichever server sent it.
        429 => silent(
            NoAnswer::Refused(Reason::RateLimited),
            &failure(is_json, body).message,
        ),
        400..=499 => {
            let failure = failure(is_json, body);
            match failure.reason {
                Some(reason) => silent(NoAnswer::Refused(reason), &failure.message),
                None => silent(
                    NoAnswer::Unknown(UnknownCause::Undecodable),
                    &format!(
                        "HTTP status {status} without a result code: {}",
                        failure.message
                    ),
                ),
            }
        }
        _ => {
            let failure = failure(is_json, body);
            match failure.reason {
                // The generic code and unlisted codes prove no more than the status does.
                None | Some(Reason::UnknownError | Reason::Unlisted(_)) => silent(
                    NoAnswer::Unknown(UnknownCause::ServerError),
                    &format!("status {status}: {}", failure.message),
                ),
                Some(reason) => silent(NoAnswer::Refused(reason), &failure.message),
            }
        }
    }
}

fn success<T>(
    is_json: bool,
    body: &[u8],
    read: impl FnOnce(&Json) -> Result<T, WireError>,
) -> ClassifiedAnswer<T> {
    let undecodable = |detail: &str| silent(NoAnswer::Unknown(UnknownCause::Undecodable), detail);
    if !is_json {
        return undecodable("the answer's Content-Type is not JSON");
    }
    let json = match decode::parse(body) {
        Ok(json) => json,
        Err(error) => return undecodable(&error.to_string()),
    };
    if let Some(failure) = Failure::in_success(&json) {
        return match failure.reason {
            Some(reason) => silent(NoAnswer::Refused(reason), &failure.message),
            None => undecodable(&format!("failure without a code: {}", failure.message)),
        };
    }
    match read(&json) {
        Ok(value) => ClassifiedAnswer {
            result: Ok(value),
            detail: None,
        },
        Err(error) => undecodable(&error.to_string()),
    }
}

fn failure(is_json: bool, body: &[u8]) -> Failure {
    let failure = Failure::read(body);
    if is_json {
        failure
    } else {
        Failure {
            reason: None,
            ..failure
        }
    }
}

fn silent<T>(no_answer: NoAnswer, detail: &str) -> ClassifiedAnswer<T> {
    ClassifiedAnswer {
        result: Err(no_answer),
        detail: (!detail.is_empty()).then(|| quoted_once(detail)),
    }
}

/// Bounds a text. Texts of the venue were escaped when they were decoded; our own need no escapes.
fn quoted_once(detail: &str) -> String {
    if detail.chars().any(char::is_control) {
        quoted(detail, DETAIL_MAX)
    } else {
        detail.chars().take(DETAIL_MAX).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use cambist_core::{MarketId, MarketSpec, Price, TokenId, TokenSpec};

    use super::*;

    const ACK: &[u8] =
        br#"{"hash":"0x1","clientOrderId":"a","status":"processing","isIdempotent":false}"#;

    fn submit(status: u16, body: &[u8]) -> Outcome {
        classify_submit(status, true, body).0
    }

    #[test]
    fn only_a_readable_success_is_a_success() {
        assert!(matches!(
            submit(200, ACK),
            Outcome::Reply(Reply::Submitted { .. })
        ));
        assert!(matches!(submit(201, ACK), Outcome::Reply(_)));
        let undecodable = Outcome::Unknown(UnknownCause::Undecodable);
        for body in [
            &ACK[..ACK.len() - 1],
            b"",
            b"[]",
            b"{}",
            b"null",
            b"<html>",
            b"7",
        ] {
            assert_eq!(submit(200, body), undecodable);
        }
        assert_eq!(classify_submit(200, false, ACK).0, undecodable);
        assert_eq!(submit(304, ACK), Outcome::Unknown(UnknownCause::Redirect));
        assert_eq!(submit(307, ACK), Outcome::Unknown(UnknownCause::Redirect));
    }

    #[test]
    fn codes_take_precedence_where_they_are_more_specific_than_the_status() {
        let body = |code: u32| format!(r#"{{"resultInfo":{{"code":{code},"message":"m"}}}}"#);
        let with = |status, code| submit(status, body(code).as_bytes());
        assert_eq!(
            with(400, 102_011),
            Outcome::Refused(Reason::InsufficientBalance)
        );
        assert_eq!(with(200, 102_007), Outcome::Refused(Reason::OrderExists));
        assert_eq!(with(401, 104_002), Outcome::Refused(Reason::InvalidApiKey));
        assert_eq!(with(400, 100_000), Outcome::Refused(Reason::UnknownError));
        assert_eq!(
            with(400, 102_999),
            Outcome::Refused(Reason::Unlisted(102_999))
        );
        assert_eq!(
            with(500, 100_000),
            Outcome::Unknown(UnknownCause::ServerError)
        );
        assert_eq!(
            with(503, 102_999),
            Outcome::Unknown(UnknownCause::ServerError)
        );
        assert_eq!(with(500, 102_027), Outcome::Refused(Reason::SubmitFailed));
        assert_eq!(with(429, 100_000), Outcome::Refused(Reason::RateLimited));
        assert_eq!(submit(429, b""), Outcome::Refused(Reason::RateLimited));
        assert_eq!(
            submit(404, b""),
            Outcome::Unknown(UnknownCause::Undecodable)
        );
        assert_eq!(
            submit(502, b"<html>bad gateway</html>"),
            Outcome::Unknown(UnknownCause::ServerError)
        );
        // A code in a page that is HTML by its headers is ignored.
        let page = classify_submit(400, false, body(102_001).as_bytes());
        assert_eq!(page.0, Outcome::Unknown(UnknownCause::Undecodable));
    }

    #[test]
    fn details_are_for_logs() {
        let long = format!(
            r#"{{"resultInfo":{{"code":102011,"message":"\u001b[2J{}"}}}}"#,
            "x".repeat(5_000)
        );
        let detail = classify_submit(400, true, long.as_bytes()).2.unwrap();
        assert_eq!(detail.chars().count(), 240);
        assert!(!detail.contains('\u{1b}'));
        assert!(detail.starts_with("\\u{1b}[2J"), "escaped once: {detail}");
        let of = |status, is_json, body: &str| classify_submit(status, is_json, body.as_bytes()).2;
        let refused = |message: &str| {
            let body = format!(r#"{{"resultInfo":{{"code":102011,"message":"{message}"}}}}"#);
            of(400, true, &body)
        };
        assert_eq!(refused("no funds").as_deref(), Some("no funds"));
        assert_eq!(refused(""), None, "an empty text is no detail");
        // Texts of the reader itself are escaped here.
        let control = quoted_once(&"\u{7}".repeat(500));
        assert_eq!(control.matches("\\u{7}").count(), 240);
        assert_eq!(quoted_once("a\u{7}b"), "a\\u{7}b");
        assert_eq!(
            of(200, false, "{}").as_deref(),
            Some("the answer's Content-Type is not JSON")
        );
        assert_eq!(
            of(302, true, "").as_deref(),
            Some("redirect 302 not followed")
        );
        assert_eq!(classify_submit(200, true, ACK).2, None);
    }

    fn market(id: u16, name: &str, decimals: u8) -> MarketSpec {
        let token = |id| TokenSpec {
            id: TokenId(id),
            symbol: format!("T{id}"),
            decimals: 18,
            precision: 6,
            minimum: 1,
            maximum: 1 << 90,
            dust: 0,
            enabled: true,
        };
        MarketSpec::new(MarketId(id), name, token(2), token(3), decimals, true).unwrap()
    }

    /// The fast reader and the one that names what is wrong agree, for the market that was asked for.
    #[test]
    fn a_depth_is_read_in_the_units_of_the_market_that_was_asked_for() {
        let markets = [market(4, "ONE-TWO", 2), market(7, "SIX-TEN", 3)];
        let context = Context {
            markets: &markets,
            pools: &[],
            account_id: 4711,
        };
        let read = |id, is_json, status, body: &str| {
            let query = Query::Depth(MarketId(id));
            classify_query(&query, status, is_json, body.as_bytes(), context)
        };
        let levels = r#""bids":[["25.5","1000","25500","1"]],"asks":[["25.6","5","128","2"]]"#;
        for (fields, has_name) in [
            (r#""version":7,"timestamp":1700000000123,"#, false),
            (
                r#""version":7,"timestamp":1700000000123,"market":"SIX-TEN","#,
                true,
            ),
            // Unknown to the fast reader.
            (r#""version":7,"other":1,"timestamp":1700000000123,"#, false),
        ] {
            let body = format!("{{{fields}{levels}}}");
            for (id, price) in [(4, 2_550), (7, 25_500)] {
                let (outcome, time, detail) = read(id, true, 200, &body);
                if has_name && id == 4 {
                    assert_eq!(outcome, Outcome::Unknown(UnknownCause::Undecodable));
                    continue;
                }
                let Outcome::Reply(Reply::Depth(depth)) = outcome else {
                    panic!("{outcome:?} {detail:?}");
                };
                assert_eq!(
                    (depth.market, depth.bids[0].price),
                    (MarketId(id), Price(price))
                );
                assert_eq!((time, detail), (Some(VenueTime(1_700_000_000_123)), None));
            }
            // The same bytes behind another status or type are no depth.
            for (is_json, status) in [(false, 200), (true, 300), (true, 500)] {
                let (outcome, time, _) = read(7, is_json, status, &body);
                assert!(
                    matches!(outcome, Outcome::Unknown(_)),
                    "{status}: {outcome:?}"
                );
                assert_eq!(time, None);
            }
        }
    }
}
