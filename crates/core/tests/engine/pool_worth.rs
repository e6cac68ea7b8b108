//! The value of pool shares in the limits of losses and exposure.

use cambist_core::Amount;
use cambist_core::config::EngineConfig;
use cambist_core::event::{Command, Event};
use cambist_core::notification::{Control, Notification};
use cambist_core::request::Query;

use crate::bench::{BASE, QUOTE};
use crate::pool_bench::{Beside, LP, POOL, limits};
use cambist_core::sorted_map::SortedMap;

/// All holdings have a value of 150 000 000 000 at the mid. Losses are measured with a join of a thousand shares, 200
/// 000 000 in value, and an exit of all of them.
fn joined(change: impl Fn(&mut EngineConfig)) -> Beside {
    let mut config = limits();
    change(&mut config);
    let mut bench = Beside::new(1_000, config, Vec::new());
    // The value is measured before the join.
    bench.run_ms(1_200);
    let sent = bench.until_sent();
    bench.settle(sent.id);
    bench.take(sent);
    bench.run_ms(5_000);
    assert_eq!(bench.booked().len(), 1);
    bench
}

fn levels(bench: &Beside) -> usize {
    bench.count(|n| {
        matches!(
            n,
            Notification::TradingStateChanged { .. } | Notification::Paused(_)
        )
    })
}

fn strict(most: Amount) -> impl Fn(&mut EngineConfig) {
    move |c| {
        c.risk.move_bps = 10_000;
        let loss = &mut c.markets[0].loss;
        (loss.hour_max, loss.day_max) = (most, most);
        (loss.total_max, loss.drawdown_max) = (Amount::MAX, most);
    }
}

#[test]
fn a_join_is_no_loss_and_a_loss_of_the_pool_is() {
    // Only a rounding of two units is lost.
    let mut bench = joined(strict(2));
    assert_eq!(levels(&bench), 0, "{:?}", bench.notifications);
    // The pool loses a thousandth of its quote: our share of that is a loss.
    bench.pool.pooled[1] -= POOL.pooled[1] / 1_000;
    bench.run_ms(5_000);
    assert!(levels(&bench) > 0);
    // A thousand of 1 001 000 shares.
    let lost = POOL.pooled[1] / 1_001_000;
    for (most, stopped) in [(lost + 2, false), (lost - 2, true)] {
        let mut bench = joined(strict(most));
        bench.pool.pooled[1] -= POOL.pooled[1] / 1_000;
        bench.run_ms(5_000);
        assert_eq!(levels(&bench) > 0, stopped, "{most} of {lost}");
    }
}

#[test]
fn losses_of_the_pool_between_two_runs_count() {
    let first = joined(strict(Amount::MAX));
    let lost = POOL.pooled[1] / 1_001_000;
    let again = |most: Amount, takes: Amount| {
        let mut config = limits();
        strict(most)(&mut config);
        let mut bench = Beside::new(1_000, config, Vec::new());
        bench.starts_with_books(first.books.clone());
        bench.now = first.now;
        (bench.pool, bench.held, bench.list) = (first.pool, first.held.clone(), first.list.clone());
        bench.pool.pooled[1] -= takes;
        bench.run_ms(5_000);
        levels(&bench) > 0
    };
    let takes = POOL.pooled[1] / 1_000;
    assert!(again(lost - 4, takes));
    assert!(!again(lost + 4, takes));
    assert!(!again(4, 0), "nothing happened, and nothing is lost");
}

#[test]
fn adopted_shares_and_those_of_the_opening_are_no_gain() {
    let bench_with = |held: Amount| {
        let mut config = limits();
        strict(2)(&mut config);
        let mut bench = Beside::new(held + 1_000, config, Vec::new());
        bench.held.insert(LP, held);
        bench
    };
    let mut bench = bench_with(1_000);
    bench.run_ms(1_200);
    let sent = bench.until_sent();
    let shares = Command::Adopt {
        token: LP,
        amount: -500,
        reason: "sent away".to_owned(),
    };
    bench.held.insert(LP, 500);
    bench.handle_event(&Event::Operator(shares));
    bench.settle(sent.id);
    bench.take(sent);
    bench.run_ms(5_000);
    assert_eq!(levels(&bench), 0, "{:?}", bench.notifications);
}

