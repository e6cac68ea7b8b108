//! Messages of joins and exits. Both keys use the same digest; the layer-2 key signs it shifted by three bits.
//!
//! Token ids are not part of the typed data: the receiver of a request must check them against the pool.

use crate::address::Address;
use crate::eip712::{self, Domain, Encoder};
use crate::field::Field;
use crate::hash32::Hash32;

/// The signed part of a pool join. (Clause: typed data `PoolJoin`.)
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PoolJoinMessage {
    /// Owner of the joining account.
    pub owner: Address,
    /// Amounts offered, in base units, in the pool's order of tokens.
    pub join_amounts: Vec<u128>,
    /// One storage id per amount.
    pub join_storage_ids: Vec<u32>,
    /// Minimum amount of pool shares to receive.
    pub mint_min_amount: u128,
    /// Highest fee in base units of the last token, in the later form of the struct; `None` selects the earlier form
    /// without that member. A request with a fee is signed in the later form.
    pub fee: Option<u128>,
    /// End of validity, in Unix seconds.
    pub valid_until: u32,
}

impl PoolJoinMessage {
    /// The typed-data type of the later form.
    pub const TYPE_WITH_FEE: &'static str = "PoolJoin(address owner,uint96[] joinAmounts,uint32[] joinStorageIDs,uint96 mintMinAmount,uint96 fee,uint32 validUntil)";
    /// The typed-data type of the earlier form.
    pub const TYPE_WITHOUT_FEE: &'static str = "PoolJoin(address owner,uint96[] joinAmounts,uint32[] joinStorageIDs,uint96 mintMinAmount,uint32 validUntil)";

    /// The typed-data type of this message.
    pub const fn type_string(&self) -> &'static str {
        if self.fee.is_some() {
            Self::TYPE_WITH_FEE
        } else {
            Self::TYPE_WITHOUT_FEE
        }
    }

    /// The typed-data struct hash.
    pub fn struct_hash(&self) -> Hash32 {
        let mut encoder = Encoder::new(self.type_string())
            .address(&self.owner)
            .uints(self.join_amounts.iter().copied())
            .uints(self.join_storage_ids.iter().map(|id| u128::from(*id)))
            .uint(self.mint_min_amount);
        if let Some(fee) = self.fee {
            encoder = encoder.uint(fee);
        }
        encoder.uint(self.valid_until.into()).finish()
    }

    /// The digest in the domain of a pool (see [`Domain::pool`]).
    pub fn digest(&self, pool: &Domain) -> Hash32 {
        eip712::digest(pool, &self.struct_hash())
    }

    /// The message that the layer-2 key signs.
    pub fn message(&self, pool: &Domain) -> Field {
        shifted(&self.digest(pool))
    }
}

/// The signed part of a pool exit. (Clause: typed data `PoolExit`.)
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PoolExitMessage {
    /// Owner of the leaving account.
    pub owner: Address,
    /// Burned amount of pool shares.
    pub burn_amount: u128,
    /// Storage id of the LP token.
    pub burn_storage_id: u32,
    /// Minimum amounts to receive before the fee, in base units, in the pool's order of tokens.
    pub exit_min_amounts: Vec<u128>,
    /// Highest fee in base units of the last token (`maxFee` in requests).
    pub fee: u128,
    /// End of validity, in Unix seconds.
    pub valid_until: u32,
}

impl PoolExitMessage {
    /// The typed-data type.
    pub const TYPE: &'static str = "PoolExit(address owner,uint96 burnAmount,uint32 burnStorageID,uint96[] exitMinAmounts,uint96 fee,uint32 validUntil)";

    /// The typed-data struct hash.
    pub fn struct_hash(&self) -> Hash32 {
        Encoder::new(Self::TYPE)
            .address(&self.owner)
            .uint(self.burn_amount)
            .uint(self.burn_storage_id.into())
            .uints(self.exit_min_amounts.iter().copied())
            .uint(self.fee)
            .uint(self.valid_until.into())
            .finish()
    }

    /// The digest in the domain of a pool (see [`Domain::pool`]).
    pub fn digest(&self, pool: &Domain) -> Hash32 {
        eip712::digest(pool, &self.struct_hash())
    }

    /// The message that the layer-2 key signs.
    pub fn message(&self, pool: &Domain) -> Field {
        shifted(&self.digest(pool))
    }
}

/// The digest as a number, shifted right by three bits so that it is in the field.
fn shifted(digest: &Hash32) -> Field {
    let mut out = [0_u8; 32];
    let mut above = 0;
    for (shifted, byte) in out.iter_mut().zip(digest.0) {
        *shifted = above << 5 | byte >> 3;
        above = byte;
    }
    Field::from_be_bytes(out)
}
