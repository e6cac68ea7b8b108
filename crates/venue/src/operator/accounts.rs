//! Operator requests for accounts: opening, funding, freezing. Also lookups of tokens and markets.

use cambist_core::{Amount, Reason, TokenId};

use super::invalid;
use crate::account::{Account, AccountId, Address, ApiKeyDigest, PublicKey};
use crate::response::Refusal;
use crate::venue::{Market, Venue};

impl Venue {
    /// The next account number: one above the highest.
    pub(crate) fn next_account(&self) -> Option<AccountId> {
        let highest = self.accounts.last_key_value().map(|(id, _)| *id);
        highest
            .map_or(Some(0), |highest| highest.0.checked_add(1))
            .map(|next| AccountId(next.max(self.config.first_account.0)))
    }

    pub(super) fn create_account(
        &mut self,
        id: Option<AccountId>,
        owner: Address,
        public_key: PublicKey,
        api_key: Option<ApiKeyDigest>,
        internal: bool,
    ) -> Result<AccountId, Refusal> {
        let Some(id) = id.or_else(|| self.next_account()) else {
            return invalid("no account number is left");
        };
        if owner == [0; 20] || self.owners.contains_key(&owner) {
            return invalid("the owner is zero or has an account");
        }
        if self.accounts.contains_key(&id) {
            return invalid(format!("account {} exists", id.0));
        }
        let mut account = Account::new(id, owner);
        account.public_key = public_key;
        account.internal = internal;
        self.accounts.insert(id, account);
        self.owners.insert(owner, id);
        if let Some(key) = api_key
            && let Err(refusal) = self.set_api_key(id, key)
        {
            self.accounts.remove(&id);
            self.owners.remove(&owner);
            return Err(refusal);
        }
        Ok(id)
    }

    /// Withdraws free funds immediately.
    pub(super) fn take_out(
        &mut self,
        account: AccountId,
        token: TokenId,
        amount: Amount,
    ) -> Result<(), Refusal> {
        let holder = self.known(account)?;
        if holder.balance(token).free() < amount {
            return Err(Refusal::new(
                Reason::InsufficientBalance,
                format!(
                    "the free balance of token {} is less than the amount",
                    token.0
                ),
            ));
        }
        if amount > 0 {
            holder.take_free(token, amount);
            self.supply.entry(token).or_default().withdrawn += amount;
        }
        Ok(())
    }

    pub(super) fn known(&mut self, id: AccountId) -> Result<&mut Account, Refusal> {
        self.accounts.get_mut(&id).ok_or_else(|| {
            Refusal::new(
                Reason::UserNotFound,
                format!("account {} does not exist", id.0),
            )
        })
    }

    pub(super) fn listed(&mut self, name: &str) -> Result<&mut Market, Refusal> {
        self.markets
            .iter_mut()
            .find(|market| market.listed && market.config.name == name)
            .ok_or_else(|| Refusal::new(Reason::UnsupportedMarket, "the market is not listed"))
    }
}
