//! The venue's book, driven by whole quantities: what the venue does around it is left out.

use cambist_core::{Amount, Price, Side, VenueTime};
use cambist_venue::OrderKey;
use cambist_venue::book::{Book, Rests};

use super::workload::{Op, Totals};

/// A resting order, and nothing about its owner.
#[derive(Clone, Copy)]
struct Rest {
    id: u64,
    size: Amount,
    price: Price,
    side: Side,
    older: Option<OrderKey>,
    younger: Option<OrderKey>,
}

#[derive(Default)]
struct Slab {
    rests: Vec<Rest>,
    free: Vec<OrderKey>,
}

impl Rests for Slab {
    fn rest(&self, key: OrderKey) -> (Side, Price, Amount) {
        let rest = &self.rests[key.0 as usize];
        (rest.side, rest.price, rest.size)
    }

    fn set_rest(&mut self, key: OrderKey, size: Amount) {
        self.rests[key.0 as usize].size = size;
    }

    fn neighbours(&mut self, key: OrderKey) -> [&mut Option<OrderKey>; 2] {
        let rest = &mut self.rests[key.0 as usize];
        [&mut rest.older, &mut rest.younger]
    }
}

/// One fill as it is reported.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    pub maker: u64,
    pub price: u64,
    pub qty: u64,
}

/// The book, its orders, where each stands by its number, and the report of the last operation.
#[derive(Default)]
pub struct Engine {
    book: Book,
    slab: Slab,
    keys: Vec<Option<OrderKey>>,
    report: Vec<Fill>,
}

impl Engine {
    fn take(&mut self, side: Side, mut qty: u64, limit: Option<Price>) -> u64 {
        while qty > 0 {
            let Some((price, key)) = self.book.front(side.opposite()) else {
                break;
            };
            if limit.is_some_and(|limit| !side.reaches(limit, price)) {
                break;
            }
            let maker = self.slab.rests[key.0 as usize];
            let filled = qty.min(maker.size as u64);
            qty -= filled;
            self.report.push(Fill {
                maker: maker.id,
                price: price.0,
                qty: filled,
            });
            let rest = maker.size - Amount::from(filled);
            if rest == 0 {
                self.forget(key, maker.id);
            } else {
                self.book.resize(&mut self.slab, key, rest, VenueTime(0));
            }
        }
        qty
    }

    fn forget(&mut self, key: OrderKey, id: u64) {
        self.book.remove(&mut self.slab, key, VenueTime(0));
        self.keys[id as usize] = None;
        self.slab.free.push(key);
    }

    fn rest(&mut self, rest: Rest) {
        let key = if let Some(key) = self.slab.free.pop() {
            self.slab.rests[key.0 as usize] = rest;
            key
        } else {
            self.slab.rests.push(rest);
            OrderKey(self.slab.rests.len() as u32 - 1)
        };
        self.keys[rest.id as usize] = Some(key);
        self.book.append(&mut self.slab, key, VenueTime(0));
    }
}

const fn side(buys: bool) -> Side {
    if buys { Side::Buy } else { Side::Sell }
}

impl super::Engine for Engine {
    fn apply(&mut self, op: &Op, totals: &mut Totals) {
        self.report.clear();
        match *op {
            Op::Limit {
                id,
                buys,
                price,
                qty,
            } => {
                self.keys.push(None);
                let (side, price) = (side(buys), Price(price));
                let rest = self.take(side, qty, Some(price));
                if rest > 0 {
                    let size = Amount::from(rest);
                    self.rest(Rest {
                        id,
                        size,
                        price,
                        side,
                        older: None,
                        younger: None,
                    });
                }
            }
            Op::Cancel { id } => {
                if let Some(key) = self.keys[id as usize] {
                    self.forget(key, id);
                    totals.cancels += 1;
                }
            }
            Op::Market { buys, qty, .. } => {
                self.keys.push(None);
                self.take(side(buys), qty, None);
            }
        }
        for fill in &self.report {
            std::hint::black_box(fill.maker);
            totals.fill(fill.price, fill.qty);
        }
    }
}
