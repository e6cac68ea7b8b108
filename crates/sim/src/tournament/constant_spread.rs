//! The maker to compare with: one bid and one ask at a constant distance from the mid, by the default rules of a
//! well-known bot.
//!
//! - Orders rest for `refresh_ms`, are then all cancelled, and are replaced once none is left.
//! - A request without an answer has failed. An order whose submission failed is forgotten: if the exchange has it
//!   nevertheless, nothing cancels it.
//! - The state of every order is asked for every `status_ms`; that is how fills are noticed. After one, nothing is placed
//!   for `after_fill_ms`.
//! - Sizes are cut to the free balances, which are asked for with every new pair of orders, as is the mid.
//!
//! It keeps no durable state, and nothing limits its risk.

use std::collections::BTreeMap;

use cambist_core::order::{FillBy, OrderStatus};
use cambist_core::request::{DepthLevel, Outcome, Reply, RequestId};
use cambist_core::{Amount, Hash, MarketSpec, OrderKind, Price, Side, Time, VenueTime};
use cambist_venue::{NewOrder, Request, Scale};
use serde::{Deserialize, Serialize};

use crate::exchange::OWN_ACCOUNT;

/// Highest fee that its orders accept, ten-thousandths.
const FEE_MAX_BIPS: u64 = 63;

/// Its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstantSpread {
    /// Distance of each order from the mid, ten-thousandths.
    pub spread_bps: u32,
    /// Size of each order, base units.
    pub order_base: Amount,
    /// How long orders rest, milliseconds.
    pub refresh_ms: u64,
    /// Interval between two decisions, milliseconds.
    pub tick_ms: u64,
    /// Interval between two questions about the state of every order, milliseconds.
    pub status_ms: u64,
    /// How long nothing is placed after an order has filled, milliseconds.
    pub after_fill_ms: u64,
    /// Time to live that is signed, seconds.
    pub order_life_s: u64,
    /// How long an answer is waited for, milliseconds.
    pub timeout_ms: u64,
}

impl ConstantSpread {
    /// The bot's documented defaults: 1 % on both sides, 30 s, decisions every second, the state of orders every 10 s, 60 s
    /// after a fill, and orders of half an hour.
    pub const fn documented(order_base: Amount) -> Self {
        Self {
            spread_bps: 100,
            order_base,
            refresh_ms: 30_000,
            tick_ms: 1_000,
            status_ms: 10_000,
            after_fill_ms: 60_000,
            order_life_s: 1_800,
            timeout_ms: 5_000,
        }
    }
}

/// What a request without an answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Depth,
    Balances,
    Submit(Hash),
    Cancel(Hash),
    Status(Hash),
}

/// An order that is alive as far as it knows.
#[derive(Clone, Copy, Debug, Default)]
struct Claimed {
    is_acknowledged: bool,
    /// A cancel or a question about its state is under way.
    is_asked: bool,
}

/// The running program.
#[derive(Debug)]
pub(super) struct Maker {
    rules: ConstantSpread,
    spec: MarketSpec,
    scale: Scale,
    minimums: [Amount; 2],
    exchange: [u8; 20],
    orders: BTreeMap<Hash, Claimed>,
    asked: BTreeMap<RequestId, Asked>,
    requests: u64,
    placed: u64,
    cancel_at: Time,
    create_at: Time,
    status_at: Time,
    /// Twice the mid, in ticks.
    mid2: Option<u64>,
    free: Option<[Amount; 2]>,
}

/// A request that is to be sent.
pub(super) type Sent = (RequestId, Request);

impl Maker {
    pub(super) const fn new(
        rules: ConstantSpread,
        spec: MarketSpec,
        scale: Scale,
        exchange: [u8; 20],
    ) -> Self {
        let minimums = [spec.base.minimum, spec.quote.minimum];
        Self {
            rules,
            spec,
            scale,
            minimums,
            exchange,
            orders: BTreeMap::new(),
            asked: BTreeMap::new(),
            requests: 0,
            placed: 0,
            cancel_at: Time(0),
            create_at: Time(0),
            status_at: Time(0),
            mid2: None,
            free: None,
        }
    }

