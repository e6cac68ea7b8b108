//! When queries are sent, sent again, and when the engine wakes: at its intervals, neither later nor without a reason.

use std::collections::BTreeSet;

use cambist_core::action::Action;
use cambist_core::config::EngineConfig;
use cambist_core::event::{Command, Event, Filter, TradingState};
use cambist_core::notification::Notification;
use cambist_core::order::{ClientOrderId, OrderStatus};
use cambist_core::request::{Endpoint, OrderList, Outcome, Query, UnknownCause};
use cambist_core::strategy::Strategy;
use cambist_core::{MarketId, MarketSpec, Reason, Time};

use crate::bench::{Always, BASE, BID, BOTH, OTHER, TestBench, config, execute, spec, token};
use crate::pool_bench::{Beside, POOL, limits, pool_spec};

/// Which queries.
type Which = fn(&Query) -> bool;

/// Intervals without a common divisor: no poll is due because of another.
fn apart(mut config: EngineConfig) -> EngineConfig {
    let poll = &mut config.poll;
    (poll.depth_ms, poll.orders_ms) = (701, 1_103);
    (poll.balances_ms, poll.meta_ms) = (1_301, 10_007);
    for pool in &mut config.pools {
        pool.poll_ms = 499;
    }
    config
}

/// Distances in milliseconds between two queries in a row, since a time.
fn distances(asked: &[(Time, Query)], since: Time, wanted: impl Fn(&Query) -> bool) -> Vec<u64> {
    let times = asked
        .iter()
        .filter(|(at, query)| *at >= since && wanted(query));
    let times: Vec<_> = times.map(|(at, _)| *at).collect();
    let apart = times.windows(2).map(|pair| pair[1].ms_since(pair[0]));
    apart.collect()
}

/// Between two queries of each endpoint there is always its interval, and nothing else.
#[track_caller]
fn assert_asked_at(asked: &[(Time, Query)], since: Time, intervals: &[(Endpoint, u64)]) {
    for &(endpoint, interval_ms) in intervals {
        let found = distances(asked, since, is(endpoint));
        assert!(found.len() >= 4, "{endpoint:?}");
        let found: BTreeSet<_> = found.into_iter().collect();
        assert_eq!(found, [interval_ms].into(), "{endpoint:?}");
    }
}

fn is(endpoint: Endpoint) -> impl Fn(&Query) -> bool {
    move |query| query.endpoint() == endpoint
}

fn is_list(query: &Query, wanted: OrderList) -> bool {
    matches!(query, Query::Orders(page) if page.list == wanted)
}

#[test]
fn every_query_is_sent_at_its_interval() {
    let mut bench = TestBench::with(&[], apart(config()), Vec::new());
    // The three rare ones are made due at different times.
    bench.fails = |query| matches!(query, Query::Tokens);
    bench.run_ms(3_000);
    bench.fails = |query| matches!(query, Query::Account);
    bench.run_ms(12_000);
    bench.fails = |_| false;
    bench.run_ms(15_000);
    let since = bench.now;
    bench.run_ms(60_000);
    let intervals = [
        (Endpoint::Depth, 701),
        (Endpoint::Balances, 1_301),
        (Endpoint::Markets, 10_007),
        (Endpoint::Tokens, 10_007),
        (Endpoint::Account, 10_007),
    ];
    assert_asked_at(&bench.asked, since, &intervals);
    let lists = distances(&bench.asked, since, |q| is_list(q, OrderList::All));
    assert!(lists.len() > 40);
    // The list of what rests takes the place of one scan.
    assert!(
        lists
            .iter()
            .all(|ms| [1_103, 2_206].contains(ms) || *ms == 0),
        "{lists:?}"
    );
    let resting = distances(&bench.asked, since, |q| is_list(q, OrderList::Resting));
    assert!(
        resting
            .iter()
            .all(|ms| (10_007..10_007 + 1_103).contains(ms)),
        "{resting:?}"
    );
}

#[test]
fn every_query_about_pools_is_sent_at_its_interval() {
    let mut bench = Beside::new(0, apart(limits()), Vec::new());
    bench.run_ms(15_000);
    let since = bench.now;
    bench.run_ms(60_000);
    let intervals = [
        (Endpoint::PoolBalance, 499),
        (Endpoint::Pools, 10_007),
        (Endpoint::PoolTransactions, 10_007),
    ];
    assert_asked_at(&bench.asked, since, &intervals);
}

