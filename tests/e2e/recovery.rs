//! An order that was sealed and sent, and never arrived: only the fence ends it, and the next run waits for it before
//! it quotes both sides again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cambist_core::Side;
use cambist_core::order::OrderReport;

use crate::support::clock::Since;
use crate::support::conditions::{assert_ends, assert_known, assert_slots};
use crate::support::keeping::Keeping;
use crate::support::stage::{lively, quick};
use crate::support::{Books, Fault, Proxy, Stage, until};

/// From an order's making, as `quick` writes it: expiry and grace.
const FENCE: Duration = Duration::from_secs(5 + 1);
/// Between an order's making and the kill.
const KILLED_WITHIN: Duration = Duration::from_secs(2);
const SOON: Duration = Duration::from_secs(40);

/// New resting orders of the account, by side.
fn made_since(before: &Books, books: &Books) -> [usize; 2] {
    let is_new = |order: &&OrderReport| before.orders.iter().all(|old| old.hash != order.hash);
    let open = books
        .orders
        .iter()
        .filter(is_new)
        .filter(|order| !order.status.is_final());
    let (buys, sells): (Vec<_>, Vec<_>) = open.partition(|order| order.side == Side::Buy);
    [buys.len(), sells.len()]
}

#[test]
fn what_left_and_never_arrived_is_waited_for_until_its_fence_and_no_longer() {
    let stage = Stage::open_kept("recovery", lively);
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, quick);
    let state = stage.path("daemon-state");
    let held = Arc::new(AtomicBool::new(false));
    let hold = Arc::clone(&held);
    proxy.plan(move |seen| {
        if seen.is_submit() && seen.nth >= 4 {
            hold.store(true, Ordering::Release);
            Fault::HoldRequest
        } else {
            Fault::Pass
        }
    });
    let mut daemon = stage.run("daemon");
    until(SOON, "a submit that does not arrive", || {
        held.load(Ordering::Acquire).then_some(())
    });
    daemon.kill();
    let killed = Since::now();
    let before = Keeping::read(&state);
    let books = stage.books();
    assert_known(&books, &before, "after the kill");
    let shown = |hash: [u8; 32]| books.orders.iter().any(|order| order.hash.0 == hash);
    let unknown: Vec<_> = before
        .0
        .iter()
        .filter(|(_, intent)| intent.ending.is_none() && !shown(intent.hash))
        .map(|(id, _)| id.clone())
        .collect();
    assert!(
        !unknown.is_empty(),
        "the order that was held is known here and nowhere else"
    );

    proxy.plan(|_| Fault::Pass);
    let mut daemon = stage.run("daemon");
    stage.metrics("daemon", &mut daemon);
    until(SOON, "quotes on both sides", || {
        (!made_since(&books, &stage.books()).contains(&0)).then_some(())
    });
    let both = killed.elapsed();
    eprintln!(
        "both sides again {:.1} s after the kill",
        both.as_secs_f32()
    );
    // The order was made before the kill, and the fence is counted from there.
    assert!(both + KILLED_WITHIN >= FENCE, "too early: {both:?}");
    assert!(
        both <= FENCE + SOON / 4,
        "not at once after the fence: {both:?}"
    );

    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let (books, keeping) = (stage.books(), Keeping::read(&state));
    for id in &unknown {
        let end = keeping.0[id]
            .ending
            .as_ref()
            .map(|ending| ending.end.as_str());
        assert_eq!(end, Some("fenced"), "{id}");
    }
    assert_eq!(books.open(), 0, "something rests after the end");
    assert_slots(&keeping);
    assert_ends(&books, &keeping);
    books.assert_ledger(&daemon.stdout());
    stage.close_audited(&daemon);
}
