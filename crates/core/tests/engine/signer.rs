//! Intents of a batch that what holds the key refused: never sent, and followed by a pause.

use cambist_core::event::Event;
use cambist_core::notification::{Control, End, Notification};
use cambist_core::order::{ClientOrderId, Hash};
use cambist_core::{Intent, Side};

use crate::bench::{TestBench, config};

/// A bid and an ask that wait to be sealed.
fn sealing() -> TestBench {
    let mut bench = TestBench::new(&[(Side::Buy, 9_990, 10), (Side::Sell, 10_010, 10)]);
    bench.store_waits = true;
    bench.run_ms(3_000);
    assert_eq!(bench.sealing.len(), 1);
    bench
}

/// The store seals what is signed: intents of these sides. Returns what was in the batch.
fn seal(bench: &mut TestBench, signed: &[Side]) -> Vec<(ClientOrderId, Side)> {
    let (batch, intents) = bench.sealing.remove(0);
    let mut hashes = Vec::new();
    let mut all = Vec::new();
    for intent in intents {
        let Intent::Order(order) = intent else {
            continue;
        };
        all.push((order.client_id, order.side));
        if signed.contains(&order.side) {
            let hash = Hash([u8::try_from(order.client_id.number).unwrap(); 32]);
            hashes.push((order.client_id, hash));
            bench.sealed.insert(order.client_id, (hash, order));
        }
    }
    bench.handle_event(&Event::Sealed { batch, hashes });
    all
}

#[test]
fn what_is_refused_ends_unsent_and_the_rest_of_the_batch_is_sent() {
    let mut bench = sealing();
    let all = seal(&mut bench, &[Side::Buy]);
    assert_eq!(all.len(), 2, "one batch of both");
    for (id, side) in all {
        let is_refused = side == Side::Sell;
        assert_eq!(
            bench.transmissions(id),
            usize::from(!is_refused),
            "{side:?}"
        );
        let end = is_refused.then_some(End::NeverSent);
        assert_eq!(bench.end_of(id), end, "{side:?}");
    }
    assert_eq!(bench.levels, [], "trading goes on");
}

#[test]
fn a_batch_of_which_nothing_is_signed_is_followed_by_pauses_that_double() {
    let mut bench = sealing();
    let pause_ms = config().resend_after_ms;
    for times in [1, 2, 4] {
        let all = seal(&mut bench, &[]);
        assert!(!all.is_empty());
        for (id, _) in all {
            assert_eq!(
                (bench.transmissions(id), bench.end_of(id)),
                (0, Some(End::NeverSent))
            );
        }
        bench.run_ms(times * pause_ms - 200);
        assert_eq!(bench.sealing.len(), 0, "pause {times}");
        bench.run_ms(2_000);
        assert_eq!(bench.sealing.len(), 1, "after pause {times}");
    }
    assert_eq!(bench.levels, [], "trading goes on");
    for side in Side::BOTH {
        let is_stated = |notification: &Notification| {
            matches!(notification, Notification::Withheld { side: of, withheld: Some(why), .. }
                if *of == side && why.control == Control::Signer)
        };
        let stated = bench.notifications.iter().any(is_stated);
        assert!(stated, "{side:?}: the signer, not the venue");
    }
    let all = seal(&mut bench, &[Side::Buy, Side::Sell]);
    assert!(all.iter().all(|(id, _)| bench.transmissions(*id) == 1));
}
