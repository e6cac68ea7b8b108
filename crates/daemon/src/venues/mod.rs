//! Venues that the daemon trades on: a folder for each, with its keys, the questions of a start and the bytes of
//! intents. The rest of the daemon uses the types of this file.
//!
//! What a venue guarantees is a value that the engine judges by (`cambist_core::venue`); requests and answers are
//! translated by `cambist_client`.

pub mod evm;
pub mod exchange;
pub mod kraken;
mod token_ids;
use std::sync::Arc;
use std::time::Duration;

use cambist_client::{CallError, VenueClient};
use cambist_core::event::Start;
use cambist_core::order::UnsignedOrder;
use cambist_core::request::OrderList;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{ClientOrderId, Hash, Intent, TokenId, TokenSpec, VenueTime};
use cambist_host::exit::{Exit, Failure};
use cambist_signing::SignerError;
use tokio::sync::mpsc;

use crate::adapter;
use crate::config::pool::ListedPool;
use crate::config::venue::VenueKind;
use crate::config::{Bound, Daemon, Listed};
use crate::live::LoopMessage;
use crate::live::start_retry::StartRetry;
use crate::telemetry::Telemetry;
use evm::access::EvmAccess;
use exchange::access::AccountAccess;
use kraken::access::KrakenAccess;
use kraken::switch::DeadManSwitch;

/// The venue of a configuration and the account's keys. Nothing was sent.
pub enum Access {
    /// The exchange interface.
    Exchange(AccountAccess),
    /// Kraken.
    Kraken(KrakenAccess),
    /// Pools on an EVM chain.
    Evm(EvmAccess),
}

/// A venue that was compared with the configuration: its identity, the account and the keys.
pub enum Session {
    /// The exchange interface.
    Exchange(exchange::Session),
    /// Kraken.
    Kraken(kraken::Session),
    /// Pools on an EVM chain.
    Evm(Box<evm::Session>),
}

/// What a venue lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VenueListing {
    /// All tokens.
    pub tokens: Vec<TokenSpec>,
    /// All markets.
    pub markets: Vec<Listed>,
    /// All pools, if some are configured.
    pub pools: Vec<ListedPool>,
}

/// Whether the venue would take an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Validity {
    /// It cannot be asked.
    NotAsked,
    /// It would.
    Valid,
    /// It would not, for this reason.
    Refused(String),
}

/// What trading needs of a venue.
pub struct Trading {
    /// Sends requests.
    pub client: VenueClient,
    /// Makes the bytes of intents.
    pub sealer: Box<dyn Sealer>,
    /// The venue's dead man's switch, if it has one and it is on.
    pub switch: Option<DeadManSwitch>,
    /// What watches the account while the daemon runs, where others may use its keys or replace its chain.
    pub watch: Option<Box<dyn Watch>>,
}

/// Watches an account for what no answer to the engine states. What it finds stops new orders, with the reason.
pub trait Watch: Send {
    /// Begins, until the event loop has ended.
    fn begin(self: Box<Self>, telemetry: Arc<Telemetry>, inbox: mpsc::Sender<LoopMessage>);
}

/// An account that commands read, and whose orders they cancel.
pub struct AccountReader {
    /// Its client.
    pub client: VenueClient,
    /// The list that shows every order that rests.
    pub resting: OrderList,
    /// The lists that show every order, one after the other.
    pub lists: Vec<OrderList>,
    /// Whether the venue has pools.
    pub has_pools: bool,
    /// Pause between two pages of lists.
    pub pace: Duration,
    /// All tokens, if they had to be read.
    tokens: Option<Vec<TokenSpec>>,
}

impl AccountReader {
    /// All tokens of the venue.
    pub async fn tokens(&self) -> anyhow::Result<Vec<TokenSpec>> {
        match (&self.client, &self.tokens) {
            (_, Some(tokens)) => Ok(tokens.clone()),
            (VenueClient::Exchange(client), None) => exchange::tokens(client).await,
            (VenueClient::Kraken(_) | VenueClient::Evm(_), None) => {
                anyhow::bail!("the venue's listing was not read")
            }
        }
    }
}

impl Access {
    /// Reads the secrets of a checked file, for a daemon whose state folder is locked. Sends nothing. `timeout_ms` is the
    /// time limit of each later request.
    pub fn of(daemon: &Daemon, timeout_ms: u64) -> anyhow::Result<Self> {
        Ok(match daemon.venue.kind() {
            VenueKind::Exchange => Self::Exchange(AccountAccess::of(daemon, timeout_ms)?),
            VenueKind::Kraken => Self::Kraken(KrakenAccess::of(daemon, timeout_ms)?),
            VenueKind::EvmPools => Self::Evm(EvmAccess::of(daemon, timeout_ms)?),
        })
    }

