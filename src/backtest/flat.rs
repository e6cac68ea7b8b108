//! The report as CSV: one row for each number, named by its path in `report.json`, so that the rows of
//! several runs can be compared and joined.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value;

/// A JSON value as CSV of `key,value`, in the order of the value.
pub fn csv(value: &Value) -> String {
    let mut text = "key,value\n".to_owned();
    each_value(value, &mut |path, content| row(&mut text, path, content));
    text
}

/// Calls `found` with the path and the text of every value that has no parts.
pub fn each_value(value: &Value, found: &mut impl FnMut(&str, &str)) {
    add("", value, found);
}

fn add(path: &str, value: &Value, found: &mut impl FnMut(&str, &str)) {
    let below = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                add(&below(name), member, found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                add(&below(&index.to_string()), item, found);
            }
        }
        Value::Null => found(path, ""),
        Value::String(content) => found(path, content),
        Value::Bool(_) | Value::Number(_) => found(path, &value.to_string()),
    }
}

fn row(text: &mut String, path: &str, content: &str) {
    // Writing to a text cannot fail.
    _ = writeln!(text, "{},{}", quoted(path), quoted(content));
}

/// A text as a cell of CSV.
pub fn quoted(content: &str) -> Cow<'_, str> {
    if content.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", content.replace('"', "\"\"")).into()
    } else {
        content.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_row_with_its_path() {
        let value = serde_json::json!({
            "pnl": {"total": "-2.5", "fees": null},
            "markouts": [{"seconds": 1, "mean_bps": -1.5}, {"seconds": 10}],
            "assumed": ["a, b", "quotes \"c\""],
            "none": [],
            "ok": true,
        });
        assert_eq!(
            csv(&value),
            "key,value\nassumed.0,\"a, b\"\nassumed.1,\"quotes \"\"c\"\"\"\n\
             markouts.0.mean_bps,-1.5\nmarkouts.0.seconds,1\nmarkouts.1.seconds,10\nok,true\n\
             pnl.fees,\npnl.total,-2.5\n"
        );
    }
}
