//! What the program calls itself in the files that it writes.

use std::sync::OnceLock;

static NAME: OnceLock<&'static str> = OnceLock::new();

/// Name and version, and the commit where the program says it.
pub(crate) fn name() -> &'static str {
    NAME.get()
        .unwrap_or(&concat!("cambist ", env!("CARGO_PKG_VERSION")))
}

/// Has files written from now on name this program: name, version and commit in at most 95 printable
/// ASCII characters. Only the first one counts.
pub fn set_program(program: &'static str) {
    // The one that was set before stays.
    let _ = NAME.set(program);
}
