//! `cambist strategy new`: the files that it writes compile, and their test and those of the registry pass.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Folder, cambist, exit, json, stderr, stdout};

/// Files of this repository that the package of strategies needs.
const NEEDED: [&str; 4] = [
    "crates/core",
    "crates/quant",
    "strategies",
    "config/strategies",
];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The sources that the package needs, in a separate workspace.
fn sources(folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for needed in NEEDED {
        copy(&root.join(needed), &folder.join(needed));
    }
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let mut workspace = manifest["workspace"].as_table().unwrap().clone();
    let members = ["crates/core", "crates/quant", "strategies"].map(toml::Value::from);
    workspace.insert("members".to_owned(), members.to_vec().into());
    workspace.remove("default-members");
    let mut reduced = toml::Table::from_iter([("workspace".to_owned(), workspace.into())]);
    reduced.insert("profile".to_owned(), manifest["profile"].clone());
    fs::write(
        folder.join("Cargo.toml"),
        toml::to_string(&reduced).unwrap(),
    )
    .unwrap();
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
}

#[test]
fn a_new_strategy_compiles_and_its_test_passes() {
    let folder = Folder::new("new-strategy");
    sources(&folder.0);
    let at = folder.0.display().to_string();
    let new = cambist(&["strategy", "new", "my_quoter", "--sources", &at]);
    assert_eq!(exit(&new), 0, "{}", stderr(&new));
    let printed = stdout(&new);
    assert!(
        printed.contains("cargo test -p cambist-strategies my_quoter"),
        "{printed}"
    );

    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let tested = Command::new(env!("CARGO"))
        .args([
            "test",
            "--offline",
            "-p",
            "cambist-strategies",
            "--lib",
            "--target-dir",
        ])
        .arg(target)
        .args(["--", "my_quoter", "registry"])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let (out, log) = (stdout(&tested), stderr(&tested));
    assert!(tested.status.success(), "{out}\n{log}");
    for test in [
        "my_quoter::tests::one_order_rests_on_each_side ... ok",
        "registry::tests::every_parameter_changes_a_decision ... ok",
    ] {
        assert!(out.contains(test), "{test} is missing:\n{out}\n{log}");
    }
}

/// Existing files are not changed, and errors state their cause.
#[test]
fn a_name_is_written_once_and_only_into_sources() {
    let folder = Folder::new("new-strategy-twice");
    let at = folder.0.display().to_string();
    let new = |name: &str, more: &[&str]| {
        cambist(&[&["strategy", "new", name, "--sources", &at], more].concat())
    };
    let nowhere = new("mirror", &[]);
    assert_eq!(exit(&nowhere), 2);
    assert!(
        stderr(&nowhere).contains("--sources DIR"),
        "{}",
        stderr(&nowhere)
    );

    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("strategies/src");
    copy(&src, &folder.0.join("strategies/src"));
    let lib = folder.0.join("strategies/src/lib.rs");
    let before = fs::read_to_string(&lib).unwrap();
    for name in ["ladder", "Grid", "../x", "match", "testing", "price_limits"] {
        let refused = new(name, &[]);
        assert_eq!(exit(&refused), 2, "{name}: {}", stdout(&refused));
        assert!(!stderr(&refused).is_empty());
        assert_eq!(fs::read_to_string(&lib).unwrap(), before, "{name}");
    }
    let written = json(&new("mirror", &["--json"]));
    let file = written["file"].as_str().unwrap();
    let source = fs::read_to_string(file).unwrap();
    assert!(source.contains("struct Mirror") && source.contains("name: \"mirror\""));
    assert!(!source.to_lowercase().contains("template"), "{source}");
    let listed = fs::read_to_string(&lib).unwrap();
    assert!(listed.contains("pub mod mirror;\n") && listed.contains("    mirror\n"));
    assert_eq!(exit(&new("mirror", &[])), 2, "once");
    assert_eq!(fs::read_to_string(&lib).unwrap(), listed);
}
