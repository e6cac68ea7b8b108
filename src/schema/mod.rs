//! JSON Schema of the configuration files, for editors: made of what the parsers ask while they read the shipped
//! examples, of the comments there, of the table of limits and of the strategies' parameters.
//!
//! A schema knows keys, types, ranges and words. Rules between keys, and everything that a mode or a venue
//! decides, are the parser's alone: `cambist check` states them.

mod comments;
mod params;
pub mod reference;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use cambist_config::{KnownKey, KnownKeys, Shape};
use cambist_core::limits::{self, Usual};
use serde_json::{Map, Value, json};

use cambist_config::{ConfigError, Kind, Source};
use cambist_daemon::config::Daemon;
use cambist_exchange::config::Exchange;

/// The example that shows every key, some of them commented out.
const COMPLETE: &str = "cambist.toml";
/// A strategy that runs in a process has keys of its own.
const PROCESS: &str = "
[[market.strategy]]
name = \"mine\"
kind = \"process\"
command = [\"mine\"]
";
/// The examples that are read, by name; together they have every section.
const DAEMON: [(&str, &str); 6] = [
    (COMPLETE, include_str!("../../config/cambist.toml")),
    ("demo.toml", include_str!("../../config/demo.toml")),
    ("paper.toml", include_str!("../../config/paper.toml")),
    ("kraken.toml", include_str!("../../config/kraken.toml")),
    (
        "evm-pools.toml",
        include_str!("../../config/evm-pools.toml"),
    ),
    (
        "evm-ranges.toml",
        include_str!("../../config/evm-ranges.toml"),
    ),
];
const EXCHANGE: [(&str, &str); 1] = [("venue.toml", include_str!("../../config/venue.toml"))];

/// An amount as the parser reads it, perhaps with its symbol.
const AMOUNT: &str = r"^(0|[1-9][0-9]*)(\.[0-9]+)?( [A-Za-z0-9]{1,16})?$";

/// What is known of a key: the parser's question and the comment above it.
pub(super) struct Documented {
    pub key: KnownKey,
    pub meaning: String,
}

/// Every key of a file by its path, and the paths in the order of the examples.
pub(super) struct Documentation {
    pub keys: BTreeMap<String, Documented>,
    pub order: Vec<String>,
}

fn examples(kind: Kind) -> &'static [(&'static str, &'static str)] {
    match kind {
        Kind::Daemon => &DAEMON,
        Kind::Exchange => &EXCHANGE,
    }
}

/// Reads the examples and their comments.
pub(super) fn documentation(kind: Kind) -> Result<Documentation, ConfigError> {
    let mut known = KnownKeys::default();
    let mut meanings = BTreeMap::new();
    let mut order = Vec::new();
    for (name, text) in examples(kind) {
        let source = Source {
            path: (*name).into(),
            text: if *name == COMPLETE {
                comments::uncommented(text, "[[messages]]") + PROCESS
            } else {
                (*text).to_owned()
            },
        };
        let mut keys = KnownKeys::default();
        match kind {
            Kind::Daemon => drop(Daemon::parse_noting_keys(&source, &mut keys)?),
            Kind::Exchange => drop(Exchange::parse_noting_keys(&source, &mut keys)?),
        }
        known.join(keys);
        for (path, meaning) in comments::of(text) {
            if let Entry::Vacant(place) = meanings.entry(path) {
                order.push(place.key().clone());
                place.insert(meaning);
            }
        }
    }
    order.retain(|path| known.0.contains_key(path));
    let keys = known.0.into_iter().map(|(path, mut key)| {
        // The parser computes these defaults from other keys.
        if limits::find(&path).is_some_and(|about| matches!(about.usual, Usual::Derived(_))) {
            key.default = None;
        }
        // Of a process only.
        key.is_required &= path != "market.strategy.command";
        let meaning = meaning(&meanings, kind, &path);
        (path, Documented { key, meaning })
    });
    Ok(Documentation {
        keys: keys.collect(),
        order,
    })
}

