//! After a kill at any time, the next start knows every order that may have been sent, and sends none twice.
//!
//! The daemon is killed with SIGKILL at random times and at the worst ones: when a submit or a cancel was sent but has
//! not arrived, when its answer was sent but has not arrived, and right after a batch was sealed. The results are
//! compared with the exchange, whose traders never stop.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cambist_core::order::OrderReport;
use cambist_core::{Hash, OrderStatus, Side, VenueTime};
use rustix::process::Signal;

use crate::support::clock::{Since, within};
use crate::support::conditions::{assert_ends, assert_known, assert_same_bytes, assert_slots};
use crate::support::keeping::{Ending, Intent};
use crate::support::random::Random;
use crate::support::stage::{lively, quick};
use crate::support::{Books, Edit, Fault, Keeping, Program, Proxy, Stage, until};

/// Kills in each of two tests, cycling through all kinds of moments.
const KILLS: u64 = 32;
/// Time limit for a moment to occur; the daemon is killed in any case. Longer than the time for which a sealed order
/// that never arrived delays the next start.
const MOMENT: Duration = Duration::from_secs(7);
const SOON: Duration = Duration::from_secs(40);

/// Moment of a kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    /// This many milliseconds after the start, possibly during it.
    AfterStart(u64),
    /// This many milliseconds after the first submit.
    WhileTrading(u64),
    /// The submit with this number was sent and has not reached the exchange; it arrives after the kill.
    SubmitUnderWay(u64),
    /// A submit was accepted; its answer arrives after the kill.
    SubmitAnswered(u64),
    /// As for submits.
    CancelUnderWay(u64),
    /// As for submits.
    CancelAnswered(u64),
    /// The database's log has just grown: sealed, possibly not sent.
    Sealed(u64),
    /// This many milliseconds after the drain was requested.
    WhileDraining(u64),
}

impl Moment {
    fn drawn(kind: u64, random: &mut Random) -> Self {
        match kind % 8 {
            0 => Self::AfterStart(random.below(600)),
            1 => Self::WhileTrading(random.below(700)),
            2 => Self::SubmitUnderWay(random.below(10)),
            3 => Self::SubmitAnswered(random.below(10)),
            4 => Self::CancelUnderWay(random.below(6)),
            5 => Self::CancelAnswered(random.below(6)),
            6 => Self::WhileDraining(random.below(120)),
            _ => Self::Sealed(random.below(8)),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::AfterStart(_) => "after start",
            Self::WhileTrading(_) => "while trading",
            Self::SubmitUnderWay(_) => "submit under way",
            Self::SubmitAnswered(_) => "submit answered",
            Self::CancelUnderWay(_) => "cancel under way",
            Self::CancelAnswered(_) => "cancel answered",
            Self::Sealed(_) => "sealed",
            Self::WhileDraining(_) => "while draining",
        }
    }
}

/// The proxy's side of a kill: the request is held until the daemon has ended.
struct CrashPoint {
    reached: SyncSender<()>,
    killed: Arc<Mutex<Receiver<()>>>,
    is_reached: AtomicBool,
}

/// The test's side.
struct CrashControl {
    reached: Receiver<()>,
    killed: SyncSender<()>,
}

fn crash_point() -> (Arc<CrashPoint>, CrashControl) {
    let (reached, was_reached) = sync_channel(1);
    let (killed, killed_receiver) = sync_channel(1);
    let crash_point = CrashPoint {
        reached,
        killed: Arc::new(Mutex::new(killed_receiver)),
        is_reached: AtomicBool::new(false),
    };
    (
        Arc::new(crash_point),
        CrashControl {
            reached: was_reached,
            killed,
        },
    )
}

impl CrashPoint {
    fn block(&self) {
        if !self.is_reached.swap(true, Ordering::AcqRel) && self.reached.try_send(()).is_ok() {
            // The test may have reached its time limit and killed the daemon.
            let _ = self
                .killed
                .lock()
                .unwrap()
                .recv_timeout(Duration::from_secs(10));
        }
    }
}

