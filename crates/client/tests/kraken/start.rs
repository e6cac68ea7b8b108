//! What a start asks: time, status, fees, proofs that the keys are safe; and what ends everything.

use cambist_client::{CallError, ClientConfig, KeyKind, KrakenClient, KrakenKeys, ProofError};
use cambist_core::request::{OrderList, UnknownCause};
use cambist_core::{OrderKind, Reason, Side, VenueTime};
use cambist_kraken_venue::account::SystemStatus;
use cambist_server::{Permission, Tier};

use crate::server::{Server, Step, json};
use crate::support::{Exchange, Nonces, START_S, Settings, client_key, server_key};

const WHOLE: u64 = 10_000;
const ALL: [Permission; 6] = [
    Permission::FundsQuery,
    Permission::OrdersQueryOpen,
    Permission::OrdersQueryClosed,
    Permission::OrdersModify,
    Permission::OrdersCancel,
    Permission::LedgerQuery,
];

fn with_key(url: &str, name: &str) -> KrakenClient {
    let keys = KrakenKeys {
        orders: Some(client_key(name)),
        account: client_key("account-10000"),
    };
    KrakenClient::new(
        &ClientConfig::new(url),
        Some(keys),
        [Nonces::from(500), Nonces::from(500)],
    )
    .unwrap()
}

fn key_problem<T>(proof: Result<T, ProofError>) -> String {
    match proof {
        Err(error @ ProofError::Key { .. }) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("proven"),
    }
}

#[tokio::test]
async fn time_status_and_fees_are_asked() {
    let exchange = Exchange::start(Settings::default());
    let trader = exchange.trader(10_000).await;
    assert_eq!(trader.client.time().await, Ok(VenueTime::from_s(START_S)));
    assert_eq!(
        trader.client.system_status().await,
        Ok(SystemStatus::Online)
    );
    let fees = trader.client.fees(&["XXBTZUSD".to_owned()]).await.unwrap();
    assert_eq!(fees["XXBTZUSD"].bips(), [16, 26]);
    let unknown = trader.client.asset_pairs(&["XBT-EUR".to_owned()]).await;
    assert!(
        matches!(
            unknown,
            Err(CallError::Refused {
                reason: Reason::UnsupportedMarket,
                ..
            })
        ),
        "{unknown:?}"
    );
    let nowhere = KrakenClient::new(
        &ClientConfig::new("http://127.0.0.1:1"),
        None,
        [Nonces::from(1), Nonces::from(1)],
    )
    .unwrap();
    assert!(matches!(
        nowhere.time().await,
        Err(CallError::NotSent { .. })
    ));
}

#[tokio::test]
async fn the_nonce_window_of_both_keys_is_proved_or_named() {
    let mut more_keys = Vec::new();
    for window in [1, 2, 10] {
        more_keys.push(server_key(
            &format!("window-{window}"),
            10_000,
            &ALL,
            window,
        ));
    }
    more_keys.push(server_key("blind", 10_000, &[Permission::OrdersModify], 0));
    more_keys.push(server_key("shared", 10_000, &ALL, 0));
    let exchange = Exchange::start(Settings {
        more_keys,
        ..Settings::default()
    });
    let trader = exchange.trader(10_000).await;
    for key in [KeyKind::Orders, KeyKind::Account] {
        assert_eq!(trader.client.prove_nonce_window(key).await, Ok(()));
        assert_eq!(trader.client.prove_nonce_window(key).await, Ok(()), "again");
    }
    for (window, what) in [
        (1, "the same nonce again"),
        (2, "the same nonce again"),
        (10, "the same nonce again"),
    ] {
        let client = with_key(&exchange.url, &format!("window-{window}"));
        let problem = key_problem(client.prove_nonce_window(KeyKind::Orders).await);
        assert!(
            problem.starts_with("key of orders: the venue takes ") && problem.contains(what),
            "{problem}"
        );
        assert!(problem.contains("Set its nonce window to 0"), "{problem}");
    }
    // Another program with higher nonces.
    let late = with_key(&exchange.url, "shared");
    let early = with_key(&exchange.url, "shared");
    for _ in 0..5 {
        assert_eq!(late.prove_nonce_window(KeyKind::Orders).await, Ok(()));
    }
    let problem = key_problem(early.prove_nonce_window(KeyKind::Orders).await);
    assert!(problem.contains("something else uses it"), "{problem}");
    // A key that may not read, and one that is not known: nothing is proven.
    for (name, reason) in [
        ("blind", Reason::NoSignature),
        ("absent", Reason::InvalidApiKey),
    ] {
        let proof = with_key(&exchange.url, name)
            .prove_nonce_window(KeyKind::Orders)
            .await;
        let Err(ProofError::Call(CallError::Refused { reason: found, .. })) = proof else {
            panic!("{proof:?}");
        };
        assert_eq!(found, reason);
    }
}

