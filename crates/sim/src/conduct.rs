//! Conduct: whether the daemon keeps its rules when it sends, judged only from what it was told and what
//! it said. It shares no state with the engine: every rule is written here a second time, as weakly as
//! it can be stated from outside and as strongly as it can fail.

use std::collections::{BTreeMap, BTreeSet};

use cambist_core::config::EngineConfig;
use cambist_core::event::{Command, Event, Level};
use cambist_core::note::Note;
use cambist_core::order::UnsignedOrder;
use cambist_core::request::{Endpoint, Outcome, Reply};
use cambist_core::{ClientOrderId, MarketId, Price, Reason, Time, TokenId, VenueTime};

/// A broken rule: its stable name and what was seen.
pub(crate) type Broken = (&'static str, String);

/// Requests that would have been allowed, in millionths of one.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: u64,
    at: Time,
}

/// What one incarnation of the daemon was told and did.
#[derive(Debug, Default)]
pub(crate) struct Conduct {
    ready: bool,
    /// A level was wanted or was durable at the start.
    forbidden: bool,
    frozen: bool,
    /// Markets that the last answer named as open, if one came.
    enabled: Option<BTreeSet<String>>,
    /// When a depth was last accepted, by market.
    depths: BTreeMap<MarketId, Time>,
    /// Orders whose cancel was sent.
    cancelled: BTreeSet<ClientOrderId>,
    transmissions: BTreeMap<ClientOrderId, u32>,
    bucket: Option<Bucket>,
    /// Until when an endpoint was asked to rest.
    resting: BTreeMap<Endpoint, Time>,
    /// Mids of depths that own orders would have formed, and the true ones, by the depth's time.
    own_mids: BTreeMap<(MarketId, VenueTime), (u64, Option<u64>)>,
}

/// Storage ids that left, over all incarnations: the highest by token.
pub(crate) type Slots = BTreeMap<TokenId, u32>;

impl Conduct {
    /// A start, from this level.
    pub(crate) fn begin(level: Level) -> Self {
        Self {
            forbidden: level > Level::Trading,
            ..Self::default()
        }
    }

    /// The daemon hears something.
    pub(crate) fn hear(&mut self, event: &Event) {
        match event {
            Event::Operator(Command::Raise { .. } | Command::Drain) => self.forbidden = true,
            Event::Operator(Command::Lower { .. }) => self.forbidden = false,
            Event::Answer {
                outcome: Outcome::Reply(Reply::Markets { listed }),
                ..
            } => {
                let open = listed.iter().filter(|market| market.enabled);
                self.enabled = Some(open.map(|market| market.name.clone()).collect());
            }
            Event::Answer {
                outcome: Outcome::Reply(Reply::Account { frozen }),
                ..
            } => self.frozen = *frozen,
            _ => {}
        }
    }

    /// The daemon says something.
    pub(crate) fn note(
        &mut self,
        shown: Time,
        note: &Note,
        engine: &EngineConfig,
    ) -> Option<Broken> {
        match note {
            Note::Ready { .. } => self.ready = true,
            Note::DepthTaken {
                market,
                mid,
                timestamp,
            } => {
                self.depths.insert(*market, shown);
                let formed = self.own_mids.remove(&(*market, *timestamp));
                if let Some((with_own, true_mid)) = formed
                    && *mid == Some(with_own)
                    && *mid != true_mid
                {
                    let detail =
                        format!("mid {with_own} is formed by own orders, not {true_mid:?}");
                    return Some(("own_priced", detail));
                }
            }
            Note::CancelSent { order } => {
                self.cancelled.insert(*order);
            }
            Note::Refused {
                endpoint,
                reason: Reason::RateLimited,
                ..
            } => {
                let until = shown.plus_ms(engine.budget.penalty_ms);
                self.resting.insert(*endpoint, until);
            }
            _ => {}
        }
        None
    }

