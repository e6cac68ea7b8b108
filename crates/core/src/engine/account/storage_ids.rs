//! Storage ids: increasing, never reused, and never in a slot whose last use may still be alive; even for orders, odd
//! for joins and exits.
//!
//! An account has 16,384 slots per sell token; an id belongs to slot `id mod 16384`. One counter of even numbers serves
//! both: an odd id is the one after it. The store makes an id durable in the same transaction as what uses it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::token::TokenId;

/// Slots per account and token.
pub const SLOTS: u32 = 1 << 14;

/// Allocator of one account.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct StorageIds {
    next: BTreeMap<TokenId, u32>,
    busy: BTreeMap<TokenId, BTreeSet<u32>>,
}

/// The kind of intent that uses an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parity {
    /// Orders.
    Even,
    /// Joins and exits.
    Odd,
}

impl StorageIds {
    /// Continues at `next` per token; odd starts are raised to even.
    pub(crate) fn new(next: BTreeMap<TokenId, u32>) -> Self {
        let next = next
            .into_iter()
            .map(|(token, id)| (token, id.saturating_add(id % 2)))
            .collect();
        Self {
            next,
            busy: BTreeMap::new(),
        }
    }

    /// Marks the slot of an intent that may be alive.
    pub(crate) fn occupy(&mut self, token: TokenId, id: u32) {
        self.busy.entry(token).or_default().insert(id % SLOTS);
    }

    /// Frees the slot of an intent that is proven dead.
    pub(crate) fn free(&mut self, token: TokenId, id: u32) {
        if let Some(busy) = self.busy.get_mut(&token) {
            busy.remove(&(id % SLOTS));
        }
    }

    /// Takes the next id of a parity whose slot is free. `None` if all its slots are occupied or the ids are used up.
    pub(crate) fn take(&mut self, token: TokenId, parity: Parity) -> Option<u32> {
        let busy = self.busy.entry(token).or_default();
        let next = self.next.entry(token).or_insert(0);
        let odd = match parity {
            Parity::Even => 0,
            Parity::Odd => 1,
        };
        let mut even = *next;
        for _ in 0..SLOTS / 2 {
            let after = even.checked_add(2)?;
            if busy.insert((even + odd) % SLOTS) {
                *next = after;
                return Some(even + odd);
            }
            even = after;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: TokenId = TokenId(1);

    #[test]
    fn ids_are_even_and_rise() {
        let mut ids = StorageIds::new(BTreeMap::from([(TOKEN, 7)]));
        assert_eq!(ids.take(TOKEN, Parity::Even), Some(8));
        assert_eq!(ids.take(TOKEN, Parity::Even), Some(10));
        assert_eq!(
            ids.take(TokenId(2), Parity::Even),
            Some(0),
            "each token counts for itself"
        );
    }

    #[test]
    fn orders_and_moves_share_a_counter_and_never_a_slot() {
        let mut ids = StorageIds::default();
        assert_eq!(ids.take(TOKEN, Parity::Odd), Some(1));
        assert_eq!(ids.take(TOKEN, Parity::Even), Some(2));
        assert_eq!(ids.take(TOKEN, Parity::Even), Some(4));
        assert_eq!(ids.take(TOKEN, Parity::Odd), Some(7));
        assert_eq!(ids.take(TOKEN, Parity::Odd), Some(9));
    }

    #[test]
    fn a_slot_whose_order_may_live_is_skipped() {
        let mut ids = StorageIds::new(BTreeMap::from([(TOKEN, SLOTS)]));
        ids.occupy(TOKEN, 0);
        ids.occupy(TOKEN, 2);
        assert_eq!(ids.take(TOKEN, Parity::Even), Some(SLOTS + 4));
        ids.free(TOKEN, 0);
        assert_eq!(
            ids.take(TOKEN, Parity::Even),
            Some(SLOTS + 6),
            "ids never go back for a freed slot"
        );
    }

    #[test]
    fn no_free_slot_and_no_id_left_mean_none() {
        let mut ids = StorageIds::default();
        let taken = (0..SLOTS)
            .filter(|_| ids.take(TOKEN, Parity::Even).is_some())
            .count();
        assert_eq!(taken, 8_192);
        ids.free(TOKEN, 100);
        assert_eq!(ids.take(TOKEN, Parity::Even), Some(SLOTS + 100));
        let mut last = StorageIds::new(BTreeMap::from([(TOKEN, u32::MAX - 1)]));
        assert_eq!(last.take(TOKEN, Parity::Even), None);
    }
}
