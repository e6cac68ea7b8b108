//! The transactions that were signed: what may still be mined, and what has to be known to book it.
//!
//! The store keeps the bytes of an intent until it ends. A transaction can be mined after that and costs gas, and
//! approvals and burns are no intents: everything that is signed is written here and synced before it is returned. One
//! transaction a line, behind a digest of its text. An incomplete last line was never sent. What is booked is left out
//! when a start writes the file again, and when the file has grown.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use cambist_config::short_digest;
use cambist_evm_venue::account::Wanted;
use cambist_evm_venue::bundle::Part;
use cambist_host::exit::{Exit, Failure};
use serde::{Deserialize, Serialize};

use crate::whole_file::write_whole;

/// The file.
const FILE: &str = "transactions";
/// Largest file that is read.
const BYTES_MAX: u64 = 64 << 20;

/// Transactions that a run adds before what is settled is left out.
const ADDED_MAX: usize = 4_096;
/// Settled nonces that are kept then: far more than one intent has, and than the charges that wait to be booked.
const SETTLED_KEPT: u64 = 1_024;

/// One signed transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    /// Version of this form.
    version: u32,
    /// Its nonce.
    pub nonce: u64,
    /// What it was signed for.
    pub wanted: Wanted,
    /// Its bytes in hexadecimal.
    bytes: String,
}

/// The only version of the form.
const VERSION: u32 = 1;

impl Signed {
    fn of(part: &Part) -> Self {
        Self {
            version: VERSION,
            nonce: part.sealed.nonce,
            wanted: part.wanted.clone(),
            bytes: cambist_evm::wire::to_data(&part.sealed.bytes),
        }
    }

    /// Its bytes.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        cambist_evm::wire::data(&self.bytes).ok()
    }

    fn line(&self) -> io::Result<String> {
        let text = serde_json::to_string(self)?;
        Ok(format!("{} {text}\n", short_digest(&text)))
    }
}

/// The file of a state folder that this process has locked.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    signed: Vec<Signed>,
    added: usize,
    /// A write failed: what is at the end of the file is not known.
    is_torn: bool,
}

impl Journal {
    /// Reads the file of a state folder; a missing one is empty.
    ///
    /// # Errors
    /// It is damaged: a line in the middle is none, or does not have its digest.
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(FILE);
        let refused = |what: String| {
            let what = format!(
                "{}: {what}. It lists the transactions of the account: restore it with the state folder, from one copy",
                path.display()
            );
            Failure::new(Exit::Invariant, what)
        };
        let found = match std::fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(refused(error.to_string()).into()),
            Ok(found) if found.len() > BYTES_MAX => {
                return Err(refused("it is too long".to_owned()).into());
            }
            Ok(_) => std::fs::read(&path).map_err(|error| refused(error.to_string()))?,
        };
        let whole = found.iter().rposition(|byte| *byte == b'\n');
        let whole = whole.map_or(0, |end| end + 1);
        let (lines, torn) = found.split_at(whole);
        let text = std::str::from_utf8(lines);
        let text = text.map_err(|_| refused("it is no text".to_owned()))?;
        let mut signed = Vec::new();
        for (at, line) in (1..).zip(text.lines()) {
            let read = read(line);
            signed.push(read.ok_or_else(|| refused(format!("line {at} is damaged")))?);
        }
        if !torn.is_empty() {
            tracing::warn!(
                file = %path.display(),
                "the last transaction was not written to its end; it was never sent"
            );
            write_whole(&path, lines).map_err(|error| refused(error.to_string()))?;
        }
        let file = appended(&path).map_err(|error| refused(error.to_string()))?;
        Ok(Self {
            path,
            file,
            signed,
            added: 0,
            is_torn: false,
        })
    }

    /// What was signed and not left out, in the order of signing.
    pub fn signed(&self) -> &[Signed] {
        &self.signed
    }

    /// Leaves out everything below a nonce.
    ///
    /// # Errors
    /// Of the disk; the file is then what it was.
    pub fn keep_from(&mut self, nonce: u64) -> io::Result<()> {
        self.signed.retain(|signed| signed.nonce >= nonce);
        let lines: io::Result<String> = self.signed.iter().map(Signed::line).collect();
        write_whole(&self.path, lines?.as_bytes())?;
        self.file = appended(&self.path)?;
        Ok(())
    }

    /// Writes transactions; they are on disk when this returns. A file that has grown is written again without most of
    /// the nonces below `settled_below`.
    ///
    /// # Errors
    /// Of the disk; nothing of them may be sent, and nothing more written.
    pub fn append(&mut self, parts: &[Part], settled_below: u64) -> io::Result<()> {
        if self.added >= ADDED_MAX {
            self.keep_from(settled_below.saturating_sub(SETTLED_KEPT))?;
            self.added = 0;
        }
        let new: Vec<_> = parts.iter().map(Signed::of).collect();
        let lines: io::Result<String> = new.iter().map(Signed::line).collect();
        if self.is_torn {
            return Err(io::Error::other("an earlier write failed"));
        }
        let written = self.file.write_all(lines?.as_bytes());
        let written = written.and_then(|()| self.file.sync_data());
        self.is_torn = written.is_err();
        written?;
        self.added += new.len();
        self.signed.extend(new);
        Ok(())
    }
}

