//! Draining: cancel everything, prove that nothing rests, compare the books once more, then finish. Or leave: place no
//! new orders, and state what may rest and until when.

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::inspection::{DrainWait, Draining};
use crate::notification::Notification;
use crate::order::Hash;
use crate::time::Time;

use crate::engine::intents::lifecycle::Phase;
use crate::engine::state::State;
use crate::list_scan::ListScan;

/// A drain in progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not states of one thing"
)]
pub(crate) struct Drain {
    deadline: Time,
    /// Whether orders are left at the venue.
    leaves: bool,
    /// A complete list showed no open order of ours, and no intent may be alive.
    proved: bool,
    /// The books were compared after that.
    compared: bool,
    finished: bool,
}

impl Drain {
    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    pub(crate) fn leaves(&self) -> bool {
        self.leaves
    }

    pub(crate) fn deadline(&self) -> Time {
        self.deadline
    }
}

impl State {
    /// Starts draining. Repeating it changes nothing.
    pub(crate) fn start_drain(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.drain.as_ref().is_none_or(Drain::leaves) {
            let deadline = now.plus_ms(self.config.drain_deadline_ms);
            self.drain = Some(Drain {
                deadline,
                leaves: false,
                proved: false,
                compared: false,
                finished: false,
            });
            self.budget.leave_nothing();
            self.touch_all();
            actions.push(Action::Notify(Notification::Draining));
            self.book_all_positions();
        }
    }

    /// What draining cancels and proves, as text.
    pub(crate) fn draining(&self) -> String {
        let orders = self.orders.iter().count();
        let moves = self.orders.lives().count() - orders;
        let lives = self.orders.lives();
        let unknown = lives.filter(|(_, lifecycle)| lifecycle.unknown_since().is_some());
        let unknown = unknown.count();
        let within_s = self.config.drain_deadline_ms / 1_000;
        format!(
            "draining: {orders} orders may be alive and are cancelled, {moves} joins and exits are undecided, {unknown} of all these unknown; the program ends when it is proven that nothing rests, after {within_s} s at the latest"
        )
    }

    /// What the drain in progress waits for; `None` without one, and once it has finished.
    pub(crate) fn drain_in_progress(&self) -> Option<Draining> {
        let drain = self.drain.as_ref().filter(|drain| !drain.finished)?;
        let waits_for = if drain.leaves {
            DrainWait::Answers
        } else if drain.proved {
            match self.ledger.candidate_arrived() {
                Some(_) => DrainWait::Confirmation,
                None => DrainWait::Balances,
            }
        } else if self.nothing_alive() && !self.foreign.is_any_managed() {
            DrainWait::List
        } else {
            DrainWait::Orders
        };
        let deadline = drain.deadline;
        Some(Draining {
            waits_for,
            deadline,
        })
    }

    /// Starts leaving: ends without cancelling. Requests in flight are waited for.
    pub(crate) fn start_leaving(
        &mut self,
        now: Time,
        actions: &mut Vec<Action>,
    ) -> Result<String, String> {
        if self.drain.as_ref().is_some_and(|drain| !drain.leaves) {
            return Err("everything is being cancelled already".to_owned());
        }
        if self.drain.is_none() {
            self.drain = Some(Drain {
                deadline: now.plus_ms(self.config.drain_deadline_ms),
                leaves: true,
                proved: false,
                compared: false,
                finished: false,
            });
            actions.push(Action::Notify(Notification::Draining));
            self.book_all_positions();
        }
        Ok("no more orders are placed or cancelled; resting orders expire".to_owned())
    }

    /// Whether resting orders are left alone.
    pub(crate) fn is_leaving(&self) -> bool {
        self.drain.as_ref().is_some_and(Drain::leaves)
    }

