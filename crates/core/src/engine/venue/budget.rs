//! Request budgets: a common bucket with a reserve for cancels, one bucket per endpoint, and a pause of an endpoint
//! after a 429.
//!
//! The arithmetic is governor's; its clock is the engine's and its state is a plain number, so that the engine stays a
//! value. The budget decides and never queues: a denied request is decided again at the next wake-up.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{NotKeyed, StateStore};
use governor::{Quota, RateLimiter};
use serde::{Deserialize, Serialize};

use crate::config::BudgetConfig;
use crate::request::Endpoint;
use crate::sorted_map::SortedMap;
use crate::time::Time;
use crate::venue::RequestCosts;

/// State of one bucket: governor's theoretical arrival time, absent before the first request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Bucket(Cell<Option<u64>>);

impl StateStore for &Bucket {
    type Key = NotKeyed;

    fn measure_and_replace<T, F, E>(&self, _: &NotKeyed, decide: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let (answer, next) = decide(self.0.get().map(Nanos::new))?;
        self.0.set(Some(next.as_u64()));
        Ok(answer)
    }
}

/// The engine's time in the form that governor needs.
#[derive(Clone, Debug)]
struct EngineClock<'a>(&'a Cell<u64>);

impl Clock for EngineClock<'_> {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::new(self.0.get())
    }
}

type Limiter<'a> = RateLimiter<NotKeyed, &'a Bucket, EngineClock<'a>, NoOpMiddleware<Nanos>>;

impl Bucket {
    /// Takes `tokens` if `tokens + spare` are available.
    fn take(&self, now: Time, quota: Quota, tokens: NonZeroU32, spare: u32) -> bool {
        let clock = Cell::new(0);
        if spare > 0 {
            let copy = self.clone();
            let limiter = Limiter::new(quota, &copy, EngineClock(&clock));
            clock.set(now.0.saturating_mul(1_000));
            let wanted = tokens.saturating_add(spare);
            if !matches!(limiter.check_n(wanted), Ok(Ok(()))) {
                return false;
            }
            clock.set(0);
        }
        let limiter = Limiter::new(quota, self, EngineClock(&clock));
        clock.set(now.0.saturating_mul(1_000));
        matches!(limiter.check_n(tokens), Ok(Ok(())))
    }
}

impl Bucket {
    /// Takes `tokens` whether or not they are available: what is missing has to come back first.
    fn charge(&self, now: Time, per_s: u32, tokens: u32) {
        let begins = self.0.get().unwrap_or(0).max(now.0.saturating_mul(1_000));
        let period_ns = 1_000_000_000 / u64::from(per_s.max(1));
        let taken = period_ns.saturating_mul(tokens.into());
        self.0.set(Some(begins.saturating_add(taken)));
    }
}

impl Bucket {
    /// When [`Bucket::take`] first finds so many tokens, if none is taken before; `None` if the burst does not hold as many.
    fn has_at(&self, per_s: u32, burst: u32, tokens: u32) -> Option<Time> {
        // A rate above one a nanosecond is none.
        let period_ns = match 1_000_000_000 / u64::from(per_s.max(1)) {
            0 => 1_000_000_000,
            period_ns => period_ns,
        };
        let left = burst.max(1).checked_sub(tokens)?;
        let left_ns = period_ns.saturating_mul(left.into());
        let full_at = self.0.get().unwrap_or(0);
        Some(Time(full_at.saturating_sub(left_ns).div_ceil(1_000)))
    }

    /// Whether no token is available, as [`Bucket::take`] would find with more arithmetic.
    fn is_empty(&self, now: Time, per_s: u32, burst: u32) -> bool {
        self.has_at(per_s, burst, 1).is_none_or(|at| now < at)
    }

    /// Whole tokens left: the burst less the tokens still owed.
    fn left(&self, now: Time, per_s: u32, burst: u32) -> u32 {
        let now_ns = u128::from(now.0) * 1_000;
        let owed_ns = u128::from(self.0.get().unwrap_or(0)).saturating_sub(now_ns);
        let owed = (owed_ns * u128::from(per_s.max(1))).div_ceil(1_000_000_000);
        burst.saturating_sub(u32::try_from(owed).unwrap_or(u32::MAX))
    }
}

