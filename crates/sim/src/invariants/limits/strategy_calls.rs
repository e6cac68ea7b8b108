//! Inputs and outputs of strategies, recorded around them: the engine's orders can be compared with the targets
//! themselves.

use std::sync::{Arc, Mutex, PoisonError};

use cambist_core::elsewhere;
use cambist_core::strategy::{
    BookLevel, OtherMarket, PoolView, ProcessMessage, Quote, Strategy, Targets, View, WantedSwap,
};
use cambist_core::{MarketId, MarketSpec, Time};

/// The last decision of one strategy.
#[derive(Clone, Debug, Default)]
pub(crate) struct StrategyCall {
    pub(crate) at: Time,
    /// Half ticks, as in the view.
    pub(crate) mid: u64,
    pub(crate) bids: Vec<BookLevel>,
    pub(crate) asks: Vec<BookLevel>,
    /// The prices of the sources.
    pub(crate) references: Option<Vec<Option<u64>>>,
    /// The other markets that it was shown, each with its mid in half ticks.
    pub(crate) others: Vec<(MarketId, Option<u64>)>,
    pub(crate) quotes: Vec<Quote>,
    pub(crate) pool: Option<PoolView>,
    pub(crate) swap: Option<WantedSwap>,
}

/// The last decision of each seat; `None` before the first one of this run.
#[derive(Clone, Debug, Default)]
pub(crate) struct StrategyCalls(Arc<Mutex<Vec<Option<StrategyCall>>>>);

impl StrategyCalls {
    /// The same strategies, each wrapped by a recorder.
    pub(crate) fn record(strategies: Vec<Box<dyn Strategy>>) -> (Self, Vec<Box<dyn Strategy>>) {
        let calls = Self(Arc::new(Mutex::new(vec![None; strategies.len()])));
        let recorded = (0..).zip(strategies).map(|(seat, inner)| {
            let shared = calls.clone();
            Box::new(Recorder {
                inner,
                seat,
                calls: shared,
            }) as Box<dyn Strategy>
        });
        let recorded = recorded.collect();
        (calls, recorded)
    }

    /// The last decision of a seat.
    pub(crate) fn of(&self, seat: usize) -> Option<StrategyCall> {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.get(seat).cloned().flatten()
    }

    /// The decision of a seat at a time, if that is its last one.
    pub(crate) fn at(&self, seat: usize, shown: Time) -> Option<StrategyCall> {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = calls.get(seat)?.as_ref()?;
        (last.at == shown).then(|| last.clone())
    }

    /// The other markets that a seat was shown at a time, once: a later step may have the same time.
    pub(crate) fn take_others(&self, seat: usize, shown: Time) -> Vec<(MarketId, Option<u64>)> {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = calls.get_mut(seat).and_then(Option::as_mut);
        let last = last.filter(|call| call.at == shown);
        last.map_or_else(Vec::new, |call| std::mem::take(&mut call.others))
    }

    /// The prices of sources that a seat was shown at a time, once, as [`StrategyCalls::take_others`].
    pub(crate) fn take_references(&self, seat: usize, shown: Time) -> Option<Vec<Option<u64>>> {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = calls.get_mut(seat)?.as_mut()?;
        (last.at == shown).then(|| last.references.take()).flatten()
    }

    fn set(&self, seat: usize, call: StrategyCall) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = calls.get_mut(seat) {
            *last = Some(call);
        }
    }
}

struct Recorder {
    inner: Box<dyn Strategy>,
    seat: usize,
    calls: StrategyCalls,
}

impl Strategy for Recorder {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        self.inner.decide(view, targets);
        // Those of this venue: another one's are in its own world.
        let here = |other: &&OtherMarket| elsewhere::split(&other.market.name).is_none();
        let others = view.markets.iter().filter(here).map(|other| {
            let mid = other.book.as_ref().ok().and_then(|book| book.mid.ok());
            (other.market.id, mid)
        });
        let call = StrategyCall {
            at: view.now,
            mid: view.mid,
            bids: view.bids.to_vec(),
            asks: view.asks.to_vec(),
            references: Some(view.references.iter().map(|source| source.mid).collect()),
            others: others.collect(),
            quotes: targets.quotes().to_vec(),
            pool: view.pool,
            swap: targets.wanted_swap(),
        };
        self.calls.set(self.seat, call);
    }

    fn references(&self) -> &[String] {
        self.inner.references()
    }

    fn reads(&self) -> &[String] {
        self.inner.reads()
    }

    fn check_reads(&self, market: &MarketSpec, others: &[&MarketSpec]) -> Result<(), String> {
        self.inner.check_reads(market, others)
    }

    fn save(&self) -> Vec<u8> {
        self.inner.save()
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        self.inner.restore(saved)
    }

    fn save_durable(&self) -> Vec<u8> {
        self.inner.save_durable()
    }

    fn resume(&mut self, saved: &[u8]) -> bool {
        self.inner.resume(saved)
    }

    fn next_decision(&self) -> Option<Time> {
        self.inner.next_decision()
    }

    fn view_seq(&self) -> u64 {
        self.inner.view_seq()
    }

    fn take_view(&mut self) -> Option<String> {
        self.inner.take_view()
    }

    fn receive(&mut self, now: Time, message: &ProcessMessage) -> Result<(), String> {
        self.inner.receive(now, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several steps may have the same time, and a strategy is not asked in each.
    #[test]
    fn what_a_strategy_was_shown_is_compared_in_the_step_that_showed_it() {
        let calls = StrategyCalls(Arc::new(Mutex::new(vec![None])));
        let shown = vec![Some(7), None];
        let call = StrategyCall {
            at: Time(5),
            references: Some(shown.clone()),
            ..StrategyCall::default()
        };
        calls.set(0, call);
        assert_eq!(calls.take_references(0, Time(4)), None);
        assert_eq!(calls.take_references(0, Time(5)), Some(shown));
        assert_eq!(calls.take_references(0, Time(5)), None);
    }
}
