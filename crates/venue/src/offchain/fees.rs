//! Fees of transfers, withdrawals and key updates: accepted tokens, amounts, and the published lists.
//!
//! Listed and accepted fees come from the same function, so that a client that reads the list can always name a valid
//! fee.

use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, Reason, TokenId};

use super::TokenAmount;
use super::checks::refuse;
use crate::mode::FeeSchedule;
use crate::response::Refusal;
use crate::venue::Venue;

/// Fees of the chain that are listed if none are configured: deposits and withdrawals are free.
const FREE_ONCHAIN: [&str; 2] = ["deposit", "withdraw"];

impl Venue {
    /// The fee in `token`, base units; `None` if the token does not pay fees of this table. With an empty table every
    /// token is accepted, and the fee is 0.
    fn fee_in(table: &SortedMap<TokenId, Amount>, token: TokenId) -> Option<Amount> {
        match table.get(&token) {
            Some(fee) => Some(*fee),
            None if table.is_empty() => Some(0),
            None => None,
        }
    }

    /// The accepted tokens and their fees in base units; not empty if a token is listed. If every token of the table is
    /// closed, all of them are listed although none is accepted now.
    fn fee_list(&self, table: &SortedMap<TokenId, Amount>) -> SortedMap<TokenId, Amount> {
        let listed = self
            .tokens
            .keys()
            .filter(|token| self.is_listed_token(**token));
        let all: SortedMap<_, _> = listed
            .filter_map(|token| Some((*token, Self::fee_in(table, *token)?)))
            .collect();
        let mut open = all.clone();
        open.retain(|token, _| self.is_open_token(*token));
        if !open.is_empty() {
            open
        } else if !all.is_empty() {
            all
        } else {
            table.clone()
        }
    }

    /// The current fee lists.
    pub(crate) fn fee_lists(&self) -> FeeSchedule {
        let fees = &self.config.fees;
        let free = || FREE_ONCHAIN.map(|name| (name.to_owned(), 0)).into();
        FeeSchedule {
            transfer: self.fee_list(&fees.transfer),
            withdrawal: self.fee_list(&fees.withdrawal),
            update: self.fee_list(&fees.update),
            onchain: if fees.onchain.is_empty() {
                free()
            } else {
                fees.onchain.clone()
            },
            same_token: fees.same_token,
        }
    }

    /// The fee of opening an account, in addition to the transfer's own fee.
    pub(crate) fn opening_fees(&self) -> SortedMap<TokenId, Amount> {
        self.fee_list(&self.config.opening.fee)
    }

    /// The fee to charge: the sum of the applicable tables, if the request accepts it.
    pub(super) fn check_fee(
        &self,
        tables: &[&SortedMap<TokenId, Amount>],
        accepted: TokenAmount,
        moved: Option<TokenId>,
    ) -> Result<TokenAmount, Refusal> {
        let token = accepted.token;
        let fees = tables.iter().map(|table| Self::fee_in(table, token));
        let Some(fee) = fees.sum::<Option<Amount>>() else {
            return refuse(
                Reason::UnsupportedFeeToken,
                format!("fees cannot be paid in token {}", token.0),
            );
        };
        if !self.is_open_token(token) {
            return refuse(
                Reason::UnsupportedFeeToken,
                format!("token {} is not listed or is closed", token.0),
            );
        }
        if self.config.fees.same_token && moved.is_some_and(|moved| moved != token) {
            return refuse(
                Reason::FeeTokenMismatch,
                "the fee must be paid in the transferred token",
            );
        }
        if accepted.amount < fee {
            return refuse(
                Reason::FeeTokenMismatch,
                format!("the fee is {fee} of token {}", token.0),
            );
        }
        Ok(TokenAmount::new(token, fee))
    }
}
