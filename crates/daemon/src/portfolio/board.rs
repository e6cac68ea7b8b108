//! What every engine of a portfolio may hold at most, and the limits that follow for each; and the markets of each that
//! strategies of others read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cambist_core::elsewhere::{MarketElsewhere, Published};
use cambist_core::event::{Command, Event, TradingState};
use cambist_core::math::{mul_div_ceil, mul_div_floor};
use cambist_core::portfolio::{
    Exposure, ExposureElsewhere, LostToday, Portfolio, TokenElsewhere, WorthRate,
};
use cambist_core::{Amount, MarketId, MarketSpec, Time, TokenId, TokenSpec};
use cambist_host::clock::Clock;
use cambist_host::times;
use cambist_store::Recovered;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

use super::file::{PortfolioFile, VenueFile, WHOLE};
use super::readings::{Entry, ListedMarket, Reading};
use super::stored::{self, Held, Stored};
use super::usage::HedgeOf;
use crate::config::Daemon;
use crate::config::resolve::ReadElsewhere;
use crate::notify::Notifier;

/// Why trading stops at every venue.
pub(super) const LOSS: &str = "portfolio.loss_day_max";

/// The common board of a portfolio.
#[derive(Debug)]
pub struct Board {
    pub(super) file: PortfolioFile,
    /// The markets in the file of each venue.
    listed: Vec<Vec<ListedMarket>>,
    pub(super) clock: Clock,
    pub(super) notifiers: Vec<Notifier>,
    members: Mutex<Vec<Member>>,
}

