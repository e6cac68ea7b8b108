//! Orders from their submit to their end: fills, cancels, expiry, amends of others, lost answers, refusals.

use cambist_core::request::{OrderList, Outcome, Query, Reply, UnknownCause};
use cambist_core::{MarketId, OrderKind, OrderStatus, Price, Reason, Side, VenueTime};
use cambist_kraken_venue::order_key::{cl_ord_id, key_of_txid};
use cambist_venue::{
    Caller, KrakenAction, KrakenAmend, KrakenCall, KrakenReply, OrderRef, Request, Response,
};

use crate::cut::Cut;
use crate::support::{Exchange, HELD, ONE, START_S, Settings, Trader, UNIT};

/// Ten-thousandths of the base token.
const WHOLE: u64 = 10_000;

async fn traders(settings: Settings) -> (Exchange, Trader, Trader) {
    let exchange = Exchange::start(settings);
    let maker = exchange.trader(10_000).await;
    let taker = exchange.trader(10_001).await;
    (exchange, maker, taker)
}

/// What the books hold after fills: `signed` is 1 for who bought.
fn after(base: u128, quote: u128, fee: u128, bought: bool) -> [u128; 2] {
    let held = [HELD[0] * ONE, HELD[1] * UNIT];
    if bought {
        [held[0] + base, held[1] - quote - fee]
    } else {
        [held[0] - base, held[1] + quote - fee]
    }
}

#[tokio::test]
async fn fills_are_those_of_the_exchanges_books_and_what_is_left_is_cancelled() {
    let (exchange, maker, taker) = traders(Settings::default()).await;
    let key = maker
        .place(
            &exchange,
            OrderKind::MakerOnly,
            Side::Buy,
            3_750_033,
            2 * WHOLE,
        )
        .await;
    let (open, next) = maker.page(OrderList::Resting, 0, 0).await;
    assert_eq!((open.len(), next), (1, None));
    let order = &open[0];
    assert_eq!(
        (order.hash, order.status, order.market.as_str()),
        (key, OrderStatus::Processing, "XBT-USD")
    );
    assert_eq!(
        (order.base_amount, order.quote_amount),
        (2 * ONE, 75_000_660_000)
    );
    assert_eq!((order.base_filled, order.fee), (0, 0));
    assert_eq!(order.valid_until_s, u32::try_from(START_S + 30).unwrap());
    assert_eq!(order.valid_since, VenueTime::from_s(START_S));
    // Two sales at uneven volumes.
    let mut sold = Vec::new();
    for (price, qty) in [(3_700_000, 3_333), (3_750_033, 1_111)] {
        let sale = taker.place(&exchange, OrderKind::TakerOnly, Side::Sell, price, qty);
        sold.push(sale.await);
    }
    let bought = maker.report(key).await;
    let held = maker.held(&exchange).map(|(total, _)| total);
    assert_eq!(bought.base_filled, 4_444 * (ONE / 10_000));
    assert_eq!(bought.quote_filled, 4_444 * 3_750_033);
    assert_eq!(
        held,
        after(bought.base_filled, bought.quote_filled, bought.fee, true)
    );
    assert!(bought.fee > 0);
    let mut sum = (0, 0, 0);
    for key in sold {
        let report = taker.report(key).await;
        assert_eq!(report.status, OrderStatus::Processed);
        sum = (
            sum.0 + report.base_filled,
            sum.1 + report.quote_filled,
            sum.2 + report.fee,
        );
    }
    assert_eq!((sum.0, sum.1), (bought.base_filled, bought.quote_filled));
    assert_eq!(
        taker.held(&exchange).map(|(total, _)| total),
        after(sum.0, sum.1, sum.2, false)
    );
    // Balances are those of the books, with what the rest of the order holds.
    assert_eq!(maker.balances().await, maker.held(&exchange));
    assert!(maker.balances().await[1].1 > 0);
    let cancel = maker.reply(Query::Cancel(key)).await;
    assert_eq!(
        cancel,
        Reply::CancelTaken {
            status: OrderStatus::Cancelled
        }
    );
    let again = maker.ask(Query::Cancel(key)).await;
    assert_eq!(again.outcome, Outcome::Refused(Reason::NothingToCancel));
    let ended = maker.report(key).await;
    assert_eq!(
        (
            ended.status,
            ended.base_filled,
            ended.quote_filled,
            ended.fee
        ),
        (
            OrderStatus::Cancelled,
            bought.base_filled,
            bought.quote_filled,
            bought.fee
        )
    );
    assert_eq!(maker.page(OrderList::Resting, 0, 0).await.0, []);
    assert_eq!(
        maker.page(OrderList::Closed, START_S, 0).await,
        (vec![ended], None)
    );
    assert_eq!(maker.balances().await[1].1, 0);
}

