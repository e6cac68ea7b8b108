//! Market data beside the interface: trades, tickers, candles and streams of real orders, and their bounds.

use std::io::{BufRead, Write as _};

use cambist_server::{Rate, RateLimits};
use serde_json::{Value, json};

use crate::openapi::schema;
use crate::support::{Call, Connection, Customer, Exchange, START_S, Want, config};

const MARKET: &str = "market=AAA-QQQ";

/// Two traders; the first offers 2 at 100.50 and 3 at 100.70.
fn offered(exchange: &Exchange) -> [Customer; 2] {
    let mut traders = [exchange.customer(1), exchange.customer(2)];
    for (cents, amount) in [(10_050, 2), (10_070, 3)] {
        let call = traders[0].submit(Want::Sell, cents, amount);
        exchange.ask(&call).good();
    }
    traders
}

fn buy(exchange: &Exchange, trader: &mut Customer, cents: u128, amount: u128) {
    let call = trader.submit(Want::Buy, cents, amount);
    exchange.ask(&call).good();
}

#[track_caller]
fn shown(exchange: &Exchange, name: &str, query: &str) -> Value {
    let path = format!("/api/ext/v1/{name}");
    let reply = exchange.ask(&Call::get(format!("{path}?{query}")));
    let document = exchange.ask(&Call::get("/openapi.json")).body;
    let pointer = format!(
        "/paths/{}/get/responses/200/content/application~1json/schema",
        path.replace('/', "~1")
    );
    let schema = document.pointer(&pointer).unwrap();
    assert_eq!(schema::problem(&document, schema, reply.good()), None);
    reply.body
}

/// A number of whole tokens of the base, in base units.
fn base(amount: u128) -> String {
    (amount * crate::support::ONE).to_string()
}

