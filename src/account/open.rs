//! A trader's side of opening an account: a signing key, registered by the owner's wallet, and the API key that it
//! fetches. Repeating it continues where an earlier attempt ended.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use cambist_client::{CallError, Client, ClientConfig, Credentials, ExposeSecret};
use cambist_daemon::adapter::RequestRefusal;
use cambist_exchange::keys;
use cambist_host::secrets;
use cambist_protocol::Endpoint;
use cambist_protocol::encode_funds::sign_key_update;
use cambist_protocol::query::AccountQuery;
use cambist_protocol::wire::{Account, AccountUpdateRequest, ExchangeInfo, SentKey, TokenVolume};
use cambist_signing::ecdsa::EthKey;
use cambist_signing::{Address, PublicKey, SecretKey};

use super::key_files;
use super::session::{Session, refusal, retry_limited};
use crate::exit::{Exit, Failure};

/// Validity of the registration.
const VALID_S: u64 = 600;
/// Attempts to register the key.
const ATTEMPTS: u32 = 20;
/// Pause between them.
const PAUSE: Duration = Duration::from_millis(500);

/// An account that is ready to trade.
pub struct Opened {
    /// Its number.
    pub account_id: u32,
    /// Its owner.
    pub owner: Address,
    /// The exchange.
    pub info: ExchangeInfo,
    /// The registered key.
    pub public_key: PublicKey,
}

/// Makes both keys of the wallet's account in a folder: `eddsa_key` and `api_key`.
pub async fn open(venue: &str, wallet: &EthKey, folder: &Path) -> anyhow::Result<Opened> {
    let refused = |error: &dyn std::fmt::Display| Failure::new(Exit::Refused, error.to_string());
    let config = ClientConfig::new(venue);
    let public = Client::new(&config, None).map_err(|error| refused(&error))?;
    let info = retry_limited(async || Ok(public.exchange_info().await?)).await?;
    let owner = wallet.address();
    let account = account(&public, owner).await?;
    keys::make_folder(folder)?;
    let file = folder.join("eddsa_key");
    let is_new = file.symlink_metadata().is_err();
    // Without a key the venue reports two zeros.
    let coordinates = [account.public_key.x, account.public_key.y];
    let has_key = coordinates.iter().any(|at| at.to_be_bytes() != [0; 32]);
    if is_new && has_key {
        let what = format!(
            "account {} has a signing key already, and {} does not exist; put the key there, or replace it with cambist account update-key",
            account.account_id,
            file.display()
        );
        return Err(Failure::new(Exit::CheckFailed, what).into());
    }
    let public_key = keys::make_signing_key(&file)?;
    let secret = SecretKey::from_hex(&secrets::read(&file, false)?)
        .with_context(|| file.display().to_string())?;
    let credentials = Credentials::new(account.account_id, Some(owner), None, secret);
    let client = Client::new(&config, Some(credentials)).map_err(|error| refused(&error))?;
    if account.public_key != public_key {
        if has_key {
            let what = format!(
                "the key in {} is not that of account {}",
                file.display(),
                account.account_id
            );
            return Err(Failure::new(Exit::Refused, what).into());
        }
        register(&client, &info, &account, public_key, wallet).await?;
    }
    let api_key = retry_limited(async || Ok(client.api_key().await?)).await?;
    key_files::replace(&folder.join("api_key"), api_key.expose_secret())?;
    Ok(Opened {
        account_id: account.account_id,
        owner,
        info,
        public_key,
    })
}

async fn account(client: &Client, owner: Address) -> anyhow::Result<Account> {
    let query = async || client.account(AccountQuery::Owner(owner)).await;
    match retry_limited(async || Ok(query().await?)).await {
        Err(error) if refusal(&error) == Some(RequestRefusal::NoAccount) => {
            let what = format!(
                "{owner} has no account at this exchange; its operator opens one with cambist venue onboard --owner {owner}, or any transfer to that address does"
            );
            Err(Failure::new(Exit::CheckFailed, what).into())
        }
        answered => answered,
    }
}

/// Registers the first signing key. The account's nonce makes repeated requests count once.
async fn register(
    client: &Client,
    info: &ExchangeInfo,
    account: &Account,
    public_key: PublicKey,
    wallet: &EthKey,
) -> anyhow::Result<()> {
    let fee = match info.update_fees.first() {
        Some(listed) => {
            let tokens = retry_limited(async || Ok(client.tokens().await?)).await?;
            let token = tokens.iter().find(|token| token.symbol == listed.token);
            TokenVolume {
                token: token
                    .context("the token of the fee is not listed")?
                    .token_id,
                volume: listed.fee,
            }
        }
        None => TokenVolume {
            token: cambist_core::TokenId(0),
            volume: 0,
        },
    };
    let wanted = AccountUpdateRequest {
        exchange: info.exchange_address,
        owner: wallet.address(),
        account_id: account.account_id,
        public_key: SentKey::Coordinates(public_key),
        max_fee: fee,
        valid_until: Session::valid_until_s(VALID_S),
        nonce: account.nonce,
        eddsa_signature: None,
        ecdsa_signature: None,
        hash_approved: None,
    };
    let signed = sign_key_update(&wanted, info.chain_id, wallet)?;
    let mut last = String::new();
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        let signature = Some(signed.wallet_signature.as_str());
        let sent = client.submit_request(Endpoint::UpdateAccount, &signed.body, signature);
        let answer = sent.await;
        // The account itself is better evidence than the answer.
        let known = retry_limited(async || {
            Ok(client
                .account(AccountQuery::Owner(wallet.address()))
                .await?)
        });
        if known.await?.public_key == public_key {
            return Ok(());
        }
        match answer {
            Err(CallError::Refused { reason, detail, .. })
                if !RequestRefusal::of(reason).may_pass() =>
            {
                let what = format!(
                    "the exchange refused the key: {}: {detail}",
                    reason.message()
                );
                return Err(Failure::new(Exit::CheckFailed, what).into());
            }
            Err(error) => last = error.to_string(),
            Ok(_) => {}
        }
    }
    let what = format!(
        "it is not known whether the key will be registered ({last}); run the command again"
    );
    Err(Failure::new(Exit::CheckFailed, what).into())
}
