//! The stream of operations: seeded, integers only, the same as behind the published baselines. Cancels name orders
//! that rest, so the generator keeps a plain book of its own.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Operations before the clock starts.
pub const WARM_UP: usize = 200_000;

/// Operations before the first cancel and the first order that takes.
const FILLING: usize = 10_000;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Limit {
        id: u64,
        buys: bool,
        price: u64,
        qty: u64,
    },
    Cancel {
        id: u64,
    },
    Market {
        id: u64,
        buys: bool,
        qty: u64,
    },
}

/// What came of it, as far as an engine tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub fills: u64,
    pub qty: u64,
    pub notional: u128,
    pub cancels: u64,
    /// A digest of every fill's price and quantity, in their order.
    pub digest: u64,
}

impl Totals {
    pub fn fill(&mut self, price: u64, qty: u64) {
        self.fills += 1;
        self.qty += qty;
        self.notional += u128::from(price) * u128::from(qty);
        self.digest =
            (self.digest.rotate_left(5) ^ price ^ qty << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} fills of {} in all, {} cancels",
            self.fills, self.qty, self.cancels
        )
    }
}

struct Random(u64);

impl Random {
    /// `SplitMix64`.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        value = (value ^ value >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        value ^ value >> 31
    }
}

/// Who rests, as simply as can be.
#[derive(Default)]
struct Plain {
    bids: BTreeMap<u64, VecDeque<(u64, u64)>>,
    asks: BTreeMap<u64, VecDeque<(u64, u64)>>,
    /// Side and price of every order, by its number.
    placed: Vec<(bool, u64)>,
    /// Orders that rest, in the order in which the generator draws from them, and where each stands there.
    live: Vec<u64>,
    at: Vec<Option<usize>>,
}

impl Plain {
    /// What is left of the quantity, and who is gone.
    fn take(&mut self, buys: bool, mut qty: u64, limit: Option<u64>) -> (u64, Vec<u64>) {
        let mut gone = Vec::new();
        let levels = if buys { &mut self.asks } else { &mut self.bids };
        while qty > 0 {
            let level = if buys {
                levels.first_entry()
            } else {
                levels.last_entry()
            };
            let Some(mut level) = level else { break };
            let price = *level.key();
            if limit.is_some_and(|limit| if buys { price > limit } else { price < limit }) {
                break;
            }
            let queue = level.get_mut();
            while let Some((id, rest)) = queue.front_mut().filter(|_| qty > 0) {
                let filled = qty.min(*rest);
                qty -= filled;
                *rest -= filled;
                if *rest == 0 {
                    gone.push(*id);
                    queue.pop_front();
                }
            }
            if queue.is_empty() {
                level.remove();
            }
        }
        (qty, gone)
    }

    /// The last one that went first, which is what the published stream does.
    fn forget_all(&mut self, gone: Vec<u64>) {
        gone.into_iter().rev().for_each(|id| self.forget(id));
    }

    fn forget(&mut self, id: u64) {
        let Some(at) = self.at[id as usize].take() else {
            return;
        };
        let last = self.live.pop().expect("somebody rests");
        if last != id {
            self.live[at] = last;
            self.at[last as usize] = Some(at);
        }
    }

    fn cancel(&mut self, id: u64) {
        let (buys, price) = self.placed[id as usize];
        let levels = if buys { &mut self.bids } else { &mut self.asks };
        let queue = levels.get_mut(&price).expect("it rests");
        queue.retain(|(other, _)| *other != id);
        if queue.is_empty() {
            levels.remove(&price);
        }
        self.forget(id);
    }

    /// Takes what it reaches and rests.
    fn limit(&mut self, id: u64, buys: bool, price: u64, qty: u64) {
        let (rest, gone) = self.take(buys, qty, Some(price));
        if rest > 0 {
            let levels = if buys { &mut self.bids } else { &mut self.asks };
            levels.entry(price).or_default().push_back((id, rest));
            self.at[id as usize] = Some(self.live.len());
            self.live.push(id);
        }
        self.forget_all(gone);
    }
}

/// So many operations after the warm-up.
pub fn ops(timed: usize, seed: u64) -> Vec<Op> {
    let mut random = Random(seed);
    let mut book = Plain::default();
    let (mut mid, mut next) = (100_000u64, 0u64);
    let mut ops = Vec::with_capacity(timed + WARM_UP);
    for step in 0..timed + WARM_UP {
        let drawn = random.next();
        if drawn % 8 == 0 {
            mid = if drawn >> 8 & 1 == 0 {
                mid + 1
            } else {
                mid - 1
            };
        }
        let buys = drawn >> 16 & 1 == 0;
        let kind = (drawn >> 20) % 100;
        let op = if step < FILLING || book.live.is_empty() || kind < 60 {
            limit(&mut random, mid, buys, next, step >= FILLING)
        } else if kind < 95 {
            let at = random.next() % book.live.len() as u64;
            Op::Cancel {
                id: book.live[at as usize],
            }
        } else {
            Op::Market {
                id: next,
                buys,
                qty: 1 + random.next() % 200,
            }
        };
        match op {
            Op::Limit {
                id,
                buys,
                price,
                qty,
            } => {
                book.placed.push((buys, price));
                book.at.push(None);
                book.limit(id, buys, price, qty);
                next += 1;
            }
            Op::Cancel { id } => book.cancel(id),
            Op::Market { buys, qty, .. } => {
                book.placed.push((buys, 0));
                book.at.push(None);
                let (_, gone) = book.take(buys, qty, None);
                book.forget_all(gone);
                next += 1;
            }
        }
        ops.push(op);
    }
    ops
}

fn limit(random: &mut Random, mid: u64, buys: bool, id: u64, may_take: bool) -> Op {
    let [a, b, c, d] = [random.next(), random.next(), random.next(), random.next()];
    let qty = 1 + d % 100;
    let (away, passive) = if may_take && c % 100 < 8 {
        (1 + a % 3, false)
    } else {
        let near = 1 + (a % 40).min(b % 40);
        let far = if (c >> 16) % 8 == 0 {
            (d >> 16) % 160
        } else {
            0
        };
        (near + far, true)
    };
    let price = if buys == passive {
        mid - away
    } else {
        mid + away
    };
    Op::Limit {
        id,
        buys,
        price,
        qty,
    }
}
