//! A set of few values, side by side in their order; see [`SortedMap`](crate::sorted_map::SortedMap).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Values in their order, each once.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<T>", bound(deserialize = "T: Ord + Deserialize<'de>"))]
pub struct SortedSet<T>(Vec<T>);

impl<T> SortedSet<T> {
    /// A set without values.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Number of values.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no value.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The lowest value.
    #[must_use]
    pub fn first(&self) -> Option<&T> {
        self.0.first()
    }

    /// Values in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }
}

impl<T: Ord> SortedSet<T> {
    /// Whether a value is in it.
    #[must_use]
    pub fn contains(&self, value: &T) -> bool {
        self.0.binary_search(value).is_ok()
    }

    /// Adds a value; whether it was not in it.
    pub fn insert(&mut self, value: T) -> bool {
        let place = self.0.binary_search(&value);
        if let Err(place) = place {
            self.0.insert(place, value);
        }
        place.is_err()
    }

    /// Removes a value; whether it was in it.
    pub fn remove(&mut self, value: &T) -> bool {
        let place = self.0.binary_search(value);
        if let Ok(place) = place {
            self.0.remove(place);
        }
        place.is_ok()
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for SortedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&self.0).finish()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        for value in values {
            self.insert(value);
        }
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut made = Self::new();
        made.extend(values);
        made
    }
}

impl<T: Ord> From<Vec<T>> for SortedSet<T> {
    fn from(values: Vec<T>) -> Self {
        values.into_iter().collect()
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(values: [T; N]) -> Self {
        values.into_iter().collect()
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Against a set of the standard library, with values in no order.
    #[test]
    fn it_holds_what_a_set_holds_in_the_same_order() {
        let (mut own, mut set) = (SortedSet::default(), BTreeSet::new());
        let mut number = 7_u64;
        for _ in 0..5_000 {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let value = (number >> 33) % 40;
            if number >> 63 == 0 {
                assert_eq!(own.insert(value), set.insert(value));
            } else {
                assert_eq!(own.remove(&value), set.remove(&value));
            }
            assert_eq!(own.contains(&value), set.contains(&value));
            assert_eq!((own.len(), own.is_empty()), (set.len(), set.is_empty()));
            assert_eq!(own.first(), set.first());
            assert!(own.iter().eq(&set));
            assert_eq!(format!("{own:?}"), format!("{set:?}"));
            let stored = postcard::to_stdvec(&set).expect("stored");
            assert_eq!(postcard::to_stdvec(&own).expect("stored"), stored);
            let unordered: Vec<_> = set.iter().rev().collect();
            let stored = postcard::to_stdvec(&unordered).expect("stored");
            assert_eq!(postcard::from_bytes(&stored), Ok(own.clone()));
        }
        own.clear();
        assert_eq!(own, SortedSet::new());
    }
}
