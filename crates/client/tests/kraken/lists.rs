//! Lists of orders and the ledger behind them; depth, markets, tokens, account.

use std::sync::Arc;

use cambist_client::{ClientConfig, KrakenClient, KrakenKeys};
use cambist_core::request::{OrderList, OrdersPage, Outcome, Query, Reply, UnknownCause};
use cambist_core::{Hash, OrderKind, OrderStatus, Reason, Side, VenueTime};

use cambist_kraken_venue::NonceSource;
use cambist_kraken_venue::rules::CALL;

use crate::support::{Counting, Exchange, Nonces, ONE, START_S, Settings, client_key, page};

const WHOLE: u64 = 10_000;

#[tokio::test]
async fn a_new_order_is_absent_for_as_long_as_the_lists_lag() {
    let exchange = Exchange::start(Settings {
        list_lag_ms: 2_000,
        ..Settings::default()
    });
    let maker = exchange.trader(10_000).await;
    let key = maker
        .place(&exchange, OrderKind::MakerOnly, Side::Buy, 3_750_000, WHOLE)
        .await;
    for passed_ms in [0, 1_999] {
        exchange.clock.pass_ms(passed_ms);
        assert_eq!(maker.page(OrderList::Resting, 0, 0).await.0, []);
        let answered = maker.ask(Query::Order(key)).await;
        assert_eq!(answered.outcome, Outcome::Refused(Reason::OrderNotFound));
        exchange.clock.pass_ms(0);
    }
    exchange.clock.pass_ms(1);
    assert_eq!(maker.page(OrderList::Resting, 0, 0).await.0.len(), 1);
    assert_eq!(maker.report(key).await.status, OrderStatus::Processing);
}

/// An order names a trade that the ledger does not show yet: the page is unusable, and no fill is left out.
#[tokio::test]
async fn a_trade_that_the_ledger_does_not_show_yet_is_waited_for() {
    let exchange = Exchange::start(Settings {
        list_lag_ms: 2_000,
        ..Settings::default()
    });
    let maker = exchange.trader(10_000).await;
    let taker = exchange.trader(10_001).await;
    let key = maker
        .place(&exchange, OrderKind::MakerOnly, Side::Buy, 3_750_000, WHOLE)
        .await;
    exchange.clock.pass_ms(3_000);
    taker
        .place(
            &exchange,
            OrderKind::TakerOnly,
            Side::Sell,
            3_750_000,
            2_500,
        )
        .await;
    for query in [
        Query::Orders(page(OrderList::Resting, 0, 0)),
        Query::Order(key),
    ] {
        let answered = maker.ask(query).await;
        let unusable = Outcome::Unknown(UnknownCause::Undecodable);
        assert_eq!(answered.outcome, unusable, "{answered:?}");
        let detail = answered.detail.unwrap();
        assert!(
            detail.starts_with("the ledger does not show 1 trades of these orders yet"),
            "{detail}"
        );
    }
    exchange.clock.pass_ms(2_000);
    let report = maker.report(key).await;
    assert_eq!(report.base_filled, ONE / 4);
    assert_eq!(report.quote_filled, 2_500 * 3_750_000);
    let held = maker.held(&exchange).map(|(total, _)| total);
    let paid = report.quote_filled + report.fee;
    assert_eq!(held, [1_000 * ONE + ONE / 4, 1_000_000_000_000 - paid]);
}

#[tokio::test]
async fn closed_orders_are_paged_to_their_count_within_their_window() {
    let exchange = Exchange::start(Settings::default());
    let maker = exchange.trader(10_000).await;
    let mut made = Vec::new();
    for _ in 0..60 {
        made.push(
            maker
                .place(&exchange, OrderKind::Limit, Side::Buy, 3_000_000, 100)
                .await,
        );
        exchange.clock.pass_ms(1_500);
    }
    exchange.clock.pass_ms(30_000);
    let keys = |orders: &[cambist_core::order::OrderReport]| -> Vec<Hash> {
        assert!(
            orders
                .iter()
                .all(|order| order.status == OrderStatus::Expired)
        );
        orders.iter().map(|order| order.hash).collect()
    };
    let (first, next) = maker.page(OrderList::Closed, START_S, 0).await;
    assert_eq!((first.len(), next), (50, Some(50)));
    let (second, end) = maker.page(OrderList::Closed, START_S, 50).await;
    assert_eq!((second.len(), end), (10, None));
    let mut all = [keys(&first), keys(&second)].concat();
    all.reverse();
    assert_eq!(all, made, "newest first");
    // The 41st order was opened at 60 s.
    let page = OrdersPage {
        from: VenueTime::from_s(START_S + 60),
        ..page(OrderList::Closed, 0, 0)
    };
    let Reply::OrdersUntil { orders, next } = maker.reply(Query::Orders(page)).await else {
        panic!("a page was asked for");
    };
    assert_eq!(next, None);
    assert!(keys(&orders).contains(&made[40]));
    assert!(
        !keys(&orders).contains(&made[38]),
        "more than a second before"
    );
    let until = OrdersPage {
        to: VenueTime(START_S * 1_000 + 1_500),
        ..page
    };
    let Reply::OrdersUntil { orders, .. } = maker
        .reply(Query::Orders(OrdersPage {
            from: VenueTime(0),
            ..until
        }))
        .await
    else {
        panic!("a page was asked for");
    };
    assert!(keys(&orders).ends_with(&[made[1], made[0]]) && orders.len() <= 3);
    let all_of_them = cambist_core::request::OrderList::All;
    let answered = maker
        .ask(Query::Orders(crate::support::page(all_of_them, 0, 0)))
        .await;
    assert_eq!(answered.outcome, Outcome::NotSent, "there is no such list");
}

