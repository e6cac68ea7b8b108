//! Joins and exits happen exactly once, whatever is lost, repeated or forgotten, within every limit.

use cambist_core::config::PoolConfig;
use cambist_core::event::{Command, Event};
use cambist_core::intent::RecoveredPoolTransaction;
use cambist_core::notification::{Control, End, Notification};
use cambist_core::order::{Hash, OrderStatus};
use cambist_core::pool::{
    PoolTransactionAmounts, PoolTransactionKind, PoolTransactionReport, PoolTransactionStatus,
};
use cambist_core::request::{Endpoint, Outcome, Query};
use cambist_core::strategy::{Owed, Strategy, Targets, View};
use cambist_core::venue::{SlotRule, VenueRules};
use cambist_core::{Engine, Reason, Time, TokenId};

use crate::bench::ORIGIN;
use crate::pool_bench::{Beside, LP, limits};

#[test]
fn a_join_is_sent_once_and_booked_from_its_report() {
    let mut bench = Beside::new(1_000, limits(), Vec::new());
    let sent = bench.until_sent();
    assert_eq!(sent.endpoint, Endpoint::Join);
    let wanted = bench.sealed[&sent.id].1.clone();
    assert_eq!(wanted.amounts, [1_000_000, 100_000_000]);
    assert_eq!(wanted.lp_amount, 990, "one per cent of slippage");
    assert_eq!(wanted.storage_ids, [1, 1], "odd, a counter a token");
    bench.settle(sent.id);
    bench.take(sent);
    bench.is_balanced();
    assert_eq!(bench.booked().len(), 1);
    assert_eq!(bench.booked()[0].amounts.lp, 1_000);
    assert_eq!(bench.ends(), [End::Filled]);
    assert!(bench.sent.is_empty(), "holdings equal the target");
}

/// Books and venue are compared by balances that are read before the next join or exit.
#[test]
fn balances_are_read_when_a_join_has_ended() {
    let mut config = limits();
    config.poll.balances_ms = 60_000;
    config.poll.balances_age_max_ms = 120_000;
    let mut bench = Beside::new(1_000, config, Vec::new());
    let sent = bench.until_sent();
    bench.run_ms(1_000);
    let before = bench.asked_at(Endpoint::Balances).len();
    bench.settle(sent.id);
    bench.take(sent);
    bench.run_ms(3_000);
    assert_eq!(bench.ends(), [End::Filled]);
    assert_eq!(bench.asked_at(Endpoint::Balances).len(), before + 1);
}

#[test]
fn an_exit_burns_the_difference_and_pays_its_fee_from_it() {
    let mut bench = Beside::new(250, limits(), Vec::new());
    bench.held.insert(LP, 1_000);
    let sent = bench.until_sent();
    assert_eq!(sent.endpoint, Endpoint::Exit);
    let wanted = bench.sealed[&sent.id].1.clone();
    assert_eq!(
        (wanted.kind, wanted.lp_amount),
        (PoolTransactionKind::Exit, 750)
    );
    assert_eq!(
        wanted.amounts,
        [742_500, 74_250_000],
        "750 shares less one per cent"
    );
    assert_eq!(wanted.storage_ids, [1]);
    bench.settle(sent.id);
    bench.take(sent);
    bench.is_balanced();
    assert_eq!(bench.ends(), [End::Filled]);
}

#[test]
fn an_answer_lost_after_processing_is_found_on_the_list() {
    let mut bench = Beside::new(1_000, limits(), Vec::new());
    let sent = bench.until_sent();
    bench.settle(sent.id);
    bench.lose(sent);
    bench.is_balanced();
    assert_eq!(bench.booked().len(), 1);
    assert_eq!(bench.sent.len(), 0, "nothing is sent again");
}