#[tokio::test]
async fn a_key_that_may_withdraw_or_cannot_show_that_it_may_not_is_refused() {
    let exchange = Exchange::start(Settings {
        more_keys: vec![
            server_key(
                "thief",
                10_000,
                &[Permission::FundsQuery, Permission::FundsWithdraw],
                0,
            ),
            server_key(
                "blind",
                10_000,
                &[Permission::OrdersModify, Permission::FundsWithdraw],
                0,
            ),
        ],
        ..Settings::default()
    });
    let trader = exchange.trader(10_000).await;
    for key in [KeyKind::Orders, KeyKind::Account] {
        assert_eq!(trader.client.prove_no_withdrawals(key).await, Ok(()));
    }
    let problem = key_problem(
        with_key(&exchange.url, "thief")
            .prove_no_withdrawals(KeyKind::Orders)
            .await,
    );
    assert!(
        problem.starts_with("key of orders: it may withdraw. Take that permission away"),
        "{problem}"
    );
    let problem = key_problem(
        with_key(&exchange.url, "blind")
            .prove_no_withdrawals(KeyKind::Orders)
            .await,
    );
    assert!(problem.contains("it may not query funds"), "{problem}");
    let unknown = with_key(&exchange.url, "absent")
        .prove_no_withdrawals(KeyKind::Orders)
        .await;
    assert!(
        matches!(
            unknown,
            Err(ProofError::Call(CallError::Refused {
                reason: Reason::InvalidApiKey,
                ..
            }))
        ),
        "{unknown:?}"
    );
}

