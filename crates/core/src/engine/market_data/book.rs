//! State of one market's data: the last accepted depth, own orders removed, and whether it is fit for pricing.

use std::cell::OnceCell;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::{EmptyBook, MarketConfig};
use crate::market::{MarketSpec, Price, Qty, Side};
use crate::notification::{Control, DepthFault, Withheld};
use crate::order::ClientOrderId;
use crate::request::{Depth, DepthLevel};
use crate::sorted_map::SortedMap;
use crate::strategy::BookLevel;
use crate::time::{Time, VenueTime};
use crate::token::Amount;
use crate::withheld::{Compared, Unit};

use crate::engine::market_data::departed::Departed;

/// Refused snapshots with increasing timestamps after which a restarted venue is accepted.
const RESYNC_AFTER: u32 = 3;

/// In place of the timestamp of a depth that counts as unread.
const UNREAD: VenueTime = VenueTime(u64::MAX);

/// An own order as a snapshot may contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnLevel {
    pub(crate) side: Side,
    pub(crate) price: Price,
    /// Another price at which it may have rested: it was moved, or may have been.
    pub(crate) also: Option<Price>,
    /// Base units with which it may have rested.
    pub(crate) left: Amount,
}

impl OwnLevel {
    /// The order may have rested where this says as well: it was moved.
    pub(crate) fn may_also_be(&mut self, other: &Self) {
        let prices = [Some(other.price), other.also];
        let mut others = prices.into_iter().flatten();
        if let Some(price) = others.find(|price| *price != self.price) {
            self.also = Some(price);
        }
    }
}

/// The own orders that a snapshot may contain: alive when it was generated, or sent before it arrived.
pub(crate) type OwnLevels = SortedMap<ClientOrderId, OwnLevel>;

/// The last accepted depth of one market.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct MarketBook {
    depth: Option<Depth>,
    /// The own orders in it. They belong to the snapshot: orders that end or begin later are still, or not yet, in
    /// these levels.
    own: OwnLevels,
    /// Own orders that ended or were filled in part, and when this became known: an earlier snapshot contains them in
    /// full.
    departed: Departed,
    /// Earliest time at which the accepted depth may have been generated,
    snapshot_at: Time,
    /// and its timestamp.
    snapshot_time: VenueTime,
    /// The last depth that arrived before it was known where all own orders of earlier runs rest.
    held: Option<Box<HeldDepth>>,
    /// When its content last changed.
    content_changed_at: Time,
    refused: u32,
    refused_at: VenueTime,
    /// The accepted depth without own orders, from the first time it is asked for.
    #[serde(skip)]
    prices: OnceCell<Arc<Prices>>,
}

/// A depth from which own orders cannot be removed yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HeldDepth {
    pub(crate) generated_at: Time,
    /// The own orders that it may contain.
    pub(crate) own: OwnLevels,
    pub(crate) depth: Depth,
}

/// The inputs of pricing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prices {
    pub(crate) bids: Vec<BookLevel>,
    pub(crate) asks: Vec<BookLevel>,
    /// Half ticks: best bid + best ask, own orders removed.
    pub(crate) mid: Option<u64>,
    /// Lots of the side that has fewer.
    pub(crate) thinner: Qty,
}

impl MarketBook {
    /// Accepts or refuses a snapshot that was generated no earlier than `drawn`, arrived at `now` and may contain
    /// `own`.
    pub(crate) fn take(
        &mut self,
        drawn: Time,
        now: Time,
        depth: &Depth,
        own: OwnLevels,
    ) -> Result<(), DepthFault> {
        check_shape(depth)?;
        if let Some(known) = &self.depth {
            let same = known.bids == depth.bids && known.asks == depth.asks;
            let backwards =
                depth.version < known.version || (depth.version == known.version && !same);
            if backwards {
                let newer = depth.timestamp > self.refused_at && depth.timestamp > known.timestamp;
                self.refused_at = depth.timestamp;
                self.refused = if newer { self.refused + 1 } else { 0 };
                if self.refused < RESYNC_AFTER {
                    return Err(DepthFault::Version);
                }
            }
            if !same {
                self.content_changed_at = now;
            }
        } else {
            self.content_changed_at = now;
        }
        self.refused = 0;
        self.snapshot_at = drawn;
        self.snapshot_time = depth.timestamp;
        match &mut self.depth {
            // Into the buffers of the one before.
            Some(known) => {
                let (mut bids, mut asks) = (
                    std::mem::take(&mut known.bids),
                    std::mem::take(&mut known.asks),
                );
                bids.clone_from(&depth.bids);
                asks.clone_from(&depth.asks);
                *known = Depth {
                    bids,
                    asks,
                    ..*depth
                };
            }
            None => self.depth = Some(depth.clone()),
        }
        self.own = own;
        self.prices = OnceCell::new();
        Ok(())
    }

