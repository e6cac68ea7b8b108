//! The reason why a side of a market has no quotes: found by a decision, kept until the next one, and reported when it
//! changes.
//!
//! A side with a live quote has no reason. A side without one has exactly one: that nothing may be quoted; that its
//! orders end before they rest; what refused the target quotes; why there are no targets; or that an order of unknown
//! state occupies the quote.

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::market::{MarketId, Side};
use crate::notification::{Control, Notification, Withheld};
use crate::strategy::Targets;
use crate::time::{Time, VenueTime};
use crate::withheld::{Compared, Unit};

use crate::engine::intents::lifecycle::Phase;
use crate::engine::state::State;

/// A reason that ends by itself after `left_ms`.
pub(crate) fn waits(control: Control, left_ms: u64) -> Withheld {
    let keys = control.keys();
    let compared = Compared {
        key: keys.first().copied().unwrap_or(""),
        unit: Unit::Ms,
        value: Some(left_ms.into()),
        limit: None,
    };
    Withheld::compared(control, compared)
}

/// Priority of a reason; of several, the first one with the highest priority counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// A strategy has no target.
    Unwanted,
    /// The targets of a strategy are paused.
    HeldBack,
    /// A target did not become an order.
    Refused,
}

/// The reasons that one decision found, by side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Findings {
    found: [Option<(Weight, Withheld)>; 2],
    /// A target has its order.
    served: [bool; 2],
}

impl Findings {
    fn add(&mut self, side: Side, weight: Weight, withheld: Withheld) {
        let found = &mut self.found[side as usize];
        if found.is_none_or(|(known, _)| known < weight) {
            *found = Some((weight, withheld));
        }
    }

    /// The targets of a strategy: a side without a target has its stated reason, or that none was stated.
    pub(crate) fn wanted(&mut self, targets: &Targets) {
        for side in Side::BOTH {
            if targets.quotes().iter().all(|quote| quote.side != side) {
                let why = targets.withheld(side);
                let why = why.unwrap_or(Control::NotWanted.into());
                self.add(side, Weight::Unwanted, why);
            }
        }
    }

    /// Targets of these sides were removed again.
    pub(crate) fn taken_out(&mut self, sides: [bool; 2], why: Withheld) {
        for side in Side::BOTH.into_iter().filter(|s| sides[*s as usize]) {
            self.add(side, Weight::HeldBack, why);
        }
    }

    /// A target has its order.
    pub(crate) fn served(&mut self, side: Side) {
        self.served[side as usize] = true;
    }

    /// A target did not become an order.
    pub(crate) fn refused(&mut self, side: Side, why: Withheld) {
        self.add(side, Weight::Refused, why);
    }

    /// The reason of a side, unless one of its targets has an order.
    fn reason(&self, side: Side) -> Option<Withheld> {
        let (weight, withheld) = self.found[side as usize]?;
        let explains = weight == Weight::Refused || !self.served[side as usize];
        explains.then_some(withheld)
    }
}

/// The reasons of one market, by side.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Unquoted {
    /// Why neither side may be quoted.
    pub(crate) barred: Option<Withheld>,
    /// The reasons of the last decision.
    decided: [Option<Withheld>; 2],
    /// Why the last order ended before it rested; until one rests, or until a decision finds a reason that is not
    /// routine.
    failed: [Option<Withheld>; 2],
    reported: [Option<Withheld>; 2],
}

impl Unquoted {
    /// Applies a decision.
    pub(crate) fn decide(&mut self, barred: Option<Withheld>, findings: &Findings) {
        self.barred = barred;
        for side in Side::BOTH {
            let at = side as usize;
            self.decided[at] = barred.or_else(|| findings.reason(side));
            if let Some(decided) = &self.decided[at] {
                // A reason that is not routine replaces that of an earlier order.
                let routine = decided.control.is_routine();
                self.failed[at] = self.failed[at].filter(|f| routine || f.is_alike(decided));
            }
        }
    }

    /// An order ended before it rested.
    pub(crate) fn fail(&mut self, side: Side, why: Withheld) {
        self.failed[side as usize] = Some(why);
    }
}

/// What the orders of a side amount to, those that are being cancelled left out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SideOrders {
    /// One rests and has not expired.
    pub(crate) rests: bool,
    /// One is on its way.
    coming: bool,
    /// The latest last effect of those whose state is unknown.
    unknown: Option<VenueTime>,
}

