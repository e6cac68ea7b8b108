//! Polling: when each query is due. The venue pushes nothing, so fresh data need timely polls, and the budget decides
//! which ones are sent if not all can be.

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::config::PollConfig;
use crate::notification::Notification;
use crate::request::{Endpoint, Query};
use crate::time::Time;

use crate::engine::account::ledger::OwnLocks;
use crate::engine::intents::lifecycle::Phase;
use crate::engine::state::{RequestPurpose, State};
use crate::engine::venue::depth_schedule::{Movement, interval_ms};
use crate::list_scan::ScanPurpose;

/// Delay after a failed scan.
const RETRY_MS: u64 = 500;
/// Delay after a query about markets, tokens, account or pools that got no answer.
const META_RETRY_MS: u64 = 2_000;
/// Delay between proofs.
const PROOF_PAUSE_MS: u64 = 1_000;

/// When each query is due next.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Polls {
    pub(crate) depth: Vec<Time>,
    /// How much the mid of each market moves.
    movements: Vec<Movement>,
    pub(crate) balances: Time,
    pub(crate) markets: Time,
    pub(crate) tokens: Time,
    pub(crate) account: Time,
    pub(crate) presence: Time,
    pub(crate) absence: Time,
    pub(crate) resting: Time,
    pub(crate) pools: Time,
    pub(crate) pool_transactions: Time,
    pub(crate) pool_transactions_absence: Time,
}

impl Polls {
    /// The orders list should be read as soon as the budget allows.
    pub(crate) fn scan_soon(&mut self) {
        self.presence = Time(0);
    }

    /// Balances should be read as soon as the budget allows.
    pub(crate) fn balances_soon(&mut self) {
        self.balances = Time(0);
    }

    /// Everything should be read as soon as the budget allows.
    pub(crate) fn all_soon(&mut self) {
        let proof = self.absence;
        *self = Self {
            absence: proof,
            movements: std::mem::take(&mut self.movements),
            ..Self::default()
        };
    }

    /// Joins and exits should be read as soon as the budget allows.
    pub(crate) fn pool_scan_soon(&mut self) {
        self.pool_transactions = Time(0);
    }

    /// A depth of the market was accepted, polled at that time, with this mid.
    pub(crate) fn mid_moved(&mut self, index: usize, at: Time, mid: Option<u64>) {
        if self.movements.len() <= index {
            self.movements.resize(index + 1, Movement::default());
        }
        if let Some(mid) = mid {
            self.movements[index].add(at, mid);
        }
    }

    /// The time until the next depth poll of a market.
    fn depth_interval_ms(&self, index: usize, config: &PollConfig) -> u64 {
        let most = config.depth_age_max_ms;
        interval_ms(&self.movements, index, config.depth_ms, most)
    }

    pub(crate) fn pool_scan_failed(&mut self, now: Time) {
        self.pool_transactions = now.plus_ms(RETRY_MS);
        self.pool_transactions_absence = now.plus_ms(RETRY_MS);
    }

    pub(crate) fn pool_scan_ended(&mut self, purpose: ScanPurpose, now: Time) {
        if purpose == ScanPurpose::Absence {
            self.pool_transactions_absence = now.plus_ms(PROOF_PAUSE_MS);
        }
    }

    /// A query got no answer: rare ones are repeated soon.
    pub(crate) fn unanswered(&mut self, now: Time, endpoint: Endpoint) {
        let due = match endpoint {
            Endpoint::Markets => &mut self.markets,
            Endpoint::Tokens => &mut self.tokens,
            Endpoint::Account => &mut self.account,
            Endpoint::Pools => &mut self.pools,
            Endpoint::Balances => &mut self.balances,
            // These have their own delays.
            Endpoint::Submit
            | Endpoint::Cancel
            | Endpoint::Amend
            | Endpoint::Order
            | Endpoint::Orders
            | Endpoint::Depth
            | Endpoint::PoolBalance
            | Endpoint::Join
            | Endpoint::Exit
            | Endpoint::PoolTransactions => return,
        };
        *due = (*due).min(now.plus_ms(META_RETRY_MS));
    }

