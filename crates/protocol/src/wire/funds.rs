//! Requests that move funds or keys, and their common answer.
//!
//! The server decides which signatures are required, and verifies them.

use cambist_core::Hash;
use cambist_signing::{Address, Field, PublicKey, Signature};
use serde::{Serialize, Serializer};

use super::{
    TokenVolume, address, any_text, as_text, field_element, hash, option_as_text, public_key,
    public_key_as_object, signature,
};
use crate::json::{FromWire, Json, WireError, boolean, integer};

/// State of a submitted request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SubmissionStatus {
    /// Accepted.
    Received,
    /// In progress.
    Processing,
    /// Done.
    Processed,
    /// Failed.
    Failed,
}

/// Answer of transfer, withdrawal, account update, join and exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Submission {
    /// Hash of the request.
    #[serde(serialize_with = "as_text")]
    pub hash: Hash,
    /// State.
    pub status: SubmissionStatus,
    /// Whether the same request is already in progress.
    pub is_idempotent: bool,
}

impl FromWire for Submission {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            hash: object.required("hash", hash)?,
            status: object.required("status", |json| match any_text(json)?.as_str() {
                "received" => Ok(SubmissionStatus::Received),
                "processing" => Ok(SubmissionStatus::Processing),
                "processed" => Ok(SubmissionStatus::Processed),
                "failed" => Ok(SubmissionStatus::Failed),
                _ => Err(WireError::new(format!(
                    "{json} is not a status of a submission"
                ))),
            })?,
            is_idempotent: object.required("isIdempotent", boolean)?,
        })
    }
}

/// Body of POST transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TransferRequest {
    /// Exchange contract.
    #[serde(serialize_with = "as_text")]
    pub exchange: Address,
    /// Payer's account.
    pub payer_id: u32,
    /// Payer's address.
    #[serde(serialize_with = "as_text")]
    pub payer_addr: Address,
    /// Payee's account; 0 means the account of the address.
    pub payee_id: u32,
    /// Payee's address.
    #[serde(serialize_with = "as_text")]
    pub payee_addr: Address,
    /// Transferred amount.
    pub token: TokenVolume,
    /// Highest fee.
    pub max_fee: TokenVolume,
    /// Storage id of the token.
    pub storage_id: u32,
    /// Expiry in seconds.
    pub valid_until: u32,
    /// Layer-2 signature.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "option_as_text"
    )]
    pub eddsa_signature: Option<Signature>,
    /// Owner's signature, as text: its form differs between clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecdsa_signature: Option<String>,
    /// Hash approved on chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_approved: Option<String>,
    /// Memo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memo: Option<String>,
}

impl FromWire for TransferRequest {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            exchange: object.required("exchange", address)?,
            payer_id: object.required("payerId", integer)?,
            payer_addr: object.required("payerAddr", address)?,
            payee_id: object.required("payeeId", integer)?,
            payee_addr: object.required("payeeAddr", address)?,
            token: object.required("token", TokenVolume::requested)?,
            max_fee: object.required("maxFee", TokenVolume::requested)?,
            storage_id: object.required("storageId", integer)?,
            valid_until: object.required("validUntil", integer)?,
            eddsa_signature: object.optional("eddsaSignature", signature)?,
            ecdsa_signature: object.optional("ecdsaSignature", any_text)?,
            hash_approved: object.optional("hashApproved", any_text)?,
            memo: object.optional("memo", any_text)?,
        })
    }
}

/// Body of POST user/withdrawals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WithdrawalRequest {
    /// Exchange contract.
    #[serde(serialize_with = "as_text")]
    pub exchange: Address,
    /// Account.
    pub account_id: u32,
    /// Its owner.
    #[serde(serialize_with = "as_text")]
    pub owner: Address,
    /// Withdrawn amount.
    pub token: TokenVolume,
    /// Highest fee.
    pub max_fee: TokenVolume,
    /// Storage id of the token.
    pub storage_id: u32,
    /// Expiry in seconds.
    pub valid_until: u32,
    /// Minimum gas on chain.
    pub min_gas: u64,
    /// Destination.
    #[serde(serialize_with = "as_text")]
    pub to: Address,
    /// Extra data, as text: clients differ in what they hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_data: Option<String>,
    /// Fast withdrawal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_withdrawal_mode: Option<bool>,
    /// Layer-2 signature.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "option_as_text"
    )]
    pub eddsa_signature: Option<Signature>,
    /// Owner's signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecdsa_signature: Option<String>,
    /// Hash approved on chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_approved: Option<String>,
}

impl FromWire for WithdrawalRequest {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            exchange: object.required("exchange", address)?,
            account_id: object.required("accountId", integer)?,
            owner: object.required("owner", address)?,
            token: object.required("token", TokenVolume::requested)?,
            max_fee: object.required("maxFee", TokenVolume::requested)?,
            storage_id: object.required("storageId", integer)?,
            valid_until: object.required("validUntil", integer)?,
            min_gas: object.required("minGas", integer)?,
            to: object.required("to", address)?,
            extra_data: object.optional("extraData", any_text)?,
            fast_withdrawal_mode: object.optional("fastWithdrawalMode", boolean)?,
            eddsa_signature: object.optional("eddsaSignature", signature)?,
            ecdsa_signature: object.optional("ecdsaSignature", any_text)?,
            hash_approved: object.optional("hashApproved", any_text)?,
        })
    }
}

/// A public key in the forms of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentKey {
    /// Both coordinates, as all clients send it.
    Coordinates(PublicKey),
    /// One packed number in hexadecimal: the meaning of the text's "string".
    Packed(Field),
}

impl Serialize for SentKey {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Coordinates(key) => public_key_as_object(key, to),
            Self::Packed(packed) => to.serialize_str(&packed.to_hex()),
        }
    }
}

impl FromWire for SentKey {
    fn read(json: &Json) -> Result<Self, WireError> {
        match json {
            Json::Text(_) => field_element(json).map(Self::Packed),
            other => public_key(other).map(Self::Coordinates),
        }
    }
}

/// Body of POST account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountUpdateRequest {
    /// Exchange contract.
    #[serde(serialize_with = "as_text")]
    pub exchange: Address,
    /// Owner.
    #[serde(serialize_with = "as_text")]
    pub owner: Address,
    /// Account.
    pub account_id: u32,
    /// The new key.
    pub public_key: SentKey,
    /// Highest fee.
    pub max_fee: TokenVolume,
    /// Expiry in seconds.
    pub valid_until: u32,
    /// Account nonce.
    pub nonce: u32,
    /// Signature of the old key.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "option_as_text"
    )]
    pub eddsa_signature: Option<Signature>,
    /// Owner's signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecdsa_signature: Option<String>,
    /// Hash approved on chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_approved: Option<String>,
}

impl FromWire for AccountUpdateRequest {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            exchange: object.required("exchange", address)?,
            owner: object.required("owner", address)?,
            account_id: object.required("accountId", integer)?,
            public_key: object.required("publicKey", SentKey::read)?,
            max_fee: object.required("maxFee", TokenVolume::requested)?,
            valid_until: object.required("validUntil", integer)?,
            nonce: object.required("nonce", integer)?,
            eddsa_signature: object.optional("eddsaSignature", signature)?,
            ecdsa_signature: object.optional("ecdsaSignature", any_text)?,
            hash_approved: object.optional("hashApproved", any_text)?,
        })
    }
}
