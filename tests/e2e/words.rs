//! Words of the old language of the sources, for which the glossary of ARCHITECTURE.md has terms, do not come back: in
//! names, comments and messages, tests included.

use std::path::{Path, PathBuf};

/// Words that none of the folders in [`FOLDERS`] uses.
const GONE: &[&str] = &[
    "afresh",
    "believe",
    "believes",
    "born",
    "conduct",
    "crew",
    "crowd",
    "door",
    "everybody",
    "gossip",
    "heal",
    "healed",
    "hear",
    "hearing",
    "hears",
    "keeper",
    "lies",
    "likeness",
    "misfit",
    "patience",
    "people",
    "persons",
    "playbill",
    "plug",
    "promises",
    "purse",
    "rumour",
    "storm",
    "storms",
    "stormy",
    "story",
    "stray",
    "strays",
    "tell",
    "telling",
    "trouble",
    "troubles",
    "verdict",
    "verdicts",
    "weather",
    "whoever",
    "whom",
    "wishes",
    "witness",
];

/// Words that a part of the folders no longer uses.
const RARE: &[&str] = &[
    "anew",
    "believed",
    "denial",
    "heals",
    "heard",
    "lately",
    "looked",
    "nobody",
    "person",
    "remembers",
    "said",
    "says",
    "somebody",
    "stands",
    "stood",
    "tells",
    "told",
    "twin",
    "twins",
    "wish",
];

/// Folders without any word of [`GONE`], and the words of [`RARE`] that they still use; `None`: any of them.
const FOLDERS: &[(&str, Option<&[&str]>)] = &[
    ("crates/quant", Some(&[])),
    ("crates/report", Some(&[])),
    ("crates/tape", Some(&[])),
    ("crates/fill-model", Some(&[])),
    ("crates/fence-model", Some(&[])),
    ("crates/backtest", Some(&["says", "told"])),
    ("crates/sim", Some(&["heard", "somebody"])),
    ("crates/core/src", None),
    ("strategies", Some(&[])),
    ("crates/client", Some(&[])),
    ("crates/config", Some(&[])),
    ("crates/exchange", Some(&[])),
    ("crates/host", Some(&[])),
    ("crates/listener", Some(&[])),
    ("crates/market-data", Some(&[])),
    ("crates/messages", Some(&[])),
    ("crates/protocol", Some(&[])),
    ("crates/schema", Some(&[])),
    // The admin log's old key `wish` for one version; the `Host` header in a test's name.
    ("crates/server", Some(&["says", "wish"])),
    ("crates/signing", Some(&[])),
    // Time that "stands still" in a test's name.
    ("crates/venue", Some(&["stands"])),
];

/// Whether a line may hold any word: names that stored data and interfaces have.
fn is_frozen(line: &str) -> bool {
    line.contains("rename = \"")
}

/// Sources below a folder, without the names of earlier versions of stored types.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                found.extend(sources(&path));
            }
        } else if path.extension().is_some_and(|kind| kind == "rs")
            && !path.ends_with("versions.rs")
        {
            found.push(path);
        }
    }
    found
}

/// The words of a line in lower case: identifiers are split at underscores and capitals.
fn words(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    for c in line.chars() {
        if c.is_ascii_uppercase() || !c.is_ascii_alphabetic() {
            found.push(std::mem::take(&mut word));
        }
        if c.is_ascii_alphabetic() {
            word.push(c.to_ascii_lowercase());
        }
    }
    found.push(word);
    found.retain(|word| !word.is_empty());
    found
}

#[test]
fn retired_words_do_not_come_back() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut wrong = Vec::new();
    for &(folder, used) in FOLDERS {
        let files = sources(&root.join(folder));
        assert!(files.len() > 3, "{folder}");
        let rare = used.map_or(&[][..], |_| RARE);
        let is_retired = |word: &str| {
            let is_used = used.is_some_and(|used| used.contains(&word));
            GONE.contains(&word) || rare.contains(&word) && !is_used
        };
        for path in files {
            let text = std::fs::read_to_string(&path).unwrap();
            for (at, line) in text.lines().enumerate() {
                let found = words(line).into_iter().filter(|word| is_retired(word));
                let place = format!("{}:{}", path.display(), at + 1);
                wrong.extend(
                    found
                        .filter(|_| !is_frozen(line))
                        .map(|word| format!("{word} in {place}")),
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(
        words("fn tell_all(a: WeatherReport) // 2"),
        ["fn", "tell", "all", "a", "weather", "report"]
    );
}
