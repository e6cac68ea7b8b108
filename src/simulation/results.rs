//! The file of results: one line of JSON for each range of seeds that has been run. A campaign that was
//! interrupted goes on where its file ends, and files of several machines are put together with `cat`.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_sim::Aggregate;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::seeds::Seeds;

/// A seed that broke a promise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The seed.
    pub seed: u64,
    /// The first promise that was broken.
    pub violation: String,
}

/// What a range of seeds came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Which build ran it: the first half of the hash of the program file.
    pub build: String,
    /// The version of the program.
    pub version: String,
    /// Which seeds.
    #[serde(flatten)]
    pub range: Seeds,
    /// Market making of each world.
    pub duration_ms: u64,
    /// What they add up to.
    pub tally: Aggregate,
    /// Those that broke a promise.
    pub failed: Vec<Failed>,
}

/// The file, open for more lines.
pub struct Results {
    path: PathBuf,
    file: File,
    entries: Vec<Entry>,
}

impl Results {
    /// Opens or begins a file. A last line that an interruption cut short is left out and removed.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let name = || format!("results file {}", path.display());
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .with_context(name)?;
        let mut entries = Vec::new();
        let mut reader = BufReader::new(&file);
        let (mut whole, mut number) = (0, 0_u64);
        loop {
            let mut line = String::new();
            let read = reader.read_line(&mut line).with_context(name)?;
            number += 1;
            if read == 0 || !line.ends_with('\n') {
                break;
            }
            whole += read as u64;
            let entry = serde_json::from_str(&line)
                .with_context(|| format!("{}, line {number}", path.display()))?;
            entries.push(entry);
        }
        file.set_len(whole).with_context(name)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            entries,
        })
    }

    /// Every line, whatever build it is from.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Adds a line.
    pub fn add(&mut self, entry: Entry) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(&entry)?;
        line.push(b'\n');
        self.file
            .write_all(&line)
            .and_then(|()| self.file.sync_data())
            .with_context(|| format!("results file {}", self.path.display()))?;
        self.entries.push(entry);
        Ok(())
    }
}

/// Names this very program: results of another one say nothing about it.
pub fn build() -> anyhow::Result<String> {
    let path = std::env::current_exe().context("finding the program file")?;
    let mut file = File::open(&path).with_context(|| path.display().to_string())?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = std::io::Read::read(&mut file, &mut buffer)?;
        if read == 0 {
            break;
        }
        digest.update(&buffer[..read]);
    }
    let digest = digest.finalize();
    Ok(digest[..8].iter().fold(String::new(), |mut text, byte| {
        use std::fmt::Write;
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn entry(first: u64) -> Entry {
        Entry {
            build: "b".to_owned(),
            version: "0".to_owned(),
            range: Seeds { first, count: 5 },
            duration_ms: 60_000,
            tally: Aggregate {
                seeds: 5,
                orders: 17,
                ..Aggregate::default()
            },
            failed: vec![Failed {
                seed: first,
                violation: "double_order".to_owned(),
            }],
        }
    }

    #[test]
    fn a_torn_last_line_is_dropped_and_a_wrong_one_is_named() {
        let folder = crate::testing::private_folder();
        let path = folder.path().join("r.jsonl");
        let mut results = Results::open(&path).unwrap();
        results.add(entry(1)).unwrap();
        results.add(entry(6)).unwrap();
        drop(results);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        let mut results = Results::open(&path).unwrap();
        assert_eq!(results.entries(), [entry(1)]);
        results.add(entry(6)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        std::fs::write(&path, "nonsense\n").unwrap();
        let error = format!("{:#}", Results::open(&path).err().unwrap());
        assert!(error.contains("line 1"), "{error}");
    }
}
