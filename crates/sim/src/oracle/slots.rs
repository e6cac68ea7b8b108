//! Storage ids: per account and token 2^14 slots, and in each only larger ids than before.

use std::collections::BTreeMap;

use cambist_core::TokenId;
use cambist_venue::AccountId;

/// Slots of an account and token.
const SLOTS: u32 = 16_384;

/// The last id of every slot, and the number of the order or submission that used it.
#[derive(Debug, Default)]
pub(super) struct Slots(BTreeMap<(AccountId, TokenId, u32), (u32, u64)>);

impl Slots {
    /// Who used the slot of an id last; an error says that the id was used or is behind.
    pub(super) fn last(
        &self,
        account: AccountId,
        token: TokenId,
        id: u32,
    ) -> Result<Option<u64>, u32> {
        match self.0.get(&(account, token, id % SLOTS)) {
            Some((used, _)) if *used >= id => Err(*used),
            Some((_, number)) => Ok(Some(*number)),
            None => Ok(None),
        }
    }

    pub(super) fn spend(&mut self, account: AccountId, token: TokenId, id: u32, number: u64) {
        self.0.insert((account, token, id % SLOTS), (id, number));
    }
}