    pub(crate) fn scan_failed(&mut self, purpose: ScanPurpose, now: Time) {
        match purpose {
            // The other scans go first.
            ScanPurpose::Resting => self.resting = now.plus_ms(META_RETRY_MS),
            ScanPurpose::Presence | ScanPurpose::Absence => {
                self.presence = now.plus_ms(RETRY_MS);
                self.absence = now.plus_ms(RETRY_MS);
            }
        }
    }

    pub(crate) fn scan_ended(&mut self, purpose: ScanPurpose, now: Time) {
        if purpose == ScanPurpose::Absence {
            self.absence = now.plus_ms(PROOF_PAUSE_MS);
        }
    }
}

impl State {
    /// Sends polls without which decisions would soon use stale data.
    pub(crate) fn poll_lapsing(&mut self, now: Time, actions: &mut Vec<Action>) {
        let lapsing = |age: Option<u64>, max: u64| age.is_none_or(|age| age > max / 2);
        let poll = &self.config.poll;
        let depth_max = poll.depth_age_max_ms;
        let balances_due = lapsing(self.ledger.age_ms(now), poll.balances_age_max_ms);
        let scan_age_ms = self
            .last_complete_scan_at
            .map(|scan_age_ms| now.ms_since(scan_age_ms));
        let scan_due = lapsing(scan_age_ms, poll.orders_age_max_ms);
        for index in 0..self.markets.len() {
            if lapsing(self.markets[index].book.age_ms(now), depth_max) {
                self.poll_depth(now, index, actions);
            }
        }
        if scan_due {
            self.poll_orders(now, actions);
        }
        if balances_due {
            self.poll_balances(now, actions);
        }
    }

    /// Sends all other polls that are due.
    pub(crate) fn poll_due(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.poll_reads(now, actions);
        self.poll_orders(now, actions);
        self.poll_pool_transactions(now, actions);
        for index in 0..self.markets.len() {
            self.poll_depth(now, index, actions);
        }
        self.poll_pools(now, actions);
        if !self.scan_confirms_balances() {
            self.poll_balances(now, actions);
        }
        self.poll_meta(now, actions);
    }

    /// Answers that are awaited and may report trades.
    pub(crate) fn reports_awaited(&self) -> u32 {
        let awaited = self.in_flight.values();
        let reports = awaited.filter(|asked| asked.purpose.endpoint().may_report_trades());
        u32::try_from(reports.count()).unwrap_or(u32::MAX)
    }

    /// Pays for a request, beside what awaited answers may cost; false if that is not possible. It is tried again when it
    /// is.
    pub(crate) fn take_token(&mut self, now: Time, endpoint: Endpoint) -> bool {
        let reports = self.reports_awaited();
        let paid = self.budget.take(now, endpoint, reports);
        if !paid {
            self.lack_budget(endpoint, reports);
        }
        paid
    }

    /// A request to `endpoint` waits for its budget.
    pub(crate) fn lack_budget(&mut self, endpoint: Endpoint, reports: u32) {
        self.budget_denied = true;
        if let Some(payable_at) = self.budget.payable_at(endpoint, reports) {
            self.payable_at = self.payable_at.min(payable_at);
        }
    }

    /// When a request that is due at `due` can be made; the end of time if its budget never suffices.
    pub(crate) fn payable_from(&self, now: Time, endpoint: Endpoint, due: Time) -> Time {
        if due > now {
            return due;
        }
        let payable_at = self.budget.payable_at(endpoint, self.reports_awaited());
        payable_at.map_or(Time(u64::MAX), |payable_at| payable_at.max(due))
    }

