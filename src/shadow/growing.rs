//! Segments of a tape that another process is writing: reading waits at the end of the newest one.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cambist_tape::{Folder, Shelf};

/// Between two looks at a file that does not grow.
const PAUSE: Duration = Duration::from_millis(20);

/// The segments of a folder, from the newest on.
pub(super) struct Growing {
    folder: PathBuf,
    /// Number of the segment that was opened last.
    last: Option<u64>,
    stop: Arc<AtomicBool>,
    caught_up: Arc<AtomicBool>,
}

/// A segment, which ends when there is a later one.
pub(super) struct GrowingFile {
    file: File,
    folder: PathBuf,
    number: u64,
    stop: Arc<AtomicBool>,
    caught_up: Arc<AtomicBool>,
}

impl Growing {
    pub(super) fn new(folder: &Path, stop: Arc<AtomicBool>) -> Self {
        Self {
            folder: folder.to_owned(),
            last: None,
            stop,
            caught_up: Arc::default(),
        }
    }

    /// Whether everything written so far was read once.
    pub(super) fn has_caught_up(&self) -> bool {
        self.caught_up.load(Ordering::Acquire)
    }

    /// The next segment, which is waited for; `None` once it was asked to stop. Also whether segments between the last
    /// one and this one were removed unread.
    pub(super) fn next(&mut self) -> io::Result<Option<(GrowingFile, bool)>> {
        loop {
            if self.stop.load(Ordering::Acquire) {
                return Ok(None);
            }
            let found = numbers(&self.folder)?;
            let next = match self.last {
                None => found.last().copied(),
                Some(last) => found.into_iter().find(|number| *number > last),
            };
            let Some(number) = next else {
                self.caught_up.store(true, Ordering::Release);
                std::thread::sleep(PAUSE);
                continue;
            };
            let missed = self.last.is_some_and(|last| number > last + 1);
            self.last = Some(number);
            let file = match File::open(Folder::new(&self.folder).file(number)) {
                // Removed by age between the two calls.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            let opened = GrowingFile {
                file,
                folder: self.folder.clone(),
                number,
                stop: Arc::clone(&self.stop),
                caught_up: Arc::clone(&self.caught_up),
            };
            return Ok(Some((opened, missed)));
        }
    }
}

/// Numbers of segments, lowest first; none while the folder does not exist.
fn numbers(folder: &Path) -> io::Result<Vec<u64>> {
    match Folder::new(folder).list() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        found => Ok(found?.iter().map(|segment| segment.number).collect()),
    }
}

impl Read for GrowingFile {
    /// Waits for bytes; 0 means that the segment is complete, or that reading was asked to stop.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let got = self.file.read(buffer)?;
            if got > 0 || buffer.is_empty() || self.stop.load(Ordering::Acquire) {
                return Ok(got);
            }
            let is_last = numbers(&self.folder)?
                .last()
                .is_none_or(|last| *last <= self.number);
            if !is_last {
                // What was written before the later segment was begun.
                return self.file.read(buffer);
            }
            self.caught_up.store(true, Ordering::Release);
            std::thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::io::Write;

    use super::*;

    #[test]
    fn a_segment_is_read_as_it_grows_and_ends_with_the_next_one() {
        let dir = std::env::temp_dir().join(format!("cambist-growing-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let folder = Folder::new(&dir);
        let mut first = File::create(folder.file(1)).unwrap();
        first.write_all(b"ab").unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let mut growing = Growing::new(&dir, Arc::clone(&stop));
        let (mut file, missed) = growing.next().unwrap().unwrap();
        assert!(!missed && !growing.has_caught_up());
        let (sender, bytes) = std::sync::mpsc::channel();
        let reading = std::thread::spawn(move || {
            let mut byte = [0];
            while file.read(&mut byte).unwrap() > 0 {
                sender.send(byte[0]).unwrap();
            }
        });
        assert_eq!(bytes.recv().unwrap(), b'a');
        assert_eq!(bytes.recv().unwrap(), b'b');
        // The reader waits for more: only then everything was read once.
        let waits = (0..500).any(|_| {
            std::thread::sleep(PAUSE);
            growing.has_caught_up()
        });
        assert!(waits);
        first.write_all(b"c").unwrap();
        assert_eq!(bytes.recv().unwrap(), b'c');
        // Written before the later segment was begun, and read although there is one.
        first.write_all(b"d").unwrap();
        File::create(folder.file(3)).unwrap();
        assert_eq!(bytes.recv().unwrap(), b'd');
        reading.join().unwrap();
        let (mut file, missed) = growing.next().unwrap().unwrap();
        assert!(missed, "the second segment was never there");
        stop.store(true, Ordering::Release);
        assert_eq!(file.read(&mut [0]).unwrap(), 0);
        assert!(growing.next().unwrap().is_none());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
