//! Orders of other instances on the account: no new orders, a reason, and never a cancel of theirs.

use cambist_core::config::{EngineConfig, ForeignOrders};
use cambist_core::event::{Command, Event, TradingState};
use cambist_core::notification::{Control, Notification};
use cambist_core::order::{ClientOrderId, Hash, OrderReport, OrderStatus};
use cambist_core::request::{Outcome, Reply};
use cambist_core::{Price, Qty, Side, StrategyId, VenueTime};

use crate::bench::{BOTH, ORIGIN, TestBench, config, execute, spec};

/// The bench's own is 7.
const OTHER: u32 = 0x7530_e7d1;

/// An order of another instance, created this long after the start, with this time to live.
fn other(number: u64, created_ms: i64, ttl_ms: u64) -> OrderReport {
    let created = VenueTime(ORIGIN.0.saturating_add_signed(created_ms));
    let mut hash = [8; 32];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    OrderReport {
        hash: Hash(hash),
        client_id: Some(ClientOrderId {
            instance: OTHER,
            strategy: StrategyId(0),
            number,
        }),
        market: "T0-T1".into(),
        side: Side::Sell,
        status: OrderStatus::Processing,
        base_amount: spec().base_amount(Qty(10)).unwrap(),
        quote_amount: spec().quote_amount(Price(10_100), Qty(10)).unwrap(),
        base_filled: 0,
        quote_filled: 0,
        fee: 0,
        valid_until_s: u32::try_from(created.plus_ms(ttl_ms).as_s()).unwrap(),
        valid_since: created,
    }
}

fn bench(policy: ForeignOrders, orders: Vec<OrderReport>) -> TestBench {
    let mut config: EngineConfig = config();
    config.foreign = policy;
    config.status_ms = 50;
    let mut bench = TestBench::with(&BOTH, config, Vec::new());
    bench.list = orders;
    bench
}

const POLICIES: [ForeignOrders; 3] = [
    ForeignOrders::Alarm,
    ForeignOrders::Tolerate,
    ForeignOrders::Adopt,
];

/// The reasons of both sides in the last status, and the orders in it.
fn status(bench: &TestBench) -> ([Option<Control>; 2], Vec<u64>) {
    let reported = bench
        .notifications
        .iter()
        .rev()
        .find_map(|notification| match notification {
            Notification::Status(status) => {
                let sides = status.markets[0]
                    .withheld
                    .map(|why| why.map(|why| why.control));
                let named = status.others.iter().map(|other| other.order.number);
                Some((sides, named.collect()))
            }
            _ => None,
        });
    reported.expect("a status was emitted")
}

const BESIDE: [Option<Control>; 2] = [Some(Control::OtherInstance); 2];

#[test]
fn orders_of_an_earlier_state_folder_are_named_and_waited_for_under_every_policy() {
    for policy in POLICIES {
        // Created five seconds before the start, expires at 15 s; the grace is 3 s.
        let mut bench = bench(policy, vec![other(1, -5_000, 20_000)]);
        bench.run_ms(17_900);
        assert!(bench.submits.is_empty(), "{policy:?}");
        assert_eq!(status(&bench), (BESIDE, vec![1]), "{policy:?}");
        assert_eq!(bench.levels, [], "no operator is needed");
        let named = bench
            .notifications
            .iter()
            .filter(|notification| match notification {
                Notification::OtherInstance {
                    order,
                    until,
                    later,
                    ..
                } => {
                    let dead = ORIGIN.plus_ms(18_000);
                    assert_eq!((order.instance, *until, *later), (OTHER, dead, false));
                    true
                }
                _ => false,
            });
        assert_eq!(named.count(), 1, "reported once");
        bench.run_ms(3_000);
        assert_eq!(
            bench.submits.len(),
            2,
            "{policy:?}: behind expiry and grace"
        );
        assert!(
            bench.cancels.is_empty(),
            "{policy:?}: no foreign order is cancelled"
        );
        assert_eq!(status(&bench).1, []);
    }
}

