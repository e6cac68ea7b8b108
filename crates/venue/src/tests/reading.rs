//! Reads: orders, depth, balances, accounts, keys, storage ids, configuration.

use cambist_core::{OrderKind, OrderStatus, Price, Reason, Side, TokenId, VenueTime};

use crate::testing::*;
use crate::{
    AccountId, AccountQuery, Caller, Operator, OrdersQuery, OrdersView, Request, Response,
};

fn list(world: &mut World, query: OrdersQuery) -> OrdersView {
    match world.ask(&signed(query.account), &Request::Orders(query)) {
        Ok(Response::Orders(orders)) => orders,
        other => panic!("{other:?}"),
    }
}

/// R-LST-01, R-LST-03
#[test]
fn the_list_is_newest_first_and_pages_without_gaps() {
    let mut world = World::new();
    // Several in one millisecond: listed in order of acceptance.
    let placed: Vec<_> = (0..8)
        .map(|_| world.place(ALICE, Side::Buy, 250_000, ONE).0)
        .collect();
    let mut paged = Vec::new();
    for page in 0..4 {
        let mut query = OrdersQuery::all(ALICE);
        query.limit = Some(3);
        query.offset = page * 3;
        let found = list(&mut world, query);
        assert_eq!(found.total, 8);
        paged.extend(found.orders.into_iter().map(|order| order.hash));
    }
    paged.reverse();
    assert_eq!(paged, placed);
    let mut query = OrdersQuery::all(ALICE);
    query.limit = Some(0);
    assert_eq!(list(&mut world, query).orders.len(), 0);
}

/// R-LST-03
#[test]
fn a_page_has_50_entries_by_default_and_a_cap() {
    let mut config = config();
    config.limits.open_orders_max = 100;
    config.limits.orders_page_max = 60;
    let mut world = World::with(config);
    for _ in 0..70 {
        world.place(ALICE, Side::Buy, 250_000, ONE);
    }
    assert_eq!(list(&mut world, OrdersQuery::all(ALICE)).orders.len(), 50);
    let mut query = OrdersQuery::all(ALICE);
    query.limit = Some(u64::MAX);
    let found = list(&mut world, query);
    assert_eq!((found.orders.len(), found.total), (60, 70));
    let mut query = OrdersQuery::all(ALICE);
    query.limit = Some(0);
    let found = list(&mut world, query);
    assert_eq!((found.orders.len(), found.total), (0, 70));
}

/// A change of a query.
type Change<'a> = &'a dyn Fn(&mut OrdersQuery);

/// R-LST-02
#[test]
fn every_filter_filters() {
    let mut world = World::new();
    let (bid, _) = world.place(ALICE, Side::Buy, 240_000, ONE);
    world.now = world.now.plus_ms(10);
    let (ask, _) = world.place(ALICE, Side::Sell, 260_000, ONE);
    world.now = world.now.plus_ms(10);
    let mut order = world.order(ALICE, Side::Sell, 260_000, ONE);
    order.kind = OrderKind::MakerOnly;
    order.sell_token = OTHER;
    world.submit(&order);
    world.cancel(ALICE, ask).unwrap();
    let start = START_S * 1_000;
    let found = |world: &mut World, change: Change<'_>| {
        let mut query = OrdersQuery::all(ALICE);
        change(&mut query);
        let found = list(world, query);
        assert_eq!(found.total, found.orders.len() as u64);
        found
            .orders
            .iter()
            .map(|order| order.hash)
            .collect::<Vec<_>>()
    };
    let other = order.hash;
    let all = found(&mut world, &|_| {});
    assert_eq!(all, [other, ask, bid]);
    let cases: [(Change<'_>, Vec<_>); 10] = [
        (&|q| q.market = Some("BBB-QQQ".to_owned()), vec![other]),
        (&|q| q.market = Some("XXX-QQQ".to_owned()), vec![]),
        (&|q| q.start = VenueTime(start + 10), vec![other, ask]),
        (&|q| q.end = VenueTime(start + 10), vec![ask, bid]),
        (
            &|q| {
                q.start = VenueTime(start + 1);
                q.end = VenueTime(start + 19);
            },
            vec![ask],
        ),
        (&|q| q.sides = vec![Side::Buy], vec![bid]),
        (&|q| q.sides = vec![Side::Buy, Side::Sell], all.clone()),
        (&|q| q.statuses = vec![OrderStatus::Cancelled], vec![ask]),
        (&|q| q.kinds = Some(vec![OrderKind::MakerOnly]), vec![other]),
        (&|q| q.kinds = None, vec![]),
    ];
    for (number, (change, expected)) in cases.into_iter().enumerate() {
        assert_eq!(found(&mut world, change), expected, "case {number}");
    }
}

