//! The status against what has happened, and when one is emitted.

use cambist_core::config::EngineConfig;
use cambist_core::event::{Command, Event, Filter, Restrictions, TradingState};
use cambist_core::notification::{MarketStatus, Notification};
use cambist_core::order::OrderStatus;
use cambist_core::request::{Outcome, Query, UnknownCause};
use cambist_core::{Price, Side};

use crate::bench::{BID, BOTH, TestBench, config, execute};
use crate::pool_bench::{Beside, LP, POOL, limits};

const LOST: Outcome = Outcome::Unknown(UnknownCause::Timeout);

fn often() -> EngineConfig {
    EngineConfig {
        status_ms: 10,
        ..config()
    }
}

/// Bid, ask, live a side, in flight, unknown, being cancelled.
fn counts(bench: &mut TestBench) -> (Option<u64>, Option<u64>, [u32; 2], u32, u32, u32) {
    bench.run_ms(20);
    let MarketStatus {
        bid,
        ask,
        live,
        in_flight,
        unknown,
        cancelling,
        ..
    } = &bench.status().markets[0];
    let ticks = |price: &Option<Price>| price.map(|price| price.0);
    (
        ticks(bid),
        ticks(ask),
        *live,
        *in_flight,
        *unknown,
        *cancelling,
    )
}

#[test]
fn a_status_counts_orders_in_the_state_that_each_is_in() {
    let quotes = [
        (Side::Buy, 9_990, 10),
        (Side::Buy, 9_995, 20),
        (Side::Sell, 10_005, 30),
        (Side::Sell, 10_010, 40),
    ];
    let mut bench = TestBench::with(&quotes, often(), Vec::new());
    bench.until_a_submit_waits();
    let all = (Some(9_995), Some(10_005));
    assert_eq!(counts(&mut bench), (all.0, all.1, [0, 0], 4, 0, 0));
    bench.accept();
    assert_eq!(counts(&mut bench), (all.0, all.1, [1, 0], 3, 0, 0));
    let lost = bench.answer_submit(LOST);
    assert_eq!(counts(&mut bench), (all.0, all.1, [1, 0], 2, 1, 0));
    bench.accept_all();
    assert_eq!(counts(&mut bench), (all.0, all.1, [1, 2], 0, 1, 0));
    assert!(bench.status().unknown_since.is_some());
    bench.show(lost, OrderStatus::Processing, 0);
    bench.run_ms(2_000);
    assert_eq!(counts(&mut bench), (all.0, all.1, [2, 2], 0, 0, 0));
    assert_eq!(bench.status().unknown_since, None);
    // Cancelled, but still there.
    let (filter, reason) = (Filter::ALL, "test".to_owned());
    execute(&mut bench, Command::Pause { filter, reason }).unwrap();
    assert_eq!(counts(&mut bench), (all.0, all.1, [0, 0], 0, 0, 4));
    assert_eq!(bench.status().pauses.len(), 1);
    while !bench.cancels.is_empty() {
        bench.accept_cancel();
    }
    bench.run_ms(2_000);
    assert_eq!(counts(&mut bench), (None, None, [0, 0], 0, 0, 0));
}

/// An unknown order that is to be cancelled is unknown, not being cancelled.
#[test]
fn an_order_is_counted_in_one_state() {
    let mut bench = TestBench::with(&BID, often(), Vec::new());
    bench.until_a_submit_waits();
    bench.answer_submit(LOST);
    let (filter, reason) = (Filter::ALL, "test".to_owned());
    execute(&mut bench, Command::Pause { filter, reason }).unwrap();
    assert_eq!(counts(&mut bench), (Some(9_995), None, [0, 0], 0, 1, 0));
}

