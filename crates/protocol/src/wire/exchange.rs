//! Configuration of the exchange, its tokens and its markets.
//!
//! Whether a market can be traded exactly is decided in `cambist_core::market`.

use cambist_core::market::MarketError;
use cambist_core::{Amount, MarketId, MarketSpec, TokenId, TokenSpec};
use cambist_signing::Address;
use serde::Serialize;

use super::account::token_as_number;
use super::{address, any_text, as_text};
use crate::json::{FromWire, Json, WireError, boolean, integer, token_id, wide};

/// An on-chain fee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FeeInfo {
    /// Category.
    #[serde(rename = "type")]
    pub kind: String,
    /// Wei.
    #[serde(serialize_with = "as_text")]
    pub fee: Amount,
}

impl FromWire for FeeInfo {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            kind: object.required("type", any_text)?,
            fee: object.required("fee", wide)?,
        })
    }
}

/// An off-chain fee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OffFeeInfo {
    /// Symbol of the fee token.
    pub token: String,
    /// Base units.
    #[serde(serialize_with = "as_text")]
    pub fee: Amount,
}

impl FromWire for OffFeeInfo {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            token: object.required("token", any_text)?,
            fee: object.required("fee", wide)?,
        })
    }
}

/// Answer of GET exchange/info.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExchangeInfo {
    /// Network of the contracts.
    pub chain_id: u64,
    /// Exchange contract, which every signature covers.
    #[serde(serialize_with = "as_text")]
    pub exchange_address: Address,
    /// Deposit contract.
    #[serde(serialize_with = "as_text")]
    pub deposit_address: Address,
    /// On-chain fees.
    pub onchain_fees: Vec<FeeInfo>,
    /// Fees of account updates.
    pub update_fees: Vec<OffFeeInfo>,
    /// Fees of transfers.
    pub transfer_fees: Vec<OffFeeInfo>,
    /// Fees of withdrawals.
    pub withdrawal_fees: Vec<OffFeeInfo>,
}

impl FromWire for ExchangeInfo {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        let off_fees = |name: &str| object.required(name, |json| json.list(OffFeeInfo::read));
        Ok(Self {
            chain_id: object.required("chainId", integer)?,
            exchange_address: object.required("exchangeAddress", address)?,
            deposit_address: object.required("depositAddress", address)?,
            onchain_fees: object.required("onchainFees", |json| json.list(FeeInfo::read))?,
            update_fees: off_fees("updateFees")?,
            transfer_fees: off_fees("transferFees")?,
            withdrawal_fees: off_fees("withdrawalFees")?,
        })
    }
}

/// Limits of order amounts (OrderAmountsV3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OrderAmounts {
    /// Smallest.
    #[serde(serialize_with = "as_text")]
    pub minimum: Amount,
    /// Largest.
    #[serde(serialize_with = "as_text")]
    pub maximum: Amount,
    /// An order with a smaller remainder counts as filled.
    #[serde(serialize_with = "as_text")]
    pub dust: Amount,
}

impl FromWire for OrderAmounts {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            minimum: object.required("minimum", wide)?,
            maximum: object.required("maximum", wide)?,
            dust: object.required("dust", wide)?,
        })
    }
}

/// Configuration of one token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// `ERC20` or `ETH`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Id.
    #[serde(serialize_with = "token_as_number")]
    pub token_id: TokenId,
    /// Symbol.
    pub symbol: String,
    /// Name.
    pub name: String,
    /// Contract.
    #[serde(serialize_with = "as_text")]
    pub address: Address,
    /// Decimals of the base unit.
    pub decimals: u8,
    /// Most decimals used.
    pub precision: u8,
    /// Limits of order amounts.
    pub order_amounts: OrderAmounts,
    /// Largest fast withdrawal.
    #[serde(serialize_with = "as_text")]
    pub fast_withdraw_limit: Amount,
    /// Whether deposits and withdrawals are open.
    pub enabled: bool,
}

impl FromWire for Token {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            kind: object.required("type", any_text)?,
            token_id: object.required("tokenId", token_id)?,
            symbol: object.required("symbol", any_text)?,
            name: object.required("name", any_text)?,
            address: object.required("address", address)?,
            decimals: object.required("decimals", integer)?,
            precision: object.required("precision", integer)?,
            order_amounts: object.required("orderAmounts", OrderAmounts::read)?,
            fast_withdraw_limit: object.required("fastWithdrawLimit", wide)?,
            enabled: object.required("enabled", boolean)?,
        })
    }
}

impl Token {
    /// The part that the engine needs.
    pub fn spec(&self) -> TokenSpec {
        TokenSpec {
            id: self.token_id,
            symbol: self.symbol.clone(),
            decimals: self.decimals,
            precision: self.precision,
            minimum: self.order_amounts.minimum,
            maximum: self.order_amounts.maximum,
            dust: self.order_amounts.dust,
            enabled: self.enabled,
        }
    }
}

/// The answer of GET exchange/tokens: a bare list, or one wrapped as `{"tokens": […]}`.
pub fn tokens(json: &Json) -> Result<Vec<Token>, WireError> {
    match json {
        Json::Object(_) => json
            .object()?
            .required("tokens", |json| json.list(Token::read)),
        other => other.list(Token::read),
    }
}

/// One market (MarketInfo).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Market {
    /// Name, `BASE-QUOTE`.
    pub market: String,
    /// Base token.
    #[serde(serialize_with = "token_as_number")]
    pub base_token_id: TokenId,
    /// Quote token.
    #[serde(serialize_with = "token_as_number")]
    pub quote_token_id: TokenId,
    /// Decimals of the price.
    pub precision_for_price: u8,
    /// Levels of aggregation.
    pub orderbook_agg_levels: u8,
    /// Whether trading is open.
    pub enabled: bool,
}

impl FromWire for Market {
    fn read(json: &Json) -> Result<Self, WireError> {
        let object = json.object()?;
        Ok(Self {
            market: object.required("market", any_text)?,
            base_token_id: object.required("baseTokenId", token_id)?,
            quote_token_id: object.required("quoteTokenId", token_id)?,
            precision_for_price: object.required("precisionForPrice", integer)?,
            orderbook_agg_levels: object.required("orderbookAggLevels", integer)?,
            enabled: object.required("enabled", boolean)?,
        })
    }
}

impl Market {
    /// The market in the engine's form. `None` if one of its tokens is not in `tokens`.
    pub fn spec(&self, id: MarketId, tokens: &[Token]) -> Option<Result<MarketSpec, MarketError>> {
        let token = |wanted: TokenId| tokens.iter().find(|token| token.token_id == wanted);
        let (base, quote) = (token(self.base_token_id)?, token(self.quote_token_id)?);
        Some(MarketSpec::new(
            id,
            &self.market,
            base.spec(),
            quote.spec(),
            self.precision_for_price,
            self.enabled,
        ))
    }
}

/// Answer of GET exchange/markets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Markets {
    /// Every market.
    pub markets: Vec<Market>,
}

impl FromWire for Markets {
    fn read(json: &Json) -> Result<Self, WireError> {
        Ok(Self {
            markets: json
                .object()?
                .required("markets", |json| json.list(Market::read))?,
        })
    }
}
