//! What was lost outlives a restart: the store holds a bound that the losses have not passed.
//!
//! A bound is written ahead, a step above the loss, so that a run that ends without a word has lost no
//! more than is stored, and the store is not written at every tick. The next run begins with the bound.
//! A run that ends in order leaves what was lost exactly. Losses within the hour are not kept: what they
//! engage is a pause, which is.

use crate::action::Action;
use crate::config::LossConfig;
use crate::event::Lost;
use crate::market::MarketId;
use crate::token::Amount;

use super::state::State;

/// A bound is this part of its limit ahead.
const STEPS: Amount = 16;

/// The bound to store, given the one that is stored. A limit that nothing reaches needs none.
fn bound(kept: Amount, lost: Amount, limit: Amount, exactly: bool) -> Amount {
    if limit == Amount::MAX {
        return 0;
    }
    let step = if exactly { 0 } else { limit.div_ceil(STEPS) };
    if lost <= kept && kept <= lost.saturating_add(2 * step) {
        return kept;
    }
    // What has not passed its limit is not stored as if it had.
    let ahead = lost.saturating_add(step);
    ahead.min(limit.max(lost))
}

/// As above, of every limit.
fn bounds(kept: Lost, lost: Lost, limits: &LossConfig, exactly: bool) -> Lost {
    let today = if kept.day == lost.day { kept.today } else { 0 };
    Lost {
        day: lost.day,
        today: bound(today, lost.today, limits.day_max, exactly),
        total: bound(kept.total, lost.total, limits.total_max, exactly),
        drawdown: bound(kept.drawdown, lost.drawdown, limits.drawdown_max, exactly),
    }
}

impl State {
    /// Has the store hold a bound of what a market has lost.
    pub(crate) fn keep_losses(&mut self, id: MarketId, actions: &mut Vec<Action>) {
        let market = self.market(id);
        let Some(lost) = market.meter.lost(&market.spec) else {
            return;
        };
        let kept = self.newest().lost.get(&id).copied().unwrap_or_default();
        let limits = &self.config.markets[usize::from(id.0)].loss;
        let wanted = bounds(kept, lost, limits, self.drain.is_some());
        // A new day on which nothing was lost is not worth a write.
        let same = (wanted.total, wanted.drawdown) == (kept.total, kept.drawdown);
        let same_day = wanted.today == if kept.day == lost.day { kept.today } else { 0 };
        if !(same && same_day) {
            self.change_lost(id, wanted, actions);
        }
    }

    /// As above, of every market.
    pub(crate) fn keep_all_losses(&mut self, actions: &mut Vec<Action>) {
        for index in 0..self.markets.len() {
            self.keep_losses(self.markets[index].spec.id, actions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_ahead_of_the_loss_and_follows_it_in_steps() {
        assert_eq!(
            bound(0, 0, 1_600, false),
            0,
            "nothing lost, nothing to keep"
        );
        assert_eq!(bound(0, 1, 1_600, false), 101);
        assert_eq!(bound(101, 101, 1_600, false), 101, "it still holds");
        assert_eq!(bound(101, 102, 1_600, false), 202);
        assert_eq!(bound(300, 100, 1_600, false), 300, "two steps above");
        assert_eq!(bound(301, 100, 1_600, false), 200);
    }

    #[test]
    fn a_bound_passes_its_limit_with_the_loss_only() {
        assert_eq!(bound(0, 1_550, 1_600, false), 1_600);
        assert_eq!(bound(0, 1_601, 1_600, false), 1_601);
        assert_eq!(bound(700, 600, 1_600, true), 600, "the end is exact");
        assert_eq!(bound(0, 5, Amount::MAX, false), 0);
    }

    #[test]
    fn another_day_begins_with_nothing() {
        let limits = LossConfig {
            hour_max: 16,
            day_max: 16,
            total_max: 16,
            drawdown_max: 16,
        };
        let kept = Lost {
            day: 4,
            today: 9,
            total: 9,
            drawdown: 9,
        };
        let lost = Lost {
            day: 5,
            today: 0,
            total: 8,
            drawdown: 8,
        };
        let wanted = bounds(kept, lost, &limits, false);
        assert_eq!((wanted.day, wanted.today, wanted.total), (5, 0, 9));
    }
}
