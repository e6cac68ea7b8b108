//! Numbers, rates and exposure of orders that may be alive.

use crate::invariants::table::Invariant;
use cambist_core::config::EngineConfig;
use cambist_core::order::UnsignedOrder;
use cambist_core::strategy::Quote;
use cambist_core::{Amount, MarketSpec, Side, Time, TokenId, VenueTime};

use crate::invariants::ground_truth::GroundTruth;
use crate::invariants::sending::Broken;

use crate::invariants::limits::pauses::LEAP_MS;
use crate::invariants::limits::recent::MINUTE_MS;
use crate::invariants::limits::{Held, Limits, like_of};

/// What an account allows of a market.
struct Account {
    /// Base and quote units that it holds.
    held: (Amount, Amount),
    /// The least and the most base units that it may hold.
    band: (Amount, Amount),
    /// The highest fee of an order.
    fee_bips: u128,
}

impl Account {
    /// Whether a quote leaves the band, or costs more than is held.
    fn bars(&self, spec: &MarketSpec, quote: &Quote) -> bool {
        let amounts = spec.base_amount(quote.qty);
        let Some((base, paid)) = amounts.zip(spec.quote_amount(quote.price, quote.qty)) else {
            return true;
        };
        let ((base_held, quote_held), (least, most)) = (self.held, self.band);
        let fee = if spec.fee_in.is_base(quote.side) {
            0
        } else {
            (paid * self.fee_bips).div_ceil(10_000)
        };
        match quote.side {
            Side::Buy => base_held + base > most || paid + fee > quote_held,
            Side::Sell => base_held < least + base,
        }
    }
}

impl Limits {
    /// Checks numbers and rates.
    pub(crate) fn counts(
        &mut self,
        shown: Time,
        order: &UnsignedOrder,
        engine: &EngineConfig,
        broken: &mut Vec<Broken>,
    ) {
        let (id, risk) = (order.client_id, &engine.risk);
        let limits = &engine.markets[usize::from(order.market.0)];
        let beside = self.alive.values().map(|alive| &alive.order);
        let on_book = beside.filter(|o| !o.is_swap());
        let beside = on_book.filter(|o| (o.market, o.side) == (order.market, order.side));
        let beside = beside.count();
        if !order.is_swap() && beside > limits.open_orders_max as usize {
            let detail = format!("{id}: {beside} may be alive on its side");
            broken.push((Invariant::OpenOrdersSealed, detail));
        }
        let made = self.sealed.count(shown, MINUTE_MS);
        let cancels = self.cancels.count(shown, MINUTE_MS);
        if made >= risk.orders_per_min.into() || cancels >= risk.cancels_per_min.into() {
            let detail = format!("{id} after {made} orders and {cancels} cancels");
            broken.push((Invariant::MessageRate, detail));
        }
        let messages = self.sent.count(shown, MINUTE_MS) + cancels;
        let fills = self.fills.count(shown, MINUTE_MS + 1_001).max(1);
        let most = u64::from(risk.messages_per_fill) * fills;
        if most > 0 && messages >= most {
            let detail = format!("{id} after {messages} messages for {fills} fills");
            broken.push((Invariant::OrderToFill, detail));
        }
        self.sealed.add(shown, like_of(order));
    }

    /// Whether band and funds forbid all targets of the last decisions, with no other order alive. A strategy without
    /// targets, or without a decision, is not stopped by them.
    pub(crate) fn forbids_every_target(&self, engine: &EngineConfig, held: Held<'_>) -> bool {
        self.seats.iter().enumerate().all(|(seat, (_, market))| {
            let index = usize::from(market.0);
            let (spec, limits) = (&self.specs[index], &engine.markets[index]);
            let account = Account {
                held: (held(spec.base.id), held(spec.quote.id)),
                band: (limits.inventory_min, limits.inventory_max),
                fee_bips: engine.max_fee_bips.into(),
            };
            let targets = self
                .calls
                .of(seat)
                .map_or_else(Vec::new, |call| call.quotes);
            !targets.is_empty() && targets.iter().all(|quote| account.bars(spec, quote))
        })
    }

    /// Base units that a pool has paid beyond what limits reckon with, for a swap that the daemon has not booked yet.
    fn unforeseen(&self, token: TokenId, ground_truth: &GroundTruth) -> Amount {
        let bought = self.alive.values().filter(|alive| {
            let order = &alive.order;
            order.is_swap() && order.buy_token == token && order.side == Side::Buy
        });
        let beyond = bought.map(|alive| {
            let taken = alive.hash.and_then(|hash| ground_truth.get(&hash));
            taken.map_or(0, |taken| {
                taken.filled.0.saturating_sub(base_of(&alive.order))
            })
        });
        beyond.sum()
    }