    /// Holds a depth until it is known where all own orders rest.
    pub(crate) fn hold(&mut self, held: HeldDepth) {
        self.held = Some(Box::new(held));
    }

    /// The depth that is held.
    pub(crate) fn take_held(&mut self) -> Option<HeldDepth> {
        self.held.take().map(|held| *held)
    }

    /// The venue's clock is now known to be at least `venue_now`. If that is later than was known when the depth
    /// arrived, the depth is older than it seemed.
    pub(crate) fn update_age(&mut self, now: Time, venue_now: VenueTime) {
        let drawn = now.minus_ms(venue_now.ms_since(self.snapshot_time));
        self.snapshot_at = self.snapshot_at.min(drawn);
    }

    /// When the accepted depth was generated at the earliest.
    pub(crate) const fn generated_at(&self) -> Time {
        self.snapshot_at
    }

    /// An own order has ended, or was filled in part.
    pub(crate) fn part(&mut self, now: Time, id: ClientOrderId, level: OwnLevel) {
        self.departed.add(now, id, level);
    }

    /// Adds own orders that ended or were filled after a snapshot may have been generated.
    pub(crate) fn include_departed(&self, drawn: Time, own: &mut OwnLevels) {
        self.departed.include(drawn, own);
    }

    /// The depth may be older than it seems: it counts as unread, and is not priced from, until the next one is accepted.
    pub(crate) fn invalidate(&mut self) {
        self.snapshot_at = Time(0);
        self.snapshot_time = UNREAD;
    }

    /// Age of the accepted depth in milliseconds; `None` before the first, and while it counts as unread: how old it is
    /// is not known then.
    pub(crate) fn age_ms(&self, now: Time) -> Option<u64> {
        let is_read = self.depth.is_some() && self.snapshot_time != UNREAD;
        is_read.then(|| now.ms_since(self.snapshot_at))
    }

    /// Venue time of the accepted depth.
    pub(crate) fn timestamp(&self) -> Option<VenueTime> {
        self.depth.as_ref().map(|depth| depth.timestamp)
    }

    /// Whether the accepted depth has less at an own order's level than the order's remainder. Beyond the last level
    /// nothing is known, nor of an order that may rest at another price.
    pub(crate) fn has_less_than(&self, own: &OwnLevel) -> bool {
        let levels = self.depth.as_ref().map(|depth| match own.side {
            Side::Buy => &depth.bids,
            Side::Sell => &depth.asks,
        });
        levels.is_some_and(|levels| {
            let within = levels
                .last()
                .is_none_or(|last| own.side.reaches(own.price, last.price));
            let size = levels
                .iter()
                .find(|level| level.price == own.price)
                .map_or(0, |level| level.size);
            within && own.also.is_none() && size < own.left
        })
    }

    /// The book without our own orders. One depth is priced from many times, and computed once.
    pub(crate) fn prices(&self, spec: &MarketSpec) -> Arc<Prices> {
        let prices = self.prices.get_or_init(|| Arc::new(self.compute(spec)));
        Arc::clone(prices)
    }

    fn compute(&self, spec: &MarketSpec) -> Prices {
        let Some(depth) = &self.depth else {
            return Prices::default();
        };
        let without = |levels: &[DepthLevel], side: Side| -> Vec<BookLevel> {
            let ours = self.own_by_price(side);
            let mut ours = ours.as_slice();
            let mut left = Vec::with_capacity(levels.len());
            for level in levels {
                let mut size = level.size;
                // Both have the best price first.
                while let [(price, own), rest @ ..] = ours
                    && side.reaches(*price, level.price)
                {
                    if *price == level.price {
                        size = size.saturating_sub(*own);
                    }
                    ours = rest;
                }
                let qty = spec.lots_floor(size);
                if qty.0 > 0 {
                    let price = level.price;
                    left.push(BookLevel { price, qty });
                }
            }
            left
        };
        let bids = without(&depth.bids, Side::Buy);
        let asks = without(&depth.asks, Side::Sell);
        let mid = match (bids.first(), asks.first()) {
            (Some(bid), Some(ask)) => Some(bid.price.0.saturating_add(ask.price.0)),
            _ => None,
        };
        let lots = |levels: &[BookLevel]| {
            let each = levels.iter().map(|level| level.qty.0);
            Qty(each.fold(0, u64::saturating_add))
        };
        let thinner = lots(&bids).min(lots(&asks));
        Prices {
            bids,
            asks,
            mid,
            thinner,
        }
    }

