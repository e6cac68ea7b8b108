//! `cambist sweep` and `merge`: the results are the same bytes however the runs are divided.

use std::path::Path;

use serde_json::Value;

use crate::backtest::{config, drifting, jumping};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Folder, cambist, exit, json, stderr, stdout};

/// Six trials of the example's strategy; one of them has contradictory parameters.
pub const SWEEP: &str = "config_version = 1\nreturn_interval = \"10s\"\n\
    [[parameter]]\nname = \"margin\"\n\
    set = [\"buy_bands[0].avg_margin_bps\", \"sell_bands[0].avg_margin_bps\"]\nvalues = [12, 20, 45]\n\
    [[parameter]]\nname = \"amount\"\n\
    set = [\"buy_bands[0].avg_amount\", \"sell_bands[0].avg_amount\"]\nfrom = 0.3\nto = 0.5\nsteps = 2\n";

const FILES: [&str; 5] = [
    "runs.jsonl",
    "runs.csv",
    "sweep.json",
    "sweep.txt",
    "sweep.html",
];

struct Sweep {
    folder: Folder,
    fixed: Vec<String>,
}

impl Sweep {
    fn new(name: &str, sweep: &str) -> Self {
        Self::on(name, sweep, &jumping())
    }

    fn on(name: &str, sweep: &str, rows: &str) -> Self {
        let folder = Folder::new(name);
        let config = config(&folder);
        let data = folder.write("eth.csv", rows);
        let sweep = folder.write("sweep.toml", sweep);
        let fixed = [
            "sweep", "--config", &config, "--sweep", &sweep, "--data", &data,
        ]
        .map(str::to_owned);
        Self {
            folder,
            fixed: fixed.to_vec(),
        }
    }

    fn out(&self, name: &str) -> String {
        self.folder.0.join(name).display().to_string()
    }

    fn run(&self, out: &str, more: &[&str]) -> std::process::Output {
        let out = self.out(out);
        let fixed = self.fixed.iter().map(String::as_str);
        let all: Vec<_> = fixed
            .chain(["--out", &out])
            .chain(more.iter().copied())
            .collect();
        cambist(&all)
    }
}

fn files(folder: &str) -> Vec<Vec<u8>> {
    let read = |name: &&str| std::fs::read(Path::new(folder).join(name)).unwrap();
    FILES.iter().map(read).collect()
}

fn good(output: &std::process::Output) {
    assert_eq!(exit(output), 0, "{}", stderr(output));
}

