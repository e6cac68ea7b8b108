//! The table of dependencies between crates, and what the pure crates must never use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use toml::Table;

/// A crate (a room, in this file) and the crates that it may depend on.
const ROOMS: [(&str, &[&str]); 38] = [
    ("crates/core", &[]),
    ("crates/quant", &[]),
    ("crates/signing", &[]),
    ("crates/protocol", &["core", "signing"]),
    (
        "crates/client",
        &[
            "core",
            "evm",
            "evm-venue",
            "kraken",
            "kraken-venue",
            "protocol",
            "signing",
            // In its tests.
            "server",
            "sim",
            "venue",
        ],
    ),
    ("crates/venue", &["core"]),
    // Scenarios are read by the program and by the simulated world, so their reader is below both.
    ("crates/config", &["core", "venue"]),
    // The monotonic clock counts in the engine's unit.
    ("crates/host", &["core"]),
    ("crates/evm", &["signing"]),
    ("crates/evm-venue", &["core", "evm"]),
    ("crates/kraken", &[]),
    ("crates/kraken-venue", &["core", "kraken", "protocol"]),
    ("crates/listener", &[]),
    ("crates/page", &[]),
    ("crates/sandbox", &[]),
    ("crates/schema", &[]),
    (
        "crates/server",
        &[
            "core", "host", "kraken", "listener", "page", "protocol", "schema", "signing", "venue",
            // In its tests.
            "syscalls",
        ],
    ),
    // Neither the network nor the daemon: what holds a key is small.
    ("crates/signer", &["config", "core", "host", "signing"]),
    ("crates/store", &["core", "host", "report"]),
    ("crates/tape", &["core", "schema"]),
    (
        "crates/exchange",
        &[
            "config", "core", "host", "kraken", "server", "signing", "venue",
        ],
    ),
    (
        "crates/daemon",
        &[
            "client",
            "config",
            "core",
            "evm",
            "evm-venue",
            "fill-model",
            "host",
            "kraken-venue",
            "listener",
            "market-data",
            "messages",
            "page",
            "protocol",
            "quant",
            "report",
            "sandbox",
            "schema",
            "signer",
            "signing",
            "store",
            "strategies",
            "strategy-process",
            "tape",
            // In its tests: the examples of both files fit each other, and a daemon lives on an exchange.
            "exchange",
            "server",
            "venue",
        ],
    ),
    ("crates/vectors", &["quant", "signing"]),
    ("crates/messages", &[]),
    ("crates/profit-check", &["core", "report"]),
    ("crates/report", &["core", "quant"]),
    ("crates/fence-model", &["core"]),
    ("crates/market-data", &["core"]),
    ("crates/fill-model", &["core", "market-data", "quant"]),
    (
        "crates/backtest",
        &[
            "core",
            "fill-model",
            "market-data",
            "quant",
            "report",
            // In its tests.
            "strategies",
        ],
    ),
    (
        "crates/sim",
        &[
            "config",
            "core",
            "evm",
            "evm-venue",
            "kraken-venue",
            "profit-check",
            "protocol",
            "quant",
            "report",
            "signing",
            "strategies",
            "strategy-process",
            "tape",
            "venue",
        ],
    ),
    (
        "crates/simulator",
        &[
            // The program's package: how a command line is read, and how results are printed.
            "",
            "config",
            "core",
            "daemon",
            "exchange",
            "host",
            "market-data",
            "sim",
            "venue",
        ],
    ),
    ("crates/mutants", &[]),
    ("crates/mutants/switch", &[]),
    ("crates/mutants/worlds", &["sim", "switch"]),
    ("crates/strategy-process", &["core"]),
    ("crates/syscalls", &[]),
    ("strategies", &["core", "quant"]),
];

/// Crates that use no clock, socket or file, and no collection whose order depends on a hasher.
const PURE: [&str; 16] = [
    "crates/core",
    "crates/messages",
    "crates/backtest",
    "crates/evm",
    "crates/evm-venue",
    "crates/fill-model",
    "crates/kraken-venue",
    "crates/quant",
    "crates/signing",
    "crates/protocol",
    "crates/venue",
    "crates/profit-check",
    "crates/report",
    "crates/sim",
    "crates/strategy-process",
    "strategies",
];

