//! Usage, help, and invalid files: the message, its position, and the exit code.

use std::process::{Command, Stdio};

use crate::support::{Folder, cambist, example, exit, json, stderr, stdout};

#[test]
fn usage_is_2_and_help_has_examples() {
    for bad in [
        &["nonsense"][..],
        &[],
        &["run"],
        &["demo", "--duration", "fast"],
    ] {
        let output = cambist(bad);
        assert_eq!(exit(&output), 2, "{bad:?}");
        assert!(output.stdout.is_empty(), "{bad:?}");
    }
    for command in [
        "demo",
        "run",
        "status",
        "pause",
        "resume",
        "account",
        "kill",
        "drain",
        "reload",
        "panic",
        "check",
        "venue",
        "strategy",
        "vectors",
        "replay",
        "sim",
        "backtest",
        "sweep",
        "tournament",
        "compare",
        "merge",
        "history",
        "report",
        "init",
        "keygen",
        "doctor",
        "top",
        "completions",
        "man",
    ] {
        let output = cambist(&[command, "--help"]);
        assert_eq!(exit(&output), 0, "{command}");
        assert!(stdout(&output).contains("Example"), "{command}");
        assert!(stdout(&output).contains("--json"), "{command}");
    }
}

#[test]
fn usage_errors_are_json_as_well_where_it_is_asked_for() {
    for (bad, words) in [
        (&["history", "pool", "--json"][..], "pool"),
        (&["--json", "nonsense"], "nonsense"),
        (
            &["replay", "--json"],
            "required arguments were not provided: ",
        ),
    ] {
        let output = cambist(bad);
        assert_eq!(exit(&output), 2, "{bad:?}");
        let page = json(&output);
        assert_eq!(page["exit"], 2, "{bad:?}: {page}");
        let message = page["error"].as_str().unwrap();
        assert!(message.contains(words), "{bad:?}: {page}");
        assert!(!message.starts_with("error"), "{bad:?}: {page}");
        assert!(stderr(&output).contains(words.trim_end()), "{bad:?}");
    }
    let output = cambist(&["nonsense", "--", "--json"]);
    assert_eq!(exit(&output), 2);
    assert!(output.stdout.is_empty());
}

#[test]
fn commands_of_a_store_name_where_paper_results_are() {
    let folder = Folder::new("usage-paper");
    let text = std::fs::read_to_string(example("paper.toml")).unwrap();
    let paper = folder.write("paper.toml", &text.replace("../target/", ""));
    for command in ["report", "history"] {
        let output = cambist(&[command, "--config", &paper]);
        assert_eq!(exit(&output), 2, "{command}");
        let message = stderr(&output);
        for words in ["mode \"paper\" has no store", "report.html"] {
            assert!(message.contains(words), "{words}: {message}");
        }
    }
}

