//! New keys of the account: another signing key, which the owner's wallet authorises, and another API key.
//!
//! Both commands need the stopped daemon, which would go on with the old keys. A new signing key is on disk before it
//! is registered; the account's own public key shows whether it was, so that a command that was killed or got no answer
//! is repeated as it is.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use cambist_client::{CallError, Client, ExposeSecret};
use cambist_core::request::{Outcome, Query, Reply};
use cambist_core::{Amount, TokenId};
use cambist_daemon::adapter::RequestRefusal;
use cambist_daemon::config::Daemon;
use cambist_daemon::live::account_requests::{
    AccountRequest, RequestKind, RequestState, TransmissionAnswer,
};
use cambist_daemon::live::request_folder::{self, RequestFolder};
use cambist_daemon::live::start::refuse_other_account;
use cambist_daemon::venues::exchange::access::AccountAccess;
use cambist_exchange::keys::make_signing_key;
use cambist_host::clock::Clock;
use cambist_host::folder::with_holder;
use cambist_host::secrets;
use cambist_protocol::Endpoint;
use cambist_protocol::encode_funds::sign_key_update;
use cambist_protocol::query::AccountQuery;
use cambist_protocol::wire::{Account, AccountUpdateRequest, SentKey, TokenVolume};
use cambist_signing::ecdsa::EthKey;
use cambist_signing::{Address, PublicKey, SecretKey};
use cambist_store::{Store, StoreError};

use super::session::{Session, refusal, retry_limited};
use super::{key_files, send};
use crate::exit::{Exit, Failure};

/// Validity of a key update.
const VALID_S: u64 = 3_600;
/// Attempts to register a key within one command.
const ATTEMPTS: u32 = 20;
/// Pause between them.
const PAUSE: Duration = Duration::from_millis(500);

/// The state folder of a stopped daemon; a running one is named, with what to do.
pub fn stopped(daemon: &Daemon) -> anyhow::Result<Store> {
    refuse_other_account(daemon)?;
    match Store::open_for(&daemon.store.dir, daemon.venue.rules().slots) {
        Err(StoreError::AnotherInstance { dir, holder }) => {
            let what = format!(
                "a daemon runs on {} and would go on with the old key; stop it first: cambist drain --wait --config {}",
                with_holder(&dir, holder),
                daemon.source.path.display()
            );
            Err(Failure::new(Exit::AnotherInstance, what).into())
        }
        opened => Ok(opened?),
    }
}

/// Replaces the API key in its file; returns whether the venue had replaced it already.
pub async fn rotate_api_key(daemon: &Daemon) -> anyhow::Result<bool> {
    daemon.venue.exchange("a new API key")?;
    let [api_file, _] = key_files::of(daemon)?;
    let AccountAccess { client, .. } = AccountAccess::of(daemon, daemon.request_timeout_ms)?;
    let (key, was_replaced) = match retry_limited(async || Ok(client.rotate_api_key().await?)).await
    {
        Ok(key) => (key, false),
        // The file is older than the venue's key, or it is not known which one the venue has: the signing key gets it.
        Err(error) if is_replaced(&error) => {
            let key = retry_limited(async || Ok(client.api_key().await?)).await;
            (
                key.context("reading the current API key with the signing key")?,
                true,
            )
        }
        Err(error) => return Err(error),
    };
    key_files::replace(api_file, key.expose_secret())?;
    works(&client.with_api_key(&key)?).await?;
    Ok(was_replaced)
}

/// Whether the venue's API key may be another one than before.
fn is_replaced(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<CallError>() {
        Some(CallError::Unknown { .. }) => true,
        _ => refusal(error) == Some(RequestRefusal::KeyUnknown),
    }
}

/// Whether the venue accepts the API key.
async fn works(client: &Client) -> anyhow::Result<()> {
    let asked = retry_limited(
        async || match client.query(&Query::Balances, &[]).await.outcome {
            Outcome::Reply(Reply::Balances(_)) => Ok(()),
            other => bail!("the venue does not accept the new API key: {other:?}"),
        },
    );
    asked.await
}