#[test]
fn an_answer_lost_before_processing_leads_to_a_resend() {
    let mut bench = Beside::new(1_000, limits(), Vec::new());
    let first = bench.until_sent();
    bench.lose(first);
    let again = bench.until_sent();
    assert_eq!(again.id, first.id, "the same intent");
    assert_eq!(bench.sealed.len(), 1);
    bench.settle(again.id);
    // The first copy arrives late: the venue knows it.
    bench.settle(first.id);
    bench.answer(again.request, Outcome::Refused(Reason::InvalidNonce));
    bench.is_balanced();
    assert_eq!(bench.booked().len(), 1);
    assert_eq!(bench.ends(), [End::Filled]);
}

#[test]
fn an_unanswered_join_ends_only_at_its_fence() {
    let mut bench = Beside::new(1_000, limits(), Vec::new());
    let first = bench.until_sent();
    bench.lose(first);
    // Expiry is 20 s, grace 3 s; every copy is lost.
    for _ in 0..22 {
        bench.run_ms(1_000);
        while let Some(sent) = bench.sent.pop_front() {
            assert_eq!(sent.id, first.id, "nothing else before the fence");
            bench.lose(sent);
        }
    }
    assert_eq!(bench.ends(), []);
    bench.run_ms(4_000);
    assert_eq!(bench.ends(), [End::Fenced]);
    let next = bench.until_sent();
    assert_ne!(next.id, first.id);
    let ids = &bench.sealed[&next.id].1.storage_ids;
    assert_eq!(*ids, [3, 3], "ids are never used twice");
}

/// A venue with one row of numbers for the account: a transaction has one of them, whatever it pays.
#[test]
fn a_join_has_one_number_of_a_common_row_and_it_is_used_again_if_it_was_not_spent() {
    let in_one_row = |shares| {
        let mut bench = Beside::new(shares, limits(), Vec::new());
        if let Some(Event::Start(start)) = &mut bench.start {
            start.venue.slots = SlotRule::Consecutive { row: TokenId(99) };
            start.next_slots = [(TokenId(99), 40)].into();
        }
        bench
    };
    let mut bench = in_one_row(1_000);
    let first = bench.until_sent();
    assert_eq!(bench.sealed[&first.id].1.storage_ids, [40]);
    bench.lose(first);
    while bench.ends().is_empty() {
        bench.run_ms(1_000);
        while bench.ends().is_empty()
            && let Some(sent) = bench.sent.pop_front()
        {
            bench.lose(sent);
        }
    }
    assert_eq!(bench.ends(), [End::Fenced]);
    let again = bench.until_sent();
    assert_ne!(again.id, first.id);
    assert_eq!(bench.sealed[&again.id].1.storage_ids, [40]);
    bench.settle(again.id);
    bench.take(again);
    bench.is_balanced();
    let mut bench = in_one_row(250);
    bench.held.insert(LP, 1_000);
    let exit = bench.until_sent();
    assert_eq!(exit.endpoint, Endpoint::Exit);
    assert_eq!(bench.sealed[&exit.id].1.storage_ids, [40]);
}

#[test]
fn a_refusal_that_a_copy_can_cause_ends_nothing() {
    let mut bench = Beside::new(1_000, limits(), Vec::new());
    let first = bench.until_sent();
    bench.settle(first.id);
    bench.answer(first.request, Outcome::Refused(Reason::InsufficientBalance));
    bench.is_balanced();
    assert_eq!(bench.ends(), [End::Filled]);
}

/// The amounts of the pool have changed with the end: they are not left to the next poll.
#[test]
fn the_pool_is_read_again_when_a_transaction_has_ended() {
    let mut bench = Beside::new(1_000, limits(), Vec::new());
    let first = bench.until_sent();
    bench.settle(first.id);
    bench.take(first);
    while bench.ends().is_empty() {
        bench.run_ms(1);
    }
    let ended = bench.now;
    bench.run_ms(20);
    let is_read =
        |(at, query): &(Time, Query)| *at >= ended && matches!(query, Query::PoolBalance(_));
    assert!(bench.asked.iter().any(is_read));
}

