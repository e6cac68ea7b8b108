//! Parameters of a request: query strings, form bodies, JSON bodies. Values are kept as the text that was sent.

use std::collections::BTreeMap;

use serde_json::Value;

/// Most parameters of a request.
const PARAMETERS_MAX: usize = 64;

/// Why parameters cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParametersError {
    /// The body is neither a form nor a JSON object.
    #[error("the body is neither a form nor a JSON object")]
    Grammar,
    /// A name occurs twice.
    #[error("{0} occurs twice")]
    Twice(String),
    /// There are too many.
    #[error("more than {PARAMETERS_MAX} parameters")]
    TooMany,
}

/// Writes a form (`application/x-www-form-urlencoded`) of these parameters, in their order.
pub fn form<'a>(parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(parameters);
    form.finish().into_bytes()
}

/// Parameters by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    values: BTreeMap<String, String>,
    /// The list of a batch, whose entries are objects; JSON bodies only.
    batch: Vec<Self>,
}

impl Parameters {
    /// Reads a query string or a form (`application/x-www-form-urlencoded`).
    pub fn form(text: &[u8]) -> Result<Self, ParametersError> {
        let mut read = Self::default();
        for (name, value) in form_urlencoded::parse(text) {
            read.add(name.into_owned(), value.into_owned())?;
        }
        Ok(read)
    }

    /// Reads a JSON object. Numbers and booleans become their text; an array of texts becomes a comma-separated list,
    /// and the array `orders` a batch.
    pub fn json(text: &[u8]) -> Result<Self, ParametersError> {
        let value: Value = serde_json::from_slice(text).map_err(|_| ParametersError::Grammar)?;
        Self::object(value, 0)
    }

    fn object(value: Value, depth: usize) -> Result<Self, ParametersError> {
        let Value::Object(object) = value else {
            return Err(ParametersError::Grammar);
        };
        let mut read = Self::default();
        for (name, value) in object {
            match value {
                Value::Array(entries)
                    if name == "orders" && entries.iter().any(Value::is_object) =>
                {
                    if depth > 0 || entries.len() > PARAMETERS_MAX {
                        return Err(ParametersError::TooMany);
                    }
                    let entries = entries.into_iter().map(|entry| Self::object(entry, 1));
                    read.batch = entries.collect::<Result<_, _>>()?;
                }
                Value::Array(entries) => {
                    let texts: Option<Vec<_>> = entries.into_iter().map(text).collect();
                    let texts = texts.ok_or(ParametersError::Grammar)?;
                    read.add(name, texts.join(","))?;
                }
                Value::Null => {}
                value => {
                    let value = text(value).ok_or(ParametersError::Grammar)?;
                    read.add(name, value)?;
                }
            }
        }
        Ok(read)
    }

    /// A parameter that is not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.values.get(name).map(String::as_str);
        value.filter(|value| !value.is_empty())
    }

    /// Names of all parameters.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The entries of a batch.
    pub fn batch(&self) -> &[Self] {
        &self.batch
    }

    fn add(&mut self, name: String, value: String) -> Result<(), ParametersError> {
        if self.values.len() >= PARAMETERS_MAX {
            return Err(ParametersError::TooMany);
        }
        if self.values.contains_key(&name) {
            return Err(ParametersError::Twice(name));
        }
        self.values.insert(name, value);
        Ok(())
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_objects_give_the_same_parameters() -> Result<(), ParametersError> {
        let form = Parameters::form(b"nonce=1&pair=XBT%2FUSD&expiretm=%2b30&validate=true&empty=")?;
        let json = Parameters::json(
            br#"{"nonce":1,"pair":"XBT/USD","expiretm":"+30","validate":true,"empty":null}"#,
        )?;
        for name in ["nonce", "pair", "expiretm", "validate", "empty", "none"] {
            assert_eq!(form.get(name), json.get(name), "{name}");
        }
        assert_eq!(form.get("expiretm"), Some("+30"));
        assert_eq!(form.get("empty"), None);
        let batch = Parameters::json(br#"{"nonce":2,"orders":[{"type":"buy"},{"type":"sell"}]}"#)?;
        let types: Vec<_> = batch
            .batch()
            .iter()
            .filter_map(|order| order.get("type"))
            .collect();
        assert_eq!(types, ["buy", "sell"]);
        let cancels = Parameters::json(br#"{"nonce":2,"orders":["A",7]}"#)?;
        assert_eq!(cancels.get("orders"), Some("A,7"));
        Ok(())
    }

    #[test]
    fn a_written_form_is_read_back() -> Result<(), ParametersError> {
        let written = form([("a", "1,2"), ("b", "+1 :&=%\u{e4}"), ("c", "")]);
        assert_eq!(written, b"a=1%2C2&b=%2B1+%3A%26%3D%25%C3%A4&c=");
        let read = Parameters::form(&written)?;
        assert_eq!(read.get("a"), Some("1,2"));
        assert_eq!(read.get("b"), Some("+1 :&=%\u{e4}"));
        Ok(())
    }

    #[test]
    fn what_is_ambiguous_or_too_large_is_refused() {
        let twice = ParametersError::Twice("a".to_owned());
        assert_eq!(Parameters::form(b"a=1&a=1"), Err(twice));
        for text in [
            "",
            "[]",
            "7",
            "{\"a\":{}}",
            "{\"a\":[{}]}",
            "{\"a\":1",
            "\u{0}",
        ] {
            assert_eq!(
                Parameters::json(text.as_bytes()),
                Err(ParametersError::Grammar),
                "{text}"
            );
        }
        let many: Vec<_> = (0..=PARAMETERS_MAX).map(|n| format!("p{n}=1")).collect();
        assert_eq!(
            Parameters::form(many.join("&").as_bytes()),
            Err(ParametersError::TooMany)
        );
        assert!(Parameters::form(many[1..].join("&").as_bytes()).is_ok());
    }
}
