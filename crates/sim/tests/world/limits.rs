//! Tight limits: they stop trading, and quotes return once an operator has relaxed them.

use cambist_sim::{Family, SeedRun};

use crate::assert_sound;

#[test]
fn tight_limits_are_kept_and_quotes_return_between_them() {
    let trial = |seed| {
        let mut trial = SeedRun::new(seed, 2_400_000);
        let others = Family::ALL.into_iter();
        trial.without = others.filter(|f| *f != Family::Limits).collect();
        trial
    };
    let trials = (1..).map(trial);
    let tight = trials.filter(|trial| trial.config().tight);
    let (mut orders, mut samples, mut both) = (0, 0, 0);
    for trial in tight.take(8) {
        let outcome = trial.run().unwrap();
        assert_sound(&outcome, &trial.to_string());
        orders += outcome.orders;
        samples += outcome.counts.samples;
        both += outcome.counts.samples_both;
    }
    assert!(orders > 4_000, "{orders} orders");
    // Samples are a fifth of a second apart: five minutes. Which worlds have that much time is random.
    assert!(samples > 5 * 300, "{samples} samples in healthy time");
    assert!(both * 100 >= samples * 95, "{both} of {samples} samples");
}
