//! Start-up: from a checked file to the engine's first event. Nothing is sent but questions.
//!
//! The store's folder is locked before any network access; what the venue says about chain, exchange,
//! account and key must fit the file and the secrets, or nothing is started.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use cambist_client::{CallError, Client};
use cambist_core::event::{Level, Levels, Start};
use cambist_core::request::{OrdersPage, Outcome, Query, Reply, UnknownCause};
use cambist_core::{ClientOrderId, Reason, TokenId, VenueTime};

use super::access::{self, Access};
use super::keeper::{Bodies, Signer};
use super::latch::Latch;
use crate::config::bind::Listed;
use crate::config::pool::ListedPool;
use crate::config::{Bound, Daemon};
use crate::exit::{Exit, Failure};
use crate::store::{Filled, OpenIntent, OpenMove, Store};

/// How often an unreachable venue is asked again before the start is given up.
pub(super) const ATTEMPTS: u32 = 10;
/// Pause between those.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// Answers that the venue's clock is read from at a start.
const WITNESSES: usize = 3;

/// Everything a desk needs to begin.
pub struct Started {
    /// The engine's first event.
    pub start: Start,
    /// The bound configuration.
    pub bound: Bound,
    /// The open store.
    pub store: Store,
    /// Who signs.
    pub signer: Signer,
    /// The client with credentials.
    pub client: Arc<Client>,
    /// Bytes of orders that may be alive.
    pub bodies: Bodies,
    /// What those have filled.
    pub filled: Vec<(ClientOrderId, Filled)>,
}

/// Opens the store, asks the venue, and puts the first event together.
pub async fn start(daemon: &Daemon, seed: u64) -> anyhow::Result<Started> {
    let begun = begin(daemon, seed).await;
    begun.map_err(|error| access::keys_first(daemon, error))
}

async fn begin(daemon: &Daemon, seed: u64) -> anyhow::Result<Started> {
    let mut store = Store::open(&daemon.store.dir)?;
    if let Some(reason) = Latch::of(&daemon.store.dir).raised() {
        return Err(halted(daemon, &reason).into());
    }
    let access = Access::of(daemon, daemon.request_timeout_ms)?;
    let (exchange, owner) = access.check(daemon).await?;
    let Access { client, key } = access;
    let bound = bind(daemon, &client).await?;
    let names: Vec<_> = bound
        .markets
        .iter()
        .map(|market| market.name.clone())
        .collect();
    let recovered = store.recover(&names)?;
    if recovered.levels.level == Level::Halted {
        return Err(halted(daemon, &recovered.cause).into());
    }
    refuse_older(daemon, &client, &mut store).await?;
    let next_storage = storage_ids(&client, &bound, recovered.next_storage).await?;
    let venue_time = venue_time(&client).await?;
    let (open, mut bodies, filled) = split(recovered.open);
    let mut open_moves = Vec::new();
    for OpenMove { recovered, body } in recovered.open_moves {
        bodies.push((recovered.wanted.client_id, body.into()));
        open_moves.push(recovered);
    }
    let start = Start {
        config: bound.engine.clone(),
        markets: bound.markets.clone(),
        pools: bound.pools.clone(),
        strategies: bound
            .strategies
            .iter()
            .map(|(id, market, _)| (*id, *market))
            .collect(),
        seed,
        instance: recovered.instance,
        next_number: recovered.next_number,
        next_storage,
        open,
        open_moves,
        levels: recovered.levels,
        venue_time,
        maker_fee_bips: daemon.fee_bips[0],
        taker_fee_bips: daemon.fee_bips[1],
    };
    let signer = Signer {
        key,
        exchange,
        account_id: daemon.venue.account_id,
        owner,
        pools: bound.pools.clone(),
    };
    Ok(Started {
        client: Arc::new(client.with_pools(&bound.pools)),
        start,
        bound,
        store,
        signer,
        bodies,
        filled,
    })
}

/// A store that was restored from an old backup, or of which another copy trades, does not remember orders
/// of its own that the venue shows. What they did is not known here: a person has to look first.
async fn refuse_older(daemon: &Daemon, client: &Client, store: &mut Store) -> anyhow::Result<()> {
    let page = OrdersPage {
        from: VenueTime(0),
        to: VenueTime(0),
        offset: 0,
        limit: daemon.poll.orders_page,
        resting_only: false,
    };
    if store.newest_number() == 0 {
        return Ok(());
    }
    // Without an answer nothing is known: it is asked for again, and there is no start without one.
    let orders = patiently(async || {
        let (call, detail) = ("orders", String::new());
        match client.query(&Query::Orders(page), &[]).await.outcome {
            Outcome::Reply(Reply::Orders { orders, .. }) => Ok(orders),
            Outcome::Refused(reason) => Err(CallError::Refused {
                call,
                reason,
                detail,
                retry_after_ms: None,
            }),
            Outcome::NotSent => Err(CallError::NotSent { call, detail }),
            Outcome::Unknown(cause) => Err(CallError::Unknown {
                call,
                cause,
                detail,
            }),
            Outcome::Reply(_) => Err(CallError::Unknown {
                call,
                cause: UnknownCause::Undecodable,
                detail,
            }),
        }
    })
    .await?;
    let (instance, newest) = (store.instance(), store.newest_number());
    let ours = orders.iter().filter_map(|order| order.client_id);
    let forgotten = ours
        .filter(|id| id.instance == instance && id.number > newest)
        .max_by_key(|id| id.number);
    let Some(id) = forgotten else { return Ok(()) };
    let cause = format!(
        "the store is older than its orders: the venue shows {id}, the newest one here is number {newest}; restored from an old backup, or another copy of it trades"
    );
    if store.had_cause(&cause)? {
        // Trading is not halted any more: a person has looked.
        return Ok(());
    }
    store.skip_past(id.number)?;
    store.set_levels(&Levels::of(Level::Halted), &cause, false)?;
    Err(halted(daemon, &cause).into())
}

