//! What a parser asks of a file: every key with its type, default and range, recorded while the file is read.
//!
//! JSON Schema and the reference of the configuration are made of this record. It cannot differ from the parser,
//! because it is what the parser did.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A string.
    Text,
    /// A string: a path, relative to the file's folder.
    Path,
    /// A string: an address with a port.
    Socket,
    /// A string: an amount of whole tokens or a price, perhaps with the token's symbol.
    Amount,
    /// An amount, or a list of them.
    Amounts,
    /// A list of strings.
    Texts,
    /// A list of strings: addresses without ports.
    Addresses,
    /// `true` or `false`.
    Flag,
    /// A whole number from 0.
    Number,
    /// A whole number.
    Signed,
    /// A number.
    Decimal,
    /// A list of strings, numbers and `true` or `false`.
    Plain,
    /// One of these strings.
    Word(Vec<String>),
    /// A table with keys of its own.
    Section,
    /// A list of tables with keys of their own.
    Sections,
    /// A table whose keys are not the parser's, such as symbols of tokens or the parameters of a strategy.
    Free,
}

/// One key that a file may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownKey {
    /// Type of its value.
    pub shape: Shape,
    /// Whether its table must have it.
    pub is_required: bool,
    /// The value without it, in TOML, where one value is the default.
    pub default: Option<String>,
    /// Least and greatest number.
    pub range: Option<RangeInclusive<u64>>,
}

impl KnownKey {
    /// A key that may be absent.
    pub(crate) const fn new(shape: Shape) -> Self {
        Self {
            shape,
            is_required: false,
            default: None,
            range: None,
        }
    }

    /// What is known of the key by two questions: a word and its range are more than a bare type.
    fn merge(&mut self, other: Self) {
        self.is_required |= other.is_required;
        self.default = self.default.take().or(other.default);
        self.range = self.range.take().or(other.range);
        if matches!(other.shape, Shape::Word(_) | Shape::Free) {
            self.shape = other.shape;
        }
    }
}

/// Keys by path, such as `market.strategy.name`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownKeys(pub BTreeMap<String, KnownKey>);

impl KnownKeys {
    /// Notes a question about a key.
    pub(crate) fn ask(&mut self, path: String, key: KnownKey) {
        match self.0.get_mut(&path) {
            Some(known) => known.merge(key),
            None => {
                self.0.insert(path, key);
            }
        }
    }

    /// Adds what another file's reading asked. A key is required if it was wherever it was asked for.
    pub fn join(&mut self, other: Self) {
        for (path, key) in other.0 {
            match self.0.get_mut(&path) {
                Some(known) => {
                    let is_required = known.is_required && key.is_required;
                    known.merge(key);
                    known.is_required = is_required;
                }
                None => {
                    self.0.insert(path, key);
                }
            }
        }
    }
}
