//! Controls over more than one order: size, exposure, rates, duplicates, caps. Each on both sides of its limit.

use cambist_core::config::EngineConfig;
use cambist_core::event::TradingState;
use cambist_core::notification::{Control, Notification};
use cambist_core::order::OrderStatus;
use cambist_core::request::Outcome;
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::{MarketId, MarketSpec, Price, Qty, Reason, Side};

use crate::bench::{Always, BASE, Below, QUOTE, TestBench, config, spec, token as token_spec};
use cambist_core::sorted_map::SortedMap;

const BID: (Side, u64, u64) = (Side::Buy, 9_995, 10);

fn bench(quotes: &[(Side, u64, u64)], change: impl Fn(&mut EngineConfig)) -> TestBench {
    let mut config = config();
    config.risk.move_bps = 10_000;
    change(&mut config);
    TestBench::with(quotes, config, Vec::new())
}

fn refused(bench: &TestBench, wanted: Control) -> bool {
    bench
        .notifications
        .iter()
        .any(|n| matches!(n, Notification::RiskRefused { control, .. } if *control == wanted))
}

/// The control that refuses a bid under a changed configuration; `None` if it is sent.
fn judge(change: impl Fn(&mut EngineConfig)) -> Option<Control> {
    let mut bench = bench(&[BID], change);
    bench.run_ms(3_000);
    let control = bench.first_refusal();
    assert_eq!(control.is_none(), bench.submits.len() == 1);
    control
}

#[test]
fn order_volume() {
    assert_eq!(judge(|c| c.markets[0].order_qty_max = Qty(10)), None);
    let tight = judge(|c| c.markets[0].order_qty_max = Qty(9));
    assert_eq!(tight, Some(Control::OrderVolume));
}

#[test]
fn order_amount() {
    let base = spec().base_amount(Qty(10)).unwrap();
    let quote = spec().quote_amount(Price(9_995), Qty(10)).unwrap();
    // Ten lots, where the venue has this minimum and maximum for a token.
    let leave = |token: usize, minimum, maximum| {
        let mut tokens = [BASE, QUOTE].map(|id| token_spec(id, 6));
        (tokens[token].minimum, tokens[token].maximum) = (minimum, maximum);
        let [of_base, of_quote] = tokens.clone();
        let market = MarketSpec::new(MarketId(0), "T0-T1", of_base, of_quote, 2, true).unwrap();
        let bid = Always(vec![BID]);
        let mut bench = TestBench::at(vec![market], vec![Box::new(bid)], config(), Vec::new());
        bench.tokens[..2].clone_from_slice(&tokens);
        bench.run_ms(3_000);
        assert_ne!(
            refused(&bench, Control::OrderAmount),
            bench.submits.len() == 1
        );
        bench.submits.len() == 1
    };
    for (token, amount) in [(0, base), (1, quote)] {
        assert!(leave(token, amount, 1 << 90) && !leave(token, amount + 1, 1 << 90));
        assert!(leave(token, 1, amount) && !leave(token, 1, amount - 1));
    }
}

#[test]
fn gross_exposure() {
    // 500 000 000 units are held, with a value of 50 000 000 000 at the mid; ten lots add 100 000.
    let worth = 50_000_100_000;
    let most =
        |most| move |c: &mut EngineConfig| c.risk.gross_max = SortedMap::from([(QUOTE, most)]);
    assert_eq!(judge(most(worth)), None);
    assert_eq!(judge(most(worth - 1)), Some(Control::GrossExposure));
    let none = judge(|c| c.risk.gross_max = SortedMap::new());
    assert_eq!(
        none,
        Some(Control::GrossExposure),
        "no limit given is no permission"
    );
}

#[test]
fn gross_exposure_allows_sales() {
    let mut bench = bench(&[(Side::Sell, 10_005, 10)], |c| {
        c.risk.gross_max = SortedMap::from([(QUOTE, 1)]);
    });
    bench.run_ms(3_000);
    assert_eq!(bench.submits.len(), 1);
}

#[test]
fn fee_cap() {
    assert_eq!(judge(|c| c.risk.fee_max_bips = 20), None);
    assert_eq!(judge(|c| c.risk.fee_max_bips = 19), Some(Control::FeeCap));
}

#[test]
fn ttl_cap() {
    assert_eq!(judge(|c| c.risk.ttl_max_ms = 20_000), None);
    assert_eq!(judge(|c| c.risk.ttl_max_ms = 19_999), Some(Control::TtlCap));
}