#[tokio::test]
async fn an_order_ends_with_its_time() {
    let (exchange, maker, _taker) = traders(Settings::default()).await;
    let key = maker
        .place(&exchange, OrderKind::Limit, Side::Sell, 4_000_000, WHOLE)
        .await;
    exchange.clock.pass_ms(29_999);
    assert_eq!(maker.report(key).await.status, OrderStatus::Processing);
    exchange.clock.pass_ms(1);
    let report = maker.report(key).await;
    assert_eq!(
        (report.status, report.base_filled),
        (OrderStatus::Expired, 0)
    );
    let never = maker.order(&exchange, OrderKind::Limit, Side::Sell, 4_000_000, WHOLE);
    let unknown = maker.seal(&never).key;
    let answered = maker.ask(Query::Order(unknown)).await;
    assert_eq!(answered.outcome, Outcome::Refused(Reason::OrderNotFound));
    assert_eq!(answered.venue_time, Some(VenueTime::from_s(START_S + 30)));
}

/// With another key of the account an own order can be amended: the report shows what the order is now.
#[tokio::test]
async fn an_amend_by_others_is_reported() {
    let (exchange, maker, taker) = traders(Settings::default()).await;
    let key = maker
        .place(&exchange, OrderKind::MakerOnly, Side::Buy, 3_750_000, WHOLE)
        .await;
    taker
        .place(
            &exchange,
            OrderKind::TakerOnly,
            Side::Sell,
            3_750_000,
            2_500,
        )
        .await;
    let amend = KrakenAmend {
        order: OrderRef::ClientId(cl_ord_id(key).unwrap()),
        volume: Some(2 * ONE),
        price: Some(Price(3_760_000)),
        post_only: true,
        deadline: None,
        left_in_lots: false,
    };
    let request = Request::Kraken(Box::new(KrakenCall {
        account: maker.account,
        key: cambist_venue::ApiKeyDigest([9; 32]),
        nonce: 1,
        nonce_window: 0,
        action: KrakenAction::Amend(Box::new(amend)),
    }));
    let caller = Caller::Account {
        account: maker.account,
        signed: None,
    };
    let answer = exchange.handle.execute(&caller, &request).unwrap();
    assert!(matches!(answer, Response::Kraken(reply) if matches!(*reply, KrakenReply::Amended(_))));
    taker
        .place(
            &exchange,
            OrderKind::TakerOnly,
            Side::Sell,
            3_760_000,
            1_000,
        )
        .await;
    let report = maker.report(key).await;
    assert_eq!(
        (report.base_amount, report.quote_amount),
        (2 * ONE, 75_200_000_000)
    );
    assert_eq!(
        (report.base_filled, report.quote_filled),
        (
            3_500 * (ONE / 10_000),
            2_500 * 3_750_000 + 1_000 * 3_760_000
        )
    );
    let held = maker.held(&exchange).map(|(total, _)| total);
    assert_eq!(
        held,
        after(report.base_filled, report.quote_filled, report.fee, true)
    );
}

/// The answer is lost behind a venue that executed the order: the same bytes again create nothing, and the order is
/// found by its name.
#[tokio::test]
async fn a_lost_answer_is_unknown_and_the_same_bytes_count_once() {
    let (exchange, _maker, _taker) = traders(Settings::default()).await;
    let cut = Cut::before(&exchange.url).await;
    let maker = exchange.trader_at(&cut.url, 10_000).await;
    let sealed =
        maker.seal(&maker.order(&exchange, OrderKind::MakerOnly, Side::Buy, 3_750_000, WHOLE));
    cut.lose_next_answer();
    let answered = maker.client.submit(&sealed.body).await;
    assert!(
        matches!(answered.outcome, Outcome::Unknown(UnknownCause::Transport)),
        "{answered:?}"
    );
    assert_eq!(answered.venue_time, None);
    let again = maker.client.submit(&sealed.body).await;
    assert_eq!(again.outcome, Outcome::Refused(Reason::InvalidNonce));
    assert_eq!(maker.page(OrderList::Resting, 0, 0).await.0.len(), 1);
    assert_eq!(
        maker.report(sealed.key).await.status,
        OrderStatus::Processing
    );
    // A cancel whose answer is lost was executed all the same.
    cut.lose_next_answer();
    let answered = maker.ask(Query::Cancel(sealed.key)).await;
    assert!(
        matches!(answered.outcome, Outcome::Unknown(UnknownCause::Transport)),
        "{answered:?}"
    );
    assert_eq!(
        maker.report(sealed.key).await.status,
        OrderStatus::Cancelled
    );
}

