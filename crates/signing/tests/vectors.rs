//! All published vectors are reproduced, and every corruption of a checked value is detected.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::PathBuf;

use cambist_signing::vectors::{
    FileReport, SHAPES, Shape, VectorError, evaluate_file, evaluate_with,
};
use serde_json::{Value, json};

/// File, shape, number of cases, and number of those left to the implementation.
const FILES: [(&str, &str, usize, usize); 17] = [
    ("poseidon", "poseidon", 71, 0),
    ("poseidon_constants", "poseidon constants", 10, 0),
    ("keys", "keys", 35, 0),
    ("eddsa", "eddsa", 26, 0),
    ("orders", "orders", 53, 0),
    ("transfers", "transfers", 20, 0),
    ("withdrawals", "withdrawals", 24, 0),
    ("account_updates", "account updates", 18, 0),
    ("amm_joins", "pool joins", 18, 0),
    ("amm_exits", "pool exits", 18, 0),
    ("api_sig", "request signatures", 40, 0),
    ("eip712", "typed data", 60, 0),
    ("negative", "negative", 218, 10),
    ("amm_math", "pool arithmetic", 60, 0),
    ("floats", "floats", 86, 0),
    ("real_service", "real service", 3, 0),
    ("published_shapes", "real service", 2, 0),
];

fn read(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors")
        .join(format!("{name}.json"));
    std::fs::read_to_string(path).unwrap()
}

fn evaluate(value: &Value) -> Result<FileReport, VectorError> {
    // The name has no effect: shapes are recognised by content.
    evaluate_file("file", &value.to_string())
}

#[test]
fn every_published_value_is_reproduced() {
    for (name, shape, cases, reported) in FILES {
        let report = evaluate_file(name, &read(name)).unwrap();
        let expected = FileReport {
            shape: report.shape,
            cases,
            passed: cases - reported,
            failed: 0,
            reported,
            first_failure: None,
            worst: None,
        };
        assert_eq!(report, expected, "{name}");
        assert_eq!(report.shape, shape);
    }
}

#[test]
fn a_report_is_not_taken_for_vectors() {
    let error = evaluate_file("crosscheck_python", &read("crosscheck_python")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "crosscheck_python: a report, not vectors"
    );
}

#[test]
fn files_without_meaning_are_errors() {
    for text in [
        "",
        "{",
        "[]",
        "{}",
        "3",
        "{\"vectors\":[]}",
        "{\"vectors\":[{}]}",
        "{\"vectors\":3}",
        "{\"swap\":[]}",
    ] {
        assert!(evaluate_file("x", text).is_err(), "{text}");
    }
    assert!(evaluate(&json!({"swap": [], "lp": []})).is_err());
    assert!(evaluate(&json!({"round_constants": [], "mds": {}})).is_err());
    assert!(
        evaluate_file(
            "x",
            "{\"vectors\":[{\"expect\":\"accept\",\"expect\":\"reject\"}]}"
        )
        .is_err()
    );
}

/// Members that no signature, hash or formula of their file covers: prose, and what clients do not sign.
#[expect(clippy::match_same_arms, reason = "one arm per reason")]
fn is_unchecked(file: &str, path: &[String]) -> bool {
    let last = path
        .iter()
        .rev()
        .find(|name| name.parse::<usize>().is_err())
        .map_or("", String::as_str);
    let within = |name: &str| path.iter().any(|part| part == name);
    match last {
        "label" | "note" | "what" | "producer" | "source" | "use" | "memo"
        | "fastWithdrawalMode" => true,
        "payerAddr" => ["transfers", "negative"].contains(&file),
        "payerId" | "payeeId" => file == "eip712",
        "owner" => ["withdrawals", "account_updates", "negative"].contains(&file),
        "orderType" => true,
        "poolAddress" => file == "orders" || (file == "negative" && within("request")),
        "tokenId" => within("joinTokens") || within("exitTokens"),
        "eddsaKey" => ["eip712", "negative"].contains(&file),
        // Amounts that are lost in a division.
        "pool" | "lpSupply" | "joinAmounts" | "burn" | "reserveIn" | "reserveOut" | "amountIn"
        | "amountOutWanted" => true,
        "value" => file == "floats",
        _ => false,
    }
}