#[test]
fn trades_tickers_and_candles_are_those_of_the_book() {
    let exchange = Exchange::start();
    let nothing = shown(&exchange, "trades", MARKET);
    assert_eq!(nothing, json!({"market": "AAA-QQQ", "trades": []}));
    let [_, mut buyer] = offered(&exchange);
    buy(&exchange, &mut buyer, 10_050, 1);
    exchange.clock.pass_ms(61_000);
    // Takes the rest of one level and a part of the next, at the prices of the resting orders.
    buy(&exchange, &mut buyer, 10_080, 2);

    let trades = shown(&exchange, "trades", MARKET);
    let trades = trades["trades"].as_array().unwrap();
    let brief: Vec<_> = trades
        .iter()
        .map(|one| [&one["price"], &one["base"], &one["side"], &one["time"]])
        .collect();
    let later = json!(START_S * 1_000 + 61_000);
    let (one, buys) = (json!(base(1)), json!("buy"));
    let expected = [
        [&json!("100.70"), &one, &buys, &later],
        [&json!("100.50"), &one, &buys, &later],
        [&json!("100.50"), &one, &buys, &json!(START_S * 1_000)],
    ];
    assert_eq!(brief, expected);
    assert_eq!(trades[0]["quote"], "100700000");
    let id = |at: usize| trades[at]["id"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(id(0) > id(1) && id(1) > id(2));
    // Pages.
    let page = shown(
        &exchange,
        "trades",
        &format!("{MARKET}&limit=1&before={}", id(0)),
    );
    assert_eq!(page["trades"], json!([trades[1]]));

    let tickers = shown(&exchange, "ticker", "");
    let expected = json!({"tickers": [{
        "market": "AAA-QQQ", "time": START_S * 1_000 + 61_000, "bid": null, "ask": "100.70", "last": "100.70",
        "open": "100.50", "high": "100.70", "low": "100.50", "base": base(3), "quote": "301700000", "trades": 3,
    }]});
    assert_eq!(tickers, expected);
    let candles = shown(&exchange, "candles", &format!("{MARKET}&interval=1m"));
    let candles = candles["candles"].as_array().unwrap();
    let begun = START_S * 1_000 / 60_000 * 60_000;
    assert_eq!(candles.len(), 2);
    assert_eq!(
        (&candles[0]["time"], &candles[0]["trades"]),
        (&json!(begun), &json!(1))
    );
    assert_eq!(candles[1]["time"], begun + 60_000);
    assert_eq!(
        (&candles[1]["open"], &candles[1]["close"]),
        (&json!("100.50"), &json!("100.70"))
    );
    let newest = shown(&exchange, "candles", &format!("{MARKET}&limit=1"));
    assert_eq!(newest["candles"], json!([candles[1]]));
    let early = shown(
        &exchange,
        "candles",
        &format!("{MARKET}&to={}", begun + 60_000),
    );
    assert_eq!(early["candles"], json!([candles[0]]));
    // A day later the ticker has no trades, and still the last price.
    exchange.clock.pass_ms(86_400_000);
    let ticker = &shown(&exchange, "ticker", MARKET)["tickers"][0];
    assert_eq!(
        (&ticker["trades"], &ticker["last"]),
        (&json!(0), &json!("100.70"))
    );
    assert_eq!(ticker["open"], Value::Null);
}

#[test]
fn wrong_parameters_are_refused_and_name_what_is_known() {
    let exchange = Exchange::start();
    for (target, what) in [
        ("trades", "market is missing"),
        ("trades?market=", "market is missing"),
        ("trades?market=A-B", "is not listed"),
        ("trades?market=AAA-QQQ&limit=0", "1 to 1000"),
        ("trades?market=AAA-QQQ&limit=1001", "1 to 1000"),
        ("trades?market=AAA-QQQ&before=-1", "whole number"),
        ("trades?market=AAA-QQQ&market=B", "market"),
        ("ticker?market=A-B", "is not listed"),
        (
            "candles?market=AAA-QQQ&interval=2m",
            "1m, 5m, 15m, 30m, 1h, 4h, 1d, 1w, 15d",
        ),
        ("candles?market=AAA-QQQ&from=1e3", "whole number"),
        ("stream?market=A-B", "is not listed"),
        ("stream?market=AAA-QQQ&channels=all", "trades or depth"),
    ] {
        let refused = exchange.ask(&Call::get(format!("/api/ext/v1/{target}")));
        assert_eq!(refused.code(), 100_001, "{target}");
        assert!(
            refused.message().contains(what),
            "{target}: {}",
            refused.text
        );
    }
    let refused = exchange.ask(&Call::new("POST", "/api/ext/v1/trades"));
    assert_eq!(refused.status, 405);
}

#[test]
fn market_data_can_be_off_and_has_a_rate_of_its_own() {
    let mut off = config();
    off.market_data = false;
    let exchange = Exchange::with(&off);
    for name in ["trades", "ticker", "candles", "stream"] {
        let target = format!("/api/ext/v1/{name}?{MARKET}");
        assert_eq!(exchange.ask(&Call::get(target)).status, 404);
    }
    let document = exchange.ask(&Call::get("/openapi.json")).body;
    assert!(document["paths"].get("/api/ext/v1/trades").is_none());
    assert!(document["paths"].get("/api/v3/depth").is_some());

    let mut limited = config();
    limited.rates = RateLimits {
        market_data: Rate { per_s: 1, burst: 3 },
        ..limited.rates
    };
    let exchange = Exchange::with(&limited);
    let ask = || exchange.ask(&Call::get("/api/ext/v1/ticker"));
    for _ in 0..3 {
        ask().good();
    }
    let refused = ask();
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("1"))
    );
    // What the interface has is not affected.
    exchange.ask(&Call::get("/api/v3/timestamp")).good();
    exchange.clock.pass_ms(1_000);
    ask().good();
}

/// Opens a stream; its status is 200.
fn open(exchange: &Exchange, query: &str, last: Option<&str>) -> Connection {
    let mut connection = exchange.connect();
    let last = last.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
    let head = format!("GET /api/ext/v1/stream?{query} HTTP/1.1\r\nHost: x\r\n{last}\r\n");
    connection
        .stream
        .get_mut()
        .write_all(head.as_bytes())
        .unwrap();
    let reply = connection.reply().unwrap();
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    connection
}

