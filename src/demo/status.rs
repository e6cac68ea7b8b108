//! The daemon's line about now, from its own `/status` page on this machine.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A page that takes longer is not shown this second.
const PATIENCE: Duration = Duration::from_millis(500);
/// Longest page read.
const PAGE_MAX: u64 = 1 << 20;

/// The line, or nothing if it cannot be had now.
pub async fn line(address: &str) -> Option<String> {
    let page = tokio::time::timeout(PATIENCE, page(address))
        .await
        .ok()?
        .ok()?;
    let (_, body) = page.split_once("\r\n\r\n")?;
    let status: serde_json::Value = serde_json::from_str(body).ok()?;
    Some(status.get("line")?.as_str()?.to_owned())
}

/// One answer of HTTP/1.0, which ends with its connection: nothing more is needed of HTTP here.
async fn page(address: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /status HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut text = String::new();
    stream.take(PAGE_MAX).read_to_string(&mut text).await?;
    Ok(text)
}
