//! A map by the hash of an order.
//!
//! Every entry of every page of a list is looked up by its hash. A table with open addressing finds it at the first
//! place that it looks at, nearly always. The places depend on nothing but the hashes, so that equal runs do equal work;
//! what is stored is in the order of the hashes.
//!
//! Only hashes that were made here are kept: the venue cannot choose them so that many fall on one place.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::order::Hash;

/// Places of the smallest table.
const FIRST: usize = 16;

/// Values by hash.
#[derive(Clone, Debug)]
pub(crate) struct ByHash<V> {
    /// A power of two, at least half of them empty; none at first.
    places: Vec<Option<(Hash, V)>>,
    length: usize,
}

impl<V> Default for ByHash<V> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            length: 0,
        }
    }
}

impl<V> ByHash<V> {
    /// Number of entries.
    #[cfg(test)]
    pub(crate) const fn len(&self) -> usize {
        self.length
    }

    /// Where the search for a hash begins.
    fn first_place(&self, hash: Hash) -> usize {
        let (words, _) = hash.0.as_chunks::<8>();
        let word = |at: usize| u64::from_be_bytes(words[at]);
        let folded = word(0) ^ word(1) ^ word(2) ^ word(3);
        // Both halves of a product depend on every bit, wherever hashes of a simulated venue have their zeros.
        let product = u128::from(folded) * 0x9E37_79B9_7F4A_7C15;
        let [low, high] = [product, product >> 64].map(|half| half as usize);
        (low ^ high) & (self.places.len() - 1)
    }

    fn following(&self, place: usize) -> usize {
        (place + 1) & (self.places.len() - 1)
    }

    /// The place of a hash, or the empty one at which the search ends; `None` without any place.
    fn place(&self, hash: Hash) -> Option<usize> {
        if self.places.is_empty() {
            return None;
        }
        let mut place = self.first_place(hash);
        while let Some((found, _)) = &self.places[place]
            && *found != hash
        {
            place = self.following(place);
        }
        Some(place)
    }

    pub(crate) fn get(&self, hash: Hash) -> Option<&V> {
        let (_, value) = self.places[self.place(hash)?].as_ref()?;
        Some(value)
    }

    pub(crate) fn get_mut(&mut self, hash: Hash) -> Option<&mut V> {
        let place = self.place(hash)?;
        let (_, value) = self.places[place].as_mut()?;
        Some(value)
    }

    pub(crate) fn contains(&self, hash: Hash) -> bool {
        self.get(hash).is_some()
    }

    /// Adds or replaces a value.
    pub(crate) fn insert(&mut self, hash: Hash, value: V) {
        if 2 * (self.length + 1) > self.places.len() {
            self.grow();
        }
        if let Some(place) = self.place(hash) {
            self.length += usize::from(self.places[place].is_none());
            self.places[place] = Some((hash, value));
        }
    }

    fn grow(&mut self) {
        let doubled = (2 * self.places.len()).max(FIRST);
        let mut places = Vec::new();
        places.resize_with(doubled, || None);
        for (hash, value) in std::mem::replace(&mut self.places, places)
            .into_iter()
            .flatten()
        {
            if let Some(place) = self.place(hash) {
                self.places[place] = Some((hash, value));
            }
        }
    }

    /// Removes a hash, and moves up what was put behind it because its place was taken.
    pub(crate) fn remove(&mut self, hash: Hash) {
        let Some(mut gap) = self.place(hash) else {
            return;
        };
        if self.places[gap].take().is_none() {
            return;
        }
        self.length -= 1;
        let mut place = self.following(gap);
        while let Some((hash, _)) = &self.places[place] {
            let distance = |from: usize| place.wrapping_sub(from) & (self.places.len() - 1);
            if distance(self.first_place(*hash)) >= distance(gap) {
                self.places.swap(gap, place);
                gap = place;
            }
            place = self.following(place);
        }
    }
}

impl<V: Serialize> Serialize for ByHash<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.places.iter().flatten();
        let sorted: BTreeMap<_, _> = entries.map(|(hash, value)| (*hash, value)).collect();
        sorted.serialize(serializer)
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for ByHash<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut made = Self::default();
        for (hash, value) in BTreeMap::deserialize(deserializer)? {
            made.insert(hash, value);
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::hash;

    /// Against a map of the standard library, through additions, replacements and removals of few hashes, many of which
    /// share their first place.
    #[test]
    fn it_holds_what_a_map_holds() {
        let (mut table, mut map) = (ByHash::default(), BTreeMap::new());
        let mut number = 7_u64;
        let mut longest = 0;
        for round in 0..20_000_u64 {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (key, adds) = (hash((number >> 33) % 300), number >> 63 == 0);
            if adds {
                table.insert(key, round);
                map.insert(key, round);
            } else {
                table.remove(key);
                map.remove(&key);
            }
            assert_eq!(table.len(), map.len());
            longest = longest.max(map.len());
            for other in [number % 300, round % 300].map(hash) {
                assert_eq!(table.get(other), map.get(&other));
                assert_eq!(table.get_mut(other), map.get_mut(&other));
                assert_eq!(table.contains(other), map.contains_key(&other));
            }
        }
        assert!(longest > 100, "{longest}");
        assert!(table.places.len() <= 4 * longest);
    }
}
