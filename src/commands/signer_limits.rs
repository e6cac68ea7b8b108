//! The limits of a signer beside what a daemon's file allows: what the signer would refuse.

use std::path::Path;

use cambist_config::money;
use cambist_core::math::mul_div_ceil;
use cambist_core::{Amount, MarketSpec, Price};
use cambist_daemon::config::{Bound, Daemon};
use cambist_host::secrets::Keys;
use cambist_signer::client::RemoteSigner;
use serde::Deserialize;

/// A signer's limits, as it states them.
#[derive(Debug, Deserialize)]
struct Limits {
    ttl_max_s: u64,
    max_fee_bips: u64,
    tokens: Vec<Token>,
    markets: Vec<Market>,
    pools: Vec<Pool>,
}

#[derive(Debug, Deserialize)]
struct Token {
    id: u16,
    symbol: String,
    signed_unexpired_max: String,
}

#[derive(Debug, Deserialize)]
struct Market {
    base: u16,
    quote: u16,
    sell_price_min: String,
    buy_price_max: String,
}

#[derive(Debug, Deserialize)]
struct Pool {
    name: String,
}

/// What a file has of a signer.
pub struct Compared {
    /// The socket.
    pub socket: String,
    /// What the signer would refuse, in sentences; or why it cannot be asked.
    pub problems: Result<Vec<String>, String>,
}

/// Asks the signer of a file, if it has one. Without the venue's units only times and fees are compared.
pub fn compare(daemon: &Daemon, bound: Option<&Bound>) -> Option<Compared> {
    let Keys::Signer { socket, .. } = &daemon.keys else {
        return None;
    };
    Some(Compared {
        socket: socket.display().to_string(),
        problems: ask(socket).map(|limits| limits.refusals(daemon, bound)),
    })
}

/// The longest validity of a request that the signer of a file signs, in seconds: less than its limit, as clocks differ.
/// `None` if the file has no signer.
pub fn validity_max_s(daemon: &Daemon) -> Option<Result<u64, String>> {
    let Keys::Signer { socket, .. } = &daemon.keys else {
        return None;
    };
    Some(ask(socket).map(|limits| limits.ttl_max_s.saturating_sub(CLOCKS_S).max(1)))
}

/// What clocks of daemon, signer and venue may differ by.
const CLOCKS_S: u64 = 5;

fn ask(socket: &Path) -> Result<Limits, String> {
    let text = RemoteSigner::new(socket).limits();
    let text = text.map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| format!("the signer's limits: {error}"))
}

impl Limits {
    fn refusals(&self, daemon: &Daemon, bound: Option<&Bound>) -> Vec<String> {
        let mut all = Vec::new();
        let ttl_s = daemon.orders.ttl_s;
        if ttl_s >= self.ttl_max_s {
            all.push(format!(
                "orders.ttl_s = {ttl_s}, and the signer signs for less than limits.ttl_max_s = {} s, as clocks differ",
                self.ttl_max_s
            ));
        }
        let fee = u64::from(daemon.orders.max_fee_bips);
        if fee > self.max_fee_bips {
            all.push(format!(
                "orders.max_fee_bips = {fee}, and the signer signs at most limits.max_fee_bips = {}",
                self.max_fee_bips
            ));
        }
        let Some(bound) = bound else {
            return all;
        };
        for (spec, limits) in bound.markets.iter().zip(&bound.engine.markets) {
            let prices = [limits.price_min, limits.price_max];
            self.market(spec, prices, limits.signed_unexpired_max, &mut all);
        }
        for pool in &bound.pools {
            if !self.pools.iter().any(|one| one.name == pool.name) {
                all.push(format!("the signer does not have the pool {}", pool.name));
            }
        }
        all
    }

    fn market(&self, spec: &MarketSpec, prices: [Price; 2], most: Amount, all: &mut Vec<String>) {
        let name = &spec.name;
        // By symbols: the venue's numbers are not known before it is asked.
        let named = |symbol: &str| self.tokens.iter().find(|token| token.symbol == symbol);
        let pair = named(&spec.base.symbol).zip(named(&spec.quote.symbol));
        let pair = pair.map(|(base, quote)| (base.id, quote.id));
        let mut markets = self.markets.iter();
        let Some(market) = markets.find(|one| Some((one.base, one.quote)) == pair) else {
            all.push(format!("the signer does not have the market {name}"));
            return;
        };
        let [floor, ceiling] = prices.map(|price| money::price(spec, price));
        let less = |one: &str, other: &str| {
            let numbers = money::decimal(one).zip(money::decimal(other));
            numbers.is_none_or(|(one, other)| one < other)
        };
        if less(&floor, &market.sell_price_min) {
            all.push(format!(
                "{name}: market.price_floor = {floor}, and the signer sells from market.sell_price_min = {}",
                market.sell_price_min
            ));
        }
        if less(&market.buy_price_max, &ceiling) {
            all.push(format!(
                "{name}: market.price_ceiling = {ceiling}, and the signer buys up to market.buy_price_max = {}",
                market.buy_price_max
            ));
        }
        let sold = [
            (&spec.base, most),
            (&spec.quote, at_price(spec, prices[1], most)),
        ];
        for (token, most) in sold {
            let most = money::whole(most, token.decimals);
            let limit = named(&token.symbol).map_or("0", |one| one.signed_unexpired_max.as_str());
            if less(limit, &most) {
                all.push(format!(
                    "{name}: risk.signed_unexpired_max allows {most} {}, and the signer signs token.signed_unexpired_max = {limit}",
                    token.symbol
                ));
            }
        }
    }
}

/// What an amount of the base token costs, in base units of the quote token.
pub fn at_price(spec: &MarketSpec, price: Price, base: Amount) -> Amount {
    let units = 10_u128.checked_pow(spec.quote.decimals.into());
    let per = 10_u128.checked_pow(u32::from(spec.base.decimals) + u32::from(spec.price_decimals));
    let cost = units.zip(per).and_then(|(units, per)| {
        let price = units.checked_mul(price.0.into())?;
        mul_div_ceil(base, price, per)
    });
    cost.unwrap_or(Amount::MAX)
}
