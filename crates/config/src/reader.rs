//! Reads the keys of a TOML file one by one, with their positions, and collects every error.
//!
//! The syntax is the `toml` crate's. Deserializing with serde would stop at the first error, without positions of keys.
//!
//! The meaning of the keys is not known here. Keys left unread at the end of a section are reported as unknown, with
//! the nearest known name. The value of an unknown key is never part of a message, because it may be a secret.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use crate::keys::{KnownKey, KnownKeys, Shape};
pub use crate::source::{At, ConfigError, Place, Problem, Source};
pub use crate::value::Read;
use crate::value::{found, kind};

/// Collects the errors of a file while it is read.
pub struct Reader<'s> {
    text: &'s str,
    /// Every error; one about a missing section carries the name of that section.
    problems: RefCell<Vec<(Problem, Option<String>)>>,
    keys: RefCell<KnownKeys>,
}

impl<'s> Reader<'s> {
    pub(crate) fn new(text: &'s str) -> Self {
        Self {
            text,
            problems: RefCell::default(),
            keys: RefCell::default(),
        }
    }

    pub(crate) fn into_problems(self) -> Vec<Problem> {
        let problems = self.problems.into_inner();
        problems.into_iter().map(|(problem, _)| problem).collect()
    }

    fn note(&self, at: Place, what: String, absent: Option<String>) {
        let problem = Problem { at, what };
        self.problems.borrow_mut().push((problem, absent));
    }

    /// Removes the error about a missing section: the section exists, with a misspelled name.
    fn forgive(&self, absent: &str) {
        let is_about = |noted: &Option<String>| noted.as_deref() == Some(absent);
        let mut problems = self.problems.borrow_mut();
        problems.retain(|(_, noted)| !is_about(noted));
    }

    /// Records an error. Reading continues, so that all errors are reported at once.
    pub fn problem(&self, at: Place, what: impl Into<String>) {
        self.note(at, what.into(), None);
    }

    /// Every key that was read, as `section.key`.
    pub fn keys(&self) -> KnownKeys {
        self.keys.borrow().clone()
    }

