//! A position in a file of vectors: its value and its path for errors.

use super::json::Json;
use super::{Case, Cases, VectorError};
use crate::address::Address;
use crate::field::Field;
use crate::text;

/// A value with its place in the file.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    value: &'a Json,
    path: String,
}

impl<'a> Node<'a> {
    /// The whole file.
    pub fn root(name: &str, value: &'a Json) -> Self {
        Self {
            value,
            path: name.to_owned(),
        }
    }

    /// File and place, for messages.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value.
    pub fn value(&self) -> &'a Json {
        self.value
    }

    /// A required member.
    ///
    /// # Errors
    /// [`VectorError::Missing`].
    pub fn get(&self, name: &str) -> Result<Self, VectorError> {
        self.optional(name).ok_or_else(|| VectorError::Missing {
            path: format!("{}: {name}", self.path),
        })
    }

    /// A member that may be absent or null.
    pub fn optional(&self, name: &str) -> Option<Self> {
        let value = self
            .value
            .get(name)
            .filter(|value| !matches!(value, Json::Null))?;
        Some(Self {
            value,
            path: format!("{}: {name}", self.path),
        })
    }

    /// A member that may be absent; null is a value like others.
    pub fn present(&self, name: &str) -> Option<Self> {
        self.value.get(name).map(|value| Self {
            value,
            path: format!("{}: {name}", self.path),
        })
    }

    /// The elements of a list.
    ///
    /// # Errors
    /// [`VectorError::Malformed`] if this is not a list.
    pub fn items(&self) -> Result<Vec<Self>, VectorError> {
        let Json::Array(items) = self.value else {
            return Err(self.malformed("a list"));
        };
        let place = |(i, value)| Self {
            value,
            path: format!("{}[{i}]", self.path),
        };
        Ok(items.iter().enumerate().map(place).collect())
    }

    /// The members of an object, in the order of the text.
    ///
    /// # Errors
    /// [`VectorError::Malformed`] if this is not an object.
    pub fn members(&self) -> Result<&'a [(String, Json)], VectorError> {
        let Json::Object(members) = self.value else {
            return Err(self.malformed("an object"));
        };
        Ok(members)
    }

    /// Evaluates every element of the list as one case.
    ///
    /// # Errors
    /// Whatever `evaluate` returns, or [`VectorError::Malformed`] if this is not a list.
    pub fn each(
        &self,
        cases: &mut Cases,
        evaluate: impl Fn(&Node<'a>, &mut Case) -> Result<(), VectorError>,
    ) -> Result<(), VectorError> {
        for node in self.items()? {
            let mut case = Case::default();
            evaluate(&node, &mut case)?;
            cases.add(case);
        }
        Ok(())
    }

    /// A string, or a number by its digits.
    ///
    /// # Errors
    /// [`VectorError::Malformed`] for other values.
    pub fn text(&self) -> Result<&'a str, VectorError> {
        match self.value {
            Json::Text(text) | Json::Number(text) => Ok(text),
            _ => Err(self.malformed("text or a number")),
        }
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// [`VectorError::Malformed`] for other values.
    pub fn flag(&self) -> Result<bool, VectorError> {
        let Json::Bool(value) = self.value else {
            return Err(self.malformed("true or false"));
        };
        Ok(*value)
    }

    /// A decimal integer, as a number or a string, that fits the type.
    ///
    /// # Errors
    /// [`VectorError::Malformed`] for other values.
    pub fn integer<T: TryFrom<u128>>(&self) -> Result<T, VectorError> {
        let text = self.text()?;
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let value = text.parse::<u128>().ok().filter(|_| digits);
        value
            .and_then(|value| T::try_from(value).ok())
            .ok_or_else(|| self.malformed("an integer in range"))
    }

    /// A number, not necessarily whole.
    ///
    /// # Errors
    /// [`VectorError::Malformed`] for other values and for text.
    pub fn float(&self) -> Result<f64, VectorError> {
        let Json::Number(text) = self.value else {
            return Err(self.malformed("a number"));
        };
        text.parse().map_err(|_| self.malformed("a number"))
    }

    /// A decimal integer below 2^256.
    ///
    /// # Errors
    /// [`VectorError::Malformed`] for other values.
    pub fn decimal(&self) -> Result<Field, VectorError> {
        Field::from_decimal(self.text()?).map_err(|_| self.malformed("a decimal number"))
    }

    /// A hexadecimal integer below 2^256.
    ///
    /// # Errors
    /// [`VectorError::Malformed`] for other values.
    pub fn hex(&self) -> Result<Field, VectorError> {
        Field::from_hex(self.text()?)
            .map_err(|_| self.malformed("0x and up to 64 hexadecimal digits"))
    }

    /// Bytes as `0x` and pairs of hexadecimal digits.
    ///
    /// # Errors
    /// [`VectorError::Malformed`] for other values.
    pub fn bytes(&self) -> Result<Vec<u8>, VectorError> {
        text::bytes_from_hex(self.text()?)
            .ok_or_else(|| self.malformed("0x and pairs of hexadecimal digits"))
    }

    /// An address; an empty text is the zero address.
    ///
    /// # Errors
    /// [`VectorError::Malformed`] for other values.
    pub fn address(&self) -> Result<Address, VectorError> {
        let text = self.text()?;
        if text.is_empty() {
            return Ok(Address::ZERO);
        }
        Address::from_hex(text).map_err(|_| self.malformed("an address"))
    }

    /// The error of a value that cannot be read.
    pub fn malformed(&self, expected: &'static str) -> VectorError {
        VectorError::Malformed {
            path: self.path.clone(),
            expected,
        }
    }
}