#[tokio::test]
async fn a_refused_order_has_used_its_nonce_and_has_a_reason() {
    let (exchange, maker, taker) = traders(Settings::default()).await;
    taker
        .place(
            &exchange,
            OrderKind::MakerOnly,
            Side::Sell,
            3_750_000,
            WHOLE,
        )
        .await;
    for (kind, side, price, qty, reason) in [
        (
            OrderKind::MakerOnly,
            Side::Buy,
            3_750_000,
            WHOLE,
            Reason::InvalidOrder,
        ),
        (
            OrderKind::Limit,
            Side::Buy,
            3_000_000,
            100 * WHOLE,
            Reason::InsufficientBalance,
        ),
        (
            OrderKind::Limit,
            Side::Buy,
            3_000_000,
            9,
            Reason::AmountTooSmall,
        ),
        (
            OrderKind::Limit,
            Side::Buy,
            1,
            10_000,
            Reason::AmountTooSmall,
        ),
    ] {
        let sealed = maker.seal(&maker.order(&exchange, kind, side, price, qty));
        let answered = maker.client.submit(&sealed.body).await;
        assert_eq!(answered.outcome, Outcome::Refused(reason), "{answered:?}");
        assert!(
            answered
                .detail
                .is_some_and(|detail| detail.starts_with("EOrder:"))
        );
        let again = maker.client.submit(&sealed.body).await;
        assert_eq!(again.outcome, Outcome::Refused(Reason::InvalidNonce));
    }
    let late = maker.seal(&maker.order(&exchange, OrderKind::Limit, Side::Buy, 3_000_000, WHOLE));
    exchange.clock.pass_ms(10_001);
    let answered = maker.client.submit(&late.body).await;
    assert_eq!(
        answered.outcome,
        Outcome::Refused(Reason::OrderExpired),
        "{answered:?}"
    );
    assert_eq!(maker.page(OrderList::Resting, 0, 0).await.0, []);
}

#[tokio::test]
async fn bytes_that_are_no_sealed_order_and_questions_about_pools_are_not_sent() {
    let (_exchange, maker, _taker) = traders(Settings::default()).await;
    for body in [
        &b""[..],
        b"{}",
        b"nonce=1&pair=XBTUSD&type=buy&ordertype=market&volume=1",
    ] {
        assert_eq!(maker.client.submit(body).await.outcome, Outcome::NotSent);
    }
    for query in [
        Query::Pools,
        Query::PoolBalance(MarketId(0)),
        Query::Depth(MarketId(7)),
    ] {
        let answered = maker.ask(query).await;
        assert_eq!(answered.outcome, Outcome::NotSent);
        assert!(answered.detail.is_some());
    }
    let join = cambist_core::request::Endpoint::Join;
    assert_eq!(
        maker.client.submit_to(join, b"").await.outcome,
        Outcome::NotSent
    );
}

#[tokio::test]
async fn orders_of_others_are_read_and_cancelled_by_their_identifier() {
    let (exchange, maker, taker) = traders(Settings::default()).await;
    let request = Request::Kraken(Box::new(KrakenCall {
        account: maker.account,
        key: cambist_venue::ApiKeyDigest([9; 32]),
        nonce: 1,
        nonce_window: 0,
        action: KrakenAction::Add {
            orders: vec![cambist_venue::NewKrakenOrder {
                market: MarketId(0),
                side: Side::Sell,
                order_type: cambist_venue::KrakenOrderType::Limit(Price(3_900_000)),
                volume: ONE,
                expires_s: None,
                fee_in: cambist_core::venue::FeeToken::Quote,
                client_id: Some("mine".to_owned()),
                user_ref: None,
            }],
            deadline: None,
            validate: false,
        },
    }));
    let caller = Caller::Account {
        account: maker.account,
        signed: None,
    };
    let answer = exchange.handle.execute(&caller, &request).unwrap();
    let Response::Kraken(reply) = answer else {
        panic!("{answer:?}");
    };
    let KrakenReply::Added(added) = *reply else {
        panic!("{reply:?}");
    };
    let [Ok(added)] = &added[..] else {
        panic!("{added:?}");
    };
    let txid = cambist_kraken::id::encode(cambist_kraken::id::Kind::Order, added.number.unwrap());
    let key = key_of_txid(&txid).unwrap();
    taker
        .place(&exchange, OrderKind::TakerOnly, Side::Buy, 3_900_000, 2_500)
        .await;
    let report = maker.report(key).await;
    assert_eq!((report.client_id, report.valid_until_s), (None, u32::MAX));
    assert_eq!(report.base_filled, ONE / 4);
    assert_eq!(maker.page(OrderList::Resting, 0, 0).await.0, [report]);
    let cancel = maker.reply(Query::Cancel(key)).await;
    assert_eq!(
        cancel,
        Reply::CancelTaken {
            status: OrderStatus::Cancelled
        }
    );
    assert_eq!(maker.report(key).await.status, OrderStatus::Cancelled);
    let unknown = key_of_txid("OQCLML-BW3P3-BUCMWZ").unwrap();
    assert_eq!(
        maker.ask(Query::Order(unknown)).await.outcome,
        Outcome::Refused(Reason::OrderNotFound)
    );
    assert_eq!(
        maker.ask(Query::Cancel(unknown)).await.outcome,
        Outcome::Refused(Reason::NothingToCancel)
    );
}