/// A key update in progress.
pub struct KeyUpdate<'a> {
    daemon: &'a Daemon,
    file: &'a Path,
    client: Client,
    old: Arc<SecretKey>,
    owner: Address,
    account: Account,
    fee: TokenVolume,
    fee_symbol: String,
    chain_id: u64,
    exchange: Address,
}

/// What an update of the key would do, or has left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Make a key, register it, install it.
    Register,
    /// A key of an earlier attempt is registered and only has to be installed.
    Install,
}

impl<'a> KeyUpdate<'a> {
    /// Compares the account with the files.
    pub async fn open(daemon: &'a Daemon) -> anyhow::Result<Self> {
        let [_, file] = key_files::of(daemon)?;
        let AccountAccess { client, key } = AccountAccess::of(daemon, daemon.request_timeout_ms)?;
        let link = daemon.venue.exchange("a new signing key")?;
        let owner: Address = link.owner.parse().context("venue.owner")?;
        let info = retry_limited(async || Ok(client.exchange_info().await?)).await?;
        let wrong = |what: &str| Failure::new(Exit::Refused, what.to_owned());
        let named = link.exchange.as_deref().map(str::parse::<Address>);
        if named.is_some_and(|named| named.ok() != Some(info.exchange_address))
            || link.chain_id.is_some_and(|chain| chain != info.chain_id)
        {
            return Err(wrong(
                "the venue's chain or exchange differs from venue.chain_id and venue.exchange",
            )
            .into());
        }
        let account = account(&client, owner).await?;
        if account.account_id != link.account_id {
            return Err(
                wrong("the owner's account has another number than venue.account_id").into(),
            );
        }
        let listed = info.update_fees.first();
        let (fee_symbol, fee) = listed.map_or(("", 0), |fee| (fee.token.as_str(), fee.fee));
        let tokens = retry_limited(async || Ok(client.tokens().await?)).await?;
        let token = tokens.iter().find(|token| token.symbol == fee_symbol);
        let token = token
            .or(tokens.first())
            .context("the venue lists no token")?;
        Ok(Self {
            daemon,
            file,
            old: Arc::clone(key.secret("a new key")?),
            owner,
            fee: volume(token.token_id, fee),
            fee_symbol: token.symbol.clone(),
            chain_id: info.chain_id,
            exchange: info.exchange_address,
            account,
            client,
        })
    }

    /// What is left to do.
    pub fn step(&self) -> anyhow::Result<Step> {
        let waiting = waiting(self.file)?;
        if waiting.is_some_and(|key| key == self.account.public_key) {
            Ok(Step::Install)
        } else if self.old.public() == self.account.public_key {
            Ok(Step::Register)
        } else {
            let what = format!(
                "the venue knows neither the key in {} nor one that is being registered",
                self.file.display()
            );
            Err(Failure::new(Exit::Refused, what).into())
        }
    }

    /// The fee as text.
    pub fn fee_text(&self) -> String {
        format!("{} base units of {}", self.fee.volume, self.fee_symbol)
    }

