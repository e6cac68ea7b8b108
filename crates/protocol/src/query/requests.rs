//! The parameters of every GET and DELETE; one type reads and writes each.
//!
//! Missing parameters have the codes of the text; the venue checks the ranges of values.

use cambist_core::{Hash, OrderStatus, Reason, Side, TokenId};
use cambist_signing::Address;

use super::{Parameters, listed, words, written};
use crate::json::{Json, WireError, boolean, integer, text, token_id};
use crate::number;
use crate::wire::{
    self, CLIENT_ORDER_ID_MAX, OrderType, PoolTransactionKind, side_from_word, status_from_word,
    status_word,
};

/// GET order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderQuery {
    /// Account.
    pub account_id: u32,
    /// Hash of the order.
    pub order_hash: Hash,
}

impl OrderQuery {
    /// Reads it.
    pub fn read(parameters: &Parameters) -> Result<Self, WireError> {
        Ok(Self {
            account_id: parameters.need("accountId", Reason::EmptyUser, integer)?,
            order_hash: parameters.need("orderHash", Reason::EmptyOrderHash, wire::hash)?,
        })
    }

    /// Writes it.
    pub fn write(&self) -> String {
        written([
            ("accountId", Some(self.account_id.to_string())),
            ("orderHash", Some(self.order_hash.to_string())),
        ])
    }
}

/// DELETE order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelQuery {
    /// Account.
    pub account_id: u32,
    /// Hash of the order.
    pub order_hash: Option<Hash>,
    /// Client order id.
    pub client_order_id: Option<String>,
}

impl CancelQuery {
    /// Reads it. The venue checks that at least one id is present.
    pub fn read(parameters: &Parameters) -> Result<Self, WireError> {
        let object = parameters.object();
        Ok(Self {
            account_id: parameters.need("accountId", Reason::InvalidAccount, integer)?,
            order_hash: object.optional("orderHash", wire::hash)?,
            client_order_id: object
                .optional("clientOrderId", |json| text(json, CLIENT_ORDER_ID_MAX))?,
        })
    }

    /// Writes it.
    pub fn write(&self) -> String {
        written([
            ("accountId", Some(self.account_id.to_string())),
            ("clientOrderId", self.client_order_id.clone()),
            ("orderHash", self.order_hash.map(|hash| hash.to_string())),
        ])
    }
}

/// GET orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrdersQuery {
    /// Account.
    pub account_id: u32,
    /// Market name.
    pub market: Option<String>,
    /// Created at or after, milliseconds; 0 and absent mean no bound.
    pub start: Option<u64>,
    /// Created at or before, milliseconds; 0 and absent mean no bound.
    pub end: Option<u64>,
    /// Sides; empty means both.
    pub sides: Vec<Side>,
    /// Statuses; empty means all.
    pub statuses: Vec<OrderStatus>,
    /// Page size; absent means 50.
    pub limit: Option<u32>,
    /// Number of entries to skip; absent means 0.
    pub offset: Option<u32>,
    /// Types; empty means all.
    pub order_types: Vec<OrderType>,
}

impl OrdersQuery {
    /// Reads it. Comma-separated lists are accepted where clients send them; an unknown status is an error.
    pub fn read(parameters: &Parameters) -> Result<Self, WireError> {
        let object = parameters.object();
        Ok(Self {
            account_id: parameters.need("accountId", Reason::EmptyUser, integer)?,
            market: object.optional("market", wire::any_text)?,
            start: object
                .optional("start", integer)?
                .filter(|start| *start > 0),
            end: object.optional("end", integer)?.filter(|end| *end > 0),
            sides: words(object, "side", side_from_word)?,
            statuses: words(object, "status", |word| match status_from_word(word) {
                OrderStatus::Other => None,
                status => Some(status),
            })?,
            limit: object.optional("limit", integer)?,
            offset: object.optional("offset", integer)?,
            order_types: words(object, "orderTypes", OrderType::from_word)?,
        })
    }

    /// Writes it.
    pub fn write(&self) -> String {
        written([
            ("accountId", Some(self.account_id.to_string())),
            ("market", self.market.clone()),
            ("start", self.start.map(|start| start.to_string())),
            ("end", self.end.map(|end| end.to_string())),
            (
                "side",
                listed(self.sides.iter().map(|side| wire::side_word(*side))),
            ),
            (
                "status",
                listed(self.statuses.iter().map(|status| status_word(*status))),
            ),
            ("limit", self.limit.map(|limit| limit.to_string())),
            ("offset", self.offset.map(|offset| offset.to_string())),
            (
                "orderTypes",
                listed(self.order_types.iter().map(|kind| kind.word())),
            ),
        ])
    }
}

