//! How long a request is read, answered and waited for, and how long it may be. The clock is the test's.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::{Connections, Request, answer_request, operator, user};

const STATUS: &str = r#"{"wish":"status"}"#;

/// The answer to these bytes, and the seconds until it is there. The daemon answers after so many seconds, if it does.
async fn asked(bytes: &[u8], after: Option<Duration>) -> (Value, Duration) {
    let (mut caller, mut client) = UnixStream::pair().unwrap();
    client.write_all(bytes).await.unwrap();
    let (sender, mut requests) = mpsc::channel::<Request>(1);
    let daemon = tokio::spawn(async move {
        let Some(request) = requests.recv().await else {
            return;
        };
        assert_eq!(request.operator, "alice (uid 7)");
        if let Some(after) = after {
            tokio::time::sleep(after).await;
            let _ = request.answer.send(json!({"done": true}));
        } else {
            std::future::pending::<()>().await;
        }
    });
    let begun = Instant::now();
    let answer = answer_request(&mut caller, &sender, no_end(), "alice (uid 7)".to_owned()).await;
    daemon.abort();
    drop(client);
    (answer, begun.elapsed())
}

fn why(answer: &Value) -> &str {
    answer["error"].as_str().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_line_is_waited_for_and_so_is_its_answer() {
    let seconds = Duration::from_secs;
    let line = format!("{STATUS}\n");
    let (answer, _) = asked(line.as_bytes(), Some(seconds(19))).await;
    assert_eq!(answer, json!({"done": true}));
    let (late, after) = asked(line.as_bytes(), Some(seconds(21))).await;
    assert!(why(&late).contains("did not answer in time"), "{late}");
    assert!((20..21).contains(&after.as_secs()), "{after:?}");
    let (incomplete, after) = asked(STATUS.as_bytes(), None).await;
    assert!(
        why(&incomplete).contains("no complete line"),
        "{incomplete}"
    );
    assert!((5..6).contains(&after.as_secs()), "{after:?}");
    // The end of a run has its own deadline.
    let drain = concat!(r#"{"wish":"drain","wait":true}"#, "\n");
    let (end, after) = asked(drain.as_bytes(), Some(seconds(600))).await;
    assert_eq!((end, after.as_secs()), (json!({"done": true}), 600));
}

#[tokio::test(start_paused = true)]
async fn a_line_has_a_length() {
    for (bytes, is_read) in [(0x4000, true), (0x4001, false)] {
        let line = format!("{STATUS:<width$}\n", width = bytes - 1);
        let (answer, _) = asked(line.as_bytes(), Some(Duration::ZERO)).await;
        assert_eq!(answer["done"], is_read, "{bytes}: {answer}");
    }
}

/// A client that does not read its answer cannot keep the daemon from ending.
#[tokio::test(start_paused = true)]
async fn the_end_waits_a_second_for_the_last_answers() {
    let callers = Connections::default();
    let begun = Instant::now();
    callers.answered().await;
    assert_eq!(begun.elapsed(), Duration::ZERO, "no request waits");
    let _answering = callers.0.read().await;
    callers.answered().await;
    assert_eq!(begun.elapsed().as_secs(), 1);
}

#[tokio::test]
async fn a_daemon_that_is_ending_does_not_take_requests() {
    let (mut caller, mut client) = UnixStream::pair().unwrap();
    client
        .write_all(format!("{STATUS}\n").as_bytes())
        .await
        .unwrap();
    let (sender, requests) = mpsc::channel::<Request>(1);
    drop(requests);
    let answer = answer_request(&mut caller, &sender, no_end(), String::new()).await;
    assert_eq!(
        (&answer["done"], &answer["ending"]),
        (&false.into(), &true.into())
    );
}

#[test]
fn root_and_the_own_user_may_ask() {
    let own = 4_000_000_001;
    assert_eq!(operator(Ok(0), own).as_deref(), Some("root (uid 0)"));
    assert_eq!(operator(Ok(own), own).as_deref(), Some("uid 4000000001"));
    assert_eq!(operator(Ok(own + 1), own), None);
    assert_eq!(operator(Ok(own), 0), None);
    let unknown = || Err(std::io::Error::other("not known"));
    assert_eq!(operator(unknown(), own), None);
}

#[test]
fn users_have_names_if_the_system_knows_them() {
    assert_eq!(user(0), "root (uid 0)");
    assert_eq!(user(4_000_000_001), "uid 4000000001");
}

/// The end of a run that has no result.
fn no_end() -> watch::Receiver<Option<Value>> {
    watch::channel(None).1
}
