//! The exchange interface: its account, the questions of a start, and what seals intents.

pub mod access;
pub mod seal;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{anyhow, bail};
use cambist_client::{CallError, Client};
use cambist_core::request::{OrderList, OrdersPage, Query, Reply};
use cambist_core::sorted_map::SortedMap;
use cambist_core::venue::FeeToken;
use cambist_core::{ClientOrderId, TokenId, TokenSpec, VenueTime};
use cambist_protocol::encode_move::Owner;
use cambist_protocol::wire::StorageIds;
use cambist_signing::Address;

use super::{Trading, VenueListing};
use crate::config::pool::ListedPool;
use crate::config::{Bound, Daemon, Listed};
use crate::live::start_retry::StartRetry;
use access::AccountAccess;
use seal::Signer;

/// Pause between two pages of a command: five requests a second are the usual limit.
pub const PACE: Duration = Duration::from_millis(200);
/// Answers from which the venue's clock is read.
const TIMES_COMPARED: usize = 3;
/// Answers without a time after which the venue counts as one that sends none.
const UNTIMED_MAX: usize = 10;

/// A checked account of an exchange.
pub struct Session {
    access: AccountAccess,
    account_id: u32,
    exchange: Address,
    owner: Owner,
}

impl Session {
    /// Compares chain, exchange, account and keys with the file.
    pub async fn open(
        access: AccountAccess,
        daemon: &Daemon,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<Self> {
        let (exchange, owner) = access.check(daemon, retry).await?;
        Ok(Self {
            access,
            account_id: daemon.venue.exchange("an account")?.account_id,
            exchange,
            owner,
        })
    }

    /// The client with credentials.
    pub const fn client(&self) -> &Client {
        &self.access.client
    }

    /// What the venue lists.
    pub async fn listing(
        &self,
        daemon: &Daemon,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<VenueListing> {
        listing(daemon, self.client(), retry).await
    }

    /// The client and the signer.
    pub fn trading(self, bound: &Bound) -> Trading {
        Trading {
            sealer: Box::new(self.signer(bound)),
            client: self.access.client.with_pools(&bound.pools).into(),
            switch: None,
            watch: None,
        }
    }

    fn signer(&self, bound: &Bound) -> Signer {
        Signer {
            key: self.access.key.signer(),
            exchange: self.exchange,
            account_id: self.account_id,
            owner: self.owner,
            pools: bound.pools.clone(),
        }
    }
}

/// Binds the file to the venue's tokens, markets and pools. Public requests only.
pub async fn bind(
    daemon: &Daemon,
    client: &Client,
    retry: StartRetry<'_>,
) -> anyhow::Result<Bound> {
    let listing = listing(daemon, client, retry).await?;
    Ok(daemon.bind(&listing.tokens, &listing.markets, &listing.pools)?)
}

/// The ids of this program's among the newest orders.
pub async fn newest_ids(
    client: &Client,
    limit: u32,
    retry: StartRetry<'_>,
) -> anyhow::Result<Vec<ClientOrderId>> {
    let page = OrdersPage {
        from: VenueTime(0),
        to: VenueTime(0),
        offset: 0,
        limit,
        list: OrderList::All,
    };
    let client = client.clone().into();
    match retry.query(&client, &Query::Orders(page), &[]).await? {
        (Reply::Orders { orders, .. }, _) => {
            Ok(orders.iter().filter_map(|order| order.client_id).collect())
        }
        _ => bail!("the venue's answer is not a list of orders"),
    }
}

/// All tokens of the venue.
pub async fn tokens(client: &Client) -> anyhow::Result<Vec<TokenSpec>> {
    let tokens = client.tokens().await?;
    let specs = tokens.iter().map(cambist_protocol::wire::Token::spec);
    Ok(specs.collect())
}

async fn listing(
    daemon: &Daemon,
    client: &Client,
    retry: StartRetry<'_>,
) -> anyhow::Result<VenueListing> {
    let tokens = retry.ask(|| client.tokens()).await?;
    let tokens: Vec<_> = tokens
        .iter()
        .map(cambist_protocol::wire::Token::spec)
        .collect();
    let listed = retry.ask(|| client.markets()).await?;
    let markets: Vec<_> = listed
        .into_iter()
        .map(|market| Listed {
            name: market.market,
            base: market.base_token_id,
            quote: market.quote_token_id,
            price_decimals: market.precision_for_price,
            fee_in: FeeToken::Bought,
            enabled: market.enabled,
        })
        .collect();
    let pools = listed_pools(daemon, client, retry).await?;
    Ok(VenueListing {
        tokens,
        markets,
        pools,
    })
}

/// The pools, if any are configured.
async fn listed_pools(
    daemon: &Daemon,
    client: &Client,
    retry: StartRetry<'_>,
) -> anyhow::Result<Vec<ListedPool>> {
    if daemon.markets.iter().all(|market| market.pool.is_none()) {
        return Ok(Vec::new());
    }
    let pools = retry.ask(|| client.pools()).await?;
    let listed = pools.into_iter().map(|pool| ListedPool {
        name: pool.name,
        address: pool.address.0,
        pooled: pool.tokens.pooled,
        lp: pool.tokens.lp,
        status: pool.status,
        fee_bips: pool.fee_bips,
        in_range: false,
    });
    Ok(listed.collect())
}

/// The higher one of the store's and the venue's next ids. A venue that refuses the query is ignored; one that does not
/// answer is waited for, because ids must never decrease.
pub async fn storage_ids(
    client: &Client,
    bound: &Bound,
    mut next: SortedMap<TokenId, u32>,
    retry: StartRetry<'_>,
) -> anyhow::Result<SortedMap<TokenId, u32>> {
    let markets = bound.markets.iter();
    let tokens = markets
        .flat_map(|market| [market.base.id, market.quote.id])
        .chain(bound.pools.iter().map(|pool| pool.lp.id));
    for token in tokens.collect::<BTreeSet<_>>() {
        match retry.ask(|| client.storage_id(token, true)).await {
            Ok(ids) => {
                let here = next.entry(token).or_default();
                *here = higher(*here, ids);
            }
            Err(error @ CallError::Refused { .. }) => {
                tracing::warn!(%error, token = token.0, "the venue refuses to report storage ids; using those of the store");
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(next)
}

/// The next even id above the used ones of orders, joins and exits, here and at the venue.
fn higher(here: u32, venue: StorageIds) -> u32 {
    here.max(venue.order_id)
        .max(venue.offchain_id.saturating_sub(1))
}

/// A time that the venue's clock has passed: the earliest of several answers, because a single wrong one would shift
/// every expiry and every fence.
pub async fn venue_time(client: &Client, retry: StartRetry<'_>) -> anyhow::Result<VenueTime> {
    let client = client.clone().into();
    let mut times = Vec::new();
    for _ in 0..UNTIMED_MAX {
        times.extend(retry.query(&client, &Query::Account, &[]).await?.1);
        if let Some(earliest) = earliest(&times) {
            return Ok(earliest);
        }
    }
    Err(anyhow!(
        "too few of the venue's answers carry a Date header, so its clock is not known"
    ))
}

/// The earliest time, once there are enough to compare.
fn earliest(times: &[VenueTime]) -> Option<VenueTime> {
    if times.len() < TIMES_COMPARED {
        return None;
    }
    times.iter().min().copied()
}

#[cfg(test)]
#[path = "start_tests.rs"]
pub(crate) mod tests;
