//! The daemon's configuration file: all sections except the markets, and the rules between sections.
//!
//! Amounts stay decimals until they are bound to the venue's units.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use cambist_config::log::{LogConfig, read_log};
use cambist_core::config::{BudgetConfig, EngineConfig};
use cambist_core::portfolio::rules::ListedMarket;
use cambist_host::secrets::{self, Keys};

use super::Kind;
use super::market::{self, Market};
use super::messages::{self, Destination};
use super::mode::Mode;
use super::paper::{self, Paper};
use super::reader::{At, ConfigError, KnownKeys, Place, Problem, Section, Source};
use super::risk::{self, Risk};
use super::sections::{check_markets, read_budget, read_orders, read_poll, small, version};
use super::shadow;
use super::venue::{self, VenueLink};

/// The store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// State folder.
    pub dir: PathBuf,
    /// Days for which ended intents are kept.
    pub keep_days: u32,
}

/// The recordings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapeConfig {
    /// Folder of the tapes.
    pub dir: PathBuf,
    /// Most disk space of all tapes together, megabytes.
    pub max_mb: u64,
    /// Days after which tapes are removed.
    pub keep_days: u32,
}

/// Lifetime of orders, in the units of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orders {
    /// Time to live of an order, seconds.
    pub ttl_s: u64,
    /// Orders are replaced this long before their expiry, seconds.
    pub refresh_before_s: u64,
    /// The venue may show or fill an order this long after its expiry, seconds.
    pub grace_s: u64,
    /// Highest fee signed into an order.
    pub max_fee_bips: u8,
}

/// What happens to orders at shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnShutdown {
    /// Everything is cancelled, and proven.
    Cancel,
    /// Resting orders stay until they expire.
    Leave,
}

/// Port of the pages of a daemon that trades, by default.
pub const USUAL_PORT: u16 = 9_464;

/// A complete, checked configuration of the daemon.
#[derive(Clone, Debug)]
pub struct Daemon {
    /// The file it came from.
    pub source: Source,
    /// What `cambist run` does.
    pub mode: Mode,
    /// The venue.
    pub venue: VenueLink,
    /// Timeout of a request.
    pub request_timeout_ms: u64,
    /// Secrets of an account of the exchange interface.
    pub keys: Keys,
    /// Database.
    pub store: StoreConfig,
    /// Assumptions of paper trading.
    pub paper: Paper,
    /// The tape of the daemon beside which mode shadow runs.
    pub beside: Option<PathBuf>,
    /// Recordings, unless disabled.
    pub tape: Option<TapeConfig>,
    /// Address of the metrics listener.
    pub metrics: SocketAddr,
    /// Whether the file has the usual port: beside other venues it is then given another one.
    pub metrics_is_usual: bool,
    /// Logging.
    pub log: LogConfig,
    /// The engine's configuration as far as `[orders]` and `[poll]` set it; the rest is unset.
    pub engine: EngineConfig,
    /// Lifetime of orders.
    pub orders: Orders,
    /// Rate budget.
    pub budget: BudgetConfig,
    /// Limits of the account, and the ramp.
    pub risk: Risk,
    /// Position of the budget in the file.
    pub budget_at: Place,
    /// Expected fee rates of the account, maker and taker, in ten-thousandths.
    pub fee_bips: [u16; 2],
    /// What happens to orders at shutdown.
    pub on_shutdown: OnShutdown,
    /// Time after which draining gives up.
    pub drain_deadline_ms: u64,
    /// Where `cambist watch` writes to.
    pub messages: Vec<Destination>,
    /// Markets, at least one.
    pub markets: Vec<Market>,
}

/// What a command does with the venue of a file, which decides what the file must state of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VenueUse {
    /// Orders are signed according to the file: a venue on another machine must be pinned.
    Pinned,
    /// Nothing is signed according to the venue's units: pins may be missing.
    Unpinned,
    /// No venue is asked and no state is kept: `[venue]`, `[keys]`, `[store]` and `[market.feed]` may be missing.
    Unused,
}

impl VenueUse {
    /// Whether the file must state the account in this mode.
    pub(super) fn needs_account(self, mode: Mode) -> bool {
        mode.trades() && self != Self::Unused
    }
}

/// Sections of which a daemon that trades needs each, and a run on recorded data none.
const SECTIONS_OF_DAEMONS: [&str; 3] = ["venue", "keys", "store"];

/// Name of the state folder beside the file where a run on recorded data needs none: that of a daemon beside it, which
/// processes of strategies may not read.
const USUAL_STATE: &str = "state";

