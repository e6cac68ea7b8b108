//! The table of endpoints, used by the client for requests and by the venue for routes.
//!
//! A row contains what the interface's text states about an endpoint, with two additions: four endpoints that public
//! clients need and the text lacks are marked as outside it, and [`KeyRule::Relaxed`] marks where public clients omit
//! the API key that the text requires. The types of bodies are in [`crate::wire`].

use cambist_core::{Reason, request};

mod table;

pub use table::TABLE;

/// HTTP methods in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// GET
    Get,
    /// POST
    Post,
    /// DELETE
    Delete,
}

impl Method {
    /// As in requests and in signed texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// Whether the header `X-API-KEY` is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRule {
    /// By the text and by all clients.
    Required,
    /// By the text, but public clients omit it: a venue accepts its absence.
    Relaxed,
    /// Never (only outside the interface).
    None,
}

/// The signature in the header `X-API-SIG`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureHeader {
    /// Nothing.
    None,
    /// An EdDSA signature of the request, required.
    Eddsa,
    /// An EdDSA signature of the request, which the text does not list but clients send: verified if present.
    EddsaIfPresent,
    /// An ECDSA signature of the body's request, required.
    Ecdsa,
}

/// Location of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the query string.
    Query,
    /// As a field of the JSON body.
    Body,
}

/// Type of a parameter in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Integer.
    Integer,
    /// String.
    Text,
    /// Boolean.
    Flag,
    /// A token with a quantity.
    TokenVolume,
    /// Tokens and minimum shares of a join.
    JoinTokens,
    /// Tokens and burned shares of an exit.
    ExitTokens,
}

/// One parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name in requests.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// Whether it is required.
    pub required: bool,
    /// Location.
    pub place: Place,
}

/// One endpoint as the text describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Method.
    pub method: Method,
    /// Path below the base URL.
    pub path: &'static str,
    /// Short description.
    pub purpose: &'static str,
    /// API key.
    pub key: KeyRule,
    /// Request signature.
    pub signature: SignatureHeader,
    /// Parameters in the order of the text.
    pub parameters: &'static [Parameter],
    /// Status codes in the text, in its order.
    pub codes: &'static [Reason],
    /// False for endpoints outside the text.
    pub in_interface: bool,
}

/// Every endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Endpoint {
    /// POST /api/v3/order
    SubmitOrder,
    /// GET /api/v3/order
    GetOrder,
    /// DELETE /api/v3/order
    CancelOrder,
    /// GET /api/v3/orders
    ListOrders,
    /// GET /api/v3/depth
    Depth,
    /// POST /api/v3/transfer
    Transfer,
    /// POST /api/v3/user/withdrawals
    Withdraw,
    /// POST /api/v3/account
    UpdateAccount,
    /// GET /api/v3/account
    GetAccount,
    /// POST /api/v3/apiKey
    ReplaceApiKey,
    /// GET /api/v3/user/balances
    Balances,
    /// GET /api/v3/exchange/info
    ExchangeInfo,
    /// GET /api/v3/exchange/tokens
    Tokens,
    /// GET /api/v3/exchange/markets
    Markets,
    /// GET /api/v3/amm/pools
    Pools,
    /// GET /api/v3/amm/balance
    PoolBalance,
    /// POST /api/v3/amm/join
    JoinPool,
    /// POST /api/v3/amm/exit
    ExitPool,
    /// GET /api/v3/amm/user/transactions
    PoolTransactions,
    /// GET /api/v3/apiKey, outside the interface: fetches the first key.
    GetApiKey,
    /// GET /api/v3/storageId, outside the interface.
    StorageId,
    /// GET /api/v3/timestamp, outside the interface.
    Timestamp,
    /// GET /api/v3/user/offchainFee, outside the interface.
    OffchainFee,
}

