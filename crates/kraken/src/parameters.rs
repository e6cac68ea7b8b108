//! Parameters of a request: query strings, form bodies, JSON bodies. Values are kept as the text that was sent.

use std::collections::BTreeMap;

use crate::json::Node;

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

/// Lists whose entries may be objects.
const OF_OBJECTS: [&str; 2] = ["orders", "cl_ord_ids"];

/// Parameters by name. A member of an object within a JSON body has the name that forms give it: `close[price]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    values: BTreeMap<String, String>,
    /// Entries of arrays of texts, which a comma within an entry does not divide; JSON bodies only.
    texts: BTreeMap<String, Vec<String>>,
    /// Entries of arrays of objects; JSON bodies only.
    objects: BTreeMap<String, Vec<Self>>,
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

    /// Reads a JSON object. Numbers and booleans become their text; an array of texts becomes a comma-separated list
    /// as well, and an array `orders` or `cl_ord_ids` of objects the parameters of each.
    pub fn json(text: &[u8]) -> Result<Self, ParametersError> {
        let value = Node::read(text).ok_or(ParametersError::Grammar)?;
        Self::object(value, 0)
    }

    /// The nonce of a body, also of one whose other parameters cannot be read: signatures cover it.
    pub fn nonce(text: &[u8], is_json: bool) -> Option<String> {
        let found = if is_json {
            let Node::Object(object) = Node::read(text)? else {
                return None;
            };
            let mut named = object.into_iter().filter(|(name, _)| name == "nonce");
            named.next()?.1.text()
        } else {
            let mut values = form_urlencoded::parse(text).filter(|(name, _)| name == "nonce");
            values.next().map(|(_, value)| value.into_owned())
        };
        found.filter(|nonce| !nonce.is_empty())
    }

    fn object(value: Node, depth: usize) -> Result<Self, ParametersError> {
        let Node::Object(object) = value else {
            return Err(ParametersError::Grammar);
        };
        let mut read = Self::default();
        for (name, value) in object {
            match value {
                Node::Null => {}
                Node::Text(text) => read.add(name, text)?,
                Node::List(entries) => read.add_list(name, entries, depth)?,
                Node::Object(members) if !members.is_empty() => {
                    for (member, value) in members {
                        match value {
                            Node::Null => {}
                            Node::Text(text) => read.add(format!("{name}[{member}]"), text)?,
                            Node::List(_) | Node::Object(_) => {
                                return Err(ParametersError::Grammar);
                            }
                        }
                    }
                }
                Node::Object(_) => return Err(ParametersError::Grammar),
            }
        }
        Ok(read)
    }

    fn add_list(
        &mut self,
        name: String,
        entries: Vec<Node>,
        depth: usize,
    ) -> Result<(), ParametersError> {
        let has_objects = entries.iter().any(|entry| matches!(entry, Node::Object(_)));
        if has_objects && OF_OBJECTS.contains(&name.as_str()) {
            if depth > 0 || entries.len() > PARAMETERS_MAX {
                return Err(ParametersError::TooMany);
            }
            if self.values.contains_key(&name) || self.objects.contains_key(&name) {
                return Err(ParametersError::Twice(name));
            }
            let entries = entries.into_iter().map(|entry| Self::object(entry, 1));
            let entries = entries.collect::<Result<_, _>>()?;
            self.objects.insert(name, entries);
            return Ok(());
        }
        if self.objects.contains_key(&name) {
            return Err(ParametersError::Twice(name));
        }
        let texts: Option<Vec<_>> = entries.into_iter().map(Node::text).collect();
        let texts = texts.ok_or(ParametersError::Grammar)?;
        self.add(name.clone(), texts.join(","))?;
        self.texts.insert(name, texts);
        Ok(())
    }

    /// A parameter that is not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.values.get(name).map(String::as_str);
        value.filter(|value| !value.is_empty())
    }

    /// The entries of a list that are not empty: of an array, or of a text that commas divide.
    pub fn list(&self, name: &str) -> Vec<&str> {
        let entries: Vec<&str> = match self.texts.get(name) {
            Some(texts) => texts.iter().map(String::as_str).collect(),
            None => self.get(name).unwrap_or_default().split(',').collect(),
        };
        let entries = entries.into_iter().map(str::trim);
        entries.filter(|entry| !entry.is_empty()).collect()
    }

    /// Names of all parameters.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.values.keys().chain(self.objects.keys());
        names.map(String::as_str)
    }

    /// The entries of an array of objects.
    pub fn entries(&self, name: &str) -> &[Self] {
        self.objects.get(name).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, name: String, value: String) -> Result<(), ParametersError> {
        if self.values.len() >= PARAMETERS_MAX {
            return Err(ParametersError::TooMany);
        }
        if self.values.contains_key(&name) || self.objects.contains_key(&name) {
            return Err(ParametersError::Twice(name));
        }
        self.values.insert(name, value);
        Ok(())
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
            .entries("orders")
            .iter()
            .filter_map(|order| order.get("type"))
            .collect();
        assert_eq!(types, ["buy", "sell"]);
        let cancels = Parameters::json(br#"{"nonce":2,"orders":["A",7]}"#)?;
        assert_eq!(cancels.get("orders"), Some("A,7"));
        assert_eq!(cancels.list("orders"), ["A", "7"]);
        Ok(())
    }

    #[test]
    fn lists_are_texts_or_objects() -> Result<(), ParametersError> {
        let form = Parameters::form(b"cl_ord_ids=a, b,,&orders=")?;
        assert_eq!(form.list("cl_ord_ids"), ["a", "b"]);
        assert!(form.list("orders").is_empty() && form.list("none").is_empty());
        let json = Parameters::json(br#"{"cl_ord_ids":["a,b"," c"]}"#)?;
        assert_eq!(json.list("cl_ord_ids"), ["a,b", "c"]);
        let json = Parameters::json(br#"{"cl_ord_ids":[{"cl_ord_id":"a,b"},{"cl_ord_id":7}]}"#)?;
        let named = json.entries("cl_ord_ids").iter();
        let named: Vec<_> = named.filter_map(|entry| entry.get("cl_ord_id")).collect();
        assert_eq!(named, ["a,b", "7"]);
        assert_eq!(json.names().collect::<Vec<_>>(), ["cl_ord_ids"]);
        Ok(())
    }

    #[test]
    fn members_of_objects_have_the_names_of_forms() -> Result<(), ParametersError> {
        let json =
            Parameters::json(br#"{"close":{"ordertype":"limit","price":1.5,"price2":null}}"#)?;
        let form = Parameters::form(b"close[ordertype]=limit&close[price]=1.5")?;
        assert_eq!(json, form);
        Ok(())
    }

    #[test]
    fn the_nonce_is_found_whatever_else_there_is() {
        let nonce = |text: &str, is_json| Parameters::nonce(text.as_bytes(), is_json);
        let found = Some("7".to_owned());
        assert_eq!(nonce("a=1&a=2&nonce=7&nonce=8", false), found);
        assert_eq!(nonce(r#"{"a":1,"a":{"b":[{}]},"nonce":7}"#, true), found);
        assert_eq!(nonce(r#"{"nonce":"7"}"#, true), found);
        for text in [
            "",
            "[7]",
            r#"{"nonce":[7]}"#,
            r#"{"nonce":"#,
            r#"{"nonce":""}"#,
        ] {
            assert_eq!(nonce(text, true), None, "{text}");
        }
        assert_eq!(nonce("nonce=", false), None);
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
        assert_eq!(Parameters::form(b"a=1&a=1"), Err(twice.clone()));
        assert_eq!(Parameters::json(br#"{"a":1,"a":1}"#), Err(twice));
        for lists in [
            r#"{"orders":["A"],"orders":[{"txid":"A"}]}"#,
            r#"{"orders":[{"txid":"A"}],"orders":"A"}"#,
            r#"{"orders":[{"txid":"A"}],"orders":[{"txid":"A"}]}"#,
        ] {
            let twice = ParametersError::Twice("orders".to_owned());
            assert_eq!(Parameters::json(lists.as_bytes()), Err(twice), "{lists}");
        }
        for text in [
            "",
            "[]",
            "7",
            "{\"a\":{}}",
            "{\"a\":[{}]}",
            "{\"a\":{\"b\":{}}}",
            "{\"orders\":[\"A\",{\"txid\":\"B\"}]}",
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
        let orders = |count: usize| {
            let entries = vec![r#"{"txid":"A"}"#; count].join(",");
            Parameters::json(format!(r#"{{"orders":[{entries}]}}"#).as_bytes())
        };
        assert!(orders(PARAMETERS_MAX).is_ok());
        assert_eq!(orders(PARAMETERS_MAX + 1), Err(ParametersError::TooMany));
        let nested = br#"{"orders":[{"orders":[{"txid":"A"}]}]}"#;
        assert_eq!(Parameters::json(nested), Err(ParametersError::TooMany));
    }
}
