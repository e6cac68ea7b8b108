//! Traders at the pool: arbitrageurs, who close gaps between book and pool, and random swappers.
//!
//! An arbitrageur goes through the levels of the book and computes the swap whose last unit just pays at a level's
//! price, all fees included. It does nothing unless the whole round trip earns at least one unit.

use cambist_core::order::FillBy;
use cambist_core::{Amount, OrderKind, Price, Side};

use crate::agents::base_share;
use crate::agents::market_view::MarketView;
use crate::agents::trader::Trader;
use crate::math::{mul_div_ceil, mul_div_floor};
use crate::pool::optimal_size::best_input;
use crate::pool::{PoolConfig, curve};
use crate::request::{Caller, Request};

/// Largest swap of an arbitrageur, in standard orders.
const ORDERS_MAX: Amount = 40;

/// Most levels of the book that it considers.
const LEVELS_MAX: usize = 20;

/// Slippage of a random swap, in percent.
const SLIPPAGE_PERCENT: Amount = 2;

/// A round trip through pool and book. Amounts in units of their tokens.
struct Round {
    /// The side of the swap: `Buy` buys base in the pool and sells it to the bids.
    side: Side,
    sold: Amount,
    bought: Amount,
    /// Amount traded with the book, at `price` or better.
    base: Amount,
    price: Price,
}

/// A pool as the traders see it.
struct PoolView<'a> {
    config: &'a PoolConfig,
    /// Base, quote.
    reserves: [Amount; 2],
    taker_bips: u8,
}

impl<'a> PoolView<'a> {
    fn new(scene: &MarketView<'a>) -> Option<Self> {
        let address = scene.config.pool?.pool;
        let venue = scene.venue;
        let (reserves, _) = venue.pool_reserves(&address)?;
        Some(Self {
            config: venue.pool(&address).filter(|_| !reserves.contains(&0))?,
            reserves,
            taker_bips: venue.market(scene.config.market)?.taker_fee_bips,
        })
    }

    /// Output of the pool for `sold`, before the taker fee.
    fn pays(&self, side: Side, sold: Amount) -> Option<Amount> {
        let [inward, outward] = self.in_and_out(side);
        curve::swap(inward, outward, sold, self.config.fee_bips)
    }

    const fn in_and_out(&self, side: Side) -> [Amount; 2] {
        let [base, quote] = self.reserves;
        match side {
            Side::Buy => [quote, base],
            Side::Sell => [base, quote],
        }
    }

    /// Value of a unit of the pool's output in units of its input, at a price of the book, after the taker fees of both
    /// legs.
    fn worth(&self, scene: &MarketView<'_>, side: Side, price: Price) -> Option<(u128, u128)> {
        let (quotes, bases) = scene.scale.ratio(price)?;
        let kept = 10_000 - u128::from(self.taker_bips);
        let (gain, cost) = match side {
            Side::Buy => (quotes, bases),
            Side::Sell => (bases, quotes),
        };
        Some((
            gain.checked_mul(kept * kept)?,
            cost.checked_mul(100_000_000)?,
        ))
    }

    /// The least amount of which `amount` is left after the taker fee.
    fn before_fee(&self, amount: Amount) -> Option<Amount> {
        mul_div_ceil(amount, 10_000, 10_000 - u128::from(self.taker_bips))
    }

    /// What is left of `amount` after the taker fee.
    fn after_fee(&self, amount: Amount) -> Amount {
        let fee = mul_div_floor(amount, u128::from(self.taker_bips), 10_000);
        amount - fee.unwrap_or(amount)
    }
}

impl Trader {
    /// Closes the gap between book and pool if that earns anything.
    pub(super) fn close_gap(
        &mut self,
        scene: &MarketView<'_>,
        made: &mut u64,
        requests: &mut Vec<(Caller, Request)>,
    ) {
        let Some(round) = Side::BOTH.into_iter().find_map(|side| round(scene, side)) else {
            return;
        };
        let quote = match round.side {
            Side::Buy => scene.scale.quote_ceil(round.base, round.price),
            Side::Sell => scene.scale.quote_floor(round.base, round.price),
        };
        let pair = match round.side {
            Side::Buy => [(scene.quote, round.sold), (scene.base, round.bought)],
            Side::Sell => [(scene.base, round.sold), (scene.quote, round.bought)],
        };
        let swap = self.swap(scene, made, pair);
        let book = quote.and_then(|quote| {
            let (pair, fill_by) = match round.side {
                Side::Buy => (
                    [(scene.base, round.base), (scene.quote, quote)],
                    FillBy::Sell,
                ),
                Side::Sell => (
                    [(scene.quote, quote), (scene.base, round.base)],
                    FillBy::Buy,
                ),
            };
            self.submit(scene, made, pair, fill_by, OrderKind::TakerOnly, None, 60)
        });
        // One leg alone would carry risk.
        if let (Some(swap), Some(book)) = (swap, book) {
            requests.extend([swap, book]);
        }
    }

