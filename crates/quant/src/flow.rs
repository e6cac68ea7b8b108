//! Linear chains of positive numbers, integrated over time without cancellation: `v' = −D·v + C·v`
//! with a diagonal `D` and non-negative couplings `C` between neighbours.
//!
//! `v(τ) = e^(−cτ)·exp((C + cI − D)τ)·v(0)` with `c = max D`: every number in the series is
//! non-negative, so nothing cancels and each element keeps its relative accuracy however small it
//! is compared with the others. Elements may differ by more than the range of a float, so each has
//! its own exponent.

use crate::error::{Error, Result, non_negative, require, solved};

/// Most elements times steps: some hundred milliseconds.
const WORK_MAX: f64 = 2e6;

/// The chain.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    /// D, one for each element.
    pub decay: Vec<f64>,
    /// Coefficient of the element before; 0 for the first.
    pub from_lower: Vec<f64>,
    /// Coefficient of the element after; 0 for the last.
    pub from_upper: Vec<f64>,
}

/// Positive numbers `mantissa · 2^exponent · e^shift`.
#[derive(Clone, Debug)]
pub(crate) struct Positive {
    mantissa: Vec<f64>,
    exponent: Vec<i64>,
    shift: f64,
}

impl Positive {
    /// The numbers with these logarithms.
    pub fn from_logs(logs: &[f64]) -> Result<Self> {
        let mut made = Self {
            mantissa: Vec::with_capacity(logs.len()),
            exponent: Vec::with_capacity(logs.len()),
            shift: 0.0,
        };
        for log in logs {
            require(
                log.abs() < 1e12,
                "terminal value",
                "a logarithm within the range of a float",
            )?;
            let exponent = libm::floor(log / core::f64::consts::LN_2);
            made.mantissa
                .push(libm::exp(log - exponent * core::f64::consts::LN_2));
            #[allow(clippy::cast_possible_truncation, reason = "below 2^41")]
            made.exponent.push(exponent as i64);
        }
        Ok(made)
    }

    /// The logarithm of an element.
    pub fn log(&self, index: usize) -> f64 {
        libm::log(self.mantissa[index])
            + self.exponent[index] as f64 * core::f64::consts::LN_2
            + self.shift
    }

    /// `ln(v_i / v_j)`.
    pub fn log_ratio(&self, i: usize, j: usize) -> f64 {
        let exponent = (self.exponent[i] - self.exponent[j]) as f64;
        libm::log(self.mantissa[i] / self.mantissa[j]) + exponent * core::f64::consts::LN_2
    }

    fn normalise(&mut self) {
        for (mantissa, exponent) in self.mantissa.iter_mut().zip(&mut self.exponent) {
            let (fraction, power) = libm::frexp(*mantissa);
            *mantissa = fraction;
            *exponent += i64::from(power);
        }
    }
}

/// `2^power`: 0 below the range of a float, infinite above it.
fn power_of_two(power: i64) -> f64 {
    let power = i32::try_from(power.clamp(-2_000, 2_000)).unwrap_or(0);
    libm::ldexp(1.0, power)
}

impl Chain {
    /// Integrates `v` from time 0 to `time`.
    pub fn advance(&self, v: &mut Positive, time: f64) -> Result<()> {
        non_negative("time", time)?;
        let size = self.decay.len();
        let top = self.decay.iter().copied().fold(f64::MIN, f64::max);
        solved("decay", top)?;
        let mut left = time;
        let mut work = 0.0;
        while left > 0.0 {
            // Within a step elements are scaled by their sizes at its start.
            let scaled = self.scaled(v);
            let norm = (0..size)
                .map(|i| top - self.decay[i] + scaled.0[i] + scaled.1[i])
                .fold(f64::MIN_POSITIVE, f64::max);
            let step = left.min(8.0 / solved("couplings", norm)?);
            self.step(v, &scaled, top, step);
            v.shift -= top * step;
            v.normalise();
            left -= step;
            work += size as f64;
            if work > WORK_MAX {
                return Err(Error::TooMuchWork { name: "time left" });
            }
        }
        Ok(())
    }

    fn scaled(&self, v: &Positive) -> (Vec<f64>, Vec<f64>) {
        let from = |coupling: &[f64], of: fn(usize) -> Option<usize>| {
            let one = |i: usize| match of(i).filter(|j| *j < self.decay.len()) {
                Some(j) if coupling[i] > 0.0 => {
                    coupling[i] * power_of_two(v.exponent[j] - v.exponent[i])
                }
                _ => 0.0,
            };
            (0..self.decay.len()).map(one).collect()
        };
        (
            from(&self.from_lower, |i| i.checked_sub(1)),
            from(&self.from_upper, |i| i.checked_add(1)),
        )
    }

    /// The series of the exponential, up to the first term that changes no element.
    fn step(&self, v: &mut Positive, scaled: &(Vec<f64>, Vec<f64>), top: f64, step: f64) {
        let size = self.decay.len();
        let mut term = v.mantissa.clone();
        let mut next = vec![0.0; size];
        for order in 1..200 {
            let factor = step / f64::from(order);
            let mut changed = false;
            for i in 0..size {
                let mut sum = (top - self.decay[i]) * term[i];
                if i > 0 {
                    sum += scaled.0[i] * term[i - 1];
                }
                if i + 1 < size {
                    sum += scaled.1[i] * term[i + 1];
                }
                next[i] = factor * sum;
                changed |= next[i] > 1e-18 * v.mantissa[i];
                v.mantissa[i] += next[i];
            }
            core::mem::swap(&mut term, &mut next);
            if !changed {
                break;
            }
        }
    }
}
