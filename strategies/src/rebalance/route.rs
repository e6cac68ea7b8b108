//! What a trade costs against the mid, on the book and at the pool, and the cheaper of the two. Integers throughout;
//! every rounding is against us.

use cambist_core::math::{mul_div_ceil, mul_div_floor};
use cambist_core::strategy::{BookLevel, PoolView, View, WantedSwap};
use cambist_core::swap::{cost_of, least, paid_for};
use cambist_core::{Amount, MarketSpec, Price, Qty, Side};

use crate::sizing::quote_of;

const WHOLE: Amount = 10_000;

/// A trade within the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trade {
    /// An order that takes so many lots at this limit or better.
    Book { limit: Price, lots: Qty },
    /// A swap.
    Pool(WantedSwap),
}

/// The costs of one side at the prices and balances that were read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs<'a> {
    market: &'a MarketSpec,
    side: Side,
    /// Half ticks.
    mid: u64,
    levels: &'a [BookLevel],
    pool: Option<PoolView>,
    /// The venue's fee for taking, out of what is bought, in ten-thousandths.
    fee_bips: Amount,
    cost_max_bps: Amount,
}

impl<'a> Costs<'a> {
    /// `limits` are the cap and the fee in ten-thousandths; where the pool states a higher fee, that counts.
    pub(super) fn new(view: &'a View<'_>, side: Side, limits: (u32, u32)) -> Self {
        let (cost_max_bps, fee_bps) = limits;
        let stated = view.pool.map_or(0, |pool| pool.swap.taker_fee_bips);
        let fee_bips = fee_bps.max(stated.into());
        Self {
            market: view.market,
            side,
            mid: view.mid,
            levels: match side {
                // The depth is the pool's curve.
                _ if !view.market.book => &[],
                Side::Buy => view.asks,
                Side::Sell => view.bids,
            },
            pool: view.pool.filter(|pool| pool.swap.possible),
            fee_bips: fee_bips.into(),
            cost_max_bps: cost_max_bps.into(),
        }
    }

    /// The worst price of the book within the cap after the venue's fee: `mid · (1 ± cap) · (1 ∓ fee)`, rounded towards
    /// the mid.
    pub(super) fn limit(&self) -> Price {
        let mid = Amount::from(self.mid);
        let (cap, kept) = (self.cost_max_bps, WHOLE.saturating_sub(self.fee_bips));
        let ticks = match self.side {
            // So much quote buys base that is worth at least the quote less the cap: p ≤ mid · (1 + cap) · (1 − fee).
            Side::Buy => mul_div_floor(mid, (WHOLE + cap) * kept, 2 * WHOLE * WHOLE),
            // p · (1 − fee) ≥ mid · (1 − cap)
            Side::Sell => mul_div_ceil(
                mid,
                WHOLE.saturating_sub(cap) * WHOLE,
                2 * WHOLE * kept.max(1),
            ),
        };
        Price(
            ticks
                .and_then(|ticks| u64::try_from(ticks).ok())
                .unwrap_or(0),
        )
    }

    /// Value of base at the mid, rounded down.
    fn value(&self, base: Amount) -> Option<Amount> {
        let per_lot = self
            .market
            .quote_per_lot_tick
            .checked_mul(self.mid.into())?;
        mul_div_floor(base, per_lot, self.market.lot.checked_mul(2)?)
    }

    /// What is left of a bought amount after the venue's fee, rounded down.
    fn after_fee(&self, bought: Amount) -> Option<Amount> {
        bought.checked_sub(mul_div_ceil(bought, self.fee_bips, WHOLE)?)
    }

    /// What a trade of so much base for so much quote costs against the mid; negative where it is better. The quote is
    /// paid by a buy, and received before the fee by a sale.
    fn cost(&self, base: Amount, quote: Amount) -> Option<i128> {
        let signed = |amount: Amount| i128::try_from(amount).ok();
        let (paid, got) = match self.side {
            Side::Buy => (quote, self.value(self.after_fee(base)?)?),
            Side::Sell => (self.value(base)?.checked_add(1)?, self.after_fee(quote)?),
        };
        signed(paid)?.checked_sub(signed(got)?)
    }

    /// Ten-thousandths of the value that a cost is, rounded up.
    pub(super) fn bps(&self, cost: i128, lots: Qty) -> Option<i128> {
        let value = self.value(self.market.base_amount(lots)?)?;
        let value = i128::try_from(value).ok().filter(|value| *value > 0)?;
        Some(-(cost.checked_mul(-10_000)?.div_euclid(value)))
    }

    /// Cost of so many lots of the book.
    pub(super) fn book_cost(&self, lots: Qty) -> Option<i128> {
        let quote = quote_of(self.market, self.levels, lots)?;
        self.cost(self.market.base_amount(lots)?, quote)
    }

