//! The same engine on venues with other rules: consecutive numbers, deadlines, orders without an end of their own; and
//! Kraken's nonces, deadlines, expiries and lists.

use cambist_core::Time;
use cambist_sim::{FaultKind, FaultKindConfig, World, WorldConfig, run};

use crate::{assert_kept, assert_sound, minutes};

#[test]
fn a_calm_world_on_the_sequenced_venue_quotes_and_ends_with_equal_books() {
    let outcome = run(minutes(30, WorldConfig::calm(3, "ladder").sequenced())).unwrap();
    assert_sound(&outcome, "calm");
    assert!(outcome.quoted_ratio > 0.9, "{}", outcome.quoted_ratio);
    assert!(outcome.fills > 0);
}

/// Another venue than that of `WorldConfig::drawn`.
type On = fn(WorldConfig) -> WorldConfig;

fn assert_drawn_worlds_sound(on: On) {
    let (mut orders, mut fills, mut crashes) = (0, 0, 0);
    for seed in 0..30 {
        let outcome = run(minutes(20, on(WorldConfig::drawn(seed)))).unwrap();
        assert_sound(&outcome, &format!("seed {seed}"));
        orders += outcome.orders;
        fills += outcome.fills;
        crashes += outcome.counts.crashes;
    }
    assert!(
        orders > 1_000 && fills > 50 && crashes > 20,
        "{orders} {fills} {crashes}"
    );
}

/// A finished world in which submits arrive late and in another order.
fn with_late_submits(seed: u64, on: On) -> World {
    let mut config = on(minutes(20, WorldConfig::calm(seed, "ladder").lossy()));
    config.engine.attempts_max = 5;
    config.fault_kinds = FaultKindConfig {
        kinds: [FaultKind::SubmitsLate].into(),
        mean_ms: 60_000,
        length_max_ms: 20_000,
    };
    let mut world = World::new(config).unwrap();
    world.run_until(Time::from_ms(world.config().duration_ms));
    assert_kept(world.violations(), &format!("seed {seed}"));
    world
}

#[test]
fn faults_and_crashes_change_nothing_about_that() {
    assert_drawn_worlds_sound(WorldConfig::sequenced);
}

/// What distinguishes the venue happens: numbers that are spent, requests behind their deadline. A gap does not: numbers
/// are sent in turn, over a network that changes their order.
#[test]
fn spent_numbers_and_passed_deadlines_are_met_and_gaps_are_not() {
    let (mut used, mut gap, mut lapsed) = (0, 0, 0);
    for seed in 0..6 {
        let refused = with_late_submits(seed, WorldConfig::sequenced).refused_by_sequence();
        used += refused.used;
        gap += refused.gap;
        lapsed += refused.lapsed;
    }
    assert!(
        used > 0 && gap == 0 && lapsed > 0,
        "{used} used, {gap} behind a gap, {lapsed} lapsed"
    );
}

#[test]
fn a_calm_world_on_kraken_quotes_and_ends_with_equal_books() {
    let outcome = run(minutes(30, WorldConfig::calm(3, "ladder").kraken())).unwrap();
    assert_sound(&outcome, "calm");
    assert!(outcome.orders > 50, "{}", outcome.orders);
    assert!(outcome.fills > 0);
}

#[test]
fn faults_and_crashes_change_nothing_about_that_on_kraken() {
    assert_drawn_worlds_sound(WorldConfig::kraken);
}

/// What distinguishes Kraken happens: nonces that a later one has passed, and requests behind their deadline.
#[test]
fn passed_nonces_and_deadlines_are_met_on_kraken() {
    let (mut nonce, mut deadline) = (0, 0);
    for seed in 0..12 {
        let refused = with_late_submits(seed, WorldConfig::kraken).refused_by_kraken();
        nonce += refused.nonce;
        deadline += refused.deadline;
    }
    assert!(
        nonce > 0 && deadline > 0,
        "{nonce} nonces, {deadline} deadlines"
    );
}

/// The venue's own counters, of every tier, refuse nothing to an engine that counts by its rules.
#[test]
fn nothing_is_refused_for_its_rate_on_kraken() {
    for seed in 0..4 {
        let mut world =
            World::new(minutes(30, WorldConfig::calm(seed, "ladder").kraken())).unwrap();
        world.run_until(Time::from_ms(world.config().duration_ms));
        assert_kept(world.violations(), &format!("seed {seed}"));
        assert_eq!(world.refused_by_kraken().rate, 0, "seed {seed}");
        assert!(world.counts().taken > 10, "seed {seed}");
    }
}
