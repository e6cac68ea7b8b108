//! The state at one moment for [`crate::inspection`]: the inputs of decisions, without changing anything.

use crate::inspection::{
    Inspection, MarketInspection, OrderInspection, OrderState, StrategyInspection,
};
use crate::market::{MarketId, Side};
use crate::strategy::{Strategy, Targets};
use crate::time::Time;

use crate::engine::intents::lifecycle::Phase;
use crate::engine::intents::registry::Tracked;
use crate::engine::orders::decide::at_full_size;
use crate::engine::state::State;

impl State {
    /// The state at `now`. The strategies are copies: their state after this call is dropped.
    pub(crate) fn inspect(&self, now: Time, strategies: &mut [Box<dyn Strategy>]) -> Inspection {
        let ids = self.markets.iter().map(|market| market.spec.id);
        Inspection {
            now,
            venue_time: self.clock.at_least(now),
            status: self.status(now),
            markets: ids
                .map(|id| self.inspect_market(now, id, strategies))
                .collect(),
        }
    }

    fn inspect_market(
        &self,
        now: Time,
        id: MarketId,
        strategies: &mut [Box<dyn Strategy>],
    ) -> MarketInspection {
        let market = self.market(id);
        let prices = self.prices(id);
        let quoting_mid = self.quoting_mid(now, id, &prices);
        // A decision removes the fills since the last one from the state.
        let mut copy = None;
        let slots = self.slots.iter().enumerate();
        let own_slots = slots.filter(|(_, slot)| slot.market == id);
        let asked = own_slots.map(|(seat, slot)| {
            let targets = match (&quoting_mid, strategies.get_mut(seat)) {
                (Ok(mid), Some(strategy)) => {
                    let share_bps = self.ramp.share_bps(now, &self.config.ramp);
                    let own = at_full_size(&self.working_of(now, seat), share_bps);
                    copy.get_or_insert_with(|| self.clone()).ask(
                        now,
                        seat,
                        strategy.as_mut(),
                        &own,
                        &prices,
                        *mid,
                    )
                }
                (Err(_), _) | (_, None) => Targets::default(),
            };
            StrategyInspection {
                strategy: slot.strategy,
                quotes: targets.quotes().to_vec(),
                withheld: Side::BOTH.map(|side| targets.withheld(side)),
                shares: targets.shares(),
            }
        });
        let strategies = asked.collect();
        let orders = self.orders.of_market(id);
        MarketInspection {
            market: market.spec.clone(),
            mid: prices.mid,
            quoting_mid,
            depth_time: market.book.timestamp(),
            depth_age_ms: market.book.age_ms(now),
            strategies,
            orders: orders.map(|tracked| self.inspect_order(tracked)).collect(),
            refused_by: market.refused_by.iter().copied().collect(),
            bids: prices.bids.clone(),
            asks: prices.asks.clone(),
        }
    }

    fn inspect_order(&self, tracked: &Tracked) -> OrderInspection {
        let order = &tracked.order;
        let left = tracked.base_left(tracked.base_amount());
        OrderInspection {
            id: order.client_id,
            market: order.market,
            side: order.side,
            price: tracked.price(),
            qty: order.qty,
            remaining: self.market(order.market).spec.lots_floor(left),
            state: match tracked.lifecycle.phase {
                Phase::Sealing => OrderState::Sealing,
                Phase::Sealed => OrderState::Sealed,
                Phase::InFlight => OrderState::InFlight,
                Phase::Unknown { .. } => OrderState::Unknown,
                Phase::Live => OrderState::Live,
            },
            cancelling: tracked.lifecycle.cancel.is_some(),
            decision: self.market(order.market).decisions.of(order.client_id),
            valid_until: tracked.rests_until(),
        }
    }
}
