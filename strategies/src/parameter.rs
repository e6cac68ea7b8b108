//! Parameters: declarations of strategies, and reading the user's table by a declaration.
//!
//! The declaration is the only place for unit, default, range and meaning: listings, the check of a table and the
//! defaults are derived from it. This file does not depend on any strategy, nor on the position of the table in its
//! file: errors carry the key's path inside the table (`buy_bands[1].min_amount`), from which the caller finds the
//! line.

mod changes;

use std::collections::BTreeMap;
use std::fmt;

use cambist_core::elsewhere;
use rust_decimal::Decimal;

/// Most characters of the name of a market.
pub const MARKET_MAX: usize = 64;

pub use changes::Change;

/// Kind and range of a parameter's value. Ranges are inclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A whole number.
    Integer {
        /// Least value.
        min: u32,
        /// Greatest value.
        max: u32,
    },
    /// Ten-thousandths, a whole number.
    Bps {
        /// Least value.
        min: u32,
        /// Greatest value.
        max: u32,
    },
    /// A decimal number, written as a TOML number or, for full precision, as a string.
    Decimal {
        /// Least value, as text.
        min: &'static str,
        /// Greatest value, as text.
        max: &'static str,
    },
    /// `true` or `false`.
    Bool,
    /// One of a set of words.
    Choice {
        /// The allowed words.
        of: &'static [&'static str],
    },
    /// A name: letters, digits, `-` and `_`, or nothing.
    Name {
        /// Most characters.
        max: usize,
    },
    /// The name of a market: as [`Kind::Name`] with up to 64 characters, and before a colon the name of its venue if that
    /// is another one.
    Market,
    /// A list of tables, each with these parameters.
    Tables {
        /// Parameters of one table.
        fields: &'static [Parameter],
        /// Most tables.
        max: usize,
    },
}

impl Kind {
    /// Name of the kind in listings: `integer`, `bps`, `decimal`, `bool`, `choice`, `tables`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Integer { .. } => "integer",
            Self::Bps { .. } => "bps",
            Self::Decimal { .. } => "decimal",
            Self::Bool => "bool",
            Self::Choice { .. } => "choice",
            Self::Name { .. } => "name",
            Self::Market => "market",
            Self::Tables { .. } => "tables",
        }
    }

    /// The range in listings and errors.
    pub fn range(&self) -> String {
        match self {
            Self::Integer { min, max } | Self::Bps { min, max } => format!("{min} to {max}"),
            Self::Decimal { min, max } => format!("{min} to {max}"),
            Self::Bool => "true or false".to_owned(),
            Self::Choice { of } => of.join(", "),
            Self::Name { max } => format!("up to {max} letters, digits, - or _"),
            Self::Market => {
                format!(
                    "up to {MARKET_MAX} letters, digits, - or _; of another venue as venue:market"
                )
            }
            Self::Tables { max, .. } => format!("0 to {max} tables"),
        }
    }
}

/// Which values of a parameter bear more risk: nearer or larger quotes, weaker guards. A running strategy takes such a
/// change only with permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looser {
    /// A higher value bears more risk.
    Higher,
    /// A lower value bears more risk; of two switches, `false`.
    Lower,
    /// A higher value bears more risk, and 0 (off) the most.
    HigherOrZero,
    /// Neither direction is the safer one: every other value needs permission.
    Changed,
    /// A list of tables: their fields say it. A table more bears more risk.
    Fields,
    /// No value bears more risk than another.
    Never,
}

impl Looser {
    /// Its name in listings; empty if no value bears more risk.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::HigherOrZero => "higher, or 0: off",
            Self::Changed => "any other value",
            Self::Fields => "one more table, and by its fields",
            Self::Never => "",
        }
    }
}

/// One parameter of a strategy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Key in the table.
    pub name: &'static str,
    /// Unit in listings; empty if there is none.
    pub unit: &'static str,
    /// Kind and range of the value.
    pub kind: Kind,
    /// Default in TOML spelling; `None` means that the parameter must be given.
    pub default: Option<&'static str>,
    /// Which values bear more risk.
    pub looser: Looser,
    /// What it does, in one or two sentences.
    pub meaning: &'static str,
}

/// Concatenates declarations: those of a strategy and of the parts it shares.
///
/// # Panics
/// At compile time, if their number is not `N`.
pub const fn joined<const N: usize>(parts: &[&[Parameter]]) -> [Parameter; N] {
    const NONE: Parameter = Parameter {
        name: "",
        unit: "",
        kind: Kind::Bool,
        default: None,
        looser: Looser::Never,
        meaning: "",
    };
    let mut all = [NONE; N];
    let (mut at, mut part) = (0, 0);
    while part < parts.len() {
        let mut own = 0;
        while own < parts[part].len() {
            all[at] = parts[part][own];
            at += 1;
            own += 1;
        }
        part += 1;
    }
    assert!(at == N, "another number of parameters");
    all
}

/// Why a table was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct ParamError {
    /// Path of the key inside the table.
    pub key: String,
    /// The error.
    pub problem: Problem,
}

