//! The daemon's database: intents before they are sent, their ends, the books, counters, the trading state.
//!
//! One writer per state folder, held by a lock; every write is one transaction that is synced before the call returns.
//! What a start reads is verified: rows have checksums, and intents are chained, so that missing and altered rows are
//! detected.

mod booking;
pub mod books;
mod chain;
mod copies;
pub mod flows;
pub mod history;
mod intents;
pub mod offline;
mod orders;
pub mod parameters;
pub(crate) mod pool_transactions;
#[cfg(test)]
pub(crate) mod pool_transactions_tests;
mod recover;
pub(crate) mod restrictions;
pub mod results;
mod rows;
mod schema;
mod slot_rule;
pub mod traded;
pub mod view;

use std::path::{Path, PathBuf};

use cambist_core::event::{RecoveredOrder, Restrictions};
use cambist_core::intent::RecoveredPoolTransaction;
use cambist_core::sorted_map::SortedMap;
use cambist_core::venue::SlotRule;
use cambist_core::{Amount, Hash, Intent, TokenId};
use cambist_host::folder::{FolderError, PrivateFolder, TakenFolder, holder, with_holder};
use rusqlite::Connection;

use cambist_host::clock::Clock;
use chain::Sum;

pub use booking::StoreEntry;
pub use books::{FolderAccount, Listing};
pub use parameters::SetParameter;
pub use schema::FILE;

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder is locked.
    #[error("another process uses the state folder {}; stop it first, or set another store.dir", with_holder(dir, *holder))]
    AnotherInstance {
        /// The folder.
        dir: PathBuf,
        /// The process that holds its lock, if that is known.
        holder: Option<u32>,
    },
    /// The content differs from what was written.
    #[error("the store {} is damaged: {what}. Nothing was changed. Keep the folder for inspection. Its open orders expire on their own; after that, start with a new store.dir", file.display())]
    Corrupt {
        /// The database file.
        file: PathBuf,
        /// The damage.
        what: String,
    },
    /// Written by a newer version.
    #[error("the store {} has version {found}, but this program supports versions up to {known}; nothing was changed. {}", file.display(), way_back(file, copy.as_deref()))]
    TooNew {
        /// The database file.
        file: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that this program supports.
        known: i64,
        /// The copy from before the newer program changed it, if there is one.
        copy: Option<PathBuf>,
    },
    /// The folder is not private, or cannot be used.
    #[error("state folder {0}")]
    Folder(FolderError),
    /// An error of the database.
    #[error("store {}: {} ({source})", file.display(), advice(source))]
    Database {
        /// The database file.
        file: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
    /// An earlier write failed, so the content of the disk is unknown.
    #[error(
        "an earlier write to the store failed; this process writes nothing more; restart it: the start reads from the venue what is missing"
    )]
    Broken,
    /// An order that may be alive belongs to a market that is not configured.
    #[error(
        "an order of market {market} in the store may still be alive; keep that market configured until it has ended"
    )]
    MarketGone {
        /// The market.
        market: String,
    },
    /// The folder is that of another venue.
    #[error("the state folder {} is that of another venue: its orders have {held}, and those of the configured one {wanted}; set another store.dir, or configure the venue that the folder belongs to", dir.display())]
    OtherVenue {
        /// The folder.
        dir: PathBuf,
        /// What identifies its orders.
        held: String,
        /// What would identify those of the configured venue.
        wanted: String,
    },
    /// A call that would violate an invariant of the store.
    #[error("the store refuses: {what}")]
    Refused {
        /// The violation.
        what: String,
    },
}

impl From<FolderError> for StoreError {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::InUse(dir) => Self::AnotherInstance {
                holder: holder(&dir),
                dir,
            },
            other => Self::Folder(other),
        }
    }
}

/// A signed order or pool transaction to be made durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedIntent {
    /// The intent.
    pub intent: Intent,
    /// Its hash.
    pub hash: Hash,
    /// The exact bytes of the request, the same for every transmission.
    pub body: Vec<u8>,
}

/// An intent without a proven end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenIntent {
    /// The order and its hash.
    pub recovered: RecoveredOrder,
    /// The bytes to send again.
    pub body: Vec<u8>,
}

/// A join or an exit without a proven end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPoolTransaction {
    /// The pool transaction and its hash.
    pub recovered: RecoveredPoolTransaction,
    /// The bytes to send again.
    pub body: Vec<u8>,
}

/// Amounts of an order in base units; of a pool transaction those of the pooled tokens in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// Base filled.
    pub base: Amount,
    /// Quote filled.
    pub quote: Amount,
    /// Fee, base units of the market's fee token (`MarketSpec::fee_token`); of a pool transaction, of the last pooled
    /// token.
    pub fee: Amount,
}

/// State of earlier runs, for a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Random number of this store.
    pub instance: u32,
    /// Next client order number.
    pub next_number: u64,
    /// Next storage id per sell token; 0 for absent tokens.
    pub next_storage: SortedMap<TokenId, u32>,
    /// Orders that may still be alive, oldest first.
    pub open: Vec<OpenIntent>,
    /// Base units of every order that may still be accepted, whatever became of it, by base token and the second of
    /// expiry.
    pub signed: Vec<(TokenId, u32, Amount)>,
    /// Pool transactions that may still be undecided, oldest first.
    pub open_moves: Vec<OpenPoolTransaction>,
    /// The durable trading state and pauses.
    pub restrictions: Restrictions,
    /// Cause of the trading state; empty if it was never set.
    pub cause: String,
    /// The parameters of strategies that operators set, and that apply in place of the file's.
    pub parameters: Vec<SetParameter>,
}

