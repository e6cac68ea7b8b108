//! `cambist check --pin`: chain, exchange and units as the venue publishes them, as lines for the file. Sends public
//! queries only, without keys.

use std::fmt::Write;

use anyhow::Context;
use cambist_client::{Client, ClientConfig};
use cambist_core::TokenId;
use cambist_protocol::wire::Token;
use serde::Serialize;

use super::{print_json, print_text};
use crate::exit::{self, Exit, Failure};
use cambist_config::reader::At;
use cambist_daemon::config::Daemon;
use cambist_daemon::config::market::Market;
use cambist_daemon::config::venue::{ExchangeLink, VenueKind};
use cambist_daemon::venues::kraken::access::public_listing;

/// Published values of everything that the file trades.
#[derive(Debug, Serialize)]
struct Pins {
    /// Where orders name both.
    #[serde(flatten)]
    chain: Option<ChainPins>,
    markets: Vec<MarketPins>,
    /// Where the file differs.
    differences: Vec<String>,
}

/// Chain and exchange contract.
#[derive(Debug, Serialize)]
struct ChainPins {
    chain_id: u64,
    exchange: String,
}

/// Units of one market.
#[derive(Debug, Serialize)]
struct MarketPins {
    name: String,
    base_decimals: u8,
    base_precision: u8,
    quote_decimals: u8,
    quote_precision: u8,
    price_decimals: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pool: Option<PoolPins>,
}

/// Units of a pool's LP token.
#[derive(Debug, Serialize)]
struct PoolPins {
    lp_decimals: u8,
    lp_precision: u8,
}

/// Queries the venue and prints the lines; exit 1 if the file differs.
pub fn run(daemon: &Daemon, json: bool) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let pins = runtime.block_on(ask(daemon))?;
    if json {
        print_json(&pins)?;
    } else {
        print_text(&pins.lines(daemon))?;
    }
    for difference in &pins.differences {
        exit::print_error(difference);
    }
    Ok(if pins.differences.is_empty() {
        Exit::Done
    } else {
        Exit::CheckFailed
    })
}

