//! Products of two 128-bit numbers, divided and compared exactly.
//!
//! No knowledge of prices: the caller chooses the rounding direction, and overflow is `None`.

use std::cmp::Ordering;

/// The low half of a number.
const LOW: u128 = u64::MAX as u128;

/// `a · b` as high and low half.
fn wide(a: u128, b: u128) -> (u128, u128) {
    let (a_high, a_low) = (a >> 64, a & LOW);
    let (b_high, b_low) = (b >> 64, b & LOW);
    let low = a_low * b_low;
    let middle = a_high * b_low + (low >> 64);
    let carried = a_low * b_high + (middle & LOW);
    (
        a_high * b_high + (middle >> 64) + (carried >> 64),
        (carried << 64) | (low & LOW),
    )
}

/// Quotient and remainder of a 256-bit number. `None` when the quotient does not fit or `c` is 0.
///
/// Long division with digits of 64 bits: Knuth, "The Art of Computer Programming" 2, 4.3.1, algorithm D.
fn divide(high: u128, low: u128, c: u128) -> Option<(u128, u128)> {
    if high == 0 {
        let quotient = low.checked_div(c)?;
        return Some((quotient, low - quotient * c));
    }
    if high >= c {
        return None;
    }
    // The highest bit of the divisor is set, so that an estimated digit is at most two too large.
    let shift = c.leading_zeros();
    let c = c << shift;
    let high = (high << shift) | low.checked_shr(128 - shift).unwrap_or(0);
    let low = low << shift;
    let (first, rest) = digit(high, low >> 64, c);
    let (second, rest) = digit(rest, low & LOW, c);
    Some(((first << 64) | second, rest >> shift))
}

/// A digit of the quotient of `rest · 2⁶⁴ + next` and `c`, and what remains; `rest` is below `c`, which has its highest
/// bit set.
fn digit(rest: u128, next: u128, c: u128) -> (u128, u128) {
    let (c_high, c_low) = (c >> 64, c & LOW);
    let mut digit = rest / c_high;
    let mut left = rest - digit * c_high;
    while digit > LOW || digit * c_low > ((left << 64) | next) {
        digit -= 1;
        left += c_high;
        if left > LOW {
            break;
        }
    }
    // The remainder is below `c`: what is beyond 128 bits of both terms is the same.
    let rest = ((rest << 64) | next).wrapping_sub(digit.wrapping_mul(c));
    (digit, rest)
}

/// `⌊a · b / c⌋`, or `None` when it does not fit.
pub fn mul_div_floor(a: u128, b: u128, c: u128) -> Option<u128> {
    let (high, low) = wide(a, b);
    divide(high, low, c).map(|(quotient, _)| quotient)
}

/// `⌈a · b / c⌉`, or `None` when it does not fit.
pub fn mul_div_ceil(a: u128, b: u128, c: u128) -> Option<u128> {
    let (high, low) = wide(a, b);
    let (quotient, rest) = divide(high, low, c)?;
    quotient.checked_add(u128::from(rest > 0))
}

/// `⌊√(a · b)⌋`, exactly.
pub fn root_of_product(a: u128, b: u128) -> u128 {
    let (high, low) = wide(a, b);
    let bits = if high > 0 {
        256 - high.leading_zeros()
    } else {
        128 - low.leading_zeros()
    };
    // Bit by bit from the highest possible bit of the root.
    let mut root = 0_u128;
    for bit in (0..bits.div_ceil(2)).rev() {
        let tried = root | (1 << bit);
        if wide(tried, tried) <= (high, low) {
            root = tried;
        }
    }
    root
}

/// Compares `a · b` with `c · d`.
pub fn compare_products(a: u128, b: u128, c: u128, d: u128) -> Ordering {
    wide(a, b).cmp(&wide(c, d))
}

/// Compares two products `a · b · c` exactly, in 384 bits.
pub fn compare_triples(left: [u128; 3], right: [u128; 3]) -> Ordering {
    triple(left).cmp(&triple(right))
}

/// `a · b · c` in three 128-bit parts, highest first.
fn triple([a, b, c]: [u128; 3]) -> [u128; 3] {
    let (high, low) = wide(a, b);
    let (carry, lowest) = wide(low, c);
    let (highest, middle) = wide(high, c);
    let (middle, over) = middle.overflowing_add(carry);
    // (2^128 − 1)^3 fits 384 bits, so the highest part never overflows.
    [highest + u128::from(over), middle, lowest]
}

/// `units` times 10^−`decimals` as decimal text, exact and without trailing zeros.
pub fn decimal(units: u128, decimals: u8) -> String {
    let one = 10u128.checked_pow(u32::from(decimals));
    let Some(one) = one.filter(|one| *one > 1) else {
        return units.to_string();
    };
    let width = usize::from(decimals);
    let fraction = format!("{:0width$}", units % one);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() {
        (units / one).to_string()
    } else {
        format!("{}.{fraction}", units / one)
    }
}

