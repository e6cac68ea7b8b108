//! What every engine of a portfolio may hold at most, and the limits that follow for each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cambist_core::event::{Command, Event, TradingState};
use cambist_core::math::{mul_div_ceil, mul_div_floor};
use cambist_core::portfolio::{Exposure, ExposureElsewhere, Portfolio, TokenElsewhere, WorthRate};
use cambist_core::{Amount, MarketId, MarketSpec, Time, TokenId, TokenSpec};
use cambist_host::clock::Clock;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

use super::file::{PortfolioFile, VenueFile, WHOLE};

/// Why trading stops at every venue.
const LOSS: &str = "portfolio.loss_day_max";

/// The common board of a portfolio.
#[derive(Debug)]
pub struct Board {
    file: PortfolioFile,
    clock: Clock,
    members: Mutex<Vec<Member>>,
}

/// A venue.
#[derive(Debug, Default)]
struct Member {
    /// Its markets; empty until its engine begins.
    markets: Vec<MarketSpec>,
    /// What it stated last; `None` before it knew.
    stated: Option<Exposure>,
    /// The last mid of each market in half ticks, and when it was so.
    mids: BTreeMap<MarketId, (u64, Time)>,
}

/// Which prices count.
#[derive(Clone, Copy, Debug)]
enum Young {
    /// However old.
    Any,
    /// At most so many milliseconds before that time.
    At(Time, u64),
}

impl Board {
    /// A board on which nothing is stated.
    pub fn new(file: PortfolioFile, clock: Clock) -> Arc<Self> {
        let members = file.venues.iter().map(|_| Member::default()).collect();
        Arc::new(Self {
            file,
            clock,
            members: Mutex::new(members),
        })
    }

    /// The part of one venue.
    pub fn member(self: &Arc<Self>, index: usize) -> Membership {
        Membership {
            board: Arc::clone(self),
            index,
            last: None,
            raised: false,
        }
    }

    fn young(&self, now: Time) -> Young {
        Young::At(now, self.file.price_age_max_ms)
    }

    fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The limits for one venue.
    fn portfolio(&self, members: &[Member], index: usize, now: Time) -> Portfolio {
        let exposure = self.file.exposure_max.map(|most| ExposureElsewhere {
            elsewhere: self.exposure_of(members, |other| other != index, now),
            most,
            whole: WHOLE,
            rates: self.rates(members, index, self.young(now)),
        });
        Portfolio {
            tokens: self.tokens(members, index),
            exposure,
        }
    }

    /// The limits of the base tokens of a venue.
    fn tokens(&self, members: &[Member], index: usize) -> Vec<TokenElsewhere> {
        let venue = &self.file.venues[index];
        let mut limits: Vec<TokenElsewhere> = Vec::new();
        for base in members[index].markets.iter().map(|market| &market.base) {
            let name = venue.name_of(&base.symbol);
            let limit = self.file.tokens.iter().find(|limit| limit.name == name);
            let Some(limit) = limit else { continue };
            if limits.iter().any(|of| of.token == base.id) {
                continue;
            }
            let others = members.iter().zip(&self.file.venues).enumerate();
            let others = others.filter(|(other, _)| *other != index);
            let elsewhere = others
                .map(|(_, (member, venue))| member.holds(venue, name, base.decimals))
                .try_fold(0, |sum: Amount, held| sum.checked_add(held?));
            limits.push(TokenElsewhere {
                token: base.id,
                elsewhere,
                most: floor(limit.most, base.decimals),
            });
        }
        limits
    }

    /// What quote tokens of a venue are worth; those without a price are absent.
    fn rates(&self, members: &[Member], index: usize, young: Young) -> Vec<(TokenId, WorthRate)> {
        let venue = &self.file.venues[index];
        let mut rates: Vec<(TokenId, WorthRate)> = Vec::new();
        for quote in members[index].markets.iter().map(|market| &market.quote) {
            if rates.iter().all(|(known, _)| *known != quote.id)
                && let Some(rate) = self.rate(members, venue, quote, young)
            {
                rates.push((quote.id, rate));
            }
        }
        rates
    }

    /// What a token of a venue is worth: one of the reporting currency, or the price of a market of any venue in a token
    /// that is.
    fn rate(
        &self,
        members: &[Member],
        venue: &VenueFile,
        token: &TokenSpec,
        young: Young,
    ) -> Option<WorthRate> {
        let name = venue.name_of(&token.symbol);
        let per = power(token.decimals)?;
        if self.file.at_par.contains(name) {
            return Some(WorthRate { worth: WHOLE, per });
        }
        let mut each = members.iter().zip(&self.file.venues);
        each.find_map(|(member, venue)| {
            let priced = |market: &&MarketSpec| {
                venue.name_of(&market.base.symbol) == name
                    && self
                        .file
                        .at_par
                        .contains(venue.name_of(&market.quote.symbol))
            };
            let market = member.markets.iter().find(priced)?;
            let mid = member.mid(market, young)?;
            // A whole token is `per` units at this venue, and 10^decimals at the other: the price is of whole tokens.
            let base = power(market.base.decimals)?;
            let half_ticks = Amount::from(mid).checked_mul(market.quote_per_lot_tick)?;
            let quote = mul_div_ceil(base, half_ticks, market.lot.checked_mul(2)?)?;
            let worth = mul_div_ceil(quote, WHOLE, power(market.quote.decimals)?)?;
            Some(WorthRate { worth, per })
        })
    }

