//! Replacements that wait, where the venue counts orders and young cancels ([`TradingCounter`]).
//!
//! A cancel is needed at once if its order offers more or a better price than is wanted now. It can wait if its
//! replacement would only offer more or a better price than it, or if it expires by itself at a price that is still
//! wanted. Then the order stays, and its quote is served by it until the counter has room.

use crate::market::{MarketId, Side};
use crate::order::ClientOrderId;
use crate::strategy::Quote;
use crate::time::Time;
use crate::withheld::Withheld;

use crate::engine::intents::lifecycle::Phase;
use crate::engine::orders::diff::{Diff, Missing, Tolerance, Working, WorkingState};
use crate::engine::state::State;

impl State {
    /// Takes out of a comparison what has no room in the counter and can wait.
    pub(crate) fn let_replacements_wait(
        &mut self,
        now: Time,
        index: usize,
        (quotes, working, tolerance): (&[Quote], &[Working], Tolerance),
        found: &mut Diff,
    ) {
        let id = self.markets[index].spec.id;
        if self.trading.level(now, id).is_none() {
            return;
        }
        let mut planned = 0;
        for order in working {
            let Some(at) = found.cancel.iter().position(|id| *id == order.id) else {
                continue;
            };
            let replacement = match waits(order, quotes, &found.place, tolerance) {
                Waits::No => continue,
                Waits::ForExpiry => None,
                Waits::ForReplacement(place) => Some(place),
            };
            let of = (self.age_ms(now, order.id), replacement.is_some());
            let room = self.trading.room_for_improvement(now, id, of, &mut planned);
            if let Err((_, frees_at)) = room {
                found.cancel.remove(at);
                if let Some(place) = replacement {
                    found.place.remove(place);
                }
                self.wait_for_counter(index, frees_at);
            }
        }
    }

    /// The market is decided again when its counter has room.
    pub(crate) fn wait_for_counter(&mut self, index: usize, frees_at: Time) {
        let waits = &mut self.markets[index].counter_frees_at;
        *waits = Some(waits.map_or(frees_at, |at| at.min(frees_at)));
    }

    /// What the cancels of a market that are decided and were not sent yet will add at most.
    pub(crate) fn decided_cancels(&self, now: Time, market: MarketId) -> u32 {
        let unsent = self.orders.of_market(market).filter(|tracked| {
            let lifecycle = &tracked.lifecycle;
            let decided = lifecycle.cancel.is_some_and(|c| c.last_sent.is_none());
            // What has not left is dropped.
            decided && !matches!(lifecycle.phase, Phase::Sealing | Phase::Sealed)
        });
        let ids = unsent.map(|tracked| tracked.order.client_id);
        ids.map(|id| self.trading.of_cancel(self.age_ms(now, id)))
            .sum()
    }

    /// Whether the market's counter has room for another order.
    pub(crate) fn room_for_order(
        &self,
        now: Time,
        market: MarketId,
    ) -> Result<(), (Withheld, Time)> {
        if self.trading.level(now, market).is_none() {
            return Ok(());
        }
        let cancels = self.decided_cancels(now, market);
        self.trading.room_for_order(now, market, cancels)
    }

    /// Whether an order that was counted when it was approved still has its room: cancels do not wait for it.
    pub(crate) fn keeps_room(&self, now: Time, id: ClientOrderId) -> Result<(), Withheld> {
        let market = self.orders.market_of(id);
        let counted = market.filter(|market| self.trading.level(now, *market).is_some());
        counted.map_or(Ok(()), |market| {
            let cancels = self.decided_cancels(now, market);
            let room = self.trading.room_for_counted(now, market, cancels);
            room.map_err(|(why, _)| why)
        })
    }

    /// A cancel of an order is sent.
    pub(crate) fn count_cancel(&mut self, now: Time, id: ClientOrderId) {
        if let Some(market) = self.orders.market_of(id) {
            let age_ms = self.age_ms(now, id);
            self.trading.count_cancel(now, market, age_ms);
        }
    }
}

/// Whether a cancel can wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// What the order offers is not wanted.
    No,
    /// Its price is still wanted, and it expires by itself.
    ForExpiry,
    /// It offers less than the quote at this place.
    ForReplacement(usize),
}