#[test]
fn an_unknown_scenario_is_2_and_lists_the_known_ones() {
    let output = cambist(&["demo", "--scenario", "crush"]);
    assert_eq!(exit(&output), 2);
    let error = stderr(&output);
    for part in ["\"crush\"", "calm, trending, volatile, crash, thin"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    let folder = Folder::new("bad-scenario");
    let text = std::fs::read_to_string(example("scenarios/crash.toml")).unwrap();
    let path = folder.0.join("bad.toml");
    std::fs::write(&path, text.replace("jump_bps = -400", "jump_bps = -99999")).unwrap();
    let output = cambist(&["demo", "--scenario", &path.display().to_string()]);
    assert_eq!(exit(&output), 77);
    let error = stderr(&output);
    assert!(
        error.contains("bad.toml:") && error.contains("jump_bps = -99999 is outside"),
        "{error}"
    );
}

/// Keys are checked as far as possible without the venue.
#[test]
fn check_tries_the_form_of_keys_and_the_owner_of_files() {
    use crate::support::configured;
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("check-keys");
    let config = configured(&folder);
    let good = cambist(&["check", "--config", &config]);
    assert_eq!(exit(&good), 0, "{}", stderr(&good));
    let (api, eddsa) = ("B".repeat(64), "0x1b");
    for (first, second, words) in [
        (eddsa, api.as_str(), ["keys are swapped", "api_key holds"]),
        (eddsa, "0x1c", ["not an API key", "would be sent"]),
        (
            api.as_str(),
            "0xnothing",
            ["not a secret key", "hexadecimal"],
        ),
        (api.as_str(), "0x00", ["not a secret key", "hexadecimal"]),
    ] {
        for (name, key) in [("api_key", first), ("eddsa_key", second)] {
            let path = folder.write(name, &format!("{key}\n"));
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        for command in ["check", "run"] {
            let refused = cambist(&[command, "--config", &config]);
            let message = stderr(&refused);
            assert_eq!(exit(&refused), 77, "{command}: {message}");
            for word in words {
                assert!(message.contains(word), "{command}: no {word} in {message}");
            }
            assert!(
                !message.contains(first) && !message.contains(second),
                "{message}"
            );
        }
    }
}

/// The modes that ask no venue need the units of the markets in the file: `check` refuses what `run` would.
#[test]
fn check_refuses_paper_trading_without_the_units_of_its_market() {
    let folder = Folder::new("paper-units");
    let text = std::fs::read_to_string(example("paper.toml")).unwrap();
    let (whole, missing) = (folder.write("whole.toml", &text), {
        let lines = text
            .lines()
            .filter(|line| !line.starts_with("price_decimals"));
        let shorter = lines.collect::<Vec<_>>().join("\n");
        assert_ne!(shorter.len() + 1, text.len());
        folder.write("missing.toml", &shorter)
    });
    let good = cambist(&["check", "--config", &whole]);
    assert_eq!(exit(&good), 0, "{}", stderr(&good));
    for command in ["check", "run"] {
        let refused = cambist(&[command, "--config", &missing]);
        let message = stderr(&refused);
        assert_eq!(exit(&refused), 77, "{command}: {message}");
        assert!(message.contains("price_decimals"), "{command}: {message}");
    }
}

#[test]
fn check_reports_what_a_file_means() {
    let output = cambist(&[
        "check",
        "--no-secrets",
        "--config",
        &example("cambist.toml"),
    ]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(!text.contains("\nlimits\n"), "only with --limits");
    for part in [
        "largest order",
        "2000 USDC",
        "1 to 6 ETH",
        "27500 USDC",
        "of the order budget",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let config = example("cambist.toml");
    let output = cambist(&["check", "--limits", "--no-secrets", "--config", &config]);
    let text = stdout(&output);
    let (_, limits) = text.split_once("\nlimits\n").unwrap();
    for row in [
        ["orders.ttl_s", "120"],
        ["market.collar_bps of ETH-USDC", "200"],
        ["market.inventory_max of ETH-USDC", "6 ETH"],
        ["market.loss_hour_max of ETH-USDC", "750 USDC"],
        ["risk.foreign_orders", "tolerate"],
    ] {
        let found = limits.lines().find(|line| line.contains(row[0]));
        assert!(found.unwrap().contains(row[1]), "{row:?} in\n{limits}");
    }
    let output = cambist(&[
        "check",
        "--json",
        "--no-secrets",
        "--config",
        &example("demo.toml"),
    ]);
    let meaning = json(&output);
    assert_eq!(meaning["ok"], true);
    let limits = meaning["limits"].as_array().unwrap();
    let ttl = limits.iter().find(|limit| limit["key"] == "orders.ttl_s");
    let ttl = ttl.unwrap();
    assert_eq!(
        [&ttl["value"], &ttl["unit"], &ttl["default"], &ttl["looser"]],
        ["10", "s", "120", "higher"]
    );
    assert_eq!(meaning["dead_after_s"], 13);
    let [truthful, kept] = [
        &meaning["losses"]["markets"][0],
        &meaning["losses"]["markets"][0]["if_kept"],
    ];
    let units = |found: &serde_json::Value| found["loss_max"].as_str().unwrap().parse::<f64>();
    assert!(units(kept).unwrap() > units(truthful).unwrap());
    assert_eq!(kept["signed_unexpired_max"], "40");
    let ttls: Vec<_> = kept["by_ttl"].as_array().unwrap().iter().collect();
    let of = |key: &str| ttls.iter().map(|by| by[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("ttl_s"), [5, 10, 20]);
    assert_eq!(of("dead_after_s"), [8, 13, 23]);
    assert_eq!(of("signed_unexpired_max"), ["40"; 3], "it is in the file");
    assert!(meaning["markets"][0]["worst_case"].as_str().unwrap().len() > 3);
    assert!(output.stderr.is_empty(), "{}", stderr(&output));
    let output = cambist(&["check", "--config", &example("venue.toml")]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
}

#[test]
fn a_bad_configuration_is_77_with_its_line() {
    let folder = Folder::new("bad");
    let text = std::fs::read_to_string(example("demo.toml")).unwrap();
    let path = folder.write("bad.toml", &text.replace("grace_s =", "graze_s ="));
    let line = 1 + text
        .lines()
        .position(|line| line.starts_with("grace_s"))
        .unwrap();
    for command in ["check", "run"] {
        let output = cambist(&[command, "--config", &path]);
        assert_eq!(exit(&output), 77, "{command}");
        let message =
            format!("{path}:{line}:1: unknown key orders.graze_s; did you mean orders.grace_s?");
        assert!(stderr(&output).contains(&message), "{}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
    let output = cambist(&["check", "--json", "--config", &path]);
    assert_eq!(exit(&output), 77);
    let refusal = json(&output);
    assert_eq!(refusal["ok"], false);
    assert_eq!(refusal["problems"][0]["line"], line);
    let missing = cambist(&["check", "--config", "/nowhere/at/all.toml"]);
    assert_eq!(exit(&missing), 77);
    assert!(stderr(&missing).contains("no such file"));
    let wrong = folder.write("wrong.toml", "config_version = 1\n[venue\n");
    let output = cambist(&["check", "--config", &wrong]);
    assert_eq!(exit(&output), 77);
    assert!(
        stderr(&output).contains(&format!("{wrong}:2:")),
        "{}",
        stderr(&output)
    );
}

#[test]
fn bad_keys_are_77_with_the_remedy_and_without_the_key() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("keys");
    let text = std::fs::read_to_string(example("demo.toml")).unwrap();
    let text = text
        .replace("../target/two-terminals/keys/", "")
        .replace("../target/two-terminals/", "");
    let config = folder.write("demo.toml", &text);
    let missing = cambist(&["check", "--config", &config]);
    assert_eq!(exit(&missing), 77);
    let text = stderr(&missing);
    assert!(text.contains("does not exist"), "{text}");
    assert!(
        text.contains("the first start of cambist venue writes it; or use --no-secrets"),
        "{text}"
    );
    for (name, key) in [("api_key", "hunter2"), ("eddsa_key", "0x1b")] {
        let path = folder.write(name, &format!("{key}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let right = cambist(&["check", "--config", &config]);
    assert_eq!(exit(&right), 0, "{}", stderr(&right));
    let open = folder.0.join("api_key");
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o644)).unwrap();
    for command in ["check", "run"] {
        let output = cambist(&[command, "--config", &config]);
        assert_eq!(exit(&output), 77, "{command}");
        let text = stderr(&output);
        assert!(
            text.contains("chmod 600") && !text.contains("hunter2"),
            "{text}"
        );
    }
}

/// stdout holds one JSON value, also after a failure.
#[test]
fn failures_are_json_too() {
    for (args, code) in [
        (&["run", "--json", "--config", "/nowhere.toml"][..], 77),
        (&["replay", "--json", "/nowhere.tape"], 1),
        (&["demo", "--json", "--strategy", "nope"], 2),
    ] {
        let output = cambist(args);
        assert_eq!(exit(&output), code, "{args:?}");
        let object = json(&output);
        assert_eq!(object["exit"], code, "{object}");
        let error = object["error"].as_str().unwrap();
        let message = error.split(": ").next().unwrap();
        assert!(stderr(&output).contains(message), "{error}");
    }
}

#[test]
fn a_file_of_the_other_program_names_its_command() {
    for (command, file, right) in [
        ("run", "venue.toml", "cambist venue --config"),
        ("venue", "demo.toml", "cambist run --config"),
    ] {
        let output = cambist(&[command, "--config", &example(file)]);
        assert_eq!(exit(&output), 77, "{command}");
        let text = stderr(&output);
        assert!(text.contains(right), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

/// A reader that closes the pipe is not an error.
#[test]
fn a_reader_that_went_away_is_no_error() {
    for args in [
        &["strategy", "show", "bands"][..],
        &["strategy", "show", "bands", "--json"],
        &["--help"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cambist"))
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (exit(&output), stderr(&output).as_str()),
            (0, ""),
            "{args:?}"
        );
    }
}
