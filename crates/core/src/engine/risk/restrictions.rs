//! Trading state and pauses in the engine: a restriction applies at once, lifting one applies when it is stored.
//!
//! At most one write is in progress; changes that come meanwhile are stored together after it. A write that failed is
//! retried, and its restrictions apply all the same.

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::control::Control;
use crate::level::{Filter, Pause, Restrictions, TradingState};
use crate::market::{MarketId, Side};
use crate::notification::Notification;
use crate::order::StrategyId;
use crate::time::{Time, VenueTime};

use crate::engine::state::State;

/// First delay before a failed write is retried; it doubles.
const RETRY_MS: u64 = 1_000;
/// Longest delay between two tries.
const RETRY_MAX_MS: u64 = 60_000;
/// Ended pauses count for this time.
const DAY_MS: u64 = 86_400_000;

/// A change that is not durable yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PendingWrite {
    levels: Restrictions,
    cause: String,
    /// Whether an operator allows trading again.
    lowers: bool,
}

/// Trading state and pauses: in force, and those being stored.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RestrictionStore {
    durable: Restrictions,
    pending: Option<PendingWrite>,
    writing: bool,
    retry_at: Option<Time>,
    failures: u32,
    /// Pauses that ended before this have been reported.
    lapsed_before: VenueTime,
}

impl RestrictionStore {
    pub(crate) fn new(durable: Restrictions, now: VenueTime) -> Self {
        Self {
            durable,
            lapsed_before: now,
            ..Self::default()
        }
    }

    /// The trading state that decisions obey: one that is being stored already restricts.
    pub(crate) fn level(&self) -> TradingState {
        let wanted = self.pending.as_ref().map(|wanted| wanted.levels.state);
        self.durable.state.max(wanted.unwrap_or_default())
    }

    /// The durable restrictions.
    pub(crate) fn durable(&self) -> &Restrictions {
        &self.durable
    }

    fn each(&self) -> impl Iterator<Item = &Restrictions> {
        std::iter::once(&self.durable).chain(self.pending.iter().map(|wanted| &wanted.levels))
    }

    /// Whether a pause, stored or being stored, applies to an order.
    pub(crate) fn hold_back(
        &self,
        now: VenueTime,
        market: MarketId,
        side: Side,
        strategy: StrategyId,
    ) -> bool {
        self.each()
            .any(|levels| levels.hold_back(now, market, side, strategy))
    }

    /// When a failed write is retried.
    pub(crate) fn retry_at(&self) -> Option<Time> {
        self.retry_at
    }

    /// When the next pause ends.
    pub(crate) fn next_pause_end(&self) -> Option<VenueTime> {
        let ends = self.durable.pauses.iter().filter_map(|pause| pause.until);
        ends.filter(|until| *until > self.lapsed_before).min()
    }
}

impl State {
    /// Raises the trading state; it restricts at once. A lowering that is not stored yet is undone.
    pub(crate) fn raise(&mut self, level: TradingState, cause: &str, actions: &mut Vec<Action>) {
        if level > self.newest().state {
            let raised = |levels: &mut Restrictions| levels.state = level;
            self.set_restrictions(cause, false, raised, actions);
        }
    }

    /// A control pauses a market; too often within a day, and new orders stop everywhere. False if the pause already
    /// exists.
    pub(crate) fn pause_market(
        &mut self,
        now: Time,
        market: MarketId,
        control: Control,
        actions: &mut Vec<Action>,
    ) -> bool {
        let venue_now = self.clock.at_least(now);
        let filter = Filter::market(market);
        let day_ago = venue_now.minus_ms(DAY_MS);
        let today = |levels: &Restrictions| {
            let engaged = levels.pauses.iter().filter(|pause| {
                pause.filter == filter && pause.until.is_some() && pause.since >= day_ago
            });
            engaged.count()
        };
        let mut newest = self.newest().clone();
        let holds = newest
            .holding(venue_now)
            .any(|pause| pause.filter == filter && pause.cause == control.name());
        if holds {
            return false;
        }
        Self::forget_old_pauses(&mut newest, venue_now);
        let full = newest.pauses.len() >= Restrictions::PAUSES_MAX;
        if full || today(&newest) >= self.config.risk.pauses_per_day as usize {
            self.raise(TradingState::CancelOnly, control.name(), actions);
            return true;
        }
        let pause_ms = self.config.risk.pause_ms;
        let pause = Pause {
            filter,
            since: venue_now,
            until: Some(venue_now.plus_ms(pause_ms)),
            cause: control.name().to_owned(),
        };
        let push = |levels: &mut Restrictions| {
            Self::forget_old_pauses(levels, venue_now);
            levels.pauses.push(pause);
        };
        self.set_restrictions(control.name(), false, push, actions);
        self.touch_all();
        true
    }

    pub(crate) fn restrictions_are_pending(&self) -> bool {
        self.restrictions.pending.is_some()
    }

    pub(crate) fn newest(&self) -> &Restrictions {
        let wanted = self.restrictions.pending.as_ref();
        wanted.map_or(&self.restrictions.durable, |wanted| &wanted.levels)
    }

    /// Changes the pending restrictions and has them stored, if that changes anything.
    pub(crate) fn set_restrictions(
        &mut self,
        cause: &str,
        lowers: bool,
        change: impl FnOnce(&mut Restrictions),
        actions: &mut Vec<Action>,
    ) {
        let mut levels = self.newest().clone();
        change(&mut levels);
        if levels == *self.newest() {
            return;
        }
        let lowered = self.restrictions.pending.take().is_some_and(|w| w.lowers);
        self.restrictions.pending = Some(PendingWrite {
            levels,
            cause: cause.to_owned(),
            lowers: lowers || lowered,
        });
        self.restrictions.failures = 0;
        self.store_restrictions(actions);
    }

