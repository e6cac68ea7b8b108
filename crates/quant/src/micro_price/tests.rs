//! A chain that can be solved by hand, and a fit of generated quotes.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::*;
use crate::simulation::Random;

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-12, "{a} {b}");
}

/// Two states. From either, the chain goes to the other with probability one half, else the mid
/// moves, up by 1 from the second and down from the first, and the state stays the same.
#[test]
fn a_chain_that_is_solved_by_hand() {
    let counts = Counts {
        no_move: vec![vec![0.0, 1.0], vec![1.0, 0.0]],
        jump: vec![vec![1.0, 0.0], vec![0.0, 1.0]],
        moved: vec![vec![1.0, 0.0], vec![0.0, 1.0]],
    };
    let made = micro_price(&counts, &[-1.0, 1.0]).unwrap();
    // g = (g' ± 1)/2 with g' = −g: g = ±1/3; B maps (−g, g) to a third of it.
    near(made.first[1], 1.0 / 3.0);
    near(made.first[0], -1.0 / 3.0);
    let sixth: f64 = (0..6).map(|i| libm::pow(1.0 / 3.0, f64::from(i + 1))).sum();
    near(made.sixth[1], sixth);
    near(made.limit.unwrap()[1], 0.5);
    near(made.row_sums[0], 1.0);
}

#[test]
fn a_sum_that_does_not_converge_has_no_limit() {
    let counts = Counts {
        no_move: vec![vec![1.0]],
        jump: vec![vec![1.0]],
        moved: vec![vec![1.0]],
    };
    let made = micro_price(&counts, &[1.0]).unwrap();
    assert_eq!(made.limit, None);
    near(made.sixth[0], 6.0);
}

#[test]
fn invalid_chains_are_refused() {
    let good = Counts {
        no_move: vec![vec![1.0]],
        jump: vec![vec![1.0]],
        moved: vec![vec![1.0]],
    };
    let absorbing = Counts {
        jump: vec![vec![0.0]],
        moved: vec![vec![0.0]],
        ..good.clone()
    };
    let never = Counts {
        no_move: vec![vec![0.0]],
        ..absorbing.clone()
    };
    let ragged = Counts {
        moved: vec![vec![1.0, 1.0]],
        ..good.clone()
    };
    let negative = Counts {
        no_move: vec![vec![-1.0]],
        ..good.clone()
    };
    for bad in [absorbing, never, ragged, negative, Counts::default()] {
        assert!(micro_price(&bad, &[1.0]).is_err(), "{bad:?}");
    }
    assert!(micro_price(&good, &[f64::NAN]).is_err());
    assert!(micro_price(&good, &[]).is_err());
}

/// A mid that moves towards the heavier side: the adjustments rise with the imbalance, are
/// antisymmetric, and stay within the one tick that the mid moves.
#[test]
fn quotes_that_follow_their_imbalance() {
    let mut random = Random::new(3);
    let (mut bid, mut quotes) = (1_000_i64, Vec::new());
    let mut weight = 0.5;
    for _ in 0..20_000 {
        if random.unit() < 0.1 {
            bid += if random.unit() < weight { 1 } else { -1 };
        }
        weight = random.unit();
        quotes.push(Quote {
            bid,
            bid_quantity: 100.0 * weight,
            ask: bid + 1,
            ask_quantity: 100.0 * (1.0 - weight),
        });
    }
    let made = fit(&quotes, 0.01, 5, 1).unwrap();
    let sixth = &made.micro_price.sixth;
    assert!(sixth.windows(2).all(|pair| pair[0] < pair[1]), "{sixth:?}");
    for (low, high) in sixth.iter().zip(sixth.iter().rev()) {
        assert!((low + high).abs() < 1e-12 && low.abs() <= 0.01);
    }
    assert_eq!(made.rows_kept, 19_999);
    assert_eq!(made.state(&quotes[0]).map(|state| state < 5), Some(true));
    let wide = Quote {
        ask: bid + 2,
        ..quotes[0]
    };
    assert_eq!(made.state(&wide), None);
    assert!(fit(&quotes[..1], 0.01, 5, 1).is_err());
    assert!(fit(&quotes, f64::NAN, 5, 1).is_err());
    assert!(fit(&quotes, 0.01, 0, 1).is_err());
    assert!(fit(&quotes, 0.01, 200, 2).is_err());
    let nothing = Quote {
        bid_quantity: 0.0,
        ask_quantity: 0.0,
        ..quotes[0]
    };
    assert!(fit(&[nothing, nothing], 0.01, 2, 1).is_err());
}
