//! A saved engine goes on exactly where it was.

use cambist_core::Engine;
use cambist_core::event::Event;
use cambist_core::order::OrderStatus;

use crate::desk::{Always, BOTH, Desk};

#[test]
fn a_restored_engine_does_what_the_original_does() {
    let mut original = Desk::ready(&BOTH);
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
    let desk = Desk::new(&BOTH);
    assert!(Engine::restore(Vec::new(), desk.engine.save()).is_err());
}
