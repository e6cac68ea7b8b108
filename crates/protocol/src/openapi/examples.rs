//! One request and one answer for every endpoint. The signatures have the right form and are not valid.

use serde_json::{Value, json};

use crate::code;
use crate::endpoint::Endpoint;

const EXCHANGE: &str = "0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e001";
const OWNER: &str = "0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e010";
const OTHER: &str = "0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e011";
const POOL: &str = "0x00000000000000000000000000000000000000bb";
const HASH: &str = "0x1c4d0c1f9d3cbb6f5a4be62b3a4a43b0a1aa2a7dbb2bd0d12f4a3f3a0ca6b2a1";
const UNTIL: u64 = 1_900_000_000;

/// The body of a request (`null` if it has none) and the answer.
pub(super) fn of(endpoint: Endpoint) -> (Value, Value) {
    match endpoint {
        Endpoint::SubmitOrder => (submit(), ack("processing")),
        Endpoint::GetOrder => (Value::Null, order()),
        Endpoint::CancelOrder => (Value::Null, ack("cancelled")),
        Endpoint::ListOrders => (Value::Null, json!({"totalNum": 1, "orders": [order()]})),
        Endpoint::Depth => (
            Value::Null,
            json!({
                "version": 7,
                "timestamp": 1_800_000_000_000_u64,
                "bids": [["2499.50", "1000000000000000000", "2499500000", "2"]],
                "asks": [],
                "market": "ETH-USDC",
            }),
        ),
        Endpoint::Transfer
        | Endpoint::Withdraw
        | Endpoint::UpdateAccount
        | Endpoint::JoinPool
        | Endpoint::ExitPool => (
            moving(endpoint),
            json!({"hash": HASH, "status": "received", "isIdempotent": false}),
        ),
        Endpoint::GetAccount => (
            Value::Null,
            json!({
                "accountId": 10_000,
                "owner": OWNER,
                "frozen": false,
                "publicKey": {"x": HASH, "y": HASH},
                "tags": "",
                "nonce": 1,
                "keyNonce": 0,
                "keySeed": "",
            }),
        ),
        Endpoint::ReplaceApiKey => (json!({"accountId": 10_000}), json!({"apiKey": "new"})),
        Endpoint::GetApiKey => (Value::Null, json!({"apiKey": "key"})),
        Endpoint::Balances => (
            Value::Null,
            json!([{
                "accountId": 10_000,
                "tokenId": 1,
                "total": "50000000000",
                "locked": "2500000000",
                "pending": {"withdraw": "0", "deposit": "0"},
            }]),
        ),
        Endpoint::ExchangeInfo
        | Endpoint::Tokens
        | Endpoint::Markets
        | Endpoint::Pools
        | Endpoint::PoolBalance
        | Endpoint::PoolTransactions
        | Endpoint::OffchainFee => (Value::Null, configuration(endpoint)),
        Endpoint::StorageId => (Value::Null, json!({"orderId": 0, "offchainId": 1})),
        Endpoint::Timestamp => (Value::Null, json!({"timestamp": 1_800_000_000_000_u64})),
    }
}

/// A refusal with a code.
pub(super) fn refusal(number: Option<u32>) -> Value {
    let number = number.unwrap_or(100_000);
    let message = code::message(code::reason(number));
    json!({"resultInfo": {"code": number, "message": message}})
}

fn ack(status: &str) -> Value {
    json!({"hash": HASH, "clientOrderId": "mine-1", "status": status, "isIdempotent": false})
}

fn volume(token: u16, amount: &str) -> Value {
    json!({"tokenId": token.to_string(), "volume": amount})
}

fn eddsa() -> String {
    format!("0x{}", "1".repeat(192))
}

fn submit() -> Value {
    json!({
        "exchange": EXCHANGE,
        "accountId": 10_000,
        "storageId": 0,
        "sellToken": volume(1, "2500000000"),
        "buyToken": volume(0, "1000000000000000000"),
        "allOrNone": "false",
        "fillAmountBOrS": "true",
        "validUntil": UNTIL,
        "maxFeeBips": 20,
        "eddsaSignature": eddsa(),
        "clientOrderId": "mine-1",
        "orderType": "LIMIT_ORDER",
    })
}

fn order() -> Value {
    json!({
        "hash": HASH,
        "clientOrderId": "mine-1",
        "side": "BUY",
        "market": "ETH-USDC",
        "price": "2500.00",
        "volumes": {
            "baseAmount": "1000000000000000000",
            "quoteAmount": "2500000000",
            "baseFilled": "0",
            "quoteFilled": "0",
            "fee": "0",
        },
        "validity": {"start": 1_800_000_000, "end": UNTIL},
        "orderType": "LIMIT_ORDER",
        "status": "processing",
    })
}

