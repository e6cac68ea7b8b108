//! The daemon dies at any action: what it may have sent is known afterwards, and nothing is sent twice.

use cambist_core::Time;
use cambist_sim::{World, WorldConfig};
use cambist_venue::Random;

use crate::{assert_kept, assert_sound, minutes};

/// Crashes so often, at random actions, in the middle of steps and of syncs.
fn crashed(config: WorldConfig, crashes: u64) -> World {
    let mut random = Random::new(config.seed ^ 0xdead);
    let mut world = World::new(config).unwrap();
    for number in 1..=crashes {
        // From the middle of recovery to a while of quoting.
        let pause = random.between(1, 8_000);
        world.run_until(world.now().plus_ms(pause));
        world.crash_after(random.below(40));
        while world.counts().crashes < number {
            assert!(world.step(), "the world goes on");
        }
    }
    world
}

#[test]
fn thirty_crashes_double_nothing_and_forget_nothing() {
    let (mut orders, mut crashes) = (0, 0);
    for seed in 0..8 {
        let config = minutes(10, WorldConfig::calm(seed, "ladder"));
        let config = if seed % 2 == 0 {
            config
        } else {
            config.lossy()
        };
        let mut world = crashed(config, 30);
        assert_kept(world.violations(), &format!("seed {seed}"));
        world.calm();
        world.run_until(world.now().plus_ms(60_000));
        let before = world.counts().taken;
        world.run_until(world.now().plus_ms(30_000));
        assert!(
            world.counts().taken > before,
            "seed {seed}: quoting comes back"
        );
        let proven = world.end();
        let outcome = world.outcome(proven);
        assert_sound(&outcome, &format!("seed {seed}"));
        orders += outcome.counts.taken;
        crashes += outcome.counts.crashes;
    }
    assert_eq!(crashes, 240);
    assert!(
        orders > 1_000,
        "{orders} orders: crashes hit a quoting daemon"
    );
}

#[test]
fn a_crash_between_seal_and_transmission_leaves_an_intent_that_ends() {
    let config = minutes(5, WorldConfig::calm(4, "bands"));
    let mut world = World::new(config).unwrap();
    // Die the moment an intent is durable that the venue has not seen.
    while world.disk().durable().intents.len() as u64 <= world.counts().taken {
        assert!(world.step());
    }
    world.crash();
    let open = world.disk().durable().open.len();
    assert!(open > 0);
    world.run_until(Time::from_ms(240_000));
    let proven = world.end();
    assert_sound(&world.outcome(proven), "an intent that never left");
}

#[test]
fn the_same_crashes_leave_the_same_trace() {
    let run = || crashed(minutes(5, WorldConfig::calm(9, "ladder").lossy()), 5).trace_hash();
    assert_eq!(run(), run());
}
