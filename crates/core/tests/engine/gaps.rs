//! Faulty clocks, books and venues: jumps, suspensions, frozen data.

use cambist_core::event::Event;
use cambist_core::notification::Notification;
use cambist_core::order::OrderStatus;
use cambist_core::request::{Outcome, Query};
use cambist_core::{TokenSpec, VenueTime};

use crate::desk::{BID, BOTH, Desk, config};

const HOUR_MS: u64 = 3_600_000;

fn quoting() -> Desk {
    let mut desk = Desk::ready(&BOTH);
    desk.accept_all();
    desk.run_ms(1_000);
    desk
}

#[test]
fn a_suspension_is_detected_and_nothing_is_sent_before_everything_is_read_again() {
    let mut desk = quoting();
    let sent = desk.sealed.len();
    // The host is suspended for a minute: no wake-up, no answer; meanwhile the orders expired.
    desk.now = desk.now.plus_ms(60_000);
    desk.deaf = true;
    desk.hear(&Event::Wake);
    desk.run_ms(2_000);
    assert!(
        desk.notes
            .iter()
            .any(|n| matches!(n, Notification::Slept { ms } if *ms >= 58_000))
    );
    assert_eq!(desk.sealed.len(), sent, "nothing is known yet");
    desk.deaf = false;
    for id in desk.sealed_ids() {
        desk.show(id, OrderStatus::Expired, 0);
    }
    desk.run_ms(30_000);
    assert!(desk.sealed.len() > sent, "known again, it quotes");
    assert!(desk.levels.is_empty());
}

#[test]
fn a_short_delay_is_no_suspension() {
    let mut desk = quoting();
    desk.now = desk.now.plus_ms(4_000);
    desk.hear(&Event::Wake);
    desk.run_ms(1_000);
    assert!(
        !desk
            .notes
            .iter()
            .any(|n| matches!(n, Notification::Slept { .. }))
    );
}

#[test]
fn one_answer_from_an_hour_ahead_ends_no_order() {
    let mut desk = quoting();
    let ahead = desk.venue_now().plus_ms(HOUR_MS);
    desk.cached = Some(ahead);
    desk.run_ms(600);
    desk.cached = None;
    desk.run_ms(5_000);
    assert!(desk.ends().is_empty());
    let kept = desk.sealed_ids();
    for id in kept {
        let until = u64::from(desk.sealed[&id].1.accepted_until_s) * 1_000;
        assert!(
            until <= desk.venue_now().0 + 20_000,
            "no order outlives its ttl"
        );
    }
}

#[test]
fn a_venue_clock_that_goes_back_an_hour_gives_no_price() {
    let mut desk = quoting();
    desk.cached = Some(VenueTime(desk.venue_now().0 - HOUR_MS));
    desk.run_ms(4_000);
    assert_eq!(desk.cancels.len(), 2, "prices from an hour ago are none");
    desk.cached = None;
    desk.accept_cancel();
    desk.accept_cancel();
    desk.run_ms(3_000);
    assert!(desk.submits.len() == 2, "it goes on when the clock is back");
}

#[test]
fn a_frozen_book_under_new_timestamps_is_not_priced_from() {
    for (frozen_after_ms, cancels) in [(0, 0), (5_000, 2)] {
        let mut config = config();
        config.markets[0].frozen_after_ms = frozen_after_ms;
        let mut desk = Desk::with(&BOTH, config, Vec::new());
        desk.until_a_submit_waits();
        desk.accept_all();
        desk.run_ms(8_000);
        assert_eq!(desk.cancels.len(), cancels);
    }
}

#[test]
fn a_listing_that_differs_from_the_start_is_not_quoted() {
    let mut desk = quoting();
    desk.price_decimals = 3;
    desk.run_ms(61_000);
    assert!(!desk.cancels.is_empty());
    while !desk.cancels.is_empty() {
        desk.accept_cancel();
    }
    let made = desk.sealed.len();
    desk.run_ms(30_000);
    assert_eq!(desk.sealed.len(), made);
    desk.price_decimals = 2;
    desk.run_ms(61_000);
    assert!(
        desk.sealed.len() > made,
        "listed as at the start, it is quoted again"
    );
}

#[test]
fn a_closed_market_and_a_frozen_account_are_not_quoted() {
    let changes: [fn(&mut Desk, bool); 2] = [
        |desk, barred| desk.listed_open = !barred,
        |desk, barred| desk.frozen = barred,
    ];
    for change in changes {
        let mut desk = quoting();
        change(&mut desk, true);
        desk.run_ms(61_000);
        while !desk.cancels.is_empty() {
            desk.accept_cancel();
        }
        let made = desk.sealed.len();
        desk.run_ms(30_000);
        assert_eq!(desk.sealed.len(), made, "nothing new while it lasts");
        change(&mut desk, false);
        desk.run_ms(61_000);
        assert!(desk.sealed.len() > made, "and again when it is over");
    }
}

#[test]
fn an_unknown_account_is_not_quoted_and_is_soon_queried_again() {
    let mut desk = Desk::new(&BID);
    desk.account_away = true;
    desk.run_ms(10_000);
    assert!(desk.sealed.is_empty() && desk.sealing.is_empty());
    desk.account_away = false;
    desk.run_ms(2_500);
    assert!(!desk.sealing.is_empty() || !desk.sealed.is_empty());
}

#[test]
fn a_token_that_differs_from_the_start_is_not_quoted() {
    let changes: [fn(&mut Vec<TokenSpec>); 5] = [
        |tokens| tokens[0].decimals = 7,
        |tokens| tokens[1].minimum = 2,
        |tokens| tokens[0].maximum -= 1,
        |tokens| tokens[1].enabled = false,
        |tokens| drop(tokens.remove(0)),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let mut desk = quoting();
        let listed = desk.tokens.clone();
        change(&mut desk.tokens);
        desk.run_ms(61_000);
        assert!(!desk.cancels.is_empty(), "change {index}");
        while !desk.cancels.is_empty() {
            desk.accept_cancel();
        }
        let made = desk.sealed.len();
        desk.run_ms(30_000);
        assert_eq!(desk.sealed.len(), made);
        desk.tokens = listed;
        desk.run_ms(61_000);
        assert!(desk.sealed.len() > made, "listed as at the start again");
    }
    // Changes of another market, and of values that are not checked, have no effect.
    let mut desk = quoting();
    desk.tokens[2].decimals = 7;
    desk.tokens[0].dust = 5;
    desk.run_ms(61_000);
    desk.accept_all();
    while !desk.cancels.is_empty() {
        desk.accept_cancel();
    }
    let made = desk.sealed.len();
    desk.run_ms(30_000);
    assert!(desk.sealed.len() > made, "orders are replaced as ever");
}

#[test]
fn retry_after_is_obeyed_up_to_a_bound() {
    let mut desk = quoting();
    let before = desk.version;
    // The next depth is refused, with a retry-after of an hour.
    desk.deaf = true;
    desk.run_ms(600);
    let asked = desk
        .asked
        .iter()
        .rev()
        .find_map(|(request, query)| match query {
            Query::Depth(_) => Some(*request),
            _ => None,
        });
    let request = asked.expect("a depth was asked for");
    desk.deaf = false;
    desk.answer_later(
        request,
        Outcome::Refused(cambist_core::Reason::RateLimited),
        Some(HOUR_MS),
    );
    let rested = desk.version;
    desk.run_ms(50_000);
    assert_eq!(desk.version, rested, "longer than our own penalty");
    desk.run_ms(15_000);
    assert!(
        desk.version > rested && rested >= before,
        "no longer than a minute"
    );
}
