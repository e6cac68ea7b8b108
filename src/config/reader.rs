//! Reads a TOML file with a place for every value and a message for every mistake.
//!
//! Knows nothing of what the keys mean. A section hands out its keys one by one; what is left over at
//! the end was not known, and is reported with the nearest known name. Values are never repeated in a
//! message about an unknown key: somebody may have written a secret there.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Longest configuration file read.
const FILE_MAX: u64 = 1 << 20;

/// Where something stands in the file, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line.
    pub line: usize,
    /// Column in characters.
    pub column: usize,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Its place, or its section's place if it is a default.
    pub at: Place,
}

impl<T> At<T> {
    /// The same place with another value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> At<U> {
        At {
            value: change(self.value),
            at: self.at,
        }
    }
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where.
    pub at: Place,
    /// What, and what would be right.
    pub what: String,
}

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("{}: {what}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// The file is wrong in at least one place.
    #[error("{}", Lines(path, problems))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Every mistake found, in the order of the file.
        problems: Vec<Problem>,
    },
}

/// One `path:line:column: what` per mistake.
struct Lines<'a>(&'a Path, &'a [Problem]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.1.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            let Place { line, column } = problem.at;
            write!(
                f,
                "{separator}{}:{line}:{column}: {}",
                self.0.display(),
                problem.what
            )?;
        }
        Ok(())
    }
}

/// The text of a configuration file and its name.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file's name as given, used in messages.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

impl Source {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let unreadable = |what: String| ConfigError::Unreadable {
            path: path.to_owned(),
            what,
        };
        let found = std::fs::metadata(path).map_err(|error| {
            unreadable(match error.kind() {
                std::io::ErrorKind::NotFound => "no such file".to_owned(),
                _ => error.to_string(),
            })
        })?;
        if !found.is_file() {
            return Err(unreadable("not a regular file".to_owned()));
        }
        if found.len() > FILE_MAX {
            return Err(unreadable(format!("larger than {FILE_MAX} bytes")));
        }
        let bytes = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
        let text = String::from_utf8(bytes)
            .map_err(|error| unreadable(format!("not UTF-8: {}", error.utf8_error())))?;
        Ok(Self {
            path: path.to_owned(),
            text,
        })
    }

    /// The first 12 hexadecimal digits of the text's SHA-256, to tell configurations apart.
    pub fn hash(&self) -> String {
        use sha2::{Digest, Sha256};
        let digest = Sha256::digest(self.text.as_bytes());
        let first = digest.iter().take(6);
        first.fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    /// Runs `read` over the file's root section. Any problem found refuses the whole file.
    pub fn read_with<T>(
        &self,
        read: impl FnOnce(&Reader<'_>, Section<'_, '_>) -> Option<T>,
    ) -> Result<T, ConfigError> {
        let reader = Reader {
            text: &self.text,
            problems: RefCell::default(),
            keys: RefCell::default(),
        };
        let root = match DeTable::parse(&self.text) {
            Ok(root) => root,
            Err(error) => {
                let start = error.span().map_or(0, |span| span.start);
                // Only the message: the crate's own rendering would repeat the line, secret or not.
                reader.problem(reader.place(start), error.message().to_owned());
                return Err(self.invalid(reader.problems.into_inner()));
            }
        };
        let value = read(&reader, Section::root(&reader, root.get_ref()));
        match (value, reader.problems.into_inner()) {
            (Some(value), problems) if problems.is_empty() => Ok(value),
            (_, problems) => Err(self.invalid(problems)),
        }
    }

    /// The error for problems found in this file.
    pub fn invalid(&self, mut problems: Vec<Problem>) -> ConfigError {
        problems.sort();
        problems.dedup();
        ConfigError::Invalid {
            path: self.path.clone(),
            problems,
        }
    }
}

/// Collects problems while a file is read.
pub struct Reader<'s> {
    text: &'s str,
    problems: RefCell<Vec<Problem>>,
    keys: RefCell<BTreeSet<String>>,
}

