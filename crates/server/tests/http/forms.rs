//! Both forms of requests, the interface's text and the public SDK's, and what is ignored.

use serde_json::{Value, json};

use crate::support::{Call, Exchange, Want};

/// The SDK's form of the same order: numbers, booleans, an empty address, additional fields.
fn as_the_sdk_writes(order: &Value) -> Value {
    let mut order = order.clone();
    for side in ["sellToken", "buyToken"] {
        let id: u64 = order[side]["tokenId"].as_str().unwrap().parse().unwrap();
        order[side]["tokenId"] = json!(id);
    }
    order["allOrNone"] = json!(false);
    order["fillAmountBOrS"] = json!(order["fillAmountBOrS"] == "true");
    order["taker"] = json!("0x0000000000000000000000000000000000000000");
    order["tradeChannel"] = json!("MIXED");
    order["affiliate"] = Value::Null;
    order["hash"] = json!("0x0");
    order["X-API-SIG"] = json!("0x0");
    order
}

#[test]
fn an_order_in_the_text_s_types_and_in_the_sdk_s_is_the_same() {
    let exchange = Exchange::start();
    let mut alice = exchange.customer(1);
    let mut plain = alice.order(Want::Sell, 300_000, 1);
    alice.sign(&mut plain);
    let first = exchange.ask(&alice.post_order(&plain));
    first.good();
    // The same order in another form is a duplicate: the hash does not depend on the form.
    let again = exchange.ask(&alice.post_order(&as_the_sdk_writes(&plain)));
    assert_eq!(again.code(), 102_007);

    let mut other = as_the_sdk_writes(&alice.order(Want::Buy, 200_000, 1));
    alice.sign(&mut other);
    exchange.ask(&alice.post_order(&other)).good();
    // Numbers as strings, an upper-case signature, empty optional fields.
    let mut third = alice.order(Want::Buy, 200_000, 1);
    for name in ["accountId", "storageId", "validUntil", "maxFeeBips"] {
        third[name] = json!(third[name].to_string());
    }
    for name in [
        "clientOrderId",
        "orderType",
        "taker",
        "poolAddress",
        "channelId",
    ] {
        third[name] = json!("");
    }
    alice.sign(&mut third);
    let upper = third["eddsaSignature"].as_str().unwrap()[2..].to_uppercase();
    third["eddsaSignature"] = json!(format!("0x{upper}"));
    exchange.ask(&alice.post_order(&third)).good();
}

#[test]
fn repeated_empty_and_unknown_parameters() {
    let exchange = Exchange::start();
    let mut alice = exchange.customer(1);
    exchange.ask(&alice.submit(Want::Sell, 300_000, 1)).good();
    let id = alice.account.0;
    let total = |query: &str| {
        let reply = exchange.ask(&alice.get(&format!("/api/v3/orders?{query}")));
        reply.good()["totalNum"].as_u64().unwrap()
    };
    assert_eq!(
        total(&format!(
            "accountId={id}&accountId={id}&side=SELL&side=SELL"
        )),
        1
    );
    assert_eq!(
        total(&format!("accountId={id}&status=&market=&limit=&foo=bar")),
        1
    );
    assert_eq!(total(&format!("accountId={id}&side=BUY%2CSELL")), 1);
    assert_eq!(total(&format!("accountId={id}&side=BUY")), 0);
    assert_eq!(total(&format!("accountId={id}&orderTypes=AMM")), 0);
    assert_eq!(
        total(&format!("accountId={id}&orderTypes=AMM,LIMIT_ORDER")),
        1
    );
    assert_eq!(total(&format!("accountId={id}&market=NO-SUCH")), 0);
    let unequal = alice.get("/api/v3/orders?accountId={account}&limit=1&limit=2");
    let reply = exchange.ask(&unequal);
    assert_eq!(reply.code(), 100_001);
    assert!(reply.message().contains("limit"), "{}", reply.text);
}

#[test]
fn a_body_on_get_is_ignored() {
    let exchange = Exchange::start();
    let mut connection = exchange.connect();
    for _ in 0..2 {
        let call = Call::get("/api/v3/exchange/markets").body("{\"not\": json");
        connection.ask(&call).good();
    }
}

#[test]
fn the_key_may_be_left_out_where_public_clients_leave_it_out() {
    let exchange = Exchange::start();
    let strict = Exchange::run(
        &crate::support::config(),
        crate::support::venue(cambist_venue::Compat::Strict),
        Vec::new(),
    );
    let customer = strict.customer(1);
    for target in [
        "/api/v3/depth?market=AAA-QQQ&level=0",
        "/api/v3/account?accountId=0",
        "/api/v3/exchange/info",
        "/api/v3/exchange/tokens",
        "/api/v3/exchange/markets",
        "/api/v3/amm/pools",
    ] {
        exchange.ask(&Call::get(target)).good();
        let unknown = Call::get(target).header("X-API-KEY", "unknown");
        assert_eq!(exchange.ask(&unknown).code(), 104_002, "{target}");
        assert_eq!(strict.ask(&Call::get(target)).code(), 104_001, "{target}");
        strict.ask(&customer.get(target)).good();
    }
    exchange.ask(&Call::get("/api/v3/timestamp")).good();
    strict.ask(&Call::get("/api/v3/timestamp")).good();
}
