//! Hostile documents: never a panic or a wrong value; errors name the field.
#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

#[expect(dead_code, reason = "shared with the other test program")]
mod samples;

use samples::{Sample, samples};
use serde_json::Value;

/// Paths of all values in a document.
fn paths(value: &Value, here: &str, out: &mut Vec<String>) {
    if !here.is_empty() {
        out.push(here.to_owned());
    }
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                paths(inner, &format!("{here}/{name}"), out);
            }
        }
        Value::Array(items) => {
            for (at, inner) in items.iter().enumerate() {
                paths(inner, &format!("{here}/{at}"), out);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn wrong_values_in_every_place_are_refused_or_harmless() {
    let wrong = [
        "null",
        "true",
        "-1",
        "1.5",
        "1e3",
        "18446744073709551616",
        "\"\"",
        "\"+5\"",
        "\"1_000\"",
        "\"007\"",
        "\"1e3\"",
        "\"0x\"",
        "[]",
        "[7]",
        "{}",
        "[[\"1\",\"1\",\"1\"]]",
    ];
    let (mut refused, mut read) = (0_u32, 0_u32);
    for Sample {
        name,
        text,
        rewrite,
        ..
    } in samples()
    {
        let honest: Value = serde_json::from_str(&text).unwrap();
        let mut places = Vec::new();
        paths(&honest, "", &mut places);
        for place in places {
            for bad in wrong {
                let mut document = honest.clone();
                *document.pointer_mut(&place).unwrap() = serde_json::from_str(bad).unwrap();
                match rewrite(document.to_string().as_bytes()) {
                    Err(error) => {
                        refused += 1;
                        // The message contains the first step of the path.
                        let first = place.split('/').nth(1).unwrap();
                        let named = error.field.contains(first) || first.parse::<u32>().is_ok();
                        assert!(named, "{name} {place} {bad}: {error}");
                    }
                    Ok(again) => {
                        read += 1;
                        assert_eq!(
                            rewrite(again.as_bytes()).unwrap(),
                            again,
                            "{name} {place} {bad}"
                        );
                    }
                }
            }
        }
    }
    // Most documents are refused; those accepted have omitted optional fields, empty lists and free texts.
    assert!(refused > 8 * read, "{refused} refused, {read} read");
}

#[test]
fn numbers_outside_the_grammar_never_become_amounts() {
    let bad = [
        "+5", "-5", "1_000", "1,000", "1e3", "007", " 5", "5 ", "0x5", "5.0", "", "٥",
    ];
    for number in bad {
        for name in ["balances", "order detail", "token", "exchange info"] {
            let text = samples::text(name);
            for field in ["total", "locked", "baseFilled", "fee", "minimum", "dust"] {
                let Some(start) = text.find(&format!("\"{field}\":\"")) else {
                    continue;
                };
                let from = start + field.len() + 4;
                let to = from + text[from..].find('"').unwrap();
                let document = format!("{}{number}{}", &text[..from], &text[to..]);
                let sample = samples()
                    .into_iter()
                    .find(|sample| sample.name == name)
                    .unwrap();
                assert!((sample.rewrite)(document.as_bytes()).is_err(), "{document}");
            }
        }
    }
}

#[test]
fn whole_documents_of_the_wrong_kind_are_refused() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    let objects = "{\"a\":".repeat(200) + "1" + &"}".repeat(200);
    for Sample {
        name,
        text,
        rewrite,
        ..
    } in samples()
    {
        let twice = text.replacen('{', "{\"tokenId\":1,\"tokenId\":1,", 1);
        let trailing = format!("{text}x");
        let cut = &text[..text.len() - 1];
        for bad in [
            "", "null", "7", "\"x\"", "[[7]]", "[7]", &deep, &objects, &twice, &trailing, cut,
        ] {
            assert!(rewrite(bad.as_bytes()).is_err(), "{name}: {bad:.40}");
        }
        let list = format!("[{text}]");
        if !text.starts_with('[') {
            assert!(
                rewrite(list.as_bytes()).is_err(),
                "{name}: a list is not an object"
            );
        }
    }
}

/// Random changes of bytes: a document that is still accepted must be written and read unchanged.
#[test]
fn random_damage_causes_no_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % u64::try_from(below).unwrap()).unwrap()
    };
    let alphabet = b"{}[]\",:0123456789truefalsn+-.eE\\u\xff\x00 ";
    let mut read = 0_u32;
    for Sample {
        name,
        text,
        rewrite,
        ..
    } in samples()
    {
        for _ in 0..1_500 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..=next(3) {
                if bytes.len() < 2 {
                    break;
                }
                let at = next(bytes.len());
                match next(4) {
                    0 => bytes[at] = alphabet[next(alphabet.len())],
                    1 => bytes.insert(at, alphabet[next(alphabet.len())]),
                    2 => {
                        bytes.remove(at);
                    }
                    _ => bytes.truncate(at.max(1)),
                }
            }
            if let Ok(again) = rewrite(&bytes) {
                read += 1;
                assert_eq!(rewrite(again.as_bytes()).unwrap(), again, "{name}: {again}");
            }
        }
    }
    assert!(
        read > 100,
        "damage in free texts and spaces is still read: {read}"
    );
}
