//! `cambist compare`: results of several backtests on one page.

use cambist_market_data::Timestamp;

use crate::backtest::{config, drifting, jumping};
use crate::support::{Folder, cambist, exit, json, stderr, stdout};

#[test]
fn several_runs_are_on_one_page_with_what_differs_between_them() {
    let folder = Folder::new("compare");
    let config = config(&folder);
    let data = folder.write("eth.csv", &jumping());
    let path = |name: &str| folder.0.join(name).display().to_string();
    for (name, more) in [("near", "5ms"), ("far", "900ms")] {
        let (out, latency) = (path(name), more);
        let output = cambist(&[
            "backtest",
            "--config",
            &config,
            "--data",
            &data,
            "--out",
            &out,
            "--request-latency",
            latency,
        ]);
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
    }
    let (near, far, page) = (
        path("near"),
        format!("<slow>={}", path("far")),
        path("page.html"),
    );
    let output = cambist(&["compare", &near, &far, "--out", &page, "--json"]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let runs = &json(&output)["runs"];
    let written = std::fs::read_to_string(folder.0.join("near/report.json")).unwrap();
    let written: serde_json::Value = serde_json::from_str(&written).unwrap();
    assert_eq!(runs[0]["pnl"], written["report"]["pnl"]);
    // Fees of zero have no sign.
    let advice = written["report"]["advice"].to_string();
    assert!(advice.contains("net of fees of 0.0 bps"), "{advice}");
    assert_eq!(
        (&runs[0]["name"], &runs[1]["name"]),
        (&"near".into(), &"<slow>".into())
    );
    // Ten minutes and a second: nine or ten returns of a minute.
    assert_eq!(runs[0]["returns"], 9);
    // They do not vary.
    assert!(runs[0]["sharpe"].is_null() && runs[0]["sharpe_error"].is_null());
    let html = std::fs::read_to_string(&page).unwrap();
    for words in [
        "request_latency",
        "&lt;slow&gt;",
        "class=\"c1\"",
        "What differs",
        "fewer than 100 returns",
        "<th>its standard error</th><th>returns</th>",
    ] {
        assert!(html.contains(words), "{words}");
    }
    assert!(!html.contains("<slow>") && !html.contains("<script") && !html.contains("http"));

    let equity = folder.0.join("far/equity.csv");
    let whole = std::fs::read_to_string(&equity).unwrap();
    let mut lines: Vec<_> = whole.lines().map(str::to_owned).collect();
    lines[4] = lines[4].rsplit_once(',').unwrap().0.to_owned() + ",lots";
    std::fs::write(&equity, lines.join("\n")).unwrap();
    for (runs, code, words) in [
        (vec![near.as_str()], 2, "2 to 16 folders"),
        (vec![&near, &near], 2, "two runs are called near"),
        (
            vec![&near, &far],
            1,
            "equity.csv: line 5: holding \"lots\" is no number",
        ),
        (vec![&near, "nowhere"], 1, "no complete results"),
    ] {
        let mut all = vec!["compare", "--overwrite", "--out", &page];
        all.extend(runs);
        let output = cambist(&all);
        assert_eq!(exit(&output), code, "{}", stderr(&output));
        assert!(
            stderr(&output).contains(words),
            "{words}: {}",
            stderr(&output)
        );
    }
    assert_eq!(
        exit(&cambist(&["compare", &near, &far, "--out", &page])),
        2,
        "only with --overwrite"
    );
}

/// The same names with another content: what differs is listed by key and by file.
#[test]
fn differences_of_content_are_listed() {
    let folder = Folder::new("compare-content");
    let path = |name: &str| folder.0.join(name).display().to_string();
    let (one, other, page) = (path("one"), path("other"), path("page.html"));
    let run = |out: &str, text: &str, rows: &str, sample: &str| {
        let config = folder.write("cambist.toml", text);
        let data = folder.write("eth.csv", rows);
        let output = cambist(&[
            "backtest", "--config", &config, "--data", &data, "--out", out, "--sample", sample,
        ]);
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
    };
    let text = std::fs::read_to_string(config(&folder)).unwrap();
    let changed = text.replace("start_bps = 10000", "start_bps = 9000");
    assert_ne!(text, changed);
    run(&one, &text, &jumping(), "1s");
    run(
        &other,
        &changed,
        &jumping().replace(",5.5,", ",5.25,"),
        "7s",
    );
    let args = ["compare", &one, &other, "--out", &page];
    let output = cambist(&[&args[..], &["--json"]].concat());
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let value = json(&output);
    let differs = |what: &str| {
        let all = value["differences"].as_array().unwrap();
        let found = all.iter().find(|row| row["what"] == what);
        found.map(|row| row["values"].clone())
    };
    let expected = serde_json::json!(["10000", "9000"]);
    assert_eq!(differs("ramp.start_bps"), Some(expected));
    let files = differs("data of ETH-USDC").unwrap();
    assert!(files[0] != files[1] && files[0].as_str().unwrap().starts_with("eth.csv (sha256 "));
    assert_eq!(differs("configuration"), None, "one path");
    // Rows 7 s apart have no returns of a minute, which is a reason and no other ratio.
    assert_eq!(value["runs"][0]["returns"], 9);
    assert_eq!(value["runs"][1]["returns"], 0);
    assert!(value["runs"][1]["sharpe"].is_null());
    let text = cambist(&[&args[..], &["--overwrite"]].concat());
    let text = stdout(&text);
    let html = std::fs::read_to_string(&page).unwrap();
    // Results that are not whole, or of two runs.
    let samples = folder.0.join("one/equity.csv");
    let whole = std::fs::read_to_string(&samples).unwrap();
    let cut: Vec<_> = whole.lines().take(3).collect();
    std::fs::write(&samples, cut.join("\n") + "\n").unwrap();
    let damaged = cambist(&[&args[..], &["--overwrite"]].concat());
    let message = stderr(&damaged);
    assert_eq!(exit(&damaged), 1, "{message}");
    assert!(message.contains("one/equity.csv: it ends at"), "{message}");
    for words in [
        "other has no Sharpe ratio: its rows are 7 s apart",
        "fewer than 100 returns",
        "ramp.start_bps",
    ] {
        assert!(html.contains(words), "{words}");
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// An account that never traded in a rising market has a profit and no Sharpe ratio; results of an earlier program have
/// their figures and the reason for no ratio.
#[test]
fn a_run_that_never_traded_has_no_ratio_beside_its_profit() {
    let folder = Folder::new("compare-held");
    let path = |name: &str| folder.0.join(name).display().to_string();
    let config = config(&folder);
    let (held, other, page) = (path("held"), path("other"), path("page.html"));
    for (out, rows) in [(&held, drifting()), (&other, jumping())] {
        let data = folder.write("eth.csv", &rows);
        let output = cambist(&[
            "backtest", "--config", &config, "--data", &data, "--out", out,
        ]);
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
    }
    let report = std::fs::read_to_string(folder.0.join("held/report.txt")).unwrap();
    assert!(report.contains("Nothing was traded"), "{report}");
    let args = ["compare", &held, &other, "--out", &page, "--overwrite"];
    let compared = json(&cambist(&[&args[..], &["--json"]].concat()));
    let run = &compared["runs"][0];
    let total: f64 = run["pnl"]["total"].as_str().unwrap().parse().unwrap();
    assert!(total > 0.0, "{run}");
    assert_eq!(run["holding"], run["pnl"]["total"]);
    assert_eq!(run["excess_over_holding"], "0");
    assert_eq!((&run["fills"], &run["returns"]), (&0.into(), &9.into()));
    assert!(run["sharpe"].is_null(), "{run}");
    // What is the same every minute has no ratio either.
    let why = compared["runs"][1]["sharpe_missing"].as_str().unwrap();
    assert!(why.contains("do not vary"), "{why}");
    let text = stdout(&cambist(&args));
    assert!(text.contains("held never traded"), "{text}");

    let samples = folder.0.join("held/equity.csv");
    let rows = std::fs::read_to_string(&samples).unwrap();
    let without = rows.lines().map(|row| row.rsplit_once(',').unwrap().0);
    let without: Vec<_> = without.collect();
    assert!(without[0].ends_with(",equity"), "{}", without[0]);
    std::fs::write(&samples, without.join("\n") + "\n").unwrap();
    let compared = json(&cambist(&[&args[..], &["--json"]].concat()));
    let run = &compared["runs"][0];
    assert!(run["sharpe"].is_null() && run["returns"] == 0, "{run}");
    let why = run["sharpe_missing"].as_str().unwrap();
    assert!(why.contains("an earlier program"), "{why}");
}

/// The results of a backtest and of one with another limit, and a path for their page.
fn whole_and_limited(folder: &Folder, (limit, other): (&str, &str)) -> [String; 3] {
    let paths = ["whole", "cut", "page.html"];
    let paths = paths.map(|name| folder.0.join(name).display().to_string());
    let text = std::fs::read_to_string(config(folder)).unwrap();
    let limited = text.replace(limit, other);
    assert_ne!(text, limited);
    let data = folder.write("eth.csv", &jumping());
    for (out, text) in [(&paths[0], &text), (&paths[1], &limited)] {
        let config = folder.write("cambist.toml", text);
        let output = cambist(&[
            "backtest", "--config", &config, "--data", &data, "--out", out,
        ]);
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
    }
    paths
}

/// A run that a risk limit stopped is named in the text, in the JSON and on the page, also of an earlier program's report.
#[test]
fn a_run_that_was_stopped_is_named() {
    let folder = Folder::new("compare-stopped");
    let [whole, cut, page] = whole_and_limited(
        &folder,
        ("drawdown_max = \"1500 USDC\"", "drawdown_max = \"20 USDC\""),
    );
    let args = ["compare", &whole, &cut, "--out", &page, "--overwrite"];
    let value = json(&cambist(&[&args[..], &["--json"]].concat()));
    let expected = serde_json::json!({"state": "trading", "stops": []});
    assert_eq!(value["runs"][0]["trading_state"], expected);
    assert!(value["runs"][0]["stopped_after"].is_null());
    let state = &value["runs"][1]["trading_state"];
    assert_eq!(
        (&state["state"], &state["stops"][0]["cause"]),
        (&"cancel_only".into(), &"drawdown".into())
    );
    let after = value["runs"][1]["stopped_after"].as_f64().unwrap();
    assert!(after > 0.0 && after < 0.5, "{after}");
    let since = state["stops"][0]["time"].as_str().unwrap();
    let sentence = format!(
        "cut: trading stopped after {:.1} % of its time, cancel_only since {since} (drawdown): no new orders were made after that",
        after * 100.0
    );
    assert!(
        value["statements"][0]
            .as_str()
            .unwrap()
            .starts_with(&sentence)
    );
    let text = stdout(&cambist(&args));
    let html = std::fs::read_to_string(&page).unwrap();
    for words in [&sentence, "state at the end"] {
        assert!(text.contains(words), "{words}: {text}");
        assert!(html.contains(words), "{words}: {html}");
    }
    assert!(html.contains("<p><strong>cut: trading stopped"), "{html}");
    assert!(!text.contains("whole: trading stopped"), "{text}");

    // Fills after the stop are counted; a report of an earlier program does not have their number.
    let read = |name: &str| std::fs::read_to_string(folder.0.join("cut").join(name)).unwrap();
    let report: serde_json::Value = serde_json::from_str(&read("report.json")).unwrap();
    let later = read("fills.csv");
    let later = later.lines().skip(1).filter(|line| {
        let nanos = line.split(',').nth(1).unwrap().parse().unwrap();
        Timestamp(nanos) > Timestamp::from_rfc3339(since).unwrap()
    });
    assert_eq!(report["report"]["fills_after_stop"], later.count());
    let advice = read("report.txt");
    let words =
        "The trading state became cancel_only (drawdown): no new orders were made after that";
    assert!(advice.contains(words), "{advice}");
    let mut earlier = report;
    let members = earlier["report"].as_object_mut().unwrap();
    members.remove("fills_after_stop");
    std::fs::write(folder.0.join("cut/report.json"), earlier.to_string()).unwrap();
    let text = stdout(&cambist(&args));
    let words = "no new orders were made after that, and orders that rested could still fill until their cancels arrived. Its figures include";
    assert!(text.contains(words), "{text}");
}

/// A run that a limit paused for most of its time ends as `trading`: its pauses are stated.
#[test]
fn a_run_that_was_paused_for_long_is_named() {
    let folder = Folder::new("compare-paused");
    let [whole, cut, page] = whole_and_limited(
        &folder,
        ("loss_hour_max = \"750 USDC\"", "loss_hour_max = \"2 USDC\""),
    );
    let args = ["compare", &whole, &cut, "--out", &page, "--overwrite"];
    let value = json(&cambist(&[&args[..], &["--json"]].concat()));
    assert_eq!(value["runs"][0]["pauses"]["seconds"], 0.0);
    let pauses = &value["runs"][1]["pauses"];
    assert!(pauses["share"].as_f64().unwrap() > 0.5, "{pauses}");
    assert_eq!(pauses["at_end"], true);
    // Nine returns: 2.148, four of 0, -4.276, three of 0; for a year times the root of its 525,600 minutes.
    for (key, expected) in [("sharpe", -102.453_54), ("sharpe_error", 231.068_41)] {
        let found = value["runs"][1][key].as_f64().unwrap();
        assert!((found / expected - 1.0).abs() < 1e-6, "{key} {found}");
    }
    let text = stdout(&cambist(&args));
    let html = std::fs::read_to_string(&page).unwrap();
    for words in ["cut: quoting was paused for ", "trading; paused for "] {
        assert!(text.contains(words), "{words}: {text}");
        assert!(html.contains(words), "{words}: {html}");
    }
    assert!(text.contains("(loss_hour), also at the end. Its figures include this time.\n"));
    assert!(!text.contains("whole: quoting"), "{text}");
}