/// Words that none of their sources may hold.
const IMPURE: [&str; 12] = [
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "time::Instant",
    "SystemTime",
    "HashMap",
    "HashSet",
    "tokio",
    "reqwest",
    "axum",
];

/// The only files that read clocks: the program's, the server's.
const CLOCKS: [&str; 3] = [
    "crates/host/src/clock.rs",
    "crates/mutants/src/clock.rs",
    "crates/server/src/clock.rs",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn manifest(room: &str) -> Table {
    let path = root().join(room).join("Cargo.toml");
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

/// Every dependency of a manifest by name, of any kind and for any target.
fn dependencies(manifest: &Table) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (key, value) in manifest {
        let Some(table) = value.as_table() else {
            continue;
        };
        if matches!(
            key.as_str(),
            "dependencies" | "dev-dependencies" | "build-dependencies"
        ) {
            found.extend(table.keys().cloned());
        } else if key == "target" {
            for target in table.values().filter_map(toml::Value::as_table) {
                found.extend(dependencies(target));
            }
        }
    }
    found
}

/// Sources below a folder; tests of pure rooms may do what they like.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if name != "tests" {
                found.extend(sources(&path));
            }
        } else if path.extension().is_some_and(|kind| kind == "rs")
            && name != "tests.rs"
            && !name.ends_with("_tests.rs")
        {
            found.push(path);
        }
    }
    found
}

/// The code of a source: without comments, and without the tests at its end.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Words of a list that stand in the sources of a room, with their files.
fn found(room: &str, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for path in sources(&root().join(room).join("src")) {
        let code = code(&path);
        for word in words.iter().filter(|word| code.contains(**word)) {
            found.push(format!(
                "{word} in {}",
                path.strip_prefix(root()).unwrap().display()
            ));
        }
    }
    found
}

#[test]
fn every_crate_depends_only_on_those_of_the_table() {
    for (room, allowed) in ROOMS {
        let known: Vec<_> = dependencies(&manifest(room))
            .into_iter()
            .filter_map(|name| {
                name.strip_prefix("cambist")
                    .map(|n| n.trim_matches('-').to_owned())
            })
            // Its own tests may ask for its features.
            .filter(|name| room.rsplit('/').next() != Some(name.as_str()))
            .filter(|name| !allowed.contains(&name.as_str()))
            .collect();
        assert!(known.is_empty(), "{room} must not know {known:?}");
    }
}

#[test]
fn the_table_names_every_room() {
    let workspace = manifest("");
    let members = workspace["workspace"]["members"].as_array().unwrap();
    let members: BTreeSet<_> = members
        .iter()
        .map(|member| member.as_str().unwrap())
        .collect();
    let table: BTreeSet<_> = ROOMS.iter().map(|(room, _)| *room).chain(["."]).collect();
    assert_eq!(members, table);
}

#[test]
fn pure_rooms_reach_for_nothing_impure() {
    for room in PURE {
        let found = found(room, &IMPURE);
        assert!(found.is_empty(), "{room} is pure: {found:#?}");
        let outside = [
            "tokio", "reqwest", "axum", "hyper", "rusqlite", "rustix", "tracing",
        ];
        // What only examples and tests use does not make a room impure.
        let mut shipped = manifest(room);
        shipped.remove("dev-dependencies");
        let known = dependencies(&shipped);
        let wrong: Vec<_> = outside
            .iter()
            .filter(|name| known.contains(**name))
            .collect();
        assert!(wrong.is_empty(), "{room} is pure: {wrong:?}");
    }
}

#[test]
fn tape_and_market_data_know_files_but_no_clock_and_no_socket() {
    let words = ["std::net", "Instant", "SystemTime", "HashMap", "tokio"];
    for room in ["crates/tape", "crates/market-data"] {
        let found = found(room, &words);
        assert!(found.is_empty(), "{found:#?}");
    }
}

