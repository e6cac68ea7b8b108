//! Builds of patched copies.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

/// The variable with the commit that is built: a copy is of none.
const REVISION: &str = "CAMBIST_REVISION";

/// A cargo command in a copy. What cargo sets for the packages of this program is not inherited.
pub fn command(folder: &Path, target: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        .env(REVISION, "patched");
    command
}

/// Builds the program that runs worlds, as the simulator is built for campaigns.
pub fn build_worlds(folder: &Path, target: &Path) -> anyhow::Result<PathBuf> {
    let status = command(folder, target)
        .args(["build", "--release", "--offline", "--quiet"])
        .args(["--package", "cambist-worlds"])
        .status()
        .context("cargo")?;
    ensure!(
        status.success(),
        "the patched copy in {} does not compile",
        folder.display()
    );
    Ok(target.join("release/cambist-worlds"))
}
