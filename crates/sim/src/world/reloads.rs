//! Reloads: an operator switches between tight and usual limits. A reload that would loosen a limit without permission
//! must be refused, and with it be accepted.

use crate::invariants::table::Invariant;
use std::collections::VecDeque;

use cambist_core::config::EngineConfig;
use cambist_core::event::{Command, Filter};
use cambist_core::notification::Notification;
use cambist_core::{MarketId, Side};
use cambist_venue::Random;

use crate::config::WorldConfig;
use crate::profiles::tight_limits::tightened;

use super::World;

/// Recovery time after tight limits: a pause, and a check by the operator.
const RECOVERY_MS: u64 = 120_000;

/// Configurations that an operator reloads.
#[derive(Debug)]
pub(super) struct Reloads {
    /// Tight and usual limits, in worlds that have them.
    both: Option<[EngineConfig; 2]>,
    /// Reloads without a reply yet, and whether each must be accepted.
    pending: VecDeque<(EngineConfig, bool)>,
    random: Random,
}

impl Reloads {
    /// A daemon with tight limits starts with them.
    pub(super) fn begin(config: &mut WorldConfig) -> Self {
        let both = tightened(config);
        if let Some([tight, _]) = &both {
            config.engine = tight.clone();
        }
        Self {
            both,
            pending: VecDeque::new(),
            random: Random::new(config.seed ^ 0x0072_656c_6f61_6473),
        }
    }

    /// Whether there are any.
    pub(super) const fn are_configured(&self) -> bool {
        self.both.is_some()
    }

    /// Whether this is the tight one.
    pub(super) fn is_tight(&self, engine: &EngineConfig) -> bool {
        self.both.as_ref().is_some_and(|[tight, _]| tight == engine)
    }

    /// Recovery time after tight limits.
    pub(super) const fn recovery_ms(&self) -> u64 {
        if self.are_configured() {
            RECOVERY_MS
        } else {
            0
        }
    }
}

impl World {
    /// An operator reloads the configuration at intervals.
    pub(super) fn reload(&mut self) {
        let Some([tight, usual]) = &self.reloads.both else {
            return;
        };
        if self.calmed || self.daemon.is_none() || !self.reloads.pending.is_empty() {
            return;
        }
        let is_tight = self.config.engine == *tight;
        match self.reloads.random.below(16) {
            0 | 1 if is_tight => self.reload_limits(usual.clone(), false, false),
            2 | 3 if is_tight => self.pause_a_side(),
            4 if is_tight => self.relax(),
            4 => self.reload_limits(tight.clone(), false, true),
            _ => {}
        }
    }

    /// An operator pauses one side, or lifts the pause. Pauses by controls end by themselves.
    fn pause_a_side(&mut self) {
        let random = &mut self.reloads.random;
        let filter = side_of(Side::BOTH[usize::from(random.chance(1, 2))]);
        let reason = "an operator".to_owned();
        let command = if random.chance(1, 2) {
            Command::Pause { filter, reason }
        } else {
            Command::Unpause { filter, reason }
        };
        self.command(command);
    }

    /// Uses the usual limits from now on, and lifts pauses by an operator.
    pub(super) fn relax(&mut self) {
        let Some([_, usual]) = &self.reloads.both else {
            return;
        };
        self.reload_limits(usual.clone(), true, true);
        for filter in Side::BOTH.map(side_of) {
            let reason = "an operator".to_owned();
            self.command(Command::Unpause { filter, reason });
        }
    }

    fn reload_limits(&mut self, config: EngineConfig, allow_loosening: bool, taken: bool) {
        self.reloads.pending.push_back((config.clone(), taken));
        let config = Box::new(config);
        self.command(Command::Reconfigure {
            config,
            parameters: Vec::new(),
            reason: String::new(),
            allow_loosening,
        });
    }

    /// Handles the daemon's reply.
    pub(super) fn observe_reloads(&mut self, notification: &Notification) {
        let (command, taken) = match notification {
            Notification::CommandAccepted { command, .. } => (command, true),
            Notification::CommandRefused { command, .. } => (command, false),
            _ => return,
        };
        if command != "reconfigure" {
            return;
        }
        let Some((config, expected)) = self.reloads.pending.pop_front() else {
            return;
        };
        if taken != expected {
            let detail = format!("taken {taken}, expected {expected}");
            self.checks.fail(Invariant::Reload, detail);
        }
        if expected {
            self.in_force(config);
        }
    }

    /// The daemon starts and reads the configuration written before.
    pub(super) fn read_configuration(&mut self) {
        for (config, expected) in std::mem::take(&mut self.reloads.pending) {
            if expected {
                self.in_force(config);
            }
        }
    }

    /// More may rest than a tighter limit allows, until it is dead.
    fn in_force(&mut self, config: EngineConfig) {
        let dead_ms = config.ttl_ms + config.grace_ms + self.longest_ms();
        let until = self.now.plus_ms(dead_ms);
        self.checks.excuse(Invariant::OpenOrders, Some(until));
        // Quotes that tight limits stopped return gradually.
        self.active_faults.disturb(self.now.plus_ms(RECOVERY_MS));
        self.config.engine = config;
    }
}

const fn side_of(side: Side) -> Filter {
    Filter {
        side: Some(side),
        ..Filter::market(MarketId(0))
    }
}