/// GET depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DepthQuery {
    /// Market name.
    pub market: String,
    /// Aggregation level.
    pub level: u32,
    /// Most levels per side; absent means 50.
    pub limit: Option<u32>,
}

impl DepthQuery {
    /// Reads it.
    pub fn read(parameters: &Parameters) -> Result<Self, WireError> {
        Ok(Self {
            market: parameters.need("market", Reason::UnsupportedDepthMarket, wire::any_text)?,
            level: parameters
                .need("level", Reason::UnsupportedDepthLevel, integer)
                .map_err(|error| error.because(Reason::UnsupportedDepthLevel))?,
            limit: parameters.object().optional("limit", integer)?,
        })
    }

    /// Writes it.
    pub fn write(&self) -> String {
        written([
            ("market", Some(self.market.clone())),
            ("level", Some(self.level.to_string())),
            ("limit", self.limit.map(|limit| limit.to_string())),
        ])
    }
}

/// GET account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountQuery {
    /// By owner.
    Owner(Address),
    /// By account id (outside the interface).
    Id(u32),
}

impl AccountQuery {
    /// Reads it; if both are given, the owner applies.
    pub fn read(parameters: &Parameters) -> Result<Self, WireError> {
        let object = parameters.object();
        match object.optional("owner", wire::address)? {
            Some(owner) => Ok(Self::Owner(owner)),
            None => object
                .optional("accountId", integer)?
                .map(Self::Id)
                .ok_or_else(|| WireError::new("is missing").within("owner")),
        }
    }

    /// Writes it.
    pub fn write(&self) -> String {
        match self {
            Self::Owner(owner) => written([("owner", Some(owner.to_string()))]),
            Self::Id(id) => written([("accountId", Some(id.to_string()))]),
        }
    }
}

/// GET balances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BalancesQuery {
    /// Account.
    pub account_id: u32,
    /// Tokens; absent means all with a non-zero balance.
    pub tokens: Option<Vec<TokenId>>,
}

impl BalancesQuery {
    /// Reads it.
    pub fn read(parameters: &Parameters) -> Result<Self, WireError> {
        let tokens = words(parameters.object(), "tokens", |word| {
            number::bounded(word).ok().map(TokenId)
        })?;
        Ok(Self {
            account_id: parameters.need("accountId", Reason::InvalidAccount, integer)?,
            tokens: (!tokens.is_empty()).then_some(tokens),
        })
    }

    /// Writes it.
    pub fn write(&self) -> String {
        let tokens: Option<Vec<_>> = self
            .tokens
            .as_ref()
            .map(|tokens| tokens.iter().map(|token| token.0.to_string()).collect());
        written([
            ("accountId", Some(self.account_id.to_string())),
            ("tokens", tokens.map(|tokens| tokens.join(","))),
        ])
    }
}

/// GET amm/balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolBalanceQuery {
    /// Pool.
    pub pool_address: Address,
}

impl PoolBalanceQuery {
    /// Reads it.
    pub fn read(parameters: &Parameters) -> Result<Self, WireError> {
        Ok(Self {
            pool_address: parameters.need(
                "poolAddress",
                Reason::InvalidArgument,
                wire::bare_address,
            )?,
        })
    }

    /// Writes it.
    pub fn write(&self) -> String {
        written([("poolAddress", Some(self.pool_address.to_string()))])
    }
}

/// GET amm/user/transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolTransactionsQuery {
    /// Account; absent means the key's own.
    pub account_id: Option<u32>,
    /// From, milliseconds.
    pub start: Option<u64>,
    /// To, milliseconds.
    pub end: Option<u64>,
    /// Page size.
    pub limit: Option<u32>,
    /// Number of entries to skip.
    pub offset: Option<u32>,
    /// Kinds; empty means both, `None` means that only unknown ones were given.
    pub kinds: Option<Vec<PoolTransactionKind>>,
    /// Status keywords as given; empty means all, an unknown one matches nothing.
    pub statuses: Vec<String>,
    /// Pool.
    pub pool_address: Option<Address>,
}

