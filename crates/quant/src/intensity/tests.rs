//! Estimates from data generated with known intensities.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::depths::{half_ticks, whole_ticks};
use super::likelihood::{Observation, fit};
use super::live::{Bounds, Calibration, Prior, Source};
use super::*;
use crate::simulation::Random;

fn seen(distance: f64, fills: f64, exposure_s: f64) -> Observation {
    Observation {
        distance,
        fills,
        exposure_s,
    }
}

/// A Poisson-distributed count.
fn poisson(random: &mut Random, mean: f64) -> u32 {
    let (mut time, mut count) = (random.exponential(), 0);
    while time < mean {
        time += random.exponential();
        count += 1;
    }
    count
}

#[test]
fn exact_data_give_exact_estimates() {
    for (scale, decay) in [(1.5, 0.8), (0.01, 4.0), (3.0, -0.3), (2.0, 0.0)] {
        let at = |d: f64| seen(d, 1e4 * scale * libm::exp(-decay * d), 1e4);
        let found = fit(&[at(0.5), at(1.0), at(2.5), at(4.0)])
            .unwrap()
            .intensity;
        assert!((found.scale / scale - 1.0).abs() < 1e-11, "{found:?}");
        assert!((found.decay - decay).abs() < 1e-11, "{found:?}");
        let line = log_linear([0.5, 1.0, 4.0].map(|d| (d, scale * libm::exp(-decay * d))));
        assert!((line.unwrap().decay - decay).abs() < 1e-11);
    }
}

/// The stated errors match the scatter of many estimates.
#[test]
fn standard_errors_are_right() {
    let mut random = Random::new(4);
    let (mut inside, mut biased) = (0, 0.0);
    for _ in 0..400 {
        let mut draw = |d: f64| {
            let fills = poisson(&mut random, 300.0 * 0.4 * libm::exp(-0.9 * d));
            seen(d, f64::from(fills), 300.0)
        };
        let observations = [draw(0.2), draw(1.0), draw(2.0), draw(6.0)];
        let found = fit(&observations).unwrap();
        inside += i32::from((found.intensity.decay - 0.9).abs() < found.decay_error);
        let rates = observations.map(|seen| (seen.distance, seen.fills / seen.exposure_s));
        biased += log_linear(rates).unwrap().decay - 0.9;
    }
    assert!(
        (245..305).contains(&inside),
        "{inside} of 400 within one error"
    );
    assert!(
        biased / 400.0 < -0.02,
        "least squares drop empty bins: {biased}"
    );
}

#[test]
fn data_without_information_give_no_estimate() {
    for bad in [
        vec![],
        vec![seen(1.0, 0.0, 10.0)],
        vec![seen(1.0, 5.0, 10.0)],
        vec![seen(1.0, 5.0, 10.0), seen(2.0, 0.0, 10.0)],
        vec![seen(1.0, 0.0, 10.0), seen(2.0, 5.0, 10.0)],
        vec![seen(1.0, 5.0, 0.0), seen(2.0, 5.0, 1.0)],
        vec![seen(f64::NAN, 5.0, 1.0), seen(2.0, 5.0, 1.0)],
        vec![seen(1.0, -5.0, 1.0), seen(2.0, 5.0, 1.0)],
        vec![seen(1.0, 5.0, f64::INFINITY), seen(2.0, 5.0, 1.0)],
    ] {
        assert!(fit(&bad).is_err(), "{bad:?}");
    }
    assert!(log_linear([(1.0, 1.0), (1.0, 2.0)]).is_err());
    assert!(log_linear([(1.0, 1.0), (2.0, 0.0)]).is_err());
    assert!(log_linear([(1.0, f64::NAN), (2.0, 1.0)]).is_err());
}

