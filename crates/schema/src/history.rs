//! Every version of a family of stored types, and the plans from each to the next.
//!
//! ```text
//! version 1 files 0x9dbf0dd1
//! root state = State
//! struct State
//!   ...
//! version 2
//! change State
//!   @ scale
//!   fresh: u64
//! without Gone
//! ```
//! A version repeats the one before it except for the types listed below it, in full or as changes. `files` lists
//! numbers by which files written before there was a history name the version. Versions are appended and never changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;

use crate::change;
use crate::parse::{self, Item};
use crate::plan::Plan;
use crate::shape::Schema;
use crate::step::Step;
use crate::wire::WireError;

/// Why a history is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("version {version} of stored types: {what}")]
pub struct HistoryError {
    /// The version concerned.
    pub version: u32,
    /// What is wrong with it.
    pub what: String,
}

/// The versions, oldest first, numbered from 1.
#[derive(Debug)]
pub struct History {
    versions: Vec<Version>,
}

#[derive(Debug)]
struct Version {
    schema: Arc<Schema>,
    /// Numbers by which files name it.
    digests: Vec<u32>,
    /// Plans from this version to the next, by root.
    plans: BTreeMap<String, Plan>,
}

impl History {
    /// Reads a history. `steps` are those that lead to version 2, 3, and so on. An error unless they produce exactly
    /// the types of each version.
    pub fn new(text: &str, steps: &[&[Step]]) -> Result<Self, HistoryError> {
        let mut versions = read(text)?;
        let wrong = |version: usize, what: String| HistoryError {
            version: u32::try_from(version).unwrap_or(u32::MAX),
            what,
        };
        let wanted = versions.len().saturating_sub(1);
        if steps.len() != wanted {
            let what = format!("expected {wanted} lists of steps, found {}", steps.len());
            return Err(wrong(versions.len(), what));
        }
        for (index, steps) in steps.iter().enumerate() {
            let (from, to) = (
                Arc::clone(&versions[index].schema),
                Arc::clone(&versions[index + 1].schema),
            );
            let mut used: BTreeSet<usize> = BTreeSet::new();
            for root in from.roots.keys() {
                let plan = Plan::new(&from, &to, steps, root);
                let plan = plan.map_err(|what| wrong(index + 2, what))?;
                used.extend(plan.used());
                versions[index].plans.insert(root.clone(), plan);
            }
            let idle = (0..steps.len()).find(|step| !used.contains(step));
            if let Some(idle) = idle {
                let what = format!("no type needs the step: {}", steps[idle]);
                return Err(wrong(index + 2, what));
            }
        }
        Ok(Self { versions })
    }

    /// Number of the newest version.
    pub fn newest(&self) -> u32 {
        u32::try_from(self.versions.len()).unwrap_or(u32::MAX)
    }

    /// The number by which new files name the newest version.
    pub fn digest(&self) -> u32 {
        let newest = self.versions.last();
        newest.map_or(0, |version| version.schema.digest())
    }

    /// The types of the newest version.
    pub fn schema(&self) -> Option<&Schema> {
        self.versions.last().map(|version| &*version.schema)
    }

    /// The types of a version.
    pub fn schema_of(&self, version: u32) -> Option<&Schema> {
        let at = usize::try_from(version).ok()?.checked_sub(1)?;
        self.versions.get(at).map(|version| &*version.schema)
    }

    /// The version that a file names; `None` if it is not in this history.
    pub fn version_of(&self, digest: u32) -> Option<u32> {
        let found = |version: &Version| version.digests.contains(&digest);
        let index = self.versions.iter().position(found)?;
        u32::try_from(index + 1).ok()
    }

    /// Reads one value of a root from the front of `input`, written in the given version.
    pub fn read<T: for<'de> Deserialize<'de>>(
        &self,
        root: &str,
        version: u32,
        input: &mut &[u8],
    ) -> Result<T, WireError> {
        let parse = |bytes: &[u8]| {
            let parsed = postcard::take_from_bytes::<T>(bytes);
            let (value, rest) = parsed.map_err(|error| WireError::No(error.to_string()))?;
            Ok((value, bytes.len() - rest.len()))
        };
        let mut current: Option<Vec<u8>> = None;
        for plan in self.plans(root, version)? {
            let mut next = Vec::new();
            match &current {
                None => plan.rewrite(input, &mut next)?,
                Some(bytes) => plan.rewrite(&mut bytes.as_slice(), &mut next)?,
            }
            current = Some(next);
        }
        if let Some(bytes) = current {
            return Ok(parse(&bytes)?.0);
        }
        let (value, taken) = parse(input)?;
        *input = &input[taken..];
        Ok(value)
    }

