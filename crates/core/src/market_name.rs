//! The name of a market in a report of the venue.
//!
//! A page of a list repeats it in every entry. It is kept in place, so that neither reading nor copying a page
//! allocates for each of them.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes of a name that is kept in place.
const SHORT: usize = 22;

/// A market's name as the venue reports it; it need not be that of a configured market.
#[derive(Clone, PartialEq, Eq)]
pub struct MarketName(Form);

/// A name has one form: up to `SHORT` bytes are in place, with zeros behind them.
#[derive(Clone, PartialEq, Eq)]
enum Form {
    Short { length: u8, bytes: [u8; SHORT] },
    Long(Box<str>),
}

impl MarketName {
    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Form::Short { length, bytes } => {
                let text = std::str::from_utf8(&bytes[..usize::from(*length)]);
                text.expect("it was made of text")
            }
            Form::Long(text) => text,
        }
    }
}

impl From<&str> for MarketName {
    fn from(text: &str) -> Self {
        match u8::try_from(text.len()) {
            Ok(length) if text.len() <= SHORT => {
                let mut bytes = [0; SHORT];
                bytes[..text.len()].copy_from_slice(text.as_bytes());
                Self(Form::Short { length, bytes })
            }
            _ => Self(Form::Long(text.into())),
        }
    }
}

impl From<String> for MarketName {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl Default for MarketName {
    fn default() -> Self {
        "".into()
    }
}

impl Deref for MarketName {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

/// In the order of the text.
impl Ord for MarketName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other)
    }
}

impl PartialOrd for MarketName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq<str> for MarketName {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl fmt::Display for MarketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for MarketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for MarketName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for MarketName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_length_are_kept_as_they_are() {
        for length in [0, 1, SHORT - 1, SHORT, SHORT + 1, 300] {
            let text = "Ä".repeat(length / 2) + &"B".repeat(length % 2);
            let name = MarketName::from(text.as_str());
            assert_eq!(name.as_str(), text);
            assert_eq!(format!("{name} {name:?}"), format!("{text} {text:?}"));
            assert!(name != MarketName::from(text.clone() + "C"));
            assert!(name == *text && name == MarketName::from(text));
            let kept_in_place = matches!(name.0, Form::Short { .. });
            assert_eq!(kept_in_place, length <= SHORT, "{length}");
        }
    }
}
