//! What the counter of a key at the venue holds at most, over restarts: a start may use what an earlier run left of it.
//!
//! The state folder has a file with the number and the time of it, written before each request that counts. It survives a
//! kill and need not be synced: until a host has started again, the counter is empty. Times are those since the start of
//! the host, which no clock change moves. Where nothing is known of a key that was used, it is full, after another run of the
//! host at the beginning of this one.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cambist_host::clock::Clock;
use cambist_kraken_venue::rules::{CALL, START_CALLS, Tier};

/// The file in the state folder.
const FILE: &str = "calls-account";
/// Where Linux names the present run of the host.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// Digits of each number in the file, so that every content has the same length.
const DIGITS: usize = 20;
/// Longest file that is read.
const BYTES_MAX: u64 = 256;

/// The calls that a key made.
#[derive(Debug)]
pub struct KeyCalls {
    clock: Clock,
    tier: Tier,
    /// The present run of the host; `None` if it has no name, so that nothing is known after this process.
    boot: Option<String>,
    counter: Mutex<Counter>,
    file: Option<File>,
}

/// Millionths of a hundredth of a call, when they were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counter {
    parts: u64,
    at: Duration,
}

/// What a file of an earlier process holds.
enum Kept {
    Counter(Counter),
    /// What the counter held has fallen since this run of the host began.
    BeforeThisBoot,
}

/// Parts of a hundredth of a call.
const PARTS: u64 = 1_000_000;

impl Counter {
    /// What is left of it at `now`.
    fn at(self, now: Duration, tier: Tier) -> Self {
        let (_, per_s) = tier.calls();
        let us = now.saturating_sub(self.at).as_micros();
        let us = u64::try_from(us).unwrap_or(u64::MAX);
        let forgotten = us.saturating_mul(per_s.into());
        Self {
            parts: self.parts.saturating_sub(forgotten),
            at: now.max(self.at),
        }
    }

    /// With calls that are about to be made. No more than the counter at the venue holds: refused calls are not counted
    /// there. Those that are on their way when it is full are covered by what a tier leaves unused.
    fn with(self, parts: u64, tier: Tier) -> Self {
        let most = u64::from(tier.counter_most()) * PARTS;
        Self {
            parts: self.parts.saturating_add(parts).min(most),
            ..self
        }
    }

    /// Hundredths of a call, rounded up.
    fn hundredths(self) -> u32 {
        u32::try_from(self.parts.div_ceil(PARTS)).unwrap_or(u32::MAX)
    }
}

impl KeyCalls {
    /// Goes on with what earlier processes counted; a key that was not used before made no calls. The state folder has to be
    /// locked.
    pub fn open(folder: &Path, tier: Tier, was_used: bool) -> Self {
        let boot = std::fs::read_to_string(BOOT_ID);
        let boot = boot.ok().map(|id| id.trim().to_owned());
        Self::open_at(folder, tier, was_used, boot)
    }

    fn open_at(folder: &Path, tier: Tier, was_used: bool, boot: Option<String>) -> Self {
        let clock = Clock::new();
        let now = clock.since_boot();
        let path = folder.join(FILE);
        let (most, _) = tier.calls();
        let full = |at| Counter {
            parts: u64::from(most) * PARTS,
            at,
        };
        let counter = match boot.as_deref().and_then(|boot| read(&path, boot, now)) {
            // Earlier programs counted refused calls as well.
            Some(Kept::Counter(counter)) => counter.with(0, tier),
            Some(Kept::BeforeThisBoot) => full(Duration::ZERO),
            None if was_used => full(now),
            None => Counter { parts: 0, at: now },
        };
        Self {
            clock,
            tier,
            file: boot.as_ref().and_then(|_| open(&path)),
            boot,
            counter: Mutex::new(counter),
        }
    }

    /// Counts calls that are about to be made.
    pub fn add(&self, calls: u32) {
        let mut counter = self.counter();
        let added = u64::from(calls) * u64::from(CALL) * PARTS;
        let now = self.clock.since_boot();
        *counter = counter.at(now, self.tier).with(added, self.tier);
        let (Some(file), Some(boot)) = (&self.file, &self.boot) else {
            return;
        };
        let us = counter.at.as_micros();
        let text = format!("{boot} {us:0DIGITS$} {:0DIGITS$}\n", counter.parts);
        if let Err(error) = file.write_all_at(text.as_bytes(), 0) {
            tracing::debug!(%error, "the calls of the key are not kept: a restart waits for its counter");
        }
    }