/// Whatever the second answer is, only a refusal for want of permission is a proof.
#[tokio::test]
async fn an_undecided_proof_is_none() {
    let balance = r#"{"error":[],"result":{"ZUSD":"1.0000"}}"#;
    for (body, is_key) in [
        (r#"{"error":["EGeneral:Permission denied"]}"#, None),
        (r#"{"error":[],"result":[]}"#, Some(true)),
        (r#"{"error":["EGeneral:Unknown method"]}"#, Some(false)),
        (r#"{"error":["EService:Unavailable"]}"#, Some(false)),
        (r#"{"error":["EAPI:Rate limit exceeded"]}"#, Some(false)),
        ("<html>", Some(false)),
    ] {
        let scripts = [balance, body].map(|body| vec![Step::Send(json(200, "", body))]);
        let server = Server::start(scripts.into()).await;
        let proof = with_key(&server.url(), "orders-10000")
            .prove_no_withdrawals(KeyKind::Orders)
            .await;
        let found = match proof {
            Ok(()) => None,
            Err(ProofError::Key { .. }) => Some(true),
            Err(ProofError::Call(_)) => Some(false),
        };
        assert_eq!(found, is_key, "{body}");
    }
    let nonce = r#"{"error":["EAPI:Invalid nonce"]}"#;
    for (bodies, proven) in [
        ([balance, nonce, nonce], true),
        ([balance, nonce, balance], false),
        ([balance, balance, nonce], false),
        ([balance, nonce, r#"{"error":["EService:Busy"]}"#], false),
        ([nonce, nonce, nonce], false),
    ] {
        let scripts = bodies.map(|body| vec![Step::Send(json(200, "", body))]);
        let server = Server::start(scripts.into()).await;
        let proof = with_key(&server.url(), "orders-10000")
            .prove_nonce_window(KeyKind::Orders)
            .await;
        assert_eq!(proof.is_ok(), proven, "{bodies:?}");
        // The same nonce again, then a lower one.
        let nonces: Vec<u64> = server
            .requests()
            .iter()
            .map(|request| {
                let (_, nonce) = request.rsplit_once("nonce=").unwrap();
                nonce.parse().unwrap()
            })
            .collect();
        if proven {
            assert_eq!(nonces, [501, 501, 500]);
        }
    }
    let server = Server::start(vec![vec![Step::Send(json(503, "", ""))]]).await;
    let proof = with_key(&server.url(), "orders-10000")
        .prove_nonce_window(KeyKind::Orders)
        .await;
    assert!(matches!(
        proof,
        Err(ProofError::Call(CallError::Unknown {
            cause: UnknownCause::ServerError,
            ..
        }))
    ));
}

/// A refused cancel shows that the key may cancel, unless it is the key that is refused.
#[tokio::test]
async fn a_key_that_may_not_cancel_is_found_by_the_order_that_is_not_there() {
    let ledgers = r#"{"error":[],"result":{"ledger":{},"count":0}}"#;
    for (body, passes) in [
        (r#"{"error":["EOrder:Unknown order"]}"#, true),
        (r#"{"error":["EOrder:Invalid order"]}"#, true),
        (
            r#"{"error":["EGeneral:Invalid arguments:cl_ord_id"]}"#,
            true,
        ),
        (r#"{"error":[],"result":{"count":0}}"#, true),
        (r#"{"error":["EGeneral:Permission denied"]}"#, false),
        (r#"{"error":["EAPI:Rate limit exceeded"]}"#, false),
        (r#"{"error":["EService:Timeout"]}"#, false),
    ] {
        let scripts = [ledgers, body].map(|body| vec![Step::Send(json(200, "", body))]);
        let server = Server::start(scripts.into()).await;
        let client = with_key(&server.url(), "orders-10000");
        let found = client.ledgers_and_cancels(VenueTime(0)).await;
        assert_eq!(found.is_ok(), passes, "{body}: {found:?}");
    }
    let denied = r#"{"error":["EGeneral:Permission denied"]}"#;
    let server = Server::start(vec![vec![Step::Send(json(200, "", denied))]]).await;
    let client = with_key(&server.url(), "orders-10000");
    let found = client.ledgers_and_cancels(VenueTime(0)).await;
    let text = found.unwrap_err().to_string();
    assert_eq!(
        text,
        "ledgers: refused: EGeneral:Permission denied (the API key has no permission \"Data - Query ledger entries\")"
    );
}

#[tokio::test]
async fn an_order_can_be_checked_without_being_made() {
    let exchange = Exchange::start(Settings::default());
    let trader = exchange.trader(10_000).await;
    let sealed =
        trader.seal(&trader.order(&exchange, OrderKind::MakerOnly, Side::Buy, 3_750_000, WHOLE));
    assert_eq!(trader.client.validate(&sealed.body).await, Ok(()));
    let poor = trader.seal(&trader.order(
        &exchange,
        OrderKind::MakerOnly,
        Side::Buy,
        3_750_000,
        100 * WHOLE,
    ));
    let refused = trader.client.validate(&poor.body).await;
    assert!(
        matches!(
            refused,
            Err(CallError::Refused {
                reason: Reason::InsufficientBalance,
                ..
            })
        ),
        "{refused:?}"
    );
    assert_eq!(trader.page(OrderList::Resting, 0, 0).await.0, []);
}

#[tokio::test]
async fn everything_is_cancelled_at_once_or_by_the_venue_when_its_timer_ends() {
    let exchange = Exchange::start(Settings {
        tier: Tier::Pro,
        ..Settings::default()
    });
    let trader = exchange.trader(10_000).await;
    for price in [3_000_000, 3_000_100] {
        trader
            .place(&exchange, OrderKind::MakerOnly, Side::Buy, price, WHOLE)
            .await;
    }
    assert_eq!(trader.client.cancel_all().await, Ok(2));
    assert_eq!(trader.client.cancel_all().await, Ok(0));
    let resting = async || trader.page(OrderList::Resting, 0, 0).await.0.len();
    trader
        .place(&exchange, OrderKind::MakerOnly, Side::Buy, 3_000_000, WHOLE)
        .await;
    assert_eq!(trader.client.cancel_all_after(10).await, Ok(()));
    exchange.clock.pass_ms(9_000);
    assert_eq!(
        trader.client.cancel_all_after(10).await,
        Ok(()),
        "refreshed"
    );
    exchange.clock.pass_ms(9_999);
    assert_eq!(resting().await, 1);
    exchange.clock.pass_ms(1);
    assert_eq!(resting().await, 0);
    trader
        .place(&exchange, OrderKind::MakerOnly, Side::Buy, 3_000_000, WHOLE)
        .await;
    assert_eq!(trader.client.cancel_all_after(10).await, Ok(()));
    assert_eq!(trader.client.cancel_all_after(0).await, Ok(()));
    exchange.clock.pass_ms(20_000);
    assert_eq!(resting().await, 1, "the timer was ended");
}
