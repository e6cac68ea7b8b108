//! Errors in the daemon's file are reported at their lines, each once.

use super::{example, refused};
use crate::config::Daemon;
use crate::config::reader::Source;

/// An error in one value is reported at its line.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn mistakes_are_named_where_they_stand() {
    for (key, to, message) in [
        (
            "config_version",
            "config_version = 2",
            "config_version = 2 is not supported",
        ),
        (
            "ttl_s",
            "tll_s = 10",
            "unknown key orders.tll_s; did you mean orders.ttl_s?",
        ),
        (
            "refresh_before_s",
            "refresh_before_s = 10",
            "must be less than orders.ttl_s = 10",
        ),
        ("max_fee_bips", "max_fee_bips = 64", "is outside 1 to 63"),
        (
            "signed_unexpired_max",
            "signed_unexpired_max = 40",
            "an amount in quotes such as \"50 USDC\", or a list of them",
        ),
        (
            "depth_age_max_ms",
            "depth_age_max_ms = 100",
            "must exceed poll.depth_ms",
        ),
        (
            "cancel_reserve",
            "cancel_reserve = 9999",
            "nothing but cancels could ever be sent",
        ),
        (
            "deadline_s",
            "deadline_s = 13",
            "must exceed orders.ttl_s + orders.grace_s = 13",
        ),
        (
            "listen",
            "listen = \"0.0.0.0:9464\"",
            "is reachable from other machines",
        ),
        (
            "base_url",
            "base_url = \"http://venue.example\"",
            "http only for this machine",
        ),
        (
            "base_url",
            "base_url = \"http://127.0.0.1:8787/api/v3\"",
            "ends in /api/v3, which is added to every path: write \"http://127.0.0.1:8787\"",
        ),
        (
            "base_url",
            "base_url = \"http://127.0.0.1.evil.example\"",
            "http only for this machine",
        ),
        (
            "base_url",
            "base_url = \"https://me:secret@venue.example\"",
            "must not carry user names",
        ),
        (
            "owner",
            "owner = \"1x00\"",
            "venue.owner must be an address",
        ),
        ("name", "name = \"ETHUSDC\"", "must be BASE-QUOTE"),
        (
            "price_ceiling",
            "price_ceiling = \"0.01\"",
            "must be above market.price_floor",
        ),
        (
            "inventory_max",
            "inventory_max = \"0 ETH\"",
            "must be above market.inventory_min",
        ),
        (
            "inventory_max",
            "inventory_max = \"80 USDC\"",
            "is in USDC, but this key is in ETH",
        ),
        (
            "inventory_max",
            "inventory_max = 80",
            "must be an amount in quotes",
        ),
        (
            "price_floor",
            "price_floor = \"1000.001\"",
            "more than the 2 decimals of the price of ETH-USDC",
        ),
        (
            "eddsa_key_file",
            "eddsa_key = \"hunter2\"",
            "secrets do not belong in the configuration",
        ),
    ] {
        let (line, got) = refused(key, to);
        assert!(got.contains(message), "{to}: {got}");
        assert!(
            got.contains(&format!("f.toml:{line}:")),
            "{to} is at line {line}: {got}"
        );
        assert!(!got.contains("hunter2"), "{got}");
    }
}

/// If two values contradict each other, the message names both.
#[test]
fn disagreements_name_both_sides() {
    for (key, to, message) in [
        (
            "max_fee_bips",
            "max_fee_bips = 5",
            "above orders.max_fee_bips = 5",
        ),
        ("per_s", "per_s = 5", "but budget.per_s = 5"),
        (
            "refresh_before_s",
            "refresh_before_s = 9",
            "refreshing alone takes",
        ),
        ("account_id", "", "venue.account_id is missing"),
        ("config_version", "", "it must be 1, the version"),
        (
            "empty_book",
            "empty_book = \"no-quote\"",
            "seed_price has no effect",
        ),
        ("seed_price", "", "needs market.seed_price"),
        ("eddsa_key_file", "", "must both be given"),
        (
            "eddsa_key_file",
            "credentials = true",
            "takes the keys from the service manager",
        ),
        (
            "api_key_file",
            "signer = \"unix:/run/signer\"",
            "takes the place of keys.eddsa_key_file",
        ),
        (
            "eddsa_key_file",
            "signer = \"/run/signer\"",
            "must be the socket of cambist-signer, such as \"unix:",
        ),
        (
            "eddsa_key_file",
            "signer = \"unix:\"",
            "must be the socket of cambist-signer",
        ),
        (
            "eddsa_key_file",
            "signer = \"unix:/run/signer\"\ncredentials = true",
            "keys.api_key_file, or keys.credentials = true, and not both",
        ),
    ] {
        let (_, got) = refused(key, to);
        assert!(got.contains(message), "{to}: {got}");
    }
}

