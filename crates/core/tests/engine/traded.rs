//! What a strategy has traded in all runs, and what its orders of unknown state may still trade.

use std::sync::{Arc, Mutex};

use cambist_core::event::Event;
use cambist_core::order::OrderStatus;
use cambist_core::request::{Outcome, UnknownCause};
use cambist_core::strategy::{Strategy, Targets, Traded, View};
use cambist_core::{Amount, Price, Qty, Side};

use crate::bench::{LOT, TestBench, config};

const LOST: Outcome = Outcome::Unknown(UnknownCause::Timeout);

/// What a decision had: what was traded, what orders of unknown state may still buy, and what the first order may still
/// buy as one of its own.
type Seen = Arc<Mutex<Vec<(Traded, Amount, Amount)>>>;

/// Has a bid of 100 lots as target, and records its views.
struct Reports(Seen);

impl Strategy for Reports {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let first = view.own.iter().filter(|order| order.id.number == 1);
        let first = first.map(|order| u128::from(order.remaining.0) * LOT).sum();
        let seen = (view.traded, view.unknown[0], first);
        self.0.lock().unwrap().push(seen);
        targets.quote(Side::Buy, Price(9_900), Qty(100), 0);
    }
}

fn bench(earlier: Traded) -> (TestBench, Seen) {
    let seen = Seen::default();
    let strategy = Box::new(Reports(Arc::clone(&seen)));
    let mut bench = TestBench::of(strategy, config(), Vec::new());
    if let Some(Event::Start(start)) = &mut bench.start {
        start.traded = vec![earlier];
    }
    bench.until_a_submit_waits();
    (bench, seen)
}

fn traded(seen: &Seen) -> Traded {
    seen.lock().unwrap().last().unwrap().0
}

#[test]
fn fills_are_added_to_what_earlier_runs_traded() {
    let earlier = Traded {
        bought: 40 * LOT,
        sold: 7 * LOT,
    };
    let (mut bench, seen) = bench(earlier);
    assert_eq!(traded(&seen), earlier);
    let bid = bench.accept();
    for (filled, bought) in [(25, 65), (25, 65), (60, 100)] {
        bench.show(bid, OrderStatus::Processing, filled);
        bench.run_ms(700);
        let traded = traded(&seen);
        assert_eq!((traded.bought, traded.sold), (bought * LOT, 7 * LOT));
    }
}

/// In every decision about an order without an answer it is one of the own orders, or counted as unknown.
#[test]
fn an_order_of_unknown_state_is_counted_until_its_end() {
    let (mut bench, seen) = bench(Traded::default());
    let id = bench.answer_submit(LOST);
    let begun = seen.lock().unwrap().len();
    // Sent as often as it may be, and never answered; the book moves, so that the strategy is asked.
    let end = bench.now.plus_ms(12_000);
    while bench.now < end {
        bench.version += 1;
        bench.run_ms(100);
        while let Some((request, sent)) = bench.submits.pop_front() {
            let outcome = if sent == id { LOST } else { Outcome::NotSent };
            bench.answer(request, outcome);
        }
    }
    assert_eq!(bench.transmissions(id), config().attempts_max.into());
    let seen = seen.lock().unwrap();
    let after = &seen[begun..];
    assert!(after.len() > 10, "{}", after.len());
    let counted = |&&(_, unknown, own): &&(Traded, Amount, Amount)| unknown + own == 100 * LOT;
    let missing: Vec<_> = after.iter().filter(|seen| !counted(seen)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(after.iter().any(|(_, unknown, _)| *unknown == 100 * LOT));
}