/// Each request costs of the counter of the key.
#[tokio::test]
async fn a_ledger_of_one_page_is_read_with_one_request() {
    let exchange = Exchange::start(Settings::default());
    let maker = exchange.trader(10_000).await;
    let taker = exchange.trader(10_001).await;
    maker
        .place(&exchange, OrderKind::MakerOnly, Side::Buy, 3_750_000, WHOLE)
        .await;
    taker
        .place(&exchange, OrderKind::TakerOnly, Side::Sell, 3_750_000, 500)
        .await;
    exchange.clock.pass_ms(5_000);
    for (requests, what) in [(2, "the list and the ledger"), (1, "the trade is known")] {
        let before = maker.account_nonces.next().unwrap();
        assert_eq!(maker.page(OrderList::Resting, 0, 0).await.0.len(), 1);
        let after = maker.account_nonces.next().unwrap();
        assert_eq!(after - before - 1, requests, "{what}");
    }
}

/// More trades than a page of the ledger has: what is missing is read around the times of the trades, over several
/// queries if need be, and never left out.
#[tokio::test]
async fn many_trades_are_read_over_several_queries() {
    let exchange = Exchange::start(Settings::default());
    let maker = exchange.trader(10_000).await;
    let taker = exchange.trader(10_001).await;
    let old = maker
        .place(&exchange, OrderKind::MakerOnly, Side::Buy, 3_750_000, WHOLE)
        .await;
    taker
        .place(&exchange, OrderKind::TakerOnly, Side::Sell, 3_750_000, 500)
        .await;
    exchange.clock.pass_ms(5_000);
    let key = maker
        .place(
            &exchange,
            OrderKind::MakerOnly,
            Side::Buy,
            3_760_000,
            10 * WHOLE,
        )
        .await;
    for number in 0..100 {
        let sold = 300 + number;
        taker
            .place(&exchange, OrderKind::TakerOnly, Side::Sell, 3_760_000, sold)
            .await;
    }
    // Both have ended.
    exchange.clock.pass_ms(60_000);
    let held = maker.held(&exchange).map(|(total, _)| total);
    let mut asked = 0;
    let reports = loop {
        asked += 1;
        assert!(asked < 20, "every query reads on");
        // For the counter of the key.
        exchange.clock.pass_ms(15_000);
        let answered = maker
            .ask(Query::Orders(page(OrderList::Closed, 0, 0)))
            .await;
        match answered.outcome {
            Outcome::Reply(Reply::OrdersUntil { orders, .. }) => break orders,
            Outcome::Unknown(_) => {
                let detail = answered.detail.unwrap_or_default();
                assert!(detail.contains("the ledger does not show"), "{detail}");
            }
            _ => panic!("{answered:?}"),
        }
    };
    let sum = |of: &dyn Fn(&cambist_core::order::OrderReport) -> u128| -> u128 {
        reports.iter().map(of).sum()
    };
    assert!(asked > 1, "more than one query can read");
    assert_eq!(reports.len(), 2);
    assert!(
        reports.iter().any(|report| report.hash == old)
            && reports.iter().any(|report| report.hash == key)
    );
    let base = sum(&|report| report.base_filled);
    let paid = sum(&|report| report.quote_filled + report.fee);
    assert_eq!(held, [1_000 * ONE + base, 1_000_000_000_000 - paid]);
    // Known now: one request.
    assert_eq!(maker.page(OrderList::Closed, 0, 0).await.0, reports);
}

