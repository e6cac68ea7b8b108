//! Strict JSON: a tree, and readers whose errors name the field.
//!
//! Derived readers accept `[7]` for an object and treat a missing optional field like `null`, generic values drop
//! duplicate keys, and both report "invalid type at line 1". Here duplicate keys, fractions, exponents and negative
//! numbers are refused, nesting and the number of values are bounded, and every error names the field and the reason.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

use cambist_core::{Amount, Reason, TokenId};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::number::{self, NumberError};

/// Most values (scalars, lists, objects) in one document; a page of orders has a few thousand.
pub const VALUES_MAX: u32 = 262_144;

/// Most characters of a value in an error.
const SHOWN_MAX: usize = 48;

/// A parsed document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A bare integer from 0 to 2^64 − 1.
    Integer(u64),
    /// Any other number: negative, fraction, exponent, too large. Never accepted.
    OtherNumber,
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// An object without duplicate keys.
    Object(BTreeMap<String, Json>),
}

/// An error in a document, with the reason for a refusal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", if field.is_empty() { String::new() } else { format!("{field}: ") })]
pub struct WireError {
    /// Path of the field, such as `sellToken.volume` or `orders[3].hash`; empty for the document.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
    /// The reason of the venue's refusal.
    pub reason: Reason,
}

impl WireError {
    /// An error about the current value.
    pub fn new(problem: impl Into<String>) -> Self {
        Self {
            field: String::new(),
            problem: problem.into(),
            reason: Reason::InvalidArgument,
        }
    }

    /// The same with another reason.
    #[must_use]
    pub fn because(mut self, reason: Reason) -> Self {
        self.reason = reason;
        self
    }

    /// The same, as a part of the value that has the field `name`.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        self.field = match self.field.as_str() {
            "" => name.to_owned(),
            inner if inner.starts_with('[') => format!("{name}{inner}"),
            inner => format!("{name}.{inner}"),
        };
        self
    }
}

/// A type that can be read from a document.
pub trait FromWire: Sized {
    /// Reads a value.
    fn read(json: &Json) -> Result<Self, WireError>;

    /// Parses a document and reads it.
    fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        Self::read(&parse(bytes)?)
    }
}

/// Parses one document; only white space may follow it.
pub fn parse(bytes: &[u8]) -> Result<Json, WireError> {
    let left = Cell::new(VALUES_MAX);
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    Node { left: &left }
        .deserialize(&mut deserializer)
        .and_then(|json| deserializer.end().map(|()| json))
        .map_err(|error| {
            WireError::new(format!(
                "not JSON: {}",
                number::quoted(&error.to_string(), 120)
            ))
        })
}

impl Json {
    /// The fields of an object.
    pub fn object(&self) -> Result<Object<'_>, WireError> {
        match self {
            Self::Object(fields) => Ok(Object(fields)),
            other => Err(WireError::new(format!("expected an object, found {other}"))),
        }
    }

    /// Every item of a list.
    pub fn list<T>(
        &self,
        read: impl Fn(&Json) -> Result<T, WireError>,
    ) -> Result<Vec<T>, WireError> {
        match self {
            Self::List(items) => items
                .iter()
                .enumerate()
                .map(|(at, item)| read(item).map_err(|error| error.within(&format!("[{at}]"))))
                .collect(),
            other => Err(WireError::new(format!("expected a list, found {other}"))),
        }
    }
}

/// Type and, for short scalars, value, for errors.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::OtherNumber => f.write_str("a number that is negative, fractional or too large"),
            Self::Text(text) => write!(f, "\"{}\"", number::quoted(text, SHOWN_MAX)),
            Self::List(_) => f.write_str("a list"),
            Self::Object(_) => f.write_str("an object"),
        }
    }
}

/// Fields of an object. Unknown fields are ignored.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a>(pub(crate) &'a BTreeMap<String, Json>);

impl Object<'_> {
    /// A required field; `null` is an error.
    pub fn required<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Json) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        match self.0.get(name) {
            None | Some(Json::Null) => Err(WireError::new("is missing").within(name)),
            Some(json) => read(json).map_err(|error| error.within(name)),
        }
    }

    /// An optional field; `null` and the empty string count as absent.
    pub fn optional<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Json) -> Result<T, WireError>,
    ) -> Result<Option<T>, WireError> {
        match self.0.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::Text(text)) if text.is_empty() => Ok(None),
            Some(json) => read(json).map(Some).map_err(|error| error.within(name)),
        }
    }

    /// The value of a field, if present.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.0.get(name)
    }
}

/// A string of at most `bytes_max` bytes.
pub fn text(json: &Json, bytes_max: usize) -> Result<String, WireError> {
    match json {
        Json::Text(text) if text.len() <= bytes_max => Ok(text.clone()),
        Json::Text(text) => Err(WireError::new(format!(
            "has {} bytes, at most {bytes_max} are allowed",
            text.len()
        ))),
        other => Err(WireError::new(format!("expected a string, found {other}"))),
    }
}

