//! Evidence from reports about joins and exits. Their lifecycle rules are those of orders (`lifecycle`); the list of
//! transactions takes the place of the list of orders.
//!
//! The changes by a join or an exit are booked once, in the step that ends it, from the venue's report.

use crate::action::Action;
use crate::books::Entry;
use crate::fence::{ListScan, Progress, ScanPurpose, VenueEvidence};
use crate::notification::{End, Notification, PoolTransactionSettlement};
use crate::order::{ClientOrderId, OrderStatus};
use crate::pool::{PoolTransactionReport, PoolTransactionStatus};
use crate::postings::Postings;
use crate::request::{Outcome, Reply, RequestId};
use crate::time::Time;

use crate::engine::state::State;
use crate::list_scan::answered;

/// Foreign joins and exits that are remembered, so that each is reported once.
const FOREIGN_KEPT: usize = 1_024;

impl State {
    /// Handles a page of joins and exits.
    pub(crate) fn handle_pool_transactions_page(
        &mut self,
        now: Time,
        request: RequestId,
        outcome: &Outcome,
        actions: &mut Vec<Action>,
    ) {
        let Some(mut pass) = answered(&mut self.pool_scan, request) else {
            return;
        };
        let Outcome::Reply(Reply::PoolTransactions { moves, total }) = outcome else {
            if pass.ask_again() {
                self.pool_scan = Some(pass);
            } else {
                self.polls.pool_scan_failed(now);
            }
            return;
        };
        for report in moves {
            self.observe_pool_transaction(now, report, actions);
        }
        match pass.take(moves, *total) {
            Progress::More => self.pool_scan = Some(pass),
            Progress::Abandoned => self.polls.pool_scan_failed(now),
            Progress::Complete => self.pool_scan_completed(now, &pass, actions),
        }
    }

    fn pool_scan_completed(&mut self, now: Time, pass: &ListScan, actions: &mut Vec<Action>) {
        self.polls.pool_scan_ended(pass.purpose, now);
        for tracked in self.orders.pool_transactions.iter_mut() {
            tracked.lifecycle.passed(pass);
        }
        if pass.purpose != ScanPurpose::Absence {
            return;
        }
        let grace_ms = self.config.grace_ms;
        let absent = self.orders.pool_transactions.iter();
        let absent: Vec<_> = absent
            .filter(|t| t.lifecycle.is_absent_from(pass, grace_ms))
            .map(|t| (t.wanted.client_id, t.lifecycle.evidence))
            .collect();
        for (id, word) in absent {
            if word == VenueEvidence::Seen {
                let detail =
                    format!("the venue accepted pool transaction {id} and no longer lists it");
                self.violated("move_vanished", detail, actions);
            }
            self.end(now, id, End::Fenced, actions);
        }
    }

    /// Handles a report about one join or exit.
    fn observe_pool_transaction(
        &mut self,
        now: Time,
        report: &PoolTransactionReport,
        actions: &mut Vec<Action>,
    ) {
        let Some(id) = self.orders.pool_transactions.id_of(report.hash) else {
            self.observe_foreign_pool_transaction(report, actions);
            return;
        };
        let Some(tracked) = self.orders.pool_transactions.get_mut(id) else {
            return;
        };
        let was_unknown = tracked.lifecycle.shown(now);
        if tracked.wanted.kind != report.kind {
            let detail = format!("pool transaction {id} is listed as {}", report.kind.name());
            self.violated("move_kind", detail, actions);
            return;
        }
        if was_unknown {
            let status = match report.status {
                PoolTransactionStatus::Processing => OrderStatus::Processing,
                PoolTransactionStatus::Processed => OrderStatus::Processed,
                PoolTransactionStatus::Cancelled => OrderStatus::Failed,
            };
            actions.push(Action::Notify(Notification::Resolved { order: id, status }));
        }
        match report.status {
            PoolTransactionStatus::Processing => {}
            PoolTransactionStatus::Processed => {
                self.book_pool_transaction(id, report, actions);
                self.end(now, id, End::Filled, actions);
            }
            PoolTransactionStatus::Cancelled => self.end(now, id, End::FailedLate, actions),
        }
    }

    fn book_pool_transaction(
        &mut self,
        id: ClientOrderId,
        report: &PoolTransactionReport,
        actions: &mut Vec<Action>,
    ) {
        let Some(tracked) = self.orders.pool_transactions.get(id) else {
            return;
        };
        let (wanted, moved) = (&tracked.wanted, report.amounts);
        if !self.ledger.book_pool_transaction(wanted, &moved) {
            self.polls.balances_soon();
        }
        let market = &mut self.markets[usize::from(wanted.market.0)];
        let postings = Postings::of_pool(wanted.kind, wanted.pooled, wanted.lp, &moved);
        market.losses.post(&market.spec, &postings);
        self.pending.posted(Some(market.spec.id), &postings);
        let kept = if self.venue.compares_shares {
            wanted.allows(&moved)
        } else {
            wanted.allows_amounts(&moved)
        };
        let settlement = PoolTransactionSettlement {
            order: id,
            market: wanted.market,
            kind: wanted.kind,
            pooled: wanted.pooled,
            lp: wanted.lp,
            amounts: moved,
            mid: self.prices(wanted.market).mid,
        };
        self.pending.entry(Entry::Moved(settlement.clone()));
        actions.push(Action::Notify(Notification::PoolTransactionSettled(
            settlement,
        )));
        if !kept {
            let detail = format!("pool transaction {id} exceeds a signed limit: {moved:?}");
            self.violated("move_limits", detail, actions);
        }
    }

    /// Handles a report about a join or an exit that is not among those that may be undecided.
    fn observe_foreign_pool_transaction(
        &mut self,
        report: &PoolTransactionReport,
        actions: &mut Vec<Action>,
    ) {
        let hash = report.hash;
        if let Some(ended) = self.orders.pool_transactions.ended_mut(hash) {
            if ended.concluded && report.status != PoolTransactionStatus::Cancelled {
                ended.concluded = false;
                let id = ended.id;
                let detail =
                    format!("pool transaction {id} is listed after it was concluded to be dead");
                self.violated("move_after_end", detail, actions);
            }
        } else if report.created > self.pool_transactions_since
            && self.foreign_pool_transactions.len() < FOREIGN_KEPT
            && self.foreign_pool_transactions.insert(hash)
        {
            let kind = report.kind;
            actions.push(Action::Notify(Notification::ForeignPoolTransaction {
                hash,
                kind,
            }));
        }
    }

    /// Ends a join or an exit; the strategy's pause begins, whatever its result.
    pub(crate) fn end_pool_transaction(
        &mut self,
        now: Time,
        id: ClientOrderId,
        end: End,
        actions: &mut Vec<Action>,
    ) {
        let Some(tracked) = self.orders.pool_transactions.end(id, end.is_concluded()) else {
            return;
        };
        for (token, id) in tracked.wanted.slots() {
            self.slot_numbers.free(token, id, tracked.lifecycle.spent());
        }
        let market = self.market_mut(tracked.wanted.market);
        market.decision_due = true;
        if let Some(pool) = &mut market.pool {
            pool.last_transaction_at = Some(now);
            pool.poll_at = now;
        }
        self.polls.balances_soon();
        self.pending.entry(Entry::Ended(id, end));
        actions.push(Action::Notify(Notification::PoolTransactionEnded {
            order: id,
            market: tracked.wanted.market,
            kind: tracked.wanted.kind,
            end,
        }));
    }
}
