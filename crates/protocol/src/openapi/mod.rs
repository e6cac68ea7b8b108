//! The interface as an OpenAPI 3.1 document, generated from the endpoint table.
//!
//! The rows give paths, parameters and codes, `schemas` the types, `examples` one request and one answer each. Schemas
//! of requests accept everything that the venue accepts; those of answers are exact. The effects of requests are in
//! docs/venue-rules.md.

mod examples;
mod market_data;
mod schemas;

use cambist_core::Reason;
use serde_json::{Map, Value, json};

use crate::code;

use crate::Endpoint;
use crate::endpoint::{KeyRule, Kind, Parameter, Place, Row, SignatureHeader, TABLE};

/// The document. `server` is the venue's URL for clients, if known; `market_data` states whether it serves what is beside
/// the interface.
pub fn document(server: Option<&str>, market_data: bool) -> Value {
    let mut paths = Map::new();
    for row in &TABLE {
        let path = paths.entry(row.path).or_insert_with(|| json!({}));
        path[row.method.name().to_ascii_lowercase()] = operation(row);
    }
    paths.insert("/health".to_owned(), health());
    if market_data {
        paths.extend(market_data::paths());
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Off-chain exchange trading service",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Every refusal is HTTP 400 with resultInfo; too many requests are 429 with Retry-After, failures of the exchange 500. Operations marked x-outside-interface are extras.",
        },
        "servers": [{"url": server.unwrap_or("/")}],
        "paths": paths,
        "components": {
            "schemas": schemas::all(),
            "securitySchemes": {
                "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-KEY"},
            },
        },
    })
}

/// The document as text.
pub fn bytes(server: Option<&str>, market_data: bool) -> Vec<u8> {
    // Maps with string keys always serialise.
    serde_json::to_vec_pretty(&document(server, market_data)).unwrap_or_default()
}

fn operation(row: &Row) -> Value {
    let codes: Vec<_> = row.codes.iter().copied().map(code::number).collect();
    let (messages, others) = (messages(row.codes), messages(others(row.endpoint)));
    let mut parameters: Vec<Value> = row
        .parameters
        .iter()
        .filter(|parameter| parameter.place == Place::Query)
        .map(|parameter| {
            json!({
                "name": parameter.name,
                "in": "query",
                "required": parameter.required,
                "schema": schema_of(parameter),
            })
        })
        .collect();
    if let Some(header) = signature(row.signature) {
        parameters.push(header);
    }
    let (request, answer) = examples::of(row.endpoint);
    let mut operation = json!({
        "operationId": format!("{:?}", row.endpoint),
        "summary": row.purpose,
        "parameters": parameters,
        "security": match row.key {
            KeyRule::Required => json!([{"apiKey": []}]),
            KeyRule::Relaxed => json!([{"apiKey": []}, {}]),
            KeyRule::None => json!([]),
        },
        "x-status-codes": messages,
        "x-other-status-codes": others,
        "x-outside-interface": !row.in_interface,
        "responses": {
            "200": {
                "description": "done, or taken",
                "content": content(&schemas::answer(row.endpoint), &answer),
            },
            "400": {
                "description": format!("refused, with one of the codes {codes:?}, one about keys and signatures (104001 to 104005), 100001 for what cannot be read, or, unless the exchange is strict, one of x-other-status-codes"),
                "content": content(&schemas::named("Refusal"), &examples::refusal(codes.last().copied())),
            },
            "429": {
                "description": "too many requests",
                "headers": {"Retry-After": {"schema": {"type": "integer"}}},
                "content": content(&schemas::named("Refusal"), &examples::refusal(Some(code::RATE_LIMITED))),
            },
            "500": {
                "description": "the exchange failed; the request may have been executed or not",
                "content": content(&schemas::named("Refusal"), &examples::refusal(Some(100_000))),
            },
        },
    });
    if row
        .parameters
        .iter()
        .any(|parameter| parameter.place == Place::Body)
    {
        operation["requestBody"] = json!({
            "required": true,
            "content": content(&body(row), &request),
        });
    }
    operation
}

fn messages(reasons: &[Reason]) -> Map<String, Value> {
    let message = |reason: &Reason| {
        (
            code::number(*reason).to_string(),
            json!(code::message(*reason)),
        )
    };
    reasons.iter().map(message).collect()
}