/// The open store. Dropping it releases the folder.
#[derive(Debug)]
pub struct Store {
    database: Connection,
    file: PathBuf,
    clock: Clock,
    /// What the slot numbers of its intents follow.
    slots: SlotRule,
    head: Sum,
    instance: u32,
    next_number: u64,
    /// Number of the newest intent ever written.
    newest_number: u64,
    market_names: Vec<String>,
    /// Profit and loss being counted; `None` before the markets are known.
    results: Option<results::Results>,
    broken: bool,
    // Last, so that the database is closed before the folder is released.
    _folder: TakenFolder,
}

impl Store {
    /// Opens the store of a folder, creating both if necessary, and verifies its content.
    ///
    /// Counters skip more numbers than a truncated log could hide, so that no number and no storage id is used twice,
    /// whatever the disk lost.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Self::open_by(dir, None)
    }

    /// As [`open`](Self::open), for orders whose slot numbers follow the venue's rule; refused if the folder holds
    /// orders of another rule.
    pub fn open_for(dir: &Path, slots: SlotRule) -> Result<Self, StoreError> {
        Self::open_by(dir, Some(slots))
    }

    fn open_by(dir: &Path, wanted: Option<SlotRule>) -> Result<Self, StoreError> {
        let folder = PrivateFolder::open_or_create(dir)?;
        let accepted = folder.take()?;
        let file = dir.join(FILE);
        let mut database = schema::open(&file)?;
        let slots = slot_rule::of(&database, wanted).map_err(|error| error.at(&file))?;
        let slots = slots.map_err(|held| StoreError::OtherVenue {
            dir: dir.to_owned(),
            held: slot_rule::in_words(held),
            wanted: wanted.map_or_else(String::new, slot_rule::in_words),
        })?;
        let verified = recover::verify(&database, slots, &file)?;
        let now_us = Clock::new().unix_micros();
        schema::begin_run(&mut database, slots, &verified.head, now_us)
            .map_err(|error| database_error(&file, error))?;
        folder.sync()?;
        let next_number = verified.next_number.saturating_add(schema::NUMBER_JUMP);
        Ok(Self {
            database,
            file,
            clock: Clock::new(),
            slots,
            head: verified.head,
            instance: verified.instance,
            next_number,
            newest_number: verified.newest_number,
            market_names: Vec::new(),
            results: None,
            broken: false,
            _folder: accepted,
        })
    }

    /// Random number of this store, part of every client order id.
    pub const fn instance(&self) -> u32 {
        self.instance
    }

    /// Number of the newest intent ever written. A larger number of this instance on the venue means that the store was
    /// restored from an older copy.
    pub const fn newest_number(&self) -> u64 {
        self.newest_number
    }

    /// Skips numbers up to this one: they are never assigned again.
    pub fn skip_past(&mut self, number: u64) -> Result<(), StoreError> {
        let next = number.saturating_add(1).max(self.next_number);
        let (instance, head) = (self.instance, self.head);
        let written = (|| {
            let change = self.database.transaction()?;
            schema::set_meta(&change, instance, next, &head)?;
            change.commit()
        })();
        written.map_err(|error| self.fail(error))?;
        self.next_number = next;
        Ok(())
    }

    /// Size of the database and its log in bytes, for metrics.
    pub fn size_bytes(&self) -> u64 {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
        let mut log = self.file.clone().into_os_string();
        log.push("-wal");
        size(&self.file) + size(Path::new(&log))
    }

    /// Whether a write has failed; after that only the trading state is written.
    pub const fn has_failed(&self) -> bool {
        self.broken
    }

    fn fail(&mut self, source: rusqlite::Error) -> StoreError {
        self.broken = true;
        database_error(&self.file, source)
    }
}

impl StoreError {
    /// Whether the folder or file itself is wrong, so that a retry cannot help.
    pub fn is_misconfigured(&self) -> bool {
        use rusqlite::ErrorCode;
        match self {
            Self::Folder(error) => error.is_misconfigured(),
            Self::Database { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly)
            ),
            Self::TooNew { .. } | Self::MarketGone { .. } | Self::OtherVenue { .. } => true,
            Self::AnotherInstance { .. }
            | Self::Corrupt { .. }
            | Self::Broken
            | Self::Refused { .. } => false,
        }
    }
}

/// The problem and its remedy. Sealed intents are on disk; intents that are not were not sent.
fn advice(source: &rusqlite::Error) -> &'static str {
    use rusqlite::ErrorCode;
    match source.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "the disk is full; free some space and start again",
        Some(ErrorCode::SystemIoFailure) => {
            "the disk or file system failed; check the system's log, then start again"
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            "the file cannot be opened or written; check its owner and mode"
        }
        _ => "the database reported an error",
    }
}

/// Instructions for an older program after a newer one upgraded the store.
fn way_back(file: &Path, copy: Option<&Path>) -> String {
    let newer = "Use the newer program";
    let Some(copy) = copy else {
        return newer.to_owned();
    };
    let (file, copy) = (file.display(), copy.display());
    format!(
        "{newer}; or restore the copy from before the upgrade: remove {file}-wal and {file}-shm, and replace {file} by {copy}. The copy lacks everything since the upgrade: this program detects that at the venue and does not trade until you confirm it with 'cambist resume'"
    )
}

/// Distinguishes damage from other errors.
fn database_error(file: &Path, source: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode;
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Corrupt {
            file: file.to_owned(),
            what: source.to_string(),
        },
        _ => StoreError::Database {
            file: file.to_owned(),
            source,
        },
    }
}

#[cfg(test)]
mod books_tests;
#[cfg(test)]
mod error_tests;
#[cfg(test)]
mod history_tests;
#[cfg(test)]
mod kept_tests;
#[cfg(test)]
mod slot_rule_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod view_tests;

#[cfg(test)]
#[path = "../../host/src/testing.rs"]
mod testing;
