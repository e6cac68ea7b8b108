//! Pools: configuration, balances, joins, exits and their history.
//!
//! The arithmetic of pools is in `cambist-venue`.

use cambist_core::{Amount, Hash, TokenId};
use cambist_signing::{Address, Signature};
use serde::Serialize;

use super::account::token_as_number;
use super::{
    TokenVolume, address, amount_or_volume, any_text, as_text, hash, option_as_text, signature,
};
use crate::json::{FromWire, Json, WireError, amount, integer, token_id, wide};
use crate::number;

/// Most tokens in a pool request.
const POOLED_MAX: usize = 8;

/// Tokens of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolTokens {
    /// Pooled tokens in the order that requests must use.
    pub pooled: Vec<TokenId>,
    /// LP token.
    pub lp: TokenId,
}

impl Serialize for PoolTokens {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Numbers {
            pooled: Vec<u16>,
            lp: u16,
        }
        Numbers {
            pooled: self.pooled.iter().map(|token| token.0).collect(),
            lp: self.lp.0,
        }
        .serialize(to)
    }
}

impl FromWire for PoolTokens {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            pooled: object.required("pooled", |json| json.list(token_id))?,
            lp: object.required("lp", token_id)?,
        })
    }
}

/// Decimals of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PoolPrecisions {
    /// Of prices.
    pub price: u8,
    /// Of amounts.
    pub amount: u8,
}

impl FromWire for PoolPrecisions {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            price: object.required("price", integer)?,
            amount: object.required("amount", integer)?,
        })
    }
}

/// Configuration of one pool (AmmPoolInfoV3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    /// Name, which signatures cover.
    pub name: String,
    /// Market name, `AMM-BASE-QUOTE`.
    pub market: String,
    /// Pool contract.
    #[serde(serialize_with = "as_text")]
    pub address: Address,
    /// Contract version.
    pub version: String,
    /// Tokens.
    pub tokens: PoolTokens,
    /// Pool fee in ten-thousandths.
    pub fee_bips: u16,
    /// Decimals.
    pub precisions: PoolPrecisions,
    /// Bits: 1 exits, 2 joins, 4 swaps.
    pub status: u32,
}

impl FromWire for Pool {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            name: object.required("name", any_text)?,
            market: object.required("market", any_text)?,
            address: object.required("address", address)?,
            version: object.required("version", any_text)?,
            tokens: object.required("tokens", PoolTokens::read)?,
            fee_bips: object.required("feeBips", integer)?,
            precisions: object.required("precisions", PoolPrecisions::read)?,
            status: object.required("status", integer)?,
        })
    }
}

/// Answer of GET amm/pools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pools {
    /// Every pool.
    pub pools: Vec<Pool>,
}

impl FromWire for Pools {
    fn read(json: &Json) -> Result<Self, WireError> {
        Ok(Self {
            pools: json
                .object()?
                .required("pools", |json| json.list(Pool::read))?,
        })
    }
}

/// Answer of GET amm/balance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolBalance {
    /// Pooled tokens.
    pub pooled: Vec<TokenVolume>,
    /// Shares in circulation.
    pub lp: TokenVolume,
}

impl FromWire for PoolBalance {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            pooled: object.required("pooled", |json| json.list(TokenVolume::read))?,
            lp: object.required("lp", TokenVolume::read)?,
        })
    }
}

/// Amounts of a join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JoinTokens {
    /// Amounts in the pool's token order.
    pub pooled: Vec<TokenVolume>,
    /// Minimum LP units.
    #[serde(serialize_with = "as_text")]
    pub minimum_lp: Amount,
    /// LP token, if the client names it.
    #[serde(skip)]
    pub lp: Option<TokenId>,
}

impl FromWire for JoinTokens {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        let (lp, minimum_lp) = object.required("minimumLp", amount_or_volume)?;
        Ok(Self {
            pooled: object.required("pooled", pooled)?,
            minimum_lp,
            lp,
        })
    }
}

