//! Settles joins and exits: all amounts and LP units move, or none.

use cambist_core::Amount;
use serde::{Deserialize, Serialize};

use super::curve;
use crate::account::AccountId;
use crate::venue::Venue;

/// Amounts moved by a join or exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settled {
    pub pooled: [Amount; 2],
    pub lp: Amount,
    pub fee: Amount,
}

impl Venue {
    /// Executes a join out of free funds. `None`, without effect, if it would mint less than `minimum_lp`.
    pub(crate) fn settle_join(
        &mut self,
        account: AccountId,
        index: usize,
        offered: [Amount; 2],
        minimum_lp: Amount,
        fee: Amount,
    ) -> Option<Settled> {
        let pool = &self.pools[index];
        let minted = curve::join(pool.balances, pool.supply, offered)?;
        if minted.lp < minimum_lp {
            return None;
        }
        let (tokens, lp) = (pool.config.pooled, pool.config.lp);
        let pool = &mut self.pools[index];
        pool.supply += minted.lp;
        for (balance, taken) in pool.balances.iter_mut().zip(minted.taken) {
            *balance += taken;
        }
        let holder = self.account_mut(account);
        for (token, taken) in tokens.into_iter().zip(minted.taken) {
            holder.take_free(token, taken);
        }
        holder.take_free(tokens[1], fee);
        holder.credit(lp, minted.lp);
        self.collect(tokens[1], fee);
        Some(Settled {
            pooled: minted.taken,
            lp: minted.lp,
            fee,
        })
    }

    /// Executes an exit out of free LP units. `None`, without effect, if it would pay less than `minimums`.
    pub(crate) fn settle_exit(
        &mut self,
        account: AccountId,
        index: usize,
        burned: Amount,
        minimums: [Amount; 2],
        fee: Amount,
    ) -> Option<Settled> {
        let pool = &self.pools[index];
        let paid = curve::exit(pool.balances, pool.supply, burned)?;
        if paid[0] < minimums[0] || paid[1] < minimums[1] {
            return None;
        }
        // The fee is at most the paid amount.
        let fee = fee.min(paid[1]);
        let (tokens, lp) = (pool.config.pooled, pool.config.lp);
        let pool = &mut self.pools[index];
        pool.supply -= burned;
        for (balance, paid) in pool.balances.iter_mut().zip(paid) {
            *balance -= paid;
        }
        let holder = self.account_mut(account);
        holder.take_free(lp, burned);
        holder.credit(tokens[0], paid[0]);
        holder.credit(tokens[1], paid[1] - fee);
        self.collect(tokens[1], fee);
        Some(Settled {
            pooled: paid,
            lp: burned,
            fee,
        })
    }
}
