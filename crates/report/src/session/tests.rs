//! A session from notifications to JSON and text.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::notification::{End, MarketStatus};
use cambist_core::request::{Endpoint, UnknownCause};
use cambist_core::{Hash, Price, Qty, Reason, Side, VenueTime};
use serde_json::{Value, json};

use super::counts::REASONS_MAX;
use super::*;
use crate::summary::{Closing, VenueBalances};
use crate::testing::{Random, fill, market, order, pool};
use crate::text;

const ETH: u128 = 10u128.pow(18);
const USDC: u128 = 1_000_000;

fn ready() -> Notification {
    Notification::Ready {
        opening: [(TokenId(0), 10 * ETH), (TokenId(1), 25_000 * USDC)].into(),
        recovered: 0,
    }
}

fn depth(mid: u64) -> Notification {
    Notification::DepthAccepted {
        market: MarketId(0),
        mid: Some(mid),
        timestamp: VenueTime(0),
    }
}

fn submitted(number: u64) -> Notification {
    Notification::Submitted {
        order: order(number),
        market: MarketId(0),
        side: Side::Buy,
        price: Price(1),
        qty: Qty(1),
        valid_until_s: 0,
    }
}

#[test]
fn a_swap_is_a_fill_and_counted_as_a_swap_too() {
    let mut session = Session::new(&[market()]);
    session.observe(Time(0), &ready());
    session.observe(Time(0), &submitted(1));
    session.observe(
        Time(0),
        &Notification::SwapSubmitted {
            order: order(2),
            market: MarketId(0),
            side: Side::Buy,
            sell: 2_500 * USDC,
            least: ETH,
            valid_until_s: 0,
        },
    );
    let text = |session: &Session| {
        let summary = session.summary(Time(1), &Closing::default(), |_| String::new());
        text::summary(&summary, true)
    };
    let bought = |number| {
        let mut fill = fill(Side::Buy, 250_000, 10_000, 0, None);
        fill.order = order(number);
        Notification::Filled(fill)
    };
    session.observe(Time(0), &bought(1));
    assert_eq!((session.fills(), session.swaps()), (1, 0));
    assert!(text(&session).contains("fills                 1\n"));
    session.observe(Time(0), &bought(2));
    assert_eq!((session.fills(), session.swaps()), (2, 1));
    assert!(text(&session).contains("fills                 2, 1 by swap\n"));
    assert!(text::line(&session).contains("fills    2, 1 by swap"));
}

fn acknowledged(number: u64, micros: u64) -> Notification {
    Notification::Acknowledged {
        order: order(number),
        hash: Hash([0; 32]),
        micros,
    }
}

fn unknown(number: u64) -> Notification {
    Notification::Unknown {
        endpoint: Endpoint::Submit,
        order: Some(order(number)),
        cause: UnknownCause::Timeout,
    }
}

fn refused(number: u64, endpoint: Endpoint, reason: Reason) -> Notification {
    Notification::Refused {
        endpoint,
        order: Some(order(number)),
        reason,
    }
}

fn ended(number: u64, end: End) -> Notification {
    Notification::Ended {
        order: order(number),
        market: MarketId(0),
        end,
        cancel_micros: None,
    }
}

fn both(both: bool) -> Notification {
    Notification::BothSides {
        market: MarketId(0),
        both,
    }
}

fn status(unknown: u32) -> Notification {
    Notification::Status(Box::new(Status {
        markets: vec![MarketStatus {
            mid: Some(500_001),
            bid: Some(Price(249_900)),
            ask: Some(Price(250_100)),
            unknown,
            ..MarketStatus::default()
        }],
        sent: 120,
        allowed: 300,
        ..Status::default()
    }))
}