/// A query whose answer is lost is sent again after its delay; pages of a list are asked for four times first.
#[test]
fn a_query_without_an_answer_is_sent_again_after_its_delay() {
    let cases: [(Which, &[u64]); 7] = [
        (|query| matches!(query, Query::Depth(_)), &[701]),
        (|query| matches!(query, Query::Balances), &[1_301]),
        (|query| matches!(query, Query::Markets), &[2_000]),
        (|query| matches!(query, Query::Tokens), &[2_000]),
        (|query| matches!(query, Query::Account), &[2_000]),
        (|query| is_list(query, OrderList::All), &[0, 500]),
        (|query| is_list(query, OrderList::Resting), &[2_000]),
    ];
    for (index, (fails, delays)) in cases.into_iter().enumerate() {
        let mut config = apart(config());
        config.poll.orders_ms = 100;
        let mut bench = TestBench::with(&[], config, Vec::new());
        bench.run_ms(5_000);
        bench.fails = fails;
        let since = bench.now.plus_ms(1);
        bench.run_ms(20_000);
        let found: BTreeSet<_> = distances(&bench.asked, since, fails).into_iter().collect();
        assert_eq!(found, delays.iter().copied().collect(), "query {index}");
    }
    let cases: [(Which, &[u64]); 3] = [
        (|query| matches!(query, Query::Pools), &[2_000]),
        (|query| matches!(query, Query::PoolBalance(_)), &[499]),
        (
            |query| matches!(query, Query::PoolTransactions(_)),
            &[0, 500],
        ),
    ];
    for (index, (fails, delays)) in cases.into_iter().enumerate() {
        let mut bench = Beside::new(0, apart(limits()), Vec::new());
        bench.run_ms(5_000);
        bench.fails = fails;
        let since = bench.now.plus_ms(1);
        bench.run_ms(20_000);
        let found: BTreeSet<_> = distances(&bench.asked, since, fails).into_iter().collect();
        assert_eq!(
            found,
            delays.iter().copied().collect(),
            "query {index} about pools"
        );
    }
}

/// While an answer is outstanding, its query is no reason to wake.
#[test]
fn waiting_for_any_answer_is_no_busy_loop() {
    let cases: [fn(&Query) -> bool; 6] = [
        |query| matches!(query, Query::Depth(_)),
        |query| matches!(query, Query::Balances),
        |query| matches!(query, Query::Markets),
        |query| matches!(query, Query::Tokens),
        |query| matches!(query, Query::Account),
        |query| matches!(query, Query::Orders(_)),
    ];
    for (index, unanswered) in cases.into_iter().enumerate() {
        let mut bench = TestBench::with(&[], apart(config()), Vec::new());
        bench.run_ms(5_000);
        let before = bench.wakes;
        bench.run_ms(8_000);
        let usual = bench.wakes - before;
        bench.unanswered = unanswered;
        // Long enough that each was sent, and is due again.
        bench.run_ms(11_000);
        let before = bench.wakes;
        bench.run_ms(8_000);
        let waiting = bench.wakes - before;
        assert!(
            waiting <= usual + 5,
            "query {index}: {waiting}, else {usual}"
        );
    }
    let cases: [fn(&Query) -> bool; 3] = [
        |query| matches!(query, Query::Pools),
        |query| matches!(query, Query::PoolBalance(_)),
        |query| matches!(query, Query::PoolTransactions(_)),
    ];
    for (index, unanswered) in cases.into_iter().enumerate() {
        let mut bench = Beside::new(0, apart(limits()), Vec::new());
        bench.run_ms(5_000);
        let before = bench.wakes;
        bench.run_ms(8_000);
        let usual = bench.wakes - before;
        bench.unanswered = unanswered;
        bench.run_ms(11_000);
        let before = bench.wakes;
        bench.run_ms(8_000);
        let waiting = bench.wakes - before;
        assert!(
            waiting <= usual + 5,
            "query {index} about pools: {waiting}, else {usual}"
        );
    }
}

/// The clock of a process may begin at zero.
#[test]
fn the_first_step_asks_for_everything_whatever_the_clock_shows() {
    for now in [Time(0), Time(1), Time::from_ms(1_000)] {
        let mut bench = TestBench::new(&BOTH);
        let start = bench.start.take().expect("not started");
        let mut actions = Vec::new();
        bench.engine.on_event(now, &start, &mut actions);
        let sent = actions.iter().filter_map(|action| match action {
            Action::Send { query, .. } => Some(query.endpoint()),
            _ => None,
        });
        let sent: BTreeSet<_> = sent.collect();
        let all = [
            Endpoint::Account,
            Endpoint::Balances,
            Endpoint::Depth,
            Endpoint::Markets,
            Endpoint::Orders,
            Endpoint::Tokens,
        ];
        assert_eq!(sent, all.into(), "at {now:?}");
    }
}

