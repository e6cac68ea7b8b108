//! When to ask what. The venue pushes nothing, so knowing is a matter of asking in time, and the budget
//! decides what is asked when not everything can be.

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::event::Amounts;
use crate::note::Note;
use crate::request::{Endpoint, Query};
use crate::time::{Time, VenueTime};

use super::clock::LEAP_MS;
use super::life::Phase;
use super::passes::{Pass, Purpose as PassPurpose};
use super::state::{Purpose, State};

/// How much earlier than what our bound of its clock said the venue may have created an order. A wrong
/// answer can put the bound ahead by a whole leap, and an order outside the window would never be seen.
const WINDOW_MARGIN_MS: u64 = 2 * LEAP_MS;
/// Pause after a pass that failed.
const RETRY_MS: u64 = 500;
/// Pause between proofs.
const PROOF_PAUSE_MS: u64 = 1_000;

/// When each thing is due next.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Polls {
    depth: Vec<Time>,
    balances: Time,
    markets: Time,
    tokens: Time,
    account: Time,
    look: Time,
    proof: Time,
    pools: Time,
    moves: Time,
    moves_proof: Time,
}

impl Polls {
    /// The orders list should be read as soon as the budget allows.
    pub(crate) fn look_soon(&mut self) {
        self.look = Time(0);
    }

    /// Balances should be read as soon as the budget allows.
    pub(crate) fn balances_soon(&mut self) {
        self.balances = Time(0);
    }

    /// Everything should be read as soon as the budget allows.
    pub(crate) fn all_soon(&mut self) {
        let proof = self.proof;
        *self = Self {
            proof,
            ..Self::default()
        };
    }

    /// Joins and exits should be read as soon as the budget allows.
    pub(crate) fn moves_soon(&mut self) {
        self.moves = Time(0);
    }

    pub(crate) fn moves_failed(&mut self, now: Time) {
        self.moves = now.plus_ms(RETRY_MS);
        self.moves_proof = now.plus_ms(RETRY_MS);
    }

    pub(crate) fn moves_ended(&mut self, purpose: PassPurpose, now: Time) {
        if purpose == PassPurpose::Proof {
            self.moves_proof = now.plus_ms(PROOF_PAUSE_MS);
        }
    }

    pub(crate) fn pass_failed(&mut self, now: Time) {
        self.look = now.plus_ms(RETRY_MS);
        self.proof = now.plus_ms(RETRY_MS);
    }

    pub(crate) fn pass_ended(&mut self, purpose: PassPurpose, now: Time) {
        if purpose == PassPurpose::Proof {
            self.proof = now.plus_ms(PROOF_PAUSE_MS);
        }
    }
}

impl State {
    /// Polls without which decisions would soon stand on stale data.
    pub(crate) fn poll_lapsing(&mut self, now: Time, actions: &mut Vec<Action>) {
        let lapsing = |age: Option<u64>, max: u64| age.is_none_or(|age| age > max / 2);
        let poll = &self.config.poll;
        let depth_max = poll.depth_age_max_ms;
        let balances_due = lapsing(self.ledger.age_ms(now), poll.balances_age_max_ms);
        let looked = self.looked.map(|looked| now.ms_since(looked));
        let look_due = lapsing(looked, poll.orders_age_max_ms);
        for index in 0..self.markets.len() {
            if lapsing(self.markets[index].book.age_ms(now), depth_max) {
                self.poll_depth(now, index, actions);
            }
        }
        if look_due {
            self.poll_orders(now, actions);
        }
        if balances_due {
            self.poll_balances(now, actions);
        }
    }

    /// Every other poll whose time has come.
    pub(crate) fn poll_due(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.poll_reads(now, actions);
        self.poll_orders(now, actions);
        self.poll_moves(now, actions);
        for index in 0..self.markets.len() {
            self.poll_depth(now, index, actions);
        }
        self.poll_pools(now, actions);
        self.poll_balances(now, actions);
        self.poll_meta(now, actions);
    }

    /// Pays for a request or notes that it could not.
    fn pay(&mut self, now: Time, endpoint: Endpoint, actions: &mut Vec<Action>) -> bool {
        let paid = self.budget.take(now, endpoint);
        if !paid && !self.denied {
            self.denied = true;
            actions.push(Action::Note(Note::BudgetDenied { endpoint }));
        }
        paid
    }

