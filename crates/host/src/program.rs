//! Which build of the program this process is, as files, metrics and pages state it.
//!
//! The commit is compiled into the program alone, so that a commit does not have every crate compiled again. The
//! program sets it at its start.

use std::sync::OnceLock;

/// A build of the program, in at most 95 printable ASCII characters each.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    /// The commit; `-dirty` behind it where the sources were changed; `unknown`.
    pub revision: &'static str,
    /// Version and commit.
    pub version: &'static str,
    /// Name, version and commit.
    pub name: &'static str,
}

/// What tests are, and programs that do not say which commit they were built from.
const UNKNOWN: Build = Build {
    revision: "unknown",
    version: env!("CARGO_PKG_VERSION"),
    name: concat!("cambist ", env!("CARGO_PKG_VERSION")),
};

static BUILD: OnceLock<Build> = OnceLock::new();

/// States the build of this process. Only the first one counts.
pub fn set_build(build: Build) {
    // The one that was set before stays.
    let _ = BUILD.set(build);
}

/// The build of this process.
pub fn build() -> Build {
    *BUILD.get().unwrap_or(&UNKNOWN)
}
