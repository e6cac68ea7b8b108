//! A data folder: creating an exchange in it, recovering one, and continuing its log.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use cambist_core::VenueTime;
use cambist_venue::Venue;
use cambist_venue::agents::Agents;

use crate::durable::archive::Retention;
use crate::durable::commit::Log;
use crate::durable::disk::{Disk, Folder};
use crate::durable::files::{Files, segment_name};
use crate::durable::free_space::FreeSpace;
use crate::durable::generations::{GENERATIONS, Generations, Inventory};
use crate::durable::log_format::{FolderId, Opening, Place};
use crate::durable::log_writer::Writer;
use crate::durable::manifest::{MANIFEST, Manifest};
use crate::durable::recover::{Recovered, no_snapshot, recover};
use crate::durable::{DataError, RecoveryFacts, io_in, io_of, snapshot, snapshotter, upgrade};
use crate::state::State;

/// Bytes of a segment.
pub(super) const SEGMENT_BYTES: usize = 32 << 20;

/// Free space below which a folder is reported, unless set otherwise.
const FREE_MIN_BYTES: u64 = 1_000_000_000;

/// A folder locked by this process.
pub struct DataFolder {
    disk: Arc<dyn Disk>,
    /// Of a folder of the file system.
    path: Option<PathBuf>,
    free_min_bytes: u64,
    segment_bytes: usize,
    retention: Retention,
    time_bound: Option<TimeBound>,
}

/// How far the exchange's time may be ahead of the system clock at a start.
#[derive(Clone, Copy, Debug)]
struct TimeBound {
    wall: VenueTime,
    ahead_max_ms: u64,
}

/// An exchange that writes every input before it is answered.
pub struct Durable {
    pub(crate) state: State,
    pub(crate) log: Log,
    /// Of a folder of the file system.
    pub(crate) free_space: Option<FreeSpace>,
    facts: RecoveryFacts,
}

/// A `Durable` before its threads are started.
pub(super) struct Ready {
    pub state: State,
    pub writer: Writer,
    pub facts: RecoveryFacts,
}

impl DataFolder {
    /// Locks a folder, creating it if necessary, for one process.
    pub fn take(path: &Path) -> Result<Self, DataError> {
        let folder = Self::on(Arc::new(Folder::take(path)?), SEGMENT_BYTES);
        Ok(Self {
            path: Some(path.to_owned()),
            ..folder
        })
    }

    pub(crate) fn on(disk: Arc<dyn Disk>, segment_bytes: usize) -> Self {
        Self {
            disk,
            path: None,
            free_min_bytes: FREE_MIN_BYTES,
            segment_bytes,
            retention: Retention::default(),
            time_bound: None,
        }
    }

    /// Sets the size of segments; a snapshot is made at the beginning of a segment.
    #[must_use]
    pub fn with_segment_bytes(mut self, bytes: usize) -> Self {
        self.segment_bytes = bytes;
        self
    }

    /// Sets how much history is kept beyond what a start needs.
    #[must_use]
    pub const fn with_retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// Sets the free space below which the folder is reported; 0 reports nothing.
    #[must_use]
    pub const fn with_free_min(mut self, bytes: u64) -> Self {
        self.free_min_bytes = bytes;
        self
    }

    /// Refuses an exchange whose time is more than `ahead_max_ms` ahead of `wall`, the system clock.
    #[must_use]
    pub const fn with_time_bound(mut self, wall: VenueTime, ahead_max_ms: u64) -> Self {
        self.time_bound = Some(TimeBound { wall, ahead_max_ms });
        self
    }

    /// Recovers the exchange in the folder; `None` if there is none.
    pub fn recover(&self) -> Result<Option<Durable>, DataError> {
        self.resume()?.map(|ready| self.start(ready)).transpose()
    }

    /// Creates an exchange in the folder.
    pub fn begin(&self, venue: Venue, agents: Vec<Agents>) -> Result<Durable, DataError> {
        self.start(self.create(State::new(venue, agents))?)
    }

    /// Recovers the exchange and prepares the end of the log for writing.
    pub(super) fn resume(&self) -> Result<Option<Ready>, DataError> {
        let disk = &*self.disk;
        let files = Files::of(disk)?;
        if !files.partial.is_empty() {
            self.remove(&files.partial)?;
            // Durable before a file of the same name is created and renamed.
            let gone = self.disk.sync_folder();
            gone.map_err(io_in(&*self.disk, "syncing"))?;
        }
        if files.snapshots.is_empty() {
            // If there was an exchange, none is created over its remains.
            match no_snapshot(&*self.disk, &files)? {
                DataError::Empty { .. } => {}
                lost => return Err(lost),
            }
            self.remove_incomplete(&files)?;
            return Ok(None);
        }
        let recovered = recover(&*self.disk, None)?;
        self.check_time(recovered.state.venue.now())?;
        upgrade::copy(&*self.disk, &recovered)?;
        self.settle(&recovered)?;
        // Before the manifest, which refers to it.
        Generations::renew(disk, recovered.folder)?;
        let writer = self.writer(recovered.folder, recovered.place)?;
        upgrade::write_down(&*self.disk, &recovered)?;
        self.shorten(&recovered, writer.place())?;
        upgrade::drop_keys(&*self.disk, &recovered)?;
        Generations::renew(disk, recovered.folder)?;
        let mut facts = recovered.facts;
        facts.missing = Inventory::of(disk)?.logged().missing;
        Ok(Some(Ready {
            writer,
            state: recovered.state,
            facts,
        }))
    }

