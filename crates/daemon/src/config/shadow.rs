//! `[shadow]`: the daemon beside which a configuration runs.

use std::path::{Path, PathBuf};

use super::reader::Section;

/// Reads the section: the folder with the tape of the daemon that trades.
pub(super) fn read(mut section: Section<'_, '_>, folder: &Path) -> Option<PathBuf> {
    let tape = section.opt::<PathBuf>("tape");
    section.finish();
    tape.map(|tape| folder.join(tape.value))
}
