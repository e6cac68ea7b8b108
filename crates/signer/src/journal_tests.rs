#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::testing::{ETH, rules};

const BOOT: [u8; 16] = [7; 16];
const OTHER: [u8; 16] = [8; 16];

struct Folder(tempfile::TempDir);

impl Folder {
    /// A folder with the record of a signer that has signed nothing.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        init(folder.path(), false, now_s()).unwrap();
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.path().join(FILE)
    }

    fn open(&self, boot: [u8; 16]) -> Result<(Journal, Usage), JournalError> {
        Journal::open(self.0.path(), &rules(), boot, now_s())
    }

    /// What counts of a token after a start in a boot.
    fn used(&self, boot: [u8; 16]) -> [u128; 2] {
        self.open(boot).unwrap().1.used(1)
    }
}

/// The file's times are those of the host.
fn now_s() -> u64 {
    cambist_host::clock::Clock::new().unix_micros() / 1_000_000
}

fn entry(number: u8, amount: u128) -> Entry {
    Entry {
        hash: [number; 32],
        token: 1,
        amount,
        valid_until_s: now_s() + 100,
        at_s: now_s(),
    }
}

fn record_of(journal: &mut Journal, entries: &[Entry]) {
    journal.record(&rules(), entries, now_s()).unwrap();
}

#[test]
fn a_start_in_the_same_boot_finds_what_was_signed() {
    let folder = Folder::new();
    let (mut journal, usage) = folder.open(BOOT).unwrap();
    assert_eq!(usage.used(1), [0, 0]);
    record_of(&mut journal, &[entry(1, ETH)]);
    record_of(&mut journal, &[entry(2, 2 * ETH)]);
    drop(journal);
    let (journal, usage) = folder.open(BOOT).unwrap();
    assert_eq!(usage.used(1), [3 * ETH, 3 * ETH]);
    assert!(usage.knows(&[1; 32]) && usage.knows(&[2; 32]));
    drop(journal);
    assert_eq!(folder.used(BOOT), [3 * ETH, 3 * ETH], "and again");
}

#[test]
fn after_a_loss_of_power_the_rest_of_the_reserve_counts() {
    let folder = Folder::new();
    let (mut journal, _) = folder.open(BOOT).unwrap();
    record_of(&mut journal, &[entry(1, ETH)]);
    let reserved = fs::read(folder.file()).unwrap();
    record_of(&mut journal, &[entry(2, ETH)]);
    drop(journal);
    // Everything reached the disk, or the second signature did not: the whole reserve counts either way.
    assert_eq!(folder.used(OTHER), [10 * ETH, 10 * ETH]);
    fs::write(folder.file(), &reserved).unwrap();
    assert_eq!(folder.used(OTHER), [10 * ETH, 10 * ETH]);
    // Nor does it matter where the write was torn.
    for length in reserved.len() - RECORD..reserved.len() {
        fs::write(folder.file(), &reserved[..length]).unwrap();
        assert_eq!(folder.used(OTHER), [10 * ETH, 10 * ETH], "{length}");
    }
    // And it counts once: the start that found it recorded it.
    assert_eq!(folder.used(BOOT), [10 * ETH, 10 * ETH]);
    fs::write(folder.file(), &reserved).unwrap();
    assert_eq!(
        folder.used([0; 16]),
        [10 * ETH; 2],
        "a boot that is not known"
    );
}

/// Where the host has no boot id, two starts cannot be known to be in the same one.
#[test]
fn a_boot_that_is_never_known_is_never_the_same() {
    let folder = Folder::new();
    let (mut journal, _) = folder.open([0; 16]).unwrap();
    record_of(&mut journal, &[entry(1, ETH)]);
    drop(journal);
    assert_eq!(folder.used([0; 16]), [10 * ETH, 10 * ETH]);
}

#[test]
fn the_rest_of_a_reserve_counts_until_it_could_have_expired() {
    let folder = Folder::new();
    let (mut journal, _) = folder.open(BOOT).unwrap();
    let begun_s = now_s();
    record_of(&mut journal, &[entry(1, ETH)]);
    drop(journal);
    let (_, mut usage) = folder.open(OTHER).unwrap();
    usage.advance(begun_s + RESERVE_S + rules().ttl_max_s - 1);
    assert_eq!(usage.used(1)[0], 9 * ETH);
    usage.advance(begun_s + RESERVE_S + rules().ttl_max_s + 2);
    assert_eq!(usage.used(1)[0], 0);
}

