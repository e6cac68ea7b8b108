//! A venue that keeps every order until its expiry, whatever it reported of it, and fills the ones with the largest
//! loss once control is lost.
//!
//! The real exchange is unchanged; this model beside it holds the same orders, never drops one, and fills what the real
//! one fills. The cost of its additional fills is compared with the bound that `check` states for such a venue
//! ([`loss_bound_if_kept`]), from the highest mid at which any living order was signed.
//!
//! Where orders have no end of their own it holds every order that was ever sent and not filled, and the stated figure is
//! what the account holds. There its fills are paid from what is held, the ones with the largest loss first.

use std::collections::{BTreeMap, VecDeque};

use cambist_core::bound::{KeptLoss, loss_bound_if_kept};
use cambist_core::config::{EngineConfig, MarketConfig};
use cambist_core::math::mul_div_floor;
use cambist_core::order::UnsignedOrder;
use cambist_core::sorted_map::SortedMap;
use cambist_core::venue::{FeeToken, LifetimeRule};
use cambist_core::{Amount, MarketId, MarketSpec, Price, Side, VenueTime};

const WHOLE_BPS: u128 = 10_000;
/// How far one wrong answer can advance the daemon's venue clock.
const LEAP_MS: u64 = 5_000;

/// An order that it holds.
#[derive(Clone, Debug)]
struct Order {
    market: MarketId,
    side: Side,
    left: (Amount, Amount),
    fee_bips: u8,
    valid_until: VenueTime,
    /// The cap in force when it was sent.
    cap: Amount,
}

/// The state of such a venue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    orders: BTreeMap<u64, Order>,
    mids: SortedMap<MarketId, VecDeque<(VenueTime, u64)>>,
}

/// What one market is measured by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    pub(crate) spec: &'a MarketSpec,
    pub(crate) engine: &'a EngineConfig,
    pub(crate) limits: &'a MarketConfig,
    pub(crate) lifetime: &'a LifetimeRule,
}

/// A span: the mids at its ends in half ticks, the loss at the real exchange, and what the account holds of base and
/// quote at its ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    pub(crate) mids: (u64, u64),
    pub(crate) lost: i128,
    pub(crate) before: (Amount, Amount),
    pub(crate) after: (Amount, Amount),
}

/// Loss of a span, with the stated bound.
pub(crate) struct Cost {
    pub(crate) lost: Amount,
    pub(crate) stated: Amount,
}

impl Kept {
    /// An order is sent, for the first time or again.
    pub(crate) fn left(&mut self, order: &UnsignedOrder, cap: Amount) {
        let (_, base) = order.base();
        let quote = match order.side {
            Side::Buy => order.sell_amount,
            Side::Sell => order.buy_amount,
        };
        let held = Order {
            market: order.market,
            side: order.side,
            left: (base, quote),
            fee_bips: order.max_fee_bips,
            valid_until: order.lifetime().last_effect(),
            cap,
        };
        self.orders.entry(order.client_id.number).or_insert(held);
    }

    /// A mid from which orders are decided.
    pub(crate) fn observe_mid(&mut self, now: VenueTime, market: MarketId, mid: u64) {
        self.mids.entry(market).or_default().push_back((now, mid));
    }

    /// A fill at the real exchange is a fill here.
    pub(crate) fn traded(&mut self, number: u64, (base, quote): (Amount, Amount)) {
        if let Some(order) = self.orders.get_mut(&number) {
            order.left.0 = order.left.0.saturating_sub(base);
            order.left.1 = order.left.1.saturating_sub(quote);
        }
    }

    /// Drops expired orders, and mids that no living order was decided from. The daemon's clock may be as far ahead as
    /// one wrong answer can make it; with a shorter grace it drops orders that much earlier.
    pub(crate) fn prune(&mut self, now: VenueTime, engine: &EngineConfig) {
        let early_ms = LEAP_MS.saturating_sub(engine.grace_ms);
        let ahead = now.plus_ms(early_ms);
        self.orders.retain(|_, order| order.valid_until >= ahead);
        let oldest = now.minus_ms(engine.ttl_ms.saturating_add(engine.grace_ms));
        for mids_of_market in self.mids.values_mut() {
            while mids_of_market.front().is_some_and(|(at, _)| *at < oldest) {
                mids_of_market.pop_front();
            }
        }
    }

    /// Base units of a market that it could still fill.
    #[cfg(test)]
    fn alive(&self, market: MarketId) -> Amount {
        let of_market = self.orders.values().filter(|order| order.market == market);
        of_market.map(|order| order.left.0).sum()
    }

