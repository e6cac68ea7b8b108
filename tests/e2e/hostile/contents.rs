//! Well-formed HTTP answers with wrong content: types, numbers, books and lists that are false.

use serde_json::{Value, json};

use super::table::{
    ANSWERED, ANY, LOST, Scenario, USUAL, depths, instead, lists, reads, small_pages, submits,
};
use crate::support::Fault;

/// Changes the JSON of a body; what is no JSON stays.
fn change(body: &str, with: impl FnOnce(&mut Value)) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(body) else {
        return body.to_owned();
    };
    with(&mut value);
    value.to_string()
}

fn orders(value: &mut Value) -> Option<&mut Vec<Value>> {
    value.get_mut("orders")?.as_array_mut()
}

pub const NONSENSE: [Scenario; 7] = [
    Scenario {
        name: "wrong-types",
        fault: |_| Fault::Mangle(|body| body.replace("\":\"", "\":[\"").replace("\",", "\"],")),
        ..USUAL
    },
    Scenario {
        name: "huge-numbers",
        fault: |_| {
            Fault::Mangle(|body| body.replace('1', "99999999999999999999999999999999999999999"))
        },
        spoiled: reads,
        ..USUAL
    },
    Scenario {
        name: "negative-numbers",
        fault: |_| Fault::Mangle(|body| body.replace("\":\"1", "\":\"-1")),
        spoiled: reads,
        counted: ANY,
        ..USUAL
    },
    Scenario {
        name: "deep-nesting",
        fault: |_| instead(true, "200 OK", "application/json", "", &"[".repeat(200_000)),
        ..USUAL
    },
    Scenario {
        name: "not-utf-8",
        fault: |_| {
            Fault::Edit(|answer| {
                let body = [answer.body.as_slice(), b"\xff\xfe"].concat();
                answer.put_body(body);
            })
        },
        ..USUAL
    },
    Scenario {
        name: "list-instead-of-object",
        fault: |_| Fault::Mangle(|body| format!("[{body}]")),
        ..USUAL
    },
    Scenario {
        name: "success-and-failure-at-once",
        fault: |_| {
            Fault::Mangle(|body| {
                change(body, |value| {
                    value["resultInfo"] = json!({"code": 100_000, "message": "unknown error"});
                })
            })
        },
        spoiled: submits,
        counted: ANY,
        ..USUAL
    },
];

pub const BOOKS: [Scenario; 5] = [
    Scenario {
        name: "crossed-depth",
        fault: |_| {
            Fault::Mangle(|body| {
                change(body, |value| {
                    let bids = value["bids"].take();
                    value["bids"] = value["asks"].take();
                    value["asks"] = bids;
                })
            })
        },
        spoiled: depths,
        counted: ANSWERED,
        ..USUAL
    },
    Scenario {
        name: "empty-depth",
        fault: |_| {
            Fault::Mangle(|body| {
                change(body, |value| {
                    value["bids"] = json!([]);
                    value["asks"] = json!([]);
                })
            })
        },
        spoiled: depths,
        counted: ANSWERED,
        ..USUAL
    },
    Scenario {
        // The same book in every answer, with an advancing time.
        name: "frozen-depth-fresh-time",
        fault: |_| {
            Fault::Mangle(|body| {
                change(body, |value| {
                    value["version"] = json!(1);
                })
            })
        },
        spoiled: depths,
        counted: ANSWERED,
        ..USUAL
    },
    Scenario {
        name: "depth-of-the-future",
        fault: |_| {
            Fault::Mangle(|body| {
                change(body, |value| {
                    value["timestamp"] = json!(4_102_444_800_000_u64);
                })
            })
        },
        spoiled: depths,
        counted: ANSWERED,
        ..USUAL
    },
    Scenario {
        name: "depth-of-another-market",
        fault: |_| Fault::Mangle(|body| body.replace("ETH-USDC", "BTC-USDC")),
        spoiled: depths,
        counted: ANY,
        ..USUAL
    },
];

pub const LISTS: [Scenario; 7] = [
    Scenario {
        name: "other-lists",
        fault: |_| {
            Fault::Mangle(|body| {
                // An incomplete list that claims to be complete proves nothing it does not show.
                body.replace("\"totalNum\":", "\"total\":")
                    .replace("\"orders\":[", "\"orderz\":[")
            })
        },
        spoiled: reads,
        counted: LOST,
        ..USUAL
    },
    Scenario {
        name: "empty-lists",
        fault: |_| {
            instead(
                true,
                "200 OK",
                "application/json",
                "",
                r#"{"totalNum":0,"orders":[]}"#,
            )
        },
        spoiled: |seen| seen.is_read_of("orders") && seen.nth.is_multiple_of(2),
        counted: ANSWERED,
        ..USUAL
    },
    Scenario {
        name: "lists-that-omit",
        fault: |_| {
            Fault::Mangle(|body| {
                change(body, |value| {
                    let gone = orders(value).map_or(0, |orders| {
                        let before = orders.len();
                        orders.truncate(before.saturating_sub(1));
                        before - orders.len()
                    });
                    let total = value["totalNum"].as_u64().unwrap_or(0);
                    value["totalNum"] = json!(total.saturating_sub(gone as u64));
                })
            })
        },
        spoiled: lists,
        counted: ANSWERED,
        ..USUAL
    },
    Scenario {
        name: "lists-that-repeat",
        fault: |_| {
            Fault::Mangle(|body| {
                change(body, |value| {
                    if let Some(orders) = orders(value)
                        && let Some(first) = orders.first().cloned()
                        && let Some(last) = orders.last_mut()
                    {
                        *last = first;
                    }
                })
            })
        },
        spoiled: lists,
        counted: ANSWERED,
        edit: small_pages,
    },
    Scenario {
        name: "lists-in-small-pages-lost",
        fault: |_| Fault::LoseAnswer,
        spoiled: lists,
        counted: LOST,
        edit: small_pages,
    },
    Scenario {
        name: "totals-that-lie",
        fault: |_| {
            Fault::Mangle(|body| {
                change(body, |value| {
                    value["totalNum"] = json!(value["totalNum"].as_u64().unwrap_or(0) / 2);
                })
            })
        },
        spoiled: lists,
        counted: ANSWERED,
        edit: small_pages,
    },
    Scenario {
        name: "states-unheard-of",
        fault: |_| {
            Fault::Mangle(|body| {
                body.replace("\"processing\"", "\"pondering\"")
                    .replace("\"cancelled\"", "\"canceled?\"")
            })
        },
        spoiled: lists,
        counted: ANY,
        ..USUAL
    },
];
