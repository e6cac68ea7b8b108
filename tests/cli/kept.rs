//! Files of earlier programs, kept in the repository (`tests/kept`), read by the current program and compared with the
//! output of their time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::support::{Folder, cambist, example, exit, json, stderr, stdout};

#[path = "../kept/packed.rs"]
mod packed;

fn all() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept")
}

/// Kept folders of one kind.
fn kept(kind: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(all()).unwrap();
    let mut found: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| {
        path.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with(kind)
    });
    found.sort();
    found
}

fn unpacked(kept: &Path, test: &str) -> Folder {
    let folder = Folder::new(&format!("{test}-{}", name(kept)));
    let bytes = std::fs::read(kept.join("folder.packed")).unwrap();
    packed::unpack(&bytes, &folder.0.join("data"));
    folder
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Whether the output contains everything of the earlier output; additional fields are allowed.
fn is_contained(then: &Value, now: &Value) -> bool {
    match (then, now) {
        (Value::Object(then), Value::Object(now)) => then
            .iter()
            .all(|(key, value)| now.get(key).is_some_and(|now| is_contained(value, now))),
        (then, now) => then == now,
    }
}

fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Earlier programs exported the transfers and withdrawals of all accounts, without their fields.
fn without_submissions(mut lines: Vec<Value>) -> Vec<Value> {
    lines.retain(|line| {
        let what = line["request"]["what"].as_str().unwrap_or_default();
        line["line"] != "submission" && !["transfer", "withdraw", "update_key"].contains(&what)
    });
    lines
}

/// What the lines of an account without trades do not explain of the change of its balances, by token.
fn unexplained(lines: &[Value]) -> BTreeMap<u64, i128> {
    let amount = |value: &Value| value.as_str().unwrap().parse::<i128>().unwrap();
    let token = |value: &Value| value.as_u64().unwrap();
    let account = &lines[0]["account"];
    let mut found = BTreeMap::<u64, i128>::new();
    let mut add = |of: u64, by: i128| *found.entry(of).or_default() += by;
    for line in lines {
        match line["line"].as_str().unwrap() {
            "opening_balance" => add(token(&line["token"]), -amount(&line["total"])),
            "closing_balance" => add(token(&line["token"]), amount(&line["total"])),
            "asked" if line["taken"] == true => {
                let request = &line["request"];
                let sign = match request["what"].as_str().unwrap() {
                    "deposit" => -1,
                    "withdrawal" => 1,
                    _ => continue,
                };
                add(token(&request["token"]), sign * amount(&request["amount"]));
            }
            "submission" => {
                let is_ours = line["from"] == *account;
                let was_pending = lines
                    .iter()
                    .any(|other| other["hash"] == line["hash"] && other["progress"] == "pending");
                let pays_fee = match line["progress"].as_str().unwrap() {
                    "pending" => line["earlier"] != true,
                    "settled" => !was_pending,
                    _ => false,
                };
                if is_ours && pays_fee {
                    add(token(&line["fee_token"]), amount(&line["fee"]));
                }
                if line["progress"] == "settled" && line["what"] != "update_key" {
                    let moved = amount(&line["amount"]);
                    if is_ours {
                        add(token(&line["token"]), moved);
                    }
                    if line["to_account"] == *account {
                        add(token(&line["token"]), -moved);
                    }
                }
            }
            _ => {}
        }
    }
    found.retain(|_, rest| *rest != 0);
    found
}

#[test]
fn kept_exchanges_are_verified_and_exported_as_they_were_then() {
    for kept in kept("exchange-") {
        let name = name(&kept);
        let folder = unpacked(&kept, "verify");
        let data = folder.0.join("data").display().to_string();
        let output = cambist(&["venue", "verify", "--data", &data, "--json"]);
        assert_eq!(exit(&output), 0, "{name}: {}", stderr(&output));
        let then = std::fs::read_to_string(kept.join("verify.json")).unwrap();
        let then: Value = serde_json::from_str(&then).unwrap();
        let now = json(&output);
        assert!(is_contained(&then, &now), "{name}: {then:#} {now:#}");
        for entry in std::fs::read_dir(&kept).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap();
            let Some(account) = file.strip_prefix("export-") else {
                continue;
            };
            let account = account.strip_suffix(".jsonl").unwrap();
            let output = cambist(&["venue", "export", "--data", &data, "--account", account]);
            assert_eq!(exit(&output), 0, "{name}: {}", stderr(&output));
            let then = std::fs::read_to_string(&path).unwrap();
            let [then, now] = [then, stdout(&output)].map(|text| lines(&text));
            // Orders and pool transactions of before the history are listed as well.
            let is_traded = |line: &Value| line["line"] == "trade" || line["settled"] == true;
            if !now.iter().any(is_traded) {
                assert_eq!(unexplained(&now), BTreeMap::new(), "{name} {account}");
            }
            let [then, now] = [then, now].map(without_submissions);
            assert_eq!(then.len(), now.len(), "{name} {account}");
            for (line, (then, now)) in then.iter().zip(&now).enumerate() {
                let line = line + 1;
                assert!(
                    is_contained(then, now),
                    "{name} {account}, line {line}:\n{then}\n{now}"
                );
            }
        }
    }
}

