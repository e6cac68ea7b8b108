//! Replays recordings completely, with every action compared.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_tape::{Reader, Replay, Tail, compare};

use super::Recordings;
use cambist_daemon::recording::Player;

/// Result of replaying recordings.
#[derive(Debug, Default)]
pub struct Whole {
    /// Number of recordings.
    pub recordings: usize,
    /// Number of compared events.
    pub events: u64,
    /// Number of compared actions.
    pub actions: u64,
    /// Recordings that end within a record, and the byte offset.
    pub torn: Vec<(PathBuf, u64)>,
    /// Recordings that end before their header is complete, and the byte offset. They hold nothing and do not count.
    pub empty: Vec<(PathBuf, u64)>,
    /// The first difference: its recording, the program that wrote it, and the difference. Nothing after it was
    /// replayed.
    pub difference: Option<(PathBuf, String, cambist_tape::Difference)>,
}

/// Replays recordings in order, up to the first difference.
pub fn replay(found: Recordings) -> anyhow::Result<Whole> {
    let mut whole = Whole {
        empty: found.empty,
        ..Whole::default()
    };
    for file in &found.files {
        let (program, replay) = one(file)?;
        whole.recordings += 1;
        whole.events += replay.events;
        whole.actions += replay.actions;
        if let Some(Tail::Torn { offset }) = replay.tail {
            whole.torn.push((file.clone(), offset));
        }
        if let Some(difference) = replay.first_difference {
            whole.difference = Some((file.clone(), program, difference));
            break;
        }
    }
    Ok(whole)
}

fn one(path: &Path) -> anyhow::Result<(String, Replay)> {
    let name = || path.display().to_string();
    let file = File::open(path).with_context(name)?;
    let mut reader = Reader::open(BufReader::new(file)).with_context(name)?;
    let mut player = Player::new(&reader).with_context(name)?;
    let replay = compare(&mut reader, |now, event, actions| {
        player.handle_event(now, event, actions);
    })
    .with_context(name)?;
    if let Some(failure) = player.failure() {
        anyhow::bail!("{}: {failure}", name());
    }
    Ok((reader.header().program.clone(), replay))
}
