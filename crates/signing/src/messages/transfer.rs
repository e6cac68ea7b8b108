//! Messages of a transfer: a hash for the layer-2 key and typed data for the owner's wallet.
//!
//! The memo is in neither. The payer's address is only in the typed data, the accounts' ids only in the hash.

use ark_ff::AdditiveGroup;

use crate::address::Address;
use crate::eip712::{self, Domain, Encoder};
use crate::field::Fq;
use crate::hash32::Hash32;
use crate::poseidon;

/// The signed part of a transfer. (Clauses: transfer hash; typed data `Transfer`.)
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TransferMessage {
    /// Address of the exchange contract.
    pub exchange: Address,
    /// Account that pays.
    pub payer_id: u32,
    /// Its owner.
    pub payer: Address,
    /// Receiving account; 0 if the venue is to find it by address.
    pub payee_id: u32,
    /// Its owner.
    pub payee: Address,
    /// Token id moved.
    pub token: u16,
    /// Amount moved, in base units.
    pub amount: u128,
    /// Token id of the fee.
    pub fee_token: u16,
    /// Highest fee, in base units.
    pub max_fee: u128,
    /// End of validity, in Unix seconds.
    pub valid_until: u32,
    /// Storage id of the moved token.
    pub storage_id: u32,
}

impl TransferMessage {
    /// The typed-data type.
    pub const TYPE: &'static str = "Transfer(address from,address to,uint16 tokenID,uint96 amount,uint16 feeTokenID,uint96 maxFee,uint32 validUntil,uint32 storageID)";

    /// The hash that the layer-2 key signs and that identifies the transfer.
    pub fn hash(&self) -> Hash32 {
        super::hash(&poseidon::TRANSFER, &self.inputs())
    }

    pub(crate) fn inputs(&self) -> [Fq; 12] {
        [
            self.exchange.element(),
            self.payer_id.into(),
            self.payee_id.into(),
            self.token.into(),
            self.amount.into(),
            self.fee_token.into(),
            self.max_fee.into(),
            self.payee.element(),
            // The key of a second signer, which requests of this interface never have.
            Fq::ZERO,
            Fq::ZERO,
            self.valid_until.into(),
            self.storage_id.into(),
        ]
    }

    /// The typed-data struct hash.
    pub fn struct_hash(&self) -> Hash32 {
        Encoder::new(Self::TYPE)
            .address(&self.payer)
            .address(&self.payee)
            .uint(self.token.into())
            .uint(self.amount)
            .uint(self.fee_token.into())
            .uint(self.max_fee)
            .uint(self.valid_until.into())
            .uint(self.storage_id.into())
            .finish()
    }

    /// The digest that the owner's wallet signs.
    pub fn digest(&self, chain_id: u64) -> Hash32 {
        eip712::digest(
            &Domain::exchange(chain_id, self.exchange),
            &self.struct_hash(),
        )
    }
}
