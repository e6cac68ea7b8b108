//! All vectors of pool arithmetic are reproduced, and every corruption of a stated value is noticed.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_signing::vectors::{FileReport, VectorError, evaluate_with};
use serde_json::{Value, json};

use super::shapes;

/// File, shape, cases.
const FILES: [(&str, &str, usize); 4] = [
    ("cpmm_swap", "pool swaps", 52),
    ("cpmm_lp", "pool shares", 41),
    ("cpmm_arb_price", "pool arbitrage", 20),
    ("amm_math", "pool arithmetic", 60),
];

fn read(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors");
    let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn evaluate(value: &Value) -> Result<FileReport, VectorError> {
    evaluate_with(&shapes(), "file", &value.to_string())
}

#[test]
fn every_value_is_reproduced_to_the_unit() {
    for (name, shape, cases) in FILES {
        let report = evaluate(&read(name)).unwrap();
        assert_eq!((report.shape, report.cases), (shape, cases), "{name}");
        assert_eq!(report.passed, cases, "{:?}", report.first_failure);
    }
}

/// Places of all stated results: texts, truth values, elements of lists.
fn places(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                places(member, &format!("{path}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{path}/{index}"), found);
            }
        }
        Value::String(_) | Value::Bool(_) => found.push(path.to_owned()),
        Value::Number(_) | Value::Null => {}
    }
}

#[test]
fn every_corruption_of_a_stated_result_is_noticed() {
    for (name, _, _) in &FILES[..3] {
        let good = read(name);
        let mut found = Vec::new();
        for (index, case) in good["cases"].as_array().unwrap().iter().enumerate() {
            for part in ["out", "published"] {
                if let Some(part_value) = case.get(part) {
                    places(part_value, &format!("/cases/{index}/{part}"), &mut found);
                }
            }
        }
        assert!(found.len() > 80, "{name}: {} values", found.len());
        // Every one of a case of each kind is many; a stride keeps the test short and fair.
        for place in found.iter().step_by(7) {
            let mut bad = good.clone();
            let value = bad.pointer_mut(place).unwrap();
            *value = match &*value {
                Value::Bool(flag) => json!(!flag),
                Value::String(text) => json!(format!("{text}1")),
                other => other.clone(),
            };
            let report = evaluate(&bad).unwrap();
            assert_eq!(report.failed, 1, "{name}{place}");
        }
    }
}

#[test]
fn a_missing_result_a_strange_one_and_bad_input_are_noticed() {
    let good = read("cpmm_swap");
    let mut missing = good.clone();
    let out = missing["cases"][0]["out"].as_object_mut().unwrap();
    out.remove("k_after");
    assert!(matches!(
        evaluate(&missing),
        Err(VectorError::Missing { .. })
    ));
    let mut strange = good.clone();
    strange["cases"][0]["out"]["more"] = json!("1");
    assert_eq!(evaluate(&strange).unwrap().failed, 1);
    for (member, value) in [
        ("convention", json!("another")),
        ("amount_in", json!("0")),
        ("reserve_in", json!("-5")),
        ("reserve_out", json!("1".repeat(500))),
        ("fee_numerator", json!(1_000)),
        ("fee_denominator", json!(0)),
    ] {
        let mut bad = good.clone();
        bad["cases"][0]["in"][member] = value;
        let answer = evaluate(&bad);
        assert!(
            matches!(answer, Err(VectorError::Malformed { .. })),
            "{member}"
        );
    }
}
