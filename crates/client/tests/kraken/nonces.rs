//! Nonces and turns: two keys, restarts, a clock that was set back, cancels first; and answers of a gateway.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cambist_client::{ClientConfig, KrakenClient, KrakenKeys};
use cambist_core::request::{OrderList, Outcome, Query, Reply, UnknownCause};
use cambist_core::{OrderKind, Reason, Side};
use cambist_kraken_venue::nonce::NonceBlocks;
use cambist_kraken_venue::order_key::key_of_txid;
use cambist_kraken_venue::{NonceError, NonceSource};

use crate::server::{Server, Step, answer, json};
use crate::support::{Counting, Exchange, Nonces, Settings, client_key, page};

const WHOLE: u64 = 10_000;

/// Nonces of a list; none after its end.
#[derive(Debug)]
struct Listed(Mutex<Vec<u64>>);

impl NonceSource for Listed {
    fn next(&self) -> Result<u64, NonceError> {
        let mut left = self.0.lock().unwrap();
        let next = left.pop();
        next.ok_or_else(|| NonceError("the disk is full".to_owned()))
    }
}

fn client(url: &str, timeout_ms: u64, mut nonces: Vec<u64>) -> KrakenClient {
    nonces.reverse();
    let keys = KrakenKeys {
        orders: None,
        account: client_key("account-10000"),
    };
    let config = ClientConfig {
        timeout_ms,
        ..ClientConfig::new(url)
    };
    let nonces: Arc<dyn NonceSource> = Arc::new(Listed(Mutex::new(nonces)));
    KrakenClient::new(&config, Some(keys), [Nonces::from(1), nonces]).unwrap()
}

#[tokio::test]
async fn a_read_whose_nonce_was_too_low_is_made_once_more_with_a_new_one() {
    let exchange = Exchange::start(Settings::default());
    let at = |nonces: &[u64]| client(&exchange.url, 5_000, nonces.to_vec());
    let outcome = async |client: KrakenClient| client.query(&Query::Balances, &[]).await;
    assert!(matches!(
        outcome(at(&[5_000])).await.outcome,
        Outcome::Reply(_)
    ));
    assert!(matches!(
        outcome(at(&[4_999, 6_000])).await.outcome,
        Outcome::Reply(_)
    ));
    assert!(
        matches!(outcome(at(&[6_001])).await.outcome, Outcome::Reply(_)),
        "the second one was used"
    );
    let answered = outcome(at(&[7, 8, 9_000])).await;
    assert_eq!(
        answered.outcome,
        Outcome::Refused(Reason::InvalidNonce),
        "once"
    );
    assert!(matches!(
        outcome(at(&[9_001])).await.outcome,
        Outcome::Reply(_)
    ));
    let answered = outcome(at(&[])).await;
    assert_eq!(answered.outcome, Outcome::NotSent);
    assert_eq!(
        answered.detail.as_deref(),
        Some("no nonce: the disk is full")
    );
}

/// Public data and cancels add none to the counter of the key; a ledger adds two.
#[tokio::test]
async fn calls_are_counted_by_what_they_cost_the_key() {
    let exchange = Exchange::start(Settings::default());
    let keys = KrakenKeys {
        orders: None,
        account: client_key("account-10000"),
    };
    let counting = Counting::from(5_000);
    let nonces: [Arc<dyn NonceSource>; 2] = [Nonces::from(1), counting.clone()];
    let client = KrakenClient::new(&ClientConfig::new(&exchange.url), Some(keys), nonces).unwrap();
    let since = client.time().await.unwrap();
    client.query(&Query::Balances, &[]).await;
    client.cancel_all().await.unwrap();
    client.ledgers_and_cancels(since).await.unwrap();
    assert_eq!(*counting.1.lock().unwrap(), [1, 2]);
}

#[tokio::test]
async fn a_restart_goes_on_behind_what_was_reserved_whatever_the_clock_does() {
    let exchange = Exchange::start(Settings::default());
    let mut durable = 0;
    for now_us in [1_700_000_000_000_000, 1_600_000_000_000_000, 0] {
        let mut blocks = NonceBlocks::new(durable, now_us);
        let mut taken = Vec::new();
        for _ in 0..3 {
            let nonce = blocks.next(now_us, |to| {
                durable = to;
                Ok(())
            });
            taken.push(nonce.unwrap());
        }
        let client = client(&exchange.url, 5_000, taken);
        for _ in 0..3 {
            let answered = client.query(&Query::Balances, &[]).await;
            assert!(
                matches!(answered.outcome, Outcome::Reply(_)),
                "{answered:?}"
            );
        }
    }
}