    fn is_asked(&self, wanted: impl Fn(&Purpose) -> bool) -> bool {
        self.asked.values().any(|asked| wanted(&asked.purpose))
    }

    fn poll_depth(&mut self, now: Time, index: usize, actions: &mut Vec<Action>) {
        self.polls.depth.resize(self.markets.len(), Time(0));
        let id = self.markets[index].spec.id;
        let asked = self.is_asked(|purpose| purpose.is_depth_of(id));
        if now < self.polls.depth[index] || asked || !self.pay(now, Endpoint::Depth, actions) {
            return;
        }
        self.polls.depth[index] = now.plus_ms(self.config.poll.depth_ms);
        let own = self.orders.levels(id);
        let purpose = Purpose::Depth { market: id, own };
        self.send(now, purpose, Query::Depth(id), actions);
    }

    fn poll_balances(&mut self, now: Time, actions: &mut Vec<Action>) {
        let asked = self.is_asked(|purpose| matches!(purpose, Purpose::Balances { .. }));
        if now < self.polls.balances || asked || !self.pay(now, Endpoint::Balances, actions) {
            return;
        }
        self.polls.balances = now.plus_ms(self.config.poll.balances_ms);
        let fills = self.ledger.fills();
        let mut own_locked = Amounts::new();
        for tracked in self.orders.iter() {
            *own_locked.entry(tracked.order.sell_token).or_default() += tracked.reserved();
        }
        for wanted in self.orders.moves.iter().map(|t| &t.wanted) {
            for token in [wanted.pooled[0], wanted.pooled[1], wanted.lp] {
                *own_locked.entry(token).or_default() += wanted.reserved(token);
            }
        }
        self.send(
            now,
            Purpose::Balances { fills, own_locked },
            Query::Balances,
            actions,
        );
    }

    fn poll_meta(&mut self, now: Time, actions: &mut Vec<Action>) {
        let again = now.plus_ms(self.config.poll.meta_ms);
        let asked = self.is_asked(|purpose| matches!(purpose, Purpose::Markets));
        if now >= self.polls.markets && !asked && self.pay(now, Endpoint::Markets, actions) {
            self.polls.markets = again;
            self.send(now, Purpose::Markets, Query::Markets, actions);
        }
        let asked = self.is_asked(|purpose| matches!(purpose, Purpose::Tokens));
        if now >= self.polls.tokens && !asked && self.pay(now, Endpoint::Tokens, actions) {
            self.polls.tokens = again;
            self.send(now, Purpose::Tokens, Query::Tokens, actions);
        }
        let asked = self.is_asked(|purpose| matches!(purpose, Purpose::Account));
        if now >= self.polls.account && !asked && self.pay(now, Endpoint::Account, actions) {
            self.polls.account = again;
            self.send(now, Purpose::Account, Query::Account, actions);
        }
        let asked = self.is_asked(|purpose| matches!(purpose, Purpose::Pools));
        let wanted = self.has_pools() && now >= self.polls.pools;
        if wanted && !asked && self.pay(now, Endpoint::Pools, actions) {
            self.polls.pools = again;
            self.send(now, Purpose::Pools, Query::Pools, actions);
        }
    }

    fn has_pools(&self) -> bool {
        self.markets.iter().any(|market| market.pool.is_some())
    }

    /// What the pools hold.
    fn poll_pools(&mut self, now: Time, actions: &mut Vec<Action>) {
        for index in 0..self.markets.len() {
            let id = self.markets[index].spec.id;
            let Some(pool) = &self.markets[index].pool else {
                continue;
            };
            let (due, again) = (pool.poll_at, now.plus_ms(pool.config.poll_ms));
            let asked = self.is_asked(|p| matches!(p, Purpose::PoolBalance(of) if *of == id));
            if now < due || asked || !self.pay(now, Endpoint::PoolBalance, actions) {
                continue;
            }
            if let Some(pool) = &mut self.markets[index].pool {
                pool.poll_at = again;
            }
            let query = Query::PoolBalance(id);
            self.send(now, Purpose::PoolBalance(id), query, actions);
        }
    }