/// A small session, each notification one second after the previous one.
fn session() -> (Session, Time) {
    let mut session = Session::new(&[market()]);
    let notifications = [
        depth(500_000),
        ready(),
        submitted(1),
        acknowledged(1, 8_000),
        submitted(2),
        unknown(2),
        both(true),
        submitted(3),
        refused(3, Endpoint::Submit, Reason::AmountTooSmall),
        ended(3, End::Refused),
        refused(1, Endpoint::Cancel, Reason::NothingToCancel),
        refused(1, Endpoint::Depth, Reason::RateLimited),
        Notification::Filled(fill(Side::Buy, 249_900, 10_000, ETH / 1_000, Some(500_000))),
        depth(498_000),
        Notification::Filled(fill(Side::Sell, 249_100, 10_000, 2_491_000, None)),
        both(false),
        ended(1, End::Filled),
        acknowledged(2, 12_000),
        ended(2, End::Cancelled),
        submitted(4),
        refused(4, Endpoint::Submit, Reason::OrderExists),
        status(1),
        both(true),
        Notification::Draining,
        both(true),
    ];
    let mut now = Time::from_ms(0);
    for notification in notifications {
        session.observe(now, &notification);
        now = now.plus_ms(1_000);
    }
    (session, now)
}

fn closing() -> Closing {
    Closing {
        seed: Some(7),
        duration_s: 25.0,
        resting_after: Some(0),
        residual_units: [(TokenId(0), 0), (TokenId(1), -3)].into(),
        replay_equal: Some(true),
    }
}

fn code(reason: Reason) -> String {
    format!("{reason:?}")
}

#[test]
fn the_json_has_the_fields_of_the_demo() {
    let (session, now) = session();
    let summary = session.summary(now, &closing(), code);
    let mut json = serde_json::to_value(&summary).unwrap();
    // Latencies are exact to 0.1 %.
    for (name, expected) in [("p50", 8.0), ("p99", 12.0)] {
        let got = json["ack_ms"][name].take().as_f64().unwrap();
        assert!((got / expected - 1.0).abs() < 0.001, "{name} {got}");
    }
    assert_eq!(
        json,
        json!({
            "seed": 7,
            "duration_s": 25.0,
            "orders": {
                "submitted": 4,
                "acknowledged": 2,
                "cancelled": 1,
                "filled": 1,
                "refused": {"AmountTooSmall": 1, "OrderExists": 1},
                "unknown_left": 1
            },
            "ends": {
                "recovered": 0,
                "filled": 1,
                "cancelled": 1,
                "expired": 0,
                "rejected": 1,
                "failed_late": 0,
                "fenced": 0,
                "never_sent": 0,
                "partly_filled": 0
            },
            "fills": 2,
            "swaps": 0,
            // From second 6 to 23, without 15 to 22.
            "quoted_both_sides_ratio": 10.0 / 17.0,
            "inventory": {"ETH": "9999000000000000000", "USDC": "24989509000"},
            "pnl_quote": {
                "spread": 2.0,
                "inventory": -109.99,
                "fees": -4.991,
                "total": -112.981
            },
            "pnl": [{
                "quote": "USDC",
                "spread": "2",
                "holdings": "-109.99",
                "fees": "-4.991",
                "total": "-112.981"
            }],
            "ack_ms": {"p50": Value::Null, "p99": Value::Null},
            "requests": {"sent": 120, "allowed": 300, "http_429": 1},
            "resting_after": 0,
            "residual_units": {"ETH": "0", "USDC": "-3"},
            "replay_equal": true,
            "quote": "USDC",
            "inventory_tokens": {"ETH": "9.999", "USDC": "24989.509"},
            "residual_tokens": {"ETH": "0", "USDC": "-0.000003"}
        })
    );
    assert_eq!(summary.markets.len(), 1);
    assert_eq!(summary.markets[0].base_volume, 2 * ETH);
}

#[test]
fn an_empty_session_has_an_empty_summary() {
    let session = Session::new(&[market()]);
    let summary = session.summary(Time(0), &Closing::default(), code);
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["ack_ms"], json!({"p50": null, "p99": null}));
    assert_eq!(json["quoted_both_sides_ratio"], json!(0.0));
    assert_eq!(json["seed"], Value::Null);
    assert_eq!(json["pnl_quote"]["total"], json!(0.0));
}

