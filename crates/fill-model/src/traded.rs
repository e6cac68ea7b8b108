//! What was traded at the time of the last event. Recordings of single orders may state the same trade twice: as a trade,
//! and as the fill of the order that rested.

use cambist_core::{Price, Qty, Side};

/// What states a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A trade.
    Trade,
    /// A fill of a recorded order.
    Fill,
}

/// Prices that are kept of one time: more than a message sweeps where our orders are.
const PRICES_MAX: usize = 256;

/// Quantities at one time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traded(Vec<(Side, Price, [u64; 2])>);

impl Traded {
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a trade with orders of `side` at a price. Returns what of it the other source has not stated.
    pub(crate) fn add(&mut self, side: Side, price: Price, source: Source, qty: Qty) -> Qty {
        let known = self
            .0
            .iter()
            .position(|row| (row.0, row.1) == (side, price));
        let at = known.unwrap_or_else(|| {
            if self.0.len() == PRICES_MAX {
                self.0.clear();
            }
            self.0.push((side, price, [0; 2]));
            self.0.len() - 1
        });
        let stated = &mut self.0[at].2;
        let before = stated[0].max(stated[1]);
        let own = &mut stated[source as usize];
        *own = own.saturating_add(qty.0);
        Qty(stated[0].max(stated[1]) - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_sources_state_counts_once() {
        let mut traded = Traded::default();
        let mut add = |source, qty| traded.add(Side::Buy, Price(7), source, Qty(qty)).0;
        assert_eq!(add(Source::Trade, 5), 5);
        assert_eq!(add(Source::Fill, 2), 0);
        assert_eq!(add(Source::Fill, 4), 1, "six in fills, five in trades");
        assert_eq!(add(Source::Trade, 1), 0);
        assert_eq!(add(Source::Trade, 3), 3);
        assert_eq!(traded.add(Side::Sell, Price(7), Source::Fill, Qty(1)).0, 1);
        assert_eq!(traded.add(Side::Buy, Price(8), Source::Fill, Qty(1)).0, 1);
        traded.clear();
        assert_eq!(traded.add(Side::Buy, Price(7), Source::Fill, Qty(2)).0, 2);
    }
}
