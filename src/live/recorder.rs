//! The tape of a live run. Losing it loses evidence, not money: a disk that fails here ends the
//! recording, not the trading.

use cambist_core::action::Action;
use cambist_core::event::Event;
use cambist_core::{Engine, MarketSpec, Time};
use cambist_tape::Header;
use cambist_tape::segments::{Folder, Limits, SegmentError, Segments};

use crate::config::daemon::TapeConfig;
use crate::recording;

/// Between flushes to the operating system.
const FLUSH_MS: u64 = 1_000;

/// Writes the tape, or nothing after a failure.
pub struct Recorder {
    tape: Option<Segments<Folder>>,
    markets: Vec<MarketSpec>,
    flushed: Time,
}

impl Recorder {
    /// Begins a tape, if one is wanted.
    pub fn begin(
        config: Option<&TapeConfig>,
        header: Header,
        markets: &[MarketSpec],
    ) -> anyhow::Result<Self> {
        use anyhow::Context;
        let tape = match config {
            None => None,
            Some(config) => {
                let dir = &config.dir;
                make_folder(dir).with_context(|| format!("tape folder {}", dir.display()))?;
                let total_bytes = config.max_mb.saturating_mul(1_000_000);
                let limits = Limits {
                    segment_bytes: (total_bytes / 8).max(500_000),
                    total_bytes,
                };
                let begun = Segments::begin(Folder::new(dir), header, limits);
                Some(begun.with_context(|| format!("tape folder {}", dir.display()))?)
            }
        };
        Ok(Self {
            tape,
            markets: markets.to_vec(),
            flushed: Time(0),
        })
    }

    /// Records an event before the engine hears it.
    pub fn heard(&mut self, now: Time, event: &Event) {
        self.attempt(|tape| tape.heard(now, event));
    }

    /// Records what the engine wanted done, and lets the tape go on in a new segment when it is time.
    pub fn did(&mut self, now: Time, actions: &[Action], engine: &Engine) {
        self.attempt(|tape| tape.did(actions));
        if now.ms_since(self.flushed) >= FLUSH_MS {
            self.flushed = now;
            self.attempt(Segments::flush);
        }
        if self.tape.as_ref().is_some_and(Segments::is_due) {
            match recording::snapshot(engine, &self.markets) {
                Ok(snapshot) => self.attempt(|tape| tape.rotate(&snapshot)),
                Err(error) => tracing::error!(%error, "tape goes on without a new segment"),
            }
        }
    }

    /// Flushes what is left.
    pub fn finish(mut self) {
        self.attempt(Segments::flush);
    }

    fn attempt(&mut self, write: impl FnOnce(&mut Segments<Folder>) -> Result<(), SegmentError>) {
        if let Some(tape) = &mut self.tape
            && let Err(error) = write(tape)
        {
            tracing::error!(%error, "recording ends here; trading goes on");
            self.tape = None;
        }
    }
}

fn make_folder(dir: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
}
