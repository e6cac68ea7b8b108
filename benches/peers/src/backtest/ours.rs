//! The strategy on cambist's fill model. Latencies and the sender's view of its orders are here, as a backtester has
//! them; the engine is not.

use std::collections::VecDeque;
use std::rc::Rc;

use cambist_core::{Price, Qty, Side};
use cambist_fill_model::{
    ExecutionReport, FillRule, FillSimulator, NewOrder, Options, OrderId, Outcome, QueueModel,
    TimeInForce,
};
use cambist_market_data::{Book, Event, EventSource, Grid, Report, Result, Timestamp};

use super::{Fill, Model, Outcomes, Scenario};

/// Events read at a time, as from a recording.
const BLOCK_EVENTS: usize = 256;

/// Events that lie in memory.
pub struct InMemory {
    events: Rc<[Event]>,
    next: usize,
    grid: Grid,
    report: Report,
}

impl InMemory {
    pub fn new(events: Rc<[Event]>, grid: Grid) -> Self {
        Self {
            events,
            next: 0,
            grid,
            report: Report::default(),
        }
    }
}

impl EventSource for InMemory {
    #[inline]
    fn next_event(&mut self) -> Result<Option<&Event>> {
        self.next += 1;
        Ok(self.events.get(self.next - 1))
    }

    fn next_events(&mut self, events: &mut Vec<Event>) -> Result<()> {
        events.clear();
        let left = self.events.get(self.next..).unwrap_or_default();
        events.extend(left.iter().take(BLOCK_EVENTS));
        self.next += events.len();
        Ok(())
    }

    fn grid(&self) -> Grid {
        self.grid
    }

    fn report(&self) -> &Report {
        &self.report
    }
}

/// What the strategy knows of the market.
pub trait View {
    /// Time before a decision at which the exchange's best prices are looked at.
    fn looks_back(&self) -> i64;
    /// The exchange's best prices at that time.
    fn look(&mut self, best: [Option<Price>; 2]);
    /// Best bid and ask as known at a time.
    fn best(&mut self, now: Timestamp) -> [Option<Price>; 2];
    /// Whether something arrives after a time.
    fn has_more(&mut self, now: Timestamp) -> bool;
}

/// Everything arrives in order after the same time: what is known is what the exchange's book was then.
pub struct Delayed {
    nanos: i64,
    last_event: Timestamp,
    best: [Option<Price>; 2],
}

impl Delayed {
    pub const fn new(nanos: i64, last_event: Timestamp) -> Self {
        Self {
            nanos,
            last_event,
            best: [None; 2],
        }
    }
}

impl View for Delayed {
    fn looks_back(&self) -> i64 {
        self.nanos
    }

    fn look(&mut self, best: [Option<Price>; 2]) {
        self.best = best;
    }

    fn best(&mut self, _: Timestamp) -> [Option<Price>; 2] {
        self.best
    }

    fn has_more(&mut self, now: Timestamp) -> bool {
        self.last_event.plus_nanos(self.nanos) > now
    }
}

/// A book of what was received, from a second reading of the same recording.
pub struct Received<S> {
    source: S,
    next: Option<Event>,
    book: Book,
}

impl<S: EventSource> Received<S> {
    pub fn new(source: S) -> Self {
        let mut received = Self {
            source,
            next: None,
            book: Book::new(),
        };
        received.advance();
        received
    }

    fn advance(&mut self) {
        self.next = loop {
            match self.source.next_event().expect("a sound recording") {
                Some(event) if !event.visibility.at_local() => {}
                next => break next.copied(),
            }
        };
    }
}

impl<S: EventSource> View for Received<S> {
    fn looks_back(&self) -> i64 {
        0
    }

    fn look(&mut self, _: [Option<Price>; 2]) {}

    fn best(&mut self, now: Timestamp) -> [Option<Price>; 2] {
        while let Some(event) = self.next.filter(|event| event.local_time <= now) {
            self.book.apply(&event.update);
            self.advance();
        }
        [self.book.best_bid(), self.book.best_ask()]
    }

    fn has_more(&mut self, now: Timestamp) -> bool {
        self.next.is_some_and(|event| event.local_time > now)
    }
}

/// The strategy's order of a side.
#[derive(Clone, Copy, Default)]
struct Slot {
    id: u64,
    price: u64,
    state: State,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum State {
    #[default]
    None,
    Sent,
    Live,
    CancelSent,
}

/// What happens next besides the recording.
#[derive(Clone, Copy, PartialEq)]
enum Timer {
    Look,
    Decide,
    Arrive,
}

struct Run<'a, V> {
    scenario: &'a Scenario,
    exchange: FillSimulator,
    view: V,
    reports: Vec<ExecutionReport>,
    /// Reports on their way back, and requests on their way there.
    answers: VecDeque<ExecutionReport>,
    requests: Vec<Request>,
    slots: [Slot; 2],
    next_id: u64,
    position: i64,
    outcomes: Outcomes,
    timer: Timer,
    /// Time of the next decision, and of the timer.
    decision: Timestamp,
    due: Timestamp,
}

enum Request {
    Submit(NewOrder),
    Cancel(OrderId),
}