    /// Registers the waiting key, which is made if there is none, and installs it.
    pub async fn register(&mut self, wallet: &EthKey) -> anyhow::Result<()> {
        let folder = RequestFolder::open(&self.daemon.store.dir).map_err(StoreError::from)?;
        let new = make_signing_key(&key_files::next(self.file))?;
        let mut request = self.request(&folder, new, wallet)?;
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            request.begin_transmission();
            folder.save(&request)?;
            let answer = self.transmission(&request).await;
            request.end_transmission(&answer);
            self.account = account(&self.client, self.owner).await?;
            let is_registered = self.account.public_key == new;
            if is_registered {
                request.state = RequestState::Processed;
            }
            folder.save(&request)?;
            if is_registered {
                return self.install();
            }
            if request.state == RequestState::Refused {
                let what = format!("the venue refused the new key: {}", request.detail);
                return Err(Failure::new(Exit::CheckFailed, what).into());
            }
        }
        let what = format!(
            "it is not known whether the key will be registered ({}); run the command again",
            request.detail
        );
        Err(Failure::new(Exit::CheckFailed, what).into())
    }

    /// The request of an earlier attempt, if it is still valid, or a new one.
    fn request(
        &self,
        folder: &RequestFolder,
        new: PublicKey,
        wallet: &EthKey,
    ) -> anyhow::Result<AccountRequest> {
        let now_s = Clock::new().unix_micros() / 1_000_000;
        let earlier = request_folder::list(&self.daemon.store.dir)?.into_iter();
        let ours = earlier.filter(|one| one.kind == RequestKind::KeyUpdate && one.state.is_open());
        let mut valid = None;
        for mut request in ours {
            if u64::from(request.valid_until_s) > now_s {
                valid = Some(request);
            } else {
                // Its nonce is not used: the account still has the old key.
                request.state = RequestState::Failed;
                folder.save(&request)?;
            }
        }
        if let Some(valid) = valid {
            return Ok(valid);
        }
        let valid_until = Session::valid_until_s(VALID_S);
        let wanted = AccountUpdateRequest {
            exchange: self.exchange,
            owner: self.owner,
            account_id: self.account.account_id,
            public_key: SentKey::Coordinates(new),
            max_fee: self.fee,
            valid_until,
            nonce: self.account.nonce,
            eddsa_signature: None,
            ecdsa_signature: None,
            hash_approved: None,
        };
        let made = sign_key_update(&wanted, self.chain_id, wallet)?;
        let about = format!("key update with nonce {}", self.account.nonce);
        let mut request = AccountRequest::new(RequestKind::KeyUpdate, made.hash.to_string(), about);
        (request.created_s, request.valid_until_s) = (now_s, valid_until);
        if self.fee.volume > 0 {
            let units = i128::try_from(self.fee.volume).context("the fee is too large")?;
            let what = format!("fee of the {}", request.about);
            request.expect(self.fee.token, &self.fee_symbol, -units, &what);
        }
        send::signed(&mut request, &made);
        Ok(request)
    }

    async fn transmission(&self, request: &AccountRequest) -> TransmissionAnswer {
        let body = request.body.as_bytes();
        let signature = request.wallet_signature.as_deref();
        let sent = self
            .client
            .submit_request(Endpoint::UpdateAccount, body, signature);
        match sent.await {
            Ok(answer) => TransmissionAnswer::Accepted(answer.status),
            Err(CallError::Refused { reason, detail, .. }) => {
                TransmissionAnswer::Refused(reason, detail)
            }
            Err(CallError::NotSent { detail, .. }) => TransmissionAnswer::NotSent(detail),
            Err(error) => TransmissionAnswer::Unknown(error.to_string()),
        }
    }

    /// Makes the registered key the current one.
    pub fn install(&self) -> anyhow::Result<()> {
        let folder = RequestFolder::open(&self.daemon.store.dir);
        // The request of a killed attempt took effect.
        if let Ok(folder) = folder {
            for mut request in request_folder::list(&self.daemon.store.dir)? {
                if request.kind == RequestKind::KeyUpdate && request.state.is_open() {
                    request.state = RequestState::Processed;
                    folder.save(&request)?;
                }
            }
        }
        key_files::promote(self.file)
    }
}

async fn account(client: &Client, owner: Address) -> anyhow::Result<Account> {
    retry_limited(async || Ok(client.account(AccountQuery::Owner(owner)).await?)).await
}

/// The public key of a key that waits for its registration.
fn waiting(file: &Path) -> anyhow::Result<Option<PublicKey>> {
    let next = key_files::next(file);
    if next.symlink_metadata().is_err() {
        return Ok(None);
    }
    let text = secrets::read(&next, false)?;
    let key = SecretKey::from_hex(&text).with_context(|| next.display().to_string())?;
    Ok(Some(key.public()))
}

const fn volume(token: TokenId, volume: Amount) -> TokenVolume {
    TokenVolume { token, volume }
}