/// The paths of all leaves.
fn leaves(value: &Value, path: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    let mut descend = |name: String, inner: &Value| {
        path.push(name);
        leaves(inner, path, out);
        path.pop();
    };
    match value {
        Value::Object(members) => members
            .iter()
            .for_each(|(name, inner)| descend(name.clone(), inner)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(i, inner)| descend(i.to_string(), inner)),
        _ => out.push(path.clone()),
    }
}

fn at<'a>(value: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter().fold(value, |value, name| match value {
        Value::Array(items) => &mut items[name.parse::<usize>().unwrap()],
        other => &mut other[name.as_str()],
    })
}

/// Other values of the same form: one character changed near the beginning, in the middle, and at the end.
fn corruptions(value: &Value) -> Vec<Value> {
    match value {
        Value::Bool(flag) => vec![json!(!flag)],
        Value::Number(number) => vec![json!(number.as_u64().unwrap() + 1)],
        Value::String(text) => {
            let letters: Vec<char> = text.chars().collect();
            let start: usize = if text.starts_with("0x") { 2 } else { 0 };
            let places = [
                start,
                start.midpoint(letters.len()),
                letters.len().saturating_sub(1),
            ];
            let change = |place: usize| {
                let mut letters = letters.clone();
                let old = *letters.get(place)?;
                letters[place] = match old {
                    '0'..='8' | 'a'..='e' => char::from(u8::try_from(old).unwrap() + 1),
                    '9' => '8',
                    'f' => 'e',
                    _ => '7',
                };
                Some(Value::from(letters.into_iter().collect::<String>()))
            };
            places.into_iter().filter_map(change).collect()
        }
        _ => vec![],
    }
}

/// A file with this case only.
fn alone(file: &Value, list: &str, case: &Value) -> Value {
    let mut small = file.clone();
    for other in ["vectors", "swap", "lp"] {
        if small.get(other).is_some() {
            small[other] = if other == list {
                json!([case])
            } else {
                json!([])
            };
        }
    }
    small
}

/// The first cases of every kind in a list.
fn samples(list: &[Value]) -> Vec<Value> {
    let kind = |case: &Value| {
        (
            case["kind"].clone(),
            case["label"].clone(),
            case.get("extraData").is_some(),
        )
    };
    let mut seen = std::collections::HashMap::new();
    let mut firsts = list.iter().filter(|case| {
        let count = seen.entry(format!("{:?}", kind(case))).or_insert(0);
        *count += 1;
        *count == 1
    });
    let mut out: Vec<Value> = firsts.by_ref().take(6).cloned().collect();
    out.extend(
        firsts
            .filter(|case| case["kind"].is_string())
            .take(60)
            .cloned(),
    );
    out.extend(
        list.iter()
            .filter(|case| case.get("canonical_raw_bytes").is_some())
            .take(1)
            .cloned(),
    );
    out.extend(list.last().cloned());
    out
}

#[test]
fn every_corruption_of_a_checked_value_is_noticed() {
    let mut tried = 0;
    for (name, ..) in FILES
        .into_iter()
        .filter(|(name, ..)| *name != "poseidon_constants")
    {
        let file: Value = serde_json::from_str(&read(name)).unwrap();
        for list in ["vectors", "swap", "lp"]
            .into_iter()
            .filter(|list| file.get(list).is_some())
        {
            for case in samples(file[list].as_array().unwrap()) {
                // A tampered signature remains invalid after another change.
                if case
                    .get("expect")
                    .is_some_and(|expect| !expect.as_str().unwrap().starts_with("accept"))
                {
                    continue;
                }
                let mut paths = vec![];
                leaves(&case, &mut vec![], &mut paths);
                assert_eq!(evaluate(&alone(&file, list, &case)).unwrap().failed, 0);
                for path in paths.iter().filter(|path| !is_unchecked(name, path)) {
                    // Only the first words of an expected result count; the rest gives reasons.
                    let places = if path[0] == "expect" { 1 } else { usize::MAX };
                    for corrupt in corruptions(at(&mut case.clone(), path))
                        .into_iter()
                        .take(places)
                    {
                        let mut case = case.clone();
                        *at(&mut case, path) = corrupt;
                        let outcome = evaluate(&alone(&file, list, &case));
                        let noticed = outcome.as_ref().map_or(true, |report| report.failed == 1);
                        assert!(noticed, "{name}: {path:?} of {case}");
                        tried += 1;
                    }
                }
            }
        }
    }
    assert!(tried > 4000, "{tried}");
}

