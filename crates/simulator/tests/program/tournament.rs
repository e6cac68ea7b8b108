//! `tournament`: the same table whatever the number of threads and however often it was interrupted.

use crate::support::{Folder, exit, json, simulator, stderr, stdout};

/// A small tournament: two scenarios, the reference and a strategy, games of a minute.
const SMALL: [&str; 11] = [
    "tournament",
    "--seeds",
    "3",
    "--minutes",
    "1",
    "--scenario",
    "calm",
    "--scenario",
    "crash",
    "--strategy",
    "ladder",
];

fn play(more: &[&str]) -> std::process::Output {
    simulator(&[&SMALL, more].concat())
}

#[test]
fn threads_and_interruptions_change_no_byte() {
    let folder = Folder::new("tournament");
    let of = |name: &str| folder.0.join(name).display().to_string();
    let (results, out) = (of("games.jsonl"), of("table.txt"));
    let one = play(&["--jobs", "1"]);
    assert_eq!(exit(&one), 0, "{}", stderr(&one));
    let all = play(&["--jobs", "3", "--results", &results, "--out", &out]);
    assert_eq!(exit(&all), 0, "{}", stderr(&all));
    assert_eq!(stdout(&all), stdout(&one));
    assert_eq!(std::fs::read_to_string(&out).unwrap(), stdout(&one));

    // Half of the lines, and a torn one.
    let text = std::fs::read_to_string(&results).unwrap();
    assert_eq!(text.lines().count(), 12);
    let half: Vec<_> = text.lines().take(6).collect();
    std::fs::write(&results, format!("{}\n{}", half.join("\n"), &text[..40])).unwrap();
    let rest = play(&["--results", &results]);
    assert_eq!(stdout(&rest), stdout(&one));
    assert!(
        stderr(&rest).contains("6 games are there already, 6 are left"),
        "{}",
        stderr(&rest)
    );
    assert_eq!(
        std::fs::read_to_string(&results).unwrap().lines().count(),
        12
    );
    let none = play(&["--results", &results]);
    assert_eq!(stdout(&none), stdout(&one));

    // A contradiction: the first line again with another number of requests.
    let first = text
        .lines()
        .next()
        .unwrap()
        .replace("\"requests\":", "\"requests\":1");
    let text = std::fs::read_to_string(&results).unwrap();
    std::fs::write(&results, format!("{text}{first}\n")).unwrap();
    let refused = play(&["--results", &results]);
    assert_eq!(exit(&refused), 1);
    assert!(
        stderr(&refused).contains("another result"),
        "{}",
        stderr(&refused)
    );
}