#[test]
fn the_number_of_unknown_orders_is_the_engines() {
    let left = |notifications: &[Notification]| {
        let mut session = Session::new(&[market()]);
        for notification in notifications {
            session.observe(Time(0), notification);
        }
        let summary = session.summary(Time(0), &Closing::default(), code);
        summary.orders.unknown_left
    };
    assert_eq!(left(&[unknown(1), status(1)]), 1);
    let late = [ended(1, End::Cancelled), unknown(1), status(0)];
    assert_eq!(
        left(&late),
        0,
        "its answer was lost, but its end was listed"
    );
    assert_eq!(left(&[status(3)]), 3, "recovered from the store");
}

/// Recovered and submitted orders are the sum of all ends and those left, and the text shows every end.
#[test]
fn ends_add_up() {
    let mut session = Session::new(&[market()]);
    session.recovered(order(100), 50, true);
    let all = (1..).zip(End::ALL);
    for (number, _) in all.clone() {
        session.observe(Time(0), &submitted(number));
    }
    // Sealed and never tried: counted nowhere.
    session.observe(Time(0), &ended(80, End::NeverSent));
    session.observe(Time(0), &submitted(90));
    // Order 1 of these fills completely, order 2 in part.
    let mut part = fill(Side::Buy, 249_900, 1, 0, None);
    session.observe(Time(0), &Notification::Filled(part.clone()));
    part.order = order(2);
    session.observe(Time(0), &Notification::Filled(part));
    for (number, end) in all {
        session.observe(Time(0), &ended(number, end));
    }
    session.observe(Time(0), &ended(100, End::Expired));
    let open = MarketStatus {
        live: [1, 0],
        ..MarketStatus::default()
    };
    let status = Status {
        markets: vec![open],
        ..Status::default()
    };
    session.observe(Time(0), &Notification::Status(Box::new(status)));
    let summary = session.summary(Time(0), &Closing::default(), code);
    let (orders, ends) = (&summary.orders, summary.ends);
    assert_eq!(orders.unknown_left, 1);
    assert_eq!(
        ends.recovered + orders.submitted,
        ends.filled
            + ends.cancelled
            + ends.expired
            + ends.rejected
            + ends.failed_late
            + ends.fenced
            + ends.never_sent
            + orders.unknown_left
    );
    assert_eq!(ends.partly_filled, 2);
    let shown = text::summary(&summary, true);
    for part in [
        "8 submitted, 0 acknowledged, 1 recovered at the start",
        "1 cancelled, 1 filled, 2 expired, 1 rejected, 1 failed late,",
        "1 never listed, 1 never sent",
        "2 of them filled in part",
        "not proven gone   1",
    ] {
        let words: String = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let part: String = part.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&part), "{part} is missing in\n{shown}");
    }
}

#[test]
fn the_last_expiry_counts_orders_that_may_be_alive() {
    let mut session = Session::new(&[market()]);
    let until = |number, valid_until_s| Notification::Submitted {
        order: order(number),
        market: MarketId(0),
        side: Side::Buy,
        price: Price(1),
        qty: Qty(1),
        valid_until_s,
    };
    assert_eq!(session.last_expiry_s(), None);
    session.recovered(order(9), 20, false);
    session.observe(Time(0), &until(1, 30));
    session.observe(Time(0), &until(2, 40));
    session.observe(Time(0), &ended(2, End::Cancelled));
    assert_eq!(session.last_expiry_s(), Some(30));
    session.observe(Time(0), &ended(1, End::Cancelled));
    assert_eq!(session.last_expiry_s(), Some(20));
}

