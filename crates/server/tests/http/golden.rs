//! Field names and JSON types of every answer, compared with the interface's text. Times and hashes come from the
//! test's own clock and keys.

use cambist_signing::Address;
use serde_json::{Value, json};

use crate::support::{Call, EXCHANGE, Exchange, ONE, UNIT, Want, message};

fn assert_types(value: &Value, names: &[(&str, &str)]) {
    let fields = value.as_object().unwrap();
    for (name, kind) in names {
        let field = fields.get(*name).unwrap_or(&Value::Null);
        let fits = match *kind {
            "string" => field.is_string(),
            "integer" => field.is_u64(),
            "boolean" => field.is_boolean(),
            "list" => field.is_array(),
            "object" => field.is_object(),
            other => panic!("{other}"),
        };
        assert!(fits, "{name} is {field}, not {kind}");
    }
}

#[test]
fn orders() {
    let exchange = Exchange::start();
    let mut alice = exchange.customer(1);
    let mut order = alice.order(Want::Buy, 199_950, 2);
    order["orderType"] = json!("MAKER_ONLY");
    alice.sign(&mut order);
    let hash = message(&order).hash().to_hex();

    let taken = exchange.ask(&alice.post_order(&order));
    let client_id = order["clientOrderId"].clone();
    assert_eq!(
        taken.good(),
        &json!({"hash": hash, "clientOrderId": client_id, "status": "processing", "isIdempotent": false})
    );
    let get = alice.get(&format!(
        "/api/v3/order?accountId={{account}}&orderHash={hash}"
    ));
    let detail = json!({
        "hash": hash,
        "clientOrderId": client_id,
        "side": "BUY",
        "market": "AAA-QQQ",
        "price": "1999.50",
        "volumes": {
            "baseAmount": (2 * ONE).to_string(),
            "quoteAmount": (3_999 * UNIT).to_string(),
            "baseFilled": "0",
            "quoteFilled": "0",
            "fee": "0",
        },
        "validity": {"start": 1_700_000_000u64, "end": 1_700_003_600u64},
        "orderType": "MAKER_ONLY",
        "status": "processing",
    });
    assert_eq!(exchange.ask(&get).good(), &detail);
    let list = exchange.ask(&alice.get("/api/v3/orders?accountId={account}"));
    assert_eq!(list.good(), &json!({"totalNum": 1, "orders": [detail]}));
    let cancelled = exchange.ask(&alice.cancel(&exchange, "orderHash", &hash));
    assert_eq!(
        cancelled.good(),
        &json!({"hash": hash, "clientOrderId": client_id, "status": "cancelled", "isIdempotent": false})
    );
}

#[test]
fn an_order_without_a_client_id_is_known_by_its_hash() {
    let exchange = Exchange::start();
    let mut alice = exchange.customer(1);
    let mut order = alice.order(Want::Buy, 100_000, 1);
    order.as_object_mut().unwrap().remove("clientOrderId");
    alice.sign(&mut order);
    let taken = exchange.ask(&alice.post_order(&order));
    assert_eq!(taken.good()["clientOrderId"], taken.good()["hash"]);
}

#[test]
fn depth() {
    let exchange = Exchange::start();
    let mut alice = exchange.customer(1);
    for (cents, base) in [(100_000, 1), (100_000, 2), (99_990, 3)] {
        exchange.ask(&alice.submit(Want::Buy, cents, base)).good();
    }
    let depth = exchange.ask(&Call::get("/api/v3/depth?market=AAA-QQQ&level=0&limit=1"));
    let body = depth.good();
    assert_types(
        body,
        &[
            ("version", "integer"),
            ("timestamp", "integer"),
            ("asks", "list"),
        ],
    );
    assert_eq!(
        body["bids"],
        json!([[
            "1000.00",
            (3 * ONE).to_string(),
            (3_000 * UNIT).to_string(),
            "2"
        ]])
    );
    assert_eq!(body["timestamp"], 1_700_000_000_000u64);
    assert_eq!(body["market"], "AAA-QQQ");
    let version = body["version"].as_u64().unwrap();
    exchange.ask(&alice.submit(Want::Buy, 1, 1_000)).good();
    let later = exchange.ask(&Call::get("/api/v3/depth?market=AAA-QQQ&level=3"));
    assert!(later.good()["version"].as_u64().unwrap() > version);
    assert_eq!(later.body["bids"][1][0], "990.00", "coarser by 1000 ticks");
}