    /// As `of`, for a command, perhaps beside a daemon.
    pub fn of_command(daemon: &Daemon, timeout_ms: u64) -> anyhow::Result<Self> {
        Ok(match daemon.venue.kind() {
            VenueKind::Exchange => Self::Exchange(AccountAccess::of(daemon, timeout_ms)?),
            VenueKind::Kraken => Self::Kraken(KrakenAccess::of_command(daemon, timeout_ms)?),
            VenueKind::EvmPools => Self::Evm(EvmAccess::reading(daemon, timeout_ms)?),
        })
    }

    /// Reads the secrets of a checked file, and refuses what is not a key. Sends nothing.
    pub fn check_keys(daemon: &Daemon) -> anyhow::Result<()> {
        match daemon.venue.kind() {
            VenueKind::Exchange => AccountAccess::of(daemon, daemon.request_timeout_ms).map(drop),
            VenueKind::Kraken => KrakenAccess::check_files(daemon),
            VenueKind::EvmPools => EvmAccess::check_files(daemon),
        }
    }

    /// As `of`, for `panic`: beside a daemon, and with a state folder that is lost.
    pub fn of_panic(daemon: &Daemon, timeout_ms: u64) -> anyhow::Result<Self> {
        Ok(match daemon.venue.kind() {
            VenueKind::Exchange => Self::Exchange(AccountAccess::of(daemon, timeout_ms)?),
            VenueKind::Kraken => Self::Kraken(KrakenAccess::of_panic(daemon, timeout_ms)?),
            VenueKind::EvmPools => Self::Evm(EvmAccess::reading(daemon, timeout_ms)?),
        })
    }

    /// One request that cancels every order of the account, where the venue has one, and how many orders that were. Needs
    /// nothing of the venue's listing.
    pub async fn cancel_all(&self) -> Option<Result<u64, CallError>> {
        match self {
            // Nothing rests at a pool.
            Self::Exchange(_) | Self::Evm(_) => None,
            Self::Kraken(access) => Some(access.client.cancel_all().await),
        }
    }

    /// The account for commands that read and cancel. May be called again after a failure.
    pub async fn reader(&mut self, daemon: &Daemon) -> anyhow::Result<AccountReader> {
        match self {
            Self::Evm(access) => evm::account_reader(access, daemon),
            Self::Exchange(access) => Ok(AccountReader {
                client: access.client.clone().into(),
                resting: OrderList::All,
                lists: vec![OrderList::All],
                has_pools: true,
                pace: exchange::PACE,
                tokens: None,
            }),
            Self::Kraken(access) => {
                let listing = access.listing(&[], StartRetry::none()).await?;
                Ok(AccountReader {
                    resting: OrderList::Resting,
                    lists: vec![OrderList::Resting, OrderList::Closed],
                    has_pools: false,
                    pace: kraken::PACE,
                    tokens: Some(listing.tokens().cloned().collect()),
                    client: access.client.with_listing(listing).into(),
                })
            }
        }
    }

    /// As [`reader`](Self::reader), for a command that shows everything that is held: with shares of pools, which some
    /// venues are asked about.
    pub async fn holdings_reader(&mut self, daemon: &Daemon) -> anyhow::Result<AccountReader> {
        match self {
            Self::Evm(access) => evm::holdings_reader(access, daemon).await,
            Self::Exchange(_) | Self::Kraken(_) => self.reader(daemon).await,
        }
    }

    /// Compares identity, account and keys with the configuration.
    pub async fn open(self, daemon: &Daemon, retry: StartRetry<'_>) -> anyhow::Result<Session> {
        match self {
            Self::Exchange(access) => {
                let session = exchange::Session::open(access, daemon, retry).await?;
                Ok(Session::Exchange(session))
            }
            Self::Kraken(access) => {
                let session = kraken::Session::open(access, daemon, retry).await?;
                Ok(Session::Kraken(session))
            }
            Self::Evm(access) => {
                let session = evm::Session::open(access, daemon, retry).await?;
                Ok(Session::Evm(Box::new(session)))
            }
        }
    }
}

impl Session {
    /// Its client, for what is configured.
    pub fn client(&self, bound: &Bound) -> VenueClient {
        match self {
            Self::Exchange(session) => session.client().clone().into(),
            Self::Kraken(session) => session.client().into(),
            Self::Evm(session) => session.client(bound).into(),
        }
    }

    /// What the venue lists, bound to the configuration.
    pub async fn bind(&mut self, daemon: &Daemon, retry: StartRetry<'_>) -> anyhow::Result<Bound> {
        let VenueListing {
            tokens,
            markets,
            pools,
        } = match self {
            Self::Exchange(session) => session.listing(daemon, retry).await?,
            Self::Kraken(session) => session.listing(daemon, retry).await?,
            Self::Evm(session) => session.listing(daemon, retry).await?,
        };
        Ok(daemon.bind(&tokens, &markets, &pools)?)
    }

