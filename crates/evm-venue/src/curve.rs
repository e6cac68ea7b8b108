//! What a V3 pool trades between prices: its liquidity changes at ticks.
//!
//! Only the ticks next to the price are read, so that a curve ends on both sides. Beyond its ends nothing is known of what
//! the pool trades, and nothing is stated.

use std::collections::BTreeMap;

use cambist_core::Amount;
use cambist_evm::call::amount;
use cambist_evm::v3::call::Price;
use cambist_evm::v3::liquidity::{Rounding, amount0, amount1};
use cambist_evm::v3::tick::Tick;
use cambist_evm::{Malformed, U256};

/// Liquidity up to a root of the price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    end: U256,
    liquidity: u128,
}

/// The curve next to the price, away from it on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    sqrt_price: U256,
    up: Vec<Piece>,
    down: Vec<Piece>,
}

impl Curve {
    /// The curve between two ticks with `liquidity` at the price. `changes` are all ticks between them at which liquidity
    /// changes, and by how much where the price rises to them.
    ///
    /// # Errors
    /// [`Malformed::Range`] if more liquidity goes than there is.
    pub fn new(
        price: Price,
        liquidity: u128,
        changes: &BTreeMap<Tick, i128>,
        [lowest, highest]: [Tick; 2],
    ) -> Result<Self, Malformed> {
        let changed = |liquidity: u128, by: i128| {
            let after = liquidity.checked_add_signed(by);
            after.ok_or(Malformed::Range)
        };
        let (above, below): (Vec<_>, Vec<_>) = changes
            .iter()
            .map(|(tick, by)| (*tick, *by))
            .partition(|(tick, _)| *tick > price.tick);
        let mut up = Vec::new();
        let mut now = liquidity;
        for (tick, by) in above {
            up.push(Piece {
                end: tick.sqrt_price(),
                liquidity: now,
            });
            now = changed(now, by)?;
        }
        up.push(Piece {
            end: highest.sqrt_price(),
            liquidity: now,
        });
        let mut down = Vec::new();
        let mut now = liquidity;
        for (tick, by) in below.into_iter().rev() {
            down.push(Piece {
                end: tick.sqrt_price(),
                liquidity: now,
            });
            now = changed(now, by.checked_neg().ok_or(Malformed::Range)?)?;
        }
        down.push(Piece {
            end: lowest.sqrt_price(),
            liquidity: now,
        });
        Ok(Self {
            sqrt_price: price.sqrt,
            up,
            down,
        })
    }

    /// Base units of token 0 or 1 (`token`) that move until the root of the price is `until`, or the end of the curve
    /// before it, without fees. Rounded down.
    ///
    /// # Errors
    /// [`Malformed::Range`] if it has more than 128 bits.
    pub fn traded(&self, until: U256, token: usize) -> Result<Amount, Malformed> {
        let is_up = until >= self.sqrt_price;
        let pieces = if is_up { &self.up } else { &self.down };
        let mut from = self.sqrt_price;
        let mut sum = U256::ZERO;
        for piece in pieces {
            let (to, between) = if is_up {
                let to = piece.end.min(until).max(from);
                (to, [from, to])
            } else {
                let to = piece.end.max(until).min(from);
                (to, [to, from])
            };
            let moved = match token {
                0 => amount0(between, piece.liquidity, Rounding::Down)?,
                _ => amount1(between, piece.liquidity, Rounding::Down)?,
            };
            sum = sum.checked_add(moved).ok_or(Malformed::Range)?;
            from = to;
        }
        amount(sum)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    fn tick(number: i32) -> Tick {
        Tick::new(number).unwrap()
    }

    fn price(number: i32) -> Price {
        Price {
            sqrt: tick(number).sqrt_price(),
            tick: tick(number),
        }
    }

    const LIQUIDITY: u128 = 1 << 70;

    fn curve(changes: &[(i32, i128)]) -> Result<Curve, Malformed> {
        let changes = changes.iter().map(|(at, by)| (tick(*at), *by));
        Curve::new(
            price(30),
            LIQUIDITY,
            &changes.collect(),
            [tick(-300), tick(300)],
        )
    }

    #[test]
    fn liquidity_changes_at_ticks() {
        let plain = curve(&[]).unwrap();
        let more = curve(&[(60, 1 << 70)]).unwrap();
        let root = |number| tick(number).sqrt_price();
        for token in [0, 1] {
            let of = |curve: &Curve, to| curve.traded(root(to), token).unwrap();
            assert_eq!(of(&plain, 30), 0);
            assert_eq!(of(&plain, 60), of(&more, 60));
            let (once, twice) = (of(&plain, 120), of(&more, 120));
            let beyond = once - of(&plain, 60);
            assert!((twice - once).abs_diff(beyond) <= 2, "{once} {twice}");
            // Below the price nothing has changed.
            assert_eq!(of(&plain, -120), of(&more, -120));
            // Beyond its end nothing is stated.
            assert_eq!(of(&plain, 300), of(&plain, 9_000));
            assert_eq!(of(&plain, -300), of(&plain, -9_000));
        }
        // What was added where the price rose to a tick below is gone below that.
        let less = curve(&[(0, 1 << 69)]).unwrap();
        let of = |curve: &Curve, to| curve.traded(root(to), 1).unwrap();
        assert_eq!(of(&less, 0), of(&plain, 0));
        let (half, whole) = (
            of(&less, -60) - of(&less, 0),
            of(&plain, -60) - of(&plain, 0),
        );
        assert!((2 * half).abs_diff(whole) <= 2, "{half} {whole}");
        assert_eq!(curve(&[(0, 1 << 71)]), Err(Malformed::Range));
        assert_eq!(curve(&[(60, -(1 << 71))]), Err(Malformed::Range));
        assert_eq!(curve(&[(0, i128::MIN)]), Err(Malformed::Range));
    }

    #[test]
    fn at_a_tick_the_liquidity_is_that_of_the_stated_side() {
        // The price came down to tick 60, and the liquidity is that below it.
        let at_end = Price {
            sqrt: tick(60).sqrt_price(),
            tick: tick(59),
        };
        let changes = [(tick(60), 1_i128 << 70)].into();
        let curve = Curve::new(at_end, LIQUIDITY, &changes, [tick(0), tick(120)]).unwrap();
        let [up, down] = [120, 0].map(|to| curve.traded(tick(to).sqrt_price(), 1).unwrap());
        assert!(
            up > down + down / 2,
            "{up} {down}: twice the liquidity above"
        );
        // The price rose to it, and the liquidity is that above it.
        let changes = [(tick(60), 1_i128 << 69)].into();
        let curve = Curve::new(price(60), LIQUIDITY, &changes, [tick(0), tick(120)]).unwrap();
        let [up, down] = [120, 0].map(|to| curve.traded(tick(to).sqrt_price(), 1).unwrap());
        assert!(up > down + down / 2, "{up} {down}: half of it below");
    }
}
