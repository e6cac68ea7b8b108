//! The schedule of scans of orders and of joins and exits: when one starts, how far back it goes, and what it must
//! prove. `list_scan` defines what it proves.

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::fence;
use crate::request::{Endpoint, Query};
use crate::time::{Time, VenueTime};

use crate::engine::intents::lifecycle::Lifecycle;
use crate::engine::state::{RequestPurpose, State};
use crate::engine::venue::clock::LEAP_MS;
use crate::list_scan::ListScan;

/// The venue may have created an order this much earlier than the lower bound of its clock. A wrong answer can put the
/// bound ahead by a whole leap, and an order outside the window would never be found.
const WINDOW_MARGIN_MS: u64 = 2 * LEAP_MS;

/// A list goes back to orders that have ended this often.
const RECENT_EVERY_MS: u64 = LEAP_MS;

/// What complete scans of orders have listed.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Listed {
    /// When the last one began that went back to orders that have ended.
    recent_at: Option<Time>,
    /// Lower bound of the venue's clock when the last one began.
    until: VenueTime,
}

/// The lists of a start.
enum StartLists {
    /// Shows what rests and what was filled.
    First,
    /// Proves the absence of what the first one did not show.
    Second {
        /// The last moment at which any of that can have an effect.
        behind: VenueTime,
    },
}

impl State {
    /// Continues the current scan, or starts the one that is due.
    pub(crate) fn poll_orders(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self
            .scan
            .as_ref()
            .is_some_and(|pass| pass.request.is_some())
        {
            return;
        }
        if self.scan.is_none() && !self.scan_is_due(now) {
            return;
        }
        if !self.pay(now, Endpoint::Orders, actions) {
            return;
        }
        let mut pass = self.scan.take().unwrap_or_else(|| self.begin_scan(now));
        let query = Query::Orders(pass.page());
        pass.request = Some(self.send(now, RequestPurpose::OrdersPage, query, actions));
        self.scan = Some(pass);
    }

    fn scan_is_due(&self, now: Time) -> bool {
        now >= self.presence_at() || (self.absence_is_needed(now) && now >= self.polls.absence)
    }

    fn begin_scan(&mut self, now: Time) -> ListScan {
        let venue_now = self.clock.at_least(now);
        let limit = self.config.poll.orders_page;
        if self.absence_is_needed(now) && now >= self.polls.absence {
            let from = self.proof_from(venue_now);
            return ListScan::proof(now, venue_now, from, limit).over(&self.venue.lists.scanned);
        }
        if now >= self.polls.resting {
            return ListScan::standing(now, venue_now, limit);
        }
        self.polls.presence = now.plus_ms(self.config.poll.orders_ms);
        let from = if self.recent_were_listed(now) {
            self.unlisted_from(venue_now)
        } else {
            self.recent_from(venue_now)
        };
        ListScan::look(now, venue_now, from, limit).over(&self.venue.lists.scanned)
    }

    /// Back to the oldest order that may be alive, and a little further, so that a fill of an order that has just ended is
    /// found as well.
    fn recent_from(&self, venue_now: VenueTime) -> VenueTime {
        let recent = venue_now.minus_ms(self.config.grace_ms);
        let oldest = self.orders.oldest_made();
        let from = oldest.map_or(recent, |oldest| oldest.min(recent));
        from.minus_ms(WINDOW_MARGIN_MS)
    }

    /// Back to the oldest order that may be alive, and to the last list: what was created before and has ended was in that.
    fn unlisted_from(&self, venue_now: VenueTime) -> VenueTime {
        let oldest = self.orders.oldest_made();
        let listed = self.listed.until.min(venue_now);
        let from = oldest.map_or(listed, |oldest| oldest.min(listed));
        from.minus_ms(self.venue.clock.resolution_ms)
    }

    /// Whether ended orders were listed a moment ago, so that what may be alive is enough for now: then a list has few
    /// entries. Not while anything is unknown that a list could show.
    fn recent_were_listed(&self, now: Time) -> bool {
        let recent_at = self.listed.recent_at;
        let a_moment_ago = recent_at.is_some_and(|at| now.ms_since(at) < RECENT_EVERY_MS);
        a_moment_ago
            && self.ready
            && self.drain.is_none()
            && !self.orders.has_unresolved()
            && !self.foreign.is_any_known()
            && !self.instances.may_be_running()
            && !self.clock.is_doubted()
            && !self.books_differ_now()
    }

