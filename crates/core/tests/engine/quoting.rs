//! From start to resting quotes, and how they are kept.

use cambist_core::event::TradingState;
use cambist_core::notification::{Control, End, Notification};
use cambist_core::order::OrderStatus;
use cambist_core::request::Outcome;
use cambist_core::{Reason, Side};

use crate::desk::{BID, BOTH, Desk, config};

#[test]
fn nothing_is_sent_before_the_opening_balances() {
    let mut desk = Desk::new(&BOTH);
    assert!(desk.submits.is_empty());
    desk.run_ms(2_500);
    let ready = desk
        .notes
        .iter()
        .position(|n| matches!(n, Notification::Ready { .. }))
        .unwrap();
    let first = desk
        .notes
        .iter()
        .position(|n| matches!(n, Notification::Submitted { .. }))
        .unwrap();
    assert!(ready < first);
}

#[test]
fn both_sides_rest_and_stay_while_nothing_changes() {
    let mut desk = Desk::ready(&BOTH);
    assert_eq!(desk.submits.len(), 2);
    desk.accept_all();
    assert!(
        desk.notes
            .iter()
            .any(|n| matches!(n, Notification::BothSides { both: true, .. }))
    );
    desk.run_ms(8_000);
    assert_eq!(desk.submits.len(), 0, "no needless order");
    assert_eq!(desk.cancels.len(), 0, "no needless cancel");
}

#[test]
fn storage_ids_are_even_and_rise_by_sell_token() {
    let desk = Desk::ready(&[
        (Side::Buy, 9_995, 100),
        (Side::Buy, 9_990, 100),
        (Side::Sell, 10_005, 100),
    ]);
    let ids: Vec<_> = desk
        .sealed
        .values()
        .map(|(_, order)| (order.sell_token.0, order.slot))
        .collect();
    assert_eq!(ids, [(1, 0), (1, 2), (0, 0)]);
}

#[test]
fn an_order_is_replaced_before_it_expires_and_cancelled_when_the_new_one_is_live() {
    let mut desk = Desk::ready(&BID);
    let old = desk.accept();
    desk.run_ms(13_000);
    assert_eq!(desk.submits.len(), 0, "fifteen seconds are not over");
    desk.run_ms(3_000);
    assert_eq!(desk.submits.len(), 1, "the replacement is on its way");
    assert_eq!(desk.cancels.len(), 0, "the old one still holds the place");
    desk.accept();
    assert_eq!(desk.cancels.len(), 1);
    desk.accept_cancel();
    desk.run_ms(1_500);
    assert_eq!(desk.end_of(old), Some(End::Cancelled));
    let dark = desk
        .notes
        .iter()
        .any(|n| matches!(n, Notification::Dark { .. }));
    assert!(!dark, "the side was never without an order");
    assert!(
        !desk
            .notes
            .iter()
            .any(|n| matches!(n, Notification::BothSides { .. })),
        "one side only"
    );
}

#[test]
fn without_funds_for_two_the_old_order_is_cancelled_first() {
    let mut desk = Desk::new(&BID);
    // 100 lots at 9 995 ticks cost 999 500 units: enough for one, not for two.
    desk.balances = (0, 1_500_000);
    desk.run_ms(2_500);
    desk.accept();
    desk.run_ms(16_000);
    assert_eq!((desk.submits.len(), desk.cancels.len()), (0, 1));
    desk.accept_cancel();
    desk.run_ms(1_500);
    assert_eq!(desk.submits.len(), 1, "the funds are free again");
    let dark = |desk: &Desk| {
        let side = |note: &Notification| match note {
            Notification::Dark { side, ms, .. } => Some((*side, *ms)),
            _ => None,
        };
        desk.notes.iter().filter_map(side).collect::<Vec<_>>()
    };
    assert_eq!(dark(&desk), [], "it is not over");
    desk.accept();
    desk.run_ms(1_500);
    let told = dark(&desk);
    assert_eq!((told.len(), told[0].0), (1, Side::Buy));
    assert!((4_000..=5_500).contains(&told[0].1), "{told:?}");
}

#[test]
fn a_fill_is_booked_once_however_often_it_is_reported() {
    let mut desk = Desk::ready(&BOTH);
    let bid = desk.accept();
    desk.accept();
    desk.show(bid, OrderStatus::Processing, 40);
    desk.run_ms(5_000);
    desk.show(bid, OrderStatus::Processing, 30);
    desk.run_ms(2_000);
    let fills: Vec<_> = desk
        .notes
        .iter()
        .filter_map(|note| match note {
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
    let mut desk = Desk::ready(&BOTH);
    desk.accept_all();
    desk.run_ms(3_000);
    assert!(desk.notes.contains(&Notification::Balanced));
    desk.balances.0 += 1;
    desk.run_ms(3_000);
    let told = desk.notes.iter().any(|n| {
        matches!(
            n,
            Notification::Mismatch {
                ledger: 500_000_000,
                venue: 500_000_001,
                ..
            }
        )
    });
    assert!(told);
}

#[test]
fn refused_keys_halt_trading_and_finish() {
    let mut desk = Desk::ready(&BID);
    desk.answer_submit(Outcome::Refused(Reason::InvalidApiKey));
    assert_eq!(desk.levels, [TradingState::Halted]);
    assert!(desk.notes.contains(&Notification::Draining));
}

#[test]
fn a_429_pauses_only_its_endpoint() {
    let mut desk = Desk::ready(&BOTH);
    desk.answer_submit(Outcome::Refused(Reason::RateLimited));
    desk.accept();
    desk.run_ms(1_900);
    assert_eq!(desk.submits.len(), 0, "submits rest for two seconds");
    desk.run_ms(1_500);
    assert_eq!(desk.submits.len(), 1, "the same bytes again");
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
        let mut desk = Desk::with(&BOTH, config, Vec::new());
        desk.depth = depth;
        desk.run_ms(5_000);
        assert!(desk.submits.is_empty());
        let withheld = desk.notes.iter().rev().find_map(|note| match note {
            Notification::Status(status) => Some(status.markets[0].withheld),
            _ => None,
        });
        let withheld = withheld.map(|sides| sides.map(|why| why.map(|why| why.control)));
        assert_eq!(withheld, Some([Some(expected); 2]));
    }
}
