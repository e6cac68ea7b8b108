//! Orders that are moved to another price instead of being cancelled and made again, where the venue amends orders.
//!
//! An order is moved if it is not wanted where it rests, its quantity is wanted at another price, and that price offers at
//! most what was signed. It keeps its quantity and its expiry. At a venue that counts orders and young cancels this adds
//! less, and takes one request instead of two. What cannot be moved is cancelled and replaced.

use crate::action::Action;
use crate::inspection::OrderDecision;
use crate::market::{Price, Side};
use crate::notification::{Notification, Withheld};
use crate::order::{ClientOrderId, OrderKind, OrderReport};
use crate::request::{Amend, Endpoint, Outcome, Query};
use crate::strategy::Quote;
use crate::time::Time;

use crate::engine::intents::amends::AmendOutcome;
use crate::engine::market_data::book::OwnLevel;
use crate::engine::orders::diff::{Diff, Tolerance, Working, WorkingState};
use crate::engine::state::{RequestPurpose, State};

impl State {
    /// Takes out of a comparison the orders that are moved instead of cancelled, with the quotes that they serve then.
    pub(crate) fn choose_amends(
        &mut self,
        now: Time,
        (index, mid): (usize, Result<u64, Withheld>),
        (working, tolerance): (&[Working], Tolerance),
        found: &mut Diff,
    ) -> Vec<(ClientOrderId, Quote)> {
        let mut chosen = Vec::new();
        if !self.venue.amends_orders {
            return chosen;
        }
        for order in working {
            let Some(cancelled) = found.cancel.iter().position(|id| *id == order.id) else {
                continue;
            };
            if order.state != WorkingState::Live || order.expiring {
                continue;
            }
            let accepts = |quote: &Quote| {
                let at_its_price = Working {
                    price: quote.price,
                    ..*order
                };
                tolerance.accepts(quote, &at_its_price)
            };
            let mut place = found.place.iter();
            let place = place.position(|missing| {
                missing.replaces.is_none()
                    && accepts(&missing.quote)
                    && self.may_be_moved(now, (index, mid), order, missing.quote.price)
            });
            let Some(place) = place else { continue };
            if !self.take_token(now, Endpoint::Amend) {
                continue;
            }
            let quote = found.place.remove(place).quote;
            found.cancel.remove(cancelled);
            let market = self.markets[index].spec.id;
            let age_ms = self.age_ms(now, order.id);
            self.trading.count_amend(now, market, age_ms);
            self.counters.cancels.add(now);
            chosen.push((order.id, quote));
        }
        chosen
    }

    /// Whether gate and counter let an order be moved to this price.
    fn may_be_moved(
        &self,
        now: Time,
        (index, mid): (usize, Result<u64, Withheld>),
        order: &Working,
        price: Price,
    ) -> bool {
        let Some(tracked) = self.orders.get(order.id) else {
            return false;
        };
        let market = self.markets[index].spec.id;
        let is_better = match order.side {
            Side::Buy => price > order.price,
            Side::Sell => price < order.price,
        };
        let of = (self.age_ms(now, order.id), is_better);
        let cancels = self.decided_cancels(now, market);
        // A depth shows it where it is, so that none shows it at more than two prices.
        let generated_at = self.markets[index].book.generated_at();
        tracked.amends.may_begin()
            && tracked.amends.is_settled_at(generated_at)
            && self.markets[index].backoff.withheld(now).is_none()
            && self
                .situation(now, index, mid)
                .approve_amend(tracked, price)
                .is_ok()
            && self
                .trading
                .room_for_amend(now, market, of, cancels)
                .is_ok()
    }

    /// Sends the amends that were chosen in a comparison.
    pub(crate) fn send_amends(
        &mut self,
        now: Time,
        chosen: Vec<(ClientOrderId, Quote)>,
        actions: &mut Vec<Action>,
    ) {
        for (id, wanted) in chosen {
            let Some(tracked) = self.orders.get(id) else {
                continue;
            };
            let Some(hash) = tracked.lifecycle.hash else {
                continue;
            };
            let (market, price) = (tracked.order.market, wanted.price);
            let amend = Amend {
                order: hash,
                market,
                price,
                maker_only: tracked.order.kind == OrderKind::MakerOnly,
            };
            let purpose = RequestPurpose::Amend(id);
            let request = self.send(now, purpose, Query::Amend(amend), actions);
            actions.push(Action::Notify(Notification::AmendSent {
                order: id,
                market,
                price,
            }));
            if let Some(tracked) = self.orders.get_mut(id) {
                tracked.amends.begin(request, price);
            }
            let decisions = &mut self.market_mut(market).decisions;
            decisions.record(id, OrderDecision::Amended { wanted });
        }
    }

    /// Handles the answer to an amend. It ends nothing and fills nothing; an order that was not moved is compared again
    /// where it rested before.
    pub(crate) fn handle_amend(
        &mut self,
        now: Time,
        id: ClientOrderId,
        outcome: &Outcome,
        actions: &mut Vec<Action>,
    ) {
        let refusals = &self.venue.refusals;
        let Some(tracked) = self.orders.get_mut(id) else {
            return;
        };
        let market = tracked.order.market;
        let effect = tracked
            .amends
            .answer(now, tracked.order.price, outcome, refusals);
        // It does not rest any more.
        let is_gone =
            matches!(outcome, Outcome::Refused(reason) if refusals.is_nothing_to_cancel(*reason));
        if is_gone {
            tracked.read_wanted = true;
            tracked.lifecycle.not_there(now);
        }
        let whole = tracked.level_whole();
        let price = match effect {
            AmendOutcome::Moved { from, to } => {
                let before = OwnLevel {
                    price: from,
                    ..whole
                };
                self.market_mut(market).book.part(now, id, before);
                Some(to)
            }
            AmendOutcome::NotMoved => None,
        };
        actions.push(Action::Notify(Notification::AmendEnded {
            order: id,
            market,
            price,
        }));
        self.market_mut(market).decision_due = true;
    }

    /// The price at which an order rests by its report, where orders can be moved; an earlier run may have moved it.
    pub(crate) fn follow_price(&mut self, now: Time, report: &OrderReport, id: ClientOrderId) {
        if !self.venue.amends_orders || report.status.is_final() {
            return;
        }
        let Some(market) = self.orders.market_of(id) else {
            return;
        };
        let spec = &self.market(market).spec;
        let lots = spec.lots_floor(report.base_amount);
        let per_tick = spec
            .quote_amount(Price(1), lots)
            .filter(|amount| *amount > 0);
        let ticks = per_tick.and_then(|amount| u64::try_from(report.quote_amount / amount).ok());
        let Some(price) = ticks.map(Price) else {
            return;
        };
        if let Some(tracked) = self.orders.get_mut(id) {
            let before = tracked.price();
            tracked.amends.listed(now, tracked.order.price, price);
            let is_news = tracked.price() != before;
            self.market_mut(market).decision_due |= is_news;
        }
    }

    /// For how long an order has existed at least.
    pub(crate) fn age_ms(&self, now: Time, id: ClientOrderId) -> u64 {
        let live_since = self.orders.lifecycle(id).and_then(|life| life.live_since);
        live_since.map_or(0, |since| now.ms_since(since))
    }
}
