//! A map for few entries: one for each token, market, endpoint, or for each intent that may be alive.
//!
//! Entries are side by side in the order of their keys. Every event goes through many of these maps, some of them
//! several times; most have fewer entries than one node of the standard library's tree, whose code would be compiled
//! once more for every pair of types. An entry that is added or removed moves those behind it: a map that grows with
//! what a venue lists is a `BTreeMap` or `ByHash`. The interface is that of a `BTreeMap`; what is stored is the same as
//! well.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Values in the order of their keys, each key once.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SortedMap<K, V>(Vec<(K, V)>);

impl<K, V> SortedMap<K, V> {
    /// A map without entries.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Number of entries.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The entry with the lowest key.
    #[must_use]
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// Removes the entry with the lowest key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    /// Keeps the entries for which `is_kept` holds.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| is_kept(key, value));
    }

    /// Entries in the order of their keys.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter(self.0.iter())
    }

    /// Entries in the order of their keys, with values that can be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut(self.0.iter_mut())
    }

    /// Keys in their order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.0.iter().map(|(key, _)| key)
    }

    /// Values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// Values in the order of their keys, which can be changed.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// The values alone, in the order of their keys.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> {
        self.0.into_iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    fn place(&self, key: &K) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.cmp(key))
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        let place = self.place(key).ok()?;
        Some(&self.0[place].1)
    }

    /// The value of a key, which can be changed.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let place = self.place(key).ok()?;
        Some(&mut self.0[place].1)
    }

    /// Whether a key has a value.
    #[must_use]
    pub fn contains_key(&self, key: &K) -> bool {
        self.place(key).is_ok()
    }

    /// Adds or replaces a value; the value before.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(place) => Some(std::mem::replace(&mut self.0[place].1, value)),
            Err(place) => {
                self.0.insert(place, (key, value));
                None
            }
        }
    }

    /// Removes a key with its value.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let place = self.place(key).ok()?;
        Some(self.0.remove(place).1)
    }

    /// The place of a key, with a value or without one.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        let place = self.place(&key);
        Entry {
            map: self,
            place,
            key,
        }
    }
}

/// The place of a key in a map.
#[derive(Debug)]
pub struct Entry<'a, K, V> {
    map: &'a mut SortedMap<K, V>,
    place: Result<usize, usize>,
    key: K,
}

impl<'a, K: Ord, V> Entry<'a, K, V> {
    /// The value, after adding that of `made` if there is none.
    pub fn or_insert_with(self, made: impl FnOnce() -> V) -> &'a mut V {
        let place = match self.place {
            Ok(place) => place,
            Err(place) => {
                self.map.0.insert(place, (self.key, made()));
                place
            }
        };
        &mut self.map.0[place].1
    }

    /// The value, after adding this one if there is none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value, after adding the default one if there is none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes the value if there is one.
    #[must_use]
    pub fn and_modify(self, change: impl FnOnce(&mut V)) -> Self {
        if let Ok(place) = self.place {
            change(&mut self.map.0[place].1);
        }
        self
    }
}

/// Entries of a map in the order of their keys.
#[derive(Debug)]
pub struct Iter<'a, K, V>(std::slice::Iter<'a, (K, V)>);

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, value)| (key, value))
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}

impl<K: Ord, V> Index<&K> for SortedMap<K, V> {
    type Output = V;

    /// Panics without a value for this key, as a map of the standard library does.
    #[expect(clippy::expect_used, reason = "the trait has no other answer")]
    fn index(&self, key: &K) -> &V {
        self.get(key).expect("no entry found for key")
    }
}

/// Entries of a map in the order of their keys, with values that can be changed.
#[derive(Debug)]
pub struct IterMut<'a, K, V>(std::slice::IterMut<'a, (K, V)>);

impl<'a, K, V> Iterator for IterMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (&*key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<'a, K, V> IntoIterator for &'a mut SortedMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    /// Of several values of a key the last one counts.
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, entries: T) {
        for (key, value) in entries {
            if self.0.last().is_none_or(|(last, _)| *last < key) {
                self.0.push((key, value));
            } else {
                self.insert(key, value);
            }
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(entries: T) -> Self {
        let mut made = Self::new();
        made.extend(entries);
        made
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K: Serialize, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, K, V> Deserialize<'de> for SortedMap<K, V>
where
    K: Ord + Deserialize<'de>,
    V: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// Reads the entries of a map.
struct Entries<K, V>(PhantomData<(K, V)>);

impl<'de, K, V> Visitor<'de> for Entries<K, V>
where
    K: Ord + Deserialize<'de>,
    V: Deserialize<'de>,
{
    type Value = SortedMap<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut made = SortedMap::new();
        while let Some(entry) = entries.next_entry()? {
            made.extend([entry]);
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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
                assert_eq!(own.insert(key, round), map.insert(key, round));
            } else {
                assert_eq!(own.remove(&key), map.remove(&key));
            }
            assert_eq!(own.get(&key), map.get(&key));
            assert_eq!(own.contains_key(&key), map.contains_key(&key));
            assert_eq!(own.get_mut(&key), map.get_mut(&key));
            assert_eq!((own.len(), own.is_empty()), (map.len(), map.is_empty()));
            assert_eq!(own.first_key_value(), map.first_key_value());
            assert!(own.iter().eq(&map) && own.iter().rev().eq(map.iter().rev()));
            assert!(own.keys().eq(map.keys()) && own.values().eq(map.values()));
            assert!(own.values_mut().eq(map.values_mut()) && own.iter_mut().eq(map.iter_mut()));
            assert_eq!(format!("{own:?}"), format!("{map:?}"));
            let backwards = map.clone().into_iter().rev();
            assert!(backwards.collect::<SortedMap<_, _>>() == own);
        }
    }

    #[test]
    fn what_changes_a_map_leaves_what_it_leaves_of_a_map_of_the_standard_library() {
        for key in 0..8_u64 {
            let entries = [(5, 50), (1, 10), (3, 30), (1, 11)];
            let (mut own, mut map) = (SortedMap::from(entries), BTreeMap::from(entries));
            let added = *own.entry(key).or_insert(7);
            assert_eq!(added, *map.entry(key).or_insert(7));
            *own.entry(key + 1).and_modify(|v| *v += 1).or_default() += 2;
            *map.entry(key + 1).and_modify(|v| *v += 1).or_default() += 2;
            assert!(own.iter().eq(&map));
            let stored = postcard::to_stdvec(&map).expect("stored");
            assert_eq!(postcard::to_stdvec(&own).expect("stored"), stored);
            assert_eq!(postcard::from_bytes(&stored), Ok(own.clone()));
            own.retain(|k, v| *k != key && *v != 30);
            map.retain(|k, v| *k != key && *v != 30);
            assert!(own.clone().into_values().eq(map.values().copied()));
            while let Some(first) = own.pop_first() {
                assert_eq!(Some(first), map.pop_first());
            }
            assert!(map.is_empty());
            own.insert(key, 1);
            own.clear();
            assert!(own.is_empty());
        }
    }
}