/// Body of POST amm/join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JoinRequest {
    /// Account owner.
    #[serde(serialize_with = "as_text")]
    pub owner: Address,
    /// Pool.
    #[serde(serialize_with = "as_text")]
    pub pool_address: Address,
    /// Supplied amounts.
    pub join_tokens: JoinTokens,
    /// One storage id per pooled token; a comma-separated string, lists are accepted too.
    #[serde(serialize_with = "ids_as_text")]
    pub storage_ids: Vec<u32>,
    /// Fee, if the client signs one; it determines which of two structs was signed.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "option_as_text"
    )]
    pub fee: Option<Amount>,
    /// Expiry in seconds.
    pub valid_until: u32,
    /// Layer-2 signature.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "option_as_text"
    )]
    pub eddsa_signature: Option<Signature>,
    /// Owner's signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecdsa_signature: Option<String>,
}

impl FromWire for JoinRequest {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            owner: object.required("owner", address)?,
            pool_address: object.required("poolAddress", address)?,
            join_tokens: object.required("joinTokens", JoinTokens::read)?,
            storage_ids: object.required("storageIds", storage_ids)?,
            fee: object
                .optional("fee", amount_or_volume)?
                .map(|(_, amount)| amount),
            valid_until: object.required("validUntil", integer)?,
            eddsa_signature: object.optional("eddsaSignature", signature)?,
            ecdsa_signature: object.optional("ecdsaSignature", any_text)?,
        })
    }
}

/// Amounts of an exit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExitTokens {
    /// Least amounts in the pool's token order.
    pub un_pooled: Vec<TokenVolume>,
    /// Burned LP units.
    #[serde(serialize_with = "as_text")]
    pub burned: Amount,
    /// LP token, if the client names it.
    #[serde(skip)]
    pub lp: Option<TokenId>,
}

impl FromWire for ExitTokens {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        let (lp, burned) = object.required("burned", amount_or_volume)?;
        Ok(Self {
            un_pooled: object.required("unPooled", pooled)?,
            burned,
            lp,
        })
    }
}

/// Body of POST amm/exit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExitRequest {
    /// Account owner.
    #[serde(serialize_with = "as_text")]
    pub owner: Address,
    /// Pool.
    #[serde(serialize_with = "as_text")]
    pub pool_address: Address,
    /// Redeemed amounts.
    pub exit_tokens: ExitTokens,
    /// Storage id of the LP token.
    pub storage_id: u32,
    /// Highest fee, in the last pooled token.
    #[serde(serialize_with = "as_text")]
    pub max_fee: Amount,
    /// Expiry in seconds.
    pub valid_until: u32,
    /// Layer-2 signature.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "option_as_text"
    )]
    pub eddsa_signature: Option<Signature>,
    /// Owner's signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecdsa_signature: Option<String>,
}

impl FromWire for ExitRequest {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            owner: object.required("owner", address)?,
            pool_address: object.required("poolAddress", address)?,
            exit_tokens: object.required("exitTokens", ExitTokens::read)?,
            storage_id: object.required("storageId", integer)?,
            max_fee: object.required("maxFee", amount_or_volume)?.1,
            valid_until: object.required("validUntil", integer)?,
            eddsa_signature: object.optional("eddsaSignature", signature)?,
            ecdsa_signature: object.optional("ecdsaSignature", any_text)?,
        })
    }
}

/// Join or exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolTransactionKind {
    /// Join.
    Join,
    /// Exit.
    Exit,
}

impl PoolTransactionKind {
    /// Reads the keywords of the text and of a public client.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "join" | "AMM_JOIN" | "0" => Some(Self::Join),
            "exit" | "AMM_EXIT" | "1" => Some(Self::Exit),
            _ => None,
        }
    }
}

