//! Files that were cut off, that are of another sweep, and that are complete.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use super::super::plan::Phase;
use super::super::run::Outcome;
use super::*;
use crate::testing::private_folder;

fn header(shard: Option<&str>) -> Header {
    Header {
        format: FORMAT,
        program: "0".to_owned(),
        build: "b".to_owned(),
        config: "c".to_owned(),
        sweep: "s".to_owned(),
        data: Vec::new(),
        settings: serde_json::json!({"seed": 1}),
        windows: Vec::new(),
        runs: 6,
        shard: shard.map(|shard| shard.parse().unwrap()),
    }
}

fn row(run: u64) -> Row {
    Row {
        run,
        trial: run,
        window: None,
        phase: Phase::All,
        values: vec![toml::Value::Float(0.1 + 0.2), toml::Value::Integer(3)],
        outcome: Outcome::Refused("why".to_owned()),
    }
}

#[test]
fn a_torn_last_line_is_done_again_and_the_end_is_the_same() {
    let folder = private_folder();
    let path = folder.path().join(NAME);
    let mut journal = Journal::open(folder.path(), header(None), false).unwrap();
    for run in [3, 0, 5, 1] {
        journal.add(&row(run)).unwrap();
    }
    assert_eq!(journal.missing(), [2, 4]);
    drop(journal);
    let cut = std::fs::read(&path).unwrap();
    std::fs::write(&path, &cut[..cut.len() - 7]).unwrap();
    let mut journal = Journal::open(folder.path(), header(None), false).unwrap();
    assert_eq!(journal.missing(), [1, 2, 4]);
    for run in [4, 2, 1] {
        journal.add(&row(run)).unwrap();
    }
    journal.complete().unwrap();
    let complete = std::fs::read(&path).unwrap();
    let mut whole = Journal::open(folder.path(), header(None), true).unwrap();
    assert_eq!(whole.missing().len(), 6, "--overwrite begins again");
    for run in 0..6 {
        whole.add(&row(run)).unwrap();
    }
    let (_, rows) = whole.complete().unwrap();
    assert_eq!(rows[&4], row(4));
    assert_eq!(std::fs::read(&path).unwrap(), complete);
}

#[test]
fn another_sweep_another_shard_and_another_process_are_refused() {
    let folder = private_folder();
    let open = |header| Journal::open(folder.path(), header, false);
    let journal = open(header(Some("1/2"))).unwrap();
    assert_eq!(journal.missing(), [0, 2, 4]);
    let busy = open(header(Some("1/2"))).err().unwrap();
    assert_eq!(crate::exit::of(&busy), Exit::AnotherInstance);
    drop(journal);
    for (other, words) in [
        (header(Some("2/2")), "the shard differs"),
        (
            Header {
                build: "d".to_owned(),
                ..header(Some("1/2"))
            },
            "the program differs",
        ),
        (
            Header {
                settings: serde_json::json!({"seed": 7}),
                ..header(Some("1/2"))
            },
            "the assumptions differ.",
        ),
        (
            Header {
                config: "d".to_owned(),
                sweep: "t".to_owned(),
                ..header(Some("1/2"))
            },
            "the configuration, the sweep file differ",
        ),
    ] {
        let error = open(other).err().unwrap().to_string();
        assert!(
            error.contains(words) && error.contains("--overwrite"),
            "{error}"
        );
    }
}

#[test]
fn lines_that_are_no_results_are_named() {
    let folder = private_folder();
    let path = folder.path().join(NAME);
    let line = |value: &dyn erased::Line| value.line();
    let of = |row: &Row| checked(row).unwrap() + "\n";
    for (text, words) in [
        ("nonsense\n".to_owned(), "line 1"),
        (
            line(&header(None)) + &of(&row(3)) + "nonsense\n",
            "line 3 is damaged: restore the file, or delete this line",
        ),
        (
            line(&header(None)) + &of(&row(1)) + &of(&row(3)).replace("why", "who"),
            "line 3 is damaged (it does not agree with its check): restore the file",
        ),
        (
            line(&header(None)) + &line(&row(3)),
            "line 2 is damaged (it does not agree with its check)",
        ),
        (line(&header(None)) + &of(&row(6)), "run 6 does not belong"),
        (
            line(&header(Some("2/2"))) + &of(&row(2)),
            "run 2 does not belong",
        ),
        (
            line(&header(None)) + &of(&row(1)) + &of(&row(1)),
            "line 3: its run is in the file already",
        ),
        (
            line(&Header {
                format: 9,
                ..header(None)
            }),
            "format 9",
        ),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = format!(
            "{:#}",
            Journal::open(folder.path(), header(None), false)
                .err()
                .unwrap()
        );
        assert!(error.contains(words) && error.contains(NAME), "{error}");
    }
}

/// Results of the form before this one are read, whose rows have a check and no trading state; a sweep of this program
/// does not go on with them.
#[test]
fn results_of_the_third_format_are_read() {
    let folder = private_folder();
    let earlier = Header {
        format: 3,
        ..header(None)
    };
    let mut lines = Lines::new();
    for run in 0..6 {
        lines.insert(run, checked(&row(run)).unwrap());
    }
    write(folder.path(), &earlier, &lines).unwrap();
    let found = load(folder.path()).unwrap();
    assert_eq!((found.rows.len(), found.lines == lines), (6, true));
    assert!(!found.header.has_trading_states() && header(None).has_trading_states());
    assert_eq!(found.header.measure(), Measure::ExcessOverHolding);
    let error = Journal::open(folder.path(), header(None), false);
    let error = error.err().unwrap().to_string();
    assert!(error.contains("the program differs"), "{error}");
}

mod erased {
    pub trait Line {
        fn line(&self) -> String;
    }

    impl<T: serde::Serialize> Line for T {
        fn line(&self) -> String {
            serde_json::to_string(self).unwrap() + "\n"
        }
    }
}
