//! How long own orders rested at the exchange: on each side, and on both at once. The engine counts an order as a
//! quote until a poll shows that it was filled; here it ends with its last fill.

use cambist_core::Side;
use cambist_market_data::Timestamp;

/// The open orders of one market, and the time with them so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resting {
    open: [u64; 2],
    /// Up to which time the sums are.
    until: Timestamp,
    side_nanos: [i64; 2],
    both_nanos: i64,
}

impl Resting {
    /// An order begins to rest.
    pub fn begins(&mut self, now: Timestamp, side: Side) {
        self.count_to(now);
        self.open[side as usize] += 1;
    }

    /// An order is filled, cancelled or expired.
    pub fn ends(&mut self, now: Timestamp, side: Side) {
        self.count_to(now);
        let open = &mut self.open[side as usize];
        *open = open.saturating_sub(1);
    }

    /// Adds the time up to `now`. Times of the exchange and of received rows can be in another order: none counts twice.
    pub fn count_to(&mut self, now: Timestamp) {
        let passed = now.nanos_since(self.until).max(0);
        self.until = self.until.max(now);
        let [buy, sell] = self.open.map(|open| open > 0);
        for (nanos, rests) in self.side_nanos.iter_mut().zip([buy, sell]) {
            *nanos += if rests { passed } else { 0 };
        }
        self.both_nanos += if buy && sell { passed } else { 0 };
    }

    /// Nanoseconds with an order on a side.
    pub const fn side_nanos(&self, side: Side) -> i64 {
        self.side_nanos[side as usize]
    }

    /// Nanoseconds with orders on both sides.
    pub const fn both_nanos(&self) -> i64 {
        self.both_nanos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_while_an_order_rests_and_once() {
        let mut resting = Resting::default();
        let at = Timestamp;
        resting.begins(at(100), Side::Buy);
        resting.begins(at(110), Side::Sell);
        // A second order of a side adds no time.
        resting.begins(at(120), Side::Sell);
        resting.ends(at(130), Side::Sell);
        resting.ends(at(140), Side::Sell);
        // A row of an earlier time.
        resting.begins(at(135), Side::Sell);
        resting.ends(at(150), Side::Buy);
        resting.count_to(at(160));
        let sides = Side::BOTH.map(|side| resting.side_nanos(side));
        assert_eq!((sides, resting.both_nanos()), ([50, 50], 40));
    }
}
