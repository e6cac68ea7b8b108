//! Processes of strategies in a world: models of them answer views late or not at all, die, and talk
//! nonsense while there are faults. Their supervisor ends a silent one and starts a dead one again, as the
//! program's does.

use std::collections::BTreeMap;

use cambist_core::event::Event;
use cambist_core::market::MarketSpec;
use cambist_core::strategy::{ProcessMessage, Strategy};
use cambist_core::{StrategyId, Time};
use cambist_strategy_process::model::{Behaviour, Model, Nonsense};
use cambist_strategy_process::{ProcessSettings, ProcessStrategy};
use cambist_venue::Random;

use crate::config::{SeatConfig, WorldError};

use super::World;
use super::events::WorldEvent;

/// Name of a seat whose strategy runs in a process.
pub(crate) const PROCESS: &str = "process";

/// How long an answer counts, and how long the supervisor waits for one.
const TIMEOUT_MS: u64 = 2_000;
/// From the start of the daemon, or the end of a process, to the next.
const PAUSE_MS: u64 = 500;
/// What the models quote.
const MODEL: Model = Model {
    margin_bps: 30,
    qty: 10_000,
};

/// The processes of the daemon that runs.
pub(super) struct Processes {
    random: Random,
    /// Which life of its process each strategy is in.
    lives: BTreeMap<StrategyId, u64>,
}

impl Processes {
    /// Chance of its own, so that worlds without processes are what they would be without this.
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed ^ 0x7072_6f63_6573_7365),
            lives: BTreeMap::new(),
        }
    }

    /// What the model does with a view, and after how long.
    fn behaviour(&mut self, faulty: bool) -> (Behaviour, u64) {
        let delay_us = self.random.between(1_000, 60_000);
        if !faulty || self.random.chance(85, 100) {
            return (Behaviour::Answers, delay_us);
        }
        match self.random.below(4) {
            0 => (Behaviour::Silent, delay_us),
            1 => (Behaviour::Dies, delay_us),
            // Around the time at which it would be too late.
            2 => (
                Behaviour::Answers,
                self.random.between(0, 2 * TIMEOUT_MS) * 1_000,
            ),
            _ => {
                let kinds = Nonsense::ALL.len() as u64;
                let kind = usize::try_from(self.random.below(kinds)).unwrap_or(0);
                (Behaviour::Nonsense(Nonsense::ALL[kind]), delay_us)
            }
        }
    }
}

/// The side in the engine of a seat whose strategy runs in a process.
pub(super) fn strategy(
    seat: &SeatConfig,
    market: &MarketSpec,
    swaps: bool,
) -> Result<Box<dyn Strategy>, WorldError> {
    let settings = ProcessSettings::new(TIMEOUT_MS, 2, &toml::Table::new())
        .map(|settings| settings.with_swaps(swaps));
    let settings = settings.map_err(|error| WorldError::Table {
        name: seat.strategy.clone(),
        problem: error.to_string(),
    })?;
    Ok(Box::new(ProcessStrategy::new(settings, market)))
}

impl World {
    /// The daemon has started, and with it its processes.
    pub(super) fn start_processes(&mut self) {
        let seats = (0..).map(StrategyId).zip(&self.config.seats);
        let own = seats.filter(|(_, seat)| seat.strategy == PROCESS);
        for strategy in own.map(|(id, _)| id).collect::<Vec<_>>() {
            self.plan_process(
                self.now.plus_ms(PAUSE_MS),
                strategy,
                ProcessMessage::Started,
            );
        }
    }

    /// Something will happen to a process, unless it is in another life by then.
    fn plan_process(&mut self, at: Time, strategy: StrategyId, message: ProcessMessage) {
        let Some(daemon) = &self.daemon else { return };
        let life = self.processes.lives.get(&strategy).copied().unwrap_or(0);
        let what = WorldEvent::Process {
            life: (daemon.incarnation, life),
            strategy,
            message,
        };
        self.queue.plan(at, what);
    }

    /// Something happens to a process.
    pub(super) fn process(
        &mut self,
        (incarnation, life): (u32, u64),
        strategy: StrategyId,
        message: ProcessMessage,
    ) {
        let known = self.processes.lives.entry(strategy).or_default();
        if *known != life || !self.is_alive(incarnation) {
            return;
        }
        if message == ProcessMessage::Ended {
            // What it would still have answered is lost with it.
            *self.processes.lives.entry(strategy).or_default() += 1;
            self.plan_process(
                self.now.plus_ms(PAUSE_MS),
                strategy,
                ProcessMessage::Started,
            );
        }
        self.handle_event(&Event::Process { strategy, message });
    }

    /// The engine gives a process its newest view.
    pub(super) fn show_process(&mut self, strategy: StrategyId, view: &str) {
        let faulty = self.active_faults.in_fault_period && !self.calmed;
        let (behaviour, delay_us) = self.processes.behaviour(faulty);
        let ended = self.now.plus_ms(TIMEOUT_MS);
        let at = Time(self.now.0 + delay_us);
        let line = MODEL.answer(view, behaviour);
        let answered = line.map(|line| ProcessMessage::Line(line.into_bytes()));
        let message = answered.unwrap_or(ProcessMessage::Ended);
        let in_time = at < ended && behaviour != Behaviour::Silent;
        let (at, message) = if in_time {
            (at, message)
        } else {
            (ended, ProcessMessage::Ended)
        };
        if behaviour != Behaviour::Answers || !in_time {
            // Its quotes go, and come again after the next start.
            self.active_faults
                .disturb(at.plus_ms(PAUSE_MS + TIMEOUT_MS));
        }
        self.plan_process(at, strategy, message);
    }
}
