//! What reports prove about joins and exits. The rules of their lives are those of orders (`lifecycle`); the
//! list of transactions takes the place of the list of orders.
//!
//! What a move changed is booked in the step that ends it, from the venue's word, once.

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

/// Foreign moves remembered, so that each is told once.
const FOREIGN_KEPT: usize = 1_024;

impl State {
    /// A page of joins and exits.
    pub(crate) fn handle_moves_page(
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
                self.polls.moves_failed(now);
            }
            return;
        };
        for report in moves {
            self.observe_move(now, report, actions);
        }
        match pass.take(moves, *total) {
            Progress::More => self.pool_scan = Some(pass),
            Progress::Abandoned => self.polls.moves_failed(now),
            Progress::Complete => self.moves_pass_ended(now, &pass, actions),
        }
    }

    fn moves_pass_ended(&mut self, now: Time, pass: &ListScan, actions: &mut Vec<Action>) {
        self.polls.moves_ended(pass.purpose, now);
        for tracked in self.orders.pool_transactions.iter_mut() {
            tracked.life.passed(pass);
        }
        if pass.purpose != ScanPurpose::Absence {
            return;
        }
        let grace_ms = self.config.grace_ms;
        let absent = self.orders.pool_transactions.iter();
        let absent: Vec<_> = absent
            .filter(|t| t.life.is_absent_from(pass, grace_ms))
            .map(|t| (t.wanted.client_id, t.life.evidence))
            .collect();
        for (id, word) in absent {
            if word == VenueEvidence::Seen {
                let detail = format!("the venue took move {id} and does not list it any more");
                self.violated("move_vanished", detail, actions);
            }
            self.end(now, id, End::Fenced, actions);
        }
    }

    /// Takes in what the venue reports about one join or exit.
    fn observe_move(
        &mut self,
        now: Time,
        report: &PoolTransactionReport,
        actions: &mut Vec<Action>,
    ) {
        let Some(id) = self.orders.pool_transactions.id_of(report.hash) else {
            self.observe_other_move(report, actions);
            return;
        };
        let Some(tracked) = self.orders.pool_transactions.get_mut(id) else {
            return;
        };
        let was_unknown = tracked.life.shown();
        if tracked.wanted.kind != report.kind {
            let detail = format!("move {id} is shown as {}", report.kind.name());
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
                self.book_move(id, report, actions);
                self.end(now, id, End::Filled, actions);
            }
            PoolTransactionStatus::Cancelled => self.end(now, id, End::FailedLate, actions),
        }
    }

    fn book_move(
        &mut self,
        id: ClientOrderId,
        report: &PoolTransactionReport,
        actions: &mut Vec<Action>,
    ) {
        let Some(tracked) = self.orders.pool_transactions.get(id) else {
            return;
        };
        let (wanted, moved) = (&tracked.wanted, report.amounts);
        let covered = self.ledger.book_move(wanted, &moved) || !self.ready;
        let market = &mut self.markets[usize::from(wanted.market.0)];
        let postings = Postings::of_pool(wanted.kind, wanted.pooled, wanted.lp, &moved);
        market.losses.post(&market.spec, &postings);
        self.pending.posted(Some(market.spec.id), &postings);
        let kept = wanted.allows(&moved);
        let note = PoolTransactionSettlement {
            order: id,
            market: wanted.market,
            kind: wanted.kind,
            pooled: wanted.pooled,
            lp: wanted.lp,
            amounts: moved,
            mid: self.prices(wanted.market).mid,
        };
        self.pending.entry(Entry::Moved(note.clone()));
        actions.push(Action::Notify(Notification::PoolTransactionSettled(note)));
        if !kept {
            let detail = format!("move {id} broke a limit that was signed: {moved:?}");
            self.violated("move_limits", detail, actions);
        }
        if !covered {
            let detail = format!("move {id} takes more than the ledger holds");
            self.violated("ledger_negative", detail, actions);
        }
    }

    /// A report about a move that is not among those that may be undecided.
    fn observe_other_move(&mut self, report: &PoolTransactionReport, actions: &mut Vec<Action>) {
        let hash = report.hash;
        if let Some(ended) = self.orders.pool_transactions.ended_mut(hash) {
            if ended.concluded && report.status != PoolTransactionStatus::Cancelled {
                ended.concluded = false;
                let id = ended.id;
                let detail = format!("move {id} is shown after it was concluded to be dead");
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

    /// Ends a move: a pause of the strategy's choice begins, whatever came of it.
    pub(crate) fn end_move(
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
            self.storage.free(token, id);
        }
        let market = self.market_mut(tracked.wanted.market);
        market.decision_due = true;
        if let Some(pool) = &mut market.pool {
            pool.last_transaction_at = Some(now);
            pool.poll_at = now;
        }
        self.pending.entry(Entry::Ended(id, end));
        actions.push(Action::Notify(Notification::PoolTransactionEnded {
            order: id,
            market: tracked.wanted.market,
            kind: tracked.wanted.kind,
            end,
        }));
    }
}