/// What a run does, with its times. The submits of two orders are lost, and one is provably not sent at first; later
/// everything is paused and resumed. With `often`, the engine is woken every millisecond as well.
fn played(often: bool) -> Vec<(Time, String)> {
    let mut config = apart(config());
    config.status_ms = 1_000_000;
    let mut bench = TestBench::with(&BOTH, config, Vec::new());
    for ms in 0..45_000 {
        bench.run_ms(1);
        if often {
            bench.handle_event(&Event::Wake);
        }
        while let Some((_, id)) = bench.submits.front() {
            match id.number {
                1 | 6 => bench.answer_submit(Outcome::Unknown(UnknownCause::Timeout)),
                3 if bench.transmissions(*id) == 1 => bench.answer_submit(Outcome::NotSent),
                _ => bench.accept(),
            };
        }
        while let Some((request, hash)) = bench.cancels.front().copied() {
            if bench.list.iter().any(|report| report.hash == hash) {
                bench.accept_cancel();
            } else {
                bench.cancels.pop_front();
                bench.answer(request, Outcome::Refused(Reason::NothingToCancel));
            }
        }
        let (filter, reason) = (Filter::ALL, "test".to_owned());
        match ms {
            20_000 => drop(execute(&mut bench, Command::Pause { filter, reason })),
            23_000 => drop(execute(&mut bench, Command::Unpause { filter, reason })),
            _ => {}
        }
        let expired = |report: &&mut cambist_core::order::OrderReport| {
            !report.status.is_final()
                && u64::from(report.valid_until_s) < 1_700_000_000 + ms / 1_000
        };
        for report in bench.list.iter_mut().filter(expired) {
            report.status = OrderStatus::Expired;
        }
    }
    let noted = bench.noted_at.iter().zip(&bench.notifications);
    let noted = noted.filter(|(_, n)| !matches!(n, Notification::Status(_)));
    let mut log: Vec<_> = noted.map(|(at, n)| (*at, format!("{n:?}"))).collect();
    log.extend(
        bench
            .asked
            .iter()
            .map(|(at, query)| (*at, format!("{query:?}"))),
    );
    log.sort();
    log
}

#[test]
fn waking_the_engine_more_often_than_it_asks_changes_nothing() {
    let (asked, often) = (played(false), played(true));
    let first = asked.iter().zip(&often).find(|(a, b)| a != b);
    assert_eq!(first.map(|(asked, _)| asked), first.map(|(_, often)| often));
    assert_eq!(asked.len(), often.len());
    for wanted in ["Fenced", "Resent", "CancelSent", "to: VenueTime(17"] {
        assert!(
            asked.iter().any(|(_, line)| line.contains(wanted)),
            "{wanted}"
        );
    }
}

/// A pool beside one of the markets is enough.
#[test]
fn pools_are_listed_where_only_one_of_two_markets_has_one() {
    let mut config = limits();
    config.markets.push(config.markets[0].clone());
    let tokens = (token(BASE, 6), token(OTHER, 6));
    let other = MarketSpec::new(MarketId(1), "T0-T2", tokens.0, tokens.1, 2, true).unwrap();
    let nothing = || -> Box<dyn Strategy> { Box::new(Always(Vec::new())) };
    let strategies = vec![nothing(), nothing()];
    let mut bench = TestBench::at(vec![spec(), other], strategies, config, Vec::new());
    if let Some(Event::Start(start)) = &mut bench.start {
        start.pools = vec![pool_spec()];
    }
    bench.pool = Some((POOL, true));
    bench.run_ms(3_000);
    assert_eq!(bench.asked_at(Endpoint::Pools).len(), 1);
    assert!(!bench.asked_at(Endpoint::PoolTransactions).is_empty());
}

/// An order that rests and is missing in the depth was most likely filled. One that may not rest yet, or not any more,
/// shows nothing by that.
#[test]
fn lists_are_read_at_once_when_the_depth_lacks_an_order_that_rests() {
    for (state, is_read) in [
        ("rests", true),
        ("is on its way", false),
        ("is cancelled", false),
    ] {
        let mut config = config();
        config.poll.orders_ms = 8_000;
        let mut bench = TestBench::with(&BID, config, Vec::new());
        bench.until_a_submit_waits();
        if state != "is on its way" {
            bench.accept();
            bench.list.clear();
        }
        if state == "is cancelled" {
            let (level, reason) = (TradingState::CancelOnly, "test".to_owned());
            execute(&mut bench, Command::Raise { level, reason }).unwrap();
            assert_eq!(bench.cancels.len(), 1);
        }
        let since = bench.now;
        bench.run_ms(1_200);
        let lists = bench
            .asked
            .iter()
            .filter(|(at, query)| *at > since && matches!(query, Query::Orders(_)));
        assert_eq!(lists.count() > 0, is_read, "an order that {state}");
    }
}

/// How far back the lists of all orders went that were asked for since a time, in milliseconds: one for each list.
fn windows(bench: &TestBench, since: Time) -> Vec<u64> {
    let asked = bench.asked.iter().filter(|(at, _)| *at >= since);
    let windows = asked.filter_map(|(at, query)| match query {
        Query::Orders(page) if page.list == OrderList::All && page.to.0 == 0 => {
            let then = bench.venue_now().minus_ms(bench.now.ms_since(*at));
            Some(then.ms_since(page.from))
        }
        _ => None,
    });
    windows.collect()
}

