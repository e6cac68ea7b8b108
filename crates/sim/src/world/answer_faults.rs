//! Effects of faults on single answers of the exchange.

use cambist_core::request::{Amend, RequestId};
use cambist_core::{Amount, Price, Reason, Side, VenueTime};
use cambist_venue::{DepthRow, DepthView, Refusal, Request, Response};

use crate::faults::kinds::FaultKind;
use crate::invariants::sending::mid;
use crate::invariants::table::Invariant;

use crate::world::World;

/// An own order that has rested for this long is known to the daemon as resting.
const SETTLED_MS: u64 = 5_000;
/// A single answer may be this far ahead and is accepted,
pub(super) const AHEAD_MAX_MS: u64 = 4_500;
/// if the grace is at least this.
const GRACE_MS: u64 = 10_000;
/// A depth counts as old after this time.
const OLD_MS: u64 = 10_000;

impl World {
    /// The exchange's answer to a request of ours after faults, and its timestamp.
    pub(super) fn answered(&mut self, request: &Request) -> (Result<Response, Refusal>, VenueTime) {
        let now = self.exchange.clock(self.now);
        let mut time = self.answer_time(now);
        if self.active_faults.is(FaultKind::KeyRefused) && is_private(request) {
            let refusal = Refusal::new(Reason::InvalidApiKey, "the key is not known");
            return (Err(refusal), time);
        }
        let refused = self.exchange.refused_for_rate();
        let mut answer = self.exchange.serve(self.now, request);
        self.judge_rate(
            refused,
            |answer| format!("{answer:?} to {request:?}"),
            &answer,
        );
        self.leave_out(request, &mut answer);
        if let Ok(Response::Depth(view)) = &mut answer {
            if let Some(of) = self.distort_depth(view) {
                time = self.answer_time(of);
            } else if !self.active_faults.is(FaultKind::DepthFrozen) {
                // The frozen depth still contains own orders that have ended since.
                self.note_own_prices(view);
            }
        }
        if self.active_faults.is(FaultKind::TimeWrong) && self.active_faults.random.chance(1, 5) {
            let wrong = self.wrong_ms();
            time = if wrong < 0 {
                time.minus_ms(wrong.unsigned_abs())
            } else {
                time.plus_ms(wrong.unsigned_abs())
            };
        }
        (answer, time)
    }

    /// The exchange's answer to an amend of ours, and its timestamp.
    pub(super) fn amended(
        &mut self,
        from: (u32, RequestId),
        asked: (&Amend, Amount),
    ) -> (Result<(), Refusal>, VenueTime) {
        let time = self.answer_time(self.exchange.clock(self.now));
        if self.active_faults.is(FaultKind::KeyRefused) {
            let refusal = Refusal::new(Reason::InvalidApiKey, "the key is not known");
            return (Err(refusal), time);
        }
        let refused = self.exchange.refused_for_rate();
        let answer = self.exchange.amend(self.now, from, asked);
        self.judge_rate(
            refused,
            |answer| format!("{answer:?} to {asked:?}"),
            &answer,
        );
        (answer, time)
    }

    /// Counts a request to a venue with counters, of which so many had been refused before. In calm none is.
    fn judge_rate<A>(&mut self, before: Option<u64>, detail: impl Fn(&A) -> String, answer: &A) {
        self.counts.rate_counted += u64::from(before.is_some());
        if self.exchange.refused_for_rate() > before {
            self.counts.rate_refused += 1;
            if self.has_forgotten_faults() {
                self.checks.fail(Invariant::RateRefused, detail(answer));
            }
        }
    }

    /// Whether the counter that refused was empty after the last fault, and after what that had delayed had arrived. One
    /// that is always full never forgets the copies of requests that a network made.
    fn has_forgotten_faults(&self) -> bool {
        let over = self.active_faults.disturbed.plus_ms(self.late_ms());
        self.exchange.refused_since() >= self.exchange.clock(over)
    }

    /// The venue's clock as its answers show it.
    const fn answer_time(&self, clock: VenueTime) -> VenueTime {
        let resolution_ms = self.config().rules.clock.resolution_ms;
        VenueTime(clock.0 - clock.0 % resolution_ms)
    }

    /// Offset of a wrong time: far off, or so little ahead that the daemon cannot detect it, if its grace covers that.
    fn wrong_ms(&mut self) -> i64 {
        let active_faults = &mut self.active_faults;
        if self.config.engine.grace_ms >= GRACE_MS && active_faults.random.chance(1, 2) {
            active_faults
                .random
                .between(500, AHEAD_MAX_MS)
                .cast_signed()
        } else {
            active_faults.wrong_ms()
        }
    }