/// All buckets of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Budget {
    config: BudgetConfig,
    costs: RequestCosts,
    begun: Time,
    common: Bucket,
    endpoints: SortedMap<Endpoint, Bucket>,
    resting_until: SortedMap<Endpoint, Time>,
    sent: u64,
    /// Tokens that are left to the lists of the next start. The first lists of this one do not leave them.
    leaves: u32,
}

fn quota(per_s: u32, burst: u32) -> Quota {
    let at_least_one = |n: u32| NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN);
    Quota::with_period(Duration::from_secs(1) / at_least_one(per_s).get())
        .unwrap_or(Quota::per_second(NonZeroU32::MIN))
        .allow_burst(at_least_one(burst))
}

impl Budget {
    /// Full buckets at `now`.
    pub(crate) fn new(now: Time, config: BudgetConfig, costs: RequestCosts) -> Self {
        Self {
            config,
            costs,
            begun: now,
            common: Bucket::default(),
            endpoints: Endpoint::ALL
                .iter()
                .map(|e| (*e, Bucket::default()))
                .collect(),
            resting_until: SortedMap::new(),
            sent: 0,
            leaves: 0,
        }
    }

    /// Takes what one request to `endpoint` costs, or nothing at all. `reports` answers are awaited that may report trades.
    pub(crate) fn take(&mut self, now: Time, endpoint: Endpoint, reports: u32) -> bool {
        let Some((common, own)) = self.after(now, endpoint, reports) else {
            return false;
        };
        self.common = common;
        *self.endpoints.entry(endpoint).or_default() = own;
        self.sent += u64::from(self.costs.of(endpoint));
        true
    }

    /// Whether one request to `endpoint` could be paid, as for [`Budget::take`].
    pub(crate) fn has(&self, now: Time, endpoint: Endpoint, reports: u32) -> bool {
        self.after(now, endpoint, reports).is_some()
    }

    /// The common bucket and that of `endpoint` after one request, if it can be paid.
    fn after(&self, now: Time, endpoint: Endpoint, reports: u32) -> Option<(Bucket, Bucket)> {
        if self
            .resting_until
            .get(&endpoint)
            .is_some_and(|until| now < *until)
        {
            return None;
        }
        let own = self.endpoints.get(&endpoint).cloned().unwrap_or_default();
        // An endpoint without a token is asked at every step.
        if own.is_empty(now, self.config.endpoint_per_s, self.config.endpoint_burst) {
            return None;
        }
        let common = self.common.clone();
        if let Some(tokens) = NonZeroU32::new(self.costs.of(endpoint)) {
            let quota = quota(self.config.per_s, self.config.burst);
            let spare = self.spare(endpoint, tokens.get(), reports);
            if !common.take(now, quota, tokens, spare) {
                return None;
            }
        }
        let quota = quota(self.config.endpoint_per_s, self.config.endpoint_burst);
        own.take(now, quota, NonZeroU32::MIN, 0)
            .then_some((common, own))
    }

    /// Tokens of the common bucket that a request of so many leaves to others.
    fn spare(&self, endpoint: Endpoint, tokens: u32, reports: u32) -> u32 {
        let reserve = if endpoint == Endpoint::Cancel {
            0
        } else {
            self.config.cancel_reserve.saturating_add(self.leaves)
        };
        // What answers that are awaited may still cost is spent at the venue before it is charged here. A burst that does
        // not hold as much is left to requests.
        let reports = reports.saturating_add(u32::from(endpoint.may_report_trades()));
        let owed = self.costs.new_fills.saturating_mul(reports);
        let left = self.config.burst.saturating_sub(tokens);
        reserve.max(reserve.saturating_add(owed).min(left))
    }

    /// When one request to `endpoint` can first be paid, as for [`Budget::take`], if nothing is paid and no answer arrives
    /// before; `None` if never, because the burst does not hold what it costs.
    pub(crate) fn payable_at(&self, endpoint: Endpoint, reports: u32) -> Option<Time> {
        let config = &self.config;
        let resting_until = self.resting_until.get(&endpoint).copied();
        let own = self.endpoints.get(&endpoint).cloned().unwrap_or_default();
        let own = own.has_at(config.endpoint_per_s, config.endpoint_burst, 1)?;
        let common = match self.costs.of(endpoint) {
            0 => Time(0),
            tokens => {
                let wanted = tokens.saturating_add(self.spare(endpoint, tokens, reports));
                self.common.has_at(config.per_s, config.burst, wanted)?
            }
        };
        Some(resting_until.unwrap_or_default().max(own).max(common))
    }

