//! Others who trade with the pool: they move its price around one that wanders, and pay its fee.

use cambist_venue::Random;

use crate::chain::pair::Pair;

/// Ten-thousandths.
pub(crate) const WHOLE: u128 = 10_000;
/// Parts of a price: the wandering one is quote per base in millionths of the opening price.
pub(crate) const PARTS: u128 = 1_000_000;

/// Their state after a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traders {
    /// The price that they take for right.
    pub fair: u128,
    /// Reserves at the beginning, whose ratio is the opening price.
    opening: [u128; 2],
}

impl Traders {
    pub(crate) const fn new(opening: [u128; 2]) -> Self {
        Self {
            fair: PARTS,
            opening,
        }
    }

    /// What happens within one block.
    pub(crate) fn trade(&mut self, pair: &mut Pair, random: &mut Random) {
        let step = self.fair * u128::from(random.below(13)) / WHOLE;
        self.fair = if random.chance(1, 2) {
            (self.fair + step).min(PARTS * 4)
        } else {
            (self.fair - step).max(PARTS / 4)
        };
        if random.chance(2, 5) {
            return;
        }
        // What the pool sells base for, in millionths of the opening price.
        let price = pair.reserves[1].saturating_mul(PARTS / 100) / (self.opening[1] / 100).max(1)
            * (self.opening[0] / 1_000_000)
            / (pair.reserves[0] / 1_000_000).max(1);
        let towards = usize::from(price < self.fair);
        // Some trade against the price.
        let sold_at = if random.chance(1, 5) {
            1 - towards
        } else {
            towards
        };
        let most = if random.chance(1, 300) { 100 } else { 12 };
        let part = u128::from(random.between(1, most));
        // A trade that the pair refuses moves nothing.
        let before = *pair;
        if pair
            .swap(sold_at, pair.reserves[sold_at] * part / WHOLE)
            .is_none()
        {
            *pair = before;
        }
    }
}
