//! Files of data as they come: compressed, torn, empty, in the wrong order, or no files at all.

use std::process::Command;

use crate::backtest::{BUY, config, jumping, npy, quiet_ticks, run};
use crate::support::{Folder, cambist, exit, stderr, stdout};

/// Compressed files are named as such, whatever their name, with the command that decompresses them.
#[test]
fn compressed_files_are_named() {
    let folder = Folder::new("backtest-compressed");
    for (name, first, words) in [
        ("eth.csv", &b"\x1f\x8b\x08\x00rest"[..], "compressed (gzip)"),
        ("eth.csv.gz", b"\x1f\x8b\x08\x00rest", "gunzip < "),
        ("eth.npy", b"\x28\xb5\x2f\xfdrest", "compressed (zstd)"),
        ("run.tape", b"\x1f\x8b\x08\x00rest", "compressed (gzip)"),
        ("run.tape.xz", b"\xfd7zXZ\x00rest", "compressed (xz)"),
        ("eth.csv", b"PK\x03\x04rest", "unzip -p "),
        (
            "eth.csv",
            b"\xff\xfet\0i\0m\0e\0",
            "iconv -f UTF-16 -t UTF-8 < ",
        ),
        ("eth.csv", b"\xfe\xff\0t\0i\0m\0e", "text in UTF-16"),
    ] {
        let data = folder.0.join(name);
        std::fs::write(&data, first).unwrap();
        let path = data.display().to_string();
        let output = run(&folder, &path, &[]);
        assert_eq!(exit(&output), 1, "{}", stderr(&output));
        let message = stderr(&output);
        assert!(
            message.contains(words) && message.contains(name),
            "{name}: {message}"
        );
    }
}

/// A byte order mark is read over; UTF-16 is converted by the command of the error.
#[test]
fn text_of_other_programs_is_read_or_named() {
    let folder = Folder::new("backtest-encodings");
    let rows = jumping();
    let marked = folder.write("marked.csv", &format!("\u{feff}{rows}"));
    let output = run(&folder, &marked, &[]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let shell = |command: &str| Command::new("sh").args(["-c", command]).status().unwrap();
    let wide = folder.0.join("wide.csv");
    let units: Vec<u8> = ['\u{feff}']
        .into_iter()
        .chain(rows.chars())
        .flat_map(|char| u16::try_from(u32::from(char)).unwrap().to_le_bytes())
        .collect();
    std::fs::write(&wide, units).unwrap();
    let output = run(&folder, wide.to_str().unwrap(), &["--overwrite"]);
    let message = stderr(&output);
    assert_eq!(exit(&output), 1, "{message}");
    if shell("iconv --version > /dev/null").success() {
        let command = message.split('`').nth(1).unwrap();
        assert!(shell(command).success(), "{command}");
        let made = std::fs::read_to_string(folder.0.join("wide-utf8.csv")).unwrap();
        assert_eq!(made, rows);
    }
}

/// Results and recordings that other commands read.
#[test]
fn compressed_results_and_recordings_are_named() {
    let folder = Folder::new("compressed-results");
    let first = b"\x1f\x8b\x08\x00rest";
    for name in [
        "a/report.json",
        "b/report.json",
        "c/runs.jsonl",
        "t/0000000001.tape",
    ] {
        let path = folder.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, first).unwrap();
    }
    let path = |name: &str| folder.0.join(name).display().to_string();
    let lines = folder.0.join("sim.jsonl");
    std::fs::write(&lines, first).unwrap();
    let vectors = folder.0.join("vectors.json");
    std::fs::write(&vectors, first).unwrap();
    for args in [
        &[
            "compare",
            &path("a"),
            &path("b"),
            "--out",
            &path("page.html"),
        ][..],
        &["merge", &path("c"), "--out", &path("merged")],
        &["merge", &path("sim.jsonl"), "--out", &path("merged.jsonl")],
        &["replay", &path("t")],
        &["replay", &path("t/0000000001.tape"), "--at", "5m"],
        &["vectors", &path("vectors.json")],
    ] {
        let output = cambist(args);
        let text = stderr(&output) + &stdout(&output);
        assert_eq!(exit(&output), 1, "{args:?}: {text}");
        assert!(text.contains("compressed (gzip)"), "{args:?}: {text}");
        assert!(text.contains("`gunzip < "), "{args:?}: {text}");
    }
}

/// The command that the error names makes a file that is read, whatever the name of the compressed one.
#[test]
fn the_command_for_a_compressed_file_works_for_any_name() {
    let shell = |command: &str| Command::new("sh").args(["-c", command]).status().unwrap();
    if !shell("gzip --version > /dev/null && gunzip --version > /dev/null").success() {
        return;
    }
    let folder = Folder::new("backtest-decompress");
    let plain = folder.write("plain", &jumping());
    for name in ["c_gz.csv", "my data.csv", "eth.csv.gz", "it's.csv"] {
        let path = folder.0.join(name).display().to_string();
        let quoted = path.replace('\'', r"'\''");
        assert!(shell(&format!("gzip --stdout '{plain}' > '{quoted}'")).success());
        let output = run(&folder, &path, &["--overwrite"]);
        let message = stderr(&output);
        assert_eq!(exit(&output), 1, "{message}");
        let (_, command) = message.split_once('`').unwrap();
        let (command, _) = command.split_once('`').unwrap();
        assert!(shell(command).success(), "{command}");
        let (_, made) = command.split_once(" > ").unwrap();
        let made = made.trim_matches('\'').replace(r"'\''", "'");
        let output = run(&folder, &made, &["--overwrite"]);
        assert_eq!(exit(&output), 0, "{made}: {}", stderr(&output));
    }
}