    /// Base units that orders of a side may still trade, in every market of the token.
    fn left(&self, token: TokenId, side: Side, ground_truth: &GroundTruth) -> Amount {
        let of_token = self.alive.values().filter(|alive| {
            let spec = &self.specs[usize::from(alive.order.market.0)];
            spec.base.id == token && alive.order.side == side
        });
        let left = of_token.map(|alive| {
            let taken = alive.hash.and_then(|hash| ground_truth.get(&hash));
            base_of(&alive.order).saturating_sub(taken.map_or(0, |taken| taken.filled.0))
        });
        left.sum()
    }

    /// Most that an account may hold of a token of which it holds so much, if everything that may be alive fills.
    pub(crate) fn most(&self, token: TokenId, held: Amount, ground_truth: &GroundTruth) -> Amount {
        let most = held.saturating_add(self.left(token, Side::Buy, ground_truth));
        most.saturating_sub(self.unforeseen(token, ground_truth))
    }

    /// Purchases of a token that were handed over for sealing in this run.
    pub(crate) fn purchases(&self, token: TokenId) -> u64 {
        self.purchases.get(&token).copied().unwrap_or(0)
    }

    /// All purchases that were handed over for sealing in this run.
    pub(crate) fn all_purchases(&self) -> u64 {
        self.purchases.values().sum()
    }

    /// Value of [`Limits::most`] of all base tokens, each in its first market, at the lowest mid of this run and rounded
    /// down: an engine counts at the last mid that was fit for pricing. `None` without a mid.
    pub(crate) fn most_value(&self, held: Held<'_>, ground_truth: &GroundTruth) -> Option<Amount> {
        let mut counted = std::collections::BTreeSet::new();
        let mut specs = self.specs.iter();
        specs.try_fold(0, |sum: Amount, spec| {
            let token = spec.base.id;
            if !counted.insert((token, spec.quote.id)) {
                return Some(sum);
            }
            match self.most(token, held(token), ground_truth) {
                0 => Some(sum),
                most => {
                    let lowest = self.observed.get(&spec.id)?.lowest?;
                    sum.checked_add(worth(spec, most, lowest)?)
                }
            }
        })
    }

    /// Checks everything signed whose fence has not passed, whatever its reported end, by a clock that may be as far
    /// ahead of the exchange's as one wrong answer can make it.
    pub(crate) fn signs(
        &mut self,
        venue_now: VenueTime,
        order: &UnsignedOrder,
        spec: &MarketSpec,
        engine: &EngineConfig,
        broken: &mut Vec<Broken>,
    ) {
        let lives = |until_s: u32| {
            let until = VenueTime::from_s(until_s.into());
            until.plus_ms(engine.grace_ms) >= venue_now.plus_ms(LEAP_MS)
        };
        self.signed.retain(|(_, until_s, _)| lives(*until_s));
        let (token, base) = (spec.base.id, base_of(order));
        self.signed.push((token, order.signature_until_s(), base));
        let of_token = self.signed.iter().filter(|(of, ..)| *of == token);
        let signed: Amount = of_token.map(|(_, _, base)| base).sum();
        let most = engine.markets[usize::from(order.market.0)].signed_unexpired_max;
        if signed > most {
            let detail = format!("{}: {signed} of {most} base units", order.client_id);
            broken.push((Invariant::SignedUnexpired, detail));
        }
    }

