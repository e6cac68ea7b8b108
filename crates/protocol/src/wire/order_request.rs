//! POST order as it is received: one reader for the exchange, and for the client that checks its own bytes.
//!
//! The form of the fields is decided here, and the order in which they are read is a table: the first field that is
//! missing or malformed decides the code. Ranges of numbers are rules of the venue, which has codes of its own for
//! them; so they are as wide here as they may be sent.

use cambist_core::{Amount, Reason, TokenId};
use cambist_signing::{Address, OrderMessage, Signature};

use super::{OrderType, TEXT_MAX, address, requested_amount, signature};
use crate::json::{Json, Object, WireError, boolean, integer, text};

/// The fields of an order, without its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderRequest {
    /// Account.
    pub account_id: u32,
    /// Token to sell.
    pub sell_token: TokenId,
    /// Most units to sell.
    pub sell_amount: Amount,
    /// Token to buy.
    pub buy_token: TokenId,
    /// Least units to buy, before the fee.
    pub buy_amount: Amount,
    /// Type.
    pub order_type: OrderType,
    /// Pool; required for a swap, and sent by some clients with every order.
    pub pool_address: Option<Address>,
    /// Exchange contract.
    pub exchange: Address,
    /// Storage id of the sell token.
    pub storage_id: u64,
    /// Whether the buy amount limits the fill.
    pub fill_amount_b_or_s: bool,
    /// Whether it is filled at once as a whole or not at all.
    pub all_or_none: bool,
    /// Expiry in seconds.
    pub valid_until: u64,
    /// Highest fee accepted.
    pub max_fee_bips: u64,
    /// Named taker; the zero address if none.
    pub taker: Address,
    /// Client order id.
    pub client_order_id: Option<String>,
}

/// Before anything is read.
const EMPTY: OrderRequest = OrderRequest {
    account_id: 0,
    sell_token: TokenId(0),
    sell_amount: 0,
    buy_token: TokenId(0),
    buy_amount: 0,
    order_type: OrderType::Limit,
    pool_address: None,
    exchange: Address::ZERO,
    storage_id: 0,
    fill_amount_b_or_s: false,
    all_or_none: false,
    valid_until: 0,
    max_fee_bips: 0,
    taker: Address::ZERO,
    client_order_id: None,
};

/// A row of the table.
struct Field {
    name: &'static str,
    /// The code if the field is missing, or null.
    missing: Missing,
    /// Reads it; the error has the code if the value is malformed.
    read: fn(&mut OrderRequest, &Json) -> Result<(), WireError>,
}

/// What an absent field means.
enum Missing {
    /// A refusal with the code of a malformed request.
    Refused,
    /// Its default; the empty string is absent too.
    Default,
    /// Its default, or for an order of type AMM a refusal with this code.
    RefusedForSwaps(Reason),
}

/// The fields in the order in which they are read.
const FIELDS: [Field; 13] = [
    required("accountId", |order, json| {
        order.account_id = integer(json)?;
        Ok(())
    }),
    required("sellToken", |order, json| {
        (order.sell_token, order.sell_amount) = requested_amount(json)?;
        Ok(())
    }),
    required("buyToken", |order, json| {
        (order.buy_token, order.buy_amount) = requested_amount(json)?;
        Ok(())
    }),
    optional("orderType", |order, json| {
        let word = text(json, TEXT_MAX)?;
        order.order_type = OrderType::from_word(&word)
            .ok_or_else(|| WireError::new(format!("{json} is not an order type")))?;
        Ok(())
    }),
    Field {
        name: "poolAddress",
        missing: Missing::RefusedForSwaps(Reason::InvalidOrder),
        read: |order, json| {
            order.pool_address = Some(address(json)?);
            Ok(())
        },
    },
    required("exchange", |order, json| {
        order.exchange = address(json)?;
        Ok(())
    }),
    required("storageId", |order, json| {
        order.storage_id = integer(json)?;
        Ok(())
    }),
    required("fillAmountBOrS", |order, json| {
        order.fill_amount_b_or_s = boolean(json)?;
        Ok(())
    }),
    required("allOrNone", |order, json| {
        order.all_or_none = boolean(json)?;
        Ok(())
    }),
    required("validUntil", |order, json| {
        order.valid_until = integer(json)?;
        Ok(())
    }),
    required("maxFeeBips", |order, json| {
        order.max_fee_bips = integer(json)?;
        Ok(())
    }),
    optional("taker", |order, json| {
        order.taker = address(json)?;
        Ok(())
    }),
    optional("clientOrderId", |order, json| {
        order.client_order_id = Some(text(json, TEXT_MAX)?);
        Ok(())
    }),
];

