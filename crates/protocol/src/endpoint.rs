//! The one table of endpoints: the client's address book and the venue's router.
//!
//! A row is what the interface text says about an endpoint and nothing more, except that three
//! endpoints which public clients need and the text lacks are marked as outside it, and that
//! [`KeyRule::Relaxed`] marks where public clients leave out the API key the text asks for. Shapes of
//! bodies are in [`crate::wire`].

use cambist_core::{Reason, request};

use Kind::{ExitTokens, Flag, Integer, JoinTokens, Text, TokenVolume};
use Place::{Body, Query};

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
    /// As written on the wire and in signed texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// Whether the header `X-API-KEY` is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRule {
    /// By the text and by every client.
    Required,
    /// By the text, but public clients do not send it: a venue accepts its absence.
    Relaxed,
    /// Not at all (only outside the interface).
    None,
}

/// What the header `X-API-SIG` carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureHeader {
    /// Nothing.
    None,
    /// An EdDSA signature of the request, required.
    Eddsa,
    /// An EdDSA signature of the request that the text does not list but clients send: checked when
    /// present.
    EddsaIfPresent,
    /// An ECDSA signature of what the body asks for, required.
    Ecdsa,
}

/// Where a parameter travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the query string.
    Query,
    /// As a field of the JSON body.
    Body,
}

/// Type of a parameter in the words of the text.
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
    /// Tokens and least share of a join.
    JoinTokens,
    /// Tokens and burned share of an exit.
    ExitTokens,
}

/// One parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name on the wire.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// Whether the request fails without it.
    pub required: bool,
    /// Where it travels.
    pub place: Place,
}

/// One endpoint as the text describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which.
    pub endpoint: Endpoint,
    /// Method.
    pub method: Method,
    /// Path below the base URL.
    pub path: &'static str,
    /// In a few words.
    pub purpose: &'static str,
    /// API key.
    pub key: KeyRule,
    /// Request signature.
    pub signature: SignatureHeader,
    /// Parameters in the order of the text.
    pub parameters: &'static [Parameter],
    /// Status codes the text lists, in its order.
    pub codes: &'static [Reason],
    /// False for what the text does not have.
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
    /// GET /api/v3/apiKey, outside the interface: how the first key is obtained.
    GetApiKey,
    /// GET /api/v3/storageId, outside the interface.
    StorageId,
    /// GET /api/v3/timestamp, outside the interface.
    Timestamp,
}

impl Endpoint {
    /// Its row.
    pub fn row(self) -> &'static Row {
        // The table is in the order of the enum, which a test holds.
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

impl From<request::Endpoint> for Endpoint {
    fn from(endpoint: request::Endpoint) -> Self {
        match endpoint {
            request::Endpoint::Submit => Self::SubmitOrder,
            request::Endpoint::Cancel => Self::CancelOrder,
            request::Endpoint::Order => Self::GetOrder,
            request::Endpoint::Orders => Self::ListOrders,
            request::Endpoint::Depth => Self::Depth,
            request::Endpoint::Balances => Self::Balances,
            request::Endpoint::Markets => Self::Markets,
            request::Endpoint::Account => Self::GetAccount,
        }
    }
}

/// The row of a request, if the table has one.
pub fn find(method: &str, path: &str) -> Option<&'static Row> {
    TABLE
        .iter()
        .find(|row| row.path == path && row.method.name() == method)
}

/// Methods that a path has; empty for a path that is not in the table.
pub fn methods(path: &str) -> impl Iterator<Item = Method> {
    TABLE
        .iter()
        .filter(move |row| row.path == path)
        .map(|row| row.method)
}

const fn need(name: &'static str, kind: Kind, place: Place) -> Parameter {
    Parameter {
        name,
        kind,
        required: true,
        place,
    }
}

const fn may(name: &'static str, kind: Kind, place: Place) -> Parameter {
    Parameter {
        name,
        kind,
        required: false,
        place,
    }
}

/// Codes shared by requests that move funds.
const FUNDS: &[Reason] = &[
    Reason::UnknownError,
    Reason::WrongExchange,
    Reason::InvalidNonce,
    Reason::InvalidSender,
    Reason::InvalidReceiver,
    Reason::UnsupportedFeeToken,
    Reason::FeeTokenMismatch,
];

/// Codes of endpoints that can only fail unexpectedly.
const PLAIN: &[Reason] = &[Reason::UnknownError];