#[test]
fn a_definitive_refusal_ends_the_join_and_pauses() {
    let mut bench = Beside::new(1_000, limits(), Vec::new());
    let first = bench.until_sent();
    bench.answer(first.request, Outcome::Refused(Reason::InvalidArgument));
    assert_eq!(bench.ends(), [End::Refused]);
    bench.run_ms(990);
    assert!(bench.sent.is_empty(), "a second's pause");
    assert_ne!(bench.until_sent().id, first.id);
}

#[test]
fn a_join_that_fails_late_changes_no_balance() {
    let mut bench = Beside::new(1_000, limits(), Vec::new());
    let sent = bench.until_sent();
    bench.show(
        sent.id,
        PoolTransactionStatus::Processing,
        PoolTransactionAmounts::default(),
    );
    bench.take(sent);
    bench.run_ms(30_000);
    assert_eq!(bench.ends(), [], "undecided, whatever the time");
    assert!(bench.sent.is_empty());
    bench.show(
        sent.id,
        PoolTransactionStatus::Cancelled,
        PoolTransactionAmounts::default(),
    );
    bench.run_ms(2_000);
    assert_eq!(bench.ends(), [End::FailedLate]);
    assert_eq!(bench.booked().len(), 0);
}

#[test]
fn an_accepted_join_that_disappears_is_a_failed_invariant() {
    let mut bench = Beside::new(1_000, limits(), Vec::new());
    let sent = bench.until_sent();
    bench.take(sent);
    bench.run_ms(30_000);
    assert_eq!(bench.invariants(), ["move_vanished"]);
    assert_eq!(bench.ends(), [End::Fenced]);
}

#[test]
fn a_report_beyond_the_signed_limits_is_booked_and_a_failed_invariant() {
    let mut bench = Beside::new(1_000, limits(), Vec::new());
    let sent = bench.until_sent();
    let moved = PoolTransactionAmounts {
        pooled: [1_000_001, 100_000_000],
        lp: 1_000,
        fee: 0,
    };
    bench.show(sent.id, PoolTransactionStatus::Processed, moved);
    bench.take(sent);
    bench.run_ms(2_000);
    assert_eq!(bench.booked().len(), 1);
    assert_eq!(bench.invariants(), ["move_limits"]);
}

/// A venue that compares the payments alone may mint fewer shares than the least: another account changed the pool.
#[test]
fn fewer_shares_than_the_least_are_a_failure_only_where_the_venue_compares_them() {
    for (compares_shares, failed) in [(true, &["move_limits"][..]), (false, &[])] {
        let rules = cambist_core::VenueRules {
            compares_shares,
            ..cambist_core::VenueRules::exchange()
        };
        let mut bench = Beside::with_rules(1_000, limits(), Vec::new(), rules);
        let sent = bench.until_sent();
        let least = bench.sealed[&sent.id].1.lp_amount;
        assert!(least > 1);
        let moved = PoolTransactionAmounts {
            pooled: [1_000, 1_000],
            lp: least - 1,
            fee: 0,
        };
        bench.show(sent.id, PoolTransactionStatus::Processed, moved);
        bench.take(sent);
        bench.run_ms(2_000);
        assert_eq!(bench.booked().len(), 1);
        assert_eq!(bench.invariants(), failed);
    }
}

/// The transmissions of a run that was killed.
fn left_behind() -> (Beside, RecoveredPoolTransaction) {
    let mut before = Beside::new(1_000, limits(), Vec::new());
    let sent = before.until_sent();
    let (hash, wanted) = before.sealed[&sent.id].clone();
    (
        before,
        RecoveredPoolTransaction {
            transaction: wanted,
            hash,
        },
    )
}

