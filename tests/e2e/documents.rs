//! Every command of the documents is executed by a test: here, as it is written, or in the test or script that the table
//! names.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::onboarding::operator;
use crate::support::process::run;
use crate::support::stage::{READY, quick};
use crate::support::{Stage, until};

const SOON: Duration = Duration::from_secs(40);

/// Where a command is executed.
enum Executed {
    /// Below, beside a daemon that trades; with this exit code.
    Here(i32),
    /// In this file, which contains this text: the name of a test, or the command of a script.
    In(&'static str, &'static str),
    /// A program of the system, which does nothing of ours.
    System,
}
use Executed::{Here, In, System};

const PAPER: &str = "tests/e2e/paper.rs";
const DEMO: &str = "tests/e2e/demo.rs";
const DRILLS: Executed = In(
    "tests/e2e/messages.rs",
    "fn the_commands_of_quick_start_and_runbook_do_what_they_say",
);
const KRAKEN: &str = "tests/e2e/kraken_daemon/starts.rs";
const PORTFOLIO_GUIDE: Executed = In(
    "tests/e2e/portfolio_guide.rs",
    "fn the_commands_of_the_document_trade_on_two_shipped_exchanges",
);
const KRAKEN_GUIDE: Executed = In(
    "tests/e2e/kraken_daemon/guide.rs",
    "fn the_commands_of_the_guide_trade_on_the_shipped_exchange",
);
const SAMPLE: Executed = In(
    "tests/cli/backtest_file.rs",
    "fn the_commands_of_the_page_run_on_the_sample",
);
const SERVICE: &str = "tests/external/machine/service";
const PACKAGE: &str = "tests/external/machine/package";
const SIGNER: &str = "tests/e2e/signer/trading.rs";
const RELEASE: &str = "tests/external/release.sh";
const STARTED: Executed = In("tests/e2e/support/stage.rs", "\"--until-stdin-closes\"");