/// A start knows no trades. Each query states what it cost and asks the ledger at most once; what it read is not read again.
#[tokio::test]
async fn the_trades_of_many_orders_are_read_with_the_calls_that_they_need() {
    const MADE: usize = 120;
    let exchange = Exchange::start(Settings::default());
    let maker = exchange.trader(10_000).await;
    let taker = exchange.trader(10_001).await;
    for _ in 0..MADE {
        let (bid, sold) = (OrderKind::MakerOnly, OrderKind::TakerOnly);
        maker.place(&exchange, bid, Side::Buy, 3_750_000, 500).await;
        taker
            .place(&exchange, sold, Side::Sell, 3_750_000, 500)
            .await;
        exchange.clock.pass_ms(2_000);
    }
    exchange.clock.pass_ms(60_000);
    let counting = Counting::from(90_000);
    let keys = KrakenKeys {
        orders: None,
        account: client_key("account-10000"),
    };
    let nonces: [Arc<dyn NonceSource>; 2] = [Nonces::from(1), counting.clone()];
    let client = KrakenClient::new(&ClientConfig::new(&exchange.url), Some(keys), nonces).unwrap();
    let client = client.with_listing(Arc::clone(maker.client.listing()));
    let (mut read, mut next, mut total) = (0, Some(0), 0);
    while let Some(offset) = next {
        let query = Query::Orders(page(OrderList::Closed, START_S, offset));
        let answered = client.query(&query, &[]).await;
        let calls: u32 = std::mem::take(&mut *counting.1.lock().unwrap())
            .iter()
            .sum();
        assert_eq!(calls, 1 + answered.cost_beyond / CALL, "{answered:?}");
        assert!(calls <= 3, "the list and one question");
        total += calls;
        assert!(total < 40, "{total}");
        match answered.outcome {
            Outcome::Reply(Reply::OrdersUntil {
                orders,
                next: after,
            }) => {
                assert!(orders.iter().all(|order| order.base_filled == ONE / 20));
                read += orders.len();
                next = after;
            }
            Outcome::Unknown(UnknownCause::Undecodable) => {}
            _ => panic!("{answered:?}"),
        }
        // For the counter of the key.
        exchange.clock.pass_ms(15_000);
    }
    assert_eq!(read, MADE);
    // Two entries of each trade and 50 on a page are five questions of two calls, each beside a list of one.
    assert!((15..=21).contains(&total), "{total}");
}

#[tokio::test]
async fn a_book_has_a_version_for_each_content_and_the_time_of_its_answer() {
    let exchange = Exchange::start(Settings::default());
    let maker = exchange.trader(10_000).await;
    let depth = async || match maker.reply(Query::Depth(maker.market.id)).await {
        Reply::Depth(depth) => depth,
        other => panic!("{other:?}"),
    };
    let empty = depth().await;
    assert_eq!(
        (empty.version, empty.timestamp),
        (1, VenueTime::from_s(START_S))
    );
    maker
        .place(&exchange, OrderKind::MakerOnly, Side::Buy, 3_750_000, WHOLE)
        .await;
    maker
        .place(
            &exchange,
            OrderKind::MakerOnly,
            Side::Sell,
            3_760_000,
            2 * WHOLE,
        )
        .await;
    exchange.clock.pass_ms(1_999);
    let book = depth().await;
    assert_eq!(
        (book.version, book.timestamp),
        (2, VenueTime::from_s(START_S + 1))
    );
    assert_eq!((book.bids[0].price.0, book.bids[0].size), (3_750_000, ONE));
    assert_eq!(
        (book.asks[0].price.0, book.asks[0].size),
        (3_760_000, 2 * ONE)
    );
    exchange.clock.pass_ms(5_000);
    let same = depth().await;
    assert_eq!(
        (same.version, same.timestamp),
        (2, VenueTime::from_s(START_S + 6))
    );
}

#[tokio::test]
async fn markets_tokens_and_account_are_those_of_the_start() {
    let exchange = Exchange::start(Settings::default());
    let maker = exchange.trader(10_000).await;
    let Reply::Markets { listed } = maker.reply(Query::Markets).await else {
        panic!("markets were asked for");
    };
    assert_eq!(listed, maker.client.listing().listed());
    let Reply::Tokens(tokens) = maker.reply(Query::Tokens).await else {
        panic!("tokens were asked for");
    };
    let known: Vec<_> = maker.client.listing().tokens().cloned().collect();
    assert_eq!(tokens, known);
    let answered = maker.ask(Query::Account).await;
    assert_eq!(
        answered.outcome,
        Outcome::Reply(Reply::Account { frozen: false })
    );
    assert_eq!(answered.venue_time, None, "a cache may have answered");
    // Orders that only rest are accepted in the first of these.
    for (mode, frozen) in [
        (cambist_venue::ExchangeMode::PostOnly, false),
        (cambist_venue::ExchangeMode::CancelOnly, true),
        (cambist_venue::ExchangeMode::Halted, true),
    ] {
        exchange
            .handle
            .operate(cambist_venue::Operator::SetMode(mode))
            .unwrap();
        assert_eq!(
            maker.reply(Query::Account).await,
            Reply::Account { frozen },
            "{mode:?}"
        );
    }
}
