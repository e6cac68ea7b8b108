//! `depth`.

use std::path::Path;
use std::process::Output;

use crate::backtest::config;
use crate::support::{Folder, cambist, exit, json, stderr};

/// What a daemon recorded on the demo's exchange.
fn tape(folder: &Folder) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept/tape-4fb51ac/start.tape");
    let tapes = folder.0.join("tapes");
    std::fs::create_dir(&tapes).unwrap();
    std::fs::copy(path, tapes.join("0000000001.tape")).unwrap();
    tapes.display().to_string()
}

fn depth(tapes: &str, out: &Path, more: &[&str]) -> Output {
    let out = out.display().to_string();
    let fixed = ["depth", tapes, "--out", &out, "--json"];
    let market: &[_] = if more.contains(&"--market") {
        &[]
    } else {
        &["--market", "ETH-USDC"]
    };
    cambist(&[&fixed[..], market, more].concat())
}

/// What a backtest found in this data.
fn data(folder: &Folder, path: &str) -> serde_json::Value {
    let (out, config) = (folder.0.join("out").display().to_string(), config(folder));
    let args = [
        "backtest",
        "--config",
        &config,
        "--data",
        path,
        "--out",
        &out,
        "--overwrite",
        "--json",
    ];
    let output = cambist(&args);
    assert_eq!(exit(&output), 0, "{path}: {}", stderr(&output));
    json(&output)["report"]["data"][0].clone()
}

#[test]
fn recorded_depth_is_a_table_that_backtests_read() {
    let folder = Folder::new("depth");
    let tapes = tape(&folder);
    let path = folder.0.join("depth.csv");
    let written = depth(&tapes, &path, &["--levels", "1000"]);
    assert_eq!(exit(&written), 0, "{}", stderr(&written));
    let written = json(&written);
    let text = std::fs::read_to_string(&path).unwrap();
    let rows: Vec<_> = text.lines().skip(2).collect();
    assert_eq!(written["rows"], rows.len());
    let units = "# tick=0.01 lot=0.0001
";
    let names = "time_ns,exchange_time_ns,sequence,bid_px_1,bid_qty_1,bid_px_2";
    assert!(text.starts_with(&format!("{units}{names}")), "{text:.200}");
    // Decimals are exact: multiples of tick and lot.
    let best: Vec<_> = rows[0].split(',').skip(3).take(2).collect();
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, part)| part.len());
    let of = |name: &str| written[name].as_str().unwrap().to_owned();
    assert_eq!(decimals(best[0]), decimals(&of("tick")), "{best:?}");
    assert_eq!(decimals(best[1]), decimals(&of("lot")), "{best:?}");
    // The table is what the recording is: the same rows, none of them with a defect.
    let (tape, table) = (data(&folder, &tapes), data(&folder, path.to_str().unwrap()));
    for field in ["rows", "kept", "first", "last"] {
        assert_eq!(tape[field], table[field], "{field}: {tape} {table}");
    }

    // A table is read as recordings of `mode = "observe"` are: the same bytes again.
    let copy = folder.0.join("copy.csv");
    let args = [
        "depth",
        path.to_str().unwrap(),
        "--out",
        copy.to_str().unwrap(),
    ];
    let output = cambist(&[&args[..], &["--levels", "1000"]].concat());
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), text);

    // Tapes are found in the state folder of a daemon as well, which has them in `tape`.
    let state = folder.0.join("state");
    std::fs::create_dir(&state).unwrap();
    std::fs::rename(&tapes, state.join("tape")).unwrap();
    let again = folder.0.join("again.csv");
    let more = ["--levels", "1000"];
    let output = depth(state.to_str().unwrap(), &again, &more);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(&again).unwrap(), text);
    let tapes = state.join("tape").display().to_string();

    // From the time of the second row, to before that of the last.
    let time = |row: &str| row.split(',').next().unwrap().parse::<u64>().unwrap();
    let second = |row: &str| {
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(time(row) / 1_000_000_000);
        humantime::format_rfc3339_seconds(at).to_string()
    };
    let (from, to) = (second(rows[2]), second(rows[rows.len() - 1]));
    let bounds = |row: &&&str| second(row) >= from && second(row) < to;
    let part = folder.0.join("part.csv");
    let output = depth(
        &tapes,
        &part,
        &["--levels", "1000", "--from", &from, "--to", &to],
    );
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let found = std::fs::read_to_string(&part).unwrap();
    let expected: Vec<_> = rows.iter().filter(bounds).copied().collect();
    assert_eq!(found.lines().skip(2).collect::<Vec<_>>(), expected);
    assert!(expected.len() < rows.len() && !expected.is_empty());
}

