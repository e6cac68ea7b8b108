//! What a finalized receipt of a join or an exit of a range means, to the unit.
//!
//! Which position it is was checked when the transaction was signed. Amounts are those that tokens moved between the account and the pool (`Transfer`), compared with what the pool and the
//! position manager wrote of them. An exit pays out what was owed as well: fees, and rests of earlier ones.

use cambist_core::pool::{PoolTransactionAmounts, UnsignedPoolTransaction};
use cambist_core::{Amount, PoolSpec, PoolTransactionKind};
use cambist_evm::call::amount;
use cambist_evm::log;
use cambist_evm::receipt::Receipt;
use cambist_evm::v3::log::Event;
use cambist_evm::{Address, Malformed, U256};

use crate::chain::Chain;
use crate::range::PoolRange;
use crate::settle::Unsettled;

/// What an executed transaction moved and what was written of it.
#[derive(Default)]
struct Moved {
    /// From the account to the pool, in the pool's order of tokens.
    paid: [U256; 2],
    /// From the position manager to the pool: of the wrapped coin it pays with coins that lie in it, if they suffice
    /// (`PeripheryPayments.pay`), and takes nothing from the account then.
    paid_by_manager: [U256; 2],
    /// From the pool to the account.
    received: [U256; 2],
    of_pool: Vec<Event>,
    of_manager: Vec<Event>,
}

impl Chain {
    /// The amounts of a join or an exit of a range.
    pub(crate) fn range_amounts(
        &self,
        intent: &UnsignedPoolTransaction,
        pool: &PoolSpec,
        of: &PoolRange,
        receipt: &Receipt,
    ) -> Result<PoolTransactionAmounts, Unsettled> {
        let moved = self.moved_by_position(pool, receipt)?;
        let (pooled, lp) = match intent.kind {
            PoolTransactionKind::Join => self.joined(of, &moved)?,
            PoolTransactionKind::Exit => self.left(of, &moved)?,
        };
        Ok(PoolTransactionAmounts { pooled, lp, fee: 0 })
    }

    /// The position that an executed join paid into.
    pub(crate) fn position_of(&self, receipt: &Receipt) -> Option<U256> {
        let of_manager = receipt.logs.iter().filter(|log| log.address == self.router);
        let mut events = of_manager.filter_map(|log| Event::read(log).ok()?);
        events.find_map(|event| match event {
            Event::Increased { position, .. } => Some(position),
            _ => None,
        })
    }

    /// The pool takes exactly what it asks for, or it reverts: it compares what it holds before and after.
    fn joined(&self, of: &PoolRange, moved: &Moved) -> Result<([Amount; 2], Amount), Unsettled> {
        let (liquidity, amounts) = match moved.of_manager.as_slice() {
            [
                Event::Increased {
                    liquidity, amounts, ..
                },
            ] => (*liquidity, *amounts),
            [
                Event::Moved { from, to, position },
                Event::Increased {
                    position: of,
                    liquidity,
                    amounts,
                },
            ] if position == of && *from == Address::ZERO && *to == self.account => {
                (*liquidity, *amounts)
            }
            _ => return Err(Unsettled::Logs),
        };
        let written = Event::Mint {
            sender: self.router,
            owner: self.router,
            ticks: [of.range.lower(), of.range.upper()],
            liquidity,
            amounts,
        };
        if moved.of_pool != [written] || moved.received != [U256::ZERO; 2] {
            return Err(Unsettled::Logs);
        }
        let paid = moved.paid.into_iter().zip(moved.paid_by_manager);
        let paid = paid.map(|(own, other)| own.checked_add(other));
        if !paid.eq(amounts.map(Some)) {
            return Err(Unsettled::FeeOnTransfer);
        }
        // What the account paid; what others paid for it is in the liquidity.
        Ok((both(moved.paid)?, liquidity))
    }

