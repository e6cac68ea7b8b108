//! Shared by tests: a folder that secrets and stores accept, removed when dropped.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

/// A new, empty folder with private mode.
pub fn private_folder() -> TempDir {
    let mode = Permissions::from_mode(0o700);
    tempfile::Builder::new()
        .permissions(mode)
        .tempdir()
        .unwrap()
}