    /// Goes on with the pass over joins and exits under way, or begins the one that is due: often while
    /// a move is undecided, now and then otherwise, so that somebody else's are noticed.
    fn poll_moves(&mut self, now: Time, actions: &mut Vec<Action>) {
        let under_way = self.moves_pass.as_ref().map(|pass| pass.request.is_some());
        let due = match under_way {
            Some(waiting) => !waiting,
            None => now >= self.moves_at(now),
        };
        if !due || !self.pay(now, Endpoint::Moves, actions) {
            return;
        }
        let mut pass = match self.moves_pass.take() {
            Some(pass) => pass,
            None => self.begin_moves_pass(now),
        };
        let query = Query::Moves(pass.page());
        pass.request = Some(self.send(now, Purpose::MovesPage, query, actions));
        self.moves_pass = Some(pass);
    }

    /// When the next pass over joins and exits is due.
    fn moves_at(&self, now: Time) -> Time {
        if !self.has_pools() && self.orders.moves.is_empty() {
            return Time(u64::MAX);
        }
        if self.moves_proof_is_wanted(now) {
            return self.polls.moves.min(self.polls.moves_proof);
        }
        self.polls.moves
    }

    fn moves_proof_is_wanted(&self, now: Time) -> bool {
        let (venue_now, grace_ms) = (self.clock.at_least(now), self.config.grace_ms);
        let mut moves = self.orders.moves.iter();
        moves.any(|t| t.life.is_past_fence(venue_now, grace_ms))
    }

    fn begin_moves_pass(&mut self, now: Time) -> Pass {
        let venue_now = self.clock.at_least(now);
        let limit = self.config.poll.orders_page;
        let oldest = self.orders.moves.iter().map(|t| t.life.made_at).min();
        if self.moves_proof_is_wanted(now) && now >= self.polls.moves_proof {
            let from = oldest.unwrap_or(venue_now).minus_ms(WINDOW_MARGIN_MS);
            return Pass::proof(now, venue_now, from, limit);
        }
        let poll = &self.config.poll;
        let undecided = self.orders.moves.iter().any(|t| t.life.may_have_left());
        let (pause_ms, back_ms) = if undecided {
            (poll.orders_ms, self.config.grace_ms)
        } else {
            // What happened since the pass before must be in this one.
            (poll.meta_ms, self.config.grace_ms + 2 * poll.meta_ms)
        };
        self.polls.moves = now.plus_ms(pause_ms);
        let recent = venue_now.minus_ms(back_ms);
        let from = oldest.map_or(recent, |oldest| oldest.min(recent));
        Pass::look(now, venue_now, from.minus_ms(WINDOW_MARGIN_MS), limit)
    }

    /// Orders whose report is wanted by hash: one request each, one at a time.
    fn poll_reads(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.is_asked(|purpose| matches!(purpose, Purpose::Read(_))) {
            return;
        }
        let wanted = self
            .orders
            .iter()
            .find(|t| t.read_wanted)
            .map(|t| t.order.client_id);
        let Some(id) = wanted else { return };
        if !self.pay(now, Endpoint::Order, actions) {
            return;
        }
        if let Some(tracked) = self.orders.get_mut(id) {
            tracked.read_wanted = false;
            if let Some(hash) = tracked.life.hash {
                self.send(now, Purpose::Read(id), Query::Order(hash), actions);
            }
        }
    }

    /// Goes on with the pass under way, or begins the one that is due.
    fn poll_orders(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self
            .pass
            .as_ref()
            .is_some_and(|pass| pass.request.is_some())
        {
            return;
        }
        if self.pass.is_none() && !self.pass_is_due(now) {
            return;
        }
        if !self.pay(now, Endpoint::Orders, actions) {
            return;
        }
        let mut pass = self.pass.take().unwrap_or_else(|| self.begin_pass(now));
        let query = Query::Orders(pass.page());
        pass.request = Some(self.send(now, Purpose::Page, query, actions));
        self.pass = Some(pass);
    }

    fn pass_is_due(&self, now: Time) -> bool {
        now >= self.polls.look || (self.proof_is_wanted(now) && now >= self.polls.proof)
    }

    fn begin_pass(&mut self, now: Time) -> Pass {
        let venue_now = self.clock.at_least(now);
        let limit = self.config.poll.orders_page;
        if self.proof_is_wanted(now) && now >= self.polls.proof {
            let from = self.proof_from(venue_now);
            return Pass::proof(now, venue_now, from, limit);
        }
        self.polls.look = now.plus_ms(self.config.poll.orders_ms);
        // Back to the oldest order that may be alive, and a little further, so that a fill of an order
        // that has just ended is seen as well.
        let recent = venue_now.minus_ms(self.config.grace_ms);
        let from = self
            .orders
            .oldest_made()
            .map_or(recent, |oldest| oldest.min(recent));
        Pass::look(now, venue_now, from.minus_ms(WINDOW_MARGIN_MS), limit)
    }

