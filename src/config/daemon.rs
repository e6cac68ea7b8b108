//! The daemon's configuration file: every section but the markets, and the rules between sections.
//!
//! Knows nothing of what the venue publishes: amounts stay decimals until they are bound.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use cambist_core::config::{BudgetConfig, PollConfig};

use super::CONFIG_VERSION;
use super::market::{self, Market};
use super::reader::{At, ConfigError, Place, Section, Source};

/// Where the venue is and who we are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VenueLink {
    /// Base URL, without a trailing slash.
    pub base_url: At<String>,
    /// Our account.
    pub account_id: u32,
    /// Our owner address, `0x` and 40 hex digits.
    pub owner: String,
    /// Refuse to start on another chain.
    pub chain_id: Option<u64>,
    /// Refuse to start on another exchange address.
    pub exchange: Option<String>,
}

/// Where the secrets are. Never the secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Files of ours.
    Files {
        /// File with the API key.
        api_key: PathBuf,
        /// File with the EdDSA secret key in hexadecimal.
        eddsa_key: PathBuf,
    },
    /// `$CREDENTIALS_DIRECTORY/{api_key,eddsa_key}`, as the service manager hands them over.
    Credentials,
}

/// The database's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// State folder.
    pub dir: PathBuf,
    /// Ended intents are kept this long.
    pub keep_days: u32,
}

/// The recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapeConfig {
    /// Folder of the tapes.
    pub dir: PathBuf,
    /// Most disk space of all tapes together.
    pub max_mb: u64,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Human on a terminal, JSON otherwise.
    #[default]
    Auto,
    /// Human.
    Human,
    /// JSON.
    Json,
}

/// Logging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// Least important line printed.
    pub level: tracing::Level,
    /// Form of the lines.
    pub format: LogFormat,
}

/// Life of orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orders {
    /// Life of an order, seconds.
    pub ttl_s: u64,
    /// Replaced this long before its expiry, seconds.
    pub refresh_before_s: u64,
    /// The venue may show or fill an order this long after its expiry, seconds.
    pub grace_s: u64,
    /// No transmission starts later than this before expiry.
    pub resend_margin_ms: u64,
    /// Pause between transmissions of the same bytes.
    pub resend_after_ms: u64,
    /// Most transmissions of one order.
    pub attempts_max: u8,
    /// Highest fee signed into an order.
    pub max_fee_bips: u8,
    /// Orders are sent as maker-only.
    pub maker_only: bool,
}

/// What happens at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnShutdown {
    /// Everything is cancelled and proven.
    Cancel,
}

/// A complete, checked configuration of the daemon.
#[derive(Clone, Debug)]
pub struct Daemon {
    /// The file it came from.
    pub source: Source,
    /// The venue.
    pub venue: VenueLink,
    /// A request is given up after this.
    pub request_timeout_ms: u64,
    /// Secrets.
    pub keys: Keys,
    /// Database.
    pub store: StoreConfig,
    /// Recording, if wanted.
    pub tape: Option<TapeConfig>,
    /// Where metrics are served.
    pub metrics: SocketAddr,
    /// Logging.
    pub log: LogConfig,
    /// Life of orders.
    pub orders: Orders,
    /// Polling.
    pub poll: PollConfig,
    /// Between status notes.
    pub status_ms: u64,
    /// Rate budget.
    pub budget: BudgetConfig,
    /// Where the budget stands in the file.
    pub budget_at: Place,
    /// Fee rates of the account that fills are checked against: maker, taker, in ten-thousandths.
    pub fee_bips: [u16; 2],
    /// At the end.
    pub on_shutdown: OnShutdown,
    /// Draining gives up after this.
    pub drain_deadline_ms: u64,
    /// Markets, at least one.
    pub markets: Vec<Market>,
}

impl Daemon {
    /// Reads and checks a file. Relative paths in it are taken from the file's folder.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::parse(&Source::read(path)?)
    }

    /// Checks a text.
    pub fn parse(source: &Source) -> Result<Self, ConfigError> {
        let mut keys = std::collections::BTreeSet::new();
        Self::parse_noting_keys(source, &mut keys)
    }

    /// As `parse`, and tells every key that was asked for.
    pub fn parse_noting_keys(
        source: &Source,
        keys: &mut std::collections::BTreeSet<String>,
    ) -> Result<Self, ConfigError> {
        let held = source.clone();
        source.read_with(|reader, root| {
            let read = read(root, held);
            *keys = reader.keys();
            read
        })
    }

    /// Where a running daemon writes the address of its metrics.
    pub fn metrics_address_file(&self) -> PathBuf {
        self.store.dir.join("metrics.address")
    }

    /// Longest time from losing all control to the certainty that no own order can fill, seconds.
    pub const fn dead_after_s(&self) -> u64 {
        self.orders.ttl_s + self.orders.grace_s
    }
}