    /// How many requests it has made, and how many of them were orders.
    pub(super) const fn counted(&self) -> [u64; 2] {
        [self.requests, self.placed]
    }

    /// Whether an order is alive as far as it knows.
    pub(super) fn claims(&self, hash: &Hash) -> bool {
        self.orders.contains_key(hash)
    }

    fn ask(&mut self, asked: Asked, request: Request, sent: &mut Vec<Sent>) {
        self.requests += 1;
        let id = RequestId(self.requests);
        self.asked.insert(id, asked);
        sent.push((id, request));
    }

    fn is_waiting_for(&self, wanted: Asked) -> bool {
        self.asked.values().any(|asked| *asked == wanted)
    }

    /// A decision: questions about states, cancels, or the first step of a new pair of orders.
    pub(super) fn tick(&mut self, now: Time, sent: &mut Vec<Sent>) {
        let known: Vec<_> = self
            .orders
            .iter()
            .filter(|(_, order)| order.is_acknowledged && !order.is_asked)
            .map(|(hash, _)| *hash)
            .collect();
        if now >= self.cancel_at {
            for hash in known {
                self.ask_about(hash, true, sent);
            }
        } else if now >= self.status_at {
            self.status_at = now.plus_ms(self.rules.status_ms);
            for hash in known {
                self.ask_about(hash, false, sent);
            }
        }
        let is_reading = self.is_waiting_for(Asked::Depth) || self.is_waiting_for(Asked::Balances);
        if self.orders.is_empty() && now >= self.create_at && !is_reading {
            (self.mid2, self.free) = (None, None);
            let depth = Request::Depth {
                market: self.spec.name.clone(),
                level: 0,
                limit: Some(1),
            };
            self.ask(Asked::Depth, depth, sent);
            let balances = Request::Balances {
                account: OWN_ACCOUNT,
                tokens: None,
            };
            self.ask(Asked::Balances, balances, sent);
        }
    }

    fn ask_about(&mut self, hash: Hash, cancels: bool, sent: &mut Vec<Sent>) {
        if let Some(order) = self.orders.get_mut(&hash) {
            order.is_asked = true;
        }
        if cancels {
            let cancel = Request::Cancel {
                account: OWN_ACCOUNT,
                hash: Some(hash),
                client_id: None,
            };
            self.ask(Asked::Cancel(hash), cancel, sent);
        } else {
            let status = Request::Order {
                account: OWN_ACCOUNT,
                hash,
            };
            self.ask(Asked::Status(hash), status, sent);
        }
    }

    /// An answer, or that there was none.
    pub(super) fn answer(
        &mut self,
        (now, clock): (Time, VenueTime),
        request: RequestId,
        outcome: Outcome,
        sent: &mut Vec<Sent>,
    ) {
        let Some(asked) = self.asked.remove(&request) else {
            return;
        };
        if let Asked::Cancel(hash) | Asked::Status(hash) = asked
            && let Some(order) = self.orders.get_mut(&hash)
        {
            order.is_asked = false;
        }
        match (asked, outcome) {
            (Asked::Submit(hash), Outcome::Reply(_)) => {
                if let Some(order) = self.orders.get_mut(&hash) {
                    order.is_acknowledged = true;
                }
            }
            // Refused, or unknown, which counts as failed.
            (Asked::Submit(hash), _)
            | (Asked::Cancel(hash), Outcome::Reply(Reply::CancelTaken { .. })) => {
                self.orders.remove(&hash);
            }
            // It may have ended by itself.
            (Asked::Cancel(hash), Outcome::Refused(_)) => self.ask_about(hash, false, sent),
            (Asked::Status(hash), Outcome::Reply(Reply::Order(report))) => match report.status {
                OrderStatus::Processed => {
                    self.orders.remove(&hash);
                    self.create_at = now.plus_ms(self.rules.after_fill_ms);
                    self.cancel_at = self.cancel_at.min(self.create_at);
                }
                OrderStatus::Cancelled | OrderStatus::Expired | OrderStatus::Failed => {
                    self.orders.remove(&hash);
                }
                OrderStatus::Waiting
                | OrderStatus::Processing
                | OrderStatus::Cancelling
                | OrderStatus::Other => {}
            },
            (Asked::Depth, Outcome::Reply(Reply::Depth(depth))) => {
                let best = |levels: &[DepthLevel]| levels.first().map(|level| level.price.0);
                let sides = best(&depth.bids).zip(best(&depth.asks));
                self.mid2 = sides.and_then(|(bid, ask)| bid.checked_add(ask));
            }
            (Asked::Balances, Outcome::Reply(Reply::Balances(balances))) => {
                let free = |token| {
                    let mut found = balances.iter().filter(|balance| balance.token == token);
                    let balance = found.next();
                    balance.map_or(0, |balance| balance.total.saturating_sub(balance.locked))
                };
                self.free = Some([free(self.spec.base.id), free(self.spec.quote.id)]);
            }
            // Asked again at the next decision.
            (Asked::Cancel(_) | Asked::Status(_) | Asked::Depth | Asked::Balances, _) => {}
        }
        if let (Asked::Depth | Asked::Balances, Some(mid2), Some(free)) =
            (asked, self.mid2, self.free)
        {
            (self.mid2, self.free) = (None, None);
            self.create_at = now.plus_ms(self.rules.refresh_ms);
            self.cancel_at = self.create_at;
            self.status_at = now.plus_ms(self.rules.status_ms);
            for side in Side::BOTH {
                self.place(clock, side, mid2, free, sent);
            }
        }
    }

