//! The signer's file: account, key, callers, limits. Accepted as a whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use cambist_config::money::Money;
use cambist_config::{At, ConfigError, Place, Reader, Section, Source, is_address, version};
use cambist_host::secrets::{self, SecretError};
use cambist_signing::{Address, SecretKey};
use rust_decimal::Decimal;

use crate::rules::{MarketRule, PoolRule, Ratio, Rules, TokenRule};

/// Longest window of the second limit: 31 days.
const WINDOW_MAX_S: u64 = 31 * 86_400;
/// Longest time of validity: a day.
const TTL_MAX_S: u64 = 86_400;

/// A checked file.
#[derive(Clone, Debug)]
pub struct Config {
    /// The socket.
    pub socket: PathBuf,
    /// Users that may connect, beside root and the signer's own.
    pub users: Vec<u32>,
    /// Folder of what was signed.
    pub state_dir: PathBuf,
    /// Where the key is.
    pub key: KeyPlace,
    /// What is signed, and how much.
    pub rules: Rules,
}

/// Where the key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// A file, mode 0600.
    File(PathBuf),
    /// `$CREDENTIALS_DIRECTORY/eddsa_key`, as provided by the service manager.
    Credential,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be used.
    #[error("{0}")]
    File(#[from] SecretError),
    /// It holds something else.
    #[error(
        "{} does not hold a signing key in hexadecimal (0x and up to 64 digits, below the group's order)", .0.display()
    )]
    NotKey(PathBuf),
}

impl KeyPlace {
    /// Reads the key.
    ///
    /// # Errors
    /// The file cannot be used, or holds no key.
    pub fn read(&self) -> Result<SecretKey, KeyError> {
        let (path, is_credential) = match self {
            Self::File(path) => (path.clone(), false),
            Self::Credential => (secrets::credentials()?.join("eddsa_key"), true),
        };
        let text = secrets::read(&path, is_credential)?;
        SecretKey::from_hex(&text).map_err(|_| KeyError::NotKey(path))
    }
}

/// Reads and checks a file.
///
/// # Errors
/// Every mistake in it, with its line and column.
pub fn load(path: &Path) -> Result<Config, ConfigError> {
    let source = Source::read(path)?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    source.read_with(|reader, root| read(reader, root, &folder))
}

/// As [`load`], of a text; relative paths are those of `folder`.
///
/// # Errors
/// Every mistake in it.
pub fn parse(source: &Source, folder: &Path) -> Result<Config, ConfigError> {
    source.read_with(|reader, root| read(reader, root, folder))
}

fn read(reader: &Reader<'_>, mut root: Section<'_, '_>, folder: &Path) -> Option<Config> {
    version(&mut root);
    let mut signer = root.section("signer");
    let socket = signer.req::<PathBuf>("socket");
    let state_dir = signer.req::<PathBuf>("state_dir");
    let users = signer.req::<Vec<String>>("users");
    signer.finish();
    let users = users.and_then(|users| uids(reader, &users));
    let key = key(root.section("keys"), folder);
    let mut account = root.section("account");
    let base_url = account.req::<String>("base_url");
    let [exchange, owner] = ["exchange", "owner"].map(|key| address(reader, &mut account, key));
    let chain_id = account.req::<u64>("chain_id");
    let account_id = account.req_number("account_id", 0..=u64::from(u32::MAX));
    account.finish();
    let mut limits = root.section("limits");
    let ttl_max_s = limits.req_number("ttl_max_s", 1..=TTL_MAX_S);
    let fee = limits.req_number("max_fee_bips", 1..=63);
    let window_s = limits.number("window_s", 86_400, 60..=WINDOW_MAX_S);
    limits.finish();
    let tokens: Vec<_> = root.sections("token").into_iter().map(token).collect();
    let tokens: Vec<_> = tokens.into_iter().flatten().collect();
    different(
        reader,
        tokens.iter().map(|(at, token)| (*at, &token.symbol)),
    );
    different(reader, tokens.iter().map(|(at, token)| (*at, token.id)));
    let tokens: Vec<_> = tokens.into_iter().map(|(_, token)| token).collect();
    let sections = root.sections("market").into_iter();
    let markets: Vec<_> = sections.map(|one| market(reader, one, &tokens)).collect();
    let sections = root.sections("pool").into_iter();
    let pools: Vec<_> = sections.map(|one| pool(reader, one, &tokens)).collect();
    if markets.is_empty() && pools.is_empty() {
        root.missing(
            "market",
            "there is no [[market]] and no [[pool]]: nothing could be signed",
        );
    }
    root.finish();
    let markets: Vec<_> = markets.into_iter().collect::<Option<_>>()?;
    let rules = Rules {
        account_id: u32::try_from(account_id?.value).ok()?,
        owner: owner?,
        exchange: exchange?,
        chain_id: chain_id?.value,
        base_url: base_url?.value.trim_end_matches('/').to_owned(),
        ttl_max_s: ttl_max_s?.value,
        max_fee_bips: u16::try_from(fee?.value).ok()?,
        window_s: window_s.value,
        tokens,
        markets,
        pools: pools.into_iter().collect::<Option<_>>()?,
    };
    overlapping(reader, &rules);
    Some(Config {
        socket: folder.join(socket?.value),
        users: users?,
        state_dir: folder.join(state_dir?.value),
        key: key?,
        rules,
    })
}

