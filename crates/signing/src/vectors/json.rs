//! A JSON tree that keeps the order of members, which the text of a signed request body depends on.

use core::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A JSON value. Numbers are kept as text: integers as their digits, others in full precision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number. Text with `.` or `e` in it was not an exact integer.
    Number(String),
    /// A string.
    Text(String),
    /// A list.
    Array(Vec<Json>),
    /// Members in the order of the text; no name occurs twice.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The member of an object.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members
                .iter()
                .find(|(member, _)| member == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text without white space, as JavaScript's `JSON.stringify` prints it.
    pub fn compact(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Number(digits) => digits.clone(),
            Self::Text(text) => quoted(text),
            Self::Array(items) => {
                let items: Vec<String> = items.iter().map(Self::compact).collect();
                format!("[{}]", items.join(","))
            }
            Self::Object(members) => {
                let pair = |(name, value): &(String, Self)| {
                    format!("{}:{}", quoted(name), value.compact())
                };
                let members: Vec<String> = members.iter().map(pair).collect();
                format!("{{{}}}", members.join(","))
            }
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Tree)
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("json")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        // The debug form always has a point or an exponent, so it is never taken for an exact integer.
        Ok(Json::Number(format!("{value:?}")))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut members: Vec<(String, Json)> = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, Json>()? {
            if members.iter().any(|(member, _)| *member == name) {
                return Err(A::Error::custom("a member occurs twice"));
            }
            members.push((name, value));
        }
        Ok(Json::Object(members))
    }
}
