//! The client against a misbehaving server: every answer becomes one of the four outcomes, in bounded time and memory;
//! nothing is sent twice, and nothing is sent elsewhere.
#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![allow(clippy::disallowed_methods, reason = "deadlines are what is tested")]

mod server;

use std::time::{Duration, Instant};

use cambist_client::{CallError, Client, ClientConfig, Credentials, SecretString, SetupError};
use cambist_core::request::{OrderList, OrdersPage, Outcome, Query, Reply, UnknownCause};
use cambist_core::{
    Hash, MarketId, MarketSpec, OrderStatus, Price, Reason, TokenId, TokenSpec, VenueTime,
};
use cambist_signing::{SecretKey, Signature, request_signature};
use server::{Server, Step, answer, json, kept};

const API_KEY: &str = "canaryApiKey0123456789";
const SECRET: &str = "0x1234567890abcdef1234567890abcdef";
const ACK: &str =
    r#"{"hash":"0x0a","clientOrderId":"x","status":"processing","isIdempotent":false}"#;
const DATE: &str = "Date: Tue, 14 Nov 2023 22:13:20 GMT\r\n";

fn config(base_url: &str) -> ClientConfig {
    ClientConfig {
        timeout_ms: 1_000,
        connect_timeout_ms: 500,
        ..ClientConfig::new(base_url)
    }
}

fn credentials() -> Credentials {
    let key = SecretKey::from_hex(SECRET).unwrap();
    Credentials::new(10_000, None, Some(SecretString::from(API_KEY)), key)
}

fn client(server: &Server) -> Client {
    Client::new(&config(&server.url()), Some(credentials())).unwrap()
}

fn market() -> MarketSpec {
    let token = |id| TokenSpec {
        id: TokenId(id),
        symbol: format!("T{id}"),
        decimals: 18,
        precision: 6,
        minimum: 1,
        maximum: 1 << 90,
        dust: 0,
        enabled: true,
    };
    MarketSpec::new(MarketId(0), "ONE-TWO", token(0), token(1), 2, true).unwrap()
}

async fn submit(steps: Vec<Step>) -> (Outcome, Server) {
    let server = Server::start(vec![steps]).await;
    let answered = client(&server).submit(b"{\"stored\":\"bytes\"}").await;
    (answered.outcome, server)
}

#[tokio::test]
async fn stored_bytes_go_out_unchanged_with_the_key_and_nothing_else() {
    let (outcome, server) = submit(vec![Step::Send(json(200, DATE, ACK))]).await;
    assert_eq!(
        outcome,
        Outcome::Reply(Reply::Submitted {
            hash: Hash(std::array::from_fn(|at| if at == 31 { 10 } else { 0 })),
            status: OrderStatus::Processing,
            idempotent: false,
        })
    );
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let request = &requests[0];
    assert!(
        request.starts_with("POST /api/v3/order HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.ends_with("\r\n\r\n{\"stored\":\"bytes\"}"),
        "{request}"
    );
    let lower = request.to_ascii_lowercase();
    assert!(lower.contains(&format!("x-api-key: {}\r\n", API_KEY.to_ascii_lowercase())));
    assert!(lower.contains("content-type: application/json\r\n"));
    assert!(!lower.contains("x-api-sig"));
    assert!(
        !lower.contains("accept-encoding"),
        "compression is never requested"
    );
    assert!(!lower.contains("cookie"));
}

#[tokio::test]
async fn undecodable_answers_are_unknown() {
    let undecodable = Outcome::Unknown(UnknownCause::Undecodable);
    let html = "<html><body>502 Bad Gateway</body></html>";
    let long = "x".repeat(2 << 20);
    let cases = [
        (json(200, "", &ACK[..ACK.len() - 3]), undecodable.clone()),
        (json(200, "", ""), undecodable.clone()),
        (json(200, "", "[7]"), undecodable.clone()),
        (json(200, "", r#"{"hash":"0x1","hash":"0x2"}"#), undecodable.clone()),
        (json(200, "", &"[".repeat(100_000)), undecodable.clone()),
        (json(200, "", &format!("\"{long}\"")), undecodable.clone()),
        (answer(200, "Content-Type: text/html\r\n", ACK), undecodable.clone()),
        (
            answer(200, "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", ACK),
            undecodable.clone(),
        ),
        (json(404, "", ""), undecodable),
        (
            answer(502, "Content-Type: text/html\r\n", html),
            Outcome::Unknown(UnknownCause::ServerError),
        ),
        (json(503, "", ""), Outcome::Unknown(UnknownCause::ServerError)),
        (
            // Fewer bytes than announced, then the connection is closed.
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"hash\"".to_vec(),
            Outcome::Unknown(UnknownCause::Transport),
        ),
        (b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), Outcome::Unknown(UnknownCause::Transport)),
        (b"HTTP/1.1 200 OK\r\n".to_vec(), Outcome::Unknown(UnknownCause::Transport)),
        (Vec::new(), Outcome::Unknown(UnknownCause::Transport)),
        (
            format!("HTTP/1.1 200 OK\r\nX: {long}\r\n").into_bytes(),
            Outcome::Unknown(UnknownCause::Transport),
        ),
    ];
    for (bytes, expected) in cases {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(120)]).into_owned();
        let (outcome, server) = submit(vec![Step::Send(bytes)]).await;
        assert_eq!(outcome, expected, "{shown}");
        assert_eq!(server.requests().len(), 1, "sent once: {shown}");
        assert_eq!(server.connections(), 1, "no second connection: {shown}");
    }
}

