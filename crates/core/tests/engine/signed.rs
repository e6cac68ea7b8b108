//! Signed orders count until their fence, whatever the venue reports about them.

use cambist_core::Amount;
use cambist_core::Side;
use cambist_core::event::Event;
use cambist_core::notification::{Control, Notification};
use cambist_core::order::OrderStatus;

use crate::desk::{BASE, BID, Desk, ORIGIN, config, spec};

/// Base units of the one bid.
fn each() -> Amount {
    spec().base_amount(cambist_core::Qty(100)).unwrap()
}

/// A bench with this limit of signed and unexpired base units; one quote, a bid.
fn desk(most: Amount) -> Desk {
    let mut config = config();
    config.markets[0].signed_unexpired_max = most;
    config.status_ms = 50;
    Desk::with(&BID, config, Vec::new())
}

/// The venue accepts what is submitted and then reports it as ended in this way, again and again.
fn ended(desk: &mut Desk, status: OrderStatus, times: usize) {
    for _ in 0..times {
        desk.run_ms(1_500);
        while !desk.submits.is_empty() {
            let id = desk.accept();
            let lots = if status == OrderStatus::Processed {
                100
            } else {
                0
            };
            desk.show(id, status, lots);
            if lots > 0 {
                let order = desk.sealed[&id].1.clone();
                desk.balances.0 += order.buy_amount;
                desk.balances.1 -= order.sell_amount;
            }
        }
    }
}

fn withheld(desk: &Desk) -> Option<Control> {
    let told = desk.notes.iter().rev().find_map(|note| match note {
        Notification::Status(status) => Some(status.markets[0].withheld[Side::Buy as usize]),
        _ => None,
    });
    told.flatten().map(|why| why.control)
}

#[test]
fn orders_reported_as_ended_count_until_their_fence() {
    for status in [OrderStatus::Cancelled, OrderStatus::Processed] {
        let mut desk = desk(3 * each());
        ended(&mut desk, status, 8);
        assert_eq!(desk.sealed.len(), 3, "{status:?}");
        assert_eq!(withheld(&desk), Some(Control::SignedUnexpired));
        // The first was created in the first second or two; it lives for 20 s, and the grace is 3 s.
        let first = desk
            .sealed
            .values()
            .map(|(_, order)| order.accepted_until_s)
            .min();
        let fence = cambist_core::VenueTime::from_s(first.unwrap().into()).plus_ms(3_000);
        desk.run_ms(fence.ms_since(desk.venue_now()));
        assert_eq!(desk.sealed.len(), 3, "{status:?}: not before");
        desk.run_ms(500);
        assert_eq!(desk.sealed.len(), 4, "{status:?}: and then at once");
    }
}

#[test]
fn the_limit_is_exact_to_the_unit() {
    for (most, made) in [(4 * each() - 1, 3), (4 * each(), 4)] {
        let mut desk = desk(most);
        ended(&mut desk, OrderStatus::Cancelled, 8);
        assert_eq!(desk.sealed.len(), made, "{most}");
    }
}

#[test]
fn orders_signed_by_earlier_runs_count() {
    let until_s = u32::try_from(ORIGIN.plus_ms(9_000).as_s()).unwrap();
    let mut desk = desk(2 * each() - 1);
    if let Some(Event::Start(start)) = &mut desk.start {
        start.signed = vec![(BASE, until_s, each())];
    }
    desk.run_ms(11_900);
    assert_eq!(
        desk.sealed.len(),
        0,
        "signed by an earlier run, ended, and not expired"
    );
    desk.run_ms(1_600);
    assert_eq!(desk.sealed.len(), 1);
}
