//! What every request needs: the checked configuration, the account's keys, and the venue's listing, compared with the
//! pins of the file.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use cambist_client::{CallError, Client};
use cambist_core::request::{Outcome, Query, Reply};
use cambist_core::{Amount, Reason, TokenId, TokenSpec};
use cambist_daemon::adapter::RequestRefusal;
use cambist_daemon::config::venue::ExchangeLink;
use cambist_daemon::config::{Bound, Daemon};
use cambist_daemon::live::start_retry::StartRetry;
use cambist_daemon::venues::exchange;
use cambist_daemon::venues::exchange::access::{AccountAccess, AccountKey};
use cambist_host::clock::Clock;
use cambist_host::secrets;
use cambist_protocol::encode_move::Owner;
use cambist_protocol::wire::{ExchangeInfo, OffFeeInfo};
use cambist_signing::Address;
use cambist_signing::ecdsa::EthKey;

use crate::exit::{Exit, Failure};

/// Attempts at queries that the venue refuses because of its rate limit, which a running daemon shares.
const ATTEMPTS: u32 = 10;
/// Pause between them.
const PAUSE: Duration = Duration::from_millis(500);

/// A checked account at its venue.
pub struct Session {
    /// The configuration.
    pub daemon: Daemon,
    /// The account as it is configured.
    pub account: ExchangeLink,
    /// The client with the account's keys.
    pub client: Client,
    /// The signing key.
    pub key: AccountKey,
    /// The exchange contract.
    pub exchange: Address,
    /// The account's owner and the chain.
    pub owner: Owner,
    /// Fees and addresses.
    pub info: ExchangeInfo,
    /// The venue's listing.
    pub bound: Bound,
}

/// A runtime for one command.
pub fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    Ok(runtime.enable_all().build()?)
}

/// The configuration of a daemon that trades, with its pins: units that are signed must not be the venue's word alone.
pub fn trading(config: &Path) -> anyhow::Result<Daemon> {
    let daemon = Daemon::load(config)?;
    if daemon.mode.trades() {
        return Ok(daemon);
    }
    let what = format!(
        "mode {} has no account at a venue; use the configuration of a daemon that trades",
        daemon.mode.name()
    );
    Err(Failure::new(Exit::Refused, what).into())
}

impl Session {
    /// Reads the keys and compares account, keys, units and addresses with the venue.
    pub async fn open(daemon: Daemon) -> anyhow::Result<Self> {
        let access = AccountAccess::of(&daemon, daemon.request_timeout_ms)?;
        let once = StartRetry::none();
        let (exchange, owner) = retry_limited(async || access.check(&daemon, once).await).await?;
        let client = &access.client;
        let info = retry_limited(async || Ok(client.exchange_info().await?)).await?;
        let bound = retry_limited(async || exchange::bind(&daemon, client, once).await).await?;
        let AccountAccess { client, key } = access;
        let client = client.with_pools(&bound.pools);
        Ok(Self {
            account: daemon.venue.exchange("this command")?.clone(),
            daemon,
            client,
            key,
            exchange,
            owner,
            info,
            bound,
        })
    }

    /// A token of the venue by symbol, or by number where symbols are not unique.
    pub fn token(&self, name: &str) -> anyhow::Result<&TokenSpec> {
        let tokens = || self.bound.tokens.iter();
        let mut named = tokens().filter(|token| token.symbol == name);
        let numbered = || tokens().find(|token| token.id.0.to_string() == name);
        let what = match (named.next(), named.next()) {
            (Some(token), None) => return Ok(token),
            (Some(_), Some(_)) => {
                format!("several tokens have the symbol {name:?}; use the number")
            }
            (None, _) => match numbered() {
                Some(token) => return Ok(token),
                None => format!("the venue does not list a token {name:?}"),
            },
        };
        Err(Failure::new(Exit::CheckFailed, what).into())
    }

    /// A token by its id.
    pub fn token_of(&self, id: TokenId) -> anyhow::Result<&TokenSpec> {
        let found = self.bound.tokens.iter().find(|token| token.id == id);
        found.with_context(|| format!("the venue does not list token {}", id.0))
    }

    /// The fee of a list, in the preferred token if it is listed, otherwise in the first one that is.
    pub fn fee(
        &self,
        list: &[OffFeeInfo],
        preferred: &str,
    ) -> anyhow::Result<(&TokenSpec, Amount)> {
        let of = |fee: &OffFeeInfo| anyhow::Ok((self.token(&fee.token)?, fee.fee));
        let found = list.iter().find(|fee| fee.token == preferred);
        let found = found.or(list.first());
        found.map_or_else(|| Ok((self.token(preferred)?, 0)), of)
    }

    /// The free amount of a token: total less what is locked.
    pub async fn free(&self, token: TokenId) -> anyhow::Result<Amount> {
        let balances =
            retry_limited(
                async || match self.client.query(&Query::Balances, &[]).await.outcome {
                    Outcome::Reply(Reply::Balances(balances)) => Ok(balances),
                    Outcome::Refused(reason) => Err(refused("balances", reason)),
                    other => anyhow::bail!("the venue did not report the balances: {other:?}"),
                },
            );
        let of = |balance: &cambist_core::request::Balance| balance.token == token;
        let held = balances.await?.into_iter().find(of);
        Ok(held.map_or(0, |held| held.total.saturating_sub(held.locked)))
    }

    /// When a request of this length of validity expires, Unix seconds.
    pub fn valid_until_s(valid_for_s: u64) -> u32 {
        let now_s = Clock::new().unix_micros() / 1_000_000;
        u32::try_from(now_s.saturating_add(valid_for_s)).unwrap_or(u32::MAX)
    }

    /// Reads the owner's wallet key, which must be that of the account's owner.
    pub fn wallet(&self, file: &Path) -> anyhow::Result<EthKey> {
        wallet(file, self.owner.address)
    }
}

/// Reads a wallet key from its file (mode 0600) and compares its address.
pub fn wallet(file: &Path, owner: Address) -> anyhow::Result<EthKey> {
    let refused = |what: String| Failure::new(Exit::Refused, what);
    let text = secrets::read(file, false)?;
    let key = EthKey::from_hex(&text).map_err(|_| {
        let file = file.display();
        refused(format!(
            "{file} does not hold the key of a wallet (0x and 64 hexadecimal digits)"
        ))
    })?;
    if key.address() != owner {
        let what = format!(
            "the key in {} is that of {}, but the account belongs to {owner}",
            file.display(),
            key.address()
        );
        return Err(refused(what).into());
    }
    Ok(key)
}

fn refused(call: &'static str, reason: Reason) -> anyhow::Error {
    let error = CallError::Refused {
        call,
        reason,
        is_numbered: true,
        detail: String::new(),
        retry_after_ms: None,
    };
    error.into()
}

/// Repeats a query that the rate limit refused.
pub async fn retry_limited<T>(ask: impl AsyncFn() -> anyhow::Result<T>) -> anyhow::Result<T> {
    for _ in 1..ATTEMPTS {
        match ask().await {
            Err(error) if is_limited(&error) => tokio::time::sleep(PAUSE).await,
            answered => return answered,
        }
    }
    ask().await
}

/// Why the venue refused, if it did.
pub fn refusal(error: &anyhow::Error) -> Option<RequestRefusal> {
    match error.downcast_ref::<CallError>() {
        Some(CallError::Refused { reason, .. }) => Some(RequestRefusal::of(*reason)),
        _ => None,
    }
}

fn is_limited(error: &anyhow::Error) -> bool {
    refusal(error) == Some(RequestRefusal::RateLimited)
}
