//! A strict reader of answers: numbers keep the digits that were sent, entries their order.
//!
//! Times are numbers with decimals here, which a reader of floats rounds, and lists of orders are objects whose order
//! is that of the list. Duplicate names, more than [`VALUES_MAX`] values and deep nesting are refused; every error names
//! the field.

use std::collections::BTreeSet;

use cambist_protocol::number::quoted;

/// Most values of one answer: all pairs of the service have about 100,000.
pub const VALUES_MAX: u32 = 400_000;

/// Deepest nesting. Answers have at most six levels.
const DEPTH_MAX: u32 = 16;

/// Most characters of a value in an error.
const SHOWN_MAX: usize = 48;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A number, as its digits.
    Number(String),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// An object, in the order of the document, without duplicate names.
    Object(Vec<(String, Self)>),
}

/// An answer that is not what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", if field.is_empty() { String::new() } else { format!("{field}: ") })]
pub struct DecodeError {
    /// Path of the field, such as `open.OQCLML-BW3P3-BUCMWZ.vol`; empty for the document.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

impl DecodeError {
    /// An error about the current value.
    pub fn new(problem: impl Into<String>) -> Self {
        Self {
            field: String::new(),
            problem: problem.into(),
        }
    }

    /// The same, as a part of the value that has the field `name`.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        let name = quoted(name, SHOWN_MAX);
        self.field = match self.field.as_str() {
            "" => name,
            inner if inner.starts_with('[') => format!("{name}{inner}"),
            inner => format!("{name}.{inner}"),
        };
        self
    }
}

