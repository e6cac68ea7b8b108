//! Requests about the account with the real program: transfers, withdrawals, joins, exits and new keys, beside a
//! trading daemon and on its stopped state folder, through lost answers and kills. The exchange's books decide.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use cambist_core::Side;
use cambist_core::pool::PoolTransactionKind;
use cambist_signing::ecdsa::EthKey;
use serde_json::Value;
use toml::Table;

use crate::support::http::body;
use crate::support::process::run;
use crate::support::stage::{READY, lively, quick, with_pool};
use crate::support::{Edit, Fault, Program, Proxy, Stage, until};

const SOON: Duration = Duration::from_mins(1);
const WALLET: &str = "0x089228899e1b855cacd9dcc32a83ff0461cc089656995db5a5f248eb3d458ace";
const PAYEE: &str = "0x00000000000000000000000000000000000000aa";

/// An exchange whose maker has a wallet, and a daemon that reaches it through a proxy.
struct Scene {
    stage: Stage,
    proxy: Proxy,
}

impl Scene {
    fn open(name: &str, venue: impl FnOnce(&mut Table), daemon: impl FnOnce(&mut Table)) -> Self {
        let owner = EthKey::from_hex(WALLET).unwrap().address().to_string();
        let stage = Stage::open_kept(name, |file| {
            lively(file);
            file.put("maker.owner", owner.as_str());
            venue(file);
        });
        let proxy = Proxy::start(&stage.address);
        stage.daemon("daemon", &proxy.url, |file| {
            quick(file);
            file.put("venue.owner", owner.as_str());
            daemon(file);
        });
        let wallet = stage.path("owner_key");
        fs::write(&wallet, format!("{WALLET}\n")).unwrap();
        fs::set_permissions(&wallet, fs::Permissions::from_mode(0o600)).unwrap();
        Self { stage, proxy }
    }

    fn start(&self) -> Program {
        let mut daemon = self.stage.run("daemon");
        self.quotes(&mut daemon);
        daemon
    }

    fn quotes(&self, daemon: &mut Program) {
        until(SOON, "both sides at the exchange", || {
            assert!(daemon.ended().is_none(), "{}", daemon.last_words());
            let books = self.stage.books();
            let open = books.orders.iter().filter(|order| !order.status.is_final());
            let sides: Vec<_> = open.map(|order| order.side).collect();
            let both = sides.contains(&Side::Buy) && sides.contains(&Side::Sell);
            both.then_some(())
        });
    }

    /// The line with the whole path of its key file, which is in the test's folder.
    fn with_paths(&self, line: &str) -> String {
        let folder = self.stage.folder.path().display();
        line.replace("--owner-key ", &format!("--owner-key {folder}/"))
    }

    /// A command about the account: exit code, object, stderr.
    fn account(&self, line: &str) -> (i32, Value, String) {
        self.stage
            .command(&format!("account {}", self.with_paths(line)))
    }

    /// The only request, once its flows are all booked.
    fn booked(&self) -> Value {
        until(SOON, "the request is booked", || {
            let (_, listed, log) = self.account("requests");
            let listed = listed.as_array().unwrap_or_else(|| panic!("{log}"));
            assert_eq!(listed.len(), 1, "{listed:?}");
            let flows = listed[0]["flows"].as_array().unwrap();
            let all = flows.iter().all(|flow| flow["booked"] == true);
            (all && !flows.is_empty()).then(|| listed[0].clone())
        })
    }

    /// Units of all explained flows of a token.
    fn flows(&self, token: &str) -> Vec<i128> {
        let (code, flows, log) = self.account("flows");
        assert_eq!(code, 0, "{log}");
        let flows = flows.as_array().unwrap().iter();
        let of_token = flows.filter(|flow| flow["token"] == token);
        of_token
            .map(|flow| flow["units"].as_str().unwrap().parse().unwrap())
            .collect()
    }

    /// An operator's request to the exchange.
    fn operate(&self, line: &str) -> Value {
        let config = self.stage.path("venue.toml").display().to_string();
        let line = format!("venue admin --json --config {config} {line}");
        let args: Vec<_> = line.split(' ').collect();
        let (code, out, log) = run(self.stage.folder.path(), "operator", &args, READY);
        // The next one writes to the same file.
        fs::remove_file(self.stage.path("operator.out")).unwrap();
        assert_eq!(code, 0, "{line}: {log}");
        serde_json::from_str(&out).unwrap()
    }