const fn required(
    name: &'static str,
    read: fn(&mut OrderRequest, &Json) -> Result<(), WireError>,
) -> Field {
    let missing = Missing::Refused;
    Field {
        name,
        missing,
        read,
    }
}

const fn optional(
    name: &'static str,
    read: fn(&mut OrderRequest, &Json) -> Result<(), WireError>,
) -> Field {
    let missing = Missing::Default;
    Field {
        name,
        missing,
        read,
    }
}

impl OrderRequest {
    /// The account alone: whether it exists, and who asks, is decided before the other fields are read.
    ///
    /// # Errors
    ///
    /// `accountId` is missing or malformed.
    pub fn account(object: Object<'_>) -> Result<u32, WireError> {
        let mut order = EMPTY;
        order.read_field(&FIELDS[0], object)?;
        Ok(order.account_id)
    }

    /// Reads all fields but the signature.
    ///
    /// # Errors
    ///
    /// The first field of the table that is missing or malformed, with its code.
    pub fn read(object: Object<'_>) -> Result<Self, WireError> {
        let mut order = EMPTY;
        for field in &FIELDS {
            order.read_field(field, object)?;
        }
        Ok(order)
    }

    /// Reads the signature, which comes after the venue's rules.
    ///
    /// # Errors
    ///
    /// It is missing or malformed; two codes.
    pub fn signature(object: Object<'_>) -> Result<Signature, WireError> {
        let found = object.optional("eddsaSignature", signature)?;
        found.ok_or_else(|| missing("eddsaSignature", Reason::MissingSignature))
    }

    /// The message that its signature covers; `None` if a number does not fit the message.
    pub fn message(&self) -> Option<OrderMessage> {
        Some(OrderMessage {
            exchange: self.exchange,
            storage_id: self.storage_id.try_into().ok()?,
            account_id: self.account_id,
            sell_token: self.sell_token.0,
            buy_token: self.buy_token.0,
            sell_amount: self.sell_amount,
            buy_amount: self.buy_amount,
            valid_until: self.valid_until.try_into().ok()?,
            max_fee_bips: self.max_fee_bips.try_into().ok()?,
            fill_by_buy: self.fill_amount_b_or_s,
            taker: self.taker,
        })
    }

    fn read_field(&mut self, field: &Field, object: Object<'_>) -> Result<(), WireError> {
        let mut set = |json: &Json| (field.read)(self, json);
        let swap = match field.missing {
            Missing::Refused => return object.required(field.name, set),
            Missing::Default => None,
            Missing::RefusedForSwaps(reason) => Some(reason),
        };
        let found = object.optional(field.name, &mut set)?;
        match (found, swap) {
            (None, Some(reason)) if self.order_type == OrderType::Amm => {
                Err(missing(field.name, reason))
            }
            _ => Ok(()),
        }
    }
}

