//! The normal distribution, accurate far into its tails.
//!
//! Source: Abramowitz & Stegun 1964, chapters 7 and 26; the error function is that of `libm`.

use core::f64::consts::{PI, SQRT_2};

/// The density of the standard normal distribution.
pub fn normal_density(x: f64) -> f64 {
    libm::exp(-x * x / 2.0) / libm::sqrt(2.0 * PI)
}

/// The probability that a standard normal variable is above `x`, with a small relative error.
pub fn normal_tail(x: f64) -> f64 {
    libm::erfc(x / SQRT_2) / 2.0
}

/// The probability that a standard normal variable is at most `x`.
pub fn normal_probability(x: f64) -> f64 {
    normal_tail(-x)
}

/// `E[max(Z − x, 0)]` of a standard normal `Z`: `n(x) − x·N(−x)`, with a small relative error.
///
/// The two terms cancel in the tail; there it is `n(x)/(1 + x·t)`, with the tail
/// `t = x + 2/(x + 3/(x + …))` of the continued fraction of Mills' ratio (Abramowitz & Stegun 26.2.14).
pub fn normal_excess(x: f64) -> f64 {
    if x < 1.0 {
        return normal_density(x) - x * normal_tail(x);
    }
    let tail = (2..=300_u32)
        .rev()
        .fold(x, |tail, n| x + f64::from(n) / tail);
    normal_density(x) / (1.0 + x * tail)
}

/// The `x` at which the standard normal distribution reaches `probability`; `None` outside 0 to 1.
///
/// Newton's method on the logarithm of the tail, which is concave, from the crude bound
/// `√(−2 ln p)`.
pub fn normal_quantile(probability: f64) -> Option<f64> {
    if !(probability > 0.0 && probability < 1.0) {
        return None;
    }
    if probability > 0.5 {
        return normal_quantile(1.0 - probability).map(|x| -x);
    }
    // Find x ≥ 0 with tail(x) = probability.
    let target = libm::log(probability);
    let mut x = libm::sqrt((-2.0 * target - libm::log(4.0)).max(0.0));
    for _ in 0..60 {
        let tail = normal_tail(x);
        let step = (libm::log(tail) - target) * tail / normal_density(x);
        x += step;
        if step.abs() <= 1e-16 * x.abs().max(1e-8) {
            break;
        }
    }
    Some(-x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, relative: f64) {
        assert!((a - b).abs() <= relative * b.abs(), "{a} {b}");
    }

    #[test]
    fn tails_are_accurate() {
        // Computed with 50 digits.
        near(normal_tail(10.0), 7.619_853_024_160_527e-24, 1e-13);
        near(normal_excess(0.0), 0.398_942_280_401_432_7, 1e-15);
        near(normal_excess(0.999_999), 0.083_315_629_243_061_22, 1e-13);
        near(normal_excess(1.0), 0.083_315_470_587_686_29, 1e-13);
        near(normal_excess(10.0), 7.474_560_254_589_328e-25, 1e-12);
        near(normal_excess(-3.0), 3.000_382_154_317_048, 1e-14);
    }

    #[test]
    fn the_quantile_is_the_inverse() {
        near(
            normal_quantile(0.975).unwrap_or(0.0),
            1.959_963_984_540_054,
            1e-13,
        );
        near(
            normal_quantile(1e-20).unwrap_or(0.0),
            -9.262_340_089_798_408,
            1e-12,
        );
        for i in 1..200 {
            let p = f64::from(i) / 200.0;
            near(
                normal_probability(normal_quantile(p).unwrap_or(f64::NAN)),
                p,
                1e-13,
            );
        }
        for bad in [0.0, 1.0, -0.1, f64::NAN] {
            assert_eq!(normal_quantile(bad), None);
        }
    }
}