#[expect(
    clippy::too_many_lines,
    reason = "one line a key, in the order of the file"
)]
fn read(mut root: Section<'_, '_>, source: Source) -> Option<Daemon> {
    let folder = source.path.parent().unwrap_or(Path::new("")).to_owned();
    version(&mut root);

    let mut section = root.section("venue");
    let base_url = section.req::<String>("base_url");
    let account_id = section.number("account_id", 0, 0..=u64::from(u32::MAX));
    if section.is_written() && account_id.at == section.at() {
        section.problem(
            section.at(),
            "venue.account_id is missing; it must be a whole number",
        );
    }
    let owner = section.req::<String>("owner");
    let chain_id = section.opt::<u64>("chain_id");
    let exchange = section.opt::<String>("exchange");
    let request_timeout_ms = section.number("request_timeout_ms", 5_000, 100..=60_000);
    check_url(&section, base_url.as_ref());
    check_address(&section, "venue.owner", owner.as_ref());
    check_address(&section, "venue.exchange", exchange.as_ref());
    section.finish();

    let mut section = root.section("keys");
    let keys = read_keys(&mut section, &folder);
    section.finish();

    let mut section = root.section("store");
    let dir = section.req::<PathBuf>("dir");
    let keep_days = section.number("keep_days", 30, 1..=3_650);
    section.finish();
    let store = dir.map(|dir| StoreConfig {
        dir: folder.join(dir.value),
        keep_days: small(keep_days.value),
    });

    let mut section = root.section("tape");
    let dir = section.opt::<PathBuf>("dir");
    let max_mb = section.number("max_mb", 1_024, 1..=1_000_000);
    if section.is_written() && dir.is_none() {
        section.problem(
            section.at(),
            "tape.dir is missing; without it nothing is recorded",
        );
    }
    section.finish();
    let tape = dir.map(|dir| TapeConfig {
        dir: folder.join(dir.value),
        max_mb: max_mb.value,
    });

    let mut section = root.section("metrics");
    let listen = section.or("listen", SocketAddr::from(([127, 0, 0, 1], 9_464)));
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
    let orders = read_orders(&mut section);
    section.finish();

    let mut section = root.section("poll");
    let (poll, status_ms) = read_poll(&mut section);
    section.finish();

    let mut section = root.section("budget");
    let budget = read_budget(&mut section);
    let budget_at = section.at();
    section.finish();

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
        &[("cancel", OnShutdown::Cancel)],
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

    let markets: Vec<_> = root
        .sections("market")
        .into_iter()
        .map(|section| market::read(section, poll.depth_ms))
        .collect();
    check_markets(&root, &markets);
    let markets: Option<Vec<_>> = markets.into_iter().collect();
    let fee_bips = [small(maker.value), small(taker.value)];

    let daemon = (|| {
        Some(Daemon {
            source,
            venue: VenueLink {
                base_url: base_url?.map(|url| url.trim_end_matches('/').to_owned()),
                account_id: small(account_id.value),
                owner: owner?.value.to_ascii_lowercase(),
                chain_id: chain_id.map(|chain| chain.value),
                exchange: exchange.map(|address| address.value.to_ascii_lowercase()),
            },
            request_timeout_ms: request_timeout_ms.value,
            keys: keys?,
            store: store?,
            tape,
            metrics: listen.value,
            log,
            orders,
            poll,
            status_ms,
            budget,
            budget_at,
            fee_bips,
            on_shutdown: on_shutdown.value,
            drain_deadline_ms: deadline_s.value * 1_000,
            markets: markets?,
        })
    })();
    root.finish();
    daemon
}

/// The section about logging, the same in every file.
pub(super) fn read_log(mut section: Section<'_, '_>) -> LogConfig {
    let level = section.word("level", LEVELS, tracing::Level::INFO);
    let format = section.word("format", FORMATS, LogFormat::Auto);
    section.finish();
    LogConfig {
        level: level.value,
        format: format.value,
    }
}

