//! The exchange's configuration file: listen address, tokens, markets, pools, fees, limits, the maker's account and the
//! simulated traders, as plain data.

mod kraken;
mod listen;
mod pools;
pub mod scenario;
mod server_limits;
mod services;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, MarketId, MarketSpec, Price, TokenId, TokenSpec};
use cambist_server::Retention;
use cambist_venue::agents::AgentsConfig;
use cambist_venue::{AccountOpening, PriceBand};

use crate::config::server_limits::Bounds;
use cambist_config::Kind;
use cambist_config::log::{LogConfig, read_log};
use cambist_config::money::Money;
use cambist_config::reader::{At, ConfigError, KnownKeys, Section, Source};
use cambist_config::{is_address, small, version};

use crate::config::scenario::Play;
pub use kraken::KrakenSettings;
pub use listen::Listen;
pub use pools::Pool;
pub use services::{ServiceDelays, ServiceFees};

/// The market maker's account, and where its keys are written at the first start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maker {
    /// Folder of `api_key` and `eddsa_key`, created with mode 0700, files 0600.
    pub keys_dir: PathBuf,
    /// Account id.
    pub account_id: u32,
    /// Owner address, lower case.
    pub owner: String,
    /// Opening balances in base units.
    pub funds: SortedMap<TokenId, Amount>,
}

/// Highest account id of the maker: higher ids belong to accounts opened by clients and to simulated traders.
pub const MAKER_ACCOUNT_MAX: u64 = 19_999;

/// The operator listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    /// A loopback address.
    pub listen: SocketAddr,
    /// File with the token, mode 0600; created at the first start.
    pub token_file: PathBuf,
}

/// A complete, checked configuration of the exchange.
#[expect(
    clippy::struct_excessive_bools,
    reason = "settings that are independent of each other"
)]
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Address to bind, and URLs for clients.
    pub listen: Listen,
    /// Logging.
    pub log: LogConfig,
    /// Chain id published and signed.
    pub chain_id: u64,
    /// Exchange address published and signed, lower case.
    pub address: String,
    /// Deposit address published.
    pub deposit_address: String,
    /// Maker and taker fee in ten-thousandths, taken from the bought token.
    pub fee_bips: [u16; 2],
    /// Bounds of one client, one address and one connection.
    pub bounds: Bounds,
    /// Whether replacing an API key requires a signature.
    pub require_api_key_signature: bool,
    /// Whether transfers, withdrawals and key updates require the owner's wallet or an approved hash.
    pub require_wallet_for_funds: bool,
    /// Whether market data beside the interface is served.
    pub market_data: bool,
    /// Whether the interface's text is applied strictly, without the differences of public clients.
    pub strict: bool,
    /// Data folder; without one everything is in memory.
    pub data_dir: Option<PathBuf>,
    /// Whether a data folder that is missing or empty is made, with a new exchange.
    pub create_data: bool,
    /// How much history is kept beyond what a start needs.
    pub retention: Retention,
    /// Free bytes on the disk of the data folder below which the exchange warns.
    pub free_min_bytes: u64,
    /// How far a folder's time may be ahead of the system clock at a start.
    pub time_ahead_max_ms: u64,
    /// Kraken's interface, if it is served.
    pub kraken: Option<KrakenSettings>,
    /// The operator listener, if configured.
    pub admin: Option<Admin>,
    /// Tokens; LP tokens of the pools come last.
    pub tokens: Vec<TokenSpec>,
    /// Token contract addresses, as the tokens.
    pub token_addresses: Vec<String>,
    /// Markets with the exact scale.
    pub markets: Vec<MarketSpec>,
    /// Price aggregation levels of each market.
    pub aggregation_levels: Vec<u8>,
    /// Price band of each market, if it has one.
    pub price_bands: Vec<Option<PriceBand>>,
    /// Pools.
    pub pools: Vec<Pool>,
    /// Fees of transfers, withdrawals and key updates.
    pub service_fees: ServiceFees,
    /// Minimum of a transfer that opens an account.
    pub opening: AccountOpening,
    /// Delays.
    pub delays: ServiceDelays,
    /// The market maker's account.
    pub maker: Maker,
    /// Simulated traders.
    pub traders: Vec<AgentsConfig>,
}