    /// The most lots, up to `due`, that levels within the limit hold.
    pub(super) fn book_lots(&self, due: Qty) -> Qty {
        let limit = self.limit();
        let within = |level: &&BookLevel| match self.side {
            Side::Buy => level.price <= limit,
            Side::Sell => level.price >= limit,
        };
        let held = self.levels.iter().take_while(within);
        let held = held.fold(0_u64, |sum, level| sum.saturating_add(level.qty.0));
        due.min(Qty(held))
    }

    /// What a swap of so many lots sells and is paid, before the venue's fee.
    fn swapped(&self, lots: Qty) -> Option<(Amount, Amount)> {
        let pool = self.pool?;
        let base = self.market.base_amount(lots)?;
        let bips = pool.swap.fee_bips;
        Some(match self.side {
            Side::Buy => {
                let sold = cost_of(base, pool.quote, pool.base, bips)?;
                (sold, paid_for(sold, pool.quote, pool.base, bips)?)
            }
            Side::Sell => (base, paid_for(base, pool.base, pool.quote, bips)?),
        })
    }

    /// Cost of a swap of so many lots.
    pub(super) fn pool_cost(&self, lots: Qty) -> Option<i128> {
        let (sold, paid) = self.swapped(lots)?;
        match self.side {
            Side::Buy => self.cost(paid, sold),
            Side::Sell => self.cost(sold, paid),
        }
    }

    /// The most lots, up to `due`, that a swap within the cap trades: what one more lot costs only grows.
    pub(super) fn pool_lots(&self, due: Qty) -> Qty {
        let Some(pool) = self.pool else { return Qty(0) };
        // The engine values a swap at its most: with its slippage, and with the fee that is bought as well.
        let more = WHOLE + Amount::from(pool.swap.slippage_bps) + 2 * self.fee_bips;
        let value = mul_div_floor(pool.swap.value_max, WHOLE, more + 1).unwrap_or(0);
        let most = self
            .market
            .lots_affordable(value, Price(self.mid.div_ceil(2)));
        let is_within = |lots: u64| {
            let cost = self.pool_cost(Qty(lots));
            let bps = cost.and_then(|cost| self.bps(cost, Qty(lots)));
            bps.is_some_and(|bps| bps <= self.cost_max_bps.cast_signed())
        };
        let (mut low, mut high) = (0, due.min(most).0);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if is_within(middle) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Qty(low)
    }

    /// The swap of so many lots: it accepts what the cap allows, and no less than the engine does.
    fn swap(&self, lots: Qty) -> Option<WantedSwap> {
        let (sold, paid) = self.swapped(lots)?;
        let cap = mul_div_floor(
            self.value(self.market.base_amount(lots)?)?,
            self.cost_max_bps,
            WHOLE,
        )?;
        let kept = WHOLE.checked_sub(self.fee_bips)?;
        let enough = match self.side {
            // Base worth the quote less the cap, after the fee.
            Side::Buy => {
                let per_lot = self
                    .market
                    .quote_per_lot_tick
                    .checked_mul(self.mid.into())?;
                let base = mul_div_ceil(
                    sold.saturating_sub(cap),
                    self.market.lot.checked_mul(2)?,
                    per_lot,
                )?;
                mul_div_ceil(base, WHOLE, kept)?
            }
            Side::Sell => {
                let quote = self.value(sold)?.checked_add(1)?.saturating_sub(cap);
                mul_div_ceil(quote, WHOLE, kept)?
            }
        };
        let slippage_bps = self.pool?.swap.slippage_bps;
        let lowest = least(paid, slippage_bps)?;
        // Rounding may ask for a unit more than the pool pays.
        let least = enough.max(lowest).max(1).min(paid);
        Some(WantedSwap {
            side: self.side,
            sell: sold,
            least,
        })
    }

    /// The cheaper route for as much of `due` as it trades within the cap; otherwise what the cheaper one would cost, in
    /// ten-thousandths, if one is known.
    pub(super) fn cheapest(&self, due: Qty) -> Result<Trade, Option<u64>> {
        let (book, pool) = (self.book_lots(due), self.pool_lots(due));
        let both = book.min(pool);
        let pool_is_cheaper = match both.0 {
            0 => pool.0 > 0,
            _ => match (self.pool_cost(both), self.book_cost(both)) {
                (Some(pool), Some(book)) => pool < book,
                (pool, _) => pool.is_some(),
            },
        };
        if pool_is_cheaper && let Some(swap) = self.swap(pool) {
            return Ok(Trade::Pool(swap));
        }
        if book.0 > 0 {
            let limit = self.limit();
            return Ok(Trade::Book { limit, lots: book });
        }
        let one = Qty(1).min(due);
        let costs = [self.book_cost(one), self.pool_cost(one)];
        let found = costs.into_iter().flatten().min();
        let bps = found.and_then(|cost| self.bps(cost, one));
        Err(bps.and_then(|bps| u64::try_from(bps).ok()))
    }
}