    pub(crate) fn place(&self, offset: usize) -> Place {
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
    pub(crate) fn root(reader: &'r Reader<'r>, table: &'d DeTable<'d>) -> Self {
        Self {
            reader,
            name: String::new(),
            at: Place { line: 1, column: 1 },
            table: Some(table),
            known: BTreeSet::new(),
        }
    }

    /// Position of the section's first line.
    pub const fn at(&self) -> Place {
        self.at
    }

    /// Whether the section is in the file.
    pub const fn is_written(&self) -> bool {
        self.table.is_some()
    }

    /// Records an error at a position of this section.
    pub fn problem(&self, at: Place, what: impl Into<String>) {
        let absent = self.table.is_none().then(|| self.name.clone());
        self.reader.note(at, what.into(), absent);
    }

    /// Records that a required sub-section is missing; dropped if a misspelled name turns out to be that section.
    pub fn missing(&self, key: &str, what: impl Into<String>) {
        let absent = Some(self.label(key));
        self.reader.note(self.at, what.into(), absent);
    }

    /// The section's name in messages; empty for the whole file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the key is present, valid or not.
    pub fn has(&self, key: &str) -> bool {
        self.table.is_some_and(|table| table.get(key).is_some())
    }

    fn label(&self, key: &str) -> String {
        if self.name.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.name)
        }
    }

    fn raw(&mut self, key: &'static str, asked: KnownKey) -> Option<&'d Spanned<DeValue<'d>>> {
        self.known.insert(key);
        self.ask(key, asked);
        self.table?.get(key)
    }

    /// Records what is read of a key.
    fn ask(&self, key: &str, asked: KnownKey) {
        self.reader.keys.borrow_mut().ask(self.label(key), asked);
    }

    /// The position of a key that has no meaning here, if it is written: the caller reports it, and `finish` does not.
    pub fn disclaim(&mut self, key: &'static str) -> Option<Place> {
        let (written, _) = self.table?.get_key_value(key)?;
        self.known.insert(key);
        Some(self.reader.place(written.span().start))
    }

    /// Reads an optional value.
    pub fn opt<T: Read>(&mut self, key: &'static str) -> Option<At<T>> {
        let raw = self.raw(key, KnownKey::new(T::SHAPE))?;
        let at = self.reader.place(raw.span().start);
        if let Some(value) = T::read(raw.get_ref()) {
            return Some(At { value, at });
        }
        let what = format!(
            "{} must be {}, found {}",
            self.label(key),
            T::WHAT,
            found::<T>(raw.get_ref())
        );
        self.reader.problem(at, what);
        None
    }

    /// Reads a required value.
    pub fn req<T: Read>(&mut self, key: &'static str) -> Option<At<T>> {
        let asked = KnownKey {
            is_required: true,
            ..KnownKey::new(T::SHAPE)
        };
        self.ask(key, asked);
        if self.has(key) {
            return self.opt(key);
        }
        self.known.insert(key);
        let label = self.label(key);
        let what = if self.is_written() {
            format!("{label} is missing; it must be {}", T::WHAT)
        } else {
            let section = &self.name;
            format!(
                "{label} is missing ([{section}] is not in the file); it must be {}",
                T::WHAT
            )
        };
        self.problem(self.at, what);
        None
    }

    /// Reads a value with a default. An invalid value is recorded as an error and replaced by the default.
    pub fn or<T: Read>(&mut self, key: &'static str, default: T) -> At<T> {
        let at = self.at;
        let asked = KnownKey {
            default: default.in_toml(),
            ..KnownKey::new(T::SHAPE)
        };
        self.ask(key, asked);
        self.opt(key).unwrap_or(At { value: default, at })
    }

    /// Reads a whole number with a default and a range.
    pub fn number(
        &mut self,
        key: &'static str,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> At<u64> {
        let found = self.or(key, default);
        self.check_range(key, &found, range);
        found
    }

    /// Reads a required whole number with a range.
    pub fn req_number(&mut self, key: &'static str, range: RangeInclusive<u64>) -> Option<At<u64>> {
        self.ask_range(key, &range);
        let found = self.req(key)?;
        self.check_range(key, &found, range);
        Some(found)
    }

    pub(crate) fn ask_range(&self, key: &str, range: &RangeInclusive<u64>) {
        let asked = KnownKey {
            range: Some(range.clone()),
            ..KnownKey::new(Shape::Number)
        };
        self.ask(key, asked);
    }

    fn check_range(&self, key: &str, found: &At<u64>, range: RangeInclusive<u64>) {
        self.ask_range(key, &range);
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
    }

    /// Reads one of several keywords, with a default that also counts for a wrong one.
    pub fn word<T: Copy + PartialEq>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
        default: T,
    ) -> At<T> {
        let at = self.at;
        let value = default;
        self.choice(key, words, default).unwrap_or(At { value, at })
    }

    /// As [`word`](Self::word), for a word that decides what the rest of the file means: `None` for a wrong one.
    pub fn choice<T: Copy + PartialEq>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
        default: T,
    ) -> Option<At<T>> {
        let usual = words.iter().find(|(_, value)| *value == default);
        let asked = KnownKey {
            default: usual.map(|(word, _)| format!("\"{word}\"")),
            ..KnownKey::new(Shape::Word(
                words.iter().map(|(word, _)| (*word).to_owned()).collect(),
            ))
        };
        self.ask(key, asked);
        let Some(found) = self.opt::<String>(key) else {
            return (!self.has(key)).then_some(At {
                value: default,
                at: self.at,
            });
        };
        let at = found.at;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == found.value) {
            return Some(At { value: *value, at });
        }
        let list: Vec<_> = words
            .iter()
            .map(|(word, _)| format!("\"{word}\""))
            .collect();
        let what = format!("{} must be one of {}", self.label(key), list.join(", "));
        self.reader.problem(at, what);
        None
    }

    /// Reads a sub-section; an absent one yields only defaults.
    #[must_use]
    pub fn section(&mut self, key: &'static str) -> Section<'r, 'd> {
        let name = self.label(key);
        let raw = self.raw(key, KnownKey::new(Shape::Section));
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

    /// Reads a list of sub-sections, `[[key]]`.
    pub fn sections(&mut self, key: &'static str) -> Vec<Section<'r, 'd>> {
        let name = self.label(key);
        let Some(raw) = self.raw(key, KnownKey::new(Shape::Sections)) else {
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

    /// The whole section as a TOML table, for parameters that are checked elsewhere, and the position of every value by
    /// its path inside the table.
    pub fn verbatim(&self) -> (toml::Table, BTreeMap<String, Place>) {
        let name = self.name.clone();
        let asked = KnownKey::new(Shape::Free);
        self.reader.keys.borrow_mut().ask(name, asked);
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

    /// Reports every key that was not read.
    pub fn finish(self) {
        for (key, value) in self.table.into_iter().flat_map(|table| table.iter()) {
            let name: &str = key.get_ref();
            if self.known.contains(name) {
                continue;
            }
            let at = self.reader.place(key.span().start);
            let mut what = format!("unknown key {}", self.label(&shown(name)));
            if looks_secret(name) {
                what.push_str("; secrets do not belong in the configuration; write the paths of their files (keys.api_key_file, keys.eddsa_key_file)");
            } else if let Some(near) = nearest(name, self.known.iter().copied()) {
                what.push_str("; did you mean ");
                what.push_str(&self.label(near));
                what.push('?');
                let is_section = matches!(value.get_ref(), DeValue::Table(_) | DeValue::Array(_));
                if is_section && !self.has(near) {
                    self.reader.forgive(&self.label(near));
                }
            } else {
                let all: Vec<_> = self.known.iter().copied().collect();
                what.push_str("; known keys: ");
                what.push_str(&all.join(", "));
            }
            self.reader.problem(at, what);
        }
    }
}

/// A key name that is safe to print: short, without control characters.
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

/// The known name nearest to `name`, if one is similar enough to be a misspelling of it.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().max(name.len()) / 3)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::path::PathBuf;

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
