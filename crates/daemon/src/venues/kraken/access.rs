//! The API keys of an account at Kraken, and the numbers of their requests.
//!
//! A daemon has two keys of its own: one places orders, the other reads and cancels. The numbers of both (nonces) are
//! kept in its state folder, which it has locked. A command locks the folder for as long as it runs, and uses the same
//! keys; beside a running daemon it needs the third key, whose numbers are the clock's.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use cambist_client::{
    ApiKey, CallError, ClientConfig, KeyKind, KrakenClient, KrakenKeys, SecretString,
};
use cambist_host::exit::{Exit, Failure};
use cambist_host::folder::{FolderError, PrivateFolder, TakenFolder, holder, with_holder};
use cambist_host::secrets::{KeyFolder, KeyFolders, KeyPair, SecretError};
use cambist_kraken_venue::listing::Pair;
use cambist_kraken_venue::{Listing, NonceSource};

use super::calls::KeyCalls;
use super::nonces::{ClockNonces, NonceFile, NoncesOf};
use crate::adapter;
use crate::config::Daemon;
use crate::config::venue::kraken::BASE_URL;
use crate::live::start_retry::StartRetry;
use crate::venues::token_ids::TokenIds;

/// The keys of an account, and a client that uses them.
pub struct KrakenAccess {
    /// The client. It knows no listing yet.
    pub client: KrakenClient,
    /// Nonces of the key that places orders; `None` if there is no such key here.
    pub orders: Option<Arc<dyn NonceSource>>,
    /// The calls of the key that reads and cancels, where its state folder is locked.
    pub calls: Option<Arc<KeyCalls>>,
    /// Numbers of assets.
    pub ids: TokenIds,
    /// Where the key that places orders was read, and the one that reads and cancels.
    folders: (Option<String>, String),
    /// The state folder, locked for a command.
    _locked: Option<TakenFolder>,
}

/// The state folder of a command.
enum Folder {
    Locked(TakenFolder),
    Missing,
    OfADaemon,
}

impl KrakenAccess {
    /// The keys of a daemon, which has locked its state folder.
    pub fn of(daemon: &Daemon, timeout_ms: u64) -> anyhow::Result<Self> {
        let dir = &daemon.store.dir;
        let (nonces, calls) = of_folder(daemon)?;
        let access = Self::both(daemon, timeout_ms, nonces, TokenIds::open(dir)?, None)?;
        Ok(Self { calls, ..access })
    }

    /// The keys of a command.
    pub fn of_command(daemon: &Daemon, timeout_ms: u64) -> anyhow::Result<Self> {
        let dir = &daemon.store.dir;
        match lock(dir)? {
            Folder::Locked(locked) => {
                let (nonces, calls) = of_folder(daemon)?;
                let ids = TokenIds::unsaved();
                let access = Self::both(daemon, timeout_ms, nonces, ids, Some(locked))?;
                Ok(Self { calls, ..access })
            }
            Folder::Missing => {
                let nonces = [
                    Arc::new(ClockNonces::alone()) as Arc<dyn NonceSource>,
                    Arc::new(ClockNonces::alone()),
                ];
                Self::both(daemon, timeout_ms, nonces, TokenIds::unsaved(), None)
            }
            Folder::OfADaemon => {
                let Some(key) = &folders(daemon)?.panic else {
                    let what = format!(
                        "a daemon runs on {} and numbers the requests of its keys; give commands beside it a key of their own (keys.panic_dir), or stop it",
                        with_holder(dir, holder(dir))
                    );
                    return Err(Failure::new(Exit::AnotherInstance, what).into());
                };
                Self::reading(daemon, timeout_ms, key, Arc::new(ClockNonces::alone()))
            }
        }
    }

    /// Reads every key of a checked file, as far as that is possible without the venue.
    pub fn check_files(daemon: &Daemon) -> anyhow::Result<()> {
        let folders = folders(daemon)?;
        let each = [&folders.orders, &folders.account].into_iter();
        let each: Vec<_> = each.chain(&folders.panic).collect();
        for folder in &each {
            read(daemon, folder)?;
        }
        check_distinct(daemon, &each)
    }

    /// The key of `panic`: the third one, or the one that reads and cancels. Needs no state folder.
    pub fn of_panic(daemon: &Daemon, timeout_ms: u64) -> anyhow::Result<Self> {
        let folders = folders(daemon)?;
        let (key, nonces) = match &folders.panic {
            Some(key) => (key, ClockNonces::alone()),
            None => (&folders.account, ClockNonces::beside(&daemon.store.dir)),
        };
        Self::reading(daemon, timeout_ms, key, Arc::new(nonces))
    }

