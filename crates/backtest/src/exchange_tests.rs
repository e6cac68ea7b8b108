//! The simulated exchange: funds, ends of orders, lists and depth.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::order::{ClientOrderId, FillBy};
use cambist_core::request::{OrderList, OrdersPage};
use cambist_core::{Qty, StrategyId, TokenId};
use cambist_market_data::{Level, Update, Visibility};

use super::*;

const BASE: TokenId = TokenId(0);
const QUOTE: TokenId = TokenId(1);
const SECOND: i64 = 1_000_000_000;
/// Whole seconds since 1970 at which these tests begin.
const BEGIN_S: u32 = 1_700_000_000;

fn at(second: i64) -> Timestamp {
    Timestamp((i64::from(BEGIN_S) + second) * SECOND)
}

/// One tick is 0.01, one lot 0.1; a base unit is a lot, a quote unit a thousandth.
fn market() -> MarketSpec {
    let token = |id, symbol: &str, decimals| TokenSpec {
        id,
        symbol: symbol.to_owned(),
        decimals,
        precision: decimals,
        minimum: 1,
        maximum: 1 << 90,
        dust: 0,
        enabled: true,
    };
    let (base, quote) = (token(BASE, "B", 1), token(QUOTE, "Q", 3));
    MarketSpec::new(MarketId(0), "B-Q", base, quote, 2, true).unwrap()
}

fn exchange(assumptions: &Assumptions) -> SimulatedExchange {
    let spec = market();
    assert_eq!((spec.lot, spec.quote_per_lot_tick), (1, 1));
    let tokens = vec![spec.base.clone(), spec.quote.clone()];
    let opening = Amounts::from([(BASE, 100), (QUOTE, 100_000)]);
    let recorded = RecordedMarket {
        spec,
        is_snapshots: true,
        fill_lots: 1,
    };
    let mut exchange =
        SimulatedExchange::new(&[recorded], tokens, opening, assumptions, 60_000).unwrap();
    exchange.apply_snapshot(0, &snapshot(0, &[(99, 7), (98, 9)], &[(101, 5), (103, 8)]));
    exchange
}

fn snapshot(second: i64, bids: &[(u64, u64)], asks: &[(u64, u64)]) -> Snapshot {
    let levels = |levels: &[(u64, u64)]| {
        let level = |(price, qty): &(u64, u64)| Level {
            price: Price(*price),
            qty: Qty(*qty),
        };
        levels.iter().map(level).collect()
    };
    Snapshot {
        exchange_time: at(second),
        local_time: at(second),
        sequence: 0,
        bids: levels(bids),
        asks: levels(asks),
    }
}

fn order(number: u64, side: Side, price: u64, lots: u64) -> UnsignedOrder {
    let spec = market();
    let (price, qty) = (Price(price), Qty(lots));
    let base = spec.base_amount(qty).unwrap();
    let quote = spec.quote_amount(price, qty).unwrap();
    let (sell_amount, buy_amount) = match side {
        Side::Buy => (quote, base),
        Side::Sell => (base, quote),
    };
    UnsignedOrder {
        client_id: ClientOrderId {
            instance: 1,
            strategy: StrategyId(0),
            number,
        },
        market: MarketId(0),
        side,
        price,
        qty,
        kind: OrderKind::MakerOnly,
        swap: None,
        sell_token: spec.sell_token(side),
        sell_amount,
        buy_token: spec.buy_token(side),
        buy_amount,
        fill_by: FillBy::Sell,
        slot: 0,
        accepted_until_s: BEGIN_S + 60,
        rests_until_s: Some(BEGIN_S + 60),
        max_fee_bips: 20,
        made_at: VenueTime(0),
    }
}

fn levels(exchange: &mut SimulatedExchange, second: i64) -> [Vec<(u64, Amount)>; 2] {
    let Ok(Reply::Depth(depth)) = exchange.answer(at(second), &Query::Depth(MarketId(0))) else {
        panic!("no depth");
    };
    [depth.bids, depth.asks].map(|side| {
        side.iter()
            .map(|level| (level.price.0, level.size))
            .collect()
    })
}

fn status(
    exchange: &mut SimulatedExchange,
    number: u64,
    second: i64,
) -> Result<OrderStatus, Reason> {
    match exchange.answer(at(second), &Query::Order(hash_of(number)))? {
        Reply::Order(report) => Ok(report.status),
        other => panic!("{other:?}"),
    }
}

