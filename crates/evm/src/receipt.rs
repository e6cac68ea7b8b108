//! Receipts: what became of a mined transaction.

use serde::Deserialize;

use crate::call::amount;
use crate::log::Log;
use crate::wire::{AddressText, Data, HashText, Quantity, Quantity64};
use crate::{Address, Hash32, Malformed, U256};

/// Most logs of one transaction that are read; calls of this program write fewer than ten.
const LOGS_MAX: usize = 256;

/// A receipt.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Reported")]
pub struct Receipt {
    /// The transaction.
    pub transaction: Hash32,
    /// Number of its block.
    pub block_number: u64,
    /// Hash of its block.
    pub block_hash: Hash32,
    /// The account that signed it.
    pub from: Address,
    /// What was called.
    pub to: Option<Address>,
    /// The contract that it created.
    pub created: Option<Address>,
    /// Whether it was executed; otherwise it was reverted, and only its gas was paid.
    pub succeeded: bool,
    /// Gas that it took.
    pub gas_used: u64,
    /// What each gas cost, in base units of the coin.
    pub gas_price: u128,
    /// Its logs in order; none if it was reverted.
    pub logs: Vec<Log>,
}

impl Receipt {
    /// What its gas cost, in base units of the coin.
    pub fn gas_cost(&self) -> Option<u128> {
        u128::from(self.gas_used).checked_mul(self.gas_price)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reported {
    transaction_hash: HashText,
    block_number: Quantity64,
    block_hash: HashText,
    from: AddressText,
    to: Option<AddressText>,
    contract_address: Option<AddressText>,
    status: Quantity64,
    gas_used: Quantity64,
    effective_gas_price: Quantity,
    logs: Vec<ReportedLog>,
    /// Chains on top of another one charge these beside gas.
    #[serde(default)]
    l1_fee: Option<Quantity>,
    #[serde(default)]
    operator_fee_scalar: Option<Quantity>,
    #[serde(default)]
    operator_fee_constant: Option<Quantity>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportedLog {
    address: AddressText,
    topics: Vec<HashText>,
    data: Data,
    log_index: Quantity64,
    transaction_hash: HashText,
    block_hash: HashText,
    #[serde(default)]
    removed: bool,
}

impl TryFrom<Reported> for Receipt {
    type Error = Malformed;

    fn try_from(reported: Reported) -> Result<Self, Malformed> {
        let beside_gas = [
            reported.l1_fee,
            reported.operator_fee_scalar,
            reported.operator_fee_constant,
        ];
        if beside_gas.iter().flatten().any(|fee| fee.0 != U256::ZERO) {
            return Err(Malformed::Rpc("a receipt with fees beside gas"));
        }
        let succeeded = match reported.status.0 {
            0 => false,
            1 => true,
            _ => return Err(Malformed::Rpc("a receipt of another status")),
        };
        let (transaction, block_hash) = (reported.transaction_hash.0, reported.block_hash.0);
        let logs = reported.logs;
        if logs.len() > LOGS_MAX {
            return Err(Malformed::Rpc("a receipt with too many logs"));
        }
        if !succeeded && !logs.is_empty() {
            return Err(Malformed::Rpc("a reverted transaction with logs"));
        }
        let of_it = |log: &ReportedLog| {
            log.transaction_hash.0 == transaction
                && log.block_hash.0 == block_hash
                && log.topics.len() <= 4
                && !log.removed
        };
        let in_order = logs
            .windows(2)
            .all(|pair| pair[0].log_index.0 < pair[1].log_index.0);
        if !in_order || !logs.iter().all(of_it) {
            return Err(Malformed::Rpc("a receipt with logs that are not its own"));
        }
        Ok(Self {
            transaction,
            block_number: reported.block_number.0,
            block_hash,
            from: reported.from.0,
            to: reported.to.map(|to| to.0),
            created: reported.contract_address.map(|created| created.0),
            succeeded,
            gas_used: reported.gas_used.0,
            gas_price: amount(reported.effective_gas_price.0)?,
            logs: logs
                .into_iter()
                .map(|log| Log {
                    address: log.address.0,
                    topics: log.topics.into_iter().map(|topic| topic.0).collect(),
                    data: log.data.0,
                    index: log.log_index.0,
                })
                .collect(),
        })
    }
}
