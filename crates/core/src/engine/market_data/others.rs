//! The books of other markets as strategies read them, and when their readers decide again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::market::{MarketId, MarketSpec};
use crate::reference::ReferenceStatus;
use crate::strategy::{OtherBook, OtherMarket, Strategy};
use crate::time::Time;
use crate::withheld::Withheld;

use crate::engine::market_data::book::Prices;
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

/// Another market of a view.
pub(crate) struct Other<'a> {
    market: &'a MarketSpec,
    age_ms: Option<u64>,
    prices: Arc<Prices>,
    /// The mid, or why there is none; or why the whole book is missing.
    mid: Result<Result<u64, Withheld>, Withheld>,
}

impl Other<'_> {
    /// As a strategy sees it.
    pub(crate) fn view(&self) -> OtherMarket<'_> {
        OtherMarket {
            market: self.market,
            age_ms: self.age_ms,
            book: self.mid.map(|mid| OtherBook {
                bids: &self.prices.bids,
                asks: &self.prices.asks,
                mid,
            }),
        }
    }
}

impl State {
    /// Takes in which markets the strategies read; that they exist was checked.
    pub(crate) fn note_reads(&mut self, strategies: &[Box<dyn Strategy>]) {
        let Self { markets, slots, .. } = self;
        for (slot, strategy) in slots.iter_mut().zip(strategies) {
            let mut names = strategy.reads().iter();
            let id = |name: &String| {
                let mut known = markets.iter().map(|market| &market.spec);
                known.find(|spec| spec.name == *name).map(|spec| spec.id)
            };
            slot.reads = names.by_ref().filter_map(id).collect();
        }
    }

    /// The other markets that a strategy reads.
    pub(crate) fn others(&self, now: Time, seat: usize) -> Vec<Other<'_>> {
        let read = self.slots[seat].reads.iter();
        read.map(|id| self.other(now, *id)).collect()
    }

    fn other(&self, now: Time, id: MarketId) -> Other<'_> {
        let market = self.market(id);
        let prices = market.book.prices(&market.spec);
        Other {
            market: &market.spec,
            age_ms: market.book.age_ms(now),
            mid: self.readable_mid(now, id, &prices),
            prices,
        }
    }

    /// The mid of a book for strategies of other markets, or why it has none; or why the book is missing. Whether its own
    /// market may be quoted does not matter.
    fn readable_mid(
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
            let is_read = self.slots.iter().any(|slot| slot.reads.contains(&id));
            let before = self.markets[index].shown;
            let priced = is_read && {
                let prices = self.prices(id);
                matches!(self.readable_mid(now, id, &prices), Ok(Ok(_)))
            };
            let changed = false;
            self.markets[index].shown = Shown { changed, priced };
            if is_read && (before.changed || before.priced != priced) {
                touched.push(id);
            }
        }
        let readers = self.slots.iter();
        let readers = readers.filter(|slot| slot.reads.iter().any(|id| touched.contains(id)));
        let readers: Vec<_> = readers.map(|slot| slot.market).collect();
        for market in readers {
            self.market_mut(market).decision_due = true;
        }
    }

    /// Every source of reference prices, and every market that is read, for status.
    pub(crate) fn reference_status(&self, now: Time) -> Vec<ReferenceStatus> {
        let mut all = self.references.status(now);
        for slot in &self.slots {
            for id in &slot.reads {
                let is_known = |known: &ReferenceStatus| {
                    (known.market, known.other) == (slot.market, Some(*id))
                };
                if all.iter().any(is_known) {
                    continue;
                }
                let other = self.other(now, *id);
                all.push(ReferenceStatus {
                    market: slot.market,
                    name: other.market.name.clone(),
                    other: Some(*id),
                    last: other.prices.mid.zip(other.age_ms),
                    stale: !matches!(other.mid, Ok(Ok(_))),
                });
            }
        }
        all
    }
}