#[test]
fn every_trial_is_a_row_and_its_figures_are_those_of_the_backtest() {
    let sweep = Sweep::new("sweep-rows", SWEEP);
    let output = sweep.run("out", &["--json", "--jobs", "2"]);
    good(&output);
    let value = json(&output);
    let written = std::fs::read_to_string(Path::new(&sweep.out("out")).join("sweep.json")).unwrap();
    assert_eq!(value, serde_json::from_str::<Value>(&written).unwrap());
    let summary = &value["summary"];
    assert_eq!(
        (&summary["trials"], &summary["refused"]),
        (&6.into(), &2.into())
    );
    let runs = value["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 6);
    // The trial whose mean margin is outside its band.
    assert!(
        runs[4]["refused"].as_str().unwrap().contains("margin"),
        "{}",
        runs[4]
    );
    // Four trials with a ratio, and none with a positive one.
    assert_eq!(summary["best"]["deflated"]["trials"], 4);
    let printed = summary["statements"].to_string();
    for words in [
        "2 of 6 runs were refused",
        "No trial has a positive Sharpe ratio: trials are ranked by excess over holding.",
        "The Sharpe ratio of the best trial is not positive",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }

    // Trial 2 by hand.
    let text = std::fs::read_to_string(&sweep.fixed[2]).unwrap();
    let text = text.replacen(
        "min_amount = 0.2, avg_amount = 0.4",
        "min_amount = 0.2, avg_amount = 0.3",
        1,
    );
    let sell = text.find("sell_bands").unwrap();
    let (buy, sell) = text.split_at(sell);
    let sell = sell.replacen(
        "min_amount = 0.2, avg_amount = 0.4",
        "min_amount = 0.2, avg_amount = 0.3",
        1,
    );
    let by_hand = sweep.folder.write("by-hand.toml", &format!("{buy}{sell}"));
    let out = sweep.out("one");
    let one = cambist(&[
        "backtest",
        "--config",
        &by_hand,
        "--data",
        &sweep.fixed[6],
        "--out",
        &out,
        "--json",
    ]);
    good(&one);
    let report = &json(&one)["report"];
    let figures = &runs[2]["figures"];
    assert_eq!(
        runs[2]["parameters"],
        serde_json::json!({"margin": 20, "amount": 0.3})
    );
    assert!(figures["fills"].as_u64().unwrap() > 0);
    for (own, of) in [
        (&figures["net_pnl"], &report["pnl"]["total"]),
        (&figures["holding"], &report["holding"]),
        (
            &figures["excess_over_holding"],
            &report["excess_over_holding"],
        ),
        (&figures["spread"], &report["pnl"]["spread"]),
        (&figures["fills"], &report["fills"]),
        (&figures["drawdown_max"], &report["equity"]["drawdown_max"]),
        (&figures["uptime"], &report["quoted_both_sides_ratio"]),
    ] {
        assert_eq!(own, of);
    }
    let csv = std::fs::read_to_string(Path::new(&sweep.out("out")).join("runs.csv")).unwrap();
    assert_eq!(csv.lines().count(), 7);
    let page = std::fs::read_to_string(Path::new(&sweep.out("out")).join("sweep.html")).unwrap();
    assert!(page.contains("(poll.depth_ms,") && page.contains("<div class=\"wide\">"));
    assert!(
        csv.starts_with("run,trial,window,phase,margin,amount,status,from,to,net_pnl,"),
        "{csv}"
    );
}

#[test]
fn jobs_interruptions_and_shards_leave_the_same_bytes() {
    let sweep = Sweep::new("sweep-bytes", SWEEP);
    good(&sweep.run("one", &["--jobs", "1"]));
    let one = files(&sweep.out("one"));
    good(&sweep.run("four", &["--jobs", "4"]));
    assert_eq!(files(&sweep.out("four")), one);

    // Truncated in the middle of the fourth line.
    let cut = sweep.out("cut");
    std::fs::create_dir(&cut).unwrap();
    let lines: Vec<_> = one[0].split_inclusive(|byte| *byte == b'\n').collect();
    let mut left = lines[..3].concat();
    left.extend(&lines[3][..20]);
    std::fs::write(Path::new(&cut).join("runs.jsonl"), left).unwrap();
    let output = sweep.run("cut", &[]);
    good(&output);
    assert!(
        stderr(&output).contains("2 runs are there already, 4 are left"),
        "{}",
        stderr(&output)
    );
    assert_eq!(files(&cut), one);
    // Run again: nothing is left to do.
    let output = sweep.run("cut", &[]);
    assert!(
        stderr(&output).contains("0 of 6 runs"),
        "{}",
        stderr(&output)
    );
    assert_eq!(files(&cut), one);

    for shard in ["1/4", "2/4", "4/4"] {
        good(&sweep.run("parts", &["--shard", shard]));
    }
    let parts = sweep.out("parts");
    let merged = sweep.out("merged");
    let output = cambist(&["merge", &parts, "--out", &merged]);
    assert_eq!(exit(&output), 1);
    assert!(
        stderr(&output).contains("the first is 3/4"),
        "{}",
        stderr(&output)
    );
    good(&sweep.run("parts", &["--shard", "3/4"]));
    good(&cambist(&["merge", &parts, "--out", &merged]));
    assert_eq!(files(&merged), one);
    assert_eq!(
        exit(&cambist(&["merge", &parts, "--out", &merged])),
        2,
        "only with --overwrite"
    );

    // An overlap, a gap within a shard, and a shard of another sweep.
    let shard = |name: &str| Path::new(&parts).join(name).display().to_string();
    let first = shard("shard-0001-of-0004");
    let output = cambist(&["merge", &first, &first, "--out", &sweep.out("x")]);
    assert!(
        stderr(&output).contains("both shard 1/4"),
        "{}",
        stderr(&output)
    );
    let path = Path::new(&first).join("runs.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    let torn: String = whole.split_inclusive('\n').take(2).collect();
    std::fs::write(&path, torn).unwrap();
    let output = cambist(&["merge", &parts, "--out", &sweep.out("x")]);
    assert!(
        stderr(&output).contains("1 of its runs are missing (4)"),
        "{}",
        stderr(&output)
    );
    // A figure that was changed by hand.
    let key = "\"net_pnl\":\"";
    let changed = whole.replacen(key, &format!("{key}9"), 1);
    assert_ne!(changed, whole);
    std::fs::write(&path, changed).unwrap();
    let output = cambist(&["merge", &parts, "--out", &sweep.out("x")]);
    let message = stderr(&output);
    assert!(
        message.contains("runs.jsonl: line 2 is damaged (it does not agree with its check)"),
        "{message}"
    );
    assert_eq!(exit(&output), 1);
    std::fs::write(&path, whole.replacen("start_bps", "step_bps", 1)).unwrap();
    let output = cambist(&["merge", &parts, "--out", &sweep.out("x")]);
    assert!(
        stderr(&output).contains("the configuration differs"),
        "{}",
        stderr(&output)
    );
    assert_eq!(exit(&output), 1);
}

#[test]
fn walk_forward_chooses_on_train_and_reports_on_test() {
    let text = SWEEP.replace(
        "[[parameter]]",
        "[walk_forward]\ntrain = \"3m\"\ntest = \"2m\"\n[[parameter]]",
    );
    let text = text.replacen(
        "[walk_forward]\ntrain = \"3m\"\ntest = \"2m\"\n[[parameter]]\nname = \"amount\"",
        "[[parameter]]\nname = \"amount\"",
        1,
    );
    let sweep = Sweep::new("sweep-walk", &text);
    let plan = sweep.run("out", &["--dry-run", "--json"]);
    good(&plan);
    assert_eq!(json(&plan)["runs"], 6 * 2 * 3);
    assert_eq!(json(&plan)["unused_s"], 59.0);
    let plan = stdout(&sweep.run("out", &["--dry-run"]));
    assert!(
        plan.contains("the last 59.0 s of the data are in none"),
        "{plan}"
    );
    let output = sweep.run("out", &["--json"]);
    good(&output);
    let value = json(&output);
    let walk = &value["summary"]["walk_forward"];
    let windows = walk["windows"].as_array().unwrap();
    assert_eq!(windows.len(), 3);
    let runs = value["runs"].as_array().unwrap();
    for window in windows {
        let of = |phase: &str| {
            let number = &window["window"];
            runs.iter()
                .filter(|run| run["window"] == *number && run["phase"] == phase)
                .collect::<Vec<_>>()
        };
        let sharpe = |run: &Value| run["sharpe"].as_f64();
        let best = of("train").into_iter().filter(|run| sharpe(run).is_some());
        // Those without a positive ratio come last, by their excess.
        let place = |run: &Value| {
            let ratio = sharpe(run).unwrap();
            let excess = run["figures"]["excess_over_holding"].as_str().unwrap();
            if ratio > 0.0 {
                (true, ratio)
            } else {
                (false, excess.parse().unwrap())
            }
        };
        let order = |(a, x): (bool, f64), (b, y): (bool, f64)| a.cmp(&b).then(x.total_cmp(&y));
        let best = best.max_by(|a, b| order(place(a), place(b))).unwrap();
        assert_eq!(window["train"]["run"], best["run"]);
        assert_eq!(window["test"]["trial"], best["trial"]);
        let test = of("test")
            .into_iter()
            .find(|run| run["trial"] == best["trial"])
            .unwrap();
        assert_eq!(window["test"]["net_pnl"], test["figures"]["net_pnl"]);
        // The test window begins where the train window ends.
        assert_eq!(test["figures"]["from"], window["times"][1]);
        assert_eq!(best["figures"]["to"], window["times"][1]);
    }
    let printed = value["summary"]["statements"].to_string();
    // Three windows of 3 and 2 minutes; the data end 599 s after their beginning, the last window after 540.
    for words in [
        "was chosen on train and reported on test",
        "in 9.0 min of train windows (they overlap and cover 7.0 min of the data)",
        "in 6.0 min of test windows",
        "a minute",
        "the last 59.0 s are in no window",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    assert!(!printed.contains("a day"), "{printed}");
    assert_eq!(walk["unused_s"], 59.0);
    assert_eq!(walk["train_distinct_s"], 420.0);
    assert_eq!(
        (&walk["train_s"], &walk["test_s"]),
        (&540.0.into(), &360.0.into())
    );
}

#[test]
fn contradicting_arguments_are_refused_before_anything_runs() {
    for (sweep, more, code, words) in [
        (
            SWEEP.replace("buy_bands[0]", "buy_bands[7]"),
            &[][..],
            1,
            "has 2 entries",
        ),
        (
            SWEEP.replace("buy_bands[0]", "by_bands[0]"),
            &[],
            77,
            "did you mean buy_bands?",
        ),
        (
            SWEEP.replace(
                "name = \"margin\"\n",
                "name = \"margin\"\nstrategy = \"glft\"\n",
            ),
            &[],
            77,
            "bands at ETH-USDC",
        ),
        (
            format!("{SWEEP}[walk_forward]\ntrain = \"1d\"\ntest = \"1h\"\n"),
            &[],
            2,
            "no window of 86400 s",
        ),
        (
            SWEEP.replace("\"10s\"", "\"1s\""),
            &["--sample", "3s"],
            2,
            "no multiple of --sample",
        ),
        (
            SWEEP.replace("\"10s\"", "\"2m\"") + "[walk_forward]\ntrain = \"3m\"\ntest = \"2m\"\n",
            &[],
            2,
            "return_interval is 120 s, but a train window has 180 s",
        ),
        (
            SWEEP.replace("\"10s\"", "\"2m\""),
            &[
                "--from",
                "2024-08-08T23:55:00Z",
                "--to",
                "2024-08-08T23:58:00Z",
            ],
            2,
            "but the time from --from to --to has 180 s",
        ),
        (SWEEP.to_owned(), &["--jobs", "0"], 2, "--jobs"),
        (SWEEP.to_owned(), &["--shard", "3/2"], 2, "is not a shard"),
        (SWEEP.to_owned(), &["--shards", "4"], 2, "gives the part"),
        (
            SWEEP.replace("values = [12, 20, 45]", "values = [45]"),
            &[],
            77,
            "",
        ),
    ] {
        let sweep = Sweep::new("sweep-wrong", &sweep);
        let output = sweep.run("out", more);
        assert_eq!(
            exit(&output),
            code,
            "{words}: {}{}",
            stdout(&output),
            stderr(&output)
        );
        assert!(
            stderr(&output).contains(words),
            "{words}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn a_grid_of_three_parameters_has_a_map_for_every_two_with_means_and_the_plane_of_the_best() {
    let third = "[[parameter]]\nname = \"most\"\n\
        set = [\"buy_bands[0].max_amount\", \"sell_bands[0].max_amount\"]\nvalues = [0.6, 0.8]\n";
    let text = SWEEP.replace("[12, 20, 45]", "[20, 25]") + third;
    let sweep = Sweep::new("sweep-three", &text);
    let output = sweep.run("out", &["--json", "--jobs", "2"]);
    good(&output);
    let value = json(&output);
    let page = std::fs::read_to_string(Path::new(&sweep.out("out")).join("sweep.html")).unwrap();
    let period = "2024-08-08T23:54:16Z to 2024-08-09T00:04:15Z";
    assert!(page.contains(period), "{period}");
    for pair in ["margin and amount", "margin and most", "amount and most"] {
        assert!(page.contains(&format!("Heat maps: {pair}")), "{pair}");
    }
    let trials = value["summary"]["best"]["deflated"]["trials"].to_string();
    let beside = page
        .matches(&format!("<p>{trials} trials, about 2 in each cell"))
        .count();
    assert_eq!(beside, 3, "{trials}");
    assert!(page.contains("deflated Sharpe ratio of the best trial (probability)"));
    let best = value["summary"]["best"]["trial"].to_string();
    assert!(page.contains(&format!(
        "the other parameters as in the best trial, {best}"
    )));
    // A cell is the mean of the two runs that it represents.
    let runs = value["runs"].as_array().unwrap();
    let cell = |run: &&Value| {
        let parameters = &run["parameters"];
        parameters["margin"] == 25 && parameters["amount"] == 0.5
    };
    let of_cell: Vec<f64> = runs
        .iter()
        .filter(cell)
        .map(|run| {
            run["figures"]["excess_over_holding"]
                .as_str()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    assert_eq!(of_cell.len(), 2, "{runs:?}");
    let mean = of_cell.iter().sum::<f64>() / 2.0;
    let shown = format!("amount 0.5, margin 25: {mean:.2}<");
    assert!(page.contains(&shown), "{shown}");
}

/// In a rising market, trials whose orders never fill earn what the initial balances earn: none has a Sharpe ratio, none
/// is the best by skill, and the summary states that nothing was traded.
#[test]
fn holdings_are_no_skill() {
    let never = SWEEP.replace("values = [12, 20, 45]", "values = [12, 20]");
    for select in ["sharpe", "net_pnl"] {
        let text = never.replacen(
            "[[parameter]]",
            &format!("select = \"{select}\"\n[[parameter]]"),
            1,
        );
        let sweep = Sweep::on("sweep-held", &text, &drifting());
        let output = sweep.run("out", &["--json"]);
        good(&output);
        let value = json(&output);
        let summary = &value["summary"];
        assert_eq!(
            (&summary["without_fills"], &summary["runs"]),
            (&4.into(), &4.into())
        );
        assert_eq!(summary["measure"], "excess_over_holding");
        for run in value["runs"].as_array().unwrap() {
            let figures = &run["figures"];
            let net: f64 = figures["net_pnl"].as_str().unwrap().parse().unwrap();
            assert!(net > 0.0, "{run}");
            assert_eq!(figures["holding"], figures["net_pnl"]);
            assert_eq!(figures["excess_over_holding"], "0");
            assert!(
                run["sharpe"].is_null() && run["deflated_sharpe"].is_null(),
                "{run}"
            );
        }
        let statements = summary["statements"].to_string();
        assert!(
            statements.contains("In 4 of 4 runs no order filled"),
            "{statements}"
        );
        if select == "sharpe" {
            assert!(summary["best"].is_null(), "{summary}");
            assert!(
                statements.contains("No trial could be chosen"),
                "{statements}"
            );
        } else {
            assert!(
                statements.contains("It never traded") && !statements.contains("constant"),
                "{statements}"
            );
        }

        // A figure that no trial has is missing in the same form in every column, as in `compare`.
        let out = sweep.out("out");
        let table = std::fs::read_to_string(Path::new(&out).join("sweep.txt")).unwrap();
        let (_, row) = table.split_once('\n').unwrap();
        let (head, rows) = row.split_once('\n').unwrap();
        let sharpe =
            head.chars().count() - head.split_once("Sharpe").unwrap().1.chars().count() - 6;
        if select == "net_pnl" {
            let row = rows.lines().next().unwrap();
            assert_eq!(row.chars().nth(sharpe), Some('–'), "{head}\n{row}");
        }
        let page = std::fs::read_to_string(Path::new(&out).join("sweep.html")).unwrap();
        assert!(!page.contains(">none<"), "{page}");

        let walk = format!("{text}[walk_forward]\ntrain = \"3m\"\ntest = \"2m\"\n");
        let sweep = Sweep::on("sweep-held-walk", &walk, &drifting());
        let output = sweep.run("out", &["--json"]);
        good(&output);
        let summary = &json(&output)["summary"];
        let statements = summary["statements"].to_string();
        assert!(
            statements.contains("In 3 of 3 windows no trial traded on train"),
            "{statements}"
        );
        if select == "sharpe" {
            assert!(
                statements.contains("In 3 windows nothing could be chosen"),
                "{statements}"
            );
        } else {
            for words in [
                "In 3 of 3 windows the chosen trial never traded on train",
                "In 3 of 3 windows the chosen trial never traded on test",
                "on test is that of holding the initial balances",
            ] {
                assert!(statements.contains(words), "{words}: {statements}");
            }
            assert_eq!(summary["walk_forward"]["test_excess"], 0.0);
        }
    }
}

/// Results that an earlier program wrote are read, and the summary states what their figures are of.
#[test]
fn results_of_the_first_format_are_joined() {
    let sweep = Sweep::new("sweep-format", SWEEP);
    for shard in ["1/2", "2/2"] {
        good(&sweep.run("parts", &["--shard", shard]));
    }
    let parts = sweep.out("parts");
    for shard in ["shard-0001-of-0002", "shard-0002-of-0002"] {
        let path = Path::new(&parts).join(shard).join("runs.jsonl");
        let lines = std::fs::read_to_string(&path).unwrap();
        let lines = lines.lines().map(|line| {
            let mut row: Value = serde_json::from_str(line).unwrap();
            if row["format"] == 4 {
                row["format"] = 1.into();
            }
            if let Some(figures) = row
                .pointer_mut("/outcome/done")
                .and_then(Value::as_object_mut)
            {
                figures.remove("holding").unwrap();
                figures.remove("excess_over_holding").unwrap();
                figures.remove("trading_state").unwrap();
                figures.remove("pauses").unwrap();
            }
            format!("{row}\n")
        });
        let text: String = lines.collect();
        std::fs::write(&path, text).unwrap();
    }
    let merged = sweep.out("merged");
    let output = cambist(&["merge", &parts, "--out", &merged, "--json"]);
    good(&output);
    let text = std::fs::read_to_string(Path::new(&merged).join("sweep.json")).unwrap();
    let summary = &serde_json::from_str::<Value>(&text).unwrap()["summary"];
    assert_eq!(summary["measure"], "equity");
    assert!(summary["best"]["sharpe"].is_f64(), "{summary}");
    let statements = summary["statements"].to_string();
    for words in [
        "of an earlier program, which compared trials by profit and loss",
        "did not record the trading state of a run",
    ] {
        assert!(statements.contains(words), "{words}: {statements}");
    }
}

/// What was left out of the data is in the statements of a sweep as in the report of a backtest.
#[test]
fn rows_that_were_left_out_are_stated() {
    let mut rows: Vec<_> = jumping().lines().map(str::to_owned).collect();
    // One row too late in time: all of the next minute are early.
    let late = rows.remove(160);
    rows.insert(100, late);
    let rows = rows.join("\n") + "\n";
    let sweep = Sweep::on("sweep-left-out", SWEEP, &rows);
    let output = sweep.run("out", &["--json", "--skip", "backward,gap"]);
    good(&output);
    let summary = &json(&output)["summary"];
    let data = &summary["data"][0];
    assert_eq!(
        (&data["market"], &data["rows"], &data["left_out"]),
        (&"ETH-USDC".into(), &600.into(), &60.into())
    );
    let many = "60 of 600 rows of ETH-USDC (10.0 %, above 5 %) were left out";
    let skipped = "Skipped in the data of ETH-USDC: 1 gap, 60 backward; 60 of 600 rows (10.0 %)";
    let statements = summary["statements"].to_string();
    let text = std::fs::read_to_string(Path::new(&sweep.out("out")).join("sweep.txt")).unwrap();
    let page = std::fs::read_to_string(Path::new(&sweep.out("out")).join("sweep.html")).unwrap();
    for (place, content) in [("json", &statements), ("text", &text), ("page", &page)] {
        for words in [many, skipped, "eth.csv: line 102"] {
            assert!(content.contains(words), "{place}: {words}: {content}");
        }
    }
    // The folder is of this machine.
    let folder = sweep.folder.0.display().to_string();
    assert!(!data.to_string().contains(&folder), "{data}");

    let out = sweep.out("one");
    let one = cambist(&[
        "backtest",
        "--config",
        &sweep.fixed[2],
        "--data",
        &sweep.fixed[6],
        "--skip",
        "backward,gap",
        "--out",
        &out,
    ]);
    good(&one);
    let text = stdout(&one);
    assert!(text.starts_with(many), "{text}");
    assert_eq!(
        text.matches(many).count(),
        2,
        "on top and in Advice: {text}"
    );
    assert!(
        text.contains("snapshots: 540 of 600 rows of eth.csv"),
        "{text}"
    );
    let page = std::fs::read_to_string(Path::new(&out).join("report.html")).unwrap();
    assert!(page.contains(&format!("<p><strong>{many}")), "{page}");
}

/// Data shorter than two returns are named as the cause; nothing is stated of returns that do not vary.
#[test]
fn an_interval_longer_than_the_data_is_named() {
    for select in ["sharpe", "net_pnl"] {
        let text = format!(
            "select = \"{select}\"\n{}",
            SWEEP.replace("\"10s\"", "\"1h\"")
        );
        let sweep = Sweep::new("sweep-interval", &text);
        let output = sweep.run("out", &["--json"]);
        good(&output);
        let summary = &json(&output)["summary"];
        assert_eq!(summary["too_short_s"], 599.0);
        let statements = summary["statements"].to_string();
        let words = "the longest one lasts 10.0 min, which has fewer than two returns of return_interval, 60.0 min";
        assert!(statements.contains(words), "{statements}");
        assert!(
            !statements.contains("vary") && !statements.contains("constant"),
            "{statements}"
        );
    }
}

/// The table in the text names what it leaves out, tables have units, and a page without a trial states it.
#[test]
fn tables_name_their_units_and_what_they_leave_out() {
    let many = SWEEP.replace("[12, 20, 45]", "[12, 15, 18, 20, 22, 25]");
    let sweep = Sweep::new("sweep-titles", &many);
    let output = sweep.run("out", &[]);
    good(&output);
    let text = stdout(&output);
    assert!(
        text.starts_with("The best 10 of 12 trials (all are in runs.csv); trials without a positive Sharpe ratio by excess\n"),
        "{text}"
    );
    let head = text.lines().nth(1).unwrap();
    for words in ["net, USDC  ", "Sharpe a year  ", "both sides quoted, %  "] {
        assert!(head.contains(words), "{head}");
    }
    // Cells have none, so that a column is of numbers.
    let best = text.lines().nth(2).unwrap();
    assert!(!best.contains('%') && !best.contains("USDC"), "{best}");
    let page = |sweep: &Sweep| {
        let path = Path::new(&sweep.out("out")).join("sweep.html");
        std::fs::read_to_string(path).unwrap()
    };
    let whole = page(&sweep);
    for words in [
        "12 runs, 12 trials compared on eth.csv",
        "<h2>Trials, the best first; trials without a positive Sharpe ratio by excess</h2>",
        "both sides quoted, %</th>",
    ] {
        assert!(whole.contains(words), "{words}");
    }
    let sweep = Sweep::new("sweep-refused", &SWEEP.replace("[12, 20, 45]", "[45]"));
    let output = sweep.run("out", &[]);
    assert_eq!(exit(&output), 77, "{}", stderr(&output));
    assert!(page(&sweep).contains("2 runs, all refused, no trial compared on eth.csv"));
}

/// Sets a key of the market's limits in a configuration file.
fn limit(path: &str, key: &str, value: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    let begins = format!("{key} = ");
    let lines = text.lines().map(|line| {
        if line.starts_with(&begins) {
            format!("{begins}\"{value}\"\n")
        } else {
            format!("{line}\n")
        }
    });
    let changed: String = lines.collect();
    assert_ne!(text, changed);
    std::fs::write(path, changed).unwrap();
}

/// A risk limit that stops all runs is stated before any figure, in every file, and shards are joined as before.
#[test]
fn runs_that_a_risk_limit_stopped_are_stated() {
    let sweep = Sweep::new("sweep-stopped", SWEEP);
    limit(&sweep.fixed[2], "drawdown_max", "20 USDC");
    let output = sweep.run("out", &["--json"]);
    good(&output);
    let value = json(&output);
    let stopped = &value["summary"]["stopped"];
    assert_eq!(
        (&stopped["runs"], &stopped["is_recorded"]),
        (&4.into(), &true.into())
    );
    assert_eq!(stopped["by_cause"], serde_json::json!({"drawdown": 4}));
    assert_eq!(stopped["by_state"], serde_json::json!({"cancel_only": 4}));
    let best = &value["summary"]["best"];
    let since = best["trading_state"]["stops"][0]["time"].as_str().unwrap();
    assert!(best["engine_ended"].is_null(), "{best}");
    let folder = sweep.out("out");
    let read = |name: &str| std::fs::read_to_string(Path::new(&folder).join(name)).unwrap();
    let first = "In 4 of 6 runs trading stopped before the end of the data: by drawdown in 4 (trading state at the end: cancel_only in 4)";
    let chosen = format!(
        "The best trial, {}, is one of them: cancel_only since {since} (drawdown), after ",
        best["trial"]
    );
    let (text, page) = (read("sweep.txt"), read("sweep.html"));
    assert!(text.starts_with(first), "{text}");
    assert!(page.contains(&format!("<p><strong>{first}")), "{page}");
    assert!(page.contains("<b>4 of 6 runs</b>"), "{page}");
    let statements = value["summary"]["statements"].to_string();
    for (place, content) in [("text", &text), ("page", &page), ("json", &statements)] {
        assert!(content.contains(&chosen), "{place}: {chosen}: {content}");
    }
    // Every row of the table has its state.
    assert_eq!(
        text.lines()
            .filter(|line| line.trim_end().ends_with("(drawdown)"))
            .count(),
        4,
        "{text}"
    );
    let csv = read("runs.csv");
    assert!(
        csv.lines().next().unwrap().ends_with(
            ",refused,trading_state,stopped_at,stopped_by,paused_s,paused_at_end,paused_by"
        ),
        "{csv}"
    );
    assert!(
        csv.contains(&format!(",cancel_only,{since},drawdown")),
        "{csv}"
    );

    for shard in ["1/2", "2/2"] {
        good(&sweep.run("parts", &["--shard", shard]));
    }
    let merged = sweep.out("merged");
    good(&cambist(&["merge", &sweep.out("parts"), "--out", &merged]));
    assert_eq!(files(&merged), files(&folder));
}

/// Runs that a loss limit halted are stated, and in how many windows the chosen trial is one of them.
#[test]
fn halted_runs_and_windows_are_stated() {
    let walk =
        SWEEP.replace("[12, 20, 45]", "[20]") + "[walk_forward]\ntrain = \"3m\"\ntest = \"2m\"\n";
    let sweep = Sweep::new("sweep-halted", &walk);
    limit(&sweep.fixed[2], "loss_total_max", "2 USDC");
    let output = sweep.run("out", &["--json"]);
    good(&output);
    let value = json(&output);
    let stopped = &value["summary"]["stopped"];
    assert_eq!(stopped["by_state"], serde_json::json!({"halted": 12}));
    assert_eq!(stopped["by_cause"], serde_json::json!({"loss_total": 12}));
    for run in value["runs"].as_array().unwrap() {
        let figures = &run["figures"];
        assert!(figures["engine_ended"].is_string(), "{figures}");
        assert_eq!(figures["trading_state"]["state"], "halted");
    }
    let text = std::fs::read_to_string(Path::new(&sweep.out("out")).join("sweep.txt")).unwrap();
    for words in [
        "In 12 of 12 runs trading stopped before the end of the data",
        "The chosen trial is one of them on train in 3 and on test in 3 of 3 windows.",
        "test state at the end",
        "halted since ",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// Some runs are stopped, and the best is none of them; without a stop nothing is stated.
#[test]
fn a_best_trial_that_was_not_stopped_is_stated() {
    let text = format!("select = \"net_pnl\"\n{SWEEP}");
    let sweep = Sweep::new("sweep-some-stopped", &text);
    let summary = |value: Value| value["summary"].clone();
    let whole = summary(json(&sweep.run("whole", &["--json"])));
    assert_eq!(whole["stopped"]["runs"], 0);
    let statements = whole["statements"].to_string();
    assert!(!statements.contains("trading stopped"), "{statements}");
    limit(&sweep.fixed[2], "drawdown_max", "130 USDC");
    let some = summary(json(&sweep.run("some", &["--json"])));
    assert_eq!(some["stopped"]["runs"], 3, "{some}");
    let statements = some["statements"].to_string();
    let words = format!(
        "The best trial, {}, is none of them.",
        some["best"]["trial"]
    );
    assert!(statements.contains(&words), "{words}: {statements}");
}

/// A limit that pauses leaves the state at `trading`: how long it paused a run is in every file.
#[test]
fn runs_that_a_risk_limit_paused_are_stated() {
    let sweep = Sweep::new("sweep-paused", SWEEP);
    limit(&sweep.fixed[2], "loss_hour_max", "2 USDC");
    let output = sweep.run("out", &["--json"]);
    good(&output);
    let summary = &json(&output)["summary"];
    assert_eq!(summary["stopped"]["runs"], 0);
    let paused = &summary["paused"];
    let runs = paused["runs"].as_u64().unwrap();
    assert!(runs > 0, "{summary}");
    assert_eq!(paused["by_cause"], serde_json::json!({"loss_hour": runs}));
    let folder = sweep.out("out");
    let read = |name: &str| std::fs::read_to_string(Path::new(&folder).join(name)).unwrap();
    let first = format!("In {runs} of 6 runs quoting was paused for more than a tenth of the time");
    let (text, page) = (read("sweep.txt"), read("sweep.html"));
    assert!(text.starts_with(&first), "{text}");
    assert!(page.contains(&format!("<p><strong>{first}")), "{page}");
    let row = "trading; paused for ";
    assert!(text.contains(row) && page.contains(row), "{text}");
    assert!(read("runs.csv").contains("loss_hour"));
    assert!(read("runs.jsonl").contains("\"pauses\":{\"seconds\":"));
}

/// A sweep that is ended by a signal keeps what has ended, and its own words continue it to the same bytes.
#[test]
fn a_signal_ends_a_sweep_with_the_command_that_continues_it() {
    let sweep = Sweep::new("sweep-signal", SWEEP);
    let whole = sweep.run("whole", &["--jobs", "2"]);
    good(&whole);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let name = format!("cut {code}");
        let out = sweep.out(&name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_cambist"));
        command.args(&sweep.fixed).args(["--out", &out]);
        command.args(["--jobs", "1", "--overwrite", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = command.spawn().unwrap();
        let runs = Path::new(&out).join("runs.jsonl");
        let is_begun = || {
            let text = std::fs::read_to_string(&runs).unwrap_or_default();
            text.lines().count() > 1
        };
        while !is_begun() {
            assert!(running.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let pid = Pid::from_raw(i32::try_from(running.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        let output = running.wait_with_output().unwrap();
        let text = stderr(&output);
        assert_eq!(exit(&output), code, "{text}");
        let value = json(&output);
        let kept = value["runs_kept"].as_u64().unwrap();
        let lines = std::fs::read_to_string(&runs).unwrap();
        assert_eq!(lines.lines().count() as u64, 1 + kept);
        assert_eq!(value["exit"], code);
        let stated = format!("{kept} of 6 runs are kept in {}", runs.display());
        assert!((1..6).contains(&kept) && text.contains(&stated), "{text}");
        let resume = value["resume"].as_str().unwrap();
        assert!(text.contains(&format!("\n  {resume}")), "{text}");
        assert!(!resume.contains("--overwrite"), "{resume}");
        let shell = Command::new("sh").args(["-c", resume]).output().unwrap();
        good(&shell);
        let made = format!("{} of 6 runs were made in this call", 6 - kept);
        assert!(stderr(&shell).contains(&made), "{}", stderr(&shell));
        assert!(files(&out) == files(&sweep.out("whole")), "the same bytes");
    }
}
