//! Slot numbers: which number the next intent gets, by the venue's rule (`venue::SlotRule`). The store makes a
//! number durable in the same transaction as what uses it.
//!
//! Strided: rising, never used twice, and never in a slot whose last use may still live. One counter of even
//! numbers serves orders and, with the odd number after each, joins and exits. Consecutive: without a gap, so
//! that a number whose intent is dead and never spent it is taken again before any new one. Rising: never again, with
//! gaps where intents were dropped.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::sorted_map::SortedMap;
use crate::token::TokenId;
use crate::venue::{SlotRule, Spent};

/// The numbers of one account.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SlotNumbers {
    rule: SlotRule,
    /// The next number of each row.
    next: SortedMap<TokenId, u32>,
    /// Slots of what may be alive.
    busy: SortedMap<TokenId, BTreeSet<u32>>,
    /// Numbers of consecutive rows that are to be used again.
    returned: SortedMap<TokenId, BTreeSet<u32>>,
    /// The number with which each row began: the venue has used those below.
    begun: SortedMap<TokenId, u32>,
}

/// What a number is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotUse {
    /// An order.
    Order,
    /// A join or an exit.
    PoolTransaction,
}

impl SlotNumbers {
    /// Continues at `next` by row; odd starts of strided rows are raised to even.
    pub(crate) fn new(rule: SlotRule, next: SortedMap<TokenId, u32>) -> Self {
        let raised = |number: u32| match rule {
            SlotRule::Strided { .. } => number.saturating_add(number % 2),
            SlotRule::Consecutive { .. } | SlotRule::Rising { .. } => number,
        };
        let next: SortedMap<_, _> = next
            .into_iter()
            .map(|(token, number)| (token, raised(number)))
            .collect();
        Self {
            rule,
            begun: next.clone(),
            next,
            busy: SortedMap::new(),
            returned: SortedMap::new(),
        }
    }

    /// The slot that a number uses.
    const fn slot(&self, number: u32) -> u32 {
        match self.rule {
            SlotRule::Strided { slots } => number % slots,
            SlotRule::Consecutive { .. } | SlotRule::Rising { .. } => number,
        }
    }

    /// Marks the slot of something that may be alive.
    pub(crate) fn occupy(&mut self, sold: TokenId, number: u32) {
        let slot = self.slot(number);
        let row = self.rule.row(sold);
        if matches!(self.rule, SlotRule::Rising { .. }) {
            let next = self.next.entry(row).or_default();
            *next = number.saturating_add(1).max(*next);
        }
        self.busy.entry(row).or_default().insert(slot);
    }

    /// Frees the slot of something that is proven dead.
    pub(crate) fn free(&mut self, sold: TokenId, number: u32, spent: Spent) {
        let (row, slot) = (self.rule.row(sold), self.slot(number));
        if let Some(busy) = self.busy.get_mut(&row) {
            busy.remove(&slot);
        }
        let begun = self.begun.get(&row).copied().unwrap_or(0);
        let again = matches!(self.rule, SlotRule::Consecutive { .. });
        if again && spent == Spent::No && number >= begun {
            self.returned.entry(row).or_default().insert(number);
        }
    }

    /// Takes the next number whose slot is free. `None` when every slot is taken or the numbers are used up.
    pub(crate) fn take(&mut self, sold: TokenId, what: SlotUse) -> Option<u32> {
        let row = self.rule.row(sold);
        match self.rule {
            SlotRule::Strided { slots } => self.take_strided(row, slots, what),
            SlotRule::Consecutive { .. } => self.take_consecutive(row),
            SlotRule::Rising { .. } => self.take_rising(row),
        }
    }

    /// Whether a later number of a rising row was given out.
    pub(crate) fn is_passed(&self, sold: TokenId, number: u32) -> bool {
        let next = self.next.get(&self.rule.row(sold)).copied().unwrap_or(0);
        matches!(self.rule, SlotRule::Rising { .. }) && number.saturating_add(1) < next
    }

    fn take_strided(&mut self, row: TokenId, slots: u32, what: SlotUse) -> Option<u32> {
        let busy = self.busy.entry(row).or_default();
        let next = self.next.entry(row).or_insert(0);
        let odd = match what {
            SlotUse::Order => 0,
            SlotUse::PoolTransaction => 1,
        };
        let mut even = *next;
        for _ in 0..slots / 2 {
            let after = even.checked_add(2)?;
            if busy.insert((even + odd) % slots) {
                *next = after;
                return Some(even + odd);
            }
            even = after;
        }
        None
    }

    fn take_rising(&mut self, row: TokenId) -> Option<u32> {
        let next = self.next.entry(row).or_insert(0);
        let number = *next;
        *next = number.checked_add(1)?;
        self.busy.entry(row).or_default().insert(number);
        Some(number)
    }