impl Exchange {
    /// Reads and checks a file. Relative paths in it are taken from the file's folder.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::parse(&Source::read(path)?)
    }

    /// The file in which a running exchange writes its address.
    pub fn address_file(&self) -> PathBuf {
        self.maker.keys_dir.join("venue.address")
    }

    /// The file in which a running exchange writes the address of its operator listener.
    pub fn admin_address_file(&self) -> PathBuf {
        self.maker.keys_dir.join("admin.address")
    }

    /// Checks a text.
    pub fn parse(source: &Source) -> Result<Self, ConfigError> {
        Self::parse_noting_keys(source, &mut KnownKeys::default())
    }

    /// As `parse`; also returns all keys that were read.
    pub fn parse_noting_keys(source: &Source, keys: &mut KnownKeys) -> Result<Self, ConfigError> {
        source.refuse_other(Kind::Daemon)?;
        let folder = source.path.parent().unwrap_or(Path::new("")).to_owned();
        let (mut exchange, play) = source.read_with(|reader, root| {
            let exchange = read(root, &folder);
            *keys = reader.keys();
            exchange
        })?;
        if let Some(play) = play {
            exchange.play(play)?;
        }
        Ok(exchange)
    }
}

fn read(mut root: Section<'_, '_>, folder: &Path) -> Option<(Exchange, Option<Play>)> {
    version(&mut root);

    let listen = listen::read(root.section("listen"));

    let log = read_log(root.section("log"));

    let mut section = root.section("exchange");
    let chain_id = section.number("chain_id", 1, 1..=u64::from(u32::MAX));
    let exchange_address = address(&mut section, "address");
    let deposit_address = address(&mut section, "deposit_address");
    let maker_bips = section.number("maker_fee_bips", 0, 0..=63);
    let taker_bips = section.number("taker_fee_bips", 10, 0..=63);
    let require_signature = section.or("require_api_key_signature", false);
    let require_wallet = section.or("require_wallet_for_funds", true);
    let market_data = section.or("market_data", true);
    let dialect = section.or("dialect", "none".to_owned());
    if !["none", "kraken"].contains(&dialect.value.as_str()) {
        let what = "exchange.dialect must be \"none\" or \"kraken\"";
        section.problem(dialect.at, what);
    }
    let compat = section.or("compat", "both".to_owned());
    if !["both", "strict"].contains(&compat.value.as_str()) {
        let what = "exchange.compat must be \"both\" or \"strict\"";
        section.problem(compat.at, what);
    }
    section.finish();

    let bounds = server_limits::read(&mut root);

    let data = data(root.section("data"), folder);
    let is_kraken = dialect.value == "kraken";
    let kraken = kraken::read(root.section("kraken"), is_kraken, folder);

    let admin = admin(root.section("admin"), folder, listen.address);

    let mut listed = Vec::new();
    let tokens: Option<Vec<_>> = root
        .sections("token")
        .into_iter()
        .map(|section| token(section, &mut listed))
        .collect();
    let tokens = tokens?;
    let (mut addresses, mut tokens): (Vec<_>, Vec<_>) = tokens.into_iter().unzip();

    let markets: Option<Vec<_>> = root
        .sections("market")
        .into_iter()
        .enumerate()
        .map(|(index, section)| market(index, section, &tokens))
        .collect();
    let markets = markets?;
    let (markets, shown): (Vec<_>, Vec<_>) = markets.into_iter().unzip();
    let (aggregation_levels, price_bands) = shown.into_iter().unzip();
    if markets.is_empty() {
        root.missing("market", "at least one [[market]] is needed");
    }

    let service_fees = services::fees(root.section("fees"), &tokens);
    let accounts_max = bounds.limits.accounts_max;
    let opening = services::opening(root.section("accounts"), &tokens, accounts_max);
    let delays = services::delays(root.section("delays"));
    let maker = maker(root.section("maker"), folder, &tokens);
    let (pools, shares) = pools::pools(root.sections("pool"), &markets, listed)?;
    addresses.extend(pools.iter().map(|pool| pool.address.clone()));
    tokens.extend(shares);
    let sections = root.sections("traders");
    let play = scenario::read(root.section("scenario"), folder, !sections.is_empty());
    let traders = traders(sections, &markets);
    root.finish();
    let exchange = Exchange {
        listen,
        log,
        chain_id: chain_id.value,
        address: exchange_address?,
        deposit_address: deposit_address?,
        fee_bips: [small(maker_bips.value), small(taker_bips.value)],
        bounds,
        require_api_key_signature: require_signature.value,
        require_wallet_for_funds: require_wallet.value,
        market_data: market_data.value,
        strict: compat.value == "strict",
        data_dir: data.dir,
        create_data: data.create,
        time_ahead_max_ms: data.time_ahead_max_ms,
        free_min_bytes: data.free_min_bytes,
        retention: data.retention,
        kraken,
        admin,
        tokens,
        token_addresses: addresses,
        markets,
        aggregation_levels,
        price_bands,
        pools,
        service_fees,
        opening,
        delays,
        maker: maker?,
        traders: traders?,
    };
    Some((exchange, play))
}