/// Grace and margin: a list that goes back to ended orders.
const WIDE_MS: u64 = 3_000 + 10_000;

/// Most lists have few entries: ended orders are in every fifth of those that are read once a second.
#[test]
fn every_fifth_list_of_a_quiet_engine_goes_back_to_ended_orders() {
    let mut bench = TestBench::with(&[], config(), Vec::new());
    bench.run_ms(5_000);
    let since = bench.now.plus_ms(1);
    bench.run_ms(50_000);
    let windows = windows(&bench, since);
    let is_wide: Vec<_> = windows.iter().map(|ms| *ms >= WIDE_MS).collect();
    let first = is_wide.iter().position(|wide| *wide).expect("a wide one");
    let every_fifth = is_wide[first..].iter().enumerate();
    assert!(
        every_fifth
            .into_iter()
            .all(|(at, wide)| *wide == (at % 5 == 0)),
        "{windows:?}"
    );
    let narrow = windows.iter().filter(|ms| **ms < WIDE_MS);
    assert!(narrow.clone().all(|ms| *ms < 3_500), "{windows:?}");
    assert!(narrow.count() > 30);
}

/// Every list goes back to the oldest order that may be alive.
#[test]
fn every_list_goes_back_to_the_oldest_order() {
    let mut bench = TestBench::ready(&BID);
    let oldest = bench.accept();
    let made_at = bench.sealed[&oldest].1.made_at;
    let since = bench.now.plus_ms(1);
    bench.run_ms(13_000);
    assert!(
        bench
            .list
            .iter()
            .any(|report| report.hash == bench.sealed[&oldest].0)
    );
    let lists = bench.asked.iter().filter(|(at, query)| {
        *at >= since && matches!(query, Query::Orders(page) if page.to.0 == 0)
    });
    let from = lists.map(|(_, query)| match query {
        Query::Orders(page) => page.from,
        _ => unreachable!("filtered"),
    });
    let from: Vec<_> = from.collect();
    assert!(
        from.len() > 10 && from.iter().all(|from| *from < made_at),
        "{from:?}"
    );
}

#[test]
fn lists_go_back_to_ended_orders_while_an_order_is_unknown() {
    let mut config = config();
    config.resend_after_ms = 10_000;
    let mut bench = TestBench::with(&BID, config, Vec::new());
    bench.until_a_submit_waits();
    bench.run_ms(2_000);
    let since = bench.now.plus_ms(1);
    bench.answer_submit(Outcome::Unknown(UnknownCause::Timeout));
    bench.unanswered = |query| matches!(query, Query::Order(_));
    bench.run_ms(4_000);
    let windows = windows(&bench, since);
    assert!(windows.len() >= 3);
    assert!(windows.iter().all(|ms| *ms >= WIDE_MS), "{windows:?}");
}

/// The difference may be a late fill of an order that ended before the last list.
#[test]
fn lists_go_back_to_ended_orders_while_books_differ() {
    let mut bench = TestBench::with(&[], config(), Vec::new());
    bench.run_ms(5_000);
    bench.balances.0 += 4_000;
    bench.run_ms(5_000);
    let differ =
        |n: &Notification| matches!(n, Notification::Books(books) if !books.differences.is_empty());
    assert!(bench.count(differ) > 0);
    let since = bench.now.plus_ms(1);
    bench.run_ms(20_000);
    let wide = windows(&bench, since);
    assert!(wide.iter().all(|ms| *ms >= WIDE_MS), "{wide:?}");
    bench.balances.0 -= 4_000;
    bench.run_ms(3_000);
    let since = bench.now.plus_ms(1);
    bench.run_ms(5_000);
    let narrow = windows(&bench, since);
    assert!(narrow.iter().any(|ms| *ms < WIDE_MS), "{narrow:?}");
}

/// Beside others on the account it is not known what has changed in orders that ended.
#[test]
fn lists_go_back_to_ended_orders_while_others_have_orders() {
    for others in [None, Some(0x7530_e7d1)] {
        let mut bench = TestBench::ready(&BID);
        let own = bench.accept();
        bench.run_ms(2_000);
        let mut other = bench.list[0].clone();
        other.hash.0[0] ^= 1;
        other.client_id = others.map(|instance| ClientOrderId { instance, ..own });
        bench.list.push(other);
        bench.run_ms(6_000);
        let since = bench.now.plus_ms(1);
        bench.run_ms(4_000);
        let windows = windows(&bench, since);
        assert!(
            windows.len() >= 3 && windows.iter().all(|ms| *ms >= WIDE_MS),
            "{others:?}: {windows:?}"
        );
    }
}
