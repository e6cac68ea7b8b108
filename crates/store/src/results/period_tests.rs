//! Sums of parts of a period: every number of both is in them once.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::TokenId;
use cambist_report::money::Money;
use cambist_report::pnl::Attribution;

use super::{Change, is_zero};

const fn money(units: i128) -> Money {
    Money {
        numerator: units,
        denominator: 1,
        decimals: 6,
    }
}

fn attribution(first: i128) -> Attribution {
    Attribution {
        spread: money(first),
        holdings: money(first + 1),
        fees: money(first + 2),
        pool: None,
        total: money(first + 3),
    }
}

/// Numbers from `first` on, one for each field.
fn change(first: i128, shares: Option<u16>) -> Change {
    let positive = first.unsigned_abs();
    Change {
        pnl: Some(attribution(first)),
        brought: Some(money(first + 10)),
        fills: u64::try_from(positive).unwrap() + 20,
        volumes: [positive + 30, positive + 40],
        traded: [first + 50, first + 60, first + 70],
        shares: shares.map(TokenId),
    }
}

#[test]
fn a_sum_has_every_number_of_both_parts() {
    let sum = change(100, Some(4)).plus(change(1_000, Some(5)));
    let pnl = sum.pnl.unwrap();
    let parts = [pnl.spread, pnl.holdings, pnl.fees, pnl.total].map(|part| part.numerator);
    assert_eq!(parts, [1_100, 1_102, 1_104, 1_106]);
    assert_eq!(sum.brought, Some(money(1_120)));
    assert_eq!((sum.fills, sum.volumes), (1_140, [1_160, 1_180]));
    assert_eq!(sum.traded, [1_200, 1_220, 1_240]);
    assert_eq!(sum.shares, Some(TokenId(5)), "the newer ones");
    let kept = change(100, Some(4)).plus(change(1_000, None));
    assert_eq!(kept.shares, Some(TokenId(4)));
}

/// A part without a value leaves that of the other.
#[test]
fn what_one_part_does_not_know_is_that_of_the_other() {
    let unknown = |first| Change {
        pnl: None,
        brought: None,
        ..change(first, None)
    };
    for sum in [
        change(100, None).plus(unknown(1_000)),
        unknown(1_000).plus(change(100, None)),
    ] {
        assert_eq!(sum.pnl, Some(attribution(100)));
        assert_eq!(sum.brought, Some(money(110)));
    }
    let sum = unknown(1).plus(unknown(2));
    assert_eq!((sum.pnl, sum.brought), (None, None));
}

#[test]
fn a_part_that_is_not_zero_is_shown() {
    let zero = Attribution {
        spread: money(0),
        holdings: money(0),
        fees: money(0),
        pool: None,
        total: money(0),
    };
    assert!(is_zero(zero));
    let one = money(1);
    for part in [
        Attribution {
            spread: one,
            ..zero
        },
        Attribution {
            holdings: one,
            ..zero
        },
        Attribution { fees: one, ..zero },
        Attribution { total: one, ..zero },
    ] {
        assert!(!is_zero(part), "{part:?}");
    }
}
