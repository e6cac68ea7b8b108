//! Data are regular files: opening a named pipe waits for a writer, possibly for good.

use std::fs::{File, FileType};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Opens a file of data. A named pipe, a socket or a device is refused, and not opened.
pub fn open_file(path: &Path) -> io::Result<File> {
    let kind = std::fs::metadata(path)?.file_type();
    match not_regular(kind) {
        Some(what) => Err(io::Error::new(io::ErrorKind::InvalidInput, what)),
        None => File::open(path),
    }
}

/// Why a path is no file of data; `None` for a regular file, for a folder, and for one that cannot be examined.
pub(crate) fn refused(path: &Path) -> Option<String> {
    let kind = std::fs::metadata(path).ok()?.file_type();
    if kind.is_dir() {
        return None;
    }
    not_regular(kind)
}

fn not_regular(kind: FileType) -> Option<String> {
    let what = if kind.is_file() {
        return None;
    } else if kind.is_dir() {
        return Some("it is a folder, not a file".to_owned());
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Some(format!(
        "it is {what}, not a regular file: data are read more than once, so write them to a file first, and name that"
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        let refused = |path: &str| open_file(Path::new(path)).unwrap_err().to_string();
        assert!(refused("/dev/null").starts_with("it is a device, not a regular file"));
        assert!(refused("/dev").starts_with("it is a folder"));
        let missing = open_file(Path::new("/nonexistent.csv")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(open_file(&own).is_ok());
    }
}