    /// Every asset, and these pairs, or all if none is named.
    pub async fn listing(
        &mut self,
        names: &[String],
        retry: StartRetry<'_>,
    ) -> anyhow::Result<Arc<Listing>> {
        let client = &self.client;
        let assets = retry.ask(|| client.assets()).await?;
        let pairs = pairs(client, names, retry).await?;
        let ids = self
            .ids
            .of(assets.iter().map(|asset| asset.name.as_str()))?;
        let listing = Listing::new(&assets, &pairs, ids);
        let listing = listing.map_err(|error| Failure::new(Exit::Refused, error.to_string()))?;
        Ok(Arc::new(listing))
    }

    fn both(
        daemon: &Daemon,
        timeout_ms: u64,
        nonces: [Arc<dyn NonceSource>; 2],
        ids: TokenIds,
        locked: Option<TakenFolder>,
    ) -> anyhow::Result<Self> {
        let folders = folders(daemon)?;
        // The third key may be kept from the daemon.
        check_distinct(daemon, &[&folders.orders, &folders.account])?;
        let keys = KrakenKeys {
            orders: Some(read(daemon, &folders.orders)?),
            account: read(daemon, &folders.account)?,
        };
        Ok(Self {
            orders: Some(Arc::clone(&nonces[0])),
            client: client(daemon, timeout_ms, Some(keys), nonces)?,
            calls: None,
            ids,
            folders: (Some(folders.orders.name()), folders.account.name()),
            _locked: locked,
        })
    }

    /// The keys that are here, and where each was read.
    pub fn keys(&self) -> Vec<(KeyKind, &str)> {
        let orders = self.orders_folder();
        let orders = orders.map(|folder| (KeyKind::Orders, folder));
        let account = (KeyKind::Account, self.account_folder());
        orders.into_iter().chain([account]).collect()
    }

    /// Where the key that places orders was read, if it is here.
    pub fn orders_folder(&self) -> Option<&str> {
        self.folders.0.as_deref()
    }

    /// Where the key that reads and cancels was read.
    pub fn account_folder(&self) -> &str {
        &self.folders.1
    }

    /// One key that reads and cancels.
    fn reading(
        daemon: &Daemon,
        timeout_ms: u64,
        key: &KeyFolder,
        nonces: Arc<dyn NonceSource>,
    ) -> anyhow::Result<Self> {
        let keys = KrakenKeys {
            orders: None,
            account: read(daemon, key)?,
        };
        let nonces = [Arc::clone(&nonces), nonces];
        Ok(Self {
            client: client(daemon, timeout_ms, Some(keys), nonces)?,
            orders: None,
            calls: None,
            ids: TokenIds::unsaved(),
            folders: (None, key.name()),
            _locked: None,
        })
    }
}

/// What a locked state folder keeps of both keys: their nonces, and the calls of the one that reads and cancels.
#[expect(clippy::type_complexity, reason = "both are taken apart at once")]
fn of_folder(
    daemon: &Daemon,
) -> anyhow::Result<([Arc<dyn NonceSource>; 2], Option<Arc<KeyCalls>>)> {
    let dir = &daemon.store.dir;
    let tier = daemon.venue.kraken().map(|link| link.tier);
    let was_used = NoncesOf::Account.were_given(dir);
    let calls = Arc::new(KeyCalls::open(dir, tier.unwrap_or_default(), was_used));
    let orders = NonceFile::open(dir, NoncesOf::Orders)?;
    let account = NonceFile::open(dir, NoncesOf::Account)?.with_calls(Arc::clone(&calls));
    Ok(([Arc::new(orders), Arc::new(account)], Some(calls)))
}

fn client(
    daemon: &Daemon,
    timeout_ms: u64,
    keys: Option<KrakenKeys>,
    nonces: [Arc<dyn NonceSource>; 2],
) -> anyhow::Result<KrakenClient> {
    let config = ClientConfig {
        timeout_ms,
        ..ClientConfig::new(&daemon.venue.base_url.value)
    };
    let client = KrakenClient::new(&config, keys, nonces);
    Ok(client.map_err(|error| Failure::new(Exit::Refused, error.to_string()))?)
}

