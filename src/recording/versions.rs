//! The versions of snapshots on tapes, and the steps from each to the next (`crates/schema`).
//!
//! `types.txt` says what every version looked like. Where the engine's state changes, the test below fails:
//! `NEW_VERSION=1 cargo test -p cambist --lib stored_types` appends the new version, and `STEPS` gets one
//! list more. What a field that comes new held in an engine that had none is what it holds at a start.

use std::sync::OnceLock;

use cambist_schema::{History, Step, Value};

/// The root type of a snapshot.
pub(super) const SNAPSHOT: &str = "snapshot";

/// The versions and the ways between them.
pub(super) fn history() -> &'static History {
    static HISTORY: OnceLock<History> = OnceLock::new();
    HISTORY.get_or_init(|| {
        let history = History::new(include_str!("types.txt"), STEPS);
        history.expect("the tests read the same history")
    })
}

/// What leads to version 2, 3, and so on.
const STEPS: &[&[Step]] = &[SIDES, INSTANCES];

/// Version 2: why nothing is quoted is known for each side; at a start for none.
const SIDES: &[Step] = &[
    Step::Remove {
        of: "Market",
        field: "withheld",
    },
    Step::Add {
        of: "Market",
        field: "unquoted",
        value: || {
            let sides = || Value::List(vec![Value::NONE, Value::NONE]);
            Value::Struct(vec![
                ("barred".to_owned(), Value::NONE),
                ("decided".to_owned(), sides()),
                ("failed".to_owned(), sides()),
                ("told".to_owned(), sides()),
            ])
        },
    },
    Step::Add {
        of: "Pool",
        field: "withheld",
        value: || Value::NONE,
    },
];

/// Version 3: orders of other instances. None was known, and as it is not said when that engine began, none
/// counts as made later.
const INSTANCES: &[Step] = &[Step::Add {
    of: "State",
    field: "instances",
    value: || {
        Value::Struct(vec![
            ("since".to_owned(), Value::Unsigned(u64::MAX.into())),
            ("alive".to_owned(), Value::Map(Vec::new())),
            ("quiet_at".to_owned(), Value::Unsigned(0)),
            ("raised".to_owned(), Value::List(Vec::new())),
            ("adopted".to_owned(), Value::List(Vec::new())),
        ])
    },
}];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::fs::File;
    use std::io::BufReader;
    use std::path::Path;

    use cambist_schema::{Check, describe};
    use cambist_tape::{Entry, Reader, Tail};
    use serde_json::Value as Json;

    use super::*;
    use crate::recording::{Player, Saved};

    #[test]
    fn stored_types_are_those_of_the_newest_version() {
        Check {
            history: history(),
            described: describe::<Saved>(SNAPSHOT).unwrap(),
            file: &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/recording/types.txt"),
        }
        .assert();
    }

    /// Tapes that earlier programs wrote (`tests/kept`) are read to their end, and their events are given
    /// to an engine of today, which may act otherwise.
    #[test]
    fn every_kept_tape_is_read_and_played() {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept");
        let folders = std::fs::read_dir(all)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let files = folders.filter(|path| path.is_dir()).flat_map(|path| {
            let entries = std::fs::read_dir(path).unwrap();
            entries
                .map(|entry| entry.unwrap().path())
                .collect::<Vec<_>>()
        });
        let (mut tapes, mut snapshots) = (0, 0);
        for file in files.filter(|file| file.extension().is_some_and(|kind| kind == "tape")) {
            let name = file.display();
            let then = std::fs::read_to_string(file.with_extension("json")).unwrap();
            let then: Json = serde_json::from_str(&then).unwrap();
            let mut tape = Reader::open(BufReader::new(File::open(&file).unwrap())).unwrap();
            snapshots += u32::from(tape.snapshot().is_some());
            let mut player = Player::new(&tape).unwrap_or_else(|error| panic!("{name}: {error}"));
            let (mut events, mut actions) = (0_u64, 0_u64);
            let mut heard = None;
            while let Some(entry) = tape
                .next_entry()
                .unwrap_or_else(|error| panic!("{name}: {error}"))
            {
                match entry {
                    Entry::Heard { now, event } => heard = Some((now, event)),
                    Entry::Did { actions: did } => {
                        let (now, event) = heard.take().unwrap();
                        player.hear(now, &event, &mut Vec::new());
                        events += 1;
                        actions += did.len() as u64;
                    }
                }
            }
            assert!(player.failure().is_none(), "{name}: {:?}", player.failure());
            assert_eq!(
                (&events.into(), &actions.into()),
                (&then["events"], &then["actions"]),
                "{name}"
            );
            let Some(Tail::Torn { offset }) = tape.tail() else {
                panic!("{name} was cut off");
            };
            assert_eq!(offset, then["torn_at"], "{name}");
            tapes += 1;
        }
        assert!(tapes >= 2 && snapshots >= 1, "{tapes} {snapshots}");
    }
}