/// In the same boot as well: no kill tears a record, so that a file that was cut counts like one after a loss of power.
#[test]
fn a_file_that_was_cut_counts_the_rest_of_its_reserve() {
    let folder = Folder::new();
    let (mut journal, _) = folder.open(BOOT).unwrap();
    record_of(&mut journal, &[entry(1, ETH)]);
    record_of(&mut journal, &[entry(2, ETH)]);
    drop(journal);
    let bytes = fs::read(folder.file()).unwrap();
    for cut in [1, RECORD - 1, RECORD + 1] {
        fs::write(folder.file(), &bytes[..bytes.len() - cut]).unwrap();
        assert_eq!(folder.used(BOOT), [10 * ETH, 10 * ETH], "{cut}");
    }
    // One that is not the last, with nothing behind it that was synced later.
    let mut torn = bytes.clone();
    torn[bytes.len() - RECORD - RECORD / 2] ^= 1;
    fs::write(folder.file(), &torn).unwrap();
    assert_eq!(folder.used(BOOT), [10 * ETH, 10 * ETH]);
}

#[test]
fn a_record_that_was_synced_and_cannot_be_read_is_refused() {
    let folder = Folder::new();
    let (mut journal, _) = folder.open(BOOT).unwrap();
    record_of(&mut journal, &[entry(1, 10 * ETH)]);
    // The reserve is used up: the second one was synced after the first signature.
    record_of(&mut journal, &[entry(2, ETH)]);
    drop(journal);
    let bytes = fs::read(folder.file()).unwrap();
    let records = (bytes.len() - MAGIC.len()) / RECORD;
    let is_reserve = |number: usize| {
        let at = MAGIC.len() + number * RECORD;
        read_record(&bytes[at..at + RECORD]).unwrap().0 == Kind::Reserve
    };
    let newest = (0..records).rfind(|number| is_reserve(*number)).unwrap();
    assert!(newest >= 2, "{newest} of {records}");
    for number in 0..newest {
        let mut damaged = bytes.clone();
        damaged[MAGIC.len() + number * RECORD + RECORD / 2] ^= 1;
        fs::write(folder.file(), &damaged).unwrap();
        let refused = folder.open(BOOT);
        let known = matches!(refused, Err(JournalError::Damaged { number: found, .. }) if found == number + 1);
        assert!(known, "{number}: {refused:?}");
    }
}

#[test]
fn after_a_proper_end_nothing_but_what_was_signed_counts() {
    let folder = Folder::new();
    let (mut journal, _) = folder.open(BOOT).unwrap();
    record_of(&mut journal, &[entry(1, ETH)]);
    journal.close(now_s()).unwrap();
    let refused = journal.record(&rules(), &[entry(2, ETH)], now_s());
    assert!(matches!(refused, Err(JournalError::Broken)), "it is closed");
    drop(journal);
    assert_eq!(folder.used(OTHER), [ETH, ETH]);
}

#[test]
fn a_reserve_ends_with_its_amount_its_time_and_its_validity() {
    let folder = Folder::new();
    let (mut journal, _) = folder.open(BOOT).unwrap();
    let count = |folder: &Folder| {
        let bytes = fs::read(folder.file()).unwrap();
        let records = bytes[MAGIC.len()..].chunks_exact(RECORD);
        let kinds = records.map(|bytes| read_record(bytes).unwrap().0);
        kinds.filter(|kind| *kind == Kind::Reserve).count()
    };
    let begun_s = now_s();
    let mut one = |entry: Entry, at_s: u64| {
        journal.record(&rules(), &[entry], at_s).unwrap();
        count(&folder)
    };
    assert_eq!(one(entry(1, ETH), begun_s), 1);
    assert_eq!(one(entry(2, 9 * ETH), begun_s), 1, "exactly what is left");
    assert_eq!(one(entry(3, 1), begun_s), 2, "nothing is left");
    assert_eq!(one(entry(4, 1), begun_s + RESERVE_S - 1), 2);
    assert_eq!(
        one(entry(5, 1), begun_s + RESERVE_S),
        3,
        "its minute is over"
    );
    let longer = Entry {
        valid_until_s: begun_s + 2 * RESERVE_S + rules().ttl_max_s + 1,
        ..entry(6, 1)
    };
    assert_eq!(one(longer, begun_s + RESERVE_S), 4, "valid for longer");
    let other = Entry {
        token: 2,
        ..entry(7, 1)
    };
    assert_eq!(one(other, begun_s + RESERVE_S), 5, "of another token");
}

