//! The order of checks, code by code: key, account, fields, signature, business.

use cambist_signing::Address;
use cambist_venue::Operator;
use serde_json::{Value, json};

use crate::support::trader::{LP, Trader, list_pool};
use crate::support::{Call, Exchange, ONE, START_S, UNIT, Want};

#[test]
fn a_submit_fails_at_the_first_check_that_fails() {
    let exchange = Exchange::start();
    let (mut alice, bob) = (exchange.customer(1), exchange.customer(2));
    // Everything is wrong; then one field after another is corrected.
    let mut order = alice.order(Want::Buy, 200_000, 1);
    let good = order.clone();
    order["accountId"] = json!(77);
    order["sellToken"]["tokenId"] = json!("9");
    order["eddsaSignature"] = json!("0x12");
    order["validUntil"] = json!(START_S - 1);
    let call = Call::new("POST", "/api/v3/order");

    let body = order.to_string();
    let no_key = call.clone().body(body.clone());
    assert_eq!(exchange.ask(&no_key).code(), 104_001);
    assert_eq!(
        exchange.ask(&no_key.clone().header("X-API-KEY", "")).code(),
        104_001
    );
    let wrong = call.clone().body(body).header("X-API-KEY", "unknown");
    assert_eq!(exchange.ask(&wrong).code(), 104_002);

    let code = |order: &Value| exchange.ask(&alice.post_order(order)).code();
    assert_eq!(code(&order), 102_003, "no such account");
    order["accountId"] = json!(bob.account.0);
    assert_eq!(code(&order), 104_003, "another account");
    order["accountId"] = good["accountId"].clone();
    assert_eq!(code(&order), 102_002, "fields");
    order["sellToken"] = good["sellToken"].clone();
    assert_eq!(code(&order), 104_005, "malformed signature");
    order["eddsaSignature"] = json!("");
    assert_eq!(code(&order), 102_010, "missing signature");
    let mut other = good.clone();
    alice.sign(&mut other);
    order["eddsaSignature"] = other["eddsaSignature"].clone();
    assert_eq!(code(&order), 104_005, "signature of another order");
    alice.sign(&mut order);
    assert_eq!(code(&order), 102_008, "business");
    exchange.ask(&alice.post_order(&other)).good();
}

#[test]
fn fields_of_an_order_have_codes_and_names() {
    let exchange = Exchange::start();
    let mut alice = exchange.customer(1);
    let good = alice.order(Want::Buy, 200_000, 1);
    let check = |name: &str, value: Value, code: u64| {
        let mut order = good.clone();
        order[name] = value;
        order["eddsaSignature"] = json!("");
        let reply = exchange.ask(&alice.post_order(&order));
        assert_eq!(reply.code(), code, "{name}: {}", reply.text);
        if code == 100_001 {
            assert!(reply.message().contains(name), "{name}: {}", reply.text);
        }
    };
    check(
        "exchange",
        json!("0x0000000000000000000000000000000000000001"),
        102_001,
    );
    check("exchange", json!("0x1"), 100_001);
    check("exchange", Value::Null, 100_001);
    check("accountId", json!("+1"), 100_001);
    check("accountId", json!(1.5), 100_001);
    check("storageId", json!(1u64 << 32), 102_004);
    check("storageId", json!(-2), 100_001);
    check(
        "sellToken",
        json!({"tokenId": "70000", "volume": "1"}),
        102_002,
    );
    check("sellToken", json!({"tokenId": "1", "volume": "0"}), 102_012);
    check(
        "sellToken",
        json!({"tokenId": "1", "volume": (1u128 << 96).to_string()}),
        102_020,
    );
    check(
        "sellToken",
        json!({"tokenId": "1", "volume": "1e3"}),
        100_001,
    );
    check("sellToken", json!([1, 2]), 100_001);
    check("sellToken", good["buyToken"].clone(), 102_005);
    check("allOrNone", json!("true"), 102_120);
    check("allOrNone", json!("maybe"), 100_001);
    check("fillAmountBOrS", json!(1), 100_001);
    check("validUntil", json!(START_S * 1_000), 102_120);
    check("maxFeeBips", json!(0), 102_006);
    check("maxFeeBips", json!(64), 102_006);
    check("clientOrderId", json!("x".repeat(121)), 102_120);
    check("orderType", json!("AMM"), 102_120);
    check("orderType", json!("STOP"), 100_001);
    check(
        "taker",
        json!("0x0000000000000000000000000000000000000001"),
        102_120,
    );
    // Only the signature was wrong.
    check("channelId", json!("here"), 102_010);
}