/// Codes of lists that belong to an account.
const OWN_LIST: &[Reason] = &[
    Reason::UnknownError,
    Reason::EmptyUser,
    Reason::EmptyApiKey,
    Reason::InvalidApiKey,
    Reason::InvalidAccount,
];

/// The interface's 19 rows in its order, then the three outside it.
pub static TABLE: [Row; 22] = [
    Row {
        endpoint: Endpoint::SubmitOrder,
        method: Method::Post,
        path: "/api/v3/order",
        purpose: "submit an order",
        key: KeyRule::Required,
        signature: SignatureHeader::None,
        parameters: &[
            need("exchange", Text, Body),
            need("accountId", Integer, Body),
            need("storageId", Integer, Body),
            need("sellToken", TokenVolume, Body),
            need("buyToken", TokenVolume, Body),
            need("allOrNone", Text, Body),
            need("fillAmountBOrS", Text, Body),
            need("validUntil", Integer, Body),
            need("maxFeeBips", Integer, Body),
            need("eddsaSignature", Text, Body),
            may("clientOrderId", Text, Body),
            may("orderType", Text, Body),
            may("taker", Text, Body),
            may("poolAddress", Text, Body),
            may("channelId", Text, Body),
        ],
        codes: &[
            Reason::UnknownError,
            Reason::WrongExchange,
            Reason::UnsupportedToken,
            Reason::InvalidOrderAccount,
            Reason::InvalidOrderId,
            Reason::UnsupportedMarket,
            Reason::IllegalRate,
            Reason::OrderExists,
            Reason::OrderExpired,
            Reason::MissingSignature,
            Reason::InsufficientBalance,
            Reason::AmountTooSmall,
            Reason::FreezeFailed,
            Reason::AmountTooLarge,
            Reason::SubmitFailed,
            Reason::InvalidOrder,
            Reason::EmptyApiKey,
            Reason::InvalidApiKey,
            Reason::InvalidAccount,
            Reason::NoSignature,
            Reason::WrongSignature,
        ],
        in_interface: true,
    },
    Row {
        endpoint: Endpoint::GetOrder,
        method: Method::Get,
        path: "/api/v3/order",
        purpose: "get one order",
        key: KeyRule::Required,
        signature: SignatureHeader::None,
        parameters: &[
            need("accountId", Integer, Query),
            need("orderHash", Text, Query),
        ],
        codes: &[
            Reason::UnknownError,
            Reason::EmptyUser,
            Reason::EmptyOrderHash,
            Reason::OrderNotFound,
            Reason::EmptyApiKey,
            Reason::InvalidApiKey,
            Reason::InvalidAccount,
        ],
        in_interface: true,
    },
    Row {
        endpoint: Endpoint::CancelOrder,
        method: Method::Delete,
        path: "/api/v3/order",
        purpose: "cancel an order",
        key: KeyRule::Required,
        signature: SignatureHeader::Eddsa,
        parameters: &[
            need("accountId", Integer, Query),
            may("orderHash", Text, Query),
            may("clientOrderId", Text, Query),
        ],
        codes: &[
            Reason::UnknownError,
            Reason::EmptyApiKey,
            Reason::NothingToCancel,
            Reason::CancelFailed,
            Reason::InvalidApiKey,
            Reason::InvalidAccount,
        ],
        in_interface: true,
    },
    Row {
        endpoint: Endpoint::ListOrders,
        method: Method::Get,
        path: "/api/v3/orders",
        purpose: "list orders",
        key: KeyRule::Required,
        signature: SignatureHeader::None,
        parameters: &[
            need("accountId", Integer, Query),
            may("market", Text, Query),
            may("start", Integer, Query),
            may("end", Integer, Query),
            may("side", Text, Query),
            may("status", Text, Query),
            may("limit", Integer, Query),
            may("offset", Integer, Query),
            may("orderTypes", Text, Query),
        ],
        codes: OWN_LIST,
        in_interface: true,
    },
    Row {
        endpoint: Endpoint::Depth,
        method: Method::Get,
        path: "/api/v3/depth",
        purpose: "order book of a market",
        key: KeyRule::Relaxed,
        signature: SignatureHeader::None,
        parameters: &[
            need("market", Text, Query),
            need("level", Integer, Query),
            may("limit", Integer, Query),
        ],
        codes: &[
            Reason::UnknownError,
            Reason::UnsupportedDepthMarket,
            Reason::UnsupportedDepthLevel,
        ],
        in_interface: true,
    },
    Row {
        endpoint: Endpoint::Transfer,
        method: Method::Post,
        path: "/api/v3/transfer",
        purpose: "transfer between accounts",
        key: KeyRule::Required,
        signature: SignatureHeader::Ecdsa,
        parameters: &[
            need("exchange", Text, Body),
            need("payerId", Integer, Body),
            need("payerAddr", Text, Body),
            need("payeeId", Integer, Body),
            need("payeeAddr", Text, Body),
            need("token", TokenVolume, Body),
            need("maxFee", TokenVolume, Body),
            need("storageId", Integer, Body),
            need("validUntil", Integer, Body),
            may("eddsaSignature", Text, Body),
            may("ecdsaSignature", Text, Body),
            may("hashApproved", Text, Body),
            may("memo", Text, Body),
        ],
        codes: FUNDS,
        in_interface: true,
    },
    Row {
        endpoint: Endpoint::Withdraw,
        method: Method::Post,
        path: "/api/v3/user/withdrawals",
        purpose: "withdraw off chain",
        key: KeyRule::Required,
        signature: SignatureHeader::Ecdsa,
        parameters: &[
            need("exchange", Text, Body),
            need("accountId", Integer, Body),
            need("owner", Text, Body),
            need("token", TokenVolume, Body),
            need("maxFee", TokenVolume, Body),
            need("storageId", Integer, Body),
            need("validUntil", Integer, Body),
            need("minGas", Integer, Body),
            need("to", Text, Body),
            may("extraData", Text, Body),
            may("fastWithdrawalMode", Flag, Body),
            may("eddsaSignature", Text, Body),
            may("ecdsaSignature", Text, Body),
            may("hashApproved", Text, Body),
        ],
        codes: FUNDS,
        in_interface: true,
    },
    Row {
        endpoint: Endpoint::UpdateAccount,
        method: Method::Post,
        path: "/api/v3/account",
        purpose: "replace the account's signing key",
        key: KeyRule::Relaxed,
        signature: SignatureHeader::Ecdsa,
        parameters: &[
            need("exchange", Text, Body),
            need("owner", Text, Body),
            need("accountId", Integer, Body),
            need("publicKey", Text, Body),
            need("maxFee", TokenVolume, Body),
            need("validUntil", Integer, Body),
            need("nonce", Integer, Body),
            may("eddsaSignature", Text, Body),
            may("ecdsaSignature", Text, Body),
            may("hashApproved", Text, Body),
        ],
        codes: FUNDS,
        in_interface: true,
    },
    Row {
        endpoint: Endpoint::GetAccount,
        method: Method::Get,
        path: "/api/v3/account",
        purpose: "get account data",
        key: KeyRule::Relaxed,
        signature: SignatureHeader::None,
        parameters: &[need("owner", Text, Query)],
        codes: &[
            Reason::UnknownError,
            Reason::AddressNotFound,
            Reason::UserNotFound,
        ],
        in_interface: true,
    },
    Row {
        endpoint: Endpoint::ReplaceApiKey,
        method: Method::Post,
        path: "/api/v3/apiKey",
        purpose: "replace the API key",
        key: KeyRule::Required,
        signature: SignatureHeader::EddsaIfPresent,
        parameters: &[need("accountId", Integer, Body)],
        codes: &[
            Reason::UnknownError,
            Reason::UserNotFound,
            Reason::InvalidArgument,
            Reason::EmptyApiKey,
            Reason::InvalidApiKey,
            Reason::InvalidAccount,
            Reason::NoSignature,
            Reason::WrongSignature,
        ],
        in_interface: true,
    },
    Row {
        endpoint: Endpoint::Balances,
        method: Method::Get,
        path: "/api/v3/user/balances",
        purpose: "account balances",
        key: KeyRule::Required,
        signature: SignatureHeader::None,
        parameters: &[
            need("accountId", Integer, Query),
            may("tokens", Text, Query),
        ],
        codes: &[
            Reason::UnknownError,
            Reason::EmptyApiKey,
            Reason::InvalidApiKey,
            Reason::InvalidAccount,
        ],
        in_interface: true,
    },
    plain(
        Endpoint::ExchangeInfo,
        "/api/v3/exchange/info",
        "exchange configuration",
        &[],
    ),
    plain(
        Endpoint::Tokens,
        "/api/v3/exchange/tokens",
        "token configuration",
        &[],
    ),
    plain(
        Endpoint::Markets,
        "/api/v3/exchange/markets",
        "market configuration",
        &[],
    ),
    plain(
        Endpoint::Pools,
        "/api/v3/amm/pools",
        "pool configuration",
        &[],
    ),
    plain(
        Endpoint::PoolBalance,
        "/api/v3/amm/balance",
        "pool balance snapshot",
        &[need("poolAddress", Text, Query)],
    ),
    Row {
        endpoint: Endpoint::JoinPool,
        method: Method::Post,
        path: "/api/v3/amm/join",
        purpose: "join a pool",
        key: KeyRule::Required,
        signature: SignatureHeader::None,
        parameters: &[
            need("owner", Text, Body),
            need("poolAddress", Text, Body),
            need("joinTokens", JoinTokens, Body),
            need("storageIds", Text, Body),
            need("validUntil", Integer, Body),
            may("eddsaSignature", Text, Body),
            may("ecdsaSignature", Text, Body),
        ],
        codes: FUNDS,
        in_interface: true,
    },
    Row {
        endpoint: Endpoint::ExitPool,
        method: Method::Post,
        path: "/api/v3/amm/exit",
        purpose: "exit a pool",
        key: KeyRule::Required,
        signature: SignatureHeader::None,
        parameters: &[
            need("owner", Text, Body),
            need("poolAddress", Text, Body),
            need("exitTokens", ExitTokens, Body),
            need("storageId", Integer, Body),
            need("maxFee", Text, Body),
            need("validUntil", Integer, Body),
            may("eddsaSignature", Text, Body),
            may("ecdsaSignature", Text, Body),
        ],
        codes: FUNDS,
        in_interface: true,
    },
    Row {
        endpoint: Endpoint::PoolTransactions,
        method: Method::Get,
        path: "/api/v3/amm/user/transactions",
        purpose: "list joins and exits",
        key: KeyRule::Required,
        signature: SignatureHeader::None,
        parameters: &[
            may("accountId", Integer, Query),
            may("start", Integer, Query),
            may("end", Integer, Query),
            may("limit", Integer, Query),
            may("offset", Integer, Query),
            may("txTypes", Text, Query),
            may("txStatus", Text, Query),
            may("ammPoolAddress", Text, Query),
        ],
        codes: OWN_LIST,
        in_interface: true,
    },
    Row {
        endpoint: Endpoint::GetApiKey,
        method: Method::Get,
        path: "/api/v3/apiKey",
        purpose: "get the API key",
        key: KeyRule::None,
        signature: SignatureHeader::Eddsa,
        parameters: &[need("accountId", Integer, Query)],
        codes: &[
            Reason::UnknownError,
            Reason::UserNotFound,
            Reason::InvalidArgument,
            Reason::NoSignature,
            Reason::WrongSignature,
        ],
        in_interface: false,
    },
    Row {
        endpoint: Endpoint::StorageId,
        method: Method::Get,
        path: "/api/v3/storageId",
        purpose: "next storage ids of a token",
        key: KeyRule::Required,
        signature: SignatureHeader::None,
        parameters: &[
            need("accountId", Integer, Query),
            need("sellTokenId", Integer, Query),
            may("maxNext", Flag, Query),
        ],
        codes: &[
            Reason::UnknownError,
            Reason::InvalidArgument,
            Reason::UnsupportedToken,
            Reason::EmptyApiKey,
            Reason::InvalidApiKey,
            Reason::InvalidAccount,
        ],
        in_interface: false,
    },
    Row {
        endpoint: Endpoint::Timestamp,
        method: Method::Get,
        path: "/api/v3/timestamp",
        purpose: "the venue's clock",
        key: KeyRule::None,
        signature: SignatureHeader::None,
        parameters: &[],
        codes: PLAIN,
        in_interface: false,
    },
];

const fn plain(
    endpoint: Endpoint,
    path: &'static str,
    purpose: &'static str,
    parameters: &'static [Parameter],
) -> Row {
    Row {
        endpoint,
        method: Method::Get,
        path,
        purpose,
        key: KeyRule::Relaxed,
        signature: SignatureHeader::None,
        parameters,
        codes: PLAIN,
        in_interface: true,
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn rows_stand_in_the_order_of_the_enum_and_are_unique() {
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
    fn every_engine_endpoint_has_a_row() {
        for endpoint in request::Endpoint::ALL {
            assert!(Endpoint::from(endpoint).row().in_interface);
        }
    }
}
