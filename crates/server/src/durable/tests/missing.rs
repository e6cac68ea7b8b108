//! Folders from which snapshots, log, archives or records were removed: what is missing is reported, and stays
//! reported.

use std::path::Path;

use super::archives::history_of;
use super::copies::{Place, Written, names};
use crate::durable::archive::Retention;
use crate::durable::data_folder::DataFolder;
use crate::durable::{DataError, Extent, MissingInputs, VerifyFacts, backup, verify};

fn written(path: &Path, retention: Retention) -> u64 {
    let mut written = Written::new(path, retention);
    for _ in 0..33 {
        written.batch();
    }
    let position = written.position();
    drop(written.end());
    position
}

fn snapshot(position: u64) -> String {
    format!("snapshot-{position:016x}")
}

/// Removes the log between two snapshots.
fn remove_log(data: &Path, from: u64, to: u64) {
    let number = |name: &String| u64::from_str_radix(name.strip_prefix("log-")?, 16).ok();
    for name in names(data) {
        if number(&name).is_some_and(|position| (from..to).contains(&position)) {
            std::fs::remove_file(data.join(name)).unwrap();
        }
    }
}

/// The generations from which a start could recover, and the broken ones.
fn live(facts: &VerifyFacts) -> Vec<u64> {
    let live = facts.generations.iter().filter(|one| !one.archived);
    live.map(|one| one.from).collect()
}

fn broken(facts: &VerifyFacts) -> Vec<u64> {
    let broken = facts.generations.iter().filter(|one| one.problem.is_some());
    broken.map(|one| one.from).collect()
}

/// Starts and stops an exchange.
fn start(data: &Path) -> Vec<MissingInputs> {
    let folder = DataFolder::take(data).unwrap();
    folder.resume().unwrap().unwrap().facts.missing
}

#[test]
fn what_was_removed_from_a_folder_is_reported_and_stays_reported_after_a_start() {
    let place = Place::new("taken-out");
    for (index, taken) in [
        "older",
        "older and log",
        "newer",
        "first",
        "second",
        "records",
    ]
    .into_iter()
    .enumerate()
    {
        let data = place.path(&format!("data-{index}"));
        let copy = place.path(&format!("copy-{index}"));
        let end = written(&data, Retention::default());
        let good = verify(&data).unwrap();
        assert!(good.is_whole(), "{good:?}");
        let [older, newer] = live(&good)[..] else {
            panic!("{good:?}");
        };
        let archive = |at: usize| (good.generations[at].from, good.generations[at].to);
        let remove = |name: &str| std::fs::remove_file(data.join(name)).unwrap();
        let remove_archive =
            |at: u64| std::fs::remove_dir_all(data.join(format!("archive/{at:016x}"))).unwrap();
        let (problems, missing) = match taken {
            "older" => {
                remove(&snapshot(older));
                (vec![older], None)
            }
            "older and log" => {
                remove(&snapshot(older));
                remove_log(&data, older, newer);
                (vec![older], Some((older, newer)))
            }
            "newer" => {
                remove(&snapshot(newer));
                (vec![newer], None)
            }
            "first" => {
                remove_archive(archive(0).0);
                (vec![], Some(archive(0)))
            }
            "second" => {
                remove_archive(archive(1).0);
                (vec![], Some(archive(1)))
            }
            _ => {
                remove("generations.json");
                (vec![], None)
            }
        };
        let missing: Vec<_> = missing
            .into_iter()
            .map(|(from, to)| MissingInputs { from, to })
            .collect();
        let check = |facts: &VerifyFacts, whole: bool| {
            assert_eq!(facts.is_whole(), whole, "{taken}: {facts:?}");
            assert_eq!(facts.recovery.missing, missing, "{taken}");
            assert_eq!(facts.recovery.position, end, "{taken}");
        };
        let facts = verify(&data).unwrap();
        check(&facts, false);
        assert_eq!(broken(&facts), problems, "{taken}");
        assert_eq!(facts.records_problem.is_some(), taken == "records");

        // A copy reports what it lacks, and so does an export of both.
        let copied = backup(&data, &copy, Extent::Everything).unwrap();
        assert_eq!(copied.missing, missing, "{taken}");
        for folder in [&data, &copy] {
            match (taken, history_of(&[folder])) {
                ("older and log" | "second", Err(DataError::Gap { from, to, .. })) => {
                    assert_eq!(missing, [MissingInputs { from, to }], "{taken}");
                }
                ("first", Ok((begin, _, to))) => assert_eq!((begin, to), (archive(0).1, end)),
                ("older" | "newer" | "records", Ok((begin, _, to))) => {
                    assert_eq!((begin, to), (0, end), "{taken}");
                }
                (_, other) => panic!("{taken}: {other:?}"),
            }
        }
        let exported = crate::durable::read_history(&[&data], |_| ());
        if taken == "first" {
            assert_eq!(exported.unwrap().missing, missing);
        }
        // A start succeeds, reports it, and does not forget it.
        assert_eq!(start(&data), missing, "{taken}");
        let facts = verify(&data).unwrap();
        check(&facts, taken == "records");
        assert_eq!(broken(&facts), problems, "{taken}");
    }
}

#[test]
fn missing_inputs_are_still_reported_after_more_snapshots() {
    let none = Retention {
        days: 0,
        ..Retention::default()
    };
    for (name, retention) in [("archived", Retention::default()), ("not-kept", none)] {
        let place = Place::new(&format!("missing-{name}"));
        let data = place.path("data");
        let mut written = Written::new(&data, retention);
        for _ in 0..33 {
            written.batch();
        }
        let [older, newer] = live(&verify(&data).unwrap())[..] else {
            panic!("two generations");
        };
        std::fs::remove_file(data.join(snapshot(older))).unwrap();
        remove_log(&data, older, newer);
        let missing = [MissingInputs {
            from: older,
            to: newer,
        }];
        assert_eq!(verify(&data).unwrap().recovery.missing, missing);
        for _ in 0..33 {
            written.batch();
        }
        drop(written.end());
        let facts = verify(&data).unwrap();
        assert_eq!(broken(&facts), Vec::<u64>::new(), "{facts:?}");
        if retention == none {
            // That history is no longer kept.
            assert!(facts.is_whole(), "{facts:?}");
        } else {
            assert_eq!(facts.recovery.missing, missing);
            assert!(!facts.is_whole());
        }
    }
}
