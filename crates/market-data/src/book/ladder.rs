//! One side of a book: quantities by price, and its best price.
//!
//! Prices near the best lie in a ring of slots, one a tick, with a bit for each slot that holds
//! something: a change is one store, and the next best price is found by counting zeros. What is
//! farther away lies in a tree. The ring moves with the best price.

use std::collections::BTreeMap;

/// Ticks in the ring; a power of two. 64 KiB of quantities a side.
const SLOTS: u64 = 8_192;
const WORDS: usize = (SLOTS / 64) as usize;
/// Ticks between the best price and the end of the ring in front of it, when the ring moves.
const AHEAD: u64 = SLOTS / 4;
/// Levels beyond the ring: more than exchanges show; what is farthest away goes first.
const FAR_LEVELS_MAX: usize = 65_536;

/// A side's levels. `BIDS`: the highest price is the best one, else the lowest.
#[derive(Clone, Debug)]
pub(super) struct Ladder<const BIDS: bool> {
    /// Lowest price in the ring; a multiple of 64.
    base: u64,
    /// Quantity of the price p in the ring at p mod `SLOTS`.
    qty: Box<[u64]>,
    /// Whether a slot holds something.
    occupied: [u64; WORDS],
    /// Levels outside the ring.
    far: BTreeMap<u64, u64>,
    /// The best price; [`Self::NONE`] if there is no level. Always in the ring.
    best: u64,
    /// Levels that were dropped because there were too many.
    dropped: u64,
}

const fn slot(price: u64) -> usize {
    (price & (SLOTS - 1)) as usize
}

impl<const BIDS: bool> Ladder<BIDS> {
    /// The best price of an empty side: worse than any.
    pub const NONE: u64 = if BIDS { 0 } else { u64::MAX };

    pub fn new() -> Self {
        Self {
            base: 0,
            qty: vec![0; slot(SLOTS - 1) + 1].into_boxed_slice(),
            occupied: [0; WORDS],
            far: BTreeMap::new(),
            best: Self::NONE,
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
    const fn in_ring(&self, price: u64) -> bool {
        price.wrapping_sub(self.base) < SLOTS
    }

    #[inline]
    const fn is_better(price: u64, than: u64) -> bool {
        if BIDS { price > than } else { price < than }
    }

    #[inline]
    pub fn get(&self, price: u64) -> u64 {
        if self.in_ring(price) {
            self.qty[slot(price)]
        } else {
            self.far.get(&price).copied().unwrap_or(0)
        }
    }

    /// Sets what a price holds and gives what it held.
    #[inline]
    pub fn set(&mut self, price: u64, qty: u64) -> u64 {
        if !self.in_ring(price) {
            return self.set_far(price, qty);
        }
        let at = slot(price);
        let before = std::mem::replace(&mut self.qty[at], qty);
        let bit = 1 << (at & 63);
        if qty != 0 {
            self.occupied[at >> 6] |= bit;
            if Self::is_better(price, self.best) {
                self.best = price;
            }
        } else {
            self.occupied[at >> 6] &= !bit;
            if price == self.best {
                self.best_is_gone();
            }
        }
        before
    }

    #[cold]
    fn set_far(&mut self, price: u64, qty: u64) -> u64 {
        if qty == 0 {
            return self.far.remove(&price).unwrap_or(0);
        }
        let before = self.far.insert(price, qty).unwrap_or(0);
        if Self::is_better(price, self.best) {
            self.move_ring(price);
        } else if self.far.len() > FAR_LEVELS_MAX {
            let farthest = if BIDS {
                self.far.pop_first()
            } else {
                self.far.pop_last()
            };
            self.dropped += u64::from(farthest.is_some());
        }
        before
    }

    /// Looks for the next best price, behind the one that has just gone.
    fn best_is_gone(&mut self) {
        let gone = self.best;
        self.best = self.next_in_ring(gone).unwrap_or(Self::NONE);
        if self.best == Self::NONE {
            let next = if BIDS {
                self.far.last_key_value()
            } else {
                self.far.first_key_value()
            };
            if let Some(next) = next.map(|(price, _)| *price) {
                self.move_ring(next);
            }
        }
    }

    /// The best price in the ring that is worse than `price`, which is in it.
    fn next_in_ring(&self, price: u64) -> Option<u64> {
        // Bits of one word belong to 64 consecutive prices, because the base is a multiple of 64.
        let word_of = |price: u64| slot(price) >> 6;
        if BIDS {
            let mut low = price & !63;
            let mut bits = self.occupied[word_of(low)] & ((1 << (price & 63)) - 1);
            while bits == 0 {
                if low == self.base {
                    return None;
                }
                low -= 64;
                bits = self.occupied[word_of(low)];
            }
            Some(low + 63 - u64::from(bits.leading_zeros()))
        } else {
            let mut low = price & !63;
            let mut bits = self.occupied[word_of(low)] & !(u64::MAX >> (63 - (price & 63)));
            while bits == 0 {
                if low.wrapping_add(64) == self.base.wrapping_add(SLOTS) {
                    return None;
                }
                low += 64;
                bits = self.occupied[word_of(low)];
            }
            Some(low + u64::from(bits.trailing_zeros()))
        }
    }

    /// Moves the ring so that it holds a new best price.
    fn move_ring(&mut self, best: u64) {
        let ahead = if BIDS { SLOTS - AHEAD } else { AHEAD };
        let base = (best.saturating_sub(ahead) & !63).min(u64::MAX - SLOTS + 1);
        // What leaves the ring goes to the tree.
        for word in 0..WORDS {
            let mut bits = self.occupied[word];
            while bits != 0 {
                let at = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let price = self.base + (at as u64).wrapping_sub(self.base) % SLOTS;
                if price.wrapping_sub(base) >= SLOTS {
                    self.far.insert(price, std::mem::take(&mut self.qty[at]));
                    self.occupied[word] &= !(1 << (at & 63));
                }
            }
        }
        self.base = base;
        // What enters it comes from there.
        while let Some((&price, &qty)) = self.far.range(base..=base + (SLOTS - 1)).next() {
            self.far.remove(&price);
            let at = slot(price);
            self.qty[at] = qty;
            self.occupied[at >> 6] |= 1 << (at & 63);
        }
        self.best = best;
    }

    /// Forgets every level.
    pub fn clear(&mut self) {
        self.qty.fill(0);
        self.occupied = [0; WORDS];
        self.far.clear();
        self.best = Self::NONE;
    }

    /// Forgets the levels from the best one to `price`, both included.
    pub fn clear_to(&mut self, price: u64) {
        while self.best != Self::NONE && !Self::is_better(price, self.best) {
            self.set(self.best, 0);
        }
    }

    /// Levels, best first.
    pub fn levels(&self) -> Levels<'_, BIDS> {
        Levels {
            ladder: self,
            next: (self.best != Self::NONE).then_some(self.best),
        }
    }

    /// The best price that is worse than `price` and holds something.
    fn next_worse(&self, price: u64) -> Option<u64> {
        let in_ring = if self.in_ring(price) {
            self.next_in_ring(price)
        } else {
            None
        };
        in_ring.or_else(|| {
            if BIDS {
                let below = self.base.min(price);
                self.far.range(..below).next_back().map(|(p, _)| *p)
            } else {
                let from = price.saturating_add(1).max(self.base.saturating_add(SLOTS));
                self.far.range(from..).next().map(|(p, _)| *p)
            }
        })
    }
}

/// The levels of a side with their quantities, best first.
#[derive(Clone, Debug)]
pub(super) struct Levels<'a, const BIDS: bool> {
    ladder: &'a Ladder<BIDS>,
    next: Option<u64>,
}

