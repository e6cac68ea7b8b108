//! Seals intents for the exchange interface: hashes, signs, verifies and reads back.

use std::sync::Arc;

use cambist_core::{Intent, PoolSpec};
use cambist_protocol::encode::{SealError, SignedIntent, sign_order};
use cambist_protocol::encode_move::{Owner, sign_move};
use cambist_signing::{Address, RequestSigner, SignerError};

use crate::venues::{NotSealed, SealedBytes, Sealer};

/// Signing key, exchange and account.
pub struct Signer {
    /// The account's secret key, or the process that holds it.
    pub key: Arc<dyn RequestSigner>,
    /// Exchange address, part of every hash.
    pub exchange: Address,
    /// Account id.
    pub account_id: u32,
    /// Owner and chain, which pool transactions sign.
    pub owner: Owner,
    /// Configured pools.
    pub pools: Vec<PoolSpec>,
}

impl Signer {
    fn sign(&self, intent: &Intent) -> Result<SignedIntent, SealError> {
        match intent {
            Intent::Order(order) => sign_order(
                order,
                self.exchange,
                self.account_id,
                &self.pools,
                &*self.key,
            ),
            Intent::PoolTransaction(transaction) => {
                let mut pools = self.pools.iter();
                let pool = pools.find(|pool| pool.market == transaction.market);
                sign_move(
                    transaction,
                    pool.ok_or(SealError::NoPool)?,
                    self.owner,
                    &*self.key,
                )
            }
        }
    }
}

impl Sealer for Signer {
    fn seal(&mut self, intent: &Intent) -> Result<SealedBytes, NotSealed> {
        match self.sign(intent) {
            Ok(SignedIntent { hash, body }) => Ok(SealedBytes { hash, body }),
            Err(SealError::Sign(
                refusal @ (SignerError::Refused(_) | SignerError::Unavailable(_)),
            )) => Err(NotSealed::Signer(refusal)),
            Err(error) => Err(NotSealed::Failed(error.to_string())),
        }
    }
}