#[test]
fn orders_lock_their_funds_until_they_end() {
    let mut exchange = exchange(&Assumptions::default());
    let accepted = exchange.submit(at(1), &order(1, Side::Sell, 102, 60));
    assert_eq!(accepted, Ok((hash_of(1), OrderStatus::Processing)));
    assert_eq!(exchange.account().available(BASE), 40);
    let too_much = exchange.submit(at(1), &order(2, Side::Sell, 102, 41));
    assert_eq!(too_much, Err(Reason::InsufficientBalance));
    assert_eq!(status(&mut exchange, 2, 1), Err(Reason::OrderNotFound));
    assert!(
        exchange
            .submit(at(1), &order(2, Side::Sell, 102, 40))
            .is_ok()
    );
    let again = exchange.submit(at(1), &order(2, Side::Sell, 102, 1));
    assert_eq!(again, Err(Reason::OrderExists));
    assert_eq!(
        exchange.cancel(at(2), hash_of(1)),
        Ok(OrderStatus::Cancelled)
    );
    assert_eq!(exchange.account().available(BASE), 60);
    assert_eq!(
        exchange.cancel(at(2), hash_of(1)),
        Err(Reason::InvalidArgument)
    );
    assert_eq!(
        exchange.cancel(at(2), hash_of(9)),
        Err(Reason::NothingToCancel)
    );
}

#[test]
fn fills_pay_at_the_price_with_the_fee_in_what_is_bought() {
    let mut exchange = exchange(&Assumptions {
        maker_fee: FeeBips::from_bips(1_000),
        ..Assumptions::default()
    });
    exchange
        .submit(at(1), &order(1, Side::Buy, 100, 20))
        .unwrap();
    // The other side reaches our price, with twelve lots.
    exchange.apply_snapshot(0, &snapshot(2, &[(98, 9)], &[(100, 12)]));
    let mut executions = Vec::new();
    exchange.take_executions(&mut executions);
    assert_eq!(executions.len(), 1);
    let traded = executions[0].traded;
    assert_eq!((traded.base, traded.quote, traded.fee), (12, 1_200, 1));
    assert_eq!(
        exchange.account().total(BASE),
        100 + 12 - 1,
        "rounded down, as the exchange does"
    );
    assert_eq!(exchange.account().total(QUOTE), 100_000 - 1_200);
    assert_eq!(exchange.account().available(QUOTE), 100_000 - 2_000);
    exchange.apply_snapshot(0, &snapshot(3, &[(97, 9)], &[(99, 50)]));
    assert_eq!(status(&mut exchange, 1, 3), Ok(OrderStatus::Processed));
    assert_eq!(exchange.account().available(QUOTE), 100_000 - 2_000);
}

#[test]
fn post_only_orders_that_would_take_fail_and_expired_ones_are_refused() {
    let mut exchange = exchange(&Assumptions::default());
    let crossing = exchange.submit(at(1), &order(1, Side::Buy, 101, 1));
    assert_eq!(crossing, Ok((hash_of(1), OrderStatus::Failed)));
    assert_eq!(exchange.account().available(QUOTE), 100_000);
    exchange
        .submit(at(59), &order(2, Side::Buy, 99, 1))
        .unwrap();
    assert_eq!(exchange.next_expiry(), Some(at(60)));
    exchange.expire(Timestamp(at(60).0 - 1));
    assert_eq!(status(&mut exchange, 2, 59), Ok(OrderStatus::Processing));
    exchange.expire(at(60));
    assert_eq!(status(&mut exchange, 2, 60), Ok(OrderStatus::Expired));
    assert_eq!(exchange.next_expiry(), None);
    let late = exchange.submit(at(60), &order(3, Side::Buy, 99, 1));
    assert_eq!(late, Err(Reason::OrderExpired));
}