/// The newest comparison counts, and a difference that has disappeared is not reported.
#[test]
fn differences_are_those_of_the_newest_comparison() {
    let mut session = Session::new(&[market()]);
    let mismatch = |token, ledger, venue| Notification::Mismatch {
        token: TokenId(token),
        ledger,
        venue,
    };
    let pass = Notification::Reconciled { orders: 0 };
    for notification in [&pass, &mismatch(0, 5, 7), &mismatch(1, 1, 0)] {
        session.observe(Time(0), notification);
    }
    assert_eq!(session.differences().len(), 2);
    session.observe(Time(0), &pass);
    assert_eq!(
        session.differences().len(),
        2,
        "a scan without a cut has no result"
    );
    session.observe(Time(0), &mismatch(1, 3, 0));
    assert_eq!(
        *session.differences(),
        [(
            TokenId(1),
            Difference {
                ledger: 3,
                venue: 0
            }
        )]
        .into()
    );
    for notification in [&pass, &Notification::Balanced] {
        session.observe(Time(0), notification);
    }
    assert!(session.differences().is_empty());
    // What was adopted since the comparison is explained; a charge is in the balances that were compared.
    let adopted = |amount, reason: &str| Notification::Adopted {
        token: TokenId(0),
        amount,
        reason: reason.to_owned(),
    };
    let charge = format!("charge 7 for {}", cambist_core::Hash([1; 32]));
    for (notification, left) in [
        (mismatch(0, 5, 7), Some((5, 7))),
        (adopted(-1, &charge), Some((5, 7))),
        (adopted(-1, "withdrawn"), Some((4, 7))),
        (adopted(3, "accepted"), None),
    ] {
        session.observe(Time(0), &notification);
        let left = left.map(|(ledger, venue)| Difference { ledger, venue });
        assert_eq!(session.differences().get(&TokenId(0)).copied(), left);
    }
    let unread = Status {
        ledger: [(TokenId(0), 5)].into(),
        ..Status::default()
    };
    session.observe(Time(0), &Notification::Status(Box::new(unread)));
    assert!(
        session.residual().is_empty(),
        "nothing is known of the venue"
    );
    assert_eq!(session.venue_balances(false), VenueBalances::Unread);
    let status = Status {
        ledger: [(TokenId(0), 5), (TokenId(1), 4)].into(),
        venue: [(TokenId(0), 7), (TokenId(9), 1)].into(),
        ..Status::default()
    };
    session.observe(Time(0), &Notification::Status(Box::new(status)));
    assert_eq!(
        session.residual(),
        [(TokenId(0), -2), (TokenId(1), 4)].into()
    );
    assert_eq!(session.venue_balances(true), VenueBalances::Current);
    assert_eq!(session.venue_balances(false), VenueBalances::LastRead);
    let shown = |venue_balances| {
        let mut summary = session.summary(Time(0), &Closing::default(), code);
        summary.venue_balances = venue_balances;
        if venue_balances != VenueBalances::Unread {
            summary.residual_tokens = [("ETH".to_owned(), "2".to_owned())].into();
        }
        let page = serde_json::to_value(&summary).unwrap()["venue_balances"].clone();
        let text = text::summary(&summary, false);
        let from = text.find("ledger - venue").unwrap();
        let text: Vec<_> = text[from..].split_whitespace().collect();
        (page, text.join(" "))
    };
    for (balances, page, text) in [
        (VenueBalances::Current, Value::Null, "ledger - venue 2 ETH"),
        (
            VenueBalances::LastRead,
            json!("last_read"),
            "ledger - venue 2 ETH (the venue's balances as last read)",
        ),
        (
            VenueBalances::Unread,
            json!("unread"),
            "ledger - venue not known: the venue's balances were not read",
        ),
    ] {
        assert_eq!(shown(balances), (page, text.to_owned()));
    }
}

#[test]
fn invented_codes_use_bounded_memory() {
    let mut session = Session::new(&[market()]);
    for number in 0..1_000 {
        let notification = refused(0, Endpoint::Submit, Reason::Unlisted(number));
        session.observe(Time(0), &notification);
    }
    let summary = session.summary(Time(0), &Closing::default(), code);
    assert_eq!(summary.orders.refused.len(), REASONS_MAX + 1);
    assert_eq!(summary.orders.refused.values().sum::<u64>(), 1_000);
}

