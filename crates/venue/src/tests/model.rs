//! A simple reference implementation of the book: a list that is searched completely at every step.
//!
//! It shares no code with the book: its arithmetic is plain 128-bit (amounts are small), and exact lots are found by
//! trying. Both must give the same fills.

use std::collections::BTreeMap;

use cambist_core::order::FillBy;
use cambist_core::{Hash, OrderKind, OrderStatus, Side, TokenId, VenueTime};

use super::random_history::{COARSE, DUSTY, ROUGH, RandomHistory, Style};
use crate::testing::*;
use crate::{AccountId, NewOrder, Request, Response};

struct Simple {
    hash: Hash,
    account: AccountId,
    sell_token: TokenId,
    storage_id: u64,
    side: Side,
    by_base: bool,
    base: u128,
    quote: u128,
    ticks: u128,
    base_filled: u128,
    quote_filled: u128,
    until_s: u64,
    status: OrderStatus,
}

struct SimpleBook {
    orders: Vec<Simple>,
    /// A base unit at `t` ticks costs `t · up / down` quote units.
    up: u128,
    down: u128,
    dust: u128,
}

impl SimpleBook {
    fn new(style: Style) -> Self {
        let power = i32::from(style.quote_decimals) - i32::from(style.base_decimals) - 2;
        Self {
            orders: Vec::new(),
            up: 10u128.pow(u32::try_from(power).unwrap_or(0)),
            down: 10u128.pow(u32::try_from(-power).unwrap_or(0)),
            dust: style.dust,
        }
    }

    fn open(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.orders.len()).filter(|i| self.orders[*i].status == OrderStatus::Processing)
    }

    fn left(&self, index: usize, ticks: u128) -> u128 {
        let order = &self.orders[index];
        if order.by_base {
            order.base - order.base_filled
        } else {
            (order.quote - order.quote_filled) * self.down / (ticks * self.up)
        }
    }

    fn expire(&mut self, now: VenueTime) {
        for order in &mut self.orders {
            if order.status == OrderStatus::Processing && order.until_s * 1_000 <= now.0 {
                order.status = OrderStatus::Expired;
            }
        }
    }

    fn cancel(&mut self, hash: Hash) {
        for order in self.orders.iter_mut().filter(|order| order.hash == hash) {
            order.status = OrderStatus::Cancelled;
        }
    }

    /// The best resting order against `index`, found by comparing all.
    fn opposite(&self, index: usize) -> Option<usize> {
        let taker = &self.orders[index];
        self.open()
            .filter(|other| *other != index && self.orders[*other].side != taker.side)
            .filter(|other| match taker.side {
                Side::Buy => self.orders[*other].ticks <= taker.ticks,
                Side::Sell => self.orders[*other].ticks >= taker.ticks,
            })
            .min_by_key(|other| {
                let ticks = self.orders[*other].ticks;
                match taker.side {
                    Side::Buy => (ticks, *other),
                    Side::Sell => (u128::MAX - ticks, *other),
                }
            })
    }

    fn is_dust(&self, base: u128, ticks: u128) -> bool {
        base < self.dust || base * ticks * self.up / self.down < self.dust
    }

    /// Quote units for `base`, rounded for the maker; `None` beyond the taker's limit.
    fn price(&self, taker: usize, maker: usize, base: u128) -> Option<u128> {
        let (taker, maker) = (&self.orders[taker], &self.orders[maker]);
        let exact = base * maker.ticks * self.up;
        let quote = match maker.side {
            Side::Buy => exact / self.down,
            Side::Sell => exact.div_ceil(self.down),
        };
        let fair = match taker.side {
            Side::Buy => quote * taker.base <= base * taker.quote,
            Side::Sell => quote * taker.base >= base * taker.quote,
        };
        (fair && quote > 0).then_some(quote)
    }

    /// Processes an order that the venue accepted; returns its fills and final status.
    fn submit(&mut self, order: &NewOrder) -> (Vec<(Hash, u128, u128)>, OrderStatus) {
        for old in &mut self.orders {
            let same_slot = old.account == order.account
                && old.sell_token == order.sell_token
                && old.storage_id % 16_384 == order.storage_id % 16_384;
            if same_slot && old.status == OrderStatus::Processing {
                old.status = OrderStatus::Cancelled;
            }
        }
        let side = if order.sell_token == BASE {
            Side::Sell
        } else {
            Side::Buy
        };
        let (base, quote) = match side {
            Side::Buy => (order.buy_amount, order.sell_amount),
            Side::Sell => (order.sell_amount, order.buy_amount),
        };
        let ticks = match side {
            Side::Buy => quote * self.down / (base * self.up),
            Side::Sell => (quote * self.down).div_ceil(base * self.up),
        };
        self.orders.push(Simple {
            hash: order.hash,
            account: order.account,
            sell_token: order.sell_token,
            storage_id: order.storage_id,
            side,
            by_base: (side == Side::Buy) == (order.fill_by == FillBy::Buy),
            base,
            quote,
            ticks,
            base_filled: 0,
            quote_filled: 0,
            until_s: order.valid_until_s,
            status: OrderStatus::Processing,
        });
        let index = self.orders.len() - 1;
        let fills = self.take(index, order.kind);
        (fills, self.orders[index].status)
    }

    fn take(&mut self, index: usize, kind: OrderKind) -> Vec<(Hash, u128, u128)> {
        let mut fills = Vec::new();
        let mut stopped = None;
        while let Some(maker) = self.opposite(index) {
            let ticks = self.orders[maker].ticks;
            let taker = &self.orders[index];
            if taker.base_filled == taker.base && taker.by_base
                || taker.quote_filled == taker.quote && !taker.by_base
            {
                break;
            }
            if taker.account == self.orders[maker].account {
                stopped = Some(OrderStatus::Cancelled);
                break;
            }
            let mut wanted = self.left(index, ticks);
            if taker.side == Side::Sell && !taker.by_base {
                // Rounded down for the buyer, one more unit may give the last quote unit.
                let left = taker.quote - taker.quote_filled;
                let worth = |base: u128| base * ticks * self.up / self.down;
                let possible = wanted < taker.base - taker.base_filled;
                if possible && worth(wanted) < left && worth(wanted + 1) <= left {
                    wanted += 1;
                }
            }
            let mut base = wanted.min(self.left(maker, ticks));
            let mut quote = self.price(index, maker, base);
            let lot = (1..=self.down)
                .find(|lot| (lot * ticks * self.up).is_multiple_of(self.down))
                .unwrap();
            if quote.is_none() {
                base -= base % lot;
                quote = self.price(index, maker, base);
            }
            if let (Some(quote), true) = (quote, base > 0) {
                fills.push((self.orders[maker].hash, base, quote));
                for party in [index, maker] {
                    self.orders[party].base_filled += base;
                    self.orders[party].quote_filled += quote;
                }
                let rest = self.left(maker, ticks);
                if rest == 0 || self.is_dust(rest, ticks) {
                    self.orders[maker].status = OrderStatus::Processed;
                }
            } else if wanted < lot {
                stopped = Some(if fills.is_empty() {
                    OrderStatus::Cancelled
                } else {
                    OrderStatus::Processed
                });
                break;
            } else {
                self.orders[maker].status = OrderStatus::Processed;
            }
        }
        let rest = self.left(index, self.orders[index].ticks);
        let done = !fills.is_empty() && (rest == 0 || self.is_dust(rest, self.orders[index].ticks));
        self.orders[index].status = if done {
            OrderStatus::Processed
        } else if let Some(status) = stopped {
            status
        } else if kind == OrderKind::TakerOnly || rest == 0 {
            OrderStatus::Cancelled
        } else {
            OrderStatus::Processing
        };
        fills
    }

    /// Ticks, base units and number of orders for each level of a side.
    fn levels(&self, side: Side) -> BTreeMap<u128, (u128, u32)> {
        let mut levels = BTreeMap::new();
        for index in self.open().filter(|index| self.orders[*index].side == side) {
            let ticks = self.orders[index].ticks;
            let level: &mut (u128, u32) = levels.entry(ticks).or_default();
            level.0 += self.left(index, ticks);
            level.1 += 1;
        }
        levels
    }
}