/// Segments of an exchange whose versions began again: the table is read like the folder.
#[test]
fn a_restart_of_the_exchange_leaves_a_table_that_is_read() {
    use cambist_core::{Price, Qty};
    use cambist_market_data::segment::{Header, Limits, SnapshotWriter};
    use cambist_market_data::{Grid, Level, Snapshot, Timestamp};

    let folder = Folder::new("depth-restart");
    let recorded = folder.0.join("ETH-USDC");
    std::fs::create_dir(&recorded).unwrap();
    let header = Header {
        market: "ETH-USDC".to_owned(),
        grid: Grid::parse("0.01", "0.0001").unwrap(),
    };
    let mut writer = SnapshotWriter::begin(&recorded, header, Limits::default()).unwrap();
    for second in 0..60_u64 {
        let time = 1_723_161_256 + i64::try_from(second).unwrap();
        let level = |price| Level {
            price: Price(price),
            qty: Qty(10_000),
        };
        let row = Snapshot {
            exchange_time: Timestamp(time * 1_000_000_000),
            local_time: Timestamp(time * 1_000_000_000),
            sequence: if second < 30 {
                100 + second
            } else {
                second - 29
            },
            bids: vec![level(268_400)],
            asks: vec![level(268_420)],
        };
        writer.write(&row).unwrap();
    }
    writer.finish().unwrap();
    let (recorded, table) = (recorded.display().to_string(), folder.0.join("e.csv"));
    let output = cambist(&[
        "depth",
        &recorded,
        "--out",
        table.to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    assert_eq!(
        (&json(&output)["rows"], &json(&output)["restarts"]),
        (&60.into(), &1.into())
    );
    let (folder_data, table_data) = (
        data(&folder, &recorded),
        data(&folder, table.to_str().unwrap()),
    );
    for field in ["rows", "kept", "first", "last"] {
        assert_eq!(folder_data[field], table_data[field], "{field}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_has_the_same_rows() {
    let folder = Folder::new("depth-parquet");
    let tapes = tape(&folder);
    let path = folder.0.join("depth.parquet");
    let written = depth(&tapes, &path, &[]);
    assert_eq!(exit(&written), 0, "{}", stderr(&written));
    let (tape, table) = (data(&folder, &tapes), data(&folder, path.to_str().unwrap()));
    for field in ["rows", "kept", "first", "last"] {
        assert_eq!(tape[field], table[field], "{field}: {tape} {table}");
    }
}

#[test]
fn mistakes_are_named_and_leave_no_file() {
    let folder = Folder::new("depth-mistakes");
    let tapes = tape(&folder);
    let out = folder.0.join("depth.csv");
    let refused = |out: &Path, more: &[&str], code, text: &str| {
        let output = depth(&tapes, out, more);
        assert_eq!(exit(&output), code, "{more:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(text), "{}", stderr(&output));
    };
    refused(
        &folder.0.join("depth.txt"),
        &[],
        2,
        "ends with .csv or .parquet",
    );
    refused(
        &out,
        &["--market", "BTC-USDC"],
        1,
        "no depth of BTC-USDC was recorded; the tape has ETH-USDC",
    );
    refused(
        &out,
        &["--from", "2030-01-01"],
        1,
        "in this period; what was read is from 20",
    );
    refused(&out, &["--from", "soon"], 2, "is not a time");
    refused(
        &out,
        &["--from", "2026-01-02", "--to", "2026-01-01"],
        2,
        "is not before",
    );
    refused(&out, &["--levels", "0"], 2, "--levels");
    if cfg!(not(feature = "parquet")) {
        refused(&folder.0.join("d.parquet"), &[], 2, "--features parquet");
    }
    let output = depth("/nowhere", &out, &[]);
    assert!(
        stderr(&output).contains("because: No such file"),
        "{}",
        stderr(&output)
    );
    let output = cambist(&["depth", &tapes, "--out", out.to_str().unwrap()]);
    assert_eq!(exit(&output), 0, "the only market: {}", stderr(&output));
    std::fs::remove_file(&out).unwrap();
    let path = Path::new(&tapes).join("0000000001.tape");
    let mut damaged = std::fs::read(&path).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&path, damaged).unwrap();
    refused(&out, &[], 1, "damaged");
    assert!(!out.exists() && !folder.0.join("depth.csv.partial").exists());
    // A file that is there is not replaced.
    std::fs::write(&out, "mine").unwrap();
    refused(&out, &[], 2, "exists");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "mine");
    refused(&out, &["--overwrite"], 1, "damaged");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "mine");
}