    /// Compares the account with the bound configuration.
    pub async fn check(
        &self,
        daemon: &Daemon,
        bound: &Bound,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<()> {
        match self {
            // Orders of the exchange state the highest fee, and its keys were compared; an account on a chain was compared
            // when it was opened.
            Self::Exchange(_) | Self::Evm(_) => Ok(()),
            Self::Kraken(session) => session.check(daemon, bound, retry).await,
        }
    }

    /// Whether the venue would take an order now, where it can be asked: the reason for which it would not.
    pub async fn validate(
        &self,
        order: &UnsignedOrder,
        bound: &Bound,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<Validity> {
        match self {
            Self::Exchange(_) | Self::Evm(_) => Ok(Validity::NotAsked),
            Self::Kraken(session) => {
                let refused = session.validate(order, bound, retry).await?;
                Ok(refused.map_or(Validity::Valid, |(_, detail)| Validity::Refused(detail)))
            }
        }
    }

    /// The ids of this program's among the newest orders of the account.
    pub async fn newest_ids(
        &self,
        daemon: &Daemon,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<Vec<ClientOrderId>> {
        match self {
            Self::Exchange(session) => {
                let limit = daemon.engine.poll.orders_page;
                exchange::newest_ids(session.client(), limit, retry).await
            }
            Self::Kraken(session) => session.newest_ids(retry).await,
            // Transactions bear no id of ours. A nonce that is not in the journal shows another copy.
            Self::Evm(_) => Ok(Vec::new()),
        }
    }

    /// What has to be in force at the venue before the first order.
    pub async fn prepare(&self, retry: StartRetry<'_>) -> anyhow::Result<()> {
        match self {
            Self::Exchange(_) | Self::Evm(_) => Ok(()),
            Self::Kraken(session) => session.set_switch(retry).await,
        }
    }

    /// The next numbers of slots, by row; `next` are those of the store.
    pub async fn next_slots(
        &self,
        bound: &Bound,
        next: SortedMap<TokenId, u32>,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<SortedMap<TokenId, u32>> {
        match self {
            Self::Exchange(session) => {
                exchange::storage_ids(session.client(), bound, next, retry).await
            }
            // The numbers of the engine count intents; nonces are those of the key's file, or of the journal.
            Self::Kraken(_) | Self::Evm(_) => Ok(next),
        }
    }

    /// A time that the venue's clock has passed.
    pub async fn time(&self, retry: StartRetry<'_>) -> anyhow::Result<VenueTime> {
        match self {
            Self::Exchange(session) => exchange::venue_time(session.client(), retry).await,
            Self::Kraken(session) => session.time(retry).await,
            Self::Evm(session) => session.time(retry).await,
        }
    }

    /// How many tokens of the budget are left, if that is known.
    pub fn budget_left(&self) -> Option<u32> {
        match self {
            Self::Exchange(_) | Self::Evm(_) => None,
            Self::Kraken(session) => session.budget_left(),
        }
    }

    /// What trading needs, for a run that begins with this event.
    pub fn trading(self, bound: &Bound, start: &Start) -> anyhow::Result<Trading> {
        match self {
            Self::Exchange(session) => Ok(session.trading(bound)),
            Self::Kraken(session) => session.trading(bound),
            Self::Evm(session) => session.trading(bound, start),
        }
    }
}

/// An error of a start's questions, in place of it one about the keys if that is what it means: some venues check the
/// keys of public requests as well.
pub fn keys_first(daemon: &Daemon, error: anyhow::Error) -> anyhow::Error {
    match daemon.venue.kind() {
        VenueKind::Exchange => exchange::access::keys_first(daemon, error),
        VenueKind::Kraken | VenueKind::EvmPools => match error.downcast_ref::<CallError>() {
            Some(refused @ CallError::Refused { reason, .. }) if adapter::is_of_keys(*reason) => {
                let what = format!("the venue refuses the API keys: {refused}");
                Failure::new(Exit::Refused, what).into()
            }
            Some(_) | None => error,
        },
    }
}

/// Makes the bytes of intents, one at a time and in their order, on the seal worker's thread. What it returns was read
/// back, and every field is that of the intent.
pub trait Sealer: Send {
    /// The key and the bytes of an intent, the same for every transmission.
    ///
    /// # Errors
    /// There are no bytes; the intent is never sent.
    fn seal(&mut self, intent: &Intent) -> Result<SealedBytes, NotSealed>;
}

/// The bytes of an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedBytes {
    /// The key by which lists, reports and cancels name it.
    pub hash: Hash,
    /// The body that is sent.
    pub body: Vec<u8>,
}

/// Why an intent has no bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSealed {
    /// What holds the key refused this intent, or did not answer.
    #[error("{0}")]
    Signer(SignerError),
    /// This process does not sign it now: a later intent may be. For the engine that is a refusal of the signer.
    #[error("not signed: {0}")]
    Later(String),
    /// A failure of this process, which stops trading.
    #[error("{0}")]
    Failed(String),
}
