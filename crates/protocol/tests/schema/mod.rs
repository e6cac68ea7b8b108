//! The part of JSON Schema that our document uses. An unknown keyword fails, so that nothing passes unchecked.

use serde_json::Value;

/// Why `value` does not conform, if it does not.
pub fn problem(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    let fields = schema.as_object().unwrap();
    for (keyword, wanted) in fields {
        let fits = match keyword.as_str() {
            "$ref" => {
                let path = wanted.as_str().unwrap().strip_prefix('#').unwrap();
                let schema = document
                    .pointer(path)
                    .unwrap_or_else(|| panic!("no {path}"));
                if let Some(problem) = problem(document, schema, value) {
                    return Some(problem);
                }
                true
            }
            "type" => has_type(wanted.as_str().unwrap(), value),
            "enum" => wanted.as_array().unwrap().contains(value),
            "anyOf" => {
                let options = wanted.as_array().unwrap();
                options
                    .iter()
                    .any(|option| problem(document, option, value).is_none())
            }
            "properties" => {
                for (name, schema) in wanted.as_object().unwrap() {
                    if let Some(field) = value.get(name)
                        && let Some(problem) = problem(document, schema, field)
                    {
                        return Some(format!("{name}.{problem}"));
                    }
                }
                true
            }
            "required" => {
                let missing = wanted
                    .as_array()
                    .unwrap()
                    .iter()
                    .find(|name| value.get(name.as_str().unwrap()).is_none());
                if let Some(name) = missing {
                    return Some(format!("{name} is missing"));
                }
                true
            }
            "additionalProperties" => {
                assert_eq!(wanted, &Value::Bool(false));
                let known = fields["properties"].as_object().unwrap();
                value
                    .as_object()
                    .is_none_or(|value| value.keys().all(|name| known.contains_key(name)))
            }
            "items" => value.as_array().is_none_or(|items| {
                items
                    .iter()
                    .all(|item| problem(document, wanted, item).is_none())
            }),
            "minItems" => value
                .as_array()
                .is_none_or(|items| items.len() as u64 >= wanted.as_u64().unwrap()),
            "maxItems" => value
                .as_array()
                .is_none_or(|items| items.len() as u64 <= wanted.as_u64().unwrap()),
            "minimum" => value
                .as_u64()
                .is_none_or(|value| value >= wanted.as_u64().unwrap()),
            "maximum" => value
                .as_u64()
                .is_none_or(|value| value <= wanted.as_u64().unwrap()),
            "minLength" => value
                .as_str()
                .is_none_or(|text| text.len() as u64 >= wanted.as_u64().unwrap()),
            "maxLength" => value
                .as_str()
                .is_none_or(|text| text.len() as u64 <= wanted.as_u64().unwrap()),
            "pattern" => value
                .as_str()
                .is_none_or(|text| fits(wanted.as_str().unwrap(), text)),
            other => panic!("unsupported schema keyword {other}"),
        };
        if !fits {
            return Some(format!(" {value} against {keyword} {wanted}"));
        }
    }
    None
}

fn has_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("type {other}"),
    }
}

/// Patterns of the form `^...$`: characters, classes, groups with alternatives, repetitions.
fn fits(pattern: &str, text: &str) -> bool {
    let inner = pattern
        .strip_prefix('^')
        .unwrap()
        .strip_suffix('$')
        .unwrap();
    ends(inner, text).contains(&"")
}

/// The possible rests of the text after the pattern.
fn ends<'a>(pattern: &str, text: &'a str) -> Vec<&'a str> {
    let mut out = Vec::new();
    for option in alternatives(pattern) {
        let mut here = vec![text];
        let mut rest = option;
        while !rest.is_empty() {
            let (atom, after) = rest.split_at(atom_length(rest));
            let (least, most, after) = how_often(after);
            here = here
                .iter()
                .flat_map(|text| repeated(atom, least, most, text))
                .collect();
            rest = after;
        }
        out.extend(here);
    }
    out
}

fn repeated<'a>(atom: &str, least: usize, most: usize, text: &'a str) -> Vec<&'a str> {
    let mut now = vec![text];
    let mut out = Vec::new();
    for count in 0..=most {
        if count >= least {
            out.extend(&now);
        }
        now = now.iter().flat_map(|text| once(atom, text)).collect();
        if now.is_empty() {
            break;
        }
    }
    out
}

fn once<'a>(atom: &str, text: &'a str) -> Vec<&'a str> {
    if let Some(group) = atom.strip_prefix('(') {
        return ends(group.strip_suffix(')').unwrap(), text);
    }
    let Some(first) = text.chars().next() else {
        return Vec::new();
    };
    let good = match atom
        .strip_prefix('[')
        .and_then(|class| class.strip_suffix(']'))
    {
        Some(class) => {
            let class: Vec<_> = class.chars().collect();
            let ranges = class
                .windows(3)
                .any(|w| w[1] == '-' && (w[0]..=w[2]).contains(&first));
            ranges || class.contains(&first) && first != '-'
        }
        None => atom.starts_with(first),
    };
    if good {
        vec![&text[first.len_utf8()..]]
    } else {
        Vec::new()
    }
}

fn alternatives(pattern: &str) -> Vec<&str> {
    let (mut depth, mut from, mut out) = (0, 0, Vec::new());
    for (at, c) in pattern.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            '|' if depth == 0 => {
                out.push(&pattern[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    out.push(&pattern[from..]);
    out
}

fn atom_length(pattern: &str) -> usize {
    let closing = match pattern.as_bytes()[0] {
        b'[' => return pattern.find(']').unwrap() + 1,
        b'(' => b')',
        _ => return 1,
    };
    let mut depth = 0;
    for (at, byte) in pattern.bytes().enumerate() {
        depth += i32::from(byte == b'(') - i32::from(byte == closing);
        if depth == 0 {
            return at + 1;
        }
    }
    panic!("{pattern}")
}

fn how_often(pattern: &str) -> (usize, usize, &str) {
    match pattern.as_bytes().first() {
        Some(b'?') => (0, 1, &pattern[1..]),
        Some(b'+') => (1, 200, &pattern[1..]),
        Some(b'*') => (0, 200, &pattern[1..]),
        Some(b'{') => {
            let (inner, rest) = pattern[1..].split_once('}').unwrap();
            let (least, most) = inner.split_once(',').unwrap_or((inner, inner));
            (least.parse().unwrap(), most.parse().unwrap(), rest)
        }
        _ => (1, 1, pattern),
    }
}

#[test]
fn patterns_match_as_specified() {
    for (pattern, good, bad) in [
        (
            "^(0|[1-9][0-9]{0,3})$",
            &["0", "7", "1234"][..],
            &["", "00", "012", "12345", "a"][..],
        ),
        (
            "^0x[0-9a-fA-F]{2}$",
            &["0xaF"],
            &["0xa", "0xag", "aF", "0xaF0"],
        ),
        (
            "^([1-9]|[1-5][0-9]|6[0-3])$",
            &["1", "59", "63"],
            &["0", "64", "630"],
        ),
        ("^[0-9]+(,[0-9]+)*$", &["1", "1,22,3"], &["", ",1", "1,"]),
        ("^a1[bB](02|03)?$", &["a1b", "a1B03"], &["a1b04", "a1"]),
    ] {
        assert!(good.iter().all(|text| fits(pattern, text)), "{pattern}");
        assert!(bad.iter().all(|text| !fits(pattern, text)), "{pattern}");
    }
}
