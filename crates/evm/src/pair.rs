//! What a Uniswap V2 pair owes for shares, to the unit, as `UniswapV2Pair.sol` computes it.
//!
//! Where the factory names a receiver of protocol fees, a mint or burn first mints shares for it, so that there are
//! more shares in circulation than `totalSupply` states. What a mint or burn then gives is reckoned with them.

use crate::{Malformed, U256};

/// Shares that are in circulation once the protocol's fee was minted: `supply` while there is no such fee
/// (`k_last` is 0) or the root of the product of the reserves has not grown.
///
/// `supply · (√k − √k_last) / (5·√k + √k_last)` are added, each root and the quotient rounded down.
///
/// # Errors
/// [`Malformed::Range`] on overflow, with which the pair itself would revert.
pub fn supply_with_fee(supply: U256, reserves: [u128; 2], k_last: U256) -> Result<U256, Malformed> {
    if k_last == U256::ZERO {
        return Ok(supply);
    }
    let product = U256::from(reserves[0]).checked_mul(U256::from(reserves[1]));
    let root = root_of(product.ok_or(Malformed::Range)?);
    let root_last = root_of(k_last);
    let Some(growth) = root.checked_sub(root_last).filter(|by| *by > U256::ZERO) else {
        return Ok(supply);
    };
    let numerator = supply.checked_mul(growth).ok_or(Malformed::Range)?;
    let denominator = root
        .checked_mul(U256::from(5))
        .and_then(|five| five.checked_add(root_last));
    let minted = numerator / denominator.ok_or(Malformed::Range)?;
    supply.checked_add(minted).ok_or(Malformed::Range)
}

/// The root, rounded down: Newton's method from above, in integers.
fn root_of(number: U256) -> U256 {
    if number == U256::ZERO {
        return number;
    }
    let mut root = U256::from(1) << number.bit_len().div_ceil(2);
    loop {
        let next = (root + number / root) >> 1;
        if next >= root {
            return root;
        }
        root = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_rounded_down() {
        for number in (0..2_000).chain([u128::MAX, 1 << 126, (1 << 126) - 1]) {
            let root = root_of(U256::from(number));
            let next = root + U256::from(1);
            assert!(root * root <= U256::from(number) && next * next > U256::from(number));
        }
        let most = (U256::from(1) << 128) - U256::from(1);
        assert_eq!(root_of(U256::MAX), most);
    }

    #[test]
    fn the_protocol_gets_a_sixth_of_the_growth() {
        let n = |number: u128| U256::from(number);
        let of = |reserves, k_last| supply_with_fee(n(6_000), reserves, n(k_last));
        assert_eq!(of([2_000, 2_000], 0), Ok(n(6_000)), "no fee");
        assert_eq!(of([1_000, 1_000], 1_000_000), Ok(n(6_000)), "no growth");
        assert_eq!(of([900, 900], 1_000_000), Ok(n(6_000)), "a loss");
        // From 1000 to 1100: 6000 · 100 / (5500 + 1000) = 92.3.
        assert_eq!(of([1_100, 1_100], 1_000_000), Ok(n(6_092)));
        let most = (1 << 112) - 1;
        assert!(supply_with_fee(n(1 << 112), [most, most], U256::from(1)).is_ok());
        assert_eq!(
            supply_with_fee(U256::MAX, [most, most], U256::from(1)),
            Err(Malformed::Range)
        );
    }
}