#[test]
fn every_corrupted_constant_is_noticed() {
    let file: Value = serde_json::from_str(&read("poseidon_constants")).unwrap();
    let mut paths = vec![];
    leaves(&file, &mut vec![], &mut paths);
    let checked: Vec<_> = paths
        .iter()
        .filter(|path| !is_unchecked("", path))
        .collect();
    assert!(checked.len() > 600);
    for path in checked.iter().step_by(23) {
        let mut file = file.clone();
        *at(&mut file, path) = corruptions(at(&mut file.clone(), path)).remove(0);
        assert_eq!(evaluate(&file).unwrap().failed, 1, "{path:?}");
    }
}

#[test]
fn every_missing_member_is_noticed() {
    // Members that the files themselves mark as optional.
    let optional = [
        "label",
        "note",
        "use",
        "source",
        "producer",
        "what",
        "memo",
        "taker",
        "extraData",
        "fastWithdrawalMode",
        "hash_sdk_string",
        "docs_canonical",
        "docs_equals_sdk",
        "docs_x_api_sig",
        "eip712_digest",
        "S_div_L",
        "without_fee_field",
        "canonical_raw_bytes",
        "orderType",
        "poolAddress",
    ];
    for (name, ..) in FILES
        .into_iter()
        .filter(|(name, ..)| *name != "poseidon_constants")
    {
        let file: Value = serde_json::from_str(&read(name)).unwrap();
        for list in ["vectors", "swap", "lp"]
            .into_iter()
            .filter(|list| file.get(list).is_some())
        {
            let case = &file[list][0];
            for member in case
                .as_object()
                .unwrap()
                .keys()
                .filter(|member| !optional.contains(&member.as_str()))
            {
                let mut case = case.clone();
                case.as_object_mut().unwrap().remove(member);
                let outcome = evaluate(&alone(&file, list, &case));
                assert!(
                    outcome.as_ref().map_or(true, |report| report.failed == 1),
                    "{name}: {member}"
                );
            }
        }
    }
}

#[test]
fn shapes_can_be_added_from_outside() {
    let halves = Shape {
        name: "halves",
        recognises: |json| json.get("halves").is_some(),
        evaluate: |file, cases| {
            file.get("halves")?.each(cases, |node, case| {
                let half = node.get("of")?.float()? / 2.0;
                let stated = node.get("half")?;
                case.require(stated.float() == Ok(half), &stated, || {
                    format!("computed {half}")
                });
                Ok(())
            })
        },
    };
    let mut shapes = SHAPES.to_vec();
    shapes.push(halves);
    let file = json!({"halves": [{"of": 1, "half": 0.5}, {"of": 3.5, "half": 1.7}]});
    let report = evaluate_with(&shapes, "halves", &file.to_string()).unwrap();
    assert_eq!(
        (report.shape, report.passed, report.failed),
        ("halves", 1, 1)
    );
    assert_eq!(
        report.first_failure.unwrap(),
        "halves: halves[1]: half: computed 1.75"
    );
    assert_eq!(
        evaluate_with(&shapes, "orders", &read("orders"))
            .unwrap()
            .shape,
        "orders"
    );
    assert!(evaluate(&file).is_err());
}

#[test]
fn invalid_input_never_panics() {
    let nonsense = [
        json!(null),
        json!(-1),
        json!(0),
        json!(0.5),
        json!(1e300),
        json!(""),
        json!("0x"),
        json!("é"),
        json!([]),
        json!({}),
    ];
    for (name, ..) in FILES {
        let file: Value = serde_json::from_str(&read(name)).unwrap();
        let mut paths = vec![];
        for list in ["vectors", "swap", "lp"]
            .into_iter()
            .filter(|list| file.get(list).is_some())
        {
            let small = alone(&file, list, &file[list][0]);
            leaves(&small, &mut vec![], &mut paths);
            for path in paths.drain(..) {
                for value in &nonsense {
                    let mut small = small.clone();
                    *at(&mut small, &path) = value.clone();
                    let _ = evaluate(&small);
                }
            }
        }
        let text = read(name);
        for end in (0..text.len().min(4000))
            .step_by(37)
            .filter(|end| text.is_char_boundary(*end))
        {
            assert!(evaluate_file(name, &text[..end]).is_err());
        }
    }
}
