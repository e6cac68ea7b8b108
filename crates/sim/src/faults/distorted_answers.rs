//! Planted defects of the shell's reading: what they make of an answer on its way to the engine.

use cambist_core::Reason;
use cambist_core::order::{OrderReport, OrderStatus};
use cambist_core::planted::{Defect, armed};
use cambist_core::request::{Outcome, Reply, UnknownCause};

/// Changes an answer if such a defect is armed.
pub(crate) fn distort(outcome: &mut Outcome) {
    match outcome {
        Outcome::Reply(Reply::Order(report)) => distort_report(report),
        Outcome::Reply(Reply::Orders { orders, .. }) => orders.iter_mut().for_each(distort_report),
        Outcome::Reply(Reply::Submitted { .. }) if armed(Defect::RefusalsInvented) => {
            *outcome = Outcome::Refused(Reason::InvalidArgument);
        }
        Outcome::Unknown(UnknownCause::Timeout) if armed(Defect::TimeoutIsNotSent) => {
            *outcome = Outcome::NotSent;
        }
        Outcome::Reply(_) | Outcome::Refused(_) | Outcome::NotSent | Outcome::Unknown(_) => {}
    }
}

fn distort_report(report: &mut OrderReport) {
    if armed(Defect::FillsHidden) {
        (report.base_filled, report.quote_filled, report.fee) = (0, 0, 0);
    }
    if armed(Defect::FillsDoubled) {
        report.base_filled *= 2;
        report.quote_filled *= 2;
        report.fee *= 2;
    }
    if armed(Defect::EndsInvented) {
        report.status = OrderStatus::Cancelled;
    }
}
