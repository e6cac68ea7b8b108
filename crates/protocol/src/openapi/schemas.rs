//! The schemas of requests and answers.

use serde_json::{Map, Value, json};

use crate::endpoint::Endpoint;

/// A reference to a schema.
pub(super) fn named(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// The schema of a success.
pub(super) fn answer(endpoint: Endpoint) -> Value {
    match endpoint {
        Endpoint::SubmitOrder | Endpoint::CancelOrder => named("OrderSubmission"),
        Endpoint::GetOrder => named("OrderDetail"),
        Endpoint::ListOrders => named("OrdersPage"),
        Endpoint::Depth => named("Depth"),
        Endpoint::Transfer
        | Endpoint::Withdraw
        | Endpoint::UpdateAccount
        | Endpoint::JoinPool
        | Endpoint::ExitPool => named("Submission"),
        Endpoint::GetAccount => named("Account"),
        Endpoint::ReplaceApiKey | Endpoint::GetApiKey => named("ApiKey"),
        Endpoint::Balances => list(named("Balance")),
        Endpoint::ExchangeInfo => named("ExchangeInfo"),
        Endpoint::Tokens => list(named("Token")),
        Endpoint::Markets => object(&[("markets", list(named("Market")))]),
        Endpoint::Pools => object(&[("pools", list(named("Pool")))]),
        Endpoint::PoolBalance => named("PoolBalance"),
        Endpoint::PoolTransactions => named("PoolTransactions"),
        Endpoint::StorageId => {
            object(&[("orderId", named("Count")), ("offchainId", named("Count"))])
        }
        Endpoint::Timestamp => object(&[("timestamp", named("Count"))]),
        Endpoint::OffchainFee => object(&[
            ("gasPrice", named("Units")),
            ("fees", list(named("OffchainFee"))),
        ]),
    }
}

/// All schemas by name.
pub(super) fn all() -> Value {
    let mut out = Map::new();
    for (name, schema) in given().into_iter().chain(shown()).chain(configured()) {
        out.insert(name.to_owned(), schema);
    }
    // Optional fields may also be null or empty.
    for name in [
        "Address",
        "Hash",
        "EddsaSignature",
        "EcdsaSignature",
        "OrderType",
        "ClientOrderId",
        "Integer",
        "Boolean",
        "Text",
    ] {
        let none = json!({"anyOf": [named(name), {"enum": ["", null]}]});
        out.insert(format!("{name}OrNone"), none);
    }
    Value::Object(out)
}

fn list(items: Value) -> Value {
    let mut schema = json!({"type": "array"});
    schema["items"] = items;
    schema
}

/// An object with exactly these fields, all required.
fn object(fields: &[(&str, Value)]) -> Value {
    let names: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
    let properties: Map<_, _> = fields
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": false,
    })
}

