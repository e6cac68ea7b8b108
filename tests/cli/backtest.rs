//! `cambist backtest`: input and output files, and errors that name what is wrong.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use crate::support::{Folder, cambist, example, exit, json, stderr, stdout};

/// The example configuration at full size from the start.
pub fn config(folder: &Folder) -> String {
    let text = std::fs::read_to_string(example("cambist.toml")).unwrap();
    let full = text.replace("start_bps = 2500", "start_bps = 10000");
    assert_ne!(text, full);
    folder.write("cambist.toml", &full)
}

/// Ten minutes of a market that jumps up and down by 60 basis points every ten seconds.
pub fn jumping() -> String {
    let mut text = String::from("# ETH-USDC tick=0.01 lot=0.001\n");
    text.push_str(
        "time_ms,bid_px_1,bid_qty_1,bid_px_2,bid_qty_2,ask_px_1,ask_qty_1,ask_px_2,ask_qty_2\n",
    );
    for second in 0..600 {
        let mid = if second / 10 % 2 == 0 {
            268_400
        } else {
            270_010
        };
        let price = |ticks: i64| format!("{}.{:02}", (mid + ticks) / 100, (mid + ticks) % 100);
        _ = writeln!(
            text,
            "{},{},5.5,{},12,{},5.250,{},12",
            1_723_161_256_000_i64 + second * 1_000,
            price(-10),
            price(-60),
            price(10),
            price(60),
        );
    }
    text
}

/// Ten minutes of a market that rises by a tick a second, which is slower than quotes are renewed.
pub fn drifting() -> String {
    let mut text = String::from("# ETH-USDC tick=0.01 lot=0.001\n");
    text.push_str("time_ms,bid_px_1,bid_qty_1,ask_px_1,ask_qty_1\n");
    for second in 0..600 {
        let price = |ticks: i64| {
            let ticks = 268_400 + second + ticks;
            format!("{}.{:02}", ticks / 100, ticks % 100)
        };
        _ = writeln!(
            text,
            "{},{},5.5,{},5.25",
            1_723_161_256_000_i64 + second * 1_000,
            price(-10),
            price(10),
        );
    }
    text
}

pub fn run(folder: &Folder, data: &str, more: &[&str]) -> std::process::Output {
    let config = config(folder);
    let out = folder.0.join("out").display().to_string();
    let fixed = [
        "backtest", "--config", &config, "--data", data, "--out", &out,
    ];
    cambist(&[&fixed[..], more].concat())
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_backtest_reports_what_it_earned_and_what_it_assumed() {
    let folder = Folder::new("backtest");
    let data = folder.write("eth.csv", &jumping());
    let output = run(&folder, &data, &["--json"]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let value = json(&output);
    let report = &value["report"];
    let out = folder.0.join("out");
    let written: Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("report.json")).unwrap()).unwrap();
    assert_eq!(value, written);
    let fills = lines(&out.join("fills.csv"));
    let count = report["fills"].as_u64().unwrap();
    assert!(count > 10, "{report:#}");
    assert_eq!(fills.len() as u64, count + 1);
    let header: Vec<_> = fills[0].split(',').collect();
    for fill in &fills[1..] {
        let cells: Vec<_> = fill.split(',').collect();
        assert_eq!(cells.len(), header.len(), "{fill}");
        assert_eq!((cells[2], cells[10]), ("ETH-USDC", "maker"), "{fill}");
    }
    assert_eq!(lines(&out.join("equity.csv")).len(), 2 + 599);
    let pnl = &report["pnl"];
    let part = |name: &str| -> f64 { pnl[name].as_str().unwrap().parse().unwrap() };
    let sum = part("spread") + part("holdings") + part("fees");
    assert!((sum - part("total")).abs() < 1e-9, "{pnl}");
    let of = &report["data"][0];
    assert_eq!(of["rows"], 600);
    assert_eq!(of["files"][0]["name"], "eth.csv");
    assert_eq!(of["files"][0]["bytes"], jumping().len());
    assert_eq!(of["files"][0]["sha256"].as_str().map(str::len), Some(64));
    let config = std::fs::read_to_string(folder.0.join("cambist.toml")).unwrap();
    assert_eq!(value["config_text"], config);
    // Orders that a jump fills are gone at the exchange before the engine polls it.
    let share = |name: &str| report[name].as_f64().unwrap();
    assert!(share("quoted_both_sides_ratio") < share("quoted_both_sides_as_polled_ratio"));
    assert_eq!(report["invariants"], serde_json::json!([]));
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(
        page.contains("<svg") && page.contains("[[market]]"),
        "pictures and the configuration"
    );
    let closing = report["equity"]["closing"].as_str().unwrap();
    for words in ["eth.csv", "at the beginning", "volume, ETH-USDC", closing] {
        assert!(page.contains(words), "{words}");
    }
    let rows = std::fs::read_to_string(out.join("report.csv")).unwrap();
    let fills = format!("\nfills,{}\n", report["fills"]);
    assert!(
        rows.starts_with("key,value\n") && rows.contains(&fills),
        "{rows}"
    );
    let text = std::fs::read_to_string(out.join("report.txt")).unwrap();
    for words in [
        "profit and loss",
        "markout 10 s",
        "Advice",
        "fills learnt after",
        "Assumed",
        "two snapshots",
        "of eth.csv",
        "at the exchange",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }

    // Overwritten only with the option, with the same bytes.
    let again = run(&folder, &data, &[]);
    assert_eq!(exit(&again), 2);
    assert!(stderr(&again).contains("--overwrite"), "{}", stderr(&again));
    let before = lines(&out.join("fills.csv"));
    let again = run(&folder, &data, &["--overwrite"]);
    assert_eq!(exit(&again), 0, "{}", stderr(&again));
    assert_eq!(stdout(&again), text);
    assert_eq!(lines(&out.join("fills.csv")), before);

    // Data that end the run leave the results as they were.
    let bad = folder.write("bad.csv", &(jumping() + "1,2\n"));
    let failed = run(&folder, &bad, &["--overwrite"]);
    assert_eq!(exit(&failed), 1, "{}", stderr(&failed));
    assert_eq!(lines(&out.join("fills.csv")), before);
    assert_eq!(
        std::fs::read_to_string(out.join("report.txt")).unwrap(),
        text
    );
    assert!(!out.join(".cambist-unfinished").exists());
}