/// One error is one message, at its own line.
#[test]
fn one_mistake_is_reported_once() {
    for (key, to, message) in [
        ("account_id", "account_id = -1", "found -1"),
        ("base_url", "base_url = 5", "found a whole number"),
        ("api_key_file", "api_key_file = 5", "found a whole number"),
        ("seed_price", "seed_price = 5", "must be an amount"),
        ("name", "name = \"ETH-DAI\"", "its amounts are in USDC"),
        ("name", "name = \"BTC-USDC\"", "its amounts are in ETH"),
    ] {
        let (line, got) = refused(key, to);
        assert!(got.contains(message), "{to}: {got}");
        assert_eq!(got.lines().count(), 1, "{to}: {got}");
        assert!(got.starts_with(&format!("f.toml:{line}:")), "{to}: {got}");
    }
}

#[test]
fn a_misspelled_section_is_one_mistake() {
    let text = example("demo.toml").text;
    for (from, to) in [
        ("[venue]", "[venu]"),
        ("[keys]", "[kyes]"),
        ("[store]", "[stor]"),
        ("[[market]]", "[[markets]]"),
        ("[[market.strategy]]", "[[market.stratgy]]"),
    ] {
        // Parameters belong to the section before them: all sections of strategies are renamed.
        let count = if to.contains("stratgy") {
            usize::MAX
        } else {
            1
        };
        let mut text = text.replacen(from, to, count);
        if to == "[[markets]]" {
            text = text.replace("[[market.", "[[markets.");
            text = text.replace("[market.", "[markets.");
        }
        text = text.replace("[market.strategy.params]", "[market.stratgy.params]");
        if !to.contains("stratgy") {
            text = text.replace("[market.stratgy.params]", "[market.strategy.params]");
        }
        let path = "f.toml".into();
        let got = Daemon::parse(&Source { path, text }).unwrap_err();
        let got = got.to_string();
        assert_eq!(got.lines().count(), 1, "{to}: {got}");
        assert!(got.contains("did you mean"), "{to}: {got}");
    }
}

#[test]
fn a_missing_section_is_named() {
    let text = example("demo.toml").text.replace("[store]\n", "");
    let path = "f.toml".into();
    let got = Daemon::parse(&Source { path, text }).unwrap_err();
    let got = got.to_string();
    assert!(
        got.contains("store.dir is missing ([store] is not in the file)"),
        "{got}"
    );
}

/// A missing key is reported at its section.
#[test]
fn a_missing_key_is_reported_at_its_section() {
    for (key, section) in [
        ("owner = ", "[venue]"),
        ("price_floor = ", "[[market]]"),
        ("dir = \"../target/two-terminals/state", "[store]"),
    ] {
        let mut source = example("demo.toml");
        let line = |text: &str, start: &str| {
            let at = text.lines().position(|line| line.starts_with(start));
            at.unwrap()
        };
        let mut lines: Vec<_> = source.text.lines().collect();
        lines.remove(line(&source.text, key));
        source.text = lines.join("\n");
        source.path = "f.toml".into();
        let got = Daemon::parse(&source).unwrap_err().to_string();
        let section = 1 + line(&source.text, section);
        assert!(
            got.starts_with(&format!("f.toml:{section}:")),
            "{key}: {got}"
        );
    }
}

#[test]
fn limits_that_contradict_each_other_are_named() {
    for (key, to, message) in [
        (
            "executions_per_min",
            "executions_per_min = 365",
            "must be at least 366, one and a half times the 244",
        ),
        ("ttl_max_s", "ttl_max_s = 9", "every order would be refused"),
        (
            "fee_max_bips",
            "fee_max_bips = 62",
            "every order would be refused",
        ),
        (
            "duplicate_ms",
            "duplicate_ms = 500",
            "must be less than poll.depth_ms = 500",
        ),
        (
            "foreign_orders",
            "foreign_orders = \"ignore\"",
            "risk.foreign_orders",
        ),
        (
            "loss_day_max",
            "loss_day_max = \"1 ETH\"",
            "is in ETH, but this key is in USDC",
        ),
    ] {
        let (line, got) = refused(key, to);
        assert!(got.contains(message), "{to}: {got}");
        assert!(got.contains(&format!("f.toml:{line}:")), "{to}: {got}");
    }
}

