//! Ranges of seeds: shards of them, and what is left when some were run before.

use std::fmt;

use serde::{Deserialize, Serialize};

use cambist::shard::Shard;

/// Results of seeds are joined up to multiples of this.
pub const BLOCK: u64 = 100;

/// Seeds `first`, `first + 1`, …, `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seeds {
    /// The first one.
    pub first: u64,
    /// How many.
    #[serde(rename = "seeds")]
    pub count: u64,
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.first, self.last())
    }
}

impl Seeds {
    /// The last one.
    pub const fn last(&self) -> u64 {
        self.first.saturating_add(self.count.saturating_sub(1))
    }

    /// The one behind the last one; `None` behind the last number of 64 bits.
    pub const fn after(&self) -> Option<u64> {
        self.first.checked_add(self.count)
    }

    /// Whether all of them are numbers of 64 bits.
    pub const fn exist(&self) -> bool {
        self.first
            .checked_add(self.count.saturating_sub(1))
            .is_some()
    }

    /// Whether it is one of these.
    pub const fn has(&self, seed: u64) -> bool {
        self.first <= seed && seed - self.first < self.count
    }

    /// The seeds of one shard. All shards together are all seeds, each once.
    #[must_use]
    pub fn shard(self, shard: Shard) -> Self {
        let at = |part: u64| {
            let share = u128::from(self.count) * u128::from(part) / u128::from(shard.parts());
            u64::try_from(share).unwrap_or(self.count)
        };
        let (from, to) = (at(shard.part() - 1), at(shard.part()));
        Self {
            first: self.first.saturating_add(from),
            count: to - from,
        }
    }

    /// What remains without those that were run before.
    pub fn without(self, done: &[Self]) -> Vec<Self> {
        let mut done: Vec<_> = done.iter().filter(|d| d.count > 0).collect();
        done.sort_by_key(|d| d.first);
        let mut left = Vec::new();
        let (mut next, last) = (self.first, self.last());
        if self.count == 0 {
            return left;
        }
        for d in done {
            if d.first > last {
                break;
            }
            if d.first > next {
                left.push(Self {
                    first: next,
                    count: d.first - next,
                });
            }
            match d.after() {
                Some(after) => next = next.max(after),
                None => return left,
            }
        }
        if next <= last {
            left.push(Self {
                first: next,
                count: last - next + 1,
            });
        }
        left
    }

    /// The same seeds in pieces of at most `most`, none of which is in two blocks.
    pub fn pieces(self, most: u64) -> impl Iterator<Item = Self> {
        let most = most.max(1);
        let mut rest = self;
        std::iter::from_fn(move || {
            let in_block = BLOCK - rest.first % BLOCK;
            let count = most.min(rest.count).min(in_block);
            let piece = Self { count, ..rest };
            rest.first = rest.first.saturating_add(count);
            rest.count -= count;
            (count > 0).then_some(piece)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    const fn seeds(first: u64, count: u64) -> Seeds {
        Seeds { first, count }
    }

    #[test]
    fn shards_are_all_seeds_each_once() {
        let all = seeds(5, 10);
        let mut next = 5;
        for part in 1..=3 {
            let shard = all.shard(format!("{part}/3").parse().unwrap());
            assert_eq!(shard.first, next);
            next += shard.count;
        }
        assert_eq!(next, 15);
    }

    #[test]
    fn what_was_run_is_not_run_again() {
        let all = seeds(10, 10);
        assert_eq!(all.without(&[]), [all]);
        assert_eq!(all.without(&[seeds(0, 10)]), [all]);
        assert_eq!(
            all.without(&[seeds(12, 3), seeds(8, 3), seeds(19, 9)]),
            [seeds(11, 1), seeds(15, 4)]
        );
        assert!(all.without(&[seeds(10, 5), seeds(15, 5)]).is_empty());
        assert!(seeds(3, 0).without(&[]).is_empty());
        let last = seeds(u64::MAX - 1, 2);
        assert_eq!(
            last.without(&[seeds(u64::MAX - 1, 1)]),
            [seeds(u64::MAX, 1)]
        );
        assert!(last.without(&[last]).is_empty());
    }

    #[test]
    fn pieces_are_the_whole() {
        let pieces: Vec<_> = seeds(1, 7).pieces(3).collect();
        assert_eq!(pieces, [seeds(1, 3), seeds(4, 3), seeds(7, 1)]);
        let pieces: Vec<_> = seeds(98, 7).pieces(3).collect();
        assert_eq!(pieces, [seeds(98, 2), seeds(100, 3), seeds(103, 2)]);
        assert_eq!(seeds(5, 0).pieces(3).count(), 0);
        let pieces: Vec<_> = seeds(u64::MAX - 1, 2).pieces(1).collect();
        assert_eq!(pieces, [seeds(u64::MAX - 1, 1), seeds(u64::MAX, 1)]);
        assert!(seeds(u64::MAX, 1).exist() && !seeds(u64::MAX, 2).exist());
        assert!(seeds(u64::MAX, 1).has(u64::MAX) && !seeds(1, 2).has(3) && !seeds(1, 2).has(0));
    }
}
