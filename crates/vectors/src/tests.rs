//! All vectors are reproduced, every corruption of a stated value is detected, and unknown content is an error.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_signing::vectors::{FileReport, VectorError, evaluate_with};
use serde_json::{Value, json};

use super::shapes;

/// The families in the repository and their numbers of cases.
const FAMILIES: [(&str, usize); 30] = [
    ("amm_fill_rule", 45),
    ("as_quotes", 120),
    ("as_simulation", 15),
    ("book_signals", 18),
    ("cex_dex_arb", 10),
    ("cj_quotes", 9),
    ("cpmm_arb_ladder", 30),
    ("cpmm_arb_price", 20),
    ("cpmm_lp", 41),
    ("cpmm_lp_value", 16),
    ("cpmm_swap", 52),
    ("fill_intensity", 14),
    ("glft_closed", 7),
    ("glft_exact", 16),
    ("glft_fee", 6),
    ("glft_figures", 2),
    ("grid_quotes", 60),
    ("inventory_skew", 30),
    ("latency_refresh", 48),
    ("liquidation", 13),
    ("lvr_fees", 21),
    ("lvr_path", 8),
    ("microprice_chain", 4),
    ("microprice_fit", 1),
    ("performance_stats", 2),
    ("pnl_attribution", 6),
    ("queue_models", 56),
    ("rollup_float", 48),
    ("strategy_value", 4),
    ("volatility", 10),
];

fn read(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors");
    let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn evaluate(value: &Value) -> Result<FileReport, VectorError> {
    evaluate_with(&shapes(), "file", &value.to_string())
}

/// The file with one of its cases only.
fn alone(file: &Value, case: usize) -> Value {
    let mut alone = file.clone();
    alone["cases"] = json!([file["cases"][case]]);
    alone["n_cases"] = json!(1);
    alone
}

#[test]
fn every_value_is_reproduced() {
    for (name, cases) in FAMILIES {
        let report = evaluate(&read(name)).unwrap();
        assert_eq!((report.shape, report.cases), (name, cases));
        assert_eq!(report.passed, cases, "{:?}", report.first_failure);
        let worst = report.worst.map_or(0.0, |worst| worst.share());
        assert!(worst < 0.8, "{name}: {worst} of the tolerance");
    }
    let report = evaluate(&read("amm_math")).unwrap();
    assert_eq!((report.shape, report.passed), ("pool arithmetic", 60));
}

/// Paths of all stated values: strings, numbers, booleans, nulls.
fn places(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter().filter(|(name, _)| *name != "note") {
                places(member, &format!("{path}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{path}/{index}"), found);
            }
        }
        _ => found.push(path.to_owned()),
    }
}

/// Another value, beyond every tolerance.
fn corrupted(value: &Value) -> Value {
    match value {
        Value::Bool(flag) => json!(!flag),
        Value::String(text) => json!(format!("{text}1")),
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap();
            json!(number * 1.2 + 0.3)
        }
        Value::Number(number) => json!(number.as_i64().unwrap() * 3 + 1),
        _ => json!(0.0),
    }
}

/// Several cases of each family, and several values of each, with strides that cover all kinds.
#[test]
fn every_corruption_of_a_stated_value_is_noticed() {
    for (name, cases) in FAMILIES {
        let file = read(name);
        let costs_seconds = matches!(name, "as_simulation" | "strategy_value");
        let stride = if costs_seconds {
            cases
        } else {
            cases.div_ceil(6)
        };
        let mut tried = 0;
        for case in (0..cases).step_by(stride) {
            let good = alone(&file, case);
            assert_eq!(evaluate(&good).unwrap().passed, 1);
            let mut found = Vec::new();
            for part in ["out", "published", "mbt_gym", "reference"] {
                if let Some(value) = good["cases"][0].get(part) {
                    places(value, &format!("/cases/0/{part}"), &mut found);
                }
            }
            let few = if costs_seconds { 4 } else { 12 };
            for place in found.iter().step_by(found.len().div_ceil(few)) {
                let mut bad = good.clone();
                let value = bad.pointer_mut(place).unwrap();
                *value = corrupted(value);
                // A volatility that the file only passes on affects the quotes.
                let report = evaluate(&bad);
                assert_eq!(
                    report.as_ref().map(|r| r.failed),
                    Ok(1),
                    "{name}{place}: {report:?}"
                );
                tried += 1;
            }
        }
        assert!(tried >= 3, "{name}: {tried}");
    }
}

