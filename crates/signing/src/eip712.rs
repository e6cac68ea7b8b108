//! Typed data as Ethereum wallets sign it (EIP-712): domains, struct hashes, digests.
//!
//! Encodes members; the members of each request are in `messages`.

use crate::address::Address;
use crate::field::Field;
use crate::hash32::Hash32;
use crate::keccak::keccak256;

/// The type of every domain here.
pub const DOMAIN_TYPE: &str =
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";

/// The domain of a signature. (Clause: EIP-712.)
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Domain {
    /// Name of the contract.
    pub name: String,
    /// Version of the contract.
    pub version: String,
    /// Chain the contract is on.
    pub chain_id: u64,
    /// Address of the contract.
    pub verifying_contract: Address,
}

impl Domain {
    /// The domain of transfers, withdrawals and account updates.
    pub fn exchange(chain_id: u64, exchange: Address) -> Self {
        let (name, version) = ("Loopring Protocol".to_owned(), "3.6.0".to_owned());
        Self {
            name,
            version,
            chain_id,
            verifying_contract: exchange,
        }
    }

    /// The domain of joins to and exits from the pool with this name and address.
    pub fn pool(chain_id: u64, name: &str, pool: Address) -> Self {
        let (name, version) = (name.to_owned(), "1.0.0".to_owned());
        Self {
            name,
            version,
            chain_id,
            verifying_contract: pool,
        }
    }

    /// The domain separator.
    pub fn separator(&self) -> Hash32 {
        Encoder::new(DOMAIN_TYPE)
            .bytes(self.name.as_bytes())
            .bytes(self.version.as_bytes())
            .uint(self.chain_id.into())
            .address(&self.verifying_contract)
            .finish()
    }
}

/// keccak256(0x1901 ‖ domain separator ‖ struct hash).
pub fn digest(domain: &Domain, struct_hash: &Hash32) -> Hash32 {
    Hash32(keccak256(&[
        &[0x19, 0x01],
        &domain.separator().0,
        &struct_hash.0,
    ]))
}

/// Collects the members of a struct, each in 32 bytes, after the hash of its type.
pub(crate) struct Encoder(Vec<u8>);

impl Encoder {
    pub(crate) fn new(type_string: &str) -> Self {
        Self(keccak256(&[type_string.as_bytes()]).to_vec())
    }

    pub(crate) fn word(mut self, word: &[u8; 32]) -> Self {
        self.0.extend_from_slice(word);
        self
    }

    pub(crate) fn uint(self, value: u128) -> Self {
        self.word(&Field::from(value).to_be_bytes())
    }

    pub(crate) fn address(self, address: &Address) -> Self {
        let mut word = [0; 32];
        word[12..].copy_from_slice(&address.0);
        self.word(&word)
    }

    /// A member of type `bytes` or `string`: its hash.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        self.word(&keccak256(&[bytes]))
    }

    /// An array of integers: the hash of its padded elements.
    pub(crate) fn uints(self, values: impl Iterator<Item = u128>) -> Self {
        let padded: Vec<u8> = values
            .flat_map(|value| Field::from(value).to_be_bytes())
            .collect();
        self.bytes(&padded)
    }

    pub(crate) fn finish(self) -> Hash32 {
        Hash32(keccak256(&[&self.0]))
    }
}