    /// The first lists of a run are complete: from now on tokens are left to those of the next one.
    pub(crate) fn leave_to_next_start(&mut self) {
        self.leaves = self.costs.left_to_start;
    }

    /// The run ends: its proof may use all tokens.
    pub(crate) fn leave_nothing(&mut self) {
        self.leaves = 0;
    }

    /// Takes what an answer cost beyond its endpoint, also below zero.
    pub(crate) fn charge(&mut self, now: Time, cost: u32) {
        if cost > 0 {
            self.common.charge(now, self.config.per_s, cost);
            self.sent += u64::from(cost);
        }
    }

    /// The venue answered 429: pauses the endpoint.
    pub(crate) fn back_off(&mut self, now: Time, endpoint: Endpoint) {
        self.rest(now, endpoint, self.config.penalty_ms);
    }

    /// Pauses the endpoint for `ms`, or longer if it is paused already.
    pub(crate) fn rest(&mut self, now: Time, endpoint: Endpoint, ms: u64) {
        let until = self.resting_until.entry(endpoint).or_default();
        *until = (*until).max(now.plus_ms(ms));
    }

    /// Applies other rates; spent tokens stay spent.
    pub(crate) fn reconfigure(&mut self, config: &BudgetConfig) {
        self.config = config.clone();
    }

    /// Whole tokens left: in the common bucket, and in every endpoint's.
    pub(crate) fn tokens(&self, now: Time) -> (u32, Vec<(Endpoint, u32)>) {
        let config = &self.config;
        let own = |bucket: &Bucket| bucket.left(now, config.endpoint_per_s, config.endpoint_burst);
        let each = self.endpoints.iter().map(|(at, bucket)| (*at, own(bucket)));
        let common = self.common.left(now, config.per_s, config.burst);
        (common, each.collect())
    }

    /// Empties every bucket but for so many tokens of the common one: a run that ended a moment ago may have spent tokens that
    /// the venue still counts.
    pub(crate) fn spend_all_but(&mut self, now: Time, left: u32) {
        let own = quota(self.config.endpoint_per_s, self.config.endpoint_burst);
        let common = quota(self.config.per_s, self.config.burst);
        for bucket in self.endpoints.values() {
            while bucket.take(now, own, NonZeroU32::MIN, 0) {}
        }
        while self.common.take(now, common, NonZeroU32::MIN, left) {}
    }

