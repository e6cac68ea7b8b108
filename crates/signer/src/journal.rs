//! The durable record of what was signed: a file of fixed-size records, appended before a signature leaves.
//!
//! A record is written for every signature and synced seldom: before the first one, a *reserve* of an amount for a
//! minute is synced, and the signatures within it are not. The content of the page cache survives the end of this
//! process, so that a start in the same boot of the host finds every record. After a loss of power the rest of each
//! reserve counts as signed, for as long as it could be valid. A file that is torn, missing or older than its last
//! write is never read as less than was signed.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use cambist_host::folder::{FolderError, PrivateFolder, TakenFolder};
use sha2::{Digest, Sha256};

use crate::rules::Rules;
use crate::usage::{Entry, Usage};

/// Name of the file.
pub const FILE: &str = "signed";
const MAGIC: &[u8; 16] = b"cambist-signer 1";
/// Bytes of a record.
const RECORD: usize = 83;
/// How long a reserve can be used, in seconds.
const RESERVE_S: u64 = 60;
/// The file is rewritten when it has more bytes.
const COMPACT_BYTES: u64 = 4 << 20;
/// Most bytes that are read.
const BYTES_MAX: u64 = 256 << 20;
/// By how much the last write may be after the time of the last record, in seconds.
const WRITE_MAX_S: u64 = 5;

/// Why the state cannot be used. Nothing is signed without it.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The folder is not private, or in use.
    #[error("state_dir: {0}")]
    Folder(#[from] FolderError),
    /// There is no file.
    #[error(
        "{} does not exist: what was signed is not known; on a first start: cambist-signer init", .0.display()
    )]
    Missing(PathBuf),
    /// There is one already.
    #[error(
        "{} exists: it counts what was signed; cambist-signer init --replace forgets it", .0.display()
    )]
    Exists(PathBuf),
    /// It is not a file of this program.
    #[error("{} is no record of signatures of this version", .0.display())]
    Unknown(PathBuf),
    /// A record before the last sync cannot be read: no crash does that.
    #[error(
        "{} is damaged at record {number}, and records behind it are whole: what was signed is not known. Wait until every order has expired and the window has passed; then: cambist-signer init --replace", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Number of the record, from 1.
        number: usize,
    },
    /// It was written to after its last record.
    #[error(
        "{} was changed {after_s} s after its last record: an older copy was restored, or it was moved, and what was signed since is not known. Wait until every order has expired and the window has passed; then: cambist-signer init --replace", path.display()
    )]
    RolledBack {
        /// The file.
        path: PathBuf,
        /// Seconds between its last record and its last change.
        after_s: u64,
    },
    /// An error of the operating system.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A write failed before: the content of the disk is not known.
    #[error("a write failed before; nothing is signed until the signer is started again")]
    Broken,
}

/// The open file.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    folder: PrivateFolder,
    _taken: TakenFolder,
    file: File,
    bytes: u64,
    boot: [u8; 16],
    reserves: BTreeMap<u16, Reserve>,
    is_broken: bool,
}

#[derive(Clone, Copy, Debug)]
struct Reserve {
    left: u128,
    until_s: u64,
    /// The latest end of validity of what is signed within it.
    valid_until_s: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    /// The signer began, in the boot that `hash` begins with.
    Start = 1,
    /// Something is signed.
    Signed = 2,
    /// So much may be signed without a record that is durable, until `at_s` and a minute.
    Reserve = 3,
    /// The signer ended: all records are durable.
    Close = 4,
    /// A sum of a file that was rewritten: amounts that expire together.
    Unexpired = 5,
    /// The same: amounts signed within a part of the window.
    Window = 6,
    /// The same: something that was signed and has not expired.
    Known = 7,
}

impl Kind {
    /// Whether everything up to such a record was on disk before anything else was written.
    const fn is_synced(self) -> bool {
        matches!(self, Self::Start | Self::Close | Self::Reserve)
    }
}

impl Kind {
    const fn of(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Start,
            2 => Self::Signed,
            3 => Self::Reserve,
            4 => Self::Close,
            5 => Self::Unexpired,
            6 => Self::Window,
            7 => Self::Known,
            _ => return None,
        })
    }
}

fn record(kind: Kind, entry: &Entry) -> [u8; RECORD] {
    let mut out = [0; RECORD];
    out[0] = kind as u8;
    out[1..3].copy_from_slice(&entry.token.to_be_bytes());
    out[3..19].copy_from_slice(&entry.amount.to_be_bytes());
    out[19..27].copy_from_slice(&entry.valid_until_s.to_be_bytes());
    out[27..35].copy_from_slice(&entry.at_s.to_be_bytes());
    out[35..67].copy_from_slice(&entry.hash);
    let digest = Sha256::digest(&out[..67]);
    out[67..].copy_from_slice(&digest[..16]);
    out
}