    /// Pays for a request, or reports that it could not.
    pub(crate) fn pay(&mut self, now: Time, endpoint: Endpoint, actions: &mut Vec<Action>) -> bool {
        let was_denied = self.budget_denied;
        let paid = self.take_token(now, endpoint);
        if !paid && !was_denied {
            actions.push(Action::Notify(Notification::BudgetDenied { endpoint }));
        }
        paid
    }

    pub(crate) fn is_asked(&self, wanted: impl Fn(&RequestPurpose) -> bool) -> bool {
        self.in_flight.values().any(|asked| wanted(&asked.purpose))
    }

    fn poll_depth(&mut self, now: Time, index: usize, actions: &mut Vec<Action>) {
        self.polls.depth.resize(self.markets.len(), Time(0));
        let id = self.markets[index].spec.id;
        let asked = self.is_asked(|purpose| purpose.is_depth_of(id));
        if now < self.polls.depth[index] || asked || !self.pay(now, Endpoint::Depth, actions) {
            return;
        }
        let interval_ms = self.polls.depth_interval_ms(index, &self.config.poll);
        self.polls.depth[index] = now.plus_ms(interval_ms);
        let own = self.orders.levels(id).collect();
        let purpose = RequestPurpose::Depth { market: id, own };
        self.send(now, purpose, Query::Depth(id), actions);
    }

    /// Whether the scan in progress will confirm the balances that wait for one. Younger balances would take their place
    /// and wait for the next scan: where lists take their time, and both are due at once, there would never be a cut.
    pub(crate) fn scan_confirms_balances(&self) -> bool {
        let arrived = self.ledger.candidate_arrived();
        let mut scan = self
            .scan
            .iter()
            .filter(|scan| scan.purpose != ScanPurpose::Resting);
        arrived.is_some_and(|arrived| scan.any(|scan| arrived <= scan.begun))
    }

    fn poll_balances(&mut self, now: Time, actions: &mut Vec<Action>) {
        let asked = self.is_asked(|purpose| matches!(purpose, RequestPurpose::Balances { .. }));
        if now < self.polls.balances || asked || !self.pay(now, Endpoint::Balances, actions) {
            return;
        }
        self.polls.balances = now.plus_ms(self.config.poll.balances_ms);
        let fills = self.ledger.fills();
        let own_locked = self.own_locks();
        self.send(
            now,
            RequestPurpose::Balances { fills, own_locked },
            Query::Balances,
            actions,
        );
    }

    /// What each intent that may be alive locks at most, and whether it surely does.
    fn own_locks(&self) -> OwnLocks {
        let orders = self.orders.iter().map(|tracked| {
            let of = (tracked.order.sell_token, tracked.order.client_id);
            let surely = tracked.lifecycle.phase == Phase::Live;
            (of, (tracked.reserved(), surely))
        });
        let pools = self.orders.pool_transactions.iter().flat_map(|tracked| {
            let wanted = &tracked.wanted;
            let tokens = [wanted.pooled[0], wanted.pooled[1], wanted.lp];
            tokens.map(|token| ((token, wanted.client_id), (wanted.reserved(token), false)))
        });
        orders.chain(pools).collect()
    }

    fn poll_meta(&mut self, now: Time, actions: &mut Vec<Action>) {
        let again = now.plus_ms(self.config.poll.meta_ms);
        let asked = self.is_asked(|purpose| matches!(purpose, RequestPurpose::Markets));
        if now >= self.polls.markets && !asked && self.pay(now, Endpoint::Markets, actions) {
            self.polls.markets = again;
            self.send(now, RequestPurpose::Markets, Query::Markets, actions);
        }
        let asked = self.is_asked(|purpose| matches!(purpose, RequestPurpose::Tokens));
        if now >= self.polls.tokens && !asked && self.pay(now, Endpoint::Tokens, actions) {
            self.polls.tokens = again;
            self.send(now, RequestPurpose::Tokens, Query::Tokens, actions);
        }
        let asked = self.is_asked(|purpose| matches!(purpose, RequestPurpose::Account));
        if now >= self.polls.account && !asked && self.pay(now, Endpoint::Account, actions) {
            self.polls.account = again;
            self.send(now, RequestPurpose::Account, Query::Account, actions);
        }
        let asked = self.is_asked(|purpose| matches!(purpose, RequestPurpose::Pools));
        let wanted = self.has_pools() && now >= self.polls.pools;
        if wanted && !asked && self.pay(now, Endpoint::Pools, actions) {
            self.polls.pools = again;
            self.send(now, RequestPurpose::Pools, Query::Pools, actions);
        }
    }

