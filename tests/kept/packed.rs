//! Folders that a released program wrote, kept as one file each: what is not zero, and where it was.
//!
//! ```text
//! packed = file*
//! file   = length(name):u16 name length:u64 runs:u32 (offset:u64 length:u32 bytes)*      little-endian
//! ```

use std::path::Path;

/// Runs of zeros shorter than this are kept as they are.
const GAP: usize = 64;

/// Packs the files of a folder, by name.
#[allow(dead_code, reason = "one of the tests that share it packs")]
pub fn pack(folder: &Path) -> Vec<u8> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    let mut packed = Vec::new();
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let runs = runs(&bytes);
        packed.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        packed.extend(name.as_bytes());
        packed.extend((bytes.len() as u64).to_le_bytes());
        packed.extend(u32::try_from(runs.len()).unwrap().to_le_bytes());
        for (offset, end) in runs {
            packed.extend((offset as u64).to_le_bytes());
            packed.extend(u32::try_from(end - offset).unwrap().to_le_bytes());
            packed.extend(&bytes[offset..end]);
        }
    }
    packed
}

/// Positions of non-zero bytes.
fn runs(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte != 0) {
        match runs.last_mut() {
            Some((_, end)) if at - *end < GAP => *end = at + 1,
            _ => runs.push((at, at + 1)),
        }
    }
    runs
}

/// Makes the files again, in a folder that only their owner can read.
pub fn unpack(packed: &[u8], folder: &Path) {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .unwrap();
    let mut rest = packed;
    while !rest.is_empty() {
        let length = u16::from_le_bytes(take(&mut rest));
        let (name, behind) = rest.split_at(length.into());
        rest = behind;
        let mut bytes = vec![0; usize::try_from(u64::from_le_bytes(take(&mut rest))).unwrap()];
        for _ in 0..u32::from_le_bytes(take(&mut rest)) {
            let offset = usize::try_from(u64::from_le_bytes(take(&mut rest))).unwrap();
            let length = u32::from_le_bytes(take(&mut rest)) as usize;
            let (run, behind) = rest.split_at(length);
            bytes[offset..offset + length].copy_from_slice(run);
            rest = behind;
        }
        let path = folder.join(std::str::from_utf8(name).unwrap());
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(path).unwrap();
        std::io::Write::write_all(&mut file, &bytes).unwrap();
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (taken, behind) = rest.split_first_chunk().unwrap();
    *rest = behind;
    *taken
}
