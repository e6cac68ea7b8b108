//! A calm hour: equal for equal seeds, both sides quoted, fills, exact balances.

use cambist_sim::{WorldConfig, run};

use crate::{assert_sound, minutes};

#[test]
fn an_hour_is_equal_for_equal_seeds_and_differs_for_others() {
    let hour = |seed| run(WorldConfig::calm(seed, "ladder")).unwrap();
    let (one, two, other) = (hour(1), hour(1), hour(2));
    assert_eq!(one, two, "nothing but the seed decides");
    assert_ne!(one.trace_hash, other.trace_hash);
    assert!(one.simulated_ms >= 3_600_000);
    for outcome in [one, other] {
        let what = format!("ladder, seed {}", outcome.seed);
        assert_sound(&outcome, &what);
        assert_quoting(&outcome, &what);
    }
}

#[test]
fn bands_quote_through_a_calm_hour() {
    let outcome = run(WorldConfig::calm(3, "bands")).unwrap();
    assert_sound(&outcome, "bands");
    assert_quoting(&outcome, "bands");
}

/// Volatility and intensity are estimated, and inventory stays within its bound.
#[test]
fn glft_quotes_through_a_calm_hour() {
    let outcome = run(WorldConfig::calm(3, "glft")).unwrap();
    assert_sound(&outcome, "glft");
    assert_quoting(&outcome, "glft");
}

#[test]
fn two_strategies_share_a_market_and_an_account_trades_two() {
    let of = |config| run(minutes(10, config)).unwrap();
    let one = of(WorldConfig::calm(4, "ladder"));
    let shared = of(WorldConfig::calm(4, "ladder").shared());
    assert_sound(&shared, "shared");
    assert!(shared.orders > one.orders, "both strategies quote");
    let twofold = of(WorldConfig::calm(4, "ladder").twofold());
    assert_sound(&twofold, "twofold");
    assert_eq!(
        twofold.summary.residual_units.len(),
        3,
        "every token is compared"
    );
    assert!(twofold.quoted_ratio >= 0.8, "{}", twofold.quoted_ratio);
}

fn assert_quoting(outcome: &cambist_sim::Outcome, what: &str) {
    let ratio = outcome.summary.quoted_both_sides_ratio;
    assert!(
        ratio >= 0.8,
        "{what}: both sides quoted {ratio} of the time"
    );
    assert!(outcome.fills > 200, "{what}: {} fills", outcome.fills);
    assert_eq!(
        outcome.counts.taken, outcome.orders,
        "{what}: nothing is lost in calm"
    );
}
