//! Slow, oversized, idle, old and invalid connections; panics and inconsistent books.

use std::time::Duration;

use cambist_server::{MachineError, RunError};
use cambist_venue::Operator;

use crate::support::{BASE, Call, Exchange, config};

#[test]
fn unknown_paths_and_methods_have_a_body_too() {
    let exchange = Exchange::start();
    let missing = exchange.ask(&Call::get("/api/v3/nothing"));
    assert_eq!((missing.status, missing.any_code()), (404, 100_001));
    assert_eq!(exchange.ask(&Call::get("/api/v3/order/")).status, 404);
    assert_eq!(exchange.ask(&Call::get("/api/v2/order")).status, 404);
    for method in ["PUT", "PATCH", "OPTIONS", "BREW"] {
        let wrong = exchange.ask(&Call::new(method, "/api/v3/order"));
        assert_eq!((wrong.status, wrong.any_code()), (405, 100_001));
        assert_eq!(wrong.header("content-type"), Some("application/json"));
        let allowed = wrong.header("allow").unwrap_or_default();
        assert!(
            allowed.contains("DELETE") && allowed.contains("POST"),
            "{allowed}"
        );
    }
    assert!(missing.header("date").is_some());
}

#[test]
fn an_oversized_body_is_refused_however_it_is_announced() {
    let exchange = Exchange::start();
    let alice = exchange.customer(1);
    let padded = |bytes: usize| {
        let empty = format!("{{\"accountId\":{},\"x\":\"\"}}", alice.account.0);
        let filler = "x".repeat(bytes - empty.len());
        let body = format!("{{\"accountId\":{},\"x\":\"{filler}\"}}", alice.account.0);
        Call::new("POST", "/api/v3/apiKey").body(body)
    };
    // No signature is required here, so the largest allowed body is read.
    let largest = alice.with_key(padded(65_536));
    exchange.ask(&largest).good();
    let reply = exchange.ask(&alice.with_key(padded(65_537)));
    assert_eq!((reply.status, reply.any_code()), (413, 100_001));
    assert_eq!(reply.header("connection"), Some("close"));

    let mut chunked = exchange.connect();
    chunked.send(b"POST /api/v3/order HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    let chunk = format!("8000\r\n{}\r\n", "x".repeat(0x8000));
    for _ in 0..3 {
        chunked.send(chunk.as_bytes());
    }
    assert_eq!(chunked.reply().unwrap().status, 413);
    assert!(chunked.is_closed());
}

/// Nothing of the bodies is sent: one that is announced above the limit is refused for its length, where the bound on
/// bodies that do not come gave 408, and one of the limit is waited for.
#[test]
fn a_body_that_is_announced_above_the_limit_is_refused_before_it_comes() {
    let exchange = Exchange::start();
    let announce = |bytes: u64| {
        let mut connection = exchange.connect();
        let head =
            format!("POST /api/v3/order HTTP/1.1\r\nHost: x\r\nContent-Length: {bytes}\r\n\r\n");
        connection.send(head.as_bytes());
        connection
    };
    for bytes in [65_537, u64::from(u32::MAX), u64::MAX - 2] {
        let mut above = announce(bytes);
        let reply = above.reply().unwrap();
        assert_eq!((reply.status, reply.any_code()), (413, 100_001), "{bytes}");
        let message = reply.message();
        assert!(message.contains(&bytes.to_string()), "{message}");
        assert!(message.contains("65536"), "{message}");
        assert_eq!(reply.header("connection"), Some("close"));
        assert!(above.is_closed());
    }
    let mut limit = announce(65_536);
    std::thread::sleep(Duration::from_millis(300));
    limit.send("x".repeat(65_536).as_bytes());
    let reply = limit.reply().unwrap();
    assert_eq!((reply.status, reply.any_code()), (400, 104_001));
}

#[test]
fn oversized_heads_and_invalid_requests_close_the_connection() {
    let exchange = Exchange::start();
    let mut long = exchange.connect();
    let head = format!(
        "GET /api/v3/order HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n",
        "x".repeat(40_000)
    );
    long.send(head.as_bytes());
    assert_eq!(long.reply().map(|reply| reply.status), Some(431));
    let mut many = exchange.connect();
    let lines = "X-Line: 1\r\n".repeat(80);
    many.send(format!("GET /api/v3/order HTTP/1.1\r\nHost: x\r\n{lines}\r\n").as_bytes());
    assert_eq!(many.reply().map(|reply| reply.status), Some(431));
    let mut nonsense = exchange.connect();
    nonsense.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n");
    assert_eq!(nonsense.reply().map(|reply| reply.status), Some(400));
    assert!(nonsense.is_closed());
    let query = "a=1&".repeat(3_000);
    let call = Call::get(format!("/api/v3/depth?{query}"));
    assert_eq!(exchange.ask(&call).code(), 100_001);
    let binary = Call::get("/api/v3/orders?accountId=1").header("X-API-KEY", "k\u{e9}y");
    assert_eq!(exchange.ask(&binary).code(), 104_002);
}

#[test]
fn slow_and_idle_connections_are_closed() {
    let mut config = config();
    // Long enough for a busy machine to send a head, short enough for a test.
    config.connections.head_timeout_ms = 500;
    config.connections.body_timeout_ms = 50;
    let exchange = Exchange::with(&config);
    let mut head = exchange.connect();
    head.send(b"GET /api/v3/exch");
    assert!(head.is_closed(), "half a head");
    assert!(exchange.connect().is_closed(), "nothing at all");
    let mut idle = exchange.connect();
    idle.ask(&Call::get("/api/v3/timestamp")).good();
    assert!(idle.is_closed(), "nothing after an answer");
    let mut body = exchange.connect();
    body.send(b"POST /api/v3/order HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"acc");
    let reply = body.reply().unwrap();
    assert_eq!((reply.status, reply.any_code()), (408, 100_001));
    assert!(body.is_closed());
}

#[test]
fn idle_connections_from_many_addresses_do_not_block_other_clients() {
    let mut config = config();
    config.connections.connections_max = 40;
    config.connections.connections_per_address_max = 10;
    let exchange = Exchange::with(&config);
    let alice = exchange.customer(1);
    let balances = alice.get("/api/v3/user/balances?accountId={account}");
    let mut known = exchange.connect_from([127, 0, 0, 10]);
    known.ask(&balances).good();
    let mut first = exchange.connect_from([127, 0, 0, 1]);
    let mut idle = Vec::new();
    // Silent, in the middle of a head, in the middle of a body; more connections than places.
    let starts = [
        "",
        "GET /api/v3/exch",
        "POST /api/v3/order HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"acc",
    ];
    for round in 0..3 {
        for host in 1..=5 {
            for start in starts.iter().cycle().take(10) {
                let mut connection = exchange.connect_from([127, 0, 0, host]);
                connection.send(start.as_bytes());
                idle.push(connection);
            }
        }
        let mut stranger = exchange.connect_from([127, 0, 0, 11]);
        stranger.ask(&Call::get("/api/v3/timestamp")).good();
        known.ask(&balances).good();
        assert_eq!(idle.len(), (round + 1) * 50);
    }
    assert!(
        first.is_closed(),
        "the one that was idle longest is evicted first"
    );
}

#[test]
fn an_address_at_its_bound_loses_its_own_idle_connections() {
    let mut config = config();
    config.connections.connections_per_address_max = 2;
    let exchange = Exchange::with(&config);
    let now = Call::get("/api/v3/timestamp");
    let [mut first, mut second, mut third] = [1, 1, 1].map(|_| exchange.connect());
    second.ask(&now).good();
    third.ask(&now).good();
    assert!(first.is_closed());
    let mut other = exchange.connect_from([127, 0, 0, 2]);
    other.ask(&now).good();
    second.ask(&now).good();
}

#[test]
fn an_old_connection_is_closed_with_its_answer() {
    let mut config = config();
    config.connections.connection_age_max_ms = 0;
    let exchange = Exchange::with(&config);
    let mut connection = exchange.connect();
    // The timer fires within a millisecond or two, after many answers.
    let closed = (0..10_000).any(|_| {
        let reply = connection.ask(&Call::get("/api/v3/amm/pools"));
        reply.good();
        reply.header("connection") == Some("close")
    });
    assert!(closed);
    assert!(connection.is_closed());
}

#[test]
fn an_answer_for_head_has_no_body_and_pipelining_keeps_its_order() {
    let exchange = Exchange::start();
    let mut connection = exchange.connect();
    let get = |path: &str| format!("GET /api/v3/{path} HTTP/1.1\r\nHost: x\r\n\r\n");
    let both = get("amm/pools") + &get("exchange/markets");
    connection.send(both.as_bytes());
    assert!(connection.reply().unwrap().good().get("pools").is_some());
    assert!(connection.reply().unwrap().good().get("markets").is_some());
}

#[test]
fn a_panic_in_the_state_machine_ends_the_exchange() {
    let mut exchange = Exchange::start();
    let alice = exchange.customer(1);
    let handle = exchange.handle.clone();
    let mut connection = exchange.connect();
    connection.ask(&Call::get("/api/v3/timestamp")).good();
    let broken = std::thread::spawn(move || {
        let _ = handle.read(|_| panic!("a test breaks the machine"));
    });
    assert!(broken.join().is_err());
    assert_eq!(exchange.handle.audit(), Err(MachineError::Broken));
    let input = Operator::Deposit {
        account: alice.account,
        token: BASE,
        amount: 1,
    };
    assert_eq!(exchange.handle.operate(input), Err(MachineError::Broken));
    // It ends without a shutdown.
    assert!(matches!(exchange.wait(), Err(RunError::Broken)));
    assert!(exchange.refuses_connections());
    assert!(connection.is_closed());
    // Its audits cannot pass any more.
    std::mem::forget(exchange);
}