    /// A request leaves.
    pub(crate) fn send(
        &mut self,
        shown: Time,
        endpoint: Endpoint,
        engine: &EngineConfig,
    ) -> Option<Broken> {
        let budget = &engine.budget;
        let full = u64::from(budget.burst) * 1_000_000;
        let bucket = self.bucket.get_or_insert(Bucket {
            left: full,
            at: shown,
        });
        let refilled = shown.micros_since(bucket.at) * u64::from(budget.per_s);
        bucket.left = full.min(bucket.left + refilled);
        bucket.at = shown;
        // A token is taken when an order is approved and the order leaves when it is durable: what was
        // paid for earlier may come together. One token of rounding is allowed.
        let needed = match endpoint {
            Endpoint::Cancel => 1,
            Endpoint::Submit | Endpoint::Join | Endpoint::Exit => 0,
            Endpoint::Order
            | Endpoint::Orders
            | Endpoint::Depth
            | Endpoint::Balances
            | Endpoint::Markets
            | Endpoint::Tokens
            | Endpoint::Account
            | Endpoint::Pools
            | Endpoint::PoolBalance
            | Endpoint::Moves => 1 + u64::from(budget.cancel_reserve).saturating_sub(2),
        };
        let enough = bucket.left >= needed * 1_000_000;
        bucket.left = bucket.left.saturating_sub(1_000_000);
        if !enough {
            let left = bucket.left / 1_000_000;
            return Some(("budget", format!("{} with {left} left", endpoint.name())));
        }
        // Orders paid for before the 429 may still leave; polls may not.
        let rests = self
            .resting
            .get(&endpoint)
            .is_some_and(|until| shown < *until);
        (rests && endpoint != Endpoint::Submit).then(|| {
            let detail = format!("{} while it was to rest", endpoint.name());
            ("penalty", detail)
        })
    }

    /// An order's bytes leave. `now` is the venue's true time.
    pub(crate) fn transmit(
        &mut self,
        shown: Time,
        now: VenueTime,
        (order, market): (&UnsignedOrder, &str),
        engine: &EngineConfig,
    ) -> Vec<Broken> {
        let id = order.client_id;
        let mut broken = Vec::new();
        if !self.ready {
            broken.push((
                "not_ready",
                format!("{id} leaves before the books were opened"),
            ));
        }
        if self.forbidden {
            broken.push(("level", format!("{id} leaves at a level that forbids it")));
        }
        if self.frozen {
            broken.push(("frozen", format!("{id} leaves for a frozen account")));
        }
        if self
            .enabled
            .as_ref()
            .is_some_and(|open| !open.contains(market))
        {
            broken.push((
                "closed_market",
                format!("{id} leaves for {market}, which is closed"),
            ));
        }
        let age = self.depths.get(&order.market).map(|at| shown.ms_since(*at));
        if age.is_none_or(|age| age > engine.poll.depth_age_max_ms) {
            broken.push(("stale", format!("{id} leaves on a depth {age:?} ms old")));
        }
        if self.cancelled.contains(&id) {
            broken.push(("sent_after_cancel", format!("{id} leaves after its cancel")));
        }
        let sent = self.transmissions.entry(id).or_default();
        *sent += 1;
        if *sent > u32::from(engine.attempts_max) {
            broken.push(("attempts", format!("{id} leaves for the {sent}. time")));
        }
        // The daemon knows the venue's time as a lower bound that may lag by its answers' delays.
        let late = VenueTime::from_s(u64::from(order.valid_until_s)).plus_ms(10_000);
        if now > late {
            broken.push(("late", format!("{id} leaves long after its expiry")));
        }
        broken
    }

    /// A depth goes to the daemon in which own orders are the best of a side: which mid they form, and
    /// which one is the market's.
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
            .insert((market, timestamp), (with_own, true_mid));
    }
}

/// Half ticks between the best levels of both sides.
pub(crate) fn mid(bid: Option<Price>, ask: Option<Price>) -> Option<u64> {
    bid.zip(ask).map(|(bid, ask)| bid.0 + ask.0)
}