fn read_record(bytes: &[u8]) -> Option<(Kind, Entry)> {
    let bytes: &[u8; RECORD] = bytes.try_into().ok()?;
    if Sha256::digest(&bytes[..67])[..16] != bytes[67..] {
        return None;
    }
    let number = |from: usize| u64::from_be_bytes(std::array::from_fn(|at| bytes[from + at]));
    let entry = Entry {
        token: u16::from_be_bytes([bytes[1], bytes[2]]),
        amount: u128::from_be_bytes(std::array::from_fn(|at| bytes[3 + at])),
        valid_until_s: number(19),
        at_s: number(27),
        hash: std::array::from_fn(|at| bytes[35 + at]),
    };
    Some((Kind::of(bytes[0])?, entry))
}

/// The host's boot, all zeros where it is not known: then no start is in the same boot as another one.
pub fn boot_id() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let digits = std::str::from_utf8(&digits).unwrap_or_default();
    u128::from_str_radix(digits, 16).map_or([0; 16], u128::to_be_bytes)
}

/// Creates the file of a signer that has signed nothing. `replace` forgets what another one has signed.
///
/// # Errors
/// The folder cannot be used, or there is a file and it is not to be replaced.
pub fn init(dir: &Path, replace: bool, now_s: u64) -> Result<PathBuf, JournalError> {
    let folder = PrivateFolder::open_or_create(dir)?;
    let _taken = folder.take()?;
    let path = dir.join(FILE);
    if path.exists() && !replace {
        return Err(JournalError::Exists(path));
    }
    let closed = record(Kind::Close, &at(now_s));
    rewritten(&folder, &path, &[closed])?;
    Ok(path)
}

impl Journal {
    /// Reads what was signed, as of `now_s`, and rewrites the file.
    ///
    /// # Errors
    /// The file cannot be read or written, is missing, or is older than its last write.
    pub fn open(
        dir: &Path,
        rules: &Rules,
        boot: [u8; 16],
        now_s: u64,
    ) -> Result<(Self, Usage), JournalError> {
        let folder = PrivateFolder::open(dir)?;
        let taken = folder.take()?;
        let path = dir.join(FILE);
        let mut usage = read(&path, rules, boot)?;
        usage.advance(now_s);
        let records = snapshot(&usage, boot);
        let (file, bytes) = rewritten(&folder, &path, &records)?;
        let journal = Self {
            path,
            folder,
            _taken: taken,
            file,
            bytes,
            boot,
            reserves: BTreeMap::new(),
            is_broken: false,
        };
        Ok((journal, usage))
    }

    /// Records what is going to be signed at `now_s`. When this returns, no crash and no loss of power can make less of
    /// it count.
    ///
    /// # Errors
    /// A write failed; nothing more may be signed.
    pub fn record(
        &mut self,
        rules: &Rules,
        entries: &[Entry],
        now_s: u64,
    ) -> Result<(), JournalError> {
        if self.is_broken {
            return Err(JournalError::Broken);
        }
        let mut reserves = Vec::new();
        for entry in entries {
            let reserve = self.reserves.get(&entry.token);
            if reserve.is_some_and(|reserve| {
                entry.amount <= reserve.left
                    && now_s < reserve.until_s
                    && entry.valid_until_s <= reserve.valid_until_s
            }) {
                continue;
            }
            let usual = rules.token(entry.token).map_or(0, |t| t.unexpired_max);
            let valid_until_s = now_s + RESERVE_S + rules.ttl_max_s;
            let reserve = Entry {
                token: entry.token,
                amount: usual.max(entry.amount),
                valid_until_s: valid_until_s.max(entry.valid_until_s),
                ..at(now_s)
            };
            reserves.push(record(Kind::Reserve, &reserve));
            let reserve = Reserve {
                left: reserve.amount,
                until_s: now_s + RESERVE_S,
                valid_until_s: reserve.valid_until_s,
            };
            self.reserves.insert(entry.token, reserve);
        }
        if !reserves.is_empty() {
            self.append(&reserves.concat())?;
            let synced = self.file.sync_data();
            self.checked(synced)?;
        }
        let records: Vec<_> = entries.iter().map(|e| record(Kind::Signed, e)).collect();
        self.append(&records.concat())?;
        for entry in entries {
            if let Some(reserve) = self.reserves.get_mut(&entry.token) {
                reserve.left = reserve.left.saturating_sub(entry.amount);
            }
        }
        Ok(())
    }

    /// Rewrites the file if it has become long. `usage` has everything that was recorded.
    ///
    /// # Errors
    /// A write failed; nothing more may be signed.
    pub fn compact(&mut self, usage: &Usage) -> Result<(), JournalError> {
        if self.bytes < COMPACT_BYTES || self.is_broken {
            return Ok(());
        }
        self.is_broken = true;
        let records = snapshot(usage, self.boot);
        (self.file, self.bytes) = rewritten(&self.folder, &self.path, &records)?;
        self.reserves.clear();
        self.is_broken = false;
        Ok(())
    }

