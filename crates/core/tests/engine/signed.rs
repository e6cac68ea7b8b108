//! Signed orders count until their fence, whatever the venue reports about them.

use cambist_core::Amount;
use cambist_core::Side;
use cambist_core::event::Event;
use cambist_core::notification::{Control, Notification};
use cambist_core::order::OrderStatus;

use crate::bench::{BASE, BID, ORIGIN, TestBench, config, spec};

/// Base units of the one bid.
fn each() -> Amount {
    spec().base_amount(cambist_core::Qty(100)).unwrap()
}

/// A bench with this limit of signed and unexpired base units; one quote, a bid.
fn bench(most: Amount) -> TestBench {
    let mut config = config();
    config.markets[0].signed_unexpired_max = most;
    config.status_ms = 50;
    TestBench::with(&BID, config, Vec::new())
}

/// The venue accepts what is submitted and then reports it as ended in this way, again and again.
fn ended(bench: &mut TestBench, status: OrderStatus, times: usize) {
    for _ in 0..times {
        bench.run_ms(1_500);
        while !bench.submits.is_empty() {
            let id = bench.accept();
            let lots = if status == OrderStatus::Processed {
                100
            } else {
                0
            };
            bench.show(id, status, lots);
            if lots > 0 {
                let order = bench.sealed[&id].1.clone();
                bench.balances.0 += order.buy_amount;
                bench.balances.1 -= order.sell_amount;
            }
        }
    }
}

fn withheld(bench: &TestBench) -> Option<Control> {
    let reported = bench
        .notifications
        .iter()
        .rev()
        .find_map(|notification| match notification {
            Notification::Status(status) => Some(status.markets[0].withheld[Side::Buy as usize]),
            _ => None,
        });
    reported.flatten().map(|why| why.control)
}

#[test]
fn orders_reported_as_ended_count_until_their_fence() {
    for status in [OrderStatus::Cancelled, OrderStatus::Processed] {
        let mut bench = bench(3 * each());
        ended(&mut bench, status, 8);
        assert_eq!(bench.sealed.len(), 3, "{status:?}");
        assert_eq!(withheld(&bench), Some(Control::SignedUnexpired));
        // The first was created in the first second or two; it lives for 20 s, and the grace is 3 s.
        let first = bench
            .sealed
            .values()
            .map(|(_, order)| order.accepted_until_s)
            .min();
        let fence = cambist_core::VenueTime::from_s(first.unwrap().into()).plus_ms(3_000);
        bench.run_ms(fence.ms_since(bench.venue_now()));
        assert_eq!(bench.sealed.len(), 3, "{status:?}: not before");
        bench.run_ms(500);
        assert_eq!(bench.sealed.len(), 4, "{status:?}: and then at once");
    }
}

#[test]
fn the_limit_is_exact_to_the_unit() {
    for (most, made) in [(4 * each() - 1, 3), (4 * each(), 4)] {
        let mut bench = bench(most);
        ended(&mut bench, OrderStatus::Cancelled, 8);
        assert_eq!(bench.sealed.len(), made, "{most}");
    }
}

#[test]
fn orders_signed_by_earlier_runs_count() {
    let until_s = u32::try_from(ORIGIN.plus_ms(9_000).as_s()).unwrap();
    let mut bench = bench(2 * each() - 1);
    if let Some(Event::Start(start)) = &mut bench.start {
        start.signed = vec![(BASE, until_s, each())];
    }
    bench.run_ms(11_900);
    assert_eq!(
        bench.sealed.len(),
        0,
        "signed by an earlier run, ended, and not expired"
    );
    bench.run_ms(1_600);
    assert_eq!(bench.sealed.len(), 1);
}
