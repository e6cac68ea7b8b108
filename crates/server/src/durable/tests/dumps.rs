//! Dumping and loading: nothing is lost, and incomplete dumps are refused.

use std::path::Path;

use super::copies::{Place, Written};
use super::history::crowded;
use super::upgrades::packed;
use crate::durable::archive::Retention;
use crate::durable::data_folder::DataFolder;
use crate::durable::{DataError, DumpFacts, dump, load, verify};
use crate::state::State;

fn dumped(data: &Path) -> (String, DumpFacts) {
    let mut bytes = Vec::new();
    let facts = dump(data, &mut bytes).unwrap();
    (String::from_utf8(bytes).unwrap(), facts)
}

fn loaded(text: &str, data: &Path, edited: bool) -> Result<DumpFacts, DataError> {
    load("the dump", &mut text.as_bytes(), data, edited)
}

fn state_of(data: &Path) -> State {
    DataFolder::take(data)
        .unwrap()
        .resume()
        .unwrap()
        .unwrap()
        .state
}

/// An exchange with accounts, orders and the results of random inputs.
fn written(data: &Path) -> State {
    let mut written = Written::new(data, Retention::default());
    for _ in 0..20 {
        written.batch();
    }
    drop(written.end());
    state_of(data)
}

/// An exchange with simulated traders after a minute.
fn traders_in(data: &Path) -> State {
    let mut state = crowded(7);
    for second in 0..60 {
        let now = cambist_core::VenueTime(1_700_000_000_000 + 1_000 * second);
        state.pass(now, |_, _| ());
    }
    let folder = DataFolder::take(data).unwrap();
    folder.create(state).unwrap().state
}

#[test]
fn a_dumped_and_loaded_exchange_is_equal() {
    let place = Place::new("dumps");
    let (data, back) = (place.path("data"), place.path("back"));
    let state = written(&data);
    let (text, facts) = dumped(&data);
    assert_eq!(facts.lines, text.lines().count() as u64);
    assert!(facts.accounts > 2, "{facts:?}");
    assert_eq!(loaded(&text, &back, false).unwrap(), facts);
    assert_eq!(state_of(&back), state);
    assert!(verify(&back).unwrap().is_whole());
    // A second dump is equal except for the position in the history.
    let (again, _) = dumped(&back);
    let body = |text: &str| {
        let lines: Vec<_> = text.lines().skip(1).map(str::to_owned).collect();
        lines[..lines.len() - 1].to_vec()
    };
    assert_eq!(body(&again), body(&text));
    // Nothing is overwritten.
    let over = loaded(&text, &back, false);
    assert!(matches!(over, Err(DataError::NotEmpty { .. })), "{over:?}");

    // Simulated traders with their floating point numbers and random states, orders in a book.
    let (traders, back) = (place.path("traders"), place.path("traders-back"));
    let state = traders_in(&traders);
    assert!(state.venue.open_orders() > 5);
    let (text, facts) = dumped(&traders);
    assert_eq!(facts.open_orders, state.venue.open_orders() as u64);
    loaded(&text, &back, false).unwrap();
    assert_eq!(state_of(&back), state);
}

#[test]
fn folders_of_earlier_programs_are_dumped_and_loaded() {
    let place = Place::new("kept-dumps");
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kept");
    let mut seen = 0;
    for entry in std::fs::read_dir(all).unwrap() {
        let kept = entry.unwrap().path();
        if !kept.join("verify.json").is_file() {
            continue;
        }
        let name = kept.file_name().unwrap().to_str().unwrap();
        let (data, back) = (place.path(name), place.path(&format!("{name}-back")));
        packed::unpack(&std::fs::read(kept.join("folder.packed")).unwrap(), &data);
        let (text, facts) = dumped(&data);
        assert_eq!(loaded(&text, &back, false).unwrap(), facts, "{name}");
        assert_eq!(state_of(&back), state_of(&data), "{name}");
        seen += 1;
    }
    assert!(seen >= 3, "{seen}");
}

