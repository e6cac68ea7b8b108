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
        self.0.extend(page);
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