    /// Checked before anything is written, so that a wrong clock is not adopted silently.
    fn check_time(&self, now: VenueTime) -> Result<(), DataError> {
        let Some(TimeBound { wall, ahead_max_ms }) = self.time_bound else {
            return Ok(());
        };
        let ahead_ms = now.ms_since(wall);
        if ahead_ms <= ahead_max_ms {
            return Ok(());
        }
        Err(DataError::TimeAhead {
            folder: self.disk.name(),
            ahead_s: ahead_ms.div_ceil(1_000),
            max_s: ahead_max_ms / 1_000,
        })
    }

    /// Writes the first files of a new exchange.
    pub(super) fn create(&self, state: State) -> Result<Ready, DataError> {
        let disk = &*self.disk;
        if Files::of(disk)? != Files::default() {
            return Err(DataError::NotEmpty {
                folder: disk.name(),
            });
        }
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(|error| {
            DataError::io(
                "random number generator of the system",
                io::Error::other(error),
            )
        })?;
        let (folder, place) = (FolderId(id), Place::ORIGIN);
        // Before the manifest, which refers to it.
        Generations::new(folder, 0, vec![0]).write(disk)?;
        // The log before the snapshot: a snapshot without a log could be one whose log was lost.
        let writer = self.writer(folder, place)?;
        snapshot::write(disk, &Opening { folder, place }, &state)
            .map_err(io_in(disk, "writing the first snapshot in"))?;
        Ok(Ready {
            state,
            writer,
            facts: RecoveryFacts::default(),
        })
    }

    /// Makes the end of the log durable, because what was read may have been in memory only: the last frame is written
    /// again, and zeros over an incomplete one. The segment keeps its length until there is a newer one.
    fn settle(&self, recovered: &Recovered) -> Result<(), DataError> {
        let name = segment_name(recovered.last.position);
        let bytes = self.disk.read(&name).map_err(io_of(&*self.disk, &name))?;
        let good = recovered.last.good_bytes.min(bytes.len());
        let again = recovered.last.final_frame.unwrap_or(0);
        let torn = recovered.last.torn_bytes;
        let rewrite = || {
            let mut file = self.disk.open(&name)?;
            file.write_at(again as u64, &bytes[again..good])?;
            if torn > 0 {
                file.write_at(good as u64, &vec![0; torn])?;
            }
            file.sync()
        };
        rewrite().map_err(io_of(&*self.disk, &name))
    }

    /// Truncates the previous segment to its content, now that a new one exists.
    fn shorten(&self, recovered: &Recovered, segment_start: Place) -> Result<(), DataError> {
        let last = &recovered.last;
        if last.position == segment_start.position {
            return Ok(());
        }
        let name = segment_name(last.position);
        let shorten = || {
            let mut file = self.disk.open(&name)?;
            file.truncate(last.good_bytes.min(last.bytes) as u64)?;
            file.sync()
        };
        shorten().map_err(io_of(&*self.disk, &name))
    }

    fn writer(&self, folder: FolderId, place: Place) -> Result<Writer, DataError> {
        Writer::begin(Arc::clone(&self.disk), folder, place, self.segment_bytes)
            .map_err(io_in(&*self.disk, "creating a new segment of the log in"))
    }

    pub(super) fn start(&self, ready: Ready) -> Result<Durable, DataError> {
        let Ready {
            state,
            writer,
            facts,
        } = ready;
        let (segment_start, segments) = sync_channel(1);
        let snapshots = snapshotter::start(Arc::clone(&self.disk), self.retention, segments)
            .map_err(io_in(&*self.disk, "starting the thread that writes to"))?;
        // Many restarts must not accumulate a long replay.
        let _ = segment_start.try_send(writer.place().position);
        Ok(Durable {
            state,
            log: Log::start(writer, segment_start, snapshots),
            free_space: self
                .path
                .clone()
                .map(|path| FreeSpace::new(path, self.free_min_bytes)),
            facts,
        })
    }

    /// Removes the files of an interrupted creation, the manifest first: a manifest without its log would mean that the
    /// log was lost.
    fn remove_incomplete(&self, files: &Files) -> Result<(), DataError> {
        if Manifest::read(&*self.disk)?.is_some() {
            self.remove(&[MANIFEST.to_owned()])?;
            let gone = self.disk.sync_folder();
            gone.map_err(io_in(&*self.disk, "syncing"))?;
        }
        let mut names: Vec<_> = files.segments.iter().copied().map(segment_name).collect();
        let all = self.disk.list().map_err(io_in(&*self.disk, "listing"))?;
        names.extend(all.into_iter().filter(|name| name == GENERATIONS));
        self.remove(&names)
    }

    fn remove(&self, names: &[String]) -> Result<(), DataError> {
        for name in names {
            self.disk.remove(name).map_err(io_of(&*self.disk, name))?;
        }
        Ok(())
    }
}

impl Durable {
    /// The venue.
    pub const fn venue(&self) -> &Venue {
        &self.state.venue
    }

    /// Statistics of the recovery; all zero for a new exchange.
    pub const fn facts(&self) -> &RecoveryFacts {
        &self.facts
    }
}
