//! What strategies are asked and given: their own fills, messages of their process, and no more decisions than changes.

use std::sync::{Arc, Mutex};

use cambist_core::event::Event;
use cambist_core::notification::Notification;
use cambist_core::order::{ClientOrderId, OrderStatus, StrategyId};
use cambist_core::strategy::{ProcessMessage, Strategy, Targets, View};
use cambist_core::{Price, Qty, Side, Time};

use crate::bench::{Below, TestBench, config};

/// What a strategy was given.
#[derive(Debug, Default)]
struct Seen {
    decisions: usize,
    fills: Vec<ClientOrderId>,
    messages: Vec<ProcessMessage>,
}

/// Has one bid as target, and writes down what it is given. A message that it started is wrong for it.
struct ViewRecorder(u64, Arc<Mutex<Seen>>);

impl Strategy for ViewRecorder {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let mut seen = self.1.lock().unwrap();
        seen.decisions += 1;
        seen.fills.extend(view.fills.iter().map(|fill| fill.order));
        if self.0 > 0 {
            targets.quote(Side::Buy, Price(self.0), Qty(10), 0);
        }
    }

    fn resume(&mut self, memory: &[u8]) -> bool {
        memory == [1]
    }

    fn receive(&mut self, _: Time, message: &ProcessMessage) -> Result<(), String> {
        self.1.lock().unwrap().messages.push(message.clone());
        match message {
            ProcessMessage::Started => Err("test".to_owned()),
            ProcessMessage::Line(_) | ProcessMessage::Ended => Ok(()),
        }
    }
}

/// Two strategies in one market, with bids at these prices or none.
fn two(prices: [u64; 2]) -> (TestBench, [Arc<Mutex<Seen>>; 2]) {
    let seen = [(); 2].map(|()| Arc::new(Mutex::new(Seen::default())));
    let strategies = prices.iter().zip(&seen);
    let strategies = strategies.map(|(price, seen)| -> Box<dyn Strategy> {
        Box::new(ViewRecorder(*price, Arc::clone(seen)))
    });
    (TestBench::shared(strategies.collect(), config()), seen)
}

#[test]
fn a_strategy_is_given_its_own_fills_and_each_once() {
    let (mut bench, seen) = two([9_995, 9_990]);
    bench.until_a_submit_waits();
    bench.accept_all();
    let ids = bench.sealed_ids();
    let of = |strategy: u8| {
        let own = |id: &&ClientOrderId| id.strategy == StrategyId(strategy);
        *ids.iter().find(own).expect("an order of each")
    };
    let fills = |at: usize| seen[at].lock().unwrap().fills.clone();
    bench.show(of(1), OrderStatus::Processing, 3);
    bench.run_ms(3_000);
    assert_eq!((fills(0), fills(1)), (vec![], vec![of(1)]));
    bench.show(of(0), OrderStatus::Processing, 4);
    bench.run_ms(3_000);
    assert_eq!((fills(0), fills(1)), (vec![of(0)], vec![of(1)]));
}

#[test]
fn a_message_of_a_process_is_taken_in_and_its_strategy_asked_again() {
    let (mut bench, seen) = two([0, 0]);
    bench.run_ms(3_000);
    for (message, refused) in [
        (ProcessMessage::Started, 1),
        (ProcessMessage::Line(b"{}".to_vec()), 0),
        (ProcessMessage::Ended, 0),
    ] {
        let before = seen[1].lock().unwrap().decisions;
        bench.notifications.clear();
        bench.handle_event(&Event::Process {
            strategy: StrategyId(1),
            message: message.clone(),
        });
        assert_eq!(seen[1].lock().unwrap().messages.pop(), Some(message));
        assert_eq!(seen[1].lock().unwrap().decisions, before + 1, "at once");
        let refusals = bench.count(|n| {
            let wanted = StrategyId(1);
            matches!(n, Notification::ProcessAnswerRefused { strategy, .. } if *strategy == wanted)
        });
        assert_eq!(refusals, refused);
    }
    assert!(
        seen[0].lock().unwrap().messages.is_empty(),
        "of another one"
    );
    let message = ProcessMessage::Ended;
    let unknown = StrategyId(9);
    bench.handle_event(&Event::Process {
        strategy: unknown,
        message,
    });
    assert!(
        seen.iter()
            .all(|seen| seen.lock().unwrap().messages.is_empty())
    );
}

/// While nothing changes but the book, each depth is one decision.
#[test]
fn a_strategy_decides_once_for_each_change() {
    let (mut bench, seen) = two([0, 0]);
    bench.run_ms(5_000);
    let before = seen[0].lock().unwrap().decisions;
    bench.notifications.clear();
    bench.run_ms(20_000);
    let depths = bench.count(|n| matches!(n, Notification::DepthAccepted { .. }));
    assert!(depths >= 39, "{depths}");
    assert_eq!(seen[0].lock().unwrap().decisions - before, depths);
}

/// A strategy sees the same of an order in flight and of one that rests.
#[test]
fn the_acceptance_of_a_wanted_order_is_no_decision() {
    let (mut bench, seen) = two([9_995, 9_990]);
    bench.until_a_submit_waits();
    let before = seen[0].lock().unwrap().decisions;
    assert_eq!(bench.submits.len(), 2);
    bench.accept_all();
    assert_eq!(seen[0].lock().unwrap().decisions, before);
    // It is one where the order is not wanted any more.
    let mut bench = TestBench::of(Box::new(Below(10)), config(), Vec::new());
    bench.until_a_submit_waits();
    bench.depth = (9_890, 9_910);
    bench.run_ms(600);
    assert_eq!((bench.submits.len(), bench.cancels.len()), (2, 0));
    bench.accept();
    assert_eq!(bench.cancels.len(), 1);
}

/// A side that a control refuses is decided again when an order is accepted: the control may have waited for that.
#[test]
fn an_acceptance_is_a_decision_where_a_control_refused_an_order() {
    for (orders_max, is_decided) in [(2, false), (1, true)] {
        let mut config = config();
        config.markets[0].open_orders_max = orders_max;
        let seen = Arc::new(Mutex::new(Seen::default()));
        let strategies = [9_995, 9_990]
            .map(|price| -> Box<dyn Strategy> { Box::new(ViewRecorder(price, Arc::clone(&seen))) });
        let mut bench = TestBench::shared(strategies.into(), config);
        bench.until_a_submit_waits();
        let before = seen.lock().unwrap().decisions;
        bench.accept();
        let decided = seen.lock().unwrap().decisions > before;
        assert_eq!(decided, is_decided, "at most {orders_max}");
    }
}

/// A strategy that cannot read what an earlier run stored is named; one that can, or for which nothing was stored, is not.
#[test]
fn a_memory_that_a_strategy_refuses_is_reported() {
    for (memory, refused) in [(vec![1], 0), (vec![2], 1), (Vec::new(), 0)] {
        let (mut bench, _) = two([9_995, 9_990]);
        let Some(Event::Start(start)) = &mut bench.start else {
            panic!("not started");
        };
        start.memories = vec![vec![1], memory];
        bench.run_ms(100);
        let refusal = Notification::MemoryRefused {
            strategy: StrategyId(1),
        };
        assert_eq!(bench.count(|n| *n == refusal), refused);
        let any = bench.count(|n| matches!(n, Notification::MemoryRefused { .. }));
        assert_eq!(any, refused);
    }
}
