//! `cambist compare`: results of several backtests on one page.

use crate::backtest::{config, jumping};
use crate::support::{Folder, cambist, exit, json, stderr};

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
    assert_eq!(
        (&runs[0]["name"], &runs[1]["name"]),
        (&"near".into(), &"<slow>".into())
    );
    // Ten minutes and a second: nine or ten returns of a minute.
    assert_eq!(runs[0]["returns"], 9);
    let html = std::fs::read_to_string(&page).unwrap();
    for words in [
        "request_latency",
        "&lt;slow&gt;",
        "class=\"c1\"",
        "What differs",
        "fewer than 100 returns",
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
            "equity.csv: line 5: equity \"lots\" is no number",
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
