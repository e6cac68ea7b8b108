//! Foreign orders: orders on the account that this daemon did not make.
//!
//! Tolerated ones are reported once and left alone. Managed ones count at their worst like own orders and are cancelled
//! until they are seen to have ended; their fills are booked from the moment they are managed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::books::Entry;
use crate::config::ForeignOrders;
use crate::event::TradingState;
use crate::market::{MarketId, MarketSpec, Price, Side};
use crate::notification::Notification;
use crate::order::{Hash, OrderReport};
use crate::postings::{Postings, Traded};
use crate::request::{Endpoint, Outcome, Query, Reply};
use crate::time::{Time, VenueTime};
use crate::token::{Amount, TokenId};

use crate::engine::intents::registry::Increment;
use crate::engine::state::{RequestPurpose, State};

/// Foreign orders that are remembered, so that each is reported once. Further ones are reported again and again; no
/// proof depends on this memory.
const KEPT: usize = 1_024;

/// A managed foreign order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Managed {
    market: MarketId,
    pub(crate) side: Side,
    /// Price in ticks, rounded towards the other side: the worst case for a crossing.
    pub(crate) price: Price,
    sell_token: TokenId,
    buy_token: TokenId,
    amounts: (Amount, Amount),
    filled: (Amount, Amount, Amount),
    valid_until: VenueTime,
    /// When a cancel or a read is due.
    next_step_at: Time,
    /// Whether the next step is a read; otherwise a cancel.
    reads_next: bool,
    in_flight: bool,
    steps: u32,
}

/// All foreign orders that are known to be open.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Foreign {
    orders: BTreeMap<Hash, Option<Managed>>,
}

impl Foreign {
    /// One managed order, which sells one token for another.
    #[cfg(test)]
    pub(crate) fn managing(sell_token: TokenId, buy_token: TokenId) -> Self {
        let managed = Managed {
            market: MarketId(0),
            side: Side::Sell,
            price: Price(1),
            sell_token,
            buy_token,
            amounts: (5, 5),
            filled: (0, 0, 0),
            valid_until: VenueTime(1),
            next_step_at: Time(0),
            reads_next: false,
            in_flight: false,
            steps: 0,
        };
        Self {
            orders: BTreeMap::from([(Hash([1; 32]), Some(managed))]),
        }
    }

    /// Managed orders.
    pub(crate) fn managed(&self) -> impl Iterator<Item = &Managed> {
        self.orders.values().flatten()
    }

    /// Whether any foreign order may be open.
    pub(crate) fn is_any_known(&self) -> bool {
        !self.orders.is_empty()
    }

    /// Whether a managed order may be open.
    pub(crate) fn is_any_managed(&self) -> bool {
        self.managed().next().is_some()
    }

    /// Amount of a token that managed orders may still pay.
    pub(crate) fn paying(&self, token: TokenId) -> Amount {
        let paying = self.managed().filter(|m| m.sell_token == token);
        paying.map(|m| m.left(m.side == Side::Sell)).sum()
    }

    /// Amount of a token that managed orders may still receive.
    pub(crate) fn bringing(&self, token: TokenId) -> Amount {
        let bringing = self.managed().filter(|m| m.buy_token == token);
        bringing.map(|m| m.left(m.side == Side::Buy)).sum()
    }

    /// Whether one of our orders would trade with a managed one.
    pub(crate) fn is_crossed(&self, market: MarketId, side: Side, price: Price) -> bool {
        self.managed()
            .any(|m| m.market == market && m.side != side && side.reaches(price, m.price))
    }

    /// The requests that managed orders wait for, with the times from which they are due.
    pub(crate) fn due(&self) -> impl Iterator<Item = (Endpoint, Time)> {
        let waiting = self.managed().filter(|m| !m.in_flight);
        waiting.map(|m| (m.next_request(), m.next_step_at))
    }
}

