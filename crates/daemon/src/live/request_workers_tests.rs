//! Request workers against a server: one event for every request, whatever happens.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::sync::Arc;
use std::time::Duration;

use cambist_client::{Answered, Client, ClientConfig, Credentials, SecretString};
use cambist_core::event::Event;
use cambist_core::request::{Endpoint, Outcome, Query, Reply, RequestId, UnknownCause};
use cambist_core::{Reason, VenueTime};
use cambist_signing::SecretKey;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::{RequestWorkers, is_silence};
use crate::live::LoopMessage;
use crate::telemetry::Telemetry;
use crate::telemetry::tests::about;
use cambist_host::clock::Clock;

/// Answers its connections so; the first lines of the requests.
pub(crate) async fn server(answers: Vec<String>) -> (u16, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (seen, requests) = mpsc::channel(16);
    tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = vec![0; 8_192];
            let length = stream.read(&mut buffer).await.unwrap();
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            seen.send(text.lines().next().unwrap().to_owned())
                .await
                .unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (port, requests)
}

pub(crate) fn answer(status: u16, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

struct Stage {
    workers: RequestWorkers,
    inbox: mpsc::Receiver<LoopMessage>,
}

fn stage(port: u16) -> Stage {
    let key = SecretKey::from_hex("0x1234").unwrap();
    let credentials = Credentials::new(4711, None, Some(SecretString::from("key")), key);
    let config = ClientConfig::new(&format!("http://127.0.0.1:{port}"));
    let client = Arc::new(Client::new(&config, Some(credentials)).unwrap().into());
    let telemetry = Arc::new(Telemetry::new(about(), Clock::new()).unwrap());
    let (sender, inbox) = mpsc::channel(16);
    let markets = about().markets;
    let workers = RequestWorkers::new(client, &markets, telemetry, sender);
    Stage { workers, inbox }
}

impl Stage {
    async fn event(&mut self) -> Event {
        let soon = Duration::from_secs(20);
        match tokio::time::timeout(soon, self.inbox.recv()).await {
            Ok(Some(LoopMessage::Event(event))) => event,
            other => panic!("{other:?}"),
        }
    }
}

fn event(request: u64, outcome: Outcome, venue_time: Option<u64>, retry: Option<u64>) -> Event {
    Event::Answer {
        request: RequestId(request),
        outcome,
        venue_time: venue_time.map(VenueTime),
        retry_after_ms: retry,
        cost_beyond: 0,
    }
}

#[tokio::test]
async fn every_request_becomes_one_event_with_all_that_was_answered() {
    let date = "Date: Tue, 14 Nov 2023 22:13:20 GMT\r\n";
    let refused = r#"{"resultInfo":{"code":102011,"message":"no funds"}}"#;
    let answers = vec![
        answer(200, date, r#"{"totalNum":0,"orders":[]}"#),
        answer(400, "Retry-After: 3\r\n", refused),
    ];
    let (port, mut requests) = server(answers).await;
    let mut stage = stage(port);
    let page = cambist_core::request::OrdersPage {
        list: cambist_core::request::OrderList::All,
        from: VenueTime(5),
        to: VenueTime(9),
        offset: 0,
        limit: 50,
    };
    stage.workers.query(RequestId(61), Query::Orders(page));
    let Event::Answer {
        request,
        outcome,
        venue_time,
        retry_after_ms,
        ..
    } = stage.event().await
    else {
        panic!("no answer")
    };
    assert!(matches!(
        outcome,
        Outcome::Reply(Reply::Orders { total: 0, .. })
    ));
    let expected = (RequestId(61), Some(VenueTime(1_700_000_000_000)), None);
    assert_eq!((request, venue_time, retry_after_ms), expected);
    let body: Arc<[u8]> = Arc::from(&b"{}"[..]);
    stage.workers.submit(RequestId(62), Endpoint::Submit, body);
    let funds = Outcome::Refused(Reason::InsufficientBalance);
    assert_eq!(stage.event().await, event(62, funds, None, Some(3_000)));
    stage.workers.nothing_to_send(RequestId(63));
    assert_eq!(stage.event().await, event(63, Outcome::NotSent, None, None));
    let asked = [
        requests.recv().await.unwrap(),
        requests.recv().await.unwrap(),
    ];
    assert!(asked[0].starts_with("GET /api/v3/orders?"), "{asked:?}");
    assert!(asked[1].starts_with("POST /api/v3/order "), "{asked:?}");
    assert!(requests.recv().await.is_none(), "nothing else was asked");
}

#[tokio::test]
async fn a_venue_that_is_not_there_is_an_answer_too() {
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let mut stage = stage(closed);
    stage.workers.query(RequestId(1), Query::Markets);
    assert_eq!(stage.event().await, event(1, Outcome::NotSent, None, None));
    stage
        .workers
        .submit(RequestId(2), Endpoint::Submit, Arc::from(&b"{}"[..]));
    assert_eq!(stage.event().await, event(2, Outcome::NotSent, None, None));
}

#[test]
fn silence_is_what_no_byte_came_back_for() {
    let answered = |outcome, http_status| Answered {
        outcome,
        venue_time: None,
        http_status,
        retry_after_ms: None,
        cost_beyond: 0,
        detail: None,
    };
    let unknown = Outcome::Unknown;
    for (outcome, status, silent) in [
        (Outcome::NotSent, None, true),
        (unknown(UnknownCause::Transport), None, true),
        (unknown(UnknownCause::Timeout), None, true),
        (unknown(UnknownCause::Transport), Some(200), false),
        (unknown(UnknownCause::Timeout), Some(200), false),
        (unknown(UnknownCause::ServerError), Some(502), false),
        (unknown(UnknownCause::Redirect), Some(302), false),
        (unknown(UnknownCause::Undecodable), Some(200), false),
        (Outcome::Refused(Reason::RateLimited), Some(429), false),
    ] {
        let answered = answered(outcome, status);
        assert_eq!(is_silence(&answered), silent, "{answered:?}");
        assert_eq!(answered.not_signed(), None);
    }
    // The venue was not asked.
    let unsigned = |outcome| Answered {
        detail: Some("request not signed: the signer does not answer: refused".to_owned()),
        ..answered(outcome, None)
    };
    let why = unsigned(Outcome::NotSent);
    let why = why.not_signed();
    assert_eq!(why, Some("the signer does not answer: refused"));
    let timeout = unsigned(unknown(UnknownCause::Timeout));
    assert_eq!(timeout.not_signed(), None);
}
