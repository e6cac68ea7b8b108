//! Reads balances, accounts, keys, storage ids and the exchange's configuration; replaces API keys.

use std::collections::BTreeSet;

use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, Reason, TokenId};

use crate::account::{AccountId, ApiKeyDigest};
use crate::request::{AccountQuery, Caller};
use crate::response::{AccountView, BalanceView, ExchangeView, Refusal, Response};
use crate::venue::Venue;

impl Venue {
    pub(crate) fn list_balances(
        &self,
        caller: &Caller,
        account: AccountId,
        tokens: Option<&[TokenId]>,
    ) -> Result<Vec<BalanceView>, Refusal> {
        self.check_owner(caller, account)?;
        let Some(account) = self.accounts.get(&account) else {
            return Ok(Vec::new());
        };
        let pending = |amounts: &SortedMap<TokenId, Amount>, token| {
            amounts.get(&token).copied().unwrap_or_default()
        };
        let shown = |token: TokenId| {
            let balance = account.balance(token);
            BalanceView {
                token,
                total: balance.total,
                locked: balance.locked,
                pending_withdraw: pending(&account.pending_withdraw, token),
                pending_deposit: pending(&account.pending_deposit, token),
            }
        };
        if let Some(asked) = tokens {
            // In the order of the listing, without duplicates and unlisted tokens.
            let known = self.tokens.keys().filter(|token| asked.contains(token));
            return Ok(known.map(|token| shown(*token)).collect());
        }
        let held = account.balances.iter();
        let held = held
            .filter(|(_, balance)| balance.total > 0)
            .map(|(token, _)| *token);
        let all: BTreeSet<_> = held
            .chain(account.pending_deposit.keys().copied())
            .collect();
        Ok(all.into_iter().map(shown).collect())
    }

    pub(crate) fn find_account(&self, query: AccountQuery) -> Result<AccountView, Refusal> {
        let id = match query {
            AccountQuery::Owner(owner) if owner == [0; 20] => {
                return Err(Refusal::new(
                    Reason::AddressNotFound,
                    "the zero address cannot own an account",
                ));
            }
            AccountQuery::Owner(owner) => self.owners.get(&owner).copied(),
            AccountQuery::Id(id) => Some(id),
        };
        id.and_then(|id| self.accounts.get(&id))
            .map(|account| AccountView {
                id: account.id,
                owner: account.owner,
                frozen: account.frozen,
                public_key: account.public_key,
                key_epoch: account.key_epoch,
                nonce: account.nonce,
                key_nonce: account.key_nonce,
            })
            .ok_or_else(|| Refusal::new(Reason::UserNotFound, "account not found"))
    }

    pub(crate) fn api_key(
        &mut self,
        caller: &Caller,
        account: AccountId,
        fresh: &ApiKeyDigest,
    ) -> Result<ApiKeyDigest, Refusal> {
        self.check_known(account)?;
        // Authorised by the signature: there may be no API key yet.
        self.check_signature(caller, account, Some(Reason::NoSignature))?;
        self.check_owner(caller, account)?;
        match &self.accounts[&account].api_key {
            Some(key) => Ok(*key),
            None => self.set_api_key(account, *fresh),
        }
    }

    pub(crate) fn rotate_api_key(
        &mut self,
        caller: &Caller,
        account: AccountId,
        fresh: &ApiKeyDigest,
    ) -> Result<ApiKeyDigest, Refusal> {
        self.check_known(account)?;
        self.check_owner(caller, account)?;
        self.check_signature(caller, account, None)?;
        self.set_api_key(account, *fresh)
    }

    fn check_known(&self, account: AccountId) -> Result<(), Refusal> {
        if self.accounts.contains_key(&account) {
            Ok(())
        } else {
            Err(Refusal::new(
                Reason::UserNotFound,
                format!("account {} does not exist", account.0),
            ))
        }
    }

    pub(crate) fn set_api_key(
        &mut self,
        account: AccountId,
        fresh: ApiKeyDigest,
    ) -> Result<ApiKeyDigest, Refusal> {
        if fresh.0 == [0; 32] || self.api_keys.contains_key(&fresh) {
            return Err(Refusal::new(
                Reason::UnknownError,
                "no new API key could be generated",
            ));
        }
        self.api_keys.insert(fresh, account);
        let old = self.account_mut(account).api_key.replace(fresh);
        if let Some(old) = old {
            self.api_keys.remove(&old);
        }
        Ok(fresh)
    }

    pub(crate) fn next_storage_id(
        &self,
        caller: &Caller,
        account: AccountId,
        sell_token: TokenId,
    ) -> Result<Response, Refusal> {
        self.check_owner(caller, account)?;
        if !self.tokens.contains_key(&sell_token) {
            return Err(Refusal::new(
                Reason::UnsupportedToken,
                format!("token {} is not listed", sell_token.0),
            ));
        }
        let table = self.accounts[&account].slots.get(&sell_token);
        let next = |parity| table.map_or(Some(parity), |table| table.next(parity));
        Ok(Response::StorageId {
            order: next(0),
            offchain: next(1),
        })
    }

    pub(crate) fn exchange_info(&self) -> ExchangeView {
        ExchangeView {
            chain_id: self.config.chain_id,
            exchange: self.config.exchange,
            deposit: self.config.deposit,
            fees: self.fee_lists(),
            opening_fees: self.opening_fees(),
            mode: self.mode,
        }
    }
}
