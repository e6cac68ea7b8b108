//! Markets that strategies of one venue read of another.

use crate::elsewhere::{self, Published, Units};
use crate::market::{MarketId, MarketSpec};
use crate::time::Time;
use crate::token::TokenSpec;

use super::rules::{ListedMarket, PortfolioRules, ReadElsewhere, VenueNames};

/// A depth that is younger by more than this is given to its readers even if its levels are the same.
const AGE_STEP_MS: u64 = 100;

/// A market of another venue that strategies of one read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The market of those strategies.
    pub reader: MarketId,
    /// The other venue, by its place.
    pub venue: usize,
    /// Its market there.
    pub market: String,
}

impl Reading {
    /// A market that the venue at `index` reads for its market `reader`.
    ///
    /// # Errors
    /// A sentence, if it is no market of another venue, or trades other tokens.
    pub fn of(
        rules: &PortfolioRules,
        index: usize,
        read: &ReadElsewhere,
        reader: &str,
    ) -> Result<Self, String> {
        let venues = &rules.venues;
        let refused = |what: String| {
            format!(
                "{} at venue {} reads the market {:?}: {what}",
                read.strategy, venues[index].names.venue, read.name
            )
        };
        let (venue, market) = elsewhere::split(&read.name).unwrap_or(("", &read.name));
        let place = venues.iter().position(|known| known.names.venue == venue);
        let place = place.filter(|place| *place != index).ok_or_else(|| {
            let others = venues.iter().enumerate();
            let others = others.filter(|(at, _)| *at != index);
            let others: Vec<_> = others
                .map(|(_, venue)| venue.names.venue.as_str())
                .collect();
            refused(format!("the other venues are {}", others.join(", ")))
        })?;
        let find = |at: usize, name: &str| {
            let mut markets = venues[at].markets.iter();
            markets.find(|market| market.name == name)
        };
        let there = find(place, market).ok_or_else(|| {
            let markets = venues[place].markets.iter();
            let markets: Vec<_> = markets.map(|market| market.name.as_str()).collect();
            refused(format!("the markets of {venue} are {}", markets.join(", ")))
        })?;
        let names = |at: usize, market: &ListedMarket| {
            let name = |symbol: &String| venues[at].names.name_of(symbol).to_owned();
            market.tokens.each_ref().map(name)
        };
        let [base, quote] = names(place, there);
        let own = find(index, reader).map(|market| names(index, market));
        let is_own = |pair: [&String; 2]| own.as_ref().is_some_and(|own| own.each_ref() == pair);
        if is_own([&base, &quote]) || is_own([&quote, &base]) {
            return Ok(Self {
                reader: read.reader,
                venue: place,
                market: market.to_owned(),
            });
        }
        let own = own.unwrap_or_default().join(" and ");
        Err(refused(format!(
            "it trades {base} and {quote}, and {reader} trades {own}; tokens that are the same need the same name in \
             venue.tokens"
        )))
    }

    /// How its units become those of its reader: `venues` and `markets` of the other venue and of this one. `None` before
    /// both have begun, and if amounts cannot be expressed.
    pub(super) fn units(
        &self,
        venues: [&VenueNames; 2],
        markets: [&[MarketSpec]; 2],
    ) -> Option<Units> {
        let [from, to] = venues;
        let market = markets[0]
            .iter()
            .find(|market| market.name == self.market)?;
        let reader = markets[1].iter().find(|market| market.id == self.reader)?;
        let same = |there: &TokenSpec, here: &TokenSpec| {
            from.name_of(&there.symbol) == to.name_of(&here.symbol)
        };
        let tokens = if same(&market.base, &reader.base) {
            [&reader.base, &reader.quote]
        } else {
            [&reader.quote, &reader.base]
        };
        let name = elsewhere::join(&from.venue, &self.market);
        Units::new(name, market, self.reader, tokens)
    }
}

/// What an engine published of a market.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) published: Published,
    /// When it did.
    pub(super) at: Time,
    /// Rises with every change.
    pub(super) revision: u64,
}

impl Entry {
    /// Whether something else is published now, or a younger depth. An age that differs by the moment of a step is no
    /// difference.
    pub(super) fn differs(&self, published: &Published, now: Time) -> bool {
        let ageless = |published: &Published| {
            let mut published = published.clone();
            let book = published.book.as_mut().ok();
            let age_ms = book.map(|book| std::mem::take(&mut book.age_ms));
            (published, age_ms)
        };
        let (before, age_before_ms) = ageless(&self.published);
        let (after, age_ms) = ageless(published);
        let since_ms = now.ms_since(self.at);
        let expected_ms = age_before_ms.map(|age| age.saturating_add(since_ms));
        let is_younger = |(expected, age): (u64, u64)| age.saturating_add(AGE_STEP_MS) < expected;
        before != after || expected_ms.zip(age_ms).is_some_and(is_younger)
    }
}