/// Numbers just outside the tolerance fail; just inside they pass.
#[test]
fn tolerances_of_the_file_decide() {
    let good = alone(&read("as_quotes"), 3);
    let spread = good["cases"][0]["out"]["half_spread"].as_f64().unwrap();
    for (off, failed) in [(0.2e-12, 0), (3e-12, 1)] {
        let mut near = good.clone();
        near["cases"][0]["out"]["half_spread"] = json!(spread + off);
        assert_eq!(evaluate(&near).unwrap().failed, failed, "{off}");
        near["tolerance"] = json!({"rel": 1e-9, "abs": 1e-9});
        assert_eq!(evaluate(&near).unwrap().failed, 0);
    }
    for bad in [
        json!("about"),
        json!("exactly"),
        json!("exact to 1e-3"),
        json!("exact; about 5 %"),
        json!("exact; 1e-x for *_raw_tick"),
        json!("exact rationals; published to many places"),
        json!("statistical"),
        json!("statistical, see acceptance; 'out' within 2 sigma"),
        json!({}),
        json!({"rel": 0.0}),
        json!({"rel": 1.0}),
        json!({"rel": -1e-9}),
        json!({"rel": 1e-9, "more": 1}),
        json!(null),
        json!(1e-9),
    ] {
        let mut file = good.clone();
        file["tolerance"] = bad;
        assert!(evaluate(&file).is_err(), "{}", file["tolerance"]);
    }
}

#[test]
fn what_is_missing_or_not_understood_is_an_error() {
    for (name, _) in FAMILIES {
        if matches!(name, "as_simulation" | "strategy_value") {
            continue;
        }
        let good = alone(&read(name), 0);
        let mut strange_input = good.clone();
        strange_input["cases"][0]["in"]["more"] = json!(1);
        let mut strange_member = good.clone();
        strange_member["cases"][0]["more"] = json!(1);
        let mut strange_header = good.clone();
        strange_header["more"] = json!(1);
        let mut miscounted = good.clone();
        miscounted["n_cases"] = json!(2);
        let mut twice = good.clone();
        twice["cases"] = json!([good["cases"][0], good["cases"][0]]);
        twice["n_cases"] = json!(2);
        let mut no_result = good.clone();
        no_result["cases"][0].as_object_mut().unwrap().remove("out");
        let mut empty = good.clone();
        empty["cases"] = json!([]);
        empty["n_cases"] = json!(0);
        let mut renamed = good.clone();
        renamed["family"] = json!("another");
        for bad in [
            strange_input,
            strange_member,
            strange_header,
            miscounted,
            twice,
            no_result,
            empty,
            renamed,
        ] {
            assert!(evaluate(&bad).is_err(), "{name}: {bad}");
        }
        let inputs = good["cases"][0]["in"].as_object().unwrap();
        for member in inputs.keys() {
            let mut missing = good.clone();
            let input = missing["cases"][0]["in"].as_object_mut().unwrap();
            input.remove(member);
            assert!(evaluate(&missing).is_err(), "{name} without {member}");
            let mut malformed = good.clone();
            malformed["cases"][0]["in"][member] = json!({"no": "value"});
            assert!(
                evaluate(&malformed).is_err(),
                "{name} with a strange {member}"
            );
        }
        let mut strange_result = good.clone();
        strange_result["cases"][0]["out"] = match &good["cases"][0]["out"] {
            Value::Array(_) => json!([]),
            out => {
                let mut out = out.clone();
                out["more"] = json!(1);
                out
            }
        };
        assert_eq!(evaluate(&strange_result).unwrap().failed, 1, "{name}");
    }
}

