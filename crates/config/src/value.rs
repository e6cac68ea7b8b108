//! The types that a value of a configuration file can have, and how each is described in messages.

use std::path::PathBuf;

use toml::de::DeValue;

use crate::keys::Shape;
use crate::reader::Section;

/// A type that can be read from one value.
pub trait Read: Sized {
    /// Description of a valid value, for messages.
    const WHAT: &'static str;

    /// Its type, for the record of keys.
    const SHAPE: Shape;

    /// Whether an invalid number may be repeated in a message; only for keys where it cannot be a secret.
    const REPEAT: bool = false;

    /// The value, if it is of this type.
    fn read(value: &DeValue<'_>) -> Option<Self>;

    /// The value in TOML, where defaults of this type are stated.
    fn in_toml(&self) -> Option<String> {
        None
    }
}

impl Read for String {
    const WHAT: &'static str = "a string in quotes";
    const SHAPE: Shape = Shape::Text;

    fn read(value: &DeValue<'_>) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }

    fn in_toml(&self) -> Option<String> {
        Some(format!("{self:?}"))
    }
}

impl Read for bool {
    const WHAT: &'static str = "true or false";
    const SHAPE: Shape = Shape::Flag;

    fn read(value: &DeValue<'_>) -> Option<Self> {
        value.as_bool()
    }

    fn in_toml(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Read for u64 {
    const WHAT: &'static str = "a whole number from 0";
    const SHAPE: Shape = Shape::Number;
    const REPEAT: bool = true;

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let integer = value.as_integer()?;
        Self::from_str_radix(integer.as_str(), integer.radix()).ok()
    }

    fn in_toml(&self) -> Option<String> {
        Some(self.to_string())
    }
}

/// A version number of any size, for a version check that can name it.
struct Version(u64);

impl Read for Version {
    const WHAT: &'static str = "1, the version of the format";
    const SHAPE: Shape = Shape::Number;
    const REPEAT: bool = true;

    fn read(value: &DeValue<'_>) -> Option<Self> {
        u64::read(value).map(Self)
    }
}

/// The only version of the configuration format so far.
pub const CONFIG_VERSION: u64 = 1;

/// Checks `config_version`, the first key of every file.
pub fn version(root: &mut Section<'_, '_>) {
    root.ask_range("config_version", &(CONFIG_VERSION..=CONFIG_VERSION));
    if let Some(version) = root.req::<Version>("config_version")
        && version.value.0 != CONFIG_VERSION
    {
        let what = format!(
            "config_version = {} is not supported; this program reads version {CONFIG_VERSION}",
            version.value.0
        );
        root.problem(version.at, what);
    }
}

/// Narrows a number whose range was checked; a number out of range was reported before and is replaced by the default.
pub fn small<T: TryFrom<u64> + Default>(value: u64) -> T {
    T::try_from(value).unwrap_or_default()
}

impl Read for i64 {
    const WHAT: &'static str = "a whole number, negative or not";
    const SHAPE: Shape = Shape::Signed;
    const REPEAT: bool = true;

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let integer = value.as_integer()?;
        Self::from_str_radix(integer.as_str(), integer.radix()).ok()
    }

    fn in_toml(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Read for PathBuf {
    const WHAT: &'static str = "a path in quotes";
    const SHAPE: Shape = Shape::Path;

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let text = value.as_str()?;
        (!text.is_empty()).then(|| Self::from(text))
    }
}

impl Read for Vec<std::net::IpAddr> {
    const WHAT: &'static str = "a list of IP addresses in quotes, such as [\"127.0.0.1\"], each of one machine and without a port: ranges such as 10.0.0.0/8, and names, are not supported";
    const SHAPE: Shape = Shape::Addresses;

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let items = value.as_array()?.iter();
        items
            .map(|item| item.get_ref().as_str()?.parse().ok())
            .collect()
    }
}

impl Read for Vec<String> {
    const WHAT: &'static str = "a list of strings in quotes, such as [\"a\", \"b\"]";
    const SHAPE: Shape = Shape::Texts;

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let items = value.as_array()?.iter();
        items
            .map(|item| item.get_ref().as_str().map(str::to_owned))
            .collect()
    }
}

impl Read for std::net::SocketAddr {
    const WHAT: &'static str = "an address with a port in quotes, such as \"127.0.0.1:9464\"";
    const SHAPE: Shape = Shape::Socket;

    fn read(value: &DeValue<'_>) -> Option<Self> {
        value.as_str()?.parse().ok()
    }

    fn in_toml(&self) -> Option<String> {
        Some(format!("\"{self}\""))
    }
}

/// Describes the value found instead of a `T`, for messages.
pub(crate) fn found<T: Read>(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Integer(number) if T::REPEAT => number.as_str().chars().take(24).collect(),
        DeValue::Float(number) if T::REPEAT => number.as_str().chars().take(24).collect(),
        DeValue::Boolean(flag) if T::REPEAT => flag.to_string(),
        DeValue::String(_) if T::REPEAT => "a text in quotes".to_owned(),
        other => kind(other).to_owned(),
    }
}

/// Describes the type of the value found, for messages.
pub(crate) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string that is not",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a section",
    }
}

/// Whether a text is `0x` and 40 hexadecimal digits.
pub fn is_address(text: &str) -> bool {
    text.strip_prefix("0x")
        .is_some_and(|hex| hex.len() == 40 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
}