impl Daemon {
    /// Reads and checks a file. Relative paths in it are relative to the file's folder.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::parse(&Source::read(path)?)
    }

    /// As `load`, for commands that do not trade: finding a daemon, cancelling, reading. Pins may be missing.
    pub fn load_unpinned(path: &Path) -> Result<Self, ConfigError> {
        let mut keys = KnownKeys::default();
        Self::read(&Source::read(path)?, VenueUse::Unpinned, None, &mut keys)
    }

    /// As `load`, for commands that run on recorded data: `[venue]`, `[keys]`, `[store]` and `[market.feed]` may be
    /// missing. What is written of them is checked.
    pub fn load_for_data(path: &Path) -> Result<Self, ConfigError> {
        Self::parse_for_data(&Source::read(path)?)
    }

    /// As `load_for_data`, of a text.
    fn parse_for_data(source: &Source) -> Result<Self, ConfigError> {
        Self::read(source, VenueUse::Unused, None, &mut KnownKeys::default())
    }

    /// Refuses a file that is right for a run on recorded data and has none of the sections that only a daemon needs: that
    /// each of their keys is missing would not state what the file is.
    ///
    /// # Errors
    /// [`ConfigError`] with one problem, which names the commands that read the file.
    pub fn refuse_for_data(source: &Source) -> Result<(), ConfigError> {
        let read = source.read_any(|root| Some(SECTIONS_OF_DAEMONS.iter().any(|of| root.has(of))));
        let has_some = read.map_or(Some(true), |(found, _)| found);
        let is_for_data = has_some == Some(false)
            && Self::parse_for_data(source).is_ok_and(|daemon| daemon.mode.trades());
        if !is_for_data {
            return Ok(());
        }
        let at = Place { line: 1, column: 1 };
        let what = "this is a file for `cambist backtest` and `cambist sweep`, and not a daemon's: it has no [venue], [keys] and [store] (config/cambist.toml has them)";
        let what = what.to_owned();
        Err(source.invalid(vec![Problem { at, what }]))
    }

    /// As `load`, with a mode that overrides the file's.
    pub fn load_for(path: &Path, mode: Option<Mode>) -> Result<Self, ConfigError> {
        let mut keys = KnownKeys::default();
        Self::read(&Source::read(path)?, VenueUse::Pinned, mode, &mut keys)
    }

    /// Checks a text.
    pub fn parse(source: &Source) -> Result<Self, ConfigError> {
        let mut keys = KnownKeys::default();
        Self::parse_noting_keys(source, &mut keys)
    }

    /// As `parse`; also returns all keys that were read.
    pub fn parse_noting_keys(source: &Source, keys: &mut KnownKeys) -> Result<Self, ConfigError> {
        Self::read(source, VenueUse::Pinned, None, keys)
    }

    pub(super) fn read(
        source: &Source,
        used: VenueUse,
        mode: Option<Mode>,
        keys: &mut KnownKeys,
    ) -> Result<Self, ConfigError> {
        refuse_others(source)?;
        let held = source.clone();
        source.read_with(|reader, root| {
            let read = read(root, held, (used, mode), Parts::All);
            *keys = reader.keys();
            read
        })
    }

    /// What is usable of a file that has errors elsewhere: without the markets and destinations that have some, and with
    /// the defaults of other keys that have some. For a command that needs none of them.
    pub(super) fn usable(source: &Source) -> Option<Self> {
        let held = source.clone();
        let usual = (VenueUse::Unpinned, None);
        let read = source.read_any(|root| read(root, held, usual, Parts::Usable));
        read.ok()?.0
    }

    /// Decimals of a token by its symbol, if the file states them.
    pub fn decimals_of(&self, symbol: &str) -> Option<u8> {
        let of_market = |market: &Market| {
            let expected = &market.expected;
            let decimals = if market.base == symbol {
                &expected.base_decimals
            } else if market.quote == symbol {
                &expected.quote_decimals
            } else if symbol == format!("LP-{}", market.name.value) {
                &market.pool.as_ref()?.lp_units[0]
            } else {
                return None;
            };
            decimals.as_ref().map(|at| at.value)
        };
        self.markets.iter().find_map(of_market)
    }

    /// Names and tokens of its markets, as the venue writes them.
    pub fn listed_markets(&self) -> Vec<ListedMarket> {
        let listed = self.markets.iter().map(|market| ListedMarket {
            name: market.name.value.clone(),
            tokens: [market.base.clone(), market.quote.clone()],
        });
        listed.collect()
    }

    /// Files and folders of keys, state, recordings and destinations, which no process of a strategy may read.
    pub fn private_paths(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.store.dir.clone()];
        match &self.keys {
            Keys::Files { api_key, eddsa_key } => {
                paths.extend([api_key.clone(), eddsa_key.clone()]);
            }
            Keys::Signer { api_key, socket } => {
                paths.extend(api_key.clone());
                paths.push(socket.clone());
            }
            Keys::Credentials | Keys::None => {}
        }
        paths.extend(self.venue.secrets().into_iter().map(Path::to_owned));
        // Whatever the service manager provides there.
        paths.extend(secrets::credentials());
        paths.extend(self.tape.iter().map(|tape| tape.dir.clone()));
        paths.extend(self.messages.iter().map(|to| to.url_file.clone()));
        paths
    }

    /// The file in which a running daemon writes the address of its metrics.
    pub fn metrics_address_file(&self) -> PathBuf {
        metrics_address_file(&self.store.dir)
    }

    /// Longest time from the loss of all control until no own order can fill, seconds.
    pub const fn dead_after_s(&self) -> u64 {
        self.orders.ttl_s + self.orders.grace_s
    }
}