    /// What the payee's account has; 0 without an account.
    fn paid(&self) -> u128 {
        let path = format!("/api/v3/account?owner={PAYEE}");
        let Some(account) = body(&self.stage.address, &path) else {
            return 0;
        };
        let account: Value = serde_json::from_str(&account).unwrap();
        let page = self.operate(&format!("account --account {}", account["accountId"]));
        let balances = page["balances"].as_array().unwrap();
        let of_token = |balance: &&Value| balance["symbol"] == "USDC";
        let total = balances
            .iter()
            .find(of_token)
            .map(|balance| balance["total"].clone());
        total.map_or(0, |total| total.as_str().unwrap().parse().unwrap())
    }

    fn drain(&self, daemon: &mut Program) {
        self.proxy.plan(|_| Fault::Pass);
        let (code, answer, log) = self.stage.command("drain --wait");
        assert_eq!(code, 0, "{answer} {log}");
        assert_eq!(daemon.end(SOON), 0, "{}", daemon.last_words());
        self.stage.books().assert_ledger(&daemon.stdout());
    }

    fn close(self, mut daemon: Program) {
        self.drain(&mut daemon);
        self.stage.close_audited(&daemon);
    }
}

fn operator(file: &mut Table) {
    let admin: Table =
        toml::from_str("listen = '127.0.0.1:0'\ntoken_file = 'keys/admin_token'").unwrap();
    file.insert("admin".to_owned(), admin.into());
}

fn transfer(amount: &str) -> String {
    format!(
        "transfer --to {PAYEE} --token USDC --amount {amount} --owner-key owner_key --yes --wait 5s"
    )
}

#[test]
fn a_transfer_beside_a_trading_daemon_stops_nothing_and_is_booked_once() {
    let scene = Scene::open("account-transfer", operator, |_| {});
    let mut daemon = scene.start();
    let (code, answer, log) = scene.account(&transfer("250"));
    assert_eq!(
        (code, &answer["state"]),
        (0, &"processed".into()),
        "{answer} {log}"
    );
    assert_eq!(scene.paid(), 250_000_000);
    let request = scene.booked();
    assert_eq!(request["transmissions"], 1);
    assert_eq!(scene.flows("USDC"), [-250_000_000]);
    // No hold: the difference was announced.
    let log = daemon.stderr();
    assert!(!log.contains("books differ"), "{log}");
    scene.quotes(&mut daemon);
    // The second one has another storage id.
    let (code, answer, log) = scene.account(&transfer("1"));
    assert_eq!(code, 0, "{answer} {log}");
    assert_eq!(scene.paid(), 251_000_000);
    until(SOON, "both flows", || {
        (scene.flows("USDC") == [-250_000_000, -1_000_000]).then_some(())
    });
    scene.close(daemon);
}

#[test]
fn a_lost_answer_is_not_a_failure_and_not_a_second_transfer() {
    let scene = Scene::open("account-lost", operator, |_| {});
    let daemon = scene.start();
    scene.proxy.plan(|seen| {
        if seen.path == "/api/v3/transfer" && seen.nth == 0 {
            Fault::LoseAnswer
        } else {
            Fault::Pass
        }
    });
    let (code, answer, log) = scene.account(&transfer("250"));
    // The second copy was refused, and does not say what became of the first.
    assert_eq!(
        (code, &answer["state"]),
        (1, &"decided".into()),
        "{answer} {log}"
    );
    assert_eq!(scene.paid(), 250_000_000, "once");
    scene.booked();
    let (code, _, log) = scene.account("requests --settle");
    assert_eq!(code, 0, "{log}");
    assert_eq!(scene.booked()["state"], "processed");
    assert_eq!(scene.flows("USDC"), [-250_000_000]);
    scene.close(daemon);
}

