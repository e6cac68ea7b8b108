//! Two venues at once: the same seed is the same run, and faults of both break nothing.

use cambist_sim::{SeedRun, SimulatedVenue};

/// A chain, another exchange and Kraken's interface beside the exchange; with limits that are reached and without, and
/// with a hedge.
#[test]
fn two_venues_of_one_process_keep_their_limits() {
    for seed in [1, 2, 3, 26, 53] {
        let run = SeedRun {
            venue: SimulatedVenue::Portfolio,
            ..SeedRun::new(seed, 240_000)
        };
        let [first, again] = [(); 2].map(|()| run.run().unwrap());
        assert_eq!(first.violations, [], "{seed}");
        assert!(first.orders > 0 && first.proven, "{seed}");
        assert_eq!(first.trace_hash, again.trace_hash, "{seed}");
    }
}