/// What does not trade has nothing in it that signs, or sends anything but a reading of a public page.
#[test]
fn modes_that_do_not_trade_reach_for_nothing_that_sends() {
    let words = [
        "secrets",
        "cambist_signing",
        "Credentials",
        "cambist_client::Client",
        "Client::",
        "venues::",
        "RequestWorkers",
        "SealWorker",
        "request_workers",
        "seal_worker",
        "reqwest",
        "Method::",
    ];
    let mut checked = 0;
    let folders = ["crates/daemon/src/feeds", "src/paper", "src/shadow"]
        .map(|name| sources(&root().join(name)));
    let files = folders.into_iter().flatten();
    for path in files.chain([root().join("src/observe.rs")]) {
        let code = code(&path);
        let wrong: Vec<_> = words.iter().filter(|word| code.contains(**word)).collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", path.display());
        checked += 1;
    }
    assert!(checked > 5, "{checked}");
    // The one way out is a GET without a body.
    let reader = code(&root().join("crates/client/src/public.rs"));
    assert_eq!(reader.matches("Method::").count(), 1);
    for words in [
        "Method::GET",
        "body: None",
        "api_key: None",
        "signature: None",
    ] {
        assert!(reader.contains(words), "{words}");
    }
}

/// The quick build's exceptions are not inherited by the build for installations.
#[test]
fn dist_optimises_what_release_does_not() {
    let manifest = manifest("");
    let profile = |name: &str| manifest["profile"][name]["package"].as_table().unwrap();
    let value = |table: &Table, name: &str, key: &str| {
        let package = table.get(name).and_then(toml::Value::as_table);
        package.and_then(|package| package.get(key)?.as_integer())
    };
    let (release, dist) = (profile("release"), profile("dist"));
    let level = |table, name: &str| value(table, name, "opt-level");
    let units = |table, name: &str| value(table, name, "codegen-units");
    let is_inherited = |name: &&String| {
        let slower = level(release, name).is_some_and(|level| level < 3);
        let parts = units(release, name).is_some_and(|units| units > 1);
        slower && level(dist, name) != Some(3) || parts && units(dist, name) != Some(1)
    };
    let inherited: Vec<_> = release.keys().filter(is_inherited).collect();
    assert!(
        inherited.is_empty(),
        "[profile.dist.package] lacks {inherited:?}"
    );
    assert!(release.len() > 40, "{}", release.len());
}

#[test]
fn one_file_a_program_reads_clocks() {
    let rooms = ROOMS.iter().map(|(room, _)| *room).chain([""]);
    let mut readers: Vec<_> = rooms
        .flat_map(|room| found(room, &["Instant::now", "SystemTime::now"]))
        .collect();
    readers.retain(|reader| {
        !CLOCKS
            .iter()
            .any(|clock| reader.ends_with(&format!(" in {clock}")))
    });
    // The demo's own stopwatch watches two processes and decides nothing about trading.
    let stopwatches = [
        "src/commands/demo.rs",
        "src/demo/crash_test.rs",
        "src/demo/on_exchange.rs",
        "src/demo/page.rs",
        "src/demo/stage.rs",
    ];
    readers.retain(|reader| {
        !stopwatches
            .iter()
            .any(|file| *reader == format!("Instant::now in {file}"))
    });
    assert!(readers.is_empty(), "{readers:#?}");
}

/// Where `Debug` of a value is in a call of a log macro: a field without its value's own form.
fn debugged(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in ["error!(", "warn!(", "info!(", "debug!(", "trace!("] {
        for (at, _) in code.match_indices(name) {
            let call = &code[at + name.len()..];
            let (mut depth, mut quoted, mut before) = (1, false, '(');
            let mut rest = call.char_indices().peekable();
            while let Some((at, c)) = rest.next() {
                match c {
                    '\\' if quoted => drop(rest.next()),
                    '"' => quoted = !quoted,
                    _ if quoted || c.is_whitespace() => continue,
                    '(' | '{' | '[' => depth += 1,
                    ')' | '}' | ']' => depth -= 1,
                    '?' if "(,=".contains(before) => {
                        let field: String = call[at..].chars().take(20).collect();
                        found.push(field);
                    }
                    _ => {}
                }
                before = c;
                if depth == 0 {
                    break;
                }
            }
        }
    }
    found
}