impl PoolTransactionsQuery {
    /// Reads it. An empty account id has a code of its own in the text.
    pub fn read(parameters: &Parameters) -> Result<Self, WireError> {
        let object = parameters.object();
        let account_id = match object.get("accountId") {
            None => None,
            Some(_) => Some(parameters.need("accountId", Reason::EmptyUser, integer)?),
        };
        let asked = words(object, "txTypes", |word| Some(word.to_owned()))?;
        let kinds: Vec<_> = asked
            .iter()
            .filter_map(|word| PoolTransactionKind::from_word(word))
            .collect();
        Ok(Self {
            account_id,
            start: object
                .optional("start", integer)?
                .filter(|start| *start > 0),
            end: object.optional("end", integer)?.filter(|end| *end > 0),
            limit: object.optional("limit", integer)?,
            offset: object.optional("offset", integer)?,
            kinds: (asked.is_empty() || !kinds.is_empty()).then_some(kinds),
            statuses: words(object, "txStatus", |word| Some(word.to_owned()))?,
            pool_address: object.optional("ammPoolAddress", wire::address)?,
        })
    }

    /// Writes it.
    pub fn write(&self) -> String {
        let kinds = self.kinds.iter().flatten().map(|kind| match kind {
            PoolTransactionKind::Join => "join",
            PoolTransactionKind::Exit => "exit",
        });
        written([
            ("accountId", self.account_id.map(|id| id.to_string())),
            ("start", self.start.map(|start| start.to_string())),
            ("end", self.end.map(|end| end.to_string())),
            ("limit", self.limit.map(|limit| limit.to_string())),
            ("offset", self.offset.map(|offset| offset.to_string())),
            ("txTypes", listed(kinds)),
            ("txStatus", listed(self.statuses.iter().map(String::as_str))),
            (
                "ammPoolAddress",
                self.pool_address.map(|pool| pool.to_hex()),
            ),
        ])
    }
}

/// GET apiKey (outside the interface).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiKeyQuery {
    /// Account.
    pub account_id: u32,
    /// The venue's time of the signature, milliseconds; the request is valid for a short time.
    pub timestamp: Option<u64>,
}

impl ApiKeyQuery {
    /// Reads it.
    pub fn read(parameters: &Parameters) -> Result<Self, WireError> {
        Ok(Self {
            account_id: parameters.need("accountId", Reason::InvalidArgument, integer)?,
            timestamp: parameters.object().optional("timestamp", integer)?,
        })
    }

    /// Writes it.
    pub fn write(&self) -> String {
        written([
            ("accountId", Some(self.account_id.to_string())),
            ("timestamp", self.timestamp.map(|time| time.to_string())),
        ])
    }
}

/// GET storageId (outside the interface).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageIdQuery {
    /// Account.
    pub account_id: u32,
    /// Token of the slots.
    pub sell_token: TokenId,
    /// Whether to return ids above all used ones.
    pub max_next: bool,
}

impl StorageIdQuery {
    /// Reads it.
    pub fn read(parameters: &Parameters) -> Result<Self, WireError> {
        Ok(Self {
            account_id: parameters.need("accountId", Reason::InvalidArgument, integer)?,
            sell_token: parameters.need("sellTokenId", Reason::InvalidArgument, token_id)?,
            max_next: parameters
                .object()
                .optional("maxNext", |json| match json {
                    Json::Text(text) if text == "1" => Ok(true),
                    Json::Text(text) if text == "0" => Ok(false),
                    other => boolean(other),
                })?
                .unwrap_or(false),
        })
    }

    /// Writes it.
    pub fn write(&self) -> String {
        written([
            ("accountId", Some(self.account_id.to_string())),
            ("sellTokenId", Some(self.sell_token.0.to_string())),
            ("maxNext", self.max_next.then(|| "true".to_owned())),
        ])
    }
}

/// GET user/offchainFee (outside the interface).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffchainFeeQuery {
    /// Account.
    pub account_id: u32,
    /// Number of a kind of request.
    pub request_type: u32,
    /// Token whose fee is listed first.
    pub token_symbol: Option<String>,
}

impl OffchainFeeQuery {
    /// Reads it.
    pub fn read(parameters: &Parameters) -> Result<Self, WireError> {
        Ok(Self {
            account_id: parameters.need("accountId", Reason::InvalidAccount, integer)?,
            request_type: parameters.need("requestType", Reason::InvalidArgument, integer)?,
            token_symbol: parameters
                .object()
                .optional("tokenSymbol", wire::any_text)?,
        })
    }
}