    fn left(&self, of: &PoolRange, moved: &Moved) -> Result<([Amount; 2], Amount), Unsettled> {
        let [
            Event::Decreased {
                position,
                liquidity,
                amounts,
            },
            Event::Collected {
                position: collected,
                recipient,
                amounts: asked,
            },
        ] = moved.of_manager.as_slice()
        else {
            return Err(Unsettled::Logs);
        };
        let ticks = [of.range.lower(), of.range.upper()];
        let burned = Event::Burn {
            owner: self.router,
            ticks,
            liquidity: *liquidity,
            amounts: *amounts,
        };
        // Where liquidity is left, fees are counted once more: a burn of nothing.
        let counted = Event::Burn {
            owner: self.router,
            ticks,
            liquidity: 0,
            amounts: [U256::ZERO; 2],
        };
        let (first, last) = match moved.of_pool.as_slice() {
            [first, last] => (first, last),
            [first, second, last] if *second == counted => (first, last),
            _ => return Err(Unsettled::Logs),
        };
        let Event::Collect {
            owner,
            recipient: receiver,
            ticks: range,
            amounts: paid_out,
        } = *last
        else {
            return Err(Unsettled::Logs);
        };
        let is_one = position == collected;
        let is_to_us = *recipient == self.account && receiver == self.account;
        let is_of_range = *first == burned && owner == self.router && range == ticks;
        // The pool may pay some base units less than the manager asks for: it rounds in another place. Never more.
        let is_asked = (0..2).all(|at| U256::from(paid_out[at]) <= asked[at]);
        let is_all = is_one && is_to_us && is_of_range && is_asked;
        if !is_all || [moved.paid, moved.paid_by_manager] != [[U256::ZERO; 2]; 2] {
            return Err(Unsettled::Logs);
        }
        if moved.received != paid_out.map(U256::from) {
            return Err(Unsettled::FeeOnTransfer);
        }
        Ok((paid_out, *liquidity))
    }

    /// What the logs of known contracts state. Transfers between the account and others than the pool belong to no
    /// intent.
    fn moved_by_position(&self, pool: &PoolSpec, receipt: &Receipt) -> Result<Moved, Unsettled> {
        let contract = Address(pool.address);
        let mut moved = Moved::default();
        for log in &receipt.logs {
            if log.address == contract {
                let of_position = |event: &Event| {
                    matches!(
                        event,
                        Event::Mint { .. } | Event::Burn { .. } | Event::Collect { .. }
                    )
                };
                moved.of_pool.extend(Event::read(log)?.filter(of_position));
                continue;
            }
            if log.address == self.router {
                moved.of_manager.extend(Event::read(log)?);
                continue;
            }
            let Some(token) = self.token(log.address) else {
                continue;
            };
            let Some(log::Event::Transfer { from, to, amount }) = log::Event::read(log)? else {
                continue;
            };
            let is_from = from == self.account;
            let is_by_manager = from == self.router && to == contract;
            if !is_from && !is_by_manager && to != self.account {
                continue;
            }
            let at = pool.pooled.iter().position(|pooled| *pooled == token);
            let at = at.ok_or(Unsettled::Logs)?;
            if is_by_manager {
                let sum = moved.paid_by_manager[at].checked_add(amount);
                moved.paid_by_manager[at] = sum.ok_or(Malformed::Range)?;
                continue;
            }
            let other = if is_from { to } else { from };
            if other != contract {
                // The manager takes tokens for the pool only: what goes elsewhere was taken by the token.
                return Err(if is_from && other != self.account {
                    Unsettled::FeeOnTransfer
                } else {
                    Unsettled::Logs
                });
            }
            let sums = if is_from {
                &mut moved.paid
            } else {
                &mut moved.received
            };
            sums[at] = sums[at].checked_add(amount).ok_or(Malformed::Range)?;
        }
        Ok(moved)
    }
}

fn both(amounts: [U256; 2]) -> Result<[Amount; 2], Malformed> {
    Ok([amount(amounts[0])?, amount(amounts[1])?])
}

#[cfg(test)]
#[path = "settle_range_tests.rs"]
mod tests;
