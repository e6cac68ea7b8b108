//! Pools in a world: joins and exits occur once, and the books stay equal, whatever is lost.

use cambist_core::Time;
use cambist_core::request::Endpoint;
use cambist_sim::{Fault, FaultKind, FaultKindConfig, World, WorldConfig, run};

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
fn faults_and_crashes_keep_the_books_equal() {
    let mut moved = 0;
    for seed in 0..20 {
        let outcome = run(minutes(20, WorldConfig::drawn(seed).with_pool())).unwrap();
        assert_sound(&outcome, &format!("seed {seed}"));
        let pool = &outcome.summary.pools[0];
        moved += pool.joins + pool.exits;
    }
    assert!(moved > 6, "{moved} moves");
}

#[test]
fn every_network_fault_affects_orders_joins_and_exits() {
    let mut struck = std::collections::BTreeMap::new();
    for seed in 0..10 {
        let mut config = minutes(20, WorldConfig::calm(seed, "ladder").with_pool().lossy());
        let network = &mut config.network;
        (network.limited, network.server_error, network.redirect) = (800, 1_600, 800);
        (network.not_sent, network.garbled, network.duplicate) = (800, 800, 800);
        (network.loss_before, network.loss_after) = (800, 800);
        // External flows change the other holdings, and the shares follow.
        config.fault_kinds = FaultKindConfig {
            kinds: [FaultKind::Deposit, FaultKind::Withdrawal].into(),
            mean_ms: 5_000,
            length_max_ms: 1_000,
        };
        let mut world = World::new(config).unwrap();
        world.run_until(Time::from_ms(world.config().duration_ms));
        crate::assert_kept(world.violations(), &format!("seed {seed}"));
        for (of, count) in world.struck() {
            *struck.entry(*of).or_insert(0) += count;
        }
    }
    for endpoint in [
        Endpoint::Submit,
        Endpoint::Cancel,
        Endpoint::Join,
        Endpoint::Exit,
    ] {
        for fault in Fault::ALL {
            let count = struck.get(&(endpoint, fault)).copied().unwrap_or(0);
            assert!(count > 0, "{fault:?} never struck {endpoint:?}: {struck:?}");
        }
    }
}
