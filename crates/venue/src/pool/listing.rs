//! Reads pools: configuration, balances, joins and exits.

use cambist_core::Reason;

use super::{PoolConfig, PoolStatus, PoolTransactionsQuery, PoolTxKind, PoolTxStatus};
use crate::account::Address;
use crate::config::Compat;
use crate::offchain::{Stage, Submission, TokenAmount, Work};
use crate::request::Caller;
use crate::response::{
    PoolBalanceView, PoolTransactionView, PoolTransactionsView, PoolTransferView, Refusal,
};
use crate::venue::Venue;

impl Venue {
    /// Listed pools with the bit `SHOWN`.
    pub(crate) fn shown_pools(&self) -> Vec<PoolConfig> {
        self.pools
            .iter()
            .filter(|pool| pool.listed && pool.config.status.has(PoolStatus::SHOWN))
            .map(|pool| pool.config.clone())
            .collect()
    }

    pub(crate) fn pool_balance(&self, address: &Address) -> Result<PoolBalanceView, Refusal> {
        let Some(index) = self.find_pool(address) else {
            let reason = match self.config.compat {
                Compat::Both => Reason::InvalidArgument,
                Compat::Strict => Reason::UnknownError,
            };
            return Err(Refusal::new(reason, "no such pool"));
        };
        let pool = &self.pools[index];
        let pooled = |i: usize| TokenAmount::new(pool.config.pooled[i], pool.balances[i]);
        Ok(PoolBalanceView {
            pooled: [pooled(0), pooled(1)],
            lp: TokenAmount::new(pool.config.lp, pool.supply),
        })
    }

    pub(crate) fn list_pool_transactions(
        &self,
        caller: &Caller,
        query: &PoolTransactionsQuery,
    ) -> Result<PoolTransactionsView, Refusal> {
        self.check_owner(caller, query.account)?;
        let limits = &self.config.limits;
        let limit = query
            .limit
            .unwrap_or(u64::from(limits.orders_page))
            .min(u64::from(limits.orders_page_max));
        let mut found = PoolTransactionsView {
            total: 0,
            transactions: Vec::new(),
        };
        let numbers = &self.accounts[&query.account].submissions;
        for number in numbers.iter().rev() {
            let Some(view) = self.pool_transaction(&self.submissions[number]) else {
                continue;
            };
            if view.created < query.start {
                break;
            }
            if !matches(query, &view) {
                continue;
            }
            if found.total >= query.offset && (found.transactions.len() as u64) < limit {
                found.transactions.push(view);
            }
            found.total += 1;
        }
        Ok(found)
    }

    fn pool_transaction(&self, submission: &Submission) -> Option<PoolTransactionView> {
        let (kind, index, asked, lp, fee) = match &submission.work {
            Work::Join {
                pool,
                offered,
                minimum_lp,
                fee,
            } => (PoolTxKind::Join, *pool, *offered, *minimum_lp, *fee),
            Work::Exit {
                pool,
                minimums,
                burned,
                fee,
            } => (PoolTxKind::Exit, *pool, *minimums, *burned, *fee),
            Work::Transfer { .. } | Work::Withdraw { .. } | Work::Key { .. } => return None,
        };
        let config = &self.pools[index].config;
        let moved = submission.settled;
        let part = |i: usize| PoolTransferView {
            token: config.pooled[i],
            amount: asked[i],
            actual: moved.map_or(0, |settled| settled.pooled[i]),
            fee: if i == 1 {
                moved.map_or(fee, |settled| settled.fee)
            } else {
                0
            },
        };
        Some(PoolTransactionView {
            hash: submission.hash,
            kind,
            status: match submission.stage {
                Stage::Received | Stage::Processing => PoolTxStatus::Processing,
                Stage::Pending | Stage::Processed => PoolTxStatus::Processed,
                Stage::Failed => PoolTxStatus::Cancelled,
            },
            pool: config.address,
            layer: submission.layer,
            pooled: [part(0), part(1)],
            lp: PoolTransferView {
                token: config.lp,
                amount: lp,
                actual: moved.map_or(0, |settled| settled.lp),
                fee: 0,
            },
            created: submission.created,
            updated: submission.updated,
        })
    }
}

fn matches(query: &PoolTransactionsQuery, view: &PoolTransactionView) -> bool {
    (query.end.0 == 0 || view.created <= query.end)
        && query.pool.is_none_or(|pool| pool == view.pool)
        && query
            .kinds
            .as_ref()
            .is_some_and(|kinds| kinds.is_empty() || kinds.contains(&view.kind))
        && query
            .statuses
            .as_ref()
            .is_some_and(|statuses| statuses.is_empty() || statuses.contains(&view.status))
}
