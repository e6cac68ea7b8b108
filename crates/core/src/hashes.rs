//! A set of hashes that grows by whole pages of a list.

use serde::{Deserialize, Serialize};

use crate::order::Hash;

/// Hashes in rising order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<Hash>", into = "Vec<Hash>")]
pub(crate) struct Hashes(Vec<Hash>);

impl Hashes {
    /// Adds those of a page. Sorting merges what is in order already: a page that is sorted by hash either way, and what
    /// was there before.
    pub(crate) fn extend(&mut self, page: impl Iterator<Item = Hash>) {
        let before = self.0.len();
        self.0.extend(page);
        let (known, added) = self.0.split_at_mut(before);
        // The newest entries come first: where hashes rise with time, a page has them in falling order.
        if added.is_sorted_by(|one, next| one > next) {
            added.reverse();
            let follows = |last: &Hash| added.first().is_none_or(|first| last < first);
            if known.last().is_none_or(follows) {
                return;
            }
        }
        self.0.sort();
        self.0.dedup();
    }

    pub(crate) fn contains(&self, hash: Hash) -> bool {
        self.0.binary_search(&hash).is_ok()
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }
}

impl From<Vec<Hash>> for Hashes {
    fn from(hashes: Vec<Hash>) -> Self {
        let mut made = Self::default();
        made.extend(hashes.into_iter());
        made
    }
}

impl From<Hashes> for Vec<Hash> {
    fn from(hashes: Hashes) -> Self {
        hashes.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::engine::testing::hash;

    /// Beside a set of the standard library: pages in falling, rising and no order, behind and among what was there.
    #[test]
    fn it_holds_every_hash_of_its_pages_once_and_in_order() {
        let (mut own, mut set) = (Hashes::default(), BTreeSet::new());
        for page in [
            &[9, 7, 5][..],
            &[4, 3],
            &[12, 11, 10],
            &[],
            &[15, 13, 12],
            &[6, 6],
            &[1, 2, 3],
            &[20, 8, 30],
        ] {
            own.extend(page.iter().map(|number| hash(*number)));
            set.extend(page.iter().map(|number| hash(*number)));
            assert!(own.0.iter().eq(&set), "{page:?}");
        }
    }
}
