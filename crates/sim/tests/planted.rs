//! Checks that cannot fail prove nothing: every deliberate defect is found, and worlds without one stay
//! sound in the same build.
#![cfg(feature = "planted")]
#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::planted::Defect;
use cambist_sim::Trial;

/// Seeds tried per defect; the program tries up to 2,000.
const SEEDS: u64 = 60;
/// Those that need more seeds than a test may take: `cambist sim --planted all` shows them found.
const RARE: [Defect; 4] = [
    Defect::RefusalAfterResendIsDeath,
    Defect::GraceForgotten,
    Defect::MarginForgotten,
    Defect::DrainForgetsUnknown,
];

#[test]
fn every_defect_is_found() {
    let missed: Vec<_> = Defect::ALL
        .iter()
        .filter(|defect| !RARE.contains(defect))
        .filter(|defect| {
            !(1..=SEEDS).any(|seed| {
                let mut trial = Trial::new(seed, 600_000);
                trial.planted = Some(**defect);
                !trial.run().unwrap().violations.is_empty()
            })
        })
        .collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
}

#[test]
fn nothing_is_found_where_nothing_is_planted() {
    for seed in 1..=20 {
        let outcome = Trial::new(seed, 600_000).run().unwrap();
        assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    }
}
