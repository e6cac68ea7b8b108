//! Queries to the exchange for results that the rules leave to its random numbers.

use cambist_core::{Hash, OrderStatus};
use cambist_venue::{AccountId, Caller, Request, Response, SubmissionStatus, Venue};

/// The exchange, with the queries that anybody may send.
pub(super) struct Probe<'a>(&'a mut Venue);

impl<'a> Probe<'a> {
    pub(super) const fn new(venue: &'a mut Venue) -> Self {
        Self(venue)
    }

    /// Whether an order is reported as failed.
    pub(super) fn order_failed(&mut self, account: AccountId, hash: Hash) -> bool {
        let request = Request::Order { account, hash };
        let answer = self.0.handle(self.0.now(), &Caller::Operator, &request);
        matches!(answer, Ok(Response::Order(view)) if view.status == OrderStatus::Failed)
    }

    /// Whether a submission is reported as failed.
    pub(super) fn submission_failed(&mut self, account: AccountId, hash: Hash) -> bool {
        let request = Request::Submission { account, hash };
        let answer = self.0.handle(self.0.now(), &Caller::Operator, &request);
        matches!(answer, Ok(Response::Submission(view)) if view.status == SubmissionStatus::Failed)
    }
}