/// Runs the strategy over a recording.
pub fn run<V: View>(source: &mut impl EventSource, view: V, scenario: &Scenario) -> Outcomes {
    let lot = source.grid().lot.to_float(1);
    let options = Options {
        queue: match scenario.model {
            Model::Fifo => QueueModel::Fifo,
            Model::Estimated(model) => QueueModel::Estimated(model),
        },
        rule: FillRule::WholeOrder,
        lot,
        ..Options::careful()
    };
    let mut run = Run {
        scenario,
        exchange: FillSimulator::of_events(options).expect("options"),
        view,
        reports: Vec::new(),
        answers: VecDeque::new(),
        requests: Vec::new(),
        slots: [Slot::default(); 2],
        next_id: 1,
        position: 0,
        outcomes: Outcomes::default(),
        timer: Timer::Look,
        decision: Timestamp(i64::MAX),
        due: Timestamp(i64::MAX),
    };
    let mut begun = false;
    while let Some(event) = source.next_event().expect("a sound recording") {
        if !event.visibility.at_exchange() {
            continue;
        }
        if !begun {
            begun = true;
            run.decision = event.exchange_time.plus_nanos(scenario.step);
            run.due = run.decision.plus_nanos(-run.view.looks_back());
        }
        while event.exchange_time > run.due {
            run.fire();
        }
        run.exchange.apply_event(event, &mut run.reports);
        if !run.reports.is_empty() {
            run.deliver();
        }
    }
    // What is under way arrives, and is acted on.
    while begun {
        if run.timer == Timer::Decide {
            let now = run.decision;
            let more = run.view.has_more(now)
                || !run.requests.is_empty()
                || run
                    .answers
                    .back()
                    .is_some_and(|answer| run.arrival(answer) > now);
            if !more {
                break;
            }
        }
        run.fire();
    }
    run.outcomes.position = run.position;
    run.outcomes.crossings = run.exchange.crossings();
    run.outcomes
}

impl<V: View> Run<'_, V> {
    fn arrival(&self, report: &ExecutionReport) -> Timestamp {
        report.time.plus_nanos(self.scenario.latency)
    }

    fn fire(&mut self) {
        match self.timer {
            Timer::Look => {
                self.view
                    .look(Side::BOTH.map(|side| self.exchange.best(side)));
                (self.timer, self.due) = (Timer::Decide, self.decision);
            }
            Timer::Decide => {
                self.decide();
                self.due = self.decision.plus_nanos(self.scenario.latency);
                self.timer = Timer::Arrive;
            }
            Timer::Arrive => {
                let now = self.due;
                for request in self.requests.drain(..) {
                    match request {
                        Request::Submit(order) => {
                            self.exchange.submit(now, &order, &mut self.reports)
                        }
                        Request::Cancel(id) => self.exchange.cancel(now, id, &mut self.reports),
                    }
                }
                self.deliver();
                self.decision = self.decision.plus_nanos(self.scenario.step);
                self.due = self.decision.plus_nanos(-self.view.looks_back());
                self.timer = Timer::Look;
            }
        }
    }

    fn deliver(&mut self) {
        for report in self.reports.drain(..) {
            if let Outcome::Filled(fill) = report.outcome {
                self.outcomes.fills.push(Fill {
                    order: report.order.0,
                    time: report.time.0,
                    buys: fill.side == Side::Buy,
                    price: fill.price.0,
                });
            }
            self.answers.push_back(report);
        }
    }

    fn decide(&mut self) {
        let now = self.decision;
        while let Some(report) = self.answers.front().copied() {
            if self.arrival(&report) > now {
                break;
            }
            self.answers.pop_front();
            self.heard(&report);
        }
        let [Some(bid), Some(ask)] = self.view.best(now) else {
            return;
        };
        let limit = self.scenario.limit;
        let targets = [
            if self.position < limit { bid.0 } else { 0 },
            if self.position > -limit { ask.0 } else { 0 },
        ];
        let mut free = [false; 2];
        for side in 0..2 {
            let slot = &mut self.slots[side];
            free[side] = slot.state == State::None;
            if slot.state == State::Live && slot.price != targets[side] {
                slot.state = State::CancelSent;
                self.requests.push(Request::Cancel(OrderId(slot.id)));
                self.outcomes.cancels += 1;
                free[side] = true;
            }
        }
        for (index, side) in Side::BOTH.into_iter().enumerate() {
            if free[index] && targets[index] > 0 {
                let id = self.next_id;
                self.next_id += 1;
                self.slots[index] = Slot {
                    id,
                    price: targets[index],
                    state: State::Sent,
                };
                self.requests.push(Request::Submit(NewOrder {
                    id: OrderId(id),
                    side,
                    price: Price(targets[index]),
                    qty: Qty(self.scenario.qty.unsigned_abs()),
                    time_in_force: TimeInForce::PostOnly,
                }));
                self.outcomes.submits += 1;
            }
        }
    }

    fn heard(&mut self, report: &ExecutionReport) {
        if let Outcome::Filled(fill) = report.outcome {
            let qty = fill.qty.0.cast_signed();
            self.position += if fill.side == Side::Buy { qty } else { -qty };
        }
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.id == report.order.0) {
            match report.outcome {
                Outcome::Resting => slot.state = State::Live,
                Outcome::CancelRejected => {}
                _ => slot.state = State::None,
            }
        }
    }
}
