//! Seals joins and exits: nonces, exact approvals and fees, written to the journal before they are returned.

use cambist_client::EvmPools;
use cambist_core::Intent;
use cambist_evm::EthKey;
use cambist_evm_venue::account::AccountError;
use cambist_evm_venue::fees::Fees;

use super::journal::Journal;
use crate::venues::{NotSealed, SealedBytes, Sealer};

/// What seals the intents of an account.
pub struct EvmSealer {
    /// The account, with what is known of the chain.
    pub pools: EvmPools,
    /// Its key.
    pub key: EthKey,
    /// What is offered to the producer of a block, per gas.
    pub priority_fee: u128,
    /// What was signed.
    pub journal: Journal,
}

impl Sealer for EvmSealer {
    fn seal(&mut self, intent: &Intent) -> Result<SealedBytes, NotSealed> {
        let mut account = self.pools.account().blocking_lock();
        let base_fee = account.view().map(|view| view.latest().base_fee);
        let sealed = base_fee.and_then(|base_fee| {
            let fees = Fees::of_market(base_fee, self.priority_fee);
            account.seal_intent(intent, fees, &self.key)
        });
        match sealed {
            Ok(bundle) => {
                let written = self.journal.append(bundle.parts(), account.settled_below());
                written.map_err(|error| {
                    NotSealed::Failed(format!("the journal of transactions: {error}"))
                })?;
                Ok(SealedBytes {
                    hash: bundle.hash(),
                    body: bundle.bytes(),
                })
            }
            Err(why @ AccountError::Seal(_)) => Err(NotSealed::Failed(why.to_string())),
            // Fees above the cap, or nothing known of the chain yet: a later intent may be sealed. An account that
            // stopped has its own cause, and an end.
            Err(why) => Err(NotSealed::Later(why.to_string())),
        }
    }
}
