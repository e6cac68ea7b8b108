//! Faults of intermediaries that answer for the exchange: gateways, limiters, redirects, caches, clocks.

use super::table::{
    ANSWERED, ANY, GATEWAY, HTML, JSON, LOST, Scenario, USUAL, depths, every_third, instead, reads,
    submits, writes,
};
use crate::support::{Fault, Other};

const TOO_MANY: &str = r#"{"resultInfo":{"code":429,"message":"too many requests"}}"#;

/// As often as not the request was handed over.
fn status(nth: u64, status: &str, kind: &str, body: &str) -> Fault {
    instead(nth.is_multiple_of(4), status, kind, "", body)
}

pub const ERRORS: [Scenario; 11] = [
    Scenario {
        name: "gateway-502",
        fault: |seen| status(seen.nth, "502 Bad Gateway", HTML, GATEWAY),
        ..USUAL
    },
    Scenario {
        name: "internal-500",
        fault: |_| instead(true, "500 Internal Server Error", HTML, "", GATEWAY),
        ..USUAL
    },
    Scenario {
        name: "maintenance-503",
        fault: |seen| status(seen.nth, "503 Unavailable", JSON, "{}"),
        ..USUAL
    },
    Scenario {
        name: "gateway-timeout-504",
        fault: |_| {
            instead(
                true,
                "504 Gateway Timeout",
                HTML,
                "Retry-After: 1\r\n",
                GATEWAY,
            )
        },
        spoiled: writes,
        ..USUAL
    },
    Scenario {
        name: "forbidden-403",
        fault: |_| instead(false, "403 Forbidden", HTML, "", GATEWAY),
        ..USUAL
    },
    Scenario {
        name: "not-found-404",
        fault: |_| instead(true, "404 Not Found", HTML, "", GATEWAY),
        spoiled: writes,
        ..USUAL
    },
    Scenario {
        name: "html-200",
        fault: |_| instead(true, "200 OK", HTML, "", GATEWAY),
        spoiled: writes,
        ..USUAL
    },
    Scenario {
        name: "empty-204",
        fault: |_| Fault::Instead {
            handed_over: true,
            answer: b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        },
        ..USUAL
    },
    Scenario {
        name: "unknown-error",
        fault: |_| {
            let body = r#"{"resultInfo":{"code":100000,"message":"unknown error"}}"#;
            instead(true, "400 Bad Request", JSON, "", body)
        },
        spoiled: writes,
        counted: ANSWERED,
        ..USUAL
    },
    Scenario {
        // A refusal that a delivered copy could have caused, for accepted orders.
        name: "refused-although-taken",
        fault: |_| {
            let body = r#"{"resultInfo":{"code":102011,"message":"insufficient balance"}}"#;
            instead(true, "400 Bad Request", JSON, "", body)
        },
        spoiled: submits,
        counted: &["reject"],
        ..USUAL
    },
    Scenario {
        // What a cancel finds nothing of may still rest.
        name: "nothing-to-cancel",
        fault: |_| {
            let body = r#"{"resultInfo":{"code":102117,"message":"no order to cancel"}}"#;
            instead(false, "400 Bad Request", JSON, "", body)
        },
        spoiled: |seen| seen.is_cancel() && seen.nth.is_multiple_of(2),
        counted: &["reject"],
        ..USUAL
    },
];

fn limited(more: &str) -> Fault {
    instead(false, "429 Too Many Requests", JSON, more, TOO_MANY)
}

const LIMITED: &[&str] = &["rate_limited"];

pub const LIMITS: [Scenario; 5] = [
    Scenario {
        name: "too-many",
        fault: |_| limited("Retry-After: 1\r\n"),
        counted: LIMITED,
        ..USUAL
    },
    Scenario {
        name: "too-many-without-a-time",
        fault: |_| limited(""),
        counted: LIMITED,
        ..USUAL
    },
    Scenario {
        name: "too-many-nonsense-times",
        fault: |seen| {
            limited(match seen.nth % 4 {
                0 => "Retry-After: -1\r\n",
                1 => "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n",
                2 => "Retry-After: 99999999999999999999999\r\n",
                _ => "Retry-After: 0\r\nRetry-After: soon\r\n",
            })
        },
        // Not the reads: a wait of any length may be obeyed, and other endpoints continue.
        spoiled: |seen| every_third(seen) && seen.nth % 4 != 2,
        counted: LIMITED,
        ..USUAL
    },
    Scenario {
        name: "too-many-in-html",
        fault: |_| instead(false, "429 Too Many Requests", HTML, "", GATEWAY),
        counted: LIMITED,
        ..USUAL
    },
    Scenario {
        name: "too-many-although-taken",
        fault: |_| instead(true, "429 Too Many Requests", JSON, "", TOO_MANY),
        spoiled: submits,
        counted: LIMITED,
        ..USUAL
    },
];

