//! A join whose request or answer is lost, repeated, or held while the daemon is killed: one join at the exchange, and
//! equal books.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use cambist_core::pool::PoolTransactionStatus;

use super::{SOON, assert_whole};
use crate::support::proxy::Seen;
use crate::support::stage::{lively, with_pool};
use crate::support::{Edit, Fault, Proxy, Stage, until};

fn is_join(seen: &Seen) -> bool {
    seen.method == "POST" && seen.path == "/api/v3/amm/join"
}

fn joined_once(stage: &Stage, name: &str) {
    let moves = stage.moves();
    let settled = moves
        .iter()
        .filter(|m| m.status == PoolTransactionStatus::Processed);
    assert_eq!((moves.len(), settled.count()), (1, 1), "{name}: {moves:?}");
}

fn opened(name: &str) -> (Stage, Proxy) {
    let stage = Stage::open_kept(name, |file| {
        lively(file);
        file.put("traders.0.noise", 3)
            .put("traders.0.passive", 2)
            .put("traders.0.informed", 1);
    });
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, with_pool);
    (stage, proxy)
}

/// The first `spoiled` joins meet the fault.
fn spoil(name: &str, spoiled: u64, fault: Fault) {
    let (stage, proxy) = opened(name);
    proxy.plan(move |seen| {
        if is_join(seen) && seen.nth < spoiled {
            fault.clone()
        } else {
            Fault::Pass
        }
    });
    let mut daemon = stage.run("daemon");
    stage.metrics("daemon", &mut daemon);
    until(SOON, "shares", || {
        assert!(daemon.ended().is_none(), "{name}: {}", daemon.last_words());
        stage
            .books()
            .totals
            .contains_key("LP-ETH-USDC")
            .then_some(())
    });
    assert!(proxy.faults() >= 1, "{name}: nothing was spoiled");
    assert_eq!(daemon.drain(SOON), 0, "{name}: {}", daemon.last_words());
    joined_once(&stage, name);
    assert_whole(&stage, &daemon, name);
    stage.close_audited(&daemon);
}

#[test]
fn a_join_that_is_lost_or_repeated_happens_once() {
    spoil("join-lost", 2, Fault::LoseRequest);
    spoil("join-answer-lost", 1, Fault::LoseAnswer);
    spoil("join-twice", 1, Fault::Twice);
    spoil("join-late", 1, Fault::Late(Duration::from_millis(900)));
}

/// Killed while the first join is held, before it is delivered or after it was answered.
fn kill(name: &str, answered: bool) {
    let (stage, proxy) = opened(name);
    let (reached, was_reached) = sync_channel(1);
    let (killed, killed_receiver) = sync_channel::<()>(1);
    let killed_receiver = std::sync::Mutex::new(killed_receiver);
    let hook: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
        let _ = reached.try_send(());
        let _ = killed_receiver
            .lock()
            .unwrap()
            .recv_timeout(Duration::from_secs(10));
    });
    proxy.plan(
        move |seen| match (is_join(seen) && seen.nth == 0, answered) {
            (true, true) => Fault::OnAnswer(Arc::clone(&hook)),
            (true, false) => Fault::OnArrival(Arc::clone(&hook)),
            (false, _) => Fault::Pass,
        },
    );
    let mut daemon = stage.run("daemon");
    stage.metrics("daemon", &mut daemon);
    was_reached
        .recv_timeout(SOON)
        .expect("a join within its time");
    daemon.kill();
    killed.send(()).unwrap();
    proxy.plan(|_| Fault::Pass);
    // Only new orders: those that rested before the kill do not show that the daemon quotes.
    let submits = proxy.submits().len();
    let mut daemon = stage.run("daemon");
    stage.metrics("daemon", &mut daemon);
    until(SOON, "shares and orders after the kill", || {
        assert!(daemon.ended().is_none(), "{name}: {}", daemon.last_words());
        let books = stage.books();
        // Messages of the killed daemon do not count either; one log has both.
        let is_ready = daemon.stderr().matches("ready: ").count() > 1;
        let quotes = is_ready && proxy.submits().len() > submits;
        (books.totals.contains_key("LP-ETH-USDC") && quotes).then_some(())
    });
    assert_eq!(daemon.drain(SOON), 0, "{name}: {}", daemon.last_words());
    joined_once(&stage, name);
    assert_whole(&stage, &daemon, name);
    stage.close_audited(&daemon);
}

#[test]
fn a_daemon_killed_in_the_middle_of_a_join_joins_once() {
    kill("join-killed-before", false);
    kill("join-killed-after", true);
}