/// The commands of shell blocks, without comments and without what runs the program.
const COMMANDS: &[(&str, Executed)] = &[
    ("demo", In(DEMO, "fn an_interrupt_ends_it_with_a_proof")),
    (
        "demo --duration 25s --seed 7 --scenario crash",
        In(DEMO, "\"--scenario\""),
    ),
    (
        "cargo test --workspace",
        In(".ci/run", "cargo test --workspace"),
    ),
    ("demo --venue kraken", In(DEMO, "\"--venue\"")),
    (
        "npm install --prefix target/evm --no-save --ignore-scripts @foundry-rs/anvil@1.7.1 @uniswap/v2-core@1.0.1 @uniswap/v2-periphery@1.1.0-beta.0 canonical-weth@1.4.0",
        In(
            "tests/e2e/evm/demo.rs",
            "fn without_the_packages_it_names_the_command_that_installs_them",
        ),
    ),
    (
        "demo --venue evm --node-modules target/evm/node_modules",
        In("tests/external/evm/demo.py", "\"--venue\", \"evm\""),
    ),
    ("venue --config config/venue.toml", STARTED),
    ("run --config config/demo.toml", STARTED),
    (
        "run --config config/paper.toml",
        In(PAPER, "fn paper_trading_quotes_on_a_public_book"),
    ),
    (
        "run --config config/paper.toml --for 10m",
        In(PAPER, "fn paper_trading_quotes_on_a_public_book"),
    ),
    (
        "run --config config/paper.toml --for 10m --json",
        In(PAPER, "fn paper_trading_quotes_on_a_public_book"),
    ),
    (
        "run --config config/paper.toml --mode observe",
        In(PAPER, "\"observe\""),
    ),
    (
        "record --config config/paper.toml",
        In(PAPER, "fn a_template_reads_what_its_exchange_answers"),
    ),
    (
        "run --config candidate.toml --mode shadow --beside /var/lib/cambist",
        In(
            "tests/e2e/shadow.rs",
            "fn a_shadow_quotes_on_the_daemons_inputs",
        ),
    ),
    (
        "check --config config/kraken.toml --no-secrets",
        In(KRAKEN, "\"--no-secrets\""),
    ),
    (
        "run --config config/observe-kraken.toml --for 1m",
        In(KRAKEN, "\"config/observe-kraken.toml\""),
    ),
    (
        "check --config config/kraken.toml --online",
        In(KRAKEN, "\"check --online\""),
    ),
    (
        "doctor --config config/kraken.toml",
        In(KRAKEN, "\"doctor\""),
    ),
    ("run --config config/kraken.toml", STARTED),
    (
        "venue kraken-key --config config/venue-kraken.toml orders --permission funds-query --permission orders-modify",
        KRAKEN_GUIDE,
    ),
    (
        "venue kraken-key --config config/venue-kraken.toml account --permission funds-query --permission orders-query-open --permission orders-query-closed --permission orders-cancel --permission ledger-query",
        KRAKEN_GUIDE,
    ),
    (
        "venue kraken-key --config config/venue-kraken.toml panic --permission funds-query --permission orders-query-open --permission orders-query-closed --permission orders-cancel --permission ledger-query",
        KRAKEN_GUIDE,
    ),
    ("venue --config config/venue-kraken.toml", KRAKEN_GUIDE),
    ("check --config config/demo-kraken.toml", KRAKEN_GUIDE),
    (
        "check --config config/demo-kraken.toml --online",
        KRAKEN_GUIDE,
    ),
    ("doctor --config config/demo-kraken.toml", KRAKEN_GUIDE),
    ("run --config config/demo-kraken.toml", KRAKEN_GUIDE),
    ("status --config config/demo-kraken.toml", KRAKEN_GUIDE),
    (
        "account orders --config config/demo-kraken.toml",
        KRAKEN_GUIDE,
    ),
    (
        "drain --config config/demo-kraken.toml --wait",
        KRAKEN_GUIDE,
    ),
    (
        "panic --config config/demo-kraken.toml --yes --reason trial",
        KRAKEN_GUIDE,
    ),
    (
        "resume --config config/demo-kraken.toml --reason again",
        KRAKEN_GUIDE,
    ),
    ("check --config config/demo-portfolio.toml", PORTFOLIO_GUIDE),
    (
        "check --config config/demo-portfolio.toml --online",
        PORTFOLIO_GUIDE,
    ),
    (
        "doctor --config config/demo-portfolio.toml",
        PORTFOLIO_GUIDE,
    ),
    ("run --config config/demo-portfolio.toml", PORTFOLIO_GUIDE),
    (
        "status --config config/demo-portfolio.toml",
        PORTFOLIO_GUIDE,
    ),
    (
        "pause --config config/demo-portfolio.toml --market own:ETH-USDC --side buy --reason trial",
        PORTFOLIO_GUIDE,
    ),
    (
        "resume --config config/demo-portfolio.toml --venue own --reason again",
        PORTFOLIO_GUIDE,
    ),
    (
        "history --config config/demo-portfolio.toml --venue own",
        PORTFOLIO_GUIDE,
    ),
    (
        "report --config config/demo-portfolio.toml",
        PORTFOLIO_GUIDE,
    ),
    (
        "drain --config config/demo-portfolio.toml --wait",
        PORTFOLIO_GUIDE,
    ),
    (
        "tournament --seeds 20",
        In(
            "crates/simulator/tests/program/tournament.rs",
            "fn the_table_and_the_json",
        ),
    ),
    (
        "tournament --seeds 1000 --jobs 4 --results games.jsonl --out tournament.txt",
        In(
            "crates/simulator/tests/program/tournament.rs",
            "fn threads_and_interruptions",
        ),
    ),
    (
        "tournament --scenario crash --strategy ladder --json",
        In(
            "crates/simulator/tests/program/tournament.rs",
            "fn the_table_and_the_json",
        ),
    ),
    ("backtest --help", Here(0)),
    (
        "backtest --config config/backtest-csv.toml --data config/samples/eth-usdc.csv --out out/sample",
        SAMPLE,
    ),
    (
        "sweep --config config/backtest-csv.toml --sweep config/sweeps/bands.toml --data config/samples/eth-usdc.csv --out out/sample-sweep",
        SAMPLE,
    ),
    (
        "init",
        In(
            "tests/cli/setup.rs",
            "fn init_writes_a_file_that_check_accepts",
        ),
    ),
    (
        "doctor",
        In(
            "tests/e2e/doctor.rs",
            "fn doctor_asks_little_finds_nothing_wrong",
        ),
    ),
    ("doctor --config config/demo.toml", DRILLS),
    ("check --config cambist.toml --online", Here(0)),
    ("check --config venue.toml", Here(0)),
    (
        "venue onboard --config venue.toml --owner 0xC07Ad42eA9A232BFA2B5a21E8e0CFfCC8762f62b --deposit 2 ETH --deposit 5000 USDC",
        In(
            "tests/e2e/onboarding.rs",
            "fn the_two_commands_of_the_guide_make_an_account_that_trades",
        ),
    ),
    (
        "venue kraken-key --config venue.toml watcher --account 20001 --permission funds-query --permission orders-query-open",
        In(
            "tests/e2e/kraken_daemon/guide.rs",
            "\"cambist venue kraken-key --config venue.toml watcher\"",
        ),
    ),
    (
        "account open --venue https://exchange.example --owner-key owner_key --out keys",
        In(
            "tests/e2e/onboarding.rs",
            "fn the_two_commands_of_the_guide_make_an_account_that_trades",
        ),
    ),
    (
        "curl -N http://127.0.0.1:8787/api/ext/v1/stream?market=ETH-USDC",
        In("tests/external/page/drive.py", "/api/ext/v1/stream"),
    ),
    ("venue admin --config venue.toml audit", Here(0)),
    (
        "venue admin --config /etc/cambist/venue.toml audit",
        Here(0),
    ),
    (
        "cargo install --path .",
        In(RELEASE, "cargo install --path ."),
    ),
    (
        "cargo install --path crates/simulator",
        In(RELEASE, "cargo install --path crates/simulator"),
    ),
    ("--version", Here(0)),
    ("rustup target add x86_64-unknown-linux-musl", System),
    ("apt-get install musl-tools", System),
    (
        "packaging/binary target/package",
        In("packaging/release", "\"$build/binary\""),
    ),
    (
        "packaging/deb target/package/cambist target/package",
        In(PACKAGE, "packaging/deb"),
    ),
    (
        "dpkg --install target/package/cambist_*.deb",
        In(PACKAGE, "dpkg --install"),
    ),
    (
        "systemd-creds encrypt --name=api_key api_key /etc/credstore.encrypted/cambist.eth.api_key",
        In(SERVICE, "systemd-creds encrypt"),
    ),
    (
        "systemd-creds encrypt --name=eddsa_key eddsa_key /etc/credstore.encrypted/cambist.eth.eddsa_key",
        In(SERVICE, "systemd-creds encrypt"),
    ),
    (
        "systemctl enable --now cambist@eth",
        In(SERVICE, "systemctl enable"),
    ),
    ("status --config /etc/cambist/eth.toml", Here(0)),
    (
        "packaging/container target/package/cambist",
        In(RELEASE, "packaging/container"),
    ),
    (
        "podman run --rm --read-only --cap-drop=all --security-opt=no-new-privileges localhost/cambist:0.1.0 strategy list",
        In(RELEASE, "localhost/cambist:test strategy list"),
    ),
    (
        "packaging/release target/release-files",
        In(RELEASE, "packaging/release --profile release"),
    ),
    (
        "packaging/reproduce",
        In(RELEASE, "packaging/reproduce --against"),
    ),
    (
        "packaging/reproduce --against DIR",
        In(RELEASE, "packaging/reproduce --against"),
    ),
    (
        "ssh-keygen -Y check-novalidate -n cambist-release -s SHA256SUMS.sig",
        In(RELEASE, "ssh-keygen -Y check-novalidate"),
    ),
    (
        "watch --config config/demo.toml --test",
        In(
            "tests/e2e/messages.rs",
            "fn a_test_message_reports_what_arrived",
        ),
    ),
    (
        "watch --config config/demo.toml",
        In(
            "tests/e2e/messages.rs",
            "fn what_is_wrong_arrives_once_and_its_end_too",
        ),
    ),
    (
        "set --config FILE --reason volatile ladder.bid_spread_bps=25 ladder.ask_spread_bps=25",
        Here(0),
    ),
    (
        "set --config FILE --reason smaller bands.buy_bands[0].avg_amount=0.5",
        Here(0),
    ),
    (
        "set --config FILE --reset --allow-loosening --reason calm again ladder.bid_spread_bps ladder.ask_spread_bps",
        Here(0),
    ),
    (
        "account transfer --config config/demo.toml --to 0xC07Ad42eA9A232BFA2B5a21E8e0CFfCC8762f62b --token USDC --amount 250 --dry-run",
        Here(0),
    ),
    ("history --config FILE --from 24h", Here(0)),
    (
        "history orders --config FILE --market ETH-USDC --json",
        Here(0),
    ),
    (
        "history --config FILE --from 2026-01-01 --to 2026-12-31 --csv",
        Here(0),
    ),
    (
        "history --config FILE --parquet fills.parquet",
        Here(if cfg!(feature = "parquet") { 0 } else { 2 }),
    ),
    (
        "report --config FILE --from 2026-11-01 --to 2026-11-30",
        Here(0),
    ),
    (
        "report --config FILE --from 30d --html november.html",
        Here(0),
    ),
    ("status --config config/demo.toml", DRILLS),
    ("top --config config/demo.toml", DRILLS),
    ("history --config config/demo.toml", DRILLS),
    (
        "depth state/tape --market ETH-USDC --from 7d --levels 20 --out depth.parquet",
        In("tests/cli/depth.rs", "\"depth\""),
    ),
    ("report --config config/demo.toml", DRILLS),
    ("pause --config config/demo.toml --reason lunch", DRILLS),
    ("resume --config config/demo.toml --reason back", DRILLS),
    ("drain --config config/demo.toml", DRILLS),
    ("pause --config config/demo.toml --reason drill", DRILLS),
    ("resume --config config/demo.toml --reason drill", DRILLS),
    ("kill --config config/demo.toml --reason drill", DRILLS),
    (
        "panic --config config/demo.toml --yes --reason drill",
        DRILLS,
    ),
    ("journalctl -u cambist@NAME -n 100", System),
    (
        "signer-config --config /etc/cambist/eth.toml --name eth",
        In(SIGNER, "\"signer-config\""),
    ),
    (
        "cambist-signer check --no-secrets --config /etc/cambist/eth.signer.toml",
        In("tests/e2e/signer/taken_over.rs", "\"check\""),
    ),
    (
        "systemd-creds encrypt --name=eddsa_key eddsa_key /etc/credstore.encrypted/cambist-signer.eth.eddsa_key",
        In(SERVICE, "systemd-creds encrypt"),
    ),
    (
        "install -d -o cambist-signer -g cambist-signer -m 700 /var/lib/cambist-signer/eth",
        System,
    ),
    (
        "cambist-signer init --config /etc/cambist/eth.signer.toml",
        In("tests/e2e/signer/taken_over.rs", "\"init\""),
    ),
    (
        "systemctl enable --now cambist-signer@eth",
        In(SERVICE, "systemctl enable"),
    ),
    ("rm /etc/credstore.encrypted/cambist.eth.eddsa_key", System),
    ("doctor --config /etc/cambist/eth.toml", Here(0)),
    (
        "systemctl restart cambist@eth",
        In(SERVICE, "systemctl restart"),
    ),
    (
        "cambist-signer status --config /etc/cambist/eth.signer.toml",
        In("tests/e2e/signer/taken_over.rs", "\"status\""),
    ),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Words of a line; quotes hold words together.
fn words(line: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ' ') => found.push(String::new()),
            (_, c) => found.last_mut().unwrap().push(c),
        }
    }
    found.retain(|word| !word.is_empty());
    found
}

