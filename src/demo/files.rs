//! The demo's folder: the two example configurations, with changes for a private run.

use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_core::MarketSpec;
use cambist_strategies::Promise;
use toml::{Table, Value};

use crate::demo::on_exchange::Dialect;
use crate::demo::scenario_player::ScenarioPlayer;
use cambist_config::reader::Source;
use cambist_exchange::config::Exchange;

const VENUE: &str = include_str!("../../config/venue.toml");
const DAEMON: &str = include_str!("../../config/demo.toml");
/// Parameters of strategies for a market like the demo's.
const STRATEGIES: &str = include_str!("../../config/demo-strategies.toml");
/// The largest swap of a demo of a strategy that swaps, and how many a minute it may ask for.
const SWAP_VALUE_MAX: &str = "1500 USDC";
const SWAPS_PER_MIN: i64 = 30;

/// The daemon's configuration, in the demo's folder.
pub const DAEMON_FILE: &str = "daemon.toml";
/// The file with the token of the exchange's operator, in the demo's folder.
pub const OPERATOR_TOKEN: &str = "keys/admin_token";

/// A private folder, removed on drop unless it is kept.
pub struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    /// Creates a folder in the system's folder for temporary files.
    pub fn new() -> anyhow::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let random = getrandom::u64().context("random number of the system")?;
        let path = std::env::temp_dir().join(format!("cambist-demo-{random:016x}"));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("temporary folder {}", path.display()))?;
        Ok(Self { path, keep: false })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets whether the folder is kept, because its files explain a failure.
    pub const fn keep(&mut self, keep: bool) {
        self.keep = keep;
    }

    /// Whether it stays.
    pub const fn is_kept(&self) -> bool {
        self.keep
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            // Remaining files in a temporary folder do no harm.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// The markets of the demo's exchange.
pub fn markets() -> anyhow::Result<Vec<MarketSpec>> {
    let source = Source {
        path: "config/venue.toml".into(),
        text: VENUE.to_owned(),
    };
    Ok(Exchange::parse(&source)?.markets)
}

/// Writes the exchange's configuration: any free port, keys in the folder, and the scenario in place of its traders.
pub fn write_venue(
    folder: &Path,
    seed: u64,
    scenario: &ScenarioPlayer,
    dialect: &Dialect,
) -> anyhow::Result<PathBuf> {
    let mut file: Table = VENUE.parse().context("the built-in config/venue.toml")?;
    set(&mut file, &["listen", "address"], "127.0.0.1:0");
    table(&mut file, "listen").remove("public_url");
    set(
        &mut file,
        &["maker", "keys_dir"],
        folder.join("keys").display().to_string(),
    );
    set(&mut file, &["admin", "listen"], "127.0.0.1:0");
    let token = folder.join(OPERATOR_TOKEN).display().to_string();
    set(&mut file, &["admin", "token_file"], token);
    file.remove("traders");
    let played = folder.join("scenario.toml");
    std::fs::write(&played, &scenario.source.text).with_context(|| played.display().to_string())?;
    set(&mut file, &["scenario", "play"], "scenario.toml");
    set(&mut file, &["scenario", "seed"], seed.cast_signed());
    let duration_s = scenario.duration_s.cast_signed();
    set(&mut file, &["scenario", "duration_s"], duration_s);
    (dialect.of_exchange)(&mut file, folder);
    let path = write(folder.join("venue.toml"), &file)?;
    (dialect.make_keys)(&path)?;
    Ok(path)
}

/// Writes the daemon's configuration for a running exchange.
pub fn write_daemon(
    folder: &Path,
    base_url: &str,
    strategy: Option<&str>,
    dialect: &Dialect,
) -> anyhow::Result<PathBuf> {
    let mut file: Table = DAEMON.parse().context("the built-in config/demo.toml")?;
    set(&mut file, &["venue", "base_url"], base_url);
    for key in ["api_key", "eddsa_key"] {
        let path = folder.join("keys").join(key).display().to_string();
        set(&mut file, &["keys", &format!("{key}_file")], path);
    }
    set(
        &mut file,
        &["store", "dir"],
        folder.join("state").display().to_string(),
    );
    set(
        &mut file,
        &["tape", "dir"],
        folder.join("tape").display().to_string(),
    );
    set(&mut file, &["metrics", "listen"], "127.0.0.1:0");
    // Shorter intervals for the demo's display.
    set(&mut file, &["poll", "status_ms"], 200);
    if let Some(name) = strategy {
        choose(&mut file, name)?;
    }
    (dialect.of_daemon)(&mut file, folder);
    write(folder.join(DAEMON_FILE), &file)
}

/// Writes the configuration of a restarted daemon whose target is no pool shares.
pub fn write_leaving(folder: &Path) -> anyhow::Result<PathBuf> {
    let first = folder.join(DAEMON_FILE);
    let text = std::fs::read_to_string(&first).with_context(|| first.display().to_string())?;
    let mut file: Table = text.parse().with_context(|| first.display().to_string())?;
    let markets = file.get_mut("market").and_then(Value::as_array_mut);
    let markets = markets
        .into_iter()
        .flatten()
        .filter_map(Value::as_table_mut);
    for market in markets {
        let strategies = market.get_mut("strategy").and_then(Value::as_array_mut);
        let strategies = strategies.into_iter().flatten();
        for strategy in strategies.filter_map(Value::as_table_mut) {
            let params = table(strategy, "params");
            for key in ["target_share_bps", "enter_below_bps", "leave_above_bps"] {
                params.insert(key.to_owned(), 0.into());
            }
        }
    }
    write(folder.join("daemon-again.toml"), &file)
}

/// Parameters of a strategy for the demo's market, if there are any.
pub fn suited(name: &str) -> anyhow::Result<Option<Table>> {
    let mut all: Table = STRATEGIES
        .parse()
        .context("the built-in config/demo-strategies.toml")?;
    Ok(match all.remove(name) {
        Some(Value::Table(params)) => Some(params),
        Some(_) | None => None,
    })
}

/// Whether what was named is a program of one's own: it is a path, and no name of the registry has a slash or a
/// dot.
pub fn is_program(strategy: &str) -> bool {
    strategy.contains(['/', '.'])
}

/// A strategy that runs in a process: a program, or a file of Python.
fn program(path: &str) -> anyhow::Result<Table> {
    let whole = std::path::absolute(path).with_context(|| path.to_owned())?;
    let stem = whole
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let file = whole.display().to_string();
    anyhow::ensure!(whole.is_file(), "{file} is no file");
    let python = whole.extension().is_some_and(|kind| kind == "py");
    let interpreter = python.then(|| "python3".to_owned());
    let command: Vec<_> = interpreter
        .into_iter()
        .chain([file])
        .map(Value::from)
        .collect();
    Ok(Table::from_iter([
        ("kind".to_owned(), "process".into()),
        ("name".to_owned(), stem.unwrap_or_default().into()),
        ("command".to_owned(), command.into()),
        ("swaps".to_owned(), true.into()),
    ]))
}

/// The scenario for a strategy, in a demo that names none.
pub fn suited_scenario(strategy: Option<&str>) -> &'static str {
    match strategy.and_then(promise) {
        Some(Promise::Swaps) => "swapped",
        _ => "calm",
    }
}

