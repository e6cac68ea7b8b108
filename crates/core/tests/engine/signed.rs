//! What is signed counts until its fence, whatever the venue says became of it.

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

/// A desk that may have so many base units signed and unexpired; one quote, a bid.
fn desk(most: Amount) -> Desk {
    let mut config = config();
    config.markets[0].signed_unexpired_max = most;
    config.status_ms = 50;
    Desk::with(&BID, config, Vec::new())
}

/// The venue takes what is submitted and then says that it has ended in that way, again and again.
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
fn what_the_venue_calls_cancelled_or_filled_counts_until_its_fence() {
    for status in [OrderStatus::Cancelled, OrderStatus::Processed] {
        let mut desk = desk(3 * each());
        ended(&mut desk, status, 8);
        assert_eq!(desk.sealed.len(), 3, "{status:?}");
        assert_eq!(withheld(&desk), Some(Control::SignedUnexpired));
        // The first was made in the first second or two; it lives for 20 s, and the grace is 3 s.
        let first = desk
            .sealed
            .values()
            .map(|(_, order)| order.valid_until_s)
            .min();
        let fence = cambist_core::VenueTime::from_s(first.unwrap().into()).plus_ms(3_000);
        desk.run_ms(fence.ms_since(desk.venue_now()));
        assert_eq!(desk.sealed.len(), 3, "{status:?}: not before");
        desk.run_ms(500);
        assert_eq!(desk.sealed.len(), 4, "{status:?}: and then at once");
    }
}

#[test]
fn so_many_as_the_limit_holds_and_not_one_unit_more() {
    for (most, made) in [(4 * each() - 1, 3), (4 * each(), 4)] {
        let mut desk = desk(most);
        ended(&mut desk, OrderStatus::Cancelled, 8);
        assert_eq!(desk.sealed.len(), made, "{most}");
    }
}

#[test]
fn what_earlier_runs_signed_counts_whatever_became_of_it() {
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