fn key(mut section: Section<'_, '_>, folder: &Path) -> Option<KeyPlace> {
    let file = section.opt::<PathBuf>("eddsa_key_file");
    let credentials = section.or("credentials", false);
    let place = match (file, credentials.value) {
        (Some(file), false) => Some(KeyPlace::File(folder.join(file.value))),
        (None, true) => Some(KeyPlace::Credential),
        _ => {
            let what = "keys.eddsa_key_file, or keys.credentials = true, and not both";
            section.problem(section.at(), what);
            None
        }
    };
    section.finish();
    place
}

/// Names or numbers of users, as numbers.
fn uids(reader: &Reader<'_>, users: &At<Vec<String>>) -> Option<Vec<u32>> {
    let known = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of = |user: &String| {
        let of_name = |line: &&str| line.split(':').next() == Some(user.as_str());
        let line = known.lines().find(of_name);
        let named = line.and_then(|line| line.split(':').nth(2)?.parse().ok());
        let uid = user.parse().ok().or(named);
        if uid.is_none() {
            let what = format!("signer.users: there is no user {}", user.escape_debug());
            reader.problem(users.at, what);
        }
        uid
    };
    users.value.iter().map(of).collect()
}

fn address(
    reader: &Reader<'_>,
    section: &mut Section<'_, '_>,
    key: &'static str,
) -> Option<Address> {
    let text = section.req::<String>(key)?;
    let found = is_address(&text.value).then(|| Address::from_hex(&text.value).ok());
    if found.flatten().is_none() {
        let what = format!(
            "{}.{key} must be 0x and 40 hexadecimal digits",
            section.name()
        );
        reader.problem(text.at, what);
    }
    found?
}

fn token(mut section: Section<'_, '_>) -> Option<(Place, TokenRule)> {
    let symbol = section.req::<String>("symbol");
    let id = section.req_number("id", 0..=u64::from(u16::MAX));
    let decimals = section.req_number("decimals", 0..=28);
    let unexpired = section.req::<Money>("signed_unexpired_max");
    let window = section.req::<Money>("window_max");
    let (symbol, decimals) = (symbol?, u8::try_from(decimals?.value).ok()?);
    let units = |key: &str, money: Option<At<Money>>| {
        let money = money?;
        let units = money
            .value
            .check_symbol(&symbol.value)
            .map_err(|e| e.to_string());
        let units = units.and_then(|()| {
            let units = whole(money.value.number, decimals);
            units.ok_or_else(|| format!("has more than {decimals} decimals or is too large"))
        });
        units
            .map_err(|what| section.problem(money.at, format!("token.{key} {what}")))
            .ok()
    };
    let unexpired_max = units("signed_unexpired_max", unexpired);
    let window_max = units("window_max", window);
    let at = section.at();
    section.finish();
    let token = TokenRule {
        id: u16::try_from(id?.value).ok()?,
        symbol: symbol.value,
        decimals,
        unexpired_max: unexpired_max?,
        window_max: window_max?,
    };
    Some((at, token))
}

fn market(
    reader: &Reader<'_>,
    mut section: Section<'_, '_>,
    tokens: &[TokenRule],
) -> Option<MarketRule> {
    let name = section.req::<String>("name");
    let base = section.req::<String>("base");
    let quote = section.req::<String>("quote");
    let sell = section.req::<Money>("sell_price_min");
    let buy = section.req::<Money>("buy_price_max");
    section.finish();
    let (base, quote) = (listed(reader, tokens, base), listed(reader, tokens, quote));
    let (base, quote) = (base?, quote?);
    let price = |key: &str, money: Option<At<Money>>| ratio(reader, key, &money?, quote, base);
    let sell_min = price("market.sell_price_min", sell);
    let buy_max = price("market.buy_price_max", buy);
    Some(MarketRule {
        name: name?.value,
        base: base.id,
        quote: quote.id,
        sell_min: sell_min?,
        buy_max: buy_max?,
    })
}