    /// Makes everything durable, so that the next start knows exactly what was signed. Nothing is recorded afterwards.
    ///
    /// # Errors
    /// A write failed; the next start counts the reserves as signed.
    pub fn close(&mut self, now_s: u64) -> Result<(), JournalError> {
        if self.is_broken {
            return Err(JournalError::Broken);
        }
        let synced = self.file.sync_data();
        self.checked(synced)?;
        self.append(&record(Kind::Close, &at(now_s)))?;
        let synced = self.file.sync_data();
        self.checked(synced)?;
        self.is_broken = true;
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let written = self.file.write_all(bytes);
        self.checked(written)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn checked(&mut self, done: io::Result<()>) -> Result<(), JournalError> {
        done.map_err(|source| {
            self.is_broken = true;
            io_error(&self.path, source)
        })
    }
}

const fn at(at_s: u64) -> Entry {
    Entry {
        hash: [0; 32],
        token: 0,
        amount: 0,
        valid_until_s: 0,
        at_s,
    }
}

fn io_error(path: &Path, source: io::Error) -> JournalError {
    let path = path.to_owned();
    JournalError::Io { path, source }
}

fn read(path: &Path, rules: &Rules, boot: [u8; 16]) -> Result<Usage, JournalError> {
    let io = |source| io_error(path, source);
    let file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => JournalError::Missing(path.to_owned()),
        _ => io(error),
    })?;
    let found = file.metadata().map_err(io)?;
    let mut bytes = Vec::new();
    let read = file.take(BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(io)?;
    let unknown = || JournalError::Unknown(path.to_owned());
    let records = bytes.strip_prefix(MAGIC).ok_or_else(unknown)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(unknown());
    }
    let mut usage = Usage::new(rules.window_s);
    let (mut newest_s, mut last_boot) = (None, [0; 16]);
    let mut reserves: BTreeMap<u16, Reserve> = BTreeMap::new();
    let mut is_whole = records.len().is_multiple_of(RECORD);
    for (number, bytes) in (1..).zip(records.chunks_exact(RECORD)) {
        // What follows a torn record was not synced, and a reserve before it covers it.
        let Some((kind, entry)) = read_record(bytes) else {
            let behind = records.chunks_exact(RECORD).skip(number);
            if behind
                .filter_map(read_record)
                .any(|(kind, _)| kind.is_synced())
            {
                let path = path.to_owned();
                return Err(JournalError::Damaged { path, number });
            }
            is_whole = false;
            break;
        };
        match kind {
            Kind::Start => {
                last_boot.copy_from_slice(&entry.hash[..16]);
                reserves.clear();
            }
            Kind::Close => reserves.clear(),
            Kind::Reserve => {
                let reserve = Reserve {
                    left: entry.amount,
                    until_s: entry.at_s + RESERVE_S,
                    valid_until_s: entry.valid_until_s,
                };
                reserves.insert(entry.token, reserve);
            }
            Kind::Signed => {
                usage.add(&entry);
                if let Some(reserve) = reserves.get_mut(&entry.token) {
                    reserve.left = reserve.left.saturating_sub(entry.amount);
                }
            }
            Kind::Unexpired => usage.add_unexpired(&entry),
            Kind::Window => usage.add_window(&entry),
            Kind::Known => usage.add_known(&entry),
        }
        // The parts of a window begin before the file was written.
        newest_s = newest_s.max((kind != Kind::Window).then_some(entry.at_s));
    }
    // A file that a crash tore is as old as its last record, and was written to after it.
    let newest_s = newest_s.ok_or_else(unknown)?;
    let changed_s = u64::try_from(found.ctime()).unwrap_or(0);
    if is_whole && changed_s > newest_s + WRITE_MAX_S {
        return Err(JournalError::RolledBack {
            path: path.to_owned(),
            after_s: changed_s - newest_s,
        });
    }
    // A kill tears nothing: in the same boot an incomplete file was cut, and counts as after a loss of power.
    if !is_whole || last_boot != boot || boot == [0; 16] {
        for (token, reserve) in reserves {
            usage.add(&Entry {
                hash: [0; 32],
                token,
                amount: reserve.left,
                valid_until_s: reserve.valid_until_s,
                at_s: reserve.until_s,
            });
        }
    }
    usage.advance(newest_s);
    Ok(usage)
}

fn snapshot(usage: &Usage, boot: [u8; 16]) -> Vec<[u8; RECORD]> {
    let now_s = usage.now_s();
    let mut start = at(now_s);
    start.hash[..16].copy_from_slice(&boot);
    let mut records = vec![record(Kind::Start, &start)];
    records.extend(usage.unexpired().map(|e| record(Kind::Unexpired, &e)));
    records.extend(usage.window().map(|e| record(Kind::Window, &e)));
    records.extend(usage.known().map(|e| record(Kind::Known, &e)));
    records
}

/// Writes a file beside, syncs it, and renames it: the name always has a whole file.
fn rewritten(
    folder: &PrivateFolder,
    path: &Path,
    records: &[[u8; RECORD]],
) -> Result<(File, u64), JournalError> {
    let io = |source| io_error(path, source);
    let beside = path.with_extension("new");
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
        Ok(()) | Err(_) => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(&beside)
        .map_err(io)?;
    let mut bytes = MAGIC.to_vec();
    bytes.extend(records.concat());
    file.write_all(&bytes).map_err(io)?;
    file.sync_all().map_err(io)?;
    fs::rename(&beside, path).map_err(io)?;
    folder.sync()?;
    Ok((file, bytes.len() as u64))
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