#[test]
fn after_a_crash_a_processed_join_is_found_and_not_repeated() {
    let (mut before, open) = left_behind();
    before.settle(open.transaction.client_id);
    let mut bench = Beside::new(1_000, limits(), vec![open]);
    (bench.list, bench.held, bench.pool) = (before.list, before.held, before.pool);
    bench.is_balanced();
    assert_eq!(bench.ends(), [End::Filled]);
    assert!(bench.sent.is_empty(), "exactly one join over both lives");
    assert_eq!(bench.held[&LP], 1_000);
}

#[test]
fn after_a_crash_a_join_that_never_arrived_blocks_until_its_fence() {
    let (_, open) = left_behind();
    let first = open.transaction.client_id;
    let mut bench = Beside::new(1_000, limits(), vec![open]);
    bench.run_ms(20_000);
    assert_eq!(bench.count(|n| matches!(n, Notification::Ready { .. })), 0);
    assert!(
        bench.sent.is_empty(),
        "its bytes leave no more, nor do others"
    );
    bench.run_ms(8_000);
    assert_eq!(bench.ends(), [End::Fenced]);
    let sent = bench.until_sent();
    assert_ne!(sent.id, first);
}

#[test]
fn a_batch_that_is_not_durable_is_never_sent() {
    let mut bench = Beside::new(1_000, limits(), Vec::new());
    bench.store_works = false;
    bench.run_ms(5_000);
    assert!(bench.sent.is_empty());
    assert_eq!(bench.ends(), [End::NeverSent]);
}

#[test]
fn every_limit_of_a_pool_on_both_sides() {
    let refuses = |change: fn(&mut PoolConfig), control| {
        let mut config = limits();
        change(&mut config.pools[0]);
        let mut bench = Beside::new(1_000, config, Vec::new());
        bench.run_ms(3_000);
        assert_eq!(bench.sent.is_empty(), bench.refused(control));
        bench.refused(control)
    };
    // The value of a thousand shares is 200.
    assert!(refuses(
        |c| c.move_value_max = 199_999_999,
        Control::OrderValue
    ));
    assert!(!refuses(
        |c| c.move_value_max = 200_000_000,
        Control::OrderValue
    ));
    assert!(refuses(|c| c.value_max = 199_999_999, Control::OrderValue));
    assert!(!refuses(|c| c.value_max = 200_000_000, Control::OrderValue));
    assert!(refuses(|c| c.fee_max = 99_900_000_001, Control::Balance));
    assert!(!refuses(|c| c.fee_max = 99_900_000_000, Control::Balance));
}

#[test]
fn no_join_while_pool_and_book_differ_or_the_pool_is_closed() {
    let mut bench = Beside::new(1_000, limits(), Vec::new());
    bench.pool.pooled[1] += bench.pool.pooled[1] / 100 + 1;
    bench.run_ms(3_000);
    assert!(bench.sent.is_empty() && bench.refused(Control::PoolDivergence));
    bench.pool.pooled[1] -= 1;
    bench.until_sent();
    let mut bench = Beside::new(0, limits(), Vec::new());
    bench.held.insert(LP, 1_000);
    bench.listed = false;
    if let Some(Event::Start(start)) = &mut bench.start {
        start.pools[0].exits = false;
    }
    bench.run_ms(3_000);
    assert!(bench.sent.is_empty() && bench.refused(Control::Permission));
    bench.listed = true;
    bench.run_ms(60_000);
    assert_eq!(bench.until_sent().endpoint, Endpoint::Exit);
}

#[test]
fn a_refused_join_has_a_reason_with_its_numbers() {
    let withheld = |more: u128| {
        let mut config = limits();
        config.status_ms = 100;
        let mut bench = Beside::new(1_000, config, Vec::new());
        bench.pool.pooled[1] += bench.pool.pooled[1] / 100 + more;
        bench.run_ms(3_000);
        let statuses = bench.notifications.iter().rev();
        let pools = statuses.filter_map(|notification| match notification {
            Notification::Status(status) => Some(status.pools[0].withheld),
            _ => None,
        });
        pools.clone().next().unwrap()
    };
    assert_eq!(withheld(0), None, "on its way");
    let why = withheld(1_000_000_000).unwrap();
    assert_eq!(why.control, Control::PoolDivergence);
    assert_eq!(why.key(), Some("market.pool.divergence_max_bps"));
    assert!(why.value > why.limit && why.limit == Some(100), "{why:?}");
}