fn halted(daemon: &Daemon, cause: &str) -> Failure {
    let what = format!(
        "trading is halted ({cause}); look into it, then lower the level: cambist resume --config {} --reason TEXT",
        daemon.source.path.display()
    );
    Failure::new(Exit::Latched, what)
}

/// Binds the file to the tokens, markets and pools that the venue lists.
async fn bind(daemon: &Daemon, client: &Client) -> anyhow::Result<Bound> {
    let tokens = patiently(|| client.tokens()).await?;
    let tokens: Vec<_> = tokens
        .iter()
        .map(cambist_protocol::wire::Token::spec)
        .collect();
    let listed = patiently(|| client.markets()).await?;
    let listed: Vec<_> = listed
        .into_iter()
        .map(|market| Listed {
            name: market.market,
            base: market.base_token_id,
            quote: market.quote_token_id,
            price_decimals: market.precision_for_price,
            enabled: market.enabled,
        })
        .collect();
    let pools = listed_pools(daemon, client).await?;
    Ok(daemon.bind(&tokens, &listed, &pools)?)
}

/// The pools, if any is configured.
async fn listed_pools(daemon: &Daemon, client: &Client) -> anyhow::Result<Vec<ListedPool>> {
    if daemon.markets.iter().all(|market| market.pool.is_none()) {
        return Ok(Vec::new());
    }
    let pools = patiently(|| client.pools()).await?;
    let listed = pools.into_iter().map(|pool| ListedPool {
        name: pool.name,
        address: pool.address.0,
        pooled: pool.tokens.pooled,
        lp: pool.tokens.lp,
        status: pool.status,
    });
    Ok(listed.collect())
}

type Parts = (
    Vec<cambist_core::event::RecoveredOrder>,
    Bodies,
    Vec<(ClientOrderId, Filled)>,
);

fn split(open: Vec<OpenIntent>) -> Parts {
    let mut parts: Parts = Default::default();
    for OpenIntent { recovered, body } in open {
        let id = recovered.order.client_id;
        let filled = Filled {
            base: recovered.base_filled,
            quote: recovered.quote_filled,
            fee: recovered.fee,
        };
        parts.1.push((id, body.into()));
        parts.2.push((id, filled));
        parts.0.push(recovered);
    }
    parts
}

/// The higher of what the store and what the venue say comes next. A venue without that endpoint says
/// nothing; an answer that cannot be had stops the start, because ids must never go back.
async fn storage_ids(
    client: &Client,
    bound: &Bound,
    mut next: BTreeMap<TokenId, u32>,
) -> anyhow::Result<BTreeMap<TokenId, u32>> {
    let markets = bound.markets.iter();
    let tokens = markets
        .flat_map(|market| [market.base.id, market.quote.id])
        .chain(bound.pools.iter().map(|pool| pool.lp.id));
    for token in tokens.collect::<std::collections::BTreeSet<_>>() {
        match patiently(|| client.storage_id(token, true)).await {
            Ok(ids) => {
                let here = next.entry(token).or_default();
                // The next even id above what orders and what joins and exits have used.
                *here = (*here)
                    .max(ids.order_id)
                    .max(ids.offchain_id.saturating_sub(1));
            }
            Err(error) => match error.downcast_ref::<CallError>() {
                Some(CallError::Refused { .. }) => {
                    tracing::warn!(%error, token = token.0, "venue tells no storage ids");
                }
                _ => return Err(error),
            },
        }
    }
    Ok(next)
}

/// A time that the venue's clock has passed: the earliest of several answers, because a single wrong one
/// would put every expiry, and every fence, where it says.
async fn venue_time(client: &Client) -> anyhow::Result<VenueTime> {
    let mut told = Vec::new();
    for _ in 0..ATTEMPTS {
        let answered = client.query(&Query::Account, &[]).await;
        if let (Outcome::Reply(_), Some(time)) = (&answered.outcome, answered.venue_time) {
            told.push(time);
            if told.len() == WITNESSES {
                break;
            }
        } else {
            tokio::time::sleep(PAUSE).await;
        }
    }
    let earliest = told.iter().min().filter(|_| told.len() == WITNESSES);
    earliest
        .copied()
        .context("too few of the venue's answers carry a Date header, so its clock is not known")
}

/// Asks again while no byte reaches the venue or no usable answer comes back.
pub(super) async fn patiently<T, F>(call: impl Fn() -> F) -> anyhow::Result<T>
where
    F: Future<Output = Result<T, CallError>>,
{
    let mut attempt = 1;
    let mut told = String::new();
    loop {
        let error = match call().await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let may_pass = match &error {
            CallError::NotSent { .. } | CallError::Unknown { .. } => true,
            CallError::Refused { reason, .. } => *reason == Reason::RateLimited,
            CallError::NoCredentials { .. } | CallError::Sign { .. } => false,
        };
        if !may_pass || attempt >= ATTEMPTS {
            return Err(error).context("the venue could not be asked");
        }
        let cause = error.to_string();
        if cause != told {
            tracing::warn!(%error, "venue not ready, asking again up to {ATTEMPTS} times");
            told = cause;
        }
        crate::notify::still_starting(PAUSE * 10);
        attempt += 1;
        tokio::time::sleep(PAUSE).await;
    }
}