    /// A scan of orders was read to its end.
    pub(crate) fn note_listed(&mut self, pass: &ListScan) {
        let begun = pass.begun_venue();
        let recent = begun.minus_ms(self.config.grace_ms + WINDOW_MARGIN_MS);
        if pass.from() <= recent {
            self.listed.recent_at = Some(pass.begun);
        }
        self.listed.until = begun;
    }

    /// After a gap in time it is not known what was listed.
    pub(crate) fn forget_listed(&mut self) {
        self.listed = Listed::default();
    }

    pub(crate) fn absence_is_needed(&self, now: Time) -> bool {
        let first = match self.start_lists() {
            _ if self.drain_needs_proof() => return true,
            Some(StartLists::First) => return false,
            Some(StartLists::Second { behind }) => behind,
            None => self.orders.outline().last_effect,
        };
        fence::is_behind(self.clock.at_least(now), first, self.config.grace_ms)
    }

    /// When a list that need not prove absence is due.
    pub(crate) fn presence_at(&self) -> Time {
        match self.start_lists() {
            Some(StartLists::Second { .. }) if !self.drain_needs_proof() => Time(u64::MAX),
            _ => self.polls.presence,
        }
    }

    /// Which lists come next at a start, where they cost more calls than there are soon: one at once, and one behind the
    /// last fence of what it did not find. A list in between would only delay the second.
    fn start_lists(&self) -> Option<StartLists> {
        if self.ready || self.venue.costs.new_fills == 0 {
            return None;
        }
        let unknown = self.orders.lives().map(|(_, lifecycle)| lifecycle);
        let unknown = unknown.filter(|lifecycle| lifecycle.unknown_since().is_some());
        let behind = unknown.map(Lifecycle::last_effect).max()?;
        Some(match self.last_complete_scan_at {
            None => StartLists::First,
            Some(_) => StartLists::Second { behind },
        })
    }

    /// The window of a proof: back to the oldest order that may be alive; when draining, back to where even a forgotten
    /// order would have expired.
    fn proof_from(&self, venue_now: VenueTime) -> VenueTime {
        let oldest = self.orders.oldest_made().unwrap_or(venue_now);
        let from = if self.drain.is_some() {
            oldest.min(venue_now.minus_ms(self.config.ttl_ms + self.config.grace_ms))
        } else {
            oldest
        };
        from.minus_ms(WINDOW_MARGIN_MS)
    }

    /// Continues the current scan of joins and exits, or starts the one that is due: often while one is undecided,
    /// otherwise rarely, to detect foreign ones.
    pub(crate) fn poll_pool_transactions(&mut self, now: Time, actions: &mut Vec<Action>) {
        let under_way = self.pool_scan.as_ref().map(|pass| pass.request.is_some());
        let due = match under_way {
            Some(waiting) => !waiting,
            None => now >= self.pool_scan_at(now),
        };
        if !due || !self.pay(now, Endpoint::PoolTransactions, actions) {
            return;
        }
        let mut pass = match self.pool_scan.take() {
            Some(pass) => pass,
            None => self.begin_pool_scan(now),
        };
        let query = Query::PoolTransactions(pass.page());
        pass.request = Some(self.send(now, RequestPurpose::PoolTransactionsPage, query, actions));
        self.pool_scan = Some(pass);
    }

    /// When the next scan of joins and exits is due.
    pub(crate) fn pool_scan_at(&self, now: Time) -> Time {
        if !self.has_pools() && self.orders.pool_transactions.is_empty() {
            return Time(u64::MAX);
        }
        if self.pool_absence_is_needed(now) {
            return self
                .polls
                .pool_transactions
                .min(self.polls.pool_transactions_absence);
        }
        self.polls.pool_transactions
    }

    fn pool_absence_is_needed(&self, now: Time) -> bool {
        let (venue_now, grace_ms) = (self.clock.at_least(now), self.config.grace_ms);
        let mut moves = self.orders.pool_transactions.iter();
        moves.any(|t| t.lifecycle.is_past_fence(venue_now, grace_ms))
    }

