//! Query strings: reading what any client sends, and the parameters of every GET and DELETE.
//!
//! Reading and writing meet in one type per endpoint. Written strings have sorted keys and only
//! unreserved characters, because public canonical forms of signed requests differ elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cambist_core::{Hash, OrderStatus, Reason, Side, TokenId};
use cambist_signing::Address;

use crate::json::{Json, Object, WireError, boolean, integer, text, token_id};
use crate::number::{self, quoted};
use crate::wire::{
    self, CLIENT_ORDER_ID_MAX, OrderType, PoolTransactionKind, side_from_word, status_from_word,
    status_word,
};

/// Longest query string read.
pub const LENGTH_MAX: usize = 8_192;

/// Most parameters read.
const PARAMETERS_MAX: usize = 64;

/// Most entries in a comma-separated list.
const LIST_MAX: usize = 64;

/// Parameters as sent: decoded, in the order received, equal repetitions dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    received: Vec<(String, String)>,
    fields: BTreeMap<String, Json>,
}

impl Parameters {
    /// Reads the part after `?`. Percent and `+` escapes are decoded; a name repeated with the same
    /// value counts once (a public client repeats every one), with another value it is refused.
    pub fn parse(query: &str) -> Result<Self, WireError> {
        if query.len() > LENGTH_MAX {
            return Err(WireError::new(format!(
                "the query string has more than {LENGTH_MAX} bytes"
            )));
        }
        let mut received: Vec<(String, String)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            match received.iter().find(|(seen, _)| *seen == name) {
                Some((_, same)) if *same == value => {}
                Some(_) => {
                    return Err(WireError::new("is given twice with different values")
                        .within(&quoted(&name, 48)));
                }
                None if received.len() == PARAMETERS_MAX => {
                    return Err(WireError::new(format!(
                        "more than {PARAMETERS_MAX} parameters"
                    )));
                }
                None => received.push((name, value)),
            }
        }
        let fields = received
            .iter()
            .map(|(name, value)| (name.clone(), Json::Text(value.clone())))
            .collect();
        Ok(Self { received, fields })
    }

    /// Names and decoded values in the order received, for checking request signatures.
    pub fn received(&self) -> &[(String, String)] {
        &self.received
    }

    fn object(&self) -> Object<'_> {
        Object(&self.fields)
    }

    /// A parameter that must be there and not empty.
    fn need<T>(
        &self,
        name: &str,
        missing: Reason,
        read: impl FnOnce(&Json) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        self.object()
            .optional(name, read)?
            .ok_or_else(|| WireError::new("is missing").within(name).because(missing))
    }
}

/// Writes a query string with sorted keys. Values must already be unreserved characters and commas;
/// anything else is percent-encoded so that the string is always valid.
fn written<const N: usize>(mut pairs: [(&str, Option<String>); N]) -> String {
    pairs.sort_by_key(|(name, _)| *name);
    let mut out = String::new();
    for (name, value) in pairs {
        if let Some(value) = value {
            if !out.is_empty() {
                out.push('&');
            }
            out.push_str(name);
            out.push('=');
            for byte in value.bytes() {
                match byte {
                    b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                        out.push(char::from(byte));
                    }
                    other => {
                        let _ = write!(out, "%{other:02X}");
                    }
                }
            }
        }
    }
    out
}

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
    /// The client's id of the order.
    pub client_order_id: Option<String>,
}

impl CancelQuery {
    /// Reads it; that one of both ids is given is left to the venue.
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
    /// Sides wanted; empty means both.
    pub sides: Vec<Side>,
    /// Statuses wanted; empty means all.
    pub statuses: Vec<OrderStatus>,
    /// Page size; absent means 50.
    pub limit: Option<u32>,
    /// Entries skipped; absent means 0.
    pub offset: Option<u32>,
    /// Types wanted; empty means all.
    pub order_types: Vec<OrderType>,
}

