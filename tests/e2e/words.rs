//! Words of the old language of the sources, for which the glossary of ARCHITECTURE.md has terms, do not come back: in
//! names, comments and messages, tests included. The glossary is short, and its types exist.

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
    "desk",
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
    ("crates/profit-check", Some(&[])),
    ("crates/report", Some(&[])),
    ("crates/tape", Some(&[])),
    ("crates/fill-model", Some(&[])),
    ("crates/fence-model", Some(&[])),
    ("crates/backtest", Some(&["says", "told"])),
    ("crates/sim", Some(&["heard", "somebody"])),
    ("crates/simulator", Some(&[])),
    ("crates/core/src", Some(&["looked", "said", "says"])),
    ("crates/core/tests", Some(&[])),
    ("crates/daemon", Some(&[])),
    ("crates/store", Some(&[])),
    ("crates/vectors", Some(&[])),
    ("crates/sandbox", Some(&[])),
    ("crates/signer", Some(&[])),
    ("crates/strategy-process", Some(&[])),
    ("crates/mutants", Some(&[])),
    ("src", Some(&[])),
    ("tests", Some(&[])),
    ("strategies", Some(&[])),
    ("crates/client", Some(&[])),
    ("crates/config", Some(&[])),
    ("crates/evm", Some(&[])),
    ("crates/evm-venue", Some(&[])),
    ("crates/exchange", Some(&[])),
    ("crates/host", Some(&[])),
    ("crates/kraken", Some(&[])),
    ("crates/kraken-venue", Some(&[])),
    ("crates/listener", Some(&[])),
    ("crates/market-data", Some(&[])),
    ("crates/syscalls", Some(&[])),
    ("crates/messages", Some(&[])),
    ("crates/page", Some(&[])),
    ("crates/protocol", Some(&[])),
    ("crates/schema", Some(&[])),
    // The admin log's old key `wish` for one version; the `Host` header in a test's name.
    ("crates/server", Some(&["says", "wish"])),
    ("crates/signing", Some(&[])),
    // Time that "stands still" in a test's name.
    ("crates/venue", Some(&["stands"])),
];

/// Names in stored data and interfaces, which stay: the tag of requests on the control socket, keys of JSON output,
/// and options that are accepted for one more version.
const FROZEN: &[&str] = &[
    "tag = \"wish\"",
    "\"wish\":",
    "\"wish\"]",
    "\"verdict\"",
    "\"trouble\":",
    "\"troubles\":",
    "no-pull-the-plug",
];

/// The lists of retired names themselves.
const LISTS: &[&str] = &["tests/e2e/words.rs", "tests/e2e/rooms.rs"];

/// A line without the names that stored data and interfaces have.
fn without_frozen(line: &str) -> String {
    let renamed = line.contains("rename = \"");
    let mut line = if renamed {
        String::new()
    } else {
        line.to_owned()
    };
    for name in FROZEN {
        line = line.replace(name, "");
    }
    line
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

/// The words of a line in lower case: identifiers are split at underscores, and where a capital follows a small letter.
fn words(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut was_small = false;
    for c in line.chars() {
        if !c.is_ascii_alphabetic() || c.is_ascii_uppercase() && was_small {
            found.push(std::mem::take(&mut word));
        }
        if c.is_ascii_alphabetic() {
            word.push(c.to_ascii_lowercase());
        }
        was_small = c.is_ascii_lowercase();
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
        assert!(!files.is_empty(), "{folder}");
        let rare = used.map_or(&[][..], |_| RARE);
        let is_retired = |word: &str| {
            let is_used = used.is_some_and(|used| used.contains(&word));
            GONE.contains(&word) || rare.contains(&word) && !is_used
        };
        for path in files {
            if LISTS.iter().any(|list| path.ends_with(list)) {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for (at, line) in text.lines().enumerate() {
                let found = words(&without_frozen(line)).into_iter();
                let place = format!("{}:{}", path.display(), at + 1);
                wrong.extend(
                    found
                        .filter(|word| is_retired(word))
                        .map(|word| format!("{word} in {place}")),
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // A new crate is listed from its beginning.
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let folder = format!("crates/{name}");
        let is_listed = |(listed, _): &(&str, _)| {
            *listed == folder
                || listed
                    .strip_prefix(&folder)
                    .is_some_and(|rest| rest.starts_with('/'))
        };
        assert!(FOLDERS.iter().any(is_listed), "{folder} has no row");
    }
    assert_eq!(
        words("fn tell_all(a: WeatherReport, LAST_WORD) // 2"),
        [
            "fn", "tell", "all", "a", "weather", "report", "last", "word"
        ]
    );
}

/// The most entries of the glossary.
const ENTRIES_MAX: usize = 60;

/// The glossary's rows: term, meaning and types.
fn glossary(text: &str) -> Vec<[String; 3]> {
    let (_, section) = text.split_once("\n## Glossary\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let cells = |row: &str| {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").collect();
        let cells: [&str; 3] = cells.try_into().unwrap_or_else(|_| panic!("{row}"));
        cells.map(|cell| cell.trim().to_owned())
    };
    // The first row is the head.
    rows.skip(1).map(cells).collect()
}

/// Whether the sources define a name of the glossary: a type, `Type::member`, a module or a crate.
fn is_defined(name: &str, code: &str) -> bool {
    let (owner, member) = name.split_once("::").unwrap_or((name, ""));
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let defines = |kind: &str| {
        let definition = format!("pub {kind} {owner}");
        let inside = format!("pub(crate) {kind} {owner}");
        [definition, inside].iter().any(|one| {
            code.match_indices(one.as_str())
                .any(|(at, _)| ends(&code[at + one.len()..]))
        })
    };
    let kinds = ["struct", "enum", "trait", "type", "mod"];
    let is_crate = owner.starts_with("cambist_") && code.contains(&format!("use {owner}::"));
    (is_crate || kinds.into_iter().any(defines)) && (member.is_empty() || code.contains(member))
}

#[test]
fn the_glossary_is_short_and_names_types_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let rows = glossary(&text);
    assert!((40..=ENTRIES_MAX).contains(&rows.len()), "{}", rows.len());
    let folders = ["crates", "src", "strategies"].map(|folder| sources(&root.join(folder)));
    let files = folders.into_iter().flatten();
    let code: String = files
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    for [term, meaning, types] in &rows {
        assert!(!meaning.contains(". "), "{term}: more than one sentence");
        let names: Vec<_> = types.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "{term} names no type");
        for name in names {
            assert!(is_defined(name, &code), "{term}: there is no {name}");
        }
    }
    let mut terms: Vec<_> = rows.iter().map(|[term, ..]| term).collect();
    terms.sort();
    terms.dedup();
    assert_eq!(terms.len(), rows.len(), "a term has one entry");
    assert!(is_defined("Engine", &code) && !is_defined("Engin", &code));
}
