//! From start to resting quotes, and how they are kept.

use cambist_core::event::TradingState;
use cambist_core::notification::{Control, End, Notification};
use cambist_core::order::OrderStatus;
use cambist_core::request::Outcome;
use cambist_core::{OrderKind, Reason, Side};

use crate::bench::{BID, BOTH, TestBench, config};

#[test]
fn nothing_is_sent_before_the_opening_balances() {
    let mut bench = TestBench::new(&BOTH);
    assert!(bench.submits.is_empty());
    bench.run_ms(2_500);
    let ready = bench
        .notifications
        .iter()
        .position(|n| matches!(n, Notification::Ready { .. }))
        .unwrap();
    let first = bench
        .notifications
        .iter()
        .position(|n| matches!(n, Notification::Submitted { .. }))
        .unwrap();
    assert!(ready < first);
}

#[test]
fn both_sides_rest_and_stay_while_nothing_changes() {
    let mut bench = TestBench::ready(&BOTH);
    assert_eq!(bench.submits.len(), 2);
    bench.accept_all();
    assert!(
        bench
            .notifications
            .iter()
            .any(|n| matches!(n, Notification::BothSides { both: true, .. }))
    );
    bench.run_ms(8_000);
    assert_eq!(bench.submits.len(), 0, "no needless order");
    assert_eq!(bench.cancels.len(), 0, "no needless cancel");
}

#[test]
fn storage_ids_are_even_and_rise_by_sell_token() {
    let bench = TestBench::ready(&[
        (Side::Buy, 9_995, 100),
        (Side::Buy, 9_990, 100),
        (Side::Sell, 10_005, 100),
    ]);
    let ids: Vec<_> = bench
        .sealed
        .values()
        .map(|(_, order)| (order.sell_token.0, order.slot))
        .collect();
    assert_eq!(ids, [(1, 0), (1, 2), (0, 0)]);
}

#[test]
fn an_order_is_replaced_before_it_expires_and_cancelled_when_the_new_one_is_live() {
    let mut bench = TestBench::ready(&BID);
    let old = bench.accept();
    bench.run_ms(13_000);
    assert_eq!(bench.submits.len(), 0, "fifteen seconds are not over");
    bench.run_ms(3_000);
    assert_eq!(bench.submits.len(), 1, "the replacement is on its way");
    assert_eq!(bench.cancels.len(), 0, "the old one still holds the place");
    bench.accept();
    assert_eq!(bench.cancels.len(), 1);
    bench.accept_cancel();
    bench.run_ms(1_500);
    assert_eq!(bench.end_of(old), Some(End::Cancelled));
    let dark = bench
        .notifications
        .iter()
        .any(|n| matches!(n, Notification::SideEmpty { .. }));
    assert!(!dark, "the side was never without an order");
    assert!(
        !bench
            .notifications
            .iter()
            .any(|n| matches!(n, Notification::BothSides { .. })),
        "one side only"
    );
}

#[test]
fn without_funds_for_two_the_old_order_is_cancelled_first() {
    let mut bench = TestBench::new(&BID);
    // 100 lots at 9 995 ticks cost 999 500 units: enough for one, not for two.
    bench.balances = (0, 1_500_000);
    bench.run_ms(2_500);
    bench.accept();
    bench.run_ms(16_000);
    assert_eq!((bench.submits.len(), bench.cancels.len()), (0, 1));
    bench.accept_cancel();
    bench.run_ms(1_500);
    assert_eq!(bench.submits.len(), 1, "the funds are free again");
    let dark = |bench: &TestBench| {
        let side = |notification: &Notification| match notification {
            Notification::SideEmpty { side, ms, .. } => Some((*side, *ms)),
            _ => None,
        };
        bench
            .notifications
            .iter()
            .filter_map(side)
            .collect::<Vec<_>>()
    };
    assert_eq!(dark(&bench), [], "it is not over");
    bench.accept();
    bench.run_ms(1_500);
    let reported = dark(&bench);
    assert_eq!((reported.len(), reported[0].0), (1, Side::Buy));
    assert!((4_000..=5_500).contains(&reported[0].1), "{reported:?}");
}

