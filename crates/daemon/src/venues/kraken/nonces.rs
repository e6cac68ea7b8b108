//! Nonces of a key: rising numbers near the clock in microseconds, never below one that was given out before, whatever
//! the clock does.
//!
//! The state folder has a file for each key with a number that no nonce given out so far has reached. It is written for
//! ten seconds of nonces at a time, whole and synced. A nonce of an order waits for that: the file is written on the seal
//! worker's thread, and without it no order is sealed. Reads and cancels do not wait, because a cancel must not depend on
//! a disk: their file is written by a thread of its own. If it is lost and the clock was set back as well, requests are
//! refused until the clock has passed the last nonce; nothing is sent twice.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use cambist_host::clock::Clock;
use cambist_host::exit::{Exit, Failure};
use cambist_kraken_venue::nonce::NonceBlocks;
use cambist_kraken_venue::{NonceError, NonceSource};

use super::calls::KeyCalls;
use crate::whole_file::write_whole;

/// Longest file: the digits of a number and a line end.
const BYTES_MAX: u64 = 32;

/// Highest number in a file of a key that is of use: nonces are below 2^64, and a year of them in microseconds is left.
const HIGHEST: u64 = u64::MAX - 365 * 86_400 * 1_000_000;

/// Which key the nonces are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoncesOf {
    /// The key that places orders.
    Orders,
    /// The key that reads and cancels.
    Account,
}

impl NoncesOf {
    const fn file(self) -> &'static str {
        match self {
            Self::Orders => "nonces-orders",
            Self::Account => "nonces-account",
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::Orders => Self::Account,
            Self::Account => Self::Orders,
        }
    }

    /// Whether nonces of the key were given out from this state folder. Where that cannot be known, they were.
    pub fn were_given(self, folder: &Path) -> bool {
        folder.join(self.file()).try_exists().unwrap_or(true)
    }
}

/// Nonces of a key whose use is kept in the state folder.
#[derive(Debug)]
pub struct NonceFile {
    clock: Clock,
    blocks: Mutex<NonceBlocks>,
    reserve: Reserve,
    /// The calls of the key, where they are kept.
    calls: Option<Arc<KeyCalls>>,
}

/// How the number in the file is raised.
#[derive(Debug)]
enum Reserve {
    /// Before a nonce is given out.
    Before(PathBuf),
    /// Beside it.
    Beside(SyncSender<u64>),
}

impl NonceFile {
    /// Goes on behind what earlier processes gave out for either key: what this one is used for now, the other may have
    /// been before, and keys that were exchanged have to be recognised as such. The state folder has to be locked.
    ///
    /// # Errors
    /// The file is not readable, not a number, or one behind which there are none; or the thread cannot be started.
    pub fn open(folder: &Path, of: NoncesOf) -> anyhow::Result<Self> {
        let path = folder.join(of.file());
        let reserved = read(&path)?.unwrap_or(0);
        if reserved > HIGHEST {
            let what = format!(
                "{}: {reserved} leaves no numbers for the nonces of the API key. If that key was never used with such numbers, remove the file: nonces go on by the clock; else make a new key at the venue, and remove it",
                path.display()
            );
            return Err(Failure::new(Exit::Refused, what).into());
        }
        let others = read(&folder.join(of.other().file())).ok().flatten();
        let others = others.filter(|number| *number <= HIGHEST).unwrap_or(0);
        let reserved = reserved.max(others);
        let clock = Clock::new();
        let reserve = match of {
            NoncesOf::Orders => Reserve::Before(path),
            NoncesOf::Account => Reserve::Beside(thread(path)?),
        };
        Ok(Self {
            clock,
            blocks: Mutex::new(NonceBlocks::new(reserved, clock.unix_micros())),
            reserve,
            calls: None,
        })
    }

    /// Keeps the calls of the key as well.
    #[must_use]
    pub fn with_calls(self, calls: Arc<KeyCalls>) -> Self {
        Self {
            calls: Some(calls),
            ..self
        }
    }
}

