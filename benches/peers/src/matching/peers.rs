//! The published crates, each through its own fastest entry.

use std::hint::black_box;

use super::Engine;
use super::workload::{Op, Totals};

pub struct Lobster(lobster::OrderBook);

impl Lobster {
    pub fn new() -> Self {
        Self(lobster::OrderBook::default())
    }
}

impl Engine for Lobster {
    fn apply(&mut self, op: &Op, totals: &mut Totals) {
        use lobster::{OrderEvent, OrderType, Side};
        let side = |buys| if buys { Side::Bid } else { Side::Ask };
        let event = self.0.execute(match *op {
            Op::Limit {
                id,
                buys,
                price,
                qty,
            } => OrderType::Limit {
                id: id.into(),
                side: side(buys),
                qty,
                price,
            },
            Op::Cancel { id } => OrderType::Cancel { id: id.into() },
            Op::Market { id, buys, qty } => OrderType::Market {
                id: id.into(),
                side: side(buys),
                qty,
            },
        });
        match &event {
            OrderEvent::Filled { fills, .. } | OrderEvent::PartiallyFilled { fills, .. } => {
                for fill in fills {
                    totals.fill(fill.price, fill.qty);
                }
            }
            OrderEvent::Canceled { .. } => totals.cancels += 1,
            _ => {}
        }
        black_box(&event);
    }
}

/// Gives orders numbers of its own.
pub struct RustOrderBook(rust_order_book::OrderBook, Vec<u64>);

impl RustOrderBook {
    pub fn new() -> Self {
        Self(rust_order_book::OrderBookBuilder::new("X").build(), vec![])
    }
}

impl Engine for RustOrderBook {
    fn apply(&mut self, op: &Op, totals: &mut Totals) {
        use rust_order_book::Side;
        let side = |buys| if buys { Side::Buy } else { Side::Sell };
        match *op {
            Op::Limit {
                buys, price, qty, ..
            } => {
                let report = self
                    .0
                    .limit_raw(side(buys), qty, price, None, None)
                    .expect("taken");
                self.1.push(report.order_id.0);
                totals.qty += report.executed_qty.value();
            }
            Op::Cancel { id } => {
                totals.cancels += u64::from(self.0.cancel_raw(self.1[id as usize]).is_ok());
            }
            Op::Market { buys, qty, .. } => {
                self.1.push(u64::MAX);
                if let Ok(report) = self.0.market_raw(side(buys), qty) {
                    totals.qty += report.executed_qty.value();
                }
            }
        }
    }
}

pub struct OrderbookRs(orderbook_rs::OrderBook<()>);

impl OrderbookRs {
    pub fn new() -> Self {
        Self(orderbook_rs::OrderBook::new("X"))
    }
}

impl Engine for OrderbookRs {
    fn apply(&mut self, op: &Op, totals: &mut Totals) {
        use pricelevel::{Id, Side, TimeInForce};
        let side = |buys| if buys { Side::Buy } else { Side::Sell };
        match *op {
            Op::Limit {
                id,
                buys,
                price,
                qty,
            } => {
                let taken = self.0.add_limit_order_with_result(
                    Id::from_u64(id),
                    price.into(),
                    qty,
                    side(buys),
                    TimeInForce::Gtc,
                    None,
                );
                if let Ok((_, Some(result))) = &taken {
                    for trade in result.match_result.trades().as_vec() {
                        totals.fill(trade.price().as_u128() as u64, trade.quantity().as_u64());
                    }
                }
                black_box(&taken);
            }
            Op::Cancel { id } => {
                let gone = self.0.cancel_order(Id::from_u64(id));
                totals.cancels += u64::from(matches!(gone, Ok(Some(_))));
            }
            Op::Market { id, buys, qty } => {
                if let Ok(result) = self
                    .0
                    .submit_market_order(Id::from_u64(id), qty, side(buys))
                {
                    for trade in result.trades().as_vec() {
                        totals.fill(trade.price().as_u128() as u64, trade.quantity().as_u64());
                    }
                }
            }
        }
    }
}