/// `[data]`.
struct Data {
    dir: Option<PathBuf>,
    create: bool,
    retention: Retention,
    free_min_bytes: u64,
    time_ahead_max_ms: u64,
}

fn data(mut section: Section<'_, '_>, folder: &Path) -> Data {
    let dir = section.opt::<PathBuf>("dir");
    let create = section.or("create", true);
    let keep_days = section.number("keep_days", 30, 0..=36_500);
    let time_ahead_max_s = section.number("time_ahead_max_s", 3_600, 0..=4_000_000_000);
    let keep_mb = section.number("keep_mb", 4_000, 0..=100_000_000);
    let free_min_mb = section.number("free_min_mb", 1_000, 0..=100_000_000);
    section.finish();
    Data {
        dir: dir.map(|dir| folder.join(dir.value)),
        create: create.value,
        retention: Retention {
            days: small(keep_days.value),
            bytes: keep_mb.value.saturating_mul(1_000_000),
        },
        free_min_bytes: free_min_mb.value.saturating_mul(1_000_000),
        time_ahead_max_ms: time_ahead_max_s.value.saturating_mul(1_000),
    }
}

/// `[admin]`, if it names a file for the token.
fn admin(mut section: Section<'_, '_>, folder: &Path, requests: SocketAddr) -> Option<Admin> {
    let listen = section.or("listen", SocketAddr::from(([127, 0, 0, 1], 8_788)));
    let token_file = section.opt::<PathBuf>("token_file");
    if !listen.value.ip().is_loopback() {
        let what = "admin.listen must be an address of this machine alone, such as 127.0.0.1";
        section.problem(listen.at, what);
    }
    if token_file.is_some() && requests == listen.value && requests.port() != 0 {
        let what = format!(
            "admin.listen = {requests} is listen.address as well (its default is 127.0.0.1:8788): use another port"
        );
        section.problem(listen.at, what);
    }
    section.finish();
    token_file.map(|file| Admin {
        listen: listen.value,
        token_file: folder.join(file.value),
    })
}

fn traders(sections: Vec<Section<'_, '_>>, markets: &[MarketSpec]) -> Option<Vec<AgentsConfig>> {
    let read = |mut section| {
        let traders = cambist_config::traders::traders(&mut section, markets, None);
        // A market that is not listed is reported once.
        if traders.is_some() {
            section.finish();
        }
        traders
    };
    sections.into_iter().map(read).collect()
}

fn address(section: &mut Section<'_, '_>, key: &'static str) -> Option<String> {
    let found = section.req::<String>(key)?;
    if is_address(&found.value) {
        return Some(found.value.to_ascii_lowercase());
    }
    section.problem(
        found.at,
        format!("{key} must be an address: 0x and 40 hexadecimal digits"),
    );
    None
}

/// Reads one token; `listed` are symbol and id of the previous ones.
fn token(
    mut section: Section<'_, '_>,
    listed: &mut Vec<(String, u64)>,
) -> Option<(String, TokenSpec)> {
    let symbol = section.req::<String>("symbol");
    let id = section.number("id", 0, 0..=32_767);
    if let Some(symbol) = &symbol {
        let is_duplicate =
            |(other, number): &(String, u64)| *other == symbol.value || *number == id.value;
        if listed.iter().any(is_duplicate) {
            // Its amounts are in another token with the same name, so further errors would be misleading.
            let what = format!("token {} (id {}) is listed twice", symbol.value, id.value);
            section.problem(symbol.at, what);
            return None;
        }
        listed.push((symbol.value.clone(), id.value));
    }
    let contract = address(&mut section, "address");
    let decimals = section.number("decimals", 18, 0..=27);
    let precision = section.number("precision", decimals.value, 0..=decimals.value);
    let minimum = section.req::<Money>("order_minimum");
    let maximum = section.req::<Money>("order_maximum");
    let dust = section.req::<Money>("dust");
    let dust_at = dust.as_ref().map(|dust| dust.at);
    let mut spec = TokenSpec {
        id: TokenId(small(id.value)),
        symbol: symbol?.value,
        decimals: small(decimals.value),
        precision: small(precision.value),
        minimum: 0,
        maximum: 0,
        dust: 0,
        enabled: true,
    };
    spec.minimum = units(&section, &spec, minimum)?;
    spec.maximum = units(&section, &spec, maximum)?;
    spec.dust = units(&section, &spec, dust)?;
    if spec.minimum >= spec.maximum || spec.maximum > cambist_core::token::AMOUNT_MAX {
        section.problem(
            section.at(),
            format!(
                "token {}: order_minimum must be below order_maximum, which must fit 96 bits",
                spec.symbol
            ),
        );
    }
    if let Some(at) = dust_at
        && spec.dust > spec.minimum
    {
        // Every order would count as filled while more than the smallest order of it is left.
        let what = format!(
            "token {}: dust must not be above order_minimum",
            spec.symbol
        );
        section.problem(at, what);
    }
    section.finish();
    Some((contract?, spec))
}