#[test]
fn arrivals_count_in_the_bins_they_would_have_filled() {
    // Indices 0, 1, 1 (2.5 goes to the even 2), −1, and one beyond the bins.
    let counted = half_ticks(&[0.5, 1.0, 1.25, 0.1, 99.0], 10).unwrap();
    assert_eq!(counted.counts, [2]);
    let counted = whole_ticks(&[0.5, 0.6, 2.0, -3.0], 3).unwrap();
    assert_eq!(counted.counts, [2, 1, 0]);
    assert!(half_ticks(&[f64::NAN], 10).is_err() && whole_ticks(&[1.0], 0).is_err());
    assert!(counted.fit(3, 0.0).is_err());
}

const PRIOR: Prior = Prior {
    scale: 0.1,
    decay: 0.5,
    fills: 10.0,
    decay_sd: 0.25,
};
const BOUNDS: Bounds = Bounds {
    scale: (1e-4, 10.0),
    decay: (0.05, 5.0),
};

#[test]
fn the_prior_answers_first_then_the_fills_and_the_bounds_always_hold() {
    let mut random = Random::new(8);
    let mut live = Calibration::new(0.5, 20, 1e6).unwrap();
    let before = live.estimate(&PRIOR, &BOUNDS).unwrap();
    assert_eq!(before.source, Source::Prior);
    assert!((before.intensity.scale - 0.1).abs() < 1e-9);
    assert!((before.intensity.decay - 0.5).abs() < 1e-9);
    // A day without a fill: a lower intensity and still a decay.
    let mut without_fills = live.clone();
    without_fills.rested(1.0, 1e5).unwrap();
    let without_fills = without_fills.estimate(&PRIOR, &BOUNDS).unwrap();
    assert!(without_fills.intensity.scale < 1e-3 && without_fills.source == Source::Prior);
    assert!(
        (0.5..1.3).contains(&without_fills.intensity.decay),
        "{without_fills:?}"
    );
    for _ in 0..2_000 {
        let distance = 4.0 * random.unit();
        live.rested(distance, 30.0).unwrap();
        let fills = poisson(&mut random, 30.0 * 0.3 * libm::exp(-1.2 * distance));
        for _ in 0..fills {
            live.filled(distance).unwrap();
        }
    }
    let after = live.estimate(&PRIOR, &BOUNDS).unwrap();
    assert_eq!(after.source, Source::Fitted);
    assert!((after.intensity.decay / 1.2 - 1.0).abs() < 0.1, "{after:?}");
    assert!(
        (after.intensity.scale / 0.3 - 1.0).abs() < 0.15,
        "{after:?}"
    );
    let narrow = Bounds {
        decay: (0.1, 0.7),
        ..BOUNDS
    };
    let held = live.estimate(&PRIOR, &narrow).unwrap();
    assert_eq!(held.source, Source::Bounded);
    assert!(held.intensity.decay <= 0.7);
    live.decay_by(1e9).unwrap();
    let decayed = live.estimate(&PRIOR, &BOUNDS).unwrap();
    assert!((decayed.intensity.decay - 0.5).abs() < 1e-6);
}

#[test]
fn bad_input_changes_nothing() {
    let mut live = Calibration::new(0.5, 20, 100.0).unwrap();
    let before = live.clone();
    assert!(live.rested(f64::NAN, 1.0).is_err() && live.rested(1.0, -1.0).is_err());
    assert!(live.filled(f64::INFINITY).is_err() && live.decay_by(f64::NAN).is_err());
    live.filled(1e9).unwrap();
    assert_eq!(live, before);
    assert!(Calibration::new(0.0, 20, 1.0).is_err() && Calibration::new(1.0, 1, 1.0).is_err());
    for prior in [
        Prior {
            scale: 0.0,
            ..PRIOR
        },
        Prior {
            decay: f64::NAN,
            ..PRIOR
        },
        Prior {
            fills: 0.0,
            ..PRIOR
        },
        Prior {
            decay_sd: 0.0,
            ..PRIOR
        },
    ] {
        assert!(live.estimate(&prior, &BOUNDS).is_err());
    }
    let crossed = Bounds {
        decay: (2.0, 1.0),
        ..BOUNDS
    };
    assert!(live.estimate(&PRIOR, &crossed).is_err());
}
