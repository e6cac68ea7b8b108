//! Account, balances, API key, storage ids.
//!
//! The venue decides who may see them.

use cambist_core::{Amount, TokenId};
use cambist_signing::{Address, PublicKey};
use serde::{Serialize, Serializer};

use super::{address, any_text, as_text, public_key, public_key_as_object};
use crate::json::{FromWire, Json, WireError, boolean, integer, text, token_id, wide};

/// Answer of GET account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// Account id.
    pub account_id: u32,
    /// Owner.
    #[serde(serialize_with = "as_text")]
    pub owner: Address,
    /// A frozen account cannot submit orders.
    pub frozen: bool,
    /// Signing key.
    #[serde(serialize_with = "public_key_as_object")]
    pub public_key: PublicKey,
    /// Comma-separated tags.
    pub tags: String,
    /// Nonce of account updates.
    pub nonce: u32,
    /// Outside the interface, read by public clients: nonce of the key message.
    pub key_nonce: u32,
    /// Outside the interface, read by public clients: text signed instead of the key message.
    pub key_seed: String,
}

impl FromWire for Account {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        let nonce = object.required("nonce", integer)?;
        Ok(Self {
            account_id: object.required("accountId", integer)?,
            owner: object.required("owner", address)?,
            frozen: object.required("frozen", boolean)?,
            public_key: object.required("publicKey", public_key)?,
            tags: object.optional("tags", any_text)?.unwrap_or_default(),
            nonce,
            key_nonce: object.optional("keyNonce", integer)?.unwrap_or(nonce),
            key_seed: object.optional("keySeed", any_text)?.unwrap_or_default(),
        })
    }
}

/// Amounts being moved between the layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PendingBalance {
    /// To layer 1.
    #[serde(serialize_with = "as_text")]
    pub withdraw: Amount,
    /// To layer 2.
    #[serde(serialize_with = "as_text")]
    pub deposit: Amount,
}

impl FromWire for PendingBalance {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            withdraw: object.required("withdraw", wide)?,
            deposit: object.required("deposit", wide)?,
        })
    }
}

/// One balance entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Balance {
    /// Outside the interface, sent by other services: the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_id: Option<u32>,
    /// Token.
    #[serde(rename = "tokenId", serialize_with = "token_as_number")]
    pub token: TokenId,
    /// The whole balance.
    #[serde(serialize_with = "as_text")]
    pub total: Amount,
    /// The locked part.
    #[serde(serialize_with = "as_text")]
    pub locked: Amount,
    /// Amounts being moved between the layers.
    pub pending: PendingBalance,
}

impl FromWire for Balance {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            account_id: object.optional("accountId", integer)?,
            token: object.required("tokenId", token_id)?,
            total: object.required("total", wide)?,
            locked: object.required("locked", wide)?,
            pending: object.required("pending", PendingBalance::read)?,
        })
    }
}

impl Balance {
    /// Reads the answer of GET balances: a list, or a single entry, which the text allows.
    pub fn read_all(json: &Json) -> Result<Vec<Self>, WireError> {
        match json {
            Json::Object(_) => Self::read(json).map(|one| vec![one]),
            other => other.list(Self::read),
        }
    }
}

/// Body of POST apiKey.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyRequest {
    /// Account.
    pub account_id: u32,
}

impl FromWire for ApiKeyRequest {
    fn read(json: &Json) -> Result<Self, WireError> {
        Ok(Self {
            account_id: json.object()?.required("accountId", integer)?,
        })
    }
}

/// Answer of POST and GET apiKey. `Debug` does not show the key.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiKey {
    /// The key.
    pub api_key: String,
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey { api_key: [redacted] }")
    }
}

impl FromWire for ApiKey {
    fn read(json: &Json) -> Result<Self, WireError> {
        // With messages of its own, because the usual ones quote the value.
        let object = json
            .object()
            .map_err(|_| WireError::new("is no object with an api key"))?;
        let api_key = object.required("apiKey", |json| match text(json, 256) {
            Ok(key) if !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Ok(key)
            }
            Ok(_) | Err(_) => Err(WireError::new("is not 1 to 256 printable ASCII characters")),
        })?;
        Ok(Self { api_key })
    }
}

/// Answer of GET storageId (outside the interface).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StorageIds {
    /// Next even id, for orders.
    pub order_id: u32,
    /// Next odd id, for transfers, withdrawals, joins and exits.
    pub offchain_id: u32,
}

impl FromWire for StorageIds {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            order_id: object.required("orderId", integer)?,
            offchain_id: object.required("offchainId", integer)?,
        })
    }
}

/// Answer of GET timestamp (outside the interface).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Timestamp {
    /// Milliseconds since the epoch.
    pub timestamp: u64,
}

impl FromWire for Timestamp {
    fn read(json: &Json) -> Result<Self, WireError> {
        Ok(Self {
            timestamp: json.object()?.required("timestamp", integer)?,
        })
    }
}

/// One entry of GET user/offchainFee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OffchainFee {
    /// Symbol of the token.
    pub token: String,
    /// Base units.
    #[serde(serialize_with = "as_text")]
    pub fee: Amount,
    /// Always 1: there are no discounts.
    pub discount: u8,
}

/// Answer of GET user/offchainFee (outside the interface).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OffchainFees {
    /// Always 0: there is no chain.
    #[serde(serialize_with = "as_text")]
    pub gas_price: u64,
    /// By token.
    pub fees: Vec<OffchainFee>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
pub(super) fn token_as_number<S: Serializer>(token: &TokenId, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u16(token.0)
}