    /// Where own orders of a side may be in the depth, and with how much, the best price first. One that may be at either of
    /// two prices is at both.
    fn own_by_price(&self, side: Side) -> Vec<(Price, Amount)> {
        let own = self.own.values().filter(|own| own.side == side);
        let mut ours: Vec<_> = own
            .flat_map(|own| {
                let also = own.also.filter(|also| *also != own.price);
                let prices = [Some(own.price), also].into_iter().flatten();
                prices.map(|price| (price, own.left))
            })
            .collect();
        ours.sort_unstable_by_key(|(price, _)| match side {
            Side::Buy => u64::MAX - price.0,
            Side::Sell => price.0,
        });
        ours
    }

    /// Why the depth is not fit for pricing because of its age.
    pub(crate) fn lapsed(
        &self,
        now: Time,
        config: &MarketConfig,
        depth_age_max_ms: u64,
    ) -> Option<Withheld> {
        let age_ms = self.age_ms(now);
        if age_ms.is_none_or(|age| age > depth_age_max_ms) {
            let key = "poll.depth_age_max_ms";
            let compared = Compared::of(Unit::Ms, key, age_ms, depth_age_max_ms);
            return Some(Withheld::compared(Control::StaleData, compared));
        }
        let (still_ms, most_ms) = (
            now.ms_since(self.content_changed_at),
            config.frozen_after_ms,
        );
        (most_ms > 0 && still_ms > most_ms).then(|| {
            let compared = Compared::new(Unit::Ms, "market.frozen_after_s", still_ms, most_ms);
            Withheld::compared(Control::FrozenBook, compared)
        })
    }

    /// The mid to price from, in half ticks, or why there is none.
    pub(crate) fn usable_mid(
        &self,
        now: Time,
        prices: &Prices,
        config: &MarketConfig,
        depth_age_max_ms: u64,
    ) -> Result<u64, Withheld> {
        if let Some(lapsed) = self.lapsed(now, config, depth_age_max_ms) {
            return Err(lapsed);
        }
        let (Some(bid), Some(ask), Some(mid)) =
            (prices.bids.first(), prices.asks.first(), prices.mid)
        else {
            return match config.empty {
                EmptyBook::NoQuote => Err(Control::EmptyBook.into()),
                EmptyBook::Seed(price) => Ok(price.0.saturating_mul(2)),
            };
        };
        // spread / (mid / 2) in bps, cross-multiplied: mid is in half ticks.
        let spread = u128::from(ask.price.0.saturating_sub(bid.price.0));
        let most_bps = config.spread_max_bps;
        if spread * 20_000 > u128::from(most_bps) * u128::from(mid) {
            let found_bps = (spread * 20_000).div_ceil(u128::from(mid.max(1)));
            let key = "market.spread_max_bps";
            let compared = Compared::new(Unit::Bps, key, found_bps, most_bps);
            return Err(Withheld::compared(Control::Spread, compared));
        }
        let (thinner, least) = (prices.thinner, config.depth_min);
        if thinner < least {
            let compared = Compared::new(Unit::Lots, "market.depth_min", thinner.0, least.0);
            return Err(Withheld::compared(Control::ThinBook, compared));
        }
        Ok(mid)
    }
}

