//! Statistics of known curves, and of curves without skill.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::sharpe::{Moments, expected_best, variance_of};
use super::*;
use crate::simulation::Random;

fn times(n: usize) -> Vec<i64> {
    (0..n)
        .map(|i| i64::try_from(i).unwrap() * 3_600_000_000_000)
        .collect()
}

#[test]
fn a_short_curve_by_hand() {
    let values = [0.0, 2.0, 1.0, 4.0, 3.0];
    let equity = Equity::new(&times(5), &values).unwrap();
    assert!((equity.samples_per_day() - 24.0).abs() < 1e-12);
    assert!((equity.days() - 4.0 / 24.0).abs() < 1e-12);
    assert!((equity.total_return() - 3.0).abs() < 1e-12);
    assert!((equity.max_drawdown() - 1.0).abs() < 1e-12);
    // Changes 2, −1, 3, −1: mean 0.75, squares about it 12.75.
    let sd = libm::sqrt(12.75 / 3.0);
    let sharpe = 0.75 / sd * libm::sqrt(24.0 * 365.0);
    assert!((equity.sharpe(365.0).unwrap() - sharpe).abs() < 1e-9);
    let sortino = 0.75 / libm::sqrt(0.5) * libm::sqrt(24.0 * 365.0);
    assert!((equity.sortino(365.0).unwrap() - sortino).abs() < 1e-9);
    assert!((equity.annual_return(365.0).unwrap() - 18.0 * 365.0).abs() < 1e-9);
    assert!((equity.return_over_drawdown().unwrap() - 3.0).abs() < 1e-12);
}

#[test]
fn curves_without_variation_have_no_ratio() {
    let rising = Equity::new(&times(4), &[0.0, 1.0, 2.0, 3.0]).unwrap();
    assert!(rising.sharpe(365.0).is_err() && rising.sortino(365.0).is_err());
    assert!(rising.return_over_drawdown().is_err());
    assert!(Equity::new(&times(2), &[0.0, 1.0]).is_err());
    assert!(Equity::new(&times(3), &[0.0, f64::NAN, 1.0]).is_err());
    assert!(Equity::new(&[0, 1, 3], &[0.0, 1.0, 2.0]).is_err());
    assert!(Equity::new(&[0, 0, 0], &[0.0, 1.0, 2.0]).is_err());
    assert!(Equity::new(&[i64::MIN, i64::MAX, 0], &[0.0, 1.0, 2.0]).is_err());
    let good = Equity::new(&times(4), &[0.0, 1.0, -2.0, 3.0]).unwrap();
    assert!(good.sharpe(0.0).is_err() && good.annual_return(f64::NAN).is_err());
}

/// Many random histories without skill: the errors are right, and the best of a hundred looks good
/// until it is deflated.
#[test]
fn the_best_of_many_without_skill_is_deflated() {
    let mut random = Random::new(17);
    let mut made = Vec::new();
    for _ in 0..1_000 {
        let returns: Vec<f64> = (0..250).map(|_| random.normal()).collect();
        made.push(Moments::new(&returns).unwrap());
    }
    let inside = made
        .iter()
        .filter(|m| m.sharpe().abs() < m.sharpe_error())
        .count();
    assert!(
        (640..725).contains(&inside),
        "{inside} of 1000 within one error"
    );
    let (mut best, mut fooled, mut deflated) = (0.0, 0, 0);
    for trials in made.chunks(100) {
        let ratios: Vec<f64> = trials.iter().map(Moments::sharpe).collect();
        let variance = variance_of(&ratios).unwrap();
        let first = |a: &&Moments, b: &&Moments| a.sharpe().total_cmp(&b.sharpe());
        let winner = trials.iter().max_by(first).unwrap();
        best += winner.sharpe() / expected_best(100, variance).unwrap() / 10.0;
        fooled += i32::from(winner.probability_above(0.0).unwrap() > 0.95);
        deflated += i32::from(winner.deflated(100, variance).unwrap() > 0.95);
    }
    assert!((0.85..1.15).contains(&best), "{best}");
    assert!(fooled == 10 && deflated <= 1, "{fooled} {deflated}");
}

/// The example of the paper: an annual ratio of 2.5 over five years of daily returns, skewness −3,
/// kurtosis 10, the best of 100 trials with a variance of ½ a year: 0.9004.
#[test]
fn the_paper_s_example() {
    let year = 250.0;
    let moments = Moments {
        count: 1_250.0,
        mean: 2.5 / libm::sqrt(year),
        sd: 1.0,
        skewness: -3.0,
        kurtosis: 10.0,
    };
    let deflated = moments.deflated(100, 0.5 / year).unwrap();
    assert!((deflated - 0.9004).abs() < 5e-4, "{deflated}");
    assert!(expected_best(1, 1.0).unwrap().abs() < 1e-300);
    assert!(expected_best(0, 1.0).is_err() && expected_best(5, f64::NAN).is_err());
    assert!(Moments::new(&[1.0]).is_err() && Moments::new(&[1.0, 1.0]).is_err());
    assert!(variance_of(&[]).is_err());
}
