//! The daemon's page: it shows the state of the exchange, live, and only to its own origin.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::support::stage::{lively, quick};
use crate::support::{Stage, until};

const SOON: Duration = Duration::from_secs(40);

/// The answer to a request as text, to its end or until it contains `enough`.
fn ask(address: &str, path: &str, headers: &str, enough: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut text = String::new();
    let mut part = [0; 4_096];
    while enough.is_empty() || !text.contains(enough) {
        let read = stream.read(&mut part).unwrap();
        if read == 0 {
            break;
        }
        text.push_str(&String::from_utf8_lossy(&part[..read]));
    }
    text
}

/// Nothing if the connection was closed without an answer, as one of too many is.
fn page(address: &str) -> Option<Value> {
    let answer = ask(address, "/page.json", "Host: localhost\r\n", "");
    let (_, body) = answer.split_once("\r\n\r\n")?;
    let page = serde_json::from_str(body);
    Some(page.unwrap_or_else(|error| panic!("{error}: {answer}")))
}

#[test]
fn the_page_shows_book_orders_and_reasons_live_and_to_its_own_origin_only() {
    let stage = Stage::open("page", lively);
    stage.daemon("daemon", &stage.url(), quick);
    let mut daemon = stage.run("daemon");
    let address = stage.metrics("daemon", &mut daemon);
    let shown = until(SOON, "own orders in the book", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let page = page(&address)?;
        let orders = page["markets"][0]["orders"].as_array().cloned();
        orders.filter(|orders| orders.len() >= 2).map(|_| page)
    });
    let market = &shown["markets"][0];
    for side in ["bids", "asks"] {
        assert!(!market[side].as_array().unwrap().is_empty(), "{market}");
    }
    // Every own order on the page exists, with its price and id.
    let books = stage.books();
    let ours = books.orders.iter().filter_map(|order| order.client_id);
    let ours: Vec<_> = ours.map(|id| id.to_string()).collect();
    for order in market["orders"].as_array().unwrap() {
        if order["state"] == "live" {
            let id = order["id"].as_str().unwrap();
            assert!(ours.iter().any(|ours| ours == id), "{id}");
        }
    }
    assert!(
        shown["budget"]["all"][1].as_u64().unwrap() >= shown["budget"]["all"][0].as_u64().unwrap()
    );
    assert!(
        market["limits_used_bps"]
            .as_object()
            .unwrap()
            .contains_key("loss_day"),
        "{market}"
    );
    until(SOON, "two points of equity", || {
        (page(&address)?["equity"].as_array().unwrap().len() >= 2).then_some(())
    });
    // Live: an event with the whole page. Between two of them is the head of a chunk.
    let events = ask(&address, "/events", "Host: localhost\r\n", "}\n\n");
    assert!(
        events.contains("text/event-stream") && events.contains("data: {"),
        "{events}"
    );

    let html = ask(
        &address,
        "/",
        "Host: localhost\r\nAccept: text/html\r\n",
        "",
    );
    for part in [
        "<!doctype html>",
        "content-security-policy: default-src 'none'",
        "frame-ancestors 'none'",
        "nosniff",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(
        !html.to_lowercase().contains("access-control-allow"),
        "{html}"
    );
    assert!(
        ask(&address, "/", "Host: localhost\r\n", "").contains("/metrics"),
        "a list for programs"
    );
    // Another host name, and another page in the same browser.
    let refused = |headers: &str| {
        let answer = ask(&address, "/page.json", headers, "");
        assert!(answer.starts_with("HTTP/1.1 403"), "{headers}: {answer}");
        assert!(!answer.contains("ledger"), "{answer}");
    };
    refused("Host: evil.example\r\n");
    refused("Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\n");
    refused("Host: localhost\r\nSec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors\r\n");
    let link = "Host: localhost\r\nAccept: text/html\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    assert!(
        ask(&address, "/", link, "").starts_with("HTTP/1.1 200"),
        "a link is allowed"
    );
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}