impl<const BIDS: bool> Iterator for Levels<'_, BIDS> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        let price = self.next?;
        self.next = self.ladder.next_worse(price);
        Some((price, self.ladder.get(price)))
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

    /// A ladder and a plain tree are given the same changes and must always look the same.
    fn compare<const BIDS: bool>(seed: u64, mut price: impl FnMut(&mut u64) -> u64) {
        let mut state = seed;
        let mut ladder = Ladder::<BIDS>::new();
        let mut plain = BTreeMap::new();
        for step in 0..20_000 {
            let at = price(&mut state);
            let draw = random(&mut state);
            match draw % 1_000 {
                0 => {
                    ladder.clear();
                    plain.clear();
                }
                1 => {
                    ladder.clear_to(at);
                    plain.retain(|p, _| if BIDS { *p < at } else { *p > at });
                }
                2..400 => {
                    assert_eq!(ladder.set(at, 0), plain.remove(&at).unwrap_or(0));
                }
                _ => {
                    let qty = 1 + (draw >> 32) % 100;
                    assert_eq!(ladder.set(at, qty), plain.insert(at, qty).unwrap_or(0));
                }
            }
            let best = if BIDS {
                plain.last_key_value()
            } else {
                plain.first_key_value()
            };
            let best = best.map_or(Ladder::<BIDS>::NONE, |(price, _)| *price);
            assert_eq!(ladder.best(), best, "step {step}");
            assert_eq!(ladder.get(at), plain.get(&at).copied().unwrap_or(0));
            if step % 500 == 0 {
                let mut levels: Vec<_> = plain.iter().map(|(p, q)| (*p, *q)).collect();
                if BIDS {
                    levels.reverse();
                }
                assert_eq!(ladder.levels().collect::<Vec<_>>(), levels, "step {step}");
            }
        }
        assert_eq!(ladder.dropped(), 0);
    }

    fn compare_both(seed: u64, price: impl Fn(&mut u64) -> u64) {
        compare::<true>(seed, &price);
        compare::<false>(seed, &price);
    }

    #[test]
    fn a_narrow_book_is_that_of_a_plain_tree() {
        compare_both(1, |state| 100_000 + random(state) % 60);
    }

    #[test]
    fn a_book_wider_than_the_ring_is_that_of_a_plain_tree() {
        compare_both(2, |state| 1 + random(state) % 50_000);
    }

    #[test]
    fn a_book_at_the_ends_of_all_prices_is_that_of_a_plain_tree() {
        compare_both(3, |state| match random(state) {
            draw if draw % 3 == 0 => 1 + draw % 100,
            draw if draw % 3 == 1 => u64::MAX - 1 - draw % 100,
            draw => 1 + draw % (u64::MAX - 1),
        });
    }

    #[test]
    fn far_levels_are_bounded() {
        let mut bids = Ladder::<true>::new();
        bids.set(1_000_000, 1);
        for price in 0..FAR_LEVELS_MAX as u64 + 10 {
            bids.set(100_000 + price, 1);
        }
        assert_eq!(bids.dropped(), 10);
        assert_eq!((bids.get(100_009), bids.get(100_010)), (0, 1));
        assert_eq!(bids.best(), 1_000_000);
    }
}
