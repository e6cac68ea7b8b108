//! Messages of a withdrawal: a hash for the layer-2 key and typed data for the owner's wallet.
//!
//! The fast-withdrawal flag is in neither.

use crate::address::Address;
use crate::eip712::{self, Domain, Encoder};
use crate::error::SignError;
use crate::field::Fq;
use crate::hash32::Hash32;
use crate::keccak::keccak256;
use crate::poseidon;
use crate::text;

/// Data for the receiving contract: a hexadecimal text and its bytes.
///
/// Both are kept because public clients hash one or the other; for empty data they agree.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ExtraData {
    text: String,
    bytes: Vec<u8>,
}

impl ExtraData {
    /// Parses an empty text, or `0x` and an even number of hexadecimal digits.
    ///
    /// # Errors
    /// [`SignError::MalformedExtraData`] for anything else.
    pub fn parse(text: &str) -> Result<Self, SignError> {
        let bytes = if text.is_empty() {
            Some(Vec::new())
        } else {
            text::bytes_from_hex(text)
        };
        Ok(Self {
            text: text.to_owned(),
            bytes: bytes.ok_or(SignError::MalformedExtraData)?,
        })
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The text as given.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The signed part of a withdrawal. (Clauses: withdrawal hash; typed data `Withdrawal`.)
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WithdrawalMessage {
    /// Address of the exchange contract.
    pub exchange: Address,
    /// Account that withdraws.
    pub account_id: u32,
    /// Its owner.
    pub owner: Address,
    /// Token id withdrawn.
    pub token: u16,
    /// Amount withdrawn, in base units.
    pub amount: u128,
    /// Token id of the fee.
    pub fee_token: u16,
    /// Highest fee, in base units.
    pub max_fee: u128,
    /// Receiver on layer 1.
    pub to: Address,
    /// Data for the receiver.
    pub extra_data: ExtraData,
    /// Least gas for the layer-1 transfer.
    pub min_gas: u128,
    /// End of validity, in Unix seconds.
    pub valid_until: u32,
    /// Storage id of the withdrawn token.
    pub storage_id: u32,
}

impl WithdrawalMessage {
    /// The typed-data type.
    pub const TYPE: &'static str = "Withdrawal(address owner,uint32 accountID,uint16 tokenID,uint96 amount,uint16 feeTokenID,uint96 maxFee,address to,bytes extraData,uint256 minGas,uint32 validUntil,uint32 storageID)";

    /// The hash that the layer-2 key signs, over the *bytes* of the extra data. This is what the contract computes.
    pub fn hash(&self) -> Hash32 {
        super::hash(&poseidon::WITHDRAWAL, &self.inputs(&self.extra_data.bytes))
    }

    /// The same over the *text* of the extra data, as one public client signs it. A venue tries this form second.
    pub fn hash_of_text(&self) -> Hash32 {
        super::hash(
            &poseidon::WITHDRAWAL,
            &self.inputs(self.extra_data.text.as_bytes()),
        )
    }

    /// The first 20 bytes of keccak256(minGas as 32 bytes ‖ to ‖ extra data bytes).
    pub fn onchain_data_hash(&self) -> [u8; 20] {
        self.onchain(&self.extra_data.bytes).0
    }

    /// The same over the text of the extra data.
    pub fn onchain_data_hash_of_text(&self) -> [u8; 20] {
        self.onchain(self.extra_data.text.as_bytes()).0
    }

    fn onchain(&self, extra_data: &[u8]) -> Address {
        let gas = crate::field::Field::from(self.min_gas).to_be_bytes();
        let hash = keccak256(&[&gas, &self.to.0, extra_data]);
        let mut out = [0; 20];
        out.copy_from_slice(&hash[..20]);
        Address(out)
    }

    pub(crate) fn inputs(&self, extra_data: &[u8]) -> [Fq; 9] {
        [
            self.exchange.element(),
            self.account_id.into(),
            self.token.into(),
            self.amount.into(),
            self.fee_token.into(),
            self.max_fee.into(),
            self.onchain(extra_data).element(),
            self.valid_until.into(),
            self.storage_id.into(),
        ]
    }

    /// The typed-data struct hash, always over the bytes of the extra data.
    pub fn struct_hash(&self) -> Hash32 {
        Encoder::new(Self::TYPE)
            .address(&self.owner)
            .uint(self.account_id.into())
            .uint(self.token.into())
            .uint(self.amount)
            .uint(self.fee_token.into())
            .uint(self.max_fee)
            .address(&self.to)
            .bytes(&self.extra_data.bytes)
            .uint(self.min_gas)
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