#[test]
fn a_command_that_is_killed_is_settled_with_the_same_bytes() {
    for (name, fault) in [
        ("account-killed-before", Fault::HoldRequest),
        ("account-killed-after", Fault::HoldAnswer),
    ] {
        let scene = Scene::open(name, operator, |file| {
            file.put("venue.request_timeout_ms", 10_000);
        });
        let daemon = scene.start();
        let arrives = matches!(fault, Fault::HoldAnswer);
        scene.proxy.plan(move |seen| {
            if seen.path == "/api/v3/transfer" && seen.nth == 0 {
                fault.clone()
            } else {
                Fault::Pass
            }
        });
        let config = scene.stage.path("daemon.toml").display().to_string();
        let line = scene.with_paths(&transfer("250"));
        let line = format!("account {line} --config {config}");
        let args: Vec<_> = line.split(' ').collect();
        let before = scene.proxy.faults();
        let mut command = Program::start(scene.stage.folder.path(), "killed", &args);
        until(SOON, "the request is under way", || {
            (scene.proxy.faults() > before).then_some(())
        });
        if arrives {
            until(SOON, "it took effect", || (scene.paid() > 0).then_some(()));
        }
        command.kill();
        let (_, listed, _) = scene.account("requests");
        assert_eq!(listed[0]["state"], "unknown", "{listed}");
        let (_, _, log) = scene.account("requests --settle");
        let request = scene.booked();
        // The books may have shown first that it took effect.
        let sent = request["transmissions"].as_u64().unwrap();
        assert!(sent == 2 || arrives && sent == 1, "{request} {log}");
        assert_eq!(scene.paid(), 250_000_000, "once");
        assert_eq!(scene.flows("USDC"), [-250_000_000]);
        scene.close(daemon);
    }
}

#[test]
fn a_withdrawal_is_booked_when_it_arrives_on_layer_1() {
    let scene = Scene::open("account-withdraw", operator, |_| {});
    let daemon = scene.start();
    let line = "withdraw --token ETH --amount 0.5 --owner-key owner_key --yes";
    let (code, answer, log) = scene.account(line);
    assert_eq!(
        (code, &answer["state"]),
        (0, &"processed".into()),
        "{answer} {log}"
    );
    assert!(scene.flows("ETH").is_empty(), "it has not left the balance");
    let hash = answer["hash"].as_str().unwrap();
    scene.operate(&format!("settle-withdrawal --hash {hash}"));
    scene.booked();
    assert_eq!(scene.flows("ETH"), [-500_000_000_000_000_000]);
    scene.close(daemon);
}

#[test]
fn the_next_start_books_what_a_stopped_daemons_account_moved() {
    let scene = Scene::open("account-stopped", operator, |_| {});
    let daemon = scene.start();
    let (code, _, log) = scene.stage.command("drain --wait");
    assert_eq!(code, 0, "{log}");
    drop(daemon);
    let (code, answer, log) = scene.account(&transfer("250"));
    assert_eq!(
        (code, &answer["state"]),
        (0, &"processed".into()),
        "{answer} {log}"
    );
    assert!(scene.flows("USDC").is_empty());
    let daemon = scene.start();
    scene.booked();
    assert_eq!(scene.flows("USDC"), [-250_000_000]);
    let log = daemon.stderr();
    assert!(!log.contains("books differ"), "{log}");
    scene.close(daemon);
}

#[test]
fn shares_are_joined_and_exited_by_hand() {
    let scene = Scene::open("account-pool", operator, |file| {
        with_pool(file);
        let market = file["market"].as_array_mut().unwrap()[0]
            .as_table_mut()
            .unwrap();
        let strategies = market["strategy"].as_array_mut().unwrap();
        strategies.retain(|strategy| strategy["name"].as_str() != Some("lp_manager"));
    });
    let mut daemon = scene.start();
    let (code, answer, log) = scene.account("join --market ETH-USDC --shares 1 --yes");
    assert_eq!(
        (code, &answer["state"]),
        (0, &"processed".into()),
        "{answer} {log}"
    );
    let joined = scene.booked();
    assert_eq!(joined["flows"].as_array().unwrap().len(), 3);
    let (_, listed, log) = scene.account("transactions");
    assert_eq!(listed[0]["hash"], answer["hash"], "{log}");
    let moves = scene.stage.moves();
    assert_eq!((moves.len(), moves[0].kind), (1, PoolTransactionKind::Join));
    let shares = scene.flows("LP-ETH-USDC");
    assert!(shares.len() == 1 && shares[0] > 99_000_000, "{shares:?}");
    let (code, answer, log) = scene.account("exit --market ETH-USDC --shares 0.5 --yes");
    assert_eq!(
        (code, &answer["state"]),
        (0, &"processed".into()),
        "{answer} {log}"
    );
    until(SOON, "the exit is booked", || {
        (scene.flows("LP-ETH-USDC").len() == 2 && scene.flows("USDC").len() == 2).then_some(())
    });
    // The auditor takes every join and exit for one of the daemon.
    scene.drain(&mut daemon);
    scene.stage.close();
}

