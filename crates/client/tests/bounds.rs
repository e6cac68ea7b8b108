//! What a client reads at most, which keys go where, and every class of answer to webhooks and public pages: from a
//! real server.
#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

#[expect(dead_code, reason = "shared with the other test programs")]
mod server;

use cambist_client::{
    CallError, Client, ClientConfig, Credentials, PublicError, PublicReader, PublicUrl,
    SecretString, SetupError, Webhook, WebhookError,
};
use cambist_core::request::{Endpoint, OrderList, OrdersPage, Outcome, Query, Reply, UnknownCause};
use cambist_core::{Hash, OrderStatus, Reason, TokenId, VenueTime};
use cambist_protocol::query::AccountQuery;
use cambist_signing::SecretKey;
use server::{Server, Step, answer, json};

/// Most bytes of an answer and of a list in these tests.
const BODY: usize = 300;
const LIST: usize = 700;

fn config(base_url: &str) -> ClientConfig {
    ClientConfig {
        body_max_bytes: BODY,
        list_body_max_bytes: LIST,
        ..ClientConfig::new(base_url)
    }
}

fn client(server: &Server) -> Client {
    let key = SecretKey::from_hex("0x1234").unwrap();
    let api_key = SecretString::from("the-api-key");
    let credentials = Credentials::new(4711, None, Some(api_key), key);
    Client::new(&config(&server.url()), Some(credentials)).unwrap()
}

/// The text with spaces behind it, so that it has this many bytes.
fn padded(text: &str, bytes: usize) -> String {
    format!("{text:<bytes$}")
}

fn chunked(body: &str) -> Vec<u8> {
    let (first, second) = body.split_at(body.len() / 2);
    let chunk = |part: &str| format!("{:x}\r\n{part}\r\n", part.len());
    format!(
        "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Transfer-Encoding: chunked\r\n\r\n{}{}0\r\n\r\n",
        chunk(first),
        chunk(second)
    )
    .into_bytes()
}