#[test]
fn a_strategy_is_checked_by_its_registry() {
    let text = example("demo.toml").text;
    for (from, to, message) in [
        ("name = \"bands\"", "name = \"band\"", "did you mean bands?"),
        (
            "min_margin_bps",
            "min_margin_bsp",
            "buy_bands[0].min_margin_bsp: unknown parameter",
        ),
    ] {
        let source = Source {
            path: "f.toml".into(),
            text: text.replacen(from, to, 1),
        };
        let daemon = Daemon::parse(&source).unwrap();
        let got = daemon.bind_expected().unwrap().unwrap_err().to_string();
        let line = 1 + source
            .text
            .lines()
            .position(|line| line.contains(to))
            .unwrap();
        assert!(
            got.contains(message) && got.contains(&format!("f.toml:{line}:")),
            "{got}"
        );
    }
}

/// A daemon for a venue on another machine uses the units in its own file.
#[test]
fn a_venue_elsewhere_is_pinned() {
    let pins = [
        "venue.chain_id",
        "venue.exchange",
        "market.base_decimals",
        "market.base_precision",
        "market.quote_decimals",
        "market.quote_precision",
        "market.pool.lp_decimals",
        "market.pool.lp_precision",
    ];
    let without = |pin: &str, base_url: &str| {
        let mut source = example("demo.toml");
        let key = pin.rsplit('.').next().unwrap();
        let is_key = |line: &str| line.split(" = ").next() == Some(key);
        let lines = source.text.lines().filter(|line| !is_key(line));
        let text: Vec<_> = lines.collect();
        source.text = text.join("\n").replace("http://127.0.0.1:8787", base_url);
        source
    };
    for pin in pins {
        let elsewhere = without(pin, "https://venue.example");
        let error = Daemon::parse(&elsewhere).unwrap_err().to_string();
        assert!(
            error.contains(&format!("{pin} is missing")),
            "{pin}: {error}"
        );
        assert!(error.contains("cambist check --pin"), "{error}");
        for here in ["http://127.0.0.1:8787", "https://localhost:8443"] {
            assert!(
                Daemon::parse(&without(pin, here)).is_ok(),
                "{pin} at {here}"
            );
        }
    }
    assert!(Daemon::parse(&without("nothing", "https://venue.example")).is_ok());
}

#[test]
fn a_file_of_the_exchange_is_named_as_such() {
    let refused = Daemon::parse(&example("venue.toml")).unwrap_err();
    let refused = refused.to_string();
    assert!(
        refused.contains("this is an exchange's file: cambist venue --config"),
        "{refused}"
    );
}

/// The demo's file with another section for its strategies.
fn with_strategy(section: &str) -> Source {
    let source = example("demo.toml");
    let begin = source.text.find("[[market.strategy]]").unwrap();
    Source {
        text: format!("{}{section}", &source.text[..begin]),
        ..source
    }
}

/// Whatever kind of venue: a strategy's process that could read keys, state, recordings or destinations is refused,
/// also where they do not exist yet.
#[test]
fn a_process_that_could_read_something_private_is_refused() {
    use crate::config::process::problems;

    let process = |read: &str, swaps: bool| {
        format!(
            "kind = \"process\"\ncommand = [\"sh\", \"mine.sh\"]\nswaps = {swaps}\nread = [\"{read}\"]\n"
        )
    };
    for (name, private) in [
        (
            "demo.toml",
            [
                "../target/two-terminals/keys/api_key",
                "../target/two-terminals/keys/eddsa_key",
                "../target/two-terminals/state",
            ]
            .as_slice(),
        ),
        (
            "kraken.toml",
            &[
                "/etc/cambist/kraken/orders",
                "/etc/cambist/kraken/account/secret",
                "/var/lib/cambist/kraken",
            ],
        ),
        (
            "evm-pools.toml",
            &[
                "/etc/cambist/evm/key",
                "/etc/cambist/evm/node",
                "/etc/cambist",
                "/var/lib/cambist/evm/../evm",
            ],
        ),
    ] {
        let source = example(name);
        let begin = source.text.find("[[market.strategy]]").unwrap();
        let found = |read: &str| {
            let text = format!(
                "{}[[market.strategy]]\nname = \"mine\"\n{}",
                &source.text[..begin],
                process(read, name == "evm-pools.toml")
            );
            let source = Source {
                text,
                ..source.clone()
            };
            let daemon = Daemon::parse(&source).unwrap_or_else(|error| panic!("{error}"));
            let private = daemon.private_paths();
            let choice = &daemon.markets[0].strategies[0];
            let exposed = choice.exposes(&private).map(|problem| problem.what);
            let first = problems(&daemon).into_iter().next();
            assert_eq!(
                first
                    .map(|problem| problem.what)
                    .filter(|_| exposed.is_some()),
                exposed
            );
            exposed
        };
        for path in private {
            let what = found(path).unwrap_or_else(|| panic!("{name}: {path} may be read"));
            assert!(what.contains("strategy mine could read"), "{what}");
        }
        assert_eq!(found("signals"), None, "{name}");
    }
}

