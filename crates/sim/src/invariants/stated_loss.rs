//! The actual loss at a loss of control, compared with the bound that `check` states.
//!
//! A span starts when nothing new can be sent (the daemon crashes, stops or is suspended, or the exchange is
//! unreachable). It ends when the last order that was sent is dead, or when a newer one arrives. Values are at the mid
//! of the market without our orders. The bound is that of [`loss_bound`] at the mid at the start, for the jump that
//! occurred, with swaps and without pool shares: these are left out on both sides, and amounts moved by a join or an exit in the
//! meantime stay where they were.
//!
//! Beside it is the loss of the same span at a venue that keeps ended orders (`kept.rs`). At a venue whose orders have no
//! end of their own a span ends when the next begins, or the world.

use cambist_core::bound::loss_bound;
use cambist_core::config::EngineConfig;
use cambist_core::order::UnsignedOrder;
use cambist_core::venue::{FeeToken, LifetimeRule};
use cambist_core::{Amount, MarketId, MarketSpec, Price, Side, VenueTime};
use cambist_profit_check::trade_flow;
use serde::Serialize;

use crate::invariants::sending::Broken;
use crate::invariants::table::Invariant;
use crate::kept::{Kept, Moved, Terms};

/// One, in parts per million.
const WHOLE: u128 = 1_000_000;

/// The spans of a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Measured spans, each market separately.
    pub spans: u64,
    /// Largest loss relative to the stated bound, parts per million.
    pub ratio_ppm: u64,
    /// The same for a venue that keeps every signed order until its expiry.
    pub kept_ratio_ppm: u64,
}

impl Losses {
    /// Adds those of another world.
    pub(crate) fn add(&mut self, other: Self) {
        self.spans += other.spans;
        self.ratio_ppm = self.ratio_ppm.max(other.ratio_ppm);
        self.kept_ratio_ppm = self.kept_ratio_ppm.max(other.kept_ratio_ppm);
    }
}

/// One market at the start of a span, and the flows since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    /// In half ticks.
    pub(crate) mid: u64,
    /// Base units held.
    pub(crate) base: Amount,
    /// Quote units held.
    pub(crate) quote: Amount,
    fee_in: FeeToken,
    moved: (i128, i128),
}

impl Spot {
    pub(crate) const fn new(mid: u64, (base, quote): (Amount, Amount), fee_in: FeeToken) -> Self {
        Self {
            mid,
            base,
            quote,
            fee_in,
            moved: (0, 0),
        }
    }

    /// Base and quote units held now.
    fn held(&self) -> (Amount, Amount) {
        let (base, quote) = self.moved;
        let added = |held: Amount, moved| held.saturating_add_signed(moved);
        (added(self.base, base), added(self.quote, quote))
    }
}

#[derive(Clone, Debug)]
struct Span {
    /// Number of the newest order that was sent.
    newest: u64,
    /// The orders at a venue that keeps them.
    kept: Kept,
    /// A market without a mid is not measured.
    spots: Vec<Option<Spot>>,
}

/// Measures the spans.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    span: Option<Span>,
    newest: u64,
    dead_at: VenueTime,
    /// Whether there was an external flow: the band then depends on others, too.
    flowed: bool,
    kept: Kept,
    pub(crate) losses: Losses,
}

impl Meter {
    /// An order is sent; `cap` is the limit of signed and unexpired amounts of its token.
    pub(crate) fn left(&mut self, order: &UnsignedOrder, cap: Amount) {
        self.newest = self.newest.max(order.client_id.number);
        self.kept.left(order, cap);
        let dead_at = order.lifetime().last_effect();
        self.dead_at = self.dead_at.max(dead_at);
    }

    /// Whether a span is open after whose start no newer order was sent.
    pub(crate) fn is_in_one(&self) -> bool {
        self.span
            .as_ref()
            .is_some_and(|span| span.newest == self.newest)
    }

    /// Whether an order that arrives now was sent after the start of the open span.
    pub(crate) fn is_newer(&self, number: u64) -> bool {
        self.span.as_ref().is_some_and(|span| number > span.newest)
    }

    /// Whether all orders that were sent are dead.
    pub(crate) fn is_over(&self, now: VenueTime) -> bool {
        self.span.is_some() && now >= self.dead_at
    }

    /// A mid from which orders are decided.
    pub(crate) fn observe_mid(&mut self, now: VenueTime, market: MarketId, mid: u64) {
        self.kept.observe_mid(now, market, mid);
    }

