//! Orders: request, acknowledgement, detail, list.
//!
//! The venue decides whether an order can be accepted.

use cambist_core::{Amount, Hash, OrderStatus, Reason, Side};
use cambist_signing::{Address, Signature};
use serde::Serialize;

use super::{
    CLIENT_ORDER_ID_MAX, TokenVolume, address, any_text, as_text, hash, option_as_text, signature,
};
use crate::json::{FromWire, Json, WireError, amount, boolean, integer, text};

/// The interface's order types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum OrderType {
    /// Rests or takes; the default.
    #[default]
    #[serde(rename = "LIMIT_ORDER")]
    Limit,
    /// Never rests.
    #[serde(rename = "TAKER_ONLY")]
    TakerOnly,
    /// Never takes.
    #[serde(rename = "MAKER_ONLY")]
    MakerOnly,
    /// A swap against a pool.
    #[serde(rename = "AMM")]
    Amm,
}

impl OrderType {
    /// Every type.
    pub const ALL: [Self; 4] = [Self::Limit, Self::TakerOnly, Self::MakerOnly, Self::Amm];

    /// The interface's keyword.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Limit => "LIMIT_ORDER",
            Self::TakerOnly => "TAKER_ONLY",
            Self::MakerOnly => "MAKER_ONLY",
            Self::Amm => "AMM",
        }
    }

    /// The type of a keyword.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// The interface's keyword of a status. `Other` has none and is never written by our venue.
pub const fn status_word(status: OrderStatus) -> &'static str {
    match status {
        OrderStatus::Waiting => "waiting",
        OrderStatus::Processing => "processing",
        OrderStatus::Processed => "processed",
        OrderStatus::Cancelling => "cancelling",
        OrderStatus::Cancelled => "cancelled",
        OrderStatus::Expired => "expired",
        OrderStatus::Failed => "failed",
        OrderStatus::Other => "unknown",
    }
}

/// The status of a keyword. All seven are accepted everywhere, because the interface's sets differ between resources.
/// An unknown keyword is `Other`, which counts as live.
pub fn status_from_word(word: &str) -> OrderStatus {
    [
        OrderStatus::Waiting,
        OrderStatus::Processing,
        OrderStatus::Processed,
        OrderStatus::Cancelling,
        OrderStatus::Cancelled,
        OrderStatus::Expired,
        OrderStatus::Failed,
    ]
    .into_iter()
    .find(|status| status_word(*status) == word)
    .unwrap_or(OrderStatus::Other)
}

/// `BUY` or `SELL`.
pub const fn side_word(side: Side) -> &'static str {
    match side {
        Side::Buy => "BUY",
        Side::Sell => "SELL",
    }
}

/// The side of a keyword.
pub fn side_from_word(word: &str) -> Option<Side> {
    Side::BOTH.into_iter().find(|side| side_word(*side) == word)
}

/// Body of POST order, with all checks that need no accounts and markets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubmitOrder {
    /// Exchange contract.
    #[serde(serialize_with = "as_text")]
    pub exchange: Address,
    /// Account.
    pub account_id: u32,
    /// Storage id of the sell token.
    pub storage_id: u32,
    /// Sold amount.
    pub sell_token: TokenVolume,
    /// Bought amount.
    pub buy_token: TokenVolume,
    /// Always false: other values are refused.
    #[serde(serialize_with = "as_text")]
    pub all_or_none: bool,
    /// Whether the buy amount limits the fill.
    #[serde(rename = "fillAmountBOrS", serialize_with = "as_text")]
    pub fill_amount_b_or_s: bool,
    /// Expiry in seconds.
    pub valid_until: u32,
    /// Highest fee accepted, 1 to 63.
    pub max_fee_bips: u8,
    /// Signature of the order hash.
    #[serde(serialize_with = "as_text")]
    pub eddsa_signature: Signature,
    /// Client order id, at most 120 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_order_id: Option<String>,
    /// Type.
    pub order_type: OrderType,
    /// Named taker; `None` for orders open to all, which the zero address means too.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "option_as_text"
    )]
    pub taker: Option<Address>,
    /// Pool of an `AMM` order.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "option_as_text"
    )]
    pub pool_address: Option<Address>,
    /// Channel of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_id: Option<String>,
}

impl FromWire for SubmitOrder {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        let order = Self {
            exchange: object.required("exchange", address)?,
            account_id: object.required("accountId", integer)?,
            storage_id: object.required("storageId", integer)?,
            sell_token: object.required("sellToken", TokenVolume::read)?,
            buy_token: object.required("buyToken", TokenVolume::read)?,
            all_or_none: object.required("allOrNone", |json| {
                if boolean(json)? {
                    return Err(WireError::new("only false is accepted"));
                }
                Ok(false)
            })?,
            fill_amount_b_or_s: object.required("fillAmountBOrS", boolean)?,
            valid_until: object.required("validUntil", integer)?,
            max_fee_bips: object.required("maxFeeBips", |json| match integer(json)? {
                bips @ 1..=63u8 => Ok(bips),
                _ => Err(WireError::new(format!("{json} is outside 1 to 63"))),
            })?,
            eddsa_signature: object
                .optional("eddsaSignature", signature)?
                .ok_or_else(|| {
                    WireError::new("is missing")
                        .within("eddsaSignature")
                        .because(Reason::MissingSignature)
                })?,
            client_order_id: object
                .optional("clientOrderId", |json| text(json, CLIENT_ORDER_ID_MAX))?,
            order_type: object
                .optional("orderType", order_type)?
                .unwrap_or_default(),
            taker: object
                .optional("taker", address)?
                .filter(|taker| *taker != Address::ZERO),
            pool_address: object.optional("poolAddress", address)?,
            channel_id: object.optional("channelId", any_text)?,
        };
        Ok(order)
    }
}

