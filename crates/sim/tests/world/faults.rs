//! A network that loses, repeats, reorders and garbles: the engine's state always agrees with the ground truth, and
//! once the faults end everything resolves.

use cambist_core::Time;
use cambist_sim::{World, WorldConfig, run};

use crate::{assert_sound, minutes};

#[test]
fn the_engine_agrees_with_the_ground_truth_over_a_faulty_network() {
    let (mut faults, mut resent, mut orders) = (0, 0, 0);
    for seed in 0..10 {
        for strategy in ["ladder", "bands", "glft"] {
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

/// Hanging orders, optimised prices, a peg and a moving band: more state, and more ways for orders to end.
#[test]
fn all_features_of_the_ladder_work_over_a_faulty_network() {
    for seed in 30..36 {
        let mut config = minutes(10, WorldConfig::calm(seed, "ladder").lossy());
        config.seats[0].parameters.push_str(
            "hanging_orders_cancel_bps = 60\norder_optimization_enabled = true\nfee_bps = 2\n\
             buy_price_max = 2500\nsell_price_min = 2500.01\ndepeg_bps = 300\n\
             moving_band_bps = 100\nmoving_band_s = 60\n",
        );
        config.seats[0].parameters = config.seats[0]
            .parameters
            .replace("delay_ms = 500", "delay_ms = 0");
        let outcome = run(config).unwrap();
        assert_sound(&outcome, &format!("seed {seed}"));
        assert!(outcome.fills > 20, "seed {seed}: {} fills", outcome.fills);
    }
}

#[test]
fn a_far_worse_network_only_stops_quoting() {
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
fn quoting_returns_after_an_outage_of_a_minute() {
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
fn drawn_worlds_have_no_violations() {
    let (mut faults, mut crashes) = (0, 0);
    for seed in 0..40 {
        let outcome = run(minutes(4, WorldConfig::drawn(seed))).unwrap();
        assert_sound(&outcome, &format!("drawn, seed {seed}"));
        faults += outcome.counts.faults;
        crashes += outcome.counts.crashes;
    }
    assert!(
        faults > 1_000 && crashes > 20,
        "{faults} faults, {crashes} crashes"
    );
}
