//! Messages of a key update. The old key signs the hash, the owner's wallet the typed data.

use crate::address::Address;
use crate::eip712::{self, Domain, Encoder};
use crate::field::Fq;
use crate::hash32::Hash32;
use crate::poseidon;
use crate::public_key::PublicKey;

/// The signed part of an account update. (Clauses: account update hash; typed data `AccountUpdate`.)
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AccountUpdateMessage {
    /// Address of the exchange contract.
    pub exchange: Address,
    /// Account to change.
    pub account_id: u32,
    /// Its owner.
    pub owner: Address,
    /// Token id of the fee.
    pub fee_token: u16,
    /// Highest fee, in base units.
    pub max_fee: u128,
    /// The new key.
    pub public_key: PublicKey,
    /// End of validity, in Unix seconds.
    pub valid_until: u32,
    /// The account's nonce.
    pub nonce: u32,
}

impl AccountUpdateMessage {
    /// The typed-data type.
    pub const TYPE: &'static str = "AccountUpdate(address owner,uint32 accountID,uint16 feeTokenID,uint96 maxFee,uint256 publicKey,uint32 validUntil,uint32 nonce)";

    /// The hash that the old layer-2 key signs.
    pub fn hash(&self) -> Hash32 {
        super::hash(&poseidon::ACCOUNT_UPDATE, &self.inputs())
    }

    pub(crate) fn inputs(&self) -> [Fq; 8] {
        [
            self.exchange.element(),
            self.account_id.into(),
            self.fee_token.into(),
            self.max_fee.into(),
            self.public_key.x.element(),
            self.public_key.y.element(),
            self.valid_until.into(),
            self.nonce.into(),
        ]
    }

    /// The typed-data struct hash.
    pub fn struct_hash(&self) -> Hash32 {
        Encoder::new(Self::TYPE)
            .address(&self.owner)
            .uint(self.account_id.into())
            .uint(self.fee_token.into())
            .uint(self.max_fee)
            .word(&self.public_key.packed().to_be_bytes())
            .uint(self.valid_until.into())
            .uint(self.nonce.into())
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
