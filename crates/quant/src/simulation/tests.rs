//! The tables of the published paper, and sampled paths against exact moments.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::*;

const JOURNAL: Experiment = Experiment {
    quoting: Quoting::Published2008,
    risk_aversion: 0.1,
    sigma: 2.0,
    decay: 1.5,
    intensity: 140.0,
    horizon: 1.0,
    step: 0.005,
    mid: 100.0,
    inventory: 0,
    cash: 0.0,
};

fn symmetric(of: &Experiment) -> Experiment {
    let spread = moments(of).unwrap().mean_spread;
    Experiment {
        quoting: Quoting::Symmetric { spread },
        ..*of
    }
}

fn journal() -> Vec<Experiment> {
    [0.1, 0.01, 1.0]
        .into_iter()
        .flat_map(|risk_aversion| {
            let inventory = Experiment {
                risk_aversion,
                ..JOURNAL
            };
            [inventory, symmetric(&inventory)]
        })
        .collect()
}

/// Tables 1 to 3 (pages 222 and 223): profit, its standard deviation, inventory, its standard
/// deviation, over 1,000 paths.
const TABLES: [[f64; 4]; 6] = [
    [65.0, 6.6, 0.08, 2.9],
    [68.4, 12.7, 0.26, 8.4],
    [68.6, 8.7, 0.12, 5.1],
    [68.8, 12.8, 0.09, 8.7],
    [31.4, 5.0, 0.02, 1.7],
    [44.0, 11.0, 0.00, 5.1],
];

#[test]
fn all_published_cells_are_within_three_standard_errors() {
    for (experiment, published) in journal().iter().zip(TABLES) {
        let exact = moments(experiment).unwrap();
        let cells = [
            (exact.mean_profit, exact.error_of_mean_profit(1e3)),
            (exact.std_profit, exact.error_of_std_profit(1e3)),
            (exact.mean_inventory, exact.error_of_mean_inventory(1e3)),
            (exact.std_inventory, exact.error_of_std_inventory(1e3)),
        ];
        for ((exact, error), published) in cells.into_iter().zip(published) {
            let z = (published - exact) / error;
            assert!(z.abs() < 3.0, "{experiment:?}: {published} against {exact}");
        }
    }
}

#[test]
fn a_hundred_thousand_paths_agree_with_the_exact_moments() {
    for (experiment, seed) in journal().iter().zip(1..) {
        let exact = moments(experiment).unwrap();
        let sampled = sample(experiment, 100_000, seed).unwrap();
        let pairs = [
            (
                sampled.mean_profit,
                exact.mean_profit,
                exact.error_of_mean_profit(1e5),
            ),
            (
                sampled.std_profit,
                exact.std_profit,
                exact.error_of_std_profit(1e5),
            ),
            (
                sampled.mean_inventory,
                exact.mean_inventory,
                exact.error_of_mean_inventory(1e5),
            ),
            (
                sampled.std_inventory,
                exact.std_inventory,
                exact.error_of_std_inventory(1e5),
            ),
        ];
        for (sampled, exact, error) in pairs {
            assert!(
                (sampled - exact).abs() < 4.0 * error,
                "{experiment:?}: {sampled} {exact}"
            );
        }
    }
}

/// The tolerance detects errors: each of these mistakes moves the mean profit by more than four
/// standard errors of 100,000 paths.
#[test]
fn wrong_formulas_are_far_outside_the_bar() {
    let exact = moments(&JOURNAL).unwrap();
    let bar = 4.0 * exact.error_of_mean_profit(1e5);
    let half_the_risk_aversion = Experiment {
        risk_aversion: 0.05,
        ..JOURNAL
    };
    let no_inventory_term_in_the_spread = Experiment {
        quoting: Quoting::Preprint2006,
        ..JOURNAL
    };
    for wrong in [half_the_risk_aversion, no_inventory_term_in_the_spread] {
        let off = moments(&wrong).unwrap().mean_profit - exact.mean_profit;
        assert!(off.abs() > bar, "{wrong:?}");
    }
    let crossing = sample(&JOURNAL, 20_000, 9).unwrap().share_crossing;
    assert!((0.15..0.22).contains(&crossing), "{crossing}");
}

#[test]
fn the_start_counts() {
    let later = Experiment {
        inventory: 3,
        cash: 50.0,
        ..JOURNAL
    };
    let (exact, sampled) = (moments(&later).unwrap(), sample(&later, 50_000, 5).unwrap());
    let off = sampled.mean_profit - exact.mean_profit;
    assert!(off.abs() < 4.0 * exact.error_of_mean_profit(5e4), "{off}");
    assert!((exact.mean_profit - 415.0).abs() < 5.0);
}

#[test]
fn bad_experiments_are_refused() {
    for bad in [
        Experiment {
            step: 2.5,
            ..JOURNAL
        },
        Experiment {
            step: 0.0,
            ..JOURNAL
        },
        Experiment {
            step: 1e-9,
            ..JOURNAL
        },
        Experiment {
            intensity: f64::NAN,
            ..JOURNAL
        },
        Experiment {
            inventory: i32::MIN,
            ..JOURNAL
        },
        Experiment {
            quoting: Quoting::Symmetric {
                spread: f64::INFINITY,
            },
            ..JOURNAL
        },
    ] {
        assert!(
            moments(&bad).is_err() && sample(&bad, 10, 1).is_err(),
            "{bad:?}"
        );
    }
    assert!(sample(&JOURNAL, 1, 1).is_err());
}
