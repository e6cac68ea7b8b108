//! The engine: a value that handles events and emits actions.
//!
//! It has no access to JSON, paths, keys, HTTP, files or clocks. [`Engine::on_event`] is a function of its state, the
//! given time and the event; [`Engine::next_wakeup`] returns when to call it if there is no event before. The same
//! value runs live, in replay and in simulation.
//!
//! The order of one step: handle the event → cancels → polls that would lapse → strategies, comparison, risk, budget →
//! seals and transmissions → other polls → status.

pub(crate) mod account;
pub(crate) mod control;
pub(crate) mod handle;
pub(crate) mod intents;
pub(crate) mod market;
pub(crate) mod market_data;
pub(crate) mod orders;
pub(crate) mod pools;
pub(crate) mod risk;
pub(crate) mod state;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod venue;

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::elsewhere::Published;
use crate::event::{Command, Event, Start, TradingState};
use crate::inspection::{Draining, Inspection, OrderDecision};
use crate::market::MarketId;
use crate::notification::{Notification, Status};
use crate::order::{ClientOrderId, StrategyId};
use crate::pool::PoolBalances;
use crate::portfolio::Exposure;
use crate::reads;
use crate::strategy::{ProcessMessage, Strategy};
use crate::time::{Time, VenueTime};

use control::status::StatusOutput;
use state::State;

/// The engine with its strategies.
pub struct Engine {
    strategies: Vec<Box<dyn Strategy>>,
    state: Option<State>,
    status: StatusOutput,
}

/// A saved engine: its state and the saved state of every strategy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    state: Option<State>,
    strategies: Vec<Vec<u8>>,
}

/// A snapshot of an engine with other strategies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the snapshot was made with other strategies")]
pub struct SnapshotMismatch;

impl Engine {
    /// An engine before its start event. `strategies` are in the order of [`Start::strategies`].
    pub fn new(strategies: Vec<Box<dyn Strategy>>) -> Self {
        Self {
            strategies,
            state: None,
            status: StatusOutput::Emitted,
        }
    }

    /// The same without [`Notification::Status`], for runs of which only the last [`Engine::status`] is read.
    /// Everything else is equal.
    #[must_use]
    pub fn without_status(self) -> Self {
        Self {
            status: StatusOutput::OnRequest,
            ..self
        }
    }

    /// Handles one event at `now` and appends the resulting actions to `actions`.
    ///
    /// # Panics
    /// On a second start event, an event before the start, or a start whose lists do not fit each other: errors of the
    /// shell, never caused by input from outside.
    pub fn on_event(&mut self, now: Time, event: &Event, actions: &mut Vec<Action>) {
        if let Event::Start(start) = event {
            assert!(self.state.is_none(), "the engine is started once");
            self.check_start(start);
            let mut state = State::new(now, start, actions);
            state.note_reads(&self.strategies);
            state.status = self.status;
            self.state = Some(state);
            self.resume_strategies(start, actions);
        }
        let state = self.state.as_mut().expect("the first event is the start");
        if state.is_finished() {
            return;
        }
        if let Event::Process { strategy, message } = event {
            self.handle_process(now, *strategy, message, actions);
        }
        let state = self.state.as_mut().expect("the first event is the start");
        if let Event::Operator(command) = event {
            state.execute(now, command, &mut self.strategies, actions);
        } else {
            state.handle_event(now, event, actions);
        }
        state.step(now, &mut self.strategies, actions);
    }

    /// Gives every strategy what it remembered of an earlier run. One that does not understand it begins
    /// without any.
    fn resume_strategies(&mut self, start: &Start, actions: &mut Vec<Action>) {
        let each = self.strategies.iter_mut().zip(&start.strategies);
        for ((strategy, (id, _)), memory) in each.zip(&start.memories) {
            if !memory.is_empty() && !strategy.resume(memory) {
                let strategy = *id;
                actions.push(Action::Notify(Notification::MemoryRefused { strategy }));
            }
        }
    }

