//! The real program from outside: exit codes, messages, what goes to stdout and what does not.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A fresh folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{name}"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn cambist(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cambist"));
    command
        .args(args)
        .env_remove("CREDENTIALS_DIRECTORY")
        .output()
        .unwrap()
}

fn exit(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap()
}

fn example(name: &str) -> String {
    format!("{}/config/{name}", env!("CARGO_MANIFEST_DIR"))
}

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
        "demo", "run", "status", "pause", "resume", "account", "kill", "drain", "reload", "panic",
        "check", "venue", "strategy", "vectors", "replay", "sim",
    ] {
        let output = cambist(&[command, "--help"]);
        assert_eq!(exit(&output), 0, "{command}");
        assert!(stdout(&output).contains("Example"), "{command}");
        assert!(stdout(&output).contains("--json"), "{command}");
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

#[test]
fn check_says_what_a_file_means() {
    let output = cambist(&[
        "check",
        "--no-secrets",
        "--config",
        &example("cambist.toml"),
    ]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    for part in [
        "largest order",
        "2000 USDC",
        "1 to 6 ETH",
        "27500 USDC",
        "of the order budget",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
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
    assert_eq!(meaning["dead_after_s"], 13);
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
        text.contains("first start of cambist venue; or use --no-secrets"),
        "{text}"
    );
    for name in ["api_key", "eddsa_key"] {
        let path = folder.write(name, "0xhunter2\n");
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

/// The demo's configuration with everything inside `folder`, and keys that look like keys.
fn configured(folder: &Folder) -> String {
    use std::os::unix::fs::PermissionsExt;
    let text = std::fs::read_to_string(example("demo.toml")).unwrap();
    let text = text.replace("../target/two-terminals/keys/", "");
    for name in ["api_key", "eddsa_key"] {
        let path = folder.write(name, &format!("0x{}\n", "1".repeat(64)));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    folder.write("demo.toml", &text.replace("../target/two-terminals/", ""))
}

#[test]
fn a_second_daemon_on_one_state_folder_is_75() {
    let folder = Folder::new("second");
    let config = configured(&folder);
    let dir = folder.0.join("state");
    let first = cambist::store::Store::open(&dir).unwrap();
    let before = std::fs::read(dir.join(cambist::store::FILE)).unwrap();
    let second = cambist(&["run", "--config", &config]);
    assert_eq!(exit(&second), 75, "{}", stderr(&second));
    assert!(stderr(&second).contains("another instance uses the state folder"));
    assert_eq!(
        std::fs::read(dir.join(cambist::store::FILE)).unwrap(),
        before
    );
    drop(first);
}

/// Programs read stdout: there is one value on it, also when nothing could be done.
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
        let told = error.split(": ").next().unwrap();
        assert!(stderr(&output).contains(told), "{error}");
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

/// A demo that has begun to trade, with its folder inside the test's.
struct Demo {
    child: std::process::Child,
    stderr: BufReader<std::process::ChildStderr>,
    folder: Folder,
}

impl Demo {
    fn start(name: &str) -> Self {
        let folder = Folder::new(name);
        let mut child = Command::new(env!("CARGO_BIN_EXE_cambist"))
            .args(["demo", "--duration", "60s"])
            .env("TMPDIR", &folder.0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("daemon trades") {
            line.clear();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended");
        }
        Self {
            child,
            stderr,
            folder,
        }
    }

    fn signal(&self, signal: Signal) {
        kill(self.child.id(), signal);
    }

    /// Kills the process of the demo that runs this command.
    fn kill(&self, command: &str) {
        let id = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let children = children.unwrap();
        let runs = |id: &u32| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap();
            line.split(|byte| *byte == 0).nth(1) == Some(command.as_bytes())
        };
        let mut ids = children.split_whitespace().map(|id| id.parse().unwrap());
        kill(ids.find(runs).unwrap(), Signal::KILL);
    }

    /// Its exit code, the rest of stderr, and how many folders it left.
    fn end(mut self) -> (i32, String, usize) {
        let mut text = String::new();
        self.stderr.read_to_string(&mut text).unwrap();
        let code = self.child.wait().unwrap().code().unwrap();
        let left = std::fs::read_dir(&self.folder.0).unwrap().count();
        (code, text, left)
    }
}

fn kill(id: u32, signal: Signal) {
    let id = Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
    kill_process(id, signal).unwrap();
}

#[test]
fn a_demo_that_is_told_to_terminate_ends_with_proof() {
    let demo = Demo::start("demo-term");
    demo.signal(Signal::TERM);
    let (code, text, left) = demo.end();
    assert_eq!((code, left), (0, 0), "{text}");
}

#[test]
fn a_demo_says_which_of_its_processes_was_killed() {
    for (command, message) in [
        ("run", "the daemon ended by signal 9 (log: "),
        ("venue", "the exchange ended by signal 9 (log: "),
    ] {
        let demo = Demo::start(&format!("demo-{command}"));
        demo.kill(command);
        let (code, text, left) = demo.end();
        assert_eq!((code, left), (1, 1), "{text}");
        assert!(text.contains(message), "{text}");
    }
}

#[test]
fn a_demo_of_an_unknown_strategy_begins_nothing() {
    let folder = Folder::new("demo-nope");
    let output = Command::new(env!("CARGO_BIN_EXE_cambist"))
        .args(["demo", "--strategy", "laddr"])
        .env("TMPDIR", &folder.0)
        .output()
        .unwrap();
    assert_eq!(exit(&output), 2);
    let text = stderr(&output);
    assert!(text.contains("did you mean ladder?"), "{text}");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
}

/// Whoever has read enough is no error.
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

#[test]
fn strategies_are_listed_and_shown() {
    let list = json(&cambist(&["strategy", "list", "--json"]));
    let names: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["name"].clone())
        .collect();
    assert!(
        names.contains(&"bands".into()) && names.contains(&"ladder".into()),
        "{names:?}"
    );
    for name in names {
        let name = name.as_str().unwrap();
        let shown = json(&cambist(&["strategy", "show", name, "--json"]));
        for parameter in shown["parameters"].as_array().unwrap() {
            for field in ["name", "kind", "range", "meaning"] {
                assert!(
                    !parameter[field].as_str().unwrap().is_empty(),
                    "{name}: {parameter}"
                );
            }
        }
        let text = stdout(&cambist(&["strategy", "show", name]));
        assert!(text.contains(shown["example"].as_str().unwrap()), "{text}");
        for parameter in shown["parameters"].as_array().unwrap() {
            assert!(text.contains(parameter["name"].as_str().unwrap()));
        }
    }
    let unknown = cambist(&["strategy", "show", "laddr"]);
    assert_eq!(exit(&unknown), 2);
    assert!(stderr(&unknown).contains("did you mean ladder?"));
}

#[test]
fn vectors_pass_and_a_corrupted_file_fails() {
    let folder = Folder::new("vectors");
    let orders = format!(
        "{}/crates/signing/tests/vectors/orders.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let output = cambist(&["vectors", "--json", &orders]);
    assert_eq!(exit(&output), 0, "{}", stdout(&output));
    let report = json(&output);
    assert_eq!(report["files"][0]["passed"], report["files"][0]["cases"]);
    let footnote = "reported: implementation choices, not judged";
    assert!(!stdout(&cambist(&["vectors", &orders])).contains(footnote));
    let negative = orders.replace("orders.json", "negative.json");
    assert!(stdout(&cambist(&["vectors", &negative])).contains(footnote));
    let text = std::fs::read_to_string(&orders).unwrap();
    let at = text.find("\"hash\"").unwrap();
    let digit = at
        + 6
        + text[at + 6..]
            .find(|c: char| c.is_ascii_digit() && c != '0')
            .unwrap();
    let mut corrupted = text.into_bytes();
    corrupted[digit] = if corrupted[digit] == b'9' {
        b'8'
    } else {
        corrupted[digit] + 1
    };
    let corrupted = folder.write("orders.json", &String::from_utf8(corrupted).unwrap());
    let output = cambist(&["vectors", &orders, &corrupted]);
    assert_eq!(exit(&output), 1);
    let garbage = folder.write("garbage.json", "{]");
    assert_eq!(exit(&cambist(&["vectors", &garbage])), 1);
    assert_eq!(exit(&cambist(&["vectors", "/nowhere.json"])), 1);
}

#[test]
fn a_file_that_is_no_tape_is_refused() {
    let folder = Folder::new("tape");
    let path = folder.write("x.tape", "not a tape at all");
    let output = cambist(&["replay", &path]);
    assert_eq!(exit(&output), 1);
    assert!(
        stderr(&output).contains("not a tape"),
        "{}",
        stderr(&output)
    );
}

/// The unit's numbers follow from the program's: exit codes and the longest shutdown.
#[test]
fn the_service_unit_fits_the_program() {
    use cambist::config::Daemon;
    use cambist::exit::Exit;
    let path = format!("{}/systemd/cambist.service", env!("CARGO_MANIFEST_DIR"));
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
    assert_eq!(service.keys, cambist::config::daemon::Keys::Credentials);
    for name in ["api_key", "eddsa_key"] {
        assert!(
            unit.contains(&format!("LoadCredentialEncrypted={name}:")),
            "{name}"
        );
    }
}

#[test]
fn a_seed_leaves_the_same_trace_in_two_processes() {
    let trace = || {
        cambist(&[
            "sim", "--seeds", "1", "--seed", "3", "--hours", "0.1", "--trace",
        ])
    };
    let (one, two) = (trace(), trace());
    assert_eq!(exit(&one), 0, "{}", stderr(&one));
    let text = stdout(&one);
    assert!(
        text.lines().count() > 1_000 && text.contains("Transmit"),
        "{} bytes",
        text.len()
    );
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("trace hash ") && last.len() == 75,
        "{last}"
    );
    assert!(one.stdout == two.stdout, "two processes differ");
}

#[test]
fn a_campaign_adds_up_and_goes_on_where_it_was_interrupted() {
    let folder = Folder::new("sim");
    let file = folder.0.join("results.jsonl").display().to_string();
    let run = |seeds: &str| {
        let output = cambist(&[
            "sim",
            "--json",
            "--hours",
            "0.02",
            "--seeds",
            seeds,
            "--results",
            &file,
        ]);
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
        json(&output)
    };
    let (few, more, again) = (run("2"), run("4"), run("4"));
    assert_eq!(few["seeds"], 2);
    assert_eq!(more["seeds"], 4);
    assert!(more["faults"].as_u64() > few["faults"].as_u64());
    assert_eq!(more["violations"], 0);
    assert_eq!(again["steps"], more["steps"], "nothing is counted twice");
    let lines = std::fs::read_to_string(&file).unwrap();
    assert!(lines.lines().count() <= 4, "{lines}");
    for bad in [
        &["sim", "--seeds", "2", "--trace"][..],
        &["sim", "--shard", "3/2"],
        &["sim", "--without", "weather"],
        &["sim", "--without", "crash", "--results", "nowhere.jsonl"],
        &["sim", "--planted", "all"],
    ] {
        assert_eq!(exit(&cambist(bad)), 2, "{bad:?}");
    }
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
    // With nobody there, killing keeps everybody from starting; once more changes nothing.
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