/// Nothing of an export is printed before the account is known to exist.
#[test]
fn an_export_of_an_account_that_does_not_exist_prints_nothing() {
    let mut opened_later = 0;
    for kept in kept("exchange-") {
        let name = name(&kept);
        let folder = unpacked(&kept, "unknown");
        let data = folder.0.join("data").display().to_string();
        let export =
            |account: &str| cambist(&["venue", "export", "--data", &data, "--account", account]);
        let output = export("4000000000");
        assert_eq!(exit(&output), 1, "{name}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{name}");
        let message = stderr(&output);
        assert!(message.contains("has no account 4000000000"), "{message}");
        for entry in std::fs::read_dir(&kept).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            let account = file
                .strip_prefix("export-")
                .and_then(|file| file.split_once('.'));
            let Some((account, _)) = account else {
                continue;
            };
            // One that was opened within the history has all lines from the first on too.
            let lines = lines(&stdout(&export(account)));
            assert_eq!(lines[0]["line"], "opening", "{name} {account}");
            assert_eq!(lines.last().unwrap()["line"], "end", "{name} {account}");
            opened_later += u32::from(lines[1]["line"] != "opening_balance");
        }
    }
    assert!(opened_later > 0);
}

/// Packs a folder to be kept; does nothing in a normal run of the tests.
#[test]
fn pack() {
    let (Some(name), Some(folder)) = (std::env::var_os("KEEP"), std::env::var_os("FOLDER")) else {
        return;
    };
    let place = all().join(name);
    std::fs::create_dir_all(&place).unwrap();
    let packed = packed::pack(Path::new(&folder));
    std::fs::write(place.join("folder.packed"), packed).unwrap();
}

/// The example's exchange with its keys and a free port inside `folder`.
fn configured(folder: &Folder) -> String {
    let text = std::fs::read_to_string(example("venue.toml")).unwrap();
    let text = text.replace("../target/two-terminals/keys", "keys");
    folder.write("venue.toml", &text.replace("127.0.0.1:8787", "127.0.0.1:0"))
}

fn key_files(folder: &Folder) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder.0.join("keys")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".address") {
            found.push(name);
        }
    }
    found.sort();
    found
}

#[test]
fn no_new_keys_are_made_for_an_existing_exchange() {
    let kept = all().join("exchange-4fb51ac-killed");
    let folder = unpacked(&kept, "keys");
    let config = configured(&folder);
    let data = folder.0.join("data").display().to_string();
    let start = |data: &str, json: &[&str]| {
        let line = [
            "venue",
            "--config",
            &config,
            "--data",
            data,
            "--until-stdin-closes",
        ];
        let output = cambist(&[&line[..], json].concat());
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
        output
    };
    let keys_dir = folder.0.join("keys").display().to_string();
    // Restored where its keys are not.
    let output = start(&data, &[]);
    let line = format!("no keys of account 10000 in {keys_dir}");
    assert!(stdout(&output).contains(&line), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("copy api_key and eddsa_key from where the exchange was created")
    );
    assert_eq!(json(&start(&data, &["--json"]))["keys"], "absent");
    assert_eq!(key_files(&folder), [] as [String; 0]);

    // A new exchange creates the keys, and finds them at its next start.
    let fresh = folder.0.join("fresh").display().to_string();
    for _ in 0..2 {
        assert_eq!(json(&start(&fresh, &["--json"]))["keys"], "fit");
        assert_eq!(key_files(&folder), ["api_key", "eddsa_key"]);
    }
    // They do not match the other exchange's account, and are not changed.
    let before = std::fs::read(folder.0.join("keys/api_key")).unwrap();
    let output = start(&data, &[]);
    let line = format!("the keys in {keys_dir} are not those of account 10000");
    assert!(stdout(&output).contains(&line), "{}", stdout(&output));
    assert_eq!(json(&start(&data, &["--json"]))["keys"], "others");
    assert_eq!(
        std::fs::read(folder.0.join("keys/api_key")).unwrap(),
        before
    );
}

