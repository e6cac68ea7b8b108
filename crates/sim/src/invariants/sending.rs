//! Sending rules: whether the daemon keeps its rules when it sends, judged only from its inputs and outputs. No state
//! is shared with the engine: every rule is written here a second time, as weakly as it can be stated from outside and
//! as strongly as it can fail.

use crate::invariants::table::Invariant;
use std::collections::{BTreeMap, BTreeSet};

use cambist_core::config::EngineConfig;
use cambist_core::event::{Command, Event, TradingState};
use cambist_core::notification::Notification;
use cambist_core::request::{Endpoint, OrderList, Outcome, Query, Reply, RequestId, RequestKind};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{ClientOrderId, Hash, MarketId, Price, Reason, Time, TokenId, VenueTime};

use crate::invariants::data_age::DataAge;

/// A violated rule: its stable name, and what was observed.
pub(crate) type Broken = (Invariant, String);

/// Requests that would be allowed, in millionths.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: u64,
    at: Time,
}

/// The bytes of an intent that are about to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving<'a> {
    pub(crate) id: ClientOrderId,
    pub(crate) market: MarketId,
    pub(crate) market_name: &'a str,
    pub(crate) valid_until_s: u32,
}

impl Bucket {
    fn full(now: Time, burst: u32) -> Self {
        Self {
            left: u64::from(burst) * 1_000_000,
            at: now,
        }
    }

    /// Takes a token; false if `needed` were not available. The daemon's clock may run one part in a thousand fast.
    fn take(&mut self, now: Time, (per_s, burst): (u32, u32), needed: u64) -> bool {
        let passed = now.micros_since(self.at);
        let refilled = (passed + passed.div_ceil(1_000)) * u64::from(per_s);
        self.left = (u64::from(burst) * 1_000_000).min(self.left + refilled);
        self.at = now;
        let enough = self.left >= needed * 1_000_000;
        self.left = self.left.saturating_sub(1_000_000);
        enough
    }
}

/// Inputs and outputs of one start of the daemon.
#[derive(Debug, Default)]
pub(crate) struct SendingRules {
    ready: bool,
    /// Requests for lists of resting orders, and whether one was answered.
    resting_requested: BTreeSet<RequestId>,
    resting_answered: bool,
    /// Whether a restriction was decided, or durable at the start.
    forbidden: bool,
    /// Whether the account is frozen, by the last answer.
    frozen: Option<bool>,
    /// Open markets by the last answer.
    enabled: Option<BTreeSet<String>>,
    /// The answer being handled: it counts if the daemon still waits for it.
    current_reply: Option<Reply>,
    pub(crate) data_age: DataAge,
    /// Orders that are known to be accepted.
    known: BTreeSet<Hash>,
    /// When everything had to be cancelled.
    stopped: Option<Time>,
    /// Orders whose cancel was sent, and when first.
    cancelled: BTreeMap<ClientOrderId, Time>,
    transmissions: BTreeMap<ClientOrderId, u32>,
    bucket: Option<Bucket>,
    /// The same by endpoint.
    buckets: BTreeMap<Endpoint, Bucket>,
    /// The retry-after of the answer being handled.
    rest_ms: u64,
    /// Until when an endpoint must not be used.
    resting: BTreeMap<Endpoint, Time>,
    /// Mids of depths that own orders form, and the true ones, by the depth's time.
    own_mids: BTreeMap<(VenueTime, MarketId), (u64, Option<u64>)>,
}

/// Storage ids sent, over all starts: the highest by token.
pub(crate) type Slots = SortedMap<TokenId, u32>;

impl SendingRules {
    /// A start from this trading state. Tokens spent before are spent: the venue does not know of restarts. A start
    /// without state of an earlier run may treat itself as the first.
    pub(crate) fn begin(&self, level: TradingState, is_first: bool) -> Self {
        let mut begun = Self {
            forbidden: level > TradingState::Active,
            ..Self::default()
        };
        // Only the run that sent it knew the number of transmissions: nothing of it may be sent again.
        let left = self.transmissions.keys();
        begun.transmissions = left.map(|id| (*id, u32::MAX / 2)).collect();
        if !is_first {
            (begun.bucket, begun.buckets) = (self.bucket, self.buckets.clone());
        }
        begun
    }

