//! Which build this is.

/// The commit, `-dirty` behind it where the sources were changed, or `unknown` (`build.rs`).
pub const REVISION: &str = env!("CAMBIST_REVISION");

/// Name, version and commit, as files that were written by this program say it.
pub const PROGRAM: &str = concat!(
    "cambist ",
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("CAMBIST_REVISION"),
    ")"
);

/// Version and commit, for `--version`.
pub const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("CAMBIST_REVISION"),
    ")"
);
