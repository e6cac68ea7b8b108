//! Transactions of type 2 (EIP-1559): their bytes, hash and signature, and reading them back.
//!
//! The bytes are `0x02 ‖ rlp([chain id, nonce, max priority fee, max fee, gas limit, to, value, data, access list, y
//! parity, r, s])`; the hash of all of them is the transaction's name, and the hash without the last three is what is
//! signed. Access lists are always empty here, and one that is not is refused.
//!
//! Signing is deterministic (RFC 6979), so that the same transaction always has the same name.

use alloy_rlp::{Decodable, Encodable, Header};
use cambist_signing::ecdsa;

use crate::{Address, EthKey, Hash32, Malformed, U256, keccak256};

/// First byte of a transaction of type 2.
const TYPE: u8 = 2;
/// Most bytes of data: public nodes take no transaction above 128 KiB.
const DATA_MAX: usize = 128 << 10;
/// Below it no transaction can be executed.
const GAS_MIN: u64 = 21_000;

/// A transaction before it is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The chain (EIP-155).
    pub chain_id: u64,
    /// The account's consecutive number; below 2⁶⁴ − 1 (EIP-2681).
    pub nonce: u64,
    /// Most that the block's producer gets, in base units of the chain's coin per gas.
    pub priority_fee_max: u128,
    /// Most that is paid in all, in base units of the coin per gas.
    pub fee_max: u128,
    /// Most gas.
    pub gas_limit: u64,
    /// What is called; `None` creates a contract.
    pub to: Option<Address>,
    /// Base units of the coin that go along.
    pub value: U256,
    /// The call, or the code that creates.
    pub data: Vec<u8>,
}

impl Transaction {
    /// Whether a node can accept it at all.
    ///
    /// # Errors
    /// [`Malformed::Transaction`] names the field.
    pub fn check(&self) -> Result<(), Malformed> {
        let wrong = |what| Err(Malformed::Transaction(what));
        match self {
            Self { chain_id: 0, .. } => wrong("chain id 0"),
            Self {
                nonce: u64::MAX, ..
            } => wrong("nonce 2^64 - 1"),
            of if of.gas_limit < GAS_MIN => wrong("gas limit below 21000"),
            of if of.priority_fee_max > of.fee_max => wrong("priority fee above the fee"),
            of if of.data.len() > DATA_MAX => wrong("more than 128 KiB of data"),
            of if of.to.is_none() && of.data.is_empty() => wrong("creates nothing"),
            of if of.cost_max().is_none() => wrong("a cost of more than 256 bits"),
            _ => Ok(()),
        }
    }

    /// Most of the coin that it can take: its value, and all its gas at the highest fee.
    pub fn cost_max(&self) -> Option<U256> {
        self.gas_cost_max()?.checked_add(self.value)
    }

    /// Most of the coin that its gas can take.
    pub fn gas_cost_max(&self) -> Option<U256> {
        U256::from(self.fee_max).checked_mul(U256::from(self.gas_limit))
    }

    /// What is signed.
    pub fn digest(&self) -> Hash32 {
        Hash32(keccak256(&[&self.encoded(None)]))
    }

    /// Signs it. The signature is recovered before anything is returned.
    ///
    /// # Errors
    /// [`Malformed::Transaction`]; [`Malformed::Signature`] if the signature just made is not the key's.
    pub fn sign(self, key: &EthKey) -> Result<Signed, Malformed> {
        self.check()?;
        let raw = key.sign_digest(&self.digest());
        let signed = Signed {
            transaction: self,
            signature: raw,
        };
        if signed.sender() == Ok(key.address()) {
            Ok(signed)
        } else {
            Err(Malformed::Signature)
        }
    }