/// Answer to submit and cancel (OrderSubmissionResult).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderAck {
    /// Order hash.
    #[serde(serialize_with = "as_text")]
    pub hash: Hash,
    /// Client order id, or the hash if the client gave none.
    pub client_order_id: String,
    /// State.
    #[serde(serialize_with = "status_as_word")]
    pub status: OrderStatus,
    /// Whether the same request is already in progress.
    pub is_idempotent: bool,
}

impl FromWire for OrderAck {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            hash: object.required("hash", hash)?,
            client_order_id: object
                .optional("clientOrderId", any_text)?
                .unwrap_or_default(),
            status: object.required("status", status)?,
            is_idempotent: object.required("isIdempotent", boolean)?,
        })
    }
}

/// Volumes of an order (OrderVolumesV3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderVolumes {
    /// Base amount of the order.
    #[serde(serialize_with = "as_text")]
    pub base_amount: Amount,
    /// Quote amount of the order.
    #[serde(serialize_with = "as_text")]
    pub quote_amount: Amount,
    /// Base filled before fees.
    #[serde(serialize_with = "as_text")]
    pub base_filled: Amount,
    /// Quote filled before fees.
    #[serde(serialize_with = "as_text")]
    pub quote_filled: Amount,
    /// Fee in the bought token.
    #[serde(serialize_with = "as_text")]
    pub fee: Amount,
}

impl FromWire for OrderVolumes {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            base_amount: object.required("baseAmount", amount)?,
            quote_amount: object.required("quoteAmount", amount)?,
            base_filled: object.required("baseFilled", amount)?,
            quote_filled: object.required("quoteFilled", amount)?,
            fee: object.required("fee", amount)?,
        })
    }
}

/// Validity window (OrderValidityV3); our venue writes seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OrderValidity {
    /// Valid from.
    pub start: u64,
    /// Valid until, exclusive.
    pub end: u64,
}

impl FromWire for OrderValidity {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            start: object.required("start", integer)?,
            end: object.required("end", integer)?,
        })
    }
}

/// One order (OrderDetailV3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderDetail {
    /// Order hash.
    #[serde(serialize_with = "as_text")]
    pub hash: Hash,
    /// Client order id, or the hash if the client gave none.
    pub client_order_id: String,
    /// Side.
    #[serde(serialize_with = "side_as_word")]
    pub side: Side,
    /// Market name.
    pub market: String,
    /// Price as a decimal.
    pub price: String,
    /// Volumes.
    pub volumes: OrderVolumes,
    /// Validity.
    pub validity: OrderValidity,
    /// Order type as received: other venues have other keywords.
    pub order_type: String,
    /// State.
    #[serde(serialize_with = "status_as_word")]
    pub status: OrderStatus,
}

impl FromWire for OrderDetail {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            hash: object.required("hash", hash)?,
            client_order_id: object
                .optional("clientOrderId", any_text)?
                .unwrap_or_default(),
            side: object.required("side", side)?,
            market: object.required("market", any_text)?,
            price: object.required("price", any_text)?,
            volumes: object.required("volumes", OrderVolumes::read)?,
            validity: object.required("validity", OrderValidity::read)?,
            order_type: object.required("orderType", any_text)?,
            status: object.required("status", status)?,
        })
    }
}

/// Answer of the orders list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrdersPage {
    /// Orders over all pages.
    pub total_num: u64,
    /// Orders of this page.
    pub orders: Vec<OrderDetail>,
}

impl FromWire for OrdersPage {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            total_num: object.required("totalNum", integer)?,
            orders: object
                .optional("orders", |json| json.list(OrderDetail::read))?
                .unwrap_or_default(),
        })
    }
}

/// Reads the keyword of a side.
pub(crate) fn side(json: &Json) -> Result<Side, WireError> {
    match json {
        Json::Text(word) => side_from_word(word),
        _ => None,
    }
    .ok_or_else(|| WireError::new(format!("{json} is neither BUY nor SELL")))
}

/// Reads the keyword of an order type.
pub(crate) fn order_type(json: &Json) -> Result<OrderType, WireError> {
    match json {
        Json::Text(word) => OrderType::from_word(word),
        _ => None,
    }
    .ok_or_else(|| WireError::new(format!("{json} is not an order type")))
}

fn status(json: &Json) -> Result<OrderStatus, WireError> {
    any_text(json).map(|word| status_from_word(&word))
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn status_as_word<S: serde::Serializer>(status: &OrderStatus, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(status_word(*status))
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn side_as_word<S: serde::Serializer>(side: &Side, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(side_word(*side))
}