    pub(crate) fn begin(
        &mut self,
        now: VenueTime,
        engine: &EngineConfig,
        spots: Vec<Option<Spot>>,
    ) {
        self.kept.prune(now, engine);
        self.span = Some(Span {
            newest: self.newest,
            kept: self.kept.clone(),
            spots,
        });
    }

    /// An external flow: this span is not comparable.
    pub(crate) fn flowed(&mut self) {
        self.flowed = true;
        self.span = None;
    }

    /// One of our orders was filled.
    pub(crate) fn traded(
        &mut self,
        number: u64,
        (market, side): (MarketId, Side),
        (base, quote, fee): (Amount, Amount, Amount),
    ) {
        self.kept.traded(number, (base, quote));
        if let Some(span) = &mut self.span {
            span.kept.traded(number, (base, quote));
        }
        let spots = self.span.as_mut().map(|span| &mut span.spots);
        let spot = spots.and_then(|spots| spots.get_mut(usize::from(market.0)));
        if let Some(Some(spot)) = spot {
            let (base, quote) = trade_flow::of_trade(spot.fee_in, side, (base, quote, fee));
            spot.moved = (spot.moved.0 + base, spot.moved.1 + quote);
        }
    }

    /// Ends the open span at these mids.
    pub(crate) fn end(
        &mut self,
        specs: &[MarketSpec],
        (engine, lifetime): (&EngineConfig, &LifetimeRule),
        mids: &[Option<u64>],
    ) -> Vec<Broken> {
        let (kept, spots) = match self.span.take() {
            Some(span) => (span.kept, span.spots),
            None => return Vec::new(),
        };
        let mut found = Vec::new();
        for (((spot, spec), limits), mid) in spots.iter().zip(specs).zip(&engine.markets).zip(mids)
        {
            let (Some(spot), Some(mid)) = (spot, mid) else {
                continue;
            };
            if self.flowed && spot.base > limits.inventory_max {
                continue;
            }
            let price = Price(spot.mid.div_ceil(2));
            let jump = u128::from(spot.mid.abs_diff(*mid)) * 10_000;
            let gap_bps = u32::try_from(jump.div_ceil(spot.mid.max(1).into())).unwrap_or(u32::MAX);
            let mut pools = engine.pools.iter().filter(|_| spec.id == MarketId(0));
            let stated = loss_bound(spec, (engine, lifetime), limits, price, gap_bps);
            // Worlds have a pool beside the first market only.
            let stated = stated.and_then(|bound| match pools.next() {
                Some(pool) => bound.with_swaps(pool, limits.collar_bps, engine.max_fee_bips),
                None => Some(bound),
            });
            let Some(bound) = stated else {
                continue;
            };
            let paid = lost(spec, spot, *mid);
            let lost = u128::try_from(paid).unwrap_or(0);
            self.losses.spans += 1;
            let ratio = ratio_ppm(lost, bound.total());
            self.losses.ratio_ppm = self.losses.ratio_ppm.max(ratio);
            let terms = Terms {
                spec,
                engine,
                limits,
                lifetime,
            };
            let moved = Moved {
                mids: (spot.mid, *mid),
                lost: paid,
                before: (spot.base, spot.quote),
                after: spot.held(),
            };
            if let Some(cost) = kept.cost(terms, moved) {
                let ratio = ratio_ppm(cost.lost, cost.stated);
                self.losses.kept_ratio_ppm = self.losses.kept_ratio_ppm.max(ratio);
                if cost.lost > cost.stated {
                    let detail = format!(
                        "{}: {} lost of {} stated where ended orders are kept, from {} to {}/2",
                        spec.name, cost.lost, cost.stated, spot.mid, mid
                    );
                    found.push((Invariant::LossAboveKeptBound, detail));
                }
            }
            if lost > bound.total() {
                let detail = format!(
                    "{}: {lost} lost of {} stated, from {} by {gap_bps} bps",
                    spec.name,
                    bound.total(),
                    price.0
                );
                found.push((Invariant::LossAboveBound, detail));
            }
        }
        found
    }
}

/// Loss relative to the stated bound, parts per million.
fn ratio_ppm(lost: Amount, stated: Amount) -> u64 {
    u64::try_from(lost.saturating_mul(WHOLE) / stated.max(1)).unwrap_or(u64::MAX)
}