#[test]
fn an_order_that_ended_before_or_ends_is_no_reason() {
    let mut gone = other(1, -60_000, 20_000);
    gone.status = OrderStatus::Expired;
    let mut bench = bench(ForeignOrders::Tolerate, vec![gone]);
    bench.run_ms(3_000);
    assert_eq!((bench.submits.len(), bench.levels.len()), (2, 0));
    let mut left = other(1, -1_000, 3_600_000);
    let mut bench = self::bench(ForeignOrders::Tolerate, vec![left.clone()]);
    bench.run_ms(10_000);
    assert!(bench.submits.is_empty());
    left.status = OrderStatus::Cancelled;
    bench.list = vec![left];
    bench.run_ms(3_000);
    assert_eq!(bench.submits.len(), 2, "its owner has cancelled it");
}

#[test]
fn an_order_created_after_our_start_causes_cancel_only_within_one_list() {
    for policy in POLICIES {
        for status_of_it in [OrderStatus::Processing, OrderStatus::Processed] {
            let mut bench = bench(policy, Vec::new());
            bench.run_ms(3_000);
            bench.accept_all();
            bench.run_ms(20_000);
            bench.accept_all();
            let mut made = other(1, 22_500, 20_000);
            made.status = status_of_it;
            bench.list.push(made);
            // Lists are read every second.
            bench.run_ms(1_100);
            assert_eq!(
                bench.levels,
                [TradingState::CancelOnly],
                "{policy:?} {status_of_it:?}"
            );
            let ours = bench.cancels.iter().all(|(_, hash)| hash.0[8..] == [0; 24]);
            assert!(
                ours && !bench.cancels.is_empty(),
                "ours go, theirs are left alone"
            );
            let later = |notification: &&Notification| {
                matches!(
                    notification,
                    Notification::OtherInstance { later: true, .. }
                )
            };
            assert_eq!(bench.notifications.iter().filter(later).count(), 1);
            assert_eq!(status(&bench).0, BESIDE);
        }
    }
}

#[test]
fn an_uncertain_creation_time_is_no_proof_of_a_second_daemon() {
    for (created_ms, raised) in [(6_000, false), (6_001, true)] {
        let mut bench = bench(ForeignOrders::Tolerate, vec![other(1, created_ms, 20_000)]);
        bench.run_ms(3_000);
        assert_eq!(!bench.levels.is_empty(), raised, "{created_ms}");
        assert!(bench.submits.is_empty(), "either way it is waited for");
    }
}

#[test]
fn after_resume_earlier_orders_are_not_reported_again_and_later_ones_are() {
    let mut bench = bench(ForeignOrders::Tolerate, Vec::new());
    bench.run_ms(3_000);
    bench.accept_all();
    let mut first = other(1, 8_000, 5_000);
    first.status = OrderStatus::Processed;
    bench.run_ms(6_000);
    bench.list.push(first);
    bench.run_ms(2_000);
    assert_eq!(bench.levels, [TradingState::CancelOnly]);
    let reason = "it is stopped".to_owned();
    let level = TradingState::Active;
    execute(
        &mut bench,
        Command::Lower {
            level,
            reason,
            forget_losses: false,
        },
    )
    .unwrap();
    bench.run_ms(5_000);
    assert_eq!(
        bench.levels,
        [TradingState::CancelOnly, TradingState::Active],
        "not raised again"
    );
    bench.list.push(other(2, 26_000, 5_000));
    bench.run_ms(12_000);
    assert_eq!(bench.levels.last(), Some(&TradingState::CancelOnly));
}

fn adopt(bench: &mut TestBench, instance: u32) -> Result<String, String> {
    let reason = "the folder was lost".to_owned();
    execute(bench, Command::AdoptInstance { instance, reason })
}

