//! Orders: request, acknowledgement, detail, list.
//!
//! The venue decides whether an order can be accepted.

use cambist_core::token::AMOUNT_MAX;
use cambist_core::{Amount, Hash, OrderStatus, Side, TokenId};
use cambist_signing::{Address, Signature};
use serde::Serialize;

use super::{
    CLIENT_ORDER_ID_MAX, OrderRequest, TokenVolume, any_text, as_text, hash, option_as_text,
};
use crate::json::{FromWire, Json, WireError, amount, boolean, integer};

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

/// What [`OrderRequest`] reads, within the ranges of a signed order.
impl FromWire for SubmitOrder {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        let order = OrderRequest::read(object)?;
        if order.all_or_none {
            return Err(WireError::new("only false is accepted").within("allOrNone"));
        }
        let bips = fits("maxFeeBips", order.max_fee_bips, 63)?;
        if bips == 0 {
            return Err(WireError::new("0 is outside 1 to 63").within("maxFeeBips"));
        }
        if let Some(id) = &order.client_order_id
            && id.len() > CLIENT_ORDER_ID_MAX
        {
            let problem = format!(
                "has {} bytes, at most {CLIENT_ORDER_ID_MAX} are allowed",
                id.len()
            );
            return Err(WireError::new(problem).within("clientOrderId"));
        }
        Ok(Self {
            exchange: order.exchange,
            account_id: order.account_id,
            storage_id: fits("storageId", order.storage_id, u32::MAX)?,
            sell_token: volume("sellToken", order.sell_token, order.sell_amount)?,
            buy_token: volume("buyToken", order.buy_token, order.buy_amount)?,
            all_or_none: false,
            fill_amount_b_or_s: order.fill_amount_b_or_s,
            valid_until: fits("validUntil", order.valid_until, u32::MAX)?,
            max_fee_bips: bips,
            eddsa_signature: OrderRequest::signature(object)?,
            client_order_id: order.client_order_id,
            order_type: order.order_type,
            taker: Some(order.taker).filter(|taker| *taker != Address::ZERO),
            pool_address: order.pool_address,
            channel_id: object.optional("channelId", any_text)?,
        })
    }
}

/// A number within the range of a signed order.
fn fits<T: TryFrom<u64> + Into<u64> + Copy>(
    name: &str,
    value: u64,
    most: T,
) -> Result<T, WireError> {
    let fitting = T::try_from(value).ok().filter(|_| value <= most.into());
    fitting.ok_or_else(|| WireError::new(format!("{value} is too large")).within(name))
}

fn volume(name: &str, token: TokenId, volume: Amount) -> Result<TokenVolume, WireError> {
    if volume > AMOUNT_MAX {
        let error = WireError::new(format!("{volume} has more than 96 bits"));
        return Err(error.within("volume").within(name));
    }
    Ok(TokenVolume { token, volume })
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