#[test]
fn a_fill_is_booked_once_however_often_it_is_reported() {
    let mut bench = TestBench::ready(&BOTH);
    let bid = bench.accept();
    bench.accept();
    bench.show(bid, OrderStatus::Processing, 40);
    bench.run_ms(5_000);
    bench.show(bid, OrderStatus::Processing, 30);
    bench.run_ms(2_000);
    let fills: Vec<_> = bench
        .notifications
        .iter()
        .filter_map(|notification| match notification {
            Notification::Filled(fill) => Some((fill.base, fill.quote)),
            _ => None,
        })
        .collect();
    assert_eq!(
        fills,
        [(4_000, 399_800)],
        "an older report adds nothing and takes nothing back"
    );
}

#[test]
fn books_are_compared_at_cuts_and_a_difference_is_reported() {
    let mut bench = TestBench::ready(&BOTH);
    bench.accept_all();
    bench.run_ms(3_000);
    assert!(bench.notifications.contains(&Notification::Balanced));
    bench.balances.0 += 1;
    bench.run_ms(3_000);
    let reported = bench.notifications.iter().any(|n| {
        matches!(
            n,
            Notification::Mismatch {
                ledger: 500_000_000,
                venue: 500_000_001,
                ..
            }
        )
    });
    assert!(reported);
}

#[test]
fn refused_keys_halt_trading_and_finish() {
    let mut bench = TestBench::ready(&BID);
    bench.answer_submit(Outcome::Refused(Reason::InvalidApiKey));
    assert_eq!(bench.levels, [TradingState::Halted]);
    assert_eq!(bench.causes, ["keys refused for order_submit"]);
    assert!(bench.notifications.contains(&Notification::Draining));
}

#[test]
fn a_429_pauses_only_its_endpoint() {
    let mut bench = TestBench::ready(&BOTH);
    bench.answer_submit(Outcome::Refused(Reason::RateLimited));
    bench.accept();
    bench.run_ms(1_900);
    assert_eq!(bench.submits.len(), 0, "submits rest for two seconds");
    bench.run_ms(1_500);
    assert_eq!(bench.submits.len(), 1, "the same bytes again");
}

#[test]
fn a_wide_thin_or_one_sided_book_is_not_priced_from() {
    let cases = [
        ((9_800, 10_200), Control::Spread),
        ((9_990, 9_990), Control::StaleData),
    ];
    for (depth, expected) in cases {
        let mut config = config();
        config.status_ms = 100;
        let mut bench = TestBench::with(&BOTH, config, Vec::new());
        bench.depth = depth;
        bench.run_ms(5_000);
        assert!(bench.submits.is_empty());
        let withheld =
            bench
                .notifications
                .iter()
                .rev()
                .find_map(|notification| match notification {
                    Notification::Status(status) => Some(status.markets[0].withheld),
                    _ => None,
                });
        let withheld = withheld.map(|sides| sides.map(|why| why.map(|why| why.control)));
        assert_eq!(withheld, Some([Some(expected); 2]));
    }
}

/// The venue refuses an order that only makes and would take; it can do so only if the order has that kind.
#[test]
fn orders_state_whether_they_may_take() {
    for (maker_only, kind) in [(true, OrderKind::MakerOnly), (false, OrderKind::Limit)] {
        let mut config = config();
        config.maker_only = maker_only;
        let mut bench = TestBench::with(&BOTH, config, Vec::new());
        bench.until_a_submit_waits();
        let kinds = bench.sealed.values().map(|(_, order)| order.kind);
        assert_eq!(kinds.collect::<Vec<_>>(), [kind; 2]);
    }
}
