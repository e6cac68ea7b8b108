//! The build of this process, as shown in files, metrics and pages.
//!
//! Only the program is compiled with the commit, so that a commit does not recompile all crates. The program sets it at
//! its start.

use std::sync::OnceLock;

/// A build of the program; at most 95 printable ASCII characters each.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    /// The commit; with the suffix `-dirty` if the sources were changed; `unknown` without one.
    pub revision: &'static str,
    /// Version and commit.
    pub version: &'static str,
    /// Name, version and commit.
    pub name: &'static str,
}

/// Tests, and programs that do not set a build.
const UNKNOWN: Build = Build {
    revision: "unknown",
    version: env!("CARGO_PKG_VERSION"),
    name: concat!("cambist ", env!("CARGO_PKG_VERSION")),
};

static BUILD: OnceLock<Build> = OnceLock::new();

/// Sets the build of this process. Only the first call has an effect.
pub fn set_build(build: Build) {
    // A build that was set before stays.
    let _ = BUILD.set(build);
}

/// The build of this process.
pub fn build() -> Build {
    *BUILD.get().unwrap_or(&UNKNOWN)
}
