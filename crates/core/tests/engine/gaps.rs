//! Faulty clocks, books and venues: jumps, suspensions, frozen data.

use cambist_core::event::Event;
use cambist_core::notification::{Control, Notification};
use cambist_core::order::OrderStatus;
use cambist_core::request::{Listed, Outcome, Query, Reply};
use cambist_core::{TokenSpec, VenueTime};

use crate::bench::{BID, BOTH, OTHER, QUOTE, TestBench, config, listed};

const HOUR_MS: u64 = 3_600_000;

fn quoting() -> TestBench {
    let mut bench = TestBench::ready(&BOTH);
    bench.accept_all();
    bench.run_ms(1_000);
    bench
}

#[test]
fn a_suspension_is_detected_and_nothing_is_sent_before_everything_is_read_again() {
    let mut bench = quoting();
    let sent = bench.sealed.len();
    // The host is suspended for a minute: no wake-up, no answer; meanwhile the orders expired.
    bench.now = bench.now.plus_ms(60_000);
    bench.queries_lost = true;
    bench.handle_event(&Event::Wake);
    bench.run_ms(2_000);
    assert!(
        bench
            .notifications
            .iter()
            .any(|n| matches!(n, Notification::Slept { ms } if *ms >= 58_000))
    );
    assert_eq!(bench.sealed.len(), sent, "nothing is known yet");
    // The book of before does not count, and an age of it would be made up.
    let is_before = |note: &&Notification| !matches!(note, Notification::Slept { .. });
    let since = bench.notifications.iter().skip_while(is_before);
    let stale = since.filter_map(|note| match note {
        Notification::Withheld { withheld, .. } => withheld.filter(|why| {
            why.control == Control::StaleData && why.key() == Some("poll.depth_age_max_ms")
        }),
        _ => None,
    });
    let stale: Vec<_> = stale.map(|why| (why.value, why.sentence())).collect();
    assert!(!stale.is_empty());
    for (age, sentence) in stale {
        assert_eq!(age, None);
        assert!(sentence.contains("gap in time"), "{sentence}");
    }
    bench.queries_lost = false;
    for id in bench.sealed_ids() {
        bench.show(id, OrderStatus::Expired, 0);
    }
    bench.run_ms(30_000);
    assert!(bench.sealed.len() > sent, "known again, it quotes");
    assert!(bench.levels.is_empty());
}

/// The local clock cannot see that, the venue's answers can: balances and lists are older than they seem.
#[test]
fn a_stop_of_the_whole_machine_is_a_suspension_once_two_answers_show_it() {
    for (stopped_ms, detected) in [(4_000, false), (60_000, true)] {
        let mut bench = quoting();
        bench.stopped_ms = stopped_ms;
        bench.run_ms(3_000);
        let slept: Vec<_> = bench
            .notifications
            .iter()
            .filter_map(|n| match n {
                Notification::Slept { ms } => Some(*ms),
                _ => None,
            })
            .collect();
        assert_eq!(slept.len(), usize::from(detected), "{slept:?}");
        assert!(
            slept.iter().all(|ms| ms.abs_diff(stopped_ms) <= 2_000),
            "{slept:?}"
        );
    }
}

#[test]
fn a_short_delay_is_no_suspension() {
    let mut bench = quoting();
    bench.now = bench.now.plus_ms(4_000);
    bench.handle_event(&Event::Wake);
    bench.run_ms(1_000);
    assert!(
        !bench
            .notifications
            .iter()
            .any(|n| matches!(n, Notification::Slept { .. }))
    );
}

#[test]
fn one_answer_from_an_hour_ahead_ends_no_order() {
    let mut bench = quoting();
    let ahead = bench.venue_now().plus_ms(HOUR_MS);
    bench.cached = Some(ahead);
    bench.run_ms(600);
    bench.cached = None;
    bench.run_ms(5_000);
    assert!(bench.ends().is_empty());
    let kept = bench.sealed_ids();
    for id in kept {
        let until = u64::from(bench.sealed[&id].1.accepted_until_s) * 1_000;
        assert!(
            until <= bench.venue_now().0 + 20_000,
            "no order outlives its ttl"
        );
    }
}

#[test]
fn a_venue_clock_that_goes_back_an_hour_gives_no_price() {
    let mut bench = quoting();
    bench.cached = Some(VenueTime(bench.venue_now().0 - HOUR_MS));
    bench.run_ms(4_000);
    assert_eq!(bench.cancels.len(), 2, "prices from an hour ago are none");
    bench.cached = None;
    bench.accept_cancel();
    bench.accept_cancel();
    bench.run_ms(3_000);
    assert!(
        bench.submits.len() == 2,
        "it goes on when the clock is back"
    );
}

#[test]
fn a_frozen_book_under_new_timestamps_is_not_priced_from() {
    for (frozen_after_ms, cancels) in [(0, 0), (5_000, 2)] {
        let mut config = config();
        config.markets[0].frozen_after_ms = frozen_after_ms;
        let mut bench = TestBench::with(&BOTH, config, Vec::new());
        bench.until_a_submit_waits();
        bench.accept_all();
        bench.run_ms(8_000);
        assert_eq!(bench.cancels.len(), cancels);
    }
}

