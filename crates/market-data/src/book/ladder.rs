//! One side of a book: quantities by price, and the best price.
//!
//! Both sides use the same code: levels have keys, of which the highest is the best. A bid's key is its price, an ask's
//! the complement of its price, so that no branch depends on the side.
//!
//! Keys near the best are in a ring of slots, one per tick, with a bitmap of occupied slots: a change is one store, and
//! the next best level is found by counting zeros. Keys further away are in a tree. The ring moves with the best price.

use std::collections::{BTreeMap, btree_map};

/// Slots of the ring; a power of two. 64 KiB of quantities per side.
const SLOTS: usize = 8_192;
const WORDS: usize = SLOTS / 64;
/// Slots kept free above the best level when the ring moves.
const AHEAD: u64 = (SLOTS / 4) as u64;
/// Most levels outside the ring, more than exchanges publish; the furthest are dropped first.
const FAR_LEVELS_MAX: usize = 65_536;

/// The best key of a side without levels; no level has it.
pub(super) const NONE: u64 = 0;

/// The levels of a side.
#[derive(Clone, Debug)]
pub(super) struct Ladder {
    /// Lowest key in the ring; a multiple of 64.
    base: u64,
    /// The highest key; [`NONE`] if there is no level. Always inside the ring.
    best: u64,
    /// Quantity of key k of the ring, at k mod `SLOTS`.
    qty: Box<[u64; SLOTS]>,
    /// Bitmap of occupied slots.
    occupied: Box<[u64; WORDS]>,
    /// Levels outside the ring.
    far: BTreeMap<u64, u64>,
    /// Number of levels that were dropped.
    dropped: u64,
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "only its lowest bits are wanted"
)]
const fn slot(key: u64) -> usize {
    key as usize & (SLOTS - 1)
}

impl Ladder {
    pub fn new() -> Self {
        // Through a vector, so that the array is never on the stack.
        let qty = vec![0; SLOTS].try_into().expect("as long as the array");
        Self {
            base: 0,
            best: NONE,
            qty,
            occupied: Box::new([0; WORDS]),
            far: BTreeMap::new(),
            dropped: 0,
        }
    }

    #[inline]
    pub const fn best(&self) -> u64 {
        self.best
    }

    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    #[inline]
    const fn in_ring(&self, key: u64) -> bool {
        key.wrapping_sub(self.base) < SLOTS as u64
    }

    #[inline]
    pub fn get(&self, key: u64) -> u64 {
        if self.in_ring(key) {
            self.qty[slot(key)]
        } else {
            self.far.get(&key).copied().unwrap_or(0)
        }
    }

    /// Sets the quantity of a level and returns the previous one.
    #[inline]
    pub fn set(&mut self, key: u64, qty: u64) -> u64 {
        if !self.in_ring(key) {
            return self.set_far(key, qty);
        }
        let at = slot(key);
        let before = std::mem::replace(&mut self.qty[at], qty);
        let bit = 1 << (at & 63);
        let word = &mut self.occupied[at >> 6];
        if qty != 0 {
            *word |= bit;
            self.best = self.best.max(key);
        } else {
            *word &= !bit;
            if key == self.best {
                self.best_is_gone();
            }
        }
        before
    }

    #[cold]
    #[inline(never)]
    fn set_far(&mut self, key: u64, qty: u64) -> u64 {
        if qty == 0 {
            return self.far.remove(&key).unwrap_or(0);
        }
        let before = self.far.insert(key, qty).unwrap_or(0);
        if key > self.best {
            self.move_ring(key);
        } else if self.far.len() > FAR_LEVELS_MAX {
            self.dropped += u64::from(self.far.pop_first().is_some());
        }
        before
    }

    /// Finds the next best level after the best one was removed.
    #[inline(never)]
    fn best_is_gone(&mut self) {
        self.best = self.next_in_ring(self.best).unwrap_or(NONE);
        if self.best == NONE
            && let Some((&next, _)) = self.far.last_key_value()
        {
            self.move_ring(next);
        }
    }

    /// The highest key in the ring below a key of the ring.
    fn next_in_ring(&self, key: u64) -> Option<u64> {
        // A word's bits belong to 64 consecutive keys, because the base is a multiple of 64.
        let mut low = key & !63;
        let mut bits = self.occupied[slot(low) >> 6] & ((1 << (key & 63)) - 1);
        while bits == 0 {
            if low == self.base {
                return None;
            }
            low -= 64;
            bits = self.occupied[slot(low) >> 6];
        }
        Some(low + 63 - u64::from(bits.leading_zeros()))
    }

