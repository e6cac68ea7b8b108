//! The sources as a value, and the copy of them that is patched and built.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

/// The sources of the workspace, by path relative to its root.
#[derive(Debug)]
pub struct Tree {
    /// Contents.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// The root of the workspace that this program was built from.
pub fn root() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = folder.ancestors().nth(2).unwrap_or(folder);
    root.to_path_buf()
}

/// Every file below a folder, relative to it, without hidden ones and build folders.
pub fn files(folder: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        let path = folder.join(&below);
        let entries = fs::read_dir(&path).with_context(|| path.display().to_string())?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let hidden = name.to_string_lossy().starts_with('.');
            if hidden || name == "target" {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(below.join(name));
            } else if kind.is_file() {
                found.insert(below.join(name));
            }
        }
    }
    Ok(found)
}

impl Tree {
    /// Reads the sources below `root`.
    pub fn read(root: &Path) -> anyhow::Result<Self> {
        let mut read = BTreeMap::new();
        for path in files(root)? {
            let name = path.to_str().context("a file name that is no text")?;
            let content = fs::read(root.join(&path)).with_context(|| name.to_owned())?;
            read.insert(name.to_owned(), content);
        }
        Ok(Self { files: read })
    }

    /// A source.
    pub fn text(&self, file: &str) -> anyhow::Result<&str> {
        let content = self.files.get(file);
        let content = content.with_context(|| format!("{file}: no such source"))?;
        std::str::from_utf8(content).with_context(|| format!("{file} is no text"))
    }

    /// Lets every package that owns one of these sources ask which edit is on.
    pub fn depend_on_switch<'a>(
        &mut self,
        sources: impl Iterator<Item = &'a str>,
    ) -> anyhow::Result<()> {
        let manifests: BTreeSet<_> = sources
            .map(|source| self.manifest_of(source))
            .collect::<anyhow::Result<_>>()?;
        for manifest in manifests {
            let text = self.text(&manifest)?;
            let (before, after) = text
                .split_once("\n[dependencies]\n")
                .with_context(|| format!("{manifest} has no [dependencies]"))?;
            let patched = format!(
                "{before}\n[dependencies]\ncambist-switch = {{ path = \"{}crates/mutants/switch\" }}\n{after}",
                "../".repeat(manifest.matches('/').count())
            );
            self.files.insert(manifest, patched.into_bytes());
        }
        Ok(())
    }

    /// The manifest of the package that owns a source.
    pub fn manifest_of(&self, source: &str) -> anyhow::Result<String> {
        let folders = Path::new(source).ancestors().skip(1);
        let mut manifests = folders.map(|folder| folder.join("Cargo.toml").display().to_string());
        let found = manifests.find(|manifest| self.files.contains_key(manifest));
        found.with_context(|| format!("{source} is in no package"))
    }

    /// Makes `folder` hold exactly these files. Those that are as they should be are not touched, so that only what
    /// changed is compiled again.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        ensure!(
            folder.components().any(|part| part.as_os_str() == "target"),
            "{} is no build folder",
            folder.display()
        );
        fs::create_dir_all(folder)?;
        for path in files(folder)? {
            if !self.files.contains_key(path.to_str().unwrap_or_default()) {
                fs::remove_file(folder.join(path))?;
            }
        }
        for (name, content) in &self.files {
            let path = folder.join(name);
            if fs::read(&path).is_ok_and(|present| present == *content) {
                continue;
            }
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(&path, content).with_context(|| name.clone())?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn the_package_of_an_edited_source_asks_the_switch() {
        let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
        let manifest = "[package]\nname = \"x\"\n\n[dependencies]\nserde = \"1\"\n";
        let mut tree = Tree {
            files: [
                file("Cargo.toml", manifest),
                file("crates/x/Cargo.toml", manifest),
                file("crates/x/src/a/b.rs", ""),
            ]
            .into(),
        };
        tree.depend_on_switch(["crates/x/src/a/b.rs"].into_iter())
            .unwrap();
        let patched = tree.text("crates/x/Cargo.toml").unwrap();
        assert!(
            patched.contains("\ncambist-switch = { path = \"../../crates/mutants/switch\" }\n")
        );
        assert_eq!(tree.text("Cargo.toml").unwrap(), manifest);
        assert!(tree.depend_on_switch(["y.rs"].into_iter()).is_ok());
        assert!(tree.text("Cargo.toml").unwrap().contains("cambist-switch"));
    }

    #[test]
    fn a_copy_is_written_below_a_build_folder_only() {
        let tree = Tree {
            files: BTreeMap::new(),
        };
        assert!(tree.write(Path::new("/nowhere/at/all")).is_err());
    }
}
