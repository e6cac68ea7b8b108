//! What tests of several rooms share: a folder of their own that goes away with them.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A fresh, empty folder, removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// A folder for the test of that name.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("cambist-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        let mut folder = std::fs::DirBuilder::new();
        folder.mode(0o700).create(&path).unwrap();
        Self(path)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
