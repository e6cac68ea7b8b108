//! A client's whole path: unlock, submit, read, trade, cancel.

use cambist_server::{BindError, Server};
use cambist_venue::Compat;
use serde_json::json;

use crate::support::{BASE, Call, Customer, Exchange, ONE, QUOTE, UNIT, Want, config, venue};

fn balance(exchange: &Exchange, customer: &Customer, token: u16) -> (String, String) {
    let call = customer.get("/api/v3/user/balances?accountId={account}");
    let reply = exchange.ask(&call);
    let entry = reply
        .good()
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["tokenId"] == json!(token))
        .unwrap()
        .clone();
    let text = |name: &str| entry[name].as_str().unwrap().to_owned();
    (text("total"), text("locked"))
}

#[test]
fn unlock_submit_read_trade_and_cancel() {
    let exchange = Exchange::start();
    let (mut alice, mut bob) = (exchange.customer(1), exchange.customer(2));

    // Unlock: the signing key fetches the API key.
    let text = format!(
        "GET&{}&accountId%3D{}",
        format!("{}/api/v3/apiKey", exchange.base_url())
            .replace(':', "%3A")
            .replace('/', "%2F"),
        alice.account.0
    );
    let unlock = Call::get(format!("/api/v3/apiKey?accountId={}", alice.account.0))
        .header("X-API-SIG", alice.sign_text(&text));
    assert_eq!(
        exchange.ask(&unlock).good(),
        &json!({"apiKey": alice.api_key})
    );

    let ids = exchange.ask(&alice.get("/api/v3/storageId?accountId={account}&sellTokenId=0"));
    assert_eq!(ids.good(), &json!({"orderId": 0, "offchainId": 1}));

    // Submit; the order is in all responses.
    let taken = exchange.ask(&alice.submit(Want::Sell, 250_000, 10));
    let hash = taken.good()["hash"].as_str().unwrap().to_owned();
    assert_eq!(taken.body["status"], "processing");
    let order = exchange.ask(&alice.get(&format!(
        "/api/v3/order?accountId={{account}}&orderHash={hash}"
    )));
    assert_eq!(order.good()["hash"], json!(hash));
    let listed = exchange.ask(&alice.get("/api/v3/orders?accountId={account}&status=processing"));
    assert_eq!(listed.good()["totalNum"], 1);
    assert_eq!(listed.body["orders"][0], *order.good());
    let depth = exchange.ask(&bob.get("/api/v3/depth?market=AAA-QQQ&level=0"));
    assert_eq!(
        depth.good()["asks"],
        json!([[
            "2500.00",
            (10 * ONE).to_string(),
            (25_000 * UNIT).to_string(),
            "1"
        ]])
    );
    assert_eq!(balance(&exchange, &alice, 0).1, (10 * ONE).to_string());

    // Trade a part: fees are in the bought token, rounded down.
    let bought = exchange.ask(&bob.submit(Want::Buy, 250_000, 4));
    assert_eq!(bought.good()["status"], "processed");
    let order = exchange.ask(&alice.get(&format!(
        "/api/v3/order?accountId={{account}}&orderHash={hash}"
    )));
    let volumes = &order.good()["volumes"];
    assert_eq!(volumes["baseFilled"], (4 * ONE).to_string());
    assert_eq!(volumes["quoteFilled"], (10_000 * UNIT).to_string());
    assert_eq!(volumes["fee"], (2 * UNIT).to_string(), "2 bips of quote");
    assert_eq!(
        balance(&exchange, &bob, 0).0,
        (1_004 * ONE - 4 * ONE / 1_000).to_string(),
        "10 bips of base"
    );

    // Cancel the rest: the funds are free again.
    let cancelled = exchange.ask(&alice.cancel(&exchange, "orderHash", &hash));
    assert_eq!(cancelled.good()["status"], "cancelled");
    assert_eq!(cancelled.body["hash"], json!(hash));
    assert_eq!(
        balance(&exchange, &alice, 0),
        ((996 * ONE).to_string(), "0".to_owned())
    );
    let again = exchange.ask(&alice.cancel(&exchange, "orderHash", &hash));
    assert_eq!(again.code(), 100_001, "{}", again.text);
    let depth = exchange.ask(&Call::get("/api/v3/depth?market=AAA-QQQ&level=0"));
    assert_eq!(depth.good()["asks"], json!([]));
    assert!(exchange.handle.balance(alice.account, QUOTE).unwrap().total > 0);
    assert_eq!(
        exchange.handle.balance(alice.account, BASE).unwrap().locked,
        0
    );
}

