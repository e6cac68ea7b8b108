//! The newest finalized block that a run saw, kept for the next start: a finalized block is never replaced, so that a
//! chain that has another one of its number is another chain.

use std::io;
use std::path::{Path, PathBuf};

use cambist_evm::Hash32;
use cambist_evm::block::Block;
use cambist_evm::wire::fixed;
use cambist_host::exit::{Exit, Failure};

use crate::whole_file::write_whole;

/// The file: a number and a hash.
const FILE: &str = "finalized";
/// Largest file that is read.
const BYTES_MAX: u64 = 128;

/// The file of a state folder that this process has locked.
#[derive(Debug)]
pub struct FinalBlock {
    path: PathBuf,
    known: Option<(u64, Hash32)>,
}

impl FinalBlock {
    /// Reads the file; a missing one states nothing.
    ///
    /// # Errors
    /// It is damaged.
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(FILE);
        let damaged = |what: String| {
            let what = format!(
                "{}: {what}. It names the last finalized block that was seen: restore it with the state folder",
                path.display()
            );
            Failure::new(Exit::Invariant, what)
        };
        let text = match std::fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(damaged(error.to_string()).into()),
            Ok(found) if found.len() > BYTES_MAX => {
                return Err(damaged("it is too long".to_owned()).into());
            }
            Ok(_) => {
                let text = std::fs::read_to_string(&path);
                Some(text.map_err(|error| damaged(error.to_string()))?)
            }
        };
        let known = match text {
            None => None,
            Some(text) => {
                let known = read(&text);
                Some(known.ok_or_else(|| damaged("it is damaged".to_owned()))?)
            }
        };
        Ok(Self { path, known })
    }

    /// Number and hash of the block.
    pub const fn known(&self) -> Option<(u64, Hash32)> {
        self.known
    }

    /// Writes a newer block; it is on disk when this returns. Any other changes nothing.
    ///
    /// # Errors
    /// Of the disk; the file is then what it was.
    pub fn write(&mut self, block: &Block) -> io::Result<()> {
        if self.known.is_some_and(|(number, _)| number >= block.number) {
            return Ok(());
        }
        let line = format!("{} {}\n", block.number, block.hash.to_hex());
        write_whole(&self.path, line.as_bytes())?;
        self.known = Some((block.number, block.hash));
        Ok(())
    }
}

fn read(text: &str) -> Option<(u64, Hash32)> {
    let (number, hash) = text.strip_suffix('\n')?.split_once(' ')?;
    let hash = fixed(hash).ok()?;
    Some((number.parse().ok()?, Hash32(hash)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::testing::private_folder;

    fn block(number: u64, hash: u8) -> Block {
        Block {
            number,
            hash: Hash32([hash; 32]),
            parent: Hash32([0; 32]),
            timestamp_s: number,
            base_fee: 1,
        }
    }

    #[test]
    fn the_newest_block_comes_back() {
        let folder = private_folder();
        let mut file = FinalBlock::open(folder.path()).unwrap();
        assert_eq!(file.known(), None);
        file.write(&block(7, 1)).unwrap();
        file.write(&block(6, 2)).unwrap();
        file.write(&block(7, 3)).unwrap();
        let known = FinalBlock::open(folder.path()).unwrap().known();
        assert_eq!(known, Some((7, Hash32([1; 32]))));
        file.write(&block(8, 4)).unwrap();
        let known = FinalBlock::open(folder.path()).unwrap().known();
        assert_eq!(known, Some((8, Hash32([4; 32]))));
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let folder = private_folder();
        let path = folder.path().join(FILE);
        FinalBlock::open(folder.path())
            .unwrap()
            .write(&block(7, 1))
            .unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(FinalBlock::open(folder.path()).is_err(), "{cut}");
        }
        std::fs::write(&path, "7 ".repeat(100)).unwrap();
        assert!(FinalBlock::open(folder.path()).is_err());
    }
}