/// Codes for problems that the interface has no code for.
fn others(endpoint: Endpoint) -> &'static [Reason] {
    match endpoint {
        Endpoint::Transfer
        | Endpoint::Withdraw
        | Endpoint::UpdateAccount
        | Endpoint::JoinPool
        | Endpoint::ExitPool => &[
            Reason::UnsupportedToken,
            Reason::OrderExpired,
            Reason::InsufficientBalance,
            Reason::AmountTooSmall,
            Reason::AmountTooLarge,
        ],
        Endpoint::SubmitOrder
        | Endpoint::GetOrder
        | Endpoint::CancelOrder
        | Endpoint::ListOrders
        | Endpoint::Depth
        | Endpoint::GetAccount
        | Endpoint::ReplaceApiKey
        | Endpoint::Balances
        | Endpoint::ExchangeInfo
        | Endpoint::Tokens
        | Endpoint::Markets
        | Endpoint::Pools
        | Endpoint::PoolBalance
        | Endpoint::PoolTransactions
        | Endpoint::GetApiKey
        | Endpoint::StorageId
        | Endpoint::Timestamp
        | Endpoint::OffchainFee => &[],
    }
}

/// Health check; it needs no API key.
fn health() -> Value {
    let refusal = |status, code| json!({"description": status, "content": content(&schemas::named("Refusal"), &examples::refusal(Some(code)))});
    let schema = json!({"type": "object", "properties": {"status": {"const": "ok"}}, "required": ["status"]});
    json!({"get": {
        "operationId": "Health",
        "summary": "whether the exchange works",
        "security": [],
        "x-outside-interface": true,
        "responses": {
            "200": {"description": "it does", "content": content(&schema, &json!({"status": "ok"}))},
            "429": refusal("too many requests", code::RATE_LIMITED),
            "500": refusal("the exchange failed", 100_000),
        },
    }})
}

fn content(schema: &Value, example: &Value) -> Value {
    json!({"application/json": {"schema": schema, "example": example}})
}

/// The schema of a request's body. Unknown fields are ignored, so they are allowed.
fn body(row: &Row) -> Value {
    let mut properties = Map::new();
    for parameter in row.parameters {
        properties.insert(parameter.name.to_owned(), schema_of(parameter));
    }
    let required: Vec<_> = row
        .parameters
        .iter()
        .filter(|parameter| parameter.required)
        .map(|parameter| parameter.name)
        .collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// The schema of a parameter, determined by its name.
fn schema_of(parameter: &Parameter) -> Value {
    let name = match (parameter.name, parameter.kind) {
        ("exchange" | "owner" | "payerAddr" | "payeeAddr" | "to", _) => "Address",
        ("poolAddress" | "ammPoolAddress" | "taker", _) => "AddressOrNone",
        ("orderHash" | "hashApproved", _) => "HashOrNone",
        ("eddsaSignature", _) if parameter.required => "EddsaSignature",
        ("eddsaSignature", _) => "EddsaSignatureOrNone",
        ("ecdsaSignature", _) => "EcdsaSignatureOrNone",
        ("allOrNone", _) => "False",
        ("fillAmountBOrS", _) => "Boolean",
        ("maxFeeBips", _) => "MaxFeeBips",
        ("orderType", _) => "OrderTypeOrNone",
        ("clientOrderId", _) => "ClientOrderIdOrNone",
        ("storageIds", _) => "StorageIds",
        ("publicKey", _) => "SentPublicKey",
        ("maxFee", Kind::Text) => "AmountOrVolume",
        (_, Kind::Integer) if parameter.required => "Integer",
        (_, Kind::Integer) => "IntegerOrNone",
        (_, Kind::Flag) => "BooleanOrNone",
        (_, Kind::Text) if parameter.required => "Text",
        (_, Kind::Text) => "TextOrNone",
        (_, Kind::TokenVolume) => "TokenVolumeGiven",
        (_, Kind::JoinTokens) => "JoinTokens",
        (_, Kind::ExitTokens) => "ExitTokens",
    };
    schemas::named(name)
}

fn signature(header: SignatureHeader) -> Option<Value> {
    let (required, schema, description) = match header {
        SignatureHeader::None => return None,
        SignatureHeader::Eddsa => (true, "EddsaSignature", "EdDSA signature of the request"),
        SignatureHeader::EddsaIfPresent => (
            false,
            "EddsaSignatureOrNone",
            "EdDSA signature of the request; verified where it is given",
        ),
        SignatureHeader::Ecdsa => (
            false,
            "EcdsaSignatureOrNone",
            "the owner's signature of the request; may be absent if the body carries another authorisation, unless the exchange is strict",
        ),
    };
    Some(json!({
        "name": "X-API-SIG",
        "in": "header",
        "required": required,
        "description": description,
        "schema": schemas::named(schema),
    }))
}