#[tokio::test]
async fn each_key_does_its_own_part() {
    let exchange = Exchange::start(Settings::default());
    let trader = exchange.trader(10_000).await;
    // Reads with the other key meanwhile do not hold back sealed bytes.
    let sealed =
        trader.seal(&trader.order(&exchange, OrderKind::MakerOnly, Side::Buy, 3_750_000, WHOLE));
    for _ in 0..20 {
        trader.reply(Query::Balances).await;
    }
    let answered = trader.client.submit(&sealed.body).await;
    assert!(
        matches!(answered.outcome, Outcome::Reply(Reply::Submitted { .. })),
        "{answered:?}"
    );
    // An older one is behind: its nonce is.
    let [older, newer] = [(), ()].map(|()| {
        trader.seal(&trader.order(&exchange, OrderKind::MakerOnly, Side::Buy, 3_740_000, WHOLE))
    });
    let answered = trader.client.submit(&newer.body).await;
    assert!(matches!(answered.outcome, Outcome::Reply(_)));
    let answered = trader.client.submit(&older.body).await;
    assert_eq!(answered.outcome, Outcome::Refused(Reason::InvalidNonce));
    let without = client(&exchange.url, 5_000, vec![50_000]);
    let answered = without.submit(&sealed.body).await;
    assert_eq!(answered.outcome, Outcome::NotSent);
    assert_eq!(
        answered.detail.as_deref(),
        Some("there is no key of orders")
    );
    let public = KrakenClient::new(
        &ClientConfig::new(&exchange.url),
        None,
        [Nonces::from(1), Nonces::from(1)],
    )
    .unwrap();
    assert_eq!(
        public.query(&Query::Balances, &[]).await.outcome,
        Outcome::NotSent
    );
    assert!(public.time().await.is_ok());
}