/// Before depth of the venue itself is read: compares the file's units with those that the venue publishes, because its
/// quantities are whole base units. An error with every difference; a venue that cannot be asked is a warning, as its
/// depth is then not read either.
pub fn agree(daemon: &Daemon) -> anyhow::Result<()> {
    let mut feeds = daemon
        .markets
        .iter()
        .filter_map(|market| market.feed.as_ref());
    if !feeds.any(|feed| feed.is_of_venue) {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    match runtime.block_on(ask(daemon)) {
        Ok(pins) if pins.differences.is_empty() => Ok(()),
        Ok(pins) => {
            let what = format!(
                "{}: {}; `cambist check --pin` prints what the venue publishes",
                daemon.source.path.display(),
                pins.differences.join("; ")
            );
            Err(Failure::new(Exit::Refused, what).into())
        }
        Err(error) => {
            tracing::warn!(
                error = format!("{error:#}"),
                "the units of the file could not be compared with those that the venue publishes"
            );
            Ok(())
        }
    }
}

async fn ask(daemon: &Daemon) -> anyhow::Result<Pins> {
    match daemon.venue.kind() {
        // Refused where units are pinned by other keys.
        VenueKind::Exchange | VenueKind::EvmPools => ask_exchange(daemon).await,
        VenueKind::Kraken => ask_kraken(daemon).await,
    }
}

async fn ask_kraken(daemon: &Daemon) -> anyhow::Result<Pins> {
    let markets = daemon.markets.iter();
    let names: Vec<_> = markets.map(|market| market.name.value.clone()).collect();
    let listing = public_listing(daemon, &names).await?;
    let mut pins = Pins {
        chain: None,
        markets: Vec::new(),
        differences: Vec::new(),
    };
    for market in &daemon.markets {
        let name = &market.name.value;
        let listed = listing.pair(name);
        let listed = listed.with_context(|| format!("the venue does not list {name}"))?;
        let units = MarketPins {
            name: name.clone(),
            base_decimals: listed.base.decimals,
            base_precision: listed.base.precision,
            quote_decimals: listed.quote.decimals,
            quote_precision: listed.quote.precision,
            price_decimals: listed.pair.price_decimals,
            pool: None,
        };
        units.compare(market, &mut pins.differences);
        pins.markets.push(units);
    }
    Ok(pins)
}

async fn ask_exchange(daemon: &Daemon) -> anyhow::Result<Pins> {
    let link = daemon.venue.exchange("pins")?;
    let config = ClientConfig {
        timeout_ms: daemon.request_timeout_ms,
        ..ClientConfig::new(&daemon.venue.base_url.value)
    };
    let client = Client::new(&config, None)
        .map_err(|error| Failure::new(Exit::Refused, error.to_string()))?;
    let info = client.exchange_info().await?;
    let tokens = client.tokens().await?;
    let markets = client.markets().await?;
    let with_pool = daemon.markets.iter().any(|market| market.pool.is_some());
    let pools = if with_pool {
        client.pools().await?
    } else {
        Vec::new()
    };
    let token = |id: TokenId| tokens.iter().find(|token| token.token_id == id);
    let mut pins = Pins {
        chain: Some(ChainPins {
            chain_id: info.chain_id,
            exchange: info.exchange_address.to_string().to_ascii_lowercase(),
        }),
        markets: Vec::new(),
        differences: Vec::new(),
    };
    for market in &daemon.markets {
        let name = &market.name.value;
        let missing = || format!("the venue does not list {name}");
        let listed = markets.iter().find(|listed| listed.market == *name);
        let listed = listed.with_context(missing)?;
        let base = token(listed.base_token_id).with_context(missing)?;
        let quote = token(listed.quote_token_id).with_context(missing)?;
        let lp = market.pool.as_ref().map(|pool| {
            let found = pools.iter().find(|found| found.name == pool.name.value);
            let found = found.and_then(|found| token(found.tokens.lp));
            found.with_context(|| format!("the venue does not list {}", pool.name.value))
        });
        let lp = lp.transpose()?;
        let units = MarketPins {
            name: name.clone(),
            base_decimals: base.decimals,
            base_precision: base.precision,
            quote_decimals: quote.decimals,
            quote_precision: quote.precision,
            price_decimals: listed.precision_for_price,
            pool: lp.map(|lp: &Token| PoolPins {
                lp_decimals: lp.decimals,
                lp_precision: lp.precision,
            }),
        };
        units.compare(market, &mut pins.differences);
        pins.markets.push(units);
    }
    pins.compare(link);
    Ok(pins)
}

impl Pins {
    /// Compares chain and exchange with the file.
    fn compare(&mut self, link: &ExchangeLink) {
        let Some(chain) = &self.chain else { return };
        if let Some(chain_id) = link.chain_id.filter(|id| *id != chain.chain_id) {
            let found = chain.chain_id;
            self.differences.push(format!(
                "venue.chain_id = {chain_id}, but the venue is on chain {found}"
            ));
        }
        if let Some(exchange) = &link.exchange
            && *exchange != chain.exchange
        {
            let found = &chain.exchange;
            self.differences.push(format!(
                "venue.exchange = {exchange}, but the venue's exchange is {found}"
            ));
        }
    }

    /// The lines for the file.
    fn lines(&self, daemon: &Daemon) -> String {
        let mut text = format!(
            "# As published by {}. Compare with another source (its documents, the chain) before using it:\n\
             # wrong values make the daemon sign orders with another meaning.\n",
            daemon.venue.base_url.value
        );
        if let Some(chain) = &self.chain {
            let (chain_id, exchange) = (chain.chain_id, &chain.exchange);
            let _ = write!(
                text,
                "[venue]\nchain_id = {chain_id}\nexchange = \"{exchange}\"\n"
            );
        }
        for market in &self.markets {
            let _ = write!(
                text,
                "\n[[market]]\nname = \"{}\"\nbase_decimals = {}\nbase_precision = {}\nquote_decimals = {}\nquote_precision = {}\nprice_decimals = {}\n",
                market.name,
                market.base_decimals,
                market.base_precision,
                market.quote_decimals,
                market.quote_precision,
                market.price_decimals
            );
            if let Some(pool) = &market.pool {
                let _ = write!(
                    text,
                    "\n[market.pool]\nlp_decimals = {}\nlp_precision = {}\n",
                    pool.lp_decimals, pool.lp_precision
                );
            }
        }
        text
    }
}

impl MarketPins {
    /// Compares units with the file.
    fn compare(&self, market: &Market, differences: &mut Vec<String>) {
        let expected = &market.expected;
        let [lp_decimals, lp_precision] = market.pool.as_ref().map_or([&None, &None], |pool| {
            let [decimals, precision] = &pool.lp_units;
            [decimals, precision]
        });
        let pool = |of: fn(&PoolPins) -> u8| self.pool.as_ref().map_or(0, of);
        let units: [(&Option<At<u8>>, &str, u8); 7] = [
            (&expected.base_decimals, "base_decimals", self.base_decimals),
            (
                &expected.base_precision,
                "base_precision",
                self.base_precision,
            ),
            (
                &expected.quote_decimals,
                "quote_decimals",
                self.quote_decimals,
            ),
            (
                &expected.quote_precision,
                "quote_precision",
                self.quote_precision,
            ),
            (
                &expected.price_decimals,
                "price_decimals",
                self.price_decimals,
            ),
            (
                lp_decimals,
                "pool.lp_decimals",
                pool(|pool| pool.lp_decimals),
            ),
            (
                lp_precision,
                "pool.lp_precision",
                pool(|pool| pool.lp_precision),
            ),
        ];
        for (expected, key, found) in units {
            if let Some(expected) = expected.as_ref().filter(|at| at.value != found) {
                differences.push(format!(
                    "market.{key} = {} but the venue publishes {found} for {}",
                    expected.value, self.name
                ));
            }
        }
    }
}