    pub(crate) fn has_pools(&self) -> bool {
        self.markets.iter().any(|market| market.pool.is_some())
    }

    /// Polls the pools' balances.
    fn poll_pools(&mut self, now: Time, actions: &mut Vec<Action>) {
        for index in 0..self.markets.len() {
            let id = self.markets[index].spec.id;
            let Some(pool) = &self.markets[index].pool else {
                continue;
            };
            let (due, again) = (pool.poll_at, now.plus_ms(pool.config.poll_ms));
            let asked =
                self.is_asked(|p| matches!(p, RequestPurpose::PoolBalance(of) if *of == id));
            if now < due || asked || !self.pay(now, Endpoint::PoolBalance, actions) {
                continue;
            }
            if let Some(pool) = &mut self.markets[index].pool {
                pool.poll_at = again;
            }
            let query = Query::PoolBalance(id);
            self.send(now, RequestPurpose::PoolBalance(id), query, actions);
        }
    }

    /// Queries order reports by hash, one at a time.
    fn poll_reads(&mut self, now: Time, actions: &mut Vec<Action>) {
        let asked = || self.is_asked(|purpose| matches!(purpose, RequestPurpose::OrderReport(_)));
        if !self.orders.outline().read_wanted || asked() {
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
            if let Some(hash) = tracked.lifecycle.hash {
                self.send(
                    now,
                    RequestPurpose::OrderReport(id),
                    Query::Order(hash),
                    actions,
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scans_wait_for_their_delay() {
        let now = Time::from_ms(10_000);
        let ended = |purpose| {
            let mut polls = Polls::default();
            polls.scan_ended(purpose, now);
            polls.pool_scan_ended(purpose, now);
            [polls.absence, polls.pool_transactions_absence]
        };
        assert_eq!(ended(ScanPurpose::Absence), [now.plus_ms(1_000); 2]);
        assert_eq!(ended(ScanPurpose::Presence), [Time(0); 2]);
        let failed = |purpose| {
            let mut polls = Polls::default();
            polls.scan_failed(purpose, now);
            [polls.resting, polls.presence, polls.absence]
        };
        let soon = now.plus_ms(500);
        assert_eq!(
            failed(ScanPurpose::Resting),
            [now.plus_ms(2_000), Time(0), Time(0)]
        );
        for purpose in [ScanPurpose::Presence, ScanPurpose::Absence] {
            assert_eq!(failed(purpose), [Time(0), soon, soon]);
        }
        let mut polls = Polls::default();
        polls.pool_scan_failed(now);
        assert_eq!(polls.pool_transactions_absence, soon);
    }

    /// A request that cannot be paid is reported, until one is paid for in a later step.
    #[test]
    fn a_request_without_a_token_is_reported_once() {
        let now = Time::from_ms(1_000);
        let mut state = crate::engine::testing::state(now);
        state.budget.spend_all_but(now, 0);
        let mut actions = Vec::new();
        assert!(!state.pay(now, Endpoint::Depth, &mut actions));
        let denied = Action::Notify(Notification::BudgetDenied {
            endpoint: Endpoint::Depth,
        });
        assert_eq!(actions, [denied]);
        assert!(!state.pay(now, Endpoint::Depth, &mut actions));
        assert_eq!(actions.len(), 1);
    }
}
