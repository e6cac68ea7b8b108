//! Keccak-256 as Ethereum uses it, over parts that are hashed one after the other.

use sha3::{Digest, Keccak256};

/// The digest of all parts joined.
pub fn keccak256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Keccak256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}