#[test]
fn depth_shows_our_orders_among_the_recorded_ones() {
    let mut exchange = exchange(&Assumptions::default());
    exchange
        .submit(at(1), &order(1, Side::Buy, 99, 20))
        .unwrap();
    exchange
        .submit(at(1), &order(2, Side::Buy, 100, 3))
        .unwrap();
    exchange
        .submit(at(1), &order(3, Side::Sell, 102, 4))
        .unwrap();
    let [bids, asks] = levels(&mut exchange, 1);
    assert_eq!(bids, [(100, 3), (99, 27), (98, 9)]);
    assert_eq!(asks, [(101, 5), (102, 4), (103, 8)]);
    // Asks at 100 fill part of the bid there; the rest of those levels has traded and is left out.
    exchange.apply_snapshot(0, &snapshot(2, &[(98, 9)], &[(100, 2), (103, 8)]));
    let [bids, asks] = levels(&mut exchange, 2);
    assert_eq!(bids, [(100, 1), (99, 20), (98, 9)]);
    assert_eq!(asks, [(102, 4), (103, 8)]);
}

#[test]
fn lists_balances_and_depth_lag() {
    let mut exchange = exchange(&Assumptions {
        visibility_lag_us: 2_000_000,
        ..Assumptions::default()
    });
    exchange
        .submit(at(1), &order(1, Side::Sell, 102, 60))
        .unwrap();
    assert_eq!(status(&mut exchange, 1, 2), Err(Reason::OrderNotFound));
    let locked = |exchange: &mut SimulatedExchange, second| {
        let Ok(Reply::Balances(balances)) = exchange.answer(at(second), &Query::Balances) else {
            panic!("no balances");
        };
        balances[0].locked
    };
    assert_eq!(locked(&mut exchange, 2), 0);
    assert_eq!(levels(&mut exchange, 2)[1], [(101, 5), (103, 8)]);
    assert_eq!(
        exchange.account().available(BASE),
        40,
        "what is so is so at once"
    );
    assert_eq!(status(&mut exchange, 1, 3), Ok(OrderStatus::Processing));
    assert_eq!(locked(&mut exchange, 3), 60);
    assert_eq!(levels(&mut exchange, 3)[1], [(101, 5), (102, 60), (103, 8)]);
}

/// An order that has filled is listed until its fill is reported. The levels that are behind its price now have not traded
/// with it.
#[test]
fn an_order_whose_fill_is_not_reported_removes_no_level() {
    let mut exchange = exchange(&Assumptions {
        visibility_lag_us: 2_000_000,
        ..Assumptions::default()
    });
    exchange
        .submit(at(1), &order(1, Side::Buy, 100, 3))
        .unwrap();
    exchange.apply_snapshot(0, &snapshot(4, &[(98, 9)], &[(100, 20), (103, 8)]));
    assert_eq!(status(&mut exchange, 1, 5), Ok(OrderStatus::Processing));
    let [bids, asks] = levels(&mut exchange, 5);
    assert_eq!(
        (&bids[..], &asks[..]),
        (&[(98, 9)][..], &[(100, 20), (103, 8)][..])
    );
    // It is shown while no level crosses it.
    exchange.apply_snapshot(0, &snapshot(5, &[(98, 9)], &[(101, 20)]));
    assert_eq!(levels(&mut exchange, 5)[0], [(100, 3), (98, 9)]);
    assert_eq!(levels(&mut exchange, 6)[0], [(98, 9)]);
    assert_eq!(status(&mut exchange, 1, 6), Ok(OrderStatus::Processed));
}

#[test]
fn pages_are_newest_first_and_old_ended_orders_are_removed() {
    let mut exchange = exchange(&Assumptions::default());
    for number in 1..=5 {
        let second = i64::try_from(number).unwrap();
        exchange
            .submit(at(second), &order(number, Side::Sell, 102, 1))
            .unwrap();
    }
    exchange.cancel(at(6), hash_of(2)).unwrap();
    let mut page = |from_s: i64, to_s: i64, offset, limit, list| {
        let page = OrdersPage {
            from: venue_time(at(from_s)),
            to: if to_s == 0 {
                VenueTime(0)
            } else {
                venue_time(at(to_s))
            },
            offset,
            limit,
            list,
        };
        let Ok(Reply::Orders { orders, total }) = exchange.answer(at(6), &Query::Orders(page))
        else {
            panic!("no orders");
        };
        let numbers = orders.iter().map(|order| number_of(order.hash));
        (numbers.collect::<Vec<_>>(), total)
    };
    assert_eq!(page(0, 0, 0, 10, OrderList::All), (vec![5, 4, 3, 2, 1], 5));
    assert_eq!(page(0, 0, 1, 2, OrderList::All), (vec![4, 3], 5));
    assert_eq!(page(2, 4, 0, 10, OrderList::All), (vec![4, 3, 2], 3));
    assert_eq!(page(0, 0, 0, 10, OrderList::Resting), (vec![5, 4, 3, 1], 4));
    assert_eq!(page(0, 0, 9, 10, OrderList::All), (vec![], 5));
    // Ended orders are removed a minute after their creation, up to the first open one.
    exchange.cancel(at(70), hash_of(1)).unwrap();
    assert_eq!(status(&mut exchange, 1, 70), Err(Reason::OrderNotFound));
    assert_eq!(status(&mut exchange, 2, 70), Err(Reason::OrderNotFound));
    assert_eq!(status(&mut exchange, 3, 70), Ok(OrderStatus::Processing));
}

