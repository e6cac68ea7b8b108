//! The engine with a manager of shares on a model of a chain.

use cambist_sim::{ChainCounts, SeedRun, SimulatedVenue, World, WorldConfig};

use crate::{assert_sound, minutes};

fn played(mut world: World) -> (cambist_sim::Outcome, ChainCounts) {
    let proven = world.play();
    let counts = world.chain_counts().expect("a world on a chain");
    (world.outcome(proven), counts)
}

#[test]
fn a_calm_world_on_a_chain_joins_and_exits_and_ends_with_equal_books() {
    let config = minutes(30, WorldConfig::calm(3, "ladder").evm_pools());
    let (outcome, counts) = played(World::new(config).unwrap());
    assert_sound(&outcome, "calm");
    assert!(counts.executed > 10, "{counts:?}");
    assert_eq!((counts.reorganised, counts.replaced), (0, 0), "{counts:?}");
}

#[test]
fn a_calm_world_with_a_range_joins_and_exits_and_ends_with_equal_books() {
    for seed in [3, 4, 5] {
        let config = WorldConfig::calm(seed, "ladder").evm_pools().in_range();
        let (outcome, counts) = played(World::new(minutes(30, config)).unwrap());
        assert_sound(&outcome, "calm");
        assert!(counts.executed > 5, "{seed}: {counts:?}");
    }
}

/// What distinguishes a chain happens: reverts, nonces that are used again, blocks with transactions of ours that are
/// replaced.
#[test]
fn what_a_chain_takes_back_and_faults_change_nothing_about_that() {
    let mut all = ChainCounts::default();
    for seed in 1..30 {
        let run = SeedRun {
            venue: SimulatedVenue::EvmPools,
            ..SeedRun::new(seed, 1_800_000)
        };
        let (outcome, counts) = played(run.world().unwrap());
        assert_sound(&outcome, &format!("seed {seed}"));
        all.executed += counts.executed;
        all.reverted += counts.reverted;
        all.replaced += counts.replaced;
        all.taken_out += counts.taken_out;
    }
    let ChainCounts {
        executed,
        reverted,
        replaced,
        taken_out,
        ..
    } = all;
    assert!(
        executed > 100 && reverted > 1 && replaced > 10 && taken_out > 10,
        "{all:?}"
    );
}
