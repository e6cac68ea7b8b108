//! What can happen in a world, and who is told of it.
//!
//! What follows from each is elsewhere: here it is only handed on, unless nobody can hear it now.

use cambist_core::Time;
use cambist_core::event::{Command, Event};
use cambist_core::request::RequestId;
use cambist_venue::Request;

use crate::trouble::Trouble;

use super::World;
use super::wire::Heard;

/// One thing that will happen.
pub(super) enum Happening {
    /// The daemon starts.
    Start,
    /// The daemon is to die soon.
    Doom,
    /// The daemon dies, and the market does its worst.
    Fall,
    /// An operator speaks.
    Operator(Command),
    /// The engine wanted to be woken.
    Wake { incarnation: u32 },
    /// A request reaches the venue. Copies go unanswered.
    Arrival {
        from: (u32, RequestId),
        request: Box<Request>,
        copy: bool,
    },
    /// A request of the daemon ends.
    Answer {
        to: (u32, RequestId),
        heard: Box<Heard>,
    },
    /// A sync ends; the event is what the engine is told.
    Synced {
        incarnation: u32,
        upto: u64,
        event: Option<Box<Event>>,
    },
    /// Background traders want to act.
    Trade,
    /// A storm begins or ends.
    Weather,
    /// A trouble may begin.
    Trouble,
    /// A trouble ends.
    Relief(Trouble),
    /// The person looks after the daemon.
    Care,
}

impl World {
    /// Whether it is the daemon's to hear: a host that sleeps hears nothing.
    const fn is_heard(what: &Happening) -> bool {
        match what {
            Happening::Start
            | Happening::Operator(_)
            | Happening::Wake { .. }
            | Happening::Answer { .. }
            | Happening::Synced { .. } => true,
            Happening::Doom
            | Happening::Fall
            | Happening::Arrival { .. }
            | Happening::Trade
            | Happening::Weather
            | Happening::Trouble
            | Happening::Relief(_)
            | Happening::Care => false,
        }
    }

    pub(super) fn happen(&mut self, what: Happening) {
        let until = self.storms.held_until;
        if self.now < until && Self::is_heard(&what) {
            if let (Happening::Wake { incarnation }, Some(daemon)) = (&what, &mut self.daemon)
                && *incarnation == daemon.incarnation
                && daemon.wake == Some(self.now)
            {
                daemon.wake = Some(until);
            }
            self.queue.plan(until, what);
            return;
        }
        match what {
            Happening::Start if self.daemon.is_some() => {}
            Happening::Start => self.start(),
            Happening::Doom if self.calmed => {}
            Happening::Doom if !self.storms.stormy => self.plan_doom(),
            Happening::Doom => {
                let actions = self.chance.below(self.config.crash.actions_max);
                self.crash_after.get_or_insert(actions);
                self.plan_doom();
            }
            Happening::Fall => self.fall(),
            Happening::Operator(command) => {
                if self.daemon.is_some() {
                    self.hear(&Event::Operator(command));
                } else if self.finished.is_none() && !matches!(command, Command::Reconfigure { .. })
                {
                    // Said again once somebody listens.
                    let again = self.now.plus_ms(100);
                    self.queue.plan(again, Happening::Operator(command));
                }
            }
            Happening::Wake { incarnation } => {
                let now = self.now;
                if self.is_alive(incarnation)
                    && self.daemon.as_ref().is_some_and(|d| d.wake == Some(now))
                {
                    self.hear(&Event::Wake);
                }
            }
            Happening::Arrival {
                from,
                request,
                copy,
            } => self.arrive(from, &request, copy),
            Happening::Answer { to, heard } => self.answer(to, *heard),
            Happening::Synced {
                incarnation,
                upto,
                event,
            } => self.synced(incarnation, upto, event),
            Happening::Trade => {
                self.exchange.trade(self.now);
                self.plan_trade();
            }
            Happening::Weather => self.turn(),
            Happening::Trouble => self.trouble(),
            Happening::Relief(kind) => self.relieve(kind),
            Happening::Care => self.look_after(),
        }
    }

    pub(super) fn is_alive(&self, incarnation: u32) -> bool {
        self.daemon
            .as_ref()
            .is_some_and(|daemon| daemon.incarnation == incarnation)
    }

    pub(super) fn plan_trade(&mut self) {
        if let Some(next) = self.exchange.next_trade() {
            self.queue.plan(next.max(self.now), Happening::Trade);
        }
    }

    /// Plans the next crash, unless faults have ended.
    pub(super) fn plan_doom(&mut self) {
        let mean_us = self.config.crash.mean_ms * 1_000;
        if mean_us > 0 && !self.calmed {
            let at = Time(self.now.0 + self.chance.between(1, 2 * mean_us));
            self.queue.plan(at, Happening::Doom);
        }
    }
}
