//! Own orders that ended or were filled in part, which an earlier snapshot of the book still contains.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::order::ClientOrderId;
use crate::sorted_map::SortedMap;
use crate::time::Time;

use crate::engine::market_data::book::{OwnLevel, OwnLevels};

/// They are kept for this time,
pub(crate) const KEPT_US: u64 = 60_000_000;
/// and no more than these.
pub(crate) const KEPT: usize = 256;

/// Orders in the order of their ids, with the time at which this became known, and what rested before.
///
/// Every fill goes through all of them, so they are side by side. Ids rise: a new one comes last or close to it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub(crate) struct Departed {
    orders: VecDeque<(ClientOrderId, (Time, OwnLevel))>,
    /// No time is before the first of these or after the second, so that most of the time nothing is looked for.
    earliest: Time,
    latest: Time,
}

type Stored = SortedMap<ClientOrderId, (Time, OwnLevel)>;

impl Departed {
    /// Adds an order; of too many, the one with the lowest id is dropped.
    pub(crate) fn add(&mut self, now: Time, id: ClientOrderId, level: OwnLevel) {
        let lapsed = |at: Time| now.micros_since(at) >= KEPT_US;
        if lapsed(self.earliest) {
            // Ids mostly rise with time: nearly always only the first ones have lapsed.
            while self
                .orders
                .pop_front_if(|(_, (at, _))| lapsed(*at))
                .is_some()
            {}
            self.bound();
        }
        if lapsed(self.earliest) {
            self.orders.retain(|(_, (at, _))| !lapsed(*at));
            self.bound();
        }
        if self.orders.len() >= KEPT {
            self.orders.pop_front();
        }
        match self.orders.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(known) => {
                // One that was moved, then filled: a snapshot may show it where it was before.
                let (at, before) = self.orders[known].1;
                let mut level = level;
                if !lapsed(at) {
                    level.may_also_be(&before);
                }
                self.orders[known].1 = (now, level);
            }
            Err(place) => self.orders.insert(place, (id, (now, level))),
        }
        self.earliest = self.earliest.min(now);
        self.latest = self.latest.max(now);
    }

    /// Finds the first and the last time.
    fn bound(&mut self) {
        let times = self.orders.iter().map(|(_, (at, _))| *at);
        self.earliest = times.clone().min().unwrap_or(Time(u64::MAX));
        self.latest = times.max().unwrap_or_default();
    }

    /// Adds those that departed after a snapshot may have been generated to the orders that it may contain.
    pub(crate) fn include(&self, drawn: Time, own: &mut OwnLevels) {
        if drawn > self.latest {
            return;
        }
        for (id, (_, level)) in self.orders.iter().filter(|(_, (at, _))| *at >= drawn) {
            let shown = own.entry(*id).or_insert(*level);
            shown.left = shown.left.max(level.left);
            shown.may_also_be(level);
        }
    }
}

#[cfg(test)]
impl Departed {
    pub(crate) fn len(&self) -> usize {
        self.orders.len()
    }

    pub(crate) fn contains(&self, id: ClientOrderId) -> bool {
        self.orders.iter().any(|(known, _)| *known == id)
    }
}

impl From<Stored> for Departed {
    fn from(stored: Stored) -> Self {
        let mut departed = Self {
            orders: stored.into_iter().collect(),
            ..Self::default()
        };
        departed.bound();
        departed
    }
}

impl From<Departed> for Stored {
    fn from(departed: Departed) -> Self {
        departed.orders.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::id;
    use crate::market::{Price, Side};

    const LEVEL: OwnLevel = OwnLevel {
        side: Side::Buy,
        price: Price(1),
        also: None,
        left: 1,
    };

    /// Beside all that were ever added, with times that also go back among the ids.
    #[test]
    fn those_within_the_time_are_kept_and_shown_to_earlier_snapshots() {
        let (mut departed, mut all) = (Departed::default(), SortedMap::new());
        let mut now = 0;
        for step in 0..400_u64 {
            now += step * 7_919 % 2_000_000;
            let order = id(step * 31 % 97);
            departed.add(Time(now), order, LEVEL);
            all.retain(|_, at| now - *at < KEPT_US);
            all.insert(order, now);
            assert_eq!(departed.len(), all.len(), "{step}");
            for drawn in [0, now - now / 50, now, now + 1] {
                let mut own = OwnLevels::new();
                departed.include(Time(drawn), &mut own);
                let later = all.iter().filter(|(_, at)| **at >= drawn);
                assert!(own.keys().eq(later.map(|(id, _)| id)), "{step}");
            }
        }
        let mut stored = Departed::from(Stored::from(departed.clone()));
        let later = Time(now).plus_ms(KEPT_US / 1_000);
        for of in [&mut departed, &mut stored] {
            of.add(later, id(100), LEVEL);
            assert_eq!(of.len(), 1);
        }
    }

    /// It was moved, then filled where it is now: a snapshot from before may show it at either price.
    #[test]
    fn one_that_was_moved_and_then_filled_has_both_prices_as_long_as_it_is_kept() {
        let moved_to = OwnLevel {
            price: Price(2),
            ..LEVEL
        };
        for (after_us, also) in [(KEPT_US - 1, Some(Price(1))), (KEPT_US, None)] {
            let mut departed = Departed::default();
            departed.add(Time(5), id(1), LEVEL);
            // Another one of which the time is later.
            departed.add(Time(6), id(0), LEVEL);
            departed.add(Time(5 + after_us), id(1), moved_to);
            let mut own = OwnLevels::new();
            departed.include(Time(0), &mut own);
            let shown = own.values().find(|level| level.price == Price(2));
            assert_eq!(shown.map(|level| level.also), Some(also), "{after_us}");
        }
    }

    /// Ids rise, so that the lowest one is the oldest.
    #[test]
    fn of_too_many_the_lowest_is_dropped() {
        let mut departed = Departed::default();
        for number in 1..=257 {
            departed.add(Time(1), id(number), LEVEL);
        }
        assert_eq!(departed.len(), 256);
        assert!(!departed.contains(id(1)));
        assert!(departed.contains(id(2)) && departed.contains(id(257)));
    }
}
