//! Storage ids: per account and token 2^14 slots, and in each only larger ids than before.

use std::collections::BTreeMap;

use cambist_core::TokenId;
use cambist_venue::AccountId;

/// Slots of an account and token.
const SLOTS: u32 = 16_384;

/// The last id of every slot, and the number of the order or submission that used it.
#[derive(Debug, Default)]
pub(super) struct Slots(BTreeMap<(AccountId, TokenId), Vec<Used>>);

/// State of a slot.
type Used = Option<(u32, u64)>;

impl Slots {
    /// The last user of an id's slot; an error if the id was used or is lower than the last.
    pub(super) fn last(
        &self,
        account: AccountId,
        token: TokenId,
        id: u32,
    ) -> Result<Option<u64>, u32> {
        let slots = self.0.get(&(account, token));
        match slots.and_then(|slots| slots.get((id % SLOTS) as usize)) {
            Some(Some((used, _))) if *used >= id => Err(*used),
            Some(Some((_, number))) => Ok(Some(*number)),
            Some(None) | None => Ok(None),
        }
    }

    pub(super) fn spend(&mut self, account: AccountId, token: TokenId, id: u32, number: u64) {
        let slots = self.0.entry((account, token)).or_default();
        let slot = (id % SLOTS) as usize;
        if slots.len() <= slot {
            slots.resize(slot + 1, None);
        }
        slots[slot] = Some((id, number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_takes_only_larger_ids() {
        let (who, token) = (AccountId(1), TokenId(2));
        let mut slots = Slots::default();
        assert_eq!(slots.last(who, token, 3), Ok(None));
        slots.spend(who, token, SLOTS + 3, 9);
        assert_eq!(slots.last(who, token, 3), Err(SLOTS + 3));
        assert_eq!(slots.last(who, token, SLOTS + 3), Err(SLOTS + 3));
        assert_eq!(slots.last(who, token, 2 * SLOTS + 3), Ok(Some(9)));
        assert_eq!(slots.last(who, token, 2), Ok(None));
        assert_eq!(slots.last(who, TokenId(3), 3), Ok(None));
    }
}