/// What the venue lists of these pairs, read without keys.
pub async fn public_listing(daemon: &Daemon, names: &[String]) -> anyhow::Result<Listing> {
    let nonces = [
        Arc::new(ClockNonces::alone()) as Arc<dyn NonceSource>,
        Arc::new(ClockNonces::alone()),
    ];
    let client = client(daemon, daemon.request_timeout_ms, None, nonces)?;
    let once = StartRetry::none();
    let assets = once.ask(|| client.assets()).await?;
    let pairs = pairs(&client, names, once).await?;
    let mut ids = TokenIds::unsaved();
    let ids = ids.of(assets.iter().map(|asset| asset.name.as_str()))?;
    let listing = Listing::new(&assets, &pairs, ids);
    Ok(listing.map_err(|error| Failure::new(Exit::Refused, error.to_string()))?)
}

/// These pairs. If the venue does not know one of them it lists none: all are then read, so that what compares the file
/// with them names the one.
async fn pairs(
    client: &KrakenClient,
    names: &[String],
    retry: StartRetry<'_>,
) -> Result<Vec<Pair>, CallError> {
    match retry.ask(|| client.asset_pairs(names)).await {
        Err(CallError::Refused { reason, .. })
            if adapter::is_of_unknown_market(reason) && !names.is_empty() =>
        {
            retry.ask(|| client.asset_pairs(&[])).await
        }
        listed => listed,
    }
}

/// Where the keys of a checked file are.
fn folders(daemon: &Daemon) -> Result<&KeyFolders, Failure> {
    let keys = daemon.venue.kraken().and_then(|link| link.keys.as_ref());
    keys.ok_or_else(|| {
        let what = "the configuration has no keys of an account at Kraken";
        Failure::new(Exit::Refused, what)
    })
}

/// Refuses one API key in two folders: its requests would have one row of nonces, and a cancel could outdate the bytes of
/// an order that is about to be sent.
fn check_distinct(daemon: &Daemon, folders: &[&KeyFolder]) -> anyhow::Result<()> {
    let mut known = Vec::new();
    for folder in folders {
        let (key, name) = (load(daemon, folder)?.api_key, folder.name());
        if let Some((_, other)) = known.iter().find(|(of, _)| of == &key) {
            let what = format!(
                "{other} and {name} hold the same API key: make a key for each at the venue, because each counts its own nonces"
            );
            return Err(Failure::new(Exit::Refused, what).into());
        }
        known.push((key, name));
    }
    Ok(())
}

fn read(daemon: &Daemon, folder: &KeyFolder) -> anyhow::Result<ApiKey> {
    let pair = load(daemon, folder)?;
    let key = ApiKey::new(
        &SecretString::from(pair.api_key.as_str()),
        &SecretString::from(pair.secret.as_str()),
    );
    key.map_err(|error| {
        let what = format!("{}: {error}", folder.name());
        Failure::new(Exit::Refused, what).into()
    })
}

fn load(daemon: &Daemon, folder: &KeyFolder) -> anyhow::Result<KeyPair> {
    let base_url = &daemon.venue.base_url.value;
    folder.load().map_err(|error| absent(base_url, error))
}

/// The error of a key that is missing, with what makes one for an exchange with Kraken's interface that is not Kraken.
fn absent(base_url: &str, error: SecretError) -> anyhow::Error {
    if !matches!(error, SecretError::Missing(_)) || base_url == BASE_URL {
        return error.into();
    }
    let what = format!(
        "{error} (keys of an exchange of this program: cambist venue kraken-key NAME, before its start; docs/kraken.md)"
    );
    Failure::new(Exit::Refused, what).into()
}

/// Locks the state folder. Before a first run it is created: the start that follows has to know the calls that the command
/// made. A command that may not create it does without.
fn lock(dir: &Path) -> anyhow::Result<Folder> {
    let is_missing = |error: &FolderError| matches!(error, FolderError::Io { source, .. } if source.kind() == ErrorKind::NotFound);
    let folder = match PrivateFolder::visit(dir) {
        Ok(folder) => folder,
        Err(error) if is_missing(&error) => match PrivateFolder::open_or_create(dir) {
            Ok(folder) => folder,
            Err(error) => {
                tracing::debug!(%error, "the calls of the key are not kept for the first start");
                return Ok(Folder::Missing);
            }
        },
        Err(error) => return Err(cambist_store::StoreError::from(error).into()),
    };
    match folder.take() {
        Ok(taken) => Ok(Folder::Locked(taken)),
        Err(FolderError::InUse(_)) => Ok(Folder::OfADaemon),
        Err(error) => Err(cambist_store::StoreError::from(error).into()),
    }
}