impl Endpoint {
    /// Its row.
    pub fn row(self) -> &'static Row {
        // The table is in the order of the enum, which a test checks.
        &TABLE[self as usize]
    }

    /// Its path below the base URL.
    pub fn path(self) -> &'static str {
        self.row().path
    }

    /// Its method.
    pub fn method(self) -> Method {
        self.row().method
    }
}

impl Endpoint {
    /// The row of a request of the engine; `None` for what this interface does not have.
    pub const fn of_engine(endpoint: request::Endpoint) -> Option<Self> {
        Some(match endpoint {
            request::Endpoint::Submit => Self::SubmitOrder,
            request::Endpoint::Cancel => Self::CancelOrder,
            request::Endpoint::Order => Self::GetOrder,
            request::Endpoint::Orders => Self::ListOrders,
            request::Endpoint::Depth => Self::Depth,
            request::Endpoint::Balances => Self::Balances,
            request::Endpoint::Markets => Self::Markets,
            request::Endpoint::Tokens => Self::Tokens,
            request::Endpoint::Account => Self::GetAccount,
            request::Endpoint::Pools => Self::Pools,
            request::Endpoint::PoolBalance => Self::PoolBalance,
            request::Endpoint::Join => Self::JoinPool,
            request::Endpoint::Exit => Self::ExitPool,
            request::Endpoint::PoolTransactions => Self::PoolTransactions,
            // Orders are cancelled and made again.
            request::Endpoint::Amend => return None,
        })
    }
}

/// The row of a request, if the table has one.
pub fn find(method: &str, path: &str) -> Option<&'static Row> {
    TABLE
        .iter()
        .find(|row| row.path == path && row.method.name() == method)
}

/// Methods of a path; empty for an unknown path.
pub fn methods(path: &str) -> impl Iterator<Item = Method> {
    TABLE
        .iter()
        .filter(move |row| row.path == path)
        .map(|row| row.method)
}

#[cfg(test)]
mod tests {
    use super::Place::{Body, Query};
    use super::*;
    use crate::code;

    /// "Status codes" of the interface text, copied endpoint by endpoint.
    const TEXT: [(&str, &[u32]); 19] = [
        (
            "POST /api/v3/order",
            &[
                100_000, 102_001, 102_002, 102_003, 102_004, 102_005, 102_006, 102_007, 102_008,
                102_010, 102_011, 102_012, 102_014, 102_020, 102_027, 102_120, 104_001, 104_002,
                104_003, 104_004, 104_005,
            ],
        ),
        (
            "GET /api/v3/order",
            &[
                100_000, 107_001, 107_002, 107_003, 104_001, 104_002, 104_003,
            ],
        ),
        (
            "DELETE /api/v3/order",
            &[100_000, 104_001, 102_117, 102_118, 104_002, 104_003],
        ),
        (
            "GET /api/v3/orders",
            &[100_000, 107_001, 104_001, 104_002, 104_003],
        ),
        ("GET /api/v3/depth", &[100_000, 108_000, 108_001]),
        (
            "POST /api/v3/transfer",
            &[
                100_000, 102_001, 102_021, 102_022, 102_023, 102_024, 102_025,
            ],
        ),
        (
            "POST /api/v3/user/withdrawals",
            &[
                100_000, 102_001, 102_021, 102_022, 102_023, 102_024, 102_025,
            ],
        ),
        (
            "POST /api/v3/account",
            &[
                100_000, 102_001, 102_021, 102_022, 102_023, 102_024, 102_025,
            ],
        ),
        ("GET /api/v3/account", &[100_000, 101_001, 101_002]),
        (
            "POST /api/v3/apiKey",
            &[
                100_000, 101_002, 100_001, 104_001, 104_002, 104_003, 104_004, 104_005,
            ],
        ),
        (
            "GET /api/v3/user/balances",
            &[100_000, 104_001, 104_002, 104_003],
        ),
        ("GET /api/v3/exchange/info", &[100_000]),
        ("GET /api/v3/exchange/tokens", &[100_000]),
        ("GET /api/v3/exchange/markets", &[100_000]),
        ("GET /api/v3/amm/pools", &[100_000]),
        ("GET /api/v3/amm/balance", &[100_000]),
        (
            "POST /api/v3/amm/join",
            &[
                100_000, 102_001, 102_021, 102_022, 102_023, 102_024, 102_025,
            ],
        ),
        (
            "POST /api/v3/amm/exit",
            &[
                100_000, 102_001, 102_021, 102_022, 102_023, 102_024, 102_025,
            ],
        ),
        (
            "GET /api/v3/amm/user/transactions",
            &[100_000, 107_001, 104_001, 104_002, 104_003],
        ),
    ];