/// Plans the moment, waits for it, and kills. Returns whether the moment occurred.
fn kill_at(moment: Moment, stage: &Stage, proxy: &Proxy, daemon: &mut Program) -> bool {
    let (crash_point, control) = crash_point();
    let hook = {
        let crash_point = Arc::clone(&crash_point);
        Arc::new(move || crash_point.block())
    };
    proxy.plan(move |seen| match moment {
        Moment::SubmitUnderWay(nth) if seen.is_submit() && seen.nth >= nth => {
            Fault::OnArrival(hook.clone())
        }
        Moment::SubmitAnswered(nth) if seen.is_submit() && seen.nth >= nth => {
            Fault::OnAnswer(hook.clone())
        }
        Moment::CancelUnderWay(nth) if seen.is_cancel() && seen.nth >= nth => {
            Fault::OnArrival(hook.clone())
        }
        Moment::CancelAnswered(nth) if seen.is_cancel() && seen.nth >= nth => {
            Fault::OnAnswer(hook.clone())
        }
        _ => Fault::Pass,
    });
    let came = match moment {
        Moment::AfterStart(ms) => pause(ms),
        Moment::WhileTrading(ms) => first_submit(proxy) && pause(ms),
        Moment::SubmitUnderWay(_)
        | Moment::SubmitAnswered(_)
        | Moment::CancelUnderWay(_)
        | Moment::CancelAnswered(_) => {
            stage.metrics("daemon", daemon);
            control.reached.recv_timeout(MOMENT) != Err(RecvTimeoutError::Timeout)
        }
        Moment::Sealed(nth) => {
            stage.metrics("daemon", daemon);
            grown(stage, nth + 1)
        }
        Moment::WhileDraining(ms) => {
            let submitted = first_submit(proxy);
            daemon.signal(Signal::TERM);
            pause(ms) && submitted
        }
    };
    let ended = daemon.ended();
    let may_end = matches!(moment, Moment::WhileDraining(_)) && ended == Some(0);
    assert!(
        ended.is_none() || may_end,
        "it ended by itself: {}",
        daemon.last_words()
    );
    daemon.kill();
    // The receiver may be gone.
    let _ = control.killed.try_send(());
    came
}

/// Waits for the next submit. Call it before the first one can pass.
fn first_submit(proxy: &Proxy) -> bool {
    let submits = proxy.submits().len();
    within(MOMENT, || (proxy.submits().len() > submits).then_some(())).is_some()
}

/// A kill at a random time is not announced.
fn pause(ms: u64) -> bool {
    std::thread::sleep(Duration::from_millis(ms));
    true
}

/// Waits until the database's log has grown this many times.
fn grown(stage: &Stage, times: u64) -> bool {
    let log = stage.path("daemon-state/cambist.db-wal");
    let size = || std::fs::metadata(&log).map_or(0, |found| found.len());
    let (begun, mut last, mut seen) = (Since::now(), size(), 0);
    while seen < times && begun.elapsed() < MOMENT {
        let now = size();
        seen += u64::from(now > last);
        last = now;
        std::thread::yield_now();
    }
    seen == times
}

#[test]
fn no_order_is_forgotten_and_none_is_sent_twice() {
    play(20_261);
}

#[test]
fn nor_with_another_seed() {
    play(7);
}

