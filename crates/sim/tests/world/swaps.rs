//! Swaps in a world: each happens once or not at all, and the books stay equal, whatever is lost.

use cambist_core::Time;
use cambist_core::request::Endpoint;
use cambist_sim::{
    CrashConfig, Fault, FaultKind, FaultKindConfig, Sealer, World, WorldConfig, run,
};

use crate::{assert_sound, minutes};

#[test]
fn a_calm_world_swaps_both_ways_and_ends_with_equal_books() {
    let outcome = run(minutes(20, WorldConfig::calm(3, "ladder").with_swaps())).unwrap();
    assert_sound(&outcome, "calm");
    let counts = &outcome.counts;
    assert!(counts.swapped > 20, "{counts:?}");
    assert!(
        counts.swaps > counts.swapped,
        "some ask for more than the pool pays: {counts:?}"
    );
}

/// A process asks for a swap in an answer that is decided on many times: each is made once at most.
#[test]
fn a_process_swaps_under_faults_and_crashes_and_no_swap_is_made_twice() {
    let (mut swapped, mut asked, mut crashes) = (0, 0, 0);
    for seed in 0..10 {
        let drawn = WorldConfig::drawn(seed);
        let mut config = minutes(20, WorldConfig::calm(seed, "ladder").with_swaps());
        config.seats.truncate(1);
        config.seats[0].strategy = "process".to_owned();
        (config.network, config.store, config.crash) = (drawn.network, drawn.store, drawn.crash);
        let outcome = run(config).unwrap();
        assert_sound(&outcome, &format!("seed {seed}"));
        let counts = &outcome.counts;
        swapped += counts.swapped;
        asked += counts.swaps;
        crashes += counts.crashes;
    }
    assert!(swapped > 20 && asked > swapped, "{swapped} of {asked}");
    assert!(crashes > 0, "{crashes}");
}

#[test]
fn a_world_of_real_signatures_swaps() {
    let mut config = minutes(5, WorldConfig::calm(4, "ladder").with_swaps());
    config.sealer = Sealer::Wire;
    let outcome = run(config).unwrap();
    assert_sound(&outcome, "signed");
    assert!(outcome.counts.swapped > 4, "{:?}", outcome.counts);
}

#[test]
fn faults_and_crashes_keep_the_books_equal() {
    let mut swapped = 0;
    for seed in 0..20 {
        let outcome = run(minutes(20, WorldConfig::drawn(seed).with_swaps())).unwrap();
        assert_sound(&outcome, &format!("seed {seed}"));
        swapped += outcome.counts.swapped;
    }
    assert!(swapped > 60, "{swapped} swaps");
}

/// Under every network fault, crashes and faults that neither add nor take base: worlds of a strategy of two legs, in
/// which what is open is never more than stated. Swaps, fills and crashes of all of them.
fn legs(with: fn(WorldConfig) -> WorldConfig) -> (u64, u64, u64) {
    let (mut swapped, mut fills, mut crashes) = (0, 0, 0);
    for seed in 0..12 {
        let drawn = WorldConfig::drawn(seed);
        let mut config = minutes(30, with(WorldConfig::calm(seed, "ladder")));
        (config.network, config.store, config.clock) = (drawn.network, drawn.store, drawn.clock);
        config.fault_schedule = drawn.fault_schedule;
        config.fault_kinds = drawn.fault_kinds;
        // Base that comes, goes or is traded by others is traded as if it were an open leg.
        for kind in [
            FaultKind::Deposit,
            FaultKind::Withdrawal,
            FaultKind::ForeignOrder,
        ] {
            config.fault_kinds.kinds.retain(|drawn| *drawn != kind);
        }
        if seed % 2 == 0 {
            config.crash = CrashConfig {
                mean_ms: 60_000,
                actions_max: 60,
            };
        }
        let engine = &mut config.engine;
        engine.request_timeout_ms = drawn.engine.request_timeout_ms;
        let outcome = run(config).unwrap();
        assert_sound(&outcome, &format!("seed {seed}"));
        swapped += outcome.counts.swapped;
        fills += outcome.counts.fills;
        crashes += outcome.counts.crashes;
    }
    (swapped, fills, crashes)
}

#[test]
fn an_open_leg_is_never_larger_than_stated() {
    let (swapped, fills, crashes) = legs(WorldConfig::with_arbitrage);
    assert!(
        swapped > 40 && fills > 2 * swapped - 12 && crashes > 20,
        "{swapped} {fills} {crashes}"
    );
}

/// Fills of a maker around the price of the pool, each hedged by a swap.
#[test]
fn what_a_pool_maker_has_unhedged_is_never_more_than_stated() {
    let (swapped, fills, crashes) = legs(WorldConfig::with_pool_maker);
    assert!(
        swapped > 40 && fills > 2 * swapped - 12 && crashes > 20,
        "{swapped} {fills} {crashes}"
    );
}

#[test]
fn every_network_fault_affects_swaps() {
    let (mut swapped, mut resent) = (0, 0);
    for seed in 0..6 {
        let mut config = minutes(20, WorldConfig::calm(seed, "ladder").with_swaps().lossy());
        let network = &mut config.network;
        (network.limited, network.server_error, network.redirect) = (800, 1_600, 800);
        (network.not_sent, network.garbled, network.duplicate) = (800, 800, 800);
        (network.loss_before, network.loss_after) = (800, 800);
        config.fault_kinds = FaultKindConfig {
            kinds: [FaultKind::Deposit, FaultKind::Withdrawal].into(),
            mean_ms: 5_000,
            length_max_ms: 1_000,
        };
        let mut world = World::new(config).unwrap();
        world.run_until(Time::from_ms(world.config().duration_ms));
        crate::assert_kept(world.violations(), &format!("seed {seed}"));
        for fault in Fault::ALL {
            let struck = world.struck().get(&(Endpoint::Submit, fault));
            assert!(struck.is_some(), "{fault:?} never struck a submit");
        }
        swapped += world.counts().swapped;
        resent += world.counts().resent;
    }
    assert!(swapped > 20 && resent > 20, "{swapped} {resent}");
}
