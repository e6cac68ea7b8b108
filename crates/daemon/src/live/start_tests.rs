//! Decisions of a start: the venue's clock, numbers of slots, parameters that operators set, a store that is older than
//! its orders.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::BTreeMap;
use std::path::Path;

use cambist_client::{Client, ClientConfig, Credentials, SecretString};
use cambist_core::event::{RecoveredOrder, TradingState};
use cambist_core::order::{FillBy, OrderReport, UnsignedOrder};
use cambist_core::{
    ClientOrderId, Hash, MarketId, OrderKind, OrderStatus, Price, Qty, Side, StrategyId, TokenId,
    VenueTime,
};
use cambist_host::exit::{Exit, Failure};
use cambist_protocol::encode_move::Owner;
use cambist_protocol::wire::StorageIds;
use cambist_signing::{Address, SecretKey};
use cambist_store::{OpenIntent, SetParameter, Store};

use super::{
    AccountAccess, Venue, begin, beside_set, higher, listed_pools, refuse_older, split,
    storage_ids, take, venue_time, with_set,
};
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
    let stored: BTreeMap<_, _> = tokens.iter().map(|token| (*token, 150)).collect();
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
    let silent = storage_ids(&client(port), &bound, BTreeMap::new(), StartRetry::none()).await;
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

/// The first event has what file, store and venue state, each in its field.
#[test]
fn the_first_event_has_everything_from_outside() {
    let folder = crate::testing::private_folder();
    let mut daemon = example();
    daemon.store.dir = folder.path().to_owned();
    daemon.fee_bips = [3, 17];
    let state = take(&daemon).unwrap();
    let (instance, next) = (state.recovered.instance, state.recovered.next_number);
    let key = SecretKey::from_hex("0x1234").unwrap();
    let key = crate::live::account_access::AccountKey::Held(key.into());
    let address = Address([7; 20]);
    let venue = Venue {
        access: AccountAccess {
            client: client(1),
            key,
        },
        exchange: Address([8; 20]),
        owner: Owner {
            address,
            chain_id: 5,
        },
        bound: bound(),
        newest: Vec::new(),
        next_storage: [(TokenId(1), 42)].into(),
        time: VenueTime(1_700_000_000_123),
    };
    let started = begin(&daemon, state, venue, 99).unwrap();
    let start = &started.start;
    assert_eq!((start.maker_fee_bips, start.taker_fee_bips), (3, 17));
    assert_eq!(
        (start.seed, start.instance, start.next_number),
        (99, instance, next)
    );
    assert_eq!(start.venue_time, VenueTime(1_700_000_000_123));
    assert_eq!(start.next_slots, [(TokenId(1), 42)].into());
    assert_eq!(
        (&start.markets, &start.pools),
        (&bound().markets, &bound().pools)
    );
    let strategies: Vec<_> = start
        .strategies
        .iter()
        .map(|(id, market)| (id.0, market.0))
        .collect();
    assert_eq!(strategies, [(0, 0), (1, 0)]);
    assert_eq!((start.traded.len(), start.memories.len()), (2, 2));
    assert!(start.open.is_empty() && started.bodies.is_empty());
    let signer = &started.signer;
    assert_eq!(
        (signer.exchange, signer.account_id),
        (Address([8; 20]), 10_000)
    );
    assert_eq!((signer.owner.address, signer.owner.chain_id), (address, 5));
    assert_eq!(signer.pools, bound().pools);
}

fn order(instance: u32, number: u64) -> UnsignedOrder {
    UnsignedOrder {
        client_id: ClientOrderId {
            instance,
            strategy: StrategyId(1),
            number,
        },
        market: MarketId(0),
        side: Side::Sell,
        price: Price(5),
        qty: Qty(6),
        kind: OrderKind::MakerOnly,
        swap: None,
        sell_token: TokenId(0),
        sell_amount: 7,
        buy_token: TokenId(1),
        buy_amount: 8,
        fill_by: FillBy::Sell,
        slot: 2,
        accepted_until_s: 9,
        rests_until_s: Some(9),
        max_fee_bips: 10,
        made_at: VenueTime(11),
    }
}

#[test]
fn open_orders_are_divided_into_engine_bytes_and_fills() {
    let open = |number: u64, add: u128| OpenIntent {
        recovered: RecoveredOrder {
            order: order(3, number),
            hash: Hash([4; 32]),
            base_filled: 100 + add,
            quote_filled: 200 + add,
            fee: 300 + add,
        },
        body: vec![u8::try_from(number).unwrap(); 2],
    };
    let (engine, bodies, filled) = split(vec![open(41, 1), open(42, 2)]);
    assert_eq!(engine, [open(41, 1).recovered, open(42, 2).recovered]);
    let id = |number| order(3, number).client_id;
    let bytes: Vec<_> = bodies
        .iter()
        .map(|(id, body)| (*id, body.to_vec()))
        .collect();
    assert_eq!(bytes, [(id(41), vec![41, 41]), (id(42), vec![42, 42])]);
    let fills: Vec<_> = filled
        .iter()
        .map(|(id, filled)| (*id, [filled.base, filled.quote, filled.fee]))
        .collect();
    assert_eq!(
        fills,
        [(id(41), [101, 201, 301]), (id(42), [102, 202, 302])]
    );
}