    /// Records a depth whose best levels are own orders that have rested for a while.
    fn note_own_prices(&mut self, view: &DepthView) {
        self.ground_truth.prune(self.exchange.venue());
        let Some(spec) = self.specs.iter().find(|spec| spec.name == view.market) else {
            return;
        };
        let own: Vec<_> = self
            .ground_truth
            .open()
            .map(|(_, taken)| taken)
            .filter(|taken| taken.market == spec.id)
            .collect();
        if own.is_empty() || own.iter().any(|t| self.now.ms_since(t.at) < SETTLED_MS) {
            return;
        }
        let left = |side: Side, price| -> Amount {
            let at = own.iter().filter(|t| t.side == side && t.price == price);
            at.map(|t| t.base.saturating_sub(t.filled.0)).sum()
        };
        // The daemon also removes orders that may be alive as far as it can know.
        let doubted = |side: Side, price| -> Amount {
            let durable = self.disk.durable();
            let open = durable.open.iter().filter_map(|id| durable.intents.get(id));
            let unseen = open.filter(|intent| {
                let order = &intent.order;
                (order.market, order.side, order.price) == (spec.id, side, price)
                    && own.iter().all(|taken| taken.id != order.client_id)
            });
            let base = unseen.filter_map(|intent| spec.base_amount(intent.order.qty));
            base.sum::<Amount>().saturating_add(left(side, price))
        };
        // It does not know of every fill yet.
        let unfilled = |side: Side, price| -> Amount {
            let at = own.iter().filter(|t| t.side == side && t.price == price);
            let filled: Amount = at.map(|t| t.filled.0).sum();
            doubted(side, price).saturating_add(filled)
        };
        // An old snapshot contains orders that have ended since, and quotes are symmetric around their mid.
        let ever = |side: Side, price| -> Amount {
            let mut taken = self.ground_truth.iter().map(|(_, taken)| taken);
            let was_there = taken.any(|t| (t.market, t.side, t.price) == (spec.id, side, price));
            if was_there { Amount::MAX } else { 0 }
        };
        let best = |rows: &[DepthRow], side, left: &dyn Fn(Side, Price) -> Amount| {
            let mut rows = rows.iter();
            let others = |row: &&DepthRow| {
                let size = row.size.saturating_sub(left(side, row.price));
                spec.lots_floor(size).0 > 0
            };
            rows.find(others).map(|row| row.price)
        };
        let shown = |rows: &[DepthRow]| rows.first().map(|row| row.price);
        let Some(with_own) = mid(shown(&view.bids), shown(&view.asks)) else {
            return;
        };
        let pair = |known: &dyn Fn(Side, Price) -> Amount| {
            (
                best(&view.bids, Side::Buy, known),
                best(&view.asks, Side::Sell, known),
            )
        };
        // The last asks for every order that ever was.
        let known: [&dyn Fn(Side, Price) -> Amount; 4] = [&left, &doubted, &unfilled, &ever];
        let (mut bids, mut asks) = (Vec::new(), Vec::new());
        for known in known {
            let (bid, ask) = pair(known);
            bids.push(bid);
            asks.push(ask);
            if follows(with_own, &bids, &asks) {
                return;
            }
        }
        let of = (spec.id, view.timestamp);
        self.sending_rules
            .shown_own(of, with_own, mid(bids[0], asks[0]));
    }

    /// Replaces a depth by an old one, if that fault is active; returns when it was generated if the answer has its
    /// time.
    fn distort_depth(&mut self, view: &mut DepthView) -> Option<VenueTime> {
        let kinds = &self.config.fault_kinds.kinds;
        if !kinds.contains(&FaultKind::DepthFrozen) && !kinds.contains(&FaultKind::DepthOld) {
            return None;
        }
        let known = self.active_faults.depths.get(&view.market);
        if self.active_faults.is(FaultKind::DepthOld)
            && let Some(renewed_ms) = self.active_faults.renewed_ms
            && let Some((_, newest)) = known
            && view.timestamp.ms_since(newest.timestamp) < renewed_ms
        {
            *view = newest.clone();
            return Some(view.timestamp);
        }
        if self.active_faults.is(FaultKind::DepthOld)
            && self.active_faults.renewed_ms.is_none()
            && self.active_faults.random.chance(1, 2)
            && let Some((old, _)) = known
        {
            *view = old.clone();
            return Some(view.timestamp);
        }
        if self.active_faults.is(FaultKind::DepthFrozen)
            && let Some((_, newest)) = known
        {
            let timestamp = view.timestamp;
            *view = DepthView {
                timestamp,
                ..newest.clone()
            };
            return None;
        }
        let newest = view.clone();
        match self.active_faults.depths.get_mut(&view.market) {
            Some((old, kept)) => {
                if kept.timestamp.ms_since(old.timestamp) > OLD_MS {
                    *old = std::mem::replace(kept, newest);
                } else {
                    *kept = newest;
                }
            }
            None => {
                self.active_faults
                    .depths
                    .insert(view.market.clone(), (newest.clone(), newest));
            }
        }
        None
    }
}

/// Whether a mid is also that of other levels, by what may be known of own orders on each side. Such a mid proves
/// nothing: how much of an order is left is known of one side and not yet of the other.
fn follows(of: u64, bids: &[Option<Price>], asks: &[Option<Price>]) -> bool {
    let mut pairs = bids
        .iter()
        .flat_map(|bid| asks.iter().map(|ask| mid(*bid, *ask)));
    pairs.any(|other| other == Some(of))
}

/// Whether a request needs the API key.
const fn is_private(request: &Request) -> bool {
    !matches!(
        request,
        Request::Depth { .. } | Request::Markets | Request::Tokens | Request::Account(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seed 2502 of Kraken's worlds: an own bid at 249,414 and an own ask at 250,585, of which more had been filled than
    /// the daemon knew. Without both the mid is the same.
    #[test]
    fn a_mid_of_other_levels_does_not_show_that_own_orders_were_priced() {
        let levels = |prices: [u64; 3]| prices.map(|price| Some(Price(price)));
        let (bids, asks) = (
            levels([249_318, 249_318, 249_248]),
            levels([250_585, 250_585, 250_681]),
        );
        assert!(follows(249_414 + 250_585, &bids, &asks));
        assert!(!follows(249_414 + 250_584, &bids, &asks));
        assert!(!follows(499_903, &[None], &asks));
    }
}
