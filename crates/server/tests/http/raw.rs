//! Requests that no library would send: each gets an error with a code or a closed connection, and changes nothing.

use serde_json::json;

use crate::crash::{Folder, customer, populated};
use crate::support::{Call, Exchange, START_S, Want, config, taken};

/// Sends raw bytes and returns the status of each answer, until the connection is closed or `answers` were received.
fn statuses(exchange: &Exchange, bytes: &[u8], answers: usize) -> Vec<u16> {
    let mut connection = exchange.connect();
    connection.send(bytes);
    // Closes the sending side, so that a server that waits for more sees the end.
    let _ = connection
        .stream
        .get_ref()
        .shutdown(std::net::Shutdown::Write);
    let mut found = Vec::new();
    while found.len() < answers {
        let Some(reply) = connection.reply() else {
            break;
        };
        found.push(reply.status);
    }
    found
}

#[test]
fn invalid_requests_are_refused_and_the_next_connection_is_served() {
    let exchange = Exchange::start();
    let head = "GET /api/v3/timestamp HTTP/1.1\r\nHost: x\r\n";
    let long = "x".repeat(70_000);
    let cases: Vec<(&str, Vec<u8>, &[u16])> = vec![
        ("nothing", Vec::new(), &[]),
        ("half a head", head.as_bytes().to_vec(), &[]),
        ("a line without a colon", format!("{head}nonsense\r\n\r\n").into(), &[400]),
        ("a space before the colon", format!("{head}A : b\r\n\r\n").into(), &[400]),
        ("a folded line", format!("{head}A: b\r\n c\r\n\r\n").into(), &[400]),
        ("a zero byte", format!("{head}A: b\0c\r\n\r\n").into(), &[400]),
        ("an empty name", format!("{head}: b\r\n\r\n").into(), &[400]),
        ("a long target", format!("GET /{long} HTTP/1.1\r\nHost: x\r\n\r\n").into(), &[431]),
        ("another protocol", b"SSH-2.0-client\r\n".to_vec(), &[400]),
        ("a newer protocol", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), &[]),
        ("an invalid version", b"GET / HTTP/9.9\r\n\r\n".to_vec(), &[400]),
        ("two lengths", b"POST /api/v3/order HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}".to_vec(), &[400]),
        ("an invalid length", b"POST /api/v3/order HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}".to_vec(), &[400]),
        ("a huge length", b"POST /api/v3/order HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n{}".to_vec(), &[400]),
        ("a length beyond the end", b"POST /api/v3/order HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n\r\n{}".to_vec(), &[400]),
        ("an invalid chunk", b"POST /api/v3/order HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n".to_vec(), &[400]),
        ("a chunk that is too short", b"POST /api/v3/order HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}\r\n".to_vec(), &[400]),
        ("an invalid coding", b"POST /api/v3/order HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n{}".to_vec(), &[400]),
        ("no such path", b"GET /api/v3/%6frder HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), &[404]),
        ("the server as a whole", b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), &[404]),
        ("a tunnel", b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), &[404]),
    ];
    for (what, bytes, expected) in cases {
        assert_eq!(statuses(&exchange, &bytes, 2), expected, "{what}");
    }
    exchange.ask(&Call::get("/api/v3/timestamp")).good();
}

