//! `cambist doctor` against a real exchange with the limits of its example file.

use serde_json::Value;

use crate::support::stage::quick;
use crate::support::{Edit, Stage};

#[track_caller]
fn finding<'a>(page: &'a Value, check: &str) -> &'a Value {
    let findings = page["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["check"] == check);
    found.unwrap_or_else(|| panic!("no {check} in {page}"))
}

#[test]
fn doctor_asks_little_finds_nothing_wrong_and_then_what_is() {
    // As few questions as a venue usually allows.
    let stage = Stage::open("doctor", |file| {
        file.put("limits.endpoint_per_s", 5)
            .put("limits.endpoint_burst", 5);
    });
    stage.daemon("daemon", &stage.url(), quick);
    let (code, page, log) = stage.command("doctor");
    assert_eq!(code, 0, "{page} {log}");
    for check in [
        "keys",
        "disk",
        "venue",
        "clock",
        "precision",
        "limits",
        "fees",
        "money at risk",
        "quotes",
    ] {
        assert_eq!(finding(&page, check)["verdict"], "good", "{page}");
    }
    // Another account than the one that the keys are of.
    stage.daemon("daemon", &stage.url(), |file| {
        quick(file);
        file.put("venue.account_id", 10_001);
    });
    let (code, page, _) = stage.command("doctor");
    assert_eq!(code, 1, "{page}");
    let venue = finding(&page, "venue");
    assert_eq!(venue["verdict"], "wrong");
    assert!(
        venue["found"]
            .as_str()
            .unwrap()
            .contains("owns account 10000"),
        "{venue}"
    );
    assert!(venue["fix"].is_string(), "{venue}");
    stage.close();
}
