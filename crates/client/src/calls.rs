//! Calls outside the engine's loop: what a start needs, and API keys.
//!
//! The engine never makes them, so they return typed errors instead of outcomes.

use cambist_core::TokenId;
use cambist_protocol::encode::to_bytes;
use cambist_protocol::query::{AccountQuery, ApiKeyQuery, PoolBalanceQuery, StorageIdQuery};
use cambist_protocol::wire::{
    Account, ApiKey, ApiKeyRequest, ExchangeInfo, Market, Markets, Pool, PoolBalance, Pools,
    StorageIds, Submission, Timestamp, Token, tokens,
};
use cambist_protocol::{Endpoint, FromWire, Json, WireError};
use cambist_signing::Address;
use secrecy::SecretString;

use crate::classify::{NoAnswer, classify};
use crate::client::{Client, Unmade};
use crate::error::CallError;
use crate::queries::{Call, Signing};
use crate::transport::Exchange;

impl Client {
    /// GET exchange/info.
    pub async fn exchange_info(&self) -> Result<ExchangeInfo, CallError> {
        let call = public(Endpoint::ExchangeInfo, String::new());
        self.call("exchange_info", call, ExchangeInfo::read).await
    }

    /// GET exchange/tokens.
    pub async fn tokens(&self) -> Result<Vec<Token>, CallError> {
        let call = public(Endpoint::Tokens, String::new());
        self.call("tokens", call, tokens).await
    }

    /// GET exchange/markets.
    pub async fn markets(&self) -> Result<Vec<Market>, CallError> {
        let call = public(Endpoint::Markets, String::new());
        let markets = self.call("markets", call, Markets::read).await?;
        Ok(markets.markets)
    }

    /// GET amm/pools.
    pub async fn pools(&self) -> Result<Vec<Pool>, CallError> {
        let call = public(Endpoint::Pools, String::new());
        let pools = self.call("pools", call, Pools::read).await?;
        Ok(pools.pools)
    }

    /// GET amm/balance, by the pool's address.
    pub async fn pool_balance(&self, pool_address: Address) -> Result<PoolBalance, CallError> {
        let query = PoolBalanceQuery { pool_address };
        let call = public(Endpoint::PoolBalance, query.write());
        self.call("pool_balance", call, PoolBalance::read).await
    }

    /// GET account, by owner or id.
    pub async fn account(&self, of: AccountQuery) -> Result<Account, CallError> {
        let call = public(Endpoint::GetAccount, of.write());
        self.call("account", call, Account::read).await
    }

    /// GET timestamp: the venue's time in milliseconds.
    pub async fn timestamp(&self) -> Result<u64, CallError> {
        let call = public(Endpoint::Timestamp, String::new());
        let answer = self.call("timestamp", call, Timestamp::read).await?;
        Ok(answer.timestamp)
    }

    /// GET apiKey with the signing key: fetches the first API key. The signature covers the venue's time, so that a
    /// recorded request cannot be replayed later.
    pub async fn api_key(&self) -> Result<SecretString, CallError> {
        let name = "api_key";
        let query = ApiKeyQuery {
            account_id: self.own_id(name)?,
            timestamp: Some(self.timestamp().await?),
        };
        let call = Call {
            signature: Signing::Request,
            ..public(Endpoint::GetApiKey, query.write())
        };
        let answer = self.call(name, call, ApiKey::read).await?;
        Ok(SecretString::from(answer.api_key))
    }

    /// POST apiKey: replaces the API key. After `CallError::Unknown` either key may be valid.
    pub async fn rotate_api_key(&self) -> Result<SecretString, CallError> {
        let name = "rotate_api_key";
        let account_id = self.own_id(name)?;
        let call = Call {
            body: Some(to_bytes(&ApiKeyRequest { account_id })),
            with_api_key: true,
            signature: Signing::Request,
            ..public(Endpoint::ReplaceApiKey, String::new())
        };
        let answer = self.call(name, call, ApiKey::read).await?;
        Ok(SecretString::from(answer.api_key))
    }

    /// GET storageId: the next free ids of a token, according to the venue. `max_next` requests ids above all used
    /// ones.
    pub async fn storage_id(
        &self,
        sell_token: TokenId,
        max_next: bool,
    ) -> Result<StorageIds, CallError> {
        let name = "storage_id";
        let query = StorageIdQuery {
            account_id: self.own_id(name)?,
            sell_token,
            max_next,
        };
        let call = Call {
            with_api_key: true,
            ..public(Endpoint::StorageId, query.write())
        };
        self.call(name, call, StorageIds::read).await
    }

    /// Sends the exact bytes of a request that moves funds or keys, with the owner's signature in the header if the
    /// endpoint requires one. The same bytes take effect at most once, so that they may be sent again after
    /// `CallError::Unknown`. The API key is sent if there is one: an account has its first signing key before.
    pub async fn submit_request(
        &self,
        endpoint: Endpoint,
        body: &[u8],
        wallet_signature: Option<&str>,
    ) -> Result<Submission, CallError> {
        let call = Call {
            body: Some(body.to_vec()),
            wallet_signature: wallet_signature.map(str::to_owned),
            is_list: false,
            ..public(endpoint, String::new())
        };
        self.call(endpoint.path(), call, Submission::read).await
    }

    fn own_id(&self, call: &'static str) -> Result<u32, CallError> {
        self.account_id().ok_or(CallError::NoCredentials { call })
    }

    async fn call<T>(
        &self,
        name: &'static str,
        call: Call,
        read: impl FnOnce(&Json) -> Result<T, WireError>,
    ) -> Result<T, CallError> {
        let whole = match self.send(call).await {
            Ok(Exchange::Whole(whole)) => whole,
            Ok(Exchange::NotSent(detail)) => {
                return Err(CallError::NotSent { call: name, detail });
            }
            Ok(Exchange::Broken { cause, detail, .. }) => {
                return Err(CallError::Unknown {
                    call: name,
                    cause,
                    detail,
                });
            }
            Err(Unmade::NoCredentials) => return Err(CallError::NoCredentials { call: name }),
            Err(Unmade::Sign(error)) => return Err(CallError::Sign { call: name, error }),
        };
        let answer = classify(whole.status, whole.is_json, &whole.body, read);
        let detail = answer.detail.unwrap_or_default();
        answer.result.map_err(|no_answer| match no_answer {
            NoAnswer::Refused(reason) => CallError::Refused {
                call: name,
                reason,
                is_numbered: true,
                detail,
                retry_after_ms: whole.retry_after_ms,
            },
            NoAnswer::Unknown(cause) => CallError::Unknown {
                call: name,
                cause,
                detail,
            },
        })
    }
}

fn public(endpoint: Endpoint, query: String) -> Call {
    Call {
        endpoint,
        query,
        body: None,
        with_api_key: false,
        signature: Signing::None,
        wallet_signature: None,
        is_list: true,
    }
}
