//! Decisions of a start: its first event, parameters that operators set, a store that is older than its orders.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use cambist_core::event::{RecoveredOrder, TradingState};
use cambist_core::order::{FillBy, UnsignedOrder};
use cambist_core::{
    ClientOrderId, Hash, MarketId, OrderKind, Price, Qty, Side, StrategyId, TokenId, VenueTime,
};
use cambist_host::exit::{Exit, Failure};
use cambist_store::{Listing, OpenIntent, SetParameter, Store};

use super::{Venue, begin, beside_set, refuse_older, refuse_other_account, split, take, with_set};
use crate::config::venue::{ExchangeLink, VenueTerms};
use crate::config::{Bound, Daemon};
use crate::venues::{Session, exchange};

fn example() -> Daemon {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");
    Daemon::load(Path::new(example)).unwrap()
}

fn bound() -> Bound {
    example().bind_expected().unwrap().unwrap()
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
    let venue = Venue {
        session: Session::Exchange(exchange::tests::session()),
        bound: bound(),
        newest: Vec::new(),
        next_slots: [(TokenId(1), 42)].into(),
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
}

/// A folder without an account, as an earlier program wrote it, belongs to that of the next start.
#[test]
fn a_state_folder_belongs_to_the_account_of_its_first_start() {
    let folder = crate::testing::private_folder();
    let mut daemon = example();
    daemon.store.dir = folder.path().to_owned();
    let started = |daemon: &Daemon, account| {
        let mut store = Store::open(folder.path()).unwrap();
        store.recover(&["ETH-USDC".to_owned()]).unwrap();
        let bound = bound();
        let listing = Listing {
            account,
            ..super::listing(daemon, &bound)
        };
        store.books(&listing).unwrap();
    };
    started(&daemon, None);
    drop(take(&daemon).unwrap());
    let own = daemon.venue.folder_account();
    assert!(own.is_some());
    started(&daemon, own);
    drop(take(&daemon).unwrap());
    let VenueTerms::Exchange(link) = &mut daemon.venue.terms else {
        panic!("the example is one of the exchange interface");
    };
    let sound = link.clone();
    // A file need not state the exchange's address.
    link.exchange = None;
    refuse_other_account(&daemon).unwrap();
    for change in [
        |link: &mut ExchangeLink| link.account_id += 1,
        |link: &mut ExchangeLink| link.exchange = Some(format!("0x{:040x}", 7)),
    ] {
        let mut other = sound.clone();
        change(&mut other);
        daemon.venue.terms = VenueTerms::Exchange(other);
        let error = take(&daemon).map(drop).unwrap_err();
        let failure = error.downcast_ref::<Failure>().unwrap();
        assert_eq!(failure.exit, Exit::Refused);
        let text = error.to_string();
        let held = format!("belongs to account {}", sound.account_id);
        assert!(text.contains(&held) && text.contains("store.dir"), "{text}");
    }
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
    let report = |instance, number| order(instance, number).client_id;
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
