//! The auditor must accept a correct run, and find each deviation.

use std::path::Path;
use std::time::Duration;

use cambist_core::Side;
use rusqlite::Connection;

use crate::kraken_daemon::stage::{on_kraken, quotes, usual};
use crate::support::audit::{audit, export};
use crate::support::process::run;
use crate::support::stage::{lively, with_pool};
use crate::support::{Folder, Stage, until};

const SOON: Duration = Duration::from_secs(40);

/// Name, statements that change the store, a change of the exchange's lines, words of a finding.
type Case = (
    &'static str,
    &'static str,
    fn(Vec<String>) -> Vec<String>,
    &'static str,
);

fn as_it_is(lines: Vec<String>) -> Vec<String> {
    lines
}

/// Changes the lines that contain `mark`.
fn changed(lines: Vec<String>, mark: &str, change: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    let mut done = false;
    lines
        .into_iter()
        .flat_map(|line| {
            if !done && line.contains(mark) {
                done = true;
                change(&line)
            } else {
                vec![line]
            }
        })
        .collect()
}

/// Changes every line that contains `mark`.
fn all_changed(lines: Vec<String>, mark: &str, change: impl Fn(&str) -> String) -> Vec<String> {
    let lines = lines.into_iter();
    let change = |line: String| {
        if line.contains(mark) {
            change(&line)
        } else {
            line
        }
    };
    lines.map(change).collect()
}

/// An order that was filled, with its end as a fill.
const FILLED: &str =
    "(SELECT number FROM ends JOIN intents USING (number) WHERE end = 'filled' LIMIT 1)";
/// A join that was settled.
const JOINED: &str =
    "(SELECT number FROM ends JOIN moves USING (number) WHERE end = 'filled' LIMIT 1)";

/// Errors in the store.
fn in_the_store() -> Vec<Case> {
    vec![
        (
            "an explained deposit was never made",
            "INSERT INTO flows VALUES (1, 0, 'ETH', '5', 'a gift', 1, x'00')",
            as_it_is,
            "token 0: 5 more were explained than came",
        ),
        (
            "what left was explained, and nothing did",
            "INSERT INTO flows VALUES (1, 1, 'USDC', '-7', 'rent', 1, x'00')",
            as_it_is,
            "token 1: 7 more were explained than went",
        ),
        (
            "a flow without a reason",
            "INSERT INTO flows VALUES (1, 0, 'ETH', '5', ' ', 1, x'00')",
            as_it_is,
            "flow 1 has no reason",
        ),
        (
            "an intent is missing",
            "DELETE FROM intents WHERE number = FILLED",
            as_it_is,
            "is no intent here",
        ),
        (
            "another amount was signed",
            "UPDATE intents SET sell_amount = sell_amount || '0' WHERE number = FILLED",
            as_it_is,
            "other terms than the intent",
        ),
        (
            "a fill is booked twice",
            "INSERT INTO fills SELECT (SELECT max(id) + 1 FROM fills), number, market, side, base, quote,
             fee, mid, at_us, sum, strategy FROM fills WHERE number = FILLED LIMIT 1",
            as_it_is,
            "fills make",
        ),
        (
            "a fill is booked with a unit less",
            "UPDATE fills SET base = cast(cast(base AS INTEGER) - 1 AS TEXT) WHERE id =
             (SELECT max(id) FROM fills WHERE number = FILLED)",
            as_it_is,
            "fills make",
        ),
        (
            "an end is another",
            "UPDATE ends SET end = 'cancelled' WHERE number = FILLED",
            as_it_is,
            "ended as cancelled here and is processed there",
        ),
        (
            "an end is a conclusion that was wrong",
            "UPDATE ends SET end = 'fenced' WHERE number = FILLED",
            as_it_is,
            "ended as fenced here",
        ),
        (
            "an end is missing",
            "DELETE FROM ends WHERE number = FILLED",
            as_it_is,
            "has no end",
        ),
        (
            "a storage id is used twice",
            "UPDATE intents SET storage_id = (SELECT storage_id FROM intents AS other WHERE
             other.sell_token = intents.sell_token AND other.number < intents.number LIMIT 1)
             WHERE number = (SELECT max(later.number) FROM intents AS later JOIN intents AS other
             ON other.sell_token = later.sell_token AND other.number < later.number)",
            as_it_is,
            "share storage id",
        ),
        (
            "it was over before it traded",
            "UPDATE ends SET at_us = at_us - 3600000000 WHERE number = FILLED",
            as_it_is,
            "after its end",
        ),
    ]
}

