//! The file to which a command adds its results.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use anyhow::Context;
use cambist::exit::{Exit, Failure};

/// Opens or begins a file for reading and more lines, locked against other processes.
///
/// # Errors
/// It is no regular file, another process has it, or it cannot be opened.
pub fn open(path: &Path) -> anyhow::Result<File> {
    let name = || format!("results file {}", path.display());
    // Opening a pipe would wait, and a device has no end.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        let what = format!("{}: not a regular file", name());
        return Err(Failure::new(Exit::Usage, what).into());
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    let file = options.open(path).with_context(name)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let what = format!(
                "{}: another process adds to it; wait for its end, or use another file",
                name()
            );
            Err(Failure::new(Exit::AnotherInstance, what).into())
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(name),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn a_file_is_one_process_s_and_no_device() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let held = open(&path).unwrap();
        let error = open(&path).unwrap_err();
        let exit = error.downcast_ref::<Failure>().unwrap().exit;
        assert_eq!(exit, Exit::AnotherInstance, "{error}");
        drop(held);
        open(&path).unwrap();
        for other in [Path::new("/dev/full"), folder.path()] {
            let error = open(other).unwrap_err();
            assert!(error.to_string().contains("not a regular file"), "{error}");
        }
    }
}