/// The program names this value in its help.
#[test]
fn the_profit_and_loss_is_where_the_help_names_it() {
    let output = cambist(&["backtest", "--help"]);
    let help = stdout(&output);
    let (_, path) = help.split_once("jq .").unwrap();
    let path = path.split_whitespace().next().unwrap();
    let folder = Folder::new("backtest-help");
    let data = folder.write("eth.csv", &jumping());
    let output = run(&folder, &data, &["--json"]);
    let pointer = format!("/{}", path.replace('.', "/"));
    let value = json(&output).pointer(&pointer).cloned().unwrap();
    assert!(value["total"].is_string(), "{path}: {value}");
}

#[test]
fn a_day_is_a_period_and_a_sample_may_be_an_hour() {
    let folder = Folder::new("backtest-day");
    let data = folder.write("eth.csv", &jumping());
    let day = ["--from", "2024-08-08", "--to", "2024-08-08"];
    let output = run(&folder, &data, &[&day[..], &["--json"]].concat());
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    // The data begin at 23:54:16 and go on over midnight; the last row of the day is its end.
    let value = json(&output);
    assert_eq!(value["report"]["from"], "2024-08-08T23:54:16Z");
    assert_eq!(value["report"]["to"], "2024-08-09T00:00:00Z");
    let rows = lines(&folder.0.join("out/equity.csv"));
    assert_eq!(rows.len(), 1 + 345);
    assert_ne!(rows[rows.len() - 1], rows[rows.len() - 2]);
    let output = run(&folder, &data, &["--sample", "1h", "--overwrite"]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
}

#[test]
fn data_in_the_wrong_unit_are_refused() {
    let folder = Folder::new("backtest-unit");
    let seconds = jumping().replace("000,26", ",26").replace("000,27", ",27");
    let data = folder.write("seconds.csv", &seconds);
    let output = run(&folder, &data, &[]);
    assert_eq!(exit(&output), 1);
    let message = stderr(&output);
    for words in ["line 3", "before the year 2000", "2024-08-08T23:54:16Z"] {
        assert!(message.contains(words), "{words}: {message}");
    }
}

/// The same file that quotes live: each view is answered by the real process, and runs are equal.
#[test]
fn the_example_in_python_trades_in_a_backtest() {
    let folder = Folder::new("backtest-process");
    let data = folder.write("jumping.csv", &jumping());
    let script = std::fs::read_to_string(example("../strategies/examples/join_best.py")).unwrap();
    folder.write("join_best.py", &script);
    let text = std::fs::read_to_string(config(&folder)).unwrap();
    let mut file: toml::Table = text.parse().unwrap();
    let strategy = "kind = 'process'\nname = 'join_best'\ncommand = ['python3', 'join_best.py']\n\
                    [params]\namount = 0.2\nmargin_bps = 10";
    let strategy: toml::Table = strategy.parse().unwrap();
    let market = file["market"][0].as_table_mut().unwrap();
    market.insert("strategy".to_owned(), vec![strategy].into());
    let config = folder.write("process.toml", &file.to_string());
    let reports = ["one", "two"].map(|out| {
        let out = folder.0.join(out).display().to_string();
        let args = [
            "backtest", "--config", &config, "--data", &data, "--out", &out, "--json",
        ];
        let output = cambist(&args);
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
        let fills = lines(&Path::new(&out).join("fills.csv"));
        assert!(fills.len() > 10, "{fills:#?}");
        fills
    });
    assert_eq!(reports[0], reports[1]);
}

/// A configuration whose strategy is a process that runs this program in Python.
fn with_process(folder: &Folder, program: &str) -> String {
    folder.write("strategy.py", program);
    let text = std::fs::read_to_string(config(folder)).unwrap();
    let mut file: toml::Table = text.parse().unwrap();
    let strategy = "kind = 'process'\nname = 'mine'\ncommand = ['python3', 'strategy.py']";
    let strategy: toml::Table = strategy.parse().unwrap();
    let market = file["market"][0].as_table_mut().unwrap();
    market.insert("strategy".to_owned(), vec![strategy].into());
    folder.write("process.toml", &file.to_string())
}

#[test]
fn a_process_that_dies_again_and_again_ends_a_backtest() {
    let folder = Folder::new("backtest-dying");
    let data = folder.write("jumping.csv", &jumping());
    for (program, words) in [
        (
            "import sys\nprint('no such column', file=sys.stderr)\nsys.exit(3)\n",
            ["3", "no such column"],
        ),
        (
            "for line in open(0):\n    raise ValueError('a mistake')\n",
            ["1", "ValueError: a mistake"],
        ),
    ] {
        let config = with_process(&folder, program);
        let out = folder.0.join("out").display().to_string();
        let args = [
            "backtest", "--config", &config, "--data", &data, "--out", &out,
        ];
        let output = cambist(&args);
        let message = stderr(&output);
        assert_eq!(exit(&output), 1, "{message}");
        for words in ["strategy mine", "strategy.py", "5 times"]
            .iter()
            .chain(&words)
        {
            assert!(message.contains(words), "{words}: {message}");
        }
    }
}

#[test]
fn answers_that_are_no_targets_are_counted_with_the_reason() {
    let folder = Folder::new("backtest-no-targets");
    let data = folder.write("jumping.csv", &jumping());
    let program = "for line in open(0):\n    print('{\"quotes\": 3}', flush=True)\n";
    let config = with_process(&folder, program);
    let out = folder.0.join("out").display().to_string();
    let output = cambist(&[
        "backtest", "--config", &config, "--data", &data, "--out", &out,
    ]);
    let message = stderr(&output);
    assert_eq!(exit(&output), 0, "{message}");
    assert!(
        message.contains("strategy mine: ") && message.contains("were no targets; the last one: "),
        "{message}"
    );
}

#[test]
fn several_files_and_balances_are_taken() {
    let folder = Folder::new("backtest-parts");
    let whole = jumping();
    let rows: Vec<_> = whole.lines().collect();
    let part = |rows: &[&str]| {
        let head = whole.lines().take(2).collect::<Vec<_>>().join("\n");
        format!("{head}\n{}\n", rows.join("\n"))
    };
    let first = folder.write("1.csv", &part(&rows[2..302]));
    let second = folder.write("2.csv", &part(&rows[302..]));
    let more = [
        "--data",
        &second,
        "--balance",
        "ETH=3",
        "--balance",
        "USDC=9000.5",
        "--json",
    ];
    let output = run(&folder, &first, &more);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let report = &json(&output)["report"];
    assert_eq!(report["data"][0]["rows"], 600);
    assert_eq!(
        report["opening"],
        serde_json::json!({"ETH": "3", "USDC": "9000.5"})
    );
}

#[test]
fn bad_data_are_named_with_file_and_line_and_skipped_if_asked() {
    let folder = Folder::new("backtest-bad");
    let mut rows: Vec<_> = jumping().lines().map(str::to_owned).collect();
    // Bids above asks.
    rows[100] = rows[100]
        .replacen("268", "288", 1)
        .replacen("270", "288", 1);
    let data = folder.write("bad.csv", &(rows.join("\n") + "\n"));
    let output = run(&folder, &data, &[]);
    assert_eq!(exit(&output), 1);
    let message = stderr(&output);
    assert!(
        message.contains("bad.csv: line 101") && message.contains("--skip crossed"),
        "{message}"
    );
    assert!(
        !folder.0.join("out/report.json").exists(),
        "no report of a run that failed"
    );
    // Nothing is in the way of the same command with the option that it named.
    let output = run(&folder, &data, &["--skip", "crossed", "--json"]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let skipped = &json(&output)["report"]["data"][0]["skipped"][0];
    assert_eq!(
        (&skipped["kind"], &skipped["count"]),
        (&"crossed".into(), &1.into())
    );
    // Two runs do not write into one folder.
    let lock = std::fs::File::open(folder.0.join("out")).unwrap();
    lock.try_lock().unwrap();
    let output = run(
        &folder,
        &data,
        &["--skip", "crossed", "--overwrite", "--json"],
    );
    let message = stderr(&output);
    assert_eq!(exit(&output), 2, "{message}");
    assert!(message.contains("another run writes"), "{message}");
    drop(lock);
    // What cannot be read from its beginning is not left out by any option.
    let data = folder.write("header.csv", &rows[0][..rows[0].len() / 2]);
    let output = run(&folder, &data, &["--overwrite"]);
    let message = stderr(&output);
    assert_eq!(exit(&output), 1, "{message}");
    assert!(
        message.contains("header.csv") && !message.contains("--skip"),
        "{message}"
    );
}

#[test]
fn contradicting_arguments_are_refused() {
    let folder = Folder::new("backtest-wrong");
    let data = folder.write("eth.csv", &jumping());
    let fine = folder.write("fine.csv", &jumping().replace("tick=0.01", "tick=0.001"));
    let of_another = format!("BTC-USDC={data}");
    let nowhere = folder.0.join("nowhere.csv").display().to_string();
    for (data, more, code, words) in [
        (&of_another, &[][..], 2, "no market BTC-USDC"),
        (&nowhere, &[], 1, "nowhere.csv"),
        (&data, &["--balance", "BTC=1"], 2, "there is no token BTC"),
        (
            &data,
            &["--balance", "ETH=1", "--balance", "ETH=2"],
            2,
            "ETH is given twice",
        ),
        (&data, &["--from", "yesterday"], 2, "a day (2024-08-08)"),
        (&data, &["--balance", "ETH=1.5e3"], 2, "decimal"),
        (&data, &["--queue-model", "fifo"], 1, "names every order"),
        (&data, &["--queue-model", "fast"], 2, "no queue model"),
        (
            &data,
            &["--from", "2030-01-01T00:00:00Z"],
            1,
            "no rows within the requested time",
        ),
        (&data, &["--tick", "0.05"], 1, "another tick"),
        (
            &fine,
            &[],
            1,
            "the data's tick 0.001 is not a multiple of the market's 0.01",
        ),
    ] {
        let output = run(&folder, data, &[more, &["--overwrite"]].concat());
        let message = stderr(&output);
        assert_eq!(exit(&output), code, "{more:?}: {message}");
        assert!(message.contains(words), "{more:?}: {message}");
    }
    // A file that states no units.
    let text = std::fs::read_to_string(example("cambist.toml")).unwrap();
    let without = folder.write("bare.toml", &text.replace("price_decimals = 2\n", ""));
    let out = folder.0.join("out").display().to_string();
    let output = cambist(&[
        "backtest", "--config", &without, "--data", &data, "--out", &out,
    ]);
    assert_eq!(exit(&output), 77);
    assert!(
        stderr(&output).contains("price_decimals"),
        "{}",
        stderr(&output)
    );
    // There is no other venue here: neither for a strategy that reads one, nor for a portfolio.
    let params = "[market.strategy.params]\n";
    let reads = "reference = [{ source = \"market\", market = \"kraken:ETH-USDC\" }]\n";
    let reading = folder.write(
        "reading.toml",
        &text.replace(params, &format!("{params}{reads}")),
    );
    for (config, what) in [
        (reading, "reads"),
        (example("portfolio.toml"), "the file of a portfolio"),
    ] {
        let output = cambist(&[
            "backtest", "--config", &config, "--data", &data, "--out", &out,
        ]);
        let message = stderr(&output);
        assert_eq!(exit(&output), 77, "{message}");
        assert!(message.contains(what), "{message}");
    }
}

/// All time up to it would be simulated, second by second.
#[test]
fn a_row_far_in_the_future_is_no_gap_that_is_skipped() {
    let folder = Folder::new("backtest-far");
    let mut rows = drifting();
    let far = "\n4102444800000,2684.00,5.5,2684.20,5.25\n";
    let middle = rows.find("\n1723161556000,").unwrap();
    rows.replace_range(middle..=middle, far);
    let data = folder.write("eth.csv", &rows);
    let output = run(&folder, &data, &["--skip", "gap"]);
    let message = stderr(&output);
    assert_eq!(exit(&output), 1, "{message}");
    let what = "eth.csv: line 303: local time 2100-01-01T00:00:00Z is more than three months after that of the row before it, 2024-08-08T23:59:15Z";
    assert!(message.contains(what), "{message}");
    // It is left out as a value that is not possible, and the run goes on to the end of the data.
    let output = run(&folder, &data, &["--json", "--skip", "gap,bad-value"]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let report = &json(&output)["report"];
    let of = &report["data"][0];
    assert_eq!((&of["rows"], &of["kept"]), (&601.into(), &600.into()));
    assert_eq!(of["skipped"][0]["kind"], "bad-value");
    assert_eq!(of["last"], 1_723_161_855_000_000_000_i64);
}

/// Tables that other tools read, and data that they wrote.
#[cfg(feature = "parquet")]
#[test]
fn parquet_is_read_and_written() {
    use cambist_market_data::parquet::SnapshotWriter;
    use cambist_market_data::{OpenOptions, Recording, open};

    let folder = Folder::new("backtest-parquet");
    let csv = folder.write("eth.csv", &jumping());
    let Recording::Snapshots(mut rows) =
        open(&[csv.clone().into()], &OpenOptions::default()).unwrap()
    else {
        panic!("no snapshots");
    };
    let data = folder.0.join("eth.parquet");
    let file = std::fs::File::create(&data).unwrap();
    let mut writer = SnapshotWriter::new(file, rows.grid(), 2).unwrap();
    while let Some(snapshot) = rows.next_snapshot().unwrap() {
        writer.write(snapshot).unwrap();
    }
    writer.finish().unwrap();
    let of_csv = run(&folder, &csv, &["--json"]);
    let fills = lines(&folder.0.join("out/fills.csv"));
    let data = data.display().to_string();
    let of_parquet = run(&folder, &data, &["--json", "--overwrite", "--parquet"]);
    assert_eq!(exit(&of_parquet), 0, "{}", stderr(&of_parquet));
    let without_files = |output| {
        let mut value = json(output);
        value["report"]["data"][0]["files"] = Value::Null;
        value
    };
    assert_eq!(without_files(&of_parquet), without_files(&of_csv));
    assert_eq!(lines(&folder.0.join("out/fills.csv")), fills);
    for name in ["fills", "equity"] {
        let bytes = std::fs::read(folder.0.join(format!("out/{name}.parquet"))).unwrap();
        assert!(
            bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"),
            "{name}"
        );
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_refuses_it() {
    let folder = Folder::new("backtest-no-parquet");
    let data = folder.write("eth.csv", &jumping());
    let output = run(&folder, &data, &["--parquet"]);
    assert!(!folder.0.join("out").exists(), "nothing is written");
    let config = config(&folder);
    let path = |name: &str| folder.0.join(name).display().to_string();
    let (table, out) = (path("rows.parquet"), path("sweep"));
    let others = [
        &["history", "fills", "--config", &config, "--parquet", &table][..],
        &["depth", &out, "--out", &table],
        &[
            "sweep",
            "--config",
            &config,
            "--data",
            &data,
            "--sweep",
            &data,
            "--out",
            &out,
            "--parquet",
        ],
        &["merge", &out, "--out", &out, "--parquet"],
    ];
    // Every command refuses it in the same way, before it reads anything.
    let what = "error: this build writes no Parquet: build it with --features parquet, or use a release package\n";
    for output in others.map(cambist).iter().chain([&output]) {
        assert_eq!(exit(output), 2);
        assert_eq!(stderr(output), what);
    }
    // Data as well, whatever is in the file.
    let data = folder.write("eth.parquet", "PAR1");
    let sweep = folder.write("sweep.toml", crate::sweep::SWEEP);
    let sweep = [
        "sweep", "--config", &config, "--data", &data, "--sweep", &sweep, "--out", &out,
    ];
    let table = path("depth.csv");
    let depth = ["depth", &data, "--out", &table];
    for output in [run(&folder, &data, &[]), cambist(&sweep), cambist(&depth)] {
        let message = stderr(&output);
        assert_eq!(exit(&output), 2, "{message}");
        let what = "eth.parquet: this build reads no Parquet: build it with --features parquet";
        assert!(message.contains(what), "{message}");
    }
}

const AT_BOTH: u64 = 3 << 30;
pub const BUY: u64 = 1 << 29;
const SELL: u64 = 1 << 28;

/// Ticks as a NumPy array: event word, seconds, price, quantity.
pub fn npy(rows: &[(u64, i64, f64, f64)]) -> Vec<u8> {
    let header = format!(
        "{{'descr': [('ev', '<u8'), ('exch_ts', '<i8'), ('local_ts', '<i8'), ('px', '<f8'), ('qty', '<f8'), ('order_id', '<u8'), ('ival', '<i8'), ('fval', '<f8')], 'fortran_order': False, 'shape': ({},), }}\n",
        rows.len()
    );
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.as_bytes());
    for (ev, second, px, qty) in rows {
        let time = (1_723_161_256 + second) * 1_000_000_000;
        // A bit that is set here is left out.
        bytes.extend((AT_BOTH ^ ev).to_le_bytes());
        bytes.extend(time.to_le_bytes());
        bytes.extend(time.to_le_bytes());
        bytes.extend(px.to_le_bytes());
        bytes.extend(qty.to_le_bytes());
        bytes.extend([0; 24]);
    }
    bytes
}

/// Ten minutes of a book that is set every second, with a trade of a seller in each.
pub fn quiet_ticks() -> Vec<(u64, i64, f64, f64)> {
    let second = |n| {
        [
            (BUY | 1, n, 2_684.0, 5.0),
            (SELL | 1, n, 2_684.5, 5.0),
            (SELL | 2, n, 2_684.0, 0.1),
        ]
    };
    (0..600).flat_map(second).collect()
}

/// Ticks whose prices have another unit are refused with row, price and option; the options allow or skip them.
#[test]
fn ticks_in_another_unit_are_refused() {
    let folder = Folder::new("backtest-tick-unit");
    let data = folder.0.join("eth.npy");
    let path = data.display().to_string();
    let units = ["--tick", "0.01", "--lot", "0.001", "--overwrite"];
    let ran = |rows: &[_], more: &[&str]| {
        std::fs::write(&data, npy(rows)).unwrap();
        run(&folder, &path, &[&units[..], more].concat())
    };
    let good = quiet_ticks();
    let output = ran(&good, &[]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    // Two symbols in one file are two prices.
    let other = good
        .iter()
        .map(|(ev, second, px, qty)| (*ev, *second, px * 23.0, *qty));
    let both: Vec<_> = good
        .iter()
        .copied()
        .zip(other)
        .flat_map(|(a, b)| [a, b])
        .collect();
    let output = ran(&both, &[]);
    assert_eq!(exit(&output), 1, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("is implausible beside"),
        "{}",
        stderr(&output)
    );
    let mut wrong = good;
    wrong[302].2 *= 10.0;
    let output = ran(&wrong, &[]);
    let message = stderr(&output);
    assert_eq!(exit(&output), 1, "{message}");
    for words in [
        "eth.npy: row 302: the trade at 26840 is implausible beside a book of 2684 bid and 2684.5 ask",
        "--skip implausible-price",
        "--price-factor N",
    ] {
        assert!(message.contains(words), "{words}: {message}");
    }
    for more in [["--price-factor", "10"], ["--price-factor", "none"]] {
        let output = ran(&wrong, &more);
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
    }
    let output = ran(&wrong, &["--skip", "implausible-price", "--json"]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let report = &json(&output)["report"]["data"][0];
    assert_eq!(
        (&report["rows"], &report["kept"]),
        (&1_800.into(), &1_799.into())
    );
    assert_eq!(report["skipped"][0]["kind"], "implausible-price");
    assert_eq!(exit(&ran(&wrong, &["--price-factor", "1"])), 2);
}

/// Ticks of which trades act at the recorder's time only, and rows that act at no time, are stated in every view.
#[test]
fn ticks_at_one_time_only_are_stated() {
    let folder = Folder::new("backtest-views");
    let data = folder.0.join("eth.npy");
    let path = data.display().to_string();
    let mut rows = quiet_ticks();
    for row in rows.iter_mut().filter(|row| row.0 & 0xff == 2) {
        row.0 |= 1 << 31;
    }
    for row in rows.iter_mut().skip(900).step_by(300) {
        row.0 |= AT_BOTH;
    }
    std::fs::write(&data, npy(&rows)).unwrap();
    let units = ["--tick", "0.01", "--lot", "0.001", "--json"];
    let output = run(&folder, &path, &units);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let report = &json(&output)["report"];
    let views = &report["data"][0]["views"];
    assert_eq!(
        (&views["trades"], &views["trades_local_only"]),
        (&600.into(), &600.into())
    );
    assert_eq!(views["exchange_only"], 0);
    let words = "600 of 600 trades at the recorder's time only, 0 at the exchange's only";
    assert!(report["advice"].to_string().contains(words), "{report}");
    let ignored = "3 rows that act at neither time, or are the recorder's own";
    for file in ["out/report.txt", "out/report.html"] {
        let text = std::fs::read_to_string(folder.0.join(file)).unwrap();
        let text = text.replace("&#39;", "'");
        for words in [words, ignored, "one time only"] {
            assert!(text.contains(words), "{file}: {words}");
        }
    }
}

/// The time between the exchange and the recorder is in every view, and one of an hour is named.
#[test]
fn the_recorded_delay_is_stated() {
    let folder = Folder::new("backtest-delay");
    for (ahead_ms, is_late) in [(250_i64, false), (3_600_000, true)] {
        let text: String = jumping()
            .lines()
            .enumerate()
            .map(|(at, line)| match (at, line.split_once(',')) {
                (0, _) | (_, None) => format!("{line}\n"),
                (1, _) => format!("exchange_{}\n", line.replacen(',', ",time_ms,", 1)),
                (_, Some((time, rest))) => {
                    let exchange = time.parse::<i64>().unwrap() - ahead_ms;
                    format!("{exchange},{time},{rest}\n")
                }
            })
            .collect();
        let data = folder.write("eth.csv", &text);
        let output = run(&folder, &data, &["--json", "--overwrite"]);
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
        let report = &json(&output)["report"];
        let delay = &report["data"][0]["delay"];
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let expected = ahead_ms as f64;
        assert_eq!(delay["max_ms"], expected, "{delay}");
        let median = delay["median_ms"].as_f64().unwrap();
        assert!((median / expected - 1.0).abs() < 0.04, "{delay}");
        let words = "after their exchange times (above 10.0 s)";
        let advice = report["advice"].to_string();
        assert_eq!(advice.contains(words), is_late, "{advice}");
        for file in ["out/report.txt", "out/report.html"] {
            let text = std::fs::read_to_string(folder.0.join(file)).unwrap();
            assert!(text.contains("recorded delay"), "{file}");
        }
    }
}

/// The cells of a row of a table of a page, by its first cell.
fn cells<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let begin = format!("<tr><td>{name}</td>");
    let (_, row) = page
        .split_once(&begin)
        .unwrap_or_else(|| panic!("no row {name}"));
    let (row, _) = row.split_once("</tr>").unwrap();
    row.split("<td>")
        .skip(1)
        .map(|cell| cell.split_once("</td>").unwrap().0)
        .collect()
}

/// Orders that would have taken liquidity, cancelled and open ones: every view has every order once.
#[test]
fn orders_add_up_in_every_view() {
    let folder = Folder::new("backtest-orders");
    let data = folder.write("eth.csv", &jumping());
    let output = run(&folder, &data, &["--request-latency", "900ms", "--json"]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let report = &json(&output)["report"];
    let by_end = report["orders_by_end"].as_object().unwrap();
    let count = |name: &str| by_end[name].as_u64().unwrap();
    let names = ["filled", "cancelled", "expired", "refused", "lost", "open"];
    assert_eq!(by_end.len(), 7);
    assert_eq!(
        count("placed"),
        names.iter().map(|name| count(name)).sum::<u64>()
    );
    let late = report["ends"]["failed_late"].as_u64().unwrap();
    assert!(late > 0 && count("refused") >= late, "{by_end:?}");
    assert_eq!(report["orders"]["submitted"], by_end["placed"]);

    let text = std::fs::read_to_string(folder.0.join("out/report.txt")).unwrap();
    let parts: Vec<_> = names
        .iter()
        .map(|name| format!("{} {name}", count(name)))
        .collect();
    let sum = format!("{} placed = {};", count("placed"), parts.join(" + "));
    assert!(text.contains(&sum), "{sum}: {text}");
    assert!(text.contains(&format!("{late} after acceptance")), "{text}");
    let page = std::fs::read_to_string(folder.0.join("out/report.html")).unwrap();
    assert_eq!(cells(&page, "orders placed"), [count("placed").to_string()]);
    for name in names {
        assert_eq!(cells(&page, name), [count(name).to_string()], "{name}");
    }
    assert_eq!(
        cells(&page, "of the refused, after acceptance"),
        [late.to_string()]
    );
}

/// Profit and loss by market and fees by token are in every view, and add up to the totals.
#[test]
fn markets_and_fees_are_in_every_view() {
    let folder = Folder::new("backtest-markets");
    let data = folder.write("eth.csv", &jumping());
    let text = std::fs::read_to_string(config(&folder)).unwrap();
    let charged = text.replace("maker_bips = 0", "maker_bips = 5");
    assert_ne!(text, charged);
    let config = folder.write("fees.toml", &charged);
    let out = folder.0.join("out").display().to_string();
    let output = cambist(&[
        "backtest", "--config", &config, "--data", &data, "--out", &out, "--json",
    ]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let report = &json(&output)["report"];
    let market = &report["markets"][0];
    for name in ["spread", "holdings", "fees", "total"] {
        assert_eq!(market[name], report["pnl"][name], "{name}");
    }
    let amount = |value: &Value| value.as_str().unwrap().to_owned();
    let text = std::fs::read_to_string(folder.0.join("out/report.txt")).unwrap();
    let page = std::fs::read_to_string(folder.0.join("out/report.html")).unwrap();
    let line = format!(
        "ETH-USDC: {} USDC = spread {}",
        amount(&market["total"]),
        amount(&market["spread"])
    );
    assert!(text.contains(&line), "{line}: {text}");
    let names = [
        "spread",
        "holdings",
        "fees",
        "total",
        "holding",
        "excess_over_holding",
    ];
    let mut expected: Vec<_> = names.iter().map(|name| amount(&market[*name])).collect();
    expected.push(market["fills"].to_string());
    assert_eq!(cells(&page, "ETH-USDC"), expected);
    assert_eq!(report["fees"].as_array().unwrap().len(), 2);
    for fee in report["fees"].as_array().unwrap() {
        let paid = format!("{} {}", amount(&fee["amount"]), amount(&fee["token"]));
        assert!(
            text.contains(&format!("{paid} = {}", amount(&fee["value"]))),
            "{paid}: {text}"
        );
        assert_eq!(cells(&page, &paid), [amount(&fee["value"])]);
    }
}

/// Exchanges publish fees with decimals of a basis point: each fill pays exactly that, and the report states it.
#[test]
fn fees_have_decimals_of_a_basis_point() {
    let folder = Folder::new("backtest-fee");
    let data = folder.write("eth.csv", &jumping());
    let output = run(&folder, &data, &["--maker-fee-bps", "1.8", "--json"]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let report = &json(&output)["report"];
    assert_eq!(report["assumptions"]["maker_fee_bips"], 1.8);
    assert_eq!(report["assumptions"]["taker_fee_bips"], 10);
    let text = std::fs::read_to_string(folder.0.join("out/report.txt")).unwrap();
    assert!(
        text.contains("Fees: 1.8 bps for orders that rested, 10 bps for"),
        "{text}"
    );
    let fills = lines(&folder.0.join("out/fills.csv"));
    let header: Vec<_> = fills[0].split(',').collect();
    let column = |name: &str| header.iter().position(|known| *known == name).unwrap();
    // Base units of 18 decimals, quote units of 6.
    let units = |text: &str, decimals: u32| -> u128 {
        let (whole, places) = text.split_once('.').unwrap_or((text, ""));
        format!("{whole}{places:0<width$}", width = decimals as usize)
            .parse()
            .unwrap()
    };
    assert!(fills.len() > 10, "{fills:?}");
    for fill in &fills[1..] {
        let cells: Vec<_> = fill.split(',').collect();
        let (name, decimals) = match cells[column("side")] {
            "buy" => ("base", 18),
            _ => ("quote", 6),
        };
        let bought = units(cells[column(name)], decimals);
        let fee = units(cells[column("fee")], decimals);
        assert_eq!(fee, bought * 18 / 100_000, "{fill}");
    }

    for (bad, why) in [
        ("-0.5", "rebates are not simulated"),
        ("64.01", "orders.max_fee_bips"),
    ] {
        let fee = format!("--maker-fee-bps={bad}");
        let refused = run(&folder, &data, &[&fee]);
        assert_eq!(exit(&refused), 2, "{bad}");
        assert!(stderr(&refused).contains(why), "{}", stderr(&refused));
    }
}

/// A share of decreases that count as traded is an assumption about snapshots; on ticks it would have no effect.
#[test]
fn a_traded_share_of_ticks_is_refused() {
    let folder = Folder::new("backtest-share");
    let data = folder.0.join("eth.npy");
    std::fs::write(&data, npy(&quiet_ticks())).unwrap();
    let path = data.display().to_string();
    let share = ["--tick", "0.01", "--lot", "0.001", "--traded-share", "0.5"];
    let output = run(&folder, &path, &share);
    assert_eq!(exit(&output), 2, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("these data are ticks"),
        "{}",
        stderr(&output)
    );
    let snapshots = folder.write("eth.csv", &jumping());
    let output = run(&folder, &snapshots, &["--traded-share", "0.5"]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
}

/// Data outside of the requested time are named with theirs.
#[test]
fn the_time_of_data_outside_of_the_requested_time_is_stated() {
    let folder = Folder::new("backtest-time");
    let snapshots = folder.write("eth.csv", &jumping());
    for (option, words) in [
        (
            &["--from", "2024-08-10T00:20Z"][..],
            "they are of 2024-08-08T23:54:16Z to 2024-08-09T00:04:15Z, before its beginning, 2024-08-10T00:20:00Z",
        ),
        (
            &["--to", "2024-08-07"],
            "they begin at 2024-08-08T23:54:16Z, not before its end, 2024-08-08T00:00:00Z",
        ),
        (
            &["--from", "2024-08-09T00:02Z", "--to", "2024-08-09T00:01Z"],
            "it begins at 2024-08-09T00:02:00Z, not before its end, 2024-08-09T00:01:00Z",
        ),
        (
            &["--from", "2024-08-09T00:02Z", "--to", "2024-08-09T00:02Z"],
            "it begins at 2024-08-09T00:02:00Z, not before its end, 2024-08-09T00:02:00Z",
        ),
        (
            &["--to", "2024-08-08T23:54:16Z"],
            "they begin at 2024-08-08T23:54:16Z, not before its end, 2024-08-08T23:54:16Z",
        ),
    ] {
        let output = run(&folder, &snapshots, option);
        let message = stderr(&output);
        assert!(exit(&output) != 0 && message.contains(words), "{message}");
    }
}

/// Prices of which none is within the market's band are named, in a backtest and in a sweep.
#[test]
fn data_of_another_market_are_named() {
    let folder = Folder::new("backtest-other");
    let rows = [",268", ",269", ",270"]
        .into_iter()
        .fold(jumping(), |rows, price| {
            rows.replace(price, &price.replace(",2", ","))
        });
    let snapshots = folder.write("eth.csv", &rows);
    let output = run(&folder, &snapshots, &["--json"]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let report = &json(&output)["report"];
    let advice = report["advice"][0].as_str().unwrap();
    assert!(
        advice.starts_with(
            "The mid of ETH-USDC was 684 to 700.1, never within price_floor to price_ceiling ("
        ) && advice.contains("data of another market"),
        "{advice}"
    );
    assert_eq!(report["data"][0]["outside"]["mids"][0], "684");
    let usual = folder.write("usual.csv", &jumping());
    let output = run(&folder, &usual, &["--json", "--overwrite"]);
    assert!(json(&output)["report"]["data"][0]["outside"].is_null());
}

/// Snapshots of one wrong row: of a factor that is no power of ten, of a row behind one without a book, and of both
/// sides of it.
#[test]
fn a_snapshot_with_prices_in_another_unit_is_refused() {
    let folder = Folder::new("backtest-factor");
    let lines: Vec<_> = jumping().lines().map(str::to_owned).collect();
    let scaled = |line: &str, factor: f64| {
        let mut cells: Vec<_> = line.split(',').map(str::to_owned).collect();
        for cell in cells.iter_mut().skip(1).step_by(2) {
            *cell = format!("{:.2}", cell.parse::<f64>().unwrap() * factor);
        }
        cells.join(",")
    };
    let with = |factor: f64| {
        let mut lines = lines.clone();
        lines[302] = scaled(&lines[302], factor);
        folder.write("eth.csv", &(lines.join("\n") + "\n"))
    };
    for factor in [0.5, 2.0, 3.0, 5.0, 9.0, 20.0] {
        let output = run(&folder, &with(factor), &["--overwrite"]);
        let message = stderr(&output);
        assert_eq!(exit(&output), 1, "{factor}: {message}");
        for words in [
            "eth.csv: line 303: a book of ",
            "is implausible after one of 2700 bid and 2700.2 ask",
            "--skip implausible-price",
            "--price-factor N",
        ] {
            assert!(message.contains(words), "{words}: {message}");
        }
        let skip = ["--skip", "implausible-price", "--overwrite", "--json"];
        let output = run(&folder, &with(factor), &skip);
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
        let data = &json(&output)["report"]["data"][0];
        assert_eq!(data["kept"], 599, "{data}");
        assert_eq!(data["skipped"][0]["kind"], "implausible-price");
    }
    for factor in ["none", "4"] {
        let more = ["--price-factor", factor, "--overwrite"];
        let output = run(&folder, &with(3.0), &more);
        assert_eq!(exit(&output), 0, "{factor}: {}", stderr(&output));
    }
    // A row without a book does not hide that the next one has ten times its prices.
    let mut empty = lines.clone();
    empty[302] = format!("{},,,,,,,,", empty[302].split(',').next().unwrap());
    empty[303] = scaled(&empty[303], 10.0);
    let path = folder.write("eth.csv", &(empty.join("\n") + "\n"));
    let output = run(&folder, &path, &["--overwrite"]);
    let message = stderr(&output);
    assert_eq!(exit(&output), 1, "{message}");
    assert!(
        message.contains("line 304: the bid price is about 10 times that of the row before"),
        "{message}"
    );
}

/// A horizon without a fill is there, and so is the time between two polls.
#[test]
fn horizons_without_data_and_the_poll_interval_are_stated() {
    let folder = Folder::new("backtest-stated");
    let data = folder.write("eth.csv", &drifting());
    let output = run(&folder, &data, &[]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    for words in ["markout 60 s", "no fills", "(poll.depth_ms,"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let page = std::fs::read_to_string(folder.0.join("out/report.html")).unwrap();
    assert_eq!(cells(&page, "60 s, all")[0], "no fills");
    assert!(page.contains("<h2>Markouts in bps, weighted by value</h2>"));
    assert!(page.contains("(poll.depth_ms,") && page.contains("1 bps is 0.01 %"));
}