const LEVELS: &[(&str, tracing::Level)] = &[
    ("error", tracing::Level::ERROR),
    ("warn", tracing::Level::WARN),
    ("info", tracing::Level::INFO),
    ("debug", tracing::Level::DEBUG),
    ("trace", tracing::Level::TRACE),
];

const FORMATS: &[(&str, LogFormat)] = &[
    ("auto", LogFormat::Auto),
    ("human", LogFormat::Human),
    ("json", LogFormat::Json),
];

/// Checks `config_version`, the first key of every file.
pub(super) fn version(root: &mut Section<'_, '_>) {
    if let Some(version) = root.req::<u64>("config_version")
        && version.value != CONFIG_VERSION
    {
        let what = format!(
            "config_version = {} is not known; this program reads version {CONFIG_VERSION}",
            version.value
        );
        root.problem(version.at, what);
    }
}

/// A number whose range was checked; a value out of range was reported and is not used.
pub(super) fn small<T: TryFrom<u64> + Default>(value: u64) -> T {
    T::try_from(value).unwrap_or_default()
}

fn read_keys(section: &mut Section<'_, '_>, folder: &Path) -> Option<Keys> {
    let api_key = section.opt::<PathBuf>("api_key_file");
    let eddsa_key = section.opt::<PathBuf>("eddsa_key_file");
    let credentials = section.or("credentials", false);
    match (credentials.value, api_key, eddsa_key) {
        (true, None, None) => Some(Keys::Credentials),
        (false, Some(api_key), Some(eddsa_key)) => Some(Keys::Files {
            api_key: folder.join(api_key.value),
            eddsa_key: folder.join(eddsa_key.value),
        }),
        (true, _, _) => {
            let what = "keys.credentials = true takes the keys from the service manager; remove keys.api_key_file and keys.eddsa_key_file";
            section.problem(credentials.at, what);
            None
        }
        (false, _, _) => {
            let what = "keys.api_key_file and keys.eddsa_key_file must both be given, or keys.credentials = true";
            section.problem(section.at(), what);
            None
        }
    }
}

fn read_orders(section: &mut Section<'_, '_>) -> Orders {
    let ttl_s = section.number("ttl_s", 120, 5..=86_400);
    let refresh_before_s = section.number("refresh_before_s", 20, 1..=86_399);
    let grace_s = section.number("grace_s", 30, 1..=3_600);
    let resend_margin_ms = section.number("resend_margin_ms", 3_000, 100..=600_000);
    let resend_after_ms = section.number("resend_after_ms", 1_500, 100..=60_000);
    let attempts_max = section.number("attempts_max", 3, 1..=10);
    let max_fee_bips = section.number("max_fee_bips", 63, 1..=63);
    let maker_only = section.or("maker_only", true);
    if refresh_before_s.value >= ttl_s.value {
        let what = format!(
            "orders.refresh_before_s = {} must be less than orders.ttl_s = {}",
            refresh_before_s.value, ttl_s.value
        );
        section.problem(refresh_before_s.at, what);
    }
    if resend_margin_ms.value >= ttl_s.value.saturating_mul(1_000) {
        let what = format!(
            "orders.resend_margin_ms = {} must be less than the life of an order, orders.ttl_s = {}",
            resend_margin_ms.value, ttl_s.value
        );
        section.problem(resend_margin_ms.at, what);
    }
    Orders {
        ttl_s: ttl_s.value,
        refresh_before_s: refresh_before_s.value,
        grace_s: grace_s.value,
        resend_margin_ms: resend_margin_ms.value,
        resend_after_ms: resend_after_ms.value,
        attempts_max: small(attempts_max.value),
        max_fee_bips: small(max_fee_bips.value),
        maker_only: maker_only.value,
    }
}