/// The words of a command without what runs the program, and without where its output goes.
fn command(line: &str) -> Vec<String> {
    let line = line.split(['>', '<', '|']).next().unwrap();
    let mut words = words(line);
    if words[0] == "sudo" {
        words.drain(..3);
    }
    let is_run = words.starts_with(&["cargo", "run", "--release", "--"].map(str::to_owned));
    if is_run {
        words.drain(..4);
    } else if words[0] == "cambist" {
        words.remove(0);
    }
    words
}

/// The commands of the shell blocks of all pages.
fn commands() -> BTreeSet<Vec<String>> {
    let docs = std::fs::read_dir(root().join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let more = [
        "README.md",
        "SECURITY.md",
        "ARCHITECTURE.md",
        "strategies/README.md",
    ];
    let pages = pages.chain(more.map(|page| root().join(page)));
    let mut found = BTreeSet::new();
    for page in pages {
        let text = std::fs::read_to_string(page).unwrap().replace("\\\n", " ");
        let mut is_shell = false;
        for line in text.lines() {
            if let Some(kind) = line.trim_start().strip_prefix("```") {
                is_shell = !is_shell && kind == "sh";
                continue;
            }
            let line = line.split(" #").next().unwrap().trim();
            if is_shell && !line.is_empty() && !line.starts_with('#') {
                found.insert(command(line));
            }
        }
    }
    found
}

#[test]
fn every_command_of_the_documents_is_executed_by_a_test() {
    let listed: BTreeSet<_> = COMMANDS
        .iter()
        .map(|(line, _)| (*line).to_owned())
        .collect();
    let written: BTreeSet<_> = commands().iter().map(|words| words.join(" ")).collect();
    let missing: Vec<_> = written.difference(&listed).collect();
    assert!(missing.is_empty(), "executed by no test: {missing:#?}");
    let gone: Vec<_> = listed.difference(&written).collect();
    assert!(gone.is_empty(), "in no document: {gone:#?}");
    for (line, executed) in COMMANDS {
        if let In(file, needle) = executed {
            assert!(
                read(file).contains(needle),
                "{line}: {file} has no {needle}"
            );
        }
    }
}

/// A strategy without a file would be one that users have to read the sources of; what the files hold is checked beside
/// the registry.
#[test]
fn every_strategy_has_a_file_that_explains_it() {
    let checked = read("strategies/src/registry_tests.rs");
    for info in cambist_strategies::all() {
        let file = format!("config/strategies/{}.toml", info.name);
        assert!(root().join(&file).is_file(), "{file} is missing");
        assert!(
            checked.contains(&format!("/{file}\"")),
            "{file} is not checked"
        );
    }
}

/// A daemon with both strategies that the documents set parameters of.
fn with_bands(file: &mut toml::Table) {
    quick(file);
    let bands: toml::Value = toml::from_str(
        "name = 'bands'\n[params]\n[[params.buy_bands]]\nmin_margin_bps = 20\navg_margin_bps = 30\nmax_margin_bps = 60
         min_amount = 0.1\navg_amount = 0.6\nmax_amount = 0.8\n",
    )
    .unwrap();
    let market = file["market"].as_array_mut().unwrap()[0]
        .as_table_mut()
        .unwrap();
    market["strategy"].as_array_mut().unwrap().push(bands);
}

#[test]
fn commands_beside_a_daemon_that_trades_do_what_the_documents_show() {
    let stage = Stage::open("documents-all", operator);
    stage.daemon("daemon", &stage.url(), with_bands);
    let mut daemon = stage.run("daemon");
    until(SOON, "a fill", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (code, rows, _) = stage.command("history");
        (code == 0 && rows.as_array().is_some_and(|rows| !rows.is_empty())).then_some(())
    });
    let config = stage.path("daemon.toml").display().to_string();
    let venue = stage.path("venue.toml").display().to_string();
    let place = |word: &String| match word.as_str() {
        "FILE" | "config/demo.toml" | "cambist.toml" | "/etc/cambist/eth.toml" => config.clone(),
        "venue.toml" | "/etc/cambist/venue.toml" => venue.clone(),
        "fills.parquet" | "november.html" => stage.path(word).display().to_string(),
        _ => word.clone(),
    };
    let mut executed = 0;
    // In the order of the documents: what is set is reset after it.
    for (line, expected) in COMMANDS {
        let Here(expected) = expected else { continue };
        let all = commands();
        let words = all.iter().find(|words| words.join(" ") == *line).unwrap();
        let args: Vec<_> = words.iter().map(place).collect();
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let (code, out, log) = run(
            stage.folder.path(),
            &format!("document-{executed}"),
            &args,
            READY,
        );
        assert_eq!(code, *expected, "{line}\n{out}{log}");
        executed += 1;
    }
    assert!(executed >= 15, "{executed}");
    let page = std::fs::read_to_string(stage.path("november.html")).unwrap();
    assert!(page.contains("</html>"));
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}
