//! A map for few entries whose keys mostly rise: intents that may be alive, requests without an answer.
//!
//! Every event goes through all of them several times, so they are side by side. A new entry comes last or close to it;
//! one that is removed moves those behind it.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Values in the order of their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SortedMap<K, V>(Vec<(K, V)>);

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Copy + Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(entries: T) -> Self {
        let entries: Vec<_> = entries.into_iter().collect();
        if entries.is_sorted_by(|(one, _), (next, _)| one < next) {
            return Self(entries);
        }
        // Of several values of a key the last one counts.
        let sorted: BTreeMap<_, _> = entries.into_iter().collect();
        Self(sorted.into_iter().collect())
    }
}

#[cfg(test)]
impl<K, V> SortedMap<K, V> {
    /// A map without entries.
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }
}

#[cfg(test)]
impl<K: Copy + Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K: Copy + Ord, V> SortedMap<K, V> {
    fn place(&self, key: K) -> Result<usize, usize> {
        self.0.binary_search_by_key(&key, |(key, _)| *key)
    }

    pub(crate) fn get(&self, key: K) -> Option<&V> {
        let place = self.place(key).ok()?;
        Some(&self.0[place].1)
    }

    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let place = self.place(key).ok()?;
        Some(&mut self.0[place].1)
    }

    /// Adds or replaces a value.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        match self.place(key) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => self.0.insert(place, (key, value)),
        }
    }

    /// The value of a key, after adding this one if it has none.
    pub(crate) fn get_or_insert(&mut self, key: K, value: V) -> &mut V {
        let place = match self.place(key) {
            Ok(place) => place,
            Err(place) => {
                self.0.insert(place, (key, value));
                place
            }
        };
        &mut self.0[place].1
    }

    pub(crate) fn remove(&mut self, key: K) -> Option<V> {
        let place = self.place(key).ok()?;
        Some(self.0.remove(place).1)
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entry with the lowest key.
    pub(crate) fn first(&self) -> Option<(K, &V)> {
        self.iter().next()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }
}

impl<K: Copy + Ord + Serialize, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, K, V> Deserialize<'de> for SortedMap<K, V>
where
    K: Copy + Ord + Deserialize<'de>,
    V: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = BTreeMap::deserialize(deserializer)?;
        Ok(Self(stored.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a map of the standard library, with keys in no order.
    #[test]
    fn it_holds_what_a_map_holds_in_the_same_order() {
        let (mut own, mut map) = (SortedMap::default(), BTreeMap::new());
        let mut number = 7_u64;
        for round in 0..5_000_u64 {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let key = (number >> 33) % 40;
            if number >> 63 == 0 {
                own.insert(key, round);
                map.insert(key, round);
            } else {
                assert_eq!(own.remove(key), map.remove(&key));
            }
            assert_eq!(own.get(key), map.get(&key));
            let mut copy = map.clone();
            let added = *copy.entry(key).or_insert(round);
            assert_eq!(*own.clone().get_or_insert(key, round), added);
            assert!(map.clone().into_iter().rev().collect::<SortedMap<_, _>>() == own);
            assert_eq!(own.get_mut(key), map.get_mut(&key));
            assert_eq!((own.len(), own.is_empty()), (map.len(), map.is_empty()));
            let first = map.first_key_value().map(|(key, value)| (*key, value));
            assert_eq!(own.first(), first);
            assert!(own.iter().eq(map.iter().map(|(key, value)| (*key, value))));
            assert!(own.values().eq(map.values()));
            assert!(own.values_mut().eq(map.values_mut()));
        }
    }
}