impl Managed {
    fn of(now: Time, spec: &MarketSpec, report: &OrderReport) -> Self {
        Self {
            market: spec.id,
            side: report.side,
            price: price_towards_other(spec, report),
            sell_token: spec.sell_token(report.side),
            buy_token: spec.buy_token(report.side),
            amounts: (report.base_amount, report.quote_amount),
            filled: (report.base_filled, report.quote_filled, report.fee),
            valid_until: VenueTime::from_s(u64::from(report.valid_until_s)),
            next_step_at: now,
            reads_next: false,
            in_flight: false,
            steps: 0,
        }
    }

    const fn next_request(&self) -> Endpoint {
        if self.reads_next {
            Endpoint::Order
        } else {
            Endpoint::Cancel
        }
    }

    fn left(&self, base: bool) -> Amount {
        let (amount, filled) = if base {
            (self.amounts.0, self.filled.0)
        } else {
            (self.amounts.1, self.filled.1)
        };
        amount.saturating_sub(filled)
    }
}

/// Ticks of a price that may be between two ticks: rounded up for a bid, down for an ask.
fn price_towards_other(spec: &MarketSpec, report: &OrderReport) -> Price {
    let above = report.quote_amount.saturating_mul(spec.lot);
    let below = report
        .base_amount
        .saturating_mul(spec.quote_per_lot_tick)
        .max(1);
    let ticks = match report.side {
        Side::Buy => above.div_ceil(below),
        Side::Sell => above / below,
    };
    Price(u64::try_from(ticks).unwrap_or(u64::MAX))
}

impl State {
    /// Handles a report about a foreign order.
    pub(crate) fn observe_foreign(
        &mut self,
        now: Time,
        report: &OrderReport,
        actions: &mut Vec<Action>,
    ) {
        self.observe_foreign_as(now, self.config.foreign, report, actions);
    }

    /// Handles a report about a foreign order that is to be managed whatever `foreign_orders` is.
    pub(crate) fn manage_foreign(
        &mut self,
        now: Time,
        report: &OrderReport,
        actions: &mut Vec<Action>,
    ) {
        self.observe_foreign_as(now, ForeignOrders::Adopt, report, actions);
    }

    fn observe_foreign_as(
        &mut self,
        now: Time,
        policy: ForeignOrders,
        report: &OrderReport,
        actions: &mut Vec<Action>,
    ) {
        if let Some(Some(managed)) = self.foreign.orders.get_mut(&report.hash) {
            let (market, side) = (managed.market, managed.side);
            if let Some(step) = Increment::between(managed.filled, report) {
                managed.filled.0 += step.base;
                managed.filled.1 += step.quote;
                managed.filled.2 += step.fee;
                self.book_flow(now, market, side, step);
                self.book_foreign_fill(market, side, step, actions);
            }
        }
        if report.status.is_final() {
            self.foreign.orders.remove(&report.hash);
            return;
        }
        if self.foreign.orders.contains_key(&report.hash) || self.foreign.orders.len() >= KEPT {
            return;
        }
        let hash = report.hash;
        actions.push(Action::Notify(Notification::Foreign { hash }));
        let spec = self.markets.iter().map(|market| &market.spec);
        let spec = spec.clone().find(|spec| report.market == *spec.name);
        let managed = match policy {
            ForeignOrders::Alarm => {
                self.raise(TradingState::CancelOnly, "foreign_order", actions);
                None
            }
            ForeignOrders::Tolerate => None,
            ForeignOrders::Adopt => spec.map(|spec| Managed::of(now, spec, report)),
        };
        if managed.is_some() {
            actions.push(Action::Notify(Notification::ForeignAdopted { hash }));
            self.touch_all();
        }
        self.foreign.orders.insert(hash, managed);
    }

    /// A fill of a foreign order is not a fill of ours: it is booked as an explained flow.
    fn book_foreign_fill(
        &mut self,
        market: MarketId,
        side: Side,
        step: Increment,
        actions: &mut Vec<Action>,
    ) {
        let Increment { base, quote, fee } = step;
        let traded = Traded { base, quote, fee };
        let postings = Postings::of_trade(&self.market(market).spec, side, traded);
        for (token, amount) in postings.iter() {
            let reason = "fill of a managed foreign order".to_owned();
            self.pending.entry(Entry::Flow {
                token,
                amount,
                reason: reason.clone(),
            });
            actions.push(Action::Notify(Notification::Adopted {
                token,
                amount,
                reason,
            }));
        }
    }