/// While a read is in flight, a cancel that came last is sent before the reads that came first.
#[tokio::test]
async fn one_request_is_in_flight_and_a_cancel_is_next() {
    const BODY: &str = r#"{"error":[],"result":{}}"#;
    let slow = |body: &str| vec![Step::Drip(json(200, "", body), Duration::from_millis(2))];
    let quick = |body: &str| vec![Step::Send(json(200, "", body))];
    let server = Server::start(vec![
        slow(BODY),
        quick(r#"{"error":[],"result":{"count":1}}"#),
        quick(BODY),
        quick(BODY),
    ])
    .await;
    let client = client(&server.url(), 5_000, vec![1, 2, 3, 4]);
    let first = {
        let client = client.clone();
        tokio::spawn(async move { client.query(&Query::Balances, &[]).await })
    };
    while server.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    let read = |client: KrakenClient| {
        tokio::spawn(async move { client.query(&Query::Balances, &[]).await })
    };
    let waiting = [read(client.clone()), read(client.clone())];
    tokio::task::yield_now().await;
    let order = key_of_txid("OQCLML-BW3P3-BUCMWZ").unwrap();
    let cancel = client.query(&Query::Cancel(order), &[]).await;
    assert!(
        matches!(cancel.outcome, Outcome::Reply(Reply::CancelTaken { .. })),
        "{cancel:?}"
    );
    for task in [first].into_iter().chain(waiting) {
        assert!(matches!(task.await.unwrap().outcome, Outcome::Reply(_)));
    }
    let requests = server.requests();
    let line = |at: usize| requests[at].lines().next().unwrap().to_owned();
    assert!(
        line(1).starts_with("POST /0/private/CancelOrder "),
        "{}",
        line(1)
    );
    for (at, nonce) in [(0, 1), (1, 2), (2, 3), (3, 4)] {
        assert!(
            requests[at].contains(&format!("\r\n\r\nnonce={nonce}")),
            "taken when it is sent: {}",
            requests[at]
        );
    }
}

#[tokio::test]
async fn what_waited_too_long_was_not_sent_and_has_no_nonce() {
    let server = Server::start(vec![vec![Step::Silence], vec![Step::Silence]]).await;
    let client = client(&server.url(), 400, vec![1, 2]);
    let [first, second, third] = [(), (), ()].map(|()| {
        let client = client.clone();
        tokio::spawn(async move { client.query(&Query::Balances, &[]).await })
    });
    let mut outcomes = Vec::new();
    for task in [first, second, third] {
        outcomes.push(task.await.unwrap().outcome);
    }
    let timed_out = outcomes
        .iter()
        .filter(|outcome| **outcome == Outcome::Unknown(UnknownCause::Timeout))
        .count();
    let not_sent = outcomes
        .iter()
        .filter(|outcome| **outcome == Outcome::NotSent)
        .count();
    assert!(
        timed_out >= 1 && not_sent >= 1 && timed_out + not_sent == 3,
        "{outcomes:?}"
    );
    assert_eq!(server.requests().len(), timed_out);
}

#[tokio::test]
async fn answers_of_a_gateway_prove_nothing() {
    let html = "<html><body>Checking your browser</body></html>";
    for (script, expected) in [
        (
            answer(200, "Content-Type: text/html\r\n", html),
            UnknownCause::Undecodable,
        ),
        (json(200, "", html), UnknownCause::Undecodable),
        (
            json(200, "", r#"{"error":[],"result":{"ZUSD""#),
            UnknownCause::Undecodable,
        ),
        (
            json(502, "", r#"{"error":["EAPI:Invalid nonce"]}"#),
            UnknownCause::ServerError,
        ),
        (answer(520, "", html), UnknownCause::ServerError),
        (
            answer(403, "Content-Type: text/html\r\n", html),
            UnknownCause::Undecodable,
        ),
        (
            answer(302, "Location: http://127.0.0.1:1/\r\n", ""),
            UnknownCause::Redirect,
        ),
        (
            json(200, "", r#"{"error":["EService:Timeout"]}"#),
            UnknownCause::ServerError,
        ),
    ] {
        let server = Server::start(vec![vec![Step::Send(script)]]).await;
        let client = client(&server.url(), 2_000, vec![1, 2]);
        let answered = client
            .query(&Query::Orders(page(OrderList::Resting, 0, 0)), &[])
            .await;
        assert_eq!(answered.outcome, Outcome::Unknown(expected), "{answered:?}");
        assert_eq!(answered.venue_time, None);
        let shown = format!("{answered:?} {client:?}");
        assert!(!shown.contains("account-10000"), "{shown}");
        assert_eq!(server.requests().len(), 1, "nothing is repeated");
    }
    let limited = Server::start(vec![vec![Step::Send(answer(
        429,
        "Retry-After: 7\r\n",
        "",
    ))]])
    .await;
    let answered = client(&limited.url(), 2_000, vec![1])
        .query(&Query::Balances, &[])
        .await;
    assert_eq!(
        (answered.outcome, answered.retry_after_ms),
        (Outcome::Refused(Reason::RateLimited), Some(7_000))
    );
}

/// A book whose age is not known is not used.
#[tokio::test]
async fn a_book_without_the_venues_own_date_is_unusable() {
    let exchange = Exchange::start(Settings::default());
    let trader = exchange.trader(10_000).await;
    let body = r#"{"error":[],"result":{"XXBTZUSD":{"asks":[],"bids":[]}}}"#;
    for (headers, good) in [
        ("Date: Tue, 14 Nov 2023 22:13:20 GMT\r\n", true),
        ("Date: Tue, 14 Nov 2023 22:13:20 GMT\r\nAge: 1\r\n", false),
        ("", false),
    ] {
        let server = Server::start(vec![vec![Step::Send(json(200, headers, body))]]).await;
        let client =
            client(&server.url(), 2_000, vec![]).with_listing(Arc::clone(trader.client.listing()));
        let answered = client
            .query(
                &Query::Depth(trader.market.id),
                std::slice::from_ref(&trader.market),
            )
            .await;
        assert_eq!(
            matches!(answered.outcome, Outcome::Reply(_)),
            good,
            "{answered:?}"
        );
    }
}