impl NonceSource for NonceFile {
    fn next(&self) -> Result<u64, NonceError> {
        let now_us = self.clock.unix_micros();
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.next(now_us, |to| match &self.reserve {
            Reserve::Before(path) => write(path, to).map_err(|error| {
                NonceError(format!("{} cannot be written: {error}", path.display()))
            }),
            Reserve::Beside(thread) => {
                // A disk that is busy gets a later number.
                let _ = thread.try_send(to);
                Ok(())
            }
        })
    }

    fn adds_calls(&self, added: u32) {
        if let Some(calls) = &self.calls {
            calls.add(added);
        }
    }
}

/// Writes the numbers that it is sent.
fn thread(path: PathBuf) -> io::Result<SyncSender<u64>> {
    let (sender, numbers) = sync_channel(1);
    let span = tracing::Span::current();
    let run = move || {
        let _of_venue = span.entered();
        let mut failed = false;
        for number in numbers {
            let written = write(&path, number);
            if let Err(error) = &written
                && !failed
            {
                tracing::error!(%error, "{}: nonces are not written; they go on by the clock", path.display());
            }
            failed = written.is_err();
        }
    };
    std::thread::Builder::new()
        .name("nonces".to_owned())
        .spawn(run)?;
    Ok(sender)
}

/// Nonces by the clock, for a key that nothing else uses while this process runs, and without a state folder.
#[derive(Debug)]
pub struct ClockNonces {
    clock: Clock,
    blocks: Mutex<NonceBlocks>,
}

impl ClockNonces {
    /// Nonces of a key of its own.
    pub fn alone() -> Self {
        Self::above(0)
    }

    /// Nonces of the daemon's key that reads and cancels: above what its file names, if that can be read.
    pub fn beside(folder: &Path) -> Self {
        let reserved = read(&folder.join(NoncesOf::Account.file()));
        let reserved = reserved.ok().flatten();
        Self::above(reserved.filter(|number| *number <= HIGHEST).unwrap_or(0))
    }

    fn above(reserved: u64) -> Self {
        let clock = Clock::new();
        Self {
            clock,
            blocks: Mutex::new(NonceBlocks::new(reserved, clock.unix_micros())),
        }
    }
}

impl NonceSource for ClockNonces {
    fn next(&self) -> Result<u64, NonceError> {
        let now_us = self.clock.unix_micros();
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.next(now_us, |_| Ok(()))
    }
}

/// The number in a file; `None` if there is no file.
fn read(path: &Path) -> anyhow::Result<Option<u64>> {
    let refused = |what: String| {
        let what = format!(
            "{}: {what}. It holds the highest nonce of an API key; if it is lost, remove it: nonces go on by the clock",
            path.display()
        );
        Failure::new(Exit::Refused, what)
    };
    let text = match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(error.to_string()).into()),
        Ok(found) if found.len() > BYTES_MAX => {
            return Err(refused("it is not a number".to_owned()).into());
        }
        Ok(_) => std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?,
    };
    let digits = text.strip_suffix('\n').unwrap_or(&text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|_| is_number);
    let number = number.ok_or_else(|| refused("it is not a number".to_owned()))?;
    Ok(Some(number))
}