#[test]
fn a_folder_that_ran_under_a_wrong_clock_is_refused_with_the_key_to_change() {
    use cambist_server::{Clock, DataFolder, Server, ServerConfig};
    use cambist_venue::{AccountId, Operator};
    let folder = Folder::new("wrong-clock");
    let config = configured(&folder);
    let data = folder.0.join("data");
    let text = std::fs::read_to_string(&config).unwrap();
    let start = |more: &str| {
        let with = text.replace("[data]\n", &format!("[data]\n{more}\n"));
        folder.write("venue.toml", &with);
        let data = data.display().to_string();
        let line = ["venue", "--config", &config, "--data", &data];
        cambist(&[&line[..], &["--until-stdin-closes"]].concat())
    };
    assert_eq!(exit(&start("")), 0);
    // An hour with a clock that is a year ahead.
    {
        let taken = DataFolder::take(&data).unwrap();
        let durable = taken.recover().unwrap().unwrap();
        let year = Clock::system().now().plus_ms(31_536_000_000);
        let mut wrong = ServerConfig::new(([127, 0, 0, 1], 0).into());
        wrong.clock = Clock::by_hand(year);
        let server = Server::bind_durable(&wrong, durable).unwrap();
        let deposit = Operator::Deposit {
            account: AccountId(10_000),
            token: cambist_core::TokenId(1),
            amount: 1,
        };
        server.handle().operate(deposit).unwrap();
    }
    // A child that another test starts meanwhile has this process's lock until it executes its program.
    let is_free = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        DataFolder::take(&data).is_ok()
    });
    assert!(is_free, "{}", data.display());
    let output = start("");
    assert_eq!(exit(&output), 77, "{}", stderr(&output));
    let printed = stderr(&output);
    for part in [
        "ahead of the system clock",
        "data.time_ahead_max_s",
        "3600 s",
    ] {
        assert!(printed.contains(part), "{printed}");
    }
    let output = start("time_ahead_max_s = 40000000");
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("advances with the monotonic clock"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn an_exchange_goes_on_from_its_dump() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("dump");
    let config = configured(&folder);
    let path = |name: &str| folder.0.join(name).display().to_string();
    let (data, back, file) = (path("data"), path("back"), path("exchange.jsonl"));
    let start = |data: &str| {
        let line = ["venue", "--config", &config, "--data", data, "--json"];
        let output = cambist(&[&line[..], &["--until-stdin-closes"]].concat());
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
        assert_eq!(json(&output)["keys"], "fit");
    };
    start(&data);
    let dump = ["venue", "dump", "--data", &data, "--to", &file, "--json"];
    let output = cambist(&dump);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let facts = json(&output);
    assert!(facts["accounts"].as_u64().unwrap() > 0, "{facts}");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The same on standard output; a file is not overwritten.
    let text = std::fs::read_to_string(&file).unwrap();
    // A dump that failed leaves no file; one that is there stays.
    let none = folder.0.join("none.jsonl").display().to_string();
    let failed = cambist(&["venue", "dump", "--data", &back, "--to", &none]);
    assert!(exit(&failed) != 0 && !Path::new(&none).exists());
    let again = cambist(&dump);
    assert_eq!(exit(&again), 1);
    assert!(
        stderr(&again).contains("name another file"),
        "{}",
        stderr(&again)
    );
    // A copy within the folder would be removed with it.
    for inside in ["copy", "copies/monday"] {
        let copy = Path::new(&data).join(inside).display().to_string();
        let copied = cambist(&["venue", "backup", "--data", &data, "--to", &copy]);
        assert_eq!(exit(&copied), 2, "{}", stderr(&copied));
        assert!(stderr(&copied).contains("inside the data folder"));
    }
    let output = cambist(&["venue", "dump", "--data", &data]);
    assert_eq!((exit(&output), stdout(&output)), (0, text.clone()));
    assert_eq!(exit(&cambist(&dump)), 1);

    let load = ["venue", "load", "--from", &file, "--data", &back];
    std::fs::write(&file, &text[..text.len() - 10]).unwrap();
    let output = cambist(&load);
    assert_eq!(exit(&output), 1);
    assert!(
        stderr(&output).contains("it was truncated"),
        "{}",
        stderr(&output)
    );
    assert!(!Path::new(&back).exists());
    std::fs::write(&file, &text).unwrap();
    let output = cambist(&[&load[..], &["--json"]].concat());
    assert_eq!((exit(&output), json(&output)), (0, facts));
    // Its accounts have their keys, and it starts.
    start(&back);
    assert_eq!(exit(&cambist(&load)), 77, "not over what is there");
    let output = cambist(&["venue", "verify", "--data", &back]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
}
