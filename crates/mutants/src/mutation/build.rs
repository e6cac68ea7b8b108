//! Building a patched copy: mutants that do not compile as switches are dropped, until the rest does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::operators::Mutant;
use super::patch::{Patched, blamed, patch};
use super::sample::Drawn;
use crate::cargo;
use crate::tree::Tree;

/// The package that runs worlds.
pub const WORLDS: &str = "cambist-worlds";

/// Rounds of compiling and dropping; each comes further, as a package waits for those that it uses.
const ROUNDS_MAX: usize = 40;

/// A patched copy that compiles.
#[derive(Debug)]
pub struct Built {
    /// Executables of tests, by package, with their package's folder.
    pub tests: BTreeMap<String, Vec<(PathBuf, PathBuf)>>,
    /// The program that runs worlds, if it was built.
    pub worlds: PathBuf,
    /// Numbers of mutants that do not compile.
    pub dropped: BTreeSet<u32>,
}

/// Writes, checks and builds a copy with these mutants, less those that are known not to compile.
pub fn build(
    original: &Tree,
    drawn: &[Drawn],
    packages: &BTreeSet<&str>,
    folder: &Path,
    target: &Path,
    mut dropped: BTreeSet<u32>,
) -> anyhow::Result<Built> {
    for round in 1.. {
        let patched = write(original, drawn, &dropped, folder)?;
        let mut check = vec!["check", "--tests", "--bins", "--keep-going"];
        check.extend(packages.iter().flat_map(|package| ["--package", package]));
        let errors = errors(folder, target, &check)?;
        if errors.is_empty() {
            break;
        }
        let before = dropped.len();
        let mut unexplained = Vec::new();
        for error in &errors {
            let found = blame(error, &patched, drawn);
            if found.is_empty() {
                unexplained.push(error["message"]["rendered"].as_str().unwrap_or_default());
            }
            dropped.extend(found);
        }
        eprintln!(
            "round {round}: {} errors, {} mutants dropped",
            errors.len(),
            dropped.len()
        );
        if dropped.len() == before || round == ROUNDS_MAX {
            bail!(
                "the patched copy does not compile:\n{}",
                unexplained.join("\n")
            );
        }
    }
    let mut arguments = vec!["test", "--no-run", "--tests"];
    arguments.extend(packages.iter().flat_map(|package| ["--package", package]));
    let tests = executables(folder, target, &arguments)?;
    let worlds = if packages.contains(WORLDS) {
        cargo::build_worlds(folder, target)?
    } else {
        PathBuf::new()
    };
    Ok(Built {
        tests,
        worlds,
        dropped,
    })
}

fn write(
    original: &Tree,
    drawn: &[Drawn],
    dropped: &BTreeSet<u32>,
    folder: &Path,
) -> anyhow::Result<BTreeMap<String, Patched>> {
    let mut files: BTreeMap<&str, Vec<(u32, &Mutant)>> = BTreeMap::new();
    for one in drawn.iter().filter(|one| !dropped.contains(&one.number)) {
        let mutants = files.entry(&one.file).or_default();
        mutants.push((one.number, &one.mutant));
    }
    let mut tree = Tree {
        files: original.files.clone(),
    };
    let mut patched = BTreeMap::new();
    for (file, mutants) in files {
        let done = patch(original.text(file)?, &mutants);
        let content = done.text.clone().into_bytes();
        tree.files.insert(file.to_owned(), content);
        patched.insert(file.to_owned(), done);
    }
    tree.depend_on_switch(patched.keys().map(String::as_str))?;
    tree.write(folder)?;
    Ok(patched)
}

