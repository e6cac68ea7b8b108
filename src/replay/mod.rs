//! Replays recordings: completely, with every action compared, or up to one moment.

mod depth_only;
mod find;
pub mod moment;
pub mod order;
mod page;
mod text;
pub mod whole;

use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_market_data::first_bytes::unread;
use cambist_market_data::open_file;
use cambist_tape::{Difference, Folder, Shelf, empty_at};
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
pub use depth_only::{refuse_folder, refuse_mode};
pub use moment::iso_ms;
pub use page::{page, strategy_name};
pub use text::text;

/// The recordings of a path.
#[derive(Debug, Default)]
pub struct Recordings {
    /// Those that can be read, in order of creation.
    pub files: Vec<PathBuf>,
    /// Those of a folder whose header is not complete, because the daemon was killed as it began them or begins them
    /// now, and where they end. They hold nothing.
    pub empty: Vec<(PathBuf, u64)>,
}

/// The recordings of a path: a file is one; a folder has numbered segments.
pub fn list(path: &Path) -> anyhow::Result<Recordings> {
    let name = || path.display().to_string();
    let mut found = Recordings::default();
    depth_only::refuse_segment(path)?;
    if !std::fs::metadata(path).with_context(name)?.is_dir() {
        // Refuses a pipe, which the reader would wait for.
        open_file(path).with_context(name)?;
        refuse_unread(path)?;
        found.files.push(path.to_owned());
        return Ok(found);
    }
    let folder = Folder::new(path);
    for segment in folder.list().with_context(name)? {
        let file = folder.file(segment.number);
        let opened = match open_file(&file) {
            // A running daemon has removed it since.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            opened => opened.with_context(|| file.display().to_string())?,
        };
        refuse_unread(&file)?;
        let empty = empty_at(BufReader::new(opened));
        match empty.with_context(|| file.display().to_string())? {
            Some(offset) => found.empty.push((file, offset)),
            None => found.files.push(file),
        }
    }
    if found.files.is_empty() {
        depth_only::refuse_folder(path)?;
        let why = match found.empty.len() {
            0 => "this folder has no recordings",
            _ => "no recording in this folder has a complete header, so that none holds anything",
        };
        anyhow::bail!("{}: {why}", name());
    }
    Ok(found)
}

/// Refuses a recording that is compressed as a whole.
fn refuse_unread(file: &Path) -> Result<(), Failure> {
    let Some(what) = unread(file) else {
        return Ok(());
    };
    let what = format!("{}: {what}", file.display());
    Err(Failure::new(Exit::CheckFailed, what))
}

/// The files of [`list`]. What is left out is stated on stderr.
pub fn recordings(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let found = list(path)?;
    for (file, offset) in &found.empty {
        eprintln!("{}", left_out(file, *offset));
    }
    Ok(found.files)
}

/// Why a recording is left out.
pub fn left_out(file: &Path, offset: u64) -> String {
    format!(
        "{} ends before its header is complete, at byte {offset}: it holds nothing and is left out",
        file.display()
    )
}

/// Whether this build wrote a recording.
pub fn is_own(program: &str) -> bool {
    program == cambist_host::program::build().name
}

/// A difference as JSON.
pub fn difference_page(found: &Difference) -> Value {
    json!({
        "event_number": found.event_number,
        "now_us": found.now.0,
        "event": found.event,
        "action_number": found.action_number,
        "on_tape": found.expected,
        "now": found.got,
    })
}
