//! Checks of all submissions, in the order of `docs/venue-rules.md`.
//!
//! The interface lists few codes for submissions. If none of them describes the problem, compatible mode answers with a
//! code that does, and strict mode with the nearest listed one.

use cambist_core::sorted_map::SortedMap;
use cambist_core::token::AMOUNT_MAX;
use cambist_core::{Amount, Hash, Reason, TokenId, VenueTime};

use super::Submission;
use super::submission::Work;
use crate::account::{AccountId, Address};
use crate::config::Compat;
use crate::mode::ExchangeMode;
use crate::response::Refusal;
use crate::slots::SlotAnswer;
use crate::venue::Venue;

/// The interpretation of a submission from its fields alone.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub account: AccountId,
    pub work: Work,
    /// Storage ids that it uses.
    pub ids: Vec<(TokenId, u32)>,
    pub valid_until_s: u32,
}

pub(super) fn refuse<T>(reason: Reason, detail: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(reason, detail))
}

impl Venue {
    /// The code of the mode.
    pub(crate) fn coded<T>(
        &self,
        both: Reason,
        strict: Reason,
        detail: impl Into<String>,
    ) -> Result<T, Refusal> {
        refuse(
            match self.config.compat {
                Compat::Both => both,
                Compat::Strict => strict,
            },
            detail,
        )
    }

    pub(super) fn check_exchange(&self, exchange: Address) -> Result<(), Refusal> {
        if exchange == self.config.exchange {
            Ok(())
        } else {
            refuse(Reason::WrongExchange, "the request names another exchange")
        }
    }

    pub(super) fn check_named_owner(
        &self,
        account: AccountId,
        owner: Address,
    ) -> Result<(), Refusal> {
        if self.accounts.get(&account).map(|holder| holder.owner) == Some(owner) {
            Ok(())
        } else {
            refuse(
                Reason::InvalidSender,
                format!("the address does not own account {}", account.0),
            )
        }
    }

    /// An amount to move: 1 to 96 bits.
    pub(super) fn check_amount(&self, amount: Amount) -> Result<(), Refusal> {
        if amount == 0 {
            self.coded(
                Reason::AmountTooSmall,
                Reason::InvalidSender,
                "an amount is zero",
            )
        } else if amount > AMOUNT_MAX {
            self.coded(
                Reason::AmountTooLarge,
                Reason::InvalidSender,
                "an amount exceeds 96 bits",
            )
        } else {
            Ok(())
        }
    }

    pub(super) fn check_storage_id(id: u64) -> Result<u32, Refusal> {
        u32::try_from(id).or_else(|_| refuse(Reason::InvalidNonce, "a storage id exceeds 32 bits"))
    }

    pub(super) fn check_expiry_field(&self, valid_until_s: u64) -> Result<u32, Refusal> {
        u32::try_from(valid_until_s).or_else(|_| {
            self.coded(
                Reason::InvalidArgument,
                Reason::InvalidNonce,
                "validUntil exceeds 32 bits; it is a time in seconds",
            )
        })
    }

    pub(super) fn check_not_expired(&self, valid_until_s: u32) -> Result<(), Refusal> {
        if VenueTime::from_s(u64::from(valid_until_s)) > self.now {
            Ok(())
        } else {
            self.coded(
                Reason::OrderExpired,
                Reason::InvalidNonce,
                "the request has expired",
            )
        }
    }

    pub(super) fn check_not_halted(&self) -> Result<(), Refusal> {
        match self.mode {
            ExchangeMode::Open | ExchangeMode::PostOnly | ExchangeMode::CancelOnly => Ok(()),
            ExchangeMode::Halted => refuse(Reason::UnknownError, "the exchange is halted"),
        }
    }

    /// The same request, accepted before and still undecided.
    pub(super) fn undecided(&self, hash: &Hash, plan: &Plan) -> Option<&Submission> {
        let known = &self.submissions[self.submission_hashes.get(hash)?];
        let same = known.account == plan.account
            && known.stage.is_undecided()
            && known.work.is_same_as(&plan.work);
        same.then_some(known)
    }

    /// The checks that depend on the state; repeated requests were answered before.
    pub(super) fn check_submission(&self, hash: &Hash, plan: &Plan) -> Result<(), Refusal> {
        self.check_not_halted()?;
        if self.submission_hashes.contains_key(hash) {
            return refuse(Reason::InvalidNonce, "this request was submitted before");
        }
        self.check_not_expired(plan.valid_until_s)?;
        let account = &self.accounts[&plan.account];
        if account.frozen {
            return refuse(Reason::InvalidSender, "the account is frozen");
        }
        self.check_opening(&plan.work)?;
        for (token, id) in &plan.ids {
            let table = account.slots.get(token);
            match table.map(|table| table.ask(*id)) {
                None | Some(SlotAnswer::Free { .. }) => {}
                Some(SlotAnswer::Used | SlotAnswer::Older) => {
                    return refuse(
                        Reason::InvalidNonce,
                        format!("storage id {id} of token {} was used", token.0),
                    );
                }
            }
        }
        if account.open_submissions >= self.config.limits.open_submissions_max {
            return refuse(Reason::InvalidSender, "too many unsettled submissions");
        }
        let mut needed: SortedMap<TokenId, Amount> = SortedMap::new();
        for (token, amount) in self.bound(&plan.work) {
            *needed.entry(token).or_default() += amount;
        }
        for (token, amount) in needed {
            if account.balance(token).free() < amount {
                return self.coded(
                    Reason::InsufficientBalance,
                    Reason::InvalidSender,
                    format!(
                        "the free balance of token {} is less than {amount}",
                        token.0
                    ),
                );
            }
        }
        Ok(())
    }

    /// Whether a token is listed and open.
    pub(crate) fn is_open_token(&self, token: TokenId) -> bool {
        self.is_listed_token(token) && self.tokens[&token].spec.enabled
    }

    /// Whether a token is listed.
    pub(crate) fn is_listed_token(&self, token: TokenId) -> bool {
        self.tokens.contains_key(&token) && !self.delisted.contains(&token)
    }
}