#[test]
fn funds_reserved_by_a_join_are_not_free_and_the_band_counts_them() {
    let mut config = limits();
    config.markets[0].inventory_min = 499_000_001;
    let mut bench = Beside::new(1_000, config.clone(), Vec::new());
    bench.run_ms(3_000);
    assert!(bench.sent.is_empty() && bench.refused(Control::InventoryBand));
    config.markets[0].inventory_min = 499_000_000;
    Beside::new(1_000, config, Vec::new()).until_sent();
}

#[test]
fn a_foreign_join_is_reported_once_and_our_own_earlier_ones_are_not() {
    let mut bench = Beside::new(0, limits(), Vec::new());
    let foreign = |n: u8, created| PoolTransactionReport {
        hash: Hash([n; 32]),
        kind: PoolTransactionKind::Join,
        status: PoolTransactionStatus::Processed,
        amounts: PoolTransactionAmounts::default(),
        created,
    };
    // A time is known to a whole resolution: what may be as old as the start is not reported.
    let start = ORIGIN.plus_ms(VenueRules::exchange().clock.resolution_ms);
    bench.list = vec![foreign(200, ORIGIN.minus_ms(5_000)), foreign(202, start)];
    bench.run_ms(5_000);
    bench.list.push(foreign(201, bench.venue_now()));
    bench.run_ms(200_000);
    assert_eq!(
        bench.count(|n| matches!(n, Notification::ForeignPoolTransaction { .. })),
        1
    );
}

#[test]
fn draining_keeps_the_shares_and_waits_for_the_undecided_join() {
    let mut bench = Beside::new(1_000, limits(), Vec::new());
    let sent = bench.until_sent();
    bench.lose(sent);
    bench.handle_event(&Event::Operator(Command::Drain));
    bench.run_ms(10_000);
    assert_eq!(bench.finished, None, "unknown is not failure");
    bench.settle(sent.id);
    bench.run_ms(10_000);
    assert_eq!(bench.finished, Some(true));
    assert_eq!(bench.ends(), [End::Filled]);
    assert!(bench.sent.is_empty(), "no exit on the way out");
}

#[test]
fn a_reload_applies_limits_of_pools_and_a_looser_one_needs_permission() {
    let mut tight = limits();
    tight.pools[0].move_value_max = 1;
    let mut bench = Beside::new(1_000, tight, Vec::new());
    bench.run_ms(3_000);
    assert!(bench.sent.is_empty() && bench.refused(Control::OrderValue));
    let reload = |allow_loosening| {
        Event::Operator(Command::Reconfigure {
            config: Box::new(limits()),
            parameters: Vec::new(),
            reason: String::new(),
            allow_loosening,
        })
    };
    bench.handle_event(&reload(false));
    bench.run_ms(3_000);
    assert!(bench.sent.is_empty(), "it was not permitted");
    bench.handle_event(&reload(true));
    bench.until_sent();
    let mut two = limits();
    two.pools.push(two.pools[0].clone());
    let refused = |n: &Notification| matches!(n, Notification::CommandRefused { .. });
    bench.handle_event(&Event::Operator(Command::Reconfigure {
        config: Box::new(two),
        parameters: Vec::new(),
        reason: String::new(),
        allow_loosening: true,
    }));
    assert_eq!(bench.count(refused), 2, "pools change with a restart");
}

