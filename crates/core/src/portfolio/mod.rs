//! Several venues in one engine value ([`PortfolioEngine`]), and limits over all of them. Each venue has an engine of its
//! own; what the others may hold is an input of each, and what this one may hold is an output.
//!
//! Amounts of tokens are base units of this venue, amounts of the reporting currency units of that. Everything is
//! counted at its worst: what may be bought counts as bought. What is not known is `None`, and nothing that would add to
//! it passes the gate.

mod engine;
mod member;
mod readings;
pub mod rules;
mod sums;
mod venue_engine;

use serde::{Deserialize, Serialize};

use crate::market::MarketId;
use crate::math::mul_div_ceil;
use crate::sorted_map::SortedMap;
use crate::token::{Amount, TokenId};

pub use engine::{LOSS, PortfolioEngine};
pub use member::Member;
pub use readings::Reading;
pub use venue_engine::VenueEngine;

/// Limits over all venues, with what counts beside this one. Each replaces the last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Portfolio {
    /// Base tokens whose holdings over all venues are limited.
    pub tokens: Vec<TokenElsewhere>,
    /// The limit of all exposure.
    pub exposure: Option<ExposureElsewhere>,
}

/// A token that is held at several venues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenElsewhere {
    /// The token here.
    pub token: TokenId,
    /// Most that the other venues may hold of it after every fill; `None` if that is not known.
    pub elsewhere: Option<Amount>,
    /// Most that all of them may hold together (`portfolio.tokens.inventory_max`).
    pub most: Amount,
}

/// The value of holdings and open bids over all venues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExposureElsewhere {
    /// That of the other venues, in the reporting currency; `None` if it is not known.
    pub elsewhere: Option<Amount>,
    /// Most that it may be together (`portfolio.exposure_max`); [`Amount::MAX`] of [`ExposureElsewhere::of_unknown_loss`].
    pub most: Amount,
    /// Units in a whole one of the reporting currency, in which the gate states its reasons; not 0.
    pub whole: Amount,
    /// What the quote tokens of this venue are worth. One that is absent has no price.
    pub rates: Vec<(TokenId, WorthRate)>,
}

impl ExposureElsewhere {
    /// What stops everything that would add to the exposure, with a limit of it or without: a venue has lost something
    /// today in a token that has no price, which may be more than `portfolio.loss_day_max`.
    pub const fn of_unknown_loss(whole: Amount) -> Self {
        Self {
            elsewhere: None,
            most: Amount::MAX,
            whole,
            rates: Vec::new(),
        }
    }

    /// Whether that is why it is not known. No file states a limit as high.
    pub const fn is_of_unknown_loss(&self) -> bool {
        self.elsewhere.is_none() && self.most == Amount::MAX
    }
}

/// What markets lost since midnight of their venue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostToday {
    /// Losses less gains of the markets whose loss is known, in units of the quote token; negative for a gain.
    pub amount: i128,
    /// Whether it is known of all of them.
    pub is_complete: bool,
}

impl LostToday {
    /// Of no market.
    pub const NOTHING: Self = Self {
        amount: 0,
        is_complete: true,
    };

    /// Adds what one market lost; `None` if that is not known.
    pub fn add(&mut self, lost: Option<i128>) {
        match lost {
            Some(lost) => self.amount = self.amount.saturating_add(lost),
            None => self.is_complete = false,
        }
    }
}

/// A price: `per` units of a token are worth `worth` units of the reporting currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorthRate {
    /// Units of the reporting currency.
    pub worth: Amount,
    /// Units of the token; not 0.
    pub per: Amount,
}

impl WorthRate {
    /// The value of an amount, rounded up. `None` on overflow, and for a rate per nothing.
    pub fn value(self, amount: Amount) -> Option<Amount> {
        mul_div_ceil(amount, self.worth, self.per)
    }
}

/// What this engine may hold at most, for the engines of other venues; with the prices and losses of its markets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exposure {
    /// Base tokens after every fill of everything that may be alive, with what pool shares are due.
    pub tokens: SortedMap<TokenId, Option<Amount>>,
    /// Value of holdings, pool shares and open bids, by quote token.
    pub gross: SortedMap<TokenId, Option<Amount>>,
    /// By quote token, what its markets lost today.
    pub lost_today: SortedMap<TokenId, LostToday>,
    /// How long the venue's day still lasts, in milliseconds: what was lost today is nothing afterwards.
    pub day_left_ms: u64,
    /// The mid of each market in half ticks and its age in milliseconds, if its book is fit for pricing.
    pub mids: SortedMap<MarketId, Option<(u64, u64)>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_rounded_up_and_an_impossible_one_is_none() {
        let rate = |worth, per| WorthRate { worth, per };
        assert_eq!(rate(3, 2).value(5), Some(8), "7.5");
        assert_eq!(rate(1, 1).value(7), Some(7));
        assert_eq!(rate(1, 0).value(7), None);
        assert_eq!(rate(Amount::MAX, 1).value(2), None);
        assert_eq!(rate(0, 5).value(7), Some(0));
    }

    #[test]
    fn an_unknown_loss_is_no_limit_of_a_file() {
        let unknown = ExposureElsewhere::of_unknown_loss(1);
        assert!(unknown.is_of_unknown_loss());
        let known = ExposureElsewhere {
            elsewhere: Some(0),
            ..unknown.clone()
        };
        assert!(!known.is_of_unknown_loss());
        let limited = ExposureElsewhere {
            most: Amount::MAX - 1,
            ..unknown
        };
        assert!(!limited.is_of_unknown_loss());
    }
}