/// The comment above a key; without one the sentence of the table of limits, or the comment above its section.
fn meaning(comments: &BTreeMap<String, String>, kind: Kind, path: &str) -> String {
    let comment = |path: &str| comments.get(path).filter(|text| !text.is_empty()).cloned();
    let limit = || {
        let limit = limits::find(path).filter(|_| kind == Kind::Daemon)?;
        Some(limit.sentence().to_owned())
    };
    let section = || comment(path.rsplit_once('.')?.0);
    comment(path)
        .or_else(limit)
        .or_else(section)
        .unwrap_or_default()
}

/// The schema of a file, JSON Schema draft 7.
pub fn schema(kind: Kind) -> Result<Value, ConfigError> {
    let documentation = documentation(kind)?;
    let (name, title) = match kind {
        Kind::Daemon => ("daemon", "Configuration of a cambist daemon"),
        Kind::Exchange => ("exchange", "Configuration of a cambist exchange"),
    };
    let mut root = table(&documentation, "");
    let about = [
        ("$schema", "http://json-schema.org/draft-07/schema#".into()),
        (
            "$id",
            format!("https://github.com/cambist/cambist/{name}.schema.json").into(),
        ),
        ("title", title.into()),
    ];
    for (key, value) in about {
        let _: Option<Value> = root.insert(key.to_owned(), value);
    }
    Ok(root.into())
}

/// The keys of a table, without those of its sub-tables.
pub(super) fn children<'a>(
    documentation: &'a Documentation,
    path: &'a str,
) -> impl Iterator<Item = (&'a str, &'a Documented)> {
    documentation.keys.iter().filter_map(move |(key, about)| {
        let (parent, name) = key.rsplit_once('.').unwrap_or(("", key));
        (parent == path).then_some((name, about))
    })
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// An object with exactly the keys that the parser knows.
fn table(documentation: &Documentation, path: &str) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, about) in children(documentation, path) {
        if about.key.is_required {
            required.push(Value::from(name));
        }
        let value = property(documentation, &join(path, name), about);
        properties.insert(name.to_owned(), value.into());
    }
    let mut shape = object(json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    }));
    if !required.is_empty() {
        shape.insert("required".to_owned(), required.into());
    }
    if path == "market.strategy" {
        params::constrain(&mut shape);
    }
    shape
}

/// The schema of one key.
fn property(documentation: &Documentation, path: &str, about: &Documented) -> Map<String, Value> {
    let key = &about.key;
    let mut shape = match &key.shape {
        Shape::Text => object(json!({"type": "string"})),
        Shape::Path | Shape::Socket => object(json!({"type": "string", "minLength": 1})),
        Shape::Amount => object(json!({"type": "string", "pattern": AMOUNT})),
        Shape::Amounts => object(json!({"anyOf": [
            {"type": "string", "pattern": AMOUNT},
            {"type": "array", "items": {"type": "string", "pattern": AMOUNT}},
        ]})),
        Shape::Texts | Shape::Addresses => {
            object(json!({"type": "array", "items": {"type": "string"}}))
        }
        Shape::Flag => object(json!({"type": "boolean"})),
        Shape::Number => object(json!({"type": "integer", "minimum": 0})),
        Shape::Signed => object(json!({"type": "integer"})),
        Shape::Decimal => object(json!({"type": "number"})),
        Shape::Plain => object(json!({"type": "array"})),
        Shape::Word(words) => object(json!({"enum": words})),
        Shape::Section => table(documentation, path),
        Shape::Sections => object(json!({"type": "array", "items": table(documentation, path)})),
        Shape::Free => object(json!({"type": "object"})),
    };
    if let Some(range) = &key.range {
        shape.insert("minimum".to_owned(), (*range.start()).into());
        shape.insert("maximum".to_owned(), (*range.end()).into());
    }
    if let Some(default) = key.default.as_deref().and_then(in_json) {
        shape.insert("default".to_owned(), default);
    }
    if !about.meaning.is_empty() {
        shape.insert("description".to_owned(), about.meaning.clone().into());
    }
    shape
}

/// A value in TOML as JSON.
fn in_json(toml: &str) -> Option<Value> {
    let table: toml::Table = format!("value = {toml}").parse().ok()?;
    serde_json::to_value(table.get("value")?).ok()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests;