    fn begin_pool_scan(&mut self, now: Time) -> ListScan {
        let venue_now = self.clock.at_least(now);
        let limit = self.config.poll.orders_page;
        let oldest = self
            .orders
            .pool_transactions
            .iter()
            .map(|t| t.lifecycle.made_at)
            .min();
        if self.pool_absence_is_needed(now) && now >= self.polls.pool_transactions_absence {
            let from = oldest.unwrap_or(venue_now).minus_ms(WINDOW_MARGIN_MS);
            return ListScan::proof(now, venue_now, from, limit);
        }
        let poll = &self.config.poll;
        let undecided = self
            .orders
            .pool_transactions
            .iter()
            .any(|t| t.lifecycle.may_have_left());
        let (pause_ms, back_ms) = if undecided {
            (poll.orders_ms, self.config.grace_ms)
        } else {
            // Transactions since the previous scan must be in this one.
            (poll.meta_ms, self.config.grace_ms + 2 * poll.meta_ms)
        };
        self.polls.pool_transactions = now.plus_ms(pause_ms);
        let recent = venue_now.minus_ms(back_ms);
        let from = oldest.map_or(recent, |oldest| oldest.min(recent));
        ListScan::look(now, venue_now, from.minus_ms(WINDOW_MARGIN_MS), limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing;
    use crate::engine::venue::clock::VenueClock;

    const GRACE_MS: u64 = 3_000;
    const WIDE_MS: u64 = GRACE_MS + WINDOW_MARGIN_MS;
    /// When the list of `listed` began.
    const LISTED: Time = Time::from_ms(1_000_000);

    /// An engine after a list that went back to ended orders.
    fn listed() -> State {
        let mut state = testing::state(LISTED);
        state.config.grace_ms = GRACE_MS;
        state.venue.clock.resolution_ms = 1_000;
        state.polls.resting = Time(u64::MAX);
        state.clock = VenueClock::new(LISTED, VenueTime(1_700_000_000_000));
        assert_eq!(window_ms(&mut state, LISTED), WIDE_MS);
        let pass = state.begin_scan(LISTED);
        state.note_listed(&pass);
        state
    }

    /// How far a list goes back from the venue's clock, in milliseconds.
    fn window_ms(state: &mut State, now: Time) -> u64 {
        let venue_now = state.clock.at_least(now);
        venue_now.ms_since(state.begin_scan(now).from())
    }

    #[test]
    fn a_list_goes_back_to_the_last_one_and_to_ended_orders_every_five_seconds() {
        let mut state = listed();
        let after = LISTED.plus_ms(RECENT_EVERY_MS - 1);
        // The clock's bound runs slow by a thousandth.
        assert_eq!(window_ms(&mut state, after), 4_999 - 5 + 1_000);
        assert_eq!(window_ms(&mut state, LISTED.plus_ms(5_000)), WIDE_MS);
        // A list that went back to the last one counts as the last, and does not count as one of ended orders.
        let pass = state.begin_scan(LISTED.plus_ms(3_000));
        state.note_listed(&pass);
        assert_eq!(window_ms(&mut state, after), 1_999 - 2 + 1_000);
        assert_eq!(window_ms(&mut state, LISTED.plus_ms(5_000)), WIDE_MS);
        state.forget_listed();
        assert_eq!(window_ms(&mut state, after), WIDE_MS);
    }

    #[test]
    fn a_bound_that_went_back_is_followed() {
        let mut state = listed();
        let (now, back) = (LISTED.plus_ms(1_000), VenueTime(1_699_999_990_000));
        state.clock = VenueClock::new(now, back);
        assert_eq!(window_ms(&mut state, now), 1_000);
    }

    #[test]
    fn a_list_goes_back_to_ended_orders_while_anything_is_unknown() {
        let now = LISTED.plus_ms(1_000);
        let is_wide = |unknown: fn(&mut State)| {
            let mut state = listed();
            unknown(&mut state);
            window_ms(&mut state, now) == WIDE_MS
        };
        assert!(!is_wide(|_| {}));
        assert!(is_wide(|state| state.ready = false));
        assert!(is_wide(|state| state.start_drain(LISTED, &mut Vec::new())));
        let contradicted = |state: &mut State| {
            let late = state.clock.at_least(LISTED).minus_ms(4_000);
            let rule = state.venue.clock;
            let back = state.clock.compare(LISTED, LISTED, late, rule);
            assert_eq!(back, 0);
        };
        assert!(is_wide(contradicted));
    }
}
