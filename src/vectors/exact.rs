//! Exact numbers of any size: reading them, and writing fractions in lowest terms.

use cambist_signing::vectors::{Node, VectorError};
use num_bigint::{BigInt, Sign};

/// Digits of a number, at most; the largest in use have 77.
const DIGITS_MAX: usize = 400;

/// A whole number from 0.
pub(super) fn whole(node: &Node<'_>) -> Result<BigInt, VectorError> {
    let text = node.text()?;
    let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() <= DIGITS_MAX;
    text.parse()
        .ok()
        .filter(|_| digits)
        .ok_or_else(|| node.malformed("a whole number"))
}

/// A whole number from 1.
pub(super) fn positive(node: &Node<'_>) -> Result<BigInt, VectorError> {
    let number = whole(node)?;
    if number.sign() == Sign::Plus {
        Ok(number)
    } else {
        Err(node.malformed("a number above 0"))
    }
}

/// Each element of a list.
pub(super) fn list(
    node: &Node<'_>,
    read: fn(&Node<'_>) -> Result<BigInt, VectorError>,
) -> Result<Vec<BigInt>, VectorError> {
    node.items()?.iter().map(read).collect()
}

/// The fraction in lowest terms, as `p/q` or `p`. The denominator is above 0.
pub(super) fn fraction(numerator: &BigInt, denominator: &BigInt) -> String {
    let (mut a, mut b) = (
        BigInt::from(numerator.magnitude().clone()),
        denominator.clone(),
    );
    while b.sign() != Sign::NoSign {
        (a, b) = (b.clone(), a % b);
    }
    let (numerator, denominator) = (numerator / &a, denominator / &a);
    if denominator == BigInt::from(1) {
        numerator.to_string()
    } else {
        format!("{numerator}/{denominator}")
    }
}
