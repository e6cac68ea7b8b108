//! A sweep that a signal ended: what is kept of it, and the command that continues it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cambist_market_data::shell::word;

use super::journal::NAME;
use crate::interrupt::Interrupt;
use crate::shard::Shard;

/// How far a sweep has come, for the thread that waits for signals.
#[derive(Clone, Debug)]
pub struct Kept {
    runs: Arc<AtomicUsize>,
    all: usize,
    file: String,
    command: String,
}

impl Kept {
    /// Of a sweep with so many runs in `folder`, some of which are kept there. `shard` is the part that is made here.
    pub fn new(folder: &Path, (runs, all): (usize, usize), shard: Option<Shard>) -> Self {
        let arguments = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        Self {
            runs: Arc::new(AtomicUsize::new(runs)),
            all,
            file: folder.join(NAME).display().to_string(),
            command: resuming(arguments, shard),
        }
    }

    /// One more run is in the file.
    pub fn add(&self) {
        self.runs.fetch_add(1, Ordering::Relaxed);
    }

    /// How many runs are in the file.
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    /// The command that continues the sweep.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// What is kept, in one sentence.
    pub fn text(&self) -> String {
        format!(
            "{} of {} runs are kept in {}",
            self.runs(),
            self.all,
            self.file
        )
    }

    /// Waits for signals; the first one prints what is kept and how the sweep is continued.
    ///
    /// # Errors
    /// Signals cannot be waited for.
    pub fn wait_for_signals(&self) -> anyhow::Result<Interrupt> {
        let kept = self.clone();
        Interrupt::wait(move || {
            format!(
                "interrupted: {}. Runs that have begun are finished and kept as well; Ctrl-C or SIGTERM again ends at once. This continues the sweep:\n  {}",
                kept.text(),
                kept.command
            )
        })
    }
}

/// The command line of this call as one that continues it: without `--overwrite`, which would begin again, and with the
/// shard, which a scheduler states to its own tasks alone.
fn resuming(arguments: impl Iterator<Item = String>, shard: Option<Shard>) -> String {
    let mut words: Vec<_> = arguments.filter(|word| word != "--overwrite").collect();
    let is_stated = |word: &String| word == "--shard" || word.starts_with("--shard=");
    if let Some(shard) = shard.filter(|_| !words.iter().any(is_stated)) {
        // Beside --shard the number of parts is refused.
        if let Some(at) = words.iter().position(|word| word == "--shards") {
            words.drain(at..(at + 2).min(words.len()));
        }
        words.retain(|word| !word.starts_with("--shards="));
        words.extend(["--shard".to_owned(), shard.to_string()]);
    }
    let quoted: Vec<_> = words.iter().map(|text| word(text)).collect();
    quoted.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_continues_and_does_not_begin_again() {
        let of = |line: &str, shard| {
            let words = line.split('|').map(str::to_owned);
            resuming(words, shard)
        };
        let line = "cambist|sweep|--data|my data.csv|--overwrite|--out|out";
        assert_eq!(
            of(line, None),
            "cambist sweep --data 'my data.csv' --out out"
        );
        let shard = Shard::new(2, 8);
        for line in [
            "cambist|sweep|--out|out",
            "cambist|sweep|--shards|8|--out|out",
            "cambist|sweep|--shards=8|--out|out",
        ] {
            assert_eq!(
                of(line, shard),
                "cambist sweep --out out --shard 2/8",
                "{line}"
            );
        }
        let stated = "cambist|sweep|--shard=2/8|--out|out";
        assert_eq!(of(stated, shard), "cambist sweep --shard=2/8 --out out");
    }
}