    /// Records an event of the daemon.
    pub(crate) fn handle_event(&mut self, event: &Event) {
        self.current_reply = match event {
            Event::Answer {
                outcome: Outcome::Reply(reply @ (Reply::Markets { .. } | Reply::Account { .. })),
                ..
            } => Some(reply.clone()),
            _ => None,
        };
        self.rest_ms = match event {
            Event::Answer { retry_after_ms, .. } => retry_after_ms.unwrap_or(0),
            _ => 0,
        };
        if let Event::Answer {
            request,
            outcome: Outcome::Reply(Reply::Orders { .. } | Reply::OrdersUntil { .. }),
            ..
        } = event
        {
            self.resting_answered |= self.resting_requested.remove(request);
        }
        match event {
            Event::Operator(Command::Raise { .. } | Command::Drain) => self.forbidden = true,
            Event::Operator(Command::Lower { .. }) => self.forbidden = false,
            _ => {}
        }
    }

    /// Checks a notification of the daemon.
    pub(crate) fn observe(
        &mut self,
        shown: Time,
        notification: &Notification,
        engine: &EngineConfig,
    ) -> Option<Broken> {
        match notification {
            Notification::Answered { .. } => match self.current_reply.take() {
                Some(Reply::Account { frozen }) => self.frozen = Some(frozen),
                Some(Reply::Markets { listed }) => {
                    let open = listed.into_iter().filter(|market| market.enabled);
                    self.enabled = Some(open.map(|market| market.name).collect());
                }
                _ => {}
            },
            Notification::Ready { .. } => {
                self.ready = true;
                if !self.resting_answered {
                    let detail = "before what rests on the account was listed".to_owned();
                    return Some((Invariant::OpenedBlind, detail));
                }
            }
            Notification::Acknowledged { hash, .. } => {
                self.known.insert(*hash);
            }
            Notification::Draining => {
                self.stopped.get_or_insert(shown);
            }
            Notification::TradingStateChanged { level, .. } if *level > TradingState::Active => {
                self.stopped.get_or_insert(shown);
            }
            Notification::TradingStateChanged { .. } => self.stopped = None,
            Notification::DepthAccepted {
                market,
                mid,
                timestamp,
            } => {
                self.data_age.depth(*market, *timestamp, *mid);
                // A cache sends the same depth again and again.
                let formed = self.own_mids.get(&(*timestamp, *market));
                if let Some((with_own, true_mid)) = formed
                    && *mid == Some(*with_own)
                    && mid != true_mid
                {
                    let detail =
                        format!("mid {with_own} is formed by own orders, not {true_mid:?}");
                    return Some((Invariant::OwnPriced, detail));
                }
            }
            Notification::CancelSent { order } => {
                self.cancelled.entry(*order).or_insert(shown);
            }
            Notification::Refused {
                endpoint,
                reason: Reason::RateLimited,
                ..
            } => {
                let until = shown.plus_ms(engine.budget.penalty_ms.max(self.rest_ms));
                self.resting.insert(*endpoint, until);
            }
            _ => {}
        }
        None
    }

    /// Records a query.
    pub(crate) fn asks(&mut self, request: RequestId, query: &Query) {
        if matches!(query, Query::Orders(page) if page.list == OrderList::Resting) {
            self.resting_requested.insert(request);
        }
    }