    /// Cancels managed orders, with reads in between, until they are seen to have ended or have expired.
    pub(crate) fn cancel_foreign(&mut self, now: Time, actions: &mut Vec<Action>) {
        let dead = self.clock.at_least(now).minus_ms(self.config.grace_ms);
        self.foreign
            .orders
            .retain(|_, managed| managed.as_ref().is_none_or(|m| m.valid_until >= dead));
        let due: Vec<_> = self
            .foreign
            .orders
            .iter()
            .filter_map(|(hash, managed)| Some((*hash, managed.as_ref()?)))
            .filter(|(_, m)| !m.in_flight && m.next_step_at <= now)
            .map(|(hash, m)| (hash, m.market, m.reads_next))
            .collect();
        for (hash, market, reads) in due {
            let (endpoint, query) = if reads {
                (Endpoint::Order, Query::Order(hash))
            } else {
                (Endpoint::Cancel, Query::Cancel(hash))
            };
            if !self.take_token(now, endpoint) {
                return;
            }
            if !reads {
                // How long it has existed is not known: no cancel costs more than that of a new one.
                self.trading.count_cancel(now, market, 0);
            }
            self.send(now, RequestPurpose::Foreign { hash, reads }, query, actions);
            if let Some(Some(managed)) = self.foreign.orders.get_mut(&hash) {
                managed.in_flight = true;
            }
        }
    }

    /// Handles the answer to a cancel or a read of a managed order.
    pub(crate) fn handle_foreign(
        &mut self,
        now: Time,
        (hash, read): (Hash, bool),
        outcome: &Outcome,
        actions: &mut Vec<Action>,
    ) {
        let pause_ms = self.config.resend_after_ms;
        if let Some(Some(managed)) = self.foreign.orders.get_mut(&hash) {
            managed.in_flight = false;
            managed.reads_next = !read;
            managed.steps = managed.steps.saturating_add(1);
            managed.next_step_at = now.plus_ms(pause_ms << managed.steps.min(10).div_euclid(2));
        }
        if let Outcome::Reply(Reply::Order(report)) = outcome
            && report.hash == hash
        {
            match report.client_id {
                Some(_) => self.manage_foreign(now, report, actions),
                None => self.observe_foreign(now, report, actions),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: TokenId = TokenId(0);
    const QUOTE: TokenId = TokenId(1);

    fn managed(side: Side, filled: (Amount, Amount)) -> Managed {
        let (sell_token, buy_token) = match side {
            Side::Buy => (QUOTE, BASE),
            Side::Sell => (BASE, QUOTE),
        };
        Managed {
            market: MarketId(0),
            side,
            price: Price(10),
            sell_token,
            buy_token,
            amounts: (100, 1_000),
            filled: (filled.0, filled.1, 0),
            valid_until: VenueTime(0),
            next_step_at: Time(0),
            reads_next: false,
            in_flight: false,
            steps: 0,
        }
    }

    /// Each side counts what is left of it in the token that it pays and in the one that it receives, and a tolerated
    /// order counts nowhere.
    #[test]
    fn managed_orders_count_in_the_tokens_that_they_trade() {
        let mut foreign = Foreign::default();
        assert!(!foreign.is_any_known() && !foreign.is_any_managed());
        foreign.orders.insert(Hash([1; 32]), None);
        assert!(foreign.is_any_known() && !foreign.is_any_managed());
        let of = |foreign: &Foreign| {
            [BASE, QUOTE, TokenId(2)].map(|t| (foreign.paying(t), foreign.bringing(t)))
        };
        assert_eq!(of(&foreign), [(0, 0); 3]);
        let ask = managed(Side::Sell, (30, 290));
        foreign.orders.insert(Hash([2; 32]), Some(ask));
        assert_eq!(of(&foreign), [(70, 0), (0, 710), (0, 0)]);
        let bid = managed(Side::Buy, (1, 9));
        foreign.orders.insert(Hash([3; 32]), Some(bid));
        assert_eq!(of(&foreign), [(70, 99), (991, 710), (0, 0)]);
        assert!(foreign.is_any_managed());
    }
}
