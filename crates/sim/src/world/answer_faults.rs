//! What troubles do to single answers of the exchange on their way to the network.

use cambist_core::{Amount, Price, Reason, Side, VenueTime};
use cambist_venue::{DepthRow, DepthView, Refusal, Request, Response};

use crate::faults::kinds::FaultKind;
use crate::invariants::sending::mid;

use crate::world::World;
use crate::world::wire::header_time;

/// An own order that has rested for so long is known to the daemon as resting.
const SETTLED_MS: u64 = 5_000;
/// A single answer may be so much ahead and is believed,
pub(super) const BELIEVED_MS: u64 = 4_500;
/// where the grace is at least this.
const GRACE_MS: u64 = 10_000;
/// A depth becomes an old one after this.
const OLD_MS: u64 = 10_000;

impl World {
    /// The exchange's answer to a request of ours as troubles let it be, and the time it carries.
    pub(super) fn answered(&mut self, request: &Request) -> (Result<Response, Refusal>, VenueTime) {
        let now = self.exchange.clock(self.now);
        let mut time = header_time(now);
        if self.storms.is(FaultKind::KeyRefused) && is_private(request) {
            let refusal = Refusal::new(Reason::InvalidApiKey, "the key is not known");
            return (Err(refusal), time);
        }
        let mut answer = self.exchange.ask(self.now, request);
        self.leave_out(request, &mut answer);
        if let Ok(Response::Depth(view)) = &mut answer {
            if let Some(of) = self.distort_depth(view) {
                time = header_time(of);
            } else if !self.storms.is(FaultKind::DepthFrozen) {
                // What stood still shows own orders that have ended since.
                self.note_own_prices(view);
            }
        }
        if self.storms.is(FaultKind::TimeWrong) && self.storms.random.chance(1, 5) {
            let wrong = self.wrong_ms();
            time = if wrong < 0 {
                time.minus_ms(wrong.unsigned_abs())
            } else {
                time.plus_ms(wrong.unsigned_abs())
            };
        }
        (answer, time)
    }

    /// How wrong a time is: far off, or so little ahead that the daemon cannot know it, if its grace is
    /// made for that.
    fn wrong_ms(&mut self) -> i64 {
        let storms = &mut self.storms;
        if self.config.engine.grace_ms >= GRACE_MS && storms.random.chance(1, 2) {
            storms.random.between(500, BELIEVED_MS).cast_signed()
        } else {
            storms.wrong_ms()
        }
    }

    /// Notes a depth whose best levels are own orders that have rested for a while.
    fn note_own_prices(&mut self, view: &DepthView) {
        self.truth.prune(self.exchange.venue());
        let Some(spec) = self.specs.iter().find(|spec| spec.name == view.market) else {
            return;
        };
        let own: Vec<_> = self
            .truth
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
        // What may be alive as far as the daemon can know is taken out by it as well.
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
        // An old snapshot shows what has ended since, and quotes stand evenly around what they were
        // made from.
        let ever = |side: Side, price| -> Amount {
            let mut taken = self.truth.iter().map(|(_, taken)| taken);
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
        let of_others = |left: &dyn Fn(Side, Price) -> Amount| {
            mid(
                best(&view.bids, Side::Buy, left),
                best(&view.asks, Side::Sell, left),
            )
        };
        let shown = |rows: &[DepthRow]| rows.first().map(|row| row.price);
        let true_mid = of_others(&left);
        // Another pair of levels may have the same middle: a middle that caution alone explains proves
        // nothing.
        if let Some(with_own) = mid(shown(&view.bids), shown(&view.asks))
            && Some(with_own) != true_mid
            && Some(with_own) != of_others(&doubted)
            && Some(with_own) != of_others(&ever)
        {
            let of = (spec.id, view.timestamp);
            self.conduct.shown_own(of, with_own, true_mid);
        }
    }

    /// Shows an old depth instead, if that is the trouble; says when it was drawn up if it says so.
    fn distort_depth(&mut self, view: &mut DepthView) -> Option<VenueTime> {
        let kinds = &self.config.troubles.kinds;
        if !kinds.contains(&FaultKind::DepthFrozen) && !kinds.contains(&FaultKind::DepthOld) {
            return None;
        }
        let known = self.storms.depths.get(&view.market);
        if self.storms.is(FaultKind::DepthOld)
            && let Some(renewed_ms) = self.storms.renewed_ms
            && let Some((_, newest)) = known
            && view.timestamp.ms_since(newest.timestamp) < renewed_ms
        {
            *view = newest.clone();
            return Some(view.timestamp);
        }
        if self.storms.is(FaultKind::DepthOld)
            && self.storms.renewed_ms.is_none()
            && self.storms.random.chance(1, 2)
            && let Some((old, _)) = known
        {
            *view = old.clone();
            return Some(view.timestamp);
        }
        if self.storms.is(FaultKind::DepthFrozen)
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
        match self.storms.depths.get_mut(&view.market) {
            Some((old, kept)) => {
                if kept.timestamp.ms_since(old.timestamp) > OLD_MS {
                    *old = std::mem::replace(kept, newest);
                } else {
                    *kept = newest;
                }
            }
            None => {
                self.storms
                    .depths
                    .insert(view.market.clone(), (newest.clone(), newest));
            }
        }
        None
    }
}

/// Whether a request needs the API key.
const fn is_private(request: &Request) -> bool {
    !matches!(
        request,
        Request::Depth { .. } | Request::Markets | Request::Tokens | Request::Account(_)
    )
}
