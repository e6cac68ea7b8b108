//! Questions of a start to an exchange: its clock, its numbers of slots, its pools.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use std::path::Path;

use cambist_client::{Client, ClientConfig, Credentials, SecretString};
use cambist_core::VenueTime;
use cambist_core::sorted_map::SortedMap;
use cambist_protocol::encode_move::Owner;
use cambist_protocol::wire::StorageIds;
use cambist_signing::{Address, SecretKey};

use super::access::{AccountAccess, AccountKey};
use super::{Session, higher, listed_pools, storage_ids, venue_time};
use crate::config::{Bound, Daemon};
use crate::live::request_workers::tests::{answer, server};
use crate::live::start_retry::StartRetry;

fn example() -> Daemon {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");
    Daemon::load(Path::new(example)).unwrap()
}

fn bound() -> Bound {
    example().bind_expected().unwrap().unwrap()
}

/// A checked account of an exchange that does not answer.
pub fn session() -> Session {
    let key = SecretKey::from_hex("0x1234").unwrap();
    Session {
        access: AccountAccess {
            client: client(1),
            key: AccountKey::Held(key.into()),
        },
        account_id: 10_000,
        exchange: Address([8; 20]),
        owner: Owner {
            address: Address([7; 20]),
            chain_id: 5,
        },
    }
}

fn client(port: u16) -> Client {
    let key = SecretKey::from_hex("0x1234").unwrap();
    let credentials = Credentials::new(4711, None, Some(SecretString::from("key")), key);
    let config = ClientConfig::new(&format!("http://127.0.0.1:{port}"));
    Client::new(&config, Some(credentials)).unwrap()
}

/// An answer about the account, at this second of the minute, if it has a date.
fn account(second: Option<u8>) -> String {
    let key = SecretKey::from_hex("0x1234").unwrap().public();
    let date = second.map(|second| format!("Date: Tue, 14 Nov 2023 22:13:{second:02} GMT\r\n"));
    let body = format!(
        r#"{{"accountId":4711,"owner":"0x{}","frozen":false,"publicKey":{{"x":"{}","y":"{}"}},"tags":"","nonce":0,"keyNonce":0,"keySeed":""}}"#,
        "c0".repeat(20),
        key.x.to_hex(),
        key.y.to_hex()
    );
    answer(200, &date.unwrap_or_default(), &body)
}

/// One wrong answer must not shift every fence: the earliest of three counts.
#[tokio::test]
async fn the_venues_clock_is_the_earliest_of_three_answers() {
    let seconds = [None, Some(25), None, Some(21), Some(23), Some(20)];
    let (port, mut requests) = server(seconds.map(account).to_vec()).await;
    let time = venue_time(&client(port), StartRetry::none()).await.unwrap();
    assert_eq!(time, VenueTime(1_700_000_001_000));
    let mut asked = 0;
    while requests.try_recv().is_ok() {
        asked += 1;
    }
    assert_eq!(asked, 5, "the third time was the last");
}

#[tokio::test]
async fn a_venue_without_times_is_refused_after_ten_answers() {
    for (timed, known) in [(2, false), (3, true)] {
        let without = (0..10 - timed).map(|_| account(None));
        let with = (0..timed).map(|_| account(Some(30)));
        let (port, _requests) = server(without.chain(with).collect()).await;
        let found = venue_time(&client(port), StartRetry::none()).await;
        if known {
            assert_eq!(found.unwrap(), VenueTime(1_700_000_010_000));
        } else {
            let error = found.unwrap_err().to_string();
            assert!(error.contains("carry a Date header"), "{error}");
        }
    }
}

/// Orders have even numbers, joins and exits the odd ones behind them: the next even one above both.
#[test]
fn the_higher_number_of_store_and_venue_counts() {
    let ids = |order_id, offchain_id| StorageIds {
        order_id,
        offchain_id,
    };
    for (here, venue, next) in [
        (0, ids(0, 1), 0),
        (0, ids(10, 1), 10),
        (0, ids(0, 11), 10),
        (12, ids(10, 11), 12),
        (6, ids(10, 13), 12),
        (0, ids(0, 0), 0),
    ] {
        assert_eq!(higher(here, venue), next, "{here} {venue:?}");
    }
}

#[tokio::test]
async fn a_venue_that_refuses_its_numbers_leaves_those_of_the_store() {
    let bound = bound();
    let mut tokens: Vec<_> = bound
        .markets
        .iter()
        .flat_map(|market| [market.base.id, market.quote.id])
        .chain(bound.pools.iter().map(|pool| pool.lp.id))
        .collect();
    tokens.sort_unstable();
    tokens.dedup();
    let refused = r#"{"resultInfo":{"code":102004,"message":"no"}}"#;
    let mut answers = vec![answer(400, "", refused)];
    let rest = (1..tokens.len()).map(|at| {
        let body = format!(r#"{{"orderId":{},"offchainId":1}}"#, at * 100);
        answer(200, "", &body)
    });
    answers.extend(rest);
    let (port, mut requests) = server(answers).await;
    let stored: SortedMap<_, _> = tokens.iter().map(|token| (*token, 150)).collect();
    let next = storage_ids(&client(port), &bound, stored, StartRetry::none())
        .await
        .unwrap();
    let expected = tokens
        .iter()
        .zip([150, 150, 200, 300])
        .map(|(token, next)| (*token, next));
    assert_eq!(next, expected.collect());
    for token in &tokens {
        let asked = requests.recv().await.unwrap();
        let path = "GET /api/v3/storageId?accountId=4711&maxNext=true&sellTokenId=";
        assert!(asked.starts_with(&format!("{path}{} ", token.0)), "{asked}");
    }
    // One that does not answer is not ignored: numbers must never decrease.
    let silent = storage_ids(&client(port), &bound, SortedMap::new(), StartRetry::none()).await;
    assert!(silent.is_err());
}

#[tokio::test]
async fn pools_are_asked_for_if_some_are_configured() {
    let mut daemon = example();
    let client = client(1);
    assert!(daemon.markets.iter().any(|market| market.pool.is_some()));
    assert!(
        listed_pools(&daemon, &client, StartRetry::none())
            .await
            .is_err()
    );
    for market in &mut daemon.markets {
        market.pool = None;
    }
    let none = listed_pools(&daemon, &client, StartRetry::none()).await;
    assert!(none.unwrap().is_empty());
}

/// What is signed names the exchange and the account, and joins the configured pools.
#[test]
fn the_signer_signs_for_the_account_of_the_file() {
    let signer = session().signer(&bound());
    assert_eq!(
        (signer.exchange, signer.account_id),
        (Address([8; 20]), 10_000)
    );
    let owner = (signer.owner.address, signer.owner.chain_id);
    assert_eq!(owner, (Address([7; 20]), 5));
    assert_eq!(signer.pools, bound().pools);
}