    /// Checks the band if everything that may be alive filled.
    pub(crate) fn exposes(
        &mut self,
        order: &UnsignedOrder,
        spec: &MarketSpec,
        engine: &EngineConfig,
        (ground_truth, held): (&GroundTruth, Held<'_>),
        broken: &mut Vec<Broken>,
    ) {
        let (id, token) = (order.client_id, spec.base.id);
        let limits = &engine.markets[usize::from(order.market.0)];
        let most = self.most(token, held(token), ground_truth);
        let going = self.left(token, Side::Sell, ground_truth);
        let least = held(token).checked_sub(going);
        let beyond = match order.side {
            Side::Buy => most > limits.inventory_max,
            Side::Sell => least.is_none_or(|least| least < limits.inventory_min),
        };
        if beyond {
            let detail = format!("{id}: {least:?} to {most} base units possible");
            broken.push((Invariant::InventoryBand, detail));
        }
        let mid = self
            .observed
            .get(&order.market)
            .and_then(|observed| observed.mid);
        let exposed = mid.and_then(|mid| worth(spec, most, mid));
        let allowed = engine.risk.gross_max.get(&spec.quote.id).copied();
        if order.side == Side::Buy && exposed > allowed {
            let detail = format!("{id}: {exposed:?} of {allowed:?} quote units");
            broken.push((Invariant::GrossExposure, detail));
        }
        if order.side == Side::Buy {
            *self.purchases.entry(token).or_insert(0) += 1;
            broken.extend(self.over_all_venues(order, spec, (most, exposed)));
        }
    }

    /// Limits over all venues after a purchase: this venue's part is at most `base` of the bought token, worth `exposed`
    /// quote units. What is not known is beyond every limit.
    fn over_all_venues(
        &self,
        order: &UnsignedOrder,
        spec: &MarketSpec,
        (base, exposed): (Amount, Option<Amount>),
    ) -> Vec<Broken> {
        let mut broken = Vec::new();
        let id = order.client_id;
        let mut limits = self.portfolio.tokens.iter();
        if let Some(limit) = limits.find(|limit| limit.token == spec.base.id)
            && limit
                .elsewhere
                .is_none_or(|there| there.saturating_add(base) > limit.most)
        {
            let detail = format!("{id}: {base} base units here, {limit:?}");
            broken.push((Invariant::PortfolioInventory, detail));
        }
        if let Some(limit) = &self.portfolio.exposure {
            let mut rates = limit.rates.iter();
            let rate = rates.find(|(token, _)| *token == spec.quote.id);
            let worth = exposed
                .zip(rate)
                .and_then(|(exposed, (_, rate))| Some(exposed.checked_mul(rate.worth)? / rate.per));
            let all = worth
                .zip(limit.elsewhere)
                .map(|(here, there)| here.saturating_add(there));
            if all.is_none_or(|all| all > limit.most) {
                let detail = format!("{id}: {exposed:?} quote units here, {limit:?}");
                broken.push((Invariant::PortfolioExposure, detail));
            }
        }
        broken
    }
}

const fn base_of(order: &UnsignedOrder) -> Amount {
    match order.side {
        Side::Buy => order.most_bought(),
        Side::Sell => order.sell_amount,
    }
}

/// Value of base in quote units at a mid in half ticks, rounded down.
fn worth(spec: &MarketSpec, base: Amount, mid: u64) -> Option<Amount> {
    let per_two_lots = spec.quote_per_lot_tick.checked_mul(mid.into())?;
    Some(base.checked_mul(per_two_lots)? / (2 * spec.lot))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use cambist_core::venue::FeeToken;
    use cambist_core::{Price, Qty};

    use crate::config::WorldConfig;
    use crate::exchange::Exchange;

    #[test]
    fn a_quote_is_barred_by_the_band_and_by_what_it_costs_with_its_fee() {
        let config = WorldConfig::calm(1, "ladder");
        let exchange = Exchange::new(&config, 1, false).unwrap();
        let mut spec = crate::world::specs(&config, &exchange).unwrap().remove(0);
        let quote = |side| Quote {
            side,
            price: Price(250_000),
            qty: Qty(10_000),
            level: 0,
        };
        let base = spec.base_amount(Qty(10_000)).unwrap();
        let paid = spec.quote_amount(Price(250_000), Qty(10_000)).unwrap();
        let fee = (paid * 20).div_ceil(10_000);
        let bars = |spec: &MarketSpec, side, held, band| {
            let account = Account {
                held,
                band,
                fee_bips: 20,
            };
            account.bars(spec, &quote(side))
        };
        let wide = (0, Amount::MAX);
        for (side, held, band, barred) in [
            (Side::Buy, (base, paid + fee), (0, 2 * base), false),
            (Side::Buy, (base, paid + fee), (0, 2 * base - 1), true),
            (Side::Buy, (base, paid + fee - 1), (0, 2 * base), true),
            (Side::Sell, (base, 0), wide, false),
            (Side::Sell, (base - 1, 0), wide, true),
            (Side::Sell, (base, paid + fee), (1, Amount::MAX), true),
        ] {
            spec.fee_in = FeeToken::Quote;
            assert_eq!(bars(&spec, side, held, band), barred, "{side:?} {held:?}");
        }
        spec.fee_in = FeeToken::Bought;
        assert!(!bars(&spec, Side::Buy, (0, paid), wide));
        assert!(bars(&spec, Side::Buy, (0, paid - 1), wide));
    }
}