impl OrdersQuery {
    /// Reads it. Comma-separated lists are read where clients send them; an unknown status is refused.
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
    /// Reads it; the owner counts where both are given.
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
    /// Tokens wanted; absent means all that are not zero.
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
            pool_address: parameters.need("poolAddress", Reason::InvalidArgument, wire::address)?,
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
    /// Account.
    pub account_id: Option<u32>,
    /// From, milliseconds.
    pub start: Option<u64>,
    /// To, milliseconds.
    pub end: Option<u64>,
    /// Page size.
    pub limit: Option<u32>,
    /// Entries skipped.
    pub offset: Option<u32>,
    /// Kinds wanted; empty means both.
    pub kinds: Vec<PoolTransactionKind>,
    /// Status words as given; empty means all, an unknown word matches nothing.
    pub statuses: Vec<String>,
    /// Pool.
    pub pool_address: Option<Address>,
}

impl PoolTransactionsQuery {
    /// Reads it.
    pub fn read(parameters: &Parameters) -> Result<Self, WireError> {
        let object = parameters.object();
        Ok(Self {
            account_id: object.optional("accountId", integer)?,
            start: object
                .optional("start", integer)?
                .filter(|start| *start > 0),
            end: object.optional("end", integer)?.filter(|end| *end > 0),
            limit: object.optional("limit", integer)?,
            offset: object.optional("offset", integer)?,
            kinds: words(object, "txTypes", PoolTransactionKind::from_word)?,
            statuses: words(object, "txStatus", |word| Some(word.to_owned()))?,
            pool_address: object.optional("ammPoolAddress", wire::address)?,
        })
    }
}

/// GET apiKey (outside the interface).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiKeyQuery {
    /// Account.
    pub account_id: u32,
}

impl ApiKeyQuery {
    /// Reads it.
    pub fn read(parameters: &Parameters) -> Result<Self, WireError> {
        Ok(Self {
            account_id: parameters.need("accountId", Reason::InvalidArgument, integer)?,
        })
    }

    /// Writes it.
    pub fn write(&self) -> String {
        written([("accountId", Some(self.account_id.to_string()))])
    }
}

/// GET storageId (outside the interface).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageIdQuery {
    /// Account.
    pub account_id: u32,
    /// Token whose slots are asked for.
    pub sell_token: TokenId,
    /// Ids above all used ones are wanted.
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

fn listed<'a>(words: impl Iterator<Item = &'a str>) -> Option<String> {
    let words: Vec<_> = words.collect();
    (!words.is_empty()).then(|| words.join(","))
}