    /// Checks a request that is sent at simulated time `now`.
    pub(crate) fn send(
        &mut self,
        (now, shown): (Time, Time),
        endpoint: Endpoint,
        engine: &EngineConfig,
    ) -> Option<Broken> {
        let budget = &engine.budget;
        // The token of a join or an exit is taken when it is approved, and it is sent when durable: several that were
        // paid for earlier may come together. One token of rounding is allowed.
        let needed = match endpoint.kind() {
            RequestKind::Cancel => 1,
            RequestKind::Order | RequestKind::PoolTransaction | RequestKind::Amend => 0,
            RequestKind::Read => 1 + u64::from(budget.cancel_reserve).saturating_sub(2),
        };
        let common = self.bucket.get_or_insert(Bucket::full(now, budget.burst));
        let enough = common.take(now, (budget.per_s, budget.burst), needed);
        let own = self.buckets.entry(endpoint);
        let own = own.or_insert(Bucket::full(now, budget.endpoint_burst));
        let rate = (budget.endpoint_per_s, budget.endpoint_burst);
        let own_enough = own.take(now, rate, needed.min(1));
        if !enough || !own_enough {
            let left = [common.left, own.left].map(|left| left / 1_000_000);
            return Some((
                Invariant::Budget,
                format!("{} with {left:?} left", endpoint.name()),
            ));
        }
        // Orders paid for before the 429 may still be sent; polls may not.
        let rests = self
            .resting
            .get(&endpoint)
            .is_some_and(|until| shown < *until);
        (rests && endpoint != Endpoint::Submit).then(|| {
            let detail = format!("{} while it was to rest", endpoint.name());
            (Invariant::Penalty, detail)
        })
    }

    /// Checks an intent whose bytes are sent.
    pub(crate) fn transmit(
        &mut self,
        shown: Time,
        leaving: Leaving<'_>,
        engine: &EngineConfig,
    ) -> Vec<Broken> {
        let id = leaving.id;
        let mut broken = Vec::new();
        if !self.ready {
            broken.push((
                Invariant::NotReady,
                format!("{id} leaves before the books were opened"),
            ));
        }
        if self.forbidden {
            broken.push((
                Invariant::Level,
                format!("{id} leaves at a level that forbids it"),
            ));
        }
        if self.frozen != Some(false) {
            let detail = format!("{id} leaves for an account that is not known to be open");
            broken.push((Invariant::Frozen, detail));
        }
        if self
            .enabled
            .as_ref()
            .is_some_and(|open| !open.contains(leaving.market_name))
        {
            broken.push((
                Invariant::ClosedMarket,
                format!("{id} leaves for {}, which is closed", leaving.market_name),
            ));
        }
        if let Some((what, age)) = self.data_age.stale(leaving.market, shown, &engine.poll) {
            broken.push((
                Invariant::Stale,
                format!("{id} leaves on {what} of {age} ms ago"),
            ));
        }
        if self.cancelled.contains_key(&id) {
            broken.push((
                Invariant::SentAfterCancel,
                format!("{id} leaves after its cancel"),
            ));
        }
        let sent = self.transmissions.entry(id).or_default();
        *sent += 1;
        if *sent > u32::from(engine.attempts_max) {
            broken.push((
                Invariant::Attempts,
                format!("{id} leaves once more than it may"),
            ));
        }
        let valid_until = VenueTime::from_s(u64::from(leaving.valid_until_s));
        let last = valid_until.minus_ms(engine.resend_margin_ms);
        if self
            .data_age
            .passed(shown)
            .is_some_and(|known| known >= last)
        {
            broken.push((
                Invariant::Late,
                format!("{id} leaves too late to arrive in time"),
            ));
        }
        broken
    }

    /// Whether the daemon knows that the venue accepted an order.
    pub(crate) fn knows(&self, hash: &Hash) -> bool {
        self.known.contains(hash)
    }

    /// How long everything has had to be cancelled.
    pub(crate) fn stopped_for_ms(&self, shown: Time) -> Option<u64> {
        self.stopped.map(|since| shown.ms_since(since))
    }

    /// How long an order has had to be cancelled.
    pub(crate) fn cancelled_for_ms(&self, id: ClientOrderId, shown: Time) -> Option<u64> {
        let since = self.cancelled.get(&id)?;
        Some(shown.ms_since(*since))
    }

    /// A depth is sent to the daemon in which own orders are the best of a side: the mid that they form, and that of
    /// the market without them.
    pub(crate) fn shown_own(
        &mut self,
        (market, timestamp): (MarketId, VenueTime),
        with_own: u64,
        true_mid: Option<u64>,
    ) {
        if self.own_mids.len() > 64 {
            self.own_mids.pop_first();
        }
        self.own_mids
            .insert((timestamp, market), (with_own, true_mid));
    }
}

/// Half ticks between the best levels of both sides.
pub(crate) fn mid(bid: Option<Price>, ask: Option<Price>) -> Option<u64> {
    bid.zip(ask).map(|(bid, ask)| bid.0 + ask.0)
}
