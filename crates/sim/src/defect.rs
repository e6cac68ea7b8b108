//! Planted faults of the shell: each breaks one promise, and the checks must notice.

use cambist_core::Reason;
use cambist_core::order::{OrderReport, OrderStatus};
use cambist_core::request::{Outcome, Reply};
use serde::{Deserialize, Serialize};

/// One planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Defect {
    /// Reports of orders leave the fills out.
    FillsHidden,
    /// Reports of orders show every fill twice.
    FillsDoubled,
    /// Reports say that open orders are cancelled.
    EndsInvented,
    /// Submits that were taken are told as refused for a reason that proves death.
    RefusalsInvented,
    /// Batches are called durable without being written.
    SyncSkipped,
    /// A resend leaves under a new id.
    IdsRenewed,
    /// A restart begins to count at the beginning.
    CountersForgotten,
    /// A restart does not tell of the orders that may be alive.
    IntentsForgotten,
}

impl Defect {
    /// Every planted fault.
    pub const ALL: [Self; 8] = [
        Self::FillsHidden,
        Self::FillsDoubled,
        Self::EndsInvented,
        Self::RefusalsInvented,
        Self::SyncSkipped,
        Self::IdsRenewed,
        Self::CountersForgotten,
        Self::IntentsForgotten,
    ];

    /// Changes an answer on its way to the engine.
    pub(crate) fn distort(self, outcome: &mut Outcome) {
        match self {
            Self::FillsHidden | Self::FillsDoubled | Self::EndsInvented => match outcome {
                Outcome::Reply(Reply::Order(report)) => self.distort_report(report),
                Outcome::Reply(Reply::Orders { orders, .. }) => {
                    for report in orders {
                        self.distort_report(report);
                    }
                }
                Outcome::Reply(_)
                | Outcome::Refused(_)
                | Outcome::NotSent
                | Outcome::Unknown(_) => {}
            },
            Self::RefusalsInvented => {
                if matches!(outcome, Outcome::Reply(Reply::Submitted { .. })) {
                    *outcome = Outcome::Refused(Reason::AmountTooSmall);
                }
            }
            Self::SyncSkipped
            | Self::IdsRenewed
            | Self::CountersForgotten
            | Self::IntentsForgotten => {}
        }
    }

    const fn distort_report(self, report: &mut OrderReport) {
        match self {
            Self::FillsHidden => {
                (report.base_filled, report.quote_filled, report.fee) = (0, 0, 0);
            }
            Self::FillsDoubled => {
                report.base_filled *= 2;
                report.quote_filled *= 2;
                report.fee *= 2;
            }
            Self::EndsInvented => report.status = OrderStatus::Cancelled,
            Self::RefusalsInvented
            | Self::SyncSkipped
            | Self::IdsRenewed
            | Self::CountersForgotten
            | Self::IntentsForgotten => {}
        }
    }
}