/// An unknown kind, side, model or convention is never mistaken for a known one.
#[test]
fn unknown_forms_are_errors() {
    for (name, member) in [
        ("as_quotes", "variant"),
        ("cpmm_swap", "convention"),
        ("cpmm_lp", "op"),
        ("cpmm_arb_ladder", "side"),
        ("fill_intensity", "kind"),
        ("glft_figures", "side"),
        ("grid_quotes", "kind"),
        ("latency_refresh", "kind"),
        ("queue_models", "model"),
        ("volatility", "kind"),
    ] {
        let mut bad = alone(&read(name), 0);
        bad["cases"][0]["in"][member] = json!("another");
        let error = evaluate(&bad).unwrap_err();
        assert!(
            matches!(error, VectorError::Malformed { .. }),
            "{name}: {error}"
        );
    }
    let mut bad = alone(&read("as_simulation"), 0);
    bad["cases"][0]["in"]["strategy"] = json!("another");
    assert!(matches!(evaluate(&bad), Err(VectorError::Malformed { .. })));
    let closed = read("glft_closed");
    let place = closed["cases"]
        .as_array()
        .unwrap()
        .iter()
        .position(|c| c["in"]["form"].is_string());
    let mut bad = alone(&closed, place.unwrap());
    bad["cases"][0]["in"]["form"] = json!("another");
    assert!(matches!(evaluate(&bad), Err(VectorError::Malformed { .. })));
}

#[test]
fn numbers_out_of_range_are_refused_by_name() {
    for (name, member, value) in [
        ("as_quotes", "k", json!(0)),
        ("glft_exact", "A", json!(-1)),
        ("liquidation", "Q", json!(0)),
        ("cpmm_swap", "amount_in", json!("0")),
        ("cpmm_swap", "reserve_in", json!("-5")),
        ("cpmm_swap", "reserve_out", json!("1e9999")),
        ("cpmm_swap", "fee_numerator", json!(10_000)),
        ("cpmm_swap", "fee_denominator", json!(0)),
        ("pnl_attribution", "mids", json!([])),
        ("queue_models", "lot_size", json!(0)),
        ("book_signals", "vwap_qty", json!("0")),
        ("lvr_path", "prices", json!([1.0])),
    ] {
        let mut bad = alone(&read(name), 0);
        bad["cases"][0]["in"][member] = value;
        assert!(evaluate(&bad).is_err(), "{name} {member}");
    }
}

/// Invalid inputs give an error or a difference, never a panic or a long computation.
#[test]
fn invalid_inputs_give_an_error() {
    let nonsense = [
        json!(0),
        json!(-1),
        json!(3),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e308),
        json!(-1e-308),
        json!(0.1),
        json!("0"),
        json!("-7"),
        json!("1e400"),
        json!("9".repeat(400)),
        json!("1/0"),
        json!("nonsense"),
        json!(null),
        json!([]),
        json!([[]]),
        json!({}),
        json!(true),
    ];
    for (name, cases) in FAMILIES {
        if matches!(name, "as_simulation" | "strategy_value") {
            continue;
        }
        let good = alone(&read(name), cases - 1);
        let few = if good.to_string().len() > 20_000 {
            3
        } else {
            8
        };
        let mut found = Vec::new();
        places(&good["cases"][0]["in"], "/cases/0/in", &mut found);
        let members = good["cases"][0]["in"].as_object().unwrap().keys();
        found.extend(members.map(|member| format!("/cases/0/in/{member}")));
        for place in found.iter().step_by(found.len().div_ceil(few)) {
            for value in &nonsense {
                let mut bad = good.clone();
                *bad.pointer_mut(place).unwrap() = value.clone();
                let answered = evaluate(&bad).map(|report| report.cases);
                assert!(
                    !matches!(answered, Ok(cases) if cases != 1),
                    "{name}{place}"
                );
            }
        }
    }
}
