//! Reference prices: prices of other places, which strategies read beside the book of their market.

use serde::{Deserialize, Serialize};

use crate::market::MarketId;
use crate::time::Time;

/// A source of prices of a market, such as the order book of another exchange.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceSource {
    /// The market whose strategies read it.
    pub market: MarketId,
    /// Its name in the configuration.
    pub name: String,
    /// An older price is missing.
    pub age_max_ms: u64,
}

/// Position of a source in [`Start::references`](crate::event::Start::references).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReferenceId(pub u16);

/// A price of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferencePrice {
    /// Which source.
    pub source: ReferenceId,
    /// The middle of its best prices in half ticks of its market, rounded down.
    pub mid: u64,
    /// When it was so, at the latest, by the engine's clock: not after it was asked for.
    pub at: Time,
}

/// A price of a source as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceReading {
    /// Which source.
    pub source: ReferenceId,
    /// As in [`ReferencePrice`].
    pub mid: u64,
    /// How old it was on arrival: at least since it was asked for.
    pub age_ms: u64,
}

impl ReferenceReading {
    /// The price, if it arrived then.
    pub const fn received(self, at: Time) -> ReferencePrice {
        ReferencePrice {
            source: self.source,
            mid: self.mid,
            at: at.minus_ms(self.age_ms),
        }
    }
}

/// A source as a strategy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    /// Its name.
    pub name: &'a str,
    /// The middle of its best prices in **half ticks** of the market, rounded down, as [`View::mid`]; `None` while it
    /// has none that is young enough.
    ///
    /// [`View::mid`]: crate::strategy::View::mid
    pub mid: Option<u64>,
}

/// A source as status and metrics show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceStatus {
    /// The market whose strategies read it.
    pub market: MarketId,
    /// Its name; the venue's, if it is another market.
    pub name: String,
    /// The market whose book it is, if it is another market of the venue.
    pub other: Option<MarketId>,
    /// The last price in half ticks, of the other market if it is one, and its age; `None` before the first.
    pub last: Option<(u64, u64)>,
    /// Whether that is missing to strategies, because it is older than allowed.
    pub stale: bool,
}

/// The last price of a source.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct References(Vec<(ReferenceSource, Option<Quoted>)>);

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Quoted {
    mid: u64,
    /// When it was so, at the latest.
    at: Time,
}

impl References {
    /// Sources without a price.
    pub(crate) fn new(sources: &[ReferenceSource]) -> Self {
        Self(
            sources
                .iter()
                .map(|source| (source.clone(), None))
                .collect(),
        )
    }

    /// Takes a price; returns the market whose strategies have to decide again. A price of zero, one
    /// that is older than the last, or one of an unknown source changes nothing.
    pub(crate) fn take(&mut self, price: ReferencePrice) -> Option<MarketId> {
        let ReferencePrice { source, mid, at } = price;
        let (source, last) = self.0.get_mut(usize::from(source.0))?;
        if mid == 0 || last.is_some_and(|last| at < last.at) {
            return None;
        }
        let lapses = |quoted: &Quoted| quoted.at.plus_ms(source.age_max_ms);
        let same = last.is_some_and(|last| last.mid == mid && at <= lapses(&last));
        *last = Some(Quoted { mid, at });
        (!same).then_some(source.market)
    }

    /// The sources of a market, in the order of the configuration.
    pub(crate) fn of(&self, market: MarketId, now: Time) -> Vec<Reference<'_>> {
        let own = self.0.iter().filter(|(source, _)| source.market == market);
        own.map(|(source, last)| Reference {
            name: &source.name,
            mid: last
                .filter(|last| !is_stale(source, *last, now))
                .map(|last| last.mid),
        })
        .collect()
    }

    /// Whether a price of the market became too old after `since`, up to `now`.
    pub(crate) fn lapsed(&self, market: MarketId, since: Time, now: Time) -> bool {
        let own = self.0.iter().filter(|(source, _)| source.market == market);
        own.filter_map(|(source, last)| Some((source, (*last)?)))
            .any(|(source, last)| !is_stale(source, last, since) && is_stale(source, last, now))
    }

    /// Every source, for status.
    pub(crate) fn status(&self, now: Time) -> Vec<ReferenceStatus> {
        let each = self.0.iter().map(|(source, last)| ReferenceStatus {
            market: source.market,
            name: source.name.clone(),
            other: None,
            last: last.map(|last| (last.mid, now.ms_since(last.at))),
            stale: last.is_some_and(|last| is_stale(source, last, now)),
        });
        each.collect()
    }
}

fn is_stale(source: &ReferenceSource, last: Quoted, now: Time) -> bool {
    now > last.at.plus_ms(source.age_max_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKET: MarketId = MarketId(1);

    fn one() -> References {
        References::new(&[ReferenceSource {
            market: MARKET,
            name: "elsewhere".to_owned(),
            age_max_ms: 1_000,
        }])
    }

    fn seen(references: &References, ms: u64) -> Option<u64> {
        references.of(MARKET, Time::from_ms(ms))[0].mid
    }

    fn take(references: &mut References, source: u16, mid: u64, ms: u64) -> Option<MarketId> {
        // It arrives late, and counts from when it was so.
        let reading = ReferenceReading {
            source: ReferenceId(source),
            mid,
            age_ms: 3,
        };
        references.take(reading.received(Time::from_ms(ms + 3)))
    }

    #[test]
    fn a_price_is_shown_up_to_its_age_and_missing_after_it() {
        let mut references = one();
        assert_eq!(seen(&references, 5), None);
        let changed = take(&mut references, 0, 500, 10);
        assert_eq!(changed, Some(MARKET));
        assert_eq!(seen(&references, 1_010), Some(500));
        assert_eq!(seen(&references, 1_011), None);
        assert!(references.lapsed(MARKET, Time::from_ms(1_010), Time::from_ms(1_011)));
        assert!(!references.lapsed(MARKET, Time::from_ms(1_009), Time::from_ms(1_010)));
        assert!(!references.lapsed(MARKET, Time::from_ms(1_011), Time::from_ms(1_012)));
        assert!(references.of(MarketId(0), Time::from_ms(10)).is_empty());
    }

    #[test]
    fn an_older_price_a_zero_and_an_unknown_source_change_nothing() {
        let mut references = one();
        take(&mut references, 0, 500, 10);
        assert_eq!(take(&mut references, 0, 600, 9), None);
        assert_eq!(take(&mut references, 0, 0, 11), None);
        assert_eq!(take(&mut references, 1, 600, 11), None);
        assert_eq!(seen(&references, 11), Some(500));
    }

    #[test]
    fn strategies_decide_again_when_the_price_or_whether_there_is_one_changed() {
        let mut references = one();
        take(&mut references, 0, 500, 10);
        // The same price at the end of the last one's age: it was there all the time.
        assert_eq!(take(&mut references, 0, 500, 1_010), None);
        assert_eq!(take(&mut references, 0, 500, 2_011), Some(MARKET));
        assert_eq!(take(&mut references, 0, 501, 2_012), Some(MARKET));
    }
}
