//! Estimates over the games of a comparison, with 95 % confidence intervals.

/// Probability of the tail.
pub const TAIL: f64 = 0.01;
/// The normal distribution's quantile for 95 % on both sides.
const Z: f64 = 1.959_963_984_540_054;
/// Half of what an interval leaves out.
const HALF_OUTSIDE: f64 = 0.025;

/// An estimate and its interval; a bound that so few games cannot give is absent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Lower bound.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
}

/// How a contestant compares in one measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranking {
    /// The whole interval is on the better side.
    Better,
    /// The whole interval is on the worse side.
    Worse,
    /// It contains equality, or there is none.
    Undecided,
}

impl Ranking {
    /// As it is shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Undecided => "not decided",
        }
    }
}

/// The mean, with the normal interval of a sample: `m ± z · s / √n`; no interval from fewer than two values. `None`
/// without values.
#[expect(clippy::cast_precision_loss, reason = "numbers of games are small")]
pub fn mean(values: &[f64]) -> Option<Estimate> {
    let count = values.len() as f64;
    let value = (!values.is_empty()).then(|| values.iter().sum::<f64>() / count)?;
    let error = (values.len() > 1).then(|| {
        let squares: f64 = values.iter().map(|one| (one - value).powi(2)).sum();
        Z * (squares / (count - 1.0) / count).sqrt()
    });
    Some(Estimate {
        value,
        low: error.map(|error| value - error),
        high: error.map(|error| value + error),
    })
}

/// The mean of the differences `ours - theirs` of equal seeds. `None` without values, or if there are not as many of both.
pub fn paired_difference(ours: &[f64], theirs: &[f64]) -> Option<Estimate> {
    if ours.len() != theirs.len() {
        return None;
    }
    let differences: Vec<f64> = ours
        .iter()
        .zip(theirs)
        .map(|(ours, theirs)| ours - theirs)
        .collect();
    mean(&differences)
}

/// The quantile of [`TAIL`] (the ⌈n · 0.01⌉-th smallest value), with the distribution-free interval between two order
/// statistics whose binomial probability outside is at most 2.5 % on each side (David and Nagaraja, "Order Statistics",
/// 3rd edition, section 7.1). `None` without values.
pub fn tail(values: &[f64]) -> Option<Estimate> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let [low, at, high] = ranks(sorted.len());
    let of = |rank: usize| sorted.get(rank.checked_sub(1)?).copied();
    Some(Estimate {
        value: of(at)?,
        low: of(low),
        high: of(high),
    })
}

/// Ranks from 1 of the lower bound (0 if there is none), the quantile and the upper bound.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of games are small and positive"
)]
fn ranks(count: usize) -> [usize; 3] {
    let n = count as f64;
    let at = (n * TAIL).ceil() as usize;
    // Logarithms, because the first terms of a large sample are below the least number.
    let odds = (TAIL / (1.0 - TAIL)).ln();
    let mut term = n * (1.0 - TAIL).ln();
    let (mut below, mut low, mut high) = (0.0, 0, count);
    for k in 0..count {
        // P(B <= k - 1) before, P(B <= k) after.
        if below <= HALF_OUTSIDE {
            low = k;
        }
        below += term.exp();
        if below >= 1.0 - HALF_OUTSIDE {
            high = k + 1;
            break;
        }
        term += odds + ((n - k as f64) / (k as f64 + 1.0)).ln();
    }
    [low, at, high]
}

/// The ranking of a difference; with `more` more is better, otherwise less.
pub fn ranking_of(difference: &Estimate, more: bool) -> Ranking {
    let above = difference.low.is_some_and(|low| low > 0.0);
    let below = difference.high.is_some_and(|high| high < 0.0);
    match (above, below) {
        (true, _) if more => Ranking::Better,
        (_, true) if more => Ranking::Worse,
        (true, _) => Ranking::Worse,
        (_, true) => Ranking::Better,
        _ => Ranking::Undecided,
    }
}

