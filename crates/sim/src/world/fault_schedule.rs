//! The fault schedule: periods with and without faults, and starts and ends of faults.

use cambist_core::Time;

use crate::faults::family::Family;
use crate::faults::kinds::FaultKind;

use crate::world::World;
use crate::world::events::WorldEvent;
use crate::world::operator::CARE_MS;

/// Milliseconds of an hour.
const HOUR_MS: u64 = 3_600_000;

impl World {
    /// Plans the first change of period, the first fault and the first check by the operator.
    pub(super) fn plan_faults(&mut self) {
        let fault_schedule = self.config.fault_schedule;
        if fault_schedule.fault_period_ms > 0 && fault_schedule.fault_free_ms > 0 {
            self.set_fault_period(false);
            self.plan_period();
        }
        self.plan_fault();
        if !self.config.fault_kinds.kinds.is_empty() || self.reloads.are_configured() {
            self.queue
                .plan(self.now.plus_ms(CARE_MS), WorldEvent::OperatorCheck);
        }
    }

    fn set_fault_period(&mut self, in_fault_period: bool) {
        self.active_faults.in_fault_period = in_fault_period;
        self.network.set_fault_period(in_fault_period);
    }

    fn plan_period(&mut self) {
        let fault_schedule = self.config.fault_schedule;
        let mean_ms = if self.active_faults.in_fault_period {
            fault_schedule.fault_period_ms
        } else {
            fault_schedule.fault_free_ms
        };
        let length = self.active_faults.random.between(1, 2 * mean_ms * 1_000);
        self.queue
            .plan(Time(self.now.0 + length), WorldEvent::PeriodChange);
    }

    /// Switches between periods with and without faults.
    pub(super) fn turn(&mut self) {
        if !self.active_faults.over {
            self.set_fault_period(!self.active_faults.in_fault_period);
            self.plan_period();
        }
    }

    /// Records that a fault is active until then. Operators obstruct nothing.
    pub(super) fn activate(&mut self, kind: FaultKind, until: Time) {
        match kind.family() {
            Family::Operator | Family::Limits => self.active_faults.disturb(until),
            Family::Network
            | Family::Venue
            | Family::Disk
            | Family::Clock
            | Family::Crash
            | Family::Restart => self.active_faults.obstruct(until),
        }
    }

    fn plan_fault(&mut self) {
        let mean_us = self.config.fault_kinds.mean_ms * 1_000;
        if mean_us > 0 && !self.config.fault_kinds.kinds.is_empty() && !self.active_faults.over {
            let at = Time(self.now.0 + self.active_faults.random.between(1, 2 * mean_us));
            self.queue.plan(at, WorldEvent::FaultStart);
        }
    }

    /// Starts a fault, if this is a period with faults.
    pub(super) fn start_fault(&mut self) {
        if self.active_faults.over || self.ending {
            return;
        }
        let kinds = &self.config.fault_kinds.kinds;
        let index = self.active_faults.random.below(kinds.len() as u64);
        let kind = kinds
            .iter()
            .nth(usize::try_from(index).unwrap_or(0))
            .copied();
        let longest = self.config.fault_kinds.length_max_ms.max(1_000);
        let mut length_ms = self.active_faults.random.between(1_000, longest);
        if let Some(FaultKind::Suspended | FaultKind::Held) = kind
            && self.active_faults.random.chance(1, 200)
        {
            // A laptop that is closed for a long time.
            length_ms = HOUR_MS;
        }
        if let Some(kind) = kind
            && self.active_faults.in_fault_period
            && self.active_faults.active.insert(kind)
        {
            self.active_faults.begun += 1;
            self.begin(kind, length_ms);
            let relief = self.now.plus_ms(length_ms);
            self.activate(kind, relief);
            self.queue.plan(relief, WorldEvent::FaultEnd(kind));
        }
        self.plan_fault();
    }

    /// Ends every fault; none starts any more.
    pub(super) fn end_all_faults(&mut self) {
        self.active_faults.over = true;
        self.set_fault_period(false);
        for kind in FaultKind::ALL {
            self.end_fault(kind);
        }
        self.refund();
        self.care();
    }
}