/// Parses one document; only white space may follow it.
pub fn parse(bytes: &[u8]) -> Result<Json, DecodeError> {
    let text = std::str::from_utf8(bytes).map_err(|_| DecodeError::new("not JSON: not UTF-8"))?;
    let mut reader = Reader {
        text,
        at: 0,
        values: VALUES_MAX,
    };
    let value = reader.value(DEPTH_MAX)?;
    reader.space();
    if reader.at == text.len() {
        Ok(value)
    } else {
        Err(reader.error("something follows the value"))
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    values: u32,
}

impl Reader<'_> {
    fn error(&self, problem: &str) -> DecodeError {
        DecodeError::new(format!("not JSON: {problem} at byte {}", self.at))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: u32) -> Result<Json, DecodeError> {
        self.space();
        let values = self.values.checked_sub(1);
        self.values = values.ok_or_else(|| self.error("too many values"))?;
        match self.peek() {
            Some(b'{') => self.object(self.deeper(depth)?),
            Some(b'[') => self.list(self.deeper(depth)?),
            Some(b'"') => self.string().map(Json::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn deeper(&self, depth: u32) -> Result<u32, DecodeError> {
        let left = depth.checked_sub(1);
        left.ok_or_else(|| self.error("too deeply nested"))
    }

    fn word(&mut self) -> Result<Json, DecodeError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        for (word, value) in [
            ("null", Json::Null),
            ("true", Json::Boolean(true)),
            ("false", Json::Boolean(false)),
        ] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.error("a value was expected"))
    }

    fn object(&mut self, depth: u32) -> Result<Json, DecodeError> {
        self.at += 1;
        let (mut entries, mut names) = (Vec::new(), BTreeSet::new());
        self.space();
        if self.take(b'}') {
            return Ok(Json::Object(entries));
        }
        loop {
            self.space();
            let name = self.string()?;
            self.space();
            if !self.take(b':') {
                return Err(self.error("a colon was expected"));
            }
            if !names.insert(name.clone()) {
                return Err(DecodeError::new(format!(
                    "the name \"{}\" occurs twice",
                    quoted(&name, SHOWN_MAX)
                )));
            }
            let value = self.value(depth)?;
            entries.push((name, value));
            self.space();
            if self.take(b'}') {
                return Ok(Json::Object(entries));
            }
            if !self.take(b',') {
                return Err(self.error("a comma or a brace was expected"));
            }
        }
    }

    fn list(&mut self, depth: u32) -> Result<Json, DecodeError> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.take(b']') {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.space();
            if self.take(b']') {
                return Ok(Json::List(items));
            }
            if !self.take(b',') {
                return Err(self.error("a comma or a bracket was expected"));
            }
        }
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - from
    }

    fn number(&mut self) -> Result<Json, DecodeError> {
        let from = self.at;
        self.take(b'-');
        let is_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        let mut well = whole == 1 || (whole > 1 && !is_zero);
        if self.take(b'.') {
            well &= self.digits() > 0;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if !self.take(b'+') {
                self.take(b'-');
            }
            well &= self.digits() > 0;
        }
        let text = self.text.get(from..self.at).unwrap_or_default();
        if well {
            Ok(Json::Number(text.to_owned()))
        } else {
            Err(self.error("a number ends or begins wrongly"))
        }
    }

    fn string(&mut self) -> Result<String, DecodeError> {
        if !self.take(b'"') {
            return Err(self.error("a string was expected"));
        }
        let mut out = String::new();
        loop {
            let from = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            out.push_str(self.text.get(from..self.at).unwrap_or_default());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                _ => return Err(self.error("a string does not end")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, DecodeError> {
        let escape = self.peek();
        self.at += 1;
        Ok(match escape {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => self.code_point()?,
            _ => return Err(self.error("an escape is not known")),
        })
    }

    fn code_point(&mut self) -> Result<char, DecodeError> {
        let high = self.hex()?;
        let code = if (0xd800..0xdc00).contains(&high) && self.take(b'\\') && self.take(b'u') {
            let low = self.hex()?;
            if !(0xdc00..0xe000).contains(&low) {
                return Err(self.error("half a character"));
            }
            0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)
        } else {
            high
        };
        char::from_u32(code).ok_or_else(|| self.error("half a character"))
    }

    fn hex(&mut self) -> Result<u32, DecodeError> {
        let digits = self.text.get(self.at..self.at + 4).unwrap_or_default();
        if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(self.error("four hexadecimal digits were expected"));
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| self.error("a code point was expected"))
    }
}

impl Json {
    /// The fields of an object.
    pub fn object(&self) -> Result<Object<'_>, DecodeError> {
        match self {
            Self::Object(entries) => Ok(Object(entries)),
            other => Err(other.is_not("an object")),
        }
    }

    /// The items of a list.
    pub fn list(&self) -> Result<&[Self], DecodeError> {
        match self {
            Self::List(items) => Ok(items),
            other => Err(other.is_not("a list")),
        }
    }

    /// A string of at most `bytes_max` bytes.
    pub fn text(&self, bytes_max: usize) -> Result<&str, DecodeError> {
        match self {
            Self::Text(text) if text.len() <= bytes_max => Ok(text),
            Self::Text(text) => Err(DecodeError::new(format!(
                "has {} bytes, at most {bytes_max} are allowed",
                text.len()
            ))),
            other => Err(other.is_not("a string")),
        }
    }

    /// An integer from 0 on that fits `T`, as a number.
    pub fn integer<T: TryFrom<u128>>(&self) -> Result<T, DecodeError> {
        match self {
            Self::Number(digits) => cambist_protocol::number::bounded(digits)
                .map_err(|error| DecodeError::new(format!("{digits} {error}"))),
            other => Err(other.is_not("an integer")),
        }
    }

    /// `true` or `false`.
    pub fn boolean(&self) -> Result<bool, DecodeError> {
        match self {
            Self::Boolean(value) => Ok(*value),
            other => Err(other.is_not("true or false")),
        }
    }

    /// An error that names what was found in place of what was expected.
    pub fn is_not(&self, expected: &str) -> DecodeError {
        let found = match self {
            Self::Null => "null".to_owned(),
            Self::Boolean(value) => value.to_string(),
            Self::Number(digits) => quoted(digits, SHOWN_MAX),
            Self::Text(text) => format!("\"{}\"", quoted(text, SHOWN_MAX)),
            Self::List(_) => "a list".to_owned(),
            Self::Object(_) => "an object".to_owned(),
        };
        DecodeError::new(format!("expected {expected}, found {found}"))
    }
}

/// The fields of an object. Unknown ones are ignored.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a>(&'a [(String, Json)]);

