//! Access to a state folder, commands without a running daemon, the service unit.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::support::{Folder, cambist, configured, example, exit, json, stderr};

#[test]
fn a_second_daemon_on_one_state_folder_is_75() {
    let folder = Folder::new("second");
    let config = configured(&folder);
    let dir = folder.0.join("state");
    let first = cambist_store::Store::open(&dir).unwrap();
    let before = std::fs::read(dir.join(cambist_store::FILE)).unwrap();
    let second = cambist(&["run", "--config", &config]);
    assert_eq!(exit(&second), 75, "{}", stderr(&second));
    // This process holds it, unless the file system shows other devices in /proc/locks.
    let holder = cambist_host::folder::holder(&dir);
    assert!(holder.is_none_or(|pid| pid == std::process::id()));
    let named = cambist_host::folder::with_holder(&dir, holder);
    let text = stderr(&second);
    let text = text.contains(&format!(
        "another process uses the state folder {named}; stop it"
    ));
    assert!(text, "{}", stderr(&second));
    assert_eq!(
        std::fs::read(dir.join(cambist_store::FILE)).unwrap(),
        before
    );
    drop(first);
}

/// A folder that other users can read, a link, a file: refused like a key file, reported once, unchanged.
#[test]
fn a_state_folder_that_is_not_ours_alone_is_77() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("folders");
    let config = configured(&folder);
    let dir = folder.0.join("state");
    let refused = |why: &str| {
        let commands: [&[&str]; 3] = [&["run"], &["resume", "--reason", "x"], &["check"]];
        // `check` does not open the store.
        let opened = if why == "owner and mode" { 2 } else { 3 };
        for command in commands.into_iter().take(opened) {
            let output = cambist(&[command, &["--config", &config]].concat());
            let message = stderr(&output);
            assert_eq!(exit(&output), 77, "{message}");
            assert!(message.contains(why), "{message}");
            assert_eq!(message.lines().count(), 1, "printed once: {message}");
        }
    };
    std::fs::create_dir(&dir).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o750)).unwrap();
    refused(&format!(
        "others must have no access: chmod 700 {}",
        dir.display()
    ));
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
    std::fs::remove_dir(&dir).unwrap();
    let elsewhere = folder.0.join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, &dir).unwrap();
    refused("symbolic link");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    std::fs::remove_file(&dir).unwrap();
    std::fs::write(&dir, "").unwrap();
    refused("not a folder");
    std::fs::remove_file(&dir).unwrap();
    std::fs::create_dir(&dir).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::create_dir(dir.join(cambist_store::FILE)).unwrap();
    refused("owner and mode");
}

/// The configuration of an exchange on an address.
fn exchange_on(folder: &Folder, address: &str) -> String {
    let text = std::fs::read_to_string(example("venue.toml")).unwrap();
    let text = text.replace("127.0.0.1:8787", address);
    folder.write("venue.toml", &text.replace("../target/two-terminals/", ""))
}

#[test]
fn an_address_in_use_leaves_no_new_exchange_behind() {
    let folder = Folder::new("data-address");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let data = folder.0.join("data");
    let config = exchange_on(&folder, &address);
    let output = cambist(&[
        "venue",
        "--config",
        &config,
        "--data",
        data.to_str().unwrap(),
    ]);
    assert_eq!(exit(&output), 1, "{}", stderr(&output));
    let message = stderr(&output);
    assert!(
        message.contains(&format!("{address} is in use")),
        "{message}"
    );
    assert!(!data.exists());
}

/// The lines on stderr, each of them JSON.
fn log_lines(output: &Output) -> Vec<Value> {
    let text = stderr(output);
    let lines = text.lines().map(|line| {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line:?}"))
    });
    lines.collect()
}

/// The last line of a log of JSON is the error that ended the process, with the fields of every other line; with
/// another format, and before the file is read, it is text.
#[test]
fn the_error_that_ends_a_process_is_a_line_of_a_log_of_json() {
    let folder = Folder::new("json-errors");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let venue = exchange_on(&folder, &address);
    let daemon = configured(&folder);
    let ask_json = |file: &str, format: &str| {
        let text = std::fs::read_to_string(file).unwrap();
        let text = ["auto", "human", "json"].iter().fold(text, |text, old| {
            text.replace(
                &format!("format = \"{old}\""),
                &format!("format = \"{format}\""),
            )
        });
        std::fs::write(file, text).unwrap();
    };
    let cases: [(&[&str], &str, i32, String); 2] = [
        (&["venue"], &venue, 1, format!("{address} is in use")),
        (
            &["run", "--for", "5s"],
            &daemon,
            2,
            "use 'cambist drain'".to_owned(),
        ),
    ];
    for (command, file, code, message) in cases {
        let run = || cambist(&[command, &["--config", file]].concat());
        ask_json(file, "json");
        let output = run();
        assert_eq!(exit(&output), code, "{}", stderr(&output));
        let lines = log_lines(&output);
        let last = lines.last().unwrap();
        assert!(
            last["message"].as_str().unwrap().contains(&message),
            "{last}"
        );
        assert_eq!(
            (&last["level"], &last["exit"]),
            (&json!("ERROR"), &json!(code))
        );
        assert!(
            last["timestamp"].is_string() && last["target"].is_string(),
            "{last}"
        );
        let errors = lines.iter().filter(|line| line["level"] == "ERROR").count();
        assert_eq!(errors, 1, "{lines:?}");
        for other in ["human", "auto"] {
            ask_json(file, other);
            let text = stderr(&run());
            let found = text.lines().find(|line| line.starts_with("error: "));
            assert!(found.is_some_and(|line| line.contains(&message)), "{text}");
        }
        // Before the file is known to be right there is no log.
        ask_json(file, "json");
        let text = std::fs::read_to_string(file).unwrap();
        std::fs::write(file, format!("no_such_key = 1\n{text}")).unwrap();
        let output = run();
        assert_eq!(exit(&output), 77);
        assert!(
            stderr(&output).starts_with("error: "),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn a_data_folder_that_is_not_ours_alone_is_77() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("data-folder");
    let config = exchange_on(&folder, "127.0.0.1:0");
    let data = folder.0.join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o770)).unwrap();
    let data = data.display().to_string();
    let output = cambist(&["venue", "--config", &config, "--data", &data]);
    assert_eq!(exit(&output), 77, "{}", stderr(&output));
    assert!(stderr(&output).contains(&format!("chmod 700 {data}")));
    assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0);
}