/// An error of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// No such parameter.
    Unknown {
        /// The nearest known key, if any is similar.
        nearest: Option<&'static str>,
    },
    /// Not given and without a default.
    Missing,
    /// The value has another kind.
    WrongKind {
        /// Expected kind.
        expected: &'static str,
        /// Kind and value in the table.
        found: String,
    },
    /// Outside the range.
    OutOfRange {
        /// Value in the table.
        value: String,
        /// The range.
        range: String,
    },
    /// Contradicts another value or the market.
    Conflict(String),
    /// The strategy read a parameter that it does not declare: a bug of the strategy.
    Undeclared,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { nearest: None } => f.write_str("unknown parameter"),
            Self::Unknown {
                nearest: Some(near),
            } => write!(f, "unknown parameter, did you mean {near}?"),
            Self::Missing => f.write_str("must be given"),
            Self::WrongKind { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::OutOfRange { value, range } => {
                write!(f, "{value} is out of range, allowed is {range}")
            }
            Self::Conflict(what) => f.write_str(what),
            Self::Undeclared => f.write_str("read by the strategy but not declared by it"),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Whole(u32),
    Decimal(Decimal),
    Bool(bool),
    Choice(&'static str),
    Name(String),
    Tables(Vec<Params>),
}

/// A table that was read against a declaration: every declared parameter has a value in its range.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    path: String,
    values: BTreeMap<&'static str, Value>,
}

impl Params {
    /// Reads a table as written by the user. Returns the first error in key order.
    pub fn read(parameters: &'static [Parameter], table: &toml::Table) -> Result<Self, ParamError> {
        Self::read_at(parameters, table, String::new())
    }

    fn read_at(
        parameters: &'static [Parameter],
        table: &toml::Table,
        path: String,
    ) -> Result<Self, ParamError> {
        for key in table.keys() {
            if !parameters.iter().any(|known| known.name == key) {
                let nearest = nearest(parameters, key);
                return Err(error(&path, key, Problem::Unknown { nearest }));
            }
        }
        let mut values = BTreeMap::new();
        for parameter in parameters {
            let value = match table.get(parameter.name) {
                Some(written) => read_value(parameter, written, &path)?,
                None => default_value(parameter, &path)?,
            };
            values.insert(parameter.name, value);
        }
        Ok(Self { path, values })
    }

    /// An integer or a number of ten-thousandths.
    pub fn whole(&self, name: &str) -> Result<u32, ParamError> {
        match self.values.get(name) {
            Some(Value::Whole(value)) => Ok(*value),
            Some(_) | None => Err(self.error(name, Problem::Undeclared)),
        }
    }

    /// A decimal number.
    pub fn decimal(&self, name: &str) -> Result<Decimal, ParamError> {
        match self.values.get(name) {
            Some(Value::Decimal(value)) => Ok(*value),
            Some(_) | None => Err(self.error(name, Problem::Undeclared)),
        }
    }

    /// A boolean.
    pub fn switch(&self, name: &str) -> Result<bool, ParamError> {
        match self.values.get(name) {
            Some(Value::Bool(value)) => Ok(*value),
            Some(_) | None => Err(self.error(name, Problem::Undeclared)),
        }
    }

    /// One of the words of a choice.
    pub fn choice(&self, name: &str) -> Result<&'static str, ParamError> {
        match self.values.get(name) {
            Some(Value::Choice(word)) => Ok(word),
            Some(_) | None => Err(self.error(name, Problem::Undeclared)),
        }
    }

    /// A name; empty if there is none.
    pub fn name(&self, name: &str) -> Result<&str, ParamError> {
        match self.values.get(name) {
            Some(Value::Name(value)) => Ok(value),
            Some(_) | None => Err(self.error(name, Problem::Undeclared)),
        }
    }

    /// A list of tables.
    pub fn tables(&self, name: &str) -> Result<&[Self], ParamError> {
        match self.values.get(name) {
            Some(Value::Tables(value)) => Ok(value),
            Some(_) | None => Err(self.error(name, Problem::Undeclared)),
        }
    }

    /// An error about one key of this table.
    pub fn error(&self, name: &str, problem: Problem) -> ParamError {
        error(&self.path, name, problem)
    }

    /// An error about values that contradict each other.
    pub fn conflict(&self, name: &str, what: impl Into<String>) -> ParamError {
        self.error(name, Problem::Conflict(what.into()))
    }
}

fn error(path: &str, key: &str, problem: Problem) -> ParamError {
    let key = if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    };
    ParamError { key, problem }
}

