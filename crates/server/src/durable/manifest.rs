//! The manifest of a folder, `manifest.json`.
//!
//! For a folder in use it lists the newest segment of the log and the length at which it was created, so that a folder
//! that lost its newest segment, or the end of it, is not mistaken for one with a shorter history. For a copy and an
//! archive it lists every file with its digest, and the position where the inputs end. Folders of earlier programs have
//! no manifest.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::disk::Disk;
use super::files::{COPY_PARTIAL, Files, MANIFEST_PARTIAL, segment_name};
use super::{DataError, io_of, versions};
use crate::durable::log_format::{FolderId, Place};
use cambist_host::program;

/// Its file name.
pub(super) const MANIFEST: &str = "manifest.json";

/// Version of the format below.
const FORM: u32 = 1;

/// Kind of the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// A folder in use.
    Live,
    /// Made by `backup` or `restore`.
    Copy,
    /// Inputs between two snapshots, archived.
    Archive,
}

impl Kind {
    /// As a keyword.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Copy => "copy",
            Self::Archive => "archive",
        }
    }
}

/// A position in the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Point {
    /// Number of inputs before it.
    pub inputs: u64,
    /// The chain over them, hexadecimal.
    pub chain: String,
    /// The exchange's time, if known.
    pub at_ms: Option<u64>,
}

impl Point {
    /// A position, and the exchange's time there.
    pub fn new(place: Place, at_ms: Option<u64>) -> Self {
        Self {
            inputs: place.position,
            chain: hex(&place.chain.0),
            at_ms,
        }
    }

    /// Whether this is the same position.
    pub fn is(&self, place: Place) -> bool {
        self.inputs == place.position && self.chain == hex(&place.chain.0)
    }
}

/// A listed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listed {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// SHA-256 of its content, hexadecimal; absent for a file that is still written.
    pub sha256: Option<String>,
}

impl Listed {
    /// A file that no longer changes.
    pub fn of(name: &str, bytes: &[u8]) -> Self {
        Self {
            name: name.to_owned(),
            bytes: bytes.len() as u64,
            sha256: Some(digest(bytes)),
        }
    }
}

/// The manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    #[serde(rename = "manifest")]
    pub form: u32,
    pub kind: Kind,
    /// Name, version and commit of the program that wrote it.
    pub program: String,
    /// The version of its stored types.
    pub version: u32,
    /// The folder's id, hexadecimal. Copies and archives of one exchange have the same id.
    pub folder: String,
    /// Position of the oldest snapshot; absent for a folder in use.
    pub from: Option<Point>,
    /// Position after the last input; for a folder in use, position of the newest segment.
    pub to: Point,
    /// Files; for a folder in use only the newest segment.
    pub files: Vec<Listed>,
    /// Archives in a copy, by name, with the digests of their manifests.
    #[serde(default)]
    pub archives: Vec<Inside>,
    /// Whether the folder has a `generations.json`, as a folder in use does.
    #[serde(default)]
    pub generations: bool,
}

/// An archive in a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inside {
    /// Its name.
    pub name: String,
    /// The digest in its manifest.
    pub sum: String,
}

impl Manifest {
    /// A manifest without files.
    pub fn new(kind: Kind, folder: FolderId, from: Option<Point>, to: Point) -> Self {
        Self {
            form: FORM,
            kind,
            program: program::build().name.to_owned(),
            version: versions::history().newest(),
            folder: hex(&folder.0),
            from,
            to,
            files: Vec::new(),
            archives: Vec::new(),
            generations: kind == Kind::Live,
        }
    }

    /// The manifest of a folder, with its digest; `None` if there is none.
    pub fn read(disk: &dyn Disk) -> Result<Option<(Self, String)>, DataError> {
        let damaged = |what| DataError::damaged(disk, MANIFEST, 0, what);
        let Some((rest, sum)) = read_summed(disk, MANIFEST)? else {
            let names = disk.list().map_err(io_of(disk, "listing"))?;
            return if names.iter().any(|name| name == COPY_PARTIAL) {
                Err(damaged("it is missing: this copy is incomplete"))
            } else {
                Ok(None)
            };
        };
        if rest["manifest"] != FORM {
            return Err(damaged(
                "its format version is not supported by this program",
            ));
        }
        let manifest = serde_json::from_value(rest);
        Ok(Some((
            manifest.map_err(|_| damaged("it has missing or invalid fields"))?,
            sum,
        )))
    }