    #[test]
    fn the_table_has_the_nineteen_rows_and_102_codes_of_the_text() {
        let rows: Vec<_> = TABLE.iter().filter(|row| row.in_interface).collect();
        assert_eq!(rows.len(), TEXT.len());
        let mut pairs = 0;
        for (row, (name, codes)) in rows.iter().zip(TEXT) {
            assert_eq!(format!("{} {}", row.method.name(), row.path), name);
            let numbers: Vec<_> = row.codes.iter().copied().map(code::number).collect();
            assert_eq!(numbers, codes, "{name}");
            pairs += codes.len();
        }
        assert_eq!(pairs, 102);
    }

    /// Codes in the interface's table of errors that belong to no endpoint.
    const WITHOUT_ENDPOINT: &[u32] = &[];

    /// A code in the table of reasons must belong to an endpoint.
    #[test]
    fn every_listed_code_belongs_to_an_endpoint() {
        for reason in cambist_core::Reason::LISTED {
            let mut rows = TABLE.iter().filter(|row| row.in_interface);
            let is_listed = rows.any(|row| row.codes.contains(&reason));
            let code = code::number(reason);
            assert!(is_listed != WITHOUT_ENDPOINT.contains(&code), "{code}");
        }
    }

    #[test]
    fn rows_are_in_the_order_of_the_enum_and_unique() {
        for (at, row) in TABLE.iter().enumerate() {
            assert_eq!(row.endpoint as usize, at, "{:?}", row.endpoint);
            assert_eq!(row.endpoint.row(), row);
            assert_eq!(find(row.method.name(), row.path), Some(row));
            let place = match row.method {
                Method::Get | Method::Delete => Query,
                Method::Post => Body,
            };
            assert!(
                row.parameters
                    .iter()
                    .all(|parameter| parameter.place == place)
            );
        }
        assert_eq!(find("PUT", "/api/v3/order"), None);
        assert_eq!(find("GET", "/api/v3/order/"), None);
        assert_eq!(
            methods("/api/v3/order").collect::<Vec<_>>(),
            [Method::Post, Method::Get, Method::Delete]
        );
        assert_eq!(methods("/api/v3/nothing").count(), 0);
    }

    #[test]
    fn signature_headers_are_those_of_the_text() {
        let with = |wanted| {
            TABLE
                .iter()
                .filter(|row| row.in_interface && row.signature == wanted)
                .map(|row| row.endpoint)
                .collect::<Vec<_>>()
        };
        assert_eq!(with(SignatureHeader::Eddsa), [Endpoint::CancelOrder]);
        assert_eq!(
            with(SignatureHeader::Ecdsa),
            [
                Endpoint::Transfer,
                Endpoint::Withdraw,
                Endpoint::UpdateAccount
            ]
        );
        let parameters: usize = TABLE
            .iter()
            .filter(|row| row.in_interface)
            .map(|row| row.parameters.len())
            .sum();
        assert_eq!(parameters, 97, "rows of the parameter tables");
    }

    #[test]
    fn every_engine_endpoint_but_amends_has_a_row() {
        for endpoint in request::Endpoint::ALL {
            let row = Endpoint::of_engine(endpoint).map(Endpoint::row);
            assert_eq!(row.is_none(), endpoint == request::Endpoint::Amend);
            assert!(row.is_none_or(|row| row.in_interface));
        }
    }
}
