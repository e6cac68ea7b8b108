//! Orders of other instances on the account: ids of our form with another instance number.
//!
//! An order that was created after our start belongs to a daemon that trades on the same account: no new orders until
//! an operator intervenes. One that was created before may belong to such a daemon, or to an earlier state folder of
//! this one: no new orders until it has ended, or until the venue's clock has passed its expiry and grace; and for some
//! seconds after one has ended, because a daemon that trades has no open order between two orders. An operator who
//! knows that an instance is gone adopts its orders: they are cancelled, and count until then. No other foreign order
//! is ever cancelled.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::event::TradingState;
use crate::notification::{Control, Notification, OtherOrder, Withheld};
use crate::order::{ClientOrderId, Hash, OrderReport};
use crate::time::{Time, VenueTime};

use crate::engine::intents::unquoted::waits;
use crate::engine::state::State;

/// Orders that are remembered; of more, those that expire last.
const KEPT: usize = 1_024;
/// The venue's clock may be this far ahead of the lower bound at the start: a header has whole seconds, and one answer
/// may be from a cache. An order that was created within this time is treated like an earlier one.
const SLACK_MS: u64 = 6_000;
/// A quoting daemon creates an order more often than this: an order that has ended indicates a running daemon for this
/// time after its creation.
const RECENT_MS: u64 = 10_000;
/// Orders listed in a status.
const NAMED: usize = 20;

/// State of other instances.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Instances {
    /// An order created after this belongs to a daemon that is trading now.
    since: VenueTime,
    /// Orders that may be alive, as last listed.
    alive: BTreeMap<Hash, (ClientOrderId, OrderReport)>,
    /// Until this time another order may follow one that has ended; 0 if there is none.
    quiet_at: VenueTime,
    /// Orders created later for which the trading state was raised.
    raised: BTreeSet<Hash>,
    /// Instances whose orders an operator adopted.
    adopted: BTreeSet<u32>,
}

impl Instances {
    /// The state at a start at this venue time.
    pub(crate) fn new(venue_time: VenueTime) -> Self {
        Self {
            since: venue_time.plus_ms(SLACK_MS),
            ..Self::default()
        }
    }

    /// When the last order that may be alive is certainly dead, and no order has followed an ended one.
    pub(crate) fn gone_at(&self, grace_ms: u64) -> Option<VenueTime> {
        let until = self.alive.values().map(|(_, report)| expiry(report));
        let dead_at = until.max().map(|until| until.plus_ms(grace_ms));
        let quiet_at = Some(self.quiet_at).filter(|at| *at > VenueTime(0));
        dead_at.max(quiet_at)
    }

    /// The orders that may be alive, last expiry first, as far as they are listed.
    pub(crate) fn named(&self) -> Vec<OtherOrder> {
        let mut all: Vec<_> = self
            .alive
            .values()
            .map(|(id, report)| OtherOrder {
                order: *id,
                side: report.side,
                valid_until_s: report.valid_until_s,
            })
            .collect();
        all.sort_by_key(|other| (std::cmp::Reverse(other.valid_until_s), other.order));
        all.truncate(NAMED);
        all
    }

    /// Adds an order that may be alive; returns whether it was known. If there are too many, the one that expires first
    /// is dropped: lists show it again while it is open, and waiting does not depend on it.
    fn track(&mut self, id: ClientOrderId, report: &OrderReport) -> bool {
        let known = self
            .alive
            .insert(report.hash, (id, report.clone()))
            .is_some();
        if self.alive.len() > KEPT {
            let first = self
                .alive
                .iter()
                .min_by_key(|(_, (_, kept))| kept.valid_until_s);
            if let Some(first) = first.map(|(hash, _)| *hash) {
                self.alive.remove(&first);
            }
        }
        known
    }

    /// Whether another instance may be running.
    pub(crate) fn may_be_running(&self) -> bool {
        !self.alive.is_empty() || self.quiet_at > VenueTime(0)
    }

    /// Whether an operator adopted any instance.
    pub(crate) fn is_any_adopted(&self) -> bool {
        !self.adopted.is_empty()
    }
}

fn expiry(report: &OrderReport) -> VenueTime {
    VenueTime::from_s(report.valid_until_s.into())
}

