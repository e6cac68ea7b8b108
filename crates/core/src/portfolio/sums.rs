//! Sums over the venues of a portfolio, with tokens of other names and decimals, at prices of any of their markets. What is
//! not known is `None`.

use crate::market::MarketSpec;
use crate::math::{mul_div_ceil, mul_div_floor};
use crate::time::Time;
use crate::token::{Amount, TokenId, TokenSpec};

use super::member::{Young, power};
use super::rules::VenueNames;
use super::{ExposureElsewhere, Portfolio, PortfolioEngine, TokenElsewhere, WorthRate};

impl PortfolioEngine {
    fn names(&self, venue: usize) -> &VenueNames {
        &self.rules.venues[venue].names
    }

    const fn young(&self, now: Time) -> Young {
        Young::At(now, self.rules.price_age_max_ms)
    }

    /// The limits for one venue.
    pub(super) fn limits_of(&self, venue: usize, now: Time) -> Portfolio {
        let limited = |most| ExposureElsewhere {
            elsewhere: self.exposure_of(|other| other != venue, now),
            most,
            whole: self.rules.whole,
            rates: self.rates(venue, self.young(now)),
        };
        let exposure = if self.loss_is_unknown(now) {
            // What was lost may be all of the limit: no venue takes on more.
            Some(ExposureElsewhere::of_unknown_loss(self.rules.whole))
        } else {
            self.rules.exposure_max.map(limited)
        };
        Portfolio {
            tokens: self.tokens(venue),
            exposure,
        }
    }

    /// The limits of the base tokens of a venue.
    fn tokens(&self, venue: usize) -> Vec<TokenElsewhere> {
        let names = self.names(venue);
        let mut limits: Vec<TokenElsewhere> = Vec::new();
        for base in self.venues[venue].markets.iter().map(|market| &market.base) {
            let name = names.name_of(&base.symbol);
            let limit = self.rules.tokens.iter().find(|limit| limit.name == name);
            let Some(limit) = limit else { continue };
            if limits.iter().any(|of| of.token == base.id) {
                continue;
            }
            let elsewhere = (0..self.venues.len())
                .filter(|other| *other != venue && self.trades_base(*other, name))
                .map(|other| self.holds(other, name, base.decimals))
                .try_fold(0, |sum: Amount, held| sum.checked_add(held?));
            limits.push(TokenElsewhere {
                token: base.id,
                elsewhere,
                most: limit.most.floor(base.decimals),
            });
        }
        limits
    }

    /// Whether the file of a venue has a market with this base token.
    pub fn trades_base(&self, venue: usize, token: &str) -> bool {
        let names = self.names(venue);
        let mut listed = self.rules.venues[venue].markets.iter();
        listed.any(|market| names.name_of(&market.tokens[0]) == token)
    }

    /// Most that a venue may hold of a token, in units of so many decimals, rounded up; `None` if that is not known.
    pub fn holds(&self, venue: usize, token: &str, decimals: u8) -> Option<Amount> {
        self.venues[venue].holds(self.names(venue), token, decimals)
    }

    /// What quote tokens of a venue are worth; those without a price are absent.
    fn rates(&self, venue: usize, young: Young) -> Vec<(TokenId, WorthRate)> {
        let names = self.names(venue);
        let mut rates: Vec<(TokenId, WorthRate)> = Vec::new();
        for quote in self.venues[venue]
            .markets
            .iter()
            .map(|market| &market.quote)
        {
            if rates.iter().all(|(known, _)| *known != quote.id)
                && let Some(rate) = self.rate(names, quote, young)
            {
                rates.push((quote.id, rate));
            }
        }
        rates
    }

