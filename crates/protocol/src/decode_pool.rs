//! Decodes successful answers about pools into the engine's types.

use cambist_core::pool::{
    PoolBalances, PoolListed, PoolSpec, PoolTransactionAmounts, PoolTransactionKind,
    PoolTransactionReport, PoolTransactionStatus,
};
use cambist_core::request::Reply;
use cambist_core::{OrderStatus, TokenId, VenueTime};
use cambist_signing::Address;

use crate::json::{FromWire, Json, WireError};
use crate::wire::{
    self, PoolBalance, PoolTransaction, PoolTransactions, Pools, Submission, SubmissionStatus,
};

/// Bits of a pool's status.
const EXITS: u32 = 1;
const JOINS: u32 = 2;
const SWAPS: u32 = 4;

/// The answer to a join or an exit.
pub fn submission(json: &Json) -> Result<Reply, WireError> {
    let taken = Submission::read(json)?;
    Ok(Reply::Submitted {
        hash: taken.hash,
        status: match taken.status {
            SubmissionStatus::Received | SubmissionStatus::Processing => OrderStatus::Processing,
            SubmissionStatus::Processed => OrderStatus::Processed,
            SubmissionStatus::Failed => OrderStatus::Failed,
        },
        idempotent: taken.is_idempotent,
    })
}

/// The configured pools that are listed.
pub fn pools(json: &Json, known: &[PoolSpec]) -> Result<Reply, WireError> {
    let listed = Pools::read(json)?.pools;
    let listed = listed.into_iter().filter_map(|pool| {
        let ours = known
            .iter()
            .find(|spec| Address(spec.address) == pool.address)?;
        Some(PoolListed {
            market: ours.market,
            joins: pool.status & JOINS != 0,
            exits: pool.status & EXITS != 0,
            swaps: pool.status & SWAPS != 0,
            fee_bips: pool.fee_bips,
        })
    });
    Ok(Reply::Pools(listed.collect()))
}

/// A pool's balances. The tokens must be those of the requested pool, in its order.
pub fn pool_balance(json: &Json, spec: &PoolSpec) -> Result<Reply, WireError> {
    let snapshot = PoolBalance::read(json)?;
    let [first, second] = snapshot.pooled[..] else {
        return Err(WireError::new("does not have two tokens").within("pooled"));
    };
    if [first.token, second.token] != spec.pooled || snapshot.lp.token != spec.lp.id {
        return Err(WireError::new("has other tokens than the pool").within("pooled"));
    }
    Ok(Reply::PoolBalance(PoolBalances::constant_product(
        [first.volume, second.volume],
        snapshot.lp.volume,
    )))
}

/// One page of joins and exits.
pub fn moves(json: &Json, known: &[PoolSpec]) -> Result<Reply, WireError> {
    let page = PoolTransactions::read(json)?;
    let total = u32::try_from(page.total_num)
        .map_err(|_| WireError::new("is too large").within("totalNum"))?;
    let report = |(at, transaction)| {
        report(&transaction, known).map_err(|error| error.within(&format!("transactions[{at}]")))
    };
    let moves = page.transactions.into_iter().enumerate().map(report);
    Ok(Reply::PoolTransactions {
        moves: moves.collect::<Result<_, _>>()?,
        total,
    })
}

fn report(
    transaction: &PoolTransaction,
    known: &[PoolSpec],
) -> Result<PoolTransactionReport, WireError> {
    let status = match transaction.tx_status.as_str() {
        "processed" => PoolTransactionStatus::Processed,
        "cancelled" | "failed" => PoolTransactionStatus::Cancelled,
        // A transaction that is not known to have ended may still move amounts.
        _ => PoolTransactionStatus::Processing,
    };
    let of = |spec: &&PoolSpec| Address(spec.address) == transaction.amm_pool_address;
    let moved = match known.iter().find(of) {
        Some(spec) => moved(transaction, spec)?,
        // A transaction with a pool that is not configured: its amounts are not needed.
        None => PoolTransactionAmounts::default(),
    };
    Ok(PoolTransactionReport {
        hash: transaction.hash,
        kind: match transaction.tx_type {
            wire::PoolTransactionKind::Join => PoolTransactionKind::Join,
            wire::PoolTransactionKind::Exit => PoolTransactionKind::Exit,
        },
        status,
        amounts: moved,
        created: VenueTime(transaction.created_at),
    })
}

fn moved(
    transaction: &PoolTransaction,
    spec: &PoolSpec,
) -> Result<PoolTransactionAmounts, WireError> {
    let part = |token: TokenId| {
        let mut parts = transaction.pool_tokens.iter();
        let found = parts.find(|part| part.token_id == token);
        found.ok_or_else(|| WireError::new(format!("lacks token {}", token.0)).within("poolTokens"))
    };
    let [first, second] = spec.pooled.map(part);
    let (first, second) = (first?, second?);
    if transaction.pool_tokens.len() != 2 || transaction.lp_token.token_id != spec.lp.id {
        return Err(WireError::new("has other tokens than the pool").within("lpToken"));
    }
    if first.fee_amount > 0 {
        return Err(WireError::new("has a fee in another token than the last").within("feeAmount"));
    }
    Ok(PoolTransactionAmounts {
        pooled: [first.actual_amount, second.actual_amount],
        lp: transaction.lp_token.actual_amount,
        fee: second.fee_amount,
    })
}
