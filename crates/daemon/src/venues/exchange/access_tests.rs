//! Keys in the wrong file are refused before anything is sent, and an account that is not the configured one afterwards.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use cambist_client::CallError;
use cambist_core::Reason;
use cambist_core::request::UnknownCause;
use cambist_host::exit::{Exit, Failure};
use cambist_host::secrets::Secrets;
use cambist_signing::{Address, SecretKey};

use super::{AccountAccess, check_exchange, is_secret_key, key_refusal, keys_first, no_account};
use crate::config::Daemon;
use crate::config::venue::{ExchangeLink, VenueTerms};
use crate::live::request_workers::tests::{answer, server};
use crate::live::start_retry::StartRetry;

const SECRET: &str = "0x1234567890abcdef";

fn example() -> Daemon {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");
    Daemon::load(Path::new(example)).unwrap()
}

fn link(daemon: &mut Daemon) -> &mut ExchangeLink {
    match &mut daemon.venue.terms {
        VenueTerms::Exchange(link) => link,
        VenueTerms::Kraken(_) | VenueTerms::Evm(_) => {
            panic!("the example trades on the exchange interface")
        }
    }
}

fn access(daemon: &Daemon, api_key: &str, eddsa_key: &str) -> anyhow::Result<AccountAccess> {
    let secrets = Secrets {
        api_key: api_key.to_owned().into(),
        eddsa_key: Some(eddsa_key.to_owned().into()),
    };
    AccountAccess::with(daemon, &secrets, 700)
}

#[test]
fn keys_in_the_wrong_file_are_refused() {
    let daemon = example();
    let used = access(&daemon, "an-api-key", SECRET).unwrap();
    assert_eq!(
        used.key.signer().public().unwrap(),
        SecretKey::from_hex(SECRET).unwrap().public()
    );
    assert_eq!(used.client.account_id(), Some(10_000));
    for (api_key, eddsa_key, why) in [
        (SECRET, SECRET, "holds an EdDSA secret key, not an API key"),
        (SECRET, "an-api-key", "the keys are swapped"),
        (
            "an-api-key",
            "an-api-key",
            "is not a secret key in hexadecimal",
        ),
        ("", SECRET, "API key is empty"),
    ] {
        let error = access(&daemon, api_key, eddsa_key).err().unwrap();
        assert_eq!(error.downcast_ref::<Failure>().unwrap().exit, Exit::Refused);
        let text = error.to_string();
        assert!(text.contains(why), "{text}");
        assert!(!text.contains(SECRET), "{text}");
    }
}

#[test]
fn a_secret_key_is_known_by_its_form() {
    assert!(is_secret_key(SECRET));
    assert!(
        !is_secret_key("1234567890abcdef"),
        "without the prefix it may be an API key"
    );
    assert!(!is_secret_key("0xnothex"));
    assert!(
        !is_secret_key(&format!("0x{}", "f".repeat(64))),
        "not below the order"
    );
}

#[test]
fn chain_and_exchange_are_those_of_the_file_if_it_states_them() {
    let mut daemon = example();
    let exchange: Address = link(&mut daemon).exchange.clone().unwrap().parse().unwrap();
    let other = Address([9; 20]);
    let text = |daemon: &Daemon, chain, address| {
        check_exchange(daemon, chain, address).map_err(|error| error.to_string())
    };
    assert_eq!(text(&daemon, 1, exchange), Ok(exchange));
    let refused = text(&daemon, 2, exchange).unwrap_err();
    assert!(refused.contains("the venue is on chain 2"), "{refused}");
    let refused = text(&daemon, 1, other).unwrap_err();
    assert!(
        refused.contains(&format!("the venue's exchange is {other}")),
        "{refused}"
    );
    link(&mut daemon).chain_id = None;
    link(&mut daemon).exchange = None;
    assert_eq!(text(&daemon, 2, other), Ok(other));
}

fn refusal(reason: Reason) -> CallError {
    CallError::Refused {
        call: "account",
        reason,
        is_numbered: true,
        detail: "the venue's text".to_owned(),
        retry_after_ms: None,
    }
}