impl Reader<'_> {
    /// Notes a mistake; reading goes on, so that people see all of them at once.
    pub fn problem(&self, at: Place, what: impl Into<String>) {
        self.problems.borrow_mut().push(Problem {
            at,
            what: what.into(),
        });
    }

    /// Every key that was asked for, `section.key`.
    pub fn keys(&self) -> BTreeSet<String> {
        self.keys.borrow().clone()
    }

    fn place(&self, offset: usize) -> Place {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// One table of the file.
pub struct Section<'r, 'd> {
    reader: &'r Reader<'r>,
    name: String,
    at: Place,
    table: Option<&'d DeTable<'d>>,
    known: BTreeSet<&'static str>,
}

impl<'r, 'd> Section<'r, 'd> {
    fn root(reader: &'r Reader<'r>, table: &'d DeTable<'d>) -> Self {
        Self {
            reader,
            name: String::new(),
            at: Place { line: 1, column: 1 },
            table: Some(table),
            known: BTreeSet::new(),
        }
    }

    /// The place of the section's beginning.
    pub const fn at(&self) -> Place {
        self.at
    }

    /// Whether the file has this section.
    pub const fn is_written(&self) -> bool {
        self.table.is_some()
    }

    /// Notes a mistake at a place of this section.
    pub fn problem(&self, at: Place, what: impl Into<String>) {
        self.reader.problem(at, what);
    }

    fn label(&self, key: &str) -> String {
        if self.name.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.name)
        }
    }

    fn raw(&mut self, key: &'static str) -> Option<&'d Spanned<DeValue<'d>>> {
        self.known.insert(key);
        self.reader.keys.borrow_mut().insert(self.label(key));
        self.table?.get(key)
    }

    /// A value that may be absent.
    pub fn opt<T: Read>(&mut self, key: &'static str) -> Option<At<T>> {
        let raw = self.raw(key)?;
        let at = self.reader.place(raw.span().start);
        if let Some(value) = T::read(raw.get_ref()) {
            return Some(At { value, at });
        }
        let what = format!(
            "{} must be {}, found {}",
            self.label(key),
            T::WHAT,
            kind(raw.get_ref())
        );
        self.reader.problem(at, what);
        None
    }

    /// A value that must be there.
    pub fn req<T: Read>(&mut self, key: &'static str) -> Option<At<T>> {
        if self.table.is_some_and(|table| table.get(key).is_some()) {
            return self.opt(key);
        }
        self.raw(key);
        let what = format!("{} is missing; it must be {}", self.label(key), T::WHAT);
        self.reader.problem(self.at, what);
        None
    }

    /// A value with a default. A wrong value counts as the default here; the problem is noted.
    pub fn or<T: Read>(&mut self, key: &'static str, default: T) -> At<T> {
        let at = self.at;
        self.opt(key).unwrap_or(At { value: default, at })
    }

    /// A whole number with a default and a range.
    pub fn number(
        &mut self,
        key: &'static str,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> At<u64> {
        let found = self.or(key, default);
        if !range.contains(&found.value) {
            let what = format!(
                "{} = {} is outside {} to {}",
                self.label(key),
                found.value,
                range.start(),
                range.end()
            );
            self.reader.problem(found.at, what);
        }
        found
    }

    /// One of a few words, with a default.
    pub fn word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)], default: T) -> At<T> {
        let Some(found) = self.opt::<String>(key) else {
            return At {
                value: default,
                at: self.at,
            };
        };
        let at = found.at;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == found.value) {
            return At { value: *value, at };
        }
        let list: Vec<_> = words
            .iter()
            .map(|(word, _)| format!("\"{word}\""))
            .collect();
        let what = format!("{} must be one of {}", self.label(key), list.join(", "));
        self.reader.problem(at, what);
        At { value: default, at }
    }

    /// A sub-section; absent ones yield only defaults.
    #[must_use]
    pub fn section(&mut self, key: &'static str) -> Section<'r, 'd> {
        let name = self.label(key);
        let raw = self.raw(key);
        let at = raw.map_or(self.at, |raw| self.reader.place(raw.span().start));
        let table = raw.and_then(|raw| {
            let table = raw.get_ref().as_table();
            if table.is_none() {
                let what = format!("{name} must be a section, found {}", kind(raw.get_ref()));
                self.reader.problem(at, what);
            }
            table
        });
        Section {
            reader: self.reader,
            name,
            at,
            table,
            known: BTreeSet::new(),
        }
    }

    /// A list of sub-sections, `[[key]]`.
    pub fn sections(&mut self, key: &'static str) -> Vec<Section<'r, 'd>> {
        let name = self.label(key);
        let Some(raw) = self.raw(key) else {
            return Vec::new();
        };
        let Some(array) = raw.get_ref().as_array() else {
            let what = format!("{name} must be a list of sections, written [[{name}]]");
            self.reader
                .problem(self.reader.place(raw.span().start), what);
            return Vec::new();
        };
        let mut sections = Vec::new();
        for item in array {
            let at = self.reader.place(item.span().start);
            match item.get_ref().as_table() {
                Some(table) => sections.push(Section {
                    reader: self.reader,
                    name: name.clone(),
                    at,
                    table: Some(table),
                    known: BTreeSet::new(),
                }),
                None => self
                    .reader
                    .problem(at, format!("{name} must be a list of sections")),
            }
        }
        sections
    }

    /// The whole section as an ordinary table, for parameters that somebody else checks, and the
    /// place of every value by its path inside the table.
    pub fn verbatim(&self) -> (toml::Table, BTreeMap<String, Place>) {
        let mut places = BTreeMap::new();
        let table = self
            .table
            .map(|table| self.copy_table(table, "", &mut places))
            .unwrap_or_default();
        (table, places)
    }

    fn copy_table(
        &self,
        table: &DeTable<'_>,
        path: &str,
        places: &mut BTreeMap<String, Place>,
    ) -> toml::Table {
        let mut copy = toml::Table::new();
        for (key, value) in table {
            let key: &str = key.get_ref();
            let path = if path.is_empty() {
                key.to_owned()
            } else {
                format!("{path}.{key}")
            };
            copy.insert(key.to_owned(), self.copy(value, path, places));
        }
        copy
    }

    fn copy(
        &self,
        value: &Spanned<DeValue<'_>>,
        path: String,
        places: &mut BTreeMap<String, Place>,
    ) -> toml::Value {
        let at = self.reader.place(value.span().start);
        let copy = match value.get_ref() {
            DeValue::String(text) => toml::Value::String(text.to_string()),
            DeValue::Integer(integer) => {
                let number = i64::from_str_radix(integer.as_str(), integer.radix());
                if number.is_err() {
                    self.reader.problem(at, "this number is too large");
                }
                toml::Value::Integer(number.unwrap_or_default())
            }
            DeValue::Float(float) => {
                let number = float.as_str().parse::<f64>().ok().filter(|n| n.is_finite());
                if number.is_none() {
                    self.reader.problem(at, "this is not a finite number");
                }
                toml::Value::Float(number.unwrap_or_default())
            }
            DeValue::Boolean(flag) => toml::Value::Boolean(*flag),
            DeValue::Datetime(time) => toml::Value::Datetime(*time),
            DeValue::Array(items) => {
                let each = items.iter().enumerate();
                toml::Value::Array(
                    each.map(|(index, item)| self.copy(item, format!("{path}[{index}]"), places))
                        .collect(),
                )
            }
            DeValue::Table(table) => toml::Value::Table(self.copy_table(table, &path, places)),
        };
        places.insert(path, at);
        copy
    }

    /// Reports every key that nobody asked for.
    pub fn finish(self) {
        for (key, _) in self.table.into_iter().flat_map(|table| table.iter()) {
            let name: &str = key.get_ref();
            if self.known.contains(name) {
                continue;
            }
            let at = self.reader.place(key.span().start);
            let mut what = format!("unknown key {}", self.label(&shown(name)));
            if looks_secret(name) {
                what.push_str("; secrets never stand in the configuration, only the paths of their files (keys.api_key_file, keys.eddsa_key_file)");
            } else if let Some(near) = nearest(name, self.known.iter().copied()) {
                what.push_str("; did you mean ");
                what.push_str(&self.label(near));
                what.push('?');
            } else {
                let all: Vec<_> = self.known.iter().copied().collect();
                what.push_str("; known here: ");
                what.push_str(&all.join(", "));
            }
            self.reader.problem(at, what);
        }
    }
}