#[test]
fn new_keys_are_installed_through_lost_answers_and_the_daemon_trades_with_them() {
    let scene = Scene::open("account-keys", operator, |_| {});
    let mut daemon = scene.start();
    let update = "update-key --owner-key owner_key --yes";
    for line in [update, "rotate-api-key --yes"] {
        let (code, _, log) = scene.account(line);
        assert_eq!(code, 75, "{log}");
        assert!(log.contains("drain --wait"), "{log}");
    }
    assert_eq!(daemon.drain(SOON), 0);
    let file = |name: &str| -> PathBuf { scene.stage.path("keys").join(name) };
    let read = |name: &str| fs::read_to_string(file(name)).unwrap();
    let before = ["eddsa_key", "api_key"].map(read);
    let (code, _, log) = scene.account("update-key --dry-run");
    assert_eq!(code, 0, "{log}");
    assert_eq!(["eddsa_key", "api_key"].map(read), before);
    scene.proxy.plan(|seen| {
        let is_key = ["/api/v3/account", "/api/v3/apiKey"].contains(&seen.path.as_str());
        if is_key && seen.method == "POST" && seen.nth == 0 {
            Fault::LoseAnswer
        } else {
            Fault::Pass
        }
    });
    let (code, answer, log) = scene.account(update);
    assert_eq!(code, 0, "{answer} {log}");
    let (code, answer, log) = scene.account("rotate-api-key --yes");
    assert_eq!(code, 0, "{answer} {log}");
    for (old, name) in before.iter().zip(["eddsa_key", "api_key"]) {
        assert_ne!(*old, read(name), "{name}");
        let mode = fs::metadata(file(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
        assert!(!file(&format!("{name}.new")).exists());
    }
    let daemon = scene.start();
    scene.close(daemon);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_signed() {
    let scene = Scene::open("account-refused", operator, |_| {});
    let other = scene.stage.path("other_key");
    fs::write(&other, "0x1\n").unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o600)).unwrap();
    let open = scene.stage.path("open_key");
    fs::write(&open, WALLET).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o644)).unwrap();
    let to = format!("--to {PAYEE} --token USDC");
    for (line, code, word) in [
        (
            format!("transfer {to} --amount 1 --owner-key owner_key"),
            2,
            "--yes",
        ),
        (format!("transfer {to} --amount 1 --yes"), 2, "--owner-key"),
        (
            format!("transfer {to} --amount 1 --owner-key other_key --yes"),
            77,
            "belongs to",
        ),
        (
            format!("transfer {to} --amount 1 --owner-key open_key --yes"),
            77,
            "chmod 600",
        ),
        (
            format!("transfer {to} --amount 1 --owner-key none --yes"),
            77,
            "does not exist",
        ),
        (
            format!("transfer {to} --amount 999999999 --owner-key owner_key --yes"),
            1,
            "are free",
        ),
        (
            format!("transfer {to} --amount 0 --owner-key owner_key --yes"),
            2,
            "zero",
        ),
        (
            format!("transfer {to} --amount 0.0000001 --owner-key owner_key --yes"),
            2,
            "decimals",
        ),
        (
            "transfer --to 0xff --token USDC --amount 1 --owner-key owner_key --yes".to_owned(),
            2,
            "address",
        ),
        (
            "withdraw --token DOGE --amount 1 --owner-key owner_key --yes".to_owned(),
            1,
            "DOGE",
        ),
        (
            "join --market BTC-USDC --shares 1 --yes".to_owned(),
            1,
            "no market",
        ),
        (
            "join --market ETH-USDC --shares 99999 --yes".to_owned(),
            1,
            "are free",
        ),
    ] {
        let (found, _, log) = scene.account(&line);
        assert_eq!(found, code, "{line}: {log}");
        assert!(log.contains(word), "{line}: {log}");
        assert!(!log.contains(&WALLET[2..]), "{log}");
    }
    let before = scene.stage.books().totals;
    let (code, plan, log) = scene.account(&format!("transfer {to} --amount 1 --dry-run"));
    assert_eq!((code, &plan["dry_run"]), (0, &true.into()), "{log}");
    assert_eq!(plan["plan"]["units"], "1000000");
    assert_eq!(scene.stage.books().totals, before);
    let (code, listed, log) = scene.account("requests");
    assert_eq!(
        (code, listed.as_array().map(Vec::len)),
        (0, Some(0)),
        "{log}"
    );
    scene.stage.close();
}