#[test]
fn an_owner_without_an_account_is_refused_and_a_silent_venue_is_not() {
    let daemon = example();
    for (reason, why) in [
        (Reason::UserNotFound, "has no account at the venue"),
        (Reason::AddressNotFound, "has no account at the venue"),
        (Reason::InvalidArgument, "the venue's text"),
    ] {
        let error = no_account(&daemon, refusal(reason));
        assert_eq!(error.downcast_ref::<Failure>().unwrap().exit, Exit::Refused);
        assert!(error.to_string().contains(why), "{error}");
    }
    let silent = CallError::Unknown {
        call: "account",
        cause: UnknownCause::Timeout,
        detail: String::new(),
    };
    let error = no_account(&daemon, silent.clone());
    assert_eq!(error.downcast_ref::<CallError>(), Some(&silent));
}

#[test]
fn refused_keys_differ_from_other_refusals() {
    let daemon = example();
    for (reason, why) in [
        (Reason::EmptyApiKey, Some("does not know the API key")),
        (Reason::InvalidApiKey, Some("does not know the API key")),
        (Reason::InvalidAccount, Some("is not that of account 10000")),
        (Reason::RateLimited, None),
        (Reason::UnknownError, None),
        (Reason::UserNotFound, None),
        (Reason::InvalidArgument, None),
    ] {
        let failure = key_refusal(&daemon, reason);
        assert_eq!(failure.is_some(), why.is_some(), "{reason:?}");
        let first = keys_first(&daemon, refusal(reason).into());
        assert_eq!(first.is::<Failure>(), why.is_some(), "{reason:?}");
        if let Some(why) = why {
            assert!(first.to_string().contains(why), "{first}");
        }
    }
    let other = keys_first(&daemon, anyhow::anyhow!("something else"));
    assert_eq!(other.to_string(), "something else");
}

/// The answers to what a check asks: exchange, account, balances.
async fn checked(account_id: u32, secret: &str, last: String) -> Result<(), String> {
    let mut daemon = example();
    let exchange = link(&mut daemon).exchange.clone().unwrap();
    let info = format!(
        r#"{{"chainId":1,"exchangeAddress":"{exchange}","depositAddress":"{exchange}","onchainFees":[],"updateFees":[],"transferFees":[],"withdrawalFees":[]}}"#
    );
    let key = SecretKey::from_hex(secret).unwrap().public();
    let owner = link(&mut daemon).owner.clone();
    let account = format!(
        r#"{{"accountId":{account_id},"owner":"{owner}","frozen":false,"publicKey":{{"x":"{}","y":"{}"}},"tags":"","nonce":0,"keyNonce":0,"keySeed":""}}"#,
        key.x.to_hex(),
        key.y.to_hex()
    );
    let answers = vec![answer(200, "", &info), answer(200, "", &account), last];
    let (port, mut requests) = server(answers).await;
    daemon.venue.base_url.value = format!("http://127.0.0.1:{port}");
    let access = access(&daemon, "an-api-key", SECRET).unwrap();
    let found = access.check(&daemon, StartRetry::none()).await;
    let (address, of) = found.map_err(|error| error.to_string())?;
    assert_eq!(address, exchange.parse().unwrap());
    assert_eq!((of.address, of.chain_id), (owner.parse().unwrap(), 1));
    let asked = [
        requests.recv().await,
        requests.recv().await,
        requests.recv().await,
    ];
    let asked = asked.map(Option::unwrap);
    assert!(
        asked[0].starts_with("GET /api/v3/exchange/info "),
        "{asked:?}"
    );
    assert!(
        asked[1].starts_with("GET /api/v3/account?owner="),
        "{asked:?}"
    );
    assert!(
        asked[2].starts_with("GET /api/v3/user/balances?accountId=10000 "),
        "{asked:?}"
    );
    Ok(())
}

#[tokio::test]
async fn the_account_and_both_keys_are_compared_with_the_venue() {
    let good = || answer(200, "", "[]");
    assert_eq!(checked(10_000, SECRET, good()).await, Ok(()));
    let other = checked(10_001, SECRET, good()).await.unwrap_err();
    assert!(other.contains("owns account 10001"), "{other}");
    let key = checked(10_000, "0x99", good()).await.unwrap_err();
    assert!(key.contains("the venue knows another public key"), "{key}");
    let refused = |code: u32| {
        let body = format!(r#"{{"resultInfo":{{"code":{code},"message":"no"}}}}"#);
        answer(400, "", &body)
    };
    let unknown = checked(10_000, SECRET, refused(104_002)).await.unwrap_err();
    assert!(unknown.contains("does not know the API key"), "{unknown}");
    // Other refusals are those of later requests.
    assert_eq!(checked(10_000, SECRET, refused(102_001)).await, Ok(()));
    let silent = checked(10_000, SECRET, String::new()).await;
    assert!(silent.is_err());
}
