//! A network that loses, repeats, overtakes and garbles: belief never leaves truth, and once the
//! faults end everything resolves.

use std::cell::Cell;
use std::rc::Rc;

use cambist_core::Time;
use cambist_sim::{World, WorldConfig, run};

use crate::{assert_sound, minutes};

#[test]
fn belief_never_leaves_truth_over_a_bad_network() {
    let (mut faults, mut resent, mut orders) = (0, 0, 0);
    for seed in 0..10 {
        for strategy in ["ladder", "bands"] {
            let outcome = run(minutes(10, WorldConfig::calm(seed, strategy).lossy())).unwrap();
            assert_sound(&outcome, &format!("{strategy}, seed {seed}"));
            assert!(outcome.fills > 20, "seed {seed}: {} fills", outcome.fills);
            faults += outcome.counts.faults;
            resent += outcome.counts.resent;
            orders += outcome.orders;
        }
    }
    assert!(faults > 5_000, "only {faults} faults in {orders} orders");
    assert!(
        resent > 20,
        "only {resent} resends: the fence was not exercised"
    );
}

#[test]
fn a_far_worse_network_stops_quoting_and_nothing_else() {
    for seed in 20..26 {
        let mut config = minutes(5, WorldConfig::calm(seed, "ladder").lossy());
        config.network.loss_before = 2_000;
        config.network.loss_after = 2_000;
        config.network.duplicate = 2_000;
        config.network.reorder = 3_000;
        config.network.reorder_ms = 20_000;
        let outcome = run(config).unwrap();
        assert_sound(&outcome, &format!("seed {seed}"));
    }
}

#[test]
fn nobody_is_reached_for_a_minute_and_quoting_comes_back() {
    let mut config = minutes(3, WorldConfig::calm(5, "bands"));
    config.network.loss_before = 10_000;
    let mut world = World::new(config).unwrap();
    world.run_until(Time::from_ms(60_000));
    assert_eq!(
        world.counts().orders,
        0,
        "nothing is known, so nothing is quoted"
    );
    world.calm();
    world.run_until(Time::from_ms(70_000));
    assert!(world.counts().taken > 1, "quotes within ten seconds");
    assert!(world.end());
    assert_sound(&world.outcome(true), "after the outage");
}

#[test]
fn a_watcher_sees_what_the_hash_covers() {
    let seen = Rc::new(Cell::new(0_u64));
    let count = Rc::clone(&seen);
    let mut world = World::new(minutes(1, WorldConfig::calm(1, "ladder"))).unwrap();
    let before = world.trace_hash();
    world.watch(Box::new(move |_, _, actions| {
        count.set(count.get() + actions.len() as u64);
    }));
    world.run_until(Time::from_ms(30_000));
    assert!(seen.get() > 100);
    assert_ne!(world.trace_hash(), before);
}
