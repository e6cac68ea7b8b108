//! `cambist signer-config`: a file for `cambist-signer` that allows what a daemon's file allows, to be narrowed by hand.
//! Sends public queries only.
use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Context;
use cambist_client::{Client, ClientConfig};
use cambist_config::money;
use cambist_core::config::PoolConfig;
use cambist_core::math::mul_div_ceil;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, PoolSpec, TokenId, TokenSpec};
use cambist_daemon::config::{Bound, Daemon};
use cambist_daemon::live::start_retry::StartRetry;
use cambist_daemon::venues::exchange;
use cambist_protocol::wire::ExchangeInfo;
use cambist_signing::Address;
use clap::Args;

use super::print_text;
use crate::account::session::{runtime, trading};
use crate::exit::{Exit, Failure};

/// By how much orders may be valid longer than `orders.ttl_s`: the venue's clock and the signer's differ.
const TTL_SPARE_S: u64 = 10;
/// The window of the printed file.
const WINDOW_S: u64 = 86_400;

/// Arguments of `signer-config`.
#[derive(Debug, Args)]
pub struct SignerConfigArgs {
    /// The daemon's configuration
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Name in the paths of the printed file: the instance of cambist-signer@NAME.service
    #[arg(long, value_name = "NAME", default_value = "cambist")]
    pub name: String,
    /// User of the daemon
    #[arg(long, value_name = "USER", default_value = "cambist")]
    pub user: String,
}

/// Prints the file.
pub fn run(args: &SignerConfigArgs) -> anyhow::Result<Exit> {
    let daemon = trading(&args.config)?;
    daemon.venue.exchange("a signer")?;
    let text = runtime()?.block_on(file(&daemon, args))?;
    print_text(&text)?;
    Ok(Exit::Done)
}

async fn file(daemon: &Daemon, args: &SignerConfigArgs) -> anyhow::Result<String> {
    // Without keys: who installs the signer need not be able to read those of the daemon.
    let config = ClientConfig {
        timeout_ms: daemon.request_timeout_ms,
        ..ClientConfig::new(&daemon.venue.base_url.value)
    };
    let client = &Client::new(&config, None)
        .map_err(|error| Failure::new(Exit::Refused, error.to_string()))?;
    let info = client.exchange_info().await?;
    let bound = exchange::bind(daemon, client, StartRetry::none()).await?;
    let mut text = head(daemon, args, &info, client)?;
    let mut limits = limits(&bound);
    let mut pools = String::new();
    for beside in bound.pools.iter().zip(&bound.engine.pools) {
        pools.push_str(&pool_section(&bound, beside, client, &mut limits).await?);
    }
    for (id, unexpired) in &limits {
        let token = token(&bound, *id)?;
        let ttl_s = u128::from(daemon.orders.ttl_s).max(1);
        // A quarter of what could be signed if the first limit were always full.
        let turns = (u128::from(WINDOW_S) / ttl_s / 4).max(1);
        let window = unexpired.saturating_mul(turns);
        let _ = write!(
            text,
            "\n[[token]]\nsymbol = {:?}\nid = {}\ndecimals = {}\nsigned_unexpired_max = {:?}\nwindow_max = {:?}\n",
            token.symbol,
            id.0,
            token.decimals,
            money::whole(*unexpired, token.decimals),
            money::whole(window, token.decimals),
        );
    }
    for (spec, limits) in bound.markets.iter().zip(&bound.engine.markets) {
        let _ = write!(
            text,
            "\n[[market]]\nname = {:?}\nbase = {:?}\nquote = {:?}\n# market.price_floor and market.price_ceiling of the daemon. Narrower bounds are what a thief of the daemon costs less by.\nsell_price_min = {:?}\nbuy_price_max = {:?}\n",
            spec.name,
            spec.base.symbol,
            spec.quote.symbol,
            money::price(spec, limits.price_min),
            money::price(spec, limits.price_max),
        );
    }
    text.push_str(&pools);
    Ok(text)
}

