//! Access to the daemon's account: its keys, a client that uses them, and the comparison of the account with the
//! configuration.

use std::sync::Arc;

use anyhow::Context;
use cambist_client::{CallError, Client, ClientConfig, Credentials, SecretString};
use cambist_core::Reason;
use cambist_core::request::Query;
use cambist_protocol::encode_move::Owner;
use cambist_protocol::query::AccountQuery;
use cambist_signer::client::RemoteSigner;
use cambist_signer::wire::Identity;
use cambist_signing::{Address, RequestSigner, SecretKey, SignerError};

use crate::adapter::RequestRefusal;
use crate::config::Daemon;
use crate::config::venue::ExchangeLink;
use crate::live::start_retry::StartRetry;
use cambist_host::exit::{Exit, Failure};
use cambist_host::secrets;
use cambist_host::secrets::{Keys, Secrets};

/// A client with the account's keys.
pub struct AccountAccess {
    /// The client.
    pub client: Client,
    /// The signing key.
    pub key: AccountKey,
}

/// The account's signing key.
#[derive(Clone)]
pub enum AccountKey {
    /// This process holds it.
    Held(Arc<SecretKey>),
    /// A signer holds it.
    Signer(Arc<RemoteSigner>),
}

impl AccountKey {
    /// What signs orders, pool transactions and cancels. A signer has a connection of its own for each of these.
    pub fn signer(&self) -> Arc<dyn RequestSigner> {
        match self {
            Self::Held(key) => Arc::clone(key) as Arc<dyn RequestSigner>,
            Self::Signer(signer) => Arc::new(RemoteSigner::new(signer.path())),
        }
    }

    /// The key itself, for requests that a signer never signs.
    pub fn secret(&self, for_what: &str) -> Result<&Arc<SecretKey>, Failure> {
        match self {
            Self::Held(key) => Ok(key),
            Self::Signer(signer) => {
                let what = format!(
                    "the signer at {} holds the signing key and refuses to sign {for_what}: run the command with a configuration whose keys.eddsa_key_file names the key",
                    signer.path().display()
                );
                Err(Failure::new(Exit::Refused, what))
            }
        }
    }
}

impl AccountAccess {
    /// Reads the secrets of a checked file. Sends nothing; later requests have this timeout.
    pub fn of(daemon: &Daemon, timeout_ms: u64) -> anyhow::Result<Self> {
        link(daemon)?;
        Self::with(daemon, &secrets::load(&daemon.keys)?, timeout_ms)
    }

    /// As `of`, with secrets that were read before. Refuses keys in the wrong file: a secret key used as an API key
    /// would be sent in a header.
    pub fn with(daemon: &Daemon, secrets: &Secrets, timeout_ms: u64) -> anyhow::Result<Self> {
        let refused = |what: String| Failure::new(Exit::Refused, what);
        let [api_file, eddsa_file] = daemon.keys.names();
        let is_secret_key = is_secret_key(&secrets.api_key);
        let eddsa_key = secrets.eddsa_key.as_ref();
        let remote = match &daemon.keys {
            Keys::Signer { socket, .. } => {
                Some(AccountKey::Signer(Arc::new(RemoteSigner::new(socket))))
            }
            Keys::Files { .. } | Keys::Credentials | Keys::None => None,
        };
        let read = SecretKey::from_hex(eddsa_key.map_or("", |key| key.as_str()));
        let key = match read {
            Ok(_) if is_secret_key => {
                return Err(refused(format!(
                    "{api_file} holds an EdDSA secret key, not an API key: it would be sent to the venue"
                ))
                .into());
            }
            Ok(key) => AccountKey::Held(Arc::new(key)),
            Err(_) if is_secret_key && remote.is_some() => {
                return Err(refused(format!(
                    "{api_file} holds an EdDSA secret key, not an API key: it would be sent to the venue"
                ))
                .into());
            }
            Err(_) if is_secret_key => {
                return Err(refused(format!(
                    "the keys are swapped: {api_file} holds the EdDSA secret key, and {eddsa_file} does not"
                ))
                .into());
            }
            Err(_) if let Some(remote) = remote => remote,
            Err(_) => {
                return Err(refused(format!(
                    "the EdDSA key in {eddsa_file} is not a secret key in hexadecimal (0x and up to 64 digits, below the group's order)"
                ))
                .into());
            }
        };
        let credentials = Credentials::new(
            link(daemon)?.account_id,
            Some(owner(daemon)?),
            Some(SecretString::from(secrets.api_key.as_str())),
            key.signer(),
        );
        let config = ClientConfig {
            timeout_ms,
            ..ClientConfig::new(&daemon.venue.base_url.value)
        };
        let client = Client::new(&config, Some(credentials))
            .map_err(|error| Failure::new(Exit::Refused, error.to_string()))?;
        Ok(Self { client, key })
    }

