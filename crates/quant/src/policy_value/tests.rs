//! Policies against each other: by the equations, and by simulated paths that share no code with
//! them.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::*;
use crate::avellaneda_stoikov::{Market, Variant, quotes};
use crate::glft::{Parameters, closed_form};
use crate::simulation::Random;

const SETTING: Setting = Setting {
    sigma: 2.0,
    intensity: 140.0,
    decay: 1.5,
    risk_aversion: 0.1,
    bound: 10,
    horizon: 1.0,
};
const HALF_SPREAD: f64 = 1.490_770_422_751_423_1 / 2.0;

fn parameters(of: &Setting) -> Parameters {
    Parameters {
        sigma: of.sigma,
        intensity: of.intensity,
        decay: of.decay,
        risk_aversion: of.risk_aversion,
        drift: 0.0,
        impact: 0.0,
        fee: 0.0,
        bound: of.bound,
    }
}

fn stoikov(of: &Setting, time_left: f64, q: i64) -> Distances {
    let market = Market {
        mid: 0.0,
        sigma: of.sigma,
        time_left,
        decay: of.decay,
        risk_aversion: of.risk_aversion,
    };
    let made = quotes(&market, q as f64, Variant::Published2008).unwrap();
    (made.bid_distance, made.ask_distance)
}

/// Quotes by time left (columns of `slice` seconds) and inventory.
fn table(
    of: &Setting,
    slices: u32,
    mut policy: impl FnMut(f64, i64) -> Distances,
) -> Vec<Vec<Distances>> {
    let bound = i64::from(of.bound);
    (0..slices)
        .map(|slice| {
            let time_left = of.horizon * (f64::from(slice) + 0.5) / f64::from(slices);
            (-bound..=bound).map(|q| policy(time_left, q)).collect()
        })
        .collect()
}

/// Exact optimal quotes at increasing times left.
fn optimal(of: &Setting) -> impl FnMut(f64, i64) -> Distances {
    let mut path = parameters(of).path().unwrap();
    let mut known = (-1.0, path.at(0.0).unwrap());
    move |time_left, q| {
        if known.0 < time_left {
            known = (time_left, path.at(time_left).unwrap());
        }
        let side = |distance: Option<f64>| distance.unwrap_or(0.0);
        (side(known.1.bid_distance(q)), side(known.1.ask_distance(q)))
    }
}

#[test]
fn the_optimum_reaches_its_own_value_and_nothing_exceeds_it() {
    let value = parameters(&SETTING).with_time_left(1.0).unwrap();
    let value = value.certainty_equivalent(0).unwrap();
    let mut exact = optimal(&SETTING);
    let exact = certainty_equivalent(&SETTING, 500, |t, q| Ok(exact(t, q))).unwrap();
    assert!((exact - value).abs() < 1e-6, "{exact} {value}");
    let closed = closed_form(&parameters(&SETTING)).unwrap();
    let closed = certainty_equivalent(&SETTING, 500, |_, q| {
        Ok((closed.bid_distance(q), closed.ask_distance(q)))
    });
    let stoikov = certainty_equivalent(&SETTING, 500, |t, q| Ok(stoikov(&SETTING, t, q)));
    let symmetric = certainty_equivalent(&SETTING, 500, |_, _| Ok((HALF_SPREAD, HALF_SPREAD)));
    for (computed, known) in [
        (closed, 64.065_784_185_174_66),
        (stoikov, 61.400_488_218_426_744),
        (symmetric, 56.846_745_526_888_654),
    ] {
        let computed = computed.unwrap();
        assert!(
            (computed - known).abs() < 1e-5 * known,
            "{computed} {known}"
        );
        assert!(computed < value);
    }
}