/// The command that the error names makes a complete file of one that lacks its last line break.
#[test]
fn a_missing_line_break_at_the_end_is_added_by_the_command_of_the_error() {
    let folder = Folder::new("backtest-line-break");
    let rows = jumping();
    let data = folder.write("my eth.csv", rows.trim_end());
    let output = run(&folder, &data, &[]);
    let message = stderr(&output);
    assert_eq!(exit(&output), 1, "{message}");
    assert!(
        message.contains("line 602: the file ends too early"),
        "{message}"
    );
    let command = message.split('`').nth(1).unwrap();
    let done = Command::new("sh").args(["-c", command]).status().unwrap();
    assert!(done.success(), "{command}");
    assert_eq!(std::fs::read_to_string(&data).unwrap(), rows);
    let output = run(&folder, &data, &[]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
}

/// The order of files is named where it is wrong, and not where they overlap.
#[test]
fn files_in_the_wrong_order_are_named() {
    let folder = Folder::new("backtest-order");
    let whole = jumping();
    let rows: Vec<_> = whole.lines().collect();
    let table = |name: &str, from: usize, to: usize| {
        let lines = [&rows[..2], &rows[from..to]].concat();
        folder.write(name, &(lines.join("\n") + "\n"))
    };
    let quiet = quiet_ticks();
    let ticks = |name: &str, rows: &[(u64, i64, f64, f64)]| {
        let path = folder.0.join(name);
        std::fs::write(&path, npy(rows)).unwrap();
        path.display().to_string()
    };
    let half = quiet.len() / 2;
    let units = ["--tick", "0.01", "--lot", "0.001"];
    let (monday, tuesday) = (table("monday.csv", 2, 302), table("tuesday.csv", 302, 602));
    let (first, second) = (
        ticks("1.npy", &quiet[..half]),
        ticks("2.npy", &quiet[half..]),
    );
    let empty = table("empty.csv", 2, 2);
    // Each day begins with a snapshot that has no times.
    let untimed = (BUY | 4, -1_723_161_256, quiet[0].2, quiet[0].3);
    let after_snapshot = |name: &str, rows: &[_]| ticks(name, &[&[untimed][..], rows].concat());
    let (third, fourth) = (
        after_snapshot("3.npy", &quiet[..half]),
        after_snapshot("4.npy", &quiet[half..]),
    );
    for (files, place) in [
        (&[&fourth, &third][..], "3.npy: row 1:"),
        (&[&tuesday, &monday], "monday.csv: line 3:"),
        (&[&tuesday, &empty, &monday], "monday.csv: line 3:"),
        (&[&second, &first], "1.npy: row 0:"),
    ] {
        let more: Vec<_> = files[1..]
            .iter()
            .flat_map(|file| ["--data", file])
            .collect();
        let output = run(&folder, files[0], &[&more[..], &units].concat());
        let message = stderr(&output);
        assert_eq!(exit(&output), 1, "{message}");
        for words in [
            place,
            files[0],
            "in the wrong order",
            "give the oldest one first",
        ] {
            assert!(message.contains(words), "{words}: {message}");
        }
        assert!(!message.contains("--skip"), "{message}");
    }
    let overlapping = table("overlapping.csv", 250, 602);
    let output = run(&folder, &monday, &["--data", &overlapping]);
    let message = stderr(&output);
    assert!(
        message.contains("overlapping.csv: line 3:") && message.contains("--skip backward"),
        "{message}"
    );
    let output = run(&folder, &monday, &["--data", &empty, "--data", &tuesday]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
}

/// Files that hold a header alone are named, and those of other markets are not.
#[test]
fn files_without_rows_are_named() {
    let folder = Folder::new("backtest-no-rows");
    let rows = jumping();
    let header: String = rows
        .lines()
        .take(2)
        .map(|line| line.to_owned() + "\n")
        .collect();
    let table = folder.write("table.csv", &header);
    let second = folder.write("second.csv", &header);
    let ticks = folder.0.join("ticks.npy");
    std::fs::write(&ticks, npy(&[])).unwrap();
    let ticks = ticks.display().to_string();
    let units = ["--tick", "0.01", "--lot", "0.001"];
    for (data, more, names) in [
        (&table, &[][..], vec!["table.csv: "]),
        (
            &table,
            &["--data", &second],
            vec!["table.csv, ", "second.csv: "],
        ),
        (&ticks, &units, vec!["ticks.npy: "]),
    ] {
        let output = run(&folder, data, more);
        let message = stderr(&output);
        assert_eq!(exit(&output), 1, "{message}");
        let text = [
            "the data of ETH-USDC have no rows",
            "(0 rows read)",
            "export again",
        ];
        for words in names.iter().chain(&text) {
            assert!(message.contains(words), "{words}: {message}");
        }
    }
    let missing = run(&folder, "recorded/", &[]);
    let message = stderr(&missing);
    assert!(
        message.contains("recorded/: there is no such file or folder"),
        "{message}"
    );
    // Every row is left out.
    let off = rows.replace("tick=0.01", "tick=1000");
    let off = folder.write("off.csv", &off);
    let output = run(&folder, &off, &["--skip", "off-grid"]);
    let message = stderr(&output);
    assert!(
        message.contains("off.csv: ") && message.contains("(600 rows read)"),
        "{message}"
    );
}

/// A pipe is refused at once, wherever a file of data or results is named: opening it would wait for a writer.
#[test]
fn pipes_and_devices_are_refused_instead_of_waited_for() {
    let folder = Folder::new("backtest-pipe");
    let path = |name: &str| folder.0.join(name).display().to_string();
    let pipe = |name: &str| {
        let made = Command::new("mkfifo").arg(path(name)).status().unwrap();
        assert!(made.success());
        path(name)
    };
    // The words, separated by "; ", are all in the message.
    let refused = |args: &[&str], words: &str| {
        let mut command = Command::new("timeout");
        command
            .args(["20", env!("CARGO_BIN_EXE_cambist")])
            .args(args);
        let output = command.output().unwrap();
        let message = stderr(&output);
        assert!(
            ![0, 124].contains(&exit(&output))
                && words.split("; ").all(|words| message.contains(words)),
            "{args:?}: {} {message}",
            exit(&output)
        );
    };
    let config = config(&folder);
    let sound = folder.write("eth.csv", &jumping());
    let out = path("out");
    let backtest = |data: &[&str], words: &str| {
        let data = data.iter().flat_map(|data| ["--data", *data]);
        let fixed = ["backtest", "--config", &config, "--out", &out];
        refused(&fixed.into_iter().chain(data).collect::<Vec<_>>(), words);
    };
    for name in ["a.csv", "a.npy", "a.npz", "a.mkt", "a.tape"] {
        let pipe = pipe(name);
        backtest(&[&pipe], &format!("{name}; it is a pipe"));
        backtest(&[&sound, &pipe], "");
    }
    backtest(&[&format!("tape:{}", path("a.csv"))], "a.csv; it is a pipe");
    backtest(&[&sound, &path("a.csv")], "a.csv; it is a pipe");
    std::os::unix::fs::symlink("/dev/null", path("device.csv")).unwrap();
    backtest(&[&path("device.csv")], "device.csv; it is a device");
    for (of, inner) in [("segments", "0000000001.mkt"), ("tapes", "0000000001.tape")] {
        std::fs::create_dir(path(of)).unwrap();
        pipe(&format!("{of}/{inner}"));
        backtest(&[&path(of)], &format!("{inner}; it is a pipe"));
    }
    let scenario = format!("scenario:{}", pipe("a.toml"));
    backtest(&[&scenario], "not a regular file");
    refused(
        &[
            "backtest",
            "--config",
            &path("a.toml"),
            "--data",
            &sound,
            "--out",
            &out,
        ],
        "not a regular file",
    );
    std::fs::create_dir(path("results")).unwrap();
    pipe("results/report.json");
    let [one, two] = ["one", "two"].map(|name| format!("{name}={}", path("results")));
    let page = path("page.html");
    let compare = ["compare", &one, &two, "--out", &page];
    refused(&compare, "report.json; it is a pipe");
    let merged = path("merged");
    let part = path("a.csv");
    refused(&["merge", &part, "--out", &merged], "a.csv; it is a pipe");
    refused(&["replay", &path("a.tape")], "it is a pipe");
}

/// A recording whose trades have the side of the order that rested is read without a defect, and its fills are those of the
/// wrong side: *Advice* states it.
#[test]
fn trades_with_the_side_of_the_order_that_rested_are_named() {
    let folder = Folder::new("backtest-sides");
    let data = folder.0.join("eth.npy");
    let path = data.display().to_string();
    let stated = |rows: &[_]| {
        std::fs::write(&data, npy(rows)).unwrap();
        let units = ["--tick", "0.01", "--lot", "0.001", "--overwrite"];
        let output = run(&folder, &path, &units);
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
        stdout(&output).contains("are on the side of their taker")
    };
    // Sellers trade at the bid.
    let right = quiet_ticks();
    assert!(!stated(&right));
    let wrong: Vec<_> = right
        .iter()
        .map(|&(ev, second, px, qty)| match ev & 0xFF {
            2 => (BUY | 2, second, px, qty),
            _ => (ev, second, px, qty),
        })
        .collect();
    assert!(stated(&wrong));
    // A few are usual: the book of a recording may be late.
    let mut few = right;
    few.extend(
        wrong
            .into_iter()
            .filter(|row| row.0 & 0xFF == 2)
            .take(19)
            .map(|(ev, _, px, qty)| (ev, 600, px, qty)),
    );
    assert!(!stated(&few));
}
