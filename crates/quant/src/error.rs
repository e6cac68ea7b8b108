//! Why a function gives no number: a bad input is refused by name, a result that is no number never leaves.

/// Why there is no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An input is NaN, infinite or outside its range.
    #[error("{name} must be {must}")]
    Input {
        /// Name of the input.
        name: &'static str,
        /// What it has to be.
        must: &'static str,
    },
    /// There are too few observations.
    #[error("{name}: at least {needed} needed, {given} given")]
    TooFew {
        /// What there is too little of.
        name: &'static str,
        /// The least number that gives a result.
        needed: usize,
        /// How many there are.
        given: usize,
    },
    /// The inputs have no solution, or none that the numbers of a computer can hold.
    #[error("{name}: no finite solution")]
    NoSolution {
        /// What was looked for.
        name: &'static str,
    },
    /// The inputs ask for more work than a caller can want.
    #[error("{name} asks for too much work")]
    TooMuchWork {
        /// The input that does.
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

/// A finite number from 0.
pub(crate) fn non_negative(name: &'static str, value: f64) -> Result<f64> {
    check(
        name,
        value,
        value.is_finite() && value >= 0.0,
        "a finite number from 0",
    )
}

/// A number from 0 up to, but without, 1.
pub(crate) fn fraction(name: &'static str, value: f64) -> Result<f64> {
    check(
        name,
        value,
        (0.0..1.0).contains(&value),
        "a fraction from 0, below 1",
    )
}

/// A condition on an input.
pub(crate) fn require(holds: bool, name: &'static str, must: &'static str) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(Error::Input { name, must })
    }
}

/// A result, if it is a finite number.
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
