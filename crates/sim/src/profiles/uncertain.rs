//! Worlds with maximal uncertainty: orders whose state stays unknown until the last moment. Requests are slow enough to
//! arrive immediately before they expire, answers are lost, resends fail, resting orders are listed late. Any world may
//! have some of this; here all of it is combined, for orders with a short time to live.

use cambist_venue::Random;

use crate::config::{FaultScheduleConfig, NetworkConfig, WorldConfig};
use crate::faults::kinds::FaultKind;

impl WorldConfig {
    /// The same world with these faults.
    #[must_use]
    pub(crate) fn uncertain(mut self, random: &mut Random) -> Self {
        self.network = NetworkConfig {
            not_sent: 1_500,
            loss_before: 300,
            loss_after: 1_500,
            duplicate: 300,
            reorder: 1_500,
            reorder_ms: 25_000,
            ..self.network
        };
        let engine = &mut self.engine;
        engine.ttl_ms = 15_000;
        engine.refresh_before_ms = 4_000;
        engine.grace_ms = 10_000 + 10_000 * random.below(2);
        engine.request_timeout_ms = 1_000 + 1_000 * random.below(2);
        engine.attempts_max = 2 + u8::try_from(random.below(2)).unwrap_or(0);
        self.fault_schedule = FaultScheduleConfig {
            fault_free_ms: 60_000,
            fault_period_ms: 120_000,
        };
        let kinds = [
            FaultKind::OrdersHidden,
            FaultKind::ListGaps,
            FaultKind::ListSkips,
            FaultKind::SubmitsLate,
            FaultKind::OneAway,
            FaultKind::TimeWrong,
        ];
        // Other faults would only separate them.
        self.fault_kinds.kinds = kinds.into();
        if random.chance(1, 2) {
            let operator_faults = [FaultKind::Drained, FaultKind::LevelRaised];
            self.fault_kinds.kinds.extend(operator_faults);
        }
        self.fault_kinds.mean_ms = 6_000;
        self.fault_kinds.length_max_ms = 30_000;
        self
    }
}