    fn encoded(&self, signature: Option<&ecdsa::Raw>) -> Vec<u8> {
        let mut fields = Vec::with_capacity(256 + self.data.len());
        self.chain_id.encode(&mut fields);
        self.nonce.encode(&mut fields);
        self.priority_fee_max.encode(&mut fields);
        self.fee_max.encode(&mut fields);
        self.gas_limit.encode(&mut fields);
        let to = self.to.as_ref().map_or(&[][..], |to| &to.0);
        to.encode(&mut fields);
        self.value.encode(&mut fields);
        self.data.as_slice().encode(&mut fields);
        let no_access_list = Header {
            list: true,
            payload_length: 0,
        };
        no_access_list.encode(&mut fields);
        if let Some(raw) = signature {
            (raw[64] - 27).encode(&mut fields);
            word(&raw[..32]).encode(&mut fields);
            word(&raw[32..64]).encode(&mut fields);
        }
        let mut bytes = vec![TYPE];
        let list = Header {
            list: true,
            payload_length: fields.len(),
        };
        list.encode(&mut bytes);
        bytes.extend(fields);
        bytes
    }
}

/// A signed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    transaction: Transaction,
    signature: ecdsa::Raw,
}

impl Signed {
    /// What was signed.
    pub const fn transaction(&self) -> &Transaction {
        &self.transaction
    }

    /// The bytes that a node is sent.
    pub fn bytes(&self) -> Vec<u8> {
        self.transaction.encoded(Some(&self.signature))
    }

    /// Its name on the chain.
    pub fn hash(&self) -> Hash32 {
        Hash32(keccak256(&[&self.bytes()]))
    }

    /// The account that signed it.
    ///
    /// # Errors
    /// [`Malformed::Signature`].
    pub fn sender(&self) -> Result<Address, Malformed> {
        ecdsa::recover(&self.transaction.digest(), &self.signature)
            .map_err(|_| Malformed::Signature)
    }

    /// Reads bytes of this chain: canonical, complete, with nothing behind them, and with a signature that has a signer.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(bytes: &[u8], chain_id: u64) -> Result<Self, Malformed> {
        let (kind, mut rest) = bytes.split_first().ok_or(Malformed::Rlp("no bytes"))?;
        if *kind != TYPE {
            return Err(Malformed::Transaction("not of type 2"));
        }
        let mut fields = payload(&mut rest, true)?;
        if !rest.is_empty() {
            return Err(Malformed::Rlp("bytes are left over"));
        }
        let of = &mut fields;
        let transaction = Transaction {
            chain_id: number(of)?,
            nonce: number(of)?,
            priority_fee_max: number(of)?,
            fee_max: number(of)?,
            gas_limit: number(of)?,
            to: match payload(of, false)? {
                [] => None,
                to => {
                    let to = to.try_into();
                    Some(Address(to.map_err(|_| {
                        Malformed::Rlp("an address of other than 20 bytes")
                    })?))
                }
            },
            value: number(of)?,
            data: payload(of, false)?.to_vec(),
        };
        if !payload(of, true)?.is_empty() {
            return Err(Malformed::Transaction("with an access list"));
        }
        let parity: u8 = number(of)?;
        let (r, s): (U256, U256) = (number(of)?, number(of)?);
        if !fields.is_empty() {
            return Err(Malformed::Rlp("fields are left over"));
        }
        if parity > 1 {
            return Err(Malformed::Signature);
        }
        if transaction.chain_id != chain_id {
            return Err(Malformed::ChainId);
        }
        transaction.check()?;
        let mut signature = [0; 65];
        signature[..32].copy_from_slice(&r.to_be_bytes::<32>());
        signature[32..64].copy_from_slice(&s.to_be_bytes::<32>());
        signature[64] = 27 + parity;
        let signed = Self {
            transaction,
            signature,
        };
        signed.sender()?;
        Ok(signed)
    }
}

fn word(bytes: &[u8]) -> U256 {
    U256::from_be_slice(bytes)
}

fn number<T: Decodable>(from: &mut &[u8]) -> Result<T, Malformed> {
    T::decode(from).map_err(malformed)
}

fn payload<'a>(from: &mut &'a [u8], is_list: bool) -> Result<&'a [u8], Malformed> {
    Header::decode_bytes(from, is_list).map_err(malformed)
}

const fn malformed(error: alloy_rlp::Error) -> Malformed {
    use alloy_rlp::Error;
    Malformed::Rlp(match error {
        Error::InputTooShort => "truncated",
        Error::Overflow => "a number that is too large",
        Error::NonCanonicalSingleByte | Error::NonCanonicalSize | Error::LeadingZero => {
            "not canonical"
        }
        Error::UnexpectedList | Error::UnexpectedString => "of another shape",
        _ => "refused",
    })
}