fn words(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// Schemas of requests: everything that is accepted.
fn given() -> Vec<(&'static str, Value)> {
    let text = |pattern: &str| json!({"type": "string", "pattern": pattern});
    let digits = "^(0|[1-9][0-9]{0,77})$";
    let bare = |schema: Value| {
        json!({
            "type": "object",
            "properties": schema["properties"],
            "required": schema["required"],
        })
    };
    vec![
        ("Address", text("^0x[0-9a-fA-F]{40}$")),
        ("Hash", text("^0x[0-9a-fA-F]{1,64}$")),
        ("EddsaSignature", text("^0x[0-9a-fA-F]{192}$")),
        (
            "EcdsaSignature",
            text("^0x[0-9a-fA-F]{128}1[bBcC](02|03)?$"),
        ),
        (
            "OrderType",
            words(&["LIMIT_ORDER", "TAKER_ONLY", "MAKER_ONLY", "AMM"]),
        ),
        ("ClientOrderId", json!({"type": "string", "maxLength": 120})),
        ("Text", json!({"type": "string", "minLength": 1})),
        (
            "Integer",
            json!({"anyOf": [{"type": "integer", "minimum": 0}, text(digits)]}),
        ),
        (
            "Boolean",
            json!({"anyOf": [{"type": "boolean"}, words(&["true", "false"])]}),
        ),
        ("False", json!({"enum": [false, "false"]})),
        (
            "MaxFeeBips",
            json!({"anyOf": [
                {"type": "integer", "minimum": 1, "maximum": 63},
                text("^([1-9]|[1-5][0-9]|6[0-3])$"),
            ]}),
        ),
        (
            "TokenVolumeGiven",
            json!({
                "type": "object",
                "properties": {
                    "tokenId": named("Integer"),
                    "volume": named("Integer"),
                },
                "required": ["tokenId", "volume"],
            }),
        ),
        (
            "AmountOrVolume",
            json!({"anyOf": [named("Integer"), named("TokenVolumeGiven")]}),
        ),
        (
            "StorageIds",
            json!({"anyOf": [
                text("^[0-9]+(,[0-9]+)*$"),
                {"type": "integer", "minimum": 0},
                list(named("Integer")),
            ]}),
        ),
        (
            "SentPublicKey",
            json!({"anyOf": [
                bare(object(&[("x", named("Hash")), ("y", named("Hash"))])),
                named("Hash"),
            ]}),
        ),
        (
            "JoinTokens",
            bare(object(&[
                ("pooled", list(named("TokenVolumeGiven"))),
                ("minimumLp", named("AmountOrVolume")),
            ])),
        ),
        (
            "ExitTokens",
            bare(object(&[
                ("unPooled", list(named("TokenVolumeGiven"))),
                ("burned", named("AmountOrVolume")),
            ])),
        ),
    ]
}

/// Schemas of answers about orders, accounts and submissions.
#[expect(clippy::too_many_lines, reason = "a table of shapes")]
fn shown() -> Vec<(&'static str, Value)> {
    let text = || json!({"type": "string"});
    let flag = || json!({"type": "boolean"});
    let statuses = [
        "processing",
        "processed",
        "cancelling",
        "cancelled",
        "expired",
        "failed",
        "waiting",
    ];
    let four = json!({"type": "array", "items": text(), "minItems": 4, "maxItems": 4});
    vec![
        ("Count", json!({"type": "integer", "minimum": 0})),
        (
            "Units",
            json!({"type": "string", "pattern": "^(0|[1-9][0-9]*)$"}),
        ),
        (
            "Refusal",
            object(&[(
                "resultInfo",
                object(&[("code", named("Count")), ("message", text())]),
            )]),
        ),
        (
            "TokenVolume",
            object(&[("tokenId", named("Units")), ("volume", named("Units"))]),
        ),
        (
            "Submission",
            object(&[
                ("hash", named("Hash")),
                (
                    "status",
                    words(&["received", "processing", "processed", "failed"]),
                ),
                ("isIdempotent", flag()),
            ]),
        ),
        (
            "OrderSubmission",
            object(&[
                ("hash", named("Hash")),
                ("clientOrderId", text()),
                ("status", words(&statuses[..6])),
                ("isIdempotent", flag()),
            ]),
        ),
        (
            "OrderDetail",
            object(&[
                ("hash", named("Hash")),
                ("clientOrderId", text()),
                ("side", words(&["BUY", "SELL"])),
                ("market", text()),
                ("price", text()),
                (
                    "volumes",
                    object(&[
                        ("baseAmount", named("Units")),
                        ("quoteAmount", named("Units")),
                        ("baseFilled", named("Units")),
                        ("quoteFilled", named("Units")),
                        ("fee", named("Units")),
                    ]),
                ),
                (
                    "validity",
                    object(&[("start", named("Count")), ("end", named("Count"))]),
                ),
                (
                    "orderType",
                    words(&["LIMIT_ORDER", "TAKER_ONLY", "MAKER_ONLY"]),
                ),
                ("status", words(&statuses)),
            ]),
        ),
        (
            "OrdersPage",
            object(&[
                ("totalNum", named("Count")),
                ("orders", list(named("OrderDetail"))),
            ]),
        ),
        (
            "Depth",
            object(&[
                ("version", named("Count")),
                ("timestamp", named("Count")),
                ("bids", list(four.clone())),
                ("asks", list(four)),
                ("market", text()),
            ]),
        ),
        (
            "Account",
            object(&[
                ("accountId", named("Count")),
                ("owner", named("Address")),
                ("frozen", flag()),
                (
                    "publicKey",
                    object(&[("x", named("Hash")), ("y", named("Hash"))]),
                ),
                ("tags", text()),
                ("nonce", named("Count")),
                ("keyNonce", named("Count")),
                ("keySeed", text()),
            ]),
        ),
        (
            "Balance",
            object(&[
                ("accountId", named("Count")),
                ("tokenId", named("Count")),
                ("total", named("Units")),
                ("locked", named("Units")),
                (
                    "pending",
                    object(&[("withdraw", named("Units")), ("deposit", named("Units"))]),
                ),
            ]),
        ),
        ("ApiKey", object(&[("apiKey", text())])),
    ]
}

/// Schemas of answers about the exchange, its tokens, markets and pools.
#[expect(clippy::too_many_lines, reason = "a table of shapes")]
fn configured() -> Vec<(&'static str, Value)> {
    let text = || json!({"type": "string"});
    let count = || named("Count");
    let units = || named("Units");
    let fee = || object(&[("token", text()), ("fee", units())]);
    let moved = || {
        object(&[
            ("tokenId", count()),
            ("amount", units()),
            ("actualAmount", units()),
            ("feeAmount", units()),
        ])
    };
    vec![
        (
            "ExchangeInfo",
            object(&[
                ("chainId", count()),
                ("exchangeAddress", named("Address")),
                ("depositAddress", named("Address")),
                (
                    "onchainFees",
                    list(object(&[("type", text()), ("fee", units())])),
                ),
                ("updateFees", list(fee())),
                ("transferFees", list(fee())),
                ("withdrawalFees", list(fee())),
            ]),
        ),
        (
            "OffchainFee",
            object(&[("token", text()), ("fee", units()), ("discount", count())]),
        ),
        (
            "Token",
            object(&[
                ("type", words(&["ERC20", "ETH"])),
                ("tokenId", count()),
                ("symbol", text()),
                ("name", text()),
                ("address", named("Address")),
                ("decimals", count()),
                ("precision", count()),
                (
                    "orderAmounts",
                    object(&[
                        ("minimum", units()),
                        ("maximum", units()),
                        ("dust", units()),
                    ]),
                ),
                ("fastWithdrawLimit", units()),
                ("enabled", json!({"type": "boolean"})),
            ]),
        ),
        (
            "Market",
            object(&[
                ("market", text()),
                ("baseTokenId", count()),
                ("quoteTokenId", count()),
                ("precisionForPrice", count()),
                ("orderbookAggLevels", count()),
                ("enabled", json!({"type": "boolean"})),
            ]),
        ),
        (
            "Pool",
            object(&[
                ("name", text()),
                ("market", text()),
                ("address", named("Address")),
                ("version", text()),
                (
                    "tokens",
                    object(&[("pooled", list(count())), ("lp", count())]),
                ),
                ("feeBips", count()),
                (
                    "precisions",
                    object(&[("price", count()), ("amount", count())]),
                ),
                ("status", count()),
            ]),
        ),
        (
            "PoolBalance",
            object(&[
                ("pooled", list(named("TokenVolume"))),
                ("lp", named("TokenVolume")),
            ]),
        ),
        (
            "PoolTransactions",
            object(&[
                ("totalNum", count()),
                (
                    "transactions",
                    list(object(&[
                        ("hash", named("Hash")),
                        ("txType", words(&["join", "exit"])),
                        ("txStatus", words(&["processing", "cancelled", "processed"])),
                        ("ammPoolAddress", named("Address")),
                        ("ammLayerType", words(&["layer_1", "layer_2"])),
                        ("poolTokens", list(moved())),
                        ("lpToken", moved()),
                        ("createdAt", count()),
                        ("updatedAt", count()),
                    ])),
                ),
            ]),
        ),
    ]
}