fn waits(order: &Working, quotes: &[Quote], place: &[Missing], tolerance: Tolerance) -> Waits {
    if order.state != WorkingState::Live {
        return Waits::No;
    }
    if order.expiring {
        let is_wanted = quotes.iter().any(|quote| tolerance.accepts(quote, order));
        return if is_wanted {
            Waits::ForExpiry
        } else {
            Waits::No
        };
    }
    let offers_less = |missing: &Missing| {
        let Quote {
            side, price, qty, ..
        } = missing.quote;
        let is_better = match order.side {
            Side::Buy => price >= order.price,
            Side::Sell => price <= order.price,
        };
        side == order.side && missing.replaces.is_none() && is_better && qty >= order.remaining
    };
    let place = place.iter().position(offers_less);
    place.map_or(Waits::No, Waits::ForReplacement)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::state;
    use crate::engine::venue::trading_counters::TradingCounters;
    use crate::market::{Price, Qty};
    use crate::order::StrategyId;
    use crate::venue::TradingCounter;

    const TOLERANCE: Tolerance = Tolerance {
        price_bps: 1,
        qty_bps: 1_000,
    };

    fn working(side: Side, state: WorkingState, expiring: bool) -> Working {
        Working {
            id: ClientOrderId {
                instance: 1,
                strategy: StrategyId(0),
                number: 1,
            },
            side,
            price: Price(10_000),
            remaining: Qty(100),
            state,
            expiring,
        }
    }

    fn quote(side: Side, price: u64, qty: u64) -> Quote {
        Quote {
            side,
            price: Price(price),
            qty: Qty(qty),
            level: 0,
        }
    }

    /// Whether the cancel of a live order waits for a replacement by this quote.
    fn of(side: Side, price: u64, qty: u64) -> Waits {
        let missing = Missing {
            quote: quote(side, price, qty),
            replaces: None,
        };
        let order = working(side, WorkingState::Live, false);
        waits(&order, &[missing.quote], &[missing], TOLERANCE)
    }

    #[test]
    fn what_offers_too_much_never_waits_and_what_offers_less_may() {
        let may = Waits::ForReplacement(0);
        assert_eq!(of(Side::Buy, 10_100, 100), may);
        assert_eq!(of(Side::Buy, 9_999, 100), Waits::No);
        assert_eq!(of(Side::Sell, 9_900, 100), may);
        assert_eq!(of(Side::Sell, 10_001, 100), Waits::No);
        assert_eq!(of(Side::Buy, 10_100, 99), Waits::No, "it offers too much");
        assert_eq!(of(Side::Buy, 10_000, 150), may);
    }

    #[test]
    fn an_order_without_a_quote_does_not_wait_and_one_that_expires_may_if_its_price_is_wanted() {
        let live = working(Side::Buy, WorkingState::Live, false);
        assert_eq!(waits(&live, &[], &[], TOLERANCE), Waits::No);
        let expiring = working(Side::Buy, WorkingState::Live, true);
        let wanted = [quote(Side::Buy, 10_000, 100)];
        assert_eq!(waits(&expiring, &wanted, &[], TOLERANCE), Waits::ForExpiry);
        let moved = [quote(Side::Buy, 9_990, 100)];
        assert_eq!(waits(&expiring, &moved, &[], TOLERANCE), Waits::No);
        assert_eq!(waits(&expiring, &[], &[], TOLERANCE), Waits::No);
    }

    #[test]
    fn what_may_not_rest_does_not_wait() {
        let wanted = quote(Side::Buy, 10_100, 100);
        let missing = Missing {
            quote: wanted,
            replaces: None,
        };
        for state in [WorkingState::Pending, WorkingState::Unknown] {
            let order = working(Side::Buy, state, false);
            assert_eq!(waits(&order, &[wanted], &[missing], TOLERANCE), Waits::No);
        }
    }

    /// Beside the 800 that it takes to withdraw and offer both sides again: a cancel adds 300, and the order that
    /// follows it 100.
    #[test]
    fn a_cancel_waits_for_the_room_of_its_replacement_if_it_has_one() {
        let now = Time::from_ms(1_000);
        for (expiring, room, waits) in [
            (false, 1_200, false),
            (false, 1_199, true),
            (true, 1_100, false),
            (true, 1_099, true),
        ] {
            let mut state = state(now);
            state.trading = TradingCounters::new(Some(TradingCounter {
                most: room,
                decay_per_s: 1,
                spare: 0,
                order: 100,
                cancels: vec![(5_000, 300)],
                amends: Vec::new(),
            }));
            let order = working(Side::Buy, WorkingState::Live, expiring);
            let wanted = quote(Side::Buy, if expiring { 10_000 } else { 10_100 }, 100);
            let replacement = (!expiring).then_some(Missing {
                quote: wanted,
                replaces: None,
            });
            let mut found = Diff {
                cancel: vec![order.id],
                place: replacement.into_iter().collect(),
                ..Diff::default()
            };
            let compared = (&[wanted][..], &[order][..], TOLERANCE);
            state.let_replacements_wait(now, 0, compared, &mut found);
            assert_eq!(found.cancel.is_empty(), waits, "{expiring} {room}");
            let is_placed = !expiring && !waits;
            assert_eq!(found.place.len(), usize::from(is_placed), "{room}");
        }
    }
}
