//! Compressed files, by their first bytes: no reader of recordings takes one.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::shell::word;

/// First bytes, the format, the ending of its files, and the program that decompresses its standard input.
const FORMATS: [(&[u8], &str, &str, &str); 4] = [
    (b"\x1f\x8b", "gzip", "gz", "gunzip"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zst", "unzstd"),
    (b"\xfd7zXZ\x00", "xz", "xz", "unxz"),
    (b"BZh", "bzip2", "bz2", "bunzip2"),
];

/// What to do with a file that is compressed as a whole; `None` if it is not, or cannot be read. The compression within
/// an `.npz` archive or a Parquet file is part of these formats.
pub fn compressed(path: &Path) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let mut first = Vec::new();
    File::open(path)
        .and_then(|file| file.take(8).read_to_end(&mut first))
        .ok()?;
    let found = FORMATS.iter().find(|(magic, ..)| first.starts_with(magic));
    found.map(|(_, name, ending, program)| {
        let from = word(&path.display().to_string());
        let to = word(&decompressed(path, ending).display().to_string());
        // Standard input has no name, whose ending the program would refuse.
        format!(
            "it is compressed ({name}) and is not read so: decompress it with `{program} < {from} > {to}`, and give {to} instead"
        )
    })
}

/// The name of the decompressed file: without the format's ending, or with an addition if there is none, or if another
/// file has that name.
fn decompressed(path: &Path, ending: &str) -> PathBuf {
    let has_ending = path.extension().is_some_and(|own| {
        let own = own.to_str();
        own.is_some_and(|own| own.eq_ignore_ascii_case(ending))
    });
    let plain = if has_ending {
        path.with_extension("")
    } else {
        path.to_owned()
    };
    if has_ending && !plain.exists() {
        return plain;
    }
    let stem = plain.file_stem().unwrap_or_default().to_string_lossy();
    let own = plain.extension().map(|own| own.to_string_lossy());
    let own = own.map_or_else(String::new, |own| format!(".{own}"));
    let numbered = |number: u32| match number {
        1 => plain.with_file_name(format!("{stem}-decompressed{own}")),
        _ => plain.with_file_name(format!("{stem}-decompressed-{number}{own}")),
    };
    let free = (1..100).map(numbered).find(|path| !path.exists());
    free.unwrap_or_else(|| numbered(100))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    #[test]
    fn the_decompressed_file_has_a_name_of_its_own() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let name = |path: &str| {
            let path = decompressed(&folder.join(path), "gz");
            path.file_name().unwrap().to_string_lossy().into_owned()
        };
        for (path, expected) in [
            ("eth.csv.gz", "eth.csv"),
            ("eth.csv.GZ", "eth.csv"),
            ("eth.csv", "eth-decompressed.csv"),
            ("eth", "eth-decompressed"),
            // This file is there.
            ("compressed.rs.gz", "compressed-decompressed.rs"),
        ] {
            assert_eq!(name(path), expected, "{path}");
        }
    }
}