fn compare(style: Style, seed: u64, requests: u32) -> u32 {
    let mut world = style.world();
    let mut history = RandomHistory::new(style, seed);
    let mut simple = SimpleBook::new(style);
    let mut fills = 0;
    for step in 0..requests {
        let (caller, request) = history.next(&mut world);
        simple.expire(world.now);
        let answer = world.ask(&caller, &request);
        match (&request, answer) {
            (Request::Submit(order), Ok(Response::Submitted(made))) => {
                let trades: Vec<_> = made
                    .trades
                    .iter()
                    .map(|trade| (trade.maker, trade.base, trade.quote))
                    .collect();
                fills += u32::try_from(trades.len()).unwrap();
                let expected = simple.submit(order);
                assert_eq!(
                    (trades, made.status),
                    expected,
                    "{style:?} seed {seed} step {step}: {order:?}"
                );
            }
            (_, Ok(Response::Cancelled(done))) => simple.cancel(done.hash),
            _ => {}
        }
        let depth = world.depth(0, Some(500));
        for (side, rows) in [(Side::Buy, depth.bids), (Side::Sell, depth.asks)] {
            let shown: BTreeMap<_, _> = rows
                .iter()
                .map(|row| (u128::from(row.price.0), (row.size, row.count)))
                .collect();
            assert_eq!(
                shown,
                simple.levels(side),
                "{style:?} seed {seed} step {step}"
            );
        }
    }
    fills
}

/// R-MAT-01, R-FIL-05
#[test]
fn the_book_agrees_with_a_simple_reference_implementation() {
    for style in [ROUGH, DUSTY, COARSE] {
        let fills: u32 = (100..112).map(|seed| compare(style, seed, 400)).sum();
        assert!(fills > 300, "{style:?}: {fills} fills compared");
    }
}
