//! Storage ids: even, rising, never reused, and never in a slot whose last order may still live.
//!
//! An account has 16,384 slots per sell token; an id belongs to slot `id mod 16384`. The store makes an
//! id durable in the same transaction as the order that uses it.

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

    /// Marks the slot of an order that may be alive.
    pub(crate) fn occupy(&mut self, token: TokenId, id: u32) {
        self.busy.entry(token).or_default().insert(id % SLOTS);
    }

    /// Frees the slot of an order that is proven dead.
    pub(crate) fn free(&mut self, token: TokenId, id: u32) {
        if let Some(busy) = self.busy.get_mut(&token) {
            busy.remove(&(id % SLOTS));
        }
    }

    /// Takes the next id whose slot is free. `None` when every slot is taken or the ids are used up.
    pub(crate) fn take(&mut self, token: TokenId) -> Option<u32> {
        let busy = self.busy.entry(token).or_default();
        if busy.len() >= SLOTS as usize / 2 {
            return None;
        }
        let next = self.next.entry(token).or_insert(0);
        let mut id = *next;
        for _ in 0..SLOTS / 2 {
            let after = id.checked_add(2)?;
            if busy.insert(id % SLOTS) {
                *next = after;
                return Some(id);
            }
            id = after;
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
        assert_eq!(ids.take(TOKEN), Some(8));
        assert_eq!(ids.take(TOKEN), Some(10));
        assert_eq!(
            ids.take(TokenId(2)),
            Some(0),
            "each token counts for itself"
        );
    }

    #[test]
    fn a_slot_whose_order_may_live_is_skipped() {
        let mut ids = StorageIds::new(BTreeMap::from([(TOKEN, SLOTS)]));
        ids.occupy(TOKEN, 0);
        ids.occupy(TOKEN, 2);
        assert_eq!(ids.take(TOKEN), Some(SLOTS + 4));
        ids.free(TOKEN, 0);
        assert_eq!(
            ids.take(TOKEN),
            Some(SLOTS + 6),
            "ids never go back for a freed slot"
        );
    }

    #[test]
    fn no_free_slot_and_no_id_left_mean_none() {
        let mut ids = StorageIds::default();
        let taken = (0..SLOTS).filter(|_| ids.take(TOKEN).is_some()).count();
        assert_eq!(taken, 8_192);
        ids.free(TOKEN, 100);
        assert_eq!(ids.take(TOKEN), Some(SLOTS + 100));
        let mut last = StorageIds::new(BTreeMap::from([(TOKEN, u32::MAX - 1)]));
        assert_eq!(last.take(TOKEN), None);
    }
}
