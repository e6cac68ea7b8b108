//! Products of two amounts, divided and compared exactly, by schoolbook arithmetic that shares no code with the rest.

use std::cmp::Ordering;

const LOW: u128 = u64::MAX as u128;

/// `a · b` as high and low half.
const fn product(a: u128, b: u128) -> (u128, u128) {
    let (a1, a0, b1, b0) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let bottom = a0 * b0;
    let inner = a1 * b0 + (bottom >> 64);
    let outer = a0 * b1 + (inner & LOW);
    let top = a1 * b1 + (inner >> 64) + (outer >> 64);
    (top, (outer << 64) | (bottom & LOW))
}

/// Quotient and remainder of `a · b / c`; `None` if the quotient has more than 128 bits or `c` is 0.
fn divided(a: u128, b: u128, c: u128) -> Option<(u128, u128)> {
    if let Some(small) = a.checked_mul(b) {
        return Some((small.checked_div(c)?, small % c));
    }
    let (mut rest, low) = product(a, b);
    if rest >= c {
        return None;
    }
    let mut quotient = 0;
    for bit in (0..128).rev() {
        // Twice the rest may have 129 bits: then it is certainly above `c`.
        let above = rest >> 127 == 1;
        rest = (rest << 1) | ((low >> bit) & 1);
        quotient <<= 1;
        if above || rest >= c {
            rest = rest.wrapping_sub(c);
            quotient |= 1;
        }
    }
    Some((quotient, rest))
}

/// `a · b / c`, rounded down.
pub(super) fn down(a: u128, b: u128, c: u128) -> Option<u128> {
    divided(a, b, c).map(|(quotient, _)| quotient)
}

/// `a · b / c`, rounded up.
pub(super) fn up(a: u128, b: u128, c: u128) -> Option<u128> {
    let (quotient, rest) = divided(a, b, c)?;
    quotient.checked_add(u128::from(rest > 0))
}

/// Compares `a · b` with `c · d`.
pub(super) fn against(a: u128, b: u128, c: u128, d: u128) -> Ordering {
    product(a, b).cmp(&product(c, d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_products_divide_and_compare_exactly() {
        let big = u128::MAX;
        assert_eq!(down(big, big, big), Some(big));
        assert_eq!(up(big, big - 1, big), Some(big - 1));
        assert_eq!(down(big, 3, 2), None, "beyond 128 bits");
        assert_eq!(
            down(1 << 100, 1 << 100, (1 << 73) + 1),
            Some((1 << 127) - (1 << 54))
        );
        assert_eq!(up(7, 3, 4), Some(6));
        assert_eq!((down(7, 3, 4), down(1, 1, 0)), (Some(5), None));
        assert_eq!(against(big, big, big, big - 1), Ordering::Greater);
        assert_eq!(against(1 << 100, 1 << 27, 1 << 127, 1), Ordering::Equal);
    }
}