/// The certainty equivalent of sampled paths and its standard error. Time runs in slices with
/// constant quotes; within a slice fills follow each other after exponential times.
fn sampled(of: &Setting, quotes: &[Vec<Distances>], paths: u32, seed: u64) -> (f64, f64) {
    let mut random = Random::new(seed);
    let slice = of.horizon / quotes.len() as f64;
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..paths {
        let (mut q, mut cash, mut mid) = (0_i64, 0.0, 0.0);
        for cells in quotes.iter().rev() {
            let mut left = slice;
            loop {
                let (bid, ask) = cells[usize::try_from(q + i64::from(of.bound)).unwrap()];
                let rate = |quoted: bool, distance: f64| {
                    if quoted {
                        of.intensity * libm::exp(-of.decay * distance)
                    } else {
                        0.0
                    }
                };
                let buys = rate(q < i64::from(of.bound), bid);
                let sells = rate(q > -i64::from(of.bound), ask);
                let wait = random.exponential() / (buys + sells);
                let passed = wait.min(left);
                mid += of.sigma * libm::sqrt(passed) * random.normal();
                left -= passed;
                if left <= 0.0 {
                    break;
                }
                if random.unit() * (buys + sells) < buys {
                    q += 1;
                    cash -= mid - bid;
                } else {
                    q -= 1;
                    cash += mid + ask;
                }
            }
        }
        let utility = libm::exp(-of.risk_aversion * (cash + q as f64 * mid - 60.0));
        sum += utility;
        squares += utility * utility;
    }
    let n = f64::from(paths);
    let mean = sum / n;
    let error = libm::sqrt((squares / n - mean * mean) / n) / mean;
    (
        60.0 - libm::log(mean) / of.risk_aversion,
        error / of.risk_aversion,
    )
}

#[test]
fn simulated_the_optimum_is_within_four_errors_of_its_value_and_above_the_others() {
    let value = parameters(&SETTING).with_time_left(1.0).unwrap();
    let value = value.certainty_equivalent(0).unwrap();
    let exact = table(&SETTING, 200, optimal(&SETTING));
    let (glft, glft_error) = sampled(&SETTING, &exact, 8_000, 1);
    assert!(
        (glft - value).abs() < 4.0 * glft_error,
        "{glft} ± {glft_error}: {value}"
    );
    let quotes = table(&SETTING, 200, |t, q| stoikov(&SETTING, t, q));
    let (stoikov, stoikov_error) = sampled(&SETTING, &quotes, 8_000, 2);
    assert!(
        (stoikov - 61.4005).abs() < 4.0 * stoikov_error + 0.02,
        "{stoikov}"
    );
    let quotes = table(&SETTING, 1, |_, _| (HALF_SPREAD, HALF_SPREAD));
    let (symmetric, symmetric_error) = sampled(&SETTING, &quotes, 8_000, 3);
    assert!(
        (symmetric - 56.8467).abs() < 4.0 * symmetric_error,
        "{symmetric}"
    );
    assert!(glft - stoikov > 3.0 * (glft_error + stoikov_error));
    assert!(stoikov - symmetric > 3.0 * (stoikov_error + symmetric_error));
}

#[test]
fn out_of_range_input_is_refused() {
    let flat = |_: f64, _: i64| Ok((1.0, 1.0));
    for bad in [
        Setting {
            risk_aversion: 0.0,
            ..SETTING
        },
        Setting {
            sigma: f64::NAN,
            ..SETTING
        },
        Setting {
            horizon: 0.0,
            ..SETTING
        },
        Setting {
            bound: 0,
            ..SETTING
        },
        Setting {
            bound: 201,
            ..SETTING
        },
    ] {
        assert!(certainty_equivalent(&bad, 10, flat).is_err(), "{bad:?}");
    }
    assert!(certainty_equivalent(&SETTING, 0, flat).is_err());
    assert!(certainty_equivalent(&SETTING, 10, |_, _| Ok((-1e9, 1.0))).is_err());
    assert!(certainty_equivalent(&SETTING, 10, |_, _| Ok((f64::NAN, 1.0))).is_err());
}