fn moving(endpoint: Endpoint) -> Value {
    let mut body = match endpoint {
        Endpoint::Transfer => json!({
            "exchange": EXCHANGE,
            "payerId": 10_000,
            "payerAddr": OWNER,
            "payeeId": 0,
            "payeeAddr": OTHER,
            "token": volume(1, "1000000"),
            "maxFee": volume(1, "0"),
            "storageId": 1,
            "memo": "thanks",
        }),
        Endpoint::Withdraw => json!({
            "exchange": EXCHANGE,
            "accountId": 10_000,
            "owner": OWNER,
            "token": volume(1, "1000000"),
            "maxFee": volume(1, "0"),
            "storageId": 3,
            "minGas": 0,
            "to": OWNER,
            "fastWithdrawalMode": false,
        }),
        Endpoint::UpdateAccount => json!({
            "exchange": EXCHANGE,
            "owner": OWNER,
            "accountId": 10_000,
            "publicKey": {"x": HASH, "y": HASH},
            "maxFee": volume(1, "0"),
            "nonce": 1,
        }),
        Endpoint::JoinPool => json!({
            "owner": OWNER,
            "poolAddress": POOL,
            "joinTokens": {
                "pooled": [volume(0, "1000000000000000000"), volume(1, "2500000000")],
                "minimumLp": "1",
            },
            "storageIds": "1,5",
        }),
        _ => json!({
            "owner": OWNER,
            "poolAddress": POOL,
            "exitTokens": {
                "unPooled": [volume(0, "0"), volume(1, "0")],
                "burned": "10000",
            },
            "storageId": 1,
            "maxFee": "0",
        }),
    };
    body["validUntil"] = json!(UNTIL);
    body["eddsaSignature"] = json!(eddsa());
    body
}

fn configuration(endpoint: Endpoint) -> Value {
    let moved = |token: u16, amount: &str| {
        json!({
            "tokenId": token,
            "amount": amount,
            "actualAmount": amount,
            "feeAmount": "0",
        })
    };
    match endpoint {
        Endpoint::ExchangeInfo => json!({
            "chainId": 1,
            "exchangeAddress": EXCHANGE,
            "depositAddress": OTHER,
            "onchainFees": [{"type": "withdraw", "fee": "5000000000000000"}],
            "updateFees": [{"token": "USDC", "fee": "100000"}],
            "transferFees": [{"token": "USDC", "fee": "100000"}],
            "withdrawalFees": [],
        }),
        Endpoint::Tokens => json!([{
            "type": "ERC20",
            "tokenId": 1,
            "symbol": "USDC",
            "name": "USDC",
            "address": OTHER,
            "decimals": 6,
            "precision": 6,
            "orderAmounts": {"minimum": "1000000", "maximum": "5000000000000", "dust": "100000"},
            "fastWithdrawLimit": "5000000000000",
            "enabled": true,
        }]),
        Endpoint::Markets => json!({"markets": [{
            "market": "ETH-USDC",
            "baseTokenId": 0,
            "quoteTokenId": 1,
            "precisionForPrice": 2,
            "orderbookAggLevels": 3,
            "enabled": true,
        }]}),
        Endpoint::Pools => json!({"pools": [{
            "name": "AMM-ETH-USDC",
            "market": "AMM-ETH-USDC",
            "address": POOL,
            "version": "1.0.0",
            "tokens": {"pooled": [0, 1], "lp": 9},
            "feeBips": 20,
            "precisions": {"price": 6, "amount": 6},
            "status": 15,
        }]}),
        Endpoint::PoolBalance => json!({
            "pooled": [volume(0, "1000000000000000000"), volume(1, "2500000000")],
            "lp": volume(9, "10000000000"),
        }),
        Endpoint::PoolTransactions => json!({"totalNum": 1, "transactions": [{
            "hash": HASH,
            "txType": "join",
            "txStatus": "processed",
            "ammPoolAddress": POOL,
            "ammLayerType": "layer_2",
            "poolTokens": [moved(0, "1000000000000000000"), moved(1, "2500000000")],
            "lpToken": moved(9, "10000000000"),
            "createdAt": 1_800_000_000_000_u64,
            "updatedAt": 1_800_000_000_500_u64,
        }]}),
        _ => json!({
            "gasPrice": "0",
            "fees": [{"token": "USDC", "fee": "100000", "discount": 1}],
        }),
    }
}