/// Of two joins of an earlier run each ends at its own fence, and the pool trades only behind both.
#[test]
fn each_undecided_join_ends_at_its_own_fence() {
    let (_, first) = left_behind();
    let mut second = first.clone();
    second.transaction.client_id.number += 1;
    second.transaction.valid_until_s += 10;
    second.transaction.storage_ids = vec![3, 3];
    second.hash = Hash([5; 32]);
    let mut bench = Beside::new(1_000, limits(), vec![first, second]);
    bench.run_ms(20_000);
    assert_eq!(bench.ends(), []);
    bench.run_ms(8_000);
    assert_eq!(
        bench.ends(),
        [End::Fenced],
        "the second lives ten seconds longer"
    );
    bench.run_ms(10_000);
    assert_eq!(bench.ends(), [End::Fenced; 2]);
}

/// A pool lists its tokens in its own order: everything is the same whichever comes first.
#[test]
fn a_pool_is_joined_and_left_whichever_token_is_first() {
    for shares in [2_000, 250] {
        let mut ends = Vec::new();
        for reversed in [false, true] {
            let mut bench = if reversed {
                Beside::reversed(shares, limits())
            } else {
                Beside::new(shares, limits(), Vec::new())
            };
            bench.held.insert(LP, 1_000);
            let sent = bench.until_sent();
            let wanted = bench.sealed[&sent.id].1.clone();
            bench.settle(sent.id);
            bench.take(sent);
            bench.is_balanced();
            let [base, quote] = [bench.base_at, 1 - bench.base_at].map(|at| wanted.amounts[at]);
            ends.push((
                wanted.kind,
                wanted.lp_amount,
                base,
                quote,
                bench.held.clone(),
            ));
            assert_eq!(bench.ends(), [End::Filled]);
        }
        assert_eq!(ends[0], ends[1]);
    }
}

/// A pool whose shares are liquidity in a range, with the price of the market and these amounts due.
fn in_range(shares: u128, pooled: [u128; 2]) -> Beside {
    let mut bench = Beside::new(shares, limits(), Vec::new());
    if let Some(Event::Start(start)) = &mut bench.start {
        start.pools[0].in_range = true;
    }
    bench.virtual_reserves = Some(bench.pool.pooled);
    bench.pool.pooled = pooled;
    bench
}

#[test]
fn a_range_is_joined_and_left_with_one_token_where_the_price_is_outside() {
    // Below the range all is base, above it all is quote.
    for (pooled, paid) in [
        ([2_000_000_000, 0], [2_000_000, 0]),
        ([0, 200_000_000_000], [0, 200_000_000]),
    ] {
        let mut bench = in_range(1_000, pooled);
        let sent = bench.until_sent();
        assert_eq!(sent.endpoint, Endpoint::Join);
        let wanted = bench.sealed[&sent.id].1.clone();
        assert_eq!((wanted.amounts, wanted.lp_amount), (paid, 990));
        bench.settle(sent.id);
        bench.take(sent);
        bench.is_balanced();
        assert_eq!(bench.ends(), [End::Filled]);
        assert!(bench.invariants().is_empty());
        let mut bench = in_range(0, pooled);
        bench.held.insert(LP, 1_000);
        let sent = bench.until_sent();
        assert_eq!(sent.endpoint, Endpoint::Exit);
        let wanted = bench.sealed[&sent.id].1.clone();
        assert_eq!(wanted.amounts, paid.map(|amount| amount * 99 / 100));
        bench.settle(sent.id);
        bench.take(sent);
        bench.is_balanced();
        assert_eq!(bench.ends(), [End::Filled]);
    }
}

