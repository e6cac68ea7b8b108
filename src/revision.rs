//! Version and commit of this build.

use cambist_host::program::Build;

/// Version and commit, for `--version`. The commit has the suffix `-dirty` if the sources were changed, or is `unknown`
/// (`build.rs`).
pub const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("CAMBIST_REVISION"),
    ")"
);

/// For files, metrics and pages of this program.
pub const BUILD: Build = Build {
    revision: env!("CAMBIST_REVISION"),
    version: VERSION,
    name: concat!(
        "cambist ",
        env!("CARGO_PKG_VERSION"),
        " (",
        env!("CAMBIST_REVISION"),
        ")"
    ),
};
