//! The file of a backtest: the shipped one with its sample, and what cannot be simulated.

use std::path::Path;

use crate::support::{Folder, cambist, example, exit, json, stderr};

/// The shipped file with a text replaced.
fn changed(folder: &Folder, from: &str, to: &str) -> String {
    let text = std::fs::read_to_string(example("backtest-csv.toml")).unwrap();
    assert!(text.contains(from), "{from}");
    folder.write("file.toml", &text.replacen(from, to, 1))
}

#[test]
fn the_commands_of_the_page_run_on_the_sample() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Folder::new("backtest-file-page");
    let page = std::fs::read_to_string(root.join("docs/backtest.md")).unwrap();
    let lines = page.lines().filter(|line| {
        line.starts_with("cambist ") && line.contains("--config config/backtest-csv.toml")
    });
    let mut values = Vec::new();
    for line in lines {
        let path = |word: &str| match word.split_once('/') {
            Some(("config", _)) => root.join(word).display().to_string(),
            Some(("out", name)) => folder.0.join(name).display().to_string(),
            _ => word.to_owned(),
        };
        let mut words: Vec<_> = line.split(' ').skip(1).map(path).collect();
        words.push("--json".to_owned());
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let output = cambist(&words);
        assert_eq!(exit(&output), 0, "{line}: {}", stderr(&output));
        values.push(json(&output));
    }
    let [backtest, sweep] = &values[..] else {
        panic!("{} commands", values.len());
    };
    assert!(
        backtest["report"]["fills"].as_u64() > Some(10),
        "{backtest:#}"
    );
    assert!(folder.0.join("sample/report.html").is_file());
    assert_eq!(sweep["runs"].as_array().map(Vec::len), Some(20));
    assert!(folder.0.join("sample-sweep/sweep.html").is_file());
}

#[test]
fn other_commands_ask_for_what_a_daemon_needs() {
    let file = example("backtest-csv.toml");
    let output = cambist(&["check", "--config", &file, "--json"]);
    assert_eq!(exit(&output), 77, "{}", stderr(&output));
    let problems = json(&output)["problems"].clone();
    assert_eq!(problems.as_array().map(Vec::len), Some(1), "{problems:#}");
    let what = problems[0]["what"].as_str().unwrap();
    for words in ["`cambist backtest`", "not a daemon's", "[venue], [keys]"] {
        assert!(what.contains(words), "{what}");
    }
    for command in ["run", "record"] {
        let output = cambist(&[command, "--config", &file]);
        let text = stderr(&output);
        assert_eq!(exit(&output), 77, "{text}");
        assert!(!text.contains("`cambist backtest`"), "{text}");
    }
    let text = stderr(&cambist(&["run", "--config", &file]));
    assert!(text.contains("venue.base_url is missing"), "{text}");
}

/// Before any data are read: the file that is named is not there.
#[test]
fn what_is_not_simulated_is_refused_with_its_place() {
    let folder = Folder::new("backtest-file-refused");
    let strategy = "[[market.strategy]]\nname = \"bands\"";
    let pool = "[market.pool]\nname = \"AMM-ETH-USDC\"\nlp_decimals = 8\nmove_value_max = \"10 USDC\"\nvalue_max = \"100 USDC\"\n";
    let other = "[[market]]\nname = \"ETH-DAI\"\nbase_decimals = 18\nquote_decimals = 6\nprice_decimals = 2\n\
        price_floor = \"1\"\nprice_ceiling = \"2\"\norder_value_max = \"1\"\ninventory_min = \"0\"\ninventory_max = \"1\"\n\
        [[market.strategy]]\nname = \"bands\"\n\n[[market]]";
    let manager = strategy.replace("bands", "lp_manager");
    let hedged = strategy.replace("bands", "hedged_lp");
    let sweep = example("sweeps/bands.toml");
    for (from, to, words) in [
        (
            strategy,
            format!("{pool}{strategy}"),
            "remove [market.pool]",
        ),
        (strategy, manager, "strategy lp_manager needs a pool"),
        (strategy, hedged, "strategy hedged_lp needs a pool"),
        ("[[market]]", other.to_owned(), "one quote token"),
    ] {
        let config = changed(&folder, from, &to);
        let out = folder.0.join("out").display().to_string();
        let last = ["--config", &config, "--data", "none.csv", "--out", &out];
        for command in [
            &["backtest"][..],
            &["sweep", "--sweep", &sweep],
            &["sweep", "--dry-run", "--sweep", &sweep],
        ] {
            let output = cambist(&[command, &last].concat());
            let text = stderr(&output);
            assert_eq!(exit(&output), 77, "{command:?} {words}: {text}");
            assert!(text.contains(words), "{command:?}: {text}");
            assert!(text.contains("file.toml:"), "its place: {text}");
        }
        assert!(!folder.0.join("out").exists());
    }
    // As in a run in a simulated account on live books.
    let paper = std::fs::read_to_string(example("paper.toml")).unwrap();
    let at = "# Source of depth: a public order book. Templates";
    assert!(paper.contains(at));
    let paper = paper.replacen(at, &format!("{pool}\n{at}"), 1);
    let config = folder.write("paper.toml", &paper);
    for command in ["check", "run"] {
        let output = cambist(&[command, "--config", &config]);
        let text = stderr(&output);
        assert_eq!(exit(&output), 77, "{command}: {text}");
        assert!(
            text.contains("pools are not simulated"),
            "{command}: {text}"
        );
    }
}