/// An error unless levels are sorted best first, unique, not empty, and not crossed.
fn check_shape(depth: &Depth) -> Result<(), DepthFault> {
    let ordered = depth
        .bids
        .windows(2)
        .all(|pair| pair[0].price > pair[1].price)
        && depth
            .asks
            .windows(2)
            .all(|pair| pair[0].price < pair[1].price);
    let positive = depth
        .bids
        .iter()
        .chain(&depth.asks)
        .all(|l| l.size > 0 && l.price.0 > 0);
    if !ordered || !positive {
        return Err(DepthFault::Malformed);
    }
    match (depth.bids.first(), depth.asks.first()) {
        (Some(bid), Some(ask)) if bid.price >= ask.price => Err(DepthFault::Crossed),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::market_data::departed::{KEPT, KEPT_US};

    #[test]
    fn a_depth_is_older_when_the_venue_clock_is_later() {
        let (mut book, now) = (MarketBook::default(), Time::from_ms(1_000));
        let depth = Depth {
            market: crate::MarketId(0),
            version: 1,
            timestamp: VenueTime(50_000),
            bids: Vec::new(),
            asks: Vec::new(),
        };
        let taken = book.take(now.minus_ms(100), now, &depth, OwnLevels::new());
        assert_eq!(taken, Ok(()));
        book.update_age(now, VenueTime(50_050));
        assert_eq!(book.age_ms(now), Some(100), "never younger");
        book.update_age(now, VenueTime(50_900));
        assert_eq!(book.age_ms(now), Some(900));
        book.update_age(now, VenueTime(50_200));
        assert_eq!(book.age_ms(now), Some(900), "what was known is known");
    }

    #[test]
    fn a_depth_that_may_be_older_than_it_seems_has_no_age_until_the_next() {
        let (mut book, now) = (MarketBook::default(), Time::from_ms(1_000));
        let taken = book.take(now, now, &versioned(1, 50_000, 7), OwnLevels::new());
        assert_eq!((taken, book.age_ms(now)), (Ok(()), Some(0)));
        book.invalidate();
        assert_eq!(book.age_ms(now), None, "an age would be made up");
        book.update_age(now, VenueTime(50_100));
        assert_eq!(book.age_ms(now), None);
        let later = now.plus_ms(300);
        let taken = book.take(later, later, &versioned(2, 50_300, 7), OwnLevels::new());
        assert_eq!((taken, book.age_ms(later)), (Ok(()), Some(0)));
        let old = later.plus_ms(5_001);
        assert_eq!(book.age_ms(old), Some(5_001), "only old");
    }

    #[test]
    fn levels_are_sorted_unique_and_not_empty() {
        let shape = |bids: &[(u64, Amount)], asks: &[(u64, Amount)]| {
            let levels = |of: &[(u64, Amount)]| {
                let each = of.iter().map(|(price, size)| DepthLevel {
                    price: Price(*price),
                    size: *size,
                });
                each.collect()
            };
            check_shape(&Depth {
                market: crate::MarketId(0),
                version: 1,
                timestamp: VenueTime(0),
                bids: levels(bids),
                asks: levels(asks),
            })
        };
        let malformed = Err(DepthFault::Malformed);
        assert_eq!(shape(&[(9, 1), (8, 1)], &[(10, 1), (11, 1)]), Ok(()));
        assert_eq!(shape(&[], &[]), Ok(()));
        assert_eq!(shape(&[(8, 1), (9, 1)], &[]), malformed);
        assert_eq!(shape(&[(9, 1), (9, 1)], &[]), malformed);
        assert_eq!(shape(&[], &[(11, 1), (10, 1)]), malformed);
        assert_eq!(shape(&[], &[(10, 1), (10, 1)]), malformed);
        assert_eq!(shape(&[(9, 0)], &[]), malformed);
        assert_eq!(shape(&[], &[(10, 0)]), malformed);
        assert_eq!(shape(&[(0, 1)], &[]), malformed);
        assert_eq!(shape(&[(9, 1)], &[(9, 1)]), Err(DepthFault::Crossed));
    }

    #[test]
    fn a_depth_with_less_than_an_own_order_is_detected_up_to_its_last_level() {
        let level = |price, size| DepthLevel {
            price: Price(price),
            size,
        };
        let depth = Depth {
            market: crate::MarketId(0),
            version: 1,
            timestamp: VenueTime(0),
            bids: vec![level(100, 7), level(98, 5)],
            asks: Vec::new(),
        };
        let mut book = MarketBook::default();
        let taken = book.take(Time(0), Time(0), &depth, OwnLevels::new());
        assert_eq!(taken, Ok(()));
        let less = |side, price, left| {
            let price = Price(price);
            book.has_less_than(&OwnLevel {
                side,
                price,
                also: None,
                left,
            })
        };
        assert!(!less(Side::Buy, 100, 7) && less(Side::Buy, 100, 8));
        assert!(less(Side::Buy, 99, 1), "between two levels");
        assert!(!less(Side::Buy, 97, 1), "beyond the last one");
        assert!(less(Side::Sell, 200, 1), "an empty side hides nothing");
        let nothing = MarketBook::default();
        assert!(!nothing.has_less_than(&OwnLevel {
            side: Side::Buy,
            price: Price(1),
            also: None,
            left: 1
        }));
    }

    #[test]
    fn ended_orders_are_removed_from_older_snapshots_only() {
        let id = ClientOrderId {
            instance: 1,
            strategy: crate::StrategyId(0),
            number: 7,
        };
        let level = OwnLevel {
            side: Side::Buy,
            price: Price(100),
            also: None,
            left: 7,
        };
        let mut book = MarketBook::default();
        book.part(Time(50), id, level);
        let shown = |book: &MarketBook, drawn| {
            let mut own = OwnLevels::new();
            book.include_departed(Time(drawn), &mut own);
            own.get(&id).is_some()
        };
        assert!(shown(&book, 50), "as late as it was seen");
        assert!(!shown(&book, 51), "gone by then");
        let left = |drawn| {
            let rest = OwnLevel { left: 3, ..level };
            let mut own = OwnLevels::from([(id, rest)]);
            book.include_departed(Time(drawn), &mut own);
            own.get(&id).map_or(0, |level| level.left)
        };
        assert_eq!((left(50), left(51)), (7, 3), "whole before it was filled");
        let kept = |ms| {
            let mut book = book.clone();
            let next = ClientOrderId { number: 8, ..id };
            book.part(Time(50).plus_ms(ms), next, level);
            book.departed.contains(id)
        };
        assert!(kept(KEPT_US / 1_000 - 1) && !kept(KEPT_US / 1_000));
        for number in 0..2 * KEPT as u64 {
            book.part(Time(60), ClientOrderId { number, ..id }, level);
        }
        assert_eq!(book.departed.len(), KEPT);
    }

    /// A depth of one bid, with a version and a time.
    fn versioned(version: u64, time: u64, size: Amount) -> Depth {
        Depth {
            market: crate::MarketId(0),
            version,
            timestamp: VenueTime(time),
            bids: vec![DepthLevel {
                price: Price(100),
                size,
            }],
            asks: Vec::new(),
        }
    }

    #[test]
    fn a_version_that_goes_back_is_refused_and_so_is_another_content_of_the_same() {
        for (next, taken) in [
            (versioned(5, 2_000, 7), Ok(())),
            (versioned(6, 2_000, 8), Ok(())),
            (versioned(5, 2_000, 8), Err(DepthFault::Version)),
            (versioned(4, 2_000, 7), Err(DepthFault::Version)),
        ] {
            let mut book = MarketBook::default();
            let mut take = |ms, depth: &Depth| {
                let now = Time::from_ms(ms);
                book.take(now, now, depth, OwnLevels::new())
            };
            assert_eq!(take(0, &versioned(5, 1_000, 7)), Ok(()));
            assert_eq!(take(10, &next), taken, "{next:?}");
        }
    }

    /// Depths of an older version are counted until one is accepted: only those in a row show a venue that was restarted.
    #[test]
    fn an_accepted_depth_ends_the_count_of_refused_ones() {
        let mut book = MarketBook::default();
        let mut take = |depth: &Depth| book.take(Time(0), Time(0), depth, OwnLevels::new());
        assert_eq!(take(&versioned(5, 1_000, 7)), Ok(()));
        let mut version = 5;
        for time in 0..20 {
            let older = versioned(4, 2_000 + 10 * time, 8);
            assert_eq!(take(&older), Err(DepthFault::Version), "{time}");
            if time % u64::from(RESYNC_AFTER - 1) == u64::from(RESYNC_AFTER - 2) {
                version += 1;
                assert_eq!(take(&versioned(version, 2_005 + 10 * time, 7)), Ok(()));
            }
        }
    }

    /// A lot is a base unit.
    fn market_of_units() -> MarketSpec {
        let token = |id| crate::TokenSpec {
            id: crate::TokenId(id),
            symbol: format!("T{id}"),
            decimals: 0,
            precision: 0,
            minimum: 1,
            maximum: 1 << 60,
            dust: 0,
            enabled: true,
        };
        MarketSpec::new(crate::MarketId(0), "T0-T1", token(0), token(1), 0, true).expect("a market")
    }

    /// Prices are computed once for a depth, and again for the next one and after a restoration.
    #[test]
    fn prices_are_those_of_the_newest_depth() {
        let spec = market_of_units();
        let mut book = MarketBook::default();
        let bid = |book: &MarketBook| book.prices(&spec).bids.first().map(|level| level.qty.0);
        assert_eq!(bid(&book), None);
        let id = ClientOrderId {
            instance: 1,
            strategy: crate::StrategyId(0),
            number: 7,
        };
        let ours = OwnLevel {
            side: Side::Buy,
            price: Price(100),
            also: None,
            left: 2,
        };
        for (version, size, own, left) in [
            (1, 7, OwnLevels::new(), Some(7)),
            (2, 9, OwnLevels::new(), Some(9)),
            (3, 9, OwnLevels::from([(id, ours)]), Some(7)),
            (4, 2, OwnLevels::from([(id, ours)]), None),
        ] {
            let depth = versioned(version, 1_000 + version, size);
            assert_eq!(book.take(Time(0), Time(0), &depth, own), Ok(()));
            assert_eq!((bid(&book), bid(&book)), (left, left), "version {version}");
            let mut restored = MarketBook::default();
            restored.clone_from(&book);
            restored.prices = OnceCell::new();
            assert_eq!(bid(&restored), left, "version {version}");
        }
    }

    /// Beside a sum for each level over all own orders that may be there.
    #[test]
    fn every_level_is_left_without_all_own_orders_at_its_price() {
        let spec = market_of_units();
        let mut drawn = 7_u64;
        let mut next = |below: u64| {
            drawn = drawn
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (drawn >> 33) % below
        };
        for round in 1..2_000 {
            let mut side = |at: fn(u64) -> u64| {
                let mut steps = 0;
                let each = (0..next(8)).map(|_| {
                    steps += 1 + next(2);
                    let (price, size) = (Price(at(steps)), Amount::from(1 + next(9)));
                    DepthLevel { price, size }
                });
                each.collect::<Vec<_>>()
            };
            let (bids, asks) = (side(|steps| 101 - steps), side(|steps| 101 + steps));
            let own: OwnLevels = (0..next(6))
                .map(|number| {
                    let side = if next(2) == 0 { Side::Buy } else { Side::Sell };
                    let mut price = || match side {
                        Side::Buy => Price(101 - next(18)),
                        Side::Sell => Price(101 + next(18)),
                    };
                    let (price, other) = (price(), price());
                    let (also, left) = ((next(3) == 0).then_some(other), next(7).into());
                    let own = OwnLevel {
                        side,
                        price,
                        also,
                        left,
                    };
                    (crate::engine::testing::id(number), own)
                })
                .collect();
            let depth = Depth {
                market: spec.id,
                version: round,
                timestamp: VenueTime(round),
                bids,
                asks,
            };
            let without = |levels: &[DepthLevel], side: Side| {
                let left = levels.iter().map(|level| {
                    let is_here = |own: &&OwnLevel| {
                        own.side == side
                            && (own.price == level.price || own.also == Some(level.price))
                    };
                    let ours: Amount = own.values().filter(is_here).map(|own| own.left).sum();
                    let qty = spec.lots_floor(level.size.saturating_sub(ours));
                    let price = level.price;
                    BookLevel { price, qty }
                });
                left.filter(|level| level.qty.0 > 0).collect::<Vec<_>>()
            };
            let expected = [
                without(&depth.bids, Side::Buy),
                without(&depth.asks, Side::Sell),
            ];
            let mut book = MarketBook::default();
            assert_eq!(book.take(Time(0), Time(0), &depth, own), Ok(()));
            let prices = book.prices(&spec);
            assert_eq!([&prices.bids, &prices.asks], expected.each_ref());
        }
    }

    /// A venue that was restarted counts versions from the beginning: three older versions with rising times are accepted.
    #[test]
    fn a_restarted_venue_is_accepted_after_three_depths_with_rising_times() {
        for (times, accepted) in [
            (&[2_000, 3_000, 4_000][..], true),
            (&[2_000, 3_000], false),
            (&[2_000, 3_000, 3_000], false),
            (&[900, 950, 980], false),
            (&[1_000, 2_000, 3_000], false),
            (&[1_000, 2_000, 3_000, 4_000], true),
            (&[2_000, 1_500, 3_000, 4_000], false),
            (&[2_000, 1_500, 3_000, 4_000, 5_000], true),
        ] {
            let mut book = MarketBook::default();
            let mut take = |depth: &Depth| book.take(Time(0), Time(0), depth, OwnLevels::new());
            assert_eq!(take(&versioned(50, 1_000, 7)), Ok(()));
            let answers: Vec<_> = (1..)
                .zip(times)
                .map(|(version, time)| take(&versioned(version, *time, 9)))
                .collect();
            let [before @ .., last] = &answers[..] else {
                panic!("no answers")
            };
            assert!(
                before
                    .iter()
                    .all(|answer| *answer == Err(DepthFault::Version))
            );
            assert_eq!(last.is_ok(), accepted, "{times:?}");
        }
    }
}
