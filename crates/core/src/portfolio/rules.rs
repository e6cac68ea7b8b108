//! What a portfolio of venues is: limits over all of them, the names of tokens, and the markets of each.

use std::collections::{BTreeMap, BTreeSet};

use crate::market::MarketId;
use crate::token::Amount;

/// Limits over several venues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortfolioRules {
    /// Tokens that count as one of the reporting currency each, by their names in the portfolio.
    pub at_par: BTreeSet<String>,
    /// Most that holdings and open bids may be worth over all venues, in units of the reporting currency.
    pub exposure_max: Option<Amount>,
    /// Most that all markets together may lose in a day, in units of the reporting currency.
    pub loss_day_max: Option<Amount>,
    /// An older price values nothing.
    pub price_age_max_ms: u64,
    /// Units in a whole one of the reporting currency; not 0.
    pub whole: Amount,
    /// Limits of tokens.
    pub tokens: Vec<TokenLimit>,
    /// The venues.
    pub venues: Vec<MemberRules>,
}

impl PortfolioRules {
    /// One venue without limits over several.
    pub fn of_one() -> Self {
        let venue = MemberRules {
            names: VenueNames::default(),
            markets: Vec::new(),
        };
        Self {
            whole: 1,
            venues: vec![venue],
            ..Self::default()
        }
    }

    /// Whether there is any limit over all venues.
    pub const fn is_limited(&self) -> bool {
        self.exposure_max.is_some() || self.loss_day_max.is_some() || !self.tokens.is_empty()
    }
}

/// The limit of a token over all venues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenLimit {
    /// Its name in the portfolio.
    pub name: String,
    /// Most that may be held.
    pub most: WholeTokens,
}

/// An exact amount of whole tokens, whatever their decimals: `units` of 10^-`scale` each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeTokens {
    /// The number.
    pub units: Amount,
    /// Its decimal places.
    pub scale: u8,
}

impl WholeTokens {
    /// In base units of a token of so many decimals, rounded down; [`Amount::MAX`] on overflow.
    pub fn floor(self, decimals: u8) -> Amount {
        let ten = Amount::from(10_u8);
        if let Some(more) = decimals.checked_sub(self.scale) {
            let per = ten.checked_pow(more.into()).unwrap_or(Amount::MAX);
            self.units.saturating_mul(per)
        } else {
            let fewer = self.scale.abs_diff(decimals);
            let per = ten.checked_pow(fewer.into());
            per.map_or(0, |per| self.units / per)
        }
    }
}

/// A venue of a portfolio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberRules {
    /// Its name, and those of its tokens.
    pub names: VenueNames,
    /// The markets that its engine is configured for.
    pub markets: Vec<ListedMarket>,
}

/// What a venue and its tokens are called in a portfolio.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VenueNames {
    /// The venue's name.
    pub venue: String,
    /// Names of tokens that the venue calls otherwise, by the venue's symbols.
    pub tokens: BTreeMap<String, String>,
}

impl VenueNames {
    /// The name of one of its tokens in the portfolio.
    pub fn name_of<'a>(&'a self, symbol: &'a str) -> &'a str {
        self.tokens.get(symbol).map_or(symbol, String::as_str)
    }
}

/// A market that an engine is configured for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedMarket {
    /// Its name at the venue.
    pub name: String,
    /// Symbols of base and quote as the venue writes them.
    pub tokens: [String; 2],
}

/// A market of another venue that strategies of a market read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadElsewhere {
    /// One of these strategies: `hedge of ETH-USDC`.
    pub strategy: String,
    /// Their market.
    pub reader: MarketId,
    /// The market that they read: `mainnet:WETH-USDC`.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_tokens_are_rounded_down_to_base_units() {
        let floor = |units, scale, decimals| WholeTokens { units, scale }.floor(decimals);
        assert_eq!(floor(25, 1, 8), 250_000_000);
        assert_eq!(floor(123_456_789, 9, 8), 12_345_678);
        assert_eq!(floor(7, 0, 0), 7);
        assert_eq!(floor(1_000_000_000, 0, 18), 10_u128.pow(27));
        assert_eq!(floor(9, 1, 0), 0);
        assert_eq!(floor(7, 0, 60), Amount::MAX);
        assert_eq!(floor(0, 0, 60), 0);
        assert_eq!(floor(7, 60, 0), 0);
    }
}