impl State {
    /// Handles a report about an order with the id of another instance.
    pub(crate) fn observe_instance(
        &mut self,
        now: Time,
        id: ClientOrderId,
        report: &OrderReport,
        actions: &mut Vec<Action>,
    ) {
        let hash = report.hash;
        let adopted = self.instances.adopted.contains(&id.instance);
        let later = report.valid_since > self.instances.since;
        if later && self.instances.raised.len() < KEPT && self.instances.raised.insert(hash) {
            self.emit_other(id, report, true, actions);
            self.raise(TradingState::CancelOnly, "another_instance", actions);
            self.ramp.restart(now);
            self.touch_all();
        }
        if adopted && !later {
            return self.manage_foreign(now, report, actions);
        }
        if report.status.is_final() {
            let quiet_at = report.valid_since.plus_ms(RECENT_MS);
            if quiet_at > self.clock.at_least(now).max(self.instances.quiet_at) {
                self.instances.quiet_at = quiet_at;
            }
            self.instances.alive.remove(&hash);
            return;
        }
        if !self.instances.track(id, report) && !later {
            self.emit_other(id, report, false, actions);
        }
    }

    fn emit_other(
        &self,
        id: ClientOrderId,
        report: &OrderReport,
        later: bool,
        actions: &mut Vec<Action>,
    ) {
        let until = expiry(report).plus_ms(self.config.grace_ms);
        actions.push(Action::Notify(Notification::OtherInstance {
            order: id,
            hash: report.hash,
            until,
            later,
        }));
    }

    /// Why no order is placed while another instance may be running.
    pub(crate) fn beside_instance(&self, now: Time) -> Option<Withheld> {
        let gone_at = self.instances.gone_at(self.config.grace_ms)?;
        let left_ms = gone_at.ms_since(self.clock.at_least(now));
        Some(waits(Control::OtherInstance, left_ms))
    }

    /// Whether the opening has to wait: it could contain part of what others trade meanwhile.
    pub(crate) fn instances_prevent_opening(&self) -> bool {
        let adopted = self.instances.is_any_adopted() && self.foreign.is_any_managed();
        self.instances.may_be_running() || adopted
    }

    /// Drops orders that are certainly dead.
    pub(crate) fn maintain_instances(&mut self, now: Time) {
        let venue_now = self.clock.at_least(now);
        let dead = venue_now.minus_ms(self.config.grace_ms);
        let quiet_at = self.instances.quiet_at;
        if quiet_at < venue_now {
            self.instances.quiet_at = VenueTime(0);
        }
        let lives = |report: &OrderReport| expiry(report) >= dead;
        self.instances.alive.retain(|_, (_, report)| lives(report));
    }

    /// An operator resumed: orders created before are not reported again.
    pub(crate) fn acknowledge_instances(&mut self, now: Time) {
        self.instances.since = self.clock.at_least(now).plus_ms(SLACK_MS);
        self.instances.raised.clear();
    }

    /// An operator declares that an instance is gone, and adopts its orders.
    pub(crate) fn adopt_instance(
        &mut self,
        now: Time,
        instance: u32,
        actions: &mut Vec<Action>,
    ) -> Result<String, String> {
        let of = |id: &ClientOrderId| id.instance == instance;
        let alive = &self.instances.alive;
        let (mut found, mut later) = (Vec::new(), false);
        for (id, report) in alive.values().filter(|(id, _)| of(id)) {
            later |= report.valid_since > self.instances.since;
            found.push((*id, report.clone()));
        }
        if found.is_empty() {
            return Err(format!("no open order of instance {instance:08x} is known"));
        }
        if later || self.restrictions.level() > TradingState::Active {
            return Err(format!(
                "instance {instance:08x} has created orders since this daemon started, or the trading state is not active: stop the other daemon first"
            ));
        }
        self.instances.adopted.insert(instance);
        for (_, report) in &found {
            self.instances.alive.remove(&report.hash);
            self.manage_foreign(now, report, actions);
        }
        Ok(format!(
            "{} orders of instance {instance:08x} are adopted, and are cancelled",
            found.len()
        ))
    }
}