/// The file in which the daemon of a state folder writes the address of its metrics.
pub(super) fn metrics_address_file(dir: &Path) -> PathBuf {
    dir.join("metrics.address")
}

/// Refuses a file that is not that of one venue's daemon.
pub(super) fn refuse_others(source: &Source) -> Result<(), ConfigError> {
    source.refuse_other(Kind::Exchange)?;
    if !source.names_venues() {
        return Ok(());
    }
    let at = Place { line: 1, column: 1 };
    let what = "this is the file of a portfolio ([[venue]]): name the file of one of its venues here, or the venue with --venue where a command takes it (docs/portfolio.md)";
    let what = what.to_owned();
    Err(source.invalid(vec![Problem { at, what }]))
}

/// Which parts of a list of sections are taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    /// All, or the file is invalid.
    All,
    /// Those that could be read.
    Usable,
}

impl Parts {
    fn of<T>(self, read: Vec<Option<T>>) -> Option<Vec<T>> {
        match self {
            Self::All => read.into_iter().collect(),
            Self::Usable => Some(read.into_iter().flatten().collect()),
        }
    }
}

/// The state folder of a mode whose file need not name it, beside the file.
pub(super) fn usual_state(mode: Mode) -> Option<&'static str> {
    (!mode.trades()).then(|| mode.name())
}

/// `[store]`; without `usual` the file must name the state folder.
pub(super) fn read_store(
    section: &mut Section<'_, '_>,
    usual: Option<&str>,
    folder: &Path,
) -> Option<StoreConfig> {
    let dir = match (section.opt::<PathBuf>("dir"), usual) {
        (None, Some(usual)) if !section.has("dir") => Some(At {
            value: PathBuf::from(usual),
            at: section.at(),
        }),
        (None, None) if !section.has("dir") => section.req::<PathBuf>("dir"),
        (found, _) => found,
    };
    let keep_days = section.number("keep_days", 30, 1..=3_650);
    dir.map(|dir| StoreConfig {
        dir: folder.join(dir.value),
        keep_days: small(keep_days.value),
    })
}

/// `[tape]`; `None` if nothing is recorded.
pub(super) fn read_tape(
    section: &mut Section<'_, '_>,
    store: Option<&StoreConfig>,
    folder: &Path,
) -> Option<TapeConfig> {
    let is_recorded = section.or("enabled", true);
    let dir = section.opt::<PathBuf>("dir");
    let max_mb = section.number("max_mb", 1_024, 1..=1_000_000);
    let keep_days = section.number("keep_days", 14, 1..=3_650);
    let beside_store = store.map(|store| store.dir.join("tape"));
    let dir = dir.map(|dir| folder.join(dir.value)).or(beside_store);
    dir.filter(|_| is_recorded.value).map(|dir| TapeConfig {
        dir,
        max_mb: max_mb.value,
        keep_days: small(keep_days.value),
    })
}