/// The ranking of two tails, of which more is better: one if their intervals do not overlap.
pub fn ranking_of_tails(ours: &Estimate, theirs: &Estimate) -> Ranking {
    let above = |one: &Estimate, other: &Estimate| {
        one.low
            .zip(other.high)
            .is_some_and(|(low, high)| low > high)
    };
    if above(ours, theirs) {
        Ranking::Better
    } else if above(theirs, ours) {
        Ranking::Worse
    } else {
        Ranking::Undecided
    }
}

#[cfg(test)]
mod statistics_tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    #[test]
    fn a_mean_has_the_normal_interval() {
        let estimate = mean(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((estimate.value - 2.5).abs() < 1e-12);
        // s = 1.2909944, s / √4 = 0.6454972.
        let error = 1.959_964 * 0.645_497_2;
        assert!((estimate.low.unwrap() - (2.5 - error)).abs() < 1e-6);
        assert!((estimate.high.unwrap() - (2.5 + error)).abs() < 1e-6);
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[3.0]).unwrap().low, None);
    }

    /// Of B with n = 1000 and p = 0.01: P(B ≤ 3) = 0.0101, P(B ≤ 4) = 0.0287, P(B ≤ 16) = 0.9736, P(B ≤ 17) = 0.9862.
    #[test]
    fn ranks_of_the_tail_are_those_of_the_binomial_distribution() {
        assert_eq!(ranks(1_000), [4, 10, 18]);
        assert_eq!(ranks(100)[..2], [0, 1], "no lower bound from a hundred");
        let [low, at, high] = ranks(100_000);
        assert!((930..945).contains(&low) && at == 1_000 && (1_055..1_070).contains(&high));
        // 0.99^367 > 0.025 > 0.99^368.
        assert_eq!((ranks(367)[0], ranks(368)[0]), (0, 1));
    }

    #[test]
    fn a_tail_is_an_order_statistic() {
        let values: Vec<f64> = (1..=1_000).rev().map(f64::from).collect();
        let estimate = tail(&values).unwrap();
        assert_eq!(
            (estimate.value, estimate.low, estimate.high),
            (10.0, Some(4.0), Some(18.0))
        );
        assert_eq!(tail(&[]), None);
    }

    #[test]
    fn a_ranking_needs_the_whole_interval() {
        let of = |low, high| Estimate {
            value: 0.0,
            low: Some(low),
            high: Some(high),
        };
        assert_eq!(ranking_of(&of(0.1, 0.2), true), Ranking::Better);
        assert_eq!(ranking_of(&of(0.1, 0.2), false), Ranking::Worse);
        assert_eq!(ranking_of(&of(-0.2, -0.1), true), Ranking::Worse);
        assert_eq!(ranking_of(&of(-0.2, -0.1), false), Ranking::Better);
        assert_eq!(ranking_of(&of(-0.1, 0.1), true), Ranking::Undecided);
        assert_eq!(ranking_of(&of(0.0, 0.0), true), Ranking::Undecided);
        assert_eq!(
            ranking_of_tails(&of(2.0, 3.0), &of(0.0, 1.0)),
            Ranking::Better
        );
        assert_eq!(
            ranking_of_tails(&of(0.0, 1.0), &of(2.0, 3.0)),
            Ranking::Worse
        );
        assert_eq!(
            ranking_of_tails(&of(0.0, 2.0), &of(1.0, 3.0)),
            Ranking::Undecided
        );
    }

    #[test]
    fn differences_are_of_equal_seeds() {
        let difference = paired_difference(&[2.0, 3.0], &[1.0, 2.0]).unwrap();
        assert_eq!(
            (difference.value, difference.low, difference.high),
            (1.0, Some(1.0), Some(1.0))
        );
        assert_eq!(paired_difference(&[1.0], &[]), None);
    }
}