    /// The loss of its fills when the mid has moved from one value to another, in addition to the loss at the real
    /// exchange, and the bound stated for that. `None` on overflow.
    pub(crate) fn cost(&self, terms: Terms<'_>, moved: Moved) -> Option<Cost> {
        let Terms { spec, limits, .. } = terms;
        let (from, to) = moved.mids;
        let mids_of_market = self.mids.get(&spec.id).into_iter().flatten();
        let mids = || {
            mids_of_market
                .clone()
                .map(|(_, mid)| *mid)
                .chain([from, to])
        };
        let (high, low) = (mids().max()?, mids().min()?);
        let of_market = self.orders.values().filter(|order| order.market == spec.id);
        let cap = of_market.clone().map(|order| order.cap).max().unwrap_or(0);
        let limits = MarketConfig {
            signed_unexpired_max: cap.max(limits.signed_unexpired_max),
            ..limits.clone()
        };
        let fell = u128::from(high - low) * WHOLE_BPS;
        let gap_bps = u32::try_from(fell.div_ceil(high.max(1).into())).ok()?;
        let price = Price(high.div_ceil(2));
        let engine = (terms.engine, terms.lifetime);
        match loss_bound_if_kept(spec, engine, &limits, price, gap_bps)? {
            KeptLoss::Bounded(bound) => {
                let each = of_market.map(|order| order.loss(spec, to).max(0));
                let lost = moved.lost.saturating_add(each.sum());
                Some(Cost {
                    lost: u128::try_from(lost).unwrap_or(0),
                    stated: bound.total(),
                })
            }
            KeptLoss::Holdings => {
                let stated = value(spec, moved.before, from)?;
                let left = value(spec, self.filled_from(spec, to, moved.after), to)?;
                let lost = stated.saturating_sub(left);
                Some(Cost { lost, stated })
            }
        }
    }

    /// What is left of base and quote after every order that loses at this mid was filled as far as they cover it, the
    /// largest loss first.
    fn filled_from(
        &self,
        spec: &MarketSpec,
        mid: u64,
        mut held: (Amount, Amount),
    ) -> (Amount, Amount) {
        let of_market = self.orders.values().filter(|order| order.market == spec.id);
        let losses = of_market.map(|order| (order.loss(spec, mid), order));
        let mut losing: Vec<_> = losses.filter(|(loss, _)| *loss > 0).collect();
        losing.sort_by_key(|(loss, _)| std::cmp::Reverse(*loss));
        for (_, order) in losing {
            held = order.fill(spec.fee_in, held).unwrap_or(held);
        }
        held
    }
}

/// Value in quote units of base and quote at a mid in half ticks, rounded down. `None` on overflow.
fn value(spec: &MarketSpec, (base, quote): (Amount, Amount), mid: u64) -> Option<Amount> {
    let worth = base.checked_mul(spec.quote_per_lot_tick.checked_mul(mid.into())?)?;
    (worth / (2 * spec.lot)).checked_add(quote)
}

impl Order {
    /// What is held after as much of the rest was filled as that covers.
    fn fill(&self, fee_in: FeeToken, (base, quote): (Amount, Amount)) -> Option<(Amount, Amount)> {
        let fee = |amount: Amount| (amount * Amount::from(self.fee_bips)).div_ceil(WHOLE_BPS);
        let (of_base, of_quote) = self.left;
        match self.side {
            Side::Buy => {
                let paid = of_quote.min(quote);
                let got = mul_div_floor(of_base, paid, of_quote.max(1))?;
                if fee_in == FeeToken::Quote {
                    // A last part that the fee leaves nothing for is paid as far as there is money.
                    return Some((base + got, quote.saturating_sub(paid + fee(paid))));
                }
                Some((base + got.saturating_sub(fee(got)), quote - paid))
            }
            Side::Sell => {
                let given = of_base.min(base);
                let got = mul_div_floor(of_quote, given, of_base.max(1))?;
                Some((base - given, quote + got.saturating_sub(fee(got))))
            }
        }
    }

    /// Loss in quote units of filling the rest at a mid, fee included, rounded up.
    fn loss(&self, spec: &MarketSpec, mid: u64) -> i128 {
        let signed = |amount: u128| i128::try_from(amount).unwrap_or(i128::MAX);
        let (base, quote) = self.left;
        let fee = |amount: Amount| (amount * Amount::from(self.fee_bips)).div_ceil(WHOLE_BPS);
        let worth = |base: Amount| base.saturating_mul(spec.quote_per_lot_tick * u128::from(mid));
        match self.side {
            Side::Buy => {
                let (got, paid) = if spec.fee_in == FeeToken::Quote {
                    (base, quote + fee(quote))
                } else {
                    (base.saturating_sub(fee(base)), quote)
                };
                signed(paid) - signed(worth(got) / (2 * spec.lot))
            }
            Side::Sell => {
                let given = worth(base).div_ceil(2 * spec.lot);
                signed(given) - signed(quote.saturating_sub(fee(quote)))
            }
        }
    }
}

