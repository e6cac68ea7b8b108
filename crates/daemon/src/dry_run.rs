//! Runs the engine on given answers up to its first orders: whether a configuration would quote, and if not, why.
//! Nothing is sent, signed or stored.

use std::collections::{BTreeMap, VecDeque};

use cambist_core::action::Action;
use cambist_core::books::Books;
use cambist_core::config::EngineConfig;
use cambist_core::event::{Event, Restrictions, Start};
use cambist_core::notification::{Control, Notification, Withheld};
use cambist_core::request::{Outcome, Query, Reply};
use cambist_core::strategy::Strategy;
use cambist_core::{
    Engine, Hash, Intent, MarketId, MarketSpec, OrderStatus, Reason, Side, StrategyId, Time,
    VenueTime,
};

/// Engine time after which the run ends.
const LONGEST_MS: u64 = 120_000;
/// Events after which the run ends, whatever the time.
const EVENTS_MAX: usize = 20_000;

/// Input of a dry run.
pub struct DryRun {
    /// The engine's configuration, without pools.
    pub config: EngineConfig,
    /// Markets, in the order of the configuration.
    pub markets: Vec<MarketSpec>,
    /// Strategies and their markets.
    pub strategies: Vec<(StrategyId, MarketId, Box<dyn Strategy>)>,
    /// Instance number in the ids of own orders.
    pub instance: u32,
    /// The venue's time at the beginning.
    pub venue_time: VenueTime,
}

/// The venue's answers.
pub trait Answers {
    /// The answer to a query; `None` makes it time out.
    fn answer(&mut self, query: &Query, venue_time: VenueTime) -> Option<Reply>;
}

/// Why each side of each market would not be quoted, buy then sell; `None` for one that would.
pub fn reasons(run: DryRun, answers: &mut dyn Answers) -> Vec<[Option<Withheld>; 2]> {
    let count = run.markets.len();
    let mut stage = Stage::new(run);
    for _ in 0..EVENTS_MAX {
        let Some(event) = stage.next() else { break };
        stage.hear(&event, answers);
        if stage.is_settled(count) {
            break;
        }
    }
    stage.found(count)
}

/// A running engine.
struct Stage {
    engine: Engine,
    now: Time,
    origin: (Time, VenueTime),
    waiting: VecDeque<Event>,
    reasons: BTreeMap<(MarketId, Side), Option<Withheld>>,
    hashes: u64,
}

impl Stage {
    fn new(run: DryRun) -> Self {
        let mut built = Vec::new();
        let mut seats = Vec::new();
        for (id, market, strategy) in run.strategies {
            seats.push((id, market));
            built.push(strategy);
        }
        let start = Start {
            config: EngineConfig {
                pools: Vec::new(),
                // Every change of a reason is a notification of its own.
                status_ms: LONGEST_MS,
                ..run.config
            },
            markets: run.markets,
            pools: Vec::new(),
            strategies: seats,
            seed: 0,
            instance: run.instance,
            next_number: 1,
            next_storage: BTreeMap::new(),
            open: Vec::new(),
            open_pool_transactions: Vec::new(),
            signed: Vec::new(),
            restrictions: Restrictions::default(),
            books: Books::default(),
            lost: BTreeMap::new(),
            venue_time: run.venue_time,
            maker_fee_bips: 0,
            taker_fee_bips: 0,
        };
        let now = Time::from_ms(1_000_000);
        Self {
            engine: Engine::new(built),
            now,
            origin: (now, run.venue_time),
            waiting: VecDeque::from([Event::Start(Box::new(start))]),
            reasons: BTreeMap::new(),
            hashes: 0,
        }
    }

    /// The next event; advances the time if there is none.
    fn next(&mut self) -> Option<Event> {
        if let Some(event) = self.waiting.pop_front() {
            return Some(event);
        }
        self.now = self.engine.next_wakeup()?.max(self.now);
        let passed = self.now.ms_since(self.origin.0);
        (passed < LONGEST_MS).then_some(Event::Wake)
    }

    fn hear(&mut self, event: &Event, answers: &mut dyn Answers) {
        let mut actions = Vec::new();
        self.engine.on_event(self.now, event, &mut actions);
        let venue_time = self.origin.1.plus_ms(self.now.ms_since(self.origin.0));
        for action in actions {
            let answer = match action {
                Action::Send { request, query } => {
                    let reply = answers.answer(&query, venue_time);
                    let outcome =
                        reply.map_or(Outcome::Refused(Reason::UnknownError), Outcome::Reply);
                    Event::Answer {
                        request,
                        outcome,
                        venue_time: Some(venue_time),
                        retry_after_ms: None,
                    }
                }
                Action::Seal { batch, intents } => {
                    let hashes = intents.iter().map(Intent::id);
                    let hashes = hashes.map(|id| (id, self.hash())).collect();
                    Event::Sealed { batch, hashes }
                }
                Action::Transmit { request, .. } => Event::Answer {
                    request,
                    // Any answer will do: the run ends with the approval.
                    outcome: Outcome::Reply(Reply::Submitted {
                        hash: self.hash(),
                        status: OrderStatus::Processing,
                        idempotent: false,
                    }),
                    venue_time: Some(venue_time),
                    retry_after_ms: None,
                },
                Action::StoreRestrictions { levels, .. } => Event::RestrictionsStored(levels),
                Action::Notify(Notification::Withheld {
                    market,
                    side,
                    withheld,
                }) => {
                    self.reasons.insert((market, side), withheld);
                    continue;
                }
                Action::Book(_) | Action::Notify(_) | Action::Finished { .. } => continue,
            };
            self.waiting.push_back(answer);
        }
    }

    fn hash(&mut self) -> Hash {
        self.hashes += 1;
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&self.hashes.to_be_bytes());
        Hash(hash)
    }

    /// Whether every side has an order in flight, or a reason that does not end with time.
    fn is_settled(&self, markets: usize) -> bool {
        self.reasons.len() == 2 * markets
            && self
                .reasons
                .values()
                .all(|why| why.is_none_or(|why| !passes(why.control)))
    }

    fn found(&self, markets: usize) -> Vec<[Option<Withheld>; 2]> {
        let ids = (0..u16::MAX).map(MarketId).take(markets);
        ids.map(|id| {
            Side::BOTH.map(|side| {
                let found = self.reasons.get(&(id, side)).copied();
                found.unwrap_or(Some(Control::Undecided.into()))
            })
        })
        .collect()
    }
}

/// A reason that occurs before the first order, or between two requests.
const fn passes(control: Control) -> bool {
    matches!(
        control,
        Control::Recovering | Control::Budget | Control::Store | Control::Duplicate
    )
}