#[test]
fn a_new_api_key_replaces_the_old_one_at_once() {
    let exchange = Exchange::start();
    let mut alice = exchange.customer(1);
    let body = format!("{{\"accountId\":{}}}", alice.account.0);
    let replaced = exchange.ask(&alice.with_key(Call::new("POST", "/api/v3/apiKey").body(body)));
    let fresh = replaced.good()["apiKey"].as_str().unwrap().to_owned();
    assert_eq!(fresh.len(), 64);
    assert!(fresh.bytes().all(|byte| byte.is_ascii_alphanumeric()));

    let balances = "/api/v3/user/balances?accountId={account}";
    assert_eq!(exchange.ask(&alice.get(balances)).code(), 104_002);
    alice.api_key = fresh;
    exchange.ask(&alice.get(balances)).good();
}

#[test]
fn orders_expire_by_the_clock_the_venue_shows() {
    let exchange = Exchange::start();
    let mut alice = exchange.customer(1);
    let taken = exchange.ask(&alice.submit(Want::Buy, 100_000, 1));
    let hash = taken.good()["hash"].as_str().unwrap().to_owned();
    assert_eq!(
        taken.header("date"),
        Some("Tue, 14 Nov 2023 22:13:20 GMT"),
        "the venue's own time"
    );
    let get = alice.get(&format!(
        "/api/v3/order?accountId={{account}}&orderHash={hash}"
    ));
    exchange.clock.pass_ms(3_599_999);
    assert_eq!(exchange.ask(&get).good()["status"], "processing");
    exchange.clock.pass_ms(1);
    let expired = exchange.ask(&get);
    assert_eq!(expired.good()["status"], "expired");
    assert_eq!(
        expired.header("date"),
        Some("Tue, 14 Nov 2023 23:13:20 GMT")
    );
    assert_eq!(
        exchange.ask(&Call::get("/api/v3/timestamp")).good(),
        &json!({"timestamp": 1_700_003_600_000u64})
    );
}

#[test]
fn a_port_in_use_is_reported_with_a_remedy() {
    let exchange = Exchange::start();
    let mut second = config();
    second.listen = exchange.address;
    let Err(error) = Server::bind(&second, venue(Compat::Both), Vec::new()) else {
        panic!("two servers at one address");
    };
    assert!(matches!(error, BindError::InUse { address } if address == exchange.address));
    let text = error.to_string();
    assert!(
        text.contains(&exchange.address.to_string()) && text.contains("port 0"),
        "{text}"
    );
}

#[test]
fn stopping_finishes_requests_in_progress() {
    let mut exchange = Exchange::start();
    let alice = exchange.customer(1);
    let mut connection = exchange.connect();
    let body = format!("{{\"accountId\":{}}}", alice.account.0);
    let head = format!(
        "POST /api/v3/apiKey HTTP/1.1\r\nHost: x\r\nX-API-KEY: {}\r\nContent-Length: {}\r\n\
         Expect: 100-continue\r\n\r\n",
        alice.api_key,
        body.len()
    );
    // The server asks for the body once the request is in the handler.
    connection.send(head.as_bytes());
    assert_eq!(connection.reply().unwrap().status, 100);
    let writer = std::thread::spawn(move || {
        connection.send(body.as_bytes());
        (connection.reply(), connection.is_closed())
    });
    assert!(exchange.stop().is_ok());
    let (reply, closed) = writer.join().unwrap();
    reply.unwrap().good();
    assert!(closed);
    assert!(exchange.refuses_connections());
}