/// Messages of a cargo command, one JSON value a line.
fn messages(
    folder: &Path,
    target: &Path,
    arguments: &[&str],
) -> anyhow::Result<(Vec<Value>, bool)> {
    let output = cargo::command(folder, target)
        // Built once and run hundreds of times.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .args(arguments)
        .args(["--offline", "--message-format=json", "--quiet"])
        .stderr(Stdio::inherit())
        .output()
        .context("cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter(|line| line.starts_with('{'));
    let messages = lines.map(|line| Ok(serde_json::from_str(line)?));
    Ok((
        messages.collect::<anyhow::Result<_>>()?,
        output.status.success(),
    ))
}

fn errors(folder: &Path, target: &Path, arguments: &[&str]) -> anyhow::Result<Vec<Value>> {
    let (mut messages, success) = messages(folder, target, arguments)?;
    messages.retain(|message| {
        message["reason"] == "compiler-message"
            && message["message"]["level"] == "error"
            && message["message"]["spans"]
                .as_array()
                .is_some_and(|spans| !spans.is_empty())
    });
    ensure!(
        success || !messages.is_empty(),
        "cargo fails without a compiler error"
    );
    Ok(if success { Vec::new() } else { messages })
}

/// The mutants that an error is about.
fn blame(error: &Value, patched: &BTreeMap<String, Patched>, drawn: &[Drawn]) -> Vec<u32> {
    let spans = error["message"]["spans"].as_array();
    let spans = spans.into_iter().flatten();
    let (primary, others): (Vec<_>, Vec<_>) = spans.partition(|span| span["is_primary"] == true);
    for span in primary.into_iter().chain(others) {
        let found = expansions(span).find_map(|span| blame_span(span, patched));
        if let Some(found) = found {
            return found;
        }
    }
    // A function that is no longer constant is named where a constant needs it.
    let message = error["message"]["message"].as_str().unwrap_or_default();
    let called = message.split('`').nth(1).unwrap_or_default();
    let mut segments = called.rsplit("::");
    // Generic arguments are a segment too: `joined::<15>`.
    let name = segments.find(|segment| !segment.starts_with('<'));
    let name = name.unwrap_or_default();
    let constant = drawn.iter().filter(|one| one.mutant.constness.is_some());
    let same = constant.filter(|one| one.mutant.function.rsplit("::").next() == Some(name));
    same.map(|one| one.number).collect()
}

/// A place, and where the macros around it were called, innermost first.
fn expansions(span: &Value) -> impl Iterator<Item = &Value> {
    std::iter::successors(Some(span), |span| {
        Some(&span["expansion"]["span"]).filter(|span| span.is_object())
    })
}

/// The mutants at a place, unless it is in another file.
fn blame_span(span: &Value, patched: &BTreeMap<String, Patched>) -> Option<Vec<u32>> {
    let patched = patched.get(span["file_name"].as_str()?)?;
    let [start, end] = ["byte_start", "byte_end"].map(|key| {
        let at = span[key].as_u64()?;
        usize::try_from(at).ok()
    });
    let found = blamed(patched, start?..end?);
    (!found.is_empty()).then_some(found)
}

/// Executables by package, with the package's folder.
fn executables(
    folder: &Path,
    target: &Path,
    arguments: &[&str],
) -> anyhow::Result<BTreeMap<String, Vec<(PathBuf, PathBuf)>>> {
    let (messages, success) = messages(folder, target, arguments)?;
    if !success {
        let rendered = messages.iter().filter(|m| m["message"]["level"] == "error");
        let rendered: Vec<_> = rendered
            .filter_map(|m| m["message"]["rendered"].as_str())
            .collect();
        bail!("the patched tests do not compile:\n{}", rendered.join("\n"));
    }
    let mut found: BTreeMap<String, Vec<(PathBuf, PathBuf)>> = BTreeMap::new();
    for message in messages {
        let (Some(executable), true) = (
            message["executable"].as_str(),
            message["profile"]["test"] == true,
        ) else {
            continue;
        };
        let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
        let package = manifest.parent().context("a package without a folder")?;
        let text = std::fs::read_to_string(manifest)?;
        let name = text
            .lines()
            .find_map(|line| line.strip_prefix("name = \""))
            .and_then(|rest| rest.strip_suffix('"'));
        let name = name.context("a package without a name")?.to_owned();
        let tests = found.entry(name).or_default();
        tests.push((executable.into(), package.to_owned()));
    }
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_within_a_macro_blames_the_mutant_around_its_call() {
        let done = Patched {
            text: "f(on(7) format!(a))".to_owned(),
            places: vec![(7, 2..18)],
        };
        let patched = BTreeMap::from([("src/f.rs".to_owned(), done)]);
        let call = json!({"file_name": "src/f.rs", "byte_start": 8, "byte_end": 17});
        let within = json!({
            "file_name": "macros.rs", "byte_start": 1, "byte_end": 2, "is_primary": true,
            "expansion": {"span": call},
        });
        let error = json!({"message": {"message": "mismatched types", "spans": [within]}});
        assert_eq!(blame(&error, &patched, &[]), vec![7]);
    }

    #[test]
    fn a_function_that_a_constant_needs_is_blamed_by_its_name() {
        let source = "const fn joined<const N: usize>(n: u8) -> u8 { n + 1 }";
        let mutants = super::super::operators::mutants(source).unwrap();
        let mutant = mutants.into_iter().next().unwrap();
        let one = Drawn {
            number: 3,
            area: "strategies",
            file: "src/f.rs".to_owned(),
            occurrence: 1,
            mutant,
        };
        for called in ["joined::<15>", "f::joined", "joined"] {
            let message = format!("cannot call non-const function `{called}` in constants");
            let error = json!({"message": {"message": message, "spans": []}});
            let drawn = std::slice::from_ref(&one);
            assert_eq!(blame(&error, &BTreeMap::new(), drawn), vec![3]);
        }
    }
}
