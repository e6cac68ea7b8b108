//! The auditor that shares no code (`tests/external/audit/audit.py`), run over what a test leaves behind.
//!
//! A machine without Python passes and reports it; with `CAMBIST_AUDITOR=required` it fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use super::books::ACCOUNT;
use super::process::{CAMBIST, Program};
use super::stage::Stage;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/external/audit/audit.py");

/// Where a stage's exchange keeps everything, if it was opened as kept.
pub const DATA: &str = "venue-data";

/// Exports the daemon's account from the data folder of an exchange that has ended.
pub fn export(stage_folder: &Path) -> PathBuf {
    let file = stage_folder.join("venue.jsonl");
    let account = ACCOUNT.to_string();
    let exported = Command::new(CAMBIST)
        .args(["venue", "export", "--account", &account, "--data"])
        .arg(stage_folder.join(DATA))
        .output()
        .unwrap();
    assert!(
        exported.status.success(),
        "{}",
        String::from_utf8_lossy(&exported.stderr)
    );
    std::fs::write(&file, exported.stdout).unwrap();
    file
}

/// Runs the auditor; nothing if it cannot run on this machine.
pub fn audit(store: &Path, venue: &Path, more: &[&str]) -> Option<Output> {
    let output = Command::new("python3")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(SCRIPT)
        .arg("--store")
        .arg(store)
        .arg("--venue")
        .arg(venue)
        .args(more)
        .output();
    let why = match output {
        Ok(output) if output.status.code() != Some(3) => return Some(output),
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) => format!("python3: {error}"),
    };
    let required = std::env::var("CAMBIST_AUDITOR").is_ok_and(|value| value == "required");
    assert!(!required, "the auditor cannot run: {why}");
    eprintln!("SKIPPED: the auditor: {}", why.trim());
    None
}

impl Stage {
    /// Stops the exchange, whose own audit comes first; then the auditor compares its log with the store of a drained
    /// daemon.
    #[track_caller]
    pub fn close_audited(mut self, daemon: &Program) {
        let code = self.venue.drain(Duration::from_secs(20));
        assert_eq!(code, 0, "the exchange's books: {}", self.venue.last_words());
        let venue = export(self.folder.path());
        let summary = daemon.out.display().to_string();
        let more = ["--final", "--summary", &summary];
        if let Some(output) = audit(&self.path("daemon-state"), &venue, &more) {
            let text = String::from_utf8_lossy(&output.stdout);
            let log = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "the auditor: {text}{log}");
        }
    }
}
