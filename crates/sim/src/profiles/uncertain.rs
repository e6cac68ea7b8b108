//! Worlds made for doubt: orders whose fate stays open until the last moment. Requests are slow enough to
//! arrive just before they expire, answers are lost, resends do not get through, what rests is shown late.
//! Any world may have some of this; here all of it comes together, for orders that soon expire.

use cambist_venue::Random;

use crate::config::{FaultScheduleConfig, NetworkConfig, WorldConfig};
use crate::faults::kinds::FaultKind;

impl WorldConfig {
    /// The same world in doubt.
    #[must_use]
    pub(crate) fn doubtful(mut self, random: &mut Random) -> Self {
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
        self.weather = FaultScheduleConfig {
            quiet_ms: 60_000,
            storm_ms: 120_000,
        };
        let kinds = [
            FaultKind::OrdersHidden,
            FaultKind::ListGaps,
            FaultKind::ListSkips,
            FaultKind::SubmitsLate,
            FaultKind::OneAway,
            FaultKind::TimeWrong,
        ];
        // What else there is would only keep them apart.
        self.troubles.kinds = kinds.into();
        if random.chance(1, 2) {
            let people = [FaultKind::Drained, FaultKind::LevelRaised];
            self.troubles.kinds.extend(people);
        }
        self.troubles.mean_ms = 6_000;
        self.troubles.length_max_ms = 30_000;
        self
    }
}
