//! What tests of several crates share: a folder as secrets and stores demand it, removed when dropped. Each of them
//! compiles this file into its tests.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

/// A fresh, empty folder that only its owner may enter.
pub fn private_folder() -> TempDir {
    let mode = Permissions::from_mode(0o700);
    tempfile::Builder::new()
        .permissions(mode)
        .tempdir()
        .unwrap()
}
