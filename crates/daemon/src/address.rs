//! Address files: a process that listens on a port of the system's choice says where, in a file.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;

/// Writes the address whole or not at all, with a line end that says it is whole.
pub fn write(file: &Path, address: SocketAddr) -> anyhow::Result<()> {
    let draft = file.with_extension("new");
    std::fs::write(&draft, format!("{address}\n"))
        .and_then(|()| std::fs::rename(&draft, file))
        .with_context(|| format!("address file {}", file.display()))
}
