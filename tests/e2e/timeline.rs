//! The timeline of the daemon's page: every fill and every gap opens its why, with the same steps as the recordings.

use std::time::Duration;

use serde_json::Value;

use crate::support::http;
use crate::support::stage::{lively, quick};
use crate::support::{Stage, until};

const SOON: Duration = Duration::from_secs(40);

fn json(address: &str, path: &str) -> Option<Value> {
    serde_json::from_str(&http::body(address, path)?).ok()
}

/// The first mark of a kind, of a side if one is given, whose text contains `words`.
fn mark(address: &str, kind: &str, words: &str) -> Option<Value> {
    let page = json(address, "/timeline/0")?;
    let mut marks = page["marks"].as_array()?.iter();
    let is_meant = |one: &&Value| {
        let text = one["text"].as_str().unwrap_or_default();
        one["kind"] == kind && text.contains(words)
    };
    marks.find(is_meant).cloned()
}

fn why(address: &str, mark: &Value) -> Value {
    let number = &mark["number"];
    json(address, &format!("/timeline/why/{number}")).unwrap_or_else(|| panic!("{mark}"))
}

/// The names of what happened to an order, without the decision to keep it, which the timeline does not have.
fn steps(why: &Value) -> Vec<String> {
    let steps = why["steps"].as_array().unwrap().iter();
    let names = steps.map(|step| step["what"].as_str().unwrap().to_owned());
    names.collect()
}

/// A fill has the view, the request and the answer, and the same steps as the recordings.
fn assert_why_of_fill(stage: &Stage, address: &str, fill: &Value) {
    let answer = why(address, fill);
    let side = fill["side"].as_str().unwrap();
    for field in ["wanted", "request"] {
        let text = answer[field]
            .as_str()
            .unwrap_or_else(|| panic!("{field}: {answer}"));
        assert!(text.starts_with(side), "{field}: {answer}");
    }
    assert!(
        answer["answer"].as_str().unwrap().contains("accepted"),
        "{answer}"
    );
    assert!(answer["view"]["mid"].is_string(), "{answer}");
    assert!(answer["view"]["book_age_ms"].is_u64(), "{answer}");
    let found = steps(&answer);
    let mut places = Vec::new();
    for name in ["placed", "sent", "acknowledged", "filled"] {
        let place = found.iter().position(|step| step == name);
        places.push(place.unwrap_or_else(|| panic!("no {name}: {answer}")));
    }
    assert!(places.is_sorted(), "{answer}");
    // Everything on the timeline is on the recordings too, in the same words.
    let id = fill["order"].as_str().unwrap();
    let (code, recorded, log) = stage.command(&format!("why {id}"));
    assert_eq!(code, 0, "{log}");
    let recorded_steps = recorded["steps"].as_array().unwrap();
    for name in ["placed", "acknowledged"] {
        let text = |steps: &[Value]| {
            let step = steps.iter().find(|step| step["what"] == name);
            step.unwrap()["why"].as_str().unwrap().to_owned()
        };
        assert_eq!(
            text(recorded_steps),
            text(answer["steps"].as_array().unwrap())
        );
    }
}

#[test]
fn every_fill_and_every_gap_opens_its_why() {
    let stage = Stage::open("timeline", lively);
    stage.daemon("daemon", &stage.url(), quick);
    let mut daemon = stage.run("daemon");
    let address = stage.metrics("daemon", &mut daemon);

    // The start is a mark, and so are the sides that were not quoted before.
    let start = until(SOON, "a start", || mark(&address, "start", "ready"));
    assert_eq!(why(&address, &start)["steps"][0]["what"], "start");
    until(SOON, "a gap at the start", || {
        mark(&address, "gap", "recovering")
    });

    let fill = until(SOON, "a fill", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        mark(&address, "fill", " for ")
    });
    assert_why_of_fill(&stage, &address, &fill);

    // A pause: the orders are cancelled because their side is not quoted.
    let (code, _, log) = stage.command("pause --market ETH-USDC --side buy --reason news");
    assert_eq!(code, 0, "{log}");
    let pause = until(SOON, "a pause", || mark(&address, "pause", "news"));
    assert!(
        pause["text"].as_str().unwrap().contains("ETH-USDC, buy"),
        "{pause}"
    );
    let gap = until(SOON, "a gap", || mark(&address, "gap", "paused"));
    assert_eq!(gap["side"], "buy", "{gap}");
    let answer = why(&address, &gap);
    assert_eq!(answer["refused_by"]["reason"], "paused", "{answer}");
    assert!(answer["refused_by"]["remedy"].is_string(), "{answer}");
    let cancel = until(SOON, "a cancel", || {
        let page = json(&address, "/timeline/0")?;
        let marks = page["marks"].as_array()?;
        let cancels = marks.iter().filter(|one| one["kind"] == "cancel");
        let mut cancels = cancels.filter(|one| one["number"].as_u64() > pause["number"].as_u64());
        cancels.next_back().cloned()
    });
    let answer = why(&address, &cancel);
    assert!(steps(&answer).contains(&"cancelled".to_owned()), "{answer}");
    let (code, _, log) = stage.command("resume --reason over");
    assert_eq!(code, 0, "{log}");
    until(SOON, "quotes again", || {
        let page = json(&address, "/timeline/0")?;
        let after = |one: &&Value| one["number"].as_u64() > gap["number"].as_u64();
        let mut marks = page["marks"].as_array()?.iter().filter(after);
        marks
            .any(|one| one["kind"] == "quoted" && one["side"] == "buy")
            .then_some(())
    });

    // Only new marks are sent, and nothing is invented.
    let page = json(&address, "/timeline/0").unwrap();
    let next = page["next"].as_u64().unwrap();
    let newer = json(&address, &format!("/timeline/{next}")).unwrap();
    let numbers = newer["marks"].as_array().unwrap().iter();
    assert!(
        numbers
            .clone()
            .all(|one| one["number"].as_u64() >= Some(next)),
        "{newer}"
    );
    for (path, status) in [
        (format!("/timeline/why/{}", next + 100_000), 404),
        ("/timeline/why/x".to_owned(), 400),
        (format!("/timeline/{}", u64::MAX), 200),
    ] {
        let answer = http::send(&address, "GET", &path, &[]);
        assert_eq!(answer.0, status, "{path}: {}", answer.1);
    }
    let foreign = [("sec-fetch-site", "cross-site")];
    assert_eq!(http::send(&address, "GET", "/timeline/0", &foreign).0, 403);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}