#[test]
fn a_status_states_whether_the_daemon_is_ready_stopped_and_draining() {
    let mut bench = TestBench::with(&BOTH, often(), Vec::new());
    let facts = |bench: &TestBench| {
        let status = bench.status();
        (status.ready, status.level, status.draining)
    };
    bench.unanswered = |query| matches!(query, Query::Balances);
    bench.run_ms(2_000);
    assert_eq!(facts(&bench), (false, TradingState::Active, false));
    bench.unanswered = |_| false;
    bench.run_ms(12_000);
    assert_eq!(facts(&bench), (true, TradingState::Active, false));
    let (level, reason) = (TradingState::CancelOnly, "test".to_owned());
    execute(&mut bench, Command::Raise { level, reason }).unwrap();
    bench.run_ms(20);
    assert_eq!(facts(&bench), (true, TradingState::CancelOnly, false));
    let reply = execute(&mut bench, Command::Drain).unwrap();
    assert!(reply.contains("after 60 s at the latest"), "{reply}");
    bench.run_ms(20);
    assert_eq!(facts(&bench), (true, TradingState::CancelOnly, true));
}

/// A status after a command shows its effect: with an interval of a quarter of an hour, statuses are those of the
/// start, of each command, and of each change of restrictions.
#[test]
fn a_status_follows_every_command_at_once_and_nothing_else() {
    let mut bench = TestBench::ready(&BOTH);
    bench.accept_all();
    bench.run_ms(10_000);
    let statuses = |bench: &TestBench| bench.count(|n| matches!(n, Notification::Status(_)));
    assert_eq!(statuses(&bench), 1, "of the start");
    let (filter, reason) = (Filter::ALL, "test".to_owned());
    let commands = [
        Command::Pause {
            filter,
            reason: reason.clone(),
        },
        Command::Unpause { filter, reason },
        Command::Drain,
    ];
    for command in commands {
        let before = statuses(&bench);
        execute(&mut bench, command.clone()).unwrap();
        assert!(statuses(&bench) > before, "{command:?}");
        assert_eq!(bench.status().draining, command == Command::Drain);
    }
}

#[test]
fn what_was_stored_is_reported_at_the_start_and_only_if_it_restricts() {
    for state in [
        TradingState::Active,
        TradingState::CancelOnly,
        TradingState::Halted,
    ] {
        let mut bench = TestBench::new(&BOTH);
        bench.starts_with(Restrictions::of(state));
        bench.run_ms(100);
        let reported = bench.count(
            |n| matches!(n, Notification::TradingStateChanged { level, .. } if *level == state),
        );
        assert_eq!(
            reported,
            usize::from(state > TradingState::Active),
            "{state:?}"
        );
        assert_eq!(
            bench.count(|n| matches!(n, Notification::Draining)),
            usize::from(state == TradingState::Halted)
        );
    }
}

/// The value of all shares is that of what they would give back: as much base as quote, whichever token is first.
#[test]
fn a_pool_has_its_value_in_the_status_whichever_token_is_first() {
    for reversed in [false, true] {
        let mut config = limits();
        config.status_ms = 10;
        let mut bench = if reversed {
            Beside::reversed(1_000, config)
        } else {
            Beside::new(1_000, config, Vec::new())
        };
        bench.held.insert(LP, 1_000);
        bench.run_ms(3_000);
        let pool = bench.status().pools[0].clone();
        assert_eq!(pool.held, 1_000);
        // A thousandth of the pool: one base token at 100, and a hundred quote tokens.
        assert_eq!(pool.value, Some(2 * POOL.pooled[1] / 1_000));
        assert_eq!((pool.divergence_bps, pool.moving), (Some(0), false));
        assert!(pool.age_ms.is_some_and(|age| age <= 510), "{pool:?}");
    }
}

#[test]
fn a_finished_engine_does_nothing_more() {
    let mut bench = TestBench::new(&[]);
    bench.run_ms(2_000);
    execute(&mut bench, Command::Drain).unwrap();
    bench.run_ms(10_000);
    assert_eq!(bench.finished, Some(true));
    assert_eq!(bench.engine.next_wakeup(), None);
    let before = (bench.asked.len(), bench.notifications.len());
    bench.handle_event(&Event::Wake);
    bench.handle_event(&Event::Operator(Command::Drain));
    bench.run_ms(60_000);
    assert_eq!((bench.asked.len(), bench.notifications.len()), before);
}