fn write(path: &Path, number: u64) -> io::Result<()> {
    write_whole(path, format!("{number}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::testing::private_folder;

    #[test]
    fn nonces_of_orders_are_on_disk_before_they_are_given_out_and_never_come_again() {
        let folder = private_folder();
        let path = folder.path().join("nonces-orders");
        let mut last = 0;
        for _ in 0..3 {
            // As after a kill: nothing is written at an end.
            let nonces = NonceFile::open(folder.path(), NoncesOf::Orders).unwrap();
            for _ in 0..3 {
                let nonce = nonces.next().unwrap();
                let written = read(&path).unwrap().unwrap();
                assert!(last < nonce && nonce < written, "{last} {nonce} {written}");
                last = nonce;
            }
        }
    }

    #[test]
    fn a_clock_that_was_set_back_gives_no_nonce_again() {
        let folder = private_folder();
        let path = folder.path().join("nonces-orders");
        let ahead = Clock::new().unix_micros() + 3_600_000_000;
        write(&path, ahead).unwrap();
        let nonces = NonceFile::open(folder.path(), NoncesOf::Orders).unwrap();
        assert_eq!(nonces.next().unwrap(), ahead);
        assert_eq!(nonces.next().unwrap(), ahead + 1);
        let beside = |name: &str| folder.path().join(name);
        write(&beside("nonces-account"), ahead).unwrap();
        let command = ClockNonces::beside(folder.path());
        assert_eq!(command.next().unwrap(), ahead);
        let own = ClockNonces::alone().next().unwrap();
        assert!(own < ahead);
        // One behind which there are no nonces is damage.
        write(&beside("nonces-account"), u64::MAX).unwrap();
        assert!(ClockNonces::beside(folder.path()).next().unwrap() < ahead);
    }

    /// Keys that were exchanged in the configuration go on as well: neither uses a number that the other had used.
    #[test]
    fn nonces_of_a_key_are_above_those_of_both() {
        for of in [NoncesOf::Orders, NoncesOf::Account] {
            let folder = private_folder();
            let ahead = Clock::new().unix_micros() + 3_600_000_000;
            write(&folder.path().join(of.file()), ahead).unwrap();
            let other = NonceFile::open(folder.path(), of.other()).unwrap();
            assert_eq!(other.next().unwrap(), ahead);
            // A file of the other that cannot be read concerns that one.
            std::fs::write(folder.path().join(of.file()), "x").unwrap();
            let folder_of_own = NonceFile::open(folder.path(), of.other());
            assert!(folder_of_own.is_ok() && NonceFile::open(folder.path(), of).is_err());
        }
    }

    #[test]
    fn without_the_file_no_order_gets_a_nonce_but_cancels_do() {
        let folder = private_folder();
        let orders = NonceFile::open(folder.path(), NoncesOf::Orders).unwrap();
        let account = NonceFile::open(folder.path(), NoncesOf::Account).unwrap();
        folder.close().unwrap();
        let error = orders.next().unwrap_err().to_string();
        assert!(error.contains("nonces-orders cannot be written"), "{error}");
        let first = account.next().unwrap();
        assert!(account.next().unwrap() > first);
    }

    #[test]
    fn the_file_of_the_account_follows() {
        let folder = private_folder();
        let account = NonceFile::open(folder.path(), NoncesOf::Account).unwrap();
        let nonce = account.next().unwrap();
        let path = folder.path().join("nonces-account");
        for _ in 0..500 {
            if read(&path).unwrap().is_some_and(|written| written > nonce) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("the file was not written");
    }

    #[test]
    fn a_number_that_leaves_no_nonces_is_refused_with_what_to_do() {
        let folder = private_folder();
        for of in [NoncesOf::Orders, NoncesOf::Account] {
            let path = folder.path().join(of.file());
            if of == NoncesOf::Orders {
                write(&path, HIGHEST).unwrap();
                let nonces = NonceFile::open(folder.path(), of).unwrap();
                assert_eq!(nonces.next().unwrap(), HIGHEST);
            }
            for number in [HIGHEST + 1, u64::MAX] {
                write(&path, number).unwrap();
                let error = NonceFile::open(folder.path(), of).unwrap_err();
                let failure = error.downcast_ref::<Failure>().unwrap();
                assert_eq!(failure.exit, Exit::Refused);
                let text = error.to_string();
                assert!(text.contains("leaves no numbers"), "{text}");
                assert!(text.contains("make a new key"), "{text}");
            }
        }
    }

    #[test]
    fn a_damaged_file_is_refused_with_what_to_do() {
        let folder = private_folder();
        let path = folder.path().join("nonces-orders");
        for content in [
            "",
            "\n",
            "-1\n",
            "1_0\n",
            "1 2\n",
            "18446744073709551616\n",
            "+1\n",
        ] {
            std::fs::write(&path, content).unwrap();
            let error = NonceFile::open(folder.path(), NoncesOf::Orders).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("it is not a number"), "{content:?}: {text}");
            assert!(text.contains("remove it"), "{text}");
        }
        std::fs::write(&path, "7".repeat(100)).unwrap();
        assert!(NonceFile::open(folder.path(), NoncesOf::Orders).is_err());
    }
}