fn appended(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.append(true).create(true).mode(0o600).open(path)?;
    // The name of a new file is on disk with its folder.
    file.sync_all()?;
    path.parent()
        .map_or(Ok(()), |folder| File::open(folder)?.sync_all())?;
    Ok(file)
}

fn read(line: &str) -> Option<Signed> {
    let (digest, text) = line.split_once(' ')?;
    if digest != short_digest(text) {
        return None;
    }
    let signed: Signed = serde_json::from_str(text).ok()?;
    signed.bytes()?;
    (signed.version == VERSION).then_some(signed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::testing::private_folder;
    use cambist_core::order::{FillBy, Swap, UnsignedOrder};
    use cambist_core::{
        Amount, ClientOrderId, Hash, Intent, MarketId, OrderKind, Price, Qty, Side, StrategyId,
        TokenId, VenueTime,
    };
    use cambist_evm_venue::fees::Fees;
    use cambist_evm_venue::seal::Sealed;

    /// With amounts above what JSON readers usually keep.
    fn swap() -> Wanted {
        Wanted::Intent(Intent::Order(UnsignedOrder {
            client_id: ClientOrderId {
                instance: 1,
                strategy: StrategyId(0),
                number: 3,
            },
            market: MarketId(0),
            side: Side::Sell,
            price: Price(1),
            qty: Qty(1),
            kind: OrderKind::TakerOnly,
            swap: Some(Swap { most: 150 }),
            sell_token: TokenId(1),
            sell_amount: Amount::MAX,
            buy_token: TokenId(2),
            buy_amount: 140,
            fill_by: FillBy::Sell,
            slot: 7,
            accepted_until_s: 1_050,
            rests_until_s: Some(1_050),
            max_fee_bips: 0,
            made_at: VenueTime(1_000),
        }))
    }

    fn part(nonce: u64, wanted: Wanted) -> Part {
        let fees = Fees {
            priority_max: 1,
            max: 2,
        };
        Part {
            wanted,
            sealed: Sealed {
                hash: Hash([1; 32]),
                nonce,
                fees,
                gas_limit: 21_000,
                bytes: vec![2, nonce.to_be_bytes()[7]],
            },
        }
    }

    fn nonces(journal: &Journal) -> Vec<(u64, Option<Vec<u8>>)> {
        let each = journal.signed().iter();
        each.map(|signed| (signed.nonce, signed.bytes())).collect()
    }

    #[test]
    fn what_was_signed_comes_back_until_it_is_left_out() {
        let folder = private_folder();
        let parts = [part(6, Wanted::Burn), part(7, swap())];
        let mut journal = Journal::open(folder.path()).unwrap();
        assert_eq!(journal.signed(), []);
        journal.append(&parts, 6).unwrap();
        drop(journal);
        let mut journal = Journal::open(folder.path()).unwrap();
        let both = [(6, Some(vec![2, 6])), (7, Some(vec![2, 7]))];
        assert_eq!(nonces(&journal), both);
        assert_eq!(journal.signed()[1].wanted, swap());
        journal.keep_from(7).unwrap();
        journal.append(&[part(8, Wanted::Burn)], 7).unwrap();
        let journal = Journal::open(folder.path()).unwrap();
        assert_eq!(nonces(&journal), [both[1].clone(), (8, Some(vec![2, 8]))]);
    }

    #[test]
    fn a_long_run_leaves_out_what_is_settled_long_ago() {
        let folder = private_folder();
        let mut journal = Journal::open(folder.path()).unwrap();
        let last = ADDED_MAX as u64;
        let parts: Vec<_> = (0..last).map(|nonce| part(nonce, Wanted::Burn)).collect();
        journal.append(&parts, 0).unwrap();
        assert_eq!(journal.signed().len(), ADDED_MAX);
        journal.append(&[part(last, Wanted::Burn)], last).unwrap();
        journal.append(&[part(last + 1, swap())], last + 1).unwrap();
        let kept: Vec<_> = (last - SETTLED_KEPT..last + 2).collect();
        for found in [journal, Journal::open(folder.path()).unwrap()] {
            let found: Vec<_> = found.signed().iter().map(|one| one.nonce).collect();
            assert_eq!(found, kept);
        }
    }

    #[test]
    fn an_incomplete_last_line_is_nothing_and_any_other_damage_is_refused() {
        let folder = private_folder();
        let file = folder.path().join(FILE);
        let mut journal = Journal::open(folder.path()).unwrap();
        journal
            .append(&[part(6, Wanted::Burn), part(7, swap())], 6)
            .unwrap();
        let written = std::fs::read(&file).unwrap();
        let first = written.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for cut in first..written.len() {
            std::fs::write(&file, &written[..cut]).unwrap();
            assert_eq!(nonces(&Journal::open(folder.path()).unwrap()).len(), 1);
            assert_eq!(std::fs::read(&file).unwrap(), written[..first]);
        }
        for at in (0..written.len()).filter(|at| written[*at] != b'\n') {
            let mut damaged = written.clone();
            damaged[at] ^= 1;
            std::fs::write(&file, &damaged).unwrap();
            assert!(Journal::open(folder.path()).is_err(), "{at}");
        }
    }
}
