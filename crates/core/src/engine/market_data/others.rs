//! The books of other markets as strategies read them, and when their readers decide again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::elsewhere::{self, BookElsewhere, OtherHoldings};
use crate::market::{MarketId, MarketSpec};
use crate::reference::ReferenceStatus;
use crate::strategy::{BookLevel, OtherBook, OtherMarket, Strategy};
use crate::time::Time;
use crate::withheld::Withheld;

use crate::engine::market_data::book::Prices;
use crate::engine::market_data::elsewhere::Known;
use crate::engine::state::State;

/// What the strategies of other markets last saw of a book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shown {
    /// A depth was accepted since then.
    changed: bool,
    /// Whether it could be priced from.
    priced: bool,
}

impl Shown {
    /// A depth was accepted.
    pub(crate) fn changed(&mut self) {
        self.changed = true;
    }
}

/// A market that a strategy reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Read {
    /// Of this venue.
    Here(MarketId),
    /// Of another one: its place among those.
    Elsewhere(u16),
}

/// Another market of a view.
pub(crate) struct Other<'a> {
    market: &'a MarketSpec,
    age_ms: Option<u64>,
    levels: Levels<'a>,
    /// The mid, or why there is none; or why the whole book is missing.
    mid: Result<Result<u64, Withheld>, Withheld>,
    holdings: Option<OtherHoldings>,
    taker_fee_bips: u16,
}

/// The levels of a book.
enum Levels<'a> {
    Here(Arc<Prices>),
    Elsewhere(&'a BookElsewhere),
    None,
}

impl Levels<'_> {
    fn sides(&self) -> [&[BookLevel]; 2] {
        match self {
            Self::Here(prices) => [&prices.bids, &prices.asks],
            Self::Elsewhere(book) => [&book.bids, &book.asks],
            Self::None => [&[]; 2],
        }
    }
}

impl<'a> Other<'a> {
    /// As a strategy sees it.
    pub(crate) fn view(&self) -> OtherMarket<'_> {
        let [bids, asks] = self.levels.sides();
        OtherMarket {
            market: self.market,
            age_ms: self.age_ms,
            book: self.mid.map(|mid| OtherBook { bids, asks, mid }),
            holdings: self.holdings,
            taker_fee_bips: self.taker_fee_bips,
        }
    }

    fn elsewhere(known: &'a Known, now: Time) -> Self {
        let book = known.book(now);
        let market = known.market();
        Self {
            market: &market.market,
            age_ms: known.age_ms(now),
            mid: book.map(|book| book.mid),
            levels: book.map_or(Levels::None, Levels::Elsewhere),
            holdings: market.holdings,
            taker_fee_bips: market.taker_fee_bips,
        }
    }

    /// The middle of its book in half ticks, however wide or old.
    fn last_mid(&self) -> Option<u64> {
        match &self.levels {
            Levels::Here(prices) => prices.mid,
            _ => self.mid.ok()?.ok(),
        }
    }
}

impl State {
    /// Takes in which markets the strategies read; that they exist was checked.
    pub(crate) fn note_reads(&mut self, strategies: &[Box<dyn Strategy>]) {
        let Self {
            markets,
            slots,
            elsewhere,
            ..
        } = self;
        for (slot, strategy) in slots.iter_mut().zip(strategies) {
            let own = &markets[usize::from(slot.market.0)].spec;
            let read = |name: &String| {
                if elsewhere::split(name).is_some() {
                    return Some(Read::Elsewhere(elsewhere.place(own, name)));
                }
                let mut known = markets.iter().map(|market| &market.spec);
                let spec = known.find(|spec| spec.name == *name)?;
                Some(Read::Here(spec.id))
            };
            slot.reads = strategy.reads().iter().filter_map(read).collect();
        }
    }