    /// What is left of the budget, in hundredths of a call.
    pub fn left(&self) -> u32 {
        let (most, _) = self.tier.calls();
        most.saturating_sub(self.counted())
    }

    /// How long a start waits before its questions, so that the counter takes them.
    pub fn wait(&self) -> Duration {
        let (most, per_s) = self.tier.calls();
        let too_many = (self.counted() + START_CALLS * CALL).saturating_sub(most);
        Duration::from_millis(u64::from(too_many) * 1_000 / u64::from(per_s))
    }

    fn counted(&self) -> u32 {
        let now = self.clock.since_boot();
        self.counter().at(now, self.tier).hundredths()
    }

    fn counter(&self) -> MutexGuard<'_, Counter> {
        self.counter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(path: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false).mode(0o600);
    match options.open(path) {
        Ok(file) => Some(file),
        Err(error) => {
            tracing::warn!(%error, "{}: the calls of the key are not kept: a restart waits for its counter", path.display());
            None
        }
    }
}

/// What a file holds; `None` if there is none, or if it was not written whole.
fn read(path: &Path, boot: &str, now: Duration) -> Option<Kept> {
    let length = std::fs::metadata(path).ok()?.len();
    if length > BYTES_MAX {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let mut words = text.strip_suffix('\n')?.split(' ');
    let (of, us, parts) = (words.next()?, words.next()?, words.next()?);
    let number = |word: &str| {
        let is_number = word.len() == DIGITS && word.bytes().all(|byte| byte.is_ascii_digit());
        word.parse::<u64>().ok().filter(|_| is_number)
    };
    let counter = Counter {
        parts: number(parts)?,
        at: Duration::from_micros(number(us)?),
    };
    if words.next().is_some() {
        return None;
    }
    if of != boot {
        return Some(Kept::BeforeThisBoot);
    }
    (counter.at <= now).then_some(Kept::Counter(counter))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::testing::private_folder;

    const BOOT: &str = "11111111-2222-3333-4444-555555555555";
    const TIER: Tier = Tier::Starter;

    fn opened(folder: &Path, boot: &str) -> KeyCalls {
        KeyCalls::open_at(folder, TIER, true, Some(boot.to_owned()))
    }

    #[test]
    fn what_was_counted_is_known_after_a_kill_and_falls_at_the_tier_s_rate() {
        let folder = private_folder();
        let (most, per_s) = TIER.calls();
        let text = |at: Duration, calls: u64| {
            let us = at.as_micros();
            let parts = calls * u64::from(CALL) * PARTS;
            format!("{BOOT} {us:020} {parts:020}\n")
        };
        let path = folder.path().join(FILE);
        let now = Clock::new().since_boot();
        std::fs::write(&path, text(now, 3)).unwrap();
        let calls = opened(folder.path(), BOOT);
        let counted = calls.counted();
        assert!((290..=300).contains(&counted), "{counted}");
        assert!((most - 300..=most - 290).contains(&calls.left()));
        assert_eq!(calls.wait(), Duration::ZERO);
        calls.add(6);
        // As after a kill: nothing is written at an end.
        let again = opened(folder.path(), BOOT);
        let counted = again.counted();
        assert!((880..=900).contains(&counted), "{counted}");
        let wait_ms = u64::from(counted + START_CALLS * CALL - most) * 1_000 / u64::from(per_s);
        let found = again.wait();
        assert!(
            found <= Duration::from_millis(wait_ms) && !found.is_zero(),
            "{found:?}"
        );
        let ago = now.saturating_sub(Duration::from_secs(6));
        if ago < now {
            std::fs::write(&path, text(ago, 3)).unwrap();
            let counted = opened(folder.path(), BOOT).counted();
            let least = 300 - 6 * per_s;
            assert!((least - 10..=least).contains(&counted), "{counted}");
        }
    }

    #[test]
    fn where_nothing_is_known_of_a_key_that_was_used_the_counter_is_full() {
        let folder = private_folder();
        let path = folder.path().join(FILE);
        let (most, _) = TIER.calls();
        let known = |boot: &str| opened(folder.path(), boot).counted();
        let is_full = |counted: u32| (most - 10..=most).contains(&counted);
        assert!(is_full(known(BOOT)), "there is no file");
        opened(folder.path(), BOOT).add(1);
        let whole = std::fs::read_to_string(&path).unwrap();
        assert!(known(BOOT) > most);
        let later = whole.replacen(" 0", " 9", 1);
        let longer = whole.repeat(9);
        for damaged in [&whole[..whole.len() - 1], "", "x\n", &later, &longer] {
            std::fs::write(&path, damaged).unwrap();
            assert!(is_full(known(BOOT)), "{damaged}");
        }
        let without_name = KeyCalls::open_at(folder.path(), TIER, true, None);
        assert!(is_full(without_name.counted()));
        without_name.add(1);
        assert!(without_name.counted() > most);
        std::fs::remove_file(&path).unwrap();
        let new = KeyCalls::open_at(folder.path(), TIER, false, Some(BOOT.to_owned()));
        assert_eq!(new.counted(), 0, "a key that was not used before");
    }

    /// The venue does not count what it refuses, so that its counter is full at most.
    #[test]
    fn refused_calls_do_not_lift_it_above_what_the_venue_counts() {
        for tier in Tier::ALL {
            let folder = private_folder();
            let open = || KeyCalls::open_at(folder.path(), tier, true, Some(BOOT.to_owned()));
            let most = tier.counter_most();
            let is_full = |calls: &KeyCalls| (most - 10..=most).contains(&calls.counted());
            let calls = open();
            for _ in 0..500 {
                calls.add(2);
            }
            assert!(is_full(&calls), "{tier:?}: {}", calls.counted());
            assert!(is_full(&open()), "as after a kill");
            // The venue has forgotten so much of a full counter when the questions of a start fit.
            let (used, per_s) = tier.calls();
            let longest = u64::from(most + START_CALLS * CALL - used) * 1_000 / u64::from(per_s);
            assert!(open().wait() <= Duration::from_millis(longest));
            let us = Clock::new().since_boot().as_micros();
            let parts = 900 * u64::from(CALL) * PARTS;
            let text = format!("{BOOT} {us:020} {parts:020}\n");
            std::fs::write(folder.path().join(FILE), text).unwrap();
            assert!(is_full(&open()), "of an earlier program");
        }
    }

    /// Such as after the host was started again: it was full at most when that began.
    #[test]
    fn a_counter_of_another_run_of_the_host_falls_since_this_one_began() {
        let folder = private_folder();
        opened(folder.path(), "another").add(9);
        let calls = opened(folder.path(), BOOT);
        let full = Counter {
            parts: u64::from(TIER.calls().0) * PARTS,
            at: Duration::ZERO,
        };
        let after = |s| full.at(Duration::from_secs(s), TIER).hundredths();
        assert_eq!(*calls.counter(), full);
        assert_eq!(after(0), TIER.calls().0);
        assert_eq!(after(10), TIER.calls().0 - 10 * TIER.calls().1);
        assert_eq!(after(100), 0);
    }

    #[test]
    fn a_start_waits_until_its_questions_fit() {
        let folder = private_folder();
        let calls = KeyCalls::open_at(folder.path(), TIER, false, Some(BOOT.to_owned()));
        let (most, per_s) = TIER.calls();
        assert_eq!(calls.left(), most);
        calls.add(most / CALL - START_CALLS);
        assert_eq!(calls.wait(), Duration::ZERO, "they just fit");
        calls.add(1);
        let most_ms = u64::from(CALL * 1_000 / per_s);
        let wait = calls.wait().as_millis();
        assert!(
            wait <= most_ms.into() && wait + 100 > most_ms.into(),
            "{wait}"
        );
        calls.add(START_CALLS);
        assert_eq!(calls.left(), 0, "what exceeds it is nothing");
    }
}
