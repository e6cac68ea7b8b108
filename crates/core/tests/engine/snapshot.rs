//! A restored engine continues exactly like the saved one.

use cambist_core::event::Event;
use cambist_core::inspection::OrderState;
use cambist_core::order::OrderStatus;
use cambist_core::{Engine, Side};

use crate::bench::{Always, BOTH, TestBench};

#[test]
fn a_restored_engine_does_what_the_original_does() {
    let mut original = TestBench::ready(&BOTH);
    let bid = original.accept();
    original.accept();
    original.show(bid, OrderStatus::Processing, 10);
    original.run_ms(700);
    let bytes = postcard::to_allocvec(&original.engine.save()).unwrap();
    let snapshot = postcard::from_bytes(&bytes).unwrap();
    let strategies: Vec<Box<dyn cambist_core::strategy::Strategy>> =
        vec![Box::new(Always(BOTH.to_vec()))];
    let mut copy = Engine::restore(strategies, snapshot).unwrap();
    assert_eq!(copy.next_wakeup(), original.engine.next_wakeup());
    let at = copy.next_wakeup().unwrap();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    copy.on_event(at, &Event::Wake, &mut a);
    original.engine.on_event(at, &Event::Wake, &mut b);
    assert_eq!(a, b);
    assert_eq!(copy.next_wakeup(), original.engine.next_wakeup());
}

#[test]
fn a_snapshot_of_other_strategies_is_refused() {
    let bench = TestBench::new(&BOTH);
    assert!(Engine::restore(Vec::new(), bench.engine.save()).is_err());
}

#[test]
fn an_inspection_has_the_inputs_of_decisions_and_changes_nothing() {
    let mut bench = TestBench::ready(&BOTH);
    let bid = bench.accept();
    let strategies = || -> Vec<Box<dyn cambist_core::strategy::Strategy>> {
        vec![Box::new(Always(BOTH.to_vec()))]
    };
    let before = postcard::to_allocvec(&bench.engine.save()).unwrap();
    let (now, venue_time) = bench.engine.last_event_at().unwrap();
    let seen = bench.engine.inspect(now, strategies()).unwrap().unwrap();
    assert_eq!(
        postcard::to_allocvec(&bench.engine.save()).unwrap(),
        before,
        "it is asked, and not changed"
    );
    assert_eq!(seen.venue_time, venue_time);
    let market = &seen.markets[0];
    let quotes = market.strategies[0].quotes.iter();
    let quotes: Vec<_> = quotes
        .map(|quote| (quote.side, quote.price.0, quote.qty.0))
        .collect();
    assert_eq!(quotes, BOTH);
    assert_eq!(market.quoting_mid.ok(), market.mid);
    let order = market.orders.iter().find(|order| order.id == bid).unwrap();
    assert_eq!((order.side, order.state), (Side::Buy, OrderState::Live));
    let other = market.orders.iter().find(|order| order.id != bid).unwrap();
    assert_eq!(other.state, OrderState::InFlight, "its answer is not there");
    assert_eq!(seen.status.markets[0].withheld, [None, None]);

    // Later, without new data: the depth is too old, and no strategy is asked.
    let later = now.plus_ms(600_000);
    let seen = bench.engine.inspect(later, strategies()).unwrap().unwrap();
    let market = &seen.markets[0];
    assert!(market.depth_age_ms.unwrap() >= 600_000);
    let why = market.quoting_mid.unwrap_err();
    assert_eq!(why.control, cambist_core::notification::Control::StaleData);
    assert!(market.strategies[0].quotes.is_empty());

    assert!(
        bench.engine.inspect(now, Vec::new()).is_err(),
        "other strategies"
    );
    let unstarted = Engine::new(strategies());
    assert!(unstarted.inspect(now, strategies()).unwrap().is_none());
}