/// A venue.
#[derive(Debug, Default)]
pub(super) struct Member {
    /// Its markets; empty until its engine begins.
    pub(super) markets: Vec<MarketSpec>,
    /// What it stated last, without losses; `None` before it knew.
    pub(super) stated: Option<Exposure>,
    /// What it lost today, by quote token. It does not end with what is held by its store: a loss is one until midnight,
    /// whatever the venue answers. With the tokens, whose ids may be others when its engine begins.
    pub(super) lost: Vec<(TokenSpec, LostToday)>,
    /// When the venue's day ends for which it stated what was lost.
    day_ends_at: Time,
    /// What it stated is what its store holds, written last at this time (Unix seconds): the venue has not answered yet.
    pub(super) stored_s: Option<u64>,
    /// The last mid of each market in half ticks, and when it was so.
    mids: BTreeMap<MarketId, (u64, Time)>,
    /// Names of its markets that strategies of others read.
    read_by_others: BTreeSet<String>,
    /// These markets, as its engine published them.
    pub(super) published: BTreeMap<MarketId, Entry>,
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
    /// A board on which nothing is stated, of venues with these markets.
    pub fn new(file: PortfolioFile, listed: Vec<Vec<ListedMarket>>, clock: Clock) -> Arc<Self> {
        let members = file.venues.iter().map(|_| Member::default()).collect();
        let names = file.venues.iter().map(|venue| venue.name.clone());
        let notifiers = Notifier::of_each(names);
        Arc::new(Self {
            file,
            listed,
            clock,
            notifiers,
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
            readings: Vec::new(),
            given: BTreeMap::new(),
            hedges: Vec::new(),
        }
    }

    fn young(&self, now: Time) -> Young {
        Young::At(now, self.file.price_age_max_ms)
    }

    pub(super) fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The limits for one venue.
    fn portfolio(&self, members: &[Member], index: usize, now: Time) -> Portfolio {
        let limited = |most| ExposureElsewhere {
            elsewhere: self.exposure_of(members, |other| other != index, now),
            most,
            whole: WHOLE,
            rates: self.rates(members, index, self.young(now)),
        };
        let exposure = if self.loss_is_unknown(members, now) {
            // What was lost may be all of the limit: no venue takes on more.
            Some(ExposureElsewhere::of_unknown_loss(WHOLE))
        } else {
            self.file.exposure_max.map(limited)
        };
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
                .filter(|(other, _)| self.trades_base(*other, name))
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

    /// Whether the file of a venue has a market with this base token.
    pub(super) fn trades_base(&self, index: usize, name: &str) -> bool {
        let venue = &self.file.venues[index];
        let mut listed = self.listed[index].iter();
        listed.any(|market| venue.name_of(&market.tokens[0]) == name)
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
    pub(super) fn exposure_of(
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

    /// What a venue has lost today, less what it gained, in each quote token, with what that is worth at the last known
    /// price, however old: a loss does not go away because a price is missing. Nothing once its day has ended.
    fn losses(
        &self,
        members: &[Member],
        at: usize,
        now: Time,
    ) -> impl Iterator<Item = (i128, Option<WorthRate>)> {
        let (member, venue) = (&members[at], &self.file.venues[at]);
        let is_today = now < member.day_ends_at;
        let lost = member.lost.iter().filter(move |_| is_today);
        lost.map(move |(quote, lost)| {
            let rate = self.rate(members, venue, quote, Young::Any);
            (lost.amount, rate)
        })
    }

    /// What all markets that were measured have lost today, less what they gained. What is in a token that never had a
    /// price is left out: a loss makes the sum unknown.
    pub(super) fn lost_today(&self, members: &[Member], now: Time) -> i128 {
        let mut lost = 0_i128;
        for (amount, rate) in (0..members.len()).flat_map(|at| self.losses(members, at, now)) {
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
    pub(super) fn has_unpriced_loss(&self, members: &[Member], at: usize, now: Time) -> bool {
        let mut losses = self.losses(members, at, now);
        losses.any(|(amount, rate)| amount > 0 && rate.is_none())
    }

    /// Whether a limit of what may be lost cannot be compared with all that was.
    fn loss_is_unknown(&self, members: &[Member], now: Time) -> bool {
        let mut each = 0..members.len();
        self.file.loss_day_max.is_some() && each.any(|at| self.has_unpriced_loss(members, at, now))
    }

    fn loss_is_exceeded(&self, members: &[Member], now: Time) -> bool {
        let most = self.file.loss_day_max;
        most.is_some_and(|most| {
            let lost = self.lost_today(members, now);
            u128::try_from(lost).is_ok_and(|lost| lost > most)
        })
    }
}

impl Member {
    /// Most that the venue may hold of a token of this name, in units of so many decimals, rounded up. None of it if no
    /// market trades it; `None` if that is not known.
    pub(super) fn holds(&self, venue: &VenueFile, name: &str, decimals: u8) -> Option<Amount> {
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
    pub(super) board: Arc<Board>,
    pub(super) index: usize,
    /// What its engine got last.
    last: Option<Portfolio>,
    /// The engine got the command that stops trading for a loss over all venues, and has not stopped yet.
    raised: bool,
    /// What its strategies read of other venues.
    pub(super) readings: Vec<Reading>,
    /// Which revision its engine got of each of `readings`.
    given: BTreeMap<usize, u64>,
    /// Its hedges.
    pub(super) hedges: Vec<HedgeOf>,
}

impl Membership {
    /// The venue's name.
    pub fn name(&self) -> &str {
        &self.board.file.venues[self.index].name
    }

    /// Its part in the messages to the service manager.
    pub fn notifier(&self) -> Notifier {
        self.board.notifiers[self.index].clone()
    }

    /// Until the venue answers, what its locked state folder holds counts, as far as that bounds what may be held.
    pub fn wait_for_venue(&self, daemon: &Daemon, recovered: &Recovered) {
        let now_s = self.board.clock.unix_micros() / 1_000_000;
        let stored = stored::read(daemon, recovered, now_s, self.board.file.stored_age_max_s);
        self.count_stored(stored);
    }

    /// Takes what its store states, or why that is nothing.
    pub(super) fn count_stored(&self, stored: Result<Stored, String>) {
        let held = stored.and_then(|stored| {
            self.keep_lost(stored.lost, stored.day_left_ms);
            stored.held.map(|held| (held, stored.since_s))
        });
        match held {
            Ok((Held { markets, exposure }, since_s)) => {
                let held = held_text(&markets, &exposure);
                tracing::info!(
                    "until the venue answers, limits over all venues count what its store of {} holds and what may still fill: {held}",
                    times::iso(since_s)
                );
                let member = &mut self.board.members()[self.index];
                member.markets = markets;
                member.stated = Some(exposure);
                member.stored_s = Some(since_s);
            }
            Err(why) => tracing::info!(
                "until the venue answers, what it holds is not known ({why}): other venues add nothing that a limit of the portfolio bounds"
            ),
        }
    }

    fn keep_lost(&self, lost: Vec<(TokenSpec, LostToday)>, day_left_ms: u64) {
        let day_ends_at = self.board.clock.now().plus_ms(day_left_ms);
        let member = &mut self.board.members()[self.index];
        (member.lost, member.day_ends_at) = (lost, day_ends_at);
    }

    /// The venue answered, was refused, or the start was stopped: what the store holds does not count any more. It may be
    /// that of another account, or older than its orders. What was lost today still counts: the engine states it only when
    /// it has recovered, and the others trade meanwhile.
    pub fn end_wait(&self) {
        let member = &mut self.board.members()[self.index];
        if member.stored_s.take().is_some() {
            member.stated = None;
            member.markets.clear();
        }
    }

    /// The same part, of an engine that begins with these markets, whose strategies read markets of other venues.
    ///
    /// # Errors
    /// A sentence, if one of those is no market of the portfolio, or trades other tokens than its reader.
    pub fn begin(
        mut self,
        markets: &[MarketSpec],
        reads: &[ReadElsewhere],
    ) -> Result<Self, String> {
        let board = Arc::clone(&self.board);
        for read in reads {
            let mut readers = markets.iter();
            let Some(reader) = readers.find(|market| market.id == read.reader) else {
                continue;
            };
            let reading = Reading::of(&board.file, &board.listed, self.index, read, &reader.name)?;
            self.readings.push(reading);
        }
        let mut members = board.members();
        markets.clone_into(&mut members[self.index].markets);
        for reading in &self.readings {
            let read = &mut members[reading.venue].read_by_others;
            read.insert(reading.market.clone());
        }
        drop(members);
        Ok(self)
    }

    /// Which of its markets strategies of other venues read.
    pub fn is_read(&self) -> Vec<MarketId> {
        let members = self.board.members();
        let member = &members[self.index];
        let read = member.markets.iter();
        let read = read.filter(|market| member.read_by_others.contains(&market.name));
        read.map(|market| market.id).collect()
    }

    /// Takes what its engine publishes of a market after a step.
    pub fn publish(&mut self, market: MarketId, published: Published) {
        let now = self.board.clock.now();
        let member = &mut self.board.members()[self.index];
        let known = member.published.get(&market);
        if known.is_none_or(|known| known.differs(&published, now)) {
            let revision = known.map_or(0, |known| known.revision + 1);
            let at = now;
            member.published.insert(
                market,
                Entry {
                    published,
                    at,
                    revision,
                },
            );
        }
    }

    /// The markets of other venues that have changed since the engine got them.
    fn changed_elsewhere(&mut self, now: Time) -> Vec<MarketElsewhere> {
        let Self {
            board,
            index,
            readings,
            given,
            ..
        } = self;
        let members = board.members();
        let mut changed = Vec::new();
        for (at, reading) in readings.iter().enumerate() {
            let there = &members[reading.venue];
            let mut markets = there.markets.iter();
            let market = markets.find(|market| market.name == reading.market);
            let Some(entry) = market.and_then(|market| there.published.get(&market.id)) else {
                continue;
            };
            if given.get(&at) == Some(&entry.revision) {
                continue;
            }
            let venues = [reading.venue, *index].map(|at| &board.file.venues[at]);
            let markets = [&there.markets, &members[*index].markets];
            if let Some(units) = reading.units(venues, markets.map(Vec::as_slice)) {
                given.insert(at, entry.revision);
                changed.push(units.translated(&entry.published, now.ms_since(entry.at)));
            }
        }
        changed
    }

    /// The event to handle before any other, if something has changed.
    pub fn due(&mut self, level: TradingState) -> Option<Event> {
        let now = self.board.clock.now();
        let members = self.board.members();
        if level > TradingState::Active {
            self.raised = false;
        } else if !self.raised && self.board.loss_is_exceeded(&members, now) {
            self.raised = true;
            return Some(Event::Operator(Command::Raise {
                level: TradingState::CancelOnly,
                reason: LOSS.to_owned(),
            }));
        }
        let portfolio = self.board.portfolio(&members, self.index, now);
        drop(members);
        if self.last.as_ref() != Some(&portfolio) {
            self.last = Some(portfolio.clone());
            return Some(Event::Portfolio(portfolio));
        }
        let elsewhere = self.changed_elsewhere(now);
        (!elsewhere.is_empty()).then_some(Event::Elsewhere(elsewhere))
    }

    /// States what the engine may hold after a step. What is not known any more replaces nothing.
    pub fn state(&mut self, exposure: Option<Exposure>) {
        let Some(mut exposure) = exposure else {
            return;
        };
        let now = self.board.clock.now();
        let member = &mut self.board.members()[self.index];
        for (market, mid) in &exposure.mids {
            if let Some((mid, age_ms)) = mid {
                member.mids.insert(*market, (*mid, now.minus_ms(*age_ms)));
            }
        }
        member.day_ends_at = now.plus_ms(exposure.day_left_ms);
        let lost = std::mem::take(&mut exposure.lost_today);
        member.lost = with_tokens(&member.markets, lost);
        member.stated = Some(exposure);
    }
}

/// Losses with the quote tokens of these markets, by their ids.
fn with_tokens(
    markets: &[MarketSpec],
    mut lost: BTreeMap<TokenId, LostToday>,
) -> Vec<(TokenSpec, LostToday)> {
    let quotes = markets.iter().map(|market| &market.quote);
    let each = quotes.filter_map(|quote| {
        let lost = lost.remove(&quote.id)?;
        Some((quote.clone(), lost))
    });
    each.collect()
}

/// What may be held of each base token, in whole tokens.
fn held_text(markets: &[MarketSpec], exposure: &Exposure) -> String {
    let bases: BTreeMap<_, _> = markets.iter().map(|m| (m.base.id, &m.base)).collect();
    let held = bases.into_values().map(|base| {
        let units = exposure.tokens.get(&base.id).copied().flatten();
        let amount = units.map_or_else(
            || "?".to_owned(),
            |units| cambist_config::money::whole(units, base.decimals),
        );
        format!("{amount} {}", base.symbol)
    });
    held.collect::<Vec<_>>().join(", ")
}

pub(super) fn power(decimals: u8) -> Option<Amount> {
    Amount::from(10_u8).checked_pow(decimals.into())
}

/// Base units of an amount, rounded down.
pub(super) fn floor(amount: Decimal, decimals: u8) -> Amount {
    let whole = amount.trunc().to_u128().unwrap_or(Amount::MAX);
    let part = amount.fract();
    let unit = power(decimals).unwrap_or(Amount::MAX);
    let per = 10_u128.pow(part.scale());
    let part = mul_div_floor(part.mantissa().unsigned_abs(), unit, per);
    whole.saturating_mul(unit).saturating_add(part.unwrap_or(0))
}

#[cfg(test)]
#[path = "board_tests.rs"]
pub(super) mod tests;
