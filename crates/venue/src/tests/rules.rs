//! `docs/venue-rules.md` and the tests refer to each other: no rule without a test, no test of an unknown rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(fs::read_to_string(path).unwrap());
        }
    }
}

/// Rule ids in a text: `R-`, three capitals, `-`, two digits.
fn ids(text: &str) -> BTreeSet<String> {
    text.match_indices("R-")
        .filter_map(|(at, _)| text.get(at..at + 8))
        .filter(|id| {
            let bytes = id.as_bytes();
            bytes[2..5].iter().all(u8::is_ascii_uppercase)
                && bytes[5] == b'-'
                && bytes[6..].iter().all(u8::is_ascii_digit)
        })
        .map(str::to_owned)
        .collect()
}

/// Test functions of the crate, and the rules named above each.
fn tests_by_name() -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut files,
    );
    let mut tests = BTreeMap::new();
    for file in &files {
        let mut rules = BTreeSet::new();
        let mut is_test = false;
        for line in file.lines().map(str::trim) {
            if line.starts_with("/// R-") {
                rules.extend(ids(line));
            } else if line == "#[test]" {
                is_test = true;
            } else if let Some(rest) = line.strip_prefix("fn ") {
                let name = rest.split('(').next().unwrap_or_default().to_owned();
                if is_test {
                    tests.insert(name, std::mem::take(&mut rules));
                }
                is_test = false;
                rules.clear();
            }
        }
    }
    tests
}

/// Rows of the rule book: rule id and the tests that its last column names.
fn rows() -> BTreeMap<String, Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/venue-rules.md");
    let text = fs::read_to_string(path).unwrap();
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| R-")) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let tests = cells
            .last()
            .unwrap()
            .split(',')
            .map(|name| name.trim().trim_matches('`').to_owned())
            .collect();
        let twice = rows.insert(cells[0].to_owned(), tests);
        assert!(twice.is_none(), "{} is listed twice", cells[0]);
    }
    rows
}

#[test]
fn rules_and_tests_name_each_other() {
    let (rows, tests) = (rows(), tests_by_name());
    assert!(rows.len() > 50, "{} rules read", rows.len());
    for (rule, named) in &rows {
        for name in named {
            let holds = tests.get(name);
            assert!(
                holds.is_some(),
                "{rule} names `{name}`, which is not a test"
            );
            assert!(
                holds.is_some_and(|rules| rules.contains(rule)),
                "`{name}` does not name {rule}"
            );
        }
    }
    for (name, rules) in &tests {
        for rule in rules {
            let names = rows.get(rule);
            assert!(
                names.is_some(),
                "`{name}` names {rule}, which does not exist"
            );
            assert!(
                names.is_some_and(|names| names.contains(name)),
                "the row of {rule} does not name `{name}`"
            );
        }
    }
}
