//! Storage slots: 2^14 per account and sell token, each with the last id used.
//!
//! An id consists of a slot (its remainder) and a generation (the rest). The same or an older generation is refused; a
//! newer one replaces the slot's content.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::orders::OrderKey;

/// Slots per account and sell token.
pub const SLOTS: u32 = 1 << 14;

/// State of one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slot {
    /// Last id used.
    pub id: u32,
    /// The order that used it, while it is open.
    pub open: Option<OrderKey>,
}

/// Result for an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotAnswer {
    /// The slot can be used; an open order with an older id is replaced.
    Free {
        /// The order that is replaced.
        replaces: Option<OrderKey>,
    },
    /// This id was used.
    Used,
    /// A larger id was used.
    Older,
}

/// The slots of one account and sell token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SlotTable {
    highest: Option<u32>,
    slots: BTreeMap<u16, Slot>,
}

const fn slot_of(id: u32) -> u16 {
    (id % SLOTS) as u16
}

impl SlotTable {
    /// The result for `id`.
    pub fn ask(&self, id: u32) -> SlotAnswer {
        match self.slots.get(&slot_of(id)) {
            None => SlotAnswer::Free { replaces: None },
            Some(slot) if slot.id == id => SlotAnswer::Used,
            Some(slot) if slot.id > id => SlotAnswer::Older,
            Some(slot) => SlotAnswer::Free {
                replaces: slot.open,
            },
        }
    }

    /// Uses the slot for an order.
    pub fn take(&mut self, id: u32, order: OrderKey) {
        self.slots.insert(
            slot_of(id),
            Slot {
                id,
                open: Some(order),
            },
        );
        self.highest = self.highest.max(Some(id));
    }

    /// Uses the slot once; returns the open order that is cancelled, if there is one.
    pub fn spend(&mut self, id: u32) -> Option<OrderKey> {
        let before = self.slots.insert(slot_of(id), Slot { id, open: None });
        self.highest = self.highest.max(Some(id));
        before.and_then(|slot| slot.open)
    }

    /// The order of this id has ended.
    pub fn release(&mut self, id: u32) {
        if let Some(slot) = self.slots.get_mut(&slot_of(id))
            && slot.id == id
        {
            slot.open = None;
        }
    }

    /// The next id of a parity (0 or 1) that its slot accepts and that replaces no open order: above every id used so
    /// far if possible, else the next generation of the lowest free slot.
    pub fn next(&self, parity: u32) -> Option<u32> {
        let from = match self.highest {
            None => parity,
            Some(highest) => match highest.checked_add(1) {
                Some(next) if next % 2 == parity => next,
                Some(next) => next.saturating_add(1),
                None => u32::MAX,
            },
        };
        let free = |id: u32| self.ask(id) == SlotAnswer::Free { replaces: None };
        let above = (0..SLOTS / 2)
            .filter_map(|step| from.checked_add(2 * step))
            .find(|id| id % 2 == parity && free(*id));
        above.or_else(|| {
            (0..SLOTS / 2)
                .map(|step| 2 * step + parity)
                .filter_map(|slot| match self.slots.get(&slot_of(slot)) {
                    None => Some(slot),
                    Some(used) => used.id.checked_add(SLOTS),
                })
                .find(|id| free(*id))
        })
    }

    /// Slots with an open order, for the audit.
    pub fn open(&self) -> impl Iterator<Item = (u32, OrderKey)> + '_ {
        self.slots
            .values()
            .filter_map(|slot| slot.open.map(|order| (slot.id, order)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: OrderKey = OrderKey(5);

    /// R-SLT-01, R-SLT-02, R-SLT-03
    #[test]
    fn a_slot_takes_only_larger_ids() {
        let mut table = SlotTable::default();
        table.take(SLOTS + 2, KEY);
        assert_eq!(table.ask(SLOTS + 2), SlotAnswer::Used);
        assert_eq!(table.ask(2), SlotAnswer::Older);
        assert_eq!(table.ask(3), SlotAnswer::Free { replaces: None });
        assert_eq!(
            table.ask(2 * SLOTS + 2),
            SlotAnswer::Free {
                replaces: Some(KEY)
            }
        );
        table.release(SLOTS + 2);
        assert_eq!(
            table.ask(2 * SLOTS + 2),
            SlotAnswer::Free { replaces: None }
        );
    }

    /// R-SLT-05
    #[test]
    fn the_next_id_is_above_all_used_and_has_the_requested_parity() {
        let mut table = SlotTable::default();
        assert_eq!((table.next(0), table.next(1)), (Some(0), Some(1)));
        table.take(0, KEY);
        assert_eq!((table.next(0), table.next(1)), (Some(2), Some(1)));
        table.take(7, KEY);
        assert_eq!((table.next(0), table.next(1)), (Some(8), Some(9)));
    }

    /// R-SLT-05
    #[test]
    fn the_next_id_skips_slots_whose_order_is_open() {
        let mut table = SlotTable::default();
        table.take(0, KEY);
        table.take(SLOTS - 2, KEY);
        assert_eq!(table.next(0), Some(SLOTS + 2), "slot 0 is open");
    }

    /// R-SLT-05
    #[test]
    fn after_the_last_id_the_lowest_free_slot_is_used() {
        let mut table = SlotTable::default();
        table.take(0, KEY);
        table.take(u32::MAX, KEY);
        assert_eq!(table.next(0), Some(2));
        table.release(0);
        assert_eq!(table.next(0), Some(SLOTS));
        assert_eq!(table.next(1), Some(1));
    }

    /// R-SLT-05
    #[test]
    fn the_only_free_slot_is_found_wherever_it_is() {
        for free in [0, 2, SLOTS / 2, SLOTS - 2] {
            let mut table = SlotTable::default();
            for slot in (0..SLOTS).step_by(2) {
                table.take(SLOTS + slot, KEY);
            }
            assert_eq!(table.next(0), None, "all are open");
            table.release(SLOTS + free);
            assert_eq!(table.next(0), Some(2 * SLOTS + free));
        }
    }
}