/// The pool is read after the opening: what is due to the shares of the opening is no gain that would hide a loss.
#[test]
fn shares_of_the_opening_are_no_gain_when_the_pool_is_read_late() {
    // A thousand of a million shares.
    let lost = POOL.pooled[1] / 1_000_000;
    for (most, stopped) in [(lost + 2, false), (lost - 2, true)] {
        let mut config = limits();
        strict(Amount::MAX)(&mut config);
        // A gain would be deducted from what the day has lost.
        config.markets[0].loss.day_max = most;
        let mut bench = Beside::new(1_000, config, Vec::new());
        bench.held.insert(LP, 1_000);
        // Depths are accepted before the opening.
        bench.unanswered = |query| matches!(query, Query::Balances | Query::PoolBalance(_));
        bench.run_ms(3_000);
        assert_eq!(bench.count(|n| matches!(n, Notification::Ready { .. })), 0);
        let accepted =
            |n: &Notification| matches!(n, Notification::DepthAccepted { mid: Some(_), .. });
        assert!(bench.count(accepted) > 0);
        bench.unanswered = |query| matches!(query, Query::PoolBalance(_));
        bench.run_ms(10_000);
        assert!(bench.count(|n| matches!(n, Notification::Ready { .. })) > 0);
        bench.unanswered = |_| false;
        bench.run_ms(10_000);
        assert_eq!(levels(&bench), 0, "{most} of {lost}");
        bench.pool.pooled[1] -= POOL.pooled[1] / 1_000;
        bench.run_ms(10_000);
        assert_eq!(levels(&bench) > 0, stopped, "{most} of {lost}");
    }
}

#[test]
fn shares_count_in_the_gross_exposure() {
    // 50 000 000 000 of base are held; the join adds 100 000 000 of quote, and no base.
    let worth = 50_000_000_000 + 100_000_000;
    for (most, joins) in [(worth, true), (worth - 1, false)] {
        let mut config = limits();
        config.risk.gross_max = SortedMap::from([(QUOTE, most)]);
        let mut bench = Beside::new(1_000, config, Vec::new());
        bench.run_ms(3_000);
        assert_eq!(!bench.sent.is_empty(), joins);
        assert_eq!(bench.refused(Control::GrossExposure), !joins);
    }
    // Shares already held count in full for the next one.
    for (most, joins) in [(worth + 100_000_000, true), (worth + 99_999_999, false)] {
        for reversed in [false, true] {
            let mut config = limits();
            config.risk.gross_max = SortedMap::from([(QUOTE, most)]);
            let mut bench = if reversed {
                Beside::reversed(2_000, config)
            } else {
                Beside::new(2_000, config, Vec::new())
            };
            bench.held.insert(LP, 1_000);
            bench.held.insert(BASE, 499_000_000);
            bench.run_ms(3_000);
            assert_eq!(!bench.sent.is_empty(), joins, "{most} {reversed}");
        }
    }
}

/// The usage of a limit has what an undecided join pays, beside what the shares are worth that are already held.
#[test]
fn an_undecided_join_counts_beside_shares_that_are_held() {
    let worth = 50_000_000_000 + 100_000_000;
    // Of 50 200 000 000, a hundred million are 20 ten-thousandths. As many shares as are held, or a join of a thousand.
    for (target, usage) in [(1_000, 9_980), (2_000, 10_000)] {
        let mut config = limits();
        config.risk.gross_max = SortedMap::from([(QUOTE, worth + 100_000_000)]);
        config.status_ms = 500;
        let mut bench = Beside::new(target, config, Vec::new());
        bench.held.insert(LP, 1_000);
        bench.held.insert(BASE, 499_000_000);
        bench.run_ms(5_000);
        assert_eq!(bench.sent.is_empty(), target == 1_000);
        let mut used = bench.status().markets[0].used.iter();
        let used = used.find(|(control, _)| *control == Control::GrossExposure);
        assert_eq!(used, Some(&(Control::GrossExposure, usage)));
    }
}