#[test]
fn a_listing_that_differs_from_the_start_is_not_quoted() {
    let mut bench = quoting();
    bench.price_decimals = 3;
    bench.run_ms(61_000);
    assert!(!bench.cancels.is_empty());
    while !bench.cancels.is_empty() {
        bench.accept_cancel();
    }
    let made = bench.sealed.len();
    bench.run_ms(30_000);
    assert_eq!(bench.sealed.len(), made);
    bench.price_decimals = 2;
    bench.run_ms(61_000);
    assert!(
        bench.sealed.len() > made,
        "listed as at the start, it is quoted again"
    );
}

#[test]
fn a_closed_market_and_a_frozen_account_are_not_quoted() {
    let changes: [fn(&mut TestBench, bool); 2] = [
        |bench, barred| bench.listed_open = !barred,
        |bench, barred| bench.frozen = barred,
    ];
    for change in changes {
        let mut bench = quoting();
        change(&mut bench, true);
        bench.run_ms(61_000);
        while !bench.cancels.is_empty() {
            bench.accept_cancel();
        }
        let made = bench.sealed.len();
        bench.run_ms(30_000);
        assert_eq!(bench.sealed.len(), made, "nothing new while it lasts");
        change(&mut bench, false);
        bench.run_ms(61_000);
        assert!(bench.sealed.len() > made, "and again when it is over");
    }
}

#[test]
fn an_unknown_account_is_not_quoted_and_is_soon_queried_again() {
    let mut bench = TestBench::new(&BID);
    bench.account_away = true;
    bench.run_ms(10_000);
    assert!(bench.sealed.is_empty() && bench.sealing.is_empty());
    bench.account_away = false;
    bench.run_ms(2_500);
    assert!(!bench.sealing.is_empty() || !bench.sealed.is_empty());
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
        let mut bench = quoting();
        let listed = bench.tokens.clone();
        change(&mut bench.tokens);
        bench.run_ms(61_000);
        assert!(!bench.cancels.is_empty(), "change {index}");
        while !bench.cancels.is_empty() {
            bench.accept_cancel();
        }
        let made = bench.sealed.len();
        bench.run_ms(30_000);
        assert_eq!(bench.sealed.len(), made);
        bench.tokens = listed;
        bench.run_ms(61_000);
        assert!(bench.sealed.len() > made, "listed as at the start again");
    }
    // Changes of another market, and of values that are not checked, have no effect.
    let mut bench = quoting();
    bench.tokens[2].decimals = 7;
    bench.tokens[0].dust = 5;
    bench.run_ms(61_000);
    bench.accept_all();
    while !bench.cancels.is_empty() {
        bench.accept_cancel();
    }
    let made = bench.sealed.len();
    bench.run_ms(30_000);
    assert!(bench.sealed.len() > made, "orders are replaced as ever");
}

#[test]
fn retry_after_is_obeyed_up_to_a_bound() {
    let mut bench = quoting();
    let before = bench.version;
    // The next depth is refused, with a retry-after of an hour.
    bench.queries_lost = true;
    bench.run_ms(600);
    let lost_queries = bench
        .lost_queries
        .iter()
        .rev()
        .find_map(|(request, query)| match query {
            Query::Depth(_) => Some(*request),
            _ => None,
        });
    let request = lost_queries.expect("a depth was asked for");
    bench.queries_lost = false;
    bench.answer_later(
        request,
        Outcome::Refused(cambist_core::Reason::RateLimited),
        Some(HOUR_MS),
    );
    let rested = bench.version;
    bench.run_ms(50_000);
    assert_eq!(bench.version, rested, "longer than our own penalty");
    bench.run_ms(15_000);
    assert!(
        bench.version > rested && rested >= before,
        "no longer than a minute"
    );
}

/// A market that is closed or not listed at all may not be traded; one that is listed otherwise is another market.
#[test]
fn a_market_that_is_not_listed_is_closed_and_no_other_market() {
    let with = |decimals: u8, enabled: bool| Listed {
        price_decimals: decimals,
        enabled,
        ..listed("T0-T1", QUOTE)
    };
    for (listed, control) in [
        (vec![], Some(Control::Permission)),
        (vec![listed("T0-T2", OTHER)], Some(Control::Permission)),
        (vec![with(2, false)], Some(Control::Permission)),
        (vec![with(3, true)], Some(Control::Listing)),
        (vec![with(2, true)], None),
    ] {
        let mut config = config();
        config.status_ms = 100;
        let mut bench = TestBench::with(&[], config, Vec::new());
        bench.unanswered = |query| matches!(query, Query::Markets);
        bench.run_ms(3_000);
        let (request, _) = bench.lost_queries.remove(0);
        let listed = listed.clone();
        bench.answer(request, Outcome::Reply(Reply::Markets { listed }));
        bench.run_ms(2_000);
        let withheld = bench.status().markets[0]
            .withheld
            .map(|why| why.map(|why| why.control));
        let found = control.unwrap_or(Control::NotWanted);
        assert_eq!(withheld, [Some(found); 2]);
    }
}
