//! What one venue of a portfolio stated, and what its engine was given of the others.

use std::collections::BTreeSet;

use crate::engine::Engine;
use crate::market::{MarketId, MarketSpec};
use crate::math::mul_div_ceil;
use crate::sorted_map::SortedMap;
use crate::time::Time;
use crate::token::{Amount, TokenId, TokenSpec};

use super::readings::{Entry, Reading};
use super::rules::VenueNames;
use super::{Exposure, LostToday, Portfolio};

/// A venue.
#[derive(Default)]
pub struct Member {
    /// Its engine; `None` before its start.
    pub(super) engine: Option<Engine>,
    /// Its markets; empty until its engine begins.
    pub(super) markets: Vec<MarketSpec>,
    /// What it stated last, without losses; `None` before it knew.
    pub(super) stated: Option<Exposure>,
    /// What it lost today, by quote token. Kept until the day ends, also when the venue answers and replaces what its store
    /// stated. The tokens are kept with it, because their ids may change when its engine begins.
    pub(super) lost: Vec<(TokenSpec, LostToday)>,
    /// When the venue's day ends for which it stated what was lost.
    pub(super) day_ends_at: Time,
    /// What it stated is what its store holds, written last at this time (Unix seconds): the venue has not answered yet.
    pub(super) stored_s: Option<u64>,
    /// The last mid of each market in half ticks, and when it was so.
    pub(super) mids: SortedMap<MarketId, (u64, Time)>,
    /// Names of its markets that strategies of others read.
    pub(super) read_by_others: BTreeSet<String>,
    /// These markets, as its engine published them.
    pub(super) published: SortedMap<MarketId, Entry>,
    /// What its strategies read of other venues.
    pub(super) readings: Vec<Reading>,
    /// What its engine was given.
    pub(super) given: Given,
}

/// What an engine was given of the other venues.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// The limits, last.
    pub(super) portfolio: Option<Portfolio>,
    /// The command that stops trading for a loss over all venues; it has not stopped yet.
    pub(super) raised: bool,
    /// Which revision of each of its readings.
    pub(super) revisions: SortedMap<usize, u64>,
}

/// Which prices count.
#[derive(Clone, Copy, Debug)]
pub(super) enum Young {
    /// However old.
    Any,
    /// At most so many milliseconds before that time.
    At(Time, u64),
}

impl Member {
    /// Its markets; none until its engine begins.
    pub fn markets(&self) -> &[MarketSpec] {
        &self.markets
    }

    /// Whether it has stated what it may hold.
    pub const fn is_known(&self) -> bool {
        self.stated.is_some()
    }

    /// When its store was written last (Unix seconds), if what it states is from there.
    pub const fn stored_s(&self) -> Option<u64> {
        self.stored_s
    }

    /// The limits that its engine was given last.
    pub const fn given(&self) -> Option<&Portfolio> {
        self.given.portfolio.as_ref()
    }

    /// Which of its markets strategies of other venues read.
    pub fn is_read(&self) -> Vec<MarketId> {
        let read = self.markets.iter();
        let read = read.filter(|market| self.read_by_others.contains(&market.name));
        read.map(|market| market.id).collect()
    }

    /// Whether it has stated what all of its markets lost today.
    pub fn is_loss_measured(&self) -> bool {
        let mut lost = self.lost.iter();
        self.is_known() && lost.all(|(_, lost)| lost.is_complete)
    }

    /// Most that the venue may hold of a token of this name, in units of so many decimals, rounded up. None of it if no
    /// market trades it; `None` if that is not known.
    pub fn holds(&self, names: &VenueNames, token: &str, decimals: u8) -> Option<Amount> {
        // Which markets there are is known when the engine begins.
        let stated = self.stated.as_ref()?;
        let bases = self.markets.iter().map(|market| &market.base);
        let mut same = bases.filter(|base| names.name_of(&base.symbol) == token);
        let Some(base) = same.next() else {
            return Some(0);
        };
        let held = (*stated.tokens.get(&base.id)?)?;
        mul_div_ceil(held, power(decimals)?, power(base.decimals)?)
    }

    /// The mid of a market, if it is young enough.
    pub(super) fn mid(&self, market: &MarketSpec, young: Young) -> Option<u64> {
        let (mid, at) = *self.mids.get(&market.id)?;
        match young {
            Young::Any => Some(mid),
            Young::At(now, age_max_ms) => (now.ms_since(at) <= age_max_ms).then_some(mid),
        }
    }

    /// Takes what its engine may hold. What is not known any more replaces nothing.
    pub(super) fn state(&mut self, now: Time, exposure: Option<Exposure>) {
        let Some(mut exposure) = exposure else {
            return;
        };
        for (market, mid) in &exposure.mids {
            if let Some((mid, age_ms)) = mid {
                self.mids.insert(*market, (*mid, now.minus_ms(*age_ms)));
            }
        }
        self.day_ends_at = now.plus_ms(exposure.day_left_ms);
        let lost = std::mem::take(&mut exposure.lost_today);
        self.lost = with_tokens(&self.markets, lost);
        self.stated = Some(exposure);
    }
}

/// Losses with the quote tokens of these markets, by their ids.
fn with_tokens(
    markets: &[MarketSpec],
    mut lost: SortedMap<TokenId, LostToday>,
) -> Vec<(TokenSpec, LostToday)> {
    let quotes = markets.iter().map(|market| &market.quote);
    let each = quotes.filter_map(|quote| {
        let lost = lost.remove(&quote.id)?;
        Some((quote.clone(), lost))
    });
    each.collect()
}

/// Units in a whole token of so many decimals.
pub(super) fn power(decimals: u8) -> Option<Amount> {
    Amount::from(10_u8).checked_pow(decimals.into())
}
