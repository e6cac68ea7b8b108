//! Balances: the total and locked amount of every token of every account, and flows into and out of the exchange. No
//! balance can fall below zero.

use crate::invariants::table::Invariant;
use std::collections::BTreeMap;

use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, TokenId};
use cambist_venue::AccountId;

use super::Broken;

/// The balance of one token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Holding {
    pub(super) total: Amount,
    pub(super) locked: Amount,
}

/// All balances.
#[derive(Debug, Default)]
pub(super) struct Money {
    pub(super) purses: BTreeMap<(AccountId, TokenId), Holding>,
    /// External inflow less outflow, by token.
    pub(super) inside: SortedMap<TokenId, Amount>,
}

impl Money {
    pub(super) fn of(&self, account: AccountId, token: TokenId) -> Holding {
        self.purses
            .get(&(account, token))
            .copied()
            .unwrap_or_default()
    }

    fn holding(&mut self, account: AccountId, token: TokenId) -> &mut Holding {
        self.purses.entry((account, token)).or_default()
    }

    /// An external inflow.
    pub(super) fn come(&mut self, account: AccountId, token: TokenId, amount: Amount) {
        *self.inside.entry(token).or_default() += amount;
        self.give(account, token, amount);
    }

    /// An outflow from the available balance.
    pub(super) fn leave(
        &mut self,
        account: AccountId,
        token: TokenId,
        amount: Amount,
    ) -> Result<(), Broken> {
        self.take(account, token, amount)?;
        let inside = self.inside.entry(token).or_default();
        *inside = inside
            .checked_sub(amount)
            .ok_or_else(|| short("the exchange", token, amount))?;
        Ok(())
    }

    pub(super) fn give(&mut self, account: AccountId, token: TokenId, amount: Amount) {
        self.holding(account, token).total += amount;
    }

    /// Takes from the available balance.
    pub(super) fn take(
        &mut self,
        account: AccountId,
        token: TokenId,
        amount: Amount,
    ) -> Result<(), Broken> {
        let holding = self.holding(account, token);
        let left = holding.total.checked_sub(amount);
        holding.total = left
            .filter(|left| *left >= holding.locked)
            .ok_or_else(|| short(&account.0.to_string(), token, amount))?;
        Ok(())
    }

    /// Locks from the available balance.
    pub(super) fn lock(
        &mut self,
        account: AccountId,
        token: TokenId,
        amount: Amount,
    ) -> Result<(), Broken> {
        let holding = self.holding(account, token);
        let locked = holding.locked.checked_add(amount);
        holding.locked = locked
            .filter(|locked| *locked <= holding.total)
            .ok_or_else(|| short(&account.0.to_string(), token, amount))?;
        Ok(())
    }

    pub(super) fn unlock(
        &mut self,
        account: AccountId,
        token: TokenId,
        amount: Amount,
    ) -> Result<(), Broken> {
        let holding = self.holding(account, token);
        let left = holding.locked.checked_sub(amount);
        holding.locked = left.ok_or_else(|| short(&account.0.to_string(), token, amount))?;
        Ok(())
    }
}

fn short(who: &str, token: TokenId, amount: Amount) -> Broken {
    let detail = format!("{who} has no {amount} of token {} for this", token.0);
    (Invariant::OracleNegative, detail)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    #[test]
    fn nothing_locked_or_missing_is_taken() {
        let (who, token) = (AccountId(1), TokenId(2));
        let mut money = Money::default();
        money.come(who, token, 10);
        money.lock(who, token, 6).unwrap();
        money.take(who, token, 4).unwrap();
        assert_eq!(
            money.take(who, token, 1).unwrap_err().0,
            Invariant::OracleNegative
        );
        assert!(money.lock(who, token, 1).is_err());
        money.unlock(who, token, 6).unwrap();
        assert!(money.unlock(who, token, 1).is_err());
        money.leave(who, token, 6).unwrap();
        assert_eq!(money.of(who, token), Holding::default());
        assert_eq!(
            money.inside[&token], 4,
            "what was given away is still inside"
        );
    }
}
