//! Replays recordings: completely, with every action compared, or up to one moment.

mod find;
pub mod moment;
pub mod order;
mod page;
mod text;
pub mod whole;

use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_tape::{Difference, Folder, Shelf};
use serde_json::{Value, json};

pub use moment::iso_ms;
pub use page::{page, strategy_name};
pub use text::text;

/// The recordings of a path in order of creation: a file is one; a folder has numbered segments.
pub fn recordings(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let name = || path.display().to_string();
    if !std::fs::metadata(path).with_context(name)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let folder = Folder::new(path);
    let segments = folder.list().with_context(name)?;
    if segments.is_empty() {
        anyhow::bail!("{}: this folder has no recordings", name());
    }
    let files = segments.iter().map(|segment| folder.file(segment.number));
    Ok(files.collect())
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