    /// The plans from a version on that change the root's bytes.
    fn plans(&self, root: &str, version: u32) -> Result<Vec<&Plan>, WireError> {
        let from = usize::try_from(version)
            .ok()
            .and_then(|at| at.checked_sub(1));
        let from = from.filter(|from| *from < self.versions.len());
        let from = from.ok_or_else(|| WireError::No(format!("version {version}")))?;
        let plans = self.versions[from..self.versions.len() - 1].iter();
        let plans = plans.map(|version| {
            let plan = version.plans.get(root);
            plan.ok_or_else(|| WireError::No(format!("root {root}")))
        });
        let mut plans: Vec<_> = plans.collect::<Result<_, _>>()?;
        plans.retain(|plan| plan.changes());
        Ok(plans)
    }

    /// The text to append to the history so that `described` is its newest version; `None` if it already is.
    pub(crate) fn missing(&self, described: &Schema) -> Option<String> {
        let empty = Schema::default();
        let newest = self.schema().unwrap_or(&empty);
        if newest.digest() == described.digest() {
            return None;
        }
        let mut text = format!("version {}\n", self.newest() + 1);
        for (label, shape) in &described.roots {
            if newest.roots.get(label) != Some(shape) {
                let _ = writeln!(text, "root {label} = {shape}");
            }
        }
        for (name, body) in &described.types {
            let old = newest.types.get(name);
            if old != Some(body) {
                text.push_str(&change::text(name, old, body));
            }
        }
        for name in newest.types.keys() {
            if !described.types.contains_key(name) {
                let _ = writeln!(text, "without {name}");
            }
        }
        Some(text)
    }
}

/// Reads the versions, without the plans between them.
fn read(text: &str) -> Result<Vec<Version>, HistoryError> {
    let mut versions: Vec<Version> = Vec::new();
    let mut schema = Schema::default();
    let mut rest: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    while let Some(at) = rest.iter().position(|line| line.starts_with("version ")) {
        let mut lines = rest.split_off(at);
        let end = lines[1..]
            .iter()
            .position(|line| line.starts_with("version "));
        rest = lines.split_off(end.map_or(lines.len(), |end| end + 1));
        let version = u32::try_from(versions.len() + 1).unwrap_or(u32::MAX);
        let wrong = |what: String| HistoryError { version, what };
        let mut digests = heading(lines[0], version).map_err(wrong)?;
        for item in parse::items(&lines[1..]).map_err(wrong)? {
            match item {
                Item::Root(label, shape) => {
                    schema.roots.insert(label, shape);
                }
                Item::Type(name, body) => {
                    schema.types.insert(name, body);
                }
                Item::Change(name, edits) => {
                    let body = schema.types.get_mut(&name);
                    let body = body.ok_or_else(|| {
                        wrong(format!("there is no type {name} in the version before"))
                    })?;
                    let changed = change::apply(body, &edits);
                    changed.map_err(|what| wrong(format!("{name}: {what}")))?;
                }
                Item::Without(name) => {
                    let gone = schema.types.remove(&name);
                    gone.ok_or_else(|| {
                        wrong(format!("there is no type {name} in the version before"))
                    })?;
                }
            }
        }
        let own = schema.digest();
        digests.push(own);
        let taken = |digest: &u32| versions.iter().any(|known| known.digests.contains(digest));
        if digests.iter().any(taken) {
            return Err(wrong(
                "its types are the same as those of another version".to_owned(),
            ));
        }
        versions.push(Version {
            schema: Arc::new(schema.clone()),
            digests,
            plans: BTreeMap::new(),
        });
    }
    Ok(versions)
}

/// Parses the numbers in the first line of a version.
fn heading(line: &str, version: u32) -> Result<Vec<u32>, String> {
    let mut words = line.split_whitespace().skip(1);
    if words.next() != Some(version.to_string().as_str()) {
        return Err(format!("its first line is {line:?}"));
    }
    match words.next() {
        None => Ok(Vec::new()),
        Some("files") => words
            .map(|word| {
                let digits = word.strip_prefix("0x").unwrap_or(word);
                u32::from_str_radix(digits, 16).map_err(|_| format!("{word} is not a file number"))
            })
            .collect(),
        Some(word) => Err(format!("unexpected {word} in its first line")),
    }
}
