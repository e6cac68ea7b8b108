//! Notes which commit is being built, for `--version`, metrics, data folders, stores and tapes.
//!
//! In this order: `CAMBIST_REVISION` of the environment (whoever packages sources without their history),
//! the repository's own files (no git program is needed), what `git archive` writes into `.revision`. None
//! of them: `unknown`. With a git program at hand, `-dirty` says that the sources are not those of the commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const VARIABLE: &str = "CAMBIST_REVISION";

fn main() {
    println!("cargo:rerun-if-env-changed={VARIABLE}");
    // Whether the sources are those of the commit changes with them; they are compiled anew anyway.
    for source in [
        "build.rs",
        "Cargo.toml",
        "Cargo.lock",
        ".revision",
        "crates",
        "src",
        "strategies",
    ] {
        if Path::new(source).exists() {
            println!("cargo:rerun-if-changed={source}");
        }
    }
    let given = std::env::var(VARIABLE).ok().filter(|text| is_plain(text));
    let found = given.or_else(of_repository).or_else(of_archive);
    let revision = found.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env={VARIABLE}={revision}");
}

/// What `git archive` made of the placeholder.
fn of_archive() -> Option<String> {
    let text = fs::read_to_string(".revision").ok()?;
    is_hash(text.trim()).then(|| text.trim().to_owned())
}

/// The commit that is checked out here.
fn of_repository() -> Option<String> {
    let folder = git_folder()?;
    watch(&folder.join("HEAD"));
    let head = fs::read_to_string(folder.join("HEAD")).ok()?;
    let commit = match head.trim().strip_prefix("ref: ") {
        None => head.trim().to_owned(),
        Some(name) => of_reference(&folder, name)?,
    };
    is_hash(&commit).then(|| {
        if is_dirty() {
            format!("{commit}-dirty")
        } else {
            commit
        }
    })
}

/// A repository, a worktree or a submodule, if its root is this package's.
fn git_folder() -> Option<PathBuf> {
    let place = Path::new(".git");
    if place.is_dir() {
        return Some(place.to_owned());
    }
    let text = fs::read_to_string(place).ok()?;
    Some(PathBuf::from(text.trim().strip_prefix("gitdir: ")?))
}

/// Where a branch stands, in a file of its own or among the packed ones.
pub fn of_reference(folder: &Path, name: &str) -> Option<String> {
    let common = fs::read_to_string(folder.join("commondir")).ok();
    let common = common.map_or_else(|| folder.to_owned(), |path| folder.join(path.trim()));
    for place in [folder, &common] {
        watch(&place.join(name));
        if let Ok(commit) = fs::read_to_string(place.join(name)) {
            return Some(commit.trim().to_owned());
        }
    }
    watch(&common.join("packed-refs"));
    let packed = fs::read_to_string(common.join("packed-refs")).ok()?;
    let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
    lines
        .find(|(_, found)| *found == name)
        .map(|(commit, _)| commit.to_owned())
}

/// Whether files of the commit were changed; not known without a git program.
fn is_dirty() -> bool {
    let arguments = ["status", "--porcelain", "--untracked-files=no"];
    let asked = Command::new("git")
        .args(arguments)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output();
    asked.is_ok_and(|answer| answer.status.success() && !answer.stdout.is_empty())
}

/// A file that is not there would have everything built anew every time.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo:rerun-if-changed={}", path.display());
    }
}

/// Whether it names a commit in full.
pub fn is_hash(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether it may stand in texts and files as it is.
pub fn is_plain(text: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-+._".contains(&byte);
    !text.is_empty() && text.len() <= 64 && text.bytes().all(is_known)
}
