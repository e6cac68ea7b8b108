//! Whether the daemon states why a side has no quotes, compared step by step with its orders. A side without any order
//! must have a reason, and one with a resting order must have none.

use crate::invariants::table::Invariant;
use std::collections::{BTreeMap, BTreeSet};

use cambist_core::action::Action;
use cambist_core::event::Event;
use cambist_core::notification::{Control, Notification, Status, Withheld};
use cambist_core::{ClientOrderId, Intent, MarketId, Side, Time, VenueTime};

use crate::invariants::sending::Broken;

/// A decided cancel may wait this long for its request while its order rests.
const UNCANCELLED_MS: u64 = 60_000;

/// An order that may be alive, by the daemon's notifications.
#[derive(Clone, Copy, Debug)]
struct Order {
    side: (MarketId, Side),
    valid_until: VenueTime,
    rests: bool,
    cancelled: bool,
}

/// Orders and reasons of one run of the daemon.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unquoted {
    sides: Vec<(MarketId, Side)>,
    /// Markets with a strategy: at others nothing is ever decided.
    decided: BTreeSet<MarketId>,
    orders: BTreeMap<ClientOrderId, Order>,
    reasons: BTreeMap<(MarketId, Side), Withheld>,
    /// Since when an order rests on a side that has a reason.
    contradicted: BTreeMap<(MarketId, Side), Time>,
    /// Reasons reported so far, for coverage.
    pub(crate) reported: BTreeMap<Control, u64>,
}

impl Unquoted {
    /// Checks one step of the daemon at its time `now`, while the venue's clock shows `venue_now`.
    pub(crate) fn step(
        &mut self,
        now: Time,
        venue_now: VenueTime,
        event: &Event,
        actions: &[Action],
    ) -> Vec<Broken> {
        let mut broken = Vec::new();
        if let Event::Start(start) = event {
            let reported = std::mem::take(&mut self.reported);
            let markets = start.markets.iter().map(|spec| spec.id);
            let sides = markets.flat_map(|id| Side::BOTH.map(|side| (id, side)));
            let orders = start.open.iter().map(|open| &open.order);
            let orders = orders.filter(|order| order.swap.is_none());
            *self = Self {
                sides: sides.collect(),
                decided: start.strategies.iter().map(|(_, at)| *at).collect(),
                orders: orders.map(|order| (order.client_id, of(order))).collect(),
                reported,
                ..Self::default()
            };
        }
        let mut finished = false;
        for action in actions {
            match action {
                Action::Seal { intents, .. } => {
                    for intent in intents {
                        // A swap is no quote: it never rests.
                        if let Intent::Order(order) = intent
                            && order.swap.is_none()
                        {
                            self.orders.insert(order.client_id, of(order));
                        }
                    }
                }
                Action::Notify(notification) => self.observe(notification, &mut broken),
                Action::Finished { .. } => finished = true,
                _ => {}
            }
        }
        if !finished {
            self.judge(now, venue_now, &mut broken);
        }
        broken
    }

    fn observe(&mut self, notification: &Notification, broken: &mut Vec<Broken>) {
        match notification {
            Notification::Acknowledged { order, .. } => self.rests(*order),
            Notification::Resolved { order, status } if !status.is_final() => self.rests(*order),
            Notification::CancelSent { order } => {
                if let Some(order) = self.orders.get_mut(order) {
                    order.cancelled = true;
                }
            }
            Notification::Ended { order, .. } => drop(self.orders.remove(order)),
            Notification::Withheld {
                market,
                side,
                withheld,
            } => {
                let before = self.reasons.remove(&(*market, *side));
                if let Some(why) = withheld {
                    *self.reported.entry(why.control).or_default() += 1;
                    self.reasons.insert((*market, *side), *why);
                    if why.control == Control::Undecided && self.decided.contains(market) {
                        let detail = format!("market {} {}", market.0, side.name());
                        broken.push((Invariant::Undecided, detail));
                    }
                }
                let same = match (&before, withheld) {
                    (None, None) => true,
                    (Some(before), Some(why)) => before.is_alike(why),
                    (None, Some(_)) | (Some(_), None) => false,
                };
                if same {
                    let detail = format!("{withheld:?} is reported a second time");
                    broken.push((Invariant::ReasonRepeated, detail));
                }
            }
            Notification::Status(status) => self.compare(status, broken),
            _ => {}
        }
    }

    fn rests(&mut self, order: ClientOrderId) {
        if let Some(order) = self.orders.get_mut(&order) {
            order.rests = true;
        }
    }

    /// The status has the reported reasons.
    fn compare(&self, status: &Status, broken: &mut Vec<Broken>) {
        for side in &self.sides {
            let shown = status.markets.get(usize::from(side.0.0));
            let shown = shown.and_then(|market| market.withheld[side.1 as usize]);
            let reported = self.reasons.get(side);
            let same = match (&shown, reported) {
                (None, None) => true,
                (Some(shown), Some(reported)) => shown.is_alike(reported),
                (None, Some(_)) | (Some(_), None) => false,
            };
            if !same {
                let detail = format!("{side:?}: reported {reported:?}, in the status {shown:?}");
                broken.push((Invariant::ReasonDiffers, detail));
            }
        }
    }

    fn judge(&mut self, now: Time, venue_now: VenueTime, broken: &mut Vec<Broken>) {
        for side in &self.sides {
            let reason = self.reasons.get(side);
            let mut alive = self.orders.values().filter(|order| order.side == *side);
            let alive = alive
                .clone()
                .any(|order| !order.cancelled)
                .then(|| alive.any(|o| o.rests && !o.cancelled && venue_now < o.valid_until));
            if reason.is_none() && alive.is_none() {
                broken.push((Invariant::NoReason, format!("{side:?} has no order")));
            }
            let contradicted = reason.filter(|_| alive == Some(true));
            let Some(reason) = contradicted else {
                self.contradicted.remove(side);
                continue;
            };
            let since = *self.contradicted.entry(*side).or_insert(now);
            if now.ms_since(since) > UNCANCELLED_MS {
                let orders = self.orders.iter().filter(|(_, order)| {
                    let rests = order.rests && !order.cancelled && venue_now < order.valid_until;
                    order.side == *side && rests
                });
                let numbers: Vec<_> = orders.map(|(id, _)| id.number).collect();
                let detail = format!(
                    "{side:?}: {} while orders {numbers:?} rest",
                    reason.control.name()
                );
                broken.push((Invariant::ReasonThoughQuoted, detail));
                self.contradicted.insert(*side, now);
            }
        }
    }
}

fn of(order: &cambist_core::order::UnsignedOrder) -> Order {
    Order {
        side: (order.market, order.side),
        valid_until: order.lifetime().last_effect(),
        rests: false,
        cancelled: false,
    }
}
