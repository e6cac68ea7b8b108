//! The engine, and the translation of what it wants into what the simulated world does.
//!
//! The only file here that knows the engine's events and actions.

use std::collections::BTreeMap;

use cambist_core::action::Action;
use cambist_core::books::Books;
use cambist_core::config::EngineConfig;
use cambist_core::event::{Event, Restrictions, Start};
use cambist_core::notification::Notification;
use cambist_core::order::UnsignedOrder;
use cambist_core::request::{Endpoint, Outcome, Query, RequestId};
use cambist_core::strategy::Strategy;
use cambist_core::{
    ClientOrderId, Engine, Intent, MarketId, MarketSpec, StrategyId, Time, VenueTime,
};

use crate::account::hash_of;
use crate::engine_log::EngineLog;

/// Our number in the ids of our orders.
const INSTANCE: u32 = 0x00ba_c7e5;

/// Something that the engine sends.
#[derive(Clone, Debug)]
pub enum Outgoing {
    /// A question or a cancel.
    Query(Query),
    /// A sealed order.
    Submit(Box<UnsignedOrder>),
}

impl Outgoing {
    pub const fn endpoint(&self) -> Endpoint {
        match self {
            Self::Query(query) => query.endpoint(),
            Self::Submit(_) => Endpoint::Submit,
        }
    }
}

/// What the engine wants done.
#[derive(Debug)]
pub enum Wanted {
    /// Send this.
    Send(RequestId, Outgoing),
    /// Store what the input confirms, and give it back then.
    Store(Input),
    /// It has ended.
    Finished,
}

/// What the engine is told.
#[derive(Debug)]
pub struct Input(Event);

impl Input {
    /// A request ended.
    pub const fn answer(
        request: RequestId,
        outcome: Outcome,
        venue_time: Option<VenueTime>,
    ) -> Self {
        Self(Event::Answer {
            request,
            outcome,
            venue_time,
            retry_after_ms: None,
        })
    }

    /// The time has come at which it wanted to be woken.
    pub const fn wake() -> Self {
        Self(Event::Wake)
    }
}

/// What the engine starts with.
pub struct Begin {
    pub config: EngineConfig,
    pub markets: Vec<MarketSpec>,
    pub strategies: Vec<(StrategyId, MarketId, Box<dyn Strategy>)>,
    pub seed: u64,
    pub venue_time: VenueTime,
    pub fee_bips: [u16; 2],
    pub observer: Option<Box<dyn EngineObserver>>,
}

/// Sees everything that the engine takes in and does, in order, for a recording.
pub trait EngineObserver {
    /// An event, before the engine takes it in.
    fn event(&mut self, now: Time, event: &Event);
    /// What the engine did, and the engine afterwards.
    fn actions(&mut self, actions: &[Action], engine: &Engine);
}

/// The engine with what its shell has to remember.
pub struct EngineLink {
    engine: Engine,
    sealed: BTreeMap<ClientOrderId, UnsignedOrder>,
    actions: Vec<Action>,
    observer: Option<Box<dyn EngineObserver>>,
    pub log: EngineLog,
}

impl EngineLink {
    /// An engine, and its first input.
    pub fn new(begin: Begin) -> (Self, Input) {
        let log = EngineLog::new(&begin.markets);
        let (mut seats, mut strategies) = (Vec::new(), Vec::new());
        for (id, market, strategy) in begin.strategies {
            seats.push((id, market));
            strategies.push(strategy);
        }
        let start = Start {
            config: begin.config,
            markets: begin.markets,
            pools: Vec::new(),
            strategies: seats,
            seed: begin.seed,
            instance: INSTANCE,
            next_number: 1,
            next_storage: BTreeMap::new(),
            open: Vec::new(),
            open_pool_transactions: Vec::new(),
            signed: Vec::new(),
            restrictions: Restrictions::default(),
            books: Books::default(),
            lost: BTreeMap::new(),
            venue_time: begin.venue_time,
            maker_fee_bips: begin.fee_bips[0],
            taker_fee_bips: begin.fee_bips[1],
        };
        let link = Self {
            engine: Engine::new(strategies),
            sealed: BTreeMap::new(),
            actions: Vec::new(),
            observer: begin.observer,
            log,
        };
        (link, Input(Event::Start(Box::new(start))))
    }

    /// The engine takes an input in; what it wants is appended.
    pub fn handle(&mut self, now: Time, input: &Input, wanted: &mut Vec<Wanted>) {
        let mut actions = std::mem::take(&mut self.actions);
        if let Some(observer) = &mut self.observer {
            observer.event(now, &input.0);
        }
        self.engine.on_event(now, &input.0, &mut actions);
        if let Some(observer) = &mut self.observer {
            observer.actions(&actions, &self.engine);
        }
        for action in actions.drain(..) {
            match action {
                Action::Send { request, query } => {
                    wanted.push(Wanted::Send(request, Outgoing::Query(query)));
                }
                Action::Seal { batch, intents } => {
                    let mut hashes = Vec::with_capacity(intents.len());
                    for intent in intents {
                        hashes.push((intent.id(), hash_of(intent.id().number)));
                        if let Intent::Order(order) = intent {
                            self.sealed.insert(order.client_id, order);
                        }
                    }
                    wanted.push(Wanted::Store(Input(Event::Sealed { batch, hashes })));
                }
                Action::Transmit { request, order, .. } => {
                    let sealed = self.sealed.get(&order).cloned();
                    let order = sealed.expect("what leaves was sealed, and there are no pools");
                    wanted.push(Wanted::Send(request, Outgoing::Submit(Box::new(order))));
                }
                Action::StoreRestrictions { levels, .. } => {
                    wanted.push(Wanted::Store(Input(Event::RestrictionsStored(levels))));
                }
                Action::Notify(note) => {
                    if let Notification::Ended { order, .. } = &note {
                        self.sealed.remove(order);
                    }
                    self.log.observe(now, &note);
                }
                // Nothing outlives the run.
                Action::Book(_) => {}
                Action::Finished { .. } => wanted.push(Wanted::Finished),
            }
        }
        self.actions = actions;
    }

    /// When it wants to be woken if nothing comes before.
    pub fn next_wakeup(&self) -> Option<Time> {
        self.engine.next_wakeup()
    }
}