fn words<T>(
    object: Object<'_>,
    name: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, WireError> {
    let listed = object.optional(name, |json| {
        let Json::Text(text) = json else {
            return Err(WireError::new("is no text"));
        };
        // Some clients encode the comma twice.
        let text = text.replace("%2C", ",");
        if text.split(',').count() > LIST_MAX {
            return Err(WireError::new(format!("has more than {LIST_MAX} entries")));
        }
        text.split(',')
            .filter(|word| !word.is_empty())
            .map(|word| {
                read(word)
                    .ok_or_else(|| WireError::new(format!("\"{}\" is not known", quoted(word, 48))))
            })
            .collect()
    })?;
    Ok(listed.unwrap_or_default())
}

fn decoded(text: &str) -> Result<String, WireError> {
    let bad = || WireError::new(format!("\"{}\" is no query text", quoted(text, 48)));
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
                let (high, low) = (digit(bytes.next()), digit(bytes.next()));
                let (Some(high), Some(low)) = (high, low) else {
                    return Err(bad());
                };
                u8::try_from(high * 16 + low).map_err(|_| bad())?
            }
            other => other,
        });
    }
    String::from_utf8(out).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn parse(query: &str) -> Parameters {
        Parameters::parse(query).unwrap()
    }

    #[test]
    fn equal_repetitions_count_once_and_different_ones_are_refused() {
        let twice = parse("accountId=1&accountId=1&market=");
        assert_eq!(twice.received().len(), 2);
        assert!(Parameters::parse("accountId=1&accountId=2").is_err());
        assert!(Parameters::parse("a=%zz").is_err());
        assert!(Parameters::parse("a=%f").is_err());
        assert!(Parameters::parse("a=%ff").is_err(), "not UTF-8");
        assert!(Parameters::parse(&"a".repeat(LENGTH_MAX + 1)).is_err());
        let many: Vec<_> = (0..65).map(|n| format!("p{n}=1")).collect();
        assert!(Parameters::parse(&many.join("&")).is_err());
        assert_eq!(parse("a=b%20c+d%2Ce").received()[0].1, "b c d,e");
    }

    #[test]
    fn what_is_missing_has_its_own_code() {
        let reason = |query: &str| OrderQuery::read(&parse(query)).unwrap_err().reason;
        assert_eq!(reason("orderHash=0x1"), Reason::EmptyUser);
        assert_eq!(reason("accountId=&orderHash=0x1"), Reason::EmptyUser);
        assert_eq!(reason("accountId=1"), Reason::EmptyOrderHash);
        assert_eq!(
            reason("accountId=+1&orderHash=0x1"),
            Reason::InvalidArgument
        );
        let depth = |query: &str| DepthQuery::read(&parse(query)).unwrap_err().reason;
        assert_eq!(depth("level=0"), Reason::UnsupportedDepthMarket);
        assert_eq!(depth("market=A-B"), Reason::UnsupportedDepthLevel);
        assert_eq!(depth("market=A-B&level=-1"), Reason::UnsupportedDepthLevel);
        let account = AccountQuery::read(&parse("")).unwrap_err();
        assert_eq!(
            (account.field.as_str(), account.reason),
            ("owner", Reason::InvalidArgument)
        );
    }

    #[test]
    fn the_list_filter_takes_what_public_clients_send() {
        let query = OrdersQuery::read(&parse(
            "accountId=7&side=BUY%2CSELL&status=&orderTypes=AMM&start=0&limit=20",
        ))
        .unwrap();
        assert_eq!(query.sides, Side::BOTH);
        assert_eq!(query.statuses, []);
        assert_eq!(query.start, None, "0 is the default and no bound");
        assert_eq!(query.order_types, [OrderType::Amm]);
        assert!(OrdersQuery::read(&parse("accountId=7&status=pending")).is_err());
    }

    #[test]
    fn written_queries_are_sorted_and_read_back() {
        let orders = OrdersQuery {
            account_id: 10_000,
            market: Some("ONE-TWO".to_owned()),
            start: Some(5),
            end: Some(9),
            sides: vec![Side::Sell],
            statuses: vec![OrderStatus::Processing, OrderStatus::Cancelled],
            limit: Some(50),
            offset: Some(100),
            order_types: vec![],
        };
        assert_eq!(
            orders.write(),
            "accountId=10000&end=9&limit=50&market=ONE-TWO&offset=100&side=SELL&start=5\
             &status=processing%2Ccancelled"
        );
        assert_eq!(OrdersQuery::read(&parse(&orders.write())), Ok(orders));
        let cancel = CancelQuery {
            account_id: 1,
            order_hash: Some(Hash([7; 32])),
            client_order_id: Some("c00000001-0-1".to_owned()),
        };
        assert_eq!(CancelQuery::read(&parse(&cancel.write())), Ok(cancel));
        let depth = DepthQuery {
            market: "ONE-TWO".to_owned(),
            level: 0,
            limit: Some(50),
        };
        assert_eq!(depth.write(), "level=0&limit=50&market=ONE-TWO");
        let balances = BalancesQuery {
            account_id: 1,
            tokens: Some(vec![TokenId(0), TokenId(3)]),
        };
        assert_eq!(BalancesQuery::read(&parse(&balances.write())), Ok(balances));
        let storage = StorageIdQuery {
            account_id: 1,
            sell_token: TokenId(2),
            max_next: true,
        };
        assert_eq!(StorageIdQuery::read(&parse(&storage.write())), Ok(storage));
    }
}