fn set(strategy: &str, key: &str, value: &str) -> SetParameter {
    SetParameter {
        market: "ETH-USDC".to_owned(),
        strategy: strategy.to_owned(),
        key: key.to_owned(),
        value: Some(value.to_owned()),
        operator: "alice (1000)".to_owned(),
        reason: "volatile".to_owned(),
        at_us: 7,
    }
}

/// A parameter of the example's second strategy.
const KEY: &str = "cool_down_s";

#[test]
fn parameters_that_operators_set_apply_or_the_start_is_refused() {
    let file = example();
    let strategy = file.markets[0].strategies[1].name.value.clone();
    let params = |daemon: &Daemon| daemon.markets[0].strategies[1].params.clone();
    let unchanged = with_set(&file, &[]).unwrap();
    assert_eq!(params(&unchanged), params(&file));
    let elsewhere = with_set(&file, &[set("another", KEY, "25")]).unwrap();
    assert_eq!(params(&elsewhere), params(&file), "it applies to none");
    let wider = with_set(&file, &[set(&strategy, KEY, "25")]).unwrap();
    assert_ne!(params(&wider), params(&file));
    let wrong = with_set(&file, &[set(&strategy, KEY, "\"wide\"")]).unwrap_err();
    let failure = wrong.downcast_ref::<Failure>().unwrap();
    assert_eq!(failure.exit, Exit::Refused);
    let text = wrong.to_string();
    assert!(
        text.contains(&format!("--reset {strategy}.{KEY}")),
        "{text}"
    );
    assert!(text.contains("alice (1000) (volatile)"), "{text}");
}

#[test]
fn an_error_of_the_file_names_the_parameters_that_may_have_caused_it() {
    let other = || anyhow::anyhow!("the venue is gone");
    let config = || {
        let problem = crate::config::Problem {
            at: crate::config::Place::default(),
            what: "too wide".to_owned(),
        };
        anyhow::Error::from(example().source.invalid(vec![problem]))
    };
    let parameters = [set("bands", KEY, "25"), set("ladder", "order_levels", "2")];
    let text = |error: anyhow::Error| format!("{error:#}");
    let named = text(beside_set(config(), &parameters));
    assert!(
        named.contains("bands.cool_down_s, ladder.order_levels were set"),
        "{named}"
    );
    assert_eq!(text(beside_set(config(), &[])), text(config()));
    assert_eq!(text(beside_set(other(), &parameters)), "the venue is gone");
}

/// An order of this instance behind the newest of the store means a restored copy, until the operator has decided.
#[test]
fn a_store_without_its_newest_orders_halts_trading() {
    let folder = crate::testing::private_folder();
    let mut store = Store::open(folder.path()).unwrap();
    store.recover(&[]).unwrap();
    let instance = store.instance();
    let report = |instance, number| OrderReport {
        hash: Hash([4; 32]),
        client_id: Some(order(instance, number).client_id),
        market: "ETH-USDC".to_owned(),
        side: Side::Sell,
        status: OrderStatus::Processed,
        base_amount: 1,
        quote_amount: 2,
        base_filled: 1,
        quote_filled: 2,
        fee: 0,
        valid_until_s: 9,
        valid_since: VenueTime(11),
    };
    let daemon = example();
    let harmless = [report(instance, 0), report(instance.wrapping_add(1), 99)];
    refuse_older(&daemon, &mut store, &harmless).unwrap();
    assert_eq!(store.level().unwrap().0, TradingState::Active);
    let newer = [
        report(instance, 5),
        report(instance, 9_000),
        report(instance, 6),
    ];
    let error = refuse_older(&daemon, &mut store, &newer).unwrap_err();
    let failure = error.downcast_ref::<Failure>().unwrap();
    assert_eq!(failure.exit, Exit::Latched);
    let text = error.to_string();
    let id = order(instance, 9_000).client_id;
    assert!(text.contains(&format!("the venue shows {id}")), "{text}");
    assert_eq!(store.level().unwrap().0, TradingState::Halted);
    assert!(store.recover(&[]).unwrap().next_number > 9_000);
    store.clear_level("checked").unwrap();
    refuse_older(&daemon, &mut store, &newer).unwrap();
}