/// Version and time of the depth at a second.
fn stated(exchange: &mut SimulatedExchange, second: i64) -> (u64, VenueTime) {
    let Ok(Reply::Depth(depth)) = exchange.answer(at(second), &Query::Depth(MarketId(0))) else {
        panic!("no depth");
    };
    (depth.version, depth.timestamp)
}

#[test]
fn a_depth_of_snapshots_has_a_version_for_every_change_and_the_time_of_its_snapshot() {
    let mut exchange = exchange(&Assumptions::default());
    let taken_at = |second| venue_time(at(second));
    let (first, time) = stated(&mut exchange, 4);
    assert_eq!(time, taken_at(0), "not the time of the answer");
    assert_eq!(stated(&mut exchange, 5), (first, time), "nothing changed");
    let (rows, mut before) = (&[(99, 7)], first);
    let mut rises = |exchange: &mut SimulatedExchange, second, what: &str| {
        let (version, time) = stated(exchange, 60);
        assert!(version > before, "{what}: {version} after {before}");
        assert_eq!(time, taken_at(second), "{what}");
        before = version;
    };
    exchange.apply_snapshot(0, &snapshot(6, rows, &[(102, 5)]));
    rises(&mut exchange, 6, "a snapshot");
    for number in [1, 2] {
        exchange
            .submit(at(7), &order(number, Side::Buy, 98, 10))
            .unwrap();
        rises(&mut exchange, 6, "an order");
    }
    exchange.cancel(at(8), hash_of(1)).unwrap();
    rises(&mut exchange, 6, "a cancel");
    exchange.expire(at(60));
    rises(&mut exchange, 6, "an expiry");
}

#[test]
fn a_depth_of_events_has_a_version_for_every_change_and_the_time_of_the_answer() {
    let recorded = RecordedMarket {
        spec: market(),
        is_snapshots: false,
        fill_lots: 1,
    };
    let opening = Amounts::from([(BASE, 100), (QUOTE, 100_000)]);
    let assumptions = Assumptions::default();
    let made = SimulatedExchange::new(&[recorded], Vec::new(), opening, &assumptions, 60_000);
    let mut exchange = made.unwrap();
    let level = |second, side, price| Event {
        exchange_time: at(second),
        local_time: at(second),
        visibility: Visibility::Both,
        update: Update::Level {
            side,
            price: Price(price),
            qty: Qty(5),
        },
    };
    let mut versions = Vec::new();
    let mut apply = |exchange: &mut SimulatedExchange, events: &[Event]| {
        let second = 10 + i64::try_from(versions.len()).unwrap();
        assert_eq!(exchange.apply_events(0, events, at(9)), events.len());
        let (version, time) = stated(exchange, second);
        assert_eq!(time, venue_time(at(second)));
        versions.push(version);
        // The levels that still cross are removed, which is a change of its own.
        exchange.end_message(0);
        versions.push(stated(exchange, second).0);
    };
    apply(
        &mut exchange,
        &[level(0, Side::Buy, 99), level(0, Side::Sell, 101)],
    );
    apply(&mut exchange, &[level(1, Side::Buy, 102)]);
    assert_eq!(exchange.crossings(0), 1);
    apply(&mut exchange, &[level(2, Side::Buy, 98)]);
    let [first, same, crossed, settled, last, end] = versions[..] else {
        panic!("{versions:?}");
    };
    assert!(first == same && last == end, "{versions:?}");
    assert!(
        same < crossed && crossed < settled && settled < last,
        "{versions:?}"
    );
}
