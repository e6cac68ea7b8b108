//! A strategy that reads another market: its newest mid, and a reason instead of quotes while there is none.

use cambist_sim::{WorldConfig, run};

use crate::{assert_sound, minutes};

fn reading(seed: u64) -> WorldConfig {
    let mut config = WorldConfig::calm(seed, "ladder").twofold();
    config.seats[0].reads = vec![config.markets[1].clone()];
    minutes(20, config)
}

#[test]
fn a_calm_world_quotes_with_the_mid_of_another_market() {
    let outcome = run(reading(3)).unwrap();
    assert_sound(&outcome, "calm");
    assert!(outcome.quoted_ratio > 0.9, "{}", outcome.quoted_ratio);
}

/// Lost, late and repeated answers of one market, or of both, and crashes.
#[test]
fn faults_and_crashes_never_show_an_old_market() {
    let mut crashes = 0;
    for seed in 0..12 {
        let drawn = WorldConfig::drawn(seed);
        let mut config = reading(seed);
        (config.network, config.store, config.clock) = (drawn.network, drawn.store, drawn.clock);
        config.crash = drawn.crash;
        config.fault_schedule = drawn.fault_schedule;
        config.fault_kinds = drawn.fault_kinds;
        let outcome = run(config).unwrap();
        assert_sound(&outcome, &format!("seed {seed}"));
        crashes += outcome.counts.crashes;
    }
    assert!(crashes > 5, "{crashes}");
}

#[test]
fn some_drawn_worlds_read_another_market() {
    let reads = |seed: &u64| {
        let seats = WorldConfig::drawn(*seed).seats;
        seats.iter().any(|seat| !seat.reads.is_empty())
    };
    let found = (1..=100).filter(reads).count();
    assert!((4..15).contains(&found), "{found} of 100");
}