    /// An operator lowers the trading state: it is lower once stored.
    pub(crate) fn lower(&mut self, level: TradingState, reason: &str, actions: &mut Vec<Action>) {
        if level < self.newest().state {
            let lower = |levels: &mut Restrictions| levels.state = level;
            self.set_restrictions(reason, true, lower, actions);
            self.acknowledge_instances(self.last_step_at);
        }
    }

    fn store_restrictions(&mut self, actions: &mut Vec<Action>) {
        self.restrictions.retry_at = None;
        if let Some(wanted) = &self.restrictions.pending
            && !self.restrictions.writing
        {
            self.restrictions.writing = true;
            actions.push(Action::StoreRestrictions {
                levels: wanted.levels.clone(),
                cause: wanted.cause.clone(),
                lowers: wanted.lowers,
            });
        }
    }

    /// The store has made them durable: they are in force.
    pub(crate) fn handle_restrictions_stored(
        &mut self,
        now: Time,
        levels: &Restrictions,
        actions: &mut Vec<Action>,
    ) {
        self.restrictions.writing = false;
        self.restrictions.failures = 0;
        let before = std::mem::replace(&mut self.restrictions.durable, levels.clone());
        let wanted = self.restrictions.pending.as_ref();
        let cause = wanted.map_or_else(String::new, |wanted| wanted.cause.clone());
        if wanted.is_some_and(|wanted| wanted.levels == *levels) {
            self.restrictions.pending = None;
        }
        let pauses = &levels.pauses;
        for pause in pauses.iter().filter(|pause| !before.pauses.contains(pause)) {
            actions.push(Action::Notify(Notification::Paused(pause.clone())));
        }
        let venue_now = self.clock.at_least(now);
        for lifted in before.holding(venue_now).filter(|p| !pauses.contains(p)) {
            actions.push(Action::Notify(Notification::Unpaused {
                filter: lifted.filter,
                cause: cause.clone(),
            }));
        }
        if before.state != levels.state {
            let level = levels.state;
            actions.push(Action::Notify(Notification::TradingStateChanged {
                level,
                cause,
            }));
        }
        self.store_restrictions(actions);
        if (before.state, &before.pauses) != (levels.state, pauses) {
            self.touch_all();
        }
        self.apply_halt(now, actions);
    }

    /// The store could not make them durable: their restrictions apply, and the write is retried.
    pub(crate) fn handle_restrictions_failed(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.restrictions.writing = false;
        self.restrictions.failures = self.restrictions.failures.saturating_add(1);
        let pause_ms = RETRY_MS << self.restrictions.failures.min(7).saturating_sub(1);
        self.restrictions.retry_at = Some(now.plus_ms(pause_ms.min(RETRY_MAX_MS)));
        actions.push(Action::Notify(Notification::RestrictionsNotStored));
        let level = self.restrictions.level();
        if self.restrictions.failures == 1 && level > self.restrictions.durable.state {
            let cause = self.restrictions.pending.as_ref().map(|w| w.cause.clone());
            let cause = cause.unwrap_or_default();
            actions.push(Action::Notify(Notification::TradingStateChanged {
                level,
                cause,
            }));
        }
        self.touch_all();
        self.apply_halt(now, actions);
    }

    /// A halt ends the program, whether or not it could be stored.
    fn apply_halt(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.restrictions.level() == TradingState::Halted {
            self.start_drain(now, actions);
        }
    }

    /// Changes by time alone: pauses that end, writes that are due again.
    pub(crate) fn maintain_restrictions(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.restrictions.retry_at.is_some_and(|at| at <= now) {
            self.store_restrictions(actions);
        }
        let venue_now = self.clock.at_least(now);
        if self
            .restrictions
            .next_pause_end()
            .is_none_or(|at| at > venue_now)
        {
            return;
        }
        for pause in &self.restrictions.durable.pauses {
            let ended = pause
                .until
                .filter(|until| *until > self.restrictions.lapsed_before);
            if ended.is_some_and(|until| until <= venue_now) {
                actions.push(Action::Notify(Notification::Unpaused {
                    filter: pause.filter,
                    cause: "its time is over".to_owned(),
                }));
            }
        }
        self.restrictions.lapsed_before = venue_now;
        self.touch_all();
    }

    /// Removes ended pauses that no limit counts any more; part of every change.
    pub(crate) fn forget_old_pauses(levels: &mut Restrictions, venue_now: VenueTime) {
        let day_ago = venue_now.minus_ms(DAY_MS);
        levels
            .pauses
            .retain(|pause| pause.until.is_none_or(|until| until >= day_ago));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::state;
    use crate::level::{Filter, Pause};

    /// A pause restricts until its time, and its end is reported at that time.
    #[test]
    fn the_end_of_a_pause_is_reported_when_it_is_reached() {
        let now = Time::from_ms(1_000);
        let mut state = state(now);
        let until = state.clock.at_least(now.plus_ms(500));
        let earlier = state.clock.at_least(now.plus_ms(499));
        assert!(earlier < until);
        let pause = Pause {
            filter: Filter::default(),
            since: VenueTime(0),
            until: Some(until),
            cause: "test".to_owned(),
        };
        state.restrictions.durable.pauses.push(pause);
        let mut reported = |now: Time| {
            let mut actions = Vec::new();
            state.maintain_restrictions(now, &mut actions);
            actions.len()
        };
        assert_eq!(reported(now.plus_ms(499)), 0);
        assert_eq!(reported(now.plus_ms(500)), 1);
        assert_eq!(reported(now.plus_ms(501)), 0, "once");
    }
}
