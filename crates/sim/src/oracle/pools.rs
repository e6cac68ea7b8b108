//! Pools: constant product, every rounding in the pool's favour (R-POL-01 to R-POL-03).

use cambist_core::{Amount, TokenId};
use cambist_venue::{Address, PoolConfig, PoolStatus};

use crate::oracle::wide_integer::{down, up};

/// LP units of the first join.
const FIRST: Amount = 10_000_000_000;
/// Amounts have 96 bits.
const MOST: Amount = (1 << 96) - 1;

/// One pool and its balances.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) address: Address,
    pub(super) pooled: [TokenId; 2],
    pub(super) lp: TokenId,
    pub(super) fee_bips: u16,
    pub(super) takes_joins: bool,
    pub(super) takes_exits: bool,
    pub(super) takes_swaps: bool,
    /// Fees of a join and of an exit, in the second token.
    pub(super) fees: [Amount; 2],
    pub(super) held: [Amount; 2],
    pub(super) supply: Amount,
}

impl Pool {
    pub(super) const fn new(config: &PoolConfig) -> Self {
        Self {
            address: config.address,
            pooled: config.pooled,
            lp: config.lp,
            fee_bips: config.fee_bips,
            takes_joins: config.status.has(PoolStatus::JOIN),
            takes_exits: config.status.has(PoolStatus::EXIT),
            takes_swaps: config.status.has(PoolStatus::SWAP),
            fees: [config.join_fee, config.exit_fee],
            held: [0; 2],
            supply: 0,
        }
    }

    /// Output for `sold` of its first (0) or second (1) token.
    pub(super) fn pays(&self, token: usize, sold: Amount) -> Option<Amount> {
        let kept = sold.checked_mul(10_000_u128.checked_sub(self.fee_bips.into())?)?;
        let all = self.held[token].checked_mul(10_000)?.checked_add(kept)?;
        if self.held[token] == 0 || sold > MOST {
            return None;
        }
        down(self.held[1 - token], kept, all).filter(|bought| *bought > 0)
    }

    /// Shares minted and amounts taken by a join.
    pub(super) fn join(&self, offered: [Amount; 2]) -> Option<(Amount, [Amount; 2])> {
        if offered[0] == 0 || offered[1] == 0 {
            return None;
        }
        if self.supply == 0 {
            return Some((FIRST, offered));
        }
        let share = |i: usize| down(offered[i], self.supply, self.held[i]);
        let minted = share(0)
            .unwrap_or(MOST + 1)
            .min(share(1).unwrap_or(MOST + 1));
        if minted == 0 || minted + self.supply > MOST {
            return None;
        }
        let takes = |i: usize| up(self.held[i], minted, self.supply);
        Some((minted, [takes(0)?, takes(1)?]))
    }

    /// Amounts paid by an exit.
    pub(super) fn exit(&self, burned: Amount) -> Option<[Amount; 2]> {
        if burned == 0 || burned > self.supply {
            return None;
        }
        let pays = |i: usize| down(self.held[i], burned, self.supply);
        Some([pays(0)?, pays(1)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_favours_the_pool() {
        let mut pool = Pool::new(&PoolConfig {
            name: "AMM-AAA-QQQ".to_owned(),
            address: [1; 20],
            pooled: [TokenId(0), TokenId(1)],
            lp: TokenId(2),
            fee_bips: 30,
            price_precision: 6,
            amount_precision: 6,
            status: PoolStatus::OPEN,
            join_fee: 0,
            exit_fee: 0,
        });
        assert_eq!(pool.join([5, 7]), Some((FIRST, [5, 7])));
        assert_eq!(pool.join([0, 7]), None);
        (pool.held, pool.supply) = ([100, 100], 10);
        assert_eq!(pool.pays(0, 2), Some(1));
        assert_eq!(pool.join([19, 15]), Some((1, [10, 10])));
        (pool.held, pool.supply) = ([101, 99], 10);
        assert_eq!(pool.join([19, 15]), Some((1, [11, 10])));
        assert_eq!(pool.exit(1), Some([10, 9]));
        assert_eq!(pool.exit(11), None);
    }
}