    /// The manifest that applies to a folder. The manifest of a copy no longer applies if there is a segment that it
    /// does not list: the copy was continued by a program that writes no manifests, or by one that was interrupted
    /// before it wrote its own.
    pub fn in_force(disk: &dyn Disk, files: &Files) -> Result<Option<Self>, DataError> {
        let Some((manifest, _)) = Self::read(disk)? else {
            return Ok(None);
        };
        let later = |position: &u64| {
            let name = segment_name(*position);
            *position >= manifest.to.inputs && manifest.files.iter().all(|file| file.name != name)
        };
        let is_past = manifest.kind == Kind::Copy && files.segments.iter().any(later);
        Ok((!is_past).then_some(manifest))
    }

    /// Writes the manifest atomically and returns its digest.
    pub fn write(&self, disk: &dyn Disk) -> std::io::Result<String> {
        write_summed(
            disk,
            MANIFEST,
            MANIFEST_PARTIAL,
            serde_json::to_value(self)?,
        )
    }

    /// Checks that every listed file exists in its full length; with `digests`, with its exact content.
    pub fn check_files(&self, disk: &dyn Disk, digests: bool) -> Result<(), DataError> {
        for file in &self.files {
            let short = |what| DataError::damaged(disk, &file.name, 0, what);
            let bytes = match disk.read(&file.name) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Err(short("it is missing, but the manifest lists it"));
                }
                read => read.map_err(io_of(disk, &file.name))?,
            };
            if (bytes.len() as u64) < file.bytes {
                let what = "it is shorter than in the manifest";
                return Err(DataError::damaged(
                    disk,
                    &file.name,
                    bytes.len() as u64,
                    what,
                ));
            }
            if digests
                && file
                    .sha256
                    .as_ref()
                    .is_some_and(|sum| *sum != digest(&bytes))
            {
                return Err(short("its digest differs from the manifest"));
            }
        }
        Ok(())
    }

    /// Checks that the log ends where the manifest states.
    pub fn check_end(&self, disk: &dyn Disk, end: Place) -> Result<(), DataError> {
        let damaged = |what| DataError::damaged(disk, MANIFEST, 0, what);
        if end.position < self.to.inputs {
            Err(damaged("the log ends before the input in the manifest"))
        } else if end.position == self.to.inputs && !self.to.is(end) {
            Err(damaged("the log's chain differs from the manifest"))
        } else {
            Ok(())
        }
    }
}

/// A JSON file without its field `sum`, and that digest, verified; `None` if the file does not exist.
pub(super) fn read_summed(
    disk: &dyn Disk,
    name: &str,
) -> Result<Option<(Value, String)>, DataError> {
    let damaged = |what| DataError::damaged(disk, name, 0, what);
    let bytes = match disk.read(name) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(io_of(disk, name))?,
    };
    let value: Value =
        serde_json::from_slice(&bytes).map_err(|_| damaged("it is not complete JSON"))?;
    let Value::Object(mut fields) = value else {
        return Err(damaged("it is not a JSON object"));
    };
    let sum = fields.remove("sum");
    let sum = sum.as_ref().and_then(Value::as_str).unwrap_or_default();
    let rest = Value::Object(fields);
    if sum != digest(rest.to_string().as_bytes()) {
        return Err(damaged(
            "its content does not match its digest; if it is removed, missing files are no longer detected",
        ));
    }
    Ok(Some((rest, sum.to_owned())))
}

/// Writes JSON with a digest, atomically; returns the digest.
pub(super) fn write_summed(
    disk: &dyn Disk,
    name: &str,
    partial: &str,
    mut value: Value,
) -> std::io::Result<String> {
    let sum = digest(value.to_string().as_bytes());
    if let Value::Object(fields) = &mut value {
        fields.insert("sum".to_owned(), Value::String(sum.clone()));
    }
    let text = format!("{value:#}\n");
    match disk.remove(partial) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
        // Durable before a file of the same name is created and renamed.
        Ok(()) => disk.sync_folder()?,
    }
    let mut file = disk.create(partial)?;
    file.write_at(0, text.as_bytes())?;
    file.sync()?;
    disk.rename(partial, name)?;
    disk.sync_folder()?;
    Ok(sum)
}

pub(super) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