    fn take_consecutive(&mut self, row: TokenId) -> Option<u32> {
        let busy = self.busy.entry(row).or_default();
        let returned = self.returned.entry(row).or_default();
        if let Some(number) = returned.pop_first() {
            busy.insert(number);
            return Some(number);
        }
        let next = self.next.entry(row).or_insert(0);
        // Numbers of earlier runs whose intents may be alive are theirs.
        while busy.contains(next) {
            *next = next.checked_add(1)?;
        }
        let number = *next;
        *next = number.checked_add(1)?;
        busy.insert(number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::venue::EXCHANGE_SLOTS as SLOTS;

    const TOKEN: TokenId = TokenId(1);

    fn strided(next: &[(TokenId, u32)]) -> SlotNumbers {
        let rule = SlotRule::Strided { slots: SLOTS };
        SlotNumbers::new(rule, next.iter().copied().collect())
    }

    fn consecutive(next: u32) -> SlotNumbers {
        let rule = SlotRule::Consecutive { row: TokenId(9) };
        SlotNumbers::new(rule, SortedMap::from([(TokenId(9), next)]))
    }

    #[test]
    fn strided_numbers_of_orders_are_even_and_rise() {
        let mut numbers = strided(&[(TOKEN, 7)]);
        assert_eq!(numbers.take(TOKEN, SlotUse::Order), Some(8));
        assert_eq!(numbers.take(TOKEN, SlotUse::Order), Some(10));
        assert_eq!(
            numbers.take(TokenId(2), SlotUse::Order),
            Some(0),
            "each token counts for itself"
        );
    }

    #[test]
    fn orders_and_pool_transactions_share_a_counter_and_never_a_slot() {
        let mut numbers = strided(&[]);
        assert_eq!(numbers.take(TOKEN, SlotUse::PoolTransaction), Some(1));
        assert_eq!(numbers.take(TOKEN, SlotUse::Order), Some(2));
        assert_eq!(numbers.take(TOKEN, SlotUse::Order), Some(4));
        assert_eq!(numbers.take(TOKEN, SlotUse::PoolTransaction), Some(7));
        assert_eq!(numbers.take(TOKEN, SlotUse::PoolTransaction), Some(9));
    }

    #[test]
    fn a_slot_whose_order_may_live_is_skipped() {
        let mut numbers = strided(&[(TOKEN, SLOTS)]);
        numbers.occupy(TOKEN, 0);
        numbers.occupy(TOKEN, 2);
        assert_eq!(numbers.take(TOKEN, SlotUse::Order), Some(SLOTS + 4));
        numbers.free(TOKEN, 0, Spent::No);
        assert_eq!(
            numbers.take(TOKEN, SlotUse::Order),
            Some(SLOTS + 6),
            "numbers never go back for a freed slot"
        );
    }

    #[test]
    fn no_free_slot_and_no_number_left_mean_none() {
        let mut numbers = strided(&[]);
        let taken = (0..SLOTS)
            .filter(|_| numbers.take(TOKEN, SlotUse::Order).is_some())
            .count();
        assert_eq!(taken, 8_192);
        numbers.free(TOKEN, 100, Spent::Yes);
        assert_eq!(numbers.take(TOKEN, SlotUse::Order), Some(SLOTS + 100));
        let mut last = strided(&[(TOKEN, u32::MAX - 1)]);
        assert_eq!(last.take(TOKEN, SlotUse::Order), None);
    }

    #[test]
    fn consecutive_numbers_have_one_row_and_leave_no_gap() {
        let mut numbers = consecutive(5);
        let taken = [TOKEN, TokenId(2), TOKEN].map(|sold| numbers.take(sold, SlotUse::Order));
        assert_eq!(taken, [Some(5), Some(6), Some(7)]);
        numbers.free(TOKEN, 6, Spent::No);
        numbers.free(TOKEN, 5, Spent::Yes);
        assert_eq!(
            numbers.take(TOKEN, SlotUse::Order),
            Some(6),
            "the gap first"
        );
        assert_eq!(numbers.take(TOKEN, SlotUse::Order), Some(8));
        let mut last = consecutive(u32::MAX);
        assert_eq!(last.take(TOKEN, SlotUse::Order), None);
    }

    fn rising(next: u32) -> SlotNumbers {
        let rule = SlotRule::Rising { row: TokenId(9) };
        SlotNumbers::new(rule, SortedMap::from([(TokenId(9), next)]))
    }

    #[test]
    fn rising_numbers_have_one_row_and_are_never_used_again() {
        let mut numbers = rising(5);
        let taken = [TOKEN, TokenId(2)].map(|sold| numbers.take(sold, SlotUse::Order));
        assert_eq!(taken, [Some(5), Some(6)]);
        numbers.free(TOKEN, 6, Spent::No);
        numbers.free(TOKEN, 5, Spent::Yes);
        assert_eq!(numbers.take(TOKEN, SlotUse::Order), Some(7));
        let passed = [5, 6, 7].map(|number| numbers.is_passed(TOKEN, number));
        assert_eq!(passed, [true, true, false]);
        assert_eq!(rising(u32::MAX).take(TOKEN, SlotUse::Order), None);
        for other in [consecutive(5), strided(&[(TOKEN, 6)])] {
            assert!(!other.is_passed(TOKEN, 0), "their rows do not only rise");
        }
    }

    #[test]
    fn rising_numbers_go_on_above_those_of_what_may_be_alive() {
        let mut numbers = rising(5);
        numbers.occupy(TOKEN, 8);
        numbers.occupy(TOKEN, 3);
        assert_eq!(numbers.take(TOKEN, SlotUse::Order), Some(9));
        numbers.free(TOKEN, 8, Spent::No);
        assert_eq!(numbers.take(TOKEN, SlotUse::Order), Some(10));
    }

    #[test]
    fn numbers_of_earlier_runs_are_left_to_them_until_they_are_dead() {
        let mut numbers = consecutive(5);
        numbers.occupy(TOKEN, 4);
        numbers.occupy(TOKEN, 6);
        assert_eq!(numbers.take(TOKEN, SlotUse::Order), Some(5));
        assert_eq!(numbers.take(TOKEN, SlotUse::Order), Some(7));
        numbers.free(TOKEN, 6, Spent::No);
        numbers.free(TOKEN, 4, Spent::No);
        assert_eq!(numbers.take(TOKEN, SlotUse::Order), Some(6));
        assert_eq!(
            numbers.take(TOKEN, SlotUse::Order),
            Some(8),
            "the venue has used the numbers below the start"
        );
    }
}