fn missing(field: &str, reason: Reason) -> WireError {
    WireError::new("is missing").within(field).because(reason)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::json::parse;

    /// A swap with every field.
    fn fields() -> BTreeMap<String, Json> {
        let address = "0x00000000000000000000000000000000000000aa";
        let body = format!(
            r#"{{"accountId":7,"sellToken":{{"tokenId":1,"volume":"10"}},"buyToken":{{"tokenId":"2","volume":0}},
            "orderType":"AMM","poolAddress":"{address}","exchange":"{address}","storageId":4,"fillAmountBOrS":false,
            "allOrNone":"false","validUntil":1700000000,"maxFeeBips":20,"taker":"{address}","clientOrderId":"a"}}"#
        );
        match parse(body.as_bytes()).unwrap() {
            Json::Object(fields) => fields,
            other => panic!("{other}"),
        }
    }

    /// Every field malformed or missing together with all that come after it: the first decides.
    #[test]
    fn the_first_field_of_the_table_decides_the_code() {
        assert_eq!(OrderRequest::read(Object(&fields())).unwrap().account_id, 7);
        for (at, field) in FIELDS.iter().enumerate() {
            let mut malformed = fields();
            let mut absent = fields();
            for later in &FIELDS[at..] {
                malformed.insert(later.name.to_owned(), Json::OtherNumber);
                absent.insert(later.name.to_owned(), Json::Null);
            }
            let error = OrderRequest::read(Object(&malformed)).unwrap_err();
            let expected = (field.name, Reason::InvalidArgument);
            assert_eq!((error.field.as_str(), error.reason), expected);

            // Only this one is missing, and the next is malformed.
            let mut absent_then_malformed = malformed;
            absent_then_malformed.remove(field.name);
            let found = OrderRequest::read(Object(&absent_then_malformed));
            let expected = match (&field.missing, FIELDS.get(at + 1)) {
                (Missing::Refused, _) => Some((field.name, Reason::InvalidArgument)),
                // Without a type it is no swap, and its pool may be absent.
                (Missing::RefusedForSwaps(reason), _) => Some((field.name, *reason)),
                (Missing::Default, next) => next.map(|next| (next.name, Reason::InvalidArgument)),
            };
            let error = found.err();
            let got = error.as_ref().map(|e| (e.field.as_str(), e.reason));
            assert_eq!(got, expected);
        }
    }

    /// The client reads its own bytes with this reader before it sends them.
    #[test]
    fn an_amount_that_is_absent_null_or_empty_is_missing() {
        let read = |volume: &str| {
            let json = parse(format!(r#"{{"tokenId":1{volume}}}"#).as_bytes()).unwrap();
            requested_amount(&json).map_err(|error| (error.to_string(), error.reason))
        };
        for volume in ["", r#","volume":null"#, r#","volume":"""#] {
            let missing = ("volume: is missing".to_owned(), Reason::InvalidArgument);
            assert_eq!(read(volume), Err(missing), "{volume}");
        }
        assert_eq!(read(r#","volume":"0""#), Ok((TokenId(1), 0)));
        assert_eq!(read(r#","volume":0"#), Ok((TokenId(1), 0)));
        let wide = u128::MAX;
        assert_eq!(
            read(&format!(r#","volume":"{wide}""#)),
            Ok((TokenId(1), wide))
        );
    }

    #[test]
    fn only_a_swap_needs_its_pool() {
        let mut fields = fields();
        fields.remove("poolAddress");
        let error = OrderRequest::read(Object(&fields)).unwrap_err();
        assert_eq!(error.to_string(), "poolAddress: is missing");
        assert_eq!(error.reason, Reason::InvalidOrder);
        fields.remove("orderType");
        let order = OrderRequest::read(Object(&fields)).unwrap();
        assert_eq!(order.order_type, OrderType::Limit);
    }

    #[test]
    fn numbers_that_no_message_holds_are_for_the_venues_rules() {
        let mut fields = fields();
        let order = OrderRequest::read(Object(&fields)).unwrap();
        assert_eq!(order.message().unwrap().storage_id, 4);
        for name in ["storageId", "validUntil", "maxFeeBips"] {
            let before = fields.insert(name.to_owned(), Json::Integer(u64::MAX));
            let order = OrderRequest::read(Object(&fields)).unwrap();
            assert_eq!(order.message(), None, "{name}");
            fields.insert(name.to_owned(), before.unwrap());
        }
    }

    #[test]
    fn a_missing_signature_and_a_malformed_one_have_codes_of_their_own() {
        let mut fields = fields();
        let code = |fields: &BTreeMap<String, Json>| {
            OrderRequest::signature(Object(fields)).unwrap_err().reason
        };
        assert_eq!(code(&fields), Reason::MissingSignature);
        let name = "eddsaSignature".to_owned();
        fields.insert(name.clone(), Json::Text("0x12".to_owned()));
        assert_eq!(code(&fields), Reason::WrongSignature);
        fields.insert(name, Json::Boolean(true));
        assert_eq!(code(&fields), Reason::WrongSignature);
    }
}