    /// The other markets that a strategy reads.
    pub(crate) fn others(&self, now: Time, seat: usize) -> Vec<Other<'_>> {
        let read = self.slots[seat].reads.iter();
        read.filter_map(|read| self.other(now, *read)).collect()
    }

    fn other(&self, now: Time, read: Read) -> Option<Other<'_>> {
        let id = match read {
            Read::Here(id) => id,
            Read::Elsewhere(place) => {
                return Some(Other::elsewhere(self.elsewhere.at(place)?, now));
            }
        };
        let market = self.market(id);
        let prices = market.book.prices(&market.spec);
        Some(Other {
            market: &market.spec,
            age_ms: market.book.age_ms(now),
            mid: self.readable_mid(now, id, &prices),
            levels: Levels::Here(prices),
            holdings: None,
            taker_fee_bips: 0,
        })
    }

    /// The mid of a book for strategies of other markets, or why it has none; or why the book is missing. Whether its own
    /// market may be quoted does not matter.
    pub(crate) fn readable_mid(
        &self,
        now: Time,
        id: MarketId,
        prices: &Prices,
    ) -> Result<Result<u64, Withheld>, Withheld> {
        let market = self.market(id);
        if !market.is_as_listed() {
            return Err(Control::Listing.into());
        }
        let limits = &self.config.markets[usize::from(id.0)];
        let age_max_ms = self.config.poll.depth_age_max_ms;
        if let Some(lapsed) = market.book.lapsed(now, limits, age_max_ms) {
            return Err(lapsed);
        }
        if prices.mid.is_none() {
            // The seed price is for the quotes of that market alone.
            return Ok(Err(Control::EmptyBook.into()));
        }
        Ok(market.book.usable_mid(now, prices, limits, age_max_ms))
    }

    /// The mid of a market for the engines of other venues, and its age in milliseconds; `None` while its book is not fit
    /// for pricing.
    pub(crate) fn mid_for_others(&self, now: Time, id: MarketId) -> Option<(u64, u64)> {
        let prices = self.prices(id);
        let mid = self.readable_mid(now, id, &prices).ok()?.ok()?;
        Some((mid, self.market(id).book.age_ms(now)?))
    }

    /// Strategies that read a market whose book changed, appeared or lapsed since the last decision decide again.
    pub(crate) fn touch_readers(&mut self, now: Time) {
        let mut touched = Vec::new();
        for index in 0..self.markets.len() {
            let id = self.markets[index].spec.id;
            let here = Read::Here(id);
            let is_read = self.slots.iter().any(|slot| slot.reads.contains(&here));
            let before = self.markets[index].shown;
            let priced = is_read && {
                let prices = self.prices(id);
                matches!(self.readable_mid(now, id, &prices), Ok(Ok(_)))
            };
            let changed = false;
            self.markets[index].shown = Shown { changed, priced };
            if is_read && (before.changed || before.priced != priced) {
                touched.push(here);
            }
        }
        let readers = self.slots.iter();
        let readers = readers.filter(|slot| slot.reads.iter().any(|read| touched.contains(read)));
        let mut readers: Vec<_> = readers.map(|slot| slot.market).collect();
        readers.extend(self.elsewhere.readers_of_changed(now));
        for market in readers {
            self.market_mut(market).decision_due = true;
        }
    }

    /// Every source of reference prices, and every market that is read, for status.
    pub(crate) fn reference_status(&self, now: Time) -> Vec<ReferenceStatus> {
        let mut all = self.references.status(now);
        for slot in &self.slots {
            for read in &slot.reads {
                let Some(other) = self.other(now, *read) else {
                    continue;
                };
                let id = match read {
                    Read::Here(id) => Some(*id),
                    Read::Elsewhere(_) => None,
                };
                let is_known = |known: &ReferenceStatus| {
                    let name = known.name == other.market.name;
                    (known.market, known.other) == (slot.market, id) && name
                };
                if all.iter().any(is_known) {
                    continue;
                }
                all.push(ReferenceStatus {
                    market: slot.market,
                    name: other.market.name.clone(),
                    other: id,
                    last: other.last_mid().zip(other.age_ms),
                    stale: !matches!(other.mid, Ok(Ok(_))),
                });
            }
        }
        all
    }
}