#[test]
fn message_rate() {
    let quotes = [BID, (Side::Buy, 9_994, 10), (Side::Sell, 10_005, 10)];
    let mut enough = bench(&quotes, |c| c.risk.orders_per_min = 3);
    enough.run_ms(3_000);
    assert_eq!(enough.submits.len(), 3);
    let mut short = bench(&quotes, |c| c.risk.orders_per_min = 2);
    short.run_ms(3_000);
    assert_eq!(short.submits.len(), 2);
    assert!(refused(&short, Control::MessageRate));
    short.accept_all();
    short.run_ms(62_000);
    assert!(short.sealed.len() > 2, "a minute later there is room again");
}

#[test]
fn too_many_cancels_stop_new_orders_and_never_cancels() {
    for (most, orders) in [(3, 3), (1, 2)] {
        let mut config = config();
        config.risk.cancels_per_min = most;
        let mut bench = TestBench::of(Box::new(Below(5)), config, Vec::new());
        bench.until_a_submit_waits();
        bench.accept();
        // Every change of the book moves the bid: the old one is cancelled.
        for moved in [10_050, 10_100] {
            bench.depth = (moved - 10, moved + 10);
            bench.run_ms(1_000);
            bench.accept_all();
            bench.accept_cancel();
            bench.run_ms(1_000);
        }
        assert_eq!(bench.sealed.len(), orders, "{most} cancels a minute");
        assert_eq!(refused(&bench, Control::MessageRate), orders == 2);
    }
}

#[test]
fn as_many_equal_orders_as_equal_targets() {
    let mut two = bench(&[BID, BID], |_| {});
    two.run_ms(3_000);
    assert_eq!(two.submits.len(), 2, "two equal quotes are two orders");
    assert!(!refused(&two, Control::Duplicate));
}

/// Has a bid as target in every other decision.
struct Flicker(bool);

impl Strategy for Flicker {
    fn decide(&mut self, _: &View<'_>, targets: &mut Targets) {
        self.0 = !self.0;
        if self.0 {
            targets.quote(Side::Buy, Price(9_995), Qty(10), 0);
        }
    }
}

#[test]
fn an_equal_order_is_not_placed_again_at_once() {
    for (window_ms, again) in [(60_000, false), (1, true)] {
        let mut config = config();
        config.risk.duplicate_ms = window_ms;
        let mut bench = TestBench::of(Box::new(Flicker(false)), config, Vec::new());
        bench.until_a_submit_waits();
        // A refusal ends it at once; the next target comes a moment later.
        bench.answer_submit(Outcome::Refused(Reason::InvalidArgument));
        bench.run_ms(4_000);
        assert_eq!(bench.sealed.len() > 1, again);
        assert_eq!(refused(&bench, Control::Duplicate), !again);
    }
}

#[test]
fn too_many_executions_stop_new_orders_and_normal_quoting_does_not() {
    let run = |most| {
        let mut bench = bench(&[BID], |c| {
            c.risk.executions_per_min = most;
            c.risk.duplicate_ms = 1;
        });
        for _ in 0..6 {
            bench.until_a_submit_waits();
            let id = bench.accept();
            bench.show(id, OrderStatus::Processed, 10);
            bench.balances.0 += 1_000;
            bench.balances.1 -= 99_950;
            if bench.levels.contains(&TradingState::CancelOnly) {
                break;
            }
            bench.run_ms(1_500);
        }
        bench
    };
    // Six fills, and a seventh order after them.
    let calm = run(8);
    assert!(calm.levels.is_empty());
    let wild = run(3);
    assert_eq!(
        wild.levels,
        [TradingState::CancelOnly],
        "latched at the third"
    );
    assert_eq!(wild.sealed.len(), 3);
}

/// No budget bounds into how many parts others fill an order: only complete fills count.
#[test]
fn partial_fills_are_no_executions() {
    let mut bench = bench(&[(Side::Buy, 9_995, 10)], |c| c.risk.executions_per_min = 3);
    bench.until_a_submit_waits();
    let id = bench.accept();
    for lots in 1..=6 {
        bench.show(id, OrderStatus::Processing, lots);
        bench.balances.0 += 100;
        bench.balances.1 -= 9_995;
        bench.run_ms(1_500);
    }
    let fills = bench.notifications.iter();
    let fills = fills.filter(|notification| matches!(notification, Notification::Filled(_)));
    assert_eq!(fills.count(), 6);
    assert!(bench.levels.is_empty(), "{:?}", bench.levels);
}

