//! Inputs and outputs of strategies, recorded around them: the engine's orders can be compared with the targets
//! themselves.

use std::sync::{Arc, Mutex, PoisonError};

use cambist_core::Time;
use cambist_core::strategy::{BookLevel, Quote, Strategy, Targets, View};

/// The last decision of one strategy.
#[derive(Clone, Debug, Default)]
pub(crate) struct StrategyCall {
    pub(crate) at: Time,
    /// Half ticks, as in the view.
    pub(crate) mid: u64,
    pub(crate) bids: Vec<BookLevel>,
    pub(crate) asks: Vec<BookLevel>,
    pub(crate) quotes: Vec<Quote>,
}

/// The last decision of each seat; `None` before the first one of this run.
#[derive(Clone, Debug, Default)]
pub(crate) struct StrategyCalls(Arc<Mutex<Vec<Option<StrategyCall>>>>);

impl StrategyCalls {
    /// The same strategies, each wrapped by a recorder.
    pub(crate) fn witness(strategies: Vec<Box<dyn Strategy>>) -> (Self, Vec<Box<dyn Strategy>>) {
        let wishes = Self(Arc::new(Mutex::new(vec![None; strategies.len()])));
        let witnessed = (0..).zip(strategies).map(|(seat, inner)| {
            let told = wishes.clone();
            Box::new(Witnessed { inner, seat, told }) as Box<dyn Strategy>
        });
        let witnessed = witnessed.collect();
        (wishes, witnessed)
    }

    /// The last decision of a seat.
    pub(crate) fn of(&self, seat: usize) -> Option<StrategyCall> {
        let wishes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wishes.get(seat).cloned().flatten()
    }

    fn tell(&self, seat: usize, wish: StrategyCall) {
        let mut wishes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = wishes.get_mut(seat) {
            *last = Some(wish);
        }
    }
}

struct Witnessed {
    inner: Box<dyn Strategy>,
    seat: usize,
    told: StrategyCalls,
}

impl Strategy for Witnessed {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        self.inner.decide(view, targets);
        let wish = StrategyCall {
            at: view.now,
            mid: view.mid,
            bids: view.bids.to_vec(),
            asks: view.asks.to_vec(),
            quotes: targets.quotes().to_vec(),
        };
        self.told.tell(self.seat, wish);
    }

    fn save(&self) -> Vec<u8> {
        self.inner.save()
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        self.inner.restore(saved)
    }
}