    fn proof_is_wanted(&self, now: Time) -> bool {
        let venue_now = self.clock.at_least(now);
        let grace_ms = self.config.grace_ms;
        let mut orders = self.orders.iter();
        self.drain_wants_proof() || orders.any(|t| t.life.is_past_fence(venue_now, grace_ms))
    }

    /// The window of a proof: back to the oldest order that may be alive; when draining, back to where
    /// even an order nobody remembers would have expired.
    fn proof_from(&self, venue_now: VenueTime) -> VenueTime {
        let oldest = self.orders.oldest_made().unwrap_or(venue_now);
        let from = if self.drain.is_some() {
            oldest.min(venue_now.minus_ms(self.config.ttl_ms + self.config.grace_ms))
        } else {
            oldest
        };
        from.minus_ms(WINDOW_MARGIN_MS)
    }

    /// The earliest time at which something is due by itself.
    pub(crate) fn earliest(&self, now: Time) -> Time {
        let mut wake = self.status_due;
        let mut at = |time: Time| wake = wake.min(time);
        for (index, market) in self.markets.iter().enumerate() {
            let asked = self.is_asked(|purpose| purpose.is_depth_of(market.spec.id));
            if !asked {
                at(self.polls.depth.get(index).copied().unwrap_or(now));
            }
            market.rest.left(now).into_iter().for_each(&mut at);
            if let Some(pool) = &market.pool {
                let id = market.spec.id;
                if !self.is_asked(|p| matches!(p, Purpose::PoolBalance(of) if *of == id)) {
                    at(pool.poll_at);
                }
                pool.rest.left(now).into_iter().for_each(&mut at);
            }
        }
        if self.moves_pass.is_none() {
            at(self.moves_at(now));
        }
        if self.has_pools() && !self.is_asked(|purpose| matches!(purpose, Purpose::Pools)) {
            at(self.polls.pools);
        }
        if self.pass.is_none() {
            at(self.polls.look);
            if self.proof_is_wanted(now) {
                at(self.polls.proof);
            }
        }
        if !self.is_asked(|purpose| matches!(purpose, Purpose::Balances { .. })) {
            at(self.polls.balances);
        }
        if !self.is_asked(|purpose| matches!(purpose, Purpose::Markets | Purpose::Account)) {
            at(self.polls.markets.min(self.polls.account));
        }
        if !self.is_asked(|purpose| matches!(purpose, Purpose::Tokens)) {
            at(self.polls.tokens);
        }
        if let Some((_, oldest)) = self.asked.first_key_value() {
            at(self.lost_at(oldest));
        }
        let venue_now = self.clock.at_least(now);
        let local = |then: VenueTime| now.plus_ms(then.ms_since(venue_now) + 1);
        for (_, life) in self.orders.lives() {
            if self.may_be_resent(now, life) {
                self.resend_at(life).into_iter().for_each(&mut at);
            }
            self.cancel_at(life).into_iter().for_each(&mut at);
            if life.may_have_left() {
                let fence = life.valid_until.plus_ms(self.config.grace_ms);
                if venue_now <= fence {
                    at(local(fence));
                }
            }
            if life.phase == Phase::Sealed {
                at(now.plus_ms(100));
            }
        }
        for tracked in self.orders.iter() {
            if tracked.life.cancel.is_none() && venue_now < self.refresh_at(tracked) {
                at(local(self.refresh_at(tracked)));
            }
        }
        self.permits.retry_at().into_iter().for_each(&mut at);
        self.permits
            .heals_at()
            .map(local)
            .into_iter()
            .for_each(&mut at);
        self.foreign.due().into_iter().for_each(&mut at);
        self.ramp
            .grows_at(now, &self.config.ramp)
            .into_iter()
            .for_each(&mut at);
        if let Some(drain) = &self.drain {
            at(drain.deadline());
        }
        // What was denied budget, and what is overdue for another reason, is tried again soon.
        let again = now.plus_ms(20);
        if self.denied {
            at(again);
        }
        if wake <= now {
            again
        } else {
            wake.max(now.plus_ms(1))
        }
    }
}
