//! `venue kraken-key`.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Folder, cambist, example, exit, json, stderr};

/// The exchange's example with these changes, its keys inside `folder`.
fn exchange(folder: &Folder, dialect: &str) -> String {
    let text = std::fs::read_to_string(example("venue.toml")).unwrap();
    let text = text.replace("../target/two-terminals/", "");
    folder.write("venue.toml", &text.replace("dialect = \"none\"", dialect))
}

#[test]
fn a_key_is_made_by_name() {
    let folder = Folder::new("kraken-key");
    let file = exchange(&folder, "dialect = \"kraken\"");
    let line = "venue kraken-key --config FILE watcher --permission funds-query --permission orders-query-open --json";
    let args: Vec<_> = line
        .split(' ')
        .map(|word| if word == "FILE" { file.as_str() } else { word })
        .collect();
    let made = cambist(&args);
    assert_eq!(exit(&made), 0, "{}", stderr(&made));
    let made = json(&made);
    assert_eq!(made["account_id"], 10_000);
    let made = std::path::PathBuf::from(made["folder"].as_str().unwrap());
    assert_eq!(made, folder.0.join("keys/kraken/watcher"));
    for name in ["api_key", "secret", "key.toml"] {
        let mode = std::fs::metadata(made.join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let about = std::fs::read_to_string(made.join("key.toml")).unwrap();
    let expected = "permissions = [\"funds-query\", \"orders-query-open\"]";
    assert!(
        about.contains(expected) && about.contains("account = 10000"),
        "{about}"
    );
    let again = cambist(&args);
    assert_eq!(exit(&again), 77);
    assert!(stderr(&again).contains("exists; remove it or choose another name"));
}

#[test]
fn mistakes_are_named() {
    let folder = Folder::new("kraken-mistakes");
    let file = exchange(&folder, "dialect = \"kraken\"");
    let key = |more: &[&str]| {
        let mut args = vec!["venue", "kraken-key", "--config", &file];
        args.extend(more);
        cambist(&args)
    };
    let refused = key(&["bot", "--permission", "everything"]);
    assert_eq!(exit(&refused), 2);
    let text = stderr(&refused);
    assert!(
        text.contains("\"everything\" is not one of funds-query"),
        "{text}"
    );
    assert_eq!(exit(&key(&["../bot"])), 2);
    // Without a data folder the exchange begins with the accounts of its file.
    let refused = key(&["bot", "--account", "20001"]);
    assert_eq!(exit(&refused), 77);
    let text = stderr(&refused);
    assert!(text.contains("account 20001 does not exist"), "{text}");
    assert!(!folder.0.join("keys/kraken/bot").exists());
    let file = exchange(&folder, "");
    let refused = cambist(&["venue", "kraken-key", "--config", &file, "bot"]);
    assert_eq!(exit(&refused), 2);
    let text = stderr(&refused);
    assert!(
        text.contains("add dialect = \"kraken\" to its section [exchange]"),
        "{text}"
    );
    for (dialect, problem) in [
        (
            "dialect = \"binance\"",
            "exchange.dialect must be \"none\" or \"kraken\"",
        ),
        ("dialekt = \"kraken\"", "dialekt"),
    ] {
        let file = exchange(&folder, dialect);
        let refused = cambist(&["check", "--config", &file]);
        assert_eq!(exit(&refused), 77, "{}", stderr(&refused));
        assert!(stderr(&refused).contains(problem), "{}", stderr(&refused));
    }
}

/// A key that is missing: of an exchange with Kraken's interface the error names what makes one, of Kraken it does not.
#[test]
fn a_missing_key_of_an_exchange_names_the_command_that_makes_it() {
    let folder = Folder::new("kraken-key-missing");
    let text = std::fs::read_to_string(example("demo-kraken.toml")).unwrap();
    let text = text.replace("../target/kraken/", "");
    let kraken = text.replace("http://127.0.0.1:8788", "https://api.kraken.com");
    assert_ne!(text, kraken);
    for (name, text, is_named) in [("here.toml", &text, true), ("kraken.toml", &kraken, false)] {
        let file = folder.write(name, text);
        for command in ["check", "run"] {
            let refused = cambist(&[command, "--config", &file]);
            let message = stderr(&refused);
            assert_eq!(exit(&refused), 77, "{message}");
            assert!(message.contains("does not exist"), "{message}");
            let hint = "cambist venue kraken-key";
            assert_eq!(message.contains(hint), is_named, "{command}: {message}");
        }
    }
}

/// What runs is named, so that it can be stopped.
#[test]
fn check_beside_a_daemon_names_its_process_and_state_folder() {
    use std::fs::{DirBuilder, Permissions, set_permissions, write};
    use std::os::unix::fs::DirBuilderExt;
    let folder = Folder::new("kraken-daemon");
    let text = std::fs::read_to_string(example("demo-kraken.toml")).unwrap();
    let text = text.replace("../target/kraken/", "");
    let file = folder.write("kraken.toml", &text.replace("panic_dir", "# panic_dir"));
    let mut private = DirBuilder::new();
    private.mode(0o700).recursive(true);
    for (name, key) in [("orders", "A"), ("account", "B")] {
        let dir = folder.0.join("keys").join(name);
        private.create(&dir).unwrap();
        for (name, text) in [("api_key", key.repeat(56)), ("secret", "A".repeat(88))] {
            write(dir.join(name), text).unwrap();
            set_permissions(dir.join(name), Permissions::from_mode(0o600)).unwrap();
        }
    }
    let state = folder.0.join("state");
    let state_folder = cambist_host::folder::PrivateFolder::open_or_create(&state).unwrap();
    let held = state_folder.take().unwrap();
    let output = cambist(&["check", "--online", "--config", &file]);
    let message = stderr(&output);
    assert_eq!(exit(&output), 75, "{message}");
    let holder = cambist_host::folder::holder(&state);
    assert!(holder.is_none_or(|pid| pid == std::process::id()));
    let named = cambist_host::folder::with_holder(&state, holder);
    assert!(
        message.contains(&format!("a daemon runs on {named} and")),
        "{message}"
    );
    drop(held);
}
