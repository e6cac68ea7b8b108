//! Blocks as a node reports them, without their transactions.

use serde::Deserialize;

use crate::wire::{HashText, Quantity, Quantity64};
use crate::{Hash32, Malformed};

/// Which block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockTag {
    /// The newest one.
    Latest,
    /// The newest one that can be taken back by no fault below a third of all stake.
    Safe,
    /// The newest one that is never taken back.
    Finalized,
    /// What the node would put into the next one.
    Pending,
    /// By its number.
    Number(u64),
}

impl BlockTag {
    /// Its text in requests.
    pub fn text(self) -> String {
        match self {
            Self::Latest => "latest".to_owned(),
            Self::Safe => "safe".to_owned(),
            Self::Finalized => "finalized".to_owned(),
            Self::Pending => "pending".to_owned(),
            Self::Number(number) => format!("0x{number:x}"),
        }
    }
}

/// A block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Reported")]
pub struct Block {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: Hash32,
    /// Hash of the block before it.
    pub parent: Hash32,
    /// Its time in seconds; later than that of the block before it.
    pub timestamp_s: u64,
    /// What every gas costs at least, in base units of the coin.
    pub base_fee: u128,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reported {
    number: Quantity64,
    hash: HashText,
    parent_hash: HashText,
    timestamp: Quantity64,
    base_fee_per_gas: Quantity,
}

impl TryFrom<Reported> for Block {
    type Error = Malformed;

    fn try_from(reported: Reported) -> Result<Self, Malformed> {
        Ok(Self {
            number: reported.number.0,
            hash: reported.hash.0,
            parent: reported.parent_hash.0,
            timestamp_s: reported.timestamp.0,
            base_fee: crate::call::amount(reported.base_fee_per_gas.0)?,
        })
    }
}