/// `true` or `false`, bare or as a string: clients send both.
pub fn boolean(json: &Json) -> Result<bool, WireError> {
    match json {
        Json::Boolean(value) => Ok(*value),
        Json::Text(text) if text == "true" => Ok(true),
        Json::Text(text) if text == "false" => Ok(false),
        other => Err(WireError::new(format!(
            "expected true or false, found {other}"
        ))),
    }
}

/// A non-negative integer, bare or as a string: the interface and its clients use both.
pub fn wide(json: &Json) -> Result<u128, WireError> {
    match json {
        Json::Integer(value) => Ok(u128::from(*value)),
        Json::Text(text) => number::integer(text).map_err(|error| bad_number(text, error)),
        other => Err(WireError::new(format!(
            "expected an integer, found {other}"
        ))),
    }
}

/// An integer that fits `T`.
pub fn integer<T: TryFrom<u128>>(json: &Json) -> Result<T, WireError> {
    T::try_from(wide(json)?).map_err(|_| WireError::new(format!("{json} is too large")))
}

/// An amount of at most 96 bits, the width of all signed amounts.
pub fn amount(json: &Json) -> Result<Amount, WireError> {
    let value = wide(json)?;
    if value > cambist_core::token::AMOUNT_MAX {
        return Err(WireError::new(format!("{json} has more than 96 bits")));
    }
    Ok(value)
}

/// A token id. A valid number above 16 bits is an unsupported token, not an invalid argument.
pub fn token_id(json: &Json) -> Result<TokenId, WireError> {
    let value = wide(json)?;
    u16::try_from(value).map(TokenId).map_err(|_| {
        WireError::new(format!("{json} is not a token id")).because(Reason::UnsupportedToken)
    })
}

fn bad_number(text: &str, error: NumberError) -> WireError {
    WireError::new(format!("\"{}\" {error}", number::quoted(text, SHOWN_MAX)))
}

struct Node<'a> {
    left: &'a Cell<u32>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        let Some(left) = self.left.get().checked_sub(1) else {
            return Err(D::Error::custom(format!("more than {VALUES_MAX} values")));
        };
        self.left.set(left);
        // The parser's own nesting limit (128) applies.
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Boolean(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Integer(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Json, E> {
        Ok(Json::OtherNumber)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Json, E> {
        Ok(Json::OtherNumber)
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Node { left: self.left })? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Node { left: self.left })?;
            if let Some(twice) = fields.insert(key.clone(), value) {
                drop(twice);
                return Err(A::Error::custom(format!(
                    "duplicate key \"{}\"",
                    number::quoted(&key, SHOWN_MAX)
                )));
            }
        }
        Ok(Json::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn problem(bytes: &[u8]) -> String {
        parse(bytes).unwrap_err().to_string()
    }

    #[test]
    fn hostile_documents_are_refused_with_a_cause() {
        assert!(problem(b"").contains("not JSON"));
        assert!(problem(b"<html>").contains("not JSON"));
        assert!(problem(br#"{"a":1"#).contains("not JSON"));
        assert!(problem(br#"{"a":1}x"#).contains("trailing"));
        assert!(problem(br#"{"a":1,"a":2}"#).contains("duplicate key"));
        assert!(problem(b"[1,]").contains("not JSON"));
        assert!(problem(b"[007]").contains("not JSON"));
        assert!(problem(b"[1e400]").contains("not JSON"));
        assert!(problem(b"\"\xff\"").contains("not JSON"));
        let deep = "[".repeat(100_000);
        assert!(problem(deep.as_bytes()).contains("recursion"));
        let wide = format!("[{}0]", "0,".repeat(300_000));
        assert!(problem(wide.as_bytes()).contains("more than 262144"));
    }

    #[test]
    fn odd_numbers_are_never_integers() {
        for odd in ["-1", "1.0", "1e3", "18446744073709551616", "-0"] {
            let json = parse(odd.as_bytes()).unwrap();
            assert!(integer::<u32>(&json).is_err(), "{odd}");
            assert!(amount(&json).is_err(), "{odd}");
        }
        assert_eq!(
            integer::<u64>(&parse(b"18446744073709551615").unwrap()),
            Ok(u64::MAX)
        );
        assert_eq!(integer::<u32>(&parse(b"\"12\"").unwrap()), Ok(12));
        assert!(integer::<u32>(&parse(b"\"+12\"").unwrap()).is_err());
    }

    #[test]
    fn errors_name_the_path() {
        let json = parse(br#"{"orders":[{},{"volumes":{"fee":"1e3"}}]}"#).unwrap();
        let error = json
            .object()
            .unwrap()
            .required("orders", |json| {
                json.list(|json| {
                    json.object()?
                        .optional("volumes", |json| json.object()?.required("fee", amount))
                })
            })
            .unwrap_err();
        assert_eq!(error.field, "orders[1].volumes.fee");
        assert_eq!(
            error.to_string(),
            "orders[1].volumes.fee: \"1e3\" is not a plain decimal number"
        );
        assert!(
            parse(b"[7]").unwrap().object().is_err(),
            "a list is not an object"
        );
        let null = parse(br#"{"a":null}"#).unwrap();
        assert!(null.object().unwrap().required("a", amount).is_err());
        assert_eq!(null.object().unwrap().optional("a", amount), Ok(None));
    }
}
