//! A market that is driven event by event, and the reports about our orders.

#![allow(dead_code, reason = "every test file uses a part of it")]

use cambist_core::{Price, Qty, Side};
use cambist_fill_model::{
    ExecutionReport, FillSimulator, NewOrder, Options, OrderId, Outcome, TimeInForce,
};
use cambist_market_data::{Event, Level, Snapshot, Timestamp, Update, Visibility};

/// A simulation with a clock that ticks once per event.
pub struct Market {
    pub simulator: FillSimulator,
    time: i64,
}

/// The part of a report that tests compare.
#[derive(Debug, PartialEq, Eq)]
pub enum Observed {
    Resting(u64),
    /// Order, price, quantity.
    Filled(u64, u64, u64),
    Other(u64, Outcome),
}

fn observed(reports: &[ExecutionReport]) -> Vec<Observed> {
    let one = |report: &ExecutionReport| match report.outcome {
        Outcome::Resting => Observed::Resting(report.order.0),
        Outcome::Filled(fill) => Observed::Filled(report.order.0, fill.price.0, fill.qty.0),
        other => Observed::Other(report.order.0, other),
    };
    reports.iter().map(one).collect()
}

impl Market {
    pub fn of_events(options: Options) -> Self {
        let simulator = FillSimulator::of_events(options).expect("options");
        Self { simulator, time: 0 }
    }

    pub fn of_snapshots(options: Options) -> Self {
        let simulator = FillSimulator::of_snapshots(options).expect("options");
        Self { simulator, time: 0 }
    }

    /// Applies an event of the recorded market.
    pub fn event(&mut self, update: Update) -> Vec<Observed> {
        self.time += 1;
        let mut reports = Vec::new();
        let event = Event {
            exchange_time: Timestamp(self.time),
            local_time: Timestamp(self.time),
            visibility: Visibility::Both,
            update,
        };
        self.simulator.apply_event(&event, &mut reports);
        observed(&reports)
    }

    /// Applies events of one time.
    pub fn at_once(&mut self, updates: &[Update]) -> Vec<Observed> {
        self.time += 1;
        let mut all = Vec::new();
        for update in updates {
            self.time -= 1;
            all.extend(self.event(*update));
        }
        all
    }

    pub fn level(&mut self, side: Side, price: u64, qty: u64) -> Vec<Observed> {
        let (price, qty) = (Price(price), Qty(qty));
        self.event(Update::Level { side, price, qty })
    }

    pub fn trade(&mut self, aggressor: Side, price: u64, qty: u64) -> Vec<Observed> {
        self.event(Update::Trade {
            aggressor,
            price: Price(price),
            qty: Qty(qty),
        })
    }

    /// Applies the next snapshot, of prices and quantities, best first.
    pub fn snapshot(&mut self, bids: &[(u64, u64)], asks: &[(u64, u64)]) -> Vec<Observed> {
        self.time += 1;
        let levels = |levels: &[(u64, u64)]| {
            let level = |(price, qty): &(u64, u64)| Level {
                price: Price(*price),
                qty: Qty(*qty),
            };
            levels.iter().map(level).collect()
        };
        let snapshot = Snapshot {
            exchange_time: Timestamp(self.time),
            local_time: Timestamp(self.time),
            sequence: 0,
            bids: levels(bids),
            asks: levels(asks),
        };
        let mut reports = Vec::new();
        self.simulator.apply_snapshot(&snapshot, &mut reports);
        observed(&reports)
    }

    pub fn submit(&mut self, order: NewOrder) -> Vec<Observed> {
        observed(&self.reports_of(order))
    }

    pub fn reports_of(&mut self, order: NewOrder) -> Vec<ExecutionReport> {
        let mut reports = Vec::new();
        self.simulator
            .submit(Timestamp(self.time), &order, &mut reports);
        reports
    }

    pub fn cancel(&mut self, id: u64) -> Vec<Observed> {
        let mut reports = Vec::new();
        self.simulator
            .cancel(Timestamp(self.time), OrderId(id), &mut reports);
        observed(&reports)
    }

    /// The estimated quantity in front of an order.
    pub fn in_front(&self, id: u64) -> Option<u64> {
        self.simulator.in_front(OrderId(id)).map(|qty| qty.0)
    }
}

pub fn order(id: u64, side: Side, price: u64, qty: u64, time_in_force: TimeInForce) -> NewOrder {
    NewOrder {
        id: OrderId(id),
        side,
        price: Price(price),
        qty: Qty(qty),
        time_in_force,
    }
}

/// A post-only order.
pub fn maker(id: u64, side: Side, price: u64, qty: u64) -> NewOrder {
    order(id, side, price, qty, TimeInForce::PostOnly)
}