    /// Tokens of the common bucket paid so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Tokens that the common bucket would have given by `now`.
    pub(crate) fn allowed(&self, now: Time) -> u64 {
        let refilled = now
            .micros_since(self.begun)
            .saturating_mul(u64::from(self.config.per_s));
        u64::from(self.config.burst).saturating_add(refilled / 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> BudgetConfig {
        BudgetConfig {
            per_s: 10,
            burst: 10,
            cancel_reserve: 3,
            endpoint_per_s: 5,
            endpoint_burst: 8,
            penalty_ms: 2_000,
        }
    }

    /// The venue counts the questions about new trades while the answer that reports them is still under way.
    #[test]
    fn what_awaited_answers_may_cost_is_left_for_them() {
        let costs = RequestCosts {
            each: vec![(Endpoint::Orders, 1), (Endpoint::Balances, 1)],
            new_fills: 2,
            left_to_start: 0,
        };
        let config = BudgetConfig {
            burst: 5,
            cancel_reserve: 0,
            ..config()
        };
        let now = Time(0);
        let polls = |reports, endpoint| {
            let mut budget = Budget::new(now, config.clone(), costs.clone());
            let taken = (0..20).filter(|_| budget.take(now, endpoint, reports));
            taken.count()
        };
        let counts = [0, 1, 2].map(|reports| {
            let each = [Endpoint::Balances, Endpoint::Orders];
            each.map(|endpoint| polls(reports, endpoint))
        });
        assert_eq!(counts, [[5, 3], [3, 1], [1, 1]]);
    }

    #[test]
    fn a_bucket_is_empty_if_nothing_can_be_taken() {
        for (per_s, burst) in [(1, 1), (3, 2), (7, 1), (1_000, 50), (0, 0), (u32::MAX, 3)] {
            let (bucket, quota) = (Bucket::default(), quota(per_s, burst));
            let mut at = 0;
            for step in 0..5_000_u64 {
                at += step * step % 1_913;
                let now = Time(at * 250);
                let is_empty = bucket.is_empty(now, per_s, burst);
                let taken = bucket.take(now, quota, NonZeroU32::MIN, 0);
                assert_eq!(is_empty, !taken, "{per_s} {burst} at {at}");
            }
        }
    }

    #[test]
    fn only_cancels_use_the_reserve() {
        let mut budget = Budget::new(Time(0), config(), RequestCosts::default());
        let polls = (0..20)
            .filter(|_| budget.take(Time(0), Endpoint::Depth, 0))
            .count();
        assert_eq!(polls, 7, "ten less the reserve of three");
        let cancels = (0..20)
            .filter(|_| budget.take(Time(0), Endpoint::Cancel, 0))
            .count();
        assert_eq!(cancels, 3, "the rest of the common bucket");
        assert_eq!(budget.sent(), 10);
    }

    #[test]
    fn between_its_first_lists_and_its_end_a_run_leaves_tokens_to_the_next_start() {
        let costs = RequestCosts {
            left_to_start: 5,
            ..RequestCosts::default()
        };
        let mut budget = Budget::new(Time(0), config(), costs);
        let takes = |budget: &Budget, endpoint| {
            let mut budget = budget.clone();
            let taken = (0..20).filter(|_| budget.take(Time(0), endpoint, 0));
            taken.count()
        };
        assert_eq!(takes(&budget, Endpoint::Depth), 7);
        budget.leave_to_next_start();
        assert_eq!(takes(&budget, Endpoint::Depth), 2);
        assert_eq!(
            takes(&budget, Endpoint::Cancel),
            8,
            "as many as its own limit"
        );
        budget.leave_nothing();
        assert_eq!(takes(&budget, Endpoint::Depth), 7);
    }

    #[test]
    fn tokens_return_at_the_rate() {
        let mut budget = Budget::new(Time(0), config(), RequestCosts::default());
        while budget.take(Time(0), Endpoint::Cancel, 0) {}
        assert!(!budget.take(Time::from_ms(99), Endpoint::Cancel, 0));
        assert!(budget.take(Time::from_ms(300), Endpoint::Cancel, 0));
        assert_eq!(budget.allowed(Time::from_ms(2_000)), 30);
    }

    #[test]
    fn tokens_of_an_earlier_run_return_at_the_rate() {
        let mut budget = Budget::new(Time(0), config(), RequestCosts::default());
        budget.spend_all_but(Time(0), 0);
        assert!(!budget.take(Time::from_ms(150), Endpoint::Cancel, 0));
        assert!(budget.take(Time::from_ms(250), Endpoint::Cancel, 0));
        assert_eq!(budget.sent(), 1);
    }

    #[test]
    fn what_is_known_to_be_left_of_an_earlier_run_can_be_used() {
        for (left, tokens) in [(0, 0), (1, 1), (9, 9), (10, 10), (11, 10), (u32::MAX, 10)] {
            let mut budget = Budget::new(Time(0), config(), RequestCosts::default());
            budget.spend_all_but(Time(0), left);
            assert_eq!(budget.tokens(Time(0)).0, tokens, "{left}");
            assert_eq!(budget.sent(), 0, "an earlier run paid them");
        }
    }

    #[test]
    fn an_endpoint_has_its_own_limit_and_a_denied_request_costs_nothing() {
        let mut budget = Budget::new(
            Time(0),
            BudgetConfig {
                endpoint_burst: 2,
                ..config()
            },
            RequestCosts::default(),
        );
        assert!(budget.take(Time(0), Endpoint::Submit, 0));
        assert!(budget.take(Time(0), Endpoint::Submit, 0));
        assert!(!budget.take(Time(0), Endpoint::Submit, 0));
        let others = (0..20)
            .filter(|_| budget.take(Time(0), Endpoint::Cancel, 0))
            .count();
        assert_eq!(
            others, 2,
            "its own burst, not reduced by the denied request"
        );
        let sent = budget.sent();
        assert_eq!(sent, 4);
    }

    #[test]
    fn requests_cost_what_the_venue_counts_for_them() {
        let costs = RequestCosts {
            each: vec![(Endpoint::Orders, 4), (Endpoint::Cancel, 0)],
            new_fills: 0,
            left_to_start: 0,
        };
        let mut budget = Budget::new(Time(0), config(), costs);
        assert!(budget.take(Time(0), Endpoint::Orders, 0));
        assert!(
            !budget.take(Time(0), Endpoint::Orders, 0),
            "three of the six that are left are reserved for cancels"
        );
        let cancels = (0..20)
            .filter(|_| budget.take(Time(0), Endpoint::Cancel, 0))
            .count();
        assert_eq!(cancels, 8, "they have the bucket of their endpoint only");
        let polls = (0..20)
            .filter(|_| budget.take(Time(0), Endpoint::Depth, 0))
            .count();
        assert_eq!(polls, 3);
        assert_eq!(budget.sent(), 7, "tokens of the common bucket");
    }

    #[test]
    fn questions_about_new_trades_are_paid_afterwards() {
        let costs = RequestCosts {
            each: vec![(Endpoint::Orders, 10)],
            new_fills: 20,
            left_to_start: 0,
        };
        let config = BudgetConfig {
            cancel_reserve: 0,
            ..config()
        };
        let mut budget = Budget::new(Time(0), config, costs);
        assert!(budget.take(Time(0), Endpoint::Orders, 0));
        budget.charge(Time(0), 20);
        assert_eq!(budget.tokens(Time(0)).0, 0);
        // Twenty are owed at ten a second, then ten are taken.
        assert!(!budget.take(Time::from_ms(2_999), Endpoint::Orders, 0));
        assert!(budget.take(Time::from_ms(3_000), Endpoint::Orders, 0));
        assert_eq!(budget.sent(), 40);
    }

    /// A third of a call each second, by a common bucket that counts hundredths.
    #[test]
    fn rates_below_one_a_second_are_kept_by_costs_of_more_than_one() {
        let costs = RequestCosts {
            each: vec![(Endpoint::Balances, 100)],
            new_fills: 0,
            left_to_start: 0,
        };
        let config = BudgetConfig {
            per_s: 33,
            burst: 200,
            cancel_reserve: 0,
            ..config()
        };
        let mut budget = Budget::new(Time(0), config, costs);
        let polls = |budget: &mut Budget, ms| {
            let at = Time::from_ms(ms);
            (0..5)
                .filter(|_| budget.take(at, Endpoint::Balances, 0))
                .count()
        };
        assert_eq!(polls(&mut budget, 0), 2);
        assert_eq!(polls(&mut budget, 3_030), 0);
        assert_eq!(polls(&mut budget, 3_031), 1);
    }

    #[test]
    fn a_request_that_could_be_paid_is_one_that_is_paid() {
        let costs = RequestCosts {
            each: vec![(Endpoint::Orders, 2)],
            new_fills: 0,
            left_to_start: 0,
        };
        let mut budget = Budget::new(Time(0), config(), costs);
        budget.back_off(Time(0), Endpoint::Depth);
        let mut counts = [0, 0];
        for step in 0..400 {
            let now = Time(step * 12_347);
            for endpoint in [Endpoint::Depth, Endpoint::Orders, Endpoint::Cancel] {
                let before = (budget.sent(), budget.tokens(now));
                let has = budget.has(now, endpoint, 0);
                assert_eq!((budget.sent(), budget.tokens(now)), before);
                assert_eq!(budget.take(now, endpoint, 0), has, "{endpoint:?} {now:?}");
                counts[usize::from(has)] += 1;
            }
        }
        assert!(counts.into_iter().all(|count| count > 30), "{counts:?}");
    }

    #[test]
    fn a_429_pauses_the_endpoint() {
        let mut budget = Budget::new(Time(0), config(), RequestCosts::default());
        budget.back_off(Time(0), Endpoint::Depth);
        assert!(!budget.take(Time::from_ms(1_999), Endpoint::Depth, 0));
        assert!(
            budget.take(Time::from_ms(1_999), Endpoint::Orders, 0),
            "others go on"
        );
        assert!(budget.take(Time::from_ms(2_000), Endpoint::Depth, 0));
    }

    #[test]
    fn every_endpoint_but_cancel_leaves_the_reserve_and_has_its_own_limit_and_rest() {
        for endpoint in Endpoint::ALL {
            let reserve = if endpoint == Endpoint::Cancel { 0 } else { 3 };
            for (endpoint_burst, most) in [(20, 10 - reserve), (5, 5)] {
                let mut budget = Budget::new(
                    Time(0),
                    BudgetConfig {
                        endpoint_burst,
                        ..config()
                    },
                    RequestCosts::default(),
                );
                let taken = (0..20)
                    .filter(|_| budget.take(Time(0), endpoint, 0))
                    .count();
                assert_eq!(taken, most, "{endpoint:?} of {endpoint_burst}");
                assert_eq!(budget.sent(), most as u64);
                let others = Endpoint::ALL.into_iter().filter(|other| *other != endpoint);
                let (tokens, _) = budget.tokens(Time(0));
                assert_eq!(tokens as usize, 10 - most, "{endpoint:?}");
                for other in others.take(1) {
                    budget.back_off(Time(0), endpoint);
                    assert!(!budget.take(Time::from_ms(1_999), endpoint, 0));
                    assert!(budget.take(Time::from_ms(1_999), other, 0), "{other:?}");
                    assert!(budget.take(Time::from_ms(2_000), endpoint, 0));
                }
            }
        }
    }

    /// A microsecond before it cannot be paid yet: with costs, reserves, awaited reports, charges and pauses.
    #[test]
    fn a_request_is_payable_from_the_time_that_is_stated() {
        let endpoints = [
            Endpoint::Orders,
            Endpoint::Depth,
            Endpoint::Cancel,
            Endpoint::Submit,
        ];
        let costs = RequestCosts {
            each: vec![
                (Endpoint::Orders, 2),
                (Endpoint::Depth, 0),
                (Endpoint::Cancel, 1),
                (Endpoint::Submit, 4),
            ],
            new_fills: 2,
            left_to_start: 0,
        };
        let mut counts = [0; 3];
        for (per_s, burst, endpoint_burst) in [(10, 10, 8), (3, 6, 1), (7, 5, 2), (0, 8, 0)] {
            let config = BudgetConfig {
                per_s,
                burst,
                endpoint_burst,
                ..config()
            };
            let mut budget = Budget::new(Time(0), config, costs.clone());
            let mut now = Time(0);
            let requests = endpoints.into_iter().cycle().zip((0..3).cycle());
            for (step, (endpoint, reports)) in (0..4_000_u64).zip(requests) {
                now = Time(now.0 + step * step % 90_001);
                let is_paid = |at| budget.clone().take(at, endpoint, reports);
                match budget.payable_at(endpoint, reports) {
                    None => {
                        assert!(!is_paid(now.plus_ms(1_000_000_000)), "{endpoint:?}");
                        counts[0] += 1;
                    }
                    Some(at) if at <= now => {
                        assert!(is_paid(now), "{endpoint:?} at {now:?}");
                        counts[1] += 1;
                    }
                    Some(at) => {
                        let paid = [Time(at.0 - 1), at].map(is_paid);
                        assert_eq!(paid, [false, true], "{endpoint:?} at {at:?}");
                        counts[2] += 1;
                    }
                }
                budget.take(now, endpoint, reports);
                match step % 50 {
                    3 => budget.charge(now, 3),
                    7 => budget.back_off(now, endpoint),
                    _ => {}
                }
            }
        }
        assert!(counts.iter().all(|count| *count > 1_000), "{counts:?}");
    }

    #[test]
    fn tokens_left_are_those_that_can_be_taken() {
        for (endpoint_per_s, endpoint_burst) in [(5, 8), (20, 20)] {
            let config = BudgetConfig {
                endpoint_per_s,
                endpoint_burst,
                ..config()
            };
            let begun = Time::from_ms(500);
            let mut budget = Budget::new(begun, config, RequestCosts::default());
            assert!((0..6).all(|_| budget.take(begun, Endpoint::Cancel, 0)));
            for ms in (500..2_500).step_by(20) {
                let now = Time::from_ms(ms);
                let (common, endpoints) = budget.tokens(now);
                let own = endpoints.iter().find(|(of, _)| *of == Endpoint::Cancel);
                let own = own.map_or(0, |(_, tokens)| *tokens);
                let mut copy = budget.clone();
                let taken = (0..20).filter(|_| copy.take(now, Endpoint::Cancel, 0));
                assert_eq!(taken.count(), common.min(own) as usize, "at {ms} ms");
            }
        }
    }
}
