//! The engine, and the translation between its events and actions and the simulated exchange.
//!
//! Only this file and `engine_log.rs` depend on the engine's events and actions.

use cambist_core::action::Action;
use cambist_core::books::{Booking, Books};
use cambist_core::config::EngineConfig;
use cambist_core::driver::{self, Assembly, Clock, Observer, Store, Venue};
use cambist_core::event::{BatchId, Event, Restrictions, Start};
use cambist_core::notification::Notification;
use cambist_core::order::UnsignedOrder;
use cambist_core::reference::{ReferencePrice, ReferenceSource};
use cambist_core::request::{Endpoint, Outcome, Query, RequestId};
use cambist_core::sorted_map::SortedMap;
use cambist_core::strategy::{ProcessMessage, Strategy};
use cambist_core::venue::VenueRules;
use cambist_core::{
    ClientOrderId, Engine, Intent, MarketId, MarketSpec, StrategyId, Time, VenueTime,
};

use crate::account::hash_of;
use crate::engine_log::EngineLog;

/// Instance number of the client order ids of runs on a simulated exchange: backtests, paper trading, shadows. Fills of
/// such orders on a tape happened nowhere else.
pub const SIMULATED_INSTANCE: u32 = 0x00ba_c7e5;

/// A request of the engine.
#[derive(Clone, Debug)]
pub enum Outgoing {
    /// A query or a cancel.
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

/// What follows from the engine's actions.
#[derive(Debug)]
pub enum Output {
    /// Send a request.
    Send(RequestId, Outgoing),
    /// Store a batch, and hand over this input once it is stored.
    Store(Input),
    /// Hand over this input after so many milliseconds.
    After(u64, Input),
    /// The engine has ended.
    Finished,
}

/// The process of a strategy: it is given views and answers them.
pub trait ViewAnswerer {
    /// The line with which it answers a view; `None` if the process has ended, and another one is started.
    ///
    /// # Errors
    /// It ended too often, in words: the run cannot go on.
    fn answer(&mut self, view: &str) -> Result<Option<Vec<u8>>, String>;
}

/// Answers of a process that were no targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedAnswers {
    /// Its strategy.
    pub strategy: StrategyId,
    /// How many.
    pub count: u64,
    /// Why the last one was refused.
    pub why: String,
}

/// The processes of a run, by strategy.
pub type Processes = SortedMap<StrategyId, Box<dyn ViewAnswerer>>;

/// From a view to its answer: what a process takes in fact would make runs differ.
const ANSWER_MS: u64 = 5;
/// From the end of a process to the next.
const RESTART_MS: u64 = 1_000;

/// An input of the engine.
#[derive(Debug)]
pub struct Input(Event);

impl Input {
    /// The outcome of a request.
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
            cost_beyond: 0,
        })
    }

    /// A reference price has arrived.
    pub const fn reference(price: ReferencePrice) -> Self {
        Self(Event::Reference(price))
    }

    /// The wakeup time of the engine has come.
    pub const fn wake() -> Self {
        Self(Event::Wake)
    }
}

/// The initial state of the engine.
pub struct Begin {
    pub config: EngineConfig,
    pub markets: Vec<MarketSpec>,
    pub strategies: Vec<(StrategyId, MarketId, Box<dyn Strategy>)>,
    pub seed: u64,
    pub venue_time: VenueTime,
    pub fee_bips: [u16; 2],
    pub observer: Option<Box<dyn EngineObserver>>,
    pub references: Vec<ReferenceSource>,
    pub processes: Processes,
}

/// Observes all events and actions of the engine, in order, for a recording.
pub trait EngineObserver {
    /// An event, before the engine handles it.
    fn event(&mut self, now: Time, event: &Event);
    /// The actions that followed, and the engine after them.
    fn actions(&mut self, now: Time, actions: &[Action], engine: &Engine);
}

/// The engine's assembly in a backtest: what its venue and its store are asked for is planned by the run.
pub struct EngineLink {
    engine: Engine,
    now: Time,
    outputs: Vec<Output>,
    sealed: SortedMap<ClientOrderId, UnsignedOrder>,
    actions: Vec<Action>,
    observer: Option<Box<dyn EngineObserver>>,
    processes: Processes,
    pub log: EngineLog,
    /// Why a process ended the run.
    pub failed: Option<String>,
    /// Answers that were no targets, by strategy.
    pub refused: Vec<RefusedAnswers>,
}