/// Every order of a run of 40 s is answered with the same refusal.
fn refused_always(reason: Reason) -> TestBench {
    let mut bench = bench(&[BID, (Side::Buy, 9_990, 10)], |c| {
        c.risk.duplicate_ms = 1;
        c.markets[0].open_orders_max = 1_000;
    });
    for _ in 0..400 {
        while !bench.submits.is_empty() {
            bench.answer_submit(Outcome::Refused(reason));
        }
        bench.run_ms(100);
    }
    bench
}

#[test]
fn a_market_pauses_longer_with_each_refusal_in_a_row_whatever_it_proves() {
    for reason in [
        Reason::InvalidArgument,
        Reason::InsufficientBalance,
        Reason::InvalidOrder,
        Reason::UnknownError,
    ] {
        let bench = refused_always(reason);
        let sealed = bench.sealed.len();
        // Two orders each time, after pauses that double from one to the next.
        assert!((6..=14).contains(&sealed), "{reason:?}: {sealed} orders");
    }
}

/// The bid fills its decision; another intent under the same decision is not sent.
#[test]
fn only_decided_orders_are_sent() {
    let mut bench = bench(&[BID], |_| {});
    bench.store_waits = true;
    bench.run_ms(3_000);
    let (batch, orders) = bench.sealing.pop().expect("a batch waits");
    // The same batch is answered twice, as a faulty store might.
    bench.sealing.push((batch, orders.clone()));
    bench.store_answers();
    bench.sealing.push((batch, orders));
    bench.store_answers();
    assert_eq!(bench.submits.len(), 1);
}

#[test]
fn a_ramp_quotes_a_share_and_grows() {
    let mut bench = bench(&[(Side::Buy, 9_995, 100)], |c| {
        c.ramp.start_bps = 2_500;
        c.ramp.step_bps = 2_500;
        c.ramp.step_ms = 10_000;
    });
    bench.until_a_submit_waits();
    let first = bench.accept();
    assert_eq!(bench.sealed[&first].1.qty, Qty(25));
    bench.run_ms(10_500);
    let last = *bench.sealed_ids().last().unwrap();
    assert_eq!(bench.sealed[&last].1.qty, Qty(50), "a healthy step later");
}

/// Has a bid of this many lots as target, and keeps one that rests.
struct Keeps(u64);

impl Strategy for Keeps {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let kept = view.own.iter().find(|order| !order.cancelling);
        let (price, qty) = kept.map_or((Price(9_995), Qty(self.0)), |o| (o.price, o.remaining));
        targets.quote(Side::Buy, price, qty, 0);
    }
}

#[test]
fn a_kept_order_is_not_scaled_twice_during_the_ramp() {
    let mut config = config();
    config.ramp.start_bps = 3_333;
    config.ramp.step_bps = 0;
    let mut bench = TestBench::of(Box::new(Keeps(100)), config, Vec::new());
    bench.until_a_submit_waits();
    let first = bench.accept();
    assert_eq!(bench.sealed[&first].1.qty, Qty(33));
    bench.run_ms(10_000);
    assert_eq!(bench.sealed_ids(), [first], "not scaled a second time");
    assert!(bench.cancels.is_empty());
}

/// Number of orders created while every change of the book moves the bid, and whether the ratio refused any. With
/// `filled` the first order fills in part.
fn messages(most: u32, filled: bool) -> (usize, bool) {
    let mut config = config();
    config.risk.messages_per_fill = most;
    let mut bench = TestBench::of(Box::new(Below(5)), config, Vec::new());
    bench.until_a_submit_waits();
    let first = bench.accept();
    if filled {
        bench.show(first, OrderStatus::Processing, 1);
        bench.run_ms(1_200);
        bench.show(first, OrderStatus::Processing, 2);
        bench.run_ms(1_200);
    }
    for moved in [10_050, 10_100] {
        bench.depth = (moved - 10, moved + 10);
        bench.run_ms(1_000);
        bench.accept_all();
        while !bench.cancels.is_empty() {
            bench.accept_cancel();
        }
        bench.run_ms(1_000);
    }
    (bench.sealed.len(), refused(&bench, Control::OrderToFill))
}

#[test]
fn messages_for_each_fill() {
    assert_eq!(messages(0, false), (3, false), "switched off");
    // The third order comes after two orders and a cancel.
    assert_eq!(messages(4, false), (3, false));
    assert_eq!(messages(3, false), (2, true));
    // Two fills allow twice as much.
    assert_eq!(messages(2, true), (3, false));
    assert_eq!(messages(1, true), (2, true));
}
