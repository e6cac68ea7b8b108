//! Checks that cannot fail prove nothing: every planted fault is found, by the check that is meant.

use cambist_sim::{Defect, World, WorldConfig};

use crate::minutes;

/// Names of the checks that fired at a seed.
fn found(defect: Defect, seed: u64) -> Vec<String> {
    let mut config = minutes(3, WorldConfig::calm(seed, "ladder").lossy());
    config.defect = Some(defect);
    let mut world = World::new(config).unwrap();
    for _ in 0..3 {
        world.run_until(world.now().plus_ms(40_000));
        world.crash();
    }
    world.run_until(world.now().plus_ms(60_000));
    world.calm();
    let proven = world.end();
    let outcome = world.outcome(proven);
    let mut checks: Vec<_> = outcome.violations.into_iter().map(|v| v.check).collect();
    checks.sort();
    checks.dedup();
    checks
}

/// The check that names the fault itself, not an echo of it.
const fn expected(defect: Defect) -> &'static str {
    match defect {
        Defect::FillsHidden => "fill_missed",
        Defect::FillsDoubled => "fill_invented",
        Defect::EndsInvented | Defect::RefusalsInvented => "ended_but_open",
        Defect::SyncSkipped => "not_durable",
        Defect::IdsRenewed => "no_intent",
        Defect::CountersForgotten => "id_reused",
        Defect::IntentsForgotten => "forgotten",
    }
}

#[test]
fn every_planted_fault_is_found() {
    for defect in Defect::ALL {
        let runs: Vec<_> = (0..3).map(|seed| found(defect, seed)).collect();
        let named = runs
            .iter()
            .any(|checks| checks.iter().any(|c| c == expected(defect)));
        assert!(named, "{defect:?}: {runs:?}");
    }
}

#[test]
fn a_violation_says_where_it_was_seen() {
    let mut config = minutes(1, WorldConfig::calm(77, "ladder"));
    config.defect = Some(Defect::SyncSkipped);
    let outcome = cambist_sim::run(config).unwrap();
    let first = outcome.violations.first().unwrap();
    assert_eq!((first.seed, first.check.as_str()), (77, "not_durable"));
    let text = first.to_string();
    assert!(text.contains(&format!("at {} ms", first.at_ms)), "{text}");
}