#[test]
fn a_base_token_of_two_markets_counts_once() {
    let first = market();
    let mut second = market();
    second.id = MarketId(1);
    second.name = "ETH-USDC-2".to_owned();
    let mut session = Session::new(&[first, second]);
    session.observe(Time(0), &ready());
    let mids = |session: &mut Session, mid| {
        for market in [MarketId(0), MarketId(1)] {
            let notification = Notification::DepthAccepted {
                market,
                mid: Some(mid),
                timestamp: VenueTime(0),
            };
            session.observe(Time(0), &notification);
        }
    };
    mids(&mut session, 500_000);
    mids(&mut session, 500_200);
    let total = session.pnl().unwrap().total;
    assert_eq!(total.to_string(), "10", "10 ETH moved by 1, once");
}

/// A session that held shares of a pool: joined, earned fees, received a deposit.
fn pooled() -> (Session, Time) {
    let mut session = Session::new(&[market()]).with_pools(&[pool()]);
    let mut joined = cambist_core::notification::PoolTransactionSettlement {
        order: order(1),
        market: MarketId(0),
        kind: cambist_core::PoolTransactionKind::Join,
        pooled: pool().pooled,
        lp: pool().lp.id,
        amounts: cambist_core::pool::PoolTransactionAmounts {
            pooled: [2 * ETH, 5_000 * USDC],
            lp: 19,
            fee: 3 * USDC,
        },
        mid: Some(500_000),
    };
    let status = |usdc: u128, held| {
        Notification::Status(Box::new(Status {
            pools: vec![PoolStatus {
                market: MarketId(0),
                balances: Some(cambist_core::pool::PoolBalances::constant_product(
                    [100 * ETH, usdc * USDC],
                    1_000,
                )),
                held,
                value: None,
                divergence_bps: None,
                moving: false,
                unknown: false,
                age_ms: Some(0),
                withheld: None,
            }],
            ..Status::default()
        }))
    };
    let adopted = Notification::Adopted {
        token: TokenId(0),
        amount: 10i128.pow(18),
        reason: "deposit".to_owned(),
    };
    let notifications = [
        depth(500_000),
        ready(),
        status(250_000, 0),
        Notification::PoolTransactionSettled(joined.clone()),
        adopted,
        depth(500_200),
        status(260_000, 19),
    ];
    for notification in &notifications {
        session.observe(Time(0), notification);
    }
    // Reported again by the next run.
    joined.mid = Some(1);
    session.observe(Time(0), &Notification::PoolTransactionSettled(joined));
    (session, Time(0))
}

#[test]
fn the_pool_is_a_part_of_profit_and_loss() {
    let (session, now) = pooled();
    let summary = session.summary(now, &Closing::default(), code);
    let json = serde_json::to_value(&summary).unwrap();
    // 9 ETH and the 1.9 that were put in, times 1; due are 4940 USDC instead of 4750.
    let row = &json["pnl"][0];
    assert_eq!(row["holdings"], "10.9");
    assert_eq!(row["pool"]["move_costs"], "-503");
    let part = |name: &str| row["pool"][name].as_str().unwrap().parse::<f64>().unwrap();
    let earned = part("fee_income") + part("impermanent_loss");
    assert!((earned - 190.0).abs() < 1e-9, "{row}");
    // The product of both reserves has grown by 4 %, its root by 1.98 %: that part of 9691.90.
    assert!((part("fee_income") - 188.21).abs() < 0.01, "{row}");
    assert_eq!(row["pool"]["total"], "-313");
    assert_eq!(row["total"], "-302.1");
    assert_eq!(json["pnl_quote"]["total"], json!(-302.1));
    assert_eq!(json["pnl_quote"]["pool"], json!(-313.0));
    assert_eq!(
        json["pools"][0]["value_quote"], "9691.9",
        "1.9 at 2501, 4940"
    );
    assert_eq!(json["inventory"]["ETH"], (9 * ETH).to_string());
    let shown = text::summary(&summary, true);
    // What rebalancing gained is no loss; what it lost is negative.
    assert!(shown.contains("impermanent gain       +1.79"), "{shown}");
    let mut lost = summary.clone();
    let pool = lost.pnl[0].pool.as_mut().unwrap();
    pool.impermanent_loss = "-1.79".to_owned();
    let lost = text::summary(&lost, true);
    assert!(lost.contains("impermanent loss       -1.79"), "{lost}");
    let total = shown.find("profit and loss").unwrap();
    for part in [
        "  spread",
        "  holdings",
        "  fees",
        "  pool",
        "    fee income",
    ] {
        let at = shown[total..].find(part);
        assert!(at.is_some(), "{part} is not below the total:\n{shown}");
    }
    // The rounded numbers add up, too: 188.21 and 1.79 of -313.
    let amount = |name: &str| -> f64 {
        let line = shown.lines().find(|line| line.starts_with(name)).unwrap();
        line[text::LABEL..]
            .split_whitespace()
            .next()
            .unwrap()
            .parse()
            .unwrap()
    };
    let parts = ["  spread", "  holdings", "  fees", "  pool"].map(amount);
    assert_eq!(
        format!("{:.2}", parts.iter().sum::<f64>()),
        format!("{:.2}", amount("profit and loss"))
    );
}