/// The known key that most resembles `key`, if it is similar enough.
fn nearest(parameters: &'static [Parameter], key: &str) -> Option<&'static str> {
    parameters
        .iter()
        .map(|known| (strsim::damerau_levenshtein(known.name, key), known.name))
        .min()
        .filter(|(distance, name)| *distance * 2 <= name.len())
        .map(|(_, name)| name)
}

fn default_value(parameter: &'static Parameter, path: &str) -> Result<Value, ParamError> {
    let missing = || error(path, parameter.name, Problem::Missing);
    let text = parameter.default.ok_or_else(missing)?;
    // A default is checked like a written value; a test reads every one of them.
    let table: toml::Table = format!("value = {text}").parse().map_err(|_| missing())?;
    let written = table.get("value").ok_or_else(missing)?;
    read_value(parameter, written, path)
}

fn read_value(
    parameter: &'static Parameter,
    written: &toml::Value,
    path: &str,
) -> Result<Value, ParamError> {
    let fail = |problem| error(path, parameter.name, problem);
    let wrong = |expected| {
        fail(Problem::WrongKind {
            expected,
            found: format!("{} {}", written.type_str(), shortened(written)),
        })
    };
    let outside = || {
        fail(Problem::OutOfRange {
            value: shortened(written),
            range: parameter.kind.range(),
        })
    };
    match parameter.kind {
        Kind::Integer { min, max } | Kind::Bps { min, max } => {
            let number = written
                .as_integer()
                .ok_or_else(|| wrong("a whole number"))?;
            let whole = u32::try_from(number).map_err(|_| outside())?;
            if (min..=max).contains(&whole) {
                Ok(Value::Whole(whole))
            } else {
                Err(outside())
            }
        }
        Kind::Decimal { min, max } => {
            let number = decimal(written).ok_or_else(|| wrong("a decimal number"))?;
            let bound = |text: &str| Decimal::from_str_exact(text).map_err(|_| outside());
            if bound(min)? <= number && number <= bound(max)? {
                Ok(Value::Decimal(number.normalize()))
            } else {
                Err(outside())
            }
        }
        Kind::Bool => written
            .as_bool()
            .map(Value::Bool)
            .ok_or_else(|| wrong("true or false")),
        Kind::Choice { of } => {
            let word = written.as_str().ok_or_else(|| wrong("a word"))?;
            let known = of.iter().find(|known| **known == word);
            known.map(|known| Value::Choice(known)).ok_or_else(outside)
        }
        Kind::Name { max } => {
            let name = written.as_str().ok_or_else(|| wrong("a name"))?;
            if name.len() <= max && is_plain(name) {
                Ok(Value::Name(name.to_owned()))
            } else {
                Err(outside())
            }
        }
        Kind::Market => {
            let name = written.as_str().ok_or_else(|| wrong("a market"))?;
            let good = match elsewhere::split(name) {
                None => is_plain(name),
                Some((venue, market)) => [venue, market]
                    .iter()
                    .all(|part| !part.is_empty() && is_plain(part)),
            };
            if name.len() <= MARKET_MAX && good {
                Ok(Value::Name(name.to_owned()))
            } else {
                Err(outside())
            }
        }
        Kind::Tables { fields, max } => {
            let list = written
                .as_array()
                .ok_or_else(|| wrong("a list of tables"))?;
            if list.len() > max {
                return Err(fail(Problem::OutOfRange {
                    value: format!("a list of {}", list.len()),
                    range: parameter.kind.range(),
                }));
            }
            let read = list.iter().enumerate().map(|(index, entry)| {
                let table = entry.as_table().ok_or_else(|| wrong("a list of tables"))?;
                let at = error(
                    path,
                    &format!("{}[{index}]", parameter.name),
                    Problem::Missing,
                );
                Params::read_at(fields, table, at.key)
            });
            Ok(Value::Tables(read.collect::<Result<_, _>>()?))
        }
    }
}

/// The decimal as written: a TOML float is taken by its shortest spelling, not by its binary value.
fn decimal(written: &toml::Value) -> Option<Decimal> {
    match written {
        toml::Value::Integer(number) => Some(Decimal::from(*number)),
        toml::Value::Float(number) => Decimal::from_str_exact(&number.to_string()).ok(),
        toml::Value::String(text) => {
            // Stricter than the decimal type: no plus sign, no underscores, no exponent.
            let plain = text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.');
            let framed = text.bytes().next()?.is_ascii_digit() && !text.ends_with('.');
            Decimal::from_str_exact(text)
                .ok()
                .filter(|_| plain && framed)
        }
        toml::Value::Boolean(_)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_)
        | toml::Value::Table(_) => None,
    }
}

/// The written value for a message, shortened.
fn shortened(written: &toml::Value) -> String {
    let text = match written {
        toml::Value::String(text) => format!("{text:?}"),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(switch) => switch.to_string(),
        toml::Value::Datetime(time) => time.to_string(),
        toml::Value::Array(list) => format!("of {} entries", list.len()),
        toml::Value::Table(table) => format!("of {} entries", table.len()),
    };
    if text.chars().count() > 40 {
        text.chars().take(39).chain(['…']).collect()
    } else {
        text
    }
}

/// Whether a name has letters, digits, `-` and `_` only.
fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_is_shortened_in_a_message() {
        // Quotation marks count.
        for (characters, shown) in [(0, 2), (38, 40), (39, 40), (500, 40)] {
            let text = shortened(&toml::Value::String("ä".repeat(characters)));
            assert_eq!(text.chars().count(), shown);
            assert_eq!(text.ends_with('…'), characters > 38, "{text}");
        }
    }
}
