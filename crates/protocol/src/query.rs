//! Query strings: parsing of all clients' forms, and the parameters of every GET and DELETE.
//!
//! One type per endpoint reads and writes its parameters. Written strings have sorted keys and unreserved characters
//! only, because the public canonical forms of signed requests differ for others.

mod requests;

use std::collections::BTreeMap;

use cambist_core::Reason;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::json::{Json, Object, WireError, integer};
use crate::number::quoted;

pub use requests::{
    AccountQuery, ApiKeyQuery, BalancesQuery, CancelQuery, DepthQuery, OffchainFeeQuery,
    OrderQuery, OrdersQuery, PoolBalanceQuery, PoolTransactionsQuery, StorageIdQuery,
};

/// Most bytes of a query string.
pub const LENGTH_MAX: usize = 8_192;

/// Most parameters.
const PARAMETERS_MAX: usize = 64;

/// Most entries in a comma-separated list.
const LIST_MAX: usize = 64;

/// Parameters as sent: decoded, in the order received, without equal repetitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    received: Vec<(String, String)>,
    fields: BTreeMap<String, Json>,
}

impl Parameters {
    /// Parses the part after `?`. Percent and `+` escapes are decoded. A name repeated with the same value counts once
    /// (a public client repeats every one); with another value it is an error.
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
                    return Err(WireError::new("occurs twice with different values")
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

    /// Names and decoded values in the order received, for the verification of request signatures.
    pub fn received(&self) -> &[(String, String)] {
        &self.received
    }

    /// The account of a request, if it is valid; the endpoint's own reader reports errors.
    pub fn account_id(&self) -> Option<u32> {
        let read = self.object().optional("accountId", integer);
        read.ok().flatten()
    }

    fn object(&self) -> Object<'_> {
        Object(&self.fields)
    }

    /// A required parameter that is not empty.
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

/// Everything but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Encodes a query string with sorted keys. Values should be unreserved characters and commas; others are
/// percent-encoded, so that the string is always valid.
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
            out.extend(utf8_percent_encode(&value, RESERVED));
        }
    }
    out
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
            return Err(WireError::new("is not valid text"));
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
    use crate::wire::OrderType;
    use cambist_core::{Hash, OrderStatus, Side, TokenId};

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
    fn missing_parameters_have_their_own_codes() {
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
    fn the_list_filter_accepts_what_public_clients_send() {
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
