//! From an empty folder to a configuration: keygen, init, doctor, the search for a configuration, completions.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Folder, cambist, configured, exit, json, stderr, stdout};

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn keygen_makes_a_key_once_and_shows_only_its_public_half() {
    let folder = Folder::new("keygen");
    let keys = folder.0.join("keys");
    let out = keys.display().to_string();
    let output = cambist(&["keygen", "--out", &out]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let secret = std::fs::read_to_string(keys.join("eddsa_key")).unwrap();
    assert_eq!((mode(&keys), mode(&keys.join("eddsa_key"))), (0o700, 0o600));
    let shown = stdout(&output);
    assert!(
        shown.contains("publicX  0x") && shown.contains("publicY  0x"),
        "{shown}"
    );
    assert!(!shown.contains(secret.trim()) && !stderr(&output).contains(secret.trim()));
    let again = cambist(&["keygen", "--out", &out, "--json"]);
    assert_eq!(exit(&again), 1);
    assert!(
        stderr(&again).contains("already exists and was not changed"),
        "{}",
        stderr(&again)
    );
    assert_eq!(
        std::fs::read_to_string(keys.join("eddsa_key")).unwrap(),
        secret
    );
}

const FLAGS: [&str; 18] = [
    "--venue",
    "http://127.0.0.1:9",
    "--account-id",
    "7",
    "--owner",
    "0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e010",
    "--market",
    "ETH-USDC",
    "--price-floor",
    "1500",
    "--price-ceiling",
    "4000",
    "--order-amount",
    "0.2",
    "--inventory-min",
    "1",
    "--inventory-max",
    "6",
];

#[test]
fn init_writes_a_file_that_check_accepts_and_overwrites_nothing() {
    let folder = Folder::new("init-file");
    let dir = folder.0.join("new").display().to_string();
    let args = [&["init", "--dir", &dir][..], &FLAGS].concat();
    let output = cambist(&args);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    assert!(
        stdout(&output).contains("cambist doctor --config"),
        "{}",
        stdout(&output)
    );
    let file = folder.0.join("new/cambist.toml");
    let (text, key) = (
        std::fs::read_to_string(&file).unwrap(),
        std::fs::read_to_string(folder.0.join("new/keys/eddsa_key")).unwrap(),
    );
    let config = file.display().to_string();
    let checked = cambist(&["check", "--no-secrets", "--config", &config]);
    assert_eq!(exit(&checked), 0, "{}", stderr(&checked));
    let again = cambist(&args);
    assert_eq!(exit(&again), 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let kept = std::fs::read_to_string(folder.0.join("new/keys/eddsa_key")).unwrap();
    assert_eq!(kept, key);
    std::fs::remove_file(&file).unwrap();
    let again = stdout(&cambist(&args));
    assert!(again.contains("kept the key that is in"), "{again}");
}

/// Names of strategies and of their parameters need no decimals.
#[test]
fn check_reads_strategies_of_a_file_without_decimals() {
    let folder = Folder::new("check-no-decimals");
    let config = configured(&folder);
    let text = std::fs::read_to_string(&config).unwrap();
    let units = ["base_decimals", "quote_decimals", "price_decimals"];
    let lines = text
        .lines()
        .filter(|line| !units.iter().any(|unit| line.starts_with(unit)));
    let text = lines.collect::<Vec<_>>().join("\n");
    std::fs::write(&config, &text).unwrap();
    let output = cambist(&["check", "--config", &config]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let found = stdout(&output);
    assert!(
        found.contains("NOT CHECKED") && found.contains("check --online"),
        "{found}"
    );
    for (from, to, words) in [
        (
            "name = \"bands\"",
            "name = \"bnads\"",
            "did you mean bands?",
        ),
        ("target_share_bps", "target_share_bip", "target_share_bip"),
        ("cool_down_s = 10", "cool_down_s = \"ten\"", "cool_down_s"),
    ] {
        assert!(text.contains(from), "{from}");
        std::fs::write(&config, text.replacen(from, to, 1)).unwrap();
        let output = cambist(&["check", "--config", &config]);
        assert_eq!(exit(&output), 77, "{from}: {}", stdout(&output));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
    for reason in ["", "  "] {
        let output = cambist(&["pause", "--config", &config, "--reason", reason]);
        assert_eq!(exit(&output), 2, "{}", stderr(&output));
    }
}

#[test]
fn init_names_what_is_missing_or_wrong() {
    let folder = Folder::new("init-wrong");
    let dir = folder.0.display().to_string();
    // Standard input is not a terminal here.
    let output = cambist(&["init", "--dir", &dir, "--venue", "https://venue.example"]);
    assert_eq!(exit(&output), 2);
    let message = stderr(&output);
    assert!(
        message.contains("--account-id, --owner, --market") && !message.contains("--venue,"),
        "{message}"
    );
    for (flag, value, part) in [
        ("--venue", "venue.example", "is not a URL"),
        ("--owner", "0x12", "is not an address"),
        ("--market", "ETHUSDC", "is not a market"),
        ("--price-floor", "cheap", "is not an amount"),
        ("--price-ceiling", "1000", "below the ceiling"),
        ("--account-id", "me", "is not a number"),
    ] {
        let mut flags = FLAGS.to_vec();
        let at = flags.iter().position(|one| *one == flag).unwrap();
        flags[at + 1] = value;
        let output = cambist(&[&["init", "--dir", &dir][..], &flags].concat());
        assert_eq!(exit(&output), 2, "{flag}");
        assert!(
            stderr(&output).contains(part),
            "{flag}: {}",
            stderr(&output)
        );
    }
    assert!(!folder.0.join("cambist.toml").exists() && !folder.0.join("keys").exists());
}

fn in_folder(folder: &Folder, variable: Option<&str>, args: &[&str]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cambist"));
    command
        .current_dir(&folder.0)
        .args(args)
        .env_remove("CAMBIST_CONFIG");
    if let Some(variable) = variable {
        command.env("CAMBIST_CONFIG", variable);
    }
    command.output().unwrap()
}

#[test]
fn a_configuration_is_found_by_flag_variable_and_folder_in_this_order() {
    let folder = Folder::new("found");
    let named = configured(&folder);
    let check = ["check", "--no-secrets", "--json"];
    let missing = in_folder(&folder, None, &check);
    assert_eq!(exit(&missing), 2);
    assert!(
        stderr(&missing).contains("--config <FILE>"),
        "{}",
        stderr(&missing)
    );
    let by_variable = in_folder(&folder, Some(&named), &check);
    assert_eq!(json(&by_variable)["file"], named);
    std::fs::copy(&named, folder.0.join("cambist.toml")).unwrap();
    let by_folder = in_folder(&folder, None, &check);
    assert_eq!(json(&by_folder)["file"], "cambist.toml");
    let by_variable = in_folder(&folder, Some(&named), &check);
    assert_eq!(json(&by_variable)["file"], named, "the variable goes first");
    let by_flag = in_folder(
        &folder,
        Some("nowhere.toml"),
        &[&check[..], &["--config", &named]].concat(),
    );
    assert_eq!(json(&by_flag)["file"], named, "the flag goes before both");
    // A file that is named but missing is not replaced by another.
    let nowhere = in_folder(&folder, Some("nowhere.toml"), &check);
    assert_eq!(exit(&nowhere), 77);
    assert!(
        stderr(&nowhere).contains("nowhere.toml"),
        "{}",
        stderr(&nowhere)
    );
}

#[test]
fn doctor_finds_what_is_wrong_and_names_the_remedy() {
    let folder = Folder::new("doctor");
    let config = configured(&folder);
    let key = folder.0.join("api_key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = cambist(&["doctor", "--config", &config, "--json"]);
    assert_eq!(exit(&output), 1, "{}", stderr(&output));
    let page = json(&output);
    assert_eq!(page["ok"], false);
    let findings = page["findings"].as_array().unwrap();
    let keys = findings
        .iter()
        .find(|finding| finding["check"] == "keys")
        .unwrap();
    assert_eq!(keys["verdict"], "wrong");
    assert!(
        keys["found"].as_str().unwrap().contains("chmod 600"),
        "{keys}"
    );
    for finding in findings {
        assert_eq!(
            finding["verdict"] == "good",
            finding["fix"].is_null(),
            "{finding}"
        );
    }
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let output = cambist(&["doctor", "--config", &config]);
    assert_eq!(
        exit(&output),
        1,
        "no process listens at the venue's address"
    );
    let message = stdout(&output);
    assert!(
        message.contains("WRONG") && message.contains("venue") && message.contains("->"),
        "{message}"
    );
}

#[test]
fn completions_and_man_page_name_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let text = stdout(&cambist(&["completions", shell]));
        for part in ["history", "doctor", "adopt-orders", "price-floor"] {
            assert!(text.contains(part), "{shell}: {part}");
        }
    }
    let page = stdout(&cambist(&["man"]));
    for part in [
        ".TH",
        "CAMBIST DOCTOR",
        "CAMBIST ACCOUNT ADOPT",
        "Exit codes",
    ] {
        assert!(page.contains(part), "{part}");
    }
}
