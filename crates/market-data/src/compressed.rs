//! Compressed files, by their first bytes: no reader of recordings takes one.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// First bytes, the format, and the command that decompresses a file beside itself.
const FORMATS: [(&[u8], &str, &str); 4] = [
    (b"\x1f\x8b", "gzip", "gunzip --keep"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
    (b"\xfd7zXZ\x00", "xz", "unxz --keep"),
    (b"BZh", "bzip2", "bunzip2 --keep"),
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
    found.map(|(_, name, command)| {
        format!(
            "it is compressed ({name}) and is not read so: decompress it with `{command} {}`, and give the file that this makes",
            path.display()
        )
    })
}