/// Errors of a join in the store.
fn in_the_store_of_moves() -> Vec<Case> {
    vec![
        (
            "a join is missing",
            "DELETE FROM moves WHERE number = JOINED",
            as_it_is,
            "is no intent here",
        ),
        (
            "a join's end is missing",
            "DELETE FROM ends WHERE number = JOINED",
            as_it_is,
            "has no end",
        ),
        (
            "a join's end is a conclusion that was wrong",
            "UPDATE ends SET end = 'fenced' WHERE number = JOINED",
            as_it_is,
            "ended as fenced, and is settled",
        ),
        (
            "a join is booked with a share less",
            "UPDATE moved SET lp = cast(cast(lp AS INTEGER) - 1 AS TEXT) WHERE number = JOINED",
            as_it_is,
            "moved [",
        ),
        (
            "a join's fee is booked as another",
            "UPDATE moved SET fee = cast(cast(fee AS INTEGER) + 1 AS TEXT) WHERE number = JOINED",
            as_it_is,
            "moved [",
        ),
        (
            "a join is not booked",
            "DELETE FROM moved WHERE number = JOINED",
            as_it_is,
            "its amounts are not booked",
        ),
        (
            "a join has the storage ids of orders",
            "UPDATE moves SET storage_ids = '2,2' WHERE number = JOINED",
            as_it_is,
            "are not odd",
        ),
        (
            "a join has other storage ids than its bytes",
            "UPDATE moves SET storage_ids = '16001,16001' WHERE number = JOINED",
            as_it_is,
            "has other storage ids",
        ),
    ]
}

/// Errors of a join at the exchange.
fn joins_at_the_exchange() -> Vec<Case> {
    vec![
        (
            "a join that was not sealed",
            "",
            |lines| {
                changed(lines, "\"what\":\"join\"", |line| {
                    let other = line.replace("\"hash\":\"0x", "\"hash\":\"0xff");
                    vec![line.to_owned(), other]
                })
            },
            "is no intent here",
        ),
        (
            "the exchange has forgotten a join",
            "",
            |lines| changed(lines, "\"line\":\"pool_transaction\"", |_| Vec::new()),
            "does not list it",
        ),
        (
            "a join was done twice",
            "",
            |lines| {
                changed(lines, "\"line\":\"pool_transaction\"", |line| {
                    vec![line.to_owned(), line.to_owned()]
                })
            },
            "is listed 2 times",
        ),
        (
            "a join was not done",
            "",
            |lines| {
                changed(lines, "\"line\":\"pool_transaction\"", |line| {
                    vec![line.replace("\"settled\":true", "\"settled\":false")]
                })
            },
            "is settled here and not there",
        ),
        (
            "every request to join was too many, and it was done",
            "",
            |lines| all_changed(lines, "\"what\":\"join\"", too_many),
            "was never taken",
        ),
    ]
}

/// The request was answered with 429.
fn too_many(line: &str) -> String {
    line.replace("\"taken\":true", "\"taken\":false")
        .replace("\"reason\":null", "\"reason\":\"RateLimited\"")
}

