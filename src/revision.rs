//! Version and commit of this build.

use std::fs::File;

use anyhow::Context;
use cambist_host::program::Build;
use sha2::{Digest, Sha256};

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

/// The first half of the hash of the program file: results of another build are not mixed with those of this one.
pub fn program_hash() -> anyhow::Result<String> {
    let path = std::env::current_exe().context("finding the program file")?;
    let mut file = File::open(&path).with_context(|| path.display().to_string())?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = std::io::Read::read(&mut file, &mut buffer)?;
        if read == 0 {
            break;
        }
        digest.update(&buffer[..read]);
    }
    let digest = digest.finalize();
    Ok(digest[..8].iter().fold(String::new(), |mut text, byte| {
        use std::fmt::Write;
        let _ = write!(text, "{byte:02x}");
        text
    }))
}
