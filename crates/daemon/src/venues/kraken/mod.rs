//! Kraken's spot interface: keys and nonces, the questions of a start, what seals orders, the dead man's switch.
//!
//! A start proves what sealing relies on: that a nonce below the highest one is refused (the nonce window of the key is
//! 0), so that the same bytes never count twice, and that neither key may withdraw.

pub mod access;
pub mod calls;
pub mod key_watch;
pub mod nonces;
mod probe;
pub mod seal;
pub mod switch;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context;
use cambist_client::{CallError, KeyKind, KrakenClient, ProofError};
use cambist_core::order::UnsignedOrder;
use cambist_core::venue::FeeToken;
use cambist_core::{ClientOrderId, Reason, VenueTime};
use cambist_host::clock::Clock;
use cambist_host::exit::{Exit, Failure};
use cambist_kraken_venue::Listing;
use cambist_kraken_venue::seal::seal as sealed;

use super::{Trading, VenueListing};
use crate::adapter;
use crate::config::{Bound, Daemon, Listed};
use crate::live::start_retry::StartRetry;
use access::KrakenAccess;
use key_watch::KeyWatch;
use seal::KrakenSealer;
use switch::DeadManSwitch;

/// A checked account at Kraken.
pub struct Session {
    access: KrakenAccess,
    listing: Arc<Listing>,
    /// Ids of this program's among the newest orders of the account, if they were read.
    newest: OnceLock<Vec<ClientOrderId>>,
    cancel_all_after_s: u32,
}

/// Answers from which the venue's clock is read.
const TIMES_COMPARED: usize = 3;
/// Why a start waits before it asks anything that counts.
const COUNTER_WAITS: &str = "the counter of the API key's calls has no room for the questions of a start; it counts as full where earlier calls are not known";
/// Pause between two pages of a command: a page of orders costs up to three calls with the ledger of its trades, and the
/// lowest tier has 15 at once and one more in 3 s.
pub const PACE: Duration = Duration::from_secs(2);