fn play(seed: u64) {
    let mut random = Random::new(seed);
    let stage = Stage::open_kept("crash", lively);
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, |file| {
        quick(file);
        file.put("market.0.strategy.0.params.order_levels", 4);
    });
    let state = stage.path("daemon-state");
    let begun = Since::now();
    let mut came: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for kill in 0..KILLS {
        let moment = Moment::drawn(kill, &mut random);
        let mut daemon = stage.run("daemon");
        let reached = kill_at(moment, &stage, &proxy, &mut daemon);
        let count = came.entry(moment.name()).or_default();
        *count = (count.0 + 1, count.1 + u64::from(reached));
        // The exchange is queried first: whatever arrives in the meantime was sealed before.
        let books = stage.books();
        let when = format!("seed {seed}, kill {kill}, {moment:?}");
        assert_known(&books, &Keeping::read(&state), &when);
    }
    let killing = begun.elapsed();

    proxy.plan(|_| Fault::Pass);
    let mut daemon = stage.run("daemon");
    stage.metrics("daemon", &mut daemon);
    let orders = stage.books().orders.len();
    until(SOON, "new orders after all that", || {
        (stage.books().orders.len() > orders).then_some(())
    });
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());

    let (books, keeping) = (stage.books(), Keeping::read(&state));
    assert_eq!(books.open(), 0, "something rests after the end");
    assert_known(&books, &keeping, "at the end");
    assert_slots(&keeping);
    assert_ends(&books, &keeping);
    assert_same_bytes(&proxy.submits());
    books.assert_ledger(&daemon.stdout());

    // Checks of the test itself: there was load, and the moments occurred.
    eprintln!(
        "{KILLS} kills in {:.1} s, {} intents, {} orders at the exchange, moments met: {came:?}",
        killing.as_secs_f32(),
        keeping.0.len(),
        books.orders.len()
    );
    let met: u64 = came.values().map(|(_, met)| met).sum();
    assert!(met >= 25, "only {met} kills at their moments: {came:?}");
    assert!(
        came.values().all(|(_, met)| *met > 0),
        "a kind of moment never came: {came:?}"
    );
    assert!(
        books.orders.len() >= 100,
        "only {} orders",
        books.orders.len()
    );
    assert!(
        keeping.0.len() > books.orders.len(),
        "no kill between seal and arrival"
    );
    stage.close_audited(&daemon);
}

fn report(id: &str, hash: u8) -> OrderReport {
    OrderReport {
        hash: Hash([hash; 32]),
        client_id: id.parse().ok(),
        market: "ETH-USDC".into(),
        side: Side::Buy,
        status: OrderStatus::Cancelled,
        base_amount: 1,
        quote_amount: 1,
        base_filled: 0,
        quote_filled: 0,
        fee: 0,
        valid_until_s: 1,
        valid_since: VenueTime(0),
    }
}

/// The checks above must be able to fail.
#[test]
fn forgotten_doubled_and_wrongly_ended_orders_are_found() {
    let id = "c00000001-0-7";
    let ending = |end: &str| {
        Some(Ending {
            end: end.to_owned(),
            base: 0,
            quote: 0,
            fee: 0,
        })
    };
    let intent = |end: &str| Intent {
        hash: [1; 32],
        sell_token: 0,
        storage_id: 2,
        ending: ending(end),
    };
    let keeping = |intents: &[(&str, Intent)]| {
        Keeping(
            intents
                .iter()
                .map(|(id, intent)| ((*id).to_owned(), intent.clone()))
                .collect(),
        )
    };
    let books = |orders: &[OrderReport]| Books {
        orders: orders.to_vec(),
        totals: BTreeMap::new(),
    };
    let fails =
        |check: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).is_err();
    let one = keeping(&[(id, intent("cancelled"))]);
    assert_known(&books(&[report(id, 1)]), &one, "right");
    assert_ends(&books(&[report(id, 1)]), &one);
    assert_slots(&one);

    assert!(fails(&|| assert_known(
        &books(&[report(id, 1)]),
        &keeping(&[]),
        "forgotten"
    )));
    assert!(fails(&|| assert_known(
        &books(&[report(id, 2)]),
        &one,
        "another order"
    )));
    assert!(fails(&|| assert_known(
        &books(&[report("x", 1)]),
        &one,
        "foreign"
    )));
    let twice = books(&[report(id, 1), report(id, 1)]);
    assert!(fails(&|| assert_known(&twice, &one, "twice")));
    assert!(fails(&|| assert_ends(&books(&[]), &one)));
    assert!(fails(&|| assert_ends(
        &books(&[report(id, 1)]),
        &keeping(&[(id, intent("fenced"))])
    )));
    let open = Intent {
        ending: None,
        ..intent("")
    };
    assert!(fails(&|| assert_ends(
        &books(&[]),
        &keeping(&[(id, open.clone())])
    )));
    let shared = keeping(&[(id, open.clone()), ("c00000001-0-8", open.clone())]);
    assert!(fails(&|| assert_slots(&shared)));
    let submit = |price: u8| format!("{{\"clientOrderId\":\"{id}\",\"price\":{price}}}");
    assert_same_bytes(&[submit(1), submit(1)]);
    assert!(fails(&|| assert_same_bytes(&[submit(1), submit(2)])));
}
