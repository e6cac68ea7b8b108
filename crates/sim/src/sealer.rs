//! Making an order's hash. The engine and the venue take it as opaque bytes, so a cheap digest proves
//! as much about them as a real one; the wire and real signatures are a variant of their own.

use cambist_core::Hash;
use cambist_core::order::UnsignedOrder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How orders are hashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sealer {
    /// A digest of the order's fields.
    #[default]
    Digest,
}

impl Sealer {
    /// The order's hash. The first byte is zero as in every genuine one, so that it never meets the
    /// background traders' hashes.
    pub fn hash(self, order: &UnsignedOrder) -> Hash {
        match self {
            Self::Digest => {
                let mut digest = Sha256::new();
                digest.update(order.sell_token.0.to_be_bytes());
                digest.update(order.sell_amount.to_be_bytes());
                digest.update(order.buy_token.0.to_be_bytes());
                digest.update(order.buy_amount.to_be_bytes());
                digest.update(order.storage_id.to_be_bytes());
                digest.update(order.valid_until_s.to_be_bytes());
                digest.update([
                    order.max_fee_bips,
                    u8::from(order.fill_by == cambist_core::order::FillBy::Buy),
                ]);
                let mut hash: [u8; 32] = digest.finalize().into();
                hash[0] = 0;
                Hash(hash)
            }
        }
    }
}