/// R-LST-04
#[test]
fn history_is_bounded_and_open_orders_are_never_dropped() {
    let mut world = World::new();
    let (open, _) = world.place(ALICE, Side::Buy, 240_000, ONE);
    let mut cancelled = Vec::new();
    for number in 0..35 {
        let mut order = world.order(ALICE, Side::Buy, 240_000, ONE);
        order.client_id = Some(format!("n{number}"));
        world.submit(&order);
        world.cancel(ALICE, order.hash).unwrap();
        cancelled.push(order);
    }
    let mut query = OrdersQuery::all(ALICE);
    query.limit = Some(500);
    let found = list(&mut world, query);
    assert_eq!(found.total, 31, "30 finished and the open one");
    assert_eq!(found.orders.last().unwrap().hash, open);
    let request = Request::Order {
        account: ALICE,
        hash: cancelled[4].hash,
    };
    assert_eq!(
        world.refused(&signed(ALICE), &request),
        Reason::OrderNotFound
    );
    // A client id that is no longer in the history can be used again, a storage id cannot.
    let mut again = world.order(ALICE, Side::Buy, 240_000, ONE);
    again.client_id = Some("n4".to_owned());
    world.submit(&again);
    assert_eq!(world.submit_refused(&cancelled[3]), Reason::OrderExists);
}

/// R-LST-05
#[test]
fn an_order_is_shown_to_its_owner_only() {
    let mut world = World::new();
    let (hash, _) = world.place(ALICE, Side::Buy, 250_000, ONE);
    let view = world.view(ALICE, hash);
    assert_eq!(
        (view.market.as_str(), view.price, view.price_decimals),
        ("AAA-QQQ", Price(250_000), 2)
    );
    assert_eq!((view.base_amount, view.quote_amount), (ONE, 2_500 * UNIT));
    let request = Request::Order { account: BOB, hash };
    assert_eq!(world.refused(&signed(BOB), &request), Reason::OrderNotFound);
}

