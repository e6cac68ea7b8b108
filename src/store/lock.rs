//! One process per state folder: a lock that the operating system drops with the process.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::StoreError;

/// The held lock.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Creates the folder (0700) if needed and locks it, or says that somebody else holds it.
    pub(super) fn take(dir: &Path) -> Result<Self, StoreError> {
        let io = |source| StoreError::Io {
            dir: dir.to_owned(),
            source,
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(io)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(dir.join("lock"))
            .map_err(io)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { _file: file }),
            Err(Errno::WOULDBLOCK) => Err(StoreError::AnotherInstance {
                dir: dir.to_owned(),
            }),
            Err(error) => Err(io(error.into())),
        }
    }
}

/// Makes the names of freshly created files durable.
pub(super) fn sync_folder(dir: &Path) -> Result<(), StoreError> {
    let sync = |path: &Path| File::open(path).and_then(|folder| folder.sync_all());
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
    sync(dir)
        .and_then(|()| sync(parent.unwrap_or(Path::new("."))))
        .map_err(|source| StoreError::Io {
            dir: dir.to_owned(),
            source,
        })
}
