//! Durability: nothing that was acknowledged or shown is lost, whatever happens to the process.
//!
//! The venue is a machine whose inputs are its whole history, so what is written are its inputs:
//! `state` says which, `commit` gathers them into batches and lets answers wait for the sync, `writer`
//! writes a batch as one `frame`, `keeper` turns old log into a `snapshot`, `recover` reads both back.
//!
//! | promise | how |
//! |---|---|
//! | no answer before its inputs are durable | every answer waits until the log is synced up to where it stood when the answer was computed |
//! | no later write can hurt what was synced | frames begin at blocks of their own |
//! | a failed write or sync is never retried | the log refuses everything from then on, and the server ends |
//! | a crash costs nothing that was synced | a batch cut off at the very end is dropped; it was never acknowledged |
//! | damage is never guessed away | checks, a chain over all inputs, refusal with the place |
//! | recovery is bounded | a snapshot after some inputs or parts of the log, made from the log beside the running machine |
//!
//! Files hold API keys: the folder has mode 0700, files 0600.

mod backup;
mod commit;
mod disk;
mod files;
mod folder;
mod frame;
mod keeper;
mod recover;
mod schema;
mod snapshot;
mod story;
#[cfg(test)]
mod tests;
mod walk;
mod writer;

use std::fmt::Display;
use std::io;

use cambist_host::folder::FolderError;

pub use backup::{BackupFacts, VerifyFacts, backup, restore, verify};
pub(crate) use commit::{Log, LogState};
pub use folder::{DataFolder, Durable};
pub use story::{Told, tell};

use disk::Disk;

/// Why a data folder is of no use now.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// Another process works in it.
    #[error("folder {folder} is in use by another process")]
    InUse {
        /// The folder.
        folder: String,
    },
    /// It is not ours alone, or cannot be used.
    #[error("data folder {0}")]
    Folder(FolderError),
    /// There is no exchange in it.
    #[error("there is no exchange in folder {folder}")]
    Empty {
        /// The folder.
        folder: String,
    },
    /// There is something in it.
    #[error("folder {folder} is not empty")]
    NotEmpty {
        /// The folder.
        folder: String,
    },
    /// The system refused.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not what was written.
    #[error(
        "{file} is damaged at byte {offset}: {what}; keep a copy of the folder, then restore a backup with 'cambist venue restore'"
    )]
    Damaged {
        /// The file.
        file: String,
        /// Where it is damaged.
        offset: u64,
        /// What does not fit.
        what: &'static str,
    },
    /// Written in another layout or by a program with other types.
    #[error(
        "{file} was written by {writer} ({what} {found:#x}; this is cambist {version} with {what} {here:#x}); nothing was changed: go on with the program that wrote it, or take its accounts and balances with 'cambist venue export' of that program and begin anew in another folder", version = env!("CARGO_PKG_VERSION")
    )]
    Version {
        /// The file.
        file: String,
        /// What differs.
        what: &'static str,
        /// What the file says.
        found: u32,
        /// What this program writes.
        here: u32,
        /// Name and version of the program that wrote it, where it left them.
        writer: String,
    },
    /// The state does not add up.
    #[error("the recovered books do not add up: {0}")]
    Audit(String),
}

impl From<FolderError> for DataError {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::InUse(folder) => Self::InUse {
                folder: folder.display().to_string(),
            },
            other => Self::Folder(other),
        }
    }
}

impl DataError {
    /// Whether the folder is wrong as it stands, so that trying again cannot help.
    pub fn is_misconfigured(&self) -> bool {
        matches!(self, Self::Folder(error) if error.is_misconfigured())
    }

    fn io(what: impl Display, source: io::Error) -> Self {
        Self::Io {
            what: what.to_string(),
            source,
        }
    }

    fn damaged(disk: &dyn Disk, file: &str, offset: u64, what: &'static str) -> Self {
        Self::Damaged {
            file: format!("{}/{file}", disk.name()),
            offset,
            what,
        }
    }

    fn version(disk: &dyn Disk, file: &str, other: frame::Other) -> Self {
        Self::Version {
            file: format!("{}/{file}", disk.name()),
            what: other.what,
            found: other.found,
            here: other.here,
            writer: other.writer.unwrap_or_else(|| "another version".to_owned()),
        }
    }
}

/// Says what was being done when the system refused.
fn io_of(disk: &dyn Disk, name: &str) -> impl FnOnce(io::Error) -> DataError {
    let what = format!("{}/{name}", disk.name());
    move |source| DataError::Io { what, source }
}

/// What recovery met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryFacts {
    /// Inputs since the exchange was made.
    pub position: u64,
    /// Inputs that the snapshot holds.
    pub snapshot_position: u64,
    /// Inputs replayed after it.
    pub replayed: u64,
    /// Batches they were written in.
    pub frames: u64,
    /// Bytes of these.
    pub log_bytes: u64,
    /// Bytes of a batch that a crash had cut off; never acknowledged, and dropped.
    pub torn_bytes: u64,
    /// Newer snapshots that were damaged and not needed.
    pub damaged_snapshots: u64,
    /// Steps in which background traders would ask something else today than they did.
    pub steps_changed: u64,
}
