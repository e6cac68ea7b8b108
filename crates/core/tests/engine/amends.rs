//! Orders that are moved to another price, at a venue that amends them.

use cambist_core::event::Event;
use cambist_core::inspection::OrderDecision;
use cambist_core::notification::{Control, Notification};
use cambist_core::order::{ClientOrderId, OrderStatus};
use cambist_core::request::{Outcome, Reply, UnknownCause};
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::venue::TradingCounter;
use cambist_core::{Price, Qty, Reason, Side};

use crate::bench::{Below, TestBench, config};

const CONFIRMED: Outcome = Outcome::Reply(Reply::Amended);
const UNKNOWN: Outcome = Outcome::Unknown(UnknownCause::Timeout);

/// A bid ten ticks below the mid of 10,000 rests, at a venue that amends orders.
fn resting_with(prepare: impl FnOnce(&mut cambist_core::event::Start)) -> TestBench {
    let strategy: Box<dyn Strategy> = Box::new(Below(10));
    let mut bench = TestBench::shared(vec![strategy], config());
    if let Some(Event::Start(start)) = &mut bench.start {
        start.venue.amends_orders = true;
        start.next_number = 1;
        prepare(start);
    }
    bench.until_a_submit_waits();
    bench.accept_all();
    bench.run_ms(1_500);
    assert_eq!(bench.sealed.len(), 1);
    bench
}

fn resting() -> TestBench {
    resting_with(|_| {})
}

/// The mid changes, above the bid that rests, and the engine has decided.
fn mid(bench: &mut TestBench, mid: u64) {
    let ask = (mid + 10).max(9_995);
    bench.depth = (2 * mid - ask, ask);
    bench.run_ms(1_500);
}

/// The price of the only amend that waits.
fn amended_to(bench: &TestBench) -> u64 {
    assert_eq!(bench.amends.len(), 1);
    bench.amends[0].1.price.0
}

/// The only order, by the engine: where it rests, and what was decided of it.
fn shown(bench: &TestBench) -> (u64, Option<OrderDecision>) {
    let strategies: Vec<Box<dyn Strategy>> = vec![Box::new(Below(10))];
    let inspection = bench.engine.inspect(bench.now, strategies);
    let inspection = inspection.unwrap().unwrap();
    let order = inspection.markets[0].orders[0];
    (order.price.0, order.decision)
}

fn id(bench: &TestBench) -> ClientOrderId {
    bench.sealed_ids()[0]
}

#[test]
fn an_order_that_offers_too_much_is_moved_and_not_replaced() {
    let mut bench = resting();
    bench.depth = (9_965, 9_995);
    while bench.amends.is_empty() {
        bench.run_ms(10);
    }
    assert_eq!(amended_to(&bench), 9_970);
    assert!(bench.amends[0].1.maker_only);
    assert!(
        matches!(shown(&bench).1, Some(OrderDecision::Amended { wanted }) if wanted.price == Price(9_970))
    );
    bench.run_ms(1_500);
    assert_eq!(bench.amends.len(), 1, "one at a time");
    bench.move_order(CONFIRMED);
    bench.run_ms(1_500);
    assert_eq!(shown(&bench).0, 9_970);
    assert!(matches!(shown(&bench).1, Some(OrderDecision::Kept { .. })));
    assert_eq!((bench.cancels.len(), bench.sealed.len()), (0, 1));
    let ended = |note: &Notification| matches!(note, Notification::AmendEnded { price, .. } if *price == Some(Price(9_970)));
    assert_eq!(bench.count(ended), 1);
    // It may be moved back as far as it was signed, and no further.
    mid(&mut bench, 9_990);
    assert_eq!(amended_to(&bench), 9_980);
    bench.move_order(CONFIRMED);
    mid(&mut bench, 10_001);
    assert!(bench.amends.is_empty(), "better than what was signed");
    assert_eq!(bench.cancels.len(), 1);
}

#[test]
fn at_other_venues_it_is_cancelled() {
    let mut bench = resting_with(|start| start.venue.amends_orders = false);
    mid(&mut bench, 9_980);
    assert!(bench.amends.is_empty());
    assert_eq!(bench.cancels.len(), 1);
}

/// What was not confirmed is cancelled and made again; it is not moved a second time.
#[test]
fn without_a_confirmation_the_order_is_cancelled() {
    for outcome in [
        Outcome::Refused(Reason::InvalidOrder),
        Outcome::Refused(Reason::UnknownError),
        Outcome::NotSent,
        UNKNOWN,
    ] {
        let mut bench = resting();
        mid(&mut bench, 9_980);
        let (request, _) = bench.amends.pop_front().unwrap();
        bench.answer(request, outcome.clone());
        bench.run_ms(1_500);
        assert!(bench.amends.is_empty(), "{outcome:?}");
        assert_eq!(bench.cancels.len(), 1, "{outcome:?}");
        bench.accept_cancel();
        bench.run_ms(1_500);
        assert_eq!(bench.sealed.len(), 2, "{outcome:?}");
    }
}

