//! What data are by their first bytes, where they are not what their name or their source states: compressed, or text in
//! another encoding than UTF-8. No reader takes these, and the errors of readers would name columns or characters.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::shell::word;

/// What UTF-8 text of some programs begins with.
pub const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A form that is not read.
#[derive(Debug, PartialEq, Eq)]
pub struct Form {
    first: &'static [u8],
    /// What data in this form are, such as `compressed (gzip)`.
    pub name: &'static str,
    /// The ending of its files, if it has one.
    ending: Option<&'static str>,
    /// What is done with such a file, and the command, with the names of both files. Standard input has no name, whose
    /// ending a program would refuse.
    remedy: (&'static str, &'static str),
    /// What is added to the name of the new file if only that distinguishes it.
    addition: &'static str,
}

const fn compressed(
    first: &'static [u8],
    name: &'static str,
    ending: &'static str,
    command: &'static str,
) -> Form {
    Form {
        first,
        name,
        ending: Some(ending),
        remedy: ("decompress it", command),
        addition: "decompressed",
    }
}

const fn encoded(first: &'static [u8], name: &'static str, command: &'static str) -> Form {
    Form {
        first,
        name,
        ending: None,
        remedy: ("convert it", command),
        addition: "utf8",
    }
}

/// A form whose first bytes begin with those of another one comes before that.
static FORMS: [Form; 8] = [
    compressed(
        b"\x1f\x8b",
        "compressed (gzip)",
        "gz",
        "gunzip < {from} > {to}",
    ),
    compressed(
        b"\x28\xb5\x2f\xfd",
        "compressed (zstd)",
        "zst",
        "unzstd < {from} > {to}",
    ),
    compressed(
        b"\xfd7zXZ\x00",
        "compressed (xz)",
        "xz",
        "unxz < {from} > {to}",
    ),
    compressed(
        b"BZh",
        "compressed (bzip2)",
        "bz2",
        "bunzip2 < {from} > {to}",
    ),
    compressed(
        b"PK\x03\x04",
        "compressed (zip)",
        "zip",
        "unzip -p {from} > {to}",
    ),
    encoded(
        b"\xff\xfe\0\0",
        "text in UTF-32",
        "iconv -f UTF-32 -t UTF-8 < {from} > {to}",
    ),
    encoded(
        b"\xff\xfe",
        "text in UTF-16",
        "iconv -f UTF-16 -t UTF-8 < {from} > {to}",
    ),
    encoded(
        b"\xfe\xff",
        "text in UTF-16",
        "iconv -f UTF-16 -t UTF-8 < {from} > {to}",
    ),
];

/// The form that is not read, by the first bytes; `None` for everything else.
pub fn form(first: &[u8]) -> Option<&'static Form> {
    FORMS.iter().find(|form| first.starts_with(form.first))
}

/// What to do with a file that is in a form which is not read; `None` if it is not, or cannot be read. The compression
/// within an `.npz` archive or a Parquet file is part of these formats.
pub fn unread(path: &Path) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let mut first = Vec::new();
    File::open(path)
        .and_then(|file| file.take(8).read_to_end(&mut first))
        .ok()?;
    let is_archive = has_ending(path, "npz");
    let form = form(&first).filter(|form| form.ending != Some("zip") || !is_archive)?;
    let from = word(&path.display().to_string());
    let to = word(&converted(path, form).display().to_string());
    let (what, command) = form.remedy;
    let command = command.replace("{from}", &from).replace("{to}", &to);
    Some(format!(
        "it is {} and is not read so: {what} with `{command}`, and give {to} instead",
        form.name
    ))
}

fn has_ending(path: &Path, ending: &str) -> bool {
    let own = path.extension().and_then(|own| own.to_str());
    own.is_some_and(|own| own.eq_ignore_ascii_case(ending))
}

/// The name of the new file: without the form's ending, or with an addition if there is none, or if another file has that
/// name.
fn converted(path: &Path, form: &Form) -> PathBuf {
    let has_ending = form.ending.is_some_and(|ending| has_ending(path, ending));
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
    let addition = form.addition;
    let numbered = |number: u32| match number {
        1 => plain.with_file_name(format!("{stem}-{addition}{own}")),
        _ => plain.with_file_name(format!("{stem}-{addition}-{number}{own}")),
    };
    let free = (1..100).map(numbered).find(|path| !path.exists());
    free.unwrap_or_else(|| numbered(100))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    #[test]
    fn the_new_file_has_a_name_of_its_own() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let name = |path: &str, first: &[u8]| {
            let path = converted(&folder.join(path), form(first).unwrap());
            path.file_name().unwrap().to_string_lossy().into_owned()
        };
        for (path, expected) in [
            ("eth.csv.gz", "eth.csv"),
            ("eth.csv.GZ", "eth.csv"),
            ("eth.csv", "eth-decompressed.csv"),
            ("eth", "eth-decompressed"),
            // This file is there.
            ("first_bytes.rs.gz", "first_bytes-decompressed.rs"),
        ] {
            assert_eq!(name(path, b"\x1f\x8b\x08"), expected, "{path}");
        }
        assert_eq!(name("eth.csv", b"\xff\xfet\0"), "eth-utf8.csv");
    }

    #[test]
    fn forms_are_known_by_their_first_bytes() {
        for (first, name) in [
            (&b"\x1f\x8b\x08\x00"[..], Some("compressed (gzip)")),
            (b"\x28\xb5\x2f\xfd", Some("compressed (zstd)")),
            (b"PK\x03\x04", Some("compressed (zip)")),
            (b"\xff\xfe\0\0t\0\0\0", Some("text in UTF-32")),
            (b"\xff\xfet\0", Some("text in UTF-16")),
            (b"\xfe\xff\0t", Some("text in UTF-16")),
            // This is accepted.
            (b"\xef\xbb\xbf{}", None),
            (b"time_ms,bid", None),
            (b"", None),
        ] {
            assert_eq!(form(first).map(|form| form.name), name, "{first:?}");
        }
    }
}
