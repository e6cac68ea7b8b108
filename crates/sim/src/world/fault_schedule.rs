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
    pub(super) fn plan_storms(&mut self) {
        let weather = self.config.weather;
        if weather.storm_ms > 0 && weather.quiet_ms > 0 {
            self.storm(false);
            self.plan_weather();
        }
        self.plan_trouble();
        if !self.config.troubles.kinds.is_empty() || self.reloads.happen() {
            self.queue.plan(self.now.plus_ms(CARE_MS), WorldEvent::Care);
        }
    }

    fn storm(&mut self, stormy: bool) {
        self.storms.stormy = stormy;
        self.network.storm(stormy);
    }

    fn plan_weather(&mut self) {
        let weather = self.config.weather;
        let mean_ms = if self.storms.stormy {
            weather.storm_ms
        } else {
            weather.quiet_ms
        };
        let length = self.storms.random.between(1, 2 * mean_ms * 1_000);
        self.queue
            .plan(Time(self.now.0 + length), WorldEvent::Weather);
    }

    /// Switches between periods with and without faults.
    pub(super) fn turn(&mut self) {
        if !self.storms.over {
            self.storm(!self.storms.stormy);
            self.plan_weather();
        }
    }

    /// Records that a fault is active until then. Operators obstruct nothing.
    pub(super) fn suffer(&mut self, kind: FaultKind, until: Time) {
        match kind.family() {
            Family::Operator | Family::Limits => self.storms.disturb(until),
            Family::Network | Family::Venue | Family::Disk | Family::Clock | Family::Crash => {
                self.storms.obstruct(until);
            }
        }
    }

    fn plan_trouble(&mut self) {
        let mean_us = self.config.troubles.mean_ms * 1_000;
        if mean_us > 0 && !self.config.troubles.kinds.is_empty() && !self.storms.over {
            let at = Time(self.now.0 + self.storms.random.between(1, 2 * mean_us));
            self.queue.plan(at, WorldEvent::Trouble);
        }
    }

    /// Starts a fault, if this is a period with faults.
    pub(super) fn trouble(&mut self) {
        if self.storms.over || self.ending {
            return;
        }
        let kinds = &self.config.troubles.kinds;
        let index = self.storms.random.below(kinds.len() as u64);
        let kind = kinds
            .iter()
            .nth(usize::try_from(index).unwrap_or(0))
            .copied();
        let longest = self.config.troubles.length_max_ms.max(1_000);
        let mut length_ms = self.storms.random.between(1_000, longest);
        if let Some(FaultKind::Suspended | FaultKind::Held) = kind
            && self.storms.random.chance(1, 200)
        {
            // A laptop that is closed for a long time.
            length_ms = HOUR_MS;
        }
        if let Some(kind) = kind
            && self.storms.stormy
            && self.storms.active.insert(kind)
        {
            self.storms.begun += 1;
            self.begin(kind, length_ms);
            let relief = self.now.plus_ms(length_ms);
            self.suffer(kind, relief);
            self.queue.plan(relief, WorldEvent::Relief(kind));
        }
        self.plan_trouble();
    }

    /// Ends every fault; none starts any more.
    pub(super) fn relieve_all(&mut self) {
        self.storms.over = true;
        self.storm(false);
        for kind in FaultKind::ALL {
            self.relieve(kind);
        }
        self.refund();
        self.care();
    }
}
