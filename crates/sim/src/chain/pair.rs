//! A Uniswap V2 pair, as its contracts compute: a second implementation, which shares nothing with `cambist-evm` and the
//! engine's arithmetic. Source: `UniswapV2Pair.sol`, `UniswapV2Router02.sol`.

use cambist_evm::U256;

/// Most that a pair holds of a token: 112 bits.
const RESERVE_MAX: u128 = (1 << 112) - 1;

/// What a pair knows of itself. Amounts in base units, in the pair's order of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// Of both tokens.
    pub reserves: [u128; 2],
    /// Shares in circulation.
    pub supply: u128,
    /// Product of the reserves after the last mint or burn, where the protocol takes a fee; else 0.
    pub k_last: U256,
    /// Whether the factory names a receiver of protocol fees.
    pub pays_protocol: bool,
}

fn big(number: u128) -> U256 {
    U256::from(number)
}

fn small(number: U256) -> Option<u128> {
    u128::try_from(number).ok()
}

/// The root, rounded down, by bisection.
fn root(number: U256) -> U256 {
    let (mut low, mut high) = (U256::ZERO, U256::from(1) << 128);
    while low + U256::from(1) < high {
        let middle: U256 = (low + high) >> 1;
        let is_low = middle
            .checked_mul(middle)
            .is_some_and(|square| square <= number);
        if is_low {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

impl Pair {
    /// A pair that a founder has filled.
    pub(crate) fn founded(reserves: [u128; 2], pays_protocol: bool) -> Option<Self> {
        let product = big(reserves[0]) * big(reserves[1]);
        Some(Self {
            reserves,
            supply: small(root(product))?,
            k_last: if pays_protocol { product } else { U256::ZERO },
            pays_protocol,
        })
    }

    /// What a router pays in: the whole of one token and what the other one is worth by the reserves. `None`: reverted.
    pub(crate) fn payments(&self, most: [u128; 2], least: [u128; 2]) -> Option<[u128; 2]> {
        let of = |amount: u128, from: usize| {
            let other = big(amount) * big(self.reserves[1 - from]) / big(self.reserves[from]);
            small(other)
        };
        let second = of(most[0], 0)?;
        if second <= most[1] {
            return (second >= least[1]).then_some([most[0], second]);
        }
        let first = of(most[1], 1)?;
        (first <= most[0] && first >= least[0]).then_some([first, most[1]])
    }

    /// Both tokens were paid in: the shares of the protocol, and the payer's. `None`: reverted.
    pub(crate) fn mint(&mut self, paid: [u128; 2]) -> Option<(u128, u128)> {
        let of_protocol = self.mint_fee()?;
        let shares = |at: usize| small(big(paid[at]) * big(self.supply) / big(self.reserves[at]));
        let minted = shares(0)?.min(shares(1)?);
        if minted == 0 {
            return None;
        }
        self.supply = self.supply.checked_add(minted)?;
        self.set([
            self.reserves[0].checked_add(paid[0])?,
            self.reserves[1].checked_add(paid[1])?,
        ])?;
        self.keep_product();
        Some((of_protocol, minted))
    }

    /// Shares were given back: the shares of the protocol, and what is paid out. `None`: reverted.
    pub(crate) fn burn(&mut self, shares: u128) -> Option<(u128, [u128; 2])> {
        let of_protocol = self.mint_fee()?;
        let part = |at: usize| small(big(shares) * big(self.reserves[at]) / big(self.supply));
        let paid = [part(0)?, part(1)?];
        if paid[0] == 0 || paid[1] == 0 {
            return None;
        }
        self.supply = self.supply.checked_sub(shares)?;
        self.set([self.reserves[0] - paid[0], self.reserves[1] - paid[1]])?;
        self.keep_product();
        Some((of_protocol, paid))
    }

    /// What a sale of so much of a token pays. `None`: reverted.
    pub(crate) fn swap(&mut self, sold_at: usize, sold: u128) -> Option<u128> {
        let after_fee = big(sold).checked_mul(U256::from(997))?;
        let above = after_fee.checked_mul(big(self.reserves[1 - sold_at]))?;
        let below = big(self.reserves[sold_at])
            .checked_mul(U256::from(1_000))?
            .checked_add(after_fee)?;
        let bought = small(above / below)?;
        if bought == 0 {
            return None;
        }
        let mut reserves = self.reserves;
        reserves[sold_at] = reserves[sold_at].checked_add(sold)?;
        reserves[1 - sold_at] -= bought;
        self.set(reserves)?;
        Some(bought)
    }

    fn mint_fee(&mut self) -> Option<u128> {
        if !self.pays_protocol || self.k_last == U256::ZERO {
            return Some(0);
        }
        let (now, last) = (root(self.product()), root(self.k_last));
        if now <= last {
            return Some(0);
        }
        let above = big(self.supply).checked_mul(now - last)?;
        let minted = small(above / (now * U256::from(5) + last))?;
        self.supply = self.supply.checked_add(minted)?;
        Some(minted)
    }

    fn product(&self) -> U256 {
        big(self.reserves[0]) * big(self.reserves[1])
    }

    fn keep_product(&mut self) {
        if self.pays_protocol {
            self.k_last = self.product();
        }
    }

    fn set(&mut self, reserves: [u128; 2]) -> Option<()> {
        let fits = reserves.iter().all(|held| *held <= RESERVE_MAX);
        self.reserves = reserves;
        fits.then_some(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    #[test]
    fn a_join_pays_by_the_reserves_and_within_its_limits() {
        let pair = Pair::founded([1_000, 3_000], false).unwrap();
        assert_eq!(pair.supply, 1_732);
        assert_eq!(pair.payments([100, 301], [99, 298]), Some([100, 300]));
        assert_eq!(pair.payments([101, 300], [99, 298]), Some([100, 300]));
        assert_eq!(pair.payments([100, 400], [99, 300]), Some([100, 300]));
        assert_eq!(pair.payments([100, 400], [99, 301]), None, "another price");
        assert_eq!(pair.payments([200, 300], [100, 1]), Some([100, 300]));
        assert_eq!(pair.payments([200, 300], [101, 1]), None, "another price");
    }

    #[test]
    fn shares_are_those_of_the_smaller_part_and_the_protocol_gets_its_own_first() {
        let mut pair = Pair::founded([1_000_000, 4_000_000], false).unwrap();
        assert_eq!(pair.mint([1_000, 4_000]), Some((0, 2_000)));
        assert_eq!(pair.burn(2_000), Some((0, [1_000, 4_000])));
        assert_eq!(pair.mint([0, 4_000]), None);
        assert_eq!(pair.burn(1), None, "pays none of the first");
        let mut taxed = Pair::founded([1_000, 1_000], true).unwrap();
        taxed.supply = 6_000;
        taxed.reserves = [1_100, 1_100];
        // 6,000 · 100 / (5 · 1,100 + 1,000) = 92.3.
        assert_eq!(taxed.mint([110, 110]), Some((92, 609)));
        assert_eq!(taxed.k_last, U256::from(1_210 * 1_210));
    }

    #[test]
    fn a_swap_pays_by_the_product_less_its_fee() {
        let mut pair = Pair::founded([1_000, 1_000], false).unwrap();
        // 99,700 · 1,000 / (1,000,000 + 99,700) = 90.6.
        assert_eq!(pair.swap(0, 100), Some(90));
        assert_eq!(pair.reserves, [1_100, 910]);
        assert_eq!(pair.swap(1, 1), Some(1));
        assert_eq!(pair.swap(0, RESERVE_MAX), None, "112 bits");
        assert_eq!(
            (root(U256::MAX), root(U256::ZERO)),
            ((U256::from(1) << 128) - U256::from(1), U256::ZERO)
        );
    }
}
