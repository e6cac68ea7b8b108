//! Who is answered: keys, signatures, nonces, permissions, and where parameters are taken from.

use serde_json::json;

use super::{Client, opened, public, secret, settings};
use crate::support::{Call, Exchange};

#[test]
fn it_is_absent_unless_it_is_configured() {
    let exchange = Exchange::start();
    assert_eq!(exchange.ask(&Call::get("/0/public/Time")).status, 404);
}

#[test]
fn keys_signatures_nonces_and_permissions_are_checked_in_this_order() {
    let (exchange, _other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    let error = |call: &Call| {
        let reply = exchange.ask(call);
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.body["error"][0].as_str().unwrap_or("none").to_owned()
    };
    let path = "/0/private/Balance";
    assert_eq!(
        error(&Call::new("POST", path).body("nonce=1")),
        "EAPI:Invalid key"
    );
    let stranger = Client::new(&exchange, "stranger");
    assert_eq!(
        error(&stranger.signed("Balance", 1, "")),
        "EAPI:Invalid key"
    );
    // The signature covers path, nonce and body.
    let mut changed = client.signed("Balance", 5, "asset=AAA");
    changed.body = changed.body.replace("AAA", "QQQ");
    assert_eq!(error(&changed), "EAPI:Invalid signature");
    let mut changed = client.signed("Balance", 5, "");
    changed.target = "/0/private/BalanceEx".to_owned();
    assert_eq!(error(&changed), "EAPI:Invalid signature");
    let mut changed = client.signed("Balance", 5, "");
    changed.headers.retain(|(name, _)| *name != "API-Sign");
    assert_eq!(error(&changed), "EAPI:Invalid signature");
    // None of these has used the nonce.
    assert_eq!(error(&client.signed("Balance", 5, "")), "none");
    assert_eq!(
        error(&client.signed("Balance", 5, "")),
        "EAPI:Invalid nonce"
    );
    assert_eq!(
        error(&client.signed("Balance", 4, "")),
        "EAPI:Invalid nonce"
    );
    assert_eq!(
        error(&client.signed("Nothing", 6, "")),
        "EGeneral:Unknown method"
    );
    let path = "/0/private/Balance";
    let body = "nonce=abc";
    let without = Call::new("POST", path)
        .header("API-Key", "trader")
        .header("API-Sign", secret().sign(path, "abc", body.as_bytes()))
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(body);
    assert_eq!(error(&without), "EAPI:Invalid nonce");
    // A window of 10 accepts what is behind by less.
    let window = Client::new(&exchange, "window");
    for (nonce, answer) in [
        (20, "none"),
        (11, "none"),
        (20, "none"),
        (10, "EAPI:Invalid nonce"),
    ] {
        assert_eq!(
            error(&window.signed("Balance", nonce, "")),
            answer,
            "{nonce}"
        );
    }
    let reader = Client::new(&exchange, "reader");
    reader.good("BalanceEx", "");
    for method in [
        "OpenOrders",
        "AddOrder",
        "CancelAll",
        "Ledgers",
        "WithdrawMethods",
    ] {
        assert_eq!(
            reader.error(method, ""),
            "EGeneral:Permission denied",
            "{method}"
        );
    }
    let thief = Client::new(&exchange, "thief");
    assert_eq!(thief.good("WithdrawMethods", ""), json!([]));
    assert_eq!(
        exchange.ask(&Call::get(path)).body["error"][0],
        "EGeneral:Unknown method"
    );
}

#[test]
fn a_json_body_is_a_form() {
    let (exchange, _other) = opened(settings());
    let path = "/0/private/AddOrder";
    let body = json!({
        "nonce": 77, "pair": "AAAQQQ", "type": "buy", "ordertype": "limit", "price": "99.5",
        "volume": "1", "validate": true,
    })
    .to_string();
    let call = Call::new("POST", path)
        .header("API-Key", "trader")
        .header("API-Sign", secret().sign(path, "77", body.as_bytes()))
        .header("Content-Type", "application/json")
        .body(body);
    let answer = exchange.ask(&call).body;
    let order = "buy 1.0000 AAAQQQ @ limit 99.50";
    assert_eq!(
        answer,
        json!({"error": [], "result": {"descr": {"order": order}}})
    );
    let client = Client::new(&exchange, "trader");
    assert_eq!(
        client.good("OpenOrders", ""),
        json!({"open": {}}),
        "only checked"
    );
}

#[test]
fn parameters_in_the_wrong_place_are_refused_by_name() {
    let (exchange, _other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    let row = json!({"type": "buy", "ordertype": "limit", "price": "90", "volume": "1"});
    for (place, name, value) in [
        ("entry", "validate", json!(true)),
        ("entry", "deadline", json!("2023-11-14T22:13:30Z")),
        ("entry", "pair", json!("AAAQQQ")),
        ("entry", "nonce", json!(7)),
        ("top", "leverage", json!("5")),
        ("top", "timeinforce", json!("IOC")),
        ("top", "cl_ord_id", json!("a")),
        ("top", "anything", json!("else")),
    ] {
        let mut body = json!({"pair": "AAAQQQ", "orders": [row, row]});
        let into = match place {
            "entry" => &mut body["orders"][1],
            _ => &mut body,
        };
        into[name] = value;
        let answer = client.json("AddOrderBatch", &body);
        let error = format!("EGeneral:Invalid arguments:{name}");
        assert_eq!(answer["error"], json!([error]), "{place}");
    }
    for (method, form, name) in [
        ("AmendOrder", "txid=1&display_qty=1", "display_qty"),
        ("AmendOrder", "txid=1&timeinforce=GTC", "timeinforce"),
        ("CancelOrder", "txid=1&userref=7", "userref"),
        ("CancelOrderBatch", "orders=1&txid=1", "txid"),
        ("CancelAll", "pair=AAAQQQ", "pair"),
        ("CancelAllOrdersAfter", "timeout=0&pair=AAAQQQ", "pair"),
    ] {
        let error = format!("EGeneral:Invalid arguments:{name}");
        assert_eq!(client.error(method, form), error, "{form}");
    }
    assert_eq!(client.good("OpenOrders", "")["open"], json!({}));
}

#[test]
fn bodies_are_read_behind_the_signature_and_use_their_nonce() {
    let (exchange, _other) = opened(settings());
    let path = "/0/private/AddOrder";
    let ask = |body: &str, nonce: &str, kind: &str, signed: &str| {
        let call = Call::new("POST", path)
            .header("API-Key", "trader")
            .header("API-Sign", secret().sign(path, nonce, signed.as_bytes()))
            .header("Content-Type", kind)
            .body(body);
        exchange.ask(&call).body["error"][0].clone()
    };
    let json = "application/json";
    let twice = r#"{"nonce":5,"pair":"AAAQQQ","volume":1,"volume":2}"#;
    assert_eq!(ask(twice, "5", json, "other"), "EAPI:Invalid signature");
    let error = "EGeneral:Invalid arguments:volume";
    assert_eq!(ask(twice, "5", json, twice), error);
    assert_eq!(ask(twice, "5", json, twice), "EAPI:Invalid nonce");
    // A condition is refused as it is in a form; types of contents have no case.
    let close = r#"{"nonce":6,"pair":"AAAQQQ","type":"buy","ordertype":"limit","price":"90","volume":"1",
        "close":{"ordertype":"limit","price":"95"}}"#;
    let error = "EGeneral:Invalid arguments:close[ordertype]";
    assert_eq!(
        ask(close, "6", "Application/JSON ; charset=utf-8", close),
        error
    );
    let nested = r#"{"nonce":7,"pair":{"a":{"b":1}}}"#;
    assert_eq!(ask(nested, "7", json, nested), "EGeneral:Invalid arguments");
    assert_eq!(ask(nested, "7", json, nested), "EAPI:Invalid nonce");
    let form = "nonce=8&pair=AAAQQQ&pair=AAAQQQ";
    let kind = "application/x-www-form-urlencoded";
    assert_eq!(ask(form, "8", kind, "nonce=8"), "EAPI:Invalid signature");
    let error = "EGeneral:Invalid arguments:pair";
    assert_eq!(ask(form, "8", kind, form), error);
    assert_eq!(ask(form, "8", kind, form), "EAPI:Invalid nonce");
    // Without a nonce nothing is signed.
    for text in ["{", "[]", r#"{"pair":"AAAQQQ"}"#] {
        assert_eq!(ask(text, "9", json, text), "EAPI:Invalid nonce", "{text}");
    }
}

#[test]
fn amends_and_batches_need_the_published_permissions() {
    let (exchange, _other) = opened(settings());
    let [trader, mover, closer] =
        ["trader", "mover", "closer"].map(|name| Client::new(&exchange, name));
    let txid = trader.add("buy", "90", "2", "");
    for (client, volume) in [(&mover, "1.9"), (&closer, "1.8")] {
        let form = format!("txid={txid}&order_qty={volume}");
        client.good("AmendOrder", &form);
    }
    let denied = "EGeneral:Permission denied";
    for client in [&mover, &closer] {
        assert_eq!(client.error("AddOrderBatch", ""), denied);
    }
    assert_eq!(closer.error("AddOrder", ""), denied);
    assert_ne!(mover.error("AddOrder", ""), denied);
    assert_ne!(trader.error("AddOrderBatch", ""), denied);
}

#[test]
fn unknown_methods_are_refused_whatever_their_path() {
    let (exchange, _other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    for method in ["Earn/Strategies", "Balance/", "", "Nothing"] {
        assert_eq!(
            client.error(method, ""),
            "EGeneral:Unknown method",
            "{method}"
        );
        let answer = public(&exchange, method);
        assert_eq!(answer["error"][0], "EGeneral:Unknown method", "{method}");
    }
}
