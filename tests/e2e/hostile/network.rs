//! Messages that are lost, late, repeated, cut, or end in a reset.

use std::time::Duration;

use super::table::{ANSWERED, ANY, LOST, Scenario, USUAL, every_third, reads, submits, writes};
use crate::support::faults::head_length;
use crate::support::{After, Fault};

pub const LOST_AND_LATE: [Scenario; 12] = [
    Scenario {
        name: "answer-lost",
        fault: |_| Fault::LoseAnswer,
        spoiled: writes,
        ..USUAL
    },
    Scenario {
        name: "answer-held",
        fault: |_| Fault::HoldAnswer,
        spoiled: submits,
        ..USUAL
    },
    Scenario {
        name: "request-lost",
        fault: |_| Fault::LoseRequest,
        spoiled: writes,
        ..USUAL
    },
    Scenario {
        name: "request-held",
        fault: |_| Fault::HoldRequest,
        spoiled: submits,
        ..USUAL
    },
    Scenario {
        name: "request-reset",
        fault: |_| Fault::Reset,
        spoiled: every_third,
        ..USUAL
    },
    Scenario {
        name: "request-late",
        fault: |_| Fault::Late(Duration::from_millis(900)),
        spoiled: submits,
        ..USUAL
    },
    Scenario {
        name: "request-very-late",
        fault: |_| Fault::Late(Duration::from_millis(4_500)),
        spoiled: submits,
        ..USUAL
    },
    Scenario {
        name: "cancel-late",
        fault: |_| Fault::Late(Duration::from_millis(900)),
        spoiled: |seen| seen.is_cancel() && seen.nth.is_multiple_of(2),
        ..USUAL
    },
    Scenario {
        // Later than the request's time limit: it must not be taken for the answer to the next request.
        name: "answer-after-the-timeout",
        fault: |_| Fault::Slow(Duration::from_millis(1_100)),
        spoiled: every_third,
        ..USUAL
    },
    Scenario {
        name: "slow-but-in-time",
        fault: |_| Fault::Slow(Duration::from_millis(400)),
        spoiled: every_third,
        counted: ANSWERED,
        ..USUAL
    },
    Scenario {
        name: "delivered-twice",
        fault: |_| Fault::Twice,
        spoiled: writes,
        counted: ANSWERED,
        ..USUAL
    },
    Scenario {
        name: "delivered-twice-first-answer",
        fault: |_| Fault::TwiceFirst,
        spoiled: writes,
        counted: ANSWERED,
        ..USUAL
    },
];

/// The first half of the head.
fn half_a_head(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(head_length(&bytes) / 2);
    bytes
}

/// The head and half of the body.
fn half_a_body(mut bytes: Vec<u8>) -> Vec<u8> {
    let head = head_length(&bytes);
    bytes.truncate(head + (bytes.len() - head) / 2);
    bytes
}

fn all_but_a_byte(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.pop();
    bytes
}

fn status_line_only(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(9);
    bytes
}

/// An unrequested second answer before the next one on the same connection.
fn with_a_ghost(bytes: Vec<u8>) -> Vec<u8> {
    [bytes.clone(), bytes].concat()
}

pub const CUT: [Scenario; 10] = [
    Scenario {
        name: "truncated",
        fault: |_| Fault::Truncate,
        ..USUAL
    },
    Scenario {
        name: "cut-in-the-status",
        fault: |_| Fault::Bytes(status_line_only, After::Closed),
        ..USUAL
    },
    Scenario {
        name: "cut-in-the-head",
        fault: |_| Fault::Bytes(half_a_head, After::Closed),
        ..USUAL
    },
    Scenario {
        name: "reset-in-the-head",
        fault: |_| Fault::Bytes(half_a_head, After::Reset),
        ..USUAL
    },
    Scenario {
        name: "reset-in-the-body",
        fault: |_| Fault::Bytes(half_a_body, After::Reset),
        ..USUAL
    },
    Scenario {
        name: "held-in-the-body",
        fault: |_| Fault::Bytes(half_a_body, After::Held),
        spoiled: writes,
        ..USUAL
    },
    Scenario {
        name: "one-byte-short",
        fault: |_| Fault::Bytes(all_but_a_byte, After::Closed),
        ..USUAL
    },
    Scenario {
        name: "connection-not-kept",
        fault: |_| Fault::Bytes(|bytes| bytes, After::Closed),
        spoiled: |_| true,
        counted: ANY,
        ..USUAL
    },
    Scenario {
        name: "ghost-answer",
        fault: |_| Fault::Bytes(with_a_ghost, After::Kept),
        counted: ANY,
        ..USUAL
    },
    Scenario {
        name: "slow-drip",
        fault: |_| Fault::Drip,
        spoiled: writes,
        counted: LOST,
        ..USUAL
    },
];

/// In this module because it concerns bytes: bodies that do not end, or end elsewhere than they state.
pub const LENGTHS: [Scenario; 6] = [
    Scenario {
        name: "endless-body",
        fault: |_| Fault::Endless,
        ..USUAL
    },
    Scenario {
        name: "length-too-large",
        fault: |_| {
            Fault::Edit(|answer| {
                let length = (answer.body.len() + 7).to_string();
                answer.set("content-length", &length);
            })
        },
        spoiled: reads,
        ..USUAL
    },
    Scenario {
        name: "length-too-small",
        fault: |_| {
            Fault::Edit(|answer| {
                let length = (answer.body.len() / 2).to_string();
                answer.set("content-length", &length);
            })
        },
        ..USUAL
    },
    Scenario {
        name: "two-lengths",
        fault: |_| Fault::Edit(|answer| answer.head.push("Content-Length: 3".to_owned())),
        ..USUAL
    },
    Scenario {
        name: "chunks-that-are-none",
        fault: |_| {
            Fault::Edit(|answer| {
                answer.set("content-length", "");
                answer.set("transfer-encoding", "chunked");
            })
        },
        ..USUAL
    },
    Scenario {
        name: "head-of-a-megabyte",
        fault: |_| {
            Fault::Edit(|answer| {
                answer
                    .head
                    .push(format!("X-Filler: {}", "x".repeat(1 << 20)));
            })
        },
        ..USUAL
    },
];
