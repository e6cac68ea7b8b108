//! Snapshots of the recorded market: what happens between two of them is not known.

use cambist_core::{Price, Qty, Side};
use cambist_market_data::Snapshot;

use crate::depth::Depth;
use crate::order::ExecutionReport;
use crate::simulator::FillSimulator;

impl FillSimulator {
    /// Applies the next snapshot. Reports of fills are appended.
    ///
    /// An order fills when the other side has reached its price, by at most the quantity added there since the previous
    /// snapshot (or completely: [`crate::FillRule`]). Prices that were reached and left between two snapshots are not
    /// observed: fills are missed, and none is invented, unless [`crate::Options::traded_share`] counts decreases of
    /// the best level as trades.
    pub fn apply_snapshot(&mut self, snapshot: &Snapshot, reports: &mut Vec<ExecutionReport>) {
        self.time = snapshot.exchange_time;
        if self.open_orders() > 0 {
            for side in Side::BOTH {
                self.infer_trade(side, snapshot, reports);
            }
            for side in Side::BOTH {
                self.levels_of_own(side, snapshot);
                self.reached_by(side, snapshot, reports);
            }
        }
        let Depth::Snapshot(last) = &mut self.depth else {
            return;
        };
        // What was taken beyond the last level is forgotten, so that it stays bounded.
        self.taken
            .limit_all(|side, price| snapshot.quantity(side, price).unwrap_or(Qty(0)));
        last.copy_from(snapshot);
    }

    /// Part of the decrease of a side's best level may have been traded.
    fn infer_trade(&mut self, side: Side, now: &Snapshot, reports: &mut Vec<ExecutionReport>) {
        let share = u128::from(self.options.traded_share);
        let Depth::Snapshot(last) = &self.depth else {
            return;
        };
        let (true, Some(best)) = (share > 0, last.side(side).first().copied()) else {
            return;
        };
        let left = now.quantity(side, best.price);
        let lost = best
            .qty
            .0
            .saturating_sub(left.map_or(best.qty.0, |left| left.0));
        // At most the decrease.
        let traded = u64::try_from(u128::from(lost) * share / 1_000_000).unwrap_or(lost);
        if traded > 0 && self.own(side).is_reached_by(best.price) {
            self.trade_with_own(side, best.price, Qty(traded), reports);
        }
    }

    fn levels_of_own(&mut self, side: Side, now: &Snapshot) {
        let options = self.options;
        for order in self.own_mut(side).list_mut() {
            let shown = now.quantity(side, order.price());
            if let Some(qty) = shown {
                order.place.depth(qty.0, options.queue, options.lot);
            }
        }
    }

    /// Levels of a side that reach our orders on the other side, best first.
    fn reached_by(&mut self, side: Side, now: &Snapshot, reports: &mut Vec<ExecutionReport>) {
        let other = side.opposite();
        for level in now.side(side) {
            if !self.own(other).is_reached_by(level.price) {
                return;
            }
            let before = self.shown_before(side, level.price);
            let volume = level.qty.0.saturating_sub(before.0);
            if volume > 0 {
                self.fill_reached(other, level.price, volume, reports);
            }
        }
    }

    fn shown_before(&self, side: Side, price: Price) -> Qty {
        self.depth.quantity(side, price).unwrap_or(Qty(0))
    }
}
