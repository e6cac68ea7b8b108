//! Transactions that wait to be mined, as the nodes of the network keep them, by the rules of go-ethereum.

use std::collections::BTreeMap;

use cambist_evm::rpc::Refusal;
use cambist_evm::transaction::{Signed, Transaction};
use cambist_evm::{Hash32, U256};

use crate::chain::contracts::State;

/// How far above the account's next nonce a transaction waits.
const AHEAD_MAX: u64 = 64;

/// One that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// Its name.
    pub hash: Hash32,
    /// What it does.
    pub transaction: Transaction,
}

/// All of our account, by nonce.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mempool(BTreeMap<u64, Waiting>);

fn refused(message: String) -> Refusal {
    Refusal {
        code: -32_000,
        message,
        data: None,
    }
}

/// A tenth more, rounded up.
const fn tenth_more(fee: u128) -> u128 {
    fee.saturating_add(fee.div_ceil(10))
}

impl Mempool {
    /// Takes bytes that were sent; `state` is that of the newest block.
    ///
    /// # Errors
    /// The node's refusal.
    pub(crate) fn add(&mut self, signed: &Signed, state: &State) -> Result<Hash32, Refusal> {
        let (hash, of) = (signed.hash(), signed.transaction());
        if of.nonce < state.nonce {
            let (next, nonce) = (state.nonce, of.nonce);
            let text = format!("nonce too low: next nonce {next}, tx nonce {nonce}");
            return Err(refused(text));
        }
        if of.nonce > state.nonce + AHEAD_MAX {
            return Err(refused("nonce too high".to_owned()));
        }
        let cost = of.cost_max().unwrap_or(U256::MAX);
        if cost > U256::from(state.coin) {
            let text = "insufficient funds for gas * price + value";
            return Err(refused(text.to_owned()));
        }
        if let Some(known) = self.0.get(&of.nonce) {
            if known.hash == hash {
                return Err(refused("already known".to_owned()));
            }
            let least = [
                tenth_more(known.transaction.fee_max),
                tenth_more(known.transaction.priority_fee_max),
            ];
            if of.fee_max < least[0] || of.priority_fee_max < least[1] {
                let text = "replacement transaction underpriced";
                return Err(refused(text.to_owned()));
            }
        }
        let transaction = of.clone();
        self.0.insert(of.nonce, Waiting { hash, transaction });
        Ok(hash)
    }

    /// What waits with a nonce.
    pub(crate) fn at(&self, nonce: u64) -> Option<&Waiting> {
        self.0.get(&nonce)
    }

    /// Everything that waits, by nonce.
    pub(crate) fn nonces(&self) -> Vec<u64> {
        self.0.keys().copied().collect()
    }

    /// A transaction of a block that was taken back waits again, unless its nonce has another.
    pub(crate) fn again(&mut self, waiting: Waiting) {
        self.0.entry(waiting.transaction.nonce).or_insert(waiting);
    }

    /// No node knows it any more.
    pub(crate) fn forget(&mut self, nonce: u64) {
        self.0.remove(&nonce);
    }

    /// Forgets what can never be mined.
    pub(crate) fn forget_below(&mut self, nonce: u64) {
        self.0 = self.0.split_off(&nonce);
    }
}