    /// Something happened to the process behind a strategy: the strategy takes it in, and is asked again.
    fn handle_process(
        &mut self,
        now: Time,
        strategy: StrategyId,
        message: &ProcessMessage,
        actions: &mut Vec<Action>,
    ) {
        let Some(state) = &mut self.state else { return };
        let Some(at) = state
            .slots
            .iter()
            .position(|slot| slot.strategy == strategy)
        else {
            return;
        };
        if let Err(why) = self.strategies[at].receive(now, message) {
            let refused = Notification::ProcessAnswerRefused { strategy, why };
            actions.push(Action::Notify(refused));
        }
        let market = state.slots[at].market;
        state.market_mut(market).decision_due = true;
    }

    /// The newest view for the process behind a strategy, as a line without its end, once. It belongs to the
    /// last [`Action::SendView`] of that strategy.
    pub fn take_view(&mut self, strategy: StrategyId) -> Option<String> {
        let slots = &self.state.as_ref()?.slots;
        let at = slots.iter().position(|slot| slot.strategy == strategy)?;
        self.strategies[at].take_view()
    }

    /// What every strategy keeps for the next start of the daemon, in the order of
    /// [`Start::strategies`].
    pub fn durable_memories(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.strategies
            .iter()
            .map(|strategy| strategy.save_durable())
    }

    /// When to wake the engine if there is no event before; `None` before the start and after the end.
    pub fn next_wakeup(&self) -> Option<Time> {
        self.state
            .as_ref()
            .filter(|state| !state.is_finished())
            .map(State::wakeup)
    }

    /// What a command would answer that changes the configuration or parameters, without changing anything; other
    /// commands are not judged.
    pub fn judge(&self, command: &Command) -> Result<String, String> {
        match (&self.state, command) {
            (Some(state), Command::Reconfigure { .. }) => state
                .judge_configuration(command, &self.strategies)
                .map(|(detail, _)| detail),
            (_, _) => Ok(String::new()),
        }
    }

    /// Whether trading state or pauses are not stored yet: prohibitions already apply, but are not durable.
    pub fn restrictions_are_pending(&self) -> bool {
        self.state
            .as_ref()
            .is_some_and(State::restrictions_are_pending)
    }

    /// The trading state that applies; `None` before the start.
    pub fn trading_state(&self) -> Option<TradingState> {
        let state = self.state.as_ref();
        state.map(|state| state.restrictions.level())
    }