impl State {
    /// What the orders of both sides of a market amount to.
    pub(crate) fn side_orders(&self, now: Time, id: MarketId) -> [SideOrders; 2] {
        let venue_now = self.clock.at_least(now);
        let mut sides = [SideOrders::default(); 2];
        let orders = self.orders.of_market(id);
        for tracked in orders.filter(|t| t.lifecycle.cancel.is_none()) {
            let side = &mut sides[tracked.order.side as usize];
            match tracked.lifecycle.phase {
                Phase::Live => side.rests |= venue_now < tracked.rests_until(),
                Phase::Sealing | Phase::Sealed | Phase::InFlight => side.coming = true,
                Phase::Unknown { .. } => {
                    side.unknown = side.unknown.max(Some(tracked.lifecycle.last_effect()));
                }
            }
        }
        sides
    }

    /// Why a side with these orders has no quotes; `None` while a quote is alive or being sent.
    fn unquoted(
        &self,
        now: Time,
        id: MarketId,
        side: Side,
        orders: SideOrders,
    ) -> Option<Withheld> {
        let reasons = &self.market(id).unquoted;
        let SideOrders {
            rests,
            coming,
            unknown,
        } = orders;
        if rests {
            return None;
        }
        if self.drain.is_some() {
            return Some(Control::Ending.into());
        }
        if reasons.barred.is_some() {
            return reasons.barred;
        }
        // An order that ended before it rested is the cause of a routine reason.
        let failed = reasons.failed[side as usize];
        if coming || failed.is_some() {
            return failed;
        }
        let unknown_order = unknown.map(|last_effect| {
            let fence = last_effect.plus_ms(self.config.grace_ms);
            waits(
                Control::UnknownOrder,
                fence.ms_since(self.clock.at_least(now)),
            )
        });
        let decided = reasons.decided[side as usize].or(unknown_order);
        Some(decided.unwrap_or(Control::Undecided.into()))
    }

    /// Both sides of a market; a reason that forbids all quoting has its current numbers.
    pub(crate) fn unquoted_sides(&self, now: Time, id: MarketId) -> [Option<Withheld>; 2] {
        let barred = self.market(id).unquoted.barred;
        let newest = barred.and_then(|_| self.quoting_mid(now, id, &self.prices(id)).err());
        let orders = self.side_orders(now, id);
        Side::BOTH.map(|side| {
            let why = self.unquoted(now, id, side, orders[side as usize])?;
            Some(newest.filter(|newest| newest.is_alike(&why)).unwrap_or(why))
        })
    }

    /// Reports every reason that has changed.
    pub(crate) fn emit_unquoted(
        &mut self,
        now: Time,
        index: usize,
        orders: [SideOrders; 2],
        actions: &mut Vec<Action>,
    ) {
        let id = self.markets[index].spec.id;
        for side in Side::BOTH {
            let orders = orders[side as usize];
            let withheld = self.unquoted(now, id, side, orders);
            let reasons = &mut self.markets[index].unquoted;
            if orders.rests {
                reasons.failed[side as usize] = None;
            }
            let last = &mut reasons.reported[side as usize];
            let same = match (&*last, &withheld) {
                (None, None) => true,
                (Some(last), Some(found)) => last.is_alike(found),
                (None, Some(_)) | (Some(_), None) => false,
            };
            if !same {
                *last = withheld;
                actions.push(Action::Notify(Notification::Withheld {
                    market: id,
                    side,
                    withheld,
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Why an order ended before it rested is the reason until a decision finds one that is neither routine nor the
    /// same.
    #[test]
    fn a_reason_that_is_not_routine_replaces_that_of_an_earlier_order() {
        for (decided, kept) in [
            (Control::Budget, true),
            (Control::VenueRefusal, true),
            (Control::InventoryBand, false),
        ] {
            let mut unquoted = Unquoted::default();
            let failed = Withheld::plain(Control::VenueRefusal);
            unquoted.fail(Side::Buy, failed);
            let barred = Some(Withheld::plain(decided));
            unquoted.decide(barred, &Findings::default());
            let expected = kept.then_some(failed);
            assert_eq!(unquoted.failed, [expected, None], "{decided:?}");
        }
    }
}
