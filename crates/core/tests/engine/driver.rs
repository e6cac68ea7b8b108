//! The driver: which actions are executed, in which order, and which are not.

use cambist_core::action::Action;
use cambist_core::books::Booking;
use cambist_core::driver::{self, Assembly, Clock, Observer, Store, Venue};
use cambist_core::event::{BatchId, Event, Restrictions};
use cambist_core::notification::Notification;
use cambist_core::request::{Endpoint, Query, RequestId};
use cambist_core::{ClientOrderId, Engine, Intent, Time};

use crate::bench::{Always, BOTH, TestBench};

/// Records its calls; executes at most `left` actions of a step.
struct Record {
    engine: Option<Engine>,
    left: usize,
    wanted: Vec<String>,
    done: Vec<String>,
}

impl Record {
    fn done(&mut self, action: &Action) {
        self.done.push(format!("{action:?}"));
    }
}

impl Clock for Record {
    fn now(&self) -> Time {
        Time::from_ms(1_000)
    }
}

impl Venue for Record {
    fn send(&mut self, request: RequestId, query: Query) {
        self.done(&Action::Send { request, query });
    }

    fn transmit(&mut self, request: RequestId, order: ClientOrderId, endpoint: Endpoint) {
        self.done(&Action::Transmit {
            request,
            order,
            endpoint,
        });
    }
}

impl Store for Record {
    fn seal(&mut self, batch: BatchId, intents: Vec<Intent>) {
        self.done(&Action::Seal { batch, intents });
    }

    fn store_restrictions(&mut self, levels: Restrictions, cause: String, lowers: bool) {
        self.done(&Action::StoreRestrictions {
            levels,
            cause,
            lowers,
        });
    }

    fn book(&mut self, booking: Box<Booking>) {
        self.done(&Action::Book(booking));
    }
}

impl Observer for Record {
    fn event(&mut self, _: Time, _: &Event) {
        assert!(self.wanted.is_empty(), "the event is observed first");
    }

    fn actions(&mut self, _: Time, _: &Event, actions: &[Action]) {
        assert!(self.done.is_empty(), "observed before anything is executed");
        self.wanted = actions.iter().map(|action| format!("{action:?}")).collect();
    }

    fn notification(&mut self, _: Time, notification: Notification) {
        self.done(&Action::Notify(notification));
    }

    fn finished(&mut self, proven: bool) {
        self.done(&Action::Finished { proven });
    }

    fn goes_on(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }
}

impl Assembly for Record {
    type Engine = Engine;

    fn engine(&mut self) -> Option<&mut Engine> {
        self.engine.as_mut()
    }
}

fn record(left: usize) -> (Record, Event) {
    let start = TestBench::new(&BOTH).start.expect("not started");
    let engine = Engine::new(vec![Box::new(Always(BOTH.to_vec()))]);
    let record = Record {
        engine: Some(engine),
        left,
        wanted: Vec::new(),
        done: Vec::new(),
    };
    (record, start)
}

#[test]
fn actions_are_executed_in_the_engines_order_as_they_are() {
    let (mut all, start) = record(usize::MAX);
    let step = driver::step(&mut all, &start, &mut Vec::new());
    assert_eq!(step, Some(Time::from_ms(1_000)));
    assert!(all.wanted.len() > 3, "{:?}", all.wanted);
    assert_eq!(all.done, all.wanted);
}

#[test]
fn a_process_that_dies_in_a_step_executes_no_more_of_it() {
    let (mut dies, start) = record(3);
    // The rest of an earlier step in the buffer is not an action of this one.
    let mut buffer = vec![Action::Finished { proven: true }];
    driver::step(&mut dies, &start, &mut buffer);
    assert_eq!(dies.done, dies.wanted[..2]);
    assert!(buffer.is_empty());
}

#[test]
fn without_an_engine_nothing_happens() {
    let (mut down, start) = record(usize::MAX);
    down.engine = None;
    assert_eq!(driver::step(&mut down, &start, &mut Vec::new()), None);
    assert!(down.done.is_empty());
}
