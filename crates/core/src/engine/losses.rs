//! What was lost outlives a restart: the store holds a bound that the losses have not passed.
//!
//! A bound is stated at a mid: what the price does is counted when the next run knows its own, so that
//! only fills move it. It is written a step ahead, so that a run that ends without a word has lost no more
//! than is stored, and the store is not written at every fill. The next run begins with the bound. A run
//! that ends in order leaves what was lost exactly.

use crate::action::Action;
use crate::config::LossConfig;
use crate::event::Lost;
use crate::market::MarketId;
use crate::time::Time;
use crate::token::Amount;

use super::marks::QUARTER_MS;
use super::state::State;

/// A bound is this part of its limit ahead at most.
const STEPS: i128 = 16;

/// One loss: at the mid of the bound that is stored, at the present mid, and how far it may go. `None` is
/// no limit, of which nothing needs to be known.
#[derive(Clone, Copy, Debug)]
struct Loss {
    then: i128,
    now: i128,
    limit: Option<i128>,
}

impl Loss {
    fn new(then: i128, now: i128, limit: Amount) -> Self {
        let limit = (limit != Amount::MAX).then(|| i128::try_from(limit).unwrap_or(i128::MAX));
        Self { then, now, limit }
    }

    /// How far ahead a bound is written: a step, but what has not passed its limit is not stored as if
    /// it had.
    fn ahead(&self, limit: i128) -> i128 {
        let step = limit.saturating_add(STEPS - 1) / STEPS;
        step.min(limit.saturating_sub(self.now).max(0))
    }

    /// Whether the bound that is stored still holds, and is no scare figure.
    fn is_within(&self, kept: i128, exactly: bool) -> bool {
        let Some(limit) = self.limit else {
            return true;
        };
        let room = if exactly {
            0
        } else {
            self.ahead(limit).saturating_mul(2)
        };
        let room = room.min(limit.saturating_sub(self.now).max(0));
        self.then <= kept && kept <= self.then.saturating_add(room)
    }

    /// The bound to store at the present mid.
    fn bound(&self, exactly: bool) -> i128 {
        self.limit.map_or(0, |limit| {
            let ahead = if exactly { 0 } else { self.ahead(limit) };
            self.now.saturating_add(ahead)
        })
    }
}

/// Every loss with its limit, in the order of [`spread`].
fn each(then: &Lost, now: &Lost, limits: &LossConfig) -> [Loss; 4] {
    [
        Loss::new(then.today, now.today, limits.day_max),
        Loss::new(then.total, now.total, limits.total_max),
        Loss::new(then.drawdown, now.drawdown, limits.drawdown_max),
        Loss::new(then.hour, now.hour, limits.hour_max),
    ]
}

/// The losses of a value, in the order of [`each`].
const fn spread(lost: &Lost) -> [i128; 4] {
    [lost.today, lost.total, lost.drawdown, lost.hour]
}

impl State {
    /// Has the store hold a bound of what a market has lost.
    pub(crate) fn keep_losses(&mut self, now: Time, id: MarketId, actions: &mut Vec<Action>) {
        let limits = &self.config.markets[usize::from(id.0)].loss;
        if *limits == LossConfig::UNLIMITED {
            return;
        }
        let (market, venue_now) = (self.market(id), self.clock.at_least(now));
        let at = |mid| market.meter.lost_at(&market.spec, mid, venue_now);
        let Some(now) = market.meter.last_mid(&market.spec).and_then(at) else {
            return;
        };
        let kept = self.newest().lost.get(&id);
        let then = kept.and_then(|kept| at(kept.mid?));
        // The first time there is nothing to be ahead of.
        let exactly = self.drain.is_some() || then.is_none();
        let losses = each(then.as_ref().unwrap_or(&now), &now, limits);
        let hold = |kept: &Lost| {
            let mut each = losses.iter().zip(spread(kept));
            let old = now.hour > 0 && venue_now.0 >= kept.hour_at.plus_ms(QUARTER_MS).0;
            kept.day == now.day && !old && each.all(|(loss, kept)| loss.is_within(kept, exactly))
        };
        if then.is_some() && kept.is_some_and(hold) {
            return;
        }
        let [today, total, drawdown, hour] = losses.map(|loss| loss.bound(exactly));
        let wanted = Lost {
            today,
            total,
            drawdown,
            hour,
            ..now
        };
        self.change_lost(id, wanted, actions);
    }

    /// As above, of every market.
    pub(crate) fn keep_all_losses(&mut self, now: Time, actions: &mut Vec<Action>) {
        for index in 0..self.markets.len() {
            self.keep_losses(now, self.markets[index].spec.id, actions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(lost: i128) -> i128 {
        Loss::new(0, lost, 1_600).bound(false)
    }

    /// Whether a bound holds, of a loss that no price has moved.
    fn holds(kept: i128, lost: i128) -> bool {
        Loss::new(lost, lost, 1_600).is_within(kept, false)
    }

    #[test]
    fn a_bound_is_ahead_of_the_loss_and_follows_it_in_steps() {
        assert_eq!(bound(1), 101);
        assert!(holds(101, 101) && !holds(101, 102));
        assert!(holds(300, 100), "two steps above");
        assert!(!holds(301, 100));
        assert_eq!(bound(-1_000), -900, "a gain is one after a restart");
    }

    #[test]
    fn a_bound_passes_its_limit_with_the_loss_only() {
        assert_eq!(bound(1_550), 1_600);
        assert_eq!(bound(1_601), 1_601);
        assert!(holds(1_600, 1_580) && !holds(1_601, 1_580));
        let unlimited = Loss::new(0, 5, Amount::MAX);
        assert!(unlimited.is_within(0, true) && unlimited.bound(false) == 0);
    }

    #[test]
    fn a_bound_of_another_mid_leaves_the_price_room_up_to_the_limit() {
        let fallen = |to| Loss::new(100, to, 1_600).is_within(250, false);
        assert!(fallen(1_450), "150 ahead of 1450 is the limit");
        assert!(!fallen(1_451), "it would be passed by what was not lost");
        assert!(Loss::new(100, 100, 1_600).is_within(100, true));
        assert!(!Loss::new(100, 100, 1_600).is_within(101, true));
    }
}
