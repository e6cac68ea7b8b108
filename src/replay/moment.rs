//! Replays a recording up to one moment: restores the nearest snapshot before it, and passes the events in between to
//! the engine.

use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_core::action::Action;
use cambist_core::event::Event;
use cambist_core::inspection::Inspection;
use cambist_core::{Time, VenueTime};
use cambist_tape::{Difference, Entry, Header, first_difference};

use super::find::{Opened, open, search};
use super::recordings;
use cambist_host::times;

/// A running daemon handles an event at least every second: a longer gap than this means that nothing was recorded.
const SILENCE_MAX_MS: u64 = 10_000;

/// The engine at one moment of a recording.
#[derive(Debug)]
pub struct Moment {
    /// The recording.
    pub path: PathBuf,
    /// Older recordings that contain the moment as well, newest first: a clock was set back between them.
    pub also_in: Vec<PathBuf>,
    /// Its header.
    pub header: Header,
    /// Number of events between its beginning and the moment.
    pub events: u64,
    /// The exchange's time of the last event.
    pub last_event: VenueTime,
    /// The first event after which this program's engine acted differently from the recorded one. The state is then
    /// this program's.
    pub difference: Option<Difference>,
    /// State and targets of the engine.
    pub inspection: Inspection,
}

/// The engine of the recordings at `path` at a time of the exchange.
pub fn at(path: &Path, at: VenueTime) -> anyhow::Result<Moment> {
    let files = recordings(path)?;
    let found = search(&files, at)?;
    let moment = if let Some(file) = &found.path {
        until(file, at, found.next)
    } else {
        let since = found.first.map_or_else(
            || "it holds no event".to_owned(),
            |first| format!("the recording begins at {}", iso_ms(first)),
        );
        Err(anyhow::anyhow!(
            "{}: nothing was recorded at {}: {since}",
            path.display(),
            iso_ms(at)
        ))
    };
    let also_in = found.also;
    moment
        .map(|moment| Moment { also_in, ..moment })
        .map_err(|error| match found.unread {
            Some((count, why)) => anyhow::anyhow!(
                "{error:#}; {count} recordings could not be read, the first because of: {why:#}"
            ),
            None => error,
        })
}

/// The state of one recording. That after an event which moved the exchange's clock beyond the time is later than the time:
/// only the events before it are passed then.
fn until(file: &Path, at: VenueTime, next: Option<VenueTime>) -> anyhow::Result<Moment> {
    let moment = run(open(file)?, at, next, u64::MAX)?;
    if moment.last_event <= at {
        return Ok(moment);
    }
    let before = run(open(file)?, at, next, moment.events.saturating_sub(1))?;
    if before.last_event > at {
        anyhow::bail!(
            "{}: nothing was recorded at {}: the recording begins at {}",
            file.display(),
            iso_ms(at),
            iso_ms(before.last_event)
        );
    }
    Ok(before)
}

/// Passes the events from before `at`, and at most so many.
fn run(
    mut opened: Opened,
    at: VenueTime,
    next: Option<VenueTime>,
    events_max: u64,
) -> anyhow::Result<Moment> {
    let name = opened.path.display().to_string();
    let mut run = Run::default();
    let mut pending: Option<(Time, Event)> = None;
    let mut reached = false;
    loop {
        let entry = match opened.ahead.take() {
            Some(entry) => Some(entry),
            None => opened.reader.next_entry().with_context(|| name.clone())?,
        };
        match entry {
            None => break,
            Some(Entry::Event { now, event }) => {
                let clock = opened.player.engine();
                let clock = clock.and_then(|engine| engine.venue_time(now));
                if run.events == events_max || clock.is_some_and(|clock| clock > at) {
                    reached = true;
                    break;
                }
                pending = Some((now, event));
            }
            Some(Entry::Actions { actions }) => {
                if let Some((now, event)) = pending.take() {
                    run.take(&mut opened, now, &event, &actions);
                }
            }
        }
    }
    if let Some(failure) = opened.player.failure() {
        anyhow::bail!("{name}: {failure}");
    }
    let engine = opened.player.engine();
    let last = engine.and_then(cambist_core::Engine::last_event_at);
    let (last_at, last_event) = last.with_context(|| format!("{name}: it holds no event"))?;
    let silent_ms = at.ms_since(last_event);
    if !reached && silent_ms > SILENCE_MAX_MS {
        let next = next.map_or_else(String::new, |next| {
            format!("; the next one begins at {}", iso_ms(next))
        });
        anyhow::bail!(
            "{name}: nothing was recorded at {}: the recording ends at {}{next}",
            iso_ms(at),
            iso_ms(last_event)
        );
    }
    let inspection = opened.player.inspect(last_at.plus_ms(silent_ms))?;
    Ok(Moment {
        path: opened.path,
        also_in: Vec::new(),
        header: opened.reader.header().clone(),
        events: run.events,
        last_event,
        difference: run.difference,
        inspection: inspection.with_context(|| format!("{name}: it holds no event"))?,
    })
}

#[derive(Default)]
struct Run {
    events: u64,
    difference: Option<Difference>,
    got: Vec<Action>,
}

impl Run {
    fn take(&mut self, opened: &mut Opened, now: Time, event: &Event, expected: &[Action]) {
        self.got.clear();
        opened.player.handle_event(now, event, &mut self.got);
        if self.difference.is_none() {
            self.difference = first_difference(self.events, (now, event), expected, &self.got);
        }
        self.events += 1;
    }
}

/// Formats a time as `2026-01-31T12:00:00.250Z`.
pub fn iso_ms(time: VenueTime) -> String {
    let whole = times::iso(time.as_s());
    let seconds = whole.trim_end_matches('Z');
    format!("{seconds}.{:03}Z", time.0 % 1_000)
}