/// Errors at the exchange.
fn at_the_exchange() -> Vec<Case> {
    vec![
        (
            "the exchange holds a unit more",
            "",
            |lines| {
                changed(lines, "\"closing_balance\"", |line| {
                    vec![line.replace("\"total\":\"", "\"total\":\"1")]
                })
            },
            "recomputed",
        ),
        (
            "the exchange has forgotten an order",
            "",
            |lines| changed(lines, "\"line\":\"order\"", |_| Vec::new()),
            "does not list it",
        ),
        (
            "an order of ours that was not sealed",
            "",
            |lines| {
                changed(lines, "\"what\":\"submit\"", |line| {
                    let other = line.replace("\"hash\":\"0x", "\"hash\":\"0xff");
                    vec![line.to_owned(), other]
                })
            },
            "is no intent here",
        ),
        (
            "bytes that were taken twice",
            "",
            |lines| {
                changed(lines, "\"what\":\"submit\"", |line| {
                    vec![line.to_owned(), line.to_owned()]
                })
            },
            "was taken 2 times",
        ),
        (
            "a trade is missing",
            "",
            |lines| changed(lines, "\"line\":\"trade\"", |_| Vec::new()),
            "single trades make",
        ),
        (
            "every submit was one too many, and orders are there",
            "",
            |lines| all_changed(lines, "\"what\":\"submit\"", too_many),
            "was never taken",
        ),
        (
            "one too many was taken for a refusal of the order",
            "UPDATE ends SET end = 'rejected' WHERE number = FILLED",
            |lines| {
                let lines = all_changed(lines, "\"what\":\"submit\"", too_many);
                let lines = lines.into_iter();
                let others = lines.filter(|line| !line.contains("\"line\":\"order\""));
                others.collect()
            },
            "though RateLimited proves nothing",
        ),
        (
            "something rests",
            "",
            |lines| {
                changed(lines, "\"line\":\"order\"", |line| {
                    vec![line.replace("\"open\":false", "\"open\":true")]
                })
            },
            "still rests",
        ),
        (
            "the export was cut",
            "",
            |mut lines| {
                lines.pop();
                lines
            },
            "no end",
        ),
    ]
}

#[test]
fn the_auditor_agrees_and_finds_what_is_wrong() {
    let mut stage = Stage::open_kept("auditor", lively);
    stage.daemon("daemon", &stage.url(), with_pool);
    let mut daemon = stage.run("daemon");
    stage.metrics("daemon", &mut daemon);
    until(SOON, "filled orders and shares", || {
        let filled = |o: &&cambist_core::order::OrderReport| o.base_filled == o.base_amount;
        let books = stage.books();
        let shares = books.totals.contains_key("LP-ETH-USDC");
        (shares && books.orders.iter().filter(filled).count() >= 2).then_some(())
    });
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert_eq!(stage.venue.drain(SOON), 0);
    let venue = export(stage.folder.path());
    let data = stage.path("venue-data").display().to_string();
    let unknown = ["venue", "export", "--data", &data, "--account", "9"];
    let (code, printed, log) = run(stage.folder.path(), "unknown", &unknown, SOON);
    assert_eq!((code, printed.as_str()), (1, ""));
    assert!(log.contains("has no account 9"), "{log}");
    let state = stage.path("daemon-state");
    assert_agrees_and_finds(
        &state,
        &venue,
        [
            in_the_store(),
            in_the_store_of_moves(),
            at_the_exchange(),
            joins_at_the_exchange(),
        ],
    );
}