#[tokio::test]
async fn bodies_are_read_up_to_their_bound_and_no_further() {
    let page = OrdersPage {
        list: OrderList::All,
        from: VenueTime(5),
        to: VenueTime(9),
        offset: 0,
        limit: 50,
    };
    let hash = Hash([0xab; 32]);
    let cancelled = format!(
        r#"{{"hash":"{hash}","clientOrderId":"x","status":"cancelling","isIdempotent":false}}"#
    );
    for (query, body, most) in [
        (Query::Cancel(hash), cancelled.as_str(), BODY),
        (Query::Orders(page), r#"{"totalNum":0,"orders":[]}"#, LIST),
    ] {
        for (bytes, is_read) in [(most - 1, true), (most, true), (most + 1, false)] {
            let body = padded(body, bytes);
            for sent in [json(200, "", &body), chunked(&body)] {
                let server = Server::start(vec![vec![Step::Send(sent)]]).await;
                let answered = client(&server).query(&query, &[]).await;
                assert_eq!(answered.http_status, Some(200));
                if is_read {
                    assert!(
                        matches!(answered.outcome, Outcome::Reply(_)),
                        "{bytes} bytes: {answered:?}"
                    );
                } else {
                    let cause = Outcome::Unknown(UnknownCause::Undecodable);
                    assert_eq!(answered.outcome, cause, "{bytes} bytes");
                    let detail = format!("body larger than {most} bytes");
                    assert_eq!(answered.detail, Some(detail));
                }
            }
        }
    }
}

/// A body that is announced as too large is not waited for.
#[tokio::test]
async fn an_announced_size_is_enough_to_refuse_a_body() {
    let head = format!(
        "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        BODY + 1
    );
    let script = vec![Step::Send(head.into_bytes()), Step::Silence];
    let server = Server::start(vec![script]).await;
    let answered = client(&server).submit(b"{}").await;
    let undecodable = Outcome::Unknown(UnknownCause::Undecodable);
    assert_eq!(answered.outcome, undecodable, "{answered:?}");
}

#[tokio::test]
async fn calls_of_a_start_read_lists() {
    let markets = padded(r#"{"markets":[]}"#, LIST);
    let too_many = padded(r#"{"markets":[]}"#, LIST + 1);
    let server = Server::start(vec![
        vec![Step::Send(json(200, "", &markets))],
        vec![Step::Send(json(200, "", &too_many))],
    ])
    .await;
    let client = client(&server);
    assert_eq!(client.markets().await.unwrap(), []);
    let error = client.markets().await.unwrap_err();
    let CallError::Unknown { call, detail, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(
        (call, detail.as_str()),
        ("markets", "body larger than 700 bytes")
    );
}

/// "received" is a status of pool transactions, and none of orders.
#[tokio::test]
async fn acknowledgements_are_read_by_what_was_sent() {
    let hash = format!("0x{:064x}", 10);
    let ack = |status: &str| {
        let body = format!(
            r#"{{"hash":"{hash}","clientOrderId":"x","status":"{status}","isIdempotent":true}}"#
        );
        vec![Step::Send(json(200, "", &body))]
    };
    let taken = |status| {
        let hash = Hash(std::array::from_fn(|at| if at == 31 { 10 } else { 0 }));
        Outcome::Reply(Reply::Submitted {
            hash,
            status,
            idempotent: true,
        })
    };
    for (endpoint, path, status, expected) in [
        (
            Endpoint::Submit,
            "/api/v3/order",
            "processing",
            taken(OrderStatus::Processing),
        ),
        (
            Endpoint::Submit,
            "/api/v3/order",
            "received",
            taken(OrderStatus::Other),
        ),
        (
            Endpoint::Join,
            "/api/v3/amm/join",
            "received",
            taken(OrderStatus::Processing),
        ),
        (
            Endpoint::Exit,
            "/api/v3/amm/exit",
            "received",
            taken(OrderStatus::Processing),
        ),
    ] {
        let server = Server::start(vec![ack(status)]).await;
        let answered = client(&server).submit_to(endpoint, b"{\"a\":1}").await;
        assert_eq!(
            answered.outcome, expected,
            "{endpoint:?} {status}: {answered:?}"
        );
        let request = server.requests().remove(0);
        assert!(
            request.starts_with(&format!("POST {path} HTTP/1.1\r\n")),
            "{request}"
        );
        assert!(
            request
                .to_ascii_lowercase()
                .contains("x-api-key: the-api-key\r\n")
        );
        assert!(request.ends_with("\r\n\r\n{\"a\":1}"), "{request}");
    }
}

/// The later of the answer's own time and its `Date` is the bound of the venue's clock.
#[tokio::test]
async fn the_later_of_two_times_counts() {
    let market = {
        let token = |id| cambist_core::TokenSpec {
            id: TokenId(id),
            symbol: format!("T{id}"),
            decimals: 18,
            precision: 6,
            minimum: 1,
            maximum: 1 << 90,
            dust: 0,
            enabled: true,
        };
        let id = cambist_core::MarketId(0);
        cambist_core::MarketSpec::new(id, "ONE-TWO", token(0), token(1), 2, true).unwrap()
    };
    let markets = [market];
    let date = "Date: Tue, 14 Nov 2023 22:13:20 GMT\r\n";
    let header = 1_700_000_000_000;
    for (stated, expected) in [(header - 1, header), (header + 1, header + 1)] {
        let body = format!(r#"{{"version":7,"timestamp":{stated},"bids":[],"asks":[]}}"#);
        let server = Server::start(vec![vec![Step::Send(json(200, date, &body))]]).await;
        let query = Query::Depth(cambist_core::MarketId(0));
        let answered = client(&server).query(&query, &markets).await;
        assert_eq!(
            answered.venue_time,
            Some(VenueTime(expected)),
            "{answered:?}"
        );
    }
}

/// Public requests carry no key.
#[tokio::test]
async fn keys_are_sent_where_they_are_needed() {
    let script = || vec![Step::Send(json(200, "", "{}"))];
    let server = Server::start(vec![script(), script(), script()]).await;
    let client = client(&server);
    client.query(&Query::Markets, &[]).await;
    client.query(&Query::Balances, &[]).await;
    client
        .submit_request(
            cambist_protocol::Endpoint::Transfer,
            b"{}",
            Some("0xsigned"),
        )
        .await
        .unwrap_err();
    let requests: Vec<_> = server
        .requests()
        .iter()
        .map(|text| text.to_ascii_lowercase())
        .collect();
    let has = |at: usize, header: &str| requests[at].contains(header);
    assert!(has(1, "x-api-key: the-api-key\r\n"));
    assert!(!has(0, "x-api-sig") && !has(1, "x-api-sig"));
    assert!(has(2, "x-api-sig: 0xsigned\r\n"), "{}", requests[2]);
    let anonymous = Client::new(&config(&server.url()), None).unwrap();
    assert_eq!(anonymous.account_id(), None);
    let answered = anonymous.query(&Query::Balances, &[]).await;
    assert_eq!(answered.outcome, Outcome::NotSent);
    assert_eq!(answered.detail.as_deref(), Some("no credentials"));
    let unknown = Query::Depth(cambist_core::MarketId(3));
    let answered = client.query(&unknown, &[]).await;
    assert_eq!(answered.outcome, Outcome::NotSent);
    assert_eq!(
        answered.detail.as_deref(),
        Some("market or pool is not configured, or the interface has no such request")
    );
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_refused_call_has_its_reason_and_its_wait() {
    let body = r#"{"resultInfo":{"code":104002,"message":"key is old"}}"#;
    let script = vec![Step::Send(json(401, "Retry-After: 7\r\n", body))];
    let server = Server::start(vec![script]).await;
    let error = client(&server)
        .storage_id(TokenId(3), false)
        .await
        .unwrap_err();
    let expected = CallError::Refused {
        call: "storage_id",
        reason: Reason::InvalidApiKey,
        is_numbered: true,
        detail: "key is old".to_owned(),
        retry_after_ms: Some(7_000),
    };
    assert_eq!(error, expected);
    let request = server.requests().remove(0);
    assert!(
        request.starts_with("GET /api/v3/storageId?accountId=4711&sellTokenId=3 HTTP"),
        "{request}"
    );
    assert!(
        request
            .to_ascii_lowercase()
            .contains("x-api-key: the-api-key\r\n")
    );
}

#[tokio::test]
async fn a_webhook_is_delivered_by_2xx_alone() {
    let text =
        |status: u16, headers: &str| vec![Step::Send(answer(status, headers, "no matter what"))];
    let refused = |status, retry_after_ms| {
        Err(WebhookError::Status {
            status,
            retry_after_ms,
        })
    };
    for (status, headers, expected) in [
        (200, "", Ok(())),
        (201, "", Ok(())),
        (299, "", Ok(())),
        (300, "", refused(300, None)),
        (307, "Location: http://127.0.0.1:1/\r\n", refused(307, None)),
        (400, "", refused(400, None)),
        (429, "Retry-After: 3\r\n", refused(429, Some(3_000))),
        (500, "", refused(500, None)),
    ] {
        let server = Server::start(vec![text(status, headers)]).await;
        let webhook = Webhook::new(&format!("{}/secret/path", server.url())).unwrap();
        assert_eq!(webhook.post(b"{\"text\":1}".to_vec()).await, expected);
        let requests = server.requests();
        assert_eq!(requests.len(), 1, "sent once");
        assert!(requests[0].starts_with("POST /secret/path HTTP/1.1\r\n"));
        assert!(requests[0].ends_with("\r\n\r\n{\"text\":1}"));
    }
    // Without a whole answer the message may not have arrived.
    let most = 16 << 10;
    for (script, arrives) in [
        (vec![Step::Reset], false),
        (vec![Step::Send(answer(200, "", &padded("", most)))], true),
        (
            vec![Step::Send(answer(200, "", &padded("", most + 1)))],
            false,
        ),
    ] {
        let server = Server::start(vec![script]).await;
        let webhook = Webhook::new(&format!("{}/secret", server.url())).unwrap();
        let sent = webhook.post(Vec::new()).await;
        assert_eq!(sent.is_ok(), arrives, "{sent:?}");
        if let Err(error) = sent {
            assert!(matches!(error, WebhookError::Failed(_)), "{error:?}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_public_page_is_what_200_brings() {
    let long = "y".repeat(500);
    let shown = format!("{}…", "y".repeat(200));
    let status = |status, body: &str| {
        Err(PublicError::Status {
            status,
            body: body.to_owned(),
        })
    };
    let limited = |retry_after_ms| Err(PublicError::RateLimited { retry_after_ms });
    for (bytes, expected) in [
        (json(200, "", "{}"), Ok(b"{}".to_vec())),
        (
            answer(200, "", "not even JSON"),
            Ok(b"not even JSON".to_vec()),
        ),
        (json(201, "", "{}"), status(201, "{}")),
        (json(404, "", ""), status(404, "")),
        (json(503, "", &long), status(503, &shown)),
        (json(429, "", ""), limited(None)),
        (json(429, "Retry-After: 5\r\n", ""), limited(Some(5_000))),
        (json(200, "", &padded("", LIST)), Ok(vec![b' '; LIST])),
    ] {
        let server = Server::start(vec![vec![Step::Send(bytes)]]).await;
        let url = PublicUrl::parse(&format!("{}/book?a=b", server.url())).unwrap();
        let reader = PublicReader::new(&config(""), url).unwrap();
        assert_eq!(reader.get().await, expected);
        let request = server.requests().remove(0);
        assert!(
            request.starts_with("GET /book?a=b HTTP/1.1\r\n"),
            "{request}"
        );
    }
    for script in [
        vec![Step::Reset],
        vec![Step::Send(json(200, "", &padded("", LIST + 1)))],
    ] {
        let server = Server::start(vec![script]).await;
        let url = PublicUrl::parse(&server.url()).unwrap();
        let read = PublicReader::new(&config(""), url).unwrap().get().await;
        assert!(matches!(read, Err(PublicError::Failed(_))), "{read:?}");
    }
}

/// Every call of a start: what is asked for, and that the answer is read.
#[tokio::test]
async fn every_call_has_its_page() {
    let address = format!("0x{}", "c0".repeat(20));
    let parsed: cambist_signing::Address = address.parse().unwrap();
    let key = SecretKey::from_hex("0x1234").unwrap().public();
    let token = format!(
        r#"{{"type":"ERC20","tokenId":3,"symbol":"ONE","name":"One","address":"{address}","decimals":18,"precision":6,"orderAmounts":{{"minimum":"1","maximum":"9","dust":"0"}},"fastWithdrawLimit":"2","enabled":true}}"#
    );
    let pool = format!(
        r#"{{"name":"LP","market":"AMM-ONE-TWO","address":"{address}","version":"1.0.0","tokens":{{"pooled":[1,2],"lp":4}},"feeBips":20,"precisions":{{"price":6,"amount":6}},"status":7}}"#
    );
    let volume = |token, volume| format!(r#"{{"tokenId":"{token}","volume":"{volume}"}}"#);
    let bodies = [
        format!(
            r#"{{"chainId":5,"exchangeAddress":"{address}","depositAddress":"{address}","onchainFees":[],"updateFees":[],"transferFees":[],"withdrawalFees":[]}}"#
        ),
        format!("[{token}]"),
        r#"{"markets":[{"market":"ONE-TWO","baseTokenId":1,"quoteTokenId":2,"precisionForPrice":3,"orderbookAggLevels":4,"enabled":true}]}"#.to_owned(),
        format!(r#"{{"pools":[{pool}]}}"#),
        format!(
            r#"{{"pooled":[{},{}],"lp":{}}}"#,
            volume(1, 11),
            volume(2, 12),
            volume(4, 13)
        ),
        format!(
            r#"{{"accountId":4711,"owner":"{address}","frozen":false,"publicKey":{{"x":"{}","y":"{}"}},"tags":"","nonce":6,"keyNonce":0,"keySeed":""}}"#,
            key.x.to_hex(),
            key.y.to_hex()
        ),
        r#"{"timestamp":1700000000123}"#.to_owned(),
        r#"{"orderId":14,"offchainId":15}"#.to_owned(),
        format!(r#"{{"hash":"0x{:064x}","status":"processing","isIdempotent":false}}"#, 16),
    ];
    let scripts = bodies
        .iter()
        .map(|body| vec![Step::Send(json(200, "", body))]);
    let server = Server::start(scripts.collect()).await;
    let client = client(&server);
    let config = ClientConfig::new(&server.url());
    let client = {
        let key = SecretKey::from_hex("0x1234").unwrap();
        let api_key = SecretString::from("the-api-key");
        let credentials = Credentials::new(client.account_id().unwrap(), None, Some(api_key), key);
        Client::new(&config, Some(credentials)).unwrap()
    };
    let info = client.exchange_info().await.unwrap();
    assert_eq!((info.chain_id, info.exchange_address), (5, parsed));
    assert_eq!(client.tokens().await.unwrap()[0].symbol, "ONE");
    assert_eq!(client.markets().await.unwrap()[0].market, "ONE-TWO");
    assert_eq!(client.pools().await.unwrap()[0].name, "LP");
    let pool = client.pool_balance(parsed).await.unwrap();
    assert_eq!(pool.lp.volume, 13);
    let account = client.account(AccountQuery::Id(4711)).await.unwrap();
    assert_eq!(account.account_id, 4711);
    assert_eq!(client.timestamp().await.unwrap(), 1_700_000_000_123);
    let ids = client.storage_id(TokenId(3), true).await.unwrap();
    assert_eq!((ids.order_id, ids.offchain_id), (14, 15));
    let sent = client
        .submit_request(cambist_protocol::Endpoint::Transfer, b"{}", None)
        .await;
    assert!(!sent.unwrap().is_idempotent);
    let requests = server.requests();
    let lines: Vec<_> = requests
        .iter()
        .map(|text| text.lines().next().unwrap())
        .collect();
    let expected = [
        "GET /api/v3/exchange/info HTTP/1.1".to_owned(),
        "GET /api/v3/exchange/tokens HTTP/1.1".to_owned(),
        "GET /api/v3/exchange/markets HTTP/1.1".to_owned(),
        "GET /api/v3/amm/pools HTTP/1.1".to_owned(),
        format!("GET /api/v3/amm/balance?poolAddress={parsed} HTTP/1.1"),
        "GET /api/v3/account?accountId=4711 HTTP/1.1".to_owned(),
        "GET /api/v3/timestamp HTTP/1.1".to_owned(),
        "GET /api/v3/storageId?accountId=4711&maxNext=true&sellTokenId=3 HTTP/1.1".to_owned(),
        "POST /api/v3/transfer HTTP/1.1".to_owned(),
    ];
    assert_eq!(lines, expected);
}

/// Nothing leaves without the key that the venue would ask for.
#[tokio::test]
async fn without_an_api_key_only_public_pages_are_asked_for() {
    let server = Server::start(vec![]).await;
    let key = SecretKey::from_hex("0x1234").unwrap();
    let client = Client::new(
        &config(&server.url()),
        Some(Credentials::new(4711, None, None, key)),
    );
    let client = client.unwrap();
    for answered in [
        client.submit(b"{}").await,
        client.submit_to(Endpoint::Join, b"{}").await,
        client.query(&Query::Balances, &[]).await,
        client.query(&Query::Cancel(Hash([1; 32])), &[]).await,
    ] {
        assert_eq!(answered.outcome, Outcome::NotSent);
        assert_eq!(answered.detail.as_deref(), Some("no credentials"));
    }
    for error in [
        client.rotate_api_key().await.unwrap_err(),
        client.storage_id(TokenId(3), true).await.unwrap_err(),
    ] {
        assert!(matches!(error, CallError::NoCredentials { .. }), "{error}");
    }
    assert_eq!(server.connections(), 0);
    // A key that no header can carry, also where every character but one can.
    for bad in ["two words", "umlaut-\u{e4}", "tab\tkey", ""] {
        let error = client.with_api_key(&SecretString::from(bad)).err();
        assert_eq!(error, Some(SetupError::ApiKey), "{bad:?}");
    }
}

#[tokio::test]
async fn answers_to_requests_that_move_funds_are_short() {
    let body = format!(
        r#"{{"hash":"0x{:064x}","status":"processing","isIdempotent":true}}"#,
        16
    );
    let script = |bytes| vec![Step::Send(json(200, "", &padded(&body, bytes)))];
    let server = Server::start(vec![script(BODY), script(BODY + 1)]).await;
    let client = client(&server);
    let endpoint = cambist_protocol::Endpoint::Transfer;
    assert!(client.submit_request(endpoint, b"{}", None).await.is_ok());
    let error = client
        .submit_request(endpoint, b"{}", None)
        .await
        .unwrap_err();
    assert!(matches!(error, CallError::Unknown { .. }), "{error}");
}

#[tokio::test]
async fn pools_that_a_client_knows_are_asked_for() {
    let pool = |market, byte| cambist_core::PoolSpec {
        market: cambist_core::MarketId(market),
        name: "POOL".to_owned(),
        address: [byte; 20],
        pooled: [TokenId(1), TokenId(2)],
        lp: cambist_core::TokenSpec {
            id: TokenId(4),
            symbol: "LP".to_owned(),
            decimals: 8,
            precision: 6,
            minimum: 1,
            maximum: 9,
            dust: 0,
            enabled: true,
        },
        joins: true,
        exits: true,
        swaps: true,
        fee_bips: 30,
        in_range: false,
    };
    let volume = |token, volume| format!(r#"{{"tokenId":"{token}","volume":"{volume}"}}"#);
    let body = format!(
        r#"{{"pooled":[{},{}],"lp":{}}}"#,
        volume(1, 11),
        volume(2, 12),
        volume(4, 13)
    );
    let server = Server::start(vec![vec![Step::Send(json(200, "", &body))]]).await;
    let client = client(&server);
    let query = Query::PoolBalance(cambist_core::MarketId(7));
    assert_eq!(client.query(&query, &[]).await.outcome, Outcome::NotSent);
    let client = client.with_pools(&[pool(3, 0x11), pool(7, 0x22)]);
    let answered = client.query(&query, &[]).await;
    let Outcome::Reply(Reply::PoolBalance(_)) = answered.outcome else {
        panic!("{answered:?}")
    };
    let request = server.requests().remove(0);
    assert!(request.contains(&"22".repeat(20)), "{request}");
}

/// The causes of an error are in its detail, and the URL, which may be a secret, is not.
#[tokio::test]
async fn what_was_not_sent_has_its_cause() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let webhook = Webhook::new(&format!("http://127.0.0.1:{port}/secret")).unwrap();
    let Err(WebhookError::Failed(detail)) = webhook.post(Vec::new()).await else {
        panic!("it was sent")
    };
    assert!(detail.contains("Connection refused"), "{detail}");
    assert!(!detail.contains("secret"), "{detail}");
}