/// Loss of value in quote units, rounded up; negative for a gain.
fn lost(spec: &MarketSpec, spot: &Spot, mid: u64) -> i128 {
    let signed = |amount: u128| i128::try_from(amount).unwrap_or(i128::MAX);
    // Quote units per half tick of a number of lots, in parts of a lot.
    let worth = |base: i128, mid: u64| {
        base.saturating_mul(signed(spec.quote_per_lot_tick))
            .saturating_mul(i128::from(mid))
    };
    let held = signed(spot.base);
    let before = worth(held, spot.mid);
    let after = worth(held + spot.moved.0, mid);
    let parts = signed(spec.lot).saturating_mul(2);
    let fell = before - after;
    fell.div_euclid(parts) + i128::from(fell.rem_euclid(parts) > 0) - spot.moved.1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::config::WorldConfig;
    use crate::world::World;

    const ONE: Amount = 1_000_000_000_000_000_000;

    /// Orders that rest as long as their bytes are accepted.
    const LASTING: LifetimeRule = LifetimeRule {
        accepted_max_ms: None,
        resting: cambist_core::venue::Resting::WhileAccepted,
    };

    /// A market with a band of 36 to 44, at 2,500.00.
    fn world() -> (Vec<MarketSpec>, EngineConfig) {
        let mut config = WorldConfig::calm(1, "ladder");
        let specs = World::new(config.clone()).unwrap().specs().to_vec();
        let limits = &mut config.engine.markets[0];
        (limits.inventory_min, limits.inventory_max) = (36 * ONE, 44 * ONE);
        (specs, config.engine)
    }

    /// An order of zero size.
    fn order(number: u64, valid_until_s: u32) -> UnsignedOrder {
        crate::kept::bid(number, valid_until_s, 0)
    }

    /// The result of 40 held at 2,500.00 with these fills, at a final mid in cents.
    fn measured(fills: &[(Side, Amount, Amount)], cents: u64) -> (Losses, Vec<Broken>) {
        let (specs, engine) = world();
        let mut meter = Meter::default();
        meter.left(&order(5, 30), 0);
        let spots = vec![Some(Spot::new(500_000, (40 * ONE, 0), FeeToken::Bought))];
        meter.begin(VenueTime(0), &engine, spots);
        for (side, base, quote) in fills {
            meter.traded(5, (MarketId(0), *side), (*base, *quote, 0));
        }
        assert!(!meter.is_over(VenueTime::from_s(29)) && meter.is_over(VenueTime::from_s(30)));
        let found = meter.end(&specs, (&engine, &LASTING), &[Some(cents * 2)]);
        (meter.losses, found)
    }

    #[test]
    fn a_full_band_and_a_jump_nearly_reach_the_bound() {
        // Four more are bought at the mid, then everything is worth a tenth less: the loss is 44 · 250.
        let bought = [(Side::Buy, 4 * ONE, 10_000_000_000)];
        let (losses, found) = measured(&bought, 225_000);
        assert_eq!(found, []);
        // Stated: 11,000 by the jump, 500 by eight filled 2.5 % off, 40 of fees.
        assert_eq!(
            losses,
            Losses {
                spans: 1,
                kept_ratio_ppm: losses.kept_ratio_ppm,
                ratio_ppm: 11_000_000_000 / 11_540
            }
        );
        // In the other direction there is a gain.
        let (losses, found) = measured(&bought, 275_000);
        assert_eq!((losses.spans, losses.ratio_ppm, found), (1, 0, Vec::new()));
    }

    #[test]
    fn more_than_the_band_or_a_fill_beyond_the_collar_is_above_the_bound() {
        for fill in [
            (Side::Buy, 8 * ONE, 20_000_000_000),
            (Side::Buy, 4 * ONE, 11_000_000_000),
        ] {
            let (_, found) = measured(&[fill], 225_000);
            assert_eq!(
                found.first().map(|(name, _)| *name),
                Some(Invariant::LossAboveBound)
            );
        }
    }

    #[test]
    fn a_newer_order_ends_a_span_and_an_external_flow_invalidates_it() {
        let (specs, engine) = world();
        let mut meter = Meter::default();
        meter.left(&order(5, 30), 0);
        let spots = vec![Some(Spot::new(500_000, (40 * ONE, 0), FeeToken::Bought))];
        meter.begin(VenueTime(0), &engine, spots);
        assert!(meter.is_in_one() && !meter.is_newer(5) && meter.is_newer(6));
        meter.left(&order(6, 30), 0);
        assert!(!meter.is_in_one(), "a newer order was sent");
        meter.flowed();
        assert_eq!(meter.end(&specs, (&engine, &LASTING), &[Some(1)]), []);
        assert_eq!(meter.losses.spans, 0);
    }
}
