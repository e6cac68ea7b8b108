//! Shrinking a failing world: everything that the failure does not need is removed, as long as the same invariant is
//! violated.

use crate::campaign::seed_run::SeedRun;
use crate::faults::family::Family;

/// Shortest duration.
const SHORTEST_MS: u64 = 60_000;
/// Rounds over everything that can be removed.
const ROUNDS: usize = 3;

/// The smallest world found for which `fails` is true; `failed_ms` is when the complete one failed. `fails` is called
/// at most about forty times.
pub fn shrink(trial: &SeedRun, failed_ms: u64, mut fails: impl FnMut(&SeedRun) -> bool) -> SeedRun {
    let mut small = trial.clone();
    let mut try_one = |small: &mut SeedRun, change: &dyn Fn(&mut SeedRun)| {
        let mut smaller = small.clone();
        change(&mut smaller);
        if smaller != *small && fails(&smaller) {
            *small = smaller;
            true
        } else {
            false
        }
    };
    // Events before the failure do not depend on the duration of the world.
    let at_ms = failed_ms.div_ceil(SHORTEST_MS) * SHORTEST_MS;
    try_one(&mut small, &|t| t.duration_ms = t.duration_ms.min(at_ms));
    for _ in 0..ROUNDS {
        let mut changed = false;
        for family in Family::ALL {
            changed |= try_one(&mut small, &|t| {
                t.without.insert(family);
            });
        }
        changed |= try_one(&mut small, &|t| t.seats_max = Some(1));
        while small.duration_ms > SHORTEST_MS
            && try_one(&mut small, &|t| {
                t.duration_ms = (t.duration_ms / 2).max(SHORTEST_MS);
            })
        {
            changed = true;
        }
        if !changed {
            break;
        }
    }
    small
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn only_what_the_failure_needs_remains() {
        let trial = SeedRun::new(5, 3_600_000);
        let mut calls = 0;
        let small = shrink(&trial, 1_000_000, |trial| {
            calls += 1;
            let needed = [Family::Disk, Family::Crash, Family::Restart];
            trial.duration_ms >= 400_000 && needed.iter().all(|f| !trial.without.contains(f))
        });
        let without = [
            Family::Network,
            Family::Venue,
            Family::Clock,
            Family::Operator,
            Family::Limits,
        ];
        assert_eq!(small.without, BTreeSet::from(without));
        assert_eq!(small.seats_max, Some(1));
        assert_eq!(small.duration_ms, 510_000);
        assert!(calls <= 40, "{calls}");
    }
}