#[tokio::test]
async fn an_endless_body_is_cut_at_the_cap() {
    let head =
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let (outcome, server) = submit(vec![Step::Send(head.to_vec()), Step::EndlessChunks]).await;
    assert_eq!(outcome, Outcome::Unknown(UnknownCause::Undecodable));
    // The kernel's buffers hold some bytes beyond the limit.
    assert!(
        server.sent_bytes().await < 32 << 20,
        "{}",
        server.sent_bytes().await
    );
}

#[tokio::test]
async fn a_slow_drip_and_silence_end_with_the_total_timeout() {
    let started = Instant::now();
    let head = json(200, "", ACK);
    let (first, rest) = head.split_at(head.len() - 20);
    let drip = vec![
        Step::Send(first.to_vec()),
        Step::Drip(rest.to_vec(), Duration::from_millis(200)),
    ];
    let (dripped, silent) = tokio::join!(submit(drip), submit(vec![Step::Silence]));
    assert_eq!(dripped.0, Outcome::Unknown(UnknownCause::Timeout));
    assert_eq!(silent.0, Outcome::Unknown(UnknownCause::Timeout));
    assert!(
        started.elapsed() < Duration::from_secs(3),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn a_reset_in_the_middle_is_unknown_and_sent_once() {
    let (outcome, server) = submit(vec![
        Step::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{".to_vec()),
        Step::Reset,
    ])
    .await;
    assert_eq!(outcome, Outcome::Unknown(UnknownCause::Transport));
    let (early, again) = submit(vec![Step::Reset]).await;
    assert_eq!(early, Outcome::Unknown(UnknownCause::Transport));
    assert_eq!(server.requests().len() + again.requests().len(), 2);
}

#[tokio::test]
async fn a_kept_connection_that_breaks_is_not_replaced_for_the_same_request() {
    let server = Server::start(vec![vec![
        Step::Send(kept(ACK)),
        Step::NextRequest,
        Step::Reset,
    ]])
    .await;
    let client = client(&server);
    assert!(matches!(
        client.submit(b"1").await.outcome,
        Outcome::Reply(_)
    ));
    assert_eq!(
        client.submit(b"2").await.outcome,
        Outcome::Unknown(UnknownCause::Transport)
    );
    let requests = server.requests();
    assert_eq!((requests.len(), server.connections()), (2, 1));
    assert!(requests[0].ends_with("\r\n1") && requests[1].ends_with("\r\n2"));
}

#[tokio::test]
async fn nothing_leaves_before_the_handshake() {
    // A server that reads everything and never completes a TLS handshake.
    let server = Server::start(vec![vec![]]).await;
    let base = server.url().replace("http://", "https://");
    match Client::new(&config(&base), Some(credentials())) {
        Ok(client) => assert_eq!(client.submit(b"{}").await.outcome, Outcome::NotSent),
        // On a machine without certificates a client for https cannot be created.
        Err(error) => assert!(matches!(error, SetupError::Tls(_)), "{error}"),
    }
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn redirects_are_never_followed() {
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = Server::start(vec![vec![Step::Send(json(200, "", ACK))]]).await;
        let to = format!("Location: {}/api/v3/order\r\n", elsewhere.url());
        let (outcome, _) = submit(vec![Step::Send(json(status, &to, ACK))]).await;
        assert_eq!(
            outcome,
            Outcome::Unknown(UnknownCause::Redirect),
            "{status}"
        );
        assert_eq!(elsewhere.connections(), 0, "{status}");
    }
}

#[tokio::test]
async fn a_rate_limit_is_a_refusal_with_its_wait() {
    let body = r#"{"resultInfo":{"code":429,"message":"too many requests"}}"#;
    let server = Server::start(vec![vec![Step::Send(json(
        429,
        "Retry-After: 2\r\n",
        body,
    ))]])
    .await;
    let answered = client(&server).query(&Query::Balances, &[]).await;
    assert_eq!(answered.outcome, Outcome::Refused(Reason::RateLimited));
    assert_eq!(answered.retry_after_ms, Some(2_000));
    assert_eq!(answered.http_status, Some(429));
}

#[tokio::test]
async fn refusals_carry_code_time_and_an_escaped_text() {
    let body = r#"{"resultInfo":{"code":102011,"message":"no\u001b[2J funds"}}"#;
    let server = Server::start(vec![vec![Step::Send(json(400, DATE, body))]]).await;
    let answered = client(&server).submit(b"{}").await;
    assert_eq!(
        answered.outcome,
        Outcome::Refused(Reason::InsufficientBalance)
    );
    assert_eq!(answered.venue_time, Some(VenueTime(1_700_000_000_000)));
    assert_eq!(answered.detail.as_deref(), Some("no\\u{1b}[2J funds"));
}

#[tokio::test]
async fn a_gateways_clock_is_not_the_venues() {
    let server = Server::start(vec![vec![Step::Send(json(502, DATE, ""))]]).await;
    assert_eq!(client(&server).submit(b"{}").await.venue_time, None);
}

#[tokio::test]
async fn a_refused_connection_is_not_sent() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let base = format!("http://127.0.0.1:{port}");
    let client = Client::new(&config(&base), Some(credentials())).unwrap();
    let answered = client.submit(b"{}").await;
    assert_eq!(answered.outcome, Outcome::NotSent);
    assert!(matches!(
        client.markets().await,
        Err(CallError::NotSent { .. })
    ));
    let anonymous = Client::new(&config(&base), None).unwrap();
    assert_eq!(anonymous.submit(b"{}").await.outcome, Outcome::NotSent);
    assert!(matches!(
        anonymous.api_key().await,
        Err(CallError::NoCredentials { .. })
    ));
}

#[tokio::test]
async fn cancels_are_signed_over_what_is_sent() {
    let hash = Hash([0xab; 32]);
    let ack = format!(
        r#"{{"hash":"{hash}","clientOrderId":"x","status":"cancelling","isIdempotent":false}}"#
    );
    let server = Server::start(vec![vec![Step::Send(json(200, "", &ack))]]).await;
    let answered = client(&server).query(&Query::Cancel(hash), &[]).await;
    assert_eq!(
        answered.outcome,
        Outcome::Reply(Reply::CancelTaken {
            status: OrderStatus::Cancelling
        })
    );
    let request = server.requests().remove(0);
    let target = format!("DELETE /api/v3/order?accountId=10000&orderHash={hash} HTTP/1.1\r\n");
    assert!(request.starts_with(&target), "{request}");
    let header = request
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("x-api-sig: ")
                .map(str::to_owned)
        })
        .unwrap();
    let signature = Signature::from_hex(&header).unwrap();
    let text = hash.to_string();
    let params = [("accountId", "10000"), ("orderHash", text.as_str())];
    let public = SecretKey::from_hex(SECRET).unwrap().public();
    let base = server.url();
    for canonical in [
        request_signature::sdk_form("DELETE", &base, "/api/v3/order", &params),
        request_signature::docs_form("DELETE", &base, "/api/v3/order", &params),
    ] {
        assert!(public.verify(&request_signature::message(&canonical), &signature));
    }
    // An answer about another order is not a usable answer.
    let server = Server::start(vec![vec![Step::Send(json(200, "", ACK))]]).await;
    assert_eq!(
        client(&server)
            .query(&Query::Cancel(hash), &[])
            .await
            .outcome,
        Outcome::Unknown(UnknownCause::Undecodable)
    );
}