#[test]
fn a_program_that_cannot_be_run_is_named() {
    let problems = |command: &str| {
        let section = format!(
            "[[market.strategy]]\nname = \"mine\"\nkind = \"process\"\nconfine = false\n\
             command = [\"{command}\", \"mine.py\"]\n"
        );
        let daemon = Daemon::parse(&with_strategy(&section)).unwrap();
        let found = crate::config::process::problems(&daemon);
        found.into_iter().map(|one| one.what).collect::<Vec<_>>()
    };
    assert_eq!(problems("sh"), [""; 0]);
    assert_eq!(problems("/bin/sh"), [""; 0]);
    for (command, why) in [
        ("pyton3", "no program \"pyton3\" in /usr/local/bin"),
        ("/etc/passwd", "/etc/passwd is no program that can be run"),
        ("/nonexistent/x", "/nonexistent/x is no program"),
        ("/tmp", "/tmp is no program"),
    ] {
        let found = problems(command);
        assert!(found.len() == 1 && found[0].contains(why), "{found:?}");
    }
}

/// It may be no file at all: `check` warns of it and refuses nothing.
#[test]
fn a_script_that_is_not_there_is_named() {
    let warnings = |arguments: &str| {
        let section = format!(
            "[[market.strategy]]\nname = \"mine\"\nkind = \"process\"\nconfine = false\n\
             command = [\"sh\", {arguments}]\n"
        );
        let daemon = Daemon::parse(&with_strategy(&section)).unwrap();
        assert!(crate::config::process::problems(&daemon).is_empty());
        crate::config::process::warnings(&daemon)
    };
    for (argument, named) in [
        ("missing.py", "missing.py"),
        ("./bin/missing.js", "bin/missing.js"),
        (
            "/nonexistent/mine.toml",
            "command names /nonexistent/mine.toml,",
        ),
    ] {
        let found = warnings(&format!("\"{argument}\""));
        assert!(found.len() == 1, "{argument}: {found:?}");
        assert!(
            found[0].starts_with("strategy mine: ") && found[0].contains(named),
            "{found:?}"
        );
        let found = warnings(&format!(
            "\"-u\", \"{argument}\", \"--config\", \"other.cfg\""
        ));
        assert_eq!(found.len(), 2, "{found:?}");
    }
    let there = std::env::current_exe().unwrap();
    let there = there.with_file_name("there.py");
    std::fs::write(&there, "").unwrap();
    let found = warnings(&format!("\"{}\"", there.display()));
    std::fs::remove_file(&there).unwrap();
    assert_eq!(found, [""; 0]);
    for other in [
        "\"ETH-USDC\"",
        "\"0.25\"",
        "\"--file=a.py\"",
        "\"-x.py\"",
        "\"https://a.example/b.json\"",
        "\"a.py:main\"",
        "\"-m\", \"maker.main\"",
        "\"-c\", \"import a.b\"",
        "\"logs/\"",
        "\"run\"",
    ] {
        assert_eq!(warnings(other), [""; 0], "{other}");
    }
}

/// The account's fee itself is allowed, one bip less is not earned.
#[test]
fn a_strategy_that_counts_with_a_lower_fee_than_the_account_pays_is_named() {
    let warnings = |fee: &str| {
        let section = format!(
            "[[market.strategy]]\nname = \"ladder\"\n[market.strategy.params]\n\
             bid_spread_bps = 30\nask_spread_bps = 30\norder_amount = 0.5\n{fee}"
        );
        let mut source = with_strategy(&section);
        source.text = source.text.replacen("maker_bips = 0", "maker_bips = 16", 1);
        let daemon = Daemon::parse(&source).unwrap();
        daemon.bind_expected().unwrap().unwrap().warnings
    };
    assert_eq!(warnings("fee_bps = 16\n"), [""; 0]);
    for fee in ["fee_bps = 15\n", ""] {
        let found = warnings(fee);
        let names = |one: &String| one.contains("fees.maker_bips is 16");
        assert!(found.len() == 1 && found.iter().all(names), "{found:?}");
    }
}