    /// Swaps about the standard size in a random direction.
    pub(super) fn swap_at_random(
        &mut self,
        scene: &MarketView<'_>,
        made: &mut u64,
        requests: &mut Vec<(Caller, Request)>,
    ) {
        let (Some(seen), Some(account)) = (PoolView::new(scene), scene.venue.account(self.account))
        else {
            return;
        };
        let side = if self.random.unit() < base_share(account, scene).clamp(0.2, 0.8) {
            Side::Sell
        } else {
            Side::Buy
        };
        let size = self.usual_size(scene).max(scene.minimum).min(scene.maximum);
        let sold = match side {
            Side::Sell => Some(size),
            Side::Buy => mul_div_floor(size, seen.reserves[1], seen.reserves[0]),
        };
        let least = sold
            .and_then(|sold| seen.pays(side, sold))
            .map(|pays| pays / 100 * (100 - SLIPPAGE_PERCENT));
        let (Some(sold), Some(least)) = (sold, least) else {
            return;
        };
        let pair = match side {
            Side::Buy => [(scene.quote, sold), (scene.base, least)],
            Side::Sell => [(scene.base, sold), (scene.quote, least)],
        };
        requests.extend(self.swap(scene, made, pair));
    }
}

/// The best round trip that swaps on this side, if one earns anything: level by level, as long as the pool's optimum at
/// a level's price is beyond what the levels before it take.
fn round(scene: &MarketView<'_>, side: Side) -> Option<Round> {
    let seen = PoolView::new(scene)?;
    let [inward, outward] = seen.in_and_out(side);
    let most = scene
        .maximum
        .min(scene.config.size_base.saturating_mul(ORDERS_MAX));
    // Output of the pool is sold to the bids; its input is bought from the asks.
    let levels = scene
        .venue
        .best_levels(scene.config.market, side, LEVELS_MAX);
    let (mut base, mut last) = (0, None);
    for (price, offered) in &levels {
        let wanted = best_input(
            inward,
            outward,
            seen.config.fee_bips,
            seen.worth(scene, side, *price)?,
        )?;
        // Base that the book takes or gives, including the fee of the leg in between.
        let (wanted, offered) = match side {
            Side::Buy => (seen.after_fee(seen.pays(side, wanted)?), *offered),
            Side::Sell => (wanted, seen.after_fee(*offered)),
        };
        let wanted = wanted.min(most);
        if wanted <= base {
            break;
        }
        last = Some(*price);
        if wanted <= base + offered {
            base = wanted;
            break;
        }
        base += offered;
    }
    let price = last?;
    let lot = scene.scale.exact_lot(price);
    let round = match side {
        Side::Buy => {
            let bought = seen.before_fee(base)?;
            let kept_by_pool = 10_000 - u128::from(seen.config.fee_bips);
            let left = outward.checked_sub(bought)?.checked_mul(kept_by_pool)?;
            let sold = mul_div_ceil(inward, bought.checked_mul(10_000)?, left)?;
            let bought = seen.pays(side, sold)?;
            let base = seen.after_fee(bought);
            let base = base - base % lot;
            let value = value(&levels, base, |base, price| {
                scene.scale.quote_floor(base, price)
            })?;
            (seen.after_fee(value) > sold).then_some(Round {
                side,
                sold,
                bought,
                base,
                price,
            })
        }
        Side::Sell => {
            let (sold, bought) = (base, seen.pays(side, base)?);
            let base = seen.before_fee(sold)?.checked_next_multiple_of(lot)?;
            let spent = value(&levels, base, |base, price| {
                scene.scale.quote_ceil(base, price)
            })?;
            (seen.after_fee(bought) > spent).then_some(Round {
                side,
                sold,
                bought,
                base,
                price,
            })
        }
    }?;
    (round.base >= scene.minimum).then_some(round)
}

/// Value of `base` at these levels, best first; the rest at the last level.
fn value(
    levels: &[(Price, Amount)],
    base: Amount,
    worth: impl Fn(Amount, Price) -> Option<Amount>,
) -> Option<Amount> {
    let (mut left, mut sum) = (base, 0);
    for (price, offered) in levels {
        let part = left.min(*offered);
        sum += worth(part, *price)?;
        left -= part;
    }
    let (last, _) = levels.last()?;
    Some(sum + worth(left, *last)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PoolStatus;
    use cambist_core::TokenId;

    /// To the unit, for every rate.
    #[test]
    fn the_least_amount_before_a_fee_leaves_what_is_wanted() {
        let config = PoolConfig {
            name: String::new(),
            address: [0; 20],
            pooled: [TokenId(0), TokenId(1)],
            lp: TokenId(2),
            fee_bips: 20,
            price_precision: 6,
            amount_precision: 6,
            status: PoolStatus::OPEN,
            join_fee: 0,
            exit_fee: 0,
        };
        for taker_bips in [0, 1, 20, 63] {
            let seen = PoolView {
                config: &config,
                reserves: [1, 1],
                taker_bips,
            };
            for wanted in [1, 99, 9_999, 10_000, 1_234_567] {
                let before = seen.before_fee(wanted).expect("it is computable");
                assert!(seen.after_fee(before) >= wanted, "{wanted} at {taker_bips}");
                // The fee is rounded down, so that one unit less may do too, and two do not.
                assert!(
                    seen.after_fee(before.saturating_sub(2)) < wanted,
                    "{wanted} at {taker_bips}"
                );
            }
        }
    }
}