fn units(section: &Section<'_, '_>, token: &TokenSpec, money: Option<At<Money>>) -> Option<Amount> {
    let money = money?;
    match money.value.units(token) {
        Ok(units) => Some(units),
        Err(error) => {
            section.problem(money.at, format!("this amount: {error}"));
            None
        }
    }
}

fn market(
    index: usize,
    mut section: Section<'_, '_>,
    tokens: &[TokenSpec],
) -> Option<(MarketSpec, (u8, Option<PriceBand>))> {
    let name = section.req::<String>("name");
    let price_decimals = section.number("price_decimals", 2, 0..=27);
    let levels = section.number("aggregation_levels", 3, 1..=10);
    let band_bips = section.number("price_band_bips", 0, 0..=9_999);
    let band_window = section.number("price_band_window_s", 300, 1..=86_400);
    let band_reference = section.opt::<Money>("price_band_reference");
    let name = name?;
    let Some((base, quote)) = name.value.split_once('-') else {
        let what = "market.name must be BASE-QUOTE of two listed tokens";
        section.problem(name.at, what);
        return None;
    };
    let find = |symbol: &str| {
        let found = tokens.iter().find(|token| token.symbol == symbol).cloned();
        if found.is_none() {
            let what = format!("market.name = {:?}: no [[token]] is {symbol:?}", name.value);
            section.problem(name.at, what);
        }
        found
    };
    let (base, quote) = (find(base)?, find(quote)?);
    let id = MarketId(u16::try_from(index).ok()?);
    let made = MarketSpec::new(
        id,
        &name.value,
        base,
        quote,
        small(price_decimals.value),
        true,
    );
    let spec = made
        .map_err(|error| section.problem(name.at, error.to_string()))
        .ok();
    let band = price_band(&section, spec.as_ref(), &band_bips, band_reference)?;
    let band = band.map(|(bips, reference)| PriceBand {
        bips,
        window_s: small(band_window.value),
        reference,
    });
    section.finish();
    Some((spec?, (small(levels.value), band)))
}

/// Width and first reference of a price band: both or none.
#[expect(clippy::option_option, reason = "a mistake, no band, or one")]
fn price_band(
    section: &Section<'_, '_>,
    market: Option<&MarketSpec>,
    bips: &At<u64>,
    reference: Option<At<Money>>,
) -> Option<Option<(u16, Price)>> {
    let reference = match (bips.value, reference) {
        (0, None) => return Some(None),
        (1.., Some(reference)) => reference,
        (_, reference) => {
            let at = reference.map_or(bips.at, |reference| reference.at);
            let what = "market.price_band_bips above 0 and market.price_band_reference are given together or not at all";
            section.problem(at, what);
            return None;
        }
    };
    match reference.value.price(market?) {
        Ok(price) if price.0 > 0 => Some(Some((small(bips.value), price))),
        Ok(_) => {
            section.problem(reference.at, "market.price_band_reference must be above 0");
            None
        }
        Err(error) => {
            section.problem(
                reference.at,
                format!("market.price_band_reference: {error}"),
            );
            None
        }
    }
}

fn maker(mut section: Section<'_, '_>, folder: &Path, tokens: &[TokenSpec]) -> Option<Maker> {
    let keys_dir = section.req::<PathBuf>("keys_dir");
    let account_id = section.number("account_id", 10_000, 2..=MAKER_ACCOUNT_MAX);
    let owner = address(&mut section, "owner");
    let funds = services::by_token(&section.section("funds"), "maker.funds", tokens);
    section.finish();
    Some(Maker {
        keys_dir: folder.join(keys_dir?.value),
        account_id: small(account_id.value),
        owner: owner?,
        funds,
    })
}

#[cfg(test)]
mod tests;