pub const ELSEWHERE: [Scenario; 4] = [
    Scenario {
        name: "redirect-307",
        fault: |_| redirect("307 Temporary Redirect", "http://127.0.0.1:9/"),
        ..USUAL
    },
    Scenario {
        name: "redirect-308",
        fault: |_| {
            redirect(
                "308 Permanent Redirect",
                "https://example.invalid/api/v3/order",
            )
        },
        ..USUAL
    },
    Scenario {
        // Followed, it would be the same order once more.
        name: "redirect-to-itself",
        fault: |_| redirect("307 Temporary Redirect", "/api/v3/order"),
        spoiled: writes,
        ..USUAL
    },
    Scenario {
        name: "redirect-in-a-circle",
        fault: |_| redirect("302 Found", "/api/v3/orders"),
        spoiled: reads,
        ..USUAL
    },
];

fn redirect(status: &str, to: &str) -> Fault {
    instead(false, status, JSON, &format!("Location: {to}\r\n"), "")
}

pub const CACHES: [Scenario; 7] = [
    Scenario {
        // The book as it was, with the time as it was.
        name: "old-depth",
        fault: |_| Fault::Another(Other::First),
        spoiled: depths,
        counted: ANSWERED,
        ..USUAL
    },
    Scenario {
        name: "old-reads",
        fault: |_| Fault::Another(Other::First),
        spoiled: reads,
        counted: ANSWERED,
        ..USUAL
    },
    Scenario {
        name: "answers-to-others",
        fault: |_| Fault::Another(Other::Elses),
        spoiled: reads,
        counted: ANY,
        ..USUAL
    },
    Scenario {
        name: "gzip",
        fault: |_| {
            Fault::Edit(|answer| {
                answer.set("content-encoding", "gzip");
                answer.put_body(GZIP);
            })
        },
        ..USUAL
    },
    Scenario {
        name: "clock-an-hour-ahead-or-behind",
        fault: |seen| {
            if seen.nth.is_multiple_of(2) {
                Fault::Edit(|answer| answer.set("date", "Fri, 01 Jan 2100 00:00:00 GMT"))
            } else {
                Fault::Edit(|answer| answer.set("date", "Thu, 01 Jan 1970 00:00:00 GMT"))
            }
        },
        counted: ANSWERED,
        ..USUAL
    },
    Scenario {
        name: "clock-nonsense",
        fault: |seen| {
            if seen.nth.is_multiple_of(2) {
                Fault::Edit(|answer| answer.set("date", "yesterday"))
            } else {
                Fault::Edit(|answer| answer.set("date", ""))
            }
        },
        counted: ANSWERED,
        ..USUAL
    },
    Scenario {
        // A cache reports the age of its entries.
        name: "aged-answers",
        fault: |_| Fault::Edit(|answer| answer.set("age", "86400")),
        spoiled: reads,
        counted: ANSWERED,
        ..USUAL
    },
];

/// `{}` compressed.
const GZIP: [u8; 22] = [
    0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 0xff, 0xab, 0xae, 0x05, 0, 0x43, 0xbf, 0xa6, 0xa3, 2, 0, 0,
    0,
];

/// Answers that a gateway made up from nothing.
pub const EMPTY: [Scenario; 3] = [
    Scenario {
        name: "empty-200",
        fault: |_| instead(true, "200 OK", JSON, "", ""),
        counted: LOST,
        ..USUAL
    },
    Scenario {
        name: "null",
        fault: |_| instead(true, "200 OK", JSON, "", "null"),
        counted: LOST,
        ..USUAL
    },
    Scenario {
        name: "no-http",
        fault: |_| Fault::Instead {
            handed_over: true,
            answer: b"SSH-2.0-OpenSSH_9.6\r\n".to_vec(),
        },
        counted: LOST,
        ..USUAL
    },
];