fn pool(
    reader: &Reader<'_>,
    mut section: Section<'_, '_>,
    tokens: &[TokenRule],
) -> Option<PoolRule> {
    let name = section.req::<String>("name");
    let address = address(reader, &mut section, "address");
    let pooled = section.req::<Vec<String>>("tokens");
    let share = section.req::<String>("share");
    let exit_min = section.req::<Vec<Money>>("exit_min");
    let join_max = section.req::<Vec<Money>>("join_max");
    let fee_max = section.or(
        "fee_max",
        Money {
            number: Decimal::ZERO,
            symbol: None,
        },
    );
    section.finish();
    let share = listed(reader, tokens, share);
    let pooled = pooled?;
    let at = pooled.at;
    let both = <[String; 2]>::try_from(pooled.value);
    let Ok(both) = both else {
        reader.problem(
            at,
            "pool.tokens must be the two tokens of the pool, in its order",
        );
        return None;
    };
    let [first, second] = both.map(|value| listed(reader, tokens, Some(At { value, at })));
    let (pooled, share) = ([first?, second?], share?);
    let rates = |key: &str, rates: Option<At<Vec<Money>>>| {
        let At { value, at } = rates?;
        let Ok([first, second]) = <[Money; 2]>::try_from(value) else {
            reader.problem(
                at,
                format!("{key} must be two amounts for a share, in the order of pool.tokens"),
            );
            return None;
        };
        let of = |value, token| ratio(reader, key, &At { value, at }, token, share);
        Some([of(first, pooled[0])?, of(second, pooled[1])?])
    };
    let exit_min = rates("pool.exit_min", exit_min);
    let join_max = rates("pool.join_max", join_max);
    let fee = whole(fee_max.value.number, pooled[1].decimals);
    if fee.is_none() {
        let what = format!("pool.fee_max is an amount of {}", pooled[1].symbol);
        reader.problem(fee_max.at, what);
    }
    Some(PoolRule {
        name: name?.value,
        address: address?,
        tokens: pooled.map(|token| token.id),
        share: share.id,
        exit_min: exit_min?,
        join_max: join_max?,
        fee_max: fee?,
    })
}

/// The token with a symbol.
fn listed<'a>(
    reader: &Reader<'_>,
    tokens: &'a [TokenRule],
    symbol: Option<At<String>>,
) -> Option<&'a TokenRule> {
    let symbol = symbol?;
    let found = tokens.iter().find(|token| token.symbol == symbol.value);
    if found.is_none() {
        let what = format!("there is no [[token]] with symbol {:?}", symbol.value);
        reader.problem(symbol.at, what);
    }
    found
}

/// So much of a token for a whole one of another.
fn ratio(
    reader: &Reader<'_>,
    key: &str,
    money: &At<Money>,
    of: &TokenRule,
    per: &TokenRule,
) -> Option<Ratio> {
    let wrong = |what: String| reader.problem(money.at, format!("{key} {what}"));
    if let Err(error) = money.value.check_symbol(&of.symbol) {
        wrong(error.to_string());
        return None;
    }
    let number = money.value.number.normalize();
    let power = |exponent: u32| 10_u128.checked_pow(exponent);
    let units = power(of.decimals.into())
        .and_then(|power| power.checked_mul(number.mantissa().unsigned_abs()));
    let per = power(u32::from(per.decimals) + number.scale());
    let found = units.zip(per).map(|(units, per)| Ratio {
        units,
        per,
        text: number.to_string(),
    });
    if found.is_none() {
        wrong("is too large, or has too many decimals".to_owned());
    }
    found
}

/// `number × 10^decimals`, if it is whole.
fn whole(number: Decimal, decimals: u8) -> Option<u128> {
    let number = number.normalize();
    let spare = u32::from(decimals).checked_sub(number.scale())?;
    let power = 10_u128.checked_pow(spare)?;
    number.mantissa().unsigned_abs().checked_mul(power)
}

fn different<T: PartialEq + std::fmt::Debug>(
    reader: &Reader<'_>,
    values: impl Iterator<Item = (Place, T)>,
) {
    let mut found: Vec<T> = Vec::new();
    for (at, value) in values {
        if found.contains(&value) {
            reader.problem(at, format!("a [[token]] with {value:?} comes before"));
        }
        found.push(value);
    }
}

/// A pair of tokens or a pool that two sections describe has no single bound.
fn overlapping(reader: &Reader<'_>, rules: &Rules) {
    let first = Place { line: 1, column: 1 };
    for (index, market) in rules.markets.iter().enumerate() {
        let pair =
            |market: &MarketRule| [market.base.min(market.quote), market.base.max(market.quote)];
        let earlier = &rules.markets[..index];
        if market.base == market.quote || earlier.iter().any(|one| pair(one) == pair(market)) {
            let name = &market.name;
            let what =
                format!("market {name}: its two tokens are the same, or another market has them");
            reader.problem(first, what);
        }
    }
    for (index, pool) in rules.pools.iter().enumerate() {
        if rules.pools[..index]
            .iter()
            .any(|one| one.address == pool.address)
        {
            reader.problem(first, format!("pool {} is described twice", pool.name));
        }
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