/// What reads the JSON log must not have to read Rust: `Some(AccountId(1))`.
#[test]
fn log_lines_hold_values() {
    let rooms = ROOMS.iter().map(|(room, _)| *room).chain([""]);
    let folders = rooms.map(|room| root().join(room).join("src"));
    let mut wrong = Vec::new();
    for path in folders.flat_map(|folder| sources(&folder)) {
        let found = debugged(&code(&path));
        wrong.extend(
            found
                .iter()
                .map(|field| format!("{field} in {}", path.display())),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let bad = "warn!(x = 1, \"why? {y:?}\"); info!(?account, a = ok()?); debug!(b = ?c)";
    assert_eq!(debugged(bad).len(), 2);
}

/// Names that types had before they were called as elsewhere in the field (the glossary of ARCHITECTURE.md).
const RETIRED: [&str; 39] = [
    "UnsignedMove",
    "RecoveredMove",
    "TrackedMove",
    "EndedMove",
    "PoolMoves",
    "MoveKind",
    "MoveReport",
    "MoveStatus",
    "MoveRow",
    "OpenMove",
    "RememberedMove",
    "MoveSent",
    "MoveEnded",
    "ForeignMove",
    "LevelChanged",
    "StoreLevel",
    "Situation",
    "Permits",
    "Tally",
    "Misfit",
    "Likeness",
    "Desk",
    "Keeper",
    "KeeperStuck",
    "Door",
    "DoorError",
    "Patience",
    "Reach",
    "Facts",
    "Playbill",
    "Wishes",
    "Lately",
    "Truth",
    "Knowledge",
    "Witness",
    "Purse",
    "Twin",
    "Denial",
    "Silence",
];

/// Which of `words` stand as whole identifiers in `code`.
fn identifiers<'a>(code: &str, words: &[&'a str]) -> Vec<&'a str> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let used: BTreeSet<&str> = code.split(|c| !part(c)).collect();
    let found = words.iter().filter(|word| used.contains(**word));
    found.copied().collect()
}