#[expect(
    clippy::too_many_lines,
    reason = "one line a key, in the order of the file"
)]
fn read(
    mut root: Section<'_, '_>,
    source: Source,
    (used, mode): (VenueUse, Option<Mode>),
    parts: Parts,
) -> Option<Daemon> {
    let folder = source.path.parent().unwrap_or(Path::new("")).to_owned();
    version(&mut root);
    let written = root.word("mode", &Mode::WORDS, Mode::Live);
    let mode = mode.unwrap_or(written.value);

    let mut section = root.section("venue");
    let kind = venue::kind(&mut section)?;
    let mut venue = venue::read(&mut section, &kind, (mode, used), &folder);
    section.finish();

    let mut section = root.section("keys");
    let keys = if used == VenueUse::Unused && !section.is_written() {
        Some(Keys::None)
    } else {
        venue.read_secrets(&mut section, &folder, mode)
    };
    section.finish();

    let mut section = root.section("store");
    let usual = match used {
        VenueUse::Unused => Some(USUAL_STATE),
        VenueUse::Pinned | VenueUse::Unpinned => usual_state(mode),
    };
    let store = read_store(&mut section, usual, &folder);
    section.finish();

    let mut section = root.section("tape");
    let tape = read_tape(&mut section, store.as_ref(), &folder);
    section.finish();

    let paper = if mode.simulates() || root.has("paper") {
        paper::read(root.section("paper"))
    } else {
        Paper::default()
    };
    let beside = if mode == Mode::Shadow || root.has("shadow") {
        shadow::read(root.section("shadow"), &folder)
    } else {
        None
    };

    let mut section = root.section("metrics");
    // A run that does not trade must not take the port of a daemon that does.
    let usual = if mode.trades() { USUAL_PORT } else { 0 };
    let listen = section.or("listen", SocketAddr::from(([127, 0, 0, 1], usual)));
    let metrics_is_usual = listen.value.port() == USUAL_PORT;
    let allow_remote = section.or("allow_remote", false);
    if !listen.value.ip().is_loopback() && !allow_remote.value {
        let what = format!(
            "metrics.listen = {} is reachable from other machines; use 127.0.0.1, or state metrics.allow_remote = true",
            listen.value
        );
        section.problem(listen.at, what);
    }
    section.finish();

    let log = read_log(root.section("log"));

    let mut section = root.section("orders");
    let mut engine = EngineConfig::unset();
    let orders = read_orders(&mut section, &mut engine, &venue);
    section.finish();

    let mut section = root.section("poll");
    read_poll(&mut section, &mut engine);
    section.finish();

    let mut section = root.section("budget");
    let budget = read_budget(&mut section, &venue);
    let budget_at = section.at();
    section.finish();

    let risk = risk::read(&mut root, &orders, &budget, engine.poll.depth_ms);

    let mut section = root.section("fees");
    let maker = section.number("maker_bips", 0, 0..=63);
    let taker = section.number("taker_bips", 0, 0..=63);
    for fee in [&maker, &taker] {
        if fee.value > u64::from(orders.max_fee_bips) {
            let what = format!(
                "a fee of {} ten-thousandths is above orders.max_fee_bips = {}: the venue would refuse every order",
                fee.value, orders.max_fee_bips
            );
            section.problem(fee.at, what);
        }
    }
    section.finish();

    let mut section = root.section("shutdown");
    let on_shutdown = section.word(
        "on_shutdown",
        &[("cancel", OnShutdown::Cancel), ("leave", OnShutdown::Leave)],
        OnShutdown::Cancel,
    );
    let least = orders.ttl_s + orders.grace_s;
    let deadline_s = section.number("deadline_s", least + 15, 1..=100_000);
    if deadline_s.value <= least {
        let what = format!(
            "shutdown.deadline_s = {} must exceed orders.ttl_s + orders.grace_s = {least}: an unknown order is proven dead only then",
            deadline_s.value
        );
        section.problem(deadline_s.at, what);
    }
    section.finish();

    let written = root.sections("messages").into_iter();
    let messages = written.map(|section| messages::read(section, &folder));
    let messages = parts.of(messages.collect());

    let depth_ms = engine.poll.depth_ms;
    let markets: Vec<_> = root
        .sections("market")
        .into_iter()
        .map(|section| market::read(section, depth_ms, (mode, used), &venue, &folder))
        .collect();
    check_markets(&root, &markets);
    let markets = parts.of(markets);
    let fee_bips = [small(maker.value), small(taker.value)];

    let daemon = (|| {
        Some(Daemon {
            source,
            mode,
            paper,
            venue: VenueLink {
                base_url: venue.base_url.or_else(|| venue::without(mode, used))?,
                terms: venue.terms?,
            },
            request_timeout_ms: venue.request_timeout_ms,
            keys: keys?,
            store: store?,
            beside,
            tape,
            metrics_is_usual,
            metrics: match mode {
                // Its file is often a copy of the one of the daemon beside it, whose port it must not take.
                Mode::Shadow => SocketAddr::new(listen.value.ip(), 0),
                Mode::Live | Mode::Paper | Mode::Record | Mode::Observe => listen.value,
            },
            log,
            engine,
            orders,
            budget,
            risk,
            budget_at,
            fee_bips,
            on_shutdown: on_shutdown.value,
            drain_deadline_ms: deadline_s.value * 1_000,
            messages: messages?,
            markets: markets?,
        })
    })();
    root.finish();
    daemon
}
