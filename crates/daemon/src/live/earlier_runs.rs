//! Orders and pool transactions of earlier runs without a proven end, and until when they may be alive.

use crate::config::Daemon;
use cambist_host::times;
use cambist_store::Recovered;

/// Orders, joins and exits of earlier runs whose end is not proven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlierRuns {
    /// How many.
    pub count: usize,
    /// When the last of them has certainly ended: expiry plus grace, seconds of venue time. 0 if there is none.
    pub until_s: u64,
}

impl EarlierRuns {
    /// Reads them from the store.
    pub fn of(recovered: &Recovered, daemon: &Daemon) -> Self {
        let orders = recovered.open.iter();
        let moves = recovered.open_moves.iter();
        let expiries = orders
            .map(|open| open.recovered.order.last_effect_s())
            .chain(moves.map(|open| open.recovered.transaction.valid_until_s));
        let (count, last_s) = expiries.fold((0, 0), |(count, last_s), expiry_s| {
            (count + 1, last_s.max(expiry_s))
        });
        Self {
            count,
            until_s: if count == 0 {
                0
            } else {
                u64::from(last_s) + daemon.orders.grace_s
            },
        }
    }

    /// A sentence; `None` if there is none.
    pub fn text(self) -> Option<String> {
        let until = times::iso(self.until_s);
        match self.count {
            0 => None,
            1 => Some(format!(
                "1 order of an earlier run may be alive until {until} (expiry plus grace)"
            )),
            many => Some(format!(
                "{many} orders of earlier runs may be alive, the last until {until} (expiry plus grace)"
            )),
        }
    }
}
