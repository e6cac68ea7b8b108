//! Paths in one spelling, so that two names of the same file compare equal.

use std::path::{Component, Path, PathBuf};

/// The same path in the same spelling: without symbolic links, `.` and `..`, also where it or its parents do not exist
/// yet.
pub(crate) fn real(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut real = PathBuf::new();
    for part in absolute.components() {
        match part {
            // The parent of what a link leads to.
            Component::ParentDir => drop(real.pop()),
            other => real.push(other),
        }
        if let Ok(there) = real.canonicalize() {
            real = there;
        }
    }
    real
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn a_path_is_recognised_in_every_spelling() {
        let folder = crate::testing::private_folder();
        let path = folder.path().canonicalize().unwrap();
        std::fs::create_dir(path.join("there")).unwrap();
        std::os::unix::fs::symlink(path.join("there"), path.join("link")).unwrap();
        for (one, other, same) in [
            ("there", "./there", true),
            ("there", "x/../there", true),
            ("there", "link", true),
            ("link/state", "there/./state", true),
            ("link/../new", "new", true),
            ("new/a", "new/b/../a", true),
            ("there", "new", false),
            ("link/state", "state", false),
        ] {
            let [one, other] = [one, other].map(|part| real(&path.join(part)));
            assert_eq!(one == other, same, "{} {}", one.display(), other.display());
        }
    }
}