/// The files that name every version of stored types are left as they were written.
#[test]
fn retired_names_do_not_come_back() {
    let rooms = ROOMS.iter().map(|(room, _)| *room).chain([""]);
    let mut wrong = Vec::new();
    for path in rooms.flat_map(|room| sources(&root().join(room).join("src"))) {
        if path.ends_with("versions.rs")
            || path.components().any(|part| part.as_os_str() == "schema")
        {
            continue;
        }
        for word in identifiers(&code(&path), &RETIRED) {
            wrong.push(format!("{word} in {}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(
        identifiers("let desk: Desk = Deskless;", &RETIRED),
        ["Desk"]
    );
}

/// The folders of the engine and those that their files import. Files beside the folders are the composition, which
/// knows every folder.
fn engine_imports() -> BTreeMap<String, BTreeSet<String>> {
    let engine = root().join("crates/core/src/engine");
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in sources(&engine) {
        let Ok(inside) = path.strip_prefix(&engine) else {
            continue;
        };
        if inside.components().count() < 2 {
            continue;
        }
        let folder = inside.iter().next().unwrap_or_default();
        let folder = folder.to_string_lossy().into_owned();
        let code = code(&path);
        let each = code.split("crate::engine::").skip(1);
        let name = |rest: &str| {
            rest.split(|c: char| !(c.is_alphanumeric() || c == '_'))
                .next()
                .map(str::to_owned)
        };
        let each = each
            .filter_map(name)
            .filter(|name| engine.join(name).is_dir() && *name != folder);
        imports.entry(folder.clone()).or_default().extend(each);
        let grouped = code.contains("crate::engine::{");
        assert!(!grouped, "{}: one path an import", path.display());
    }
    imports
}

/// Folders that import each other in a circle, directly or not: what is left when those that import nothing of the
/// rest are taken away, again and again.
fn circle(mut imports: BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    loop {
        let left: BTreeSet<String> = imports.keys().cloned().collect();
        let before = imports.len();
        imports.retain(|_, others| others.iter().any(|other| left.contains(other)));
        if imports.len() == before {
            return imports.into_keys().collect();
        }
    }
}

#[test]
fn the_engines_folders_import_each_other_in_no_circle() {
    let imports = engine_imports();
    assert!(
        imports.len() >= 8 && imports["risk"].contains("intents"),
        "{imports:?}"
    );
    assert_eq!(circle(imports), [""; 0]);
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let round = [
        ("a", set(&["b"])),
        ("b", set(&["c"])),
        ("c", set(&["a"])),
        ("d", set(&[])),
    ];
    let round = round.map(|(name, others)| (name.to_owned(), others));
    assert_eq!(circle(round.into()), ["a", "b", "c"]);
}

/// Live trading, paper, backtests and worlds differ in what executes an action, not in how it gets there.
#[test]
fn only_the_driver_executes_actions() {
    let rooms = ROOMS.iter().map(|(room, _)| *room).chain([""]);
    let mut executing: Vec<_> = rooms
        .flat_map(|room| found(room, &["Action::Transmit"]))
        .collect();
    executing.sort();
    let allowed = [
        "crates/core/src/driver.rs",
        "crates/core/src/engine/orders/transmission.rs",
        // Its own actions: those of a small model.
        "crates/fence-model/src/model.rs",
    ];
    assert_eq!(
        executing,
        allowed.map(|file| format!("Action::Transmit in {file}"))
    );
}

/// The rules of the fence are checked by a model on their own: they know nothing of the engine.
#[test]
fn the_fence_knows_nothing_of_the_engine() {
    for file in ["fence.rs", "list_scan.rs"] {
        let code = code(&root().join("crates/core/src").join(file));
        assert!(!code.contains("engine::"), "{file}");
    }
}

/// What a status code says is the venue's: the daemon and the program ask its adapter, and name no code and no venue's
/// rules beside it.
#[test]
fn one_file_of_the_daemon_knows_its_venue() {
    let folders = ["crates/daemon/src", "src"];
    let files = folders
        .iter()
        .flat_map(|folder| sources(&root().join(folder)));
    let knows = |code: &str| {
        let mut codes = code.split("Reason::").skip(1);
        let is_one = |rest: &str| rest.chars().nth(1).is_some_and(|c| c.is_ascii_lowercase());
        codes.any(is_one) || code.contains("VenueRules::exchange")
    };
    let mut knowing: Vec<_> = files.filter(|path| knows(&code(path))).collect();
    let adapter = root().join("crates/daemon/src/adapter.rs");
    assert!(
        knowing.contains(&adapter),
        "the check finds what it looks for"
    );
    knowing.retain(|path| *path != adapter);
    assert!(knowing.is_empty(), "{knowing:#?}");
}

/// Every listed status code is what the exchange answers with somewhere, but for one that only an operator injects: an
/// order's amounts are reserved where it is checked, so reserving cannot fail by itself.
#[test]
fn every_status_code_is_emitted_by_the_exchange() {
    let folders = [
        "crates/server/src",
        "crates/venue/src",
        "crates/protocol/src",
    ];
    let files = folders
        .iter()
        .flat_map(|folder| sources(&root().join(folder)));
    let emitted: String = files
        // Tables of all codes, with what each endpoint may answer.
        .filter(|path| !path.ends_with("code.rs") && !path.ends_with("endpoint/table.rs"))
        .map(|path| code(&path))
        .collect();
    let missing: Vec<_> = cambist_core::Reason::LISTED
        .into_iter()
        .map(|reason| format!("Reason::{reason:?}"))
        .filter(|name| {
            let mut after = emitted.split(name.as_str()).skip(1);
            !after.any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
        })
        .collect();
    assert_eq!(missing, ["Reason::FreezeFailed"]);
}

#[test]
fn the_checks_can_fail() {
    let text = "[target.'cfg(unix)'.dependencies]\ncambist-venue.workspace = true\n";
    assert!(dependencies(&text.parse().unwrap()).contains("cambist-venue"));
    assert!(!found("crates/server", &["tokio"]).is_empty());
    assert!(!found("", &["std::fs"]).is_empty());
}
