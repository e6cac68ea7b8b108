//! Planted defects of the shell: distortions of answers on their way to the engine.

use cambist_core::Reason;
use cambist_core::order::{OrderReport, OrderStatus};
use cambist_core::request::{Outcome, Reply, UnknownCause};

/// Distorts an answer if such a defect is armed.
pub(crate) fn distort(outcome: &mut Outcome) {
    match outcome {
        Outcome::Reply(Reply::Order(report)) => distort_report(report),
        Outcome::Reply(Reply::Orders { orders, .. } | Reply::OrdersUntil { orders, .. }) => orders.iter_mut().for_each(distort_report),
        Outcome::Reply(Reply::Submitted { .. }) if planted!(refusals_invented) => {
            *outcome = Outcome::Refused(Reason::InvalidArgument);
        }
        Outcome::Unknown(UnknownCause::Timeout) if planted!(timeout_is_not_sent) => {
            *outcome = Outcome::NotSent;
        }
        Outcome::Reply(_) | Outcome::Refused(_) | Outcome::NotSent | Outcome::Unknown(_) => {}
    }
}

fn distort_report(report: &mut OrderReport) {
    if planted!(fills_hidden) {
        (report.base_filled, report.quote_filled, report.fee) = (0, 0, 0);
    }
    if planted!(fills_doubled) {
        report.base_filled *= 2;
        report.quote_filled *= 2;
        report.fee *= 2;
    }
    if planted!(ends_invented) {
        report.status = OrderStatus::Cancelled;
    }
}