/// One token's part of a join or exit (AmmTransferDataV3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolTransfer {
    /// Token.
    #[serde(serialize_with = "token_as_number")]
    pub token_id: TokenId,
    /// Requested amount.
    #[serde(serialize_with = "as_text")]
    pub amount: Amount,
    /// Moved amount.
    #[serde(serialize_with = "as_text")]
    pub actual_amount: Amount,
    /// Fee paid.
    #[serde(serialize_with = "as_text")]
    pub fee_amount: Amount,
}

impl FromWire for PoolTransfer {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            token_id: object.required("tokenId", token_id)?,
            amount: object.required("amount", amount)?,
            actual_amount: object.required("actualAmount", amount)?,
            fee_amount: object.required("feeAmount", amount)?,
        })
    }
}

/// One join or exit (AmmTransactionDataV3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolTransaction {
    /// Hash.
    #[serde(serialize_with = "as_text")]
    pub hash: Hash,
    /// Join or exit.
    pub tx_type: PoolTransactionKind,
    /// `processing`, `cancelled`, `processed`; other services have more keywords.
    pub tx_status: String,
    /// Pool.
    #[serde(serialize_with = "as_text")]
    pub amm_pool_address: Address,
    /// `layer_1` or `layer_2`.
    pub amm_layer_type: String,
    /// Pooled tokens.
    pub pool_tokens: Vec<PoolTransfer>,
    /// LP token.
    pub lp_token: PoolTransfer,
    /// Created, milliseconds.
    pub created_at: u64,
    /// Last change, milliseconds.
    pub updated_at: u64,
}

impl FromWire for PoolTransaction {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            hash: object.required("hash", hash)?,
            tx_type: object.required("txType", |json| {
                PoolTransactionKind::from_word(&any_text(json)?)
                    .ok_or_else(|| WireError::new(format!("{json} is neither join nor exit")))
            })?,
            tx_status: object.required("txStatus", any_text)?,
            amm_pool_address: object.required("ammPoolAddress", address)?,
            amm_layer_type: object.required("ammLayerType", any_text)?,
            pool_tokens: object.required("poolTokens", |json| json.list(PoolTransfer::read))?,
            lp_token: object.required("lpToken", PoolTransfer::read)?,
            created_at: object.required("createdAt", integer)?,
            updated_at: object.required("updatedAt", integer)?,
        })
    }
}

/// Answer of GET amm/user/transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolTransactions {
    /// Transactions over all pages.
    pub total_num: u64,
    /// Transactions of this page.
    pub transactions: Vec<PoolTransaction>,
}

impl FromWire for PoolTransactions {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            total_num: object.required("totalNum", integer)?,
            transactions: object
                .required("transactions", |json| json.list(PoolTransaction::read))?,
        })
    }
}

fn pooled(json: &Json) -> Result<Vec<TokenVolume>, WireError> {
    match json {
        Json::List(items) if items.len() > POOLED_MAX => Err(WireError::new(format!(
            "names more than {POOLED_MAX} tokens"
        ))),
        other => other.list(TokenVolume::requested),
    }
}

/// `[1, "3"]`, `"1,3"` or one number.
fn storage_ids(json: &Json) -> Result<Vec<u32>, WireError> {
    let ids = match json {
        Json::Text(text) => text
            .split(',')
            .map(|id| {
                number::bounded(id).map_err(|error| {
                    WireError::new(format!("\"{}\" {error}", number::quoted(id, 48)))
                })
            })
            .collect::<Result<Vec<_>, _>>()?,
        Json::List(_) => json.list(integer)?,
        other => vec![
            u32::try_from(wide(other)?)
                .map_err(|_| WireError::new(format!("{other} is too large")))?,
        ],
    };
    if ids.is_empty() || ids.len() > POOLED_MAX {
        return Err(WireError::new(format!(
            "names {} ids instead of 1 to {POOLED_MAX}",
            ids.len()
        )));
    }
    Ok(ids)
}

fn ids_as_text<S: serde::Serializer>(ids: &[u32], to: S) -> Result<S::Ok, S::Error> {
    let texts: Vec<_> = ids.iter().map(u32::to_string).collect();
    to.serialize_str(&texts.join(","))
}