impl Session {
    /// Asks whether the service is there, and proves of the keys what trading relies on.
    pub async fn open(
        access: KrakenAccess,
        daemon: &Daemon,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<Self> {
        let client = &access.client;
        retry.ask(|| client.time()).await?;
        if let Some(calls) = &access.calls {
            retry.wait(calls.wait(), COUNTER_WAITS).await;
        }
        let status = retry.ask(|| client.system_status()).await?;
        if !status.takes_post_only_orders() {
            tracing::warn!(
                "the venue takes no orders now (its status is {}); nothing is quoted until it does",
                status.name()
            );
        }
        for (which, folder) in access.keys() {
            prove(client, which, folder, retry).await?;
        }
        let link = daemon.venue.kraken();
        Ok(Self {
            access,
            listing: Arc::default(),
            newest: OnceLock::new(),
            cancel_all_after_s: link.map_or(0, |link| link.cancel_all_after_s),
        })
    }

    /// The client, which knows the listing once it was read.
    pub fn client(&self) -> KrakenClient {
        self.access.client.with_listing(Arc::clone(&self.listing))
    }

    /// What the venue lists: all assets, and the pairs of the file.
    pub async fn listing(
        &mut self,
        daemon: &Daemon,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<VenueListing> {
        let markets = daemon.markets.iter();
        let names: Vec<_> = markets.map(|market| market.name.value.clone()).collect();
        self.listing = self.access.listing(&names, retry).await?;
        let markets = self.listing.pairs().iter().map(|listed| Listed {
            name: listed.market.clone(),
            base: listed.base.id,
            quote: listed.quote.id,
            price_decimals: listed.pair.price_decimals,
            fee_in: FeeToken::Quote,
            enabled: listed.pair.is_online,
        });
        Ok(VenueListing {
            tokens: self.listing.tokens().cloned().collect(),
            markets: markets.collect(),
            pools: Vec::new(),
        })
    }

    /// Compares the account with the file: its fees, and whether each key may do what it is for.
    pub async fn check(
        &self,
        daemon: &Daemon,
        bound: &Bound,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<()> {
        self.check_fees(daemon, bound, retry).await?;
        self.check_account_key(retry).await?;
        for (spec, limits) in bound.markets.iter().zip(&bound.engine.markets) {
            let order = probe::smallest(spec, limits);
            let order = order.with_context(|| format!("{}: no order can be stated", spec.name))?;
            if let Some((reason, detail)) = self.validate(&order, bound, retry).await?
                && adapter::is_of_the_request(reason)
            {
                let what = format!(
                    "the venue would refuse every order of {}: {detail}{}",
                    spec.name,
                    clock_text(self.time(retry).await?)
                );
                return Err(Failure::new(Exit::Refused, what).into());
            }
        }
        Ok(())
    }

    /// Whether the key that reads and cancels may do both: without one of its permissions the account would be unknown, or
    /// its orders could not be cancelled.
    async fn check_account_key(&self, retry: StartRetry<'_>) -> anyhow::Result<()> {
        self.newest_ids(retry).await?;
        let since = self.time(retry).await?;
        let client = &self.access.client;
        let found = retry.ask(|| client.ledgers_and_cancels(since)).await;
        found.map_err(|error| of_key(self.access.account_folder(), error))
    }

    /// The ids of this program's among the newest orders of the account, read once.
    pub async fn newest_ids(&self, retry: StartRetry<'_>) -> anyhow::Result<Vec<ClientOrderId>> {
        if let Some(known) = self.newest.get() {
            return Ok(known.clone());
        }
        let client = self.client();
        let found = retry.ask(|| client.newest_ids()).await;
        let found = found.map_err(|error| of_key(self.access.account_folder(), error))?;
        Ok(self.newest.get_or_init(|| found).clone())
    }

    /// How much of the budget the calls of the key leave, these of the start included.
    pub fn budget_left(&self) -> Option<u32> {
        let calls = self.access.calls.as_ref();
        calls.map(|calls| calls.left())
    }

    /// Sets the dead man's switch, if it is on.
    pub async fn set_switch(&self, retry: StartRetry<'_>) -> anyhow::Result<()> {
        let seconds = self.cancel_all_after_s;
        if seconds > 0 {
            let client = &self.access.client;
            retry.ask(|| client.cancel_all_after(seconds)).await?;
        }
        Ok(())
    }

    /// Refuses an account whose fee is higher than what the file reserves for it.
    async fn check_fees(
        &self,
        daemon: &Daemon,
        bound: &Bound,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<()> {
        let pairs = self.listing.pairs().iter();
        let names: Vec<_> = pairs.map(|listed| listed.pair.name.clone()).collect();
        let client = &self.access.client;
        let fees = retry.ask(|| client.fees(&names)).await;
        let fees = fees.map_err(|error| of_key(self.access.account_folder(), error))?;
        for spec in &bound.markets {
            let listed = self.listing.pair(&spec.name);
            let fee = listed.and_then(|listed| fees.get(&listed.pair.name));
            let fee = fee.with_context(|| format!("the venue has no fees of {}", spec.name))?;
            let [maker, taker] = fee.bips();
            let highest = if bound.engine.maker_only {
                maker
            } else {
                maker.max(taker)
            };
            let reserved = daemon.orders.max_fee_bips;
            if highest > u32::from(reserved) {
                let what = format!(
                    "the account pays a fee of {highest} ten-thousandths on {}, and orders.max_fee_bips = {reserved} is what orders reserve: raise it",
                    spec.name
                );
                return Err(Failure::new(Exit::Refused, what).into());
            }
            let [expected_maker, expected_taker] = daemon.fee_bips.map(u32::from);
            if (maker, taker) != (expected_maker, expected_taker) {
                tracing::warn!(
                    market = spec.name,
                    maker,
                    taker,
                    "the account's fees are others than fees.maker_bips = {expected_maker} and fees.taker_bips = {expected_taker}"
                );
            }
        }
        Ok(())
    }

    /// Whether the venue would take an order now: `None`, or the reason for which it would not. Without a key that places
    /// orders nothing is asked.
    pub async fn validate(
        &self,
        order: &UnsignedOrder,
        bound: &Bound,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<Option<(Reason, String)>> {
        let (Some(nonces), Some(orders), Some(spec)) = (
            &self.access.orders,
            self.access.orders_folder(),
            bound.markets.get(usize::from(order.market.0)),
        ) else {
            return Ok(None);
        };
        let client = &self.access.client;
        let order = &probe::made_at(
            order,
            self.time(retry).await?,
            (&bound.engine, &bound.venue),
        );
        let listing = &self.listing;
        let asked = retry.ask(async || {
            let call = "validate";
            let not_sent = |detail: String| CallError::NotSent { call, detail };
            let nonce = nonces.next().map_err(|error| not_sent(error.to_string()))?;
            let sealed = sealed(order, listing, spec, nonce);
            let sealed = sealed.map_err(|error| not_sent(error.to_string()))?;
            match client.validate(&sealed.body).await {
                Ok(()) => Ok(None),
                Err(CallError::Refused { reason, detail, .. })
                    if !adapter::is_of_keys(reason)
                        && !adapter::RequestRefusal::of(reason).may_pass() =>
                {
                    Ok(Some((reason, detail)))
                }
                Err(error) => Err(error),
            }
        });
        asked.await.map_err(|error| of_key(orders, error))
    }

    /// The venue's clock, by the earliest of several answers.
    pub async fn time(&self, retry: StartRetry<'_>) -> anyhow::Result<VenueTime> {
        let client = &self.access.client;
        let mut earliest = retry.ask(|| client.time()).await?;
        for _ in 1..TIMES_COMPARED {
            earliest = earliest.min(retry.ask(|| client.time()).await?);
        }
        Ok(earliest)
    }

    /// What trading needs.
    pub fn trading(self, bound: &Bound) -> anyhow::Result<Trading> {
        let nonces = self.access.orders.clone();
        let nonces = nonces.ok_or_else(|| {
            Failure::new(
                Exit::Refused,
                "there is no key that places orders".to_owned(),
            )
        })?;
        let client = self.client();
        let seconds = self.cancel_all_after_s;
        Ok(Trading {
            switch: (seconds > 0).then(|| DeadManSwitch::new(client.clone(), seconds)),
            watch: Some(Box::new(KeyWatch::new(client.clone(), self.access.keys()))),
            sealer: Box::new(KrakenSealer {
                listing: self.listing,
                markets: bound.markets.clone(),
                nonces,
            }),
            client: client.into(),
        })
    }
}

/// The order that the body of an `AddOrder` submits, if it is one of this program's.
pub fn order_of(body: &[u8]) -> Option<ClientOrderId> {
    let sealed = cambist_kraken_venue::seal::read_back(body).ok()?;
    Some(sealed.client_id)
}

/// Proves that a key cannot double an order and cannot withdraw.
async fn prove(
    client: &KrakenClient,
    which: KeyKind,
    folder: &str,
    retry: StartRetry<'_>,
) -> anyhow::Result<()> {
    let window = retry.ask(async || proof(client.prove_nonce_window(which).await));
    let window = window.await.map_err(|error| of_key(folder, error))?;
    let funds = retry.ask(async || proof(client.prove_withdrawals_refused(which).await));
    let funds = funds.await.map_err(|error| of_key(folder, error))?;
    match window.or(funds) {
        Some(problem) => {
            let what = format!("the API key in {folder}: {problem}");
            Err(Failure::new(Exit::Refused, what).into())
        }
        None => Ok(()),
    }
}

/// What is wrong with a key, if that could be found out.
fn proof(found: Result<(), ProofError>) -> Result<Option<String>, CallError> {
    match found {
        Ok(()) => Ok(None),
        Err(ProofError::Call(error)) => Err(error),
        Err(error) => Ok(Some(error.to_string())),
    }
}

/// The failure of a start, if a call was refused because of its key.
fn of_key(folder: &str, error: CallError) -> anyhow::Error {
    match &error {
        CallError::Refused { reason, .. } if adapter::is_number_used(*reason) => {
            let what = format!(
                "the API key in {folder} was used with a higher nonce than the clock's ({error}): another program or another state folder uses it. Stop that, or make a new key at the venue; after a state folder was lost, wait for a minute"
            );
            Failure::new(Exit::Refused, what).into()
        }
        CallError::Refused { reason, .. } if adapter::is_of_keys(*reason) => {
            let lacks = adapter::is_without_permission(*reason);
            let remedy = if lacks {
                ". Give it that permission at the venue; if the other key has it, keys.orders_dir and keys.account_dir are exchanged"
            } else {
                ". Compare api_key and secret of this folder with what the venue showed when the key was made"
            };
            let what = format!("the venue refuses the API key in {folder}: {error}{remedy}");
            Failure::new(Exit::Refused, what).into()
        }
        _ => error.into(),
    }
}

/// Seconds by which the clocks may differ without being the cause of a refusal.
const CLOCKS_APART_S: u64 = 5;

/// What the clocks have to do with a refusal, if they differ: deadlines follow the venue's.
fn clock_text(venue: VenueTime) -> String {
    let host_s = Clock::new().unix_micros() / 1_000_000;
    let apart_s = venue.as_s().abs_diff(host_s);
    if apart_s <= CLOCKS_APART_S {
        return String::new();
    }
    let than = if venue.as_s() > host_s {
        "ahead of"
    } else {
        "behind"
    };
    format!(
        "; the venue's clock, by its own answers, is {apart_s} s {than} this host's: if this host's is right, wait until the venue's is"
    )
}
