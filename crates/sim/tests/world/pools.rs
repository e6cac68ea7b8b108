//! Pools in a world: joins and exits happen once, and the books stay equal, whatever is lost.

use cambist_sim::{WorldConfig, run};

use crate::{assert_sound, minutes};

#[test]
fn a_calm_world_with_a_pool_joins_and_leaves_and_ends_with_equal_books() {
    let outcome = run(minutes(20, WorldConfig::calm(3, "ladder").with_pool())).unwrap();
    assert_sound(&outcome, "calm");
    let pool = &outcome.summary.pools[0];
    assert!(pool.joins > 0 && pool.joins + pool.exits > 2, "{pool:?}");
    assert_eq!(pool.failed, 0);
}

#[test]
fn faults_and_crashes_change_nothing_about_that() {
    let mut moved = 0;
    for seed in 0..6 {
        let outcome = run(minutes(20, WorldConfig::drawn(seed).with_pool())).unwrap();
        assert_sound(&outcome, &format!("seed {seed}"));
        let pool = &outcome.summary.pools[0];
        moved += pool.joins + pool.exits;
    }
    assert!(moved > 6, "{moved} moves");
}
