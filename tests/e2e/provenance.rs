//! Inputs of the repository's workflows: nothing that a third party can replace.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn workflows() -> Vec<(String, String)> {
    let folder = fs::read_dir(root().join(".github/workflows")).unwrap();
    let found: Vec<_> = folder
        .map(|entry| {
            let path = entry.unwrap().path();
            (
                path.display().to_string(),
                fs::read_to_string(path).unwrap(),
            )
        })
        .collect();
    assert!(found.len() >= 2, "{found:?}");
    found
}

#[test]
fn actions_are_named_by_the_digest_of_a_commit() {
    let mut actions = 0;
    for (path, text) in workflows() {
        assert!(text.contains("contents: read"), "{path}");
        for line in text.lines() {
            let Some((_, action)) = line.split_once("uses:") else {
                continue;
            };
            let (name, release) = action.split_once('#').unwrap_or((action, ""));
            let digest = name.trim().split_once('@').map(|(_, digest)| digest);
            let is_digest = digest.is_some_and(|digest| {
                digest.len() == 40 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
            });
            assert!(is_digest, "{path}: {line}: a tag can be moved");
            assert!(
                release.trim().starts_with('v'),
                "{path}: {line}: which release?"
            );
            actions += 1;
        }
    }
    assert!(actions >= 3, "{actions} read");
}

#[test]
fn the_toolchain_is_one_version_and_no_channel() {
    let pinned = read(".ci/toolchain");
    let pinned = pinned.trim();
    let parts: Vec<_> = pinned.split('.').collect();
    assert!(
        parts.len() == 3 && parts.iter().all(|part| part.parse::<u32>().is_ok()),
        "{pinned}"
    );
    // The promised version is the tested one.
    let promised = format!("rust-version = \"{}.{}\"", parts[0], parts[1]);
    assert!(read("Cargo.toml").contains(&promised), "{promised}");
    for (path, text) in workflows() {
        for line in text.lines().filter(|line| line.contains("rustup")) {
            assert!(line.contains(".ci/toolchain"), "{path}: {line}");
        }
    }
}

#[test]
fn advisories_are_checked_on_a_schedule_and_a_check_that_did_not_run_fails() {
    let scheduled: Vec<_> = workflows()
        .into_iter()
        .filter(|(_, text)| text.contains("schedule:") && text.contains("cron:"))
        .collect();
    assert!(
        scheduled
            .iter()
            .any(|(_, text)| text.contains("run: bash .ci/advisories")),
        "{scheduled:?}"
    );
    let script = read(".ci/advisories");
    assert!(script.contains("set -euo pipefail"));
    assert!(script.contains("cargo deny --locked check advisories"));
    assert!(!script.contains("|| true"));
}