fn promise(strategy: &str) -> Option<Promise> {
    Some(cambist_strategies::find(strategy)?.promise)
}

/// Swaps of this value with the pools of all markets.
fn allow_swaps(file: &mut Table) {
    let markets = file.get_mut("market").and_then(Value::as_array_mut);
    let markets = markets.into_iter().flatten();
    for market in markets.filter_map(Value::as_table_mut) {
        let pool = table(market, "pool");
        pool.insert("swap_value_max".to_owned(), SWAP_VALUE_MAX.into());
        pool.insert("swaps_per_min".to_owned(), SWAPS_PER_MIN.into());
    }
}

/// What strategies need that take from the book: orders that may. They are alone at their market.
fn allow_rounds(file: &mut Table) {
    set(file, &["orders", "maker_only"], false);
    let markets = file.get_mut("market").and_then(Value::as_array_mut);
    let markets = markets.into_iter().flatten();
    for market in markets.filter_map(Value::as_table_mut) {
        let strategies = market.get_mut("strategy").and_then(Value::as_array_mut);
        let strategies = strategies.into_iter();
        strategies.for_each(|strategies| strategies.truncate(1));
    }
}

/// Sets one strategy for every market: of the registry, with parameters for the demo's market, or a program of one's
/// own.
fn choose(file: &mut Table, name: &str) -> anyhow::Result<()> {
    let mut choice = if is_program(name) {
        program(name)?
    } else {
        Table::from_iter([("name".to_owned(), Value::from(name))])
    };
    if let Some(params) = suited(name)? {
        choice.insert("params".to_owned(), params.into());
    }
    let Some(Value::Array(markets)) = file.get_mut("market") else {
        return Ok(());
    };
    for market in markets.iter_mut().filter_map(Value::as_table_mut) {
        let Some(Value::Array(strategies)) = market.get_mut("strategy") else {
            continue;
        };
        // A strategy that holds pool shares stays beside the one that quotes.
        strategies.retain(|kept| {
            let kept = kept.get("name").and_then(Value::as_str);
            kept == Some(cambist_strategies::LP_MANAGER) && kept != Some(name)
        });
        strategies.insert(0, Value::Table(choice.clone()));
    }
    let takes = matches!(promise(name), Some(Promise::Swaps | Promise::Weight));
    if takes {
        allow_rounds(file);
    }
    if takes || is_program(name) {
        allow_swaps(file);
    }
    Ok(())
}

pub(super) fn table<'a>(file: &'a mut Table, name: &str) -> &'a mut Table {
    let section = file
        .entry(name)
        .or_insert_with(|| Value::Table(Table::new()));
    if !section.is_table() {
        *section = Value::Table(Table::new());
    }
    section
        .as_table_mut()
        .expect("it was made a table just now")
}

pub(super) fn set(file: &mut Table, path: &[&str; 2], value: impl Into<Value>) {
    table(file, path[0]).insert(path[1].to_owned(), value.into());
}

/// Writes a file that only its owner reads.
pub(super) fn private(path: &Path, text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::File::options();
    let file = options.write(true).create_new(true).mode(0o600);
    let written = file
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| path.display().to_string())
}

pub(super) fn write(path: PathBuf, file: &Table) -> anyhow::Result<PathBuf> {
    let text = toml::to_string(file).context("writing configuration")?;
    std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    Ok(path)
}