/// Every amount of every signed request: absent, null and empty are the same refusal, before the signature is checked.
/// A stated 0 is an amount, and for most of them a valid one.
#[test]
fn an_amount_that_is_not_stated_is_missing_and_not_zero() {
    let exchange = Exchange::start();
    list_pool(&exchange);
    let mut alice = Trader::new(&exchange, 1);
    let order = alice.customer.order(Want::Buy, 200_000, 1);
    let mut join = alice.join(ONE, 2_000 * UNIT);
    join["fee"] = json!({"tokenId": 1, "volume": "0"});
    join["joinTokens"]["minimumLp"] = json!({"tokenId": LP.0, "volume": "1"});
    let mut exit = alice.exit(1_000_000);
    exit["maxFee"] = json!({"tokenId": 1, "volume": "0"});
    exit["exitTokens"]["burned"] = json!({"tokenId": LP.0, "volume": "1000"});
    let transfer = alice.transfer(Address([0xcc; 20]));
    let key = alice.customer.secret.public();
    let requests: [(&str, Value, &[&str]); 6] = [
        ("order", order, &["/sellToken", "/buyToken"]),
        ("transfer", transfer, &["/token", "/maxFee"]),
        (
            "user/withdrawals",
            alice.withdrawal(),
            &["/token", "/maxFee"],
        ),
        ("account", alice.update(&key, 1), &["/maxFee"]),
        (
            "amm/join",
            join,
            &["/joinTokens/pooled/1", "/joinTokens/minimumLp", "/fee"],
        ),
        (
            "amm/exit",
            exit,
            &["/exitTokens/unPooled/0", "/exitTokens/burned", "/maxFee"],
        ),
    ];
    for (path, body, amounts) in requests {
        for amount in amounts {
            let answer = |volume: Option<Value>| {
                let mut body = body.clone();
                let fields = body.pointer_mut(amount).and_then(Value::as_object_mut);
                let fields = fields.unwrap();
                fields.remove("volume");
                fields.extend(volume.map(|volume| ("volume".to_owned(), volume)));
                exchange.ask(&alice.bare(path, &body))
            };
            for volume in [None, Some(Value::Null), Some(json!(""))] {
                let refused = answer(volume.clone());
                assert_eq!(refused.code(), 100_001, "{path} {amount} {volume:?}");
                let message = refused.message();
                assert!(message.ends_with("volume: is missing"), "{message}");
            }
            let zero = answer(Some(json!("0")));
            assert!(
                !zero.text.contains("volume: is missing"),
                "{path} {amount}: {zero:?}"
            );
        }
    }
}

#[test]
fn bodies_that_are_not_orders_are_refused() {
    let exchange = Exchange::start();
    let alice = exchange.customer(1);
    for body in [
        "{",
        "[]",
        "null",
        "7",
        "\"x\"",
        "{}",
        "{\"accountId\":1,\"accountId\":1}",
        "\u{feff}{}",
        "<html>",
    ] {
        let call = alice.with_key(Call::new("POST", "/api/v3/order").body(body));
        assert_eq!(exchange.ask(&call).code(), 100_001, "{body}");
    }
    let deep = "[".repeat(50_000);
    let call = alice.with_key(Call::new("POST", "/api/v3/order").body(deep));
    assert_eq!(exchange.ask(&call).code(), 100_001);
    let none = alice.with_key(Call::new("POST", "/api/v3/order"));
    assert_eq!(exchange.ask(&none).code(), 100_001);
}

#[test]
fn reads_have_their_codes() {
    let exchange = Exchange::start();
    let (alice, bob) = (exchange.customer(1), exchange.customer(2));
    let zero = format!("0x{:064x}", 0);
    let code = |target: &str| exchange.ask(&alice.get(target)).code();
    assert_eq!(code("/api/v3/order"), 107_001);
    assert_eq!(code("/api/v3/order?accountId={account}"), 107_002);
    assert_eq!(
        code(&format!(
            "/api/v3/order?accountId={{account}}&orderHash={zero}"
        )),
        107_003
    );
    assert_eq!(
        code("/api/v3/order?accountId={account}&orderHash=12"),
        100_001
    );
    // The account is checked before the fields.
    let others = format!("/api/v3/order?accountId={}&orderHash=12", bob.account.0);
    assert_eq!(code(&others), 104_003);
    assert_eq!(code("/api/v3/orders"), 107_001);
    assert_eq!(
        code("/api/v3/orders?accountId={account}&status=lost"),
        100_001
    );
    assert_eq!(code("/api/v3/user/balances"), 104_003);
    assert_eq!(code("/api/v3/user/balances?accountId=1"), 104_003);
    assert_eq!(
        code("/api/v3/user/balances?accountId={account}&tokens=x"),
        100_001
    );
    assert_eq!(code("/api/v3/depth?market=NO-SUCH&level=0"), 108_000);
    assert_eq!(code("/api/v3/depth?level=0"), 108_000);
    assert_eq!(code("/api/v3/depth?market=AAA-QQQ"), 108_001);
    assert_eq!(code("/api/v3/depth?market=AAA-QQQ&level=4"), 108_001);
    assert_eq!(code("/api/v3/account"), 100_001);
    assert_eq!(
        code(&format!("/api/v3/account?owner=0x{:040x}", 0)),
        101_001
    );
    assert_eq!(
        code(&format!("/api/v3/account?owner=0x{:040x}", 5)),
        101_002
    );
    assert_eq!(
        code("/api/v3/storageId?accountId={account}&sellTokenId=9"),
        102_002
    );
    assert_eq!(code("/api/v3/storageId?accountId={account}"), 100_001);
    assert_eq!(code("/api/v3/storageId?accountId=1&sellTokenId=0"), 104_003);
    let key = |account: &str| {
        let body = format!("{{\"accountId\":{account}}}");
        alice.with_key(Call::new("POST", "/api/v3/apiKey").body(body))
    };
    assert_eq!(exchange.ask(&key("77")).code(), 101_002);
    assert_eq!(
        exchange.ask(&key(&bob.account.0.to_string())).code(),
        104_003
    );
    assert_eq!(exchange.ask(&key("\"\"")).code(), 100_001);
}

#[test]
fn a_frozen_account_cancels_but_does_not_trade() {
    let exchange = Exchange::start();
    let mut alice = exchange.customer(1);
    let taken = exchange.ask(&alice.submit(Want::Buy, 200_000, 1));
    let hash = taken.good()["hash"].as_str().unwrap().to_owned();
    let frozen = Operator::Freeze {
        account: alice.account,
        frozen: true,
    };
    exchange.handle.operate(frozen).unwrap();
    let refused = exchange.ask(&alice.submit(Want::Buy, 200_000, 1));
    assert_eq!(refused.code(), 102_027);
    exchange
        .ask(&alice.cancel(&exchange, "orderHash", &hash))
        .good();
}
