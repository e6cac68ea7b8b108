//! Where the row of nonces begins after a start.

use cambist_core::event::Start;
use cambist_core::{ClientOrderId, Intent};

use crate::account::Wanted;

/// The first nonce of a start's [`Account`](crate::account::Account): everything that may not be booked is at it or above.
/// `signed` is what the journal of transactions holds, with its nonces; `spent_below` is the account's nonce in the
/// finalized block.
///
/// With books it is the first charge that is not in them, or the lowest nonce of an intent without an end. Without books
/// everything that was signed is settled again: the opening balances contain it.
pub fn first_nonce<'a>(
    start: &Start,
    signed: impl Iterator<Item = (u64, &'a Wanted)>,
    spent_below: u64,
) -> u64 {
    if start.books.ledger.is_none() {
        return signed.map(|(nonce, _)| nonce).fold(spent_below, u64::min);
    }
    let is_open = |wanted: &Wanted| match wanted {
        Wanted::Intent(Intent::Order(of)) => open(start, of.client_id),
        Wanted::Intent(Intent::PoolTransaction(of)) => open(start, of.client_id),
        Wanted::Approval { .. } | Wanted::Burn => false,
    };
    let undecided = signed.filter(|(_, wanted)| is_open(wanted));
    undecided
        .map(|(nonce, _)| nonce)
        .fold(start.books.charged_below, u64::min)
}

fn open(start: &Start, id: ClientOrderId) -> bool {
    let orders = start.open.iter().map(|open| open.order.client_id);
    let moves = start.open_pool_transactions.iter();
    let moves = moves.map(|open| open.transaction.client_id);
    orders.chain(moves).any(|open| open == id)
}
