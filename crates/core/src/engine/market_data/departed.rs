//! Own orders that ended or were filled in part, which an earlier snapshot of the book still contains.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::order::ClientOrderId;
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
pub(crate) struct Departed(VecDeque<(ClientOrderId, (Time, OwnLevel))>);

type Stored = BTreeMap<ClientOrderId, (Time, OwnLevel)>;

impl Departed {
    /// Adds an order; of too many, the one with the lowest id is dropped.
    pub(crate) fn add(&mut self, now: Time, id: ClientOrderId, level: OwnLevel) {
        let lapsed = |at: Time| now.micros_since(at) >= KEPT_US;
        if self.0.iter().any(|(_, (at, _))| lapsed(*at)) {
            self.0.retain(|(_, (at, _))| !lapsed(*at));
        }
        if self.0.len() >= KEPT {
            self.0.pop_front();
        }
        match self.0.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(known) => self.0[known].1 = (now, level),
            Err(place) => self.0.insert(place, (id, (now, level))),
        }
    }

    /// Adds those that departed after a snapshot may have been generated to the orders that it may contain.
    pub(crate) fn include(&self, drawn: Time, own: &mut OwnLevels) {
        for (id, (_, level)) in self.0.iter().filter(|(_, (at, _))| *at >= drawn) {
            let shown = own.entry(*id).or_insert(*level);
            shown.left = shown.left.max(level.left);
        }
    }
}

#[cfg(test)]
impl Departed {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn contains(&self, id: ClientOrderId) -> bool {
        self.0.iter().any(|(known, _)| *known == id)
    }
}

impl From<Stored> for Departed {
    fn from(stored: Stored) -> Self {
        Self(stored.into_iter().collect())
    }
}

impl From<Departed> for Stored {
    fn from(departed: Departed) -> Self {
        departed.0.into_iter().collect()
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
        left: 1,
    };

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
