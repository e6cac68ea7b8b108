//! Venues that the daemon trades on: a folder for each, with its keys, the questions of a start and the bytes of
//! intents. The rest of the daemon uses the types of this file.
//!
//! What a venue guarantees is a value that the engine judges by (`cambist_core::venue`); requests and answers are
//! translated by `cambist_client`.

pub mod exchange;

use std::collections::BTreeMap;

use cambist_client::VenueClient;
use cambist_core::{Hash, Intent, TokenId, TokenSpec, VenueTime};
use cambist_signing::SignerError;

use crate::config::pool::ListedPool;
use crate::config::{Bound, Daemon, Listed};
use crate::live::start_retry::StartRetry;
use exchange::access::AccountAccess;

/// The venue of a configuration and the account's keys. Nothing was sent.
pub enum Access {
    /// The exchange interface.
    Exchange(AccountAccess),
}

/// A venue that was compared with the configuration: its identity, the account and the keys.
pub enum Session {
    /// The exchange interface.
    Exchange(exchange::Session),
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

/// What trading needs of a venue.
pub struct Trading {
    /// Sends requests.
    pub client: VenueClient,
    /// Makes the bytes of intents.
    pub sealer: Box<dyn Sealer>,
}

impl Access {
    /// Reads the secrets of a checked file. Sends nothing; later requests have this timeout.
    pub fn of(daemon: &Daemon, timeout_ms: u64) -> anyhow::Result<Self> {
        Ok(Self::Exchange(AccountAccess::of(daemon, timeout_ms)?))
    }

    /// Its client.
    pub fn client(&self) -> VenueClient {
        match self {
            Self::Exchange(access) => access.client.clone().into(),
        }
    }

    /// Compares identity, account and keys with the configuration.
    pub async fn open(self, daemon: &Daemon, retry: StartRetry<'_>) -> anyhow::Result<Session> {
        match self {
            Self::Exchange(access) => {
                let session = exchange::Session::open(access, daemon, retry).await?;
                Ok(Session::Exchange(session))
            }
        }
    }
}

impl Session {
    /// Its client.
    pub fn client(&self) -> VenueClient {
        match self {
            Self::Exchange(session) => session.client().clone().into(),
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
        };
        Ok(daemon.bind(&tokens, &markets, &pools)?)
    }

    /// The next numbers of slots, by row; `next` are those of the store.
    pub async fn next_slots(
        &self,
        bound: &Bound,
        next: BTreeMap<TokenId, u32>,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<BTreeMap<TokenId, u32>> {
        match self {
            Self::Exchange(session) => {
                exchange::storage_ids(session.client(), bound, next, retry).await
            }
        }
    }

    /// A time that the venue's clock has passed.
    pub async fn time(&self, retry: StartRetry<'_>) -> anyhow::Result<VenueTime> {
        match self {
            Self::Exchange(session) => exchange::venue_time(session.client(), retry).await,
        }
    }

    /// What trading needs.
    pub fn trading(self, daemon: &Daemon, bound: &Bound) -> Trading {
        match self {
            Self::Exchange(session) => session.trading(daemon, bound),
        }
    }
}

/// An error of a start's questions, in place of it one about the keys if that is what it means: some venues check the
/// keys of public requests as well.
pub fn keys_first(daemon: &Daemon, error: anyhow::Error) -> anyhow::Error {
    exchange::access::keys_first(daemon, error)
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
    /// A failure of this process, which stops trading.
    #[error("{0}")]
    Failed(String),
}
