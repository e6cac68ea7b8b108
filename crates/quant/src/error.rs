//! Errors: an invalid input is refused with its name, and a result that is not a finite number is
//! never returned.

/// Why there is no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An input is NaN, infinite or outside its range.
    #[error("{name} must be {must}")]
    Input {
        /// Name of the input.
        name: &'static str,
        /// Its allowed values.
        must: &'static str,
    },
    /// There are fewer observations than the result needs.
    #[error("{name}: {given} given, at least {needed} are needed")]
    TooFew {
        /// The kind of observation.
        name: &'static str,
        /// The smallest number that gives a result.
        needed: usize,
        /// The number that was given.
        given: usize,
    },
    /// The inputs have no solution, or none that a float can represent.
    #[error("{name}: no finite solution")]
    NoSolution {
        /// The quantity that has no solution.
        name: &'static str,
    },
    /// The inputs would take more computation than is allowed.
    #[error("{name}: the computation would need more steps than are allowed")]
    TooMuchWork {
        /// The input that causes it.
        name: &'static str,
    },
}

/// A result of this crate.
pub type Result<T> = core::result::Result<T, Error>;

/// A finite number.
pub(crate) fn finite(name: &'static str, value: f64) -> Result<f64> {
    check(name, value, value.is_finite(), "a finite number")
}

/// A finite number above 0.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<f64> {
    check(
        name,
        value,
        value.is_finite() && value > 0.0,
        "a finite number above 0",
    )
}

/// A finite number, 0 or above.
pub(crate) fn non_negative(name: &'static str, value: f64) -> Result<f64> {
    check(
        name,
        value,
        value.is_finite() && value >= 0.0,
        "a finite number from 0",
    )
}

/// A number that is at least 0 and below 1.
pub(crate) fn fraction(name: &'static str, value: f64) -> Result<f64> {
    check(
        name,
        value,
        (0.0..1.0).contains(&value),
        "a fraction from 0, below 1",
    )
}

/// An error naming the input unless the condition holds.
pub(crate) fn require(holds: bool, name: &'static str, must: &'static str) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(Error::Input { name, must })
    }
}

/// The result if it is a finite number, else an error.
pub(crate) fn solved(name: &'static str, value: f64) -> Result<f64> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(Error::NoSolution { name })
    }
}

fn check(name: &'static str, value: f64, holds: bool, must: &'static str) -> Result<f64> {
    require(holds, name, must).map(|()| value)
}
