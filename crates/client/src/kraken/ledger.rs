//! Which question to the ledger comes next, for trades that orders name and that it has not shown yet.
//!
//! A query of the engine asks one such question beside its list, so that it costs at most what the engine leaves for it
//! ([`RequestCosts::new_fills`](cambist_core::venue::RequestCosts)). Where one does not suffice, that query has no answer,
//! and the next one goes on behind what was read: a question that is repeated would use up the calls of those that are
//! still needed.

use std::collections::{BTreeMap, BTreeSet};

use cambist_core::VenueTime;

/// Most windows whose progress is kept.
const WINDOWS_MAX: usize = 16;
/// Most questions about the newest entries of a window before the times of its trades are asked for.
const NEWEST_MAX: u32 = 3;
/// How much later than the end of an order the ledger may show its last trade.
const LATER_MS: u64 = 5_000;

/// When the oldest order with missing trades was opened, and when the last of them ended; `None` if one has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Window {
    pub(super) opened: VenueTime,
    pub(super) ended: Option<VenueTime>,
}

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// A page of the ledger, newest first, behind so many entries.
    Entries {
        from: VenueTime,
        to: Option<VenueTime>,
        offset: u64,
    },
    /// When the missing trades were made.
    Times,
}

/// What was asked about a window.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Progress {
    /// So many of the newest entries were read, by so many questions; those after `to` are left out.
    Newest {
        to: Option<VenueTime>,
        read: u64,
        questions: u32,
    },
    /// The times of trades that were not read, and how many entries of the last of them were.
    Around { left: Vec<VenueTime>, read: u64 },
}

/// What was read of the windows that are not finished.
#[derive(Debug, Default)]
pub(super) struct Reading {
    windows: BTreeMap<Window, Progress>,
}

impl Window {
    fn begin(self) -> Progress {
        Progress::Newest {
            to: self.ended.map(|at| at.plus_ms(LATER_MS)),
            read: 0,
            questions: 0,
        }
    }
}

impl Reading {
    /// The next question about a window.
    pub(super) fn next(&self, window: Window) -> Question {
        let begin = window.begin();
        match self.windows.get(&window).unwrap_or(&begin) {
            Progress::Newest {
                to,
                read,
                questions,
            } if *questions < NEWEST_MAX => Question::Entries {
                from: window.opened,
                to: *to,
                offset: *read,
            },
            Progress::Around { left, read } => match left.last() {
                Some(at) => Question::Entries {
                    from: *at,
                    to: Some(*at),
                    offset: *read,
                },
                None => Question::Times,
            },
            Progress::Newest { .. } => Question::Times,
        }
    }

    /// A page had so many entries, and was the last one of the question's times or not.
    pub(super) fn read(&mut self, window: Window, entries: u64, is_last: bool) {
        let progress = self.windows.remove(&window);
        let next = match progress.unwrap_or_else(|| window.begin()) {
            // The ledger's times may be later than those of the orders.
            Progress::Newest { to: Some(_), .. } if is_last => Some(Progress::Newest {
                to: None,
                read: 0,
                questions: 0,
            }),
            // It does not show them yet.
            Progress::Newest { .. } if is_last => None,
            Progress::Newest {
                to,
                read,
                questions,
            } => Some(Progress::Newest {
                to,
                read: read.saturating_add(entries),
                questions: questions + 1,
            }),
            Progress::Around { mut left, read } => {
                let read = if is_last {
                    left.pop();
                    0
                } else {
                    read.saturating_add(entries)
                };
                (!left.is_empty()).then_some(Progress::Around { left, read })
            }
        };
        self.keep(window, next);
    }

    /// The missing trades were made at these times.
    pub(super) fn times(&mut self, window: Window, times: BTreeSet<VenueTime>) {
        let left: Vec<_> = times.into_iter().collect();
        self.windows.remove(&window);
        let next = (!left.is_empty()).then_some(Progress::Around { left, read: 0 });
        self.keep(window, next);
    }

    /// Nothing is missing of the window any more.
    pub(super) fn finished(&mut self, window: Window) {
        self.windows.remove(&window);
    }

    fn keep(&mut self, window: Window, progress: Option<Progress>) {
        let Some(progress) = progress else { return };
        // Lists that were given up; theirs begin again.
        if self.windows.len() >= WINDOWS_MAX {
            self.windows.clear();
        }
        self.windows.insert(window, progress);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Window = Window {
        opened: VenueTime(1_000),
        ended: None,
    };
    const ENDED: Window = Window {
        opened: VenueTime(1_000),
        ended: Some(VenueTime(90_000)),
    };

    fn entries(from: u64, to: Option<u64>, offset: u64) -> Question {
        Question::Entries {
            from: VenueTime(from),
            to: to.map(VenueTime),
            offset,
        }
    }

    #[test]
    fn each_question_goes_on_behind_the_last_one() {
        let mut reading = Reading::default();
        for offset in [0, 50, 100] {
            assert_eq!(reading.next(OPEN), entries(1_000, None, offset));
            reading.read(OPEN, 50, false);
        }
        assert_eq!(reading.next(OPEN), Question::Times, "they are far back");
        assert_eq!(reading.next(ENDED), entries(1_000, Some(95_000), 0));
        reading.times(OPEN, BTreeSet::from([VenueTime(7), VenueTime(9)]));
        assert_eq!(reading.next(OPEN), entries(9, Some(9), 0));
        reading.read(OPEN, 50, false);
        assert_eq!(reading.next(OPEN), entries(9, Some(9), 50));
        reading.read(OPEN, 3, true);
        assert_eq!(reading.next(OPEN), entries(7, Some(7), 0));
        reading.read(OPEN, 3, true);
        assert_eq!(reading.next(OPEN), entries(1_000, None, 0), "from new");
        assert!(reading.windows.is_empty());
    }

    #[test]
    fn a_window_that_was_read_whole_is_read_without_its_end_then_from_its_beginning() {
        let mut reading = Reading::default();
        reading.read(ENDED, 50, false);
        reading.read(ENDED, 10, true);
        assert_eq!(reading.next(ENDED), entries(1_000, None, 0));
        reading.read(ENDED, 50, false);
        assert_eq!(reading.next(ENDED), entries(1_000, None, 50));
        reading.read(ENDED, 10, true);
        assert_eq!(reading.next(ENDED), entries(1_000, Some(95_000), 0));
        assert!(reading.windows.is_empty());
    }

    #[test]
    fn trades_that_have_no_time_begin_again_and_finished_windows_are_forgotten() {
        let mut reading = Reading::default();
        reading.read(OPEN, 50, false);
        reading.times(OPEN, BTreeSet::new());
        assert_eq!(reading.next(OPEN), entries(1_000, None, 0));
        reading.read(OPEN, 50, false);
        reading.finished(OPEN);
        assert!(reading.windows.is_empty());
    }

    #[test]
    fn windows_are_bounded() {
        let mut reading = Reading::default();
        for opened in 0..100 {
            let window = Window {
                opened: VenueTime(opened),
                ended: None,
            };
            reading.read(window, 50, false);
            assert!(reading.windows.len() <= WINDOWS_MAX);
            assert_eq!(reading.next(window), entries(opened, None, 50));
        }
    }
}