    /// Finishes when no answer to a submit or cancel is outstanding.
    fn finish_leaving(&mut self, now: Time, actions: &mut Vec<Action>) {
        let waits = self
            .in_flight
            .values()
            .any(|asked| asked.purpose.is_about_an_order());
        let sealing = self
            .orders
            .lives()
            .any(|(_, lifecycle)| !lifecycle.may_have_left());
        let Some(drain) = &mut self.drain else { return };
        if drain.finished || ((waits || sealing) && now < drain.deadline) {
            return;
        }
        drain.finished = true;
        self.book_all_positions();
        self.book_pending(now, actions);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let lives = || self.orders.lives().map(|(_, lifecycle)| lifecycle);
        let unknown = lives()
            .filter(|lifecycle| lifecycle.phase != Phase::Live)
            .count();
        let last = lives()
            .map(|lifecycle| lifecycle.lifetime.last_effect())
            .max();
        let now_there = self.clock.at_least(now);
        let notification = Notification::Left {
            orders: count(lives().count()),
            unknown: count(unknown),
            until: last.map_or(now_there, |last| last.plus_ms(self.config.grace_ms)),
        };
        actions.push(Action::Notify(notification));
        self.status_due = now;
        self.emit_status(now, actions);
        // An empty state would be no proof that nothing rests.
        actions.push(Action::Finished { proven: false });
    }

    fn nothing_alive(&self) -> bool {
        self.orders.is_empty()
    }

    /// Whether only the proof is missing.
    pub(crate) fn drain_needs_proof(&self) -> bool {
        let cancels = |drain: &Drain| !drain.proved && !drain.leaves;
        self.nothing_alive() && self.drain.as_ref().is_some_and(cancels)
    }

    /// Whether only the comparison of the books is missing.
    pub(crate) fn drain_needs_comparison(&self) -> bool {
        let drain = self.drain.as_ref();
        drain.is_some_and(|drain| drain.proved && !drain.compared)
    }

    /// A complete list has been read.
    pub(crate) fn drain_proved(&mut self, pass: &ListScan, actions: &mut Vec<Action>) {
        let nothing_alive = self.nothing_alive();
        // An open order is foreign unless it has our id or was ours once: this needs no memory of foreign orders,
        // however many there are.
        let ours =
            |hash: &Hash| self.unrecognised_own_ids.contains(hash) || self.orders.knows_hash(*hash);
        let open: Vec<_> = pass.open.iter().copied().filter(ours).collect();
        let Some(drain) = &mut self.drain else { return };
        if !nothing_alive || drain.proved || self.foreign.is_any_managed() {
            return;
        }
        if !open.is_empty() {
            // An order that ended while the list was read is listed as it was: neither a proof nor a contradiction.
            let ended_since = |hash: &Hash| self.orders.ended_since(*hash, pass.begun);
            if !open.iter().all(ended_since) {
                let detail = "the venue lists an open order that had ended here".to_owned();
                self.violated("open_after_end", detail, actions);
            }
            return;
        }
        drain.proved = true;
    }

    /// A scan has ended. If only the comparison of the books is missing, what it needs is read soon: a scan that confirms
    /// the balances that wait for one, or new balances.
    pub(crate) fn compare_soon(&mut self) {
        if !self.drain_needs_comparison() {
            return;
        }
        match self.ledger.candidate_arrived() {
            Some(_) => self.polls.scan_soon(),
            None => self.polls.balances_soon(),
        }
    }

    /// The books were compared at a cut.
    pub(crate) fn drain_cut(&mut self) {
        if let Some(drain) = &mut self.drain {
            drain.compared |= drain.proved;
        }
    }

    /// Finishes when everything is proven, or when the deadline has passed.
    pub(crate) fn finish_drain(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.is_leaving() {
            return self.finish_leaving(now, actions);
        }
        let opened = self.ready;
        let Some(drain) = &mut self.drain else { return };
        let proven = drain.proved && (drain.compared || !opened);
        if drain.finished || !(proven || now >= drain.deadline) {
            return;
        }
        drain.finished = true;
        self.book_all_positions();
        self.book_pending(now, actions);
        self.status_due = now;
        self.emit_status(now, actions);
        actions.push(Action::Finished { proven });
    }
}
