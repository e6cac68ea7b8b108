//! Pools over HTTP: lists, joins and exits in the text's form and in the public client's, swaps, and the list of
//! transactions.

use cambist_signing::Address;
use serde_json::{Value, json};

use crate::admin::OperatorListener;
use crate::support::trader::{LP, POOL, POOL_NAME, Trader, list_pool, messages};
use crate::support::{BASE, Call, Exchange, ONE, UNIT, Want};

fn start() -> (Exchange, Trader) {
    let exchange = Exchange::start();
    list_pool(&exchange);
    let mut alice = Trader::new(&exchange, 1);
    let join = alice.join(10 * ONE, 20_000 * UNIT);
    exchange.ask(&alice.post("amm/join", &join)).good();
    (exchange, alice)
}

#[test]
fn pools_and_their_balances_are_shown_in_the_text_s_types() {
    let (exchange, _) = start();
    let pools = exchange.ask(&Call::get("/api/v3/amm/pools"));
    assert_eq!(
        pools.good(),
        &json!({"pools": [{
            "name": POOL_NAME,
            "market": POOL_NAME,
            "address": POOL.to_string(),
            "version": "1.0.0",
            "tokens": {"pooled": [0, 1], "lp": 2},
            "feeBips": 20,
            "precisions": {"price": 6, "amount": 6},
            "status": 15,
        }]})
    );
    let plain = POOL.to_hex();
    for address in [POOL.to_string(), plain.clone(), plain[2..].to_owned()] {
        let target = format!("/api/v3/amm/balance?poolAddress={address}");
        assert_eq!(
            exchange.ask(&Call::get(target)).good(),
            &json!({
                "pooled": [
                    {"tokenId": "0", "volume": (10 * ONE).to_string()},
                    {"tokenId": "1", "volume": (20_000 * UNIT).to_string()},
                ],
                "lp": {"tokenId": "2", "volume": "10000000000"},
            })
        );
    }
    let unknown = format!("/api/v3/amm/balance?poolAddress={}", Address::ZERO);
    assert_eq!(exchange.ask(&Call::get(unknown)).code(), 100_001);
}

#[test]
fn the_operator_sees_pools_by_the_symbols_of_their_tokens() {
    let (exchange, _) = start();
    let operator = OperatorListener::open(&exchange);
    let pools = operator.look("pools", "");
    let pool = &pools.good()[0];
    assert_eq!(pool["name"], POOL_NAME);
    assert_eq!(pool["pool"], POOL.to_string());
    for (field, symbol) in [("base", "AAA"), ("quote", "QQQ"), ("lp", "LP-AAA-QQQ")] {
        assert_eq!(pool[field], symbol);
    }
    assert_eq!(pool["join_fee"], "0 QQQ");
    assert_eq!(pool["shown"], true);
}

/// A join or exit in the public client's form.
fn as_the_sdk_writes(mut body: Value, fee: bool) -> Value {
    let ids: Option<Vec<u32>> = body["storageIds"]
        .as_str()
        .map(|ids| ids.split(',').map(|id| id.parse().unwrap()).collect());
    if let Some(ids) = ids {
        body["storageIds"] = json!(ids);
    }
    for (tokens, lp) in [("joinTokens", "minimumLp"), ("exitTokens", "burned")] {
        if let Some(tokens) = body.get_mut(tokens) {
            tokens[lp] = json!({"tokenId": LP.0, "volume": tokens[lp]});
        }
    }
    if fee {
        body["fee"] = json!("0");
    }
    body
}

#[test]
fn joins_and_exits_in_every_spelling_and_signed_by_either_key() {
    let (exchange, mut alice) = start();
    let wallet = |alice: &Trader, path: &str, mut body: Value| {
        let digest = messages(path, &body).digest;
        body["ecdsaSignature"] = json!(alice.wallet.sign_typed(&digest).to_hex());
        alice.bare(path, &body)
    };
    for (sdk, fee) in [(false, false), (true, false), (true, true)] {
        let mut join = alice.join(ONE, 2_000 * UNIT);
        let mut exit = alice.exit(1_000_000);
        if sdk {
            (join, exit) = (as_the_sdk_writes(join, fee), as_the_sdk_writes(exit, false));
        }
        let taken = exchange.ask(&alice.post("amm/join", &join));
        assert_eq!(taken.good()["status"], "processed", "{join}");
        exchange.ask(&alice.post("amm/exit", &exit)).good();
        let mut join = alice.join(ONE, 2_000 * UNIT);
        if sdk {
            join = as_the_sdk_writes(join, fee);
        }
        exchange.ask(&wallet(&alice, "amm/join", join)).good();
    }
    let exit = alice.exit(1_000_000);
    exchange.ask(&wallet(&alice, "amm/exit", exit)).good();
    // A fee that was not signed; an LP token of another pool.
    let mut join = alice.join(ONE, 2_000 * UNIT);
    join["eddsaSignature"] = json!(alice.eddsa(&messages("amm/join", &join)));
    join["fee"] = json!("7");
    assert_eq!(exchange.ask(&alice.bare("amm/join", &join)).code(), 104_005);
    let mut join = alice.join(ONE, 2_000 * UNIT);
    join["joinTokens"]["minimumLp"] = json!({"tokenId": 1, "volume": "1"});
    assert_eq!(exchange.ask(&alice.post("amm/join", &join)).code(), 100_001);
    let mut exit = alice.exit(1_000);
    exit["maxFee"] = json!({"tokenId": "0", "volume": "0"});
    assert_eq!(exchange.ask(&alice.post("amm/exit", &exit)).code(), 102_024);
}