    fn place(
        &mut self,
        clock: VenueTime,
        side: Side,
        mid2: u64,
        [free_base, free_quote]: [Amount; 2],
        sent: &mut Vec<Sent>,
    ) {
        let Some(price) = self.price(side, mid2) else {
            return;
        };
        let wanted = match side {
            Side::Buy => {
                let affordable = self.scale.base_floor(free_quote, price);
                self.rules.order_base.min(affordable)
            }
            Side::Sell => self.rules.order_base.min(free_base),
        };
        let base = wanted - wanted % self.scale.exact_lot(price);
        let Some(quote) = self.scale.quote_floor(base, price) else {
            return;
        };
        if base < self.minimums[0] || quote < self.minimums[1] {
            return;
        }
        self.placed += 1;
        let mut hash = [0; 32];
        hash[1] = 0xc5;
        hash[24..].copy_from_slice(&self.placed.to_be_bytes());
        let hash = Hash(hash);
        let (sold, bought) = ((self.spec.base.id, base), (self.spec.quote.id, quote));
        let ((sell_token, sell_amount), (buy_token, buy_amount), fill_by) = match side {
            Side::Buy => (bought, sold, FillBy::Buy),
            Side::Sell => (sold, bought, FillBy::Sell),
        };
        let order = NewOrder {
            hash,
            exchange: self.exchange,
            account: OWN_ACCOUNT,
            // Even numbers are of orders.
            storage_id: self.placed * 2,
            sell_token,
            sell_amount,
            buy_token,
            buy_amount,
            fill_by,
            all_or_none: false,
            valid_until_s: clock.as_s() + self.rules.order_life_s,
            max_fee_bips: FEE_MAX_BIPS,
            taker: [0; 20],
            kind: OrderKind::MakerOnly,
            pool: None,
            client_id: None,
        };
        self.orders.insert(hash, Claimed::default());
        self.ask(Asked::Submit(hash), Request::Submit(Box::new(order)), sent);
    }

    /// The price at the constant distance from the mid, rounded away from it; `None` outside 1 to 2^64 - 1 ticks.
    fn price(&self, side: Side, mid2: u64) -> Option<Price> {
        let (mid2, spread) = (u128::from(mid2), u128::from(self.rules.spread_bps));
        let ticks = match side {
            Side::Buy => mid2 * 10_000u128.checked_sub(spread)? / 20_000,
            Side::Sell => (mid2 * (10_000 + spread)).div_ceil(20_000),
        };
        u64::try_from(ticks)
            .ok()
            .filter(|ticks| *ticks > 0)
            .map(Price)
    }
}

#[cfg(test)]
#[path = "constant_spread_tests.rs"]
mod constant_spread_tests;