/// Greatest common divisor; `gcd(a, 0) = a`.
pub fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    /// Pseudorandom bits with a fixed seed.
    struct Bits(u64);

    impl Bits {
        fn next_u64(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z ^ (z >> 31)
        }
    }

    #[test]
    fn triple_products_compare_exactly() {
        let most = u128::MAX;
        assert_eq!(triple([most, most, 1])[0], 0);
        assert_eq!(triple([most, most, most]), [most - 2, 2, most]);
        let (left, right) = ([most, most - 1, most], [most, most, most - 1]);
        assert!(compare_triples(left, right).is_eq());
        assert!(compare_triples([most, most, most], right).is_gt());
        assert!(compare_triples([most - 1, most, most - 1], right).is_lt());
        assert!(compare_triples([2, 3, 7], [1, 6, 7]).is_eq());
    }

    #[test]
    fn products_beyond_128_bits_divide_exactly() {
        assert_eq!(mul_div_floor(u128::MAX, 7, 7), Some(u128::MAX));
        assert_eq!(
            mul_div_floor(u128::MAX, u128::MAX, u128::MAX),
            Some(u128::MAX)
        );
        assert_eq!(mul_div_floor(u128::MAX, 8, 7), None);
        assert_eq!(mul_div_floor(1, 1, 0), None);
        assert_eq!(mul_div_floor(7, 3, 2), Some(10));
        assert_eq!(mul_div_ceil(7, 3, 2), Some(11));
        assert_eq!(mul_div_ceil(6, 3, 2), Some(9));
        assert_eq!(mul_div_ceil(u128::MAX, 3, 2), None);
    }

    #[test]
    fn quotient_times_divisor_plus_rest_is_the_product() {
        let mut random = Bits(1);
        for _ in 0..2_000 {
            let mut number = || {
                let wide = (u128::from(random.next_u64()) << 64) | u128::from(random.next_u64());
                wide >> (random.next_u64() % 128)
            };
            let (a, b, c) = (number(), number(), number().max(1));
            let (high, low) = wide(a, b);
            let Some((quotient, rest)) = divide(high, low, c) else {
                assert!(high >= c, "{a} * {b} / {c} fits");
                continue;
            };
            let (back_high, back_low) = wide(quotient, c);
            let (sum, carry) = back_low.overflowing_add(rest);
            assert!(rest < c);
            assert_eq!((back_high + u128::from(carry), sum), (high, low));
        }
    }

    /// Digits at the ends of their range are those whose estimates have to be corrected.
    #[test]
    fn every_digit_of_a_quotient_is_corrected() {
        const ENDS: [u64; 7] = [0, 1, 2, u64::MAX >> 1, 1 << 63, u64::MAX - 1, u64::MAX];
        let numbers: Vec<u128> = ENDS
            .iter()
            .flat_map(|high| ENDS.map(|low| (u128::from(*high) << 64) | u128::from(low)))
            .collect();
        let mut divided = 0;
        for c in &numbers {
            for high in numbers.iter().filter(|high| *high < c) {
                for low in &numbers {
                    let (quotient, rest) = divide(*high, *low, *c).unwrap();
                    let (back_high, back_low) = wide(quotient, *c);
                    let (sum, carry) = back_low.overflowing_add(rest);
                    assert!(rest < *c, "{high} {low} / {c}");
                    assert_eq!((back_high + u128::from(carry), sum), (*high, *low));
                    divided += 1;
                }
            }
        }
        assert!(divided > 50_000, "{divided}");
    }

    #[test]
    fn roots_of_products_are_exact() {
        assert_eq!(root_of_product(0, 7), 0);
        assert_eq!(root_of_product(1, 1), 1);
        assert_eq!(root_of_product(2, 4), 2);
        assert_eq!(root_of_product(u128::MAX, u128::MAX), u128::MAX);
        let mut random = Bits(5);
        for _ in 0..2_000 {
            let mut number = || {
                let wide = (u128::from(random.next_u64()) << 64) | u128::from(random.next_u64());
                wide >> (random.next_u64() % 128)
            };
            let (a, b) = (number(), number());
            let root = root_of_product(a, b);
            assert!(wide(root, root) <= wide(a, b), "{a} * {b}");
            if let Some(next) = root.checked_add(1) {
                assert!(wide(next, next) > wide(a, b), "{a} * {b}");
            }
        }
    }

    #[test]
    fn products_are_compared_in_full_width() {
        assert_eq!(compare_products(u128::MAX, 2, u128::MAX, 3), Ordering::Less);
        assert_eq!(compare_products(6, 4, 8, 3), Ordering::Equal);
        assert_eq!(gcd(100, 30), 10);
        assert_eq!(gcd(7, 0), 7);
    }
}