/// The strategies of the file do not play, whatever they are; its pool is that of the contestants.
#[test]
fn a_file_whose_strategy_manages_a_pool_is_played() {
    let folder = Folder::new("tournament-pool");
    let read = |name: &str| {
        let path = format!("{}/../../config/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    };
    let mut file: toml::Table = read("tournament.toml").parse().unwrap();
    let example: toml::Table = read("strategies/lp_manager.toml").parse().unwrap();
    let market = file["market"].as_array_mut().unwrap()[0]
        .as_table_mut()
        .unwrap();
    assert!(market.contains_key("pool"));
    market.insert("strategy".to_owned(), example["market"]["strategy"].clone());
    let path = folder.0.join("pool.toml");
    std::fs::write(&path, toml::to_string(&file).unwrap()).unwrap();
    // The reference is played without the engine, and was what the file was refused for.
    let reference = |more: &[&str]| {
        let few = ["tournament", "--seeds", "2", "--minutes", "1", "--json"];
        let who = ["--scenario", "calm", "--strategy", "reference"];
        simulator(&[&few[..], &who, more].concat())
    };
    let of_file = reference(&["--config", path.to_str().unwrap()]);
    assert_eq!(exit(&of_file), 0, "{}", stderr(&of_file));
    let own = reference(&[]);
    assert_eq!(exit(&own), 0, "{}", stderr(&own));
    assert_eq!(json(&of_file)["rows"], json(&own)["rows"]);
}

/// Errors of the file have their places in it; those of a contestant in it have none.
#[test]
fn errors_have_places_of_the_file_or_none() {
    let folder = Folder::new("tournament-places");
    let path = format!(
        "{}/../../config/tournament.toml",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(path).unwrap();
    let refused = |name: &str, text: &str, strategy: &str| {
        let path = folder.0.join(name);
        std::fs::write(&path, text).unwrap();
        let path = path.display().to_string();
        let few = [
            "tournament",
            "--seeds",
            "1",
            "--minutes",
            "1",
            "--scenario",
            "calm",
        ];
        let output = simulator(&[&few[..], &["--strategy", strategy, "--config", &path]].concat());
        assert_eq!(exit(&output), 77, "{}", stderr(&output));
        stderr(&output)
    };
    let wrong = text.replace("price_floor = \"1500 USDC\"", "price_floor = \"5000 USDC\"");
    let line = wrong
        .lines()
        .position(|line| line.starts_with("price_ceiling"))
        .unwrap()
        + 1;
    let message = refused("wrong.toml", &wrong, "ladder");
    assert!(
        message.contains(&format!("wrong.toml:{line}:")),
        "{message}"
    );
    let pool = text.find("[market.pool]").unwrap();
    let strategy = text.find("# The strategy bands, as").unwrap();
    let without = format!("{}{}", &text[..pool], &text[strategy..]);
    let message = refused("without.toml", &without, "hedged_lp");
    let expected = "without.toml, with the strategies of this contestant: ";
    assert!(message.contains(expected), "{message}");
    assert!(message.contains("needs a [market.pool]"), "{message}");
    assert!(!message.contains("without.toml:"), "{message}");
}

#[test]
fn the_table_and_the_json_state_the_same_comparison() {
    let text = stdout(&play(&[]));
    for part in [
        "calm: a calm market",
        "crash: the price falls",
        "reference",
        "ladder",
        "Where they are worse",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let value = json(&play(&["--json"]));
    let rows = value["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[0]["contestant"], "reference");
    assert_eq!(rows[1]["contestant"], "ladder");
    for row in rows {
        assert_eq!(row["games"], 3);
        assert_eq!(row["violations"], 0);
        let profit = &row["means"]["profit_bps"];
        assert!(
            profit["low"].as_f64() <= profit["value"].as_f64(),
            "{profit}"
        );
        assert!(
            profit["value"].as_f64() <= profit["high"].as_f64(),
            "{profit}"
        );
    }
    assert_eq!(rows[1]["orphans"], 0, "the engine forgets nothing");
    assert!(rows[1]["less_the_reference"]["both_sides_s_per_request"]["ranking"].is_string());
    assert!(rows[0]["tail_ranking"].is_null());
}

#[test]
fn wrong_arguments_are_2() {
    let folder = Folder::new("tournament-usage");
    let same = folder.0.join("same").display().to_string();
    let other = format!(
        "{}/../{}/same",
        folder.0.display(),
        folder.0.file_name().unwrap().display()
    );
    let beside = folder.0.join("none/table.txt").display().to_string();
    for (arguments, part) in [
        (vec!["--seeds", "0"], "--seeds must be"),
        (vec!["--seeds", "1000001"], "--seeds must be"),
        (vec!["--seed", "18446744073709551615"], "the last seed"),
        (vec!["--minutes", "0"], "--minutes must be"),
        (vec!["--minutes", "1441"], "--minutes must be"),
        (vec!["--jobs", "0"], "--jobs must be"),
        (vec!["--jobs", "1025"], "--jobs must be"),
        (vec!["--strategy", "pool_arb"], "there are reference"),
        (vec!["--scenario", "crush"], "no scenario is called"),
        (vec!["--scenario", "calm", "--scenario", "calm"], "twice"),
        (vec!["--out", &same, "--results", &same], "the same file"),
        (vec!["--out", &same, "--results", &other], "the same file"),
        (vec!["--out", &same, "--config", &other], "would replace"),
        (vec!["--out", &same, "--scenario", &other], "would replace"),
        (
            vec!["--out", &beside],
            "is a folder, or in one that does not exist",
        ),
        (
            vec!["--out", "/tmp"],
            "is a folder, or in one that does not exist",
        ),
        (vec!["--results", "/dev/full"], "not a regular file"),
    ] {
        let output = simulator(&[&["tournament"], arguments.as_slice()].concat());
        assert_eq!(exit(&output), 2, "{arguments:?}: {}", stderr(&output));
        assert!(
            stderr(&output).contains(part),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}
