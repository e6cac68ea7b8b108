//! The quotes against results of other programs, against independent computations, and against
//! their limits.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::*;

const FIGURE: Parameters = Parameters {
    sigma: 0.3,
    intensity: 0.9,
    decay: 0.3,
    risk_aversion: 0.01,
    drift: 0.0,
    impact: 0.0,
    fee: 0.0,
    bound: 30,
};

fn near(a: f64, b: f64, bound: f64) {
    assert!((a - b).abs() <= bound, "{a} {b}");
}

/// The expected values are the exponential of the matrix computed with 80 digits, at 600 s.
#[test]
fn ten_minutes_before_the_end() {
    let table = FIGURE.with_time_left(600.0).unwrap();
    for (q, bid) in [
        (-30, 0.427_056_150_780_019_74),
        (-29, 1.133_791_125_207_895_6),
        (0, 3.313_045),
        (29, 6.130_908),
    ] {
        let bound = if q < -1 { 1e-9 } else { 1e-6 };
        near(table.bid_distance(q).unwrap(), bid, bound);
        near(table.ask_distance(-q).unwrap(), bid, bound);
    }
    near(
        table.certainty_equivalent(0).unwrap(),
        1_290.625_095_246_797,
        1e-9,
    );
    near(table.smallest_eigenvalue(), -0.644_734_429_910_267_9, 1e-12);
}

/// A general eigensolver in double precision is 2,141 ticks off here.
#[test]
fn steep_tails_are_as_accurate_as_the_middle() {
    let steep = Parameters {
        sigma: 1.0,
        intensity: 0.2,
        ..FIGURE
    };
    let table = steep.asymptotic().unwrap();
    for (q, bid) in [
        (-30, -6.790_842_597_917_407),
        (-29, -6.577_504_857_428_94),
        (28, 13.135_469_422_027_114),
        (29, 13.348_807_163_125_18),
    ] {
        near(table.bid_distance(q).unwrap(), bid, 1e-9);
    }
    near(
        table.smallest_eigenvalue(),
        -0.134_421_366_479_455_63,
        1e-13,
    );
}

#[test]
fn long_before_the_end_the_quotes_are_the_asymptotic_ones() {
    for parameters in [
        FIGURE,
        Parameters {
            drift: 0.01,
            bound: 10,
            ..FIGURE
        },
        Parameters {
            impact: 0.5,
            bound: 10,
            ..FIGURE
        },
        Parameters {
            sigma: 1.0,
            intensity: 0.2,
            ..FIGURE
        },
    ] {
        let limit = parameters.asymptotic().unwrap();
        // Both methods: step by step, and from the lowest state alone.
        for time_left in [3_000.0, 1e9] {
            let table = parameters.with_time_left(time_left).unwrap();
            for q in -30..=30 {
                let pairs = [
                    (table.bid_distance(q), limit.bid_distance(q)),
                    (table.ask_distance(q), limit.ask_distance(q)),
                ];
                for (one, other) in pairs {
                    assert_eq!(one.is_some(), other.is_some());
                    if let (Some(one), Some(other)) = (one, other) {
                        near(one, other, 1e-9);
                    }
                }
            }
            assert!(limit.certainty_equivalent(0).is_none());
        }
    }
}

/// Both methods agree on the value as well.
#[test]
fn the_value_is_the_same_from_both_sides_of_the_limit() {
    let parameters = Parameters {
        impact: 0.5,
        drift: 0.005,
        bound: 5,
        ..FIGURE
    };
    let model = Model::new(&parameters).unwrap();
    let gap = crate::spectrum::ground(&model.diagonal(), model.coupling)
        .unwrap()
        .gap;
    let (before, after) = (59.9 / gap, 60.1 / gap);
    let earned = -parameters.asymptotic().unwrap().smallest_eigenvalue() / parameters.decay;
    for q in -5..=5 {
        let value = |time| {
            let table = parameters.with_time_left(time).unwrap();
            table.certainty_equivalent(q).unwrap()
        };
        near(
            value(after) - value(before),
            earned * (after - before),
            1e-9,
        );
    }
}

#[test]
fn a_path_equals_separate_solutions_at_each_time() {
    let parameters = Parameters {
        drift: -0.02,
        bound: 8,
        ..FIGURE
    };
    let mut path = parameters.path().unwrap();
    for time in [0.0, 0.5, 0.5, 30.0, 600.0, 1e6] {
        let (one, other) = (
            path.at(time).unwrap(),
            parameters.with_time_left(time).unwrap(),
        );
        for q in -8..8 {
            near(
                one.bid_distance(q).unwrap(),
                other.bid_distance(q).unwrap(),
                1e-11,
            );
        }
    }
    let mut path = parameters.path().unwrap();
    path.at(5.0).unwrap();
    assert!(path.at(4.0).is_err());
}