/// R-BAL-01
#[test]
fn balances_are_complete_or_for_the_requested_tokens() {
    let mut world = World::new();
    world.place(ALICE, Side::Buy, 250_000, ONE);
    let mut ask = |tokens: Option<Vec<TokenId>>| {
        let request = Request::Balances {
            account: ALICE,
            tokens,
        };
        match world.ask(&signed(ALICE), &request) {
            Ok(Response::Balances(rows)) => rows
                .iter()
                .map(|row| (row.token, row.total, row.locked))
                .collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        ask(None),
        [
            (BASE, 1_000 * ONE, 0),
            (QUOTE, 1_000_000 * UNIT, 2_500 * UNIT),
            (OTHER, 1_000 * ONE, 0)
        ]
    );
    assert_eq!(
        ask(Some(vec![LONELY, BASE, BASE, TokenId(99)])),
        [(BASE, 1_000 * ONE, 0), (LONELY, 0, 0)]
    );
    assert_eq!(ask(Some(Vec::new())), []);
}

/// R-ACC-01
#[test]
fn accounts_are_found_by_owner_or_number() {
    let mut world = World::new();
    let mut ask = |query| world.ask(&Caller::Public, &Request::Account(query));
    for query in [
        AccountQuery::Owner([11; 20]),
        AccountQuery::Id(AccountId(11)),
    ] {
        match ask(query) {
            Ok(Response::Account(account)) => {
                assert_eq!((account.id, account.owner), (BOB, [11; 20]));
                assert_eq!((account.nonce, account.key_nonce), (1, 0));
                assert!(!account.frozen);
            }
            other => panic!("{other:?}"),
        }
    }
    for (query, reason) in [
        (AccountQuery::Owner([0; 20]), Reason::AddressNotFound),
        (AccountQuery::Owner([55; 20]), Reason::UserNotFound),
        (AccountQuery::Id(AccountId(999)), Reason::UserNotFound),
    ] {
        assert_eq!(ask(query).unwrap_err().reason, reason);
    }
}

/// R-KEY-01, R-KEY-02
#[test]
fn an_api_key_is_replaced_immediately_and_the_old_one_is_invalid() {
    let mut world = World::new();
    let unsigned = Caller::Account {
        account: ALICE,
        signed: None,
    };
    let rotate = |account, key: &str| Request::RotateApiKey {
        account,
        fresh: api_key(key),
    };
    assert_eq!(
        world.venue.account_of_api_key(&api_key("key of 10")),
        Some(ALICE)
    );
    assert_eq!(
        world.ask(&unsigned, &rotate(ALICE, "new")),
        Ok(Response::ApiKey(api_key("new")))
    );
    assert_eq!(world.venue.account_of_api_key(&api_key("key of 10")), None);
    assert_eq!(world.venue.account_of_api_key(&api_key("new")), Some(ALICE));
    for (request, reason) in [
        (rotate(ALICE, "key of 11"), Reason::UnknownError),
        (rotate(ALICE, ""), Reason::UnknownError),
        (rotate(BOB, "x"), Reason::InvalidAccount),
        (rotate(AccountId(999), "x"), Reason::UserNotFound),
    ] {
        assert_eq!(world.refused(&unsigned, &request), reason);
    }
}

/// R-KEY-03
#[test]
fn the_first_api_key_requires_a_signature() {
    let mut world = World::new();
    world.operate(Operator::CreateAccount {
        id: Some(AccountId(77)),
        owner: [77; 20],
        public_key: crate::PublicKey::default(),
        api_key: None,
        internal: false,
    });
    let ask = |key: &str| Request::ApiKey {
        account: AccountId(77),
        fresh: api_key(key),
    };
    assert_eq!(
        world.refused(&Caller::Public, &ask("one")),
        Reason::NoSignature
    );
    for fresh in ["one", "two"] {
        assert_eq!(
            world.ask(&signed(AccountId(77)), &ask(fresh)),
            Ok(Response::ApiKey(api_key("one"))),
            "the first stays"
        );
    }
    assert_eq!(world.venue.account_of_api_key(&api_key("two")), None);
}

/// R-SLT-05
#[test]
fn the_next_storage_ids_are_even_for_orders_and_odd_for_the_rest() {
    let mut world = World::new();
    let mut order = world.order(ALICE, Side::Buy, 250_000, ONE);
    order.storage_id = 40;
    world.submit(&order);
    for (sell_token, order, offchain) in [(QUOTE, 42, 41), (BASE, 0, 1)] {
        let request = Request::NextStorageId {
            account: ALICE,
            sell_token,
        };
        assert_eq!(
            world.ask(&signed(ALICE), &request),
            Ok(Response::StorageId {
                order: Some(order),
                offchain: Some(offchain)
            })
        );
    }
    let request = Request::NextStorageId {
        account: ALICE,
        sell_token: TokenId(99),
    };
    assert_eq!(
        world.refused(&signed(ALICE), &request),
        Reason::UnsupportedToken
    );
}

/// R-CFG-01
#[test]
fn the_current_configuration_is_shown() {
    let mut world = World::new();
    world.operate(Operator::EnableMarket {
        market: "BBB-QQQ".to_owned(),
        enabled: false,
    });
    match world.ask(&Caller::Public, &Request::Markets) {
        Ok(Response::Markets(markets)) => assert_eq!(
            markets
                .iter()
                .map(|market| (market.name.as_str(), market.enabled))
                .collect::<Vec<_>>(),
            [("AAA-QQQ", true), ("BBB-QQQ", false)]
        ),
        other => panic!("{other:?}"),
    }
    match world.ask(&Caller::Public, &Request::Tokens) {
        Ok(Response::Tokens(tokens)) => assert_eq!(tokens.len(), 4),
        other => panic!("{other:?}"),
    }
    match world.ask(&Caller::Public, &Request::ExchangeInfo) {
        Ok(Response::Exchange(info)) => {
            assert_eq!((info.chain_id, info.exchange), (1, [7; 20]));
        }
        other => panic!("{other:?}"),
    }
}
