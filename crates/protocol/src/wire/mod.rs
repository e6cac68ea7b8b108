//! Every resource of the interface, field by field.
//!
//! A type here is the *checked* form: reading it from a document ([`FromWire`]) refuses anything that does not fit and
//! names the field; writing it (`serde::Serialize`) gives exactly the interface's form. Reading tolerates the
//! differences between public clients and the text, writing does not vary.

mod account;
mod depth;
mod envelope;
mod exchange;
mod funds;
mod order;
mod order_request;
mod pool;

use cambist_core::{Amount, Hash, Reason, TokenId};
use cambist_signing::{Address, Field, PublicKey, Signature};
use serde::{Serialize, Serializer};

pub use account::{
    Account, ApiKey, ApiKeyRequest, Balance, OffchainFee, OffchainFees, PendingBalance, StorageIds,
    Timestamp,
};
pub(crate) use depth::LEVELS_MAX;
pub use depth::{DepthSnapshot, Level};
pub use envelope::{ErrorBody, Failure};
pub use exchange::{
    ExchangeInfo, FeeInfo, Market, Markets, OffFeeInfo, OrderAmounts, Token, tokens,
};
pub use funds::{
    AccountUpdateRequest, SentKey, Submission, SubmissionStatus, TransferRequest, WithdrawalRequest,
};
pub use order::{
    OrderAck, OrderDetail, OrderType, OrderValidity, OrderVolumes, OrdersPage, SubmitOrder,
    side_from_word, side_word, status_from_word, status_word,
};
pub use order_request::OrderRequest;
pub use pool::{
    ExitRequest, ExitTokens, JoinRequest, JoinTokens, Pool, PoolBalance, PoolPrecisions,
    PoolTokens, PoolTransaction, PoolTransactionKind, PoolTransactions, PoolTransfer, Pools,
};

use crate::json::{FromWire, Json, WireError, amount, text, token_id, wide};

/// Most bytes of a string for which the interface has no limit.
pub const TEXT_MAX: usize = 1_024;

/// Longest client order id, in bytes.
pub const CLIENT_ORDER_ID_MAX: usize = 120;

/// A token with a quantity (TokenVolumeV3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenVolume {
    /// Token; a string in this resource, numbers are accepted too.
    #[serde(rename = "tokenId", serialize_with = "token_as_text")]
    pub token: TokenId,
    /// Base units. Optional in the text: absent from an answer it means zero; requests have to state it.
    #[serde(serialize_with = "as_text")]
    pub volume: Amount,
}

impl FromWire for TokenVolume {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            token: object.required("tokenId", token_id)?,
            volume: object.optional("volume", amount)?.unwrap_or(0),
        })
    }
}

impl TokenVolume {
    /// Reads one of a request, whose quantity is part of what is signed: one that is absent, null or empty is missing,
    /// never zero.
    ///
    /// # Errors
    ///
    /// The token or the quantity is missing or malformed.
    pub(crate) fn requested(json: &Json) -> Result<Self, WireError> {
        let (token, volume) = requested_volume(json, amount)?;
        Ok(Self { token, volume })
    }
}

/// A token and its quantity in a request, of any size: the venue's bounds have codes of their own. The quantity has to
/// be stated, as in [`TokenVolume::requested`].
///
/// # Errors
///
/// The token or the quantity is missing or malformed.
pub fn requested_amount(json: &Json) -> Result<(TokenId, Amount), WireError> {
    requested_volume(json, wide)
}

fn requested_volume(
    json: &Json,
    read: fn(&Json) -> Result<Amount, WireError>,
) -> Result<(TokenId, Amount), WireError> {
    let object = json.object()?;
    let token = object.required("tokenId", token_id)?;
    let volume = object.required("volume", |json| match json {
        Json::Text(text) if text.is_empty() => Err(WireError::new("is missing")),
        stated => read(stated),
    })?;
    Ok((token, volume))
}

/// An amount that is a string in the text, and a token with a quantity in public clients.
pub(crate) fn amount_or_volume(json: &Json) -> Result<(Option<TokenId>, Amount), WireError> {
    match json {
        Json::Object(_) => {
            TokenVolume::requested(json).map(|volume| (Some(volume.token), volume.volume))
        }
        other => amount(other).map(|amount| (None, amount)),
    }
}

/// An address: `0x` and 40 hexadecimal digits of any case.
pub fn address(json: &Json) -> Result<Address, WireError> {
    let text = text(json, TEXT_MAX)?;
    Address::from_hex(&text)
        .map_err(|_| WireError::new(format!("{json} is not an address of 0x and 40 hex digits")))
}

/// As [`address`], also without `0x`, as in a public client's query for a pool.
pub(crate) fn bare_address(json: &Json) -> Result<Address, WireError> {
    let prefixed = match json {
        Json::Text(text) if text.len() == 40 => Json::Text(format!("0x{text}")),
        other => other.clone(),
    };
    address(&prefixed)
        .map_err(|_| WireError::new(format!("{json} is not an address of 0x and 40 hex digits")))
}

/// A hash: `0x` and up to 64 hexadecimal digits, because a public client drops leading zeros.
pub fn hash(json: &Json) -> Result<Hash, WireError> {
    field_element(json).map(|field| Hash(field.to_be_bytes()))
}

/// A 256-bit integer in hexadecimal.
pub(crate) fn field_element(json: &Json) -> Result<Field, WireError> {
    let text = text(json, TEXT_MAX)?;
    Field::from_hex(&text)
        .map_err(|_| WireError::new(format!("{json} is not 0x and 1 to 64 hex digits")))
}

/// An EdDSA signature: `0x` and 192 hexadecimal digits.
pub(crate) fn signature(json: &Json) -> Result<Signature, WireError> {
    let text = text(json, TEXT_MAX).map_err(|error| error.because(Reason::WrongSignature))?;
    Signature::from_hex(&text)
        .map_err(|error| WireError::new(error.to_string()).because(Reason::WrongSignature))
}

/// A public key as its two coordinates; it is not checked to be a point of the curve.
pub(crate) fn public_key(json: &Json) -> Result<PublicKey, WireError> {
    let object = json.object()?;
    Ok(PublicKey {
        x: object.required("x", field_element)?,
        y: object.required("y", field_element)?,
    })
}

/// A string of at most [`TEXT_MAX`] bytes.
pub(crate) fn any_text(json: &Json) -> Result<String, WireError> {
    text(json, TEXT_MAX)
}

pub(crate) fn as_text<T: ToString, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&value.to_string())
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
pub(crate) fn token_as_text<S: Serializer>(token: &TokenId, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&token.0)
}

pub(crate) fn public_key_as_object<S: Serializer>(
    key: &PublicKey,
    to: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Coordinates {
        x: String,
        y: String,
    }
    Coordinates {
        x: key.x.to_hex(),
        y: key.y.to_hex(),
    }
    .serialize(to)
}

#[expect(clippy::ref_option, reason = "serde calls it with a reference")]
pub(crate) fn option_as_text<T: ToString, S: Serializer>(
    value: &Option<T>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => to.serialize_str(&value.to_string()),
        None => to.serialize_none(),
    }
}