#[test]
fn a_truncated_or_changed_dump_is_refused_with_its_line() {
    let place = Place::new("short-dumps");
    let (data, back) = (place.path("data"), place.path("back"));
    traders_in(&data);
    let (text, _) = dumped(&data);
    let refused = |text: &str, edited: bool| {
        let error = loaded(text, &back, edited).unwrap_err();
        assert!(matches!(error, DataError::Dump { .. }), "{error}");
        assert!(!back.exists(), "{error}");
        error.to_string()
    };
    // Truncated after a line and within one: the first, the last, and many between.
    let (mut at, lines) = (0, text.lines().count());
    for (line, content) in text.split_inclusive('\n').enumerate() {
        if line % (lines / 40) == 0 || line + 3 > lines {
            for cut in [at, at + content.len() / 2, at + content.len() - 1] {
                let message = refused(&text[..cut], cut % 2 == 0);
                let begin = format!("the dump, line {}: ", line + 1);
                assert!(message.starts_with(&begin), "{message}");
                assert!(message.ends_with("it was truncated"), "{message}");
            }
        }
        at += content.len();
    }
    let with = |line: usize, change: &dyn Fn(&str) -> String| {
        let lines = text.lines().enumerate();
        let changed = lines.map(|(number, content)| {
            if number == line {
                change(content)
            } else {
                format!("{content}\n")
            }
        });
        changed.collect::<String>()
    };
    // A changed number: the digest does not match.
    let nonce = text.lines().position(|line| line.contains("\"nonce\":1"));
    let nonce = nonce.unwrap();
    let other = with(nonce, &|line| {
        format!("{}\n", line.replacen("\"nonce\":1", "\"nonce\":2", 1))
    });
    assert!(refused(&other, false).contains("--edited"));
    loaded(&other, &back, true).unwrap();
    assert_ne!(state_of(&back), state_of(&data));
    std::fs::remove_dir_all(&back).unwrap();
    // A changed balance: the books do not add up, even with `edited`.
    let account = text
        .lines()
        .position(|line| line.contains("\"total\":\""))
        .unwrap();
    let rich = with(account, &|line| {
        format!("{}\n", line.replacen("\"total\":\"", "\"total\":\"1", 1))
    });
    let error = loaded(&rich, &back, true).unwrap_err();
    assert!(matches!(error, DataError::Audit(_)), "{error}");
    assert!(!back.exists());
    // A missing line, an additional one, one of another type, an unknown field.
    let gone = with(5, &|_| String::new());
    assert!(refused(&gone, true).contains("expected "));
    assert!(refused(&format!("{text}{{}}\n"), false).contains("unexpected data after the end"));
    let wrong = with(nonce, &|line| {
        format!("{}\n", line.replacen("\"nonce\":1", "\"nonce\":-1", 1))
    });
    assert!(refused(&wrong, true).contains("nonce: -1 is not a valid u32"));
    let unknown = with(nonce, &|line| {
        format!(
            "{}\n",
            line.replacen("\"nonce\":1", "\"nonce\":1,\"what\":1", 1)
        )
    });
    assert!(refused(&unknown, true).contains("unknown field what"));
    // Dumps of a later program and of another format, and a file that is not a dump.
    let later = with(0, &|line| {
        let mut head: serde_json::Value = serde_json::from_str(line).unwrap();
        head["types"] = "0x00000001".into();
        head["program"] = "cambist 9.9".into();
        format!("{head}\n")
    });
    let message = refused(&later, true);
    assert!(
        message.contains("made by cambist 9.9") && message.contains("supports versions up to"),
        "{message}"
    );
    let form = with(0, &|line| {
        format!("{}\n", line.replace("\"dump\":1", "\"dump\":2"))
    });
    assert!(refused(&form, true).contains("format of the dump is not supported"));
    assert!(refused("{\"at\":1}\n", false).contains("not a dump"));
    assert!(refused("hello\n", false).contains("not valid JSON"));
}