impl EngineLink {
    /// An engine and its first input.
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
            instance: SIMULATED_INSTANCE,
            next_number: 1,
            budget_left: None,
            next_slots: SortedMap::new(),
            open: Vec::new(),
            open_pool_transactions: Vec::new(),
            signed: Vec::new(),
            restrictions: Restrictions::default(),
            books: Books::default(),
            memories: Vec::new(),
            traded: Vec::new(),
            lost: SortedMap::new(),
            venue_time: begin.venue_time,
            maker_fee_bips: begin.fee_bips[0],
            taker_fee_bips: begin.fee_bips[1],
            venue: VenueRules::exchange(),
            references: begin.references,
        };
        let engine = Engine::new(strategies);
        let link = Self {
            engine: match begin.observer {
                Some(_) => engine,
                None => engine.without_status(),
            },
            now: Time(0),
            outputs: Vec::new(),
            sealed: SortedMap::new(),
            actions: Vec::new(),
            observer: begin.observer,
            processes: begin.processes,
            log,
            failed: None,
            refused: Vec::new(),
        };
        (link, Input(Event::Start(Box::new(start))))
    }

    fn refuse_answer(&mut self, strategy: StrategyId, why: &str) {
        let mut known = self.refused.iter_mut();
        if let Some(known) = known.find(|known| known.strategy == strategy) {
            known.count += 1;
            why.clone_into(&mut known.why);
            return;
        }
        self.refused.push(RefusedAnswers {
            strategy,
            count: 1,
            why: why.to_owned(),
        });
    }

    /// Handles an input; what follows is appended to `outputs`.
    pub fn handle(&mut self, now: Time, input: &Input, outputs: &mut Vec<Output>) {
        self.now = now;
        std::mem::swap(&mut self.outputs, outputs);
        let mut actions = std::mem::take(&mut self.actions);
        driver::step(self, &input.0, &mut actions);
        self.actions = actions;
        std::mem::swap(&mut self.outputs, outputs);
    }

    /// Inputs that follow the first: every process has started.
    pub fn started(&self) -> Vec<Input> {
        let message = ProcessMessage::Started;
        let each = self.processes.keys().map(|strategy| {
            let (strategy, message) = (*strategy, message.clone());
            Input(Event::Process { strategy, message })
        });
        each.collect()
    }

    /// Ends the log, with the status of the last moment.
    pub fn close(&mut self, end: Time) {
        if let Some(status) = self.engine.status() {
            let status = Notification::Status(Box::new(status));
            self.log.observe(end, &status);
        }
        self.log.close(end);
    }

    /// When to wake the engine if there is no input before.
    pub fn next_wakeup(&self) -> Option<Time> {
        self.engine.next_wakeup()
    }
}

impl Clock for EngineLink {
    fn now(&self) -> Time {
        self.now
    }
}

impl Venue for EngineLink {
    fn send(&mut self, request: RequestId, query: Query) {
        self.outputs
            .push(Output::Send(request, Outgoing::Query(query)));
    }

    fn transmit(&mut self, request: RequestId, order: ClientOrderId, _: Endpoint) {
        let sealed = self.sealed.get(&order).cloned();
        let order = sealed.expect("what leaves was sealed, and there are no pools");
        self.outputs
            .push(Output::Send(request, Outgoing::Submit(Box::new(order))));
    }
}

impl Store for EngineLink {
    fn seal(&mut self, batch: BatchId, intents: Vec<Intent>) {
        let mut hashes = Vec::with_capacity(intents.len());
        for intent in intents {
            hashes.push((intent.id(), hash_of(intent.id().number)));
            if let Intent::Order(order) = intent {
                self.sealed.insert(order.client_id, order);
            }
        }
        let sealed = Event::Sealed { batch, hashes };
        self.outputs.push(Output::Store(Input(sealed)));
    }

    fn store_restrictions(&mut self, levels: Restrictions, _: String, _: bool) {
        let stored = Event::RestrictionsStored(levels);
        self.outputs.push(Output::Store(Input(stored)));
    }

    /// Nothing is kept after the run.
    fn book(&mut self, _: Box<Booking>) {}
}

impl Observer for EngineLink {
    fn event(&mut self, now: Time, event: &Event) {
        if let Some(observer) = &mut self.observer {
            observer.event(now, event);
        }
    }

    fn actions(&mut self, now: Time, _: &Event, actions: &[Action]) {
        if let Some(observer) = &mut self.observer {
            observer.actions(now, actions, &self.engine);
        }
    }

    fn notification(&mut self, now: Time, notification: Notification) {
        if let Notification::Ended { order, .. } = &notification {
            self.sealed.remove(order);
        }
        if let Notification::ProcessAnswerRefused { strategy, why } = &notification {
            self.refuse_answer(*strategy, why);
        }
        self.log.observe(now, &notification);
    }

    fn finished(&mut self, _: bool) {
        self.outputs.push(Output::Finished);
    }
}

impl Assembly for EngineLink {
    type Engine = Engine;

    fn engine(&mut self) -> Option<&mut Engine> {
        Some(&mut self.engine)
    }

    /// A process answers its newest view, or has ended.
    fn send_view(&mut self, strategy: StrategyId, view: String) {
        let Some(process) = self.processes.get_mut(&strategy) else {
            return;
        };
        let mut after = |ms, message| {
            let input = Input(Event::Process { strategy, message });
            self.outputs.push(Output::After(ms, input));
        };
        match process.answer(&view) {
            Ok(Some(line)) => after(ANSWER_MS, ProcessMessage::Line(line)),
            Ok(None) => {
                after(ANSWER_MS, ProcessMessage::Ended);
                after(RESTART_MS, ProcessMessage::Started);
            }
            Err(why) => self.failed = Some(why),
        }
    }
}