#[tokio::test]
async fn polls_are_sent_and_decoded_exactly() {
    let depth = r#"{"version":7,"timestamp":1700000000123,"market":"ONE-TWO",
        "bids":[["2499.99","1000","2499990","1"]],"asks":[["2500.01","5","12500","2"]]}"#;
    let server = Server::start(vec![
        vec![Step::Send(json(200, DATE, depth))],
        vec![Step::Send(json(
            200,
            "",
            &depth.replace("2500.01", "2500.011"),
        ))],
        vec![Step::Send(json(200, "", r#"{"totalNum":0,"orders":[]}"#))],
    ])
    .await;
    let client = client(&server);
    let markets = [market()];
    let answered = client.query(&Query::Depth(MarketId(0)), &markets).await;
    assert_eq!(answered.venue_time, Some(VenueTime(1_700_000_000_123)));
    let Outcome::Reply(Reply::Depth(depth)) = answered.outcome else {
        panic!("{answered:?}");
    };
    assert_eq!((depth.version, depth.bids[0].price), (7, Price(249_999)));
    assert_eq!(depth.asks[0].price, Price(250_001));
    assert_eq!(
        client
            .query(&Query::Depth(MarketId(0)), &markets)
            .await
            .outcome,
        Outcome::Unknown(UnknownCause::Undecodable),
        "a price between the ticks"
    );
    let page = OrdersPage {
        from: VenueTime(5),
        to: VenueTime(9),
        offset: 50,
        limit: 50,
        list: OrderList::All,
    };
    let answered = client.query(&Query::Orders(page), &markets).await;
    assert!(matches!(
        answered.outcome,
        Outcome::Reply(Reply::Orders { total: 0, .. })
    ));
    let requests = server.requests();
    assert!(requests[0].starts_with("GET /api/v3/depth?level=0&limit=50&market=ONE-TWO HTTP"));
    assert!(
        requests[2].starts_with(
            "GET /api/v3/orders?accountId=10000&end=9&limit=50&offset=50&start=5 HTTP"
        )
    );
}

#[tokio::test]
async fn the_api_key_is_fetched_and_replaced_with_signatures() {
    let server = Server::start(vec![
        vec![Step::Send(json(200, "", r#"{"timestamp":1800000000123}"#))],
        vec![Step::Send(json(200, "", r#"{"apiKey":"fresh"}"#))],
        vec![Step::Send(json(200, "", r#"{"apiKey":"fresher"}"#))],
        vec![Step::Send(json(
            200,
            "",
            "{\"apiKey\":\"canary\\nsecret\"}",
        ))],
        vec![Step::Send(json(
            400,
            "",
            r#"{"resultInfo":{"code":104002,"message":"m"}}"#,
        ))],
    ])
    .await;
    let client = client(&server);
    let first = client.api_key().await.unwrap();
    let client = client.with_api_key(&first).unwrap();
    client.rotate_api_key().await.unwrap();
    let refused = client.rotate_api_key().await.unwrap_err();
    assert!(matches!(refused, CallError::Unknown { .. }));
    assert!(!format!("{refused} {refused:?}").contains("canary"));
    let refused = client.storage_id(TokenId(1), true).await.unwrap_err();
    assert!(matches!(
        refused,
        CallError::Refused {
            reason: Reason::InvalidApiKey,
            ..
        }
    ));
    let requests: Vec<_> = server
        .requests()
        .iter()
        .map(|text| text.to_ascii_lowercase())
        .collect();
    assert!(requests[0].starts_with("get /api/v3/timestamp http"));
    assert!(
        requests[1].starts_with("get /api/v3/apikey?accountid=10000&timestamp=1800000000123 http")
    );
    assert!(!requests[1].contains("x-api-key"));
    assert!(requests[1].contains("x-api-sig: 0x"));
    assert!(requests[2].starts_with("post /api/v3/apikey http"));
    assert!(requests[2].contains("x-api-key: fresh\r\n"));
    assert!(requests[2].contains("x-api-sig: 0x"));
    assert!(requests[2].ends_with("\r\n\r\n{\"accountid\":10000}"));
    assert!(
        requests[4]
            .starts_with("get /api/v3/storageid?accountid=10000&maxnext=true&selltokenid=1 http")
    );
}

#[test]
fn debug_output_and_errors_hold_no_secret() {
    let credentials = credentials();
    let config = config("http://127.0.0.1:1");
    let client = Client::new(&config, Some(credentials.clone())).unwrap();
    let shown = format!(
        "{client:?} {credentials:?} {config:?} {:#?}",
        client.base_url()
    );
    let digits = SECRET.trim_start_matches("0x");
    assert!(shown.contains("10000"));
    assert!(!shown.contains(API_KEY), "{shown}");
    assert!(!shown.contains(digits), "{shown}");
    for bad in ["", "two\nlines", "ключ"] {
        let error = Client::new(
            &config,
            Some(Credentials::new(
                1,
                None,
                Some(SecretString::from(bad)),
                SecretKey::from_hex("0x1").unwrap(),
            )),
        )
        .unwrap_err();
        assert!(!error.to_string().contains("lines"));
    }
}

#[test]
fn a_client_without_limits_cannot_be_made() {
    for zero in ["timeout_ms", "connect_timeout_ms", "idle_ms"] {
        let mut config = config("http://127.0.0.1:1");
        match zero {
            "timeout_ms" => config.timeout_ms = 0,
            "connect_timeout_ms" => config.connect_timeout_ms = 0,
            _ => config.idle_ms = 0,
        }
        let error = Client::new(&config, None).unwrap_err();
        assert_eq!(error.to_string(), format!("{zero} must not be 0"));
    }
}