    /// What a token of a venue is worth: one of the reporting currency, or the price of a market of any venue in a token
    /// that is.
    fn rate(&self, names: &VenueNames, token: &TokenSpec, young: Young) -> Option<WorthRate> {
        let name = names.name_of(&token.symbol);
        let per = power(token.decimals)?;
        let (whole, at_par) = (self.rules.whole, &self.rules.at_par);
        if at_par.contains(name) {
            return Some(WorthRate { worth: whole, per });
        }
        let mut each = self.venues.iter().zip(&self.rules.venues);
        each.find_map(|(member, rules)| {
            let names = &rules.names;
            let priced = |market: &&MarketSpec| {
                names.name_of(&market.base.symbol) == name
                    && at_par.contains(names.name_of(&market.quote.symbol))
            };
            let market = member.markets.iter().find(priced)?;
            let mid = member.mid(market, young)?;
            // A whole token is `per` units at this venue, and 10^decimals at the other: the price is of whole tokens.
            let base = power(market.base.decimals)?;
            let half_ticks = Amount::from(mid).checked_mul(market.quote_per_lot_tick)?;
            let quote = mul_div_ceil(base, half_ticks, market.lot.checked_mul(2)?)?;
            let worth = mul_div_ceil(quote, whole, power(market.quote.decimals)?)?;
            Some(WorthRate { worth, per })
        })
    }

    /// What some venues are exposed to, in the reporting currency; `None` if a part of it is not known.
    pub fn exposure_of(&self, counts: impl Fn(usize) -> bool, now: Time) -> Option<Amount> {
        let counted = self.venues.iter().enumerate();
        let mut counted = counted.filter(|(at, _)| counts(*at));
        counted.try_fold(0, |sum: Amount, (at, member)| {
            let stated = member.stated.as_ref()?;
            let rates = self.rates(at, self.young(now));
            let mut each = stated.gross.iter();
            each.try_fold(sum, |sum, (quote, gross)| match (*gross)? {
                0 => Some(sum),
                gross => {
                    let (_, rate) = rates.iter().find(|(token, _)| token == quote)?;
                    sum.checked_add(rate.value(gross)?)
                }
            })
        })
    }

    /// What a venue has lost today, less what it gained, in each quote token, with what that is worth at the last known
    /// price, however old: a loss does not go away because a price is missing. Nothing once its day has ended.
    fn losses(&self, at: usize, now: Time) -> impl Iterator<Item = (i128, Option<WorthRate>)> {
        let (member, names) = (&self.venues[at], self.names(at));
        let is_today = now < member.day_ends_at;
        let lost = member.lost.iter().filter(move |_| is_today);
        lost.map(move |(quote, lost)| (lost.amount, self.rate(names, quote, Young::Any)))
    }

    /// What all markets that were measured have lost today, less what they gained. What is in a token that never had a
    /// price is left out: a loss makes the sum unknown.
    pub fn lost_today(&self, now: Time) -> i128 {
        let mut lost = 0_i128;
        for (amount, rate) in (0..self.venues.len()).flat_map(|at| self.losses(at, now)) {
            let Some(rate) = rate else { continue };
            // A gain is rounded down, a loss up.
            let size = amount.unsigned_abs();
            let value = if amount < 0 {
                mul_div_floor(size, rate.worth, rate.per)
            } else {
                rate.value(size)
            };
            let value = value.and_then(|value| i128::try_from(value).ok());
            let value = value.unwrap_or(i128::MAX).saturating_mul(amount.signum());
            lost = lost.saturating_add(value);
        }
        lost
    }

    /// Whether a venue has lost something today in a token that never had a price.
    pub fn has_unpriced_loss(&self, at: usize, now: Time) -> bool {
        let mut losses = self.losses(at, now);
        losses.any(|(amount, rate)| amount > 0 && rate.is_none())
    }

    /// Whether a limit of what may be lost cannot be compared with all that was.
    fn loss_is_unknown(&self, now: Time) -> bool {
        let mut each = 0..self.venues.len();
        self.rules.loss_day_max.is_some() && each.any(|at| self.has_unpriced_loss(at, now))
    }

    pub(super) fn loss_is_exceeded(&self, now: Time) -> bool {
        self.rules.loss_day_max.is_some_and(|most| {
            let lost = self.lost_today(now);
            u128::try_from(lost).is_ok_and(|lost| lost > most)
        })
    }
}
