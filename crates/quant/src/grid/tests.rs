//! Grids: rounding, bounds, and which levels are kept from one grid to the next.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::*;
use crate::number::Exact;

const TOUCH: Touch = Touch {
    bid: 22_394,
    ask: 22_404,
};

fn skewed_by(position: f64) -> Skewed<f64> {
    Skewed {
        half_spread: 15.5,
        skew: 0.5,
        position,
        max_position: 20.0,
        levels: 3,
    }
}

/// 15.5 rounds to 16 and 22389.5 to 22390: half to even. Rust's own rounding would differ.
#[test]
fn levels_are_multiples_of_the_interval() {
    let made = skewed(TOUCH, &skewed_by(-12.0)).unwrap();
    assert_eq!(made.interval, 16);
    assert!((made.reservation - 22_405.0).abs() < 1e-12);
    assert_eq!(made.grid.bids, [22_384, 22_368, 22_352]);
    assert_eq!(made.grid.asks, [22_432, 22_448, 22_464]);
    let exact = |value: f64| Exact::from_float(value).unwrap();
    let by = Skewed {
        half_spread: exact(15.5),
        skew: exact(0.5),
        position: exact(-12.0),
        max_position: exact(20.0),
        levels: 3,
    };
    assert_eq!(skewed(TOUCH, &by).unwrap().grid, made.grid);
}

#[test]
fn a_full_position_empties_the_side_that_adds_to_it() {
    let long = skewed(TOUCH, &skewed_by(20.0)).unwrap().grid;
    assert!(long.bids.is_empty() && long.asks.len() == 3);
    let short = skewed(TOUCH, &skewed_by(-20.0)).unwrap().grid;
    assert!(short.asks.is_empty() && short.bids.len() == 3);
    let nearly = skewed(TOUCH, &skewed_by(19.999)).unwrap().grid;
    assert_eq!(nearly.bids.len(), 3);
}

#[test]
fn quotes_are_never_better_than_the_touch_nor_below_one_tick() {
    let narrow = Skewed {
        half_spread: 0.2,
        ..skewed_by(0.0)
    };
    let made = skewed(TOUCH, &narrow).unwrap();
    assert_eq!(
        (made.interval, made.grid.bids[0], made.grid.asks[0]),
        (1, 22_394, 22_404)
    );
    let low = Touch { bid: 3, ask: 4 };
    let made = skewed(
        low,
        &Skewed {
            levels: 10,
            ..narrow
        },
    )
    .unwrap();
    assert_eq!(made.grid.bids, [3, 2, 1]);
    let wide = Skewed {
        half_spread: 50.0,
        ..skewed_by(0.0)
    };
    assert!(skewed(low, &wide).unwrap().grid.bids.is_empty());
}

#[test]
fn levels_in_both_grids_are_kept() {
    let current = Grid {
        bids: vec![100, 90, 80],
        asks: vec![110],
    };
    let target = Grid {
        bids: vec![90, 80, 70],
        asks: vec![],
    };
    let made = changes(&current, &target);
    assert_eq!(
        made.cancel,
        Grid {
            bids: vec![100],
            asks: vec![110]
        }
    );
    assert_eq!(
        made.place,
        Grid {
            bids: vec![70],
            asks: vec![]
        }
    );
    assert_eq!(changes(&target, &target), Changes::default());
}

#[test]
fn distances_and_sizes_grow_by_their_rules() {
    let even = distances(
        Distances::Even {
            first: 2.0,
            step: 0.5,
        },
        3,
    )
    .unwrap();
    assert_eq!(even, [2.0, 2.5, 3.0]);
    let geometric = distances(
        Distances::Geometric {
            first: 2.0,
            ratio: 2.0,
        },
        3,
    )
    .unwrap();
    assert_eq!(geometric, [2.0, 4.0, 8.0]);
    let rule = Sizes {
        first: 10.0,
        growth: 0.5,
        damping: 0.1,
    };
    assert_eq!(sizes(&rule, -5.0, 3).unwrap(), [10.0, 15.0, 20.0]);
    assert!((sizes(&rule, 10.0, 1).unwrap()[0] - 10.0 * libm::exp(-1.0)).abs() < 1e-12);
    assert_eq!(total_within(&[5, 5, 5], 14), 2);
    assert_eq!(total_within(&[5, 5, 5], 15), 3);
    assert_eq!(total_within(&[u64::MAX, 1], u64::MAX), 1);
}

#[test]
fn bad_input_is_refused() {
    let crossed = Touch { bid: 5, ask: 5 };
    assert!(skewed(crossed, &skewed_by(0.0)).is_err());
    assert!(skewed(Touch { bid: 0, ask: 5 }, &skewed_by(0.0)).is_err());
    for bad in [f64::NAN, f64::INFINITY] {
        assert!(skewed(TOUCH, &skewed_by(bad)).is_err());
        assert!(
            skewed(
                TOUCH,
                &Skewed {
                    half_spread: bad,
                    ..skewed_by(0.0)
                }
            )
            .is_err()
        );
    }
    assert!(
        skewed(
            TOUCH,
            &Skewed {
                half_spread: -1.0,
                ..skewed_by(0.0)
            }
        )
        .is_err()
    );
    assert!(
        skewed(
            TOUCH,
            &Skewed {
                half_spread: 1e300,
                ..skewed_by(0.0)
            }
        )
        .is_err()
    );
    assert!(
        skewed(
            TOUCH,
            &Skewed {
                levels: 10_001,
                ..skewed_by(0.0)
            }
        )
        .is_err()
    );
    assert!(
        distances(
            Distances::Geometric {
                first: 1.0,
                ratio: 1.0
            },
            3
        )
        .is_err()
    );
    assert!(
        distances(
            Distances::Geometric {
                first: 1.0,
                ratio: 1e300
            },
            3
        )
        .is_err()
    );
    let rule = Sizes {
        first: 0.0,
        growth: 0.0,
        damping: 0.0,
    };
    assert!(sizes(&rule, 0.0, 1).is_err());
}
