//! Ending: cancel everything, prove that nothing rests, compare the books once more, then finish.

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::note::Note;
use crate::time::Time;

use super::passes::Pass;
use super::state::State;

/// An ending under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Drain {
    deadline: Time,
    /// A complete list showed nothing of ours that is open, and nothing may be alive.
    proved: bool,
    /// The books were compared after that.
    compared: bool,
    finished: bool,
}

impl Drain {
    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    pub(crate) fn deadline(&self) -> Time {
        self.deadline
    }
}

impl State {
    /// Begins to end. Saying it again changes nothing.
    pub(crate) fn begin_drain(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.drain.is_none() {
            let deadline = now.plus_ms(self.config.drain_deadline_ms);
            self.drain = Some(Drain {
                deadline,
                proved: false,
                compared: false,
                finished: false,
            });
            self.touch_all();
            actions.push(Action::Note(Note::Draining));
        }
    }

    /// Whether only the proof is missing.
    pub(crate) fn drain_wants_proof(&self) -> bool {
        self.orders.is_empty() && self.drain.as_ref().is_some_and(|drain| !drain.proved)
    }

    /// A complete list has been read.
    pub(crate) fn drain_proved(&mut self, pass: &Pass, actions: &mut Vec<Action>) {
        let nothing_alive = self.orders.is_empty();
        let foreign_only = pass.open.iter().all(|hash| self.foreign.contains(hash));
        let Some(drain) = &mut self.drain else { return };
        if !nothing_alive || drain.proved {
            return;
        }
        if !foreign_only {
            let detail = "the venue shows an open order that had ended here".to_owned();
            self.violated("open_after_end", detail, actions);
            return;
        }
        drain.proved = true;
        self.polls.balances_soon();
    }

    /// The books were compared at a cut.
    pub(crate) fn drain_cut(&mut self) {
        if let Some(drain) = &mut self.drain {
            drain.compared |= drain.proved;
        }
    }

    /// Finishes when all is proven, or when the deadline has passed.
    pub(crate) fn finish_drain(&mut self, now: Time, actions: &mut Vec<Action>) {
        let opened = self.ready;
        let Some(drain) = &mut self.drain else { return };
        let proven = drain.proved && (drain.compared || !opened);
        if drain.finished || !(proven || now >= drain.deadline) {
            return;
        }
        drain.finished = true;
        // A deadline that passes between proof and comparison leaves the orders proven.
        let proven = drain.proved;
        self.status_due = now;
        self.tell_status(now, actions);
        actions.push(Action::Finished { proven });
    }
}