#[test]
fn accounts_and_balances() {
    let exchange = Exchange::start();
    let alice = exchange.customer(1);
    let key = alice.secret.public();
    let expected = json!({
        "accountId": alice.account.0,
        "owner": alice.owner.to_string(),
        "frozen": false,
        "publicKey": {"x": key.x.to_hex(), "y": key.y.to_hex()},
        "tags": "",
        "nonce": 1,
        "keyNonce": 0,
        "keySeed": "",
    });
    for query in [
        format!("owner={}", alice.owner),
        format!("owner={}", alice.owner.to_hex()),
        format!("accountId={}", alice.account.0),
    ] {
        let reply = exchange.ask(&Call::get(format!("/api/v3/account?{query}")));
        assert_eq!(reply.good(), &expected);
    }
    let entry = |token: u16, total: String| {
        json!({
            "accountId": alice.account.0,
            "tokenId": token,
            "total": total,
            "locked": "0",
            "pending": {"withdraw": "0", "deposit": "0"},
        })
    };
    let all = exchange.ask(&alice.get("/api/v3/user/balances?accountId={account}"));
    let (base, quote) = ((1_000 * ONE).to_string(), (1_000_000 * UNIT).to_string());
    assert_eq!(
        all.good(),
        &json!([entry(0, base), entry(1, quote.clone())])
    );
    let one = exchange.ask(&alice.get("/api/v3/user/balances?accountId={account}&tokens=1"));
    assert_eq!(one.good(), &json!([entry(1, quote)]));
}

#[test]
fn configuration() {
    let exchange = Exchange::start();
    let info = exchange.ask(&Call::get("/api/v3/exchange/info"));
    let free = ["AAA", "QQQ"].map(|token| json!({"token": token, "fee": "0"}));
    assert_eq!(
        info.good(),
        &json!({
            "chainId": 1,
            "exchangeAddress": EXCHANGE.to_string(),
            "depositAddress": Address([8; 20]).to_string(),
            "onchainFees": [
                {"type": "deposit", "fee": "0"},
                {"type": "withdraw", "fee": "0"},
            ],
            "updateFees": free,
            "transferFees": free,
            "withdrawalFees": free,
        })
    );
    let tokens = exchange.ask(&Call::get("/api/v3/exchange/tokens"));
    assert_eq!(
        tokens.good()[0],
        json!({
            "type": "ERC20",
            "tokenId": 0,
            "symbol": "AAA",
            "name": "Token AAA",
            "address": Address::ZERO.to_string(),
            "decimals": 18,
            "precision": 6,
            "orderAmounts": {
                "minimum": (ONE / 1_000).to_string(),
                "maximum": (1_000 * ONE).to_string(),
                "dust": (ONE / 10_000).to_string(),
            },
            "fastWithdrawLimit": (5 * ONE / 1_000).to_string(),
            "enabled": true,
        })
    );
    assert_eq!(tokens.body.as_array().unwrap().len(), 2);
    let markets = exchange.ask(&Call::get("/api/v3/exchange/markets"));
    assert_eq!(
        markets.good(),
        &json!({"markets": [{
            "market": "AAA-QQQ",
            "baseTokenId": 0,
            "quoteTokenId": 1,
            "precisionForPrice": 2,
            "orderbookAggLevels": 3,
            "enabled": true,
        }]})
    );
}