/// An amount of 0 is one token alone only in a range with a price; anywhere else it is a pool that holds nothing, or
/// shares too few to be due anything.
#[test]
fn an_amount_of_zero_is_refused_where_it_is_not_the_range() {
    let refuses = |edit: fn(&mut Beside)| {
        let mut bench = in_range(1_000, [2_000_000_000, 0]);
        edit(&mut bench);
        bench.run_ms(3_000);
        assert!(bench.sent.is_empty());
        bench.refused(Control::OrderAmount) || bench.refused(Control::PoolDivergence)
    };
    assert!(refuses(|bench| {
        if let Some(Event::Start(start)) = &mut bench.start {
            start.pools[0].in_range = false;
        }
    }));
    assert!(refuses(|bench| bench.pool.pooled = [0, 0]));
    assert!(refuses(
        |bench| bench.virtual_reserves = Some([1_000_000_000, 0])
    ));
}

/// The price of a range follows from its virtual reserves, whatever is due.
#[test]
fn the_price_of_a_range_is_that_of_its_virtual_reserves() {
    let mut bench = in_range(1_000, [2_000_000_000, 1]);
    let [base, quote] = bench.virtual_reserves.unwrap();
    bench.pool.pooled = [2_000_000_000, 0];
    bench.virtual_reserves = Some([base, quote + quote / 100 + 1]);
    bench.run_ms(3_000);
    assert!(bench.sent.is_empty() && bench.refused(Control::PoolDivergence));
    bench.virtual_reserves = Some([base, quote + quote / 100]);
    bench.until_sent();
}

/// A range with a thousand of our shares, to which 0.001 base and 0.05 quote are owed, worth 0.15 quote, from which they
/// are collected at this value.
fn owing(target: u128, owed: Option<[u128; 2]>, collect_value: u128) -> Beside {
    let mut bench = in_range(target, [1_000_000_000, 100_000_000_000]);
    if let Some(Event::Start(start)) = &mut bench.start {
        start.config.pools[0].collect_value = collect_value;
    }
    bench.held.insert(LP, 1_000);
    bench.pool.owed = owed;
    bench
}

const OWED: [u128; 2] = [1_000, 50_000];
const WORTH: u128 = 150_000;

#[test]
fn an_exit_of_one_share_collects_what_is_owed_from_its_value_on() {
    // One share is due 1,000 and 100,000, of which an exit that collects nothing misses at most one per cent.
    let ordinary = [990, 99_000];
    for (target, owed, collect_value, least) in [
        (999, Some(OWED), WORTH, [0, 0]),
        (999, Some(OWED), WORTH + 1, ordinary),
        (999, Some([999, 50_000]), WORTH, ordinary),
        (999, Some([1_000, 49_999]), WORTH, ordinary),
        (999, Some(OWED), 0, ordinary),
        (999, None, WORTH, ordinary),
        (998, Some(OWED), WORTH, ordinary.map(|amount| 2 * amount)),
    ] {
        let mut bench = owing(target, owed, collect_value);
        let sent = bench.until_sent();
        assert_eq!(sent.endpoint, Endpoint::Exit);
        let wanted = bench.sealed[&sent.id].1.clone();
        let shares = 1_000 - target;
        assert_eq!((wanted.amounts, wanted.lp_amount), (least, shares));
        bench.settle(sent.id);
        bench.take(sent);
        bench.is_balanced();
        assert_eq!(bench.ends(), [End::Filled]);
        let owed = owed.unwrap_or_default();
        let received = bench.booked()[0].amounts.pooled;
        let due = [1_000, 100_000].map(|due| due * shares);
        assert_eq!(received, [due[0] + owed[0], due[1] + owed[1]]);
    }
}

/// Shares of so little that one of them is due nothing, as liquidity is: it is left to collect, and for nothing else.
#[test]
fn a_share_that_is_due_nothing_is_left_only_to_collect() {
    let dust = |collect_value| {
        let mut bench = owing(999, Some(OWED), collect_value);
        bench.pool.supply = 1 << 60;
        bench
    };
    let mut bench = dust(WORTH);
    let sent = bench.until_sent();
    let wanted = bench.sealed[&sent.id].1.clone();
    assert_eq!((wanted.amounts, wanted.lp_amount), ([0, 0], 1));
    bench.settle(sent.id);
    bench.take(sent);
    bench.is_balanced();
    assert_eq!(bench.booked()[0].amounts.pooled, OWED);
    let mut bench = dust(WORTH + 1);
    bench.run_ms(3_000);
    assert!(bench.sent.is_empty() && bench.refused(Control::OrderAmount));
}