#[test]
fn the_list_of_transactions_has_filters_and_pages_in_every_spelling() {
    let (exchange, mut alice) = start();
    for _ in 0..2 {
        let exit = alice.exit(1_000_000);
        exchange.ask(&alice.post("amm/exit", &exit)).good();
    }
    let ask = |query: &str| {
        let target = format!("/api/v3/amm/user/transactions?{query}");
        exchange.ask(&alice.customer.get(&target))
    };
    let total = |query: &str| ask(query).good()["totalNum"].as_u64().unwrap();
    assert_eq!(total(""), 3, "the key's own account");
    assert_eq!(total("accountId={account}&accountId={account}"), 3);
    for (word, count) in [
        ("join", 1),
        ("AMM_JOIN", 1),
        ("0", 1),
        ("exit", 2),
        ("AMM_EXIT", 2),
        ("1", 2),
        ("join,exit", 3),
        ("swap", 0),
        ("", 3),
    ] {
        assert_eq!(total(&format!("txTypes={word}")), count, "{word}");
    }
    for (word, count) in [
        ("processed", 3),
        ("processing,received", 0),
        ("failed", 0),
        ("odd", 0),
    ] {
        assert_eq!(total(&format!("txStatus={word}")), count, "{word}");
    }
    assert_eq!(total(&format!("ammPoolAddress={POOL}")), 3);
    assert_eq!(total(&format!("ammPoolAddress={}", Address::ZERO)), 0);
    let page = ask("limit=1&offset=2");
    assert_eq!(page.good()["totalNum"], 3);
    let join = &page.body["transactions"][0];
    assert_eq!(
        (&join["txType"], &join["ammLayerType"]),
        (&json!("join"), &json!("layer_2"))
    );
    assert_eq!(join["txStatus"], "processed");
    assert_eq!(
        join["poolTokens"][0]["actualAmount"],
        (10 * ONE).to_string()
    );
    assert_eq!(join["lpToken"]["tokenId"], 2);
    assert_eq!(ask("accountId=").code(), 107_001);
    assert_eq!(ask("accountId=1").code(), 104_003);
}

#[test]
fn a_swap_is_an_order_that_names_a_pool() {
    let (exchange, mut alice) = start();
    let mut order = alice.customer.order(Want::Sell, 190_000, 1);
    order["orderType"] = json!("AMM");
    alice.customer.sign(&mut order);
    assert_eq!(
        exchange.ask(&alice.customer.post_order(&order)).code(),
        102_120
    );
    order["poolAddress"] = json!(POOL.to_string());
    // The minimum leaves room for the price impact.
    order["buyToken"]["volume"] = json!((1_800 * UNIT).to_string());
    alice.customer.sign(&mut order);
    let taken = exchange.ask(&alice.customer.post_order(&order));
    assert_eq!(taken.good()["status"], "processed");
    let held = exchange
        .handle
        .balance(alice.customer.account, BASE)
        .unwrap();
    assert_eq!(held.total, (1_000 - 11) * ONE);
    let list = exchange.ask(
        &alice
            .customer
            .get("/api/v3/orders?accountId={account}&orderTypes=AMM"),
    );
    assert_eq!(list.good()["totalNum"], 1);
    assert_eq!(list.body["orders"][0]["orderType"], "TAKER_ONLY");
    assert_eq!(list.body["orders"][0]["market"], POOL_NAME);
    // With every other order type the pool address is ignored.
    let mut order = alice.customer.order(Want::Sell, 300_000, 1);
    order["poolAddress"] = json!(POOL.to_string());
    alice.customer.sign(&mut order);
    let rests = exchange.ask(&alice.customer.post_order(&order));
    assert_eq!(rests.good()["status"], "processing");
}
