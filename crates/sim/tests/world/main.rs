//! Engine and venue in one world: determinism, quoting, faults, crashes, and checks that can fail.
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod chain;
mod crash;
mod faults;
mod hour;
mod levels;
mod limits;
mod others;
mod polling;
mod pools;
mod portfolio;
mod replay;
mod swaps;
mod venues;

use cambist_sim::{Outcome, Violation, WorldConfig};

/// A short world.
fn minutes(minutes: u64, config: WorldConfig) -> WorldConfig {
    WorldConfig {
        duration_ms: minutes * 60_000,
        ..config
    }
}

/// Fails with all violations.
fn assert_kept(violations: &[Violation], what: &str) {
    let all: Vec<_> = violations.iter().map(ToString::to_string).collect();
    assert!(all.is_empty(), "{what}:\n{}", all.join("\n"));
}

/// No violation, and an end with proof.
fn assert_sound(outcome: &Outcome, what: &str) {
    assert_kept(&outcome.violations, what);
    assert!(outcome.proven, "{what}: the end was not proven");
    assert_eq!(outcome.summary.resting_after, Some(0), "{what}");
    assert!(
        outcome
            .summary
            .residual_units
            .values()
            .all(|units| units == "0"),
        "{what}: {:?}",
        outcome.summary.residual_units
    );
}