impl<'a> Object<'a> {
    /// Every field, in the order of the document.
    pub fn entries(self) -> &'a [(String, Json)] {
        self.0
    }

    /// A field; `null` counts as absent.
    pub fn get(self, name: &str) -> Option<&'a Json> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value)
            .filter(|value| **value != Json::Null)
    }

    /// A required field.
    pub fn required<T>(
        self,
        name: &str,
        read: impl FnOnce(&'a Json) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let value = self.get(name).ok_or(DecodeError::new("is missing"));
        value.and_then(read).map_err(|error| error.within(name))
    }

    /// An optional field.
    pub fn optional<T>(
        self,
        name: &str,
        read: impl FnOnce(&'a Json) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        let value = self.get(name).map(read).transpose();
        value.map_err(|error| error.within(name))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    #[test]
    fn numbers_keep_their_digits_and_entries_their_order() {
        let json = parse(br#" {"b": 1688666559.89740, "a": [-0, 1e3, "x\u00e4\n\ud83d\ude00"]} "#)
            .unwrap();
        let entries = json.object().unwrap().entries();
        assert_eq!(entries[0].0, "b");
        assert_eq!(entries[0].1, Json::Number("1688666559.89740".to_owned()));
        let list = entries[1].1.list().unwrap();
        assert_eq!(list[0], Json::Number("-0".to_owned()));
        assert_eq!(list[1], Json::Number("1e3".to_owned()));
        assert_eq!(list[2], Json::Text("x\u{e4}\n\u{1f600}".to_owned()));
        let text = parse(br#""\"\\\/\b\f\r\t\ud800\udc00\udbff\udfff""#).unwrap();
        let read = "\"\\/\u{8}\u{c}\r\t\u{10000}\u{10ffff}";
        assert_eq!(text, Json::Text(read.to_owned()));
        let words = parse(b"[null ,\ttrue\n,\rfalse ] ").unwrap();
        let read = [Json::Null, Json::Boolean(true), Json::Boolean(false)];
        assert_eq!(words.list(), Ok(&read[..]));
        let spaced = parse(br#"{ "a" : 1e-5 , "b" : 1E+5 }"#).unwrap();
        assert_eq!(spaced, parse(br#"{"a":1e-5,"b":1E+5}"#).unwrap());
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "",
            " ",
            "{",
            "[1,]",
            "[1 2]",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{a:1}",
            "{\"a\":1}x",
            "{\"a\":1,\"a\":2}",
            "01",
            "-",
            "1.",
            ".5",
            "+1",
            "1e",
            "NaN",
            "nul",
            "\"a",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\u+123\"",
            "\"\\ud800\\udbff\"",
            "\"\\ud83d\"",
            "\"\\ud83d\\u0041\"",
            "\"a\nb\"",
            "<html>",
            "\u{feff}{}",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(b"\"\xff\"").is_err());
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(16).as_bytes()).is_ok());
        assert!(parse(nested(17).as_bytes()).is_err());
        let many = |count: usize| format!("[{}0]", "0,".repeat(count - 2));
        assert!(parse(many(400_000).as_bytes()).is_ok());
        let error = parse(many(400_001).as_bytes()).unwrap_err().to_string();
        assert!(error.contains("too many values"), "{error}");
    }

    #[test]
    fn errors_name_the_path_and_what_was_found() {
        let json =
            parse(br#"{"open":{"OABC":{"vol":7,"n":18446744073709551616,"b":null}}}"#).unwrap();
        let order = |read: &dyn Fn(Object<'_>) -> Result<(), DecodeError>| {
            let read = |json: &Json| {
                json.object()?
                    .required("OABC", |order| read(order.object()?))
            };
            let error = json.object().unwrap().required("open", read);
            error.unwrap_err().to_string()
        };
        assert_eq!(
            order(&|order| order.required("vol", |vol| vol.text(9)).map(|_| ())),
            "open.OABC.vol: expected a string, found 7"
        );
        let long = Json::Text("1234".to_owned());
        assert_eq!(long.text(4), Ok("1234"));
        let error = long.text(3).unwrap_err().within("[0]").within("txid");
        assert_eq!(
            error.to_string(),
            "txid[0]: has 4 bytes, at most 3 are allowed"
        );
        assert_eq!(
            order(&|order| order.required("n", Json::integer::<u64>).map(|_| ())),
            "open.OABC.n: 18446744073709551616 is too large"
        );
        assert_eq!(
            order(&|order| order.required("b", Json::boolean).map(|_| ())),
            "open.OABC.b: is missing"
        );
        assert_eq!(
            order(&|order| order.optional("vol", Json::list).map(|_| ())),
            "open.OABC.vol: expected a list, found 7"
        );
    }
}
