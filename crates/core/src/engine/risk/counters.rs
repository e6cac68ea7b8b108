//! Recent orders, transmissions, cancels and fills, for controls that count.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::event::BatchId;
use crate::market::{MarketId, Price, Qty, Side};
use crate::order::{StrategyId, UnsignedOrder};
use crate::time::Time;

use crate::engine::risk::sliding_window::PerMinute;

/// Orders kept for the duplicate check.
const MADE_KEPT: usize = 1_024;
/// Decisions kept. An order whose decision was dropped before it was sent is not sent.
const PARENTS_KEPT: usize = 1_024;

/// What makes two orders equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OrderShape {
    pub(crate) market: MarketId,
    pub(crate) strategy: StrategyId,
    pub(crate) side: Side,
    pub(crate) price: Price,
    pub(crate) qty: Qty,
}

/// The part of a decision for one side of a strategy at a market.
type Parent = (BatchId, MarketId, StrategyId, Side);

/// Lots decided, and lots of them that were sent.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Children {
    decided: u64,
    left: u64,
}

/// Counts of the last minute.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counters {
    /// Orders created.
    pub(crate) orders: PerMinute,
    /// Cancels that a comparison decided.
    pub(crate) cancels: PerMinute,
    /// Transmissions of orders, including repeated ones.
    pub(crate) transmissions: PerMinute,
    /// Orders filled completely: each needs a submit, which the budget bounds.
    pub(crate) filled: PerMinute,
    /// Fills booked, partial ones included.
    pub(crate) fills: PerMinute,
    made: VecDeque<(Time, OrderShape)>,
    parents: BTreeMap<Parent, Children>,
}

fn parent_of(batch: BatchId, order: &UnsignedOrder) -> Parent {
    let strategy = order.client_id.strategy;
    (batch, order.market, strategy, order.side)
}

impl Counters {
    /// Orders and cancels of the last minute, and its fills.
    pub(crate) fn messages_and_fills(&self, now: Time) -> (u32, u32) {
        let sent = self.transmissions.count(now);
        let messages = sent.saturating_add(self.cancels.count(now));
        (messages, self.fills.count(now).max(1))
    }

    /// Records a created order.
    pub(crate) fn made(&mut self, now: Time, shape: OrderShape) {
        self.orders.add(now);
        if self.made.len() >= MADE_KEPT {
            self.made.pop_front();
        }
        self.made.push_back((now, shape));
    }

    /// Number of equal orders created within the window.
    pub(crate) fn equal_orders(&self, now: Time, shape: &OrderShape, window_ms: u64) -> usize {
        let recent = self.made.iter().rev();
        recent
            .take_while(|(at, _)| now.ms_since(*at) < window_ms)
            .filter(|(_, made)| made == shape)
            .count()
    }

    /// Records the lots decided for a side.
    pub(crate) fn decided(
        &mut self,
        batch: BatchId,
        market: MarketId,
        strategy: StrategyId,
        side: Side,
        qty: Qty,
    ) {
        let children = self
            .parents
            .entry((batch, market, strategy, side))
            .or_default();
        children.decided = children.decided.saturating_add(qty.0);
        while self.parents.len() > PARENTS_KEPT {
            self.parents.pop_first();
        }
    }

    /// Whether an order is still within its decision. An unknown decision has no lots.
    pub(crate) fn fits(&self, batch: BatchId, order: &UnsignedOrder) -> bool {
        let children = self.parents.get(&parent_of(batch, order));
        children
            .is_some_and(|children| children.left.saturating_add(order.qty.0) <= children.decided)
    }

    /// Records the first transmission of an order of this decision.
    pub(crate) fn left(&mut self, batch: BatchId, order: &UnsignedOrder) {
        if let Some(children) = self.parents.get_mut(&parent_of(batch, order)) {
            children.left = children.left.saturating_add(order.qty.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIKE: OrderShape = OrderShape {
        market: MarketId(0),
        strategy: StrategyId(0),
        side: Side::Buy,
        price: Price(10),
        qty: Qty(5),
    };

    fn order(number: u64, qty: u64) -> UnsignedOrder {
        UnsignedOrder {
            client_id: crate::ClientOrderId {
                instance: 1,
                strategy: StrategyId(0),
                number,
            },
            market: MarketId(0),
            side: Side::Buy,
            price: Price(10),
            qty: Qty(qty),
            kind: crate::OrderKind::MakerOnly,
            swap: None,
            sell_token: crate::TokenId(1),
            sell_amount: 1,
            buy_token: crate::TokenId(0),
            buy_amount: 1,
            fill_by: crate::order::FillBy::Buy,
            slot: 0,
            accepted_until_s: 0,
            rests_until_s: Some(0),
            max_fee_bips: 0,
            made_at: crate::VenueTime(0),
        }
    }

    #[test]
    fn the_newest_thousand_decisions_are_kept() {
        let mut counters = Counters::default();
        let decide = |counters: &mut Counters, number| {
            counters.decided(
                BatchId(number),
                MarketId(0),
                StrategyId(0),
                Side::Buy,
                Qty(5),
            );
        };
        (1..=1_024).for_each(|number| decide(&mut counters, number));
        assert!(counters.fits(BatchId(1), &order(1, 5)));
        decide(&mut counters, 1_025);
        assert!(!counters.fits(BatchId(1), &order(1, 5)), "dropped");
        assert!(counters.fits(BatchId(2), &order(1, 5)));
    }

    #[test]
    fn no_more_is_sent_of_a_decision_than_was_decided() {
        let (mut counters, batch) = (Counters::default(), BatchId(1));
        counters.decided(batch, MarketId(0), StrategyId(0), Side::Buy, Qty(5));
        counters.decided(batch, MarketId(0), StrategyId(0), Side::Buy, Qty(5));
        assert!(counters.fits(batch, &order(1, 10)) && !counters.fits(batch, &order(1, 11)));
        counters.left(batch, &order(1, 5));
        assert!(counters.fits(batch, &order(2, 5)) && !counters.fits(batch, &order(2, 6)));
        counters.left(batch, &order(2, 5));
        assert!(!counters.fits(batch, &order(3, 1)), "everything has left");
        let other = UnsignedOrder {
            side: Side::Sell,
            ..order(3, 1)
        };
        assert!(!counters.fits(batch, &other), "the other side got nothing");
        assert!(
            !counters.fits(BatchId(2), &order(3, 1)),
            "nor another decision"
        );
    }

    #[test]
    fn equal_orders_are_counted_within_their_window_only() {
        let mut counters = Counters::default();
        counters.made(Time::from_ms(0), LIKE);
        counters.made(
            Time::from_ms(100),
            OrderShape {
                qty: Qty(6),
                ..LIKE
            },
        );
        assert_eq!(counters.equal_orders(Time::from_ms(249), &LIKE, 250), 1);
        assert_eq!(counters.equal_orders(Time::from_ms(250), &LIKE, 250), 0);
    }
}
