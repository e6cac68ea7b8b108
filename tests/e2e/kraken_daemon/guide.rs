//! The section "Trying it" of the guide: its commands, as they are written there, with the shipped files.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use toml::Table;

use super::stage::SOON;
use crate::onboarding::operator;
use crate::support::process::run;
use crate::support::{Edit, Folder, Program, Stage, until};

const GUIDE: &str = include_str!("../../../docs/kraken.md");

/// The commands of each shell block of the section, without the program's name.
pub fn blocks(guide: &str) -> Vec<Vec<Vec<String>>> {
    let (_, section) = guide.split_once("\n## Trying it\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let blocks = section.split("```sh\n").skip(1);
    let blocks = blocks.map(|block| block.split_once("```").unwrap().0);
    let words = |line: &str| -> Vec<String> {
        let mut words = line.split(' ');
        assert_eq!(words.next(), Some("cambist"), "{line}");
        words.map(str::to_owned).collect()
    };
    blocks
        .map(|block| block.lines().map(words).collect())
        .collect()
}

/// A copy of a shipped file in the same place of `folder`, with these keys changed.
pub fn copy(folder: &Path, name: &str, edit: impl FnOnce(&mut Table)) {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let mut file: Table = std::fs::read_to_string(shipped).unwrap().parse().unwrap();
    edit(&mut file);
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, file.to_string()).unwrap();
}

/// A command in `folder`, which has to succeed; its output.
pub fn succeeds(folder: &Path, words: &[String]) -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let line = words.join(" ");
    let mut args: Vec<_> = words.iter().map(String::as_str).collect();
    let config = args.iter().position(|word| *word == "--config").unwrap() + 1;
    let path = folder.join(args[config]).display().to_string();
    args[config] = &path;
    let name = format!("command-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let (code, out, log) = run(folder, &name, &args, Duration::from_mins(5));
    assert_eq!(code, 0, "{line}\n{out}{log}");
    out
}

pub fn start(folder: &Path, name: &str, words: &[String]) -> Program {
    let path = folder.join(words.last().unwrap()).display().to_string();
    let mut args: Vec<_> = words.iter().map(String::as_str).collect();
    *args.last_mut().unwrap() = &path;
    args.push("--until-stdin-closes");
    Program::start(folder, name, &args)
}

/// A key of an account that was opened later: of one that the data folder has, while no exchange uses it.
#[test]
fn a_key_is_made_for_an_account_of_the_data_folder() {
    let mut stage = Stage::open_kept("kraken-key-account", |file| {
        operator(file);
        file.put("exchange.dialect", "kraken");
        file.put("kraken.keys_dir", "kraken");
    });
    let beginning = "cambist venue kraken-key --config venue.toml watcher";
    let line = GUIDE.lines().find(|line| line.starts_with(beginning));
    let line = line.unwrap().strip_prefix("cambist ").unwrap();
    let make = |stage: &Stage, account: &str| {
        let config = stage.path("venue.toml").display().to_string();
        let line = line.replace("20001", account);
        let args: Vec<_> = line.split(' ').collect();
        let args: Vec<_> = args
            .iter()
            .map(|word| {
                if *word == "venue.toml" {
                    &config
                } else {
                    *word
                }
            })
            .collect();
        run(stage.folder.path(), &format!("key-{account}"), &args, SOON)
    };
    let (code, _, log) = make(&stage, "20001");
    assert_eq!(code, 75, "{log}");
    assert!(log.contains("stop the exchange first"), "{log}");
    let config = stage.path("venue.toml").display().to_string();
    let owner = "0xC07Ad42eA9A232BFA2B5a21E8e0CFfCC8762f62b";
    let args = [
        "venue", "onboard", "--json", "--config", &config, "--owner", owner,
    ];
    let (code, opened, log) = run(stage.folder.path(), "onboard", &args, SOON);
    assert_eq!(code, 0, "{log}");
    let opened: serde_json::Value = serde_json::from_str(&opened).unwrap();
    let opened = opened["account_id"].to_string();
    stage.venue.kill();
    let (code, _, log) = make(&stage, "20001");
    assert_eq!(code, 77, "{log}");
    assert!(log.contains("account 20001 does not exist"), "{log}");
    let (code, out, log) = make(&stage, &opened);
    assert_eq!(code, 0, "{out}{log}");
    assert!(stage.path("kraken/watcher/secret").exists());
}

#[test]
fn the_commands_of_the_guide_trade_on_the_shipped_exchange() {
    let folder = Folder::new("kraken-guide");
    let root = folder.path();
    copy(root, "config/venue-kraken.toml", |file| {
        file.put("listen.address", "127.0.0.1:0");
    });
    let blocks = blocks(GUIDE);
    let [keys, looks, beside] = &blocks[..] else {
        panic!("{blocks:?}");
    };
    let (serve, keys) = keys.split_last().unwrap();
    for key in keys {
        succeeds(root, key);
    }
    let mut venue = start(root, "venue", serve);
    let address = until(SOON, "the exchange", || {
        assert!(venue.ended().is_none(), "{}", venue.last_words());
        let text = std::fs::read_to_string(root.join("target/kraken/exchange/venue.address"));
        text.ok()?.strip_suffix('\n').map(str::to_owned)
    });
    until(SOON, "the exchange's message", || {
        let text = venue.stdout();
        text.contains(&format!(
            "Kraken's interface at http://{address}/0 with 3 API keys in"
        ))
        .then_some(())
    });
    copy(root, "config/demo-kraken.toml", |file| {
        file.put("venue.base_url", format!("http://{address}"));
        let metrics: Table = "listen = '127.0.0.1:0'".parse().unwrap();
        file.insert("metrics".to_owned(), metrics.into());
    });
    let (trade, looks) = looks.split_last().unwrap();
    for look in looks {
        succeeds(root, look);
    }
    let mut daemon = start(root, "daemon", trade);
    let [status, orders, drain, panic, resume] = &beside[..] else {
        panic!("{beside:?}");
    };
    until(Duration::from_secs(200), "orders on both sides", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let open = root.join("target/kraken/state/cambist.db").exists();
        let text = if open {
            succeeds(root, status)
        } else {
            String::new()
        };
        std::thread::sleep(Duration::from_secs(1));
        let is_quoted = |side: &str| !text.contains(&format!("live_{side}: 0"));
        (text.contains("active") && is_quoted("buy") && is_quoted("sell")).then_some(())
    });
    // The start knows the calls of the commands before it, which made the state folder.
    let log = daemon.stderr();
    assert!(!log.to_lowercase().contains("rate limit"), "{log}");
    assert!(succeeds(root, orders).contains("XBT-USD"));
    succeeds(root, drain);
    assert_eq!(
        daemon.end(Duration::from_secs(150)),
        0,
        "{}",
        daemon.last_words()
    );
    succeeds(root, panic);
    succeeds(root, resume);
    venue.close_stdin();
    assert_eq!(venue.end(SOON), 0, "{}", venue.last_words());
}
