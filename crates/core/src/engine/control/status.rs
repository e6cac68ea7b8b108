//! Status for operators and metrics, from the state that decisions use.

use crate::action::Action;
use crate::market::{MarketId, Side};
use crate::notification::{MarketStatus, Notification, Status};
use crate::time::Time;

use crate::engine::intents::lifecycle::Phase;
use crate::engine::intents::registry::Tracked;
use crate::engine::intents::unquoted::SideOrders;
use crate::engine::market::BreakBeforeMake;
use crate::engine::state::State;

/// What becomes of the status when it is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StatusOutput {
    /// It is computed and emitted.
    #[default]
    Emitted,
    /// It is computed for those who ask for it only.
    OnRequest,
}

impl State {
    /// Reports a change of both-sided quotes at once, and the whole status at intervals and after a command or a change
    /// of restrictions, so that a following query sees the result.
    pub(crate) fn emit_status(&mut self, now: Time, actions: &mut Vec<Action>) {
        for index in 0..self.markets.len() {
            let market = self.markets[index].spec.id;
            let orders = self.side_orders(now, market);
            self.emit_side_empty(now, market, orders, actions);
            self.emit_unquoted(now, index, orders, actions);
            let both = orders.iter().all(|side| side.rests);
            if both != self.markets[index].both_sides_quoted {
                self.markets[index].both_sides_quoted = both;
                actions.push(Action::Notify(Notification::BothSides { market, both }));
            }
        }
        let changed = actions.iter().any(|action| match action {
            Action::Notify(notification) => matches!(
                notification,
                Notification::CommandAccepted { .. }
                    | Notification::Paused(_)
                    | Notification::Unpaused { .. }
                    | Notification::TradingStateChanged { .. }
            ),
            _ => false,
        });
        if changed || now >= self.status_due {
            self.status_due = now.plus_ms(self.config.status_ms.max(1));
            if self.status == StatusOutput::Emitted {
                let status = Box::new(self.status(now));
                actions.push(Action::Notify(Notification::Status(status)));
            }
        }
    }

    /// Reports for how long a side was dark because its order ended before its replacement was sent.
    fn emit_side_empty(
        &mut self,
        now: Time,
        market: MarketId,
        orders: [SideOrders; 2],
        actions: &mut Vec<Action>,
    ) {
        for side in Side::BOTH {
            let quoted = orders[side as usize].rests;
            let broken = &mut self.market_mut(market).break_before_make[side as usize];
            match (*broken, quoted) {
                (BreakBeforeMake::No, _)
                | (BreakBeforeMake::Decided, true)
                | (BreakBeforeMake::SideEmpty(_), false) => {}
                (BreakBeforeMake::Decided, false) => *broken = BreakBeforeMake::SideEmpty(now),
                (BreakBeforeMake::SideEmpty(since), true) => {
                    *broken = BreakBeforeMake::No;
                    let ms = now.ms_since(since);
                    actions.push(Action::Notify(Notification::SideEmpty { market, side, ms }));
                }
            }
        }
    }

    pub(crate) fn status(&self, now: Time) -> Status {
        let unknown_since = self
            .orders
            .lives()
            .filter_map(|(_, lifecycle)| lifecycle.unknown_since())
            .min();
        Status {
            markets: self
                .markets
                .iter()
                .map(|m| self.market_status(now, m.spec.id))
                .collect(),
            pools: self
                .markets
                .iter()
                .filter_map(|m| self.pool_status(now, m.spec.id))
                .collect(),
            references: self.reference_status(now),
            ledger: self.ledger.totals(),
            venue: self.ledger.venue_totals(),
            books: self.books_status(),
            level: self.restrictions.level(),
            pauses: self
                .restrictions
                .durable()
                .holding(self.clock.at_least(now))
                .cloned()
                .collect(),
            ready: self.ready,
            draining: self.drain.is_some(),
            used: self.used_together(now),
            ramp_bps: self.ramp.share_bps(now, &self.config.ramp),
            tokens: self.budget.tokens(now),
            sent: self.budget.sent(),
            allowed: self.budget.allowed(now),
            unknown_since,
            others: self.instances.named(),
        }
    }

    fn market_status(&self, now: Time, id: MarketId) -> MarketStatus {
        let market = self.market(id);
        let count = |wanted: &dyn Fn(&Tracked) -> bool| {
            let n = self.orders.of_market(id).filter(|t| wanted(t)).count();
            u32::try_from(n).unwrap_or(u32::MAX)
        };
        let live = |side: Side| {
            count(&|t| {
                t.order.side == side
                    && t.lifecycle.phase == Phase::Live
                    && t.lifecycle.cancel.is_none()
            })
        };
        MarketStatus {
            mid: self.prices(id).mid,
            bid: self.orders.best_price(id, Side::Buy),
            ask: self.orders.best_price(id, Side::Sell),
            live: [live(Side::Buy), live(Side::Sell)],
            in_flight: count(&|t| !t.may_have_left() || t.lifecycle.phase == Phase::InFlight),
            unknown: count(&|t| matches!(t.lifecycle.phase, Phase::Unknown { .. })),
            cancelling: count(&|t| {
                t.lifecycle.phase == Phase::Live && t.lifecycle.cancel.is_some()
            }),
            withheld: self.unquoted_sides(now, id),
            depth_time: market.book.timestamp(),
            used: self.used_of(now, market),
        }
    }
}
