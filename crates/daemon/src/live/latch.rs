//! The latch: a file in the state folder. While it exists nothing is traded, whichever program created it and whether or not a
//! daemon was running. `cambist resume` removes it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Interval at which a daemon checks for it.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Most bytes of a reason.
const REASON_MAX: u64 = 1_000;

/// The latch of a state folder.
#[derive(Clone, Debug)]
pub struct Latch {
    dir: PathBuf,
}

impl Latch {
    /// The latch of a state folder, which may not exist.
    pub fn of(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
        }
    }

    /// The path of its file.
    pub fn file(&self) -> PathBuf {
        self.dir.join("latch")
    }

    /// Creates the latch with a reason; file and name are durable when this returns. An existing latch is not changed.
    pub fn raise(&self, reason: &str) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.dir)?;
        let opened = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(self.file());
        match opened {
            Ok(mut file) => {
                writeln!(file, "{reason}")?;
                file.sync_all()?;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        File::open(&self.dir)?.sync_all()
    }

    /// The reason, if the latch exists. An unreadable latch counts as existing.
    pub fn raised(&self) -> Option<String> {
        if !self.is_raised() {
            return None;
        }
        let mut text = String::new();
        let read = File::open(self.file())
            .and_then(|file| file.take(REASON_MAX).read_to_string(&mut text));
        Some(match read {
            Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
            Ok(_) => "no reason was given".to_owned(),
            Err(error) => format!("its reason cannot be read: {error}"),
        })
    }

    /// Whether the latch exists: true unless its absence is certain.
    pub fn is_raised(&self) -> bool {
        !matches!(
            fs::symlink_metadata(self.file()),
            Err(error) if error.kind() == io::ErrorKind::NotFound
        )
    }

    /// Records that a panic proved at this time (seconds since the Unix epoch) that no order or pool transaction of
    /// earlier runs is alive. The proof is valid until the next start.
    pub fn keep_proof(&self, at_s: u64) -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.proof_file())?;
        writeln!(file, "{at_s}")?;
        file.sync_all()?;
        File::open(&self.dir)?.sync_all()
    }

    /// The time of a valid proof. A file without a time proves nothing.
    pub fn proof(&self) -> Option<u64> {
        let mut text = String::new();
        let file = File::open(self.proof_file()).ok()?;
        file.take(REASON_MAX).read_to_string(&mut text).ok()?;
        text.strip_suffix('\n')?.parse().ok()
    }

    /// Removes the proof, because orders may be alive again; durable when this returns.
    pub fn forget_proof(&self) -> io::Result<()> {
        match fs::remove_file(self.proof_file()) {
            Ok(()) => File::open(&self.dir)?.sync_all(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn proof_file(&self) -> PathBuf {
        self.dir.join("panic.proven")
    }

    /// Removes the latch; durable when this returns.
    pub fn lower(&self) -> io::Result<()> {
        match fs::remove_file(self.file()) {
            Ok(()) => File::open(&self.dir)?.sync_all(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Completes when the latch exists, with the reason.
    pub async fn watch(&self) -> String {
        loop {
            if let Some(reason) = self.raised() {
                return reason;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_latch_keeps_its_first_reason_until_it_is_removed() {
        let folder = crate::testing::private_folder();
        let latch = Latch::of(&folder.path().join("state"));
        assert_eq!(latch.raised(), None);
        latch.lower().unwrap();
        latch.raise("fat finger").unwrap();
        latch.raise("later").unwrap();
        assert_eq!(latch.raised().as_deref(), Some("fat finger"));
        for path in [latch.file(), latch.dir.clone()] {
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            let private = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode & 0o777, private, "{}", path.display());
        }
        latch.lower().unwrap();
        assert!(!latch.is_raised());
        // Of a long reason its beginning is read.
        latch.raise(&"x".repeat(5_000)).unwrap();
        assert_eq!(latch.raised().unwrap().len(), 1_000);
    }

    #[test]
    fn a_folder_that_cannot_be_used_is_an_error() {
        let folder = crate::testing::private_folder();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let latch = Latch::of(&file);
        assert!(latch.raise("x").is_err());
        assert!(latch.lower().is_err());
        assert!(latch.forget_proof().is_err());
        assert!(latch.is_raised(), "its absence is not certain");
    }

    #[tokio::test]
    async fn watching_ends_with_the_reason() {
        let folder = crate::testing::private_folder();
        let latch = Latch::of(folder.path());
        let other = latch.clone();
        let raised = std::thread::spawn(move || other.raise("by hand"));
        assert_eq!(latch.watch().await, "by hand");
        raised.join().unwrap().unwrap();
    }

    #[test]
    fn a_proof_is_stored_with_its_time_until_it_is_removed() {
        let folder = crate::testing::private_folder();
        let latch = Latch::of(folder.path());
        assert_eq!(latch.proof(), None);
        latch.keep_proof(1_700_000_000).unwrap();
        latch.keep_proof(1_700_000_001).unwrap();
        let mode = fs::metadata(latch.proof_file())
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(latch.proof(), Some(1_700_000_001));
        fs::write(latch.proof_file(), "17000").unwrap();
        assert_eq!(latch.proof(), None, "not written to its end");
        latch.keep_proof(1_700_000_002).unwrap();
        latch.keep_proof(5).unwrap();
        assert_eq!(latch.proof(), Some(5), "nothing is left of the longer one");
        latch.forget_proof().unwrap();
        latch.forget_proof().unwrap();
        assert_eq!(latch.proof(), None);
    }

    #[test]
    fn an_unreadable_latch_counts_as_set() {
        let folder = crate::testing::private_folder();
        let latch = Latch::of(folder.path());
        fs::create_dir(latch.file()).unwrap();
        assert!(latch.raised().unwrap().contains("cannot be read"));
        fs::remove_dir(latch.file()).unwrap();
        fs::write(latch.file(), "").unwrap();
        assert_eq!(latch.raised().as_deref(), Some("no reason was given"));
    }
}