/// The answer was lost, and the order was moved: fills at the new price are booked, and its end is proven as ever.
#[test]
fn a_moved_order_whose_answer_was_lost_is_booked_where_it_traded() {
    let mut bench = resting();
    mid(&mut bench, 9_980);
    bench.move_order(UNKNOWN);
    let id = id(&bench);
    bench.show(id, OrderStatus::Processed, 100);
    bench.run_ms(3_000);
    assert!(bench.end_of(id).is_some());
    let violated = |note: &Notification| matches!(note, Notification::InvariantFailed { .. });
    assert_eq!(bench.count(violated), 0);
}

/// Has an ask this many ticks above the mid as target.
struct Above(u64);

impl Strategy for Above {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        targets.quote(Side::Sell, Price(view.mid / 2 + self.0), Qty(100), 0);
    }
}

/// The bid of 9,990 is moved to 9,970. Until that is confirmed it may trade with an ask of 9,990.
#[test]
fn both_prices_count_while_an_amend_is_in_flight() {
    for (above, waits) in [(10, true), (11, false)] {
        let strategies: Vec<Box<dyn Strategy>> = vec![Box::new(Below(10)), Box::new(Above(above))];
        let mut bench = TestBench::shared(strategies, config());
        if let Some(Event::Start(start)) = &mut bench.start {
            start.venue.amends_orders = true;
        }
        bench.until_a_submit_waits();
        bench.accept_all();
        bench.run_ms(1_500);
        assert_eq!(bench.sealed.len(), 2);
        mid(&mut bench, 9_980);
        assert_eq!(amended_to(&bench), 9_970);
        bench.accept_cancel();
        bench.run_ms(1_500);
        assert_eq!(bench.submits.len(), usize::from(!waits), "{above}");
        bench.move_order(CONFIRMED);
        bench.run_ms(1_500);
        assert_eq!(bench.submits.len(), 1, "{above}");
    }
}

/// Where an earlier run moved an order to is in the list.
#[test]
fn after_a_start_an_order_is_where_the_list_shows_it() {
    let mut before = resting();
    mid(&mut before, 9_980);
    before.move_order(CONFIRMED);
    let order_id = id(&before);
    let (hash, order) = before.sealed[&order_id].clone();
    let strategy: Box<dyn Strategy> = Box::new(Below(10));
    let mut bench = TestBench::shared(vec![strategy], config());
    bench.add_recovered(order, hash);
    if let Some(Event::Start(start)) = &mut bench.start {
        start.venue.amends_orders = true;
    }
    bench.moved = before.moved.clone();
    bench.depth = (9_965, 9_995);
    bench.show(order_id, OrderStatus::Processing, 0);
    bench.run_ms(3_000);
    assert_eq!(shown(&bench).0, 9_970);
    assert!(bench.cancels.is_empty() && bench.submits.is_empty() && bench.amends.is_empty());
}

/// Of a counter of eleven orders one is in use, and an amend of a young order takes four.
#[test]
fn an_amend_needs_room_in_the_venues_counter() {
    for (most, is_moved) in [(500, true), (499, false)] {
        let mut bench = resting_with(|start| {
            start.venue.trading = Some(TradingCounter {
                most,
                decay_per_s: 0,
                spare: 0,
                order: 100,
                cancels: vec![(60_000, 800)],
                amends: vec![(60_000, 400)],
            });
        });
        mid(&mut bench, 9_980);
        assert_eq!(bench.amends.len(), usize::from(is_moved), "{most}");
        assert_eq!(bench.cancels.len(), usize::from(!is_moved), "{most}");
    }
}

/// A price outside the band of the market is not asked for: the order is cancelled.
#[test]
fn a_price_that_the_gate_refuses_is_not_amended_to() {
    for (price_min, is_moved) in [(9_970, true), (9_971, false)] {
        let mut bench = resting_with(|start| start.config.markets[0].price_min = Price(price_min));
        mid(&mut bench, 9_980);
        assert_eq!(bench.amends.len(), usize::from(is_moved), "{price_min}");
        assert_eq!(bench.cancels.len(), usize::from(!is_moved), "{price_min}");
        let refused = |note: &Notification| matches!(note, Notification::RiskRefused { control, .. } if *control == Control::PriceBand);
        assert_eq!(bench.count(refused), usize::from(!is_moved), "{price_min}");
    }
}