#[test]
fn commands_about_a_daemon_that_is_not_there_say_so() {
    let folder = Folder::new("operate");
    let config = configured(&folder);
    let asked = |line: &str| {
        let mut args: Vec<_> = line.split(' ').collect();
        args.extend(["--json", "--config", &config]);
        let output = cambist(&args);
        (exit(&output), json(&output), stderr(&output))
    };
    let (code, page, _) = asked("status");
    assert_eq!((code, &page["state"]), (1, &"never started".into()));
    for line in [
        "pause --reason x",
        "kill --cancel-only --reason x",
        "drain",
        "drain --leave",
        "reload",
        "account adopt --token ETH --amount -1 --reason x",
    ] {
        let (code, object, log) = asked(line);
        assert_eq!((code, &object["exit"]), (1, &1.into()), "{line}: {object}");
        assert!(log.contains("no daemon runs on the state folder"), "{log}");
    }
    // Without a daemon, `kill` prevents every start; a repetition changes nothing.
    for reason in ["first", "second"] {
        assert_eq!(asked(&format!("kill --reason {reason}")).0, 0);
    }
    assert_eq!(asked("status").1["latch"], "first");
    let refused = cambist(&["run", "--config", &config]);
    assert_eq!(exit(&refused), 78, "{}", stderr(&refused));
    assert!(stderr(&refused).contains("first"), "{}", stderr(&refused));
    let (code, lowered, _) = asked("resume --reason back");
    assert_eq!((code, &lowered["latch"]), (0, &"first".into()));
    let (code, page, _) = asked("status");
    assert_eq!((code, &page["state"]), (1, &"stopped".into()));
    assert_eq!(
        (&page["latch"], &page["not_proven_gone"]),
        (&Value::Null, &0.into())
    );
    for usage in [
        "pause",
        "pause --side both --reason x",
        "kill",
        "resume",
        "account",
        "panic --within soon",
    ] {
        let mut args: Vec<_> = usage.split(' ').collect();
        args.extend(["--config", &config]);
        let output = cambist(&args);
        assert_eq!(exit(&output), 2, "{usage}");
        assert!(output.stdout.is_empty(), "{usage}");
    }
}

/// The unit's numbers follow from the program's: exit codes and the longest shutdown.
#[test]
fn the_service_unit_fits_the_program() {
    use cambist::exit::Exit;
    use cambist_daemon::config::Daemon;
    let path = format!("{}/systemd/cambist@.service", env!("CARGO_MANIFEST_DIR"));
    let unit = std::fs::read_to_string(path).unwrap();
    let value = |key: &str| {
        let found = unit
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("no {key} in the unit"))
    };
    let service = Daemon::load(Path::new(&example("cambist.toml"))).unwrap();
    let stop_s: u64 = value("TimeoutStopSec").parse().unwrap();
    assert!(stop_s * 1_000 > service.drain_deadline_ms);
    assert!(stop_s > service.dead_after_s());
    let start_s: u64 = value("TimeoutStartSec").parse().unwrap();
    assert!(start_s > service.dead_after_s());
    let mut never: Vec<u8> = value("RestartPreventExitStatus")
        .split(' ')
        .map(|code| code.parse().unwrap())
        .collect();
    never.sort_unstable();
    let hopeless = Exit::ALL
        .into_iter()
        .filter(|exit| *exit != Exit::Done && !exit.restart_may_help());
    assert_eq!(never, hopeless.map(Exit::code).collect::<Vec<_>>());
    assert_eq!(
        value("SuccessExitStatus"),
        Exit::AnotherInstance.code().to_string()
    );
    assert_eq!(service.keys, cambist_host::secrets::Keys::Credentials);
    for name in ["api_key", "eddsa_key"] {
        assert!(
            unit.contains(&format!("LoadCredentialEncrypted={name}:")),
            "{name}"
        );
    }
}

/// The names in the document are those that the program reads.
#[test]
fn the_drop_in_of_the_document_loads_the_keys_of_kraken() {
    use cambist_daemon::config::Daemon;
    let folder = Folder::new("kraken-credentials");
    let text = std::fs::read_to_string(example("kraken.toml")).unwrap();
    let lines = text.lines().filter(|line| !line.contains("_dir = "));
    let text = lines.collect::<Vec<_>>().join("\n");
    let text = text.replace("# credentials = false", "credentials = true");
    let daemon = Daemon::load(Path::new(&folder.write("kraken.toml", &text))).unwrap();
    let keys = daemon.venue.kraken().unwrap().keys.clone().unwrap();
    let path = format!("{}/docs/install.md", env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(path).unwrap();
    for key in [keys.orders, keys.account] {
        let names = key.name();
        let names = names.strip_prefix("the credentials ").unwrap().to_owned();
        for name in names.split(" and ") {
            let line = format!("LoadCredentialEncrypted={name}:cambist.%i.{name}\n");
            assert!(document.contains(&line), "{line}");
        }
    }
}