    /// Balances of the pools beside the markets when last read.
    pub fn pool_balances(&self) -> impl Iterator<Item = (MarketId, PoolBalances)> + '_ {
        let markets = self.state.iter().flat_map(|state| &state.markets);
        markets.filter_map(|market| Some((market.spec.id, market.pool.as_ref()?.known()?)))
    }

    /// What the last decision about an order was, and why; `None` for one that is not alive or was not decided about
    /// since the start or the snapshot.
    pub fn decision(&self, order: ClientOrderId) -> Option<OrderDecision> {
        let mut markets = self.state.iter().flat_map(|state| &state.markets);
        markets.find_map(|market| market.decisions.of(order))
    }

    /// The complete state.
    pub fn save(&self) -> Snapshot {
        Snapshot {
            state: self.state.clone(),
            strategies: self
                .strategies
                .iter()
                .map(|strategy| strategy.save())
                .collect(),
        }
    }

    /// A lower bound of the venue's clock at `now`; `None` before the start.
    pub fn venue_time(&self, now: Time) -> Option<VenueTime> {
        let state = self.state.as_ref();
        state.map(|state| state.clock.at_least(now))
    }

    /// When it last handled an event, and the lower bound of the venue's clock then; `None` before the start.
    pub fn last_event_at(&self) -> Option<(Time, VenueTime)> {
        let state = self.state.as_ref()?;
        let at = state.last_step_at;
        Some((at, state.clock.at_least(at)))
    }

    /// The status at the last event; `None` before the start.
    pub fn status(&self) -> Option<Status> {
        let state = self.state.as_ref()?;
        Some(state.status(state.last_step_at))
    }

    /// What the drain in progress waits for; `None` without one, and once it has finished.
    pub fn draining(&self) -> Option<Draining> {
        self.state.as_ref()?.drain_in_progress()
    }

    /// What this engine may hold at most after the last event, for the engines of other venues. `None` before ledger and
    /// venue were compared.
    pub fn exposure(&self) -> Option<Exposure> {
        let state = self.state.as_ref()?;
        state.exposure(state.last_step_at)
    }

    /// What strategies of other venues read of a market after the last event. `None` before the start, and for a market
    /// that is not there.
    pub fn publish(&self, market: MarketId) -> Option<Published> {
        let state = self.state.as_ref()?;
        state.markets.get(usize::from(market.0))?;
        Some(state.publish(state.last_step_at, market))
    }

    /// As [`Engine::inspect`], without asking the strategies and without copying more than is shown.
    pub fn watch(&self, now: Time) -> Option<Inspection> {
        let state = self.state.as_ref();
        state.map(|state| state.inspect(now, &mut []))
    }

    /// State and decisions at `now`, without changing anything; `None` before the start. `strategies` are new instances
    /// of the same strategies: they get the saved state of the engine's own and are asked in their place.
    pub fn inspect(
        &self,
        now: Time,
        mut strategies: Vec<Box<dyn Strategy>>,
    ) -> Result<Option<Inspection>, SnapshotMismatch> {
        if strategies.len() != self.strategies.len() {
            return Err(SnapshotMismatch);
        }
        let state = self.state.as_ref();
        take_parameters(state, &mut strategies)?;
        for (copy, own) in strategies.iter_mut().zip(&self.strategies) {
            if !copy.restore(&own.save()) {
                return Err(SnapshotMismatch);
            }
        }
        Ok(state.map(|state| state.inspect(now, &mut strategies)))
    }

    /// An engine that continues from a snapshot.
    pub fn restore(
        mut strategies: Vec<Box<dyn Strategy>>,
        snapshot: Snapshot,
    ) -> Result<Self, SnapshotMismatch> {
        if strategies.len() != snapshot.strategies.len() {
            return Err(SnapshotMismatch);
        }
        take_parameters(snapshot.state.as_ref(), &mut strategies)?;
        for (strategy, saved) in strategies.iter_mut().zip(&snapshot.strategies) {
            if !strategy.restore(saved) {
                return Err(SnapshotMismatch);
            }
        }
        Ok(Self {
            strategies,
            state: snapshot.state,
            status: StatusOutput::Emitted,
        })
    }

    fn check_start(&self, start: &Start) {
        assert_eq!(
            self.strategies.len(),
            start.strategies.len(),
            "a strategy per seat"
        );
        assert_eq!(
            start.markets.len(),
            start.config.markets.len(),
            "limits per market"
        );
        assert_eq!(
            start.pools.len(),
            start.config.pools.len(),
            "limits per pool"
        );
        for source in &start.references {
            assert!(
                usize::from(source.market.0) < start.markets.len(),
                "sources at markets"
            );
        }
        for (index, spec) in start.markets.iter().enumerate() {
            assert_eq!(
                usize::from(spec.id.0),
                index,
                "markets are numbered in order"
            );
        }
        for (_, market) in &start.strategies {
            assert!(
                usize::from(market.0) < start.markets.len(),
                "a seat names a known market"
            );
        }
        for ((_, market), strategy) in start.strategies.iter().zip(&self.strategies) {
            let own = &start.markets[usize::from(market.0)];
            let checked = reads::check(strategy.as_ref(), own, &start.markets);
            assert_eq!(checked, Ok(()), "a strategy reads other known markets");
        }
    }
}

/// Gives strategies that were built with the parameters of the start those that they have by now.
fn take_parameters(
    state: Option<&State>,
    strategies: &mut [Box<dyn Strategy>],
) -> Result<(), SnapshotMismatch> {
    let Some(state) = state else { return Ok(()) };
    for (slot, strategy) in state.slots.iter().zip(strategies) {
        if let Some(text) = &slot.parameters {
            let spec = &state.market(slot.market).spec;
            let replacement = strategy.with_parameters(spec, text);
            *strategy = replacement.map_err(|_| SnapshotMismatch)?.strategy;
        }
    }
    Ok(())
}