#[test]
fn beyond_the_bound_it_quotes_as_at_the_bound() {
    let table = Parameters { bound: 2, ..FIGURE }.asymptotic().unwrap();
    assert_eq!(table.bid_distance(2), None);
    assert_eq!(table.bid_distance(i64::MAX), None);
    assert_eq!(table.ask_distance(-2), None);
    assert_eq!(table.ask_distance(i64::MIN), None);
    assert_eq!(table.bid_distance(-7), table.bid_distance(-2));
    assert_eq!(table.ask_distance(i64::MAX), table.ask_distance(2));
}

/// A risk-neutral quoter quotes 1/k wherever the bound is far, and its value is constant there.
#[test]
fn without_risk_aversion_only_the_bound_moves_quotes() {
    let table = Parameters {
        risk_aversion: 0.0,
        ..FIGURE
    }
    .with_time_left(60.0)
    .unwrap();
    near(table.bid_distance(0).unwrap(), 1.0 / 0.3, 1e-5);
    let nearly = Parameters {
        risk_aversion: 1e-9,
        ..FIGURE
    }
    .with_time_left(60.0)
    .unwrap();
    for q in -30..30 {
        near(
            table.bid_distance(q).unwrap(),
            nearly.bid_distance(q).unwrap(),
            1e-5,
        );
    }
}

/// A fee moves the quotes out by itself, and further because a fill earns less.
#[test]
fn a_fee_moves_both_quotes_out_and_a_rebate_in() {
    let free = FIGURE.asymptotic().unwrap();
    let dear = Parameters { fee: 0.5, ..FIGURE }.asymptotic().unwrap();
    let paid = Parameters {
        fee: -0.5,
        ..FIGURE
    }
    .asymptotic()
    .unwrap();
    let bid = |table: &Table| table.bid_distance(0).unwrap();
    assert!(bid(&dear) > bid(&free) + 0.5 && bid(&paid) < bid(&free));
}

/// Cell outputs of hftbacktest's notebook "GLFT Market Making Model and Grid Trading".
#[test]
fn the_notebook_s_half_spread_and_skew() {
    let made = gueant_2016(
        10.69,
        2.986_162_360_812_285,
        0.042_357_411_150_840_49,
        0.05,
        1.0,
        0.05,
    )
    .unwrap();
    near(made.half_spread, 20.472_085_338_443_71, 1e-12);
    near(made.skew, 9.763_268_650_292_27, 1e-12);
}

#[test]
fn the_closed_form_is_close_where_inventory_is_small() {
    let exact = FIGURE.asymptotic().unwrap();
    let closed = closed_form(&FIGURE).unwrap();
    near(closed.bid_distance(0), exact.bid_distance(0).unwrap(), 0.01);
    assert!((closed.bid_distance(-30) - exact.bid_distance(-30).unwrap()).abs() > 0.5);
    near(closed.spread(), 6.625_830_397_129_058, 1e-12);
}

#[test]
fn out_of_range_input_is_refused_by_name() {
    let refused = |parameters: Parameters| parameters.asymptotic().unwrap_err().to_string();
    let cases = [
        (
            Parameters {
                sigma: f64::NAN,
                ..FIGURE
            },
            "sigma",
        ),
        (
            Parameters {
                sigma: -1.0,
                ..FIGURE
            },
            "sigma",
        ),
        (
            Parameters {
                intensity: 0.0,
                ..FIGURE
            },
            "intensity",
        ),
        (
            Parameters {
                decay: f64::INFINITY,
                ..FIGURE
            },
            "decay",
        ),
        (
            Parameters {
                risk_aversion: -0.1,
                ..FIGURE
            },
            "risk aversion",
        ),
        (
            Parameters {
                drift: f64::NAN,
                ..FIGURE
            },
            "drift",
        ),
        (
            Parameters {
                impact: -0.1,
                ..FIGURE
            },
            "impact",
        ),
        (Parameters { bound: 0, ..FIGURE }, "inventory bound"),
        (
            Parameters {
                bound: 2_001,
                ..FIGURE
            },
            "inventory bound",
        ),
        (Parameters { fee: 1e5, ..FIGURE }, "fill intensity"),
        (
            Parameters {
                sigma: 1e200,
                ..FIGURE
            },
            "sigma",
        ),
    ];
    for (parameters, name) in cases {
        let message = refused(parameters);
        assert!(message.starts_with(name), "{message}");
    }
    assert!(FIGURE.with_time_left(-1.0).is_err());
    assert!(FIGURE.with_time_left(f64::NAN).is_err());
    assert!(
        closed_form(&Parameters {
            drift: 0.1,
            sigma: 0.0,
            ..FIGURE
        })
        .is_err()
    );
    // Neither converged nor within the limit of work: an error, not an endless computation.
    let endless = Parameters {
        sigma: 1e-9,
        bound: 2_000,
        ..FIGURE
    };
    assert!(endless.with_time_left(1e6).is_err());
}
