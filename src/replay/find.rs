//! Finds the recording that contains a time: the last one that begins before it.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_core::VenueTime;
use cambist_core::event::Event;
use cambist_tape::{Entry, Reader};

use cambist_daemon::recording::Player;

/// An opened recording, and the engine at its beginning.
pub(super) struct Opened {
    pub(super) path: PathBuf,
    pub(super) reader: Reader<BufReader<File>>,
    pub(super) player: Player,
    /// An entry that was read to determine the beginning.
    pub(super) ahead: Option<Entry>,
    /// The exchange's time at its beginning; `None` if it ends before its first event.
    pub(super) opens_at: Option<VenueTime>,
}

/// Opens a recording.
pub(super) fn open(path: &Path) -> anyhow::Result<Opened> {
    let name = || path.display().to_string();
    let file = File::open(path).with_context(name)?;
    let mut reader = Reader::open(BufReader::new(file)).with_context(name)?;
    let player = Player::new(&reader).with_context(name)?;
    let (mut ahead, mut opens_at) = (None, None);
    if let Some(engine) = player.engine() {
        opens_at = engine.last_event_at().map(|(_, venue_time)| venue_time);
    } else {
        ahead = reader.next_entry().with_context(name)?;
        if let Some(Entry::Event {
            event: Event::Start(start),
            ..
        }) = &ahead
        {
            opens_at = Some(start.venue_time);
        }
    }
    Ok(Opened {
        path: path.to_owned(),
        reader,
        player,
        ahead,
        opens_at,
    })
}

/// The last recording that begins at `at` or before, and when the next one begins. `files` are in order of creation;
/// few of them are opened.
pub(super) fn last_before(
    files: &[PathBuf],
    at: VenueTime,
) -> anyhow::Result<(Option<Opened>, Option<VenueTime>)> {
    let (mut found, mut next) = (None, None);
    let (mut low, mut high) = (0, files.len());
    while low < high {
        let middle = low.midpoint(high);
        let opened = open(&files[middle])?;
        match opened.opens_at {
            Some(opens_at) if opens_at > at => {
                next = Some(opens_at);
                high = middle;
            }
            Some(_) => {
                low = middle + 1;
                found = Some(opened);
            }
            // A run that ended before its first event has no time; the search continues without it.
            None => {
                let mut rest = files.to_vec();
                rest.remove(middle);
                return last_before(&rest, at);
            }
        }
    }
    Ok((found, next))
}