fn read_poll(section: &mut Section<'_, '_>) -> (PollConfig, u64) {
    let every = 50..=600_000;
    let age = 100..=3_600_000;
    let depth = section.number("depth_ms", 1_000, every.clone());
    let orders = section.number("orders_ms", 2_000, every.clone());
    let balances = section.number("balances_ms", 3_000, every.clone());
    let meta = section.number("meta_ms", 30_000, every.clone());
    let depth_age = section.number("depth_age_max_ms", 5_000, age.clone());
    let balances_age = section.number("balances_age_max_ms", 15_000, age.clone());
    let orders_age = section.number("orders_age_max_ms", 30_000, age);
    let orders_page = section.number("orders_page", 50, 1..=1_000);
    let status = section.number("status_ms", 1_000, every);
    for (name, age, between) in [
        ("depth", &depth_age, &depth),
        ("balances", &balances_age, &balances),
        ("orders", &orders_age, &orders),
    ] {
        if age.value <= between.value {
            let what = format!(
                "poll.{name}_age_max_ms = {} must exceed poll.{name}_ms = {}: every answer would be too old before the next one",
                age.value, between.value
            );
            section.problem(age.at, what);
        }
    }
    let poll = PollConfig {
        depth_ms: depth.value,
        orders_ms: orders.value,
        balances_ms: balances.value,
        meta_ms: meta.value,
        depth_age_max_ms: depth_age.value,
        balances_age_max_ms: balances_age.value,
        orders_age_max_ms: orders_age.value,
        orders_page: small(orders_page.value),
    };
    (poll, status.value)
}

fn read_budget(section: &mut Section<'_, '_>) -> BudgetConfig {
    let per_s = section.number("per_s", 15, 1..=10_000);
    let burst = section.number("burst", 15, 1..=10_000);
    let cancel_reserve = section.number("cancel_reserve", 4, 0..=10_000);
    let endpoint_per_s = section.number("endpoint_per_s", 3, 1..=10_000);
    let endpoint_burst = section.number("endpoint_burst", 2, 1..=10_000);
    let penalty_ms = section.number("penalty_ms", 2_000, 0..=600_000);
    if cancel_reserve.value >= burst.value {
        let what = format!(
            "budget.cancel_reserve = {} must be less than budget.burst = {}: nothing but cancels could ever be sent",
            cancel_reserve.value, burst.value
        );
        section.problem(cancel_reserve.at, what);
    }
    BudgetConfig {
        per_s: small(per_s.value),
        burst: small(burst.value),
        cancel_reserve: small(cancel_reserve.value),
        endpoint_per_s: small(endpoint_per_s.value),
        endpoint_burst: small(endpoint_burst.value),
        penalty_ms: penalty_ms.value,
    }
}

fn check_markets(root: &Section<'_, '_>, markets: &[Option<Market>]) {
    if markets.is_empty() {
        root.problem(root.at(), "at least one [[market]] is needed");
    }
    let found: Vec<_> = markets.iter().flatten().collect();
    for (index, market) in found.iter().enumerate() {
        if found[..index]
            .iter()
            .any(|other| other.name.value == market.name.value)
        {
            let what = format!("market {} is configured twice", market.name.value);
            root.problem(market.name.at, what);
        }
    }
    let strategies: usize = found.iter().map(|market| market.strategies.len()).sum();
    if strategies > usize::from(u8::MAX) {
        root.problem(
            root.at(),
            format!("{strategies} strategies; at most 255 are possible"),
        );
    }
}

fn check_url(section: &Section<'_, '_>, url: Option<&At<String>>) {
    let Some(url) = url else { return };
    let text = url.value.as_str();
    let host = |rest: &str| -> String {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        authority
            .rsplit_once(':')
            .map_or(authority, |(host, _)| host)
            .to_owned()
    };
    if text.contains('@') || text.contains(char::is_whitespace) {
        section.problem(
            url.at,
            "venue.base_url must not carry user names, passwords or spaces",
        );
    } else if let Some(rest) = text.strip_prefix("http://") {
        if !matches!(host(rest).as_str(), "127.0.0.1" | "localhost" | "[::1]") {
            let what = "venue.base_url may use http only for this machine (127.0.0.1); keys would travel in the open";
            section.problem(url.at, what);
        }
    } else if text
        .strip_prefix("https://")
        .is_none_or(|rest| host(rest).is_empty())
    {
        section.problem(
            url.at,
            "venue.base_url must begin with https:// or http://127.0.0.1",
        );
    }
}

fn check_address(section: &Section<'_, '_>, name: &str, address: Option<&At<String>>) {
    let Some(address) = address else { return };
    if !is_address(&address.value) {
        let what = format!("{name} must be an address: 0x and 40 hexadecimal digits");
        section.problem(address.at, what);
    }
}

/// Whether a text is `0x` and 40 hexadecimal digits.
pub(super) fn is_address(text: &str) -> bool {
    text.strip_prefix("0x")
        .is_some_and(|hex| hex.len() == 40 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
}
