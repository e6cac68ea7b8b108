//! `GET /metrics` of the operator's listener: the exchange's metrics in Prometheus' text format 0.0.4.

use std::fmt::Write as _;

use crate::dispatch::Dispatch;
use crate::error_response::ErrorResponse;

/// Content type of the text format.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The metrics as text.
pub(super) fn page(shell: &Dispatch) -> Result<Vec<u8>, ErrorResponse> {
    let reading = shell.clock.reading();
    let open_orders = shell.machine.read(cambist_venue::Venue::open_orders)?;
    let (batches, bytes) = shell.machine.log_written();
    let mut text = String::new();
    let mut metric = |name: &str, kind: &str, about: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "# HELP {name} {about}\n# TYPE {name} {kind}\n{name} {value}\n"
        );
    };
    let seconds = |ms: u64| format!("{}.{:03}", ms / 1_000, ms % 1_000);
    metric(
        "cambist_venue_time_seconds",
        "gauge",
        "The exchange's time, by which orders expire.",
        seconds(reading.now.0),
    );
    metric(
        "cambist_venue_clock_ahead_seconds",
        "gauge",
        "Seconds by which the exchange's time is ahead of the system clock; 0 if it is not ahead.",
        seconds(reading.ahead_ms),
    );
    metric(
        "cambist_venue_open_orders",
        "gauge",
        "Open orders.",
        open_orders.to_string(),
    );
    metric(
        "cambist_venue_failed_audits_total",
        "counter",
        "Failed audits of the books.",
        shell.machine.audit_failures().to_string(),
    );
    metric(
        "cambist_venue_log_batches_total",
        "counter",
        "Batches of inputs written and synced since the start; 0 without a data folder.",
        batches.to_string(),
    );
    metric(
        "cambist_venue_log_bytes_total",
        "counter",
        "Bytes of the batches of inputs written since the start.",
        bytes.to_string(),
    );
    if let Some(space) = &shell.free_space {
        // Space that cannot be read is no number.
        if let Some(free) = space.bytes() {
            metric(
                "cambist_venue_disk_free_bytes",
                "gauge",
                "Bytes free on the disk of the data folder, read every ten seconds; absent without a data folder, and while they cannot be read.",
                free.to_string(),
            );
        }
        metric(
            "cambist_venue_disk_free_min_bytes",
            "gauge",
            "Free bytes below which the exchange warns (data.free_min_mb); 0 if it does not.",
            space.min_bytes().to_string(),
        );
    }
    Ok(text.into_bytes())
}