/// A key as it may be printed: short and without control characters.
fn shown(key: &str) -> String {
    key.chars().take(64).filter(|c| !c.is_control()).collect()
}

fn looks_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    [
        "secret",
        "password",
        "token",
        "private",
        "api_key",
        "eddsa_key",
        "apikey",
    ]
    .iter()
    .any(|word| key.contains(word))
        && !key.ends_with("_file")
        && !key.ends_with("_flie")
}

/// The known name nearest to `name`, if any is near enough to be meant.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().max(name.len()) / 3)
        .min()
        .map(|(_, candidate)| candidate)
}

fn kind(value: &DeValue<'_>) -> &'static str {
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

/// What can be read from one value.
pub trait Read: Sized {
    /// What a right value looks like, for messages.
    const WHAT: &'static str;

    /// The value, if it is one.
    fn read(value: &DeValue<'_>) -> Option<Self>;
}

impl Read for String {
    const WHAT: &'static str = "a string in quotes";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl Read for bool {
    const WHAT: &'static str = "true or false";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        value.as_bool()
    }
}

impl Read for u64 {
    const WHAT: &'static str = "a whole number from 0";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let integer = value.as_integer()?;
        Self::from_str_radix(integer.as_str(), integer.radix()).ok()
    }
}

impl Read for PathBuf {
    const WHAT: &'static str = "a path in quotes";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let text = value.as_str()?;
        (!text.is_empty()).then(|| Self::from(text))
    }
}

