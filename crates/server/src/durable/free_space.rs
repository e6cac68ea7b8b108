//! Free space on the file system of the data folder: read at times, shown as a metric, and logged while it is low. An
//! exchange whose log cannot be written stops.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cambist_host::folder;

use crate::clock::Clock;

/// Interval between two readings.
const EVERY: Duration = Duration::from_secs(10);

/// Interval between repeated reports, milliseconds.
const AGAIN_MS: u64 = 3_600_000;

/// The free space of a data folder.
pub(crate) struct FreeSpace {
    folder: PathBuf,
    free_min_bytes: u64,
    /// The last reading; `None` while it cannot be read.
    free: Mutex<Option<u64>>,
}

impl FreeSpace {
    /// Of a folder, with a first reading. Less than `free_min_bytes` is reported; 0 reports nothing.
    pub fn new(folder: PathBuf, free_min_bytes: u64) -> Self {
        let free = Mutex::new(read(&folder));
        Self {
            folder,
            free_min_bytes,
            free,
        }
    }

    /// Bytes that the last reading found free; `None` if it failed.
    pub fn bytes(&self) -> Option<u64> {
        *self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From how many bytes on the space is no longer low.
    pub const fn min_bytes(&self) -> u64 {
        self.free_min_bytes
    }

    /// Reads it again and again, and logs what is new.
    pub async fn watch(&self, clock: &Clock) -> Infallible {
        let mut reports = Reports::default();
        loop {
            let now_ms = clock.reading().monotonic_ms;
            let news = reports.news(self.bytes(), self.free_min_bytes, now_ms);
            if let Some(news) = news {
                self.log(news);
            }
            tokio::time::sleep(EVERY).await;
            let folder = self.folder.clone();
            // A file system that hangs must not hold up the exchange.
            let found = tokio::task::spawn_blocking(move || read(&folder)).await;
            let found = found.unwrap_or_default();
            *self.free.lock().unwrap_or_else(PoisonError::into_inner) = found;
        }
    }

    fn log(&self, news: News) {
        let folder = self.folder.display();
        let least = self.free_min_bytes / 1_000_000;
        match news {
            News::Low { free } => {
                let free = free / 1_000_000;
                tracing::warn!(
                    %folder,
                    "{free} MB are free on the disk of the data folder, less than data.free_min_mb = {least}: the exchange stops when its log cannot be written; free space, or lower data.keep_mb"
                );
            }
            News::Enough { free } => {
                let free = free / 1_000_000;
                tracing::info!(%folder, "{free} MB are free again on the disk of the data folder");
            }
            News::Unread => tracing::warn!(
                %folder,
                "the free space on the disk of the data folder cannot be read; check that the folder is still mounted"
            ),
        }
    }
}

fn read(path: &std::path::Path) -> Option<u64> {
    folder::free_bytes(path).ok()
}

/// What a reading reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    Low { free: u64 },
    Enough { free: u64 },
    Unread,
}

/// What was reported.
#[derive(Debug, Default)]
struct Reports {
    is_low: bool,
    /// Monotonic times of the last report of too little space, and of one that could not be read.
    low_ms: Option<u64>,
    unread_ms: Option<u64>,
}

impl Reports {
    fn news(&mut self, free: Option<u64>, free_min: u64, now_ms: u64) -> Option<News> {
        let is_due = |last: &mut Option<u64>| {
            let due = last.is_none_or(|last| now_ms.saturating_sub(last) >= AGAIN_MS);
            if due {
                *last = Some(now_ms);
            }
            due
        };
        let Some(free) = free else {
            return (free_min > 0 && is_due(&mut self.unread_ms)).then_some(News::Unread);
        };
        if free < free_min {
            self.is_low = true;
            return is_due(&mut self.low_ms).then_some(News::Low { free });
        }
        // Space that comes and goes around the bound is no news each time.
        if self.is_low && free >= free_min.saturating_add(free_min / 10) {
            self.is_low = false;
            self.low_ms = None;
            return Some(News::Enough { free });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_space_is_reported_at_once_and_every_hour_until_there_is_enough() {
        let mut reports = Reports::default();
        let mut at = |free: u64, now_ms: u64| reports.news(Some(free), 1_000, now_ms);
        // Both sides of the bounds.
        assert_eq!(at(1_000, 0), None);
        assert_eq!(at(999, 10), Some(News::Low { free: 999 }));
        assert_eq!(at(500, 20), None);
        assert_eq!(at(500, 10 + AGAIN_MS - 1), None);
        assert_eq!(at(400, 10 + AGAIN_MS), Some(News::Low { free: 400 }));
        // Around the bound.
        assert_eq!(at(1_099, 20 + AGAIN_MS), None);
        assert_eq!(at(999, 30 + AGAIN_MS), None);
        let enough = Some(News::Enough { free: 1_100 });
        assert_eq!(at(1_100, 40 + AGAIN_MS), enough);
        assert_eq!(at(1_100, 50 + AGAIN_MS), None);
        let again = Some(News::Low { free: 999 });
        assert_eq!(at(999, 60 + AGAIN_MS), again, "there was enough");
        assert_eq!(at(999, 60 + 2 * AGAIN_MS - 1), None);
        assert_eq!(at(999, 60 + 2 * AGAIN_MS), again);
    }

    #[test]
    fn space_that_cannot_be_read_is_neither_little_nor_enough() {
        let mut reports = Reports::default();
        assert_eq!(reports.news(None, 1_000, 0), Some(News::Unread));
        assert_eq!(reports.news(None, 1_000, AGAIN_MS - 1), None);
        assert_eq!(reports.news(None, 1_000, AGAIN_MS), Some(News::Unread));
        let low = Some(News::Low { free: 0 });
        assert_eq!(reports.news(Some(0), 1_000, AGAIN_MS), low);
        assert_eq!(reports.news(None, 1_000, AGAIN_MS + 1), None);
        for free in [Some(0), None] {
            let nothing = Reports::default().news(free, 0, 0);
            assert_eq!(nothing, None, "a bound of 0 reports nothing");
        }
    }

    #[test]
    fn a_folder_that_is_gone_has_no_reading() {
        let here = FreeSpace::new(std::env::temp_dir(), 1);
        assert!(here.bytes().is_some());
        let gone = FreeSpace::new(std::env::temp_dir().join("cambist-no-such-folder"), 1);
        assert_eq!(gone.bytes(), None);
    }
}