    /// What some venues are exposed to; `None` if a part of it is not known.
    fn exposure_of(
        &self,
        members: &[Member],
        counts: impl Fn(usize) -> bool,
        now: Time,
    ) -> Option<Amount> {
        let counted = members.iter().enumerate().filter(|(at, _)| counts(*at));
        counted
            .into_iter()
            .try_fold(0, |sum: Amount, (at, member)| {
                let stated = member.stated.as_ref()?;
                let rates = self.rates(members, at, self.young(now));
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

    /// What all markets that were measured have lost today, less what they gained, at the last known prices, however old:
    /// a loss does not go away because a price is missing. Losses in a token that never had a price are left out.
    fn lost_today(&self, members: &[Member]) -> i128 {
        let mut lost = 0_i128;
        for (at, member) in members.iter().enumerate() {
            let Some(stated) = &member.stated else {
                continue;
            };
            let rates = self.rates(members, at, Young::Any);
            for (quote, of) in &stated.lost_today {
                let rate = rates.iter().find(|(token, _)| token == quote);
                let Some((amount, (_, rate))) = of.zip(rate) else {
                    continue;
                };
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
        }
        lost
    }

    fn loss_is_exceeded(&self, members: &[Member]) -> bool {
        let most = self.file.loss_day_max;
        most.is_some_and(|most| {
            let lost = self.lost_today(members);
            u128::try_from(lost).is_ok_and(|lost| lost > most)
        })
    }
}

impl Member {
    /// Most that the venue may hold of a token of this name, in units of so many decimals, rounded up. None of it if no
    /// market trades it; `None` if that is not known.
    fn holds(&self, venue: &VenueFile, name: &str, decimals: u8) -> Option<Amount> {
        // Which markets there are is known when the engine begins.
        let stated = self.stated.as_ref()?;
        let bases = self.markets.iter().map(|market| &market.base);
        let mut same = bases.filter(|base| venue.name_of(&base.symbol) == name);
        let Some(base) = same.next() else {
            return Some(0);
        };
        let held = (*stated.tokens.get(&base.id)?)?;
        mul_div_ceil(held, power(decimals)?, power(base.decimals)?)
    }

    /// The mid of a market, if it is young enough.
    fn mid(&self, market: &MarketSpec, young: Young) -> Option<u64> {
        let (mid, at) = *self.mids.get(&market.id)?;
        match young {
            Young::Any => Some(mid),
            Young::At(now, age_max_ms) => (now.ms_since(at) <= age_max_ms).then_some(mid),
        }
    }
}

/// The part of one venue in a portfolio.
#[derive(Debug)]
pub struct Membership {
    board: Arc<Board>,
    index: usize,
    /// What its engine got last.
    last: Option<Portfolio>,
    /// The engine got the command that stops trading for a loss over all venues, and has not stopped yet.
    raised: bool,
}

impl Membership {
    /// The venue's name.
    pub fn name(&self) -> &str {
        &self.board.file.venues[self.index].name
    }

    /// The same part, of an engine that begins with these markets.
    #[must_use]
    pub fn of_markets(self, markets: &[MarketSpec]) -> Self {
        markets.clone_into(&mut self.board.members()[self.index].markets);
        self
    }

    /// The event to handle before any other, if something has changed.
    pub fn due(&mut self, level: TradingState) -> Option<Event> {
        let now = self.board.clock.now();
        let members = self.board.members();
        if level > TradingState::Active {
            self.raised = false;
        } else if !self.raised && self.board.loss_is_exceeded(&members) {
            self.raised = true;
            return Some(Event::Operator(Command::Raise {
                level: TradingState::CancelOnly,
                reason: LOSS.to_owned(),
            }));
        }
        let portfolio = self.board.portfolio(&members, self.index, now);
        let changed = self.last.as_ref() != Some(&portfolio);
        changed.then(|| {
            self.last = Some(portfolio.clone());
            Event::Portfolio(portfolio)
        })
    }

    /// States what the engine may hold after a step. What is not known any more replaces nothing.
    pub fn state(&mut self, exposure: Option<Exposure>) {
        let Some(exposure) = exposure else { return };
        let now = self.board.clock.now();
        let member = &mut self.board.members()[self.index];
        for (market, mid) in &exposure.mids {
            if let Some((mid, age_ms)) = mid {
                member.mids.insert(*market, (*mid, now.minus_ms(*age_ms)));
            }
        }
        member.stated = Some(exposure);
    }
}

fn power(decimals: u8) -> Option<Amount> {
    Amount::from(10_u8).checked_pow(decimals.into())
}

/// Base units of an amount, rounded down.
fn floor(amount: Decimal, decimals: u8) -> Amount {
    let whole = amount.trunc().to_u128().unwrap_or(Amount::MAX);
    let part = amount.fract();
    let unit = power(decimals).unwrap_or(Amount::MAX);
    let per = 10_u128.pow(part.scale());
    let part = mul_div_floor(part.mantissa().unsigned_abs(), unit, per);
    whole.saturating_mul(unit).saturating_add(part.unwrap_or(0))
}

#[cfg(test)]
#[path = "board_tests.rs"]
mod tests;