impl Read for std::net::SocketAddr {
    const WHAT: &'static str = "an address with a port in quotes, such as \"127.0.0.1:9464\"";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        value.as_str()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn errors(text: &str) -> String {
        let source = Source {
            path: "f.toml".into(),
            text: text.to_owned(),
        };
        source
            .read_with(|_, mut root| {
                let mut orders = root.section("orders");
                orders.number("ttl_s", 120, 5..=600);
                orders.req::<bool>("maker_only");
                orders.word("on_shutdown", &[("cancel", 1)], 1);
                orders.finish();
                let mut keys = root.section("keys");
                keys.opt::<PathBuf>("api_key_file");
                keys.finish();
                root.finish();
                Some(())
            })
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn every_mistake_has_its_line_and_the_nearest_name() {
        let got = errors(
            "[orders]\nttl = 3\nttl_s = 3\nmaker_only = \"yes\"\non_shutdown = \"x\"\n[ordres]\n",
        );
        assert_eq!(
            got,
            "f.toml:2:1: unknown key orders.ttl; did you mean orders.ttl_s?\n\
             f.toml:3:9: orders.ttl_s = 3 is outside 5 to 600\n\
             f.toml:4:14: orders.maker_only must be true or false, found a string that is not\n\
             f.toml:5:15: orders.on_shutdown must be one of \"cancel\"\n\
             f.toml:6:2: unknown key ordres; did you mean orders?"
        );
    }

    #[test]
    fn a_missing_key_names_its_section() {
        assert_eq!(
            errors("\n[orders]\n"),
            "f.toml:2:1: orders.maker_only is missing; it must be true or false"
        );
    }

    #[test]
    fn a_secret_written_into_the_file_is_never_repeated() {
        let got = errors("[orders]\nmaker_only = true\n[keys]\napi_key = \"hunter2\"\n");
        assert!(
            got.contains("f.toml:4:1") && got.contains("api_key_file"),
            "{got}"
        );
        assert!(!got.contains("hunter2"), "{got}");
        let broken = errors("[keys]\napi_key_file = \"hunter2\n");
        assert!(broken.starts_with("f.toml:2:"), "{broken}");
        assert!(!broken.contains("hunter2"), "{broken}");
    }
}