/// Errors that only orders of Kraken's interface can have.
fn at_kraken() -> Vec<Case> {
    vec![
        (
            "a fee was taken from what was bought",
            "",
            |lines| {
                all_changed(lines, "\"side\":\"buy\"", |line| {
                    line.replace("\"fee_token\":1", "\"fee_token\":0")
                })
            },
            "recomputed",
        ),
        (
            "an order of ours that was not sealed",
            "",
            |lines| {
                changed(lines, "\"what\":\"submit\"", |line| {
                    let other = line.replace("-8000-", "-8001-");
                    vec![line.to_owned(), other]
                })
            },
            "is no intent here",
        ),
        (
            "another volume was ordered",
            "",
            |lines| {
                changed(lines, "\"what\":\"submit\"", |line| {
                    vec![line.replace("\"volume\":\"", "\"volume\":\"1")]
                })
            },
            "has other terms than the intent",
        ),
        (
            "it rests until another time",
            "UPDATE intents SET rests_until_s = rests_until_s + 1 WHERE number = FILLED",
            as_it_is,
            "has other terms than the intent",
        ),
        (
            "an order has another price",
            "",
            |lines| {
                changed(lines, "\"line\":\"order\"", |line| {
                    vec![line.replace("\"quote_amount\":\"", "\"quote_amount\":\"1")]
                })
            },
            "is listed with other terms",
        ),
        (
            "a nonce was taken twice",
            "",
            |lines| {
                changed(lines, "\"what\":\"submit\"", |line| {
                    vec![line.to_owned(), line.to_owned()]
                })
            },
            "was taken with nonce",
        ),
        (
            "what was explained is of no token that is there",
            "INSERT INTO flows VALUES (1, 0, 'XYZ', '5', 'a gift', 1, x'00')",
            as_it_is,
            "which the exchange does not have",
        ),
    ]
}

#[test]
fn the_auditor_agrees_and_finds_what_is_wrong_at_kraken() {
    let mut stage = usual("auditor-kraken");
    stage.daemon("daemon", &stage.url(), on_kraken);
    let mut daemon = stage.run("daemon");
    quotes(&stage, &mut daemon);
    until(SOON * 2, "filled orders, of which one bought", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let books = stage.books();
        let filled: Vec<_> = books
            .orders
            .iter()
            .filter(|order| order.base_filled == order.base_amount)
            .collect();
        let bought = filled.iter().any(|order| order.side == Side::Buy);
        // Of three orders two sell the same token.
        (filled.len() >= 2 && bought && books.orders.len() >= 3).then_some(())
    });
    assert_eq!(daemon.drain(SOON * 2), 0, "{}", daemon.last_words());
    assert_eq!(stage.venue.drain(SOON), 0);
    let venue = export(stage.folder.path());
    let state = stage.path("daemon-state");
    assert_agrees_and_finds(&state, &venue, [in_the_store(), at_kraken()]);
}

/// Both sides agree as they are, and every case is found.
fn assert_agrees_and_finds<const N: usize>(state: &Path, venue: &Path, cases: [Vec<Case>; N]) {
    let Some(good) = audit(state, venue, &["--final"]) else {
        return;
    };
    let text = String::from_utf8_lossy(&good.stdout).into_owned();
    assert!(good.status.success(), "{text}");
    assert!(
        text.contains("all agree") && !text.starts_with('0'),
        "{text}"
    );
    let lines: Vec<String> = std::fs::read_to_string(venue)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    for (name, sql, change, words) in cases.into_iter().flatten() {
        let sql = sql.replace("FILLED", FILLED).replace("JOINED", JOINED);
        let folder = Folder::new("tampered");
        tamper(state, folder.path(), &sql);
        let file = folder.path().join("venue.jsonl");
        let changed = change(lines.clone());
        assert!(
            !sql.is_empty() || changed != lines,
            "{name}: nothing was changed"
        );
        std::fs::write(&file, changed.join("\n")).unwrap();
        let found = audit(folder.path(), &file, &["--final"]).unwrap();
        let text = [found.stdout, found.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert_eq!(found.status.code(), Some(1), "{name}: {text}");
        assert!(text.contains(words), "{name}: no {words:?} in {text}");
    }
}

fn tamper(state: &Path, copy: &Path, sql: &str) {
    for name in ["cambist.db", "cambist.db-wal"] {
        if state.join(name).exists() {
            std::fs::copy(state.join(name), copy.join(name)).unwrap();
        }
    }
    let database = Connection::open(copy.join("cambist.db")).unwrap();
    if !sql.is_empty() {
        assert_ne!(database.execute(sql, []).unwrap(), 0, "{sql}");
    }
}