/// The next line of a stream that begins so; sizes of chunks are between them. `None` at its end.
fn line(connection: &mut Connection, begin: &str) -> Option<String> {
    loop {
        let mut line = String::new();
        if connection.stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(rest) = line.strip_prefix(begin) {
            return Some(rest.trim_end().to_owned());
        }
    }
}

/// The next event: its name and data.
fn event(connection: &mut Connection) -> (String, Value) {
    let name = line(connection, "event: ").unwrap();
    let data = line(connection, "data: ").unwrap();
    (name, serde_json::from_str(&data).unwrap())
}

#[test]
fn a_stream_has_the_depth_at_once_and_then_every_change() {
    let exchange = Exchange::start();
    let [_, mut buyer] = offered(&exchange);
    let mut stream = open(&exchange, MARKET, None);
    let (name, depth) = event(&mut stream);
    assert_eq!(name, "depth");
    let asked = exchange
        .ask(&Call::get("/api/v3/depth?market=AAA-QQQ&level=0"))
        .body;
    assert_eq!(depth, asked);

    buy(&exchange, &mut buyer, 10_050, 1);
    let (name, trade) = event(&mut stream);
    assert_eq!(
        (name.as_str(), &trade["price"]),
        ("trade", &json!("100.50"))
    );
    let (name, depth) = event(&mut stream);
    assert_eq!(name, "depth");
    assert_eq!(depth["asks"][0][1], base(1));

    // Trades only, and again from a number on.
    buy(&exchange, &mut buyer, 10_050, 1);
    buy(&exchange, &mut buyer, 10_070, 1);
    let query = format!("{MARKET}&channels=trades");
    let mut again = open(&exchange, &query, trade["id"].as_str());
    let trades = [event(&mut again), event(&mut again)];
    let all = shown(&exchange, "trades", MARKET);
    for (at, (name, trade)) in trades.iter().enumerate() {
        assert_eq!(name, "trade");
        assert_eq!(*trade, all["trades"][1 - at]);
    }
}

#[test]
fn streams_are_bounded_and_end_with_the_exchange() {
    let mut config = config();
    config.connections.streams_max = 3;
    config.connections.streams_per_address_max = 2;
    // A client that is gone is seen by the next comments.
    config.connections.head_timeout_ms = 300;
    config.connections.body_timeout_ms = 100;
    let mut exchange = Exchange::with(&config);
    let first = open(&exchange, MARKET, None);
    let mut second = open(&exchange, MARKET, None);
    let refused = exchange.ask(&Call::get(format!("/api/ext/v1/stream?{MARKET}")));
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("1"))
    );
    assert!(refused.message().contains("may have 2"), "{}", refused.text);
    // A place is free again when a client is gone, as soon as the exchange has seen it.
    drop(first);
    let free = (0..50_000).any(|_| {
        let mut connection = exchange.connect();
        let head = format!("GET /api/ext/v1/stream?{MARKET} HTTP/1.1\r\nHost: x\r\n\r\n");
        connection
            .stream
            .get_mut()
            .write_all(head.as_bytes())
            .unwrap();
        connection.reply().unwrap().status == 200
    });
    assert!(free);
    assert_eq!(event(&mut second).0, "depth");
    assert!(exchange.stop().is_ok());
    assert_eq!(line(&mut second, "event: "), None);
}

/// An answer that goes on is no stall: the daemon's page and streams were cut off in the middle.
#[test]
fn a_stream_that_is_read_outlives_the_bound_on_stalls() {
    let mut config = config();
    config.connections.head_timeout_ms = 300;
    config.connections.body_timeout_ms = 100;
    let exchange = Exchange::with(&config);
    let mut stream = open(&exchange, MARKET, None);
    assert_eq!(event(&mut stream).0, "depth");
    // A comment comes after a third of the bound.
    for number in 0..15 {
        assert!(line(&mut stream, ":").is_some(), "{number}");
    }
}
