//! Finds the recording that contains a time.
//!
//! Files are searched by their own times: a run that began after the clock was set back has earlier times than the files
//! before it.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_core::event::Event;
use cambist_core::{Time, VenueTime};
use cambist_tape::{Entry, Reader};

use cambist_daemon::recording::Player;

/// An opened recording, and the engine at its beginning.
pub(super) struct Opened {
    pub(super) path: PathBuf,
    pub(super) reader: Reader<BufReader<File>>,
    pub(super) player: Player,
    /// An entry that was read to determine the beginning.
    pub(super) ahead: Option<Entry>,
    /// The exchange's time at its beginning, and the engine's clock then; `None` if it ends before its first event.
    pub(super) opens_at: Option<(Time, VenueTime)>,
    /// Whether it goes on where another one ended, instead of beginning with a start.
    continues: bool,
}

/// Opens a recording.
pub(super) fn open(path: &Path) -> anyhow::Result<Opened> {
    let name = || path.display().to_string();
    let file = File::open(path).with_context(name)?;
    let mut reader = Reader::open(BufReader::new(file)).with_context(name)?;
    let player = Player::new(&reader).with_context(name)?;
    let (mut ahead, mut opens_at) = (None, None);
    let continues = player.engine().is_some();
    if let Some(engine) = player.engine() {
        opens_at = engine.last_event_at();
    } else {
        ahead = reader.next_entry().with_context(name)?;
        if let Some(Entry::Event {
            now,
            event: Event::Start(start),
        }) = &ahead
        {
            opens_at = Some((*now, start.venue_time));
        }
    }
    Ok(Opened {
        path: path.to_owned(),
        reader,
        player,
        ahead,
        opens_at,
        continues,
    })
}

/// The times of one recording.
struct Span<'a> {
    path: &'a PathBuf,
    opens_at: VenueTime,
    /// About when it ends: for the last one of a run by the engine's clock, otherwise when the next one begins.
    ends_at: VenueTime,
}

/// What a search found.
pub(super) struct Found {
    /// The newest recording that contains the time, or the one that ends last before it.
    pub(super) path: Option<PathBuf>,
    /// Others that contain it, newest first.
    pub(super) also: Vec<PathBuf>,
    /// When the first recording begins, by the exchange's time.
    pub(super) first: Option<VenueTime>,
    /// When the first one after the time begins.
    pub(super) next: Option<VenueTime>,
    /// Why recordings could not be read, if some could not.
    pub(super) unread: Option<(usize, anyhow::Error)>,
}

/// Searches recordings, which are in order of creation, for a time of the exchange.
pub(super) fn search(files: &[PathBuf], at: VenueTime) -> anyhow::Result<Found> {
    let (spans, unread) = spans(files, at);
    if spans.is_empty()
        && let Some((_, error)) = unread
    {
        return Err(error);
    }
    let newest_first = spans.iter().rev();
    let within = newest_first.filter(|span| span.opens_at <= at && at <= span.ends_at);
    let mut also: Vec<_> = within.map(|span| span.path.clone()).collect();
    let path = if also.is_empty() {
        let before = spans.iter().filter(|span| span.opens_at <= at);
        let last = before.max_by_key(|span| span.ends_at);
        last.map(|span| span.path.clone())
    } else {
        Some(also.remove(0))
    };
    let opens = spans.iter().map(|span| span.opens_at);
    Ok(Found {
        path,
        also,
        first: opens.clone().min(),
        next: opens.filter(|opens_at| *opens_at > at).min(),
        unread,
    })
}

/// The times of recordings, without those that hold no event; and how many cannot be read, with the first reason. One
/// of another build may not be readable, and the time may be in one that is. Only recordings that begin before `at` and
/// that none continues are read to their end.
fn spans(files: &[PathBuf], at: VenueTime) -> (Vec<Span<'_>>, Option<(usize, anyhow::Error)>) {
    let mut unread: Option<(usize, anyhow::Error)> = None;
    let mut failed = |error| match &mut unread {
        Some((count, _)) => *count += 1,
        None => unread = Some((1, error)),
    };
    let mut spans: Vec<Span<'_>> = Vec::new();
    // A recording whose end is not known before the next one is opened.
    let mut last: Option<(Opened, &PathBuf)> = None;
    for path in files {
        let opened = match open(path) {
            Ok(opened) => Some(opened),
            Err(error) => {
                failed(error);
                None
            }
        };
        let continued_at = opened.as_ref().filter(|opened| opened.continues);
        let continued_at = continued_at.and_then(|opened| opened.opens_at);
        if let Some((before, path)) = last.take() {
            spans.extend(span(before, path, continued_at, at));
        }
        last = opened.map(|opened| (opened, path));
    }
    if let Some((before, path)) = last {
        spans.extend(span(before, path, None, at));
    }
    (spans, unread)
}

fn span(
    opened: Opened,
    path: &PathBuf,
    continued_at: Option<(Time, VenueTime)>,
    at: VenueTime,
) -> Option<Span<'_>> {
    let (begun, opens_at) = opened.opens_at?;
    let ends_at = match continued_at {
        Some((_, next)) if next >= opens_at => next,
        _ if opens_at > at => opens_at,
        // Up to an entry that cannot be read: the replay reports it.
        _ => opens_at.plus_ms(last_event(opened, begun).ms_since(begun)),
    };
    Some(Span {
        path,
        opens_at,
        ends_at,
    })
}

/// The engine's clock at the last event of a recording.
fn last_event(mut opened: Opened, begun: Time) -> Time {
    let mut last = begun;
    while let Ok(Some(entry)) = opened.reader.next_entry() {
        if let Entry::Event { now, .. } = entry {
            last = now;
        }
    }
    last
}