fn head(
    daemon: &Daemon,
    args: &SignerConfigArgs,
    info: &ExchangeInfo,
    client: &Client,
) -> anyhow::Result<String> {
    let SignerConfigArgs { name, user, .. } = args;
    let account = daemon.venue.exchange("a signer")?;
    Ok(format!(
        "# Printed by cambist signer-config: what the daemon's file allows. See docs/signer.md.\nconfig_version = 1\n\n\
         [signer]\nsocket = \"/run/cambist-signer/{name}/socket\"\nstate_dir = \"/var/lib/cambist-signer/{name}\"\n\
         # Users that may connect, beside root and the signer's own.\nusers = [{user:?}]\n\n\
         [keys]\ncredentials = true\n\n\
         [account]\nbase_url = {:?}\nexchange = {:?}\nchain_id = {}\naccount_id = {}\nowner = {:?}\n\n\
         [limits]\nttl_max_s = {}\nmax_fee_bips = {}\nwindow_s = {WINDOW_S}\n",
        client.base_url().as_str(),
        info.exchange_address.to_hex(),
        info.chain_id,
        account.account_id,
        account.owner,
        (daemon.orders.ttl_s + TTL_SPARE_S).min(86_400),
        daemon.orders.max_fee_bips,
    ))
}

/// What may be signed and unexpired of each token: the daemon's own limit, and in quote tokens at the ceiling.
fn limits(bound: &Bound) -> SortedMap<TokenId, Amount> {
    let mut all: SortedMap<TokenId, Amount> = SortedMap::new();
    for (spec, limits) in bound.markets.iter().zip(&bound.engine.markets) {
        let most = limits.signed_unexpired_max;
        let base = all.entry(spec.base.id).or_default();
        *base = (*base).max(most);
        let at_ceiling = super::signer_limits::at_price(spec, limits.price_max, most);
        let quote = all.entry(spec.quote.id).or_default();
        *quote = quote.saturating_add(at_ceiling);
    }
    all
}

/// The section of a pool, with half and double of what a share is worth now; its shares and both tokens get limits.
async fn pool_section(
    bound: &Bound,
    (pool, of): (&PoolSpec, &PoolConfig),
    client: &Client,
    limits: &mut SortedMap<TokenId, Amount>,
) -> anyhow::Result<String> {
    let address = Address(pool.address);
    let held = client.pool_balance(address).await?;
    let pooled: Vec<_> = held.pooled.iter().map(|part| part.volume).collect();
    let pooled = <[Amount; 2]>::try_from(pooled)
        .ok()
        .context("a pool has two tokens")?;
    let tokens = [token(bound, pool.pooled[0])?, token(bound, pool.pooled[1])?];
    let share = 10_u128.pow(pool.lp.decimals.into());
    // Of an empty pool nothing is known: every exit is refused until the file is completed.
    let per_share =
        |held_units: Amount| mul_div_ceil(held_units, share, held.lp.volume).unwrap_or(0);
    let text = |index: usize, units: Amount| money::whole(units, tokens[index].decimals);
    let now = pooled.map(per_share);
    let (all, fee) = (of.value_max, of.fee_max);
    // As many shares as all may be worth, by the second token alone: twice as many as that is.
    let shares = mul_div_ceil(all, share, now[1].max(1)).unwrap_or(0);
    limits.insert(pool.lp.id, shares);
    for (id, units) in [
        (pool.pooled[0], mul_div_ceil(shares, now[0], share)),
        (pool.pooled[1], Some(all)),
    ] {
        let most = limits.entry(id).or_default();
        *most = most.saturating_add(units.unwrap_or(0));
    }
    Ok(format!(
        "\n[[pool]]\nname = {:?}\naddress = {:?}\ntokens = [{:?}, {:?}]\nshare = {:?}\n# Half and double of what a share is worth now.\nexit_min = [{:?}, {:?}]\njoin_max = [{:?}, {:?}]\nfee_max = {:?}\n",
        pool.name,
        address.to_hex(),
        tokens[0].symbol,
        tokens[1].symbol,
        pool.lp.symbol,
        text(0, now[0] / 2),
        text(1, now[1] / 2),
        text(0, now[0].saturating_mul(2)),
        text(1, now[1].saturating_mul(2)),
        text(1, fee),
    ))
}

fn token(bound: &Bound, id: TokenId) -> anyhow::Result<&TokenSpec> {
    let found = bound.tokens.iter().find(|token| token.id == id);
    found.with_context(|| format!("the venue does not list token {}", id.0))
}
