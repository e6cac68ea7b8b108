//! Address files: a process that listens on a port chosen by the system writes the address to a file.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;

/// Writes the address atomically; a final newline marks the file as complete.
pub fn write(file: &Path, address: SocketAddr) -> anyhow::Result<()> {
    let draft = file.with_extension("new");
    std::fs::write(&draft, format!("{address}\n"))
        .and_then(|()| std::fs::rename(&draft, file))
        .with_context(|| format!("address file {}", file.display()))
}