#[test]
fn adopted_orders_are_cancelled_and_then_the_opening_is_taken() {
    let mut left = other(1, -1_000, 3_600_000);
    let mut bench = bench(ForeignOrders::Alarm, vec![left.clone()]);
    bench.run_ms(3_000);
    let why = adopt(&mut bench, 1).unwrap_err();
    assert!(why.contains("00000001"), "{why}");
    let done = adopt(&mut bench, OTHER).unwrap();
    assert!(done.contains("1 orders of instance 7530e7d1"), "{done}");
    bench.run_ms(200);
    let (request, hash) = bench.cancels.pop_front().expect("it is cancelled");
    assert_eq!(hash, left.hash);
    let ready = |bench: &TestBench| {
        bench
            .notifications
            .iter()
            .any(|n| matches!(n, Notification::Ready { .. }))
    };
    bench.run_ms(3_000);
    assert!(!ready(&bench), "not while it may trade");
    // It filled half before that: contained in the opening, and not booked again.
    left.base_filled = left.base_amount / 2;
    left.quote_filled = left.quote_amount / 2;
    left.status = OrderStatus::Cancelled;
    bench.balances.0 -= left.base_filled;
    bench.balances.1 += left.quote_filled;
    bench.list = vec![left];
    let status = OrderStatus::Cancelling;
    bench.answer(request, Outcome::Reply(Reply::CancelTaken { status }));
    bench.run_ms(6_000);
    assert!(ready(&bench) && bench.submits.len() == 2);
    let differs =
        |notification: &Notification| matches!(notification, Notification::Mismatch { .. });
    assert!(!bench.notifications.iter().any(differs));
    assert_eq!(bench.levels, []);
}

/// Orders in a market that is not traded here are none of this daemon's, and nothing has to be waited for any more.
#[test]
fn quotes_are_decided_when_the_last_instance_that_may_be_running_is_adopted() {
    let mut bench = bench(ForeignOrders::Tolerate, Vec::new());
    if let Some(Event::Start(start)) = &mut bench.start {
        start.config.poll.depth_ms = 2_700;
    }
    bench.run_ms(1_000);
    let mut elsewhere = other(1, 2_000, 3_600_000);
    elsewhere.market = "T0-T9".into();
    bench.list.push(elsewhere);
    bench.submits.clear();
    bench.run_ms(30_000);
    let before = bench.sealed.len();
    bench.run_ms(3_000);
    assert_eq!(bench.sealed.len(), before, "it may be running");
    adopt(&mut bench, OTHER).unwrap();
    assert_eq!(bench.sealed.len(), before + 2, "at once");
}

#[test]
fn an_instance_that_trades_now_is_not_adopted() {
    let mut bench = bench(ForeignOrders::Tolerate, vec![other(1, -1_000, 3_600_000)]);
    bench.run_ms(10_000);
    bench.list.push(other(2, 9_000, 20_000));
    bench.run_ms(2_000);
    let why = adopt(&mut bench, OTHER).unwrap_err();
    assert!(why.contains("stop the other daemon first"), "{why}");
    assert!(bench.cancels.is_empty());
    let reason = String::new();
    let nothing = execute(
        &mut bench,
        Command::AdoptInstance {
            instance: OTHER,
            reason,
        },
    );
    assert!(nothing.unwrap_err().contains("reason"));
}

#[test]
fn of_more_orders_than_are_remembered_the_last_to_expire_is_waited_for() {
    let mut many: Vec<_> = (1..=1_024)
        .map(|number| other(number, -5_000, 7_000))
        .collect();
    // One more, listed last, expires at 12 s; the grace is 3 s.
    many.push(other(1_025, -5_000, 17_000));
    let mut bench = bench(ForeignOrders::Tolerate, many);
    bench.run_ms(14_900);
    assert!(bench.submits.is_empty());
    assert_eq!(status(&bench), (BESIDE, vec![1_025]));
    bench.run_ms(3_000);
    assert_eq!(bench.submits.len(), 2);
}

#[test]
fn between_two_orders_of_another_daemon_nothing_is_placed() {
    let mut ended = other(1, -1_000, 3_600_000);
    ended.status = OrderStatus::Cancelled;
    let mut bench = bench(ForeignOrders::Tolerate, vec![ended]);
    bench.run_ms(8_900);
    assert!(bench.submits.is_empty(), "another one may follow it");
    assert_eq!(status(&bench), (BESIDE, vec![]));
    bench.run_ms(3_000);
    assert_eq!(bench.submits.len(), 2, "none followed within ten seconds");
    assert_eq!(bench.levels, []);
}