#[test]
fn unusual_but_valid_requests_are_served() {
    let exchange = Exchange::start();
    let old = b"GET /api/v3/timestamp HTTP/1.0\r\n\r\n";
    assert_eq!(
        statuses(&exchange, old, 2),
        [200],
        "and the connection ends"
    );
    let absolute = b"GET http://elsewhere.example/api/v3/timestamp HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_eq!(statuses(&exchange, absolute, 1), [200]);
    let lines = b"\r\nGET /api/v3/timestamp HTTP/1.1\nHost: x\n\n";
    assert_eq!(statuses(&exchange, lines, 1), [200]);
    let chunks = b"POST /api/v3/apiKey HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nTrailer: 1\r\n\r\n";
    // The request was read to the end; it has no key.
    assert_eq!(statuses(&exchange, chunks, 1), [400]);
    let mut head = exchange.connect();
    head.send(b"HEAD /api/v3/timestamp HTTP/1.1\r\nHost: x\r\n\r\nGET /api/v3/nothing HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut text = String::new();
    let line = |head: &mut crate::support::Connection, text: &mut String| {
        text.clear();
        std::io::BufRead::read_line(&mut head.stream, text).unwrap()
    };
    let mut lengths = 0;
    while line(&mut head, &mut text) > 2 {
        lengths += usize::from(text.to_ascii_lowercase().starts_with("content-length"));
    }
    assert_eq!(lengths, 1, "its length is in the header");
    line(&mut head, &mut text);
    assert!(
        text.starts_with("HTTP/1.1 404"),
        "and nothing of it sent: {text}"
    );
}

/// Answers wait for the disk here, so the server sees the end of input long before it answers.
#[test]
fn a_client_that_closes_its_sending_side_is_answered() {
    let folder = Folder::new("answers");
    let data = taken(&folder.path().join("data"));
    let exchange = Exchange::durable(data.begin(populated(), Vec::new()).unwrap());
    let mut alice = customer(1);
    for _ in 0..20 {
        let mut order = alice.order(Want::Buy, 200_000, 1);
        alice.sign(&mut order);
        let body = order.to_string();
        let head = format!(
            "POST /api/v3/order HTTP/1.1\r\nHost: x\r\nX-API-KEY: {}\r\nContent-Length: {}\r\n\r\n",
            alice.api_key,
            body.len()
        );
        let answers = statuses(&exchange, (head + &body).as_bytes(), 2);
        assert_eq!(answers, [200], "then the connection ends");
    }
}

#[test]
fn a_repeated_header_with_different_values_is_not_accepted() {
    let exchange = Exchange::start();
    let (mut alice, bob) = (exchange.customer(1), exchange.customer(2));
    let balances = alice.get("/api/v3/user/balances?accountId={account}");
    let same = balances.clone().header("X-API-KEY", alice.api_key.clone());
    exchange.ask(&same).good();
    for keys in [
        [&alice.api_key, &bob.api_key],
        [&bob.api_key, &alice.api_key],
    ] {
        let target = format!("/api/v3/user/balances?accountId={}", alice.account.0);
        let call = Call::get(target)
            .header("X-API-KEY", keys[0].clone())
            .header("X-API-KEY", keys[1].clone());
        assert_eq!(exchange.ask(&call).code(), 104_002);
    }
    let taken = exchange.ask(&alice.submit(Want::Buy, 200_000, 1));
    let hash = taken.good()["hash"].as_str().unwrap().to_owned();
    let cancel = alice.cancel(&exchange, "orderHash", &hash);
    let twice = cancel.clone().header("X-API-SIG", "0x12");
    assert_eq!(exchange.ask(&twice).code(), 104_005);
    exchange.ask(&cancel).good();
}

#[test]
fn invalid_json_bodies_have_no_effect() {
    let exchange = Exchange::start();
    let mut alice = exchange.customer(1);
    let mut order = alice.order(Want::Buy, 200_000, 1);
    alice.sign(&mut order);
    let good = order.to_string();
    let post = |body: &[u8]| {
        let mut connection = exchange.connect();
        let head = format!(
            "POST /api/v3/order HTTP/1.1\r\nHost: x\r\nX-API-KEY: {}\r\nContent-Length: {}\r\n\r\n",
            alice.api_key,
            body.len()
        );
        connection.send(head.as_bytes());
        connection.send(body);
        connection.reply().unwrap()
    };
    let wide: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let latin = good
        .replace("10000-0", "k\u{e4}se")
        .replace('\u{e4}', "\u{1}");
    let latin: Vec<u8> = latin
        .bytes()
        .map(|byte| if byte == 1 { 0xe4 } else { byte })
        .collect();
    let marked = [b"\xef\xbb\xbf", good.as_bytes()].concat();
    let texts = [
        good.replace("\"validUntil\":", "\"validUntil\":1e400,\"x\":"),
        good.replace("\"maxFeeBips\":63", "\"maxFeeBips\":NaN"),
        good.replace("\"maxFeeBips\":63", "\"maxFeeBips\":-63"),
        good.replace("\"maxFeeBips\":63", "\"maxFeeBips\":63.0"),
        good.replace(
            "\"storageId\":0",
            &format!("\"storageId\":{}", "9".repeat(400)),
        ),
        good.replace("\"storageId\":0", "\"storageId\":\"\\u0660\""),
        good.replace("\"storageId\":0", "\"storageId\":0,\"storageId\":0"),
        good.replace("\"tokenId\":\"0\"", "\"tokenId\":\"0\",\"tokenId\":\"0\""),
        good.replace("\"channel", "\"x\":[[[[],\"channel"),
        format!("{good}{good}"),
        good[..good.len() - 1].to_owned(),
        format!(
            "{{\"x\":{}{},{}",
            "[".repeat(200),
            "]".repeat(200),
            &good[1..]
        ),
    ];
    let bodies = [wide, latin, marked];
    for body in bodies
        .iter()
        .map(Vec::as_slice)
        .chain(texts.iter().map(String::as_bytes))
    {
        let text = String::from_utf8_lossy(body);
        if text == good {
            continue;
        }
        assert_eq!(
            post(body).code(),
            100_001,
            "{}",
            &text[..text.len().min(80)]
        );
    }
    let listed = exchange.ask(&alice.get("/api/v3/orders?accountId={account}"));
    assert_eq!(listed.good()["totalNum"], json!(0), "no effect");
    post(good.as_bytes()).good();
}

#[test]
fn changed_and_replayed_requests_are_refused() {
    let exchange = Exchange::start();
    let mut alice = exchange.customer(1);
    let mut order = alice.order(Want::Buy, 200_000, 1);
    alice.sign(&mut order);
    // Changes each signed field, one by one.
    let changes = [
        ("storageId", json!(2)),
        ("validUntil", json!(START_S + 3_601)),
        ("maxFeeBips", json!(62)),
        ("fillAmountBOrS", json!("false")),
        ("sellToken", json!({"tokenId": "1", "volume": "2000000001"})),
        (
            "buyToken",
            json!({"tokenId": "0", "volume": "1000000000000000001"}),
        ),
    ];
    for (name, value) in changes {
        let mut tampered = order.clone();
        tampered[name] = value;
        let reply = exchange.ask(&alice.post_order(&tampered));
        assert_eq!(reply.code(), 104_005, "{name}: {}", reply.text);
    }
    // Buying and selling exchanged.
    let mut turned = order.clone();
    (turned["sellToken"], turned["buyToken"]) =
        (order["buyToken"].clone(), order["sellToken"].clone());
    assert_eq!(exchange.ask(&alice.post_order(&turned)).code(), 104_005);
    let signature = order["eddsaSignature"].as_str().unwrap().to_owned();
    for wrong in [
        signature[..193].to_owned(),
        format!("{signature}0"),
        format!("0x{}", &signature[4..]),
        format!("0x{}{}", "f".repeat(64), &signature[66..]),
        format!("{}{}", &signature[..130], "f".repeat(64)),
        format!("0x{}", "0".repeat(192)),
        format!("0x{}", "ab".repeat(66)),
    ] {
        let mut tampered = order.clone();
        tampered["eddsaSignature"] = json!(wrong);
        assert_eq!(
            exchange.ask(&alice.post_order(&tampered)).code(),
            104_005,
            "{wrong}"
        );
    }
    exchange.ask(&alice.post_order(&order)).good();
    // Sent again unchanged: refused as a duplicate.
    assert_eq!(exchange.ask(&alice.post_order(&order)).code(), 102_007);
    let listed = exchange.ask(&alice.get("/api/v3/orders?accountId={account}"));
    assert_eq!(listed.good()["totalNum"], json!(1));
}

#[test]
fn web_pages_may_send_requests_if_their_origin_is_configured() {
    let closed = Exchange::start();
    let preflight = Call::new("OPTIONS", "/api/v3/order").header("Origin", "https://app.example");
    let reply = closed.ask(&preflight);
    assert_eq!(reply.status, 405);
    assert_eq!(reply.header("access-control-allow-origin"), None);
    let mut config = config();
    config.cors_origin = Some("https://app.example".to_owned());
    let open = Exchange::with(&config);
    let reply = open.ask(&preflight);
    assert_eq!((reply.status, reply.text.as_str()), (204, ""));
    let allowed = reply
        .header("access-control-allow-headers")
        .unwrap_or_default();
    assert!(
        allowed.contains("x-api-key") && allowed.contains("x-api-sig"),
        "{allowed}"
    );
    for target in ["/api/v3/timestamp", "/api/v3/orders", "/api/v3/nothing"] {
        let reply = open.ask(&Call::get(target));
        let origin = reply.header("access-control-allow-origin");
        assert_eq!(origin, Some("https://app.example"), "{target}");
    }
    let unknown = Call::new("OPTIONS", "/api/v3/nothing");
    assert_eq!(open.ask(&unknown).status, 404);
}

#[test]
fn health_is_public() {
    let exchange = Exchange::start();
    let time = exchange.clock.now().0;
    assert_eq!(
        exchange.ask(&Call::get("/health")).good(),
        &json!({"status": "ok", "time": time, "clockAheadMs": 0})
    );
    assert_eq!(exchange.ask(&Call::new("POST", "/health")).status, 405);
}