#[test]
fn a_state_that_is_missing_foreign_or_replaced_is_refused() {
    let folder = Folder::new();
    let exists = init(folder.0.path(), false, now_s());
    assert!(matches!(exists, Err(JournalError::Exists(_))));
    let (mut journal, _) = folder.open(BOOT).unwrap();
    record_of(&mut journal, &[entry(1, ETH)]);
    let second = folder.open(BOOT);
    assert!(matches!(
        second,
        Err(JournalError::Folder(FolderError::InUse(_)))
    ));
    drop(journal);
    init(folder.0.path(), true, now_s()).unwrap();
    assert_eq!(folder.used(BOOT), [0, 0], "an operator had it forgotten");
    for text in [&b""[..], b"cambist", b"something else entirely", MAGIC] {
        fs::write(folder.file(), text).unwrap();
        let refused = folder.open(BOOT);
        assert!(matches!(refused, Err(JournalError::Unknown(_))), "{text:?}");
    }
    fs::remove_file(folder.file()).unwrap();
    let missing = folder.open(BOOT).unwrap_err();
    assert!(
        missing.to_string().contains("cambist-signer init"),
        "{missing}"
    );
}

#[test]
fn an_older_copy_is_refused() {
    let folder = Folder::new();
    // Records of an hour ago, in a file that is written now: a copy that was restored.
    let hour_ago = |entry: Entry| Entry {
        at_s: now_s() - 3_600,
        ..entry
    };
    let copy = |kinds: &[(Kind, Entry)]| {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(kinds.iter().flat_map(|(kind, entry)| record(*kind, entry)));
        fs::write(folder.file(), bytes).unwrap();
    };
    let old = (Kind::Start, hour_ago(at(0)));
    copy(&[old, (Kind::Signed, hour_ago(entry(1, ETH)))]);
    let refused = folder.open(BOOT).unwrap_err();
    assert!(
        matches!(refused, JournalError::RolledBack { .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("init --replace"), "{refused}");
    // A newer record explains the write, and so does a torn one.
    copy(&[old, (Kind::Close, at(now_s()))]);
    folder.open(BOOT).unwrap();
    copy(&[old]);
    let mut torn = fs::read(folder.file()).unwrap();
    torn.push(2);
    fs::write(folder.file(), torn).unwrap();
    folder.open(BOOT).unwrap();
}

#[test]
fn time_does_not_go_back_over_a_start() {
    let folder = Folder::new();
    let (mut journal, _) = folder.open(BOOT).unwrap();
    record_of(&mut journal, &[entry(1, ETH)]);
    drop(journal);
    let begun_s = now_s();
    let earlier = Journal::open(folder.0.path(), &rules(), BOOT, begun_s - 1_000_000);
    let (_, usage) = earlier.unwrap();
    assert!(usage.now_s() >= begun_s - 1, "{}", usage.now_s());
    assert_eq!(usage.used(1)[0], ETH);
}

#[test]
fn a_long_file_is_rewritten_with_the_same_content() {
    let folder = Folder::new();
    let (mut journal, mut usage) = folder.open(BOOT).unwrap();
    let mut shorter = 0;
    let mut before = 0;
    for number in 0..52_000_u64 {
        let mut one = entry(1, 1);
        // Most have expired, so that the number of hashes stays small.
        one.valid_until_s = if number % 100 == 0 {
            one.valid_until_s
        } else {
            1
        };
        one.hash[..8].copy_from_slice(&number.to_be_bytes());
        record_of(&mut journal, &[one]);
        usage.add(&one);
        journal.compact(&usage).unwrap();
        let bytes = fs::metadata(folder.file()).unwrap().len();
        shorter += u32::from(bytes < before);
        before = bytes;
    }
    assert_eq!(shorter, 1, "rewritten once");
    assert!(before < COMPACT_BYTES);
    drop(journal);
    let (_, again) = folder.open(BOOT).unwrap();
    assert_eq!(again.used(1), usage.used(1));
    assert_eq!(again.used(1), [520, 52_000]);
    assert_eq!(again.count(), usage.count());
}

#[test]
fn after_a_failed_write_nothing_is_recorded() {
    let folder = Folder::new();
    let (mut journal, _) = folder.open(BOOT).unwrap();
    // Writes to it fail.
    journal.file = File::open(folder.file()).unwrap();
    let failed = journal.record(&rules(), &[entry(1, ETH)], now_s());
    assert!(matches!(failed, Err(JournalError::Io { .. })));
    let options = OpenOptions::new().append(true).open(folder.file());
    journal.file = options.unwrap();
    let refused = journal.record(&rules(), &[entry(1, ETH)], now_s());
    assert!(matches!(refused, Err(JournalError::Broken)));
}