    /// Compares chain, exchange, account and keys with the venue; returns the exchange's address and the account's
    /// owner.
    pub async fn check(
        &self,
        daemon: &Daemon,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<(Address, Owner)> {
        let client = &self.client;
        let public_key = self.public_key(daemon, retry).await?;
        let info = retry.ask(|| client.exchange_info()).await?;
        let exchange = check_exchange(daemon, info.chain_id, info.exchange_address)?;
        let address = owner(daemon)?;
        let account = retry.ask(|| client.account(AccountQuery::Owner(address)));
        let account = account.await.map_err(|error| no_account(daemon, error))?;
        check_account(daemon, &account)?;
        if account.public_key != public_key {
            let [_, key] = daemon.keys.names();
            let what = format!(
                "the EdDSA key does not belong to {}: the venue knows another public key than that of {key}",
                daemon.venue.account()
            );
            return Err(Failure::new(Exit::Refused, what).into());
        }
        check_api_key(daemon, client, retry).await?;
        if let AccountKey::Signer(_) = &self.key {
            let identity = self.identity(retry).await?;
            let there = [identity.exchange.to_hex(), identity.chain_id.to_string()];
            let here = [exchange.to_hex(), info.chain_id.to_string()];
            if there != here {
                let what = format!(
                    "the signer signs for exchange {} on chain {}, and the venue is {} on chain {}",
                    there[0], there[1], here[0], here[1]
                );
                return Err(Failure::new(Exit::Refused, what).into());
            }
        }
        let owner = Owner {
            address,
            chain_id: info.chain_id,
        };
        Ok((exchange, owner))
    }
}

impl AccountAccess {
    /// The public key; a signer is waited for, and has to be that of this account.
    async fn public_key(
        &self,
        daemon: &Daemon,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<cambist_signing::PublicKey> {
        if let AccountKey::Held(key) = &self.key {
            return Ok(key.public());
        }
        let identity = self.identity(retry).await?;
        self.check_identity(daemon, &identity)?;
        Ok(identity.public_key)
    }

    /// Refuses a signer of another account, as far as it can be asked now.
    ///
    /// # Errors
    /// It signs for another account than the file's.
    pub fn check_signer(&self, daemon: &Daemon) -> anyhow::Result<()> {
        let AccountKey::Signer(signer) = &self.key else {
            return Ok(());
        };
        let identity = signer.identity();
        identity.map_or(Ok(()), |identity| self.check_identity(daemon, &identity))
    }

    fn check_identity(&self, daemon: &Daemon, identity: &Identity) -> anyhow::Result<()> {
        let here = (
            link(daemon)?.account_id,
            owner(daemon)?,
            self.client.base_url().as_str(),
        );
        if (
            identity.account_id,
            identity.owner,
            identity.base_url.as_str(),
        ) != here
        {
            let what = format!(
                "the signer signs for account {} of {} at {}, and this file is of account {} of {} at {}",
                identity.account_id, identity.owner, identity.base_url, here.0, here.1, here.2
            );
            return Err(Failure::new(Exit::Refused, what).into());
        }
        Ok(())
    }

    async fn identity(&self, retry: StartRetry<'_>) -> anyhow::Result<Identity> {
        let AccountKey::Signer(signer) = &self.key else {
            anyhow::bail!("the key is not that of a signer");
        };
        let identity = retry.ask(async || {
            let signer = Arc::clone(signer);
            let asked = tokio::task::spawn_blocking(move || signer.identity()).await;
            let asked = asked.unwrap_or_else(|e| Err(SignerError::Unavailable(e.to_string())));
            asked.map_err(|error| match error {
                error @ SignerError::Unavailable(_) => CallError::NotSent {
                    call: "signer",
                    detail: error.to_string(),
                },
                error => CallError::Sign {
                    call: "signer",
                    error,
                },
            })
        });
        identity.await.map_err(|error| match error {
            CallError::Sign { error, .. } => Failure::new(Exit::Refused, error.to_string()).into(),
            error => error.into(),
        })
    }
}

/// Whether a text has the form of a secret key: the prefix, hexadecimal digits, a value in range.
fn is_secret_key(text: &str) -> bool {
    text.starts_with("0x") && SecretKey::from_hex(text).is_ok()
}

/// What a checked file has of an account of the exchange interface.
fn link(daemon: &Daemon) -> Result<&ExchangeLink, Failure> {
    daemon.venue.exchange("this command")
}

/// The owner address of a checked file.
fn owner(daemon: &Daemon) -> anyhow::Result<Address> {
    Address::from_hex(&link(daemon)?.owner).context("venue.owner")
}

fn check_exchange(daemon: &Daemon, chain_id: u64, exchange: Address) -> anyhow::Result<Address> {
    let wrong = |what: String| Err(Failure::new(Exit::Refused, what).into());
    let link = link(daemon)?;
    if let Some(expected) = link.chain_id
        && expected != chain_id
    {
        return wrong(format!(
            "venue.chain_id = {expected}, but the venue is on chain {chain_id}"
        ));
    }
    if let Some(expected) = &link.exchange
        && !same_address(expected, exchange)
    {
        return wrong(format!(
            "venue.exchange = {expected}, but the venue's exchange is {exchange}"
        ));
    }
    Ok(exchange)
}

/// If the venue answers that the owner has no account, a retry cannot help.
fn no_account(daemon: &Daemon, error: CallError) -> anyhow::Error {
    let owner = match link(daemon) {
        Ok(link) => &link.owner,
        Err(failure) => return failure.into(),
    };
    let what = match &error {
        CallError::Refused { reason, .. } => {
            if RequestRefusal::of(*reason) == RequestRefusal::NoAccount {
                format!("venue.owner = {owner} has no account at the venue")
            } else {
                format!("venue.owner = {owner}: {error}")
            }
        }
        CallError::NoCredentials { .. }
        | CallError::Sign { .. }
        | CallError::NotSent { .. }
        | CallError::Unknown { .. } => return error.into(),
    };
    Failure::new(Exit::Refused, what).into()
}

/// Sends a request that requires the account's own API key, so that a wrong key is refused before anything is traded.
/// Other refusals are reported by later requests.
async fn check_api_key(
    daemon: &Daemon,
    client: &Client,
    retry: StartRetry<'_>,
) -> anyhow::Result<()> {
    let client = client.clone().into();
    match retry.query(&client, &Query::Balances, &[]).await {
        Ok(_) => Ok(()),
        Err(CallError::Refused { reason, .. }) => {
            key_refusal(daemon, reason).map_or(Ok(()), |failure| Err(failure.into()))
        }
        Err(error) => Err(error.into()),
    }
}

/// The failure, if the reason means that the venue refuses the API key.
fn key_refusal(daemon: &Daemon, reason: Reason) -> Option<Failure> {
    let account = daemon.venue.account();
    let [file, _] = daemon.keys.names();
    let what = match RequestRefusal::of(reason) {
        RequestRefusal::KeyUnknown => format!("the venue does not know the API key in {file}"),
        RequestRefusal::KeyOfAnotherAccount => {
            format!("the API key in {file} is not that of {account}")
        }
        RequestRefusal::RateLimited
        | RequestRefusal::Passing
        | RequestRefusal::NoAccount
        | RequestRefusal::Permanent => return None,
    };
    Some(Failure::new(Exit::Refused, what))
}

/// Some venues check the API key of every request, including public ones.
pub fn keys_first(daemon: &Daemon, error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<CallError>() {
        Some(CallError::Refused { reason, .. }) => {
            key_refusal(daemon, *reason).map_or(error, Into::into)
        }
        Some(_) | None => error,
    }
}

fn check_account(daemon: &Daemon, account: &cambist_protocol::wire::Account) -> anyhow::Result<()> {
    let link = link(daemon)?;
    if account.account_id != link.account_id {
        let what = format!(
            "venue.account_id = {}, but {} owns account {}",
            link.account_id, link.owner, account.account_id
        );
        return Err(Failure::new(Exit::Refused, what).into());
    }
    Ok(())
}

fn same_address(text: &str, address: Address) -> bool {
    text.parse::<Address>()
        .is_ok_and(|parsed| parsed == address)
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