/// What is owed comes with an exit, and may not lead beyond what the market may hold.
#[test]
fn what_is_owed_counts_as_coming() {
    let most = 500_000_000 + 1_000 + OWED[0];
    let limited = |owed, inventory_max| {
        let mut bench = owing(999, owed, WORTH);
        if let Some(Event::Start(start)) = &mut bench.start {
            start.config.markets[0].inventory_max = inventory_max;
        }
        bench
    };
    limited(Some(OWED), most).until_sent();
    limited(None, most - 1).until_sent();
    let mut refused = limited(Some(OWED), most - 1);
    refused.run_ms(3_000);
    assert!(refused.sent.is_empty() && refused.refused(Control::InventoryBand));
}

/// Collects whenever it may.
struct Collects;

impl Strategy for Collects {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let Some(pool) = view.pool else { return };
        let is_collected = |owed: Owed| owed.is_collected(view.market, view.mid);
        if pool.owed.is_some_and(is_collected) {
            targets.hold_shares(pool.held - 1);
        }
    }
}

/// What was owed before the last exit is not known to be owed still: it is collected again only when it was read again.
#[test]
fn nothing_is_collected_twice() {
    for reversed in [false, true] {
        let mut bench = owing(0, Some(OWED), WORTH);
        bench.engine = Engine::new(vec![Box::new(Collects)]);
        if reversed {
            bench.base_at = 1;
            bench.pool.pooled.reverse();
            bench.virtual_reserves = Some(bench.pool.pooled);
            bench.pool.owed = Some([OWED[1], OWED[0]]);
            if let Some(Event::Start(start)) = &mut bench.start {
                start.pools[0].pooled.reverse();
            }
        }
        let first = bench.until_sent();
        bench.run_ms(1_000);
        assert!(bench.sent.is_empty(), "one at a time");
        bench.fails = |query| matches!(query, Query::PoolBalance(_));
        bench.settle(first.id);
        bench.take(first);
        bench.run_ms(2_000);
        assert_eq!(bench.ends(), [End::Filled]);
        assert!(bench.sent.is_empty(), "the pool was not read again");
        bench.fails = |_| false;
        bench.run_ms(5_000);
        assert!(bench.sent.is_empty(), "nothing is owed");
        bench.pool.owed = Some(if reversed { [OWED[1], OWED[0]] } else { OWED });
        let second = bench.until_sent();
        assert_ne!(second.id, first.id);
        bench.settle(second.id);
        bench.take(second);
        bench.is_balanced();
        assert_eq!(bench.held[&LP], 998);
    }
}

/// Every later list shows it as well: what was resolved, or was never unknown, is not resolved again.
#[test]
fn a_list_resolves_a_join_once_and_only_if_its_state_was_unknown() {
    for is_lost in [true, false] {
        let mut bench = Beside::new(1_000, limits(), Vec::new());
        let sent = bench.until_sent();
        let processing = PoolTransactionStatus::Processing;
        bench.show(sent.id, processing, PoolTransactionAmounts::default());
        if is_lost {
            bench.lose(sent);
        } else {
            bench.take(sent);
        }
        bench.run_ms(5_000);
        let resolved = bench.notifications.iter().filter_map(|n| match n {
            Notification::Resolved { order, status } => Some((*order, *status)),
            _ => None,
        });
        let expected = is_lost.then_some((sent.id, OrderStatus::Processing));
        assert_eq!(resolved.collect::<Vec<_>>(), Vec::from_iter(expected));
    }
}
