#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use serde_json::Value;

use super::*;

fn validator(kind: Kind) -> (boon::Schemas, boon::SchemaIndex) {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler
        .add_resource("file:///schema.json", schema(kind).unwrap())
        .unwrap();
    let index = compiler
        .compile("file:///schema.json", &mut schemas)
        .unwrap();
    (schemas, index)
}

/// Why the schema refuses a text; `None` if it is valid.
fn refusal(kind: Kind, text: &str) -> Option<String> {
    let (schemas, index) = validator(kind);
    let table: toml::Table = text.parse().unwrap();
    let file = serde_json::to_value(table).unwrap();
    let found = schemas.validate(&file, index);
    found.err().map(|error| format!("{error:#}"))
}

/// Every file that is shipped, with its kind.
fn shipped() -> Vec<(std::path::PathBuf, Kind, String)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let found: Vec<_> = files
        // One is a part of a file; the others name the files of daemons, and their own reader tests them.
        .filter(|path| {
            let mut others = [
                "demo-strategies.toml",
                "portfolio.toml",
                "demo-portfolio.toml",
            ]
            .iter();
            !others.any(|name| path.ends_with(name))
        })
        .map(|path| {
            let source = Source::read(&path).unwrap();
            let kind = source.kind().unwrap_or(Kind::Daemon);
            (path, kind, source.text)
        })
        .collect();
    assert!(found.len() >= 4, "{found:?}");
    found
}

#[test]
fn every_shipped_configuration_is_valid() {
    for (path, kind, text) in shipped() {
        assert_eq!(refusal(kind, &text), None, "{}", path.display());
    }
}

/// Each of these the parser refuses as well.
#[test]
fn what_the_parser_refuses_by_type_range_or_name_the_schema_refuses() {
    let (_, daemon) = DAEMON[1];
    let (_, exchange) = EXCHANGE[0];
    let edits = [
        (Kind::Daemon, daemon, "ttl_s = 10", "ttl_s = 4"),
        (Kind::Daemon, daemon, "ttl_s = 10", "ttl_s = \"10\""),
        (Kind::Daemon, daemon, "ttl_s = 10", "tll_s = 10"),
        (
            Kind::Daemon,
            daemon,
            "config_version = 1",
            "config_version = 2",
        ),
        (Kind::Daemon, daemon, "config_version = 1", ""),
        (Kind::Daemon, daemon, "mode = \"live\"", "mode = \"life\""),
        (Kind::Daemon, daemon, "maker_only = true", "maker_only = 1"),
        (Kind::Daemon, daemon, "price_floor = \"1000 USDC\"", ""),
        (
            Kind::Daemon,
            daemon,
            "price_floor = \"1000 USDC\"",
            "price_floor = \"1,000 USDC\"",
        ),
        (
            Kind::Daemon,
            daemon,
            "price_floor = \"1000 USDC\"",
            "price_floor = 1000",
        ),
        (
            Kind::Daemon,
            daemon,
            "on_shutdown = \"cancel\"",
            "on_shutdown = \"stop\"",
        ),
        (Kind::Daemon, daemon, "name = \"bands\"", "name = \"band\""),
        (Kind::Daemon, daemon, "buy_bands = [", "bye_bands = ["),
        (
            Kind::Daemon,
            daemon,
            "min_margin_bps = 4,",
            "min_margin_bps = -4,",
        ),
        (
            Kind::Daemon,
            daemon,
            "slippage_bps = 50",
            "slippage_bps = 5001",
        ),
        (
            Kind::Exchange,
            exchange,
            "maker_fee_bips = 0",
            "maker_fee_bips = 64",
        ),
        (
            Kind::Exchange,
            exchange,
            "symbol = \"ETH\"",
            "sybmol = \"ETH\"",
        ),
        (
            Kind::Exchange,
            exchange,
            "allow_remote = false",
            "allow_remote = \"no\"",
        ),
    ];
    for (kind, text, from, to) in edits {
        assert!(text.contains(from), "{from}");
        let wrong = text.replacen(from, to, 1);
        assert!(refusal(kind, &wrong).is_some(), "{from} -> {to}");
        let source = Source {
            path: "wrong.toml".into(),
            text: wrong,
        };
        let is_refused = match kind {
            // Names and parameters of strategies are checked when they are bound.
            Kind::Daemon => Daemon::parse(&source).map_or(true, |daemon| {
                daemon.bind_expected().is_some_and(|bound| bound.is_err())
            }),
            Kind::Exchange => Exchange::parse(&source).is_err(),
        };
        assert!(is_refused, "{from} -> {to}");
    }
}

#[test]
fn a_strategy_is_one_of_the_registry_or_a_process() {
    let (_, text) = DAEMON[1];
    let with = |name: &str, kind: &str| {
        let named = text.replacen("name = \"bands\"", &format!("name = \"{name}\""), 1);
        named.replacen("# kind = \"builtin\"", kind, 1)
    };
    let is_refused = |name, kind| refusal(Kind::Daemon, &with(name, kind)).is_some();
    assert!(!is_refused("bands", "kind = \"builtin\""));
    assert!(is_refused("band", ""));
    assert!(is_refused("mine", "kind = \"process\""));
    assert!(!is_refused(
        "mine",
        "kind = \"process\"\ncommand = [\"mine\"]"
    ));
    assert!(is_refused("mine", "kind = \"process\"\ncommand = \"mine\""));
}

#[test]
fn every_key_has_a_meaning_and_numbers_of_the_table_their_range() {
    for kind in [Kind::Daemon, Kind::Exchange] {
        let documentation = documentation(kind).unwrap();
        assert!(documentation.keys.len() > 70);
        for (path, about) in &documentation.keys {
            let is_table = matches!(
                about.key.shape,
                Shape::Section | Shape::Sections | Shape::Free
            );
            assert!(
                is_table || !about.meaning.is_empty(),
                "{path} has no meaning"
            );
            // A flag has a range in the table of limits, and none in the file.
            let limit = limits::find(path).filter(|_| kind == Kind::Daemon);
            if let Some(limit) = limit.filter(|_| about.key.shape != Shape::Flag) {
                assert_eq!(about.key.range, limit.range, "{path}");
            }
        }
    }
    let schema = schema(Kind::Daemon).unwrap();
    let ttl: &Value = &schema["properties"]["orders"]["properties"]["ttl_s"];
    assert_eq!(
        (&ttl["minimum"], &ttl["maximum"], &ttl["default"]),
        (&5.into(), &86_400.into(), &120.into())
    );
    let derived = &schema["properties"]["risk"]["properties"]["orders_per_min"];
    assert!(derived.get("default").is_none(), "{derived}");
}

#[test]
fn the_reference_is_current() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/configuration.md");
    let page = std::fs::read_to_string(page).unwrap();
    let now = reference::page().unwrap();
    let hint = "run: cambist config reference > docs/configuration.md";
    assert!(now == page, "docs/configuration.md is not current; {hint}");
}
