//! The events of a world and their dispatch.
//!
//! Their effects are elsewhere: here they are only passed on, unless the daemon cannot receive them now.

use cambist_core::event::{Command, Event};
use cambist_core::reference::ReferenceId;
use cambist_core::request::RequestId;
use cambist_core::strategy::ProcessMessage;
use cambist_core::{StrategyId, Time};

use crate::faults::kinds::FaultKind;

use crate::world::World;
use crate::world::wire::{Asked, Received};

/// A planned event.
pub(super) enum WorldEvent {
    /// The daemon starts.
    Start,
    /// A crash of the daemon is planned within the next actions.
    CrashDue,
    /// A loss of control.
    Fall,
    /// An operator's command.
    Operator(Command),
    /// The engine's wake-up.
    Wake { incarnation: u32 },
    /// A request arrives at the venue. Copies are not answered.
    Arrival {
        from: (u32, RequestId),
        request: Box<Asked>,
        copy: bool,
    },
    /// A request of the daemon ends.
    Answer {
        to: (u32, RequestId),
        received: Box<Received>,
    },
    /// A sync ends; the event is passed to the engine.
    Synced {
        incarnation: u32,
        upto: u64,
        event: Option<Box<Event>>,
    },
    /// Something happens to a process of a strategy, if it is in that life of that daemon.
    Process {
        life: (u32, u64),
        strategy: StrategyId,
        message: ProcessMessage,
    },
    /// A source of reference prices is polled, if that daemon is alive.
    Reference {
        incarnation: u32,
        source: ReferenceId,
    },
    /// What the other venues of a portfolio hold changes, if that daemon is alive.
    Portfolio { incarnation: u32 },
    /// Simulated traders act.
    Trade,
    /// The chain's next block is due.
    Block,
    /// A period with faults starts or ends.
    PeriodChange,
    /// A fault may start.
    FaultStart,
    /// A fault ends.
    FaultEnd(FaultKind),
    /// The operator checks the daemon.
    OperatorCheck,
}

impl World {
    /// Whether the daemon receives it: a suspended host receives nothing.
    const fn is_received(what: &WorldEvent) -> bool {
        match what {
            WorldEvent::Start
            | WorldEvent::Operator(_)
            | WorldEvent::Wake { .. }
            | WorldEvent::Answer { .. }
            | WorldEvent::Process { .. }
            | WorldEvent::Reference { .. }
            | WorldEvent::Portfolio { .. }
            | WorldEvent::Synced { .. } => true,
            WorldEvent::CrashDue
            | WorldEvent::Fall
            | WorldEvent::Arrival { .. }
            | WorldEvent::Trade
            | WorldEvent::Block
            | WorldEvent::PeriodChange
            | WorldEvent::FaultStart
            | WorldEvent::FaultEnd(_)
            | WorldEvent::OperatorCheck => false,
        }
    }

    pub(super) fn are_configured(&mut self, what: WorldEvent) {
        let until = self.active_faults.held_until;
        if self.now < until && Self::is_received(&what) {
            if let (WorldEvent::Wake { incarnation }, Some(daemon)) = (&what, &mut self.daemon)
                && *incarnation == daemon.incarnation
                && daemon.wake == Some(self.now)
            {
                daemon.wake = Some(until);
            }
            self.queue.postpone(until, what);
            return;
        }
        match what {
            WorldEvent::Start if self.daemon.is_some() => {}
            WorldEvent::Start => self.start(),
            WorldEvent::CrashDue if self.calmed => {}
            WorldEvent::CrashDue if !self.active_faults.in_fault_period => self.plan_crash(),
            WorldEvent::CrashDue => {
                let actions = self.chance.below(self.config.crash.actions_max);
                self.crash_after.get_or_insert(actions);
                self.plan_crash();
            }
            WorldEvent::Fall => self.fall(),
            WorldEvent::Operator(command) => {
                if self.daemon.is_some() {
                    self.command_done(&command);
                    self.adopted = match &command {
                        Command::Adopt { token, amount, .. } => Some((*token, *amount)),
                        _ => None,
                    };
                    self.handle_event(&Event::Operator(command));
                    self.adopted = None;
                } else if self.finished.is_none() && !matches!(command, Command::Reconfigure { .. })
                {
                    // Repeated once the daemon runs.
                    let again = self.now.plus_ms(100);
                    self.queue.plan(again, WorldEvent::Operator(command));
                } else {
                    self.command_done(&command);
                    if let Command::Adopt { token, amount, .. } = command {
                        // It is in no book.
                        self.active_faults.unexplained.push((token, amount));
                    }
                }
            }
            WorldEvent::Wake { incarnation } => {
                let now = self.now;
                if self.is_alive(incarnation)
                    && self.daemon.as_ref().is_some_and(|d| d.wake == Some(now))
                {
                    self.handle_event(&Event::Wake);
                }
            }
            WorldEvent::Arrival {
                from,
                request,
                copy,
            } => self.arrive(from, &request, copy),
            WorldEvent::Answer { to, received } => self.answer(to, *received),
            WorldEvent::Synced {
                incarnation,
                upto,
                event,
            } => self.synced(incarnation, upto, event),
            WorldEvent::Process {
                life,
                strategy,
                message,
            } => self.process(life, strategy, message),
            WorldEvent::Reference {
                incarnation,
                source,
            } => self.reference(incarnation, source),
            WorldEvent::Portfolio { incarnation } => self.portfolio(incarnation),
            WorldEvent::Trade => {
                self.exchange.trade(self.now);
                self.plan_trade();
            }
            WorldEvent::Block => self.block(),
            WorldEvent::PeriodChange => self.turn(),
            WorldEvent::FaultStart => self.start_fault(),
            WorldEvent::FaultEnd(kind) => self.end_fault(kind),
            WorldEvent::OperatorCheck => self.check_daemon(),
        }
    }

    pub(super) fn is_alive(&self, incarnation: u32) -> bool {
        self.daemon
            .as_ref()
            .is_some_and(|daemon| daemon.incarnation == incarnation)
    }

    pub(super) fn plan_trade(&mut self) {
        if let Some(next) = self.exchange.next_trade() {
            self.queue.plan(next.max(self.now), WorldEvent::Trade);
        }
    }

    /// Plans the next crash, unless faults have ended.
    pub(super) fn plan_crash(&mut self) {
        let mean_us = self.config.crash.mean_ms * 1_000;
        if mean_us > 0 && !self.calmed {
            let at = Time(self.now.0 + self.chance.between(1, 2 * mean_us));
            self.queue.plan(at, WorldEvent::CrashDue);
        }
    }
}