    /// Moves the ring so that it contains a new best level.
    fn move_ring(&mut self, best: u64) {
        const LAST: u64 = u64::MAX - SLOTS as u64 + 1;
        let base = (best.saturating_sub(SLOTS as u64 - AHEAD) & !63).min(LAST);
        // Levels that leave the ring move to the tree.
        for word in 0..WORDS {
            let mut bits = self.occupied[word];
            while bits != 0 {
                let at = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let key = self.base + slot((at as u64).wrapping_sub(self.base)) as u64;
                if key.wrapping_sub(base) >= SLOTS as u64 {
                    self.far.insert(key, std::mem::take(&mut self.qty[at]));
                    self.occupied[word] &= !(1 << (at & 63));
                }
            }
        }
        self.base = base;
        // Levels that enter the ring come from the tree.
        let last = base + (SLOTS as u64 - 1);
        while let Some((&key, &qty)) = self.far.range(base..=last).next() {
            self.far.remove(&key);
            let at = slot(key);
            self.qty[at] = qty;
            self.occupied[at >> 6] |= 1 << (at & 63);
        }
        self.best = best;
    }

    /// Removes all levels.
    pub fn clear(&mut self) {
        self.qty.fill(0);
        self.occupied.fill(0);
        self.far.clear();
        self.best = NONE;
    }

    /// Removes the levels from the best one to `key`, both included.
    pub fn clear_to(&mut self, key: u64) {
        while self.best != NONE && self.best >= key {
            self.set(self.best, 0);
        }
    }

    /// Levels, best first.
    pub fn levels(&self) -> Levels<'_> {
        let (low, bits) = match self.best {
            NONE => (self.base, 0),
            best => (best & !63, self.occupied[slot(best) >> 6]),
        };
        Levels {
            ladder: self,
            low,
            bits,
            far: self.far.iter(),
        }
    }
}

/// The levels of a side with their quantities, best first: those of the ring, whose first word has the best one, and
/// then those outside of it, which are all worse.
#[derive(Clone, Debug)]
pub(super) struct Levels<'a> {
    ladder: &'a Ladder,
    /// The lowest key of the word that is read.
    low: u64,
    /// The occupied slots of the word that are left.
    bits: u64,
    far: btree_map::Iter<'a, u64, u64>,
}

impl Iterator for Levels<'_> {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        while self.bits == 0 {
            if self.low == self.ladder.base {
                return self.far.next_back().map(|(key, qty)| (*key, *qty));
            }
            self.low -= 64;
            self.bits = self.ladder.occupied[slot(self.low) >> 6];
        }
        let at = self.bits.ilog2();
        self.bits ^= 1 << at;
        let key = self.low + u64::from(at);
        Some((key, self.ladder.qty[slot(key)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SplitMix64.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Applies the same changes to a ladder and a plain tree; they must always be equal.
    fn compare(seed: u64, mut key: impl FnMut(&mut u64) -> u64) {
        let mut state = seed;
        let mut ladder = Ladder::new();
        let mut plain = BTreeMap::new();
        for step in 0..30_000 {
            let at = key(&mut state);
            let draw = random(&mut state);
            match draw % 1_000 {
                0 => {
                    ladder.clear();
                    plain.clear();
                }
                1 => {
                    ladder.clear_to(at);
                    plain.retain(|key, _| *key < at);
                }
                2..400 => {
                    assert_eq!(ladder.set(at, 0), plain.remove(&at).unwrap_or(0));
                }
                _ => {
                    let qty = 1 + (draw >> 32) % 100;
                    assert_eq!(ladder.set(at, qty), plain.insert(at, qty).unwrap_or(0));
                }
            }
            let best = plain.last_key_value().map_or(NONE, |(key, _)| *key);
            assert_eq!(ladder.best(), best, "step {step}");
            assert_eq!(ladder.get(at), plain.get(&at).copied().unwrap_or(0));
            if step % 500 == 0 {
                let levels: Vec<_> = plain.iter().rev().map(|(k, q)| (*k, *q)).collect();
                assert_eq!(ladder.levels().collect::<Vec<_>>(), levels, "step {step}");
            }
        }
        assert_eq!(ladder.dropped(), 0);
    }

    #[test]
    fn a_narrow_book_equals_a_plain_tree() {
        compare(1, |state| 100_000 + random(state) % 60);
    }

    #[test]
    fn a_book_wider_than_the_ring_equals_a_plain_tree() {
        compare(2, |state| 1 + random(state) % 50_000);
    }

    #[test]
    fn a_book_at_the_extreme_prices_equals_a_plain_tree() {
        compare(3, |state| match random(state) {
            draw if draw % 3 == 0 => 1 + draw % 100,
            draw if draw % 3 == 1 => u64::MAX - 1 - draw % 100,
            draw => 1 + draw % (u64::MAX - 1),
        });
    }

    #[test]
    fn far_levels_are_bounded() {
        let mut bids = Ladder::new();
        bids.set(1_000_000, 1);
        for price in 0..FAR_LEVELS_MAX as u64 + 10 {
            bids.set(100_000 + price, 1);
        }
        assert_eq!(bids.dropped(), 10);
        assert_eq!((bids.get(100_009), bids.get(100_010)), (0, 1));
        assert_eq!(bids.best(), 1_000_000);
    }
}
