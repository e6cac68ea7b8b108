//! The commit that the program reports.

use std::path::Path;

use super::support::{Folder, cambist, stdout};

#[expect(dead_code, reason = "its main is for cargo")]
#[path = "../../build.rs"]
mod script;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_version_names_the_commit_that_was_built() {
    let text = stdout(&cambist(&["--version"]));
    let version = concat!("cambist ", env!("CARGO_PKG_VERSION"), " (");
    let revision = text.trim().strip_prefix(version).unwrap();
    let revision = revision.strip_suffix(')').unwrap();
    let commit = revision.trim_end_matches("-dirty");
    let asked = std::process::Command::new("git")
        .args(["rev-parse", "HEAD"])
        .current_dir(root())
        .output();
    if std::env::var_os("CAMBIST_REVISION").is_some() {
        return;
    }
    match asked {
        // A repository of its own, not one of a folder around the sources.
        Ok(answer) if answer.status.success() && root().join(".git").exists() => {
            assert_eq!(commit, String::from_utf8(answer.stdout).unwrap().trim());
        }
        _ => assert!(commit == "unknown" || script::is_hash(commit), "{revision}"),
    }
}

#[test]
fn the_commit_is_found_without_git_in_whatever_form_the_reference_has() {
    let (one, two) = ("1".repeat(40), "2".repeat(40));
    let folder = Folder::new("references");
    for place in ["common/refs/heads", "worktree"] {
        std::fs::create_dir_all(folder.0.join(place)).unwrap();
    }
    folder.write(
        "common/packed-refs",
        &format!("# packed\n{one} refs/heads/main\n"),
    );
    folder.write("worktree/commondir", "../common\n");
    let worktree = folder.0.join("worktree");
    let found = |name: &str| script::of_reference(&worktree, name);
    assert_eq!(found("refs/heads/main"), Some(one));
    assert_eq!(found("refs/heads/other"), None);
    // A loose reference takes precedence over a packed one.
    folder.write("common/refs/heads/main", &format!("{two}\n"));
    assert_eq!(found("refs/heads/main"), Some(two.clone()));
    let main = script::of_reference(&folder.0.join("common"), "refs/heads/main");
    assert_eq!(main, Some(two));
}

#[test]
fn only_a_commit_passes_for_one() {
    // The unreplaced placeholder of an archive, a short hash, a sentence.
    for text in ["$Format:%H$", "4fb51ac", "no commit at all"] {
        assert!(!script::is_hash(text), "{text}");
    }
    assert!(script::is_plain("1.2.3+debian-4") && !script::is_plain("two words"));
    assert!(!script::is_plain("") && !script::is_plain(&"x".repeat(65)));
}