#[test]
fn payments_in_the_base_of_another_market_are_external_there() {
    let first = market();
    let mut second = market();
    (second.id, second.name) = (MarketId(1), "LRC-ETH".to_owned());
    let lrc = TokenSpec {
        id: TokenId(5),
        symbol: "LRC".to_owned(),
        ..second.base.clone()
    };
    let second = MarketSpec::new(second.id, "LRC-ETH", lrc, second.base, 2, true).unwrap();
    let mut session = Session::new(&[first, second]);
    session.observe(Time(0), &depth(500_000));
    session.observe(Time(0), &ready());
    let bought = Fill {
        order: order(1),
        market: MarketId(1),
        side: Side::Buy,
        base: 100 * ETH,
        quote: 4 * ETH,
        fee: 0,
        mid: Some(8),
    };
    session.observe(Time(0), &Notification::Filled(bought));
    session.observe(Time(0), &depth(500_200));
    let total = |token| session.pnl_in(TokenId(token)).unwrap().total.to_string();
    assert_eq!(total(1), "6", "4 of 10 ETH were spent before the mid moved");
    assert_eq!(total(0), "0", "100 LRC at 0.04");
}

#[test]
fn the_texts_are_narrow_and_complete() {
    let (session, now) = session();
    let line = text::line(&session);
    assert_eq!(
        line,
        "ETH-USDC 2500.00 | quotes 2499.00 / 2501.00 unknown 1 |   9.9990 ETH 24989.50 USDC | \
         fills    2 | spread    +2.00, holdings  -109.99, fees    -4.99 | requests  120/300"
    );
    let mut summary = session.summary(now, &closing(), code);
    let shown = text::summary(&summary, true);
    for fact in [
        "seed",
        "7",
        "4 submitted",
        "-112.98 USDC",
        "+2.00 USDC",
        "1 cancelled, 1 filled, 1 rejected",
        "58.8 %",
        "9.999 ETH",
    ] {
        assert!(shown.contains(fact), "{fact} is missing in\n{shown}");
    }
    let mut random = Random(1);
    for number in 0..200 {
        summary
            .orders
            .refused
            .insert(format!("{}", 100_000 + number), random.below(100));
    }
    summary.orders.refused.insert("z".repeat(200), 1);
    let shown = text::summary(&summary, true);
    for line in shown.lines() {
        assert!(line.chars().count() <= text::WIDTH, "{line}");
    }
    assert_eq!(
        shown.matches('z').count(),
        200,
        "nothing is lost in wrapping"
    );
}

#[test]
fn a_flow_that_is_found_before_the_opening_is_part_of_it() {
    let adopted = || Notification::Adopted {
        token: TokenId(0),
        amount: -10i128.pow(17),
        reason: "fill of a managed foreign order".to_owned(),
    };
    let held = |notifications: &[Notification]| {
        let mut session = Session::new(&[market()]);
        for (at, notification) in (0..).zip(notifications) {
            session.observe(Time::from_ms(at), notification);
        }
        let summary = session.summary(Time(0), &Closing::default(), code);
        summary.inventory["ETH"].clone()
    };
    assert_eq!(held(&[adopted(), ready()]), "10000000000000000000");
    assert_eq!(held(&[ready(), adopted()]), "9900000000000000000");
}
