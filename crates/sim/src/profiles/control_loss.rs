//! Worlds with the worst market at the worst moment: the daemon crashes while its band is nearly full, all resting
//! orders are swept, and the price has moved before anyone can act.

use cambist_core::Side;
use cambist_venue::Random;
use serde::{Deserialize, Serialize};

use crate::config::{CrashConfig, WorldConfig};
use crate::faults::kinds::FaultKind;

/// When control is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlLossConfig {
    /// Mean time between losses of control; 0 means never.
    pub mean_ms: u64,
    /// Size of the price move, down and up alternately.
    pub gap_bps: u32,
}

impl WorldConfig {
    /// The same world with losses of control.
    #[must_use]
    pub(crate) fn falling(mut self, random: &mut Random) -> Self {
        self.falls = ControlLossConfig {
            mean_ms: 300_000 + 300_000 * random.below(3),
            gap_bps: 500 + 250 * u32::try_from(random.below(5)).unwrap_or(0),
        };
        // A daemon that is down already loses nothing by a crash.
        self.crash = CrashConfig::default();
        self.store.restart_ms = self.store.restart_ms.min(1_000);
        // External flows change bands that are not theirs.
        let moves = [FaultKind::Deposit, FaultKind::Withdrawal];
        self.fault_kinds.kinds.retain(|kind| !moves.contains(kind));
        let plenty = Self::calm(self.seed, "ladder").twofold().funds;
        for (token, amount) in &mut self.funds {
            *amount = plenty.get(token).copied().unwrap_or(*amount);
        }
        let width = u128::from(random.between(5, 10));
        let cap = u128::from(random.between(2, 4));
        // Longer times to live need more.
        let lives = u128::from((self.engine.ttl_ms + self.engine.grace_ms).div_ceil(5_000));
        for (name, limits) in self.markets.iter().zip(&mut self.engine.markets) {
            let mut listed = self.venue.markets.iter();
            let base = listed.find(|m| m.name == *name).map(|m| m.base);
            let held = base.and_then(|base| self.funds.get(&base));
            let held = held.copied().unwrap_or(0);
            limits.inventory_min = held - held / width;
            limits.inventory_max = held + held / width;
            // A few times the amount that the band lets rest, so that the stated bound is nearly reached.
            limits.signed_unexpired_max = held / width * cap * lives;
        }
        self
    }
}

/// Direction of the price move: down first, then up, alternately.
pub(crate) const fn way(before: u64) -> Side {
    if before.is_multiple_of(2) {
        Side::Sell
    } else {
        Side::Buy
    }
}