/// A bid for `whole` tokens at 2,500.00 with this expiry.
#[cfg(test)]
pub(crate) fn bid(number: u64, valid_until_s: u32, whole: Amount) -> UnsignedOrder {
    UnsignedOrder {
        client_id: cambist_core::ClientOrderId {
            instance: 1,
            strategy: cambist_core::StrategyId(0),
            number,
        },
        market: MarketId(0),
        side: Side::Buy,
        price: Price(250_000),
        qty: cambist_core::Qty(1),
        kind: cambist_core::OrderKind::MakerOnly,
        swap: None,
        sell_token: cambist_core::TokenId(1),
        sell_amount: whole * 2_500_000_000,
        buy_token: cambist_core::TokenId(0),
        buy_amount: whole * 1_000_000_000_000_000_000,
        fill_by: cambist_core::order::FillBy::Buy,
        slot: 0,
        accepted_until_s: valid_until_s,
        rests_until_s: Some(valid_until_s),
        max_fee_bips: 20,
        made_at: VenueTime(0),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::config::WorldConfig;
    use crate::world::World;

    const ONE: Amount = 1_000_000_000_000_000_000;

    #[test]
    fn everything_unexpired_is_filled_where_it_loses() {
        let mut config = WorldConfig::calm(1, "ladder");
        let specs = World::new(config.clone()).unwrap().specs().to_vec();
        config.engine.grace_ms = 5_000;
        let limits = &mut config.engine.markets[0];
        (limits.inventory_max, limits.signed_unexpired_max) = (40 * ONE, 3 * ONE);
        let (spec, limits) = (&specs[0], config.engine.markets[0].clone());
        let mut kept = Kept::default();
        for (number, until_s) in [(1, 30), (2, 30), (3, 29), (4, 31)] {
            kept.left(&bid(number, until_s, 1), 3 * ONE);
        }
        kept.left(&bid(1, 30, 1), 3 * ONE);
        assert_eq!(
            kept.alive(MarketId(0)),
            4 * ONE,
            "the same bytes again are no more"
        );
        kept.traded(4, (ONE / 2, 1_250_000_000));
        kept.prune(VenueTime::from_s(30), &config.engine);
        assert_eq!(kept.alive(MarketId(0)), 5 * ONE / 2, "one has expired");
        // Two and a half bought at 2,500 are worth 2,250, and their fee of 20 is paid.
        let by_fills = 5 * 125_000_000 + 2_250_000_000 * 5 / 2 / 500;
        let all = Terms {
            spec,
            engine: &config.engine,
            limits: &limits,
            lifetime: &config.rules.lifetime,
        };
        let moved = |to, lost| Moved {
            mids: (500_000, to),
            lost,
            before: (0, 0),
            after: (0, 0),
        };
        let stated = |price, gap_bps| {
            let engine = (all.engine, all.lifetime);
            let bound = loss_bound_if_kept(spec, engine, &limits, price, gap_bps);
            bound.unwrap().bound().unwrap().total()
        };
        let cost = kept.cost(all, moved(450_000, 100)).unwrap();
        assert_eq!(cost.lost, 100 + by_fills);
        assert_eq!(cost.stated, stated(Price(250_000), 1_000));
        // In the other direction bids lose nothing.
        assert_eq!(kept.cost(all, moved(550_000, 100)).unwrap().lost, 100);
        // Stated from the highest mid of any living order.
        kept.observe_mid(VenueTime::from_s(30), MarketId(0), 520_000);
        let cost = kept.cost(all, moved(450_000, 0)).unwrap();
        assert_eq!(cost.stated, stated(Price(260_000), 1_347));
    }

    #[test]
    fn without_an_end_of_orders_everything_ever_signed_fills_until_nothing_is_left_to_pay_with() {
        let mut config = WorldConfig::calm(1, "ladder").sequenced();
        let specs = World::new(config.clone()).unwrap().specs().to_vec();
        let limits = &mut config.engine.markets[0];
        (limits.inventory_max, limits.signed_unexpired_max) = (40 * ONE, 3 * ONE);
        let (spec, limits) = (&specs[0], config.engine.markets[0].clone());
        let terms = Terms {
            spec,
            engine: &config.engine,
            limits: &limits,
            lifetime: &config.rules.lifetime,
        };
        let mut kept = Kept::default();
        let endless = |number| UnsignedOrder {
            rests_until_s: None,
            ..bid(number, 30, 1)
        };
        for number in 0..200 {
            kept.left(&endless(number), 3 * ONE);
            kept.prune(VenueTime::from_s(number * 30), &config.engine);
        }
        assert_eq!(kept.alive(MarketId(0)), 200 * ONE, "none of them has ended");
        let holds = |quote| Moved {
            mids: (500_000, 250_000),
            lost: 0,
            before: (0, quote),
            after: (0, quote),
        };
        // 200 are bought at 2,500 and are worth 1,250; their fee of 20 comes on top.
        let (price, half) = (200 * 2_500_000_000, 200 * 1_250_000_000);
        let (fees, whole) = (price / 500, price + price / 500);
        let cost = kept.cost(terms, holds(whole)).unwrap();
        assert_eq!((cost.lost, cost.stated), (half + fees, whole));
        // A figure with a cap on what is signed and unexpired would be too small.
        let capped = LifetimeRule {
            resting: cambist_core::venue::Resting::UntilExpiry,
            ..*terms.lifetime
        };
        let engine = (terms.engine, &capped);
        let bound = loss_bound_if_kept(spec, engine, &limits, Price(250_000), 5_000).unwrap();
        assert!(cost.lost > bound.bound().unwrap().total());
        // A tenth of the money buys a tenth.
        let cost = kept.cost(terms, holds(whole / 10)).unwrap();
        assert_eq!((cost.lost, cost.stated), ((half + fees) / 10, whole / 10));
    }
}
